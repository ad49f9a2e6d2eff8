"""AliNet: one-hop means and two-hop attention, combined by a gate."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import leaky_relu, normalize
from torch.optim import Optimizer

from emea.candidates.search import nearest_alike
from emea.contracts import Size
from emea.data import Embeddings, Links, Task
from emea.encoders._joined import Joined
from emea.encoders._margin import distance
from emea.encoders._training import TrainedEncoder, TrainingSettings, uniform
from emea.kernels.joins import expand
from emea.kernels.messages import Pattern, edge_softmax, mean, products, take, weighted_sum
from emea.kernels.segments import starts


class AliNetSettings(TrainingSettings):
    """Dimensions 500, 400 and 300, as in the publication; `average`, `near`, `frequent` and `fan` are ours."""

    epochs: int = Field(100, ge=1, description="epochs of the first fit")
    more_epochs: int = Field(40, ge=1, description="epochs of each later fit, which continues from the previous one")
    turn_epochs: int = Field(40, ge=1, description="semi: epochs after each addition of mutually nearest pairs")
    learning_rate: float = Field(0.001, gt=0, description="learning rate of the optimiser")
    dimensions: tuple[int, ...] = Field((500, 400, 300), min_length=1, description="of the input and of each layer")
    frequent: int = Field(10, ge=1, description="two-hop links use relation pairs with this many starts or more")
    fan: float = Field(5.0, ge=1, description="… that reach at most this many entities from each, on average")
    busiest: int = Field(100, ge=1, description="ignore paths through entities with more edges than this")
    margin: float = Field(1.5, ge=0, description="λ: how far apart negatives should be")
    negatives: int = Field(10, ge=1, description="negatives for each side of a pair")
    near: int = Field(50, ge=1, description="draw negatives from this many entities nearest to the counterpart")
    refresh: int = Field(10, ge=1, description="epochs between updates of the nearest entities")
    negative_weight: float = Field(0.1, ge=0, description="α₁: weight of the negatives")
    relation_weight: float = Field(0.01, ge=0, description="α₂: weight of the relation loss")
    triples: int = Field(20000, ge=1, description="triples drawn for each step of the relation loss")
    augmented: bool = Field(True, description="link entities whose counterparts are linked in the other graph")


class AliNet(TrainedEncoder[AliNetSettings]):
    """Sun et al. (AAAI 2020).

    Layer: h¹_i = tanh(Σ_{j∈N₁(i)∪i} W₁h_j / c_i), c_i their number; h²_i = tanh(Σ_{j∈N₂(i)∪i} α_ij W₂h_j) with
    α = softmax of LeakyReLU((M₁h_i)·(M₂h_j)); h_i = g∘h¹ + (1 − g)∘h², g = sigmoid(M h² + b). N₂ are the entities two
    hops away along frequent relation pairs. Embedding: the normalised layers, concatenated. Loss:

        Σ_pairs ‖h_i − h_j‖ + α₁ Σ_negatives relu(λ − ‖h_i − h_j‖) + α₂ Σ_r mean over its triples of ‖h_s − h_o − r‖,

    where r is the mean of h_s − h_o over the triples of r. Entities whose counterparts are linked in the other graph
    are linked here, too.

    Departures from the publication: those of `TrainedEncoder`. Which entities are drawn as negatives (`near`) and which
    relation pairs count as frequent (`frequent`, `fan`) was chosen by experiment (docs/log.md).
    """

    Settings = AliNetSettings

    @classmethod
    def features(cls, settings: AliNetSettings) -> int:
        """The dimensions of all layers."""
        return sum(settings.dimensions)

    @classmethod
    def epoch_work(cls, settings: AliNetSettings, size: Size) -> float:
        """Estimated from measured times."""
        return (
            37
            * size.entities
            * sum(2 * width * (width + out) + out * out for width, out in pairwise(settings.dimensions))
        )

    def __init__(self, task: Task, settings: AliNetSettings, device: torch.device) -> None:
        super().__init__(task, settings, device)
        self.graph = Joined.build(task, device)
        self.one_hop, self.two_hop = self.graph.nearby, two_hops(self.graph, settings)
        edges = self.graph
        self.heads = Pattern(edges.relation, edges.head, (edges.relations, edges.entities))
        self.tails = Pattern(edges.relation, edges.tail, (edges.relations, edges.entities))

    def initial(self, generator: torch.Generator) -> dict[str, Tensor]:
        """Entities, and for each layer W₁, W₂, M₁, M₂, M and b."""
        dimensions = self.settings.dimensions
        values = {"entities": uniform((self.graph.entities, dimensions[0]), generator)}
        for layer, (width, out) in enumerate(pairwise(dimensions)):
            for name, shape in {
                "one_hop": (width, out),
                "two_hop": (width, out),
                "centre": (width, width),
                "neighbour": (width, width),
                "gate": (out, out),
            }.items():
                values[f"{layer}.{name}"] = uniform(shape, generator)
            values[f"{layer}.bias"] = torch.zeros(out)
        return values

    def build_optimiser(self, parameters: list[Tensor]) -> Optimizer:
        """Adam."""
        return torch.optim.Adam(parameters, lr=self.settings.learning_rate)

    def prepare(self, pairs: Links) -> None:
        """Link entities whose counterparts are linked."""
        self.one_hop = augmented(self.graph, pairs) if self.settings.augmented else self.graph.nearby

    def output(self) -> Tensor:
        """All layers, normalised, [entities, features]."""
        layers = [self.parameters["entities"]]
        for layer in range(len(self.settings.dimensions) - 1):
            layers.append(self._layer(layers[-1], f"{layer}."))
        return normalize(torch.cat([normalize(layer, dim=1) for layer in layers], 1), dim=1)

    def _layer(self, h: Tensor, layer: str) -> Tensor:
        weights = {name.removeprefix(layer): value for name, value in self.parameters.items() if name.startswith(layer)}
        near = torch.tanh(mean(self.one_hop, h @ weights["one_hop"]))  # h¹
        logits = products(self.two_hop, h @ weights["centre"], h @ weights["neighbour"])
        attention = edge_softmax(self.two_hop, leaky_relu(logits, 0.2))
        far = torch.tanh(weighted_sum(self.two_hop, attention, h @ weights["two_hop"]))  # h²
        gate = torch.sigmoid(far @ weights["gate"] + weights["bias"])
        return gate * near + (1 - gate) * far

    def losses(self, pairs: Links, generator: torch.Generator) -> Iterator[Tensor]:
        """One batch of all pairs; the negatives of each side are drawn from the entities nearest to its counterpart."""
        settings, graph = self.settings, self.graph
        h = self.output()
        left, right = graph.pairs(pairs)
        shape = (len(pairs), settings.negatives)
        apart = []
        for ends, others in ((left, self.buffers["near_target"]), (right, self.buffers["near_source"])):
            if others.shape[1] == 0:  # a graph of one entity
                continue
            drawn = torch.randint(others.shape[1], shape, generator=generator, device=self.device)
            apart.append(distance(take(h, ends)[:, None], take(h, others.gather(1, drawn))))
        negatives = (
            torch.relu(settings.margin - torch.cat(apart, 1)).sum(1) if apart else torch.zeros_like(pairs.weight)
        )
        loss = (pairs.weight * (distance(take(h, left), take(h, right)) + settings.negative_weight * negatives)).sum()
        if settings.relation_weight:
            loss = loss + settings.relation_weight * self.relation_loss(h, generator)
        yield loss

    def look_around(self, pairs: Links) -> None:
        """Every `refresh` epochs, find the entities nearest to each pair's source and target in their own graphs."""
        if self.epoch % self.settings.refresh:
            return
        with torch.no_grad():
            sides = self.embed()
        self.buffers["near_source"] = nearest_alike(sides.source, self.settings.near, pairs.source)
        self.buffers["near_target"] = nearest_alike(sides.target, self.settings.near, pairs.target) + self.graph.sources

    def relation_loss(self, h: Tensor, generator: torch.Generator) -> Tensor:
        """Σ_r mean over its triples of ‖h_s − h_o − r‖, estimated from a random sample of triples."""
        graph = self.graph
        count = min(self.settings.triples, len(graph.head))
        relations = mean(self.heads, h) - mean(self.tails, h)
        drawn = torch.randint(len(graph.head), (count,), generator=generator, device=self.device)
        apart = distance(
            take(h, graph.head[drawn]) - take(h, graph.tail[drawn]), take(relations, graph.relation[drawn])
        )
        return (apart * self.heads.share[drawn]).sum() * (len(graph.head) / count)

    def embed(self) -> Embeddings:
        """The output, scaled to length 1."""
        return self.graph.split(self.output())


