"""What two graphs have to offer, told before a run: sizes, degrees, shared values, and who can be reached from them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from emea.checks import check, reachable
from emea.data import Graph, Task
from emea.errors import InputError
from emea.estimate import estimate
from emea.settings import Settings
from emea.values import NOTHING_SHARED, odd_values, with_values

HALF = 0.5  # of the entities: if fewer can be reached, a run is doubtful


@dataclass(frozen=True)
class Side:
    """One graph."""

    entities: int
    relations: int
    triples: int
    literals: int
    typical_degree: float  # median number of triples of an entity
    highest_degree: int
    without_triple: float  # share of the entities
    with_shared_value: float  # share of the entities that have a value which the other graph has, too
    reached: float  # share of the entities that some path joins to a seed or to a shared value


def offers(task: Task, settings: Settings) -> dict[str, Any]:
    """Both graphs, and what they share."""
    extended, anchors = with_values(task, settings.evidence)
    known = task.seeds + anchors.links
    sides = (
        ("source", task.source, extended.source, known.source),
        ("target", task.target, extended.target, known.target),
    )
    return {
        **{name: asdict(_side(graph, wide, ids)) for name, graph, wide, ids in sides},
        "seeds": len(task.seeds),
        "shared values": int((anchors.links.weight == 1).sum()),
        "similar values": int((anchors.links.weight < 1).sum()),
    }


def profile(task: Task, settings: Settings) -> dict[str, Any]:
    """What the graphs offer, what a run would take, and what makes it doubtful or impossible."""
    found, needed = offers(task, settings), estimate(task, settings)
    try:
        warnings = doubts(task, settings, found)
    except InputError as error:
        warnings = [str(error)]
    return {**found, "memory": needed.memory, "seconds": needed.seconds, "warnings": warnings}


def doubts(task: Task, settings: Settings, found: dict[str, Any]) -> list[str]:
    """What makes a run doubtful, `found` being what the graphs offer; what cannot work is an `InputError`."""
    warnings = check(task, settings)
    if not settings.evidence.counts_values:
        return warnings
    if not (found["seeds"] or found["shared values"] or found["similar values"]):
        raise InputError(NOTHING_SHARED)
    for side in ("source", "target"):
        if found[side]["reached"] < HALF:
            lost = 1 - found[side]["reached"]
            warnings.append(f"{lost:.0%} of the {side} graph's entities have no path to a seed or to a shared value")
    if not found["seeds"]:
        warnings.append("there are no seeds to check confidence against: it may be too high or too low")
    return warnings + odd_values(task, settings.evidence)


def _side(graph: Graph, extended: Graph, known: Tensor) -> Side:
    entities = len(graph.entities)
    degree = torch.bincount(graph.triples[:, [0, 2]].flatten(), minlength=entities)
    holders = extended.triples[extended.triples[:, 2] >= entities][:, 0].unique()  # type: ignore[no-untyped-call]
    return Side(
        entities,
        len(graph.relations),
        len(graph.triples),
        graph.literals.num_rows,
        float(degree.double().median()) if entities else 0.0,
        int(degree.max()) if entities else 0,
        float((degree == 0).double().mean()) if entities else 0.0,
        len(holders) / max(1, entities),
        _reached(extended, entities, known),
    )


def _reached(graph: Graph, entities: int, known: Tensor) -> float:
    """Share of the entities proper that are reached; values, all of them known, are not counted."""
    everyone = len(graph.entities)
    if not everyone or not len(known):
        return 0.0
    return (reachable(graph, known) * everyone - (everyone - entities)) / max(1, entities)
