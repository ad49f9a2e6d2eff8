"""Problems that can be seen before a run: what makes it impossible, and what makes its result doubtful."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from emea import plugins
from emea.contracts import Encoder
from emea.data import Graph, Task
from emea.errors import InputError
from emea.evidence.prepared import Claims, Prepared, claims_of
from emea.method.competition import Competition
from emea.method.scouts import of_scouts
from emea.presets import PRESETS
from emea.settings import EMEA, Settings

HALF = 0.5  # of the entities: a run is doubtful if fewer can be reached
RARE = 20  # entities of a graph that have a rare value at most
SEVERAL, DUPLICATES = 0.2, 20  # share and number of duplicates among entities that can be told, from which to warn


def check(task: Task, settings: Settings | None = None) -> list[str]:
    """Warnings, each with its consequence, in the order of the graphs; an `InputError` for what cannot work."""
    settings = settings or Settings()
    warnings = [*_settings_warnings(task, settings), *_graph_warnings(task, settings)]
    if not settings.evidence.counts_values:
        for side, graph, seeds in _sides(task):
            warnings += _seed_warnings(side, graph, seeds)
    return warnings


def _sides(task: Task) -> tuple[tuple[str, Graph, Tensor], ...]:
    return ("source", task.source, task.seeds.source), ("target", task.target, task.seeds.target)


def _settings_warnings(task: Task, settings: Settings) -> Iterator[str]:
    """What the settings make impossible or doubtful."""
    structure_alone = not settings.evidence.counts_values
    for side, graph, _ in _sides(task):
        if not len(graph.triples) and (structure_alone or not graph.literals.num_rows):
            held = f"{graph.literals.num_rows:,} literals and no" if graph.literals.num_rows else "no"
            raise InputError(f"the {side} graph has {held} relation between entities, so structure can link nothing")
    if not len(task.seeds) and structure_alone:
        raise InputError("there are no known pairs; expected some from --seeds, or from --ratio or --fold with --data")
    if settings.method == EMEA:
        encoder = plugins.find("encoders", settings.em.encoder, Encoder)
        yield from encoder.doubts(settings.encoder_settings(), settings.em.rounds + 1)
    yield from _idle_settings(settings)
    unfitted = settings.probability.fit_to == "validation" and settings.probability.sharpness is None
    if unfitted and not len(task.validation):
        typical = settings.probability.typical_sharpness
        yield (
            f"there are no validation pairs to fit probabilities to; a sharpness of {typical:g} is assumed "
            "(--set probability.fit_to=seeds hides some seeds for it instead)"
        )


def _idle_settings(settings: Settings) -> Iterator[str]:
    """Settings of plug-ins that are not in use, except those of a preset or as they are anyway, as in the settings of a
    run: someone expects them to matter."""
    of_method = {
        "encoders": (settings.em.encoder, *[of_scouts(settings).em.encoder][: settings.em.scouts]),
        "rules": settings.rule_names,
    }
    for kind in ("encoders", "rules", "baselines"):
        in_use = of_method.get(kind, (EMEA,)) if settings.method == EMEA else (settings.method,)
        for name in getattr(settings, kind):
            idle = name not in in_use or (settings.method != EMEA and kind != "baselines")
            if idle and not _usual(settings, kind, name):
                used = " and ".join(f"'{each}'" for each in in_use) or f"no {kind[:-1]}"
                verb = "are" if len(in_use) > 1 else "is"
                yield f"settings of the {kind[:-1]} '{name}' have no effect: {used} {verb} in use"


def _usual(settings: Settings, kind: str, name: str) -> bool:
    """Whether a plug-in's settings are its defaults, or those of a preset."""
    presets = [preset.get(kind, {}).get(name, {}) for preset in PRESETS.values()]
    usual = [settings.model_copy(update={kind: {name: values}}).plugin_settings(kind, name) for values in presets]
    return settings.plugin_settings(kind, name) in usual


def _graph_warnings(task: Task, settings: Settings) -> Iterator[str]:
    """Oddities of the graphs."""
    for side, graph, _ in _sides(task):
        if graph.repeated:
            yield f"the {side} graph has {graph.repeated:,} duplicate triples; each counts once"
    valued = [graph.literals.num_rows > 0 for _, graph, _ in _sides(task)]
    if settings.evidence.counts_values and any(valued) and not all(valued):
        side = "source" if not valued[0] else "target"
        yield (
            f"the {side} graph has no values, so names and values cannot be compared; in a table, the column kind says "
            "which tails are values (literal) and which are entities"
        )


