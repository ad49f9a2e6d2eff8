"""The run folder: what went in, what each round found, and the results."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import tomli_w
import torch

from emea import __version__
from emea.analysis.evaluation import evaluate
from emea.analysis.measures import Measures
from emea.data import Reference, Task
from emea.engine import opened
from emea.errors import InputError
from emea.evidence.prepared import Prepared
from emea.formats._files import write_text
from emea.formats.table import write_columns
from emea.kernels.devices import peak_memory
from emea.method.rounds import Fitting, Outcome, State, Step
from emea.runs.align import Observers, align
from emea.runs.checkpoint import Checkpoint
from emea.runs.fingerprint import file_fingerprints, own_sources
from emea.runs.folder import ENGINE, LAST, clear
from emea.runs.inputs import Inputs
from emea.runs.promise import doubt
from emea.runs.results import write_result
from emea.runs.workplace import nowhere
from emea.settings import Settings

CHECKPOINT_SECONDS = 30.0  # between checkpoints within a fit


def run(
    prepared: Prepared,
    settings: Settings,
    folder: Path,
    *,
    inputs: Inputs,
    reference: Reference | None = None,
    resume: bool = False,
    observers: Observers | None = None,
    put: Callable[[], None] = nowhere,
) -> tuple[Outcome, Measures | None]:
    """Link the graphs, writing the run folder along the way; returns the outcome and, with a reference, its measures.

    Each complete round of the loop, and long training now and then, leaves a checkpoint from which `resume` continues;
    the results replace it. Baselines start over. `put` is called at the start, after each round and at the end, to
    bring the files to where they belong.
    """
    task = prepared.given
    saved, sources = Checkpoint.read(folder, task) if resume else None, own_sources(settings)
    own = file_fingerprints(sources)
    if saved is not None:
        _refuse_changed(sources, own, saved.sources, folder)
    clear(folder)
    if saved is None:
        Checkpoint.remove(folder)
    write_given(task, settings, inputs, folder)
    put()
    keeper = _Keeper(folder, task, saved, own, observers or Observers(), put=put)
    with opened(settings.engine.kind, settings.engine.gpus) as engine:
        outcome = align(prepared, settings, keeper.observers, saved.state if saved else None, engine)
        write_result(outcome, folder, inputs)
        if ran := engine.record():
            rounds = len(keeper.rounds) - (len(saved.rounds) if saved else 0)  # of this process
            here = {"memory here": int(peak_memory()), "rounds": rounds}
            write_text(folder / ENGINE, json.dumps({**ran, **here}, indent=2) + "\n")
        measures = evaluate(outcome, reference) if reference is not None and len(reference) else None
        told = json.dumps(summary(outcome), indent=2) + "\n"
    if measures is not None:
        write_text(folder / "metrics.json", json.dumps(measures.to_dict(), indent=2) + "\n")
    write_text(folder / LAST, told)
    put()  # all results, before the checkpoint is taken away there
    Checkpoint.remove(folder)
    put()
    return outcome, measures


def _refuse_changed(sources: dict[str, Path], now: dict[str, str], before: dict[str, str], folder: Path) -> None:
    """Refuse to go on with another model or rule than the one that the rounds so far were made with."""
    for name in now.keys() & before.keys():
        if now[name] != before[name]:
            raise InputError(
                f"{sources[name]} has changed since the run in {folder} began, and its rounds would be of two models; "
                "put the file back as it was, or start over with --force in place of --resume"
            )


class _Keeper:
    """Writes down each round as it ends, and keeps a checkpoint."""

    def __init__(
        self,
        folder: Path,
        task: Task,
        saved: Checkpoint | None,
        sources: dict[str, str],
        observers: Observers,
        *,
        put: Callable[[], None],
    ) -> None:
        self.folder, self.task, self.sources, self.others, self.put = folder, task, sources, observers, put
        self.observers = Observers(self.round, self.fit, observers.judging)
        self.rounds, self.timings = (list(saved.rounds), list(saved.timings)) if saved else ([], [])
        self.saved_at = time.monotonic()

    def round(self, ended: Step) -> None:
        """Record a round; the last one needs no checkpoint."""
        self.rounds.append({"round": ended.number, **ended.record()})
        self.timings.append({"round": ended.number, "seconds": round(ended.seconds, 3)})
        _write_lines(self.folder / "rounds.jsonl", self.rounds)
        _write_lines(self.folder / "timings.jsonl", self.timings)
        if ended.resumable is not None:
            self._keep(ended.resumable)
        self.put()
        if self.others.round is not None:
            self.others.round(ended)

    def fit(self, fitting: Fitting) -> None:
        """Keep a checkpoint now and then within a long fit."""
        if fitting.state is not None and time.monotonic() - self.saved_at >= CHECKPOINT_SECONDS:
            self._keep(fitting.state())
            self.saved_at = time.monotonic()
        if self.others.fit is not None:
            self.others.fit(fitting)

    def _keep(self, state: State) -> None:
        Checkpoint(state, self.rounds, self.timings, self.sources).write(self.folder, self.task)


def summary(outcome: Outcome) -> dict[str, Any]:
    """How many links there are, how many of them should be right, and how many sources have no counterpart at
    most."""
    confidence = outcome.alignment.confidence
    return {
        "links": len(confidence),
        "expected precision": round(float(confidence.mean()), 6) if len(confidence) else None,
        "absence": outcome.absence and asdict(outcome.absence),
        "doubt": doubt(outcome),
    }


def write_given(task: Task, settings: Settings, inputs: Inputs, folder: Path) -> None:
    """Write what a run is given: settings, seeds and validation pairs, none of which count when it is measured."""
    write_text(folder / "settings.toml", tomli_w.dumps(_description(task, settings, inputs)))
    write_columns(folder / "seeds.tsv", ("source", "target", "weight"), [*task.names(task.seeds), task.seeds.weight])
    if len(task.validation):
        write_columns(folder / "validation.tsv", ("source", "target"), [*task.names(task.validation)])


def _description(task: Task, settings: Settings, inputs: Inputs) -> dict[str, Any]:
    """All settings, and in the table `run` everything else that is needed to repeat the run."""
    about = {
        **inputs.table(),
        "sources": len(task.source.entities),
        "targets": len(task.target.entities),
        "threads": torch.get_num_threads(),
        "versions": {"emea": __version__, "python": platform.python_version(), "torch": torch.__version__},
    }
    return {**settings.resolved(), "run": about}


def _write_lines(path: Path, records: list[dict[str, Any]]) -> None:
    write_text(path, "".join(json.dumps(record) + "\n" for record in records))