def two_hops(graph: Joined, settings: AliNetSettings) -> Pattern:
    """N₂(i) ∪ i: ends of two-hop paths along frequent relation pairs that lead to few entities from each start."""
    first, second = graph.two_steps(settings.busiest)
    kind = graph.relation[first] * graph.relations + graph.relation[second]
    kinds, kind = torch.unique(kind, return_inverse=True)
    start, end = graph.head[first], graph.tail[second]
    begins = torch.unique(kind * graph.entities + start)  # each kind's start entities
    starts = torch.bincount(begins // graph.entities, minlength=len(kinds))
    place = torch.searchsorted(begins, kind * graph.entities + start)
    reached = torch.unique(place * graph.entities + end) // graph.entities  # a row per start and entity reached from it
    ends = torch.bincount(begins[reached] // graph.entities, minlength=len(kinds))
    taken = ((starts >= settings.frequent) & (ends <= settings.fan * starts))[kind]
    loops = torch.arange(graph.entities, device=graph.device) * (graph.entities + 1)
    key = torch.unique(torch.cat([start[taken] * graph.entities + end[taken], loops]))
    return Pattern(key // graph.entities, key % graph.entities, (graph.entities, graph.entities))


def augmented(graph: Joined, pairs: Links) -> Pattern:
    """N₁(i) ∪ i, with an added edge between entities whose counterparts have one."""
    left, right = graph.pairs(pairs)
    known, order = torch.sort(torch.cat([left, right]), stable=True)
    counterpart = torch.cat([right, left])[order]
    count = torch.bincount(known, minlength=graph.entities)
    start = starts(count)
    edge, head = expand(start[graph.head], count[graph.head])  # edges × counterparts of the head
    row, tail = expand(start[graph.tail[edge]], count[graph.tail[edge]])  # × counterparts of the tail
    added = counterpart[head[row]] * graph.entities + counterpart[tail]
    key = torch.unique(torch.cat([graph.nearby.row * graph.entities + graph.nearby.column, added]))
    return Pattern(key // graph.entities, key % graph.entities, (graph.entities, graph.entities))