def _seed_warnings(side: str, graph: Graph, seeds: Tensor) -> Iterator[str]:
    """How much structure the seeds reach."""
    connected = _with_triple(graph)[seeds]
    if not bool(connected.any()):
        raise InputError(f"no seed's {side} occurs in any triple of the {side} graph, so the seeds say nothing")
    if not bool(connected.all()):
        yield f"{int((~connected).sum()):,} of {len(seeds):,} seeds have a {side} in no triple; they say nothing"
    reached = reachable(graph, seeds)
    if reached < HALF:
        yield f"{1 - reached:.0%} of the {side} graph's entities have no path to a seed; structure cannot link them"


def reachable(graph: Graph, seeds: Tensor) -> float:
    """Share of the entities that a path of triples, in either direction, connects to a seed."""
    head, tail = graph.triples[:, 0].numpy(), graph.triples[:, 2].numpy()
    size = len(graph.entities)
    _, component = connected_components(
        coo_matrix((np.ones(len(head), bool), (head, tail)), (size, size)), directed=False
    )
    return float(np.isin(component, component[seeds.numpy()]).mean())


def _with_triple(graph: Graph) -> Tensor:
    """Whether each entity occurs in a triple, [entities] bool."""
    occurs = torch.zeros(len(graph.entities), dtype=torch.bool)
    occurs[graph.triples[:, 0]] = True
    occurs[graph.triples[:, 2]] = True
    return occurs


def duplicates(prepared: Prepared, settings: Settings) -> Iterator[str]:
    """Whether a graph seems to have duplicates that the cardinality leaves without a link."""
    claims = [claims_of(graph) for graph in (prepared.graphs.source, prepared.graphs.target)]
    found = [_sharing_one(*claims), _sharing_one(*claims[::-1])]
    doubled = [count >= max(DUPLICATES, SEVERAL * told) for count, told in found]
    allowed = [not distinct for distinct in Competition.of(settings.matching).distinct]
    many = [is_doubled or is_allowed for is_doubled, is_allowed in zip(doubled, allowed, strict=True)]
    option = "-to-".join("many" if each else "one" for each in many)
    for (side, graph, _), is_doubled, is_allowed, (count, _) in zip(
        _sides(prepared.given), doubled, allowed, found, strict=True
    ):
        if is_doubled and not is_allowed:
            other = "target" if side == "source" else "source"
            yield (
                f"the {side} graph seems to have duplicates ({count:,} of {len(graph.entities):,} entities share rare "
                f"values with a {other} that others share them with, too); --cardinality {option} links all of them"
            )


def _sharing_one(own: Claims, other: Claims) -> tuple[int, int]:
    """How many entities share several rare values with an entity of the other graph that more than one shares several
    with; and how many share several with any. A value is rare if it has one holder there, and few here."""
    held, theirs = (_held(claims) for claims in (own, other))
    here, there = (np.bincount(rows[:, 0], minlength=own.values) for rows in (held, theirs))
    holder = np.full(own.values, -1)
    holder[theirs[:, 0]] = theirs[:, 1]
    held = held[((here <= RARE) & (there == 1))[held[:, 0]]]
    ways = np.unique(np.stack([held[:, 1], holder[held[:, 0]], held[:, 2]], 1), axis=0)  # by different attributes
    pairs, count = np.unique(ways[:, :2], axis=0, return_counts=True)
    entity, shared = pairs[count > 1].T
    return len(np.unique(entity[np.bincount(shared)[shared] > 1])), len(np.unique(entity))


def _held(claims: Claims) -> np.ndarray:
    """Each value that both graphs have with its holders and one of their attributes for it, [held, 3]."""
    rows = (claims.value >= 0) & (claims.likeness >= 1)
    columns = torch.stack([claims.value[rows], claims.entity[rows], claims.attribute[rows]], 1).numpy()
    return columns[np.unique(columns[:, :2], axis=0, return_index=True)[1]]
