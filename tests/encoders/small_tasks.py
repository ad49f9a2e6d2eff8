"""A small task with all that graphs may hold, and the parts of the formulas that RREA and Dual-AMN share, in loops."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from emea.data import Graph, Links, Task

CPU = torch.device("cpu")

Triple = tuple[int, int, int]
Neighbours = list[dict[int, set[int]]]  # of each entity: neighbour → the relations that join them
Parameters = Mapping[str, Tensor]


def graph_of(triples: Iterable[Triple], entities: int, relations: int) -> Graph:
    names = [f"e{number:03}" for number in range(entities)], [f"r{number:03}" for number in range(relations)]
    return Graph.build(*names, np.array(sorted(triples), dtype=np.int64))


def random_triples(count: int, entities: Sequence[int], relations: int, seed: int) -> list[Triple]:
    draw = random.Random(seed)
    return [(draw.choice(entities), draw.randrange(relations), draw.choice(entities)) for _ in range(count)]


def pairs_of(rows: Sequence[tuple[int, int, float]], dtype: torch.dtype = torch.float32) -> Links:
    source, target, weight = zip(*rows, strict=True)
    return Links(torch.tensor(source), torch.tensor(target), torch.tensor(weight, dtype=dtype))


# source: 0 and 1 joined by three relations, one of them both ways; loops at 2 and, by two relations, at 3;
# 4 has edges to all but 8, which has none; target: likewise 0 and 1, a loop at 2, a hub 3, nothing at 6
SOURCE = [
    *[(0, 0, 1), (0, 1, 1), (0, 2, 1), (1, 0, 0), (2, 1, 2), (3, 0, 3), (3, 1, 3)],
    *[(4, number % 3, number) for number in range(8) if number != 4],
    *random_triples(6, range(8), 3, seed=1),
]
TARGET = [
    *[(0, 0, 1), (0, 1, 1), (1, 1, 0), (2, 0, 2)],
    *[(number, number % 2, 3) for number in range(6) if number != 3],
    *random_triples(4, range(6), 2, seed=2),
]
SMALL = Task(graph_of(SOURCE, 9, 3), graph_of(TARGET, 7, 2), Links.empty())
SMALL_PAIRS = pairs_of([(0, 1, 1.0), (3, 2, 0.5), (4, 3, 0.25), (0, 6, 1.0), (8, 5, 0.75)], torch.float64)


def neighbours_of(task: Task) -> Neighbours:
    """Target entities come after the source's; each graph's relations before their inverses, the source's first."""
    sources, found = len(task.source.entities), []
    first_entity, first_relation = 0, 0
    for graph in (task.source, task.target):
        found += [{} for _ in range(len(graph.entities))]
        relations = len(graph.relations)
        for head, relation, tail in graph.triples.tolist():
            ends = (head + first_entity, tail + first_entity)
            for number, (here, there) in ((relation, ends), (relation + relations, ends[::-1])):
                found[here].setdefault(there, set()).add(number + first_relation)
        first_entity, first_relation = sources, 2 * relations
    return found


def direction(relations: Tensor, joining: set[int]) -> Tensor:
    """r̂ of the relations between two entities: their mean, scaled to length 1."""
    summed = sum((relations[number] for number in sorted(joining)), torch.zeros_like(relations[0])) / len(joining)
    return summed / summed.square().sum().sqrt()


def reflected(vector: Tensor, normal: Tensor) -> Tensor:
    """M_r h = h − 2(h·r̂)r̂."""
    return vector - 2 * (vector * normal).sum() * normal


def softmax(logits: Sequence[Tensor]) -> list[Tensor]:
    raised = [torch.exp(logit) for logit in logits]
    return [value / sum(raised) for value in raised]


def views(neighbours: Neighbours, parameters: Parameters) -> tuple[list[Tensor], list[Tensor]]:
    """Of each entity, the mean of its neighbours' vectors, its own included, and the mean of its relations' vectors."""
    entities, relations = parameters["entities"], parameters["relations"]
    by_entity, by_relation = [], []
    for number, near in enumerate(neighbours):
        around = sorted({number, *near})
        by_entity.append(sum(entities[other] for other in around) / len(around))
        incident = sorted(set().union(*near.values()))
        total = sum((relations[other] for other in incident), torch.zeros_like(relations[0]))
        by_relation.append(total / max(1, len(incident)))
    return by_entity, by_relation


def doubled(parameters: Parameters) -> dict[str, Tensor]:
    """The same numbers in double precision, to be differentiated."""
    return {name: value.detach().double().requires_grad_() for name, value in parameters.items()}


def gradients(loss: Tensor, parameters: Parameters) -> dict[str, Tensor]:
    return dict(zip(parameters, torch.autograd.grad(loss, list(parameters.values())), strict=True))


def moved(parameters: Parameters, directions: Parameters, step: float) -> dict[str, Tensor]:
    """Parameters a step along directions."""
    return {name: value.detach() + step * directions[name] for name, value in parameters.items()}


def random_directions(parameters: Parameters, seed: int) -> dict[str, Tensor]:
    draw = torch.Generator().manual_seed(seed)
    return {name: torch.randn(value.shape, generator=draw, dtype=value.dtype) for name, value in parameters.items()}


def assert_gradient(loss: Tensor, slow: Callable[[Parameters], Tensor], parameters: Parameters) -> None:
    """The loss has the gradient of its slow formula, along a random direction."""
    along = random_directions(parameters, seed=2)
    ahead, behind = (slow(moved(parameters, along, step)) for step in (1e-6, -1e-6))
    slope = sum((value * along[name]).sum() for name, value in gradients(loss, parameters).items())
    assert float(slope) == pytest.approx(float(ahead - behind) / 2e-6, rel=1e-4)
