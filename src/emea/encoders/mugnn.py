"""MuGNN: two channels of attention, over neighbours and over relations that the other graph has, too."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import elu, leaky_relu, normalize
from torch.optim import Optimizer

from emea.contracts import Size
from emea.data import Embeddings, Links, Task
from emea.encoders._joined import Joined
from emea.encoders._margin import distance
from emea.encoders._training import TrainedEncoder, TrainingSettings, dropped, uniform
from emea.encoders._translation import triples_of
from emea.kernels.messages import Pattern, edge_softmax, take, weighted_sum
from emea.kernels.segments import starts

LAYERS = 2
LEAST_SEEN = 3  # triples of a pair of relations between known pairs


class MuGNNSettings(TrainingSettings):
    """As in the released code; `average` and `triples` are ours."""

    epochs: int = Field(500, ge=1, description="epochs of the first fit")
    more_epochs: int = Field(50, ge=1, description="epochs of each later fit, which continues from the previous one")
    turn_epochs: int = Field(100, ge=1, description="semi: epochs after each addition of mutually nearest pairs")
    learning_rate: float = Field(0.001, gt=0, description="learning rate of the optimiser")
    decay: float = Field(0.01, ge=0, description="weight decay")
    dimension: int = Field(128, ge=1, description="dimension of the entity and relation vectors")
    dropout: float = Field(0.2, ge=0, lt=1, description="dropout rate before each layer in training")
    margin: float = Field(1.0, ge=0, description="γ: how much nearer than others a counterpart should be")
    truth_margin: float = Field(0.12, ge=0, description="how much truer than a corrupted one a triple should be")
    negatives: int = Field(
        25, ge=1, description="negatives for each side of a pair: the nearest entities of known pairs"
    )
    relation_negatives: int = Field(2, ge=1, description="negatives for each side of a pair of relations")
    refresh: int = Field(5, ge=1, description="epochs between updates of the nearest entities")
    triples: int = Field(40000, ge=1, description="triples drawn for each step")


class MuGNN(TrainedEncoder[MuGNNSettings]):
    """Cao et al. (ACL 2019).

    Two channels run through two layers from the same vectors, over the neighbours j of i and i itself. One attends by

        x_i ← Σ α_ij w∘x_j,   α = softmax of LeakyReLU(a·[w∘x_i ‖ w∘x_j]),

    with elu between the layers; the other by how like r_ij is to a relation of the other graph, itself counting as 1:

        x_i ← elu(Σ β_ij u∘x_j),   β = softmax of min(1, max over r' of cos(r_ij, r')).

    E is the mean of both, scaled to length 1. Loss: the sum of the means of relu(γ + ‖e − e⁺‖ − ‖e − e⁻‖) over pairs of
    entities and over pairs of relations, and of relu(γ_r − I(τ) + I(τ⁻)) over triples, where I(h, r, t) =
    1 − ‖E_h + r − E_t‖₁ / (3√d) and τ⁻ has another head or tail that the relation has elsewhere.

    Departures from the publication: those of `TrainedEncoder`; pairs of relations are those that triples between known
    pairs share most, where the released data pairs them by name; there are no rules, and so no loss for them; and each
    step sees a sample of the triples.
    """

    Settings = MuGNNSettings

    @classmethod
    def features(cls, settings: MuGNNSettings) -> int:
        """The dimension."""
        return settings.dimension

    @classmethod
    def epoch_work(cls, settings: MuGNNSettings, size: Size) -> float:
        """Estimated from what is gathered."""
        gathered = 8 * LAYERS * size.edges + 30 * settings.triples + 4 * size.pairs * settings.negatives
        return 60 * settings.dimension * (gathered + 4 * size.entities)

    def __init__(self, task: Task, settings: MuGNNSettings, device: torch.device) -> None:
        super().__init__(task, settings, device)
        self.graph, self.triples = Joined.build(task, device), triples_of(task, device)
        self.first = 2 * len(task.source.relations)  # relation of the target graph
        self.near, self.relation = neighbourhood(self.graph, self.triples)
        self.seen = [_members(self.triples[:, 1], self.triples[:, end], self.graph.relations) for end in (0, 2)]
        self.used = [torch.unique(side) for side in self._by_graph(self.triples[:, 1])]
        self.relation_pairs = self.triples[:0, :2]

    def _by_graph(self, relations: Tensor) -> tuple[Tensor, Tensor]:
        return relations[relations < self.first], relations[relations >= self.first]

    def initial(self, generator: torch.Generator) -> dict[str, Tensor]:
        """Entities, relations, and of each layer w, u and both halves of a."""
        width, sizes = self.settings.dimension, (self.sources, self.targets)
        tables = [torch.randn(count, width, generator=generator) / math.sqrt(max(1, count)) for count in sizes]
        return {
            "entities": torch.cat(tables),
            "relations": uniform((self.graph.relations, width), generator),
            "weights": torch.ones(LAYERS, 2, width),
            "attention": uniform((LAYERS, 2, width), generator, 1 / math.sqrt(2 * width)),
        }

    def build_optimiser(self, parameters: list[Tensor]) -> Optimizer:
        """Adagrad."""
        return torch.optim.Adagrad(parameters, lr=self.settings.learning_rate, weight_decay=self.settings.decay)

    def prepare(self, pairs: Links) -> None:
        """Find the pairs of relations."""
        self.relation_pairs = shared_relations(self.triples, *self.graph.pairs(pairs))

    def output(self, generator: torch.Generator | None = None) -> Tensor:
        """E, [entities, dimension]; with dropout if there is a generator."""
        relations = normalize(self.parameters["relations"], dim=1)
        rate = self.settings.dropout if generator is not None else 0.0
        here, there = relations[self.used[0]], relations[self.used[1]]
        likeness = here @ there.T if len(here) and len(there) else relations.new_zeros(len(here), len(there))
        shared = relations.new_ones(self.graph.relations + 1)  # the last stands for an entity itself
        if likeness.numel():
            shared = shared.index_put((self.used[0],), likeness.max(1).values.clamp(max=1.0))
            shared = shared.index_put((self.used[1],), likeness.max(0).values.clamp(max=1.0))
        by_relation = edge_softmax(self.near, take(shared[:, None], self.relation)[:, 0])
        one = other = self.parameters["entities"]
        for layer, ((w, u), (a, b)) in enumerate(
            zip(self.parameters["weights"], self.parameters["attention"], strict=True)
        ):
            if generator is not None:
                one, other = dropped(one, rate, generator), dropped(other, rate, generator)
            z = w * one
            logits = take((z @ a)[:, None], self.near.row)[:, 0] + take((z @ b)[:, None], self.near.column)[:, 0]
            one = weighted_sum(self.near, edge_softmax(self.near, leaky_relu(logits, 0.2)), z)
            one = elu(one) if layer < LAYERS - 1 else one
            other = elu(weighted_sum(self.near, by_relation, u * other))
        return normalize((one + other) / 2, dim=1)

    def losses(self, pairs: Links, generator: torch.Generator) -> Iterator[Tensor]:
        """One batch of all pairs and some triples."""
        vectors, settings = self.output(generator), self.settings
        relations = normalize(self.parameters["relations"], dim=1)
        loss = self.triple_loss(vectors, relations, generator)
        left, right = self.graph.pairs(pairs)
        if len(left) > 1:
            near = [self._others(name, ends, generator) for name, ends in (("left", left), ("right", right))]
            loss = loss + triplets(vectors, (left, right), (near[1], near[0]), settings.margin, pairs.weight)
        if len(self.relation_pairs):
            ends, drawn = self.relation_pairs.unbind(1), []
            for used in (self.used[1], self.used[0]):
                shape = (len(self.relation_pairs), settings.relation_negatives)
                drawn.append(used[torch.randint(len(used), shape, generator=generator, device=self.device)])
            loss = loss + triplets(relations, ends, (drawn[0], drawn[1]), settings.margin)
        yield loss

    def _others(self, name: str, ends: Tensor, generator: torch.Generator) -> Tensor:
        """Entities of other pairs on the same side, [pairs, negatives]: the nearest, or any before these were found."""
        count = min(self.settings.negatives, len(ends) - 1)
        if f"near_{name}" in self.buffers:
            return ends[self.buffers[f"near_{name}"]]
        step = 1 + torch.randint(len(ends) - 1, (len(ends), count), generator=generator, device=self.device)
        return ends[(torch.arange(len(ends), device=self.device)[:, None] + step) % len(ends)]

    def look_around(self, pairs: Links) -> None:
        """Every `refresh` epochs but the first, find the nearest entities among those of known pairs on each side."""
        if self.epoch == 0:
            self.buffers.clear()
        elif self.epoch % self.settings.refresh == 0 and len(pairs) > 1:
            with torch.no_grad():
                vectors = self.output()
            for name, ends in zip(("left", "right"), self.graph.pairs(pairs), strict=True):
                likeness = vectors[ends] @ vectors[ends].T
                likeness[ends[:, None] == ends] = -torch.inf  # itself
                count = min(self.settings.negatives, len(ends) - 1)
                self.buffers[f"near_{name}"] = likeness.topk(count, 1).indices

    def triple_loss(self, vectors: Tensor, relations: Tensor, generator: torch.Generator) -> Tensor:
        """Mean of relu(γ_r − I(τ) + I(τ⁻)) over triples with two other heads and two other tails each."""
        count = min(self.settings.triples, len(self.triples))
        if not count:
            return vectors.new_zeros(())
        triples = self.triples[torch.randint(len(self.triples), (count,), generator=generator, device=self.device)]
        head, relation, tail = (column[:, None].expand(-1, 4) for column in triples.unbind(1))
        heads, tails = (self._drawn(members, triples[:, 1], generator) for members in self.seen)
        false = torch.cat([heads, head[:, 2:]], 1), torch.cat([tail[:, :2], tails], 1)
        truth, wrong = (
            1
            - (take(vectors, one) + take(relations, relation[:, : one.shape[1]]) - take(vectors, other)).abs().sum(2)
            / (3 * math.sqrt(self.settings.dimension))
            for one, other in ((head[:, :1], tail[:, :1]), false)
        )
        return torch.relu(self.settings.truth_margin - truth + wrong).mean()

    def _drawn(self, members: tuple[Tensor, Tensor, Tensor], relation: Tensor, generator: torch.Generator) -> Tensor:
        """Two entities that each relation has in this place, [relations, 2]."""
        entity, start, count = members
        part = torch.rand(len(relation), 2, generator=generator, device=self.device)
        return entity[start[relation][:, None] + (part * count[relation][:, None]).long()]

    def embed(self) -> Embeddings:
        """E."""
        return self.graph.split(self.output())


def triplets(
    vectors: Tensor,
    ends: tuple[Tensor, ...],
    others: tuple[Tensor, Tensor],
    margin: float,
    weight: Tensor | None = None,
) -> Tensor:
    """Mean of relu(γ + ‖e − e⁺‖ − ‖e − e⁻‖) over both directions, weighted by pair."""
    near, total = distance(take(vectors, ends[0]), take(vectors, ends[1])), vectors.new_zeros(())
    for end, false in zip(ends, others, strict=True):
        apart = distance(take(vectors, end)[:, None], take(vectors, false))
        each = torch.relu(margin + near[:, None] - apart).mean(1)
        total = total + (each if weight is None else weight * each).mean() / 2
    return total


def neighbourhood(graph: Joined, triples: Tensor) -> tuple[Pattern, Tensor]:
    """Each entity with its neighbours and itself; and the relation of each entry, the last if several join two, the
    number of relations for an entity itself."""
    apart = triples[triples[:, 0] != triples[:, 2]]
    head, relation, tail = apart.unbind(1)
    own = torch.arange(graph.entities, device=graph.device)
    key = torch.cat([head * graph.entities + tail, tail * graph.entities + head, own * (graph.entities + 1)])
    kind = torch.cat([relation, relation, torch.full_like(own, graph.relations)])
    key, place = torch.unique(key, return_inverse=True)
    last = torch.zeros(len(key), dtype=kind.dtype, device=graph.device).scatter_reduce_(0, place, kind, "amax")
    return Pattern(key // graph.entities, key % graph.entities, (graph.entities, graph.entities)), last


def shared_relations(triples: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """Relations of both graphs that are each other's most shared: how many of the triples between known entities that
    one of them has both have, [pairs, 2]."""
    counterpart = dict(zip(left.tolist(), right.tolist(), strict=True))
    known = set(right.tolist())
    images: dict[tuple[int, int], list[int]] = {}
    total: dict[int, int] = {}
    both: dict[tuple[int, int], int] = {}
    for head, relation, tail in triples.tolist():
        if head in known and tail in known:
            images.setdefault((head, tail), []).append(relation)
            total[relation] = total.get(relation, 0) + 1
    for head, relation, tail in triples.tolist():
        if head in counterpart and tail in counterpart:
            total[relation] = total.get(relation, 0) + 1
            for other in images.get((counterpart[head], counterpart[tail]), ()):
                both[relation, other] = both.get((relation, other), 0) + 1
    share = {
        pair: count / (total[pair[0]] + total[pair[1]] - count) for pair, count in both.items() if count >= LEAST_SEEN
    }
    best: dict[tuple[int, int], tuple[float, tuple[int, int]]] = {}
    for pair, value in sorted(share.items()):
        for side in (0, 1):
            if value > best.get((side, pair[side]), (0.0, pair))[0]:
                best[side, pair[side]] = value, pair
    found = [pair for pair in sorted(share) if best[0, pair[0]][1] == best[1, pair[1]][1] == pair]
    return torch.tensor(found, dtype=torch.int64, device=triples.device).reshape(-1, 2)


def _members(relation: Tensor, entity: Tensor, relations: int) -> tuple[Tensor, Tensor, Tensor]:
    """The distinct entities of each relation: these, and the place of each relation's first and their number."""
    width = int(entity.max()) + 1 if len(entity) else 1
    key = torch.unique(relation * width + entity)
    count = torch.bincount(key // width, minlength=relations)
    return key % width, starts(count), count
