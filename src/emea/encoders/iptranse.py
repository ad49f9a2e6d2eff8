"""IPTransE: translations of both graphs in one space, with relation paths and soft alignment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import normalize
from torch.optim import Optimizer

from emea.candidates.search import nearest_alike
from emea.contracts import Size
from emea.data import Embeddings, Links, Task
from emea.encoders._joined import Joined
from emea.encoders._training import TrainedEncoder, TrainingSettings, uniform
from emea.encoders._translation import substituted, triples_of
from emea.kernels.joins import expand
from emea.kernels.limits import SMALLEST_LENGTH
from emea.kernels.messages import take


class IPTransESettings(TrainingSettings):
    """Dimension 100 and Adagrad, as in the publication; `average`, `near` and a margin of .5 are ours."""

    epochs: int = Field(300, ge=1, description="epochs of the first fit")
    more_epochs: int = Field(30, ge=1, description="epochs of each later fit, which continues from the previous one")
    turn_epochs: int = Field(30, ge=1, description="semi: epochs after each addition of mutually nearest pairs")
    learning_rate: float = Field(0.01, gt=0, description="learning rate of the optimiser")
    dimension: int = Field(100, ge=1, description="dimension of the entity and relation vectors")
    margin: float = Field(0.5, ge=0, description="by how much the energy of a corrupted triple should be higher")
    negatives: int = Field(10, ge=1, description="corrupted triples per triple")
    near: int = Field(50, ge=0, description="draw replacements from this many nearest entities; 0: from all")
    refresh: int = Field(10, ge=1, description="epochs between updates of the nearest entities")
    batch: int = Field(20000, ge=1, description="triples per step")
    path_weight: float = Field(0.1, ge=0, description="weight of the loss of two-step paths")
    path_count: int = Field(10, ge=1, description="ignore paths seen less often than this")
    busiest: int = Field(100, ge=1, description="ignore paths through entities with more edges than this")
    distance: float = Field(0.7, ge=0, description="semi: θ, the distance at which a pair found has reliability 1/2")
    steepness: float = Field(10.0, gt=0, description="semi: k, how fast reliability falls with distance")


class IPTransE(TrainedEncoder[IPTransESettings]):
    """Zhu et al. (IJCAI 2017).

    Triples of both graphs have the energy E(h, r, t) = ‖h + r − t‖, with entities of length 1. They are contrasted with
    triples whose head or tail is replaced by a nearby entity of the same graph: relu(margin + E − E⁻). Pairs that are
    certain (weight 1, and no other pair has one of their entities) share one vector, the mean of their own two. Other
    pairs are soft: the triples of each entity are copied to the other with the pair's weight. Two-step paths r₁∘r₂
    between entities that r joins, too, add ‖r₁ + r₂ − r‖, weighted by their reliability, the share of such paths that
    r closes; r⁻¹ is −r. In semi-supervised mode mutually nearest pairs are added with the weight
    sigmoid(k(θ − distance)).

    Departures from the publication: those of `TrainedEncoder`; corrupted triples take their replacements from the
    nearest entities (`near`) instead of from all; and their margin is .5 instead of 1.5 (docs/log.md).
    """

    Settings = IPTransESettings
    alike: ClassVar[bool] = True

    @classmethod
    def features(cls, settings: IPTransESettings) -> int:
        """The dimension."""
        return settings.dimension

    @classmethod
    def epoch_work(cls, settings: IPTransESettings, size: Size) -> float:
        """Estimated from measured times."""
        return 4200 * size.edges / 2 * (settings.negatives + 1) * settings.dimension

    def __init__(self, task: Task, settings: IPTransESettings, device: torch.device) -> None:
        super().__init__(task, settings, device)
        self.graph = Joined.build(task, device)
        sides = [(task.source, 0), (task.target, 2 * len(task.source.relations))]
        self.inverse_of = torch.cat(
            [torch.arange(2 * len(graph.relations)).roll(len(graph.relations)) + relation for graph, relation in sides]
        ).to(device)
        self.sign = torch.cat(
            [torch.tensor([1.0, -1.0]).repeat_interleave(len(graph.relations)) for graph, _ in sides]
        ).to(device)
        self.triples = triples_of(task, device)
        self.paths, self.path_reliability = frequent_paths(self.graph, settings)
        self.partner, self.all_triples, self.weight = self._with_pairs(Links.empty().to(device))

    def initial(self, generator: torch.Generator) -> dict[str, Tensor]:
        """Entities and relations; the vectors of inverse relations are not used."""
        dimension = self.settings.dimension
        return {
            "entities": normalize(torch.randn(self.graph.entities, dimension, generator=generator), dim=1),
            "relations": uniform((self.graph.relations, dimension), generator),
        }

    def build_optimiser(self, parameters: list[Tensor]) -> Optimizer:
        """Adagrad. Its update does not depend on the number of steps, so a recorded epoch can be replayed."""
        return torch.optim.Adagrad(parameters, lr=self.settings.learning_rate)

    def reliability(self, distance: Tensor) -> Tensor:
        """sigmoid(k(θ − distance))."""
        return torch.sigmoid(self.settings.steepness * (self.settings.distance - distance))

    def prepare(self, pairs: Links) -> None:
        """Find which entities share a vector, and which triples are copied."""
        self.partner, self.all_triples, self.weight = self._with_pairs(pairs)

    def _with_pairs(self, pairs: Links) -> tuple[Tensor, Tensor, Tensor]:
        left, right = self.graph.pairs(pairs)
        count = torch.bincount(torch.cat([left, right]), minlength=self.graph.entities)
        certain = (pairs.weight == 1) & (count[left] == 1) & (count[right] == 1)
        partner = torch.arange(self.graph.entities, device=self.device)
        partner[left[certain]], partner[right[certain]] = right[certain], left[certain]
        copies, weights = [self.triples], [torch.ones(len(self.triples), device=self.device)]
        soft = ~certain
        ends = torch.cat([left[soft], right[soft]]), torch.cat([right[soft], left[soft]])
        for column in (0, 2):
            copied, weight = substituted(self.triples, column, *ends, torch.cat([pairs.weight[soft]] * 2))
            copies.append(copied)
            weights.append(weight)
        return partner, torch.cat(copies), torch.cat(weights)

    def vectors(self) -> Tensor:
        """Entity vectors of length 1, shared by certain pairs, [entities, dimension]."""
        own = self.parameters["entities"]
        return normalize((own + take(own, self.partner)) / 2, dim=1)

    def losses(self, pairs: Links, generator: torch.Generator) -> Iterator[Tensor]:  # noqa: ARG002 - known since prepare
        """Batches of triples, each with the path loss."""
        # `randperm` cannot be recorded in a CUDA graph
        order = torch.argsort(torch.rand(len(self.all_triples), generator=generator, device=self.device))
        for rows in torch.split(order, self.settings.batch):
            triples = self.all_triples[rows]
            loss = self.triple_loss(triples, self.weight[rows], self.corrupted(triples, generator))
            yield loss + self.settings.path_weight * self.path_loss() if len(self.paths) else loss

    def corrupted(self, triples: Tensor, generator: torch.Generator) -> Tensor:
        """Each triple with head or tail replaced by another entity of the same graph, [triples, negatives, 3]."""
        shape = (len(triples), self.settings.negatives)
        at_head = torch.randint(2, shape, generator=generator, device=self.device).bool()
        head, relation, tail = (column[:, None].expand(shape) for column in triples.unbind(1))
        other = self._another(torch.where(at_head, head, tail), generator)
        return torch.stack([torch.where(at_head, other, head), relation, torch.where(at_head, tail, other)], -1)

    def _another(self, entity: Tensor, generator: torch.Generator) -> Tensor:
        """A random one of the entities nearest to each, or of all others of its graph if `near` is 0; same shape."""
        near, graph = self.buffers.get("near"), self.graph
        if near is not None and near.shape[1]:
            drawn = torch.randint(near.shape[1], entity.shape, generator=generator, device=self.device)
            return near[entity, drawn]
        first = torch.where(entity < graph.sources, 0, graph.sources)
        size = torch.where(entity < graph.sources, graph.sources, graph.targets)
        step = 1 + (torch.rand(entity.shape, generator=generator, device=self.device) * (size - 1)).long()
        return first + (entity - first + step.minimum((size - 1).clamp(min=1))) % size

    def look_around(self, pairs: Links) -> None:  # noqa: ARG002 - known since prepare
        """Every `refresh` epochs, find the entities nearest to each in its own graph."""
        if not self.settings.near or self.epoch % self.settings.refresh:
            return
        with torch.no_grad():
            sides = self.graph.split(self.vectors())
        near = nearest_alike(sides.source, self.settings.near), nearest_alike(sides.target, self.settings.near)
        width = min(near[0].shape[1], near[1].shape[1])
        found = torch.cat([near[0][:, :width], near[1][:, :width] + self.graph.sources])
        self.buffers.setdefault("near", found).copy_(found)  # in place, where a recorded epoch reads it

    def triple_loss(self, triples: Tensor, weight: Tensor, negatives: Tensor) -> Tensor:
        """Weighted mean of relu(margin + E − E⁻)."""
        entities, relations = self.vectors(), self.parameters["relations"]

        def energy(each: Tensor) -> Tensor:
            head, relation, tail = each.unbind(-1)
            moved = take(entities, head) + take(relations, relation) - take(entities, tail)
            return (moved.square().sum(-1) + SMALLEST_LENGTH).sqrt()

        loss = torch.relu(self.settings.margin + energy(triples)[:, None] - energy(negatives)).mean(1)
        return (weight * loss).sum() / len(triples)

    def path_loss(self) -> Tensor:
        """Mean of ‖r₁ + r₂ − r‖, weighted by reliability."""
        straight = self.parameters["relations"]
        both = torch.where(self.sign[:, None] > 0, straight, -take(straight, self.inverse_of))
        first, second, closing = take(both, self.paths).unbind(1)
        apart = ((first + second - closing).square().sum(1) + SMALLEST_LENGTH).sqrt()
        return (self.path_reliability * apart).sum() / len(self.paths)

    def embed(self) -> Embeddings:
        """The entities' vectors."""
        return self.graph.split(self.vectors())


def frequent_paths(graph: Joined, settings: IPTransESettings) -> tuple[Tensor, Tensor]:
    """Relations (r₁, r₂, r), [paths, 3], and the share of the paths r₁∘r₂ whose ends r joins, [paths]."""
    first, second = graph.two_steps(settings.busiest)
    key = graph.head * graph.entities + graph.tail
    key, order = torch.sort(key)
    ends = graph.head[first] * graph.entities + graph.tail[second]
    start = torch.searchsorted(key, ends)
    row, position = expand(start, torch.searchsorted(key, ends, right=True) - start)
    pair = graph.relation[first] * graph.relations + graph.relation[second]
    pairs, pair = torch.unique(pair, return_inverse=True)
    seen = torch.bincount(pair, minlength=len(pairs))
    closing = graph.relation[order[position]]
    kinds, count = torch.unique(pair[row] * graph.relations + closing, return_counts=True)
    kinds, count = kinds[count >= settings.path_count], count[count >= settings.path_count]
    pair, closing = kinds // graph.relations, kinds % graph.relations
    paths = torch.stack([pairs[pair] // graph.relations, pairs[pair] % graph.relations, closing], 1)
    return paths, (count / seen[pair]).float()
