"""RREA: relational reflection with attention, trained by a margin loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import torch
from pydantic import Field
from torch import Tensor
from torch.autograd import Function

from emea.contracts import Size
from emea.data import Links, Task
from emea.encoders._reflection import ReflectionEncoder, ReflectionSettings
from emea.encoders._training import dropped, uniform
from emea.kernels.margin import margin_loss
from emea.kernels.reflections import reflected_sum


class RREASettings(ReflectionSettings):
    """As published: dimension 100, depth 2, 600 features in all."""

    average: float = Field(
        0.75, ge=0, le=1, description="last share of a fit's epochs, over which the parameters are averaged"
    )
    margin: float = Field(3.0, ge=0, description="γ: how much nearer than a random entity a counterpart shall be")


class RREA(ReflectionEncoder[RREASettings]):
    """Mao et al. (CIKM 2020).

    Layer: h_i ← relu(Σ_{j,r} α_ijr M_r h_j) with the reflection M_r h = h − 2(h·r̂)r̂ and, over the edges of i,

        α = softmax(v·[h_i ‖ M_r h_j ‖ r̂]).

    The part of v that meets h_i is the same for all edges of i and cancels, so it is left out. The layers are applied
    to two views of an entity: the mean of its neighbours' vectors, its own included, and the mean of its relations'
    vectors; the outputs of all depths of both views are concatenated: 2·(depth + 1)·dimension features. Loss, with one
    random negative for each side of a pair (l, r), the pairs repeated until there are as many as entities:

        relu(γ + ‖l − r‖₁ − ‖l − r⁻‖₁) + relu(γ + ‖l − r‖₁ − ‖l⁻ − r‖₁).
    """

    Settings = RREASettings
    alike: ClassVar[bool] = True

    @classmethod
    def epoch_work(cls, settings: RREASettings, size: Size) -> float:
        """As measured."""
        return 2100 * (4 * size.edges * settings.dimension + size.entities * cls.features(settings))

    def __init__(self, task: Task, settings: RREASettings, device: torch.device) -> None:
        super().__init__(task, settings, device)

    def initial(self, generator: torch.Generator) -> dict[str, Tensor]:
        """Entities, relations, and for each layer the part of v that meets M_r h_j and the part that meets r̂."""
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
        """One batch: the pairs repeated to the number of entities, negatives from both graphs."""
        output = dropped(self.output(), self.settings.dropout, generator)
        left, right = self.graph.pairs(pairs)
        count = self.graph.entities
        negatives = torch.randint(count, (2, count), generator=generator, device=self.device)  # l⁻, r⁻
        ends, weight = torch.stack([left, right]), pairs.weight / count
        loss: Tensor = _MarginLoss.apply(output, ends, negatives, weight, self.settings.margin)  # type: ignore[no-untyped-call]
        yield loss


class _MarginLoss(Function):
    """The loss, whose gradient is worked out along with it."""

    @staticmethod
    def forward(  # noqa: PLR0917 - as autograd passes them
        context: Any, output: Tensor, pairs: Tensor, negatives: Tensor, weight: Tensor, margin: float
    ) -> Tensor:
        loss, gradient = margin_loss(output, pairs, negatives, weight, margin)
        context.save_for_backward(gradient)
        return loss

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None, None, None, None]:
        return gradient * context.saved_tensors[0], None, None, None, None
