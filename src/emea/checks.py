"""What can be said of a task before it is run: what makes it impossible, and what makes it doubtful."""

from __future__ import annotations

import numpy as np
import torch
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from emea import plugins
from emea.contracts import Encoder
from emea.data import Graph, Task
from emea.errors import InputError
from emea.settings import EMEA, PRESETS, Settings


def check(task: Task, settings: Settings | None = None) -> list[str]:
    """Warnings, each with its consequence, in the order of the graphs; what cannot work is an `InputError`."""
    settings = settings or Settings()
    sides = (("source", task.source, task.seeds.source), ("target", task.target, task.seeds.target))
    structure_alone = not settings.evidence.counts_values
    for side, graph, _ in sides:
        if not len(graph.triples) and (structure_alone or not graph.literals.num_rows):
            held = f"{graph.literals.num_rows:,} literals and no" if graph.literals.num_rows else "no"
            raise InputError(f"the {side} graph has {held} relation between entities, so structure can link nothing")
    if not len(task.seeds) and structure_alone:
        raise InputError("there are no known pairs; expected some by --seeds, or by --ratio or --fold with --data")
    warnings = _encoder_doubts(settings) if settings.method == EMEA else []
    warnings += _idle_settings(settings)
    unfitted = settings.probability.fit_to == "validation" and settings.probability.sharpness is None
    if unfitted and not len(task.validation):
        typical = settings.probability.typical_sharpness
        warnings.append(
            f"there are no validation pairs to fit probabilities to: a sharpness of {typical:g} is assumed; "
            "--set probability.fit_to=seeds hides some seeds for it instead"
        )
    for side, graph, _ in sides:
        if graph.repeated:
            warnings.append(f"{graph.repeated:,} triples of the {side} graph stood there before: each counts once")
    valued = [graph.literals.num_rows > 0 for _, graph, _ in sides]
    if not structure_alone and any(valued) and not all(valued):
        side = "source" if not valued[0] else "target"
        warnings.append(
            f"the {side} graph has no values, so names and values tell nothing; in a table a column kind says which "
            "tails are values (literal) and which entities"
        )
    for side, graph, seeds in sides if structure_alone else ():
        connected = _with_triple(graph)[seeds]
        if not bool(connected.any()):
            raise InputError(f"no seed's {side} occurs in any triple of the {side} graph, so the seeds tell nothing")
        if not bool(connected.all()):
            lonely = int((~connected).sum())
            warnings.append(f"{lonely:,} of {len(seeds):,} seeds have a {side} in no triple: they tell nothing")
        reached = reachable(graph, seeds)
        if reached < 0.5:
            warnings.append(
                f"{1 - reached:.0%} of the {side} graph's entities have no path to a seed: structure cannot link them"
            )
    return warnings


def _encoder_doubts(settings: Settings) -> list[str]:
    encoder = plugins.find("encoders", settings.em.encoder, Encoder)
    return encoder.doubts(settings.encoder_settings(), settings.em.rounds + 1)


def _idle_settings(settings: Settings) -> list[str]:
    """Settings of encoders that are not at work, but for those of a preset: somebody expects them to matter."""
    presets = [preset.get("encoders", {}) for preset in PRESETS.values()]
    at_work = settings.em.encoder if settings.method == EMEA else settings.method
    return [
        f"settings of the encoder '{name}' are given, but '{at_work}' is at work: they change nothing"
        for name, values in settings.encoders.items()
        if name != at_work and values not in [preset.get(name) for preset in presets]
    ]


def reachable(graph: Graph, seeds: Tensor) -> float:
    """Share of the entities that some path of triples, in either direction, joins to a seed."""
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
