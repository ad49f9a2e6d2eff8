"""The rules of a run, both ways: what they say about each pair, and what their weights Φ are learned from (4.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from emea import plugins
from emea.candidates.search import nearest_only
from emea.contracts import Rule, TwoSidedRule
from emea.data import Candidates, Counterparts, Embeddings, Links, Task
from emea.errors import PluginError
from emea.kernels.joins import lookup
from emea.kernels.segments import LOWEST, segment_best, segment_max
from emea.method.compatibility import NONE, UNDECIDED, Factors, bars
from emea.method.competition import Competition
from emea.settings import Settings

LARGEST = 1e9  # of what a rule says: squares and sums of more would not be exact


class Said(NamedTuple):
    """What the rules of a run say about the pairs."""

    forward: Factors
    backward: Factors


Lessons = list[tuple[Factors, Tensor]]  # what Φ is learned from: the factors and ŷ of all entities


class Rulebook:
    """The rules of a run, forward and, if both ways count, backward."""

    def __init__(self, task: Task, settings: Settings, device: torch.device) -> None:
        self.settings, self.competition = settings, Competition.of(settings.matching)
        self.linkable = [graph.linkable.to(device) for graph in (task.source, task.target)]
        self.both_ways = settings.compatibility.directions == "both"
        self.forward = self._rules(settings.rule_names, task, device)
        self.weight_names = [
            f"{name}.{indicator}" if indicator else name
            for name, rule in self.forward.items()
            for indicator in (rule.indicators if rule.learned_weight else ())
        ]
        one_sided = [name for name, rule in self.forward.items() if not isinstance(rule, TwoSidedRule)]
        self.backward = self._rules(one_sided if self.both_ways else [], task.swap(), device)

    def _rules(self, names: Sequence[str], task: Task, device: torch.device) -> dict[str, Rule[Any]]:
        return {
            name: plugins.find("rules", name, Rule)(task, self.settings.plugin_settings("rules", name), device)
            for name in names
        }

    def named(self, weights: Tensor) -> dict[str, float]:
        """Φ by rule and, for rules that have several, by indicator."""
        return dict(zip(self.weight_names, weights.tolist(), strict=True))

    def factors(
        self, beliefs: Counterparts, embeddings: Embeddings, nearest: Candidates, known: Links
    ) -> tuple[Said, Lessons]:
        """What the rules say about the pairs believed in, and what Φ is learned from: also from labelled entities, with
        their nearest other candidates as rivals of probability 0."""
        rivals = nearest_only(nearest[nearest.touches(known, *self.competition)], self.settings.considered)
        judged, believed_in = add_impossible(beliefs, rivals)
        said, learning, sides = list(self._said(judged, embeddings)), [], []
        for counts, seen, entity, labelled, linkable in (
            (True, judged, beliefs.candidates.source, known.source, self.linkable[0]),
            (self.both_ways, judged.swap(), beliefs.candidates.target, known.target, self.linkable[1]),
        ):
            factors = self._factors(seen, said.pop(0))  # what is not needed any more frees memory
            sides.append(replace(factors[believed_in], entity=entity))
            if counts:
                own = torch.zeros_like(linkable).index_fill_(0, labelled, value=True)[factors.entity]
                own = (own | believed_in) & linkable[factors.entity]
                none = seen.source_none if self.settings.compatibility.abstain else torch.zeros_like(seen.source_none)
                factors = factors[own]
                learning.append((factors, most_likely(factors.entity, seen.forward[own], none)))
        return Said(*sides), learning

    def _said(self, beliefs: Counterparts, embeddings: Embeddings) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """What each rule says about each pair, forward and, if both ways count, backward."""
        forward, backward = {}, {}
        for name, rule in self.forward.items():
            if self.both_ways and isinstance(rule, TwoSidedRule):
                ahead, back = rule.factors_both_ways(beliefs, embeddings)
                backward[name] = _checked(name, rule, back, beliefs)
            else:
                ahead = rule.factors(beliefs, embeddings)
            forward[name] = _checked(name, rule, ahead, beliefs)
        for name, rule in self.backward.items():
            backward[name] = _checked(name, rule, rule.factors(beliefs.swap(), embeddings.swap()), beliefs)
        return forward, backward

    def _factors(self, beliefs: Counterparts, said: dict[str, Tensor]) -> Factors:
        settings, pairs = self.settings.compatibility, beliefs.candidates
        none, slack = (settings.none, 0.0) if settings.abstain else (0.0, LOWEST)
        if not said:  # without rules all counterparts are alike, and nothing supports "none"
            silent = beliefs.forward.new_zeros(len(beliefs.forward), len(self.weight_names)).double()
            return Factors(pairs.source, pairs.sources, silent, 0.0, LOWEST)
        nothing = beliefs.forward.new_zeros(len(beliefs.forward), 0).double()
        learned = [said[name] for name, rule in self.forward.items() if rule.learned_weight]
        ratios = sum(said[name].sum(1) for name, rule in self.forward.items() if not rule.learned_weight)
        values = torch.cat([nothing, *learned], 1)
        return Factors(pairs.source, pairs.sources, values, bars(values, none), slack, ratios)


def _checked(name: str, rule: Rule[Any], values: Tensor, beliefs: Counterparts) -> Tensor:
    """What a rule says about each pair, [pairs, indicators], if it keeps the contract."""
    count, several = len(beliefs.forward), len(rule.indicators)
    expected = f"a number for each of {count:,} pairs" + (f" and {several} indicators" if several > 1 else "")
    if not isinstance(values, Tensor):
        raise PluginError(f"rule '{name}' returned {type(values).__name__}, expected a tensor with {expected}")
    if not values.is_floating_point():  # a mask, say, is no evidence: it would count as log-odds of 1
        kind = str(values.dtype).removeprefix("torch.")
        raise PluginError(f"rule '{name}' returned a tensor of {kind}, expected floats: {expected}")
    found, values = list(values.shape), values.detach().double()
    values = values[:, None] if values.ndim == 1 else values
    if list(values.shape) != [count, several]:
        raise PluginError(f"rule '{name}' returned a tensor of shape {found}, expected {expected}")
    if odd := int((~torch.isfinite(values)).sum()):
        raise PluginError(f"rule '{name}' returned {odd:,} numbers that are not finite, expected {expected}")
    if large := int((values.abs() > LARGEST).sum()):
        raise PluginError(f"rule '{name}' returned {large:,} numbers beyond ±{LARGEST:,.0f}, expected {expected}")
    return values


def most_likely(entity: Tensor, belief: Tensor, none: Tensor) -> Tensor:
    """ŷ_e = argmax q_Θ(y_e) (paper 4.5): the row of each entity's sample, NONE, or UNDECIDED for a tie, [entities].

    `entity` and `belief` are those of each pair, `none` is what each entity believes of "none".
    """
    best = segment_best(entity, len(none), belief)
    highest = segment_max(belief, entity, len(none))
    sample = torch.where(best >= 0, best, UNDECIDED)
    return torch.where(highest > none, sample, NONE)


def add_impossible(believed: Counterparts, candidates: Candidates) -> tuple[Counterparts, Tensor]:
    """The beliefs with more pairs, each of probability 0, in one table; and which of its rows are the original ones."""
    pairs = believed.candidates
    candidates = candidates[lookup(pairs.keys(), candidates.keys()) < 0]
    order = torch.argsort(torch.cat([pairs.keys(), candidates.keys()]))

    def joined(first: Tensor, second: Tensor | None = None) -> Tensor:
        second = first.new_zeros(len(candidates)) if second is None else second
        return torch.cat([first, second])[order]

    wider = replace(
        pairs,
        source=joined(pairs.source, candidates.source),
        target=joined(pairs.target, candidates.target),
        cosine=joined(pairs.cosine, candidates.cosine),
    )
    wide = replace(believed, candidates=wider, forward=joined(believed.forward), backward=joined(believed.backward))
    return wide, joined(torch.ones(len(pairs), dtype=torch.bool, device=order.device))
