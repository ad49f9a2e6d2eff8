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
from emea.kernels.segments import LOWEST, segment_best, segment_max
from emea.method.compatibility import NONE, UNDECIDED, Factors
from emea.method.competition import Competition
from emea.settings import Settings


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
        forward, backward = self._said(judged, embeddings)
        learning, sides = [], []  # the sides share the columns of the pairs
        for counts, said, seen, entity, labelled, linkable in (
            (True, forward, judged, beliefs.candidates.source, known.source, self.linkable[0]),
            (self.both_ways, backward, judged.swap(), beliefs.candidates.target, known.target, self.linkable[1]),
        ):
            factors = self._factors(seen, said)
            sides.append(replace(factors[believed_in], entity=entity))
            if counts:
                own = believed_in | torch.isin(seen.candidates.source, labelled)
                own = own & linkable[seen.candidates.source]
                judged_alone = seen[own] if self.settings.compatibility.abstain else _sure_to_have_one(seen[own])
                learning.append((factors[own], most_likely(judged_alone)))
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
        return Factors(pairs.source, pairs.sources, torch.cat([nothing, *learned], 1), none, slack, ratios)


def _checked(name: str, rule: Rule[Any], values: Tensor, beliefs: Counterparts) -> Tensor:
    """What a rule says about each pair, [pairs, indicators], if it keeps the contract."""
    values = values.double()
    values = values[:, None] if values.ndim == 1 else values
    expected = [len(beliefs.forward), len(rule.indicators)]
    if list(values.shape) != expected or not bool(torch.isfinite(values).all()):
        raise PluginError(f"rule '{name}' returned {list(values.shape)} factors, expected {expected} finite numbers")
    return values


def _sure_to_have_one(beliefs: Counterparts) -> Counterparts:
    """The beliefs as if "none" were not an answer."""
    return replace(
        beliefs,
        source_none=torch.zeros_like(beliefs.source_none),
        target_none=torch.zeros_like(beliefs.target_none),
    )


def most_likely(beliefs: Counterparts) -> Tensor:
    """ŷ_e = argmax q_Θ(y_e) (paper 4.5): the row of each entity's sample, NONE, or UNDECIDED for a tie, [sources]."""
    pairs = beliefs.candidates
    best = segment_best(pairs.source, pairs.sources, beliefs.forward)
    highest = segment_max(beliefs.forward, pairs.source, pairs.sources)
    sample = torch.where(best >= 0, best, UNDECIDED)
    return torch.where(highest > beliefs.source_none, sample, NONE)


def add_impossible(believed: Counterparts, candidates: Candidates) -> tuple[Counterparts, Tensor]:
    """The beliefs with more pairs, each of probability 0, in one table; and which of its rows are the original ones."""
    pairs = believed.candidates
    candidates = candidates[~torch.isin(candidates.keys(), pairs.keys())]
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
