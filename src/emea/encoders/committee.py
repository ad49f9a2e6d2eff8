"""A committee: several encoders fitted to the same pairs, whose similarities are averaged."""

from __future__ import annotations

from typing import Annotated, Any

import torch
from pydantic import Field, field_serializer, model_validator
from torch import Tensor

from emea import plugins
from emea.contracts import Encoder, PluginSettings, Report, Size, unreported
from emea.data import Embeddings, Links, Task
from emea.kernels.limits import SMALLEST_LENGTH
from emea.plugins import plugin_settings
from emea.settings import Names


class CommitteeSettings(PluginSettings):
    """The members and their weights."""

    members: Names = Field(("propagation", "dual_amn", "rrea"), min_length=1, description="encoders")
    weights: dict[str, Annotated[float, Field(ge=0)]] = Field(
        default_factory=dict, description="weights of the members' similarities by name; 1 if unset"
    )
    settings: dict[str, dict[str, Any]] = Field(default_factory=dict, description="settings of the members by name")

    @model_validator(mode="after")
    def _known(self) -> CommitteeSettings:
        for name in {*self.members, *self.settings, *self.weights}:
            self.of(name)
        if "committee" in self.members:
            raise ValueError("a committee cannot be a member of itself")
        if not any(self.weights.get(name, 1.0) for name in self.members):
            raise ValueError("no member has any weight")
        return self

    @field_serializer("settings")
    def _whole(self, _: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """The members' settings, defaults included, so that a saved configuration is complete."""
        return {name: self.of(name).model_dump(mode="json", exclude_none=True) for name in self.members}

    def of(self, name: str) -> PluginSettings:
        """The settings of a member."""
        return plugin_settings(f"encoders.committee.settings.{name}", _plugin(name), self.settings.get(name, {}))


class Committee(Encoder[CommitteeSettings]):
    """With x_m the unit vector of an entity by member m, the committee's vector is the concatenation of all √w_m·x_m,
    so its cosines are the weighted means of the members' cosines, provided that no member's vector is zero."""

    Settings = CommitteeSettings

    @classmethod
    def features(cls, settings: CommitteeSettings) -> int:
        """The sum over all members."""
        return sum(_plugin(name).features(settings.of(name)) for name in settings.members)

    @classmethod
    def work(cls, settings: CommitteeSettings, size: Size, fits: int) -> float:
        """The work of all members."""
        return sum(_plugin(name).work(settings.of(name), size, fits) for name in settings.members)

    @classmethod
    def doubts(cls, settings: CommitteeSettings, fits: int) -> list[str]:
        """The members' warnings."""
        return [doubt for name in settings.members for doubt in _plugin(name).doubts(settings.of(name), fits)]

    def __init__(self, task: Task, settings: CommitteeSettings, device: torch.device) -> None:
        self.settings = settings
        # Earlier states of the members that have finished their part of this fit.
        self.before: dict[str, dict[str, Tensor]] = {}
        self.members = {name: _plugin(name)(task, settings.of(name), device) for name in settings.members}

    def fit(self, pairs: Links, generator: torch.Generator, report: Report = unreported) -> Embeddings:
        """Fit each member, and concatenate their vectors."""
        spaces = [self._fit(name, pairs, generator, report) for name in self.members]
        self.before = {}
        if len(spaces) == 1:
            return spaces[0]
        weights = [self.settings.weights.get(name, 1.0) ** 0.5 for name in self.members]
        return Embeddings(
            _joined([space.source for space in spaces], weights), _joined([space.target for space in spaces], weights)
        )

    def _fit(self, name: str, pairs: Links, generator: torch.Generator, report: Report) -> Embeddings:
        member = self.members[name]
        state = member.state()
        space = member.fit(pairs, generator, report)
        self.before[name] = state
        return space

    def state(self) -> dict[str, Tensor]:
        """The states of all members. In the middle of a fit, a member that has finished its part is saved as it was
        before, and will repeat it."""
        states = {name: self.before.get(name, member.state()) for name, member in self.members.items()}
        return {f"{name}/{key}": value for name, state in states.items() for key, value in state.items()}

    @property
    def remembers(self) -> bool:
        """Whether any member does."""
        return any(member.remembers for member in self.members.values())

    def restore(self, state: dict[str, Tensor]) -> None:
        """Continue from a state."""
        for name, member in self.members.items():
            prefix = f"{name}/"
            member.restore({key[len(prefix) :]: value for key, value in state.items() if key.startswith(prefix)})


def _joined(sides: list[Tensor], weights: list[float]) -> Tensor:
    """The members' vectors, weighted and one after the other, scaled to length 1, in no more memory than that."""
    widths = [side.shape[1] for side in sides]
    joined = sides[0].new_empty(len(sides[0]), sum(widths))
    for part, side, weight in zip(torch.split(joined, widths, 1), sides, weights, strict=True):
        torch.mul(side, weight, out=part)
    return joined.div_(torch.linalg.vector_norm(joined, dim=1, keepdim=True).clamp_(min=SMALLEST_LENGTH))


def _plugin(name: str) -> type[Encoder[Any]]:
    return plugins.find("encoders", name, Encoder)
