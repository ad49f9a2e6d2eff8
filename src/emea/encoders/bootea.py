"""BootEA: translations with limits on both sides, and labels that are renewed as training goes on."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import logsigmoid, normalize
from torch.optim import Optimizer

from emea.candidates.search import nearest_alike, search
from emea.contracts import Size
from emea.data import Embeddings, Links, Task
from emea.encoders._joined import Joined
from emea.encoders._training import TrainedEncoder, TrainingSettings
from emea.encoders._translation import substituted, triples_of
from emea.kernels.greedy import greedy
from emea.kernels.joins import lookup
from emea.kernels.messages import row_products, take
from emea.settings import SimilaritySettings

NEAREST = 20  # entities among which labels are chosen


class BootEASettings(TrainingSettings):
    """As in the released code. `average` and `sample` are ours; labels take the place of turns."""

    epochs: int = Field(500, ge=1, description="epochs of the first fit")
    more_epochs: int = Field(50, ge=1, description="epochs of each later fit, which continues from the previous one")
    turns: int = Field(0, ge=0, description="semi: how often mutually nearest pairs are added, after all labelling")
    learning_rate: float = Field(0.01, gt=0, description="learning rate of the optimiser")
    dimension: int = Field(75, ge=1, description="dimension of the entity and relation vectors")
    true_limit: float = Field(0.01, ge=0, description="γ₁: what the energy of a triple should not exceed")
    false_limit: float = Field(2.0, ge=0, description="γ₂: what that of a corrupted one should not fall below")
    false_weight: float = Field(0.2, ge=0, description="μ₁: weight of corrupted triples")
    negatives: int = Field(10, ge=1, description="corrupted triples per triple")
    truncated: float = Field(0.9, ge=0, lt=1, description="ε: share of the entities too far away to be replacements")
    sample: int = Field(100, ge=1, description="of the others this many are drawn for each entity, to draw from")
    refresh: int = Field(5, ge=1, description="epochs between updates of the nearest entities")
    batch: int = Field(20000, ge=1, description="triples per step")
    relabel: int = Field(10, ge=2, description="semi: epochs between updates of the labels")
    likeness: float = Field(0.7, ge=-1, le=1, description="semi: γ₃, the least cosine of a labelled pair")


class BootEA(TrainedEncoder[BootEASettings]):
    """Sun et al. (IJCAI 2018).

    Triples have the energy f(h, r, t) = ‖h + r − t‖², with all vectors of length 1. Loss, a sum:

        Σ relu(f − γ₁) + μ₁ Σ relu(γ₂ − f⁻),

    over the triples of both graphs and those in which one entity of a known pair stands in for the other, each with
    copies f⁻ whose head or tail is replaced by one of the nearest entities of its graph, unless the copy is true.

    In semi-supervised mode labels are renewed every `relabel` epochs of the first fit: the one-to-one pairs of greatest
    cosine, more than γ₃, among the 20 nearest of each entity. A source keeps its label unless the new one is nearer
    by then; of sources that want the same target the nearest has it. Twice between renewals, triples in which labelled
    entities stand in for each other add − Σ log σ(−f).

    Departures from the publication: those of `TrainedEncoder`; its third objective, the likelihood of labels, is left
    out, as in later versions by its authors; one optimiser serves both objectives; the one-to-one pairs are chosen
    greedily; and replacements are drawn from a sample of the nearest entities, renewed with them.
    """

    Settings = BootEASettings

    @classmethod
    def features(cls, settings: BootEASettings) -> int:
        """The dimension."""
        return settings.dimension

    @classmethod
    def epoch_work(cls, settings: BootEASettings, size: Size) -> float:
        """As IPTransE's."""
        return 4200 * size.edges / 2 * (settings.negatives + 1) * settings.dimension

    def __init__(self, task: Task, settings: BootEASettings, device: torch.device) -> None:
        super().__init__(task, settings, device)
        self.graph, self.triples = Joined.build(task, device), triples_of(task, device)
        self.positives, self.weight = self.triples, torch.ones(len(self.triples), device=device)
        self.true = self._keys(self.triples)

    def initial(self, generator: torch.Generator) -> dict[str, Tensor]:
        """Entities and relations: normal with variance 1/dimension, cut at two standard deviations."""
        dimension = self.settings.dimension
        rows = {"entities": self.graph.entities, "relations": self.graph.relations}
        values = {name: torch.empty(count, dimension) for name, count in rows.items()}
        for value in values.values():
            torch.nn.init.trunc_normal_(value, std=1.0, a=-2.0, b=2.0, generator=generator)
        return {name: value / math.sqrt(dimension) for name, value in values.items()}

    def build_optimiser(self, parameters: list[Tensor]) -> Optimizer:
        """Adagrad, with the start of the framework that the publication used."""
        return torch.optim.Adagrad(parameters, lr=self.settings.learning_rate, initial_accumulator_value=0.1)

    def prepare(self, pairs: Links) -> None:
        """Let the entities of pairs stand in for each other, and look up which triples are true then."""
        copies, weight = self._swapped(self.triples, *self.graph.pairs(pairs), pairs.weight)
        self.positives = torch.cat([self.triples, copies])
        self.weight = torch.cat([torch.ones(len(self.triples), device=self.device), weight.float()])
        self.true = torch.sort(self._keys(self.positives)).values

    @staticmethod
    def _swapped(triples: Tensor, left: Tensor, right: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Copies of the triples with one entity of a pair in the place of the other, one end at a time."""
        ends = torch.cat([left, right]), torch.cat([right, left]), torch.cat([weight, weight])
        copies, weights = zip(*(substituted(triples, column, *ends) for column in (0, 2)), strict=True)
        return torch.cat(copies), torch.cat(weights)

    def _keys(self, triples: Tensor) -> Tensor:
        head, relation, tail = triples.unbind(-1)
        return (head * self.graph.relations + relation) * self.graph.entities + tail

    def energy(self, triples: Tensor) -> Tensor:
        """f of each triple; same shape without the last dimension."""
        entities, relations = (normalize(self.parameters[name], dim=1) for name in ("entities", "relations"))
        head, relation, tail = triples.unbind(-1)
        return (take(entities, head) + take(relations, relation) - take(entities, tail)).square().sum(-1)

    def losses(self, pairs: Links, generator: torch.Generator) -> Iterator[Tensor]:  # noqa: ARG002 - known since prepare
        """Batches of triples; then, if it is time, of those through labels."""
        settings = self.settings
        for rows in self._batches(len(self.positives), generator):
            triples, weight = self.positives[rows], self.weight[rows]
            false, counts = self.corrupted(triples, generator)
            near = torch.relu(self.energy(triples) - settings.true_limit)
            far = (torch.relu(settings.false_limit - self.energy(false)) * counts).sum(1)
            yield (weight * (near + settings.false_weight * far)).sum()
        if "label_source" in self.buffers and self.epoch % (settings.relabel // 2) == settings.relabel // 2 - 1:
            left, right = self.buffers["label_source"], self.buffers["label_target"] + self.graph.sources
            copies, _ = self._swapped(self.positives, left, right, torch.ones_like(left))
            for rows in self._batches(len(copies), generator):
                yield -logsigmoid(-self.energy(copies[rows])).sum()

    def _batches(self, count: int, generator: torch.Generator) -> Iterator[Tensor]:
        if count:
            order = torch.randperm(count, generator=generator, device=self.device)
            yield from torch.split(order, self.settings.batch)

    def corrupted(self, triples: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Each triple with its head or its tail replaced, [triples, negatives, 3], and whether it counts: not if it is
        true."""
        near, shape = self.buffers["near"], (len(triples), self.settings.negatives)
        at_head = torch.randint(2, (len(triples), 1), generator=generator, device=self.device).bool()
        head, relation, tail = (column[:, None].expand(shape) for column in triples.unbind(1))
        drawn = torch.randint(max(1, near.shape[1]), shape, generator=generator, device=self.device)
        replaced = torch.where(at_head, head, tail)
        other = near[replaced, drawn].long() if near.shape[1] else replaced
        false = torch.stack([torch.where(at_head, other, head), relation, torch.where(at_head, tail, other)], -1)
        return false, lookup(self.true, self._keys(false)) < 0

    def look_around(self, pairs: Links) -> None:
        """Renew the nearest entities and, in semi-supervised mode, the labels, every so many epochs."""
        if self.epoch == 0:
            self.buffers.clear()
        if self.epoch % self.settings.refresh == 0:
            with torch.no_grad():
                sides = self.embed()
            draw = torch.Generator().manual_seed(self.epoch)
            near = [self._near(side, draw) for side in (sides.source, sides.target)]
            width = min(each.shape[1] for each in near)
            self.buffers["near"] = torch.cat([near[0][:, :width], near[1][:, :width] + self.graph.sources]).int()
        if self.settings.mode == "semi" and self.fits == 0 and self.epoch and self.epoch % self.settings.relabel == 0:
            self._relabel(pairs)

    def _near(self, vectors: Tensor, draw: torch.Generator) -> Tensor:
        """A sample of the nearest entities of each, [entities, sample]."""
        nearest = nearest_alike(vectors, max(1, int((1 - self.settings.truncated) * len(vectors))))
        if nearest.shape[1] <= self.settings.sample:
            return nearest
        drawn = torch.rand(nearest.shape, generator=draw).topk(self.settings.sample, 1).indices
        return nearest.gather(1, drawn.to(nearest.device))

    def _relabel(self, pairs: Links) -> None:
        """Choose labels among all entities that are in no pair, and keep the earlier ones that are nearer."""
        with torch.no_grad():
            embeddings = self.embed()
        draw = torch.Generator().manual_seed(self.epoch)
        found = search(embeddings, SimilaritySettings(candidates=NEAREST, measure="cosine"), draw)
        open_ = ~torch.isin(found.source, pairs.source) & ~torch.isin(found.target, pairs.target)
        found = found[open_ & (found.cosine > self.settings.likeness)]
        rows = greedy(found.source, found.target, found.cosine)
        source, target = found.source[rows], found.target[rows]
        if "label_source" in self.buffers:
            source = torch.cat([source, self.buffers["label_source"]])
            target = torch.cat([target, self.buffers["label_target"]])
        likeness = row_products(embeddings.source, embeddings.target, source, target) + 1
        kept = _best_of_each(source, likeness)
        kept = kept[_best_of_each(target[kept], likeness[kept])]
        self.buffers["label_source"], self.buffers["label_target"] = source[kept], target[kept]

    def embed(self) -> Embeddings:
        """The entities' vectors."""
        return self.graph.split(self.parameters["entities"])


def _best_of_each(index: Tensor, score: Tensor) -> Tensor:
    """Positions of the highest score of each index, the first of equals, ascending by index."""
    order = torch.sort(score, descending=True, stable=True).indices
    order = order[torch.sort(index[order], stable=True).indices]
    ordered = index[order]
    first = torch.ones_like(ordered, dtype=torch.bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return order[first]
