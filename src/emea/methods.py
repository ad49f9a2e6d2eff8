"""One call for every method: the loop itself, or one of the systems it is compared with."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import torch

from emea import em, plugins
from emea.contracts import Baseline, Progress, Turn
from emea.data import Alignment, Links, Task
from emea.errors import InputError
from emea.matching import surest
from emea.settings import EMEA, MatchingSettings, Settings
from emea.values import NOTHING_SHARED, with_values

Step = em.Round | Turn


def align(
    task: Task,
    settings: Settings | None = None,
    observe: Callable[[Step], None] | None = None,
    state: em.State | None = None,
    watch: Callable[[em.Fitting], None] | None = None,
) -> em.Result:
    """Link the two graphs of a task by the method that the settings name; `observe` is shown each round as it ends,
    `watch` the training in between; `state` goes on where a run of the loop stopped."""
    settings = settings or Settings()
    if settings.method == EMEA:
        return em.align(task, settings, observe, state, watch)
    device = torch.device("cpu" if settings.device == "mps" else settings.device)  # which has no float64
    generator = torch.Generator().manual_seed(settings.seed)
    graphs, anchors = with_values(replace(task, seeds=Links.empty()), settings.evidence)
    known = replace(graphs, seeds=task.seeds + anchors.links)
    if not len(known.seeds):
        raise InputError(NOTHING_SHARED if settings.evidence.counts_values else em.NO_PAIRS)
    system = plugins.find("baselines", settings.method, Baseline)(known, settings.baseline_settings(), device)
    system.report, started = _reporter(watch, 0), time.perf_counter()
    for number, ended in enumerate(system.turns(generator)):
        last = replace(ended, number=number, seconds=time.perf_counter() - started)
        if observe is not None:
            observe(last)
        system.report, started = _reporter(watch, number + 1), time.perf_counter()
    return em.Result(task, settings, _links(last.labels, settings.matching), last.beliefs, None)


def _links(labels: Links, settings: MatchingSettings) -> Alignment:
    """The pairs that a system ended with, but those whose entities have another, too."""
    alone = (torch.bincount(labels.source)[labels.source] == 1) & (torch.bincount(labels.target)[labels.target] == 1)
    found = labels[alone & (labels.weight >= settings.minimum)]
    if settings.precision is not None:
        found = found[surest(found.weight, settings.precision)]
    return Alignment(found.source, found.target, found.weight, found.weight.float())


def _reporter(watch: Callable[[em.Fitting], None] | None, turn: int) -> Callable[[Progress], None]:
    def report(progress: Progress) -> None:
        if watch is not None:
            watch(em.Fitting(turn, progress, None))

    return report
