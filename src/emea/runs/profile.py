"""What two graphs have to offer, shown before a run: sizes, degrees, shared values, and how far known pairs reach."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from emea.data import Graph
from emea.errors import InputError
from emea.evidence.prepared import NOTHING_SHARED, Prepared
from emea.runs.checks import HALF, check, duplicates, reachable
from emea.runs.estimate import estimate
from emea.settings import EMEA, Settings


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
    reached: float  # share of the entities that a path connects to a seed or a shared value


@dataclass(frozen=True)
class Offers:
    """Both graphs, and what they share."""

    source: Side
    target: Side
    seeds: int
    shared_values: int
    similar_values: int

    def to_dict(self) -> dict[str, Any]:
        """For `emea profile --json`."""
        return {name.replace("_values", " values"): value for name, value in asdict(self).items()}


def offers(prepared: Prepared) -> Offers:
    """What the graphs offer."""
    given, graphs, known = prepared.given, prepared.graphs, prepared.known
    weight = prepared.anchors.links.weight
    return Offers(
        _side(given.source, graphs.source, known.source),
        _side(given.target, graphs.target, known.target),
        len(given.seeds),
        int((weight == 1).sum()),
        int((weight < 1).sum()),
    )


def profile(prepared: Prepared, settings: Settings) -> dict[str, Any]:
    """What the graphs offer, what a run would need, and what makes it doubtful or impossible."""
    found, needed = offers(prepared), estimate(prepared, settings)
    try:
        warnings = doubts(prepared, settings, found)
    except InputError as error:
        warnings = [str(error)]
    return {**found.to_dict(), "memory": needed.memory, "seconds": needed.seconds, "warnings": warnings}


def doubts(prepared: Prepared, settings: Settings, found: Offers) -> list[str]:
    """What makes a run doubtful, given what the graphs offer; an `InputError` for what cannot work."""
    warnings = check(prepared.given, settings)
    if not settings.evidence.counts_values:
        return warnings
    if not (found.seeds or found.shared_values or found.similar_values):
        raise InputError(NOTHING_SHARED)
    for name, side in (("source", found.source), ("target", found.target)):
        if side.reached < HALF:
            lost = 1 - side.reached
            warnings.append(f"{lost:.0%} of the {name} graph's entities have no path to a seed or a shared value")
    judged = settings.method == EMEA and prepared.judged_by(settings)  # confidence is estimated from the data
    if not (found.seeds or judged):
        warnings.append("there are no seeds, and links are not judged by values: confidence may be too high or too low")
    return [*warnings, *duplicates(prepared, settings), *prepared.faults]


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
    """Share of the entities proper that are reached; values, all of which are known, are not counted."""
    everyone = len(graph.entities)
    if not entities or not len(known):
        return 0.0
    return (reachable(graph, known) * everyone - (everyone - entities)) / entities
