"""The PARIS rule: equal neighbours along similar relations support a pair (paper 4.2, eq. paris_prob)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Literal, TypeVar

import torch
from pydantic import Field
from torch import Tensor

from emea.contracts import Ground, Grounded, PluginSettings, TwoSidedRule
from emea.data import Counterparts, Embeddings, Links, Task
from emea.engine import Distributed, Kept, Work
from emea.kernels.devices import at_a_time
from emea.kernels.joins import BySource, Edges, lookup
from emea.kernels.limits import EDGE_BLOCK
from emea.kernels.segments import cuts, segment_choice, segment_sum
from emea.rules._subrelations import Subrelations, log_unlikely
from emea.rules._supports import Evidence, Sides, Support, factors_of_pairs, support_of

T = TypeVar("T")
Side = Literal["source", "target"]


class PARISSettings(PluginSettings):
    """Which evidence counts, and what is assumed about relations without any."""

    evidence: Literal["both", "forward", "best"] = Field(
        "both",
        description="belief in a neighbour's pair: both: p(target|source)·p(source|target); forward: p(target|source) "
        "alone (eq. paris_prob); best: 1 for its best counterpart (section 4.5)",
    )
    minimum: float = Field(0.05, ge=0, le=1, description="ignore evidence up to this; `best` uses all")
    scope: Literal["own", "blanket"] = Field(
        "own", description="own: the entity's own factor; blanket: all factors that contain the entity (eq. cond_p)"
    )
    prior: float = Field(
        0.1, ge=0, le=1, description="probability that a relation is contained in another, assumed without evidence"
    )
    prior_strength: float = Field(0.1, ge=0, description="weight of the prior, in observed triples")


class PARIS(TwoSidedRule[PARISSettings], Distributed):
    """Suchanek, Abiteboul, Senellart (PVLDB 2011), with eq. 13 as the factor g and eq. 12 for subrelations.

        g(e, e') = 1 − Π_{r(e,n), r'(e',n')} (1 − Pr(r' ⊆ r)·fun⁻¹(r)·Pr(n ≡ n'))·(1 − Pr(r ⊆ r')·fun⁻¹(r')·Pr(n ≡ n'))

    Each call re-estimates the subrelations from the beliefs.
    """

    Settings = PARISSettings

    def __init__(self, task: Task, settings: PARISSettings, device: torch.device) -> None:
        self.settings, self.task, self.device = settings, task, device
        self.source, self.target = Edges.build(task.source, device), Edges.build(task.target, device)
        self.source_functionality = self.source.inverse_functionality()
        self.target_functionality = self.target.inverse_functionality()

    def factors(self, beliefs: Counterparts, embeddings: Embeddings) -> Tensor:  # noqa: ARG002 - beliefs are enough
        """g at the entity itself and, for the blanket, what y_e = e' adds to the factors of its neighbours, [pairs]."""
        return self._seen_from(beliefs, ("source",))[0]

    def factors_both_ways(self, beliefs: Counterparts, embeddings: Embeddings) -> tuple[Tensor, Tensor]:
        """With two-sided evidence the same triples support a pair from either side: g at the entity is the same, and
        only what is added to its neighbours' factors differs. Otherwise the target's side has its own evidence."""
        if self.settings.evidence != "both":
            return self.factors(beliefs, embeddings), self._swapped.factors(beliefs.swap(), embeddings.swap())
        forward, backward = self._seen_from(beliefs, ("source", "target"))
        return forward, backward

    @cached_property
    def _swapped(self) -> PARIS:
        """The same rule seen from the target."""
        swapped = PARIS(self.task.swap(), self.settings, self.device)
        swapped.engine = self.engine
        return swapped

    def _seen_from(self, beliefs: Counterparts, sides: Sequence[Side]) -> list[Tensor]:
        rows, weight = self.evidence(beliefs)
        if self.settings.scope == "own":
            parts = self._join(beliefs, rows, weight, factors_of_pairs)  # there may be many rows, and none is kept
            log_none = torch.cat([torch.empty(0, dtype=torch.float64, device=weight.device), *parts])  # log Π
            return [1 - torch.exp(log_none)] * len(sides)
        support = Support.joined([*self._join(beliefs, rows, weight, support_of)])
        log_none = segment_sum(support.toward, support.pair, len(beliefs.candidates))
        own = 1 - torch.exp(log_none)
        return [own + self._neighbours(beliefs, rows, support, log_none, side) for side in sides]

    def evidence(self, beliefs: Counterparts) -> tuple[Tensor, Tensor]:
        """Rows of the pairs that count as equal, and their weights, [evidence] each."""
        if self.settings.evidence == "best":
            pairs = beliefs.candidates
            rows = segment_choice(pairs.source, pairs.sources, beliefs.source_none, beliefs.forward)
            return rows, torch.ones(len(rows), dtype=torch.float64, device=rows.device)
        weight = beliefs.agreement if self.settings.evidence == "both" else beliefs.forward
        rows = (weight > self.settings.minimum).nonzero()[:, 0]
        return rows, weight[rows].double()

    def subrelations(self, equal: Links, edges: tuple[Edges, Edges] | None = None) -> Subrelations:
        """Which relations are contained in which, estimated from the pairs believed equal."""
        prior, strength = self.settings.prior, self.settings.prior_strength
        source, target = edges or (self.source, self.target)
        return Subrelations.estimate(source, target, equal, prior=prior, strength=strength)

    def grounds(self, beliefs: Counterparts) -> Callable[[int, int], Grounded] | None:
        """Neighbours that are believed equal. By Aumann and Shapley each has the share g · log(1 − x) / Σ log(1 − x) of
        g, however they are grouped. Of a blanket only the entity's own factor is taken apart."""
        rows, weight = self.evidence(beliefs)
        pairs = beliefs.candidates
        equal = Links(pairs.source[rows], pairs.target[rows], weight)
        edges = replace(self.source), replace(self.target)  # so that what only the estimate needs is not kept
        subrelations, counterparts = self.subrelations(equal, edges), BySource(equal, self.source.entities)

        def of(source: int, target: int) -> Grounded:
            found = self._pieces(source, target, counterparts, subrelations)
            terms = [log_term for _, log_term in found]
            total = sum(terms)
            factor = 1 - math.exp(total)
            pieces = [replace(each, said=factor * term / total) for each, term in found if total < 0]

            def without(removed: Collection[int]) -> float:
                return 1 - math.exp(sum(term for number, term in enumerate(terms) if number not in removed))

            return Grounded(tuple(pieces), without)

        return of

    def _pieces(
        self, source: int, target: int, counterparts: BySource, subrelations: Subrelations
    ) -> list[tuple[Ground, float]]:
        """Each r(e, n), r'(e', n') with n and n' believed equal, and the logarithm of its term."""
        found = []
        led_to = defaultdict(list)
        for relation, tail in zip(*self.target.leaving(target), strict=True):
            led_to[tail].append(relation)
        for relation, tail in zip(*self.source.leaving(source), strict=True):
            same = [(target, 1.0)] if tail == source else counterparts[tail]
            for counterpart, belief in same:
                if counterpart == target and tail != source and self.settings.evidence == "both":
                    continue  # if e equals e', no other entity does
                found += [
                    Ground(0.0, tail, counterpart, relation, each, belief=belief)
                    for each in led_to.get(counterpart, ())
                ]
        if not found:
            return []
        one, other = (
            torch.tensor([getattr(each, side) for each in found], device=self.device)
            for side in ("source_relation", "target_relation")
        )
        equal = torch.tensor([each.belief for each in found], dtype=torch.float64, device=self.device)
        contained, contains = subrelations.of(one, other)
        terms = log_unlikely(contains * self.source_functionality[one] * equal)
        terms = terms + log_unlikely(contained * self.target_functionality[other] * equal)
        certain = torch.maximum(contained, contains).tolist()
        known = (replace(each, relations=sure) for each, sure in zip(found, certain, strict=True))
        return list(zip(known, terms.tolist(), strict=True))

    def _join(self, beliefs: Counterparts, rows: Tensor, weight: Tensor, work: Work[T]) -> Iterator[T]:
        """All r(e, n), r'(e', n') where (e, e') is a candidate pair and (n, n') is evidence, some pairs at a time."""
        pairs = beliefs.candidates
        equal = Links(pairs.source[rows], pairs.target[rows], weight)
        subrelations = self.subrelations(equal)
        evidence = Evidence.build(self.source, equal)
        ends = pairwise(cuts(evidence.degree[pairs.source] + 1, at_a_time(EDGE_BLOCK, self.device)))
        blocks = ((first, pairs.source[first:last], pairs.target[first:last]) for first, last in ends)
        return iter(self.engine.map(work, blocks, self._kept, self.engine.share((evidence, subrelations))))

    @cached_property
    def _kept(self) -> Kept[Sides]:
        """What the joins need of the graphs."""
        for edges in (self.source, self.target):
            _ = edges.joined, edges.sieve  # once, not in each block
        functionality = self.source_functionality, self.target_functionality
        two_sided = self.settings.evidence == "both"
        return self.engine.share(Sides(self.source, self.target, *functionality, two_sided=two_sided))

    def _neighbours(
        self, beliefs: Counterparts, rows: Tensor, support: Support, log_none: Tensor, side: Side
    ) -> Tensor:
        """Σ over the neighbours n of e, in expectation over y_n: g at n with y_e = e' minus g at n with y_e = none,
        [pairs]; e and n are on the same side.

        With B the product over all other neighbours of n, and t that of e alone: (1 − B·t) − (1 − B) = B·(1 − t).
        """
        pairs, support = beliefs.candidates, support.without_itself()
        entity, entities, belief = pairs.source, self.source.entities, beliefs.forward
        if side == "target":
            entity, entities, belief = pairs.target, self.target.entities, beliefs.backward
        key, group = torch.unique(support.pair * len(rows) + support.equal, return_inverse=True)
        log_term = segment_sum(support.back, group, len(key))  # log t for each (pair, evidence)
        pair, equal = key // len(rows), key % len(rows)
        # what e adds to the factor at (n, n') under the current beliefs, to be taken out of B
        neighbour = entity[rows[support.equal]]
        key, group = torch.unique(support.pair * entities + neighbour, return_inverse=True)
        from_neighbour = segment_sum(support.toward, group, len(key))
        position = lookup(key, rows[equal] * entities + entity[pair])
        present = torch.where(position >= 0, from_neighbour[position.clamp(min=0)], 0.0)
        log_others = (log_none[rows[equal]] - present).clamp(max=0.0)
        weight = belief[rows[equal]].double()
        if self.settings.evidence == "best":
            weight = torch.ones_like(weight)
        return segment_sum(weight * torch.exp(log_others) * (1 - torch.exp(log_term)), pair, len(pairs))
