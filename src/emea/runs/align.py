"""One call for every method: the EM loop, or one of the baselines it is compared with."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from emea import plugins
from emea.contracts import Baseline, Progress, Turn
from emea.data import Alignment, Links
from emea.engine import LOCAL, Engine
from emea.evidence.prepared import Prepared
from emea.kernels.devices import return_large_arrays, threads_that_pay
from emea.method import em
from emea.method.competition import Competition
from emea.method.matching import surest
from emea.method.rounds import Fitting, Outcome, State, Step
from emea.settings import EMEA, MatchingSettings, Settings


@dataclass(frozen=True)
class Observers:
    """Who is told about a run: at the end of each round, now and then within a long fit, and when the links are judged
    after the last round."""

    round: Callable[[Step], None] | None = None
    fit: Callable[[Fitting], None] | None = None
    judging: Callable[[], None] | None = None


def align(
    prepared: Prepared,
    settings: Settings,
    observers: Observers | None = None,
    state: State | None = None,
    engine: Engine = LOCAL,
) -> Outcome:
    """Link the two graphs of a task by the method named in the settings; a state resumes a run of the EM loop. The
    engine is needed as long as anyone asks for the embeddings."""
    return_large_arrays()
    with threads_that_pay(len(prepared.graphs.source.entities) * len(prepared.graphs.target.entities)):
        if settings.method != EMEA:
            return _baseline(prepared, settings, observers or Observers())
        return _aligned(prepared, settings, observers or Observers(), state, engine)


def _aligned(
    prepared: Prepared, settings: Settings, observers: Observers, state: State | None, engine: Engine
) -> Outcome:
    for last in em.rounds(prepared, settings, state, observers.fit, engine):
        if observers.round is not None:
            observers.round(last)
        if not last.final:
            del last  # frees memory before the next round
    if observers.judging is not None and prepared.judged_by(settings):
        observers.judging()
    return em.conclude(last, prepared, settings)


@dataclass(frozen=True, eq=False, kw_only=True)
class TurnStep(Step):
    """A turn of a baseline, numbered and timed."""

    turn: Turn

    def record(self) -> dict[str, Any]:
        """What the turn found, for rounds.jsonl."""
        pairs, labels = self.turn.beliefs.candidates, self.turn.labels
        return {"candidates": len(pairs), "labels": len(labels), "changed": round(self.turn.changed, 6)}

    def headline(self) -> str:
        """How many pairs there are, and how many are new."""
        return f"{len(self.turn.labels):,} pairs, {self.turn.changed:.1%} of them new"


def _baseline(prepared: Prepared, settings: Settings, observers: Observers) -> Outcome:
    """Run a baseline to its end; the beliefs of its last turn are its answer."""
    prepared.require_known()
    device = torch.device("cpu" if settings.device == "mps" else settings.device)  # mps has no float64
    given, plugin = prepared.given, plugins.find("baselines", settings.method, Baseline)
    task = replace(
        prepared.graphs,
        seeds=prepared.known,
        validation=given.validation,
        exclusions=given.exclusions,
        unmatched=given.unmatched,
    )
    system = plugin(task, settings.plugin_settings("baselines", settings.method), device)
    number, started = 0, time.perf_counter()

    def report(progress: Progress) -> None:
        if observers.fit is not None:
            observers.fit(Fitting(number, progress, None))

    for last in system.turns(torch.Generator().manual_seed(settings.seed), report):
        if observers.round is not None:
            observers.round(TurnStep(number=number, seconds=time.perf_counter() - started, turn=last))
        number, started = number + 1, time.perf_counter()
    return Outcome(prepared, settings, _links(last, settings.matching), last.beliefs, None)


def _links(last: Turn, settings: MatchingSettings) -> Alignment:
    """One-to-one, the pairs that a baseline ended with, except those whose entities occur in another pair, too;
    otherwise the pairs that it believes more than all they compete with."""
    labels, competition = last.labels, Competition.of(settings)
    alone = (torch.bincount(labels.source)[labels.source] == 1) & (torch.bincount(labels.target)[labels.target] == 1)
    found = labels[alone]
    if not all(competition):
        rows, pairs = competition.winners(last.beliefs), last.beliefs.candidates
        found = Links(pairs.source[rows], pairs.target[rows], last.beliefs.forward[rows])
    found = found[found.weight >= settings.minimum]
    if settings.precision is not None:
        found = found[surest(found.weight, settings.precision)]
    return Alignment(found.source, found.target, found.weight, found.weight.float())
