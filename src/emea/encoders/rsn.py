"""RSN: a recurrent network reads paths through both graphs and predicts what comes next."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import softplus
from torch.optim import Optimizer

from emea.contracts import Size
from emea.data import Embeddings, Links, Task
from emea.encoders._joined import Joined
from emea.encoders._training import TrainedEncoder, TrainingSettings, dropped, uniform
from emea.encoders._translation import substituted
from emea.kernels.joins import lookup
from emea.kernels.messages import take
from emea.kernels.segments import starts

LAYERS = 2  # of the network
TRIES = 30  # draws of an edge before one is taken that is less probable
TABLE = 2.6  # variance of an embedding, over items and dimensions
STEADY = 1e-3  # added to a variance


class RSNSettings(TrainingSettings):
    """As in the released code, but for the batch, 512 there, and the rate, .003, with which some runs learn nothing:
    the gradients of the first epoch are thousands of times longer than later; `average` is ours."""

    epochs: int = Field(15, ge=1, description="epochs of the first fit")
    more_epochs: int = Field(2, ge=1, description="epochs of each later fit, which continues from the previous one")
    turn_epochs: int = Field(3, ge=1, description="semi: epochs after each addition of mutually nearest pairs")
    learning_rate: float = Field(0.001, gt=0, description="learning rate of the optimiser")
    dimension: int = Field(256, ge=1, description="dimension of embeddings and network")
    hops: int = Field(7, ge=1, description="relations of a path")
    walks: int = Field(2, ge=1, description="paths that start with each triple")
    away: float = Field(0.9, gt=0, lt=1, description="α: weight of entities that the path's first is not linked to")
    across: float = Field(0.9, gt=0, lt=1, description="β: weight of entities of known pairs, which lead across")
    dropout: float = Field(0.5, ge=0, lt=1, description="dropout rate of each layer in training")
    batch: int = Field(2048, ge=2, description="paths per step")
    negatives: int = Field(8192, ge=1, description="items to tell the next one from, at most a third of all")
    clipped: float = Field(2.0, gt=0, description="largest length of a step's gradient")


class RSN(TrainedEncoder[RSNSettings]):
    """Guo, Sun and Hu (ICML 2019).

    Paths e₀ r₁ e₁ r₂ … are drawn from the triples of both graphs, inverses included, and from those in which entities
    of known pairs stand in for each other. Two LSTM layers without tanh read the normalised vectors x of their items:

        c ← σ(f + 1) c + σ(i) g,   h = σ(o) c;

    at a relation, the entity before it skips the network: h' = S₁ h + S₂ x. From h', normalised again, the next item is
    told from items at random by noise-contrastive estimation, entities and relations apart. The vectors that are read
    are the embedding of an entity.

    Departures from the publication: those of `TrainedEncoder`; an edge is weighed by whether the path's first entity is
    linked to its end, as in the released code, where the publication asks the entity before.
    """

    Settings = RSNSettings

    @classmethod
    def features(cls, settings: RSNSettings) -> int:
        """The dimension."""
        return settings.dimension

    @classmethod
    def epoch_work(cls, settings: RSNSettings, size: Size) -> float:
        """Products with the items to tell from, and of the layers, for each item of each path."""
        items, width = 2 * settings.hops * settings.walks * size.edges, settings.dimension
        return 6 * items * width * (settings.negatives + LAYERS * 8 * width)

    def __init__(self, task: Task, settings: RSNSettings, device: torch.device) -> None:
        super().__init__(task, settings, device)
        self.graph = Joined.build(task, device)
        self.triples = torch.stack([self.graph.head, self.graph.relation, self.graph.tail], 1)
        self.paths = self.triples[:0]
        # frequent items are drawn more often as negatives
        sizes = self.graph.entities, self.graph.relations
        self.noise = [self._noise(self.triples[:, column], count) for column, count in enumerate(sizes)]

    def initial(self, generator: torch.Generator) -> dict[str, Tensor]:
        """Tables of entities and relations to read and to predict, and the network."""
        width, values = self.settings.dimension, {}
        for name, count in (("entities", self.graph.entities), ("relations", self.graph.relations)):
            for table in (name, f"next_{name}"):
                value = torch.empty(count, width)
                torch.nn.init.trunc_normal_(value, std=1.0, a=-2.0, b=2.0, generator=generator)
                values[table] = value * math.sqrt(TABLE / (count + width))
            values[f"{name}_bias"] = torch.zeros(count)
        for layer in range(LAYERS):
            values[f"reads_{layer}"], values[f"keeps_{layer}"] = (
                torch.nn.init.orthogonal_(torch.empty(4 * width, width), generator=generator).T.clone() for _ in "ab"
            )
            values[f"{layer}_bias"] = torch.zeros(4 * width)
        for name in ("skip_state", "skip_input"):
            values[name] = uniform((width, width), generator)
        for name in ("input", "output"):
            values[f"{name}_scale"], values[f"{name}_bias"] = torch.ones(width), torch.zeros(width)
        return values

    def build_optimiser(self, parameters: list[Tensor]) -> Optimizer:
        """Adam, with gradients that are cut to a largest length."""
        optimiser = torch.optim.Adam(parameters, lr=self.settings.learning_rate)

        def clip(*_: Any) -> None:
            torch.nn.utils.clip_grad_norm_(parameters, self.settings.clipped)

        optimiser.register_step_pre_hook(clip)
        return optimiser

    def prepare(self, pairs: Links) -> None:
        """Draw the paths."""
        left, right = self.graph.pairs(pairs)
        ends = torch.cat([left, right]), torch.cat([right, left]), torch.ones(2 * len(pairs), device=self.device)
        by_head, by_tail = (substituted(self.triples, column, *ends)[0] for column in (0, 2))
        by_both = substituted(by_head, 2, *ends)[0]
        keys = torch.unique(self._keys(*torch.cat([self.triples, by_head, by_tail, by_both]).unbind(1)))
        known = torch.zeros(self.graph.entities, dtype=torch.bool, device=self.device)
        known[ends[0]] = True
        self.paths = self._walked(keys, known, torch.Generator(self.device).manual_seed(len(pairs)))

    def _keys(self, head: Tensor, relation: Tensor, tail: Tensor) -> Tensor:
        return (head * self.graph.relations + relation) * self.graph.entities + tail

    def _walked(self, keys: Tensor, known: Tensor, draw: torch.Generator) -> Tensor:
        """Paths along the triples with these sorted keys, [paths, 2·hops + 1]: entities and relations in turn."""
        edge, tail = keys // self.graph.entities, keys % self.graph.entities
        head, relation = edge // self.graph.relations, edge % self.graph.relations
        degree = torch.bincount(head, minlength=self.graph.entities)
        start, settings = starts(degree), self.settings
        path = [column.repeat(settings.walks) for column in (head, relation, tail)]
        most = max(settings.across, 1 - settings.across) * max(settings.away, 1 - settings.away)
        for hop in range(1, settings.hops):
            chosen, left = torch.zeros_like(path[0]), torch.arange(len(path[0]), device=self.device)
            for _ in range(TRIES):
                here = path[-1][left]
                drawn = start[here] + (torch.rand(len(left), generator=draw, device=self.device) * degree[here]).long()
                chosen[left] = drawn
                weight = torch.where(known[tail[drawn]], settings.across, 1 - settings.across)
                if hop > 1:
                    linked = lookup(keys, self._keys(path[0][left], relation[drawn], tail[drawn])) >= 0
                    weight = weight * torch.where(linked, 1 - settings.away, settings.away)
                else:
                    weight = weight * max(settings.away, 1 - settings.away)
                left = left[torch.rand(len(left), generator=draw, device=self.device) * most >= weight]
                if not len(left):
                    break
            path += [relation[chosen], tail[chosen]]
        return torch.stack(path, 1).int()

    def losses(self, pairs: Links, generator: torch.Generator) -> Iterator[Tensor]:  # noqa: ARG002 - known since prepare
        """As many paths as there are, drawn at random."""
        size = (min(self.settings.batch, len(self.paths)),)
        for _ in range(-(-len(self.paths) // self.settings.batch)):
            rows = torch.randint(len(self.paths), size, generator=generator, device=self.device)
            yield self.path_loss(self.paths[rows].long(), generator)

    def path_loss(self, paths: Tensor, generator: torch.Generator) -> Tensor:
        """Mean over the paths of the losses of all items but the first."""
        before, values = paths.T[:-1], self.parameters
        tables = values["entities"], values["relations"]
        items = torch.stack([take(tables[place % 2], column) for place, column in enumerate(before)])
        read = out = self._normalised(items, "input")  # [places, paths, dimension]
        for layer in range(LAYERS):
            out = dropped(self._states(out, layer), self.settings.dropout, generator)
        # at a relation, the entity before it is told directly
        skipped = out[1::2] @ values["skip_state"] + read[::2] @ values["skip_input"]
        following = paths.T[1:]
        loss = self._told_apart("relations", self._normalised(out[::2], "output"), following[::2], generator)
        loss = loss + self._told_apart("entities", self._normalised(skipped, "output"), following[1::2], generator)
        return loss / len(paths)

    def _normalised(self, rows: Tensor, which: str) -> Tensor:
        """Mean 0 and variance 1 over the paths at each place, then scaled and shifted."""
        centred = rows - rows.mean(1, keepdim=True)
        steady = centred / (centred.square().mean(1, keepdim=True) + STEADY).sqrt()
        return steady * self.parameters[f"{which}_scale"] + self.parameters[f"{which}_bias"]

    def _states(self, items: Tensor, layer: int) -> Tensor:
        """What a layer makes of the items read so far, at each place."""
        gates = items @ self.parameters[f"reads_{layer}"] + self.parameters[f"{layer}_bias"]
        state = cell = torch.zeros_like(items[0])
        states = []
        for gate in gates:
            into, fresh, stays, out = (gate + state @ self.parameters[f"keeps_{layer}"]).chunk(4, 1)
            cell = torch.sigmoid(stays + 1) * cell + torch.sigmoid(into) * fresh
            state = torch.sigmoid(out) * cell
            states.append(state)
        return torch.stack(states)

    def _told_apart(self, name: str, state: Tensor, following: Tensor, generator: torch.Generator) -> Tensor:
        """Sum over places and paths: how surely the next item is told from some at random, others at each place."""
        chance, expected = self.noise[("entities", "relations").index(name)]
        others = torch.multinomial(chance.expand(len(state), -1), self._others(len(chance)), generator=generator)
        table, bias = self.parameters[f"next_{name}"], self.parameters[f"{name}_bias"] - expected
        right = (state * _rows(table, following)).sum(2) + _rows(bias[:, None], following)[:, :, 0]
        wrong = torch.baddbmm(_rows(bias[:, None], others).mT, state, _rows(table, others).mT)
        return softplus(-right).sum() + softplus(wrong).sum()

    def _others(self, count: int) -> int:
        return max(1, min(self.settings.negatives, count // 3))

    def _noise(self, items: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """How probable each item is as a negative, by its rank in frequency; and the logarithm of how often it is
        expected in a sample, [items] each."""
        often = torch.bincount(items.cpu(), minlength=count)
        rank = torch.argsort(torch.argsort(often, descending=True, stable=True)).double()
        chance = torch.log((rank + 2) / (rank + 1)) / math.log(count + 1)
        low, high = 0.0, 64.0  # logarithm of the number of draws until so many different items are seen
        for _ in range(50):
            middle = (low + high) / 2
            expected = -torch.expm1(math.exp(middle) * torch.log1p(-chance.clamp(max=1 - 1e-9)))
            low, high = (middle, high) if float(expected.sum()) < self._others(count) else (low, middle)
        return chance.float().to(self.device), expected.log().float().to(self.device)

    def embed(self) -> Embeddings:
        """The vectors that are read, scaled to length 1."""
        return self.graph.split(self.parameters["entities"])


def _rows(table: Tensor, items: Tensor) -> Tensor:
    """The rows of a table, [places, items, columns]."""
    return take(table, items.flatten()).view(*items.shape, -1)
