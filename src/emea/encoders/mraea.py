"""MRAEA: attention over neighbours by the relations between them, trained with a margin loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import leaky_relu
from torch.optim import Optimizer

from emea.contracts import Size
from emea.data import Embeddings, Links, Task
from emea.encoders._joined import Joined
from emea.encoders._margin import margin_of
from emea.encoders._reflection import START, reflections_of
from emea.encoders._training import TrainedEncoder, TrainingSettings, dropped, uniform
from emea.kernels.messages import edge_softmax, mean, take, weighted_sum


class MRAEASettings(TrainingSettings):
    """As in the released code: 600 features in all. `average` is ours."""

    epochs: int = Field(5000, ge=1, description="epochs of the first fit")
    learning_rate: float = Field(0.001, gt=0, description="learning rate of the optimiser")
    dimension: int = Field(100, ge=1, description="dimension of the entity and relation vectors")
    depth: int = Field(2, ge=0, description="number of layers, which share their attention")
    heads: int = Field(2, ge=1, description="attentions whose results are averaged")
    dropout: float = Field(0.3, ge=0, lt=1, description="dropout rate of the output in training")
    margin: float = Field(3.0, ge=0, description="γ: how much nearer than a random entity a counterpart should be")


class MRAEA(TrainedEncoder[MRAEASettings]):
    """Mao et al. (WSDM 2020).

    x⁰_i = relu([mean of the vectors of i and its neighbours ‖ mean of those of its relations, inverses apart]). Layer:
    x_i ← relu(Σ_j α_ij x_j) over the neighbours j, α the mean over the heads of

        softmax of LeakyReLU(a·x_i + b·x_j + c·r_ij),   r_ij the mean of the relations from i to j.

    Output: all depths, concatenated. Pairs, negatives and loss are those of RREA.

    Departures from the publication: those of `TrainedEncoder`.
    """

    Settings = MRAEASettings
    alike: ClassVar[bool] = True

    @classmethod
    def features(cls, settings: MRAEASettings) -> int:
        """Twice the dimension at each depth."""
        return 2 * (settings.depth + 1) * settings.dimension

    @classmethod
    def epoch_work(cls, settings: MRAEASettings, size: Size) -> float:
        """As RREA's, whose layers cost twice as much."""
        return 2100 * (2 * size.edges * settings.dimension + size.entities * cls.features(settings))

    def __init__(self, task: Task, settings: MRAEASettings, device: torch.device) -> None:
        super().__init__(task, settings, device)
        self.graph = Joined.build(task, device)
        reflections, self.members = reflections_of(self.graph)
        self.edges, self.bundle = reflections.edges, reflections.turned.column

    def initial(self, generator: torch.Generator) -> dict[str, Tensor]:
        """Entities, relations, and for each head a, b and c, one after the other."""
        dimension, heads = self.settings.dimension, self.settings.heads
        sizes = {"entities": self.graph.entities, "relations": self.graph.relations}
        values = {name: uniform((size, dimension), generator, START) for name, size in sizes.items()}
        parts = [
            uniform((width, 1), generator)[:, 0] for _ in range(heads) for width in (2 * dimension,) * 2 + (dimension,)
        ]
        return values | {"attention": torch.cat(parts).reshape(heads, 5 * dimension)}

    def build_optimiser(self, parameters: list[Tensor]) -> Optimizer:
        """Adam."""
        on_gpu = parameters[0].device.type == "cuda"
        return torch.optim.Adam(parameters, lr=self.settings.learning_rate, eps=1e-7, capturable=on_gpu)

    def output(self) -> Tensor:
        """All depths, [entities, features]."""
        entities, relations = self.parameters["entities"], self.parameters["relations"]
        depths = [torch.relu(torch.cat([mean(self.graph.nearby, entities), mean(self.graph.incident, relations)], 1))]
        width, attention = 2 * self.settings.dimension, self.parameters["attention"]
        on_self, on_other, on_relation = (
            attention[:, :width],
            attention[:, width : 2 * width],
            attention[:, 2 * width :],
        )
        between = mean(self.members, relations) @ on_relation.T  # [bundles, heads]
        for _ in range(self.settings.depth):
            here, there = depths[-1] @ on_self.T, depths[-1] @ on_other.T  # [entities, heads]
            logits = take(here, self.edges.row) + take(there, self.edges.column) + take(between, self.bundle)
            shares = [edge_softmax(self.edges, head) for head in leaky_relu(logits, 0.2).unbind(1)]
            depths.append(torch.relu(weighted_sum(self.edges, torch.stack(shares).mean(0), depths[-1])))
        return torch.cat(depths, 1)

    def losses(self, pairs: Links, generator: torch.Generator) -> Iterator[Tensor]:
        """One batch: the pairs, repeated up to the number of entities, with negatives from both graphs."""
        output, count = dropped(self.output(), self.settings.dropout, generator), self.graph.entities
        negatives = torch.randint(count, (2, count), generator=generator, device=self.device)  # l⁻, r⁻
        ends = torch.stack(self.graph.pairs(pairs))
        yield margin_of(output, ends, negatives, pairs.weight / count, self.settings.margin)

    def embed(self) -> Embeddings:
        """The output without dropout, scaled to length 1."""
        return self.graph.split(self.output())
