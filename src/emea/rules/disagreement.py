"""The rule that equal entities seldom disagree on their values (Fellegi and Sunter 1969)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor

from emea.contracts import PluginSettings, Rule
from emea.data import Claims, Counterparts, Embeddings, Task
from emea.kernels.joins import expand, lookup
from emea.kernels.segments import cuts, segment_max, segment_sum

BLOCK = 2**21  # pairs of attributes looked at together


class DisagreementSettings(PluginSettings):
    """What it takes to call two values at odds."""

    minimum: float = Field(0.05, ge=0, le=1, description="pairs believed in less do not tell which attributes agree")
    prior_strength: float = Field(1.0, gt=0, description="pairs that each two attributes are thought to disagree on")


class Disagreement(Rule):
    """Where e has an attribute a and e' one that means the same, their values should agree:

        g(e, e') = Σ_a log(1 − m(a, a') (1 − s)),

    s: how alike the most similar of their values are, 0 if none is; m: share of the pairs believed equal, of those that
    have both attributes, whose values agree; a': of the attributes of e' the one with the largest m. A difference in a
    date of birth speaks against a pair, one in a name of another language does not. Attributes that only one of them
    has say nothing, and so do values that agree: what they are worth is for PARIS to say.
    """

    Settings: ClassVar[type[PluginSettings]] = DisagreementSettings
    weighed: ClassVar[bool] = False

    def __init__(self, task: Task, settings: PluginSettings, device: torch.device) -> None:
        assert isinstance(settings, DisagreementSettings)
        self.settings = settings
        self.source, self.target = (_Attributes.build(graph.claims.to(device)) for graph in (task.source, task.target))

    def factors(self, beliefs: Counterparts, embeddings: Embeddings) -> Tensor:  # noqa: ARG002
        """g, [pairs]; never above 0."""
        pairs = beliefs.candidates
        believed = (beliefs.agreement > self.settings.minimum).nonzero()[:, 0]
        agreement = self._agreement(pairs.source[believed], pairs.target[believed], beliefs.agreement[believed])
        found = torch.zeros(len(pairs), dtype=torch.float64, device=pairs.source.device)
        for first, last in pairwise(self._cuts(pairs.source, pairs.target)):
            row, kind, alike, _ = self._compared(pairs.source[first:last], pairs.target[first:last])
            share = agreement[kind]
            said = torch.log1p(-share * (1 - alike))
            key, index = torch.unique(row * self.source.kinds + kind // self.target.kinds, return_inverse=True)
            decisive = share >= segment_max(share, index, len(key))[index]
            said = segment_max(said[decisive], index[decisive], len(key))
            found[first:last] = segment_sum(said, key // self.source.kinds, last - first)
        return found

    def _agreement(self, source: Tensor, target: Tensor, weight: Tensor) -> Tensor:
        """m of each two attributes, [kinds · kinds]."""
        size = self.source.kinds * self.target.kinds
        both, agreed = (torch.zeros(size, dtype=torch.float64, device=source.device) for _ in range(2))
        for first, last in pairwise(self._cuts(source, target)):
            row, kind, alike, witness = self._compared(source[first:last], target[first:last])
            counted = weight[first:last][row].double() * witness
            both += segment_sum(counted, kind, size)
            agreed += segment_sum(counted * alike, kind, size)
        return agreed / (both + self.settings.prior_strength)

    def _cuts(self, source: Tensor, target: Tensor) -> list[int]:
        return cuts(self.source.count[source] * self.target.count[target] + self.source.shared[source] + 1, BLOCK)

    def _compared(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Each attribute of the one with each of the other: row of the pair, kind a · kinds + a', s, and how far the
        two agree, up to 1, on values that e does not have under a."""
        one, other = self.source, self.target
        row, claim = expand(one.first_shared[source], one.shared[source])
        wanted = target[row] * one.values + one.value[claim]
        first = torch.searchsorted(other.key, wanted)
        hit, place = expand(first, torch.searchsorted(other.key, wanted, right=True) - first)
        kind = one.attribute[claim[hit]] * other.kinds + other.attribute[other.order[place]]
        agreed, index = torch.unique(row[hit] * (one.kinds * other.kinds) + kind, return_inverse=True)
        likeness = one.likeness[claim[hit]]
        alike = segment_max(likeness, index, len(agreed))
        total = _distinct(row[hit] * one.values + one.value[claim[hit]], likeness, one.values, len(source))
        own = _distinct(
            (row[hit] * one.kinds + one.attribute[claim[hit]]) * one.values + one.value[claim[hit]],
            likeness,
            one.values,
            len(source) * one.kinds,
        )
        row, held = expand(one.start[source], one.count[source])
        again, other_held = expand(other.start[target[row]], other.count[target[row]])
        row, kind = row[again], one.held[held[again]] * other.kinds + other.held[other_held]
        found = lookup(agreed, row * (one.kinds * other.kinds) + kind)
        others = total[row] - own[row * one.kinds + kind // other.kinds]
        alike = torch.where(found >= 0, alike[found.clamp(min=0)] if len(alike) else 0.0, 0.0)
        return row, kind, alike, others.clamp(0, 1)


def _distinct(key: Tensor, values: Tensor, size: int, owners: int) -> Tensor:
    """Sum of the values of the distinct keys of each owner, which is key // size, [owners]."""
    key, index = torch.unique(key, return_inverse=True)
    return segment_sum(segment_max(values, index, len(key)), key // size, owners)


@dataclass(frozen=True, eq=False)
class _Attributes:
    """What the entities of a graph claim, sorted by entity: their attributes, and the values that others may share."""

    kinds: int  # attributes
    values: int
    held: Tensor  # [held] attribute, once for each entity that has it
    start: Tensor  # [entities] place of its first
    count: Tensor  # [entities]
    attribute: Tensor  # [shared] of each claim of a value that both graphs have
    value: Tensor  # [shared]
    likeness: Tensor  # [shared]
    first_shared: Tensor  # [entities] place of its first
    shared: Tensor  # [entities] how many it has
    key: Tensor  # [shared] sorted: entity · values + value
    order: Tensor  # [shared] that sorts them

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
            torch.cumsum(count, 0) - count,
            count,
            claims.attribute[rows],
            claims.value[rows],
            claims.likeness[rows],
            torch.cumsum(shared, 0) - shared,
            shared,
            key,
            order,
        )
