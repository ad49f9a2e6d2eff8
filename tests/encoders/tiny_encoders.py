"""Every trained encoder in its smallest, and a task on which two fits of it differ where they can."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from small_tasks import CPU, graph_of, pairs_of, random_triples

from emea import plugins
from emea.contracts import Encoder, Report, unreported
from emea.data import Embeddings, Links, Task
from emea.encoders._training import TrainedEncoder

# of each encoder, batches and lookups of near entities such that an epoch depends on more than the parameters
TINY: dict[str, dict[str, Any]] = {
    "rrea": {"dimension": 6},
    "dual_amn": {"dimension": 5, "proxies": 4, "batch": 7, "least_pairs": 11},
    "alinet": {"dimensions": (8, 6, 4), "frequent": 1, "near": 4, "refresh": 3, "negatives": 2, "triples": 30},
    "iptranse": {"dimension": 6, "near": 4, "refresh": 3, "batch": 40, "path_count": 1, "negatives": 2},
    "gcn_align": {"dimension": 6, "refresh": 3, "negatives": 2},
    "mraea": {"dimension": 5},
    "psr": {"dimension": 6, "batch": 6},
    "mugnn": {"dimension": 6, "negatives": 3, "refresh": 3, "triples": 40},
    "rsn": {"dimension": 5, "hops": 2, "walks": 1, "batch": 300, "negatives": 3},
    "bootea": {
        "dimension": 6,
        "refresh": 3,
        "batch": 40,
        "negatives": 2,
        "truncated": 0.5,
        "relabel": 2,
        "likeness": -1,
    },
}
SHORT = {"epochs": 4, "more_epochs": 5, "turn_epochs": 4, "turns": 2}
ENTITIES = 26  # more than CSLS has neighbours and the search candidates

SHARED = random_triples(60, range(ENTITIES - 1), 3, seed=4)  # the last entity has no edge
TASK = Task(
    graph_of([*SHARED, *random_triples(6, range(ENTITIES - 1), 3, seed=5)], ENTITIES, 3),
    graph_of([*SHARED, *random_triples(6, range(ENTITIES - 1), 3, seed=6)], ENTITIES, 3),
    Links.empty(),
)
PAIRS = pairs_of([(number, number, 1.0) for number in range(0, 14, 2)])
MORE = PAIRS + pairs_of([(1, 1, 0.9), (3, 5, 0.4)])

OWN_TURNS = {"rrea", "iptranse", "bootea"}  # a plain one, one that weighs what it finds, and one that labels anew


def quick_if(chosen: bool) -> Sequence[pytest.MarkDecorator]:
    return () if chosen else (pytest.mark.slow,)


every_encoder = pytest.mark.parametrize("name", TINY)
every_encoder_in_turns = pytest.mark.parametrize(  # which all encoders have in common
    "name", [pytest.param(name, marks=quick_if(name in OWN_TURNS)) for name in TINY]
)
every_encoder_in_both_modes = pytest.mark.parametrize(
    ("name", "mode"),
    [
        pytest.param(name, mode, marks=quick_if(mode == "sup" or name in OWN_TURNS))
        for mode in ("sup", "semi")
        for name in TINY
    ],
)


def build(name: str, task: Task = TASK, **settings: Any) -> TrainedEncoder[Any]:
    plugin = plugins.find("encoders", name, Encoder)
    encoder = plugin(task, plugin.Settings(**{**TINY[name], **SHORT, **settings}), CPU)
    assert isinstance(encoder, TrainedEncoder)
    return encoder


def fit(encoder: TrainedEncoder[Any], pairs: Links = PAIRS, seed: int = 0, report: Report = unreported) -> Embeddings:
    return encoder.fit(pairs, torch.Generator().manual_seed(seed), report)


def same(first: Embeddings, second: Embeddings) -> bool:
    return torch.equal(first.source, second.source) and torch.equal(first.target, second.target)
