"""The rule that equal entities rarely disagree on their values (Fellegi and Sunter 1969)."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor

from emea.contracts import Ground, Grounded, PluginSettings, Rule
from emea.data import Counterparts, Embeddings, Task
from emea.evidence.prepared import Claims, claims_of
from emea.kernels.joins import expand, lookup
from emea.kernels.limits import ATTRIBUTE_BLOCK
from emea.kernels.segments import cuts, segment_max, segment_sum, starts
from emea.kernels.sieve import Sieve


class DisagreementSettings(PluginSettings):
    """How to estimate which attributes agree."""

    minimum: float = Field(0.05, ge=0, le=1, description="learn which attributes agree only from pairs believed more")
    prior_strength: float = Field(1.0, gt=0, description="pairs on which any two attributes are assumed to disagree")


class Disagreement(Rule[DisagreementSettings]):
    """If e has an attribute a and e' one with the same meaning, their values should agree:

        g(e, e') = Σ_a log(1 − m(a, a') (1 − s)),

    where s is the similarity of their most similar values, 0 if none are similar; a' is the attribute of e' with the
    largest m; and m is the share of pairs whose values agree, among the pairs believed equal that have both attributes
    and also agree on some other value. The other value is required because early links are those whose names agree,
    which says nothing about how often names agree. Different dates of birth count against a pair, names in different
    languages do not. Attributes that only one of the two has say nothing, and neither do values that agree: those are
    evidence for PARIS.
    """

    Settings = DisagreementSettings
    learned_weight: ClassVar[bool] = False

    def __init__(self, task: Task, settings: DisagreementSettings, device: torch.device) -> None:
        self.settings = settings
        graphs = (task.source, task.target)
        self.source, self.target = (_Attributes.build(claims_of(graph).to(device)) for graph in graphs)
        self.kinds = self.source.kinds * self.target.kinds  # pairs of attributes

    def factors(self, beliefs: Counterparts, embeddings: Embeddings) -> Tensor:  # noqa: ARG002
        """g, [pairs]; never above 0."""
        pairs, shares = beliefs.candidates, self._learned(beliefs)
        # What two entities without a common value are told depends on nothing but which attributes they have.
        groups = self.source.group[pairs.source] * len(self.target.examples) + self.target.group[pairs.target]
        groups, group = torch.unique(groups, return_inverse=True)
        silent, best = self._without_values(groups, shares)
        found = silent[group]
        for first, last in pairwise(cuts(self.source.shared[pairs.source] + 1, ATTRIBUTE_BLOCK)):
            part = slice(first, last)
            found[part] += self._by_values(pairs.source[part], pairs.target[part], group[part], best, shares)
        return found

    def grounds(self, beliefs: Counterparts) -> Callable[[int, int], Grounded] | None:
        """Attributes of the source in which the two disagree."""
        shares = self._learned(beliefs)

        def of(source: int, target: int) -> Grounded:
            one, other = (torch.tensor([entity], device=shares.key.device) for entity in (source, target))
            said = self._said(one, other, shares)
            _, kind = self._compared(one, other)
            best = dict[int, tuple[float, int]]()
            for each, share in zip(kind.tolist(), shares.of(kind).tolist(), strict=True):
                attribute, another = divmod(each, self.target.kinds)
                best[attribute] = max(best.get(attribute, (-1.0, -1)), (share, another))
            pieces = tuple(
                Ground(
                    value,
                    source_attribute=attribute,
                    target_attribute=best[attribute][1],
                    belief=max(0.0, 1 + math.expm1(value) / best[attribute][0]),  # s of g
                    relations=best[attribute][0],
                )
                for attribute, value in zip(said.key.tolist(), said.value.tolist(), strict=True)
                if value < 0
            )

            def without(removed: Collection[int]) -> float:
                return sum(each.said for number, each in enumerate(pieces) if number not in removed)

            return Grounded(pieces, without)

        return of

    def _learned(self, beliefs: Counterparts) -> _Sparse:
        """m of each pair of attributes, learned from the pairs believed equal."""
        pairs, believed = beliefs.candidates, (beliefs.agreement > self.settings.minimum).nonzero()[:, 0]
        return self._shares(pairs.source[believed], pairs.target[believed], beliefs.agreement[believed])

    def _without_values(self, groups: Tensor, shares: _Sparse) -> tuple[Tensor, _Sparse]:
        """g of pairs of groups of entities as if they shared no value, [groups]; and the largest m of each attribute of
        the source there, by row · kinds + attribute."""
        size = len(self.target.examples)
        source, target = self.source.examples[groups // size], self.target.examples[groups % size]
        keys, most = [shares.key[:0]], [shares.value[:0]]
        for first, last in pairwise(self._cuts(source, target)):
            row, kind = self._compared(source[first:last], target[first:last])
            found = _Sparse.most((row + first) * self.source.kinds + kind // self.target.kinds, shares.of(kind))
            keys.append(found.key[found.value > 0])
            most.append(found.value[found.value > 0])
        best = _Sparse(torch.cat(keys), torch.cat(most))
        return segment_sum(torch.log1p(-best.value), best.key // self.source.kinds, len(groups)), best

    def _by_values(self, source: Tensor, target: Tensor, group: Tensor, best: _Sparse, shares: _Sparse) -> Tensor:
        """What the values that two entities share add to g, [pairs]."""
        row, claim, other = self._shared(source, target)
        attribute = self.source.attribute[claim]
        share = shares.of(attribute * self.target.kinds + self.target.attribute[other])
        decisive = (share > 0) & (share >= best.of(group[row] * self.source.kinds + attribute))
        row, attribute, share, likeness = (
            column[decisive] for column in (row, attribute, share, self.source.likeness[claim])
        )
        key, index = torch.unique(row * self.source.kinds + attribute, return_inverse=True)
        alike, share = (segment_max(column, index, len(key)) for column in (likeness, share))
        more = torch.log1p(-share * (1 - alike)) - torch.log1p(-share)
        return segment_sum(more, key // self.source.kinds, len(source))

    def _said(self, source: Tensor, target: Tensor, shares: _Sparse) -> _Sparse:
        """What each attribute of the source says about a pair, by row · kinds + attribute."""
        row, kind = self._compared(source, target)
        share = shares.of(kind)
        row, kind, share = (column[share > 0] for column in (row, kind, share))  # the others say nothing
        alike, _, _ = self._agreed(source, target)
        said = torch.log1p(-share * (1 - alike.of(row * self.kinds + kind)))
        key, index = torch.unique(row * self.source.kinds + kind // self.target.kinds, return_inverse=True)
        decisive = share >= segment_max(share, index, len(key))[index]
        return _Sparse(key, segment_max(said[decisive], index[decisive], len(key)))

    def _shares(self, source: Tensor, target: Tensor, weight: Tensor) -> _Sparse:
        """m of each pair of attributes."""
        kinds, both, agreed = [], [], []
        for first, last in pairwise(self._cuts(source, target)):
            row, kind = self._compared(source[first:last], target[first:last])
            alike, shared, own = self._agreed(source[first:last], target[first:last])
            others = shared.of(row) - own.of(row * self.source.kinds + kind // self.target.kinds)
            counted = weight[first:last][row].double() * others.clamp(0, 1)
            key, index = torch.unique(kind, return_inverse=True)
            kinds.append(key)
            both.append(segment_sum(counted, index, len(key)))
            agreed.append(segment_sum(counted * alike.of(row * self.kinds + kind), index, len(key)))
        key, index = torch.unique(torch.cat(kinds), return_inverse=True)
        total = segment_sum(torch.cat(both), index, len(key)) + self.settings.prior_strength
        return _Sparse(key, segment_sum(torch.cat(agreed), index, len(key)) / total)

    def _cuts(self, source: Tensor, target: Tensor) -> list[int]:
        return cuts(
            self.source.count[source] * self.target.count[target] + self.source.shared[source] + 1, ATTRIBUTE_BLOCK
        )

    def _compared(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Each attribute of e with each of e': row of the pair, and kind a · kinds + a'."""
        one, other = self.source, self.target
        row, held = expand(one.start[source], one.count[source])
        again, other_held = expand(other.start[target[row]], other.count[target[row]])
        return row[again], one.held[held[again]] * other.kinds + other.held[other_held]

    def _agreed(self, source: Tensor, target: Tensor) -> tuple[_Sparse, _Sparse, _Sparse]:
        """s by row of the pair and kind; how many values the two share, by row; and how many of these e has under an
        attribute, by row and attribute. Values that are only similar count by their similarity."""
        one, other = self.source, self.target
        row, claim, theirs = self._shared(source, target)
        attribute, value, likeness = one.attribute[claim], one.value[claim], one.likeness[claim]
        kind = attribute * other.kinds + other.attribute[theirs]
        shared = _Sparse.most(row * one.values + value, likeness)
        own = _Sparse.most((row * one.kinds + attribute) * one.values + value, likeness)
        return _Sparse.most(row * self.kinds + kind, likeness), shared.summed(one.values), own.summed(one.values)

    def _shared(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The values that pairs share: row of the pair, and the claims of both."""
        one, other = self.source, self.target
        row, claim = expand(one.first_shared[source], one.shared[source])
        wanted = target[row] * one.values + one.value[claim]
        kept = other.sieve.passing(wanted)
        row, claim, wanted = row[kept], claim[kept], wanted[kept]
        first = torch.searchsorted(other.key, wanted)
        hit, place = expand(first, torch.searchsorted(other.key, wanted, right=True) - first)
        return row[hit], claim[hit], other.order[place]


@dataclass(frozen=True, eq=False)
class _Sparse:
    """Numbers by key; 0 for an absent key."""

    key: Tensor  # sorted, distinct
    value: Tensor

    @classmethod
    def most(cls, key: Tensor, value: Tensor) -> _Sparse:
        """The largest value of each key."""
        key, index = torch.unique(key, return_inverse=True)
        return cls(key, segment_max(value, index, len(key)))

    def summed(self, size: int) -> _Sparse:
        """The sums over the keys with the same key // size."""
        key, index = torch.unique(self.key // size, return_inverse=True)
        return _Sparse(key, segment_sum(self.value, index, len(key)))

    def of(self, key: Tensor) -> Tensor:
        """The number of each key."""
        position = lookup(self.key, key)
        return torch.cat([self.value, self.value.new_zeros(1)])[position]  # -1, absent: the last, which is 0


@dataclass(frozen=True, eq=False)
class _Attributes:
    """The claims of a graph, sorted by entity: each entity's attributes, and its values that both graphs have."""

    kinds: int  # attributes
    values: int
    held: Tensor  # [held] attribute, once for each entity that has it
    start: Tensor  # [entities] position of its first
    count: Tensor  # [entities]
    attribute: Tensor  # [shared] of each claim of a value that both graphs have
    value: Tensor  # [shared]
    likeness: Tensor  # [shared]
    first_shared: Tensor  # [entities] position of its first
    shared: Tensor  # [entities] how many it has
    key: Tensor  # [shared] sorted: entity · values + value
    order: Tensor  # [shared] permutation that sorts them
    group: Tensor  # [entities] number of the set of its attributes
    examples: Tensor  # [groups] an entity of each

    @cached_property
    def sieve(self) -> Sieve:
        """Rejects most absent keys."""
        return Sieve.build(self.key)

    @classmethod
    def build(cls, claims: Claims) -> _Attributes:
        """Index claims."""
        held = torch.unique(claims.entity * claims.attributes + claims.attribute)
        count = torch.bincount(held // claims.attributes, minlength=claims.entities)
        rows = (claims.value >= 0).nonzero()[:, 0]
        rows = rows[torch.argsort(claims.entity[rows], stable=True)]
        shared = torch.bincount(claims.entity[rows], minlength=claims.entities)
        key, order = torch.sort(claims.entity[rows] * claims.values + claims.value[rows])
        return cls(
            claims.attributes,
            claims.values,
            held % claims.attributes,
            starts(count),
            count,
            claims.attribute[rows],
            claims.value[rows],
            claims.likeness[rows],
            starts(shared),
            shared,
            key,
            order,
            *_groups(held % claims.attributes, count),
        )


def _groups(held: Tensor, count: Tensor) -> tuple[Tensor, Tensor]:
    """For each entity the number of its set of attributes, and an entity that has each, given the attributes of each
    entity, sorted, one after the other."""
    number: dict[bytes, int] = {}
    plain, ends = held.cpu().numpy(), [0, *torch.cumsum(count, 0).tolist()]
    group = [number.setdefault(plain[a:b].tobytes(), len(number)) for a, b in pairwise(ends)]
    found = torch.tensor(group, dtype=torch.int64, device=held.device)
    examples = torch.empty(len(number), dtype=torch.int64, device=held.device)
    examples[found] = torch.arange(len(found), device=held.device)
    return found, examples
