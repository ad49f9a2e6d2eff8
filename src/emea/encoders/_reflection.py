"""Relational reflection, shared by RREA and Dual-AMN: the edges, and the two views of an entity that are reflected."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, TypeVar

import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import normalize
from torch.optim import Optimizer

from emea.data import Embeddings, Task
from emea.encoders._joined import Joined
from emea.encoders._training import TrainedEncoder, TrainingSettings, rmsprop, uniform
from emea.kernels.messages import Pattern, mean
from emea.kernels.reflections import Reflections

START = 0.05  # entities and relations start within ± this; for so long a table, Glorot's bound is smaller and worse


def reflections_of(graph: Joined) -> tuple[Reflections, Pattern]:
    """The edges of a graph and their bundles; and the relations of each bundle, [bundles, relations]."""
    edges = graph.neighbours
    position = torch.searchsorted(edges.row * graph.entities + edges.column, graph.head * graph.entities + graph.tail)
    # a set of relations is identified by the sum of random numbers, one per relation
    draw = torch.Generator().manual_seed(0)
    marks = torch.randint(2**62, (graph.relations,), generator=draw).to(graph.device)
    sums = torch.zeros(len(edges.row), dtype=torch.int64, device=graph.device)
    sums = sums.index_add(0, position, marks[graph.relation])
    kinds, bundle = torch.unique(sums, return_inverse=True)
    members = torch.unique(bundle[position] * graph.relations + graph.relation)
    message, which = torch.unique(edges.column * len(kinds) + bundle, return_inverse=True)
    reflections = Reflections(
        edges,
        Pattern(edges.row, bundle, (graph.entities, len(kinds))),
        Pattern(message // len(kinds), message % len(kinds), (graph.entities, len(kinds))),
        which,
    )
    return reflections, Pattern(members // graph.relations, members % graph.relations, (len(kinds), graph.relations))


class ReflectionSettings(TrainingSettings):
    """Settings that both models share."""

    dimension: int = Field(100, ge=1, description="dimension of the entity and relation vectors")
    depth: int = Field(2, ge=0, description="number of layers")
    dropout: float = Field(0.3, ge=0, lt=1, description="dropout rate of the output in training")


ReflectionT = TypeVar("ReflectionT", bound=ReflectionSettings)


class ReflectionEncoder(TrainedEncoder[ReflectionT]):
    """A model with two views of an entity, each passed through reflection layers: the mean of its neighbours' vectors
    (its own included) and the mean of its relations' vectors."""

    damping: ClassVar[float] = 1e-7  # ε of the optimiser

    @classmethod
    def features(cls, settings: ReflectionT) -> int:
        """Two views of depth + 1 vectors each."""
        return 2 * (settings.depth + 1) * settings.dimension

    def __init__(self, task: Task, settings: ReflectionT, device: torch.device) -> None:
        super().__init__(task, settings, device)
        self.graph = Joined.build(task, device)
        self.reflections, self.members = reflections_of(self.graph)

    def tables(self, dimension: int, generator: torch.Generator) -> dict[str, Tensor]:
        """Initial vectors of entities and relations."""
        sizes = {"entities": self.graph.entities, "relations": self.graph.relations}
        return {name: uniform((size, dimension), generator, START) for name, size in sizes.items()}

    @abstractmethod
    def output(self) -> Tensor:
        """Both views after all layers, [entities, features]."""

    def views(self) -> tuple[Tensor, Tensor, Tensor]:
        """The entity view and the relation view, [entities, dimension] each, and r̂ of each bundle."""
        entities, relations = self.parameters["entities"], self.parameters["relations"]
        directions = normalize(mean(self.members, relations), dim=1)
        return mean(self.graph.nearby, entities), mean(self.graph.incident, relations), directions

    def build_optimiser(self, parameters: list[Tensor]) -> Optimizer:
        """RMSprop."""
        return rmsprop(parameters, self.settings.learning_rate, self.damping)

    def embed(self) -> Embeddings:
        """The output without dropout, scaled to length 1."""
        return self.graph.split(self.output())
