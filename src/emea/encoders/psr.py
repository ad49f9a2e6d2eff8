"""PSR: each side of a pair is pulled to a fixed random view of the other; no negatives."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import elu, normalize
from torch.optim import Optimizer

from emea.contracts import Size
from emea.data import Embeddings, Links, Task
from emea.encoders._joined import Joined
from emea.encoders._reflection import START
from emea.encoders._training import TrainedEncoder, TrainingSettings, dropped, uniform
from emea.kernels.limits import SMALLEST_LENGTH
from emea.kernels.messages import Pattern, edge_softmax, mean, products, take, weighted_sum


class PSRSettings(TrainingSettings):
    """As in the released code: 1,800 features of each view. `average` is ours."""

    epochs: int = Field(14, ge=1, description="passes over the pairs in the first fit")
    more_epochs: int = Field(10, ge=1, description="passes in each later fit, which continues from the previous one")
    turns: int = Field(10, ge=0, description="semi: how often mutually nearest pairs are added")
    turn_epochs: int = Field(10, ge=1, description="semi: passes after each addition")
    dimension: int = Field(300, ge=1, description="dimension of the entity and relation vectors")
    depth: int = Field(2, ge=0, description="number of layers")
    dropout: float = Field(0.3, ge=0, lt=1, description="dropout rate of both views in training")
    batch: int = Field(512, ge=2, description="pairs in a batch, about")


class PSR(TrainedEncoder[PSRSettings]):
    """Mao et al. (CIKM 2021).

    Encoder f: two views of an entity, elu of the mean of its neighbours' vectors (its own included) and of the mean of
    its relations' vectors, each passed through layers over the triples (i, r, j), inverses included:

        x_i ← elu(Σ α (x_j − 2(x_j·r̂) r)),   α = softmax of v·r over the triples of i.

    The outputs of all depths of both views are concatenated. f₀ is the encoder as it starts, and stays as it is. Loss,
    over the pairs (s, t) of a batch:

        − mean of ⟨ν f(s), ν f₀(t)⟩³ + ⟨ν f(t), ν f₀(s)⟩³,

    where ν standardises each feature over the batch and scales rows to length 1. A source is compared by [f ‖ f₀] with
    a target's [f₀ ‖ f]: what is trained is the likeness of one's view to the other's first view.

    Departures from the publication: those of `TrainedEncoder`; layers see the whole graph instead of samples of it; and
    semi-supervised turns train on all pairs, not on new and forgotten ones only.
    """

    Settings = PSRSettings

    @classmethod
    def features(cls, settings: PSRSettings) -> int:
        """Two views of depth + 1 vectors each, trained and fixed."""
        return 4 * (settings.depth + 1) * settings.dimension

    @classmethod
    def epoch_work(cls, settings: PSRSettings, size: Size) -> float:
        """A step over the whole graph for each batch."""
        steps = max(1, -(-size.pairs // settings.batch))
        return 300 * steps * (6 * size.edges * settings.dimension * settings.depth + size.entities * settings.dimension)

    def __init__(self, task: Task, settings: PSRSettings, device: torch.device) -> None:
        super().__init__(task, settings, device)
        self.graph = graph = Joined.build(task, device)
        self.tails = Pattern(graph.head, graph.tail, (graph.entities, graph.entities))
        self.relations = Pattern(graph.head, graph.relation, (graph.entities, graph.relations))
        self.carried = Pattern(graph.tail, graph.relation, (graph.entities, graph.relations))

    def initial(self, generator: torch.Generator) -> dict[str, Tensor]:
        """Entities, relations, and v of each layer; from what they were drawn is kept, as f₀ is computed from it."""
        self.buffers["drawn_from"] = torch.tensor(generator.initial_seed())
        return self._drawn(generator)

    def _drawn(self, generator: torch.Generator) -> dict[str, Tensor]:
        rows = {"entities": self.graph.entities, "relations": self.graph.relations, "attention": self.settings.depth}
        return {name: uniform((count, self.settings.dimension), generator, START) for name, count in rows.items()}

    def build_optimiser(self, parameters: list[Tensor]) -> Optimizer:
        """Centred RMSprop with decay .95."""
        on_gpu = parameters[0].device.type == "cuda"
        return torch.optim.RMSprop(
            parameters, lr=self.settings.learning_rate, alpha=0.95, eps=1e-7, centered=True, capturable=on_gpu
        )

    @cached_property
    def first(self) -> Tensor:
        """f₀ of all entities, [entities, features / 2]."""
        values = self._drawn(torch.Generator().manual_seed(int(self.buffers["drawn_from"])))
        with torch.no_grad():
            return self.output({name: value.to(self.device) for name, value in values.items()})

    def output(self, parameters: dict[str, Tensor]) -> Tensor:
        """f of all entities under these parameters, [entities, features / 2]."""
        relations = parameters["relations"]
        by_entity, by_relation = mean(self.graph.nearby, parameters["entities"]), mean(self.graph.incident, relations)
        depths: list[tuple[Tensor, ...]] = [(elu(by_entity), elu(by_relation))]
        unit = normalize(relations, dim=1)
        for vector in parameters["attention"]:
            share = edge_softmax(self.relations, take(relations @ vector, self.graph.relation))
            depths.append(tuple(self._layer(view, share, relations, unit) for view in depths[-1]))
        return torch.cat([view for depth in depths for view in depth], 1)

    def _layer(self, view: Tensor, share: Tensor, relations: Tensor, unit: Tensor) -> Tensor:
        turned = share * products(self.carried, view, unit)
        return elu(weighted_sum(self.tails, share, view) - 2 * weighted_sum(self.relations, turned, relations))

    def losses(self, pairs: Links, generator: torch.Generator) -> Iterator[Tensor]:
        """Batches of about the same size, drawn at random."""
        order = torch.randperm(len(pairs), generator=generator, device=self.device)
        for rows in order.tensor_split(max(1, len(pairs) // self.settings.batch)):
            source, target = self.graph.pairs(pairs[rows])
            view, rate = self.output(self.parameters), self.settings.dropout
            loss = view.new_zeros(())
            for here, there in ((source, target), (target, source)):
                own, other = dropped(take(view, here), rate, generator), dropped(self.first[there], rate, generator)
                loss = loss - (pairs.weight[rows] * (standardised(own) * standardised(other)).sum(1) ** 3).mean()
            yield loss

    def restore(self, state: dict[str, Tensor]) -> None:
        """Continue from a state, which may have started elsewhere."""
        self.__dict__.pop("first", None)
        super().restore(state)

    def embed(self) -> Embeddings:
        """[f ‖ f₀] of sources and [f₀ ‖ f] of targets, each half and the whole scaled to length 1."""
        trained, first = (normalize(view, dim=1) for view in (self.output(self.parameters), self.first))
        source, target = slice(self.graph.sources), slice(self.graph.sources, None)
        return Embeddings(
            normalize(torch.cat([trained[source], first[source]], 1), dim=1),
            normalize(torch.cat([first[target], trained[target]], 1), dim=1),
        )


def standardised(rows: Tensor) -> Tensor:
    """ν: each column with mean 0 and deviation 1, then each row with length 1."""
    centred = rows - rows.mean(0)
    return normalize(centred / (centred.square().mean(0) + SMALLEST_LENGTH).sqrt(), dim=1)
