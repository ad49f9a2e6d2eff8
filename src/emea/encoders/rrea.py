"""RREA: relational reflection with attention, trained with a margin loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor

from emea.contracts import Size
from emea.data import Links, Task
from emea.encoders._margin import margin_of
from emea.encoders._reflection import ReflectionEncoder, ReflectionSettings
from emea.encoders._training import dropped, uniform
from emea.kernels.reflections import reflected_sum


class RREASettings(ReflectionSettings):
    """Dimension 100 and depth 2, as in the publication: 600 features in all; `average` is ours."""

    average: float = Field(
        0.75, ge=0, le=1, description="average the parameters over this last share of the epochs of a fit or turn"
    )
    margin: float = Field(3.0, ge=0, description="γ: how much nearer than a random entity a counterpart should be")


class RREA(ReflectionEncoder[RREASettings]):
    """Mao et al. (CIKM 2020).

    Layer: h_i ← relu(Σ_{j,r} α_ijr M_r h_j) with the reflection M_r h = h − 2(h·r̂)r̂ and, over the edges of i,

        α = softmax(v·[h_i ‖ M_r h_j ‖ r̂]).

    The part of v that h_i is multiplied by is left out, since its contribution is the same for all edges of i and
    cancels. The layers are applied to two views of an entity: the mean of its neighbours' vectors, its own included,
    and the mean of its relations' vectors. The outputs of all depths of both views are concatenated:
    2·(depth + 1)·dimension features. The pairs (l, r) are repeated until there are as many as entities, and each side
    gets a random negative. Loss:

        relu(γ + ‖l − r‖₁ − ‖l − r⁻‖₁) + relu(γ + ‖l − r‖₁ − ‖l⁻ − r‖₁).

    Departures from the publication: those of `TrainedEncoder`.
    """

    Settings = RREASettings
    alike: ClassVar[bool] = True

    @classmethod
    def epoch_work(cls, settings: RREASettings, size: Size) -> float:
        """Estimated from measured times."""
        return 2100 * (4 * size.edges * settings.dimension + size.entities * cls.features(settings))

    def __init__(self, task: Task, settings: RREASettings, device: torch.device) -> None:
        super().__init__(task, settings, device)

    def initial(self, generator: torch.Generator) -> dict[str, Tensor]:
        """Entities, relations, and for each layer the parts of v that M_r h_j and r̂ are multiplied by."""
        dimension = self.settings.dimension
        attention = uniform((2 * self.settings.depth, dimension), generator)
        return self.tables(dimension, generator) | {"attention": attention}

    def output(self) -> Tensor:
        """All depths of both views, [entities, features]."""
        *views, directions = self.views()
        return torch.cat([depth for view in views for depth in self._layers(view, directions)], 1)

    def _layers(self, view: Tensor, directions: Tensor) -> list[Tensor]:
        depths = [torch.relu(view)]
        for on_message, on_relation in self.parameters["attention"].reshape(-1, 2, self.settings.dimension):
            gathered = reflected_sum(self.reflections, depths[-1], directions, on_relation, on_message)
            depths.append(torch.relu(gathered))
        return depths

    def losses(self, pairs: Links, generator: torch.Generator) -> Iterator[Tensor]:
        """One batch: the pairs, repeated up to the number of entities, with negatives from both graphs."""
        output = dropped(self.output(), self.settings.dropout, generator)
        left, right = self.graph.pairs(pairs)
        count = self.graph.entities
        negatives = torch.randint(count, (2, count), generator=generator, device=self.device)  # l⁻, r⁻
        ends, weight = torch.stack([left, right]), pairs.weight / count
        yield margin_of(output, ends, negatives, weight, self.settings.margin)
