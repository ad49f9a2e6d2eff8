"""The rules for avoiding conflicts: follow the encoder, and do not share a counterpart (paper 4.2, g₁ and g₂)."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor

from emea.candidates.search import nearest_alike
from emea.contracts import PluginSettings, Rule
from emea.data import Counterparts, Embeddings, Task, pair_keys
from emea.kernels.joins import lookup
from emea.kernels.segments import segment_best, segment_choice, segment_sum

NOTHING = -1


class AvoidConflictSettings(PluginSettings):
    """Which entities might claim the same counterpart, and which factors count."""

    nearest: int = Field(5, ge=1, description="N: nearest entities of the same graph that share a factor")
    scope: Literal["own", "blanket"] = Field(
        "blanket", description="own: the entity's own factor; blanket: all factors that contain the entity (eq. cond_p)"
    )


class AvoidConflict(Rule[AvoidConflictSettings]):
    """F_e holds e and its N nearest entities of the same graph in the encoder's space;

        g₁(y_{F_e}) = 1 if y_e is the target nearest to e,   g₂(y_{F_e}) = 1 if y_e ≠ y_n for all n ≠ e in F_e.

    Other entities are assigned the counterpart most probable under the encoder (section 4.5). g₁ at another entity does
    not depend on y_e. g₂ at an n with e among its nearest drops to 0 if y_e is the counterpart of n and no other entity
    of F_n has it.
    """

    Settings = AvoidConflictSettings
    indicators: ClassVar[tuple[str, ...]] = ("follow", "unique")

    def __init__(self, task: Task, settings: AvoidConflictSettings, device: torch.device) -> None:  # noqa: ARG002
        self.settings = settings

    def factors(self, beliefs: Counterparts, embeddings: Embeddings) -> Tensor:
        """g₁ and g₂, [pairs, 2]."""
        pairs = beliefs.candidates
        rows = torch.arange(len(pairs), device=pairs.source.device)
        follow = rows == segment_best(pairs.source, pairs.sources, pairs.similarity)[pairs.source]
        near = nearest_alike(embeddings.source, self.settings.nearest)  # [sources, N]
        taken = counterpart(beliefs)  # ŷ
        unique = (taken[near[pairs.source]] != pairs.target[:, None]).all(1).double()
        if self.settings.scope == "blanket":
            unique = unique - self._taken_away(beliefs, near, taken)
        return torch.stack([follow.double(), unique], 1)

    def _taken_away(self, beliefs: Counterparts, near: Tensor, taken: Tensor) -> Tensor:
        """How many n with e among their nearest would lose g₂ because of y_e = e' alone, [pairs]."""
        pairs = beliefs.candidates
        owner = torch.arange(len(near), device=near.device)[:, None].expand_as(near).flatten()  # n
        other = near.flatten()  # e
        shares = (taken[owner] == taken[other]) & (taken[owner] != NOTHING)
        conflicts = segment_sum(shares.double(), owner, len(near))  # at n
        alone = (taken[owner] != NOTHING) & (conflicts[owner] - shares.double() == 0)
        key, order = torch.sort(pairs.keys())
        position = lookup(key, pair_keys(other, taken[owner].clamp(min=0), pairs.targets))
        row = order[position[alone & (position >= 0)]]
        return segment_sum(torch.ones(len(row), dtype=torch.float64, device=row.device), row, len(pairs))


def counterpart(beliefs: Counterparts) -> Tensor:
    """Each source's most probable counterpart, NOTHING if it has none or there is a tie, [sources]."""
    pairs = beliefs.candidates
    rows = segment_choice(pairs.source, pairs.sources, beliefs.source_none, beliefs.forward)
    nothing = pairs.source.new_full((pairs.sources,), NOTHING)
    return nothing.index_copy_(0, pairs.source[rows], pairs.target[rows])
