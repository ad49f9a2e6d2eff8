"""GCN-Align: two graph convolutions without weights over trained vectors, trained with a margin loss."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import normalize
from torch.optim import Optimizer

from emea.contracts import Size
from emea.data import Embeddings, Links, Task
from emea.encoders._joined import Joined
from emea.encoders._margin import margin_of
from emea.encoders._training import TrainedEncoder, TrainingSettings
from emea.kernels.messages import Pattern, weighted_sum

FLOOR = 0.3  # weight of an edge of a relation that tells little


class GCNAlignSettings(TrainingSettings):
    """As in the released code; the publication has 1,000 dimensions. `average` is ours."""

    epochs: int = Field(2000, ge=1, description="epochs of the first fit")
    learning_rate: float = Field(20.0, gt=0, description="learning rate of the optimiser: the loss is a mean")
    dimension: int = Field(200, ge=1, description="dimension of the entity vectors")
    margin: float = Field(3.0, ge=0, description="γ: how much nearer than a random entity a counterpart should be")
    negatives: int = Field(5, ge=1, description="negatives for each side of a pair")
    refresh: int = Field(10, ge=1, description="epochs between draws of the negatives")


class GCNAlign(TrainedEncoder[GCNAlignSettings]):
    """Wang et al. (EMNLP 2018), the structure part.

    H = A relu(A X), where X are trained vectors, scaled to length 1, and A = D^−½ (N + I) D^−½. An edge counts by how
    well the neighbour tells who the entity is: a triple (h, r, t) adds ifun(r) to N(h, t) and fun(r) to N(t, h), at
    least FLOOR, where fun(r) is the share of distinct heads among the triples of r and ifun(r) that of distinct tails;
    loops are left out. D holds the column sums of N + I. Loss, over the pairs (l, r) with k random negatives each:

        1/(2k) mean of relu(γ + ‖l − r‖₁ − ‖l − r⁻‖₁) + relu(γ + ‖l − r‖₁ − ‖l⁻ − r‖₁).

    Departures from the publication: those of `TrainedEncoder`; and entities are compared by the cosine of H instead of
    its Manhattan distance.
    """

    Settings = GCNAlignSettings

    @classmethod
    def features(cls, settings: GCNAlignSettings) -> int:
        """One vector."""
        return settings.dimension

    @classmethod
    def epoch_work(cls, settings: GCNAlignSettings, size: Size) -> float:
        """Two products with A and their gradients, and the negatives of each pair."""
        edges, negatives = 4 * size.edges, 8 * size.pairs * settings.negatives
        return 20 * settings.dimension * (edges + size.entities + negatives)

    def __init__(self, task: Task, settings: GCNAlignSettings, device: torch.device) -> None:
        super().__init__(task, settings, device)
        self.graph = Joined.build(task, device)
        self.adjacency, self.value = normalised(self.graph)

    def initial(self, generator: torch.Generator) -> dict[str, Tensor]:
        """Entities: normal with variance 1/entities, cut at two standard deviations."""
        values = torch.empty(self.graph.entities, self.settings.dimension)
        torch.nn.init.trunc_normal_(values, std=1.0, a=-2.0, b=2.0, generator=generator)
        return {"entities": values / math.sqrt(self.graph.entities)}

    def build_optimiser(self, parameters: list[Tensor]) -> Optimizer:
        """Plain gradient descent."""
        return torch.optim.SGD(parameters, lr=self.settings.learning_rate)

    def output(self) -> Tensor:
        """H, [entities, dimension]."""
        hidden = normalize(self.parameters["entities"], dim=1)
        value = self.value.to(hidden.dtype)
        return weighted_sum(self.adjacency, value, torch.relu(weighted_sum(self.adjacency, value, hidden)))

    def losses(self, pairs: Links, generator: torch.Generator) -> Iterator[Tensor]:
        """One batch of all pairs, with negatives from both graphs that stay for some epochs."""
        ends, rows = torch.stack(self.graph.pairs(pairs)), len(pairs) * self.settings.negatives
        if self.epoch % self.settings.refresh == 0:
            shape = (2, rows)  # l⁻, r⁻
            self.buffers["negatives"] = torch.randint(
                self.graph.entities, shape, generator=generator, device=self.device
            )
        yield margin_of(self.output(), ends, self.buffers["negatives"], pairs.weight / (2 * rows), self.settings.margin)

    def embed(self) -> Embeddings:
        """H, scaled to length 1."""
        return self.graph.split(self.output())


def normalised(graph: Joined) -> tuple[Pattern, Tensor]:
    """A, as a pattern and its values."""
    apart = graph.head != graph.tail
    head, relation, tail = graph.head[apart], graph.relation[apart], graph.tail[apart]
    # an edge (h, r, t) of the joined graph, inverses included: how many of r's edges have a tail of their own
    triples = torch.bincount(graph.relation, minlength=graph.relations)
    tails = torch.unique(graph.relation * graph.entities + graph.tail) // graph.entities
    telling = (torch.bincount(tails, minlength=graph.relations) / triples.clamp(min=1)).clamp(min=FLOOR)
    own = torch.arange(graph.entities, device=graph.device)
    key = torch.cat([head * graph.entities + tail, own * (graph.entities + 1)])
    weight = torch.cat([telling[relation], torch.ones(graph.entities, device=graph.device)])
    key, place = torch.unique(key, return_inverse=True)
    value = torch.zeros(len(key), device=graph.device).index_add(0, place, weight)
    row, column = key // graph.entities, key % graph.entities
    scale = torch.zeros(graph.entities, device=graph.device).index_add(0, column, value).rsqrt()
    return Pattern(row, column, (graph.entities, graph.entities)), value * scale[row] * scale[column]
