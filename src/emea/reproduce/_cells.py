"""Cells: one run each, measured once and stored in a folder."""

from __future__ import annotations

import math
import shlex
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import torch
from scipy import stats
from torch import Tensor

from emea.analysis.evaluation import answer, emitted, evaluate, realistic_ranks
from emea.analysis.ranking import CSLS
from emea.analysis.significance import paired_t_test
from emea.data import Reference, Task
from emea.encoders._training import TrainingSettings
from emea.errors import InputError, SettingsError
from emea.evidence.prepared import prepare
from emea.formats import read_benchmark
from emea.formats.table import Table
from emea.kernels.devices import machine
from emea.method.rounds import Round, Step
from emea.reproduce._first_fits import FirstFits
from emea.reproduce._hits import POOL, compatibility, round_hits
from emea.reproduce._identity import digest, of_plugins, of_settings
from emea.reproduce._packing import packed, unpacked
from emea.runs.align import Observers, align
from emea.runs.fingerprint import code_fingerprint
from emea.runs.store import Cell, Store, System
from emea.settings import Settings, load

FORMAT = 3  # of a record
COMPLETE = {"made of", "code", "machine", "seconds", "rounds", "ranking", "alignment", "ranks", "linked"}  # its keys
KEPT = ("hit@1", "hit@10", "mrr", "mr", "hit@1 shared")


@dataclass(frozen=True)
class Plan:
    """What to reproduce, on which data, and where to write it."""

    data: tuple[Path, ...]  # benchmark folders
    ratios: tuple[float, ...]
    splits: tuple[int, ...]
    presets: tuple[str, ...]  # our own, shown beside the paper's systems
    device: str
    folder: Path
    changes: tuple[str, ...] = ()  # of settings, in all runs
    jobs: int = 1  # how many runs there are at once on the machine
    encoders: tuple[str, ...] = ()  # for Figure 4, instead of the paper's

    def command(self, name: str, about: tuple[float, ...] | None) -> str:
        """The command that makes a table or figure about some ratios, except for where the sets are and the device."""
        words = ["emea", "reproduce", name]
        words += [word for folder in self.data for word in ("--data", f"{folder.parent.name}/{folder.name}")]
        words += ["--ratios", ",".join(f"{ratio:g}" for ratio in self.ratios if about is None or ratio in about)]
        words += ["--splits", ",".join(map(str, self.splits))]
        words += [word for preset in self.presets for word in ("--preset", preset)]
        words += [word for encoder in self.encoders if name == "fig4" for word in ("--encoder", encoder)]
        words += [word for change in self.changes for word in ("--set", change)]
        return shlex.join(words)

    @property
    def sets(self) -> dict[str, Path]:
        """The benchmark folders by name."""
        return {folder.name: folder for folder in self.data}

    def cells(self, systems: Iterable[System], ratios: Iterable[float] | None = None) -> Iterator[Cell]:
        """Every system on every requested set, split and ratio (among `ratios`, if given), split by split."""
        wanted = [ratio for ratio in self.ratios if ratios is None or ratio in {*ratios}]
        kinds = list(systems)
        for split in self.splits:
            for data in self.sets:
                for ratio in wanted:
                    yield from (Cell(system, data, ratio, split) for system in kinds)


class Measured:
    """The cells measured so far, and the means to measure more."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.found: dict[Cell, dict[str, Any]] = {}
        self.first_fits = FirstFits()
        self.store = Store(plan.folder / "cells")
        self.variant = digest(plan.changes) if plan.changes else ""  # stored beside the runs without changes

    def load(self, cell: Cell) -> bool:
        """Whether the folder has the cell, measured with exactly these settings."""
        if cell not in self.found:
            record = self.store.read(cell.name, self.variant)
            if record is not None and record.keys() >= COMPLETE and record["made of"] == self._made_of(cell):
                self.found[cell] = record
        return cell in self.found

    def on_first_split(self) -> Measured:
        """The same, of one split only."""
        one = Measured(replace(self.plan, splits=self.plan.splits[:1]))
        one.found = self.found
        return one

    def all_of(self, cells: Iterable[Cell]) -> Measured:
        """With those of the cells that the folder has."""
        for cell in cells:
            self.load(cell)
        return self

    def stale(self, cell: Cell) -> bool:
        """Whether the cell was measured by other code than the present one."""
        return bool(self.found[cell]["code"] != code_fingerprint())

    def check(self, cells: Iterable[Cell]) -> None:
        """Refuse what cannot be measured, before anything is measured."""
        for path in self.plan.data:
            if not path.is_dir():
                found = "is a file" if path.exists() else "does not exist"
                raise InputError(f"{path} {found}, expected a benchmark folder")
        if len(self.plan.sets) < len(self.plan.data):
            raise SettingsError("found two benchmark folders with the same name, expected different names")
        if any(change.split("=")[0].strip() == "method" for change in self.plan.changes):
            raise SettingsError("the table or figure defines its methods: they cannot be set")
        for ratio in self.plan.ratios:
            if not 0 < ratio < 1:
                raise SettingsError(f"--ratios: found {ratio:g}, expected shares between 0 and 1")
        for split in self.plan.splits:
            if split < 0:
                raise SettingsError(f"--splits: found {split}, expected integers from 0")
        for cell in cells:
            self._settings(cell)
        try:
            self.plan.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"the folder {self.plan.folder} cannot be created: {error.strerror}") from error

    def read(self, cell: Cell) -> tuple[Task, Reference | None]:
        """The task and the reference of a cell."""
        path = self.plan.sets[cell.data]
        if cell.ratio is None:
            return read_benchmark(path, fold=cell.split)
        return read_benchmark(path, ratio=cell.ratio, split=cell.split)

    def measure(self, cell: Cell, watch: Callable[[Step], None] | None = None) -> None:
        """Run the cell and store its record."""
        record = {"made of": self._made_of(cell), **self._measure(cell, watch)}
        self.found[cell] = record
        self.store.write(cell.name, record, self.variant)

    def _measure(self, cell: Cell, watch: Callable[[Step], None] | None) -> dict[str, Any]:
        task, reference = self.read(cell)
        assert reference is not None
        settings = self._settings(cell)
        rounds: list[dict[str, float]] = []
        first = self.first_fits.of(cell, settings)

        def observe(ended: Step) -> None:
            record = {"seconds": ended.seconds}
            if isinstance(ended, Round):  # baselines do not have both parts to measure
                record["fitting"] = ended.fitting
                record |= round_hits(ended, task, reference) if cell.system.decoding == CSLS else {}
            if not rounds:
                first.end(record)
            rounds.append(record)
            if watch is not None:
                watch(ended)

        started = time.perf_counter()
        outcome = align(prepare(task, settings.evidence), settings, Observers(observe, first.watch), first.state)
        with tempfile.TemporaryDirectory() as place:
            Table().write_alignment(outcome.alignment, task, Path(place) / "alignment.tsv")
        whole = time.perf_counter() - started
        measures, subject = evaluate(outcome, reference).to_dict(), answer(outcome)
        found = {
            "code": code_fingerprint(),
            "machine": f"torch {torch.__version__}, {machine(torch.device(self.plan.device))}",
            "jobs": self.plan.jobs,  # if more than one, times mean little
            "whole": whole,  # seconds from graphs in memory to links on disk; more than needed if rounds are measured
            "seconds": sum(each["seconds"] for each in rounds),
            "rounds": rounds,
            "ranking": {
                pool: {name: {key: values[key] for key in KEPT} for name, values in decodings.items()}
                for pool, decodings in measures["ranking"].items()
            },
            "alignment": {
                reading: {key: value for key, value in values.items() if isinstance(value, int | float)}
                for reading, values in measures["alignment"].items()
            },
            "ranks": packed(realistic_ranks(subject, reference, POOL, cell.system.decoding)),
            "linked": packed(emitted(subject, reference)),
        }
        if outcome.last is not None and cell.system.decoding == CSLS:
            found["compatibility"] = compatibility(outcome, reference)
        return found

    def _settings(self, cell: Cell) -> Settings:
        changes = [*self.plan.changes, *cell.system.changes]
        chosen = load(cell.system.preset, assignments=changes, device=self.plan.device, seed=cell.split)
        if not cell.system.at_once:
            return chosen
        own = chosen.encoder_settings()
        assert isinstance(own, TrainingSettings)
        epochs = own.epochs + chosen.em.rounds * own.more_epochs
        changes += ["em.rounds=0", f"encoders.{chosen.em.encoder}.epochs={epochs}"]
        return load(cell.system.preset, assignments=changes, device=self.plan.device, seed=cell.split)

    def _made_of(self, cell: Cell) -> list[Any]:
        """What a stored record must match to be reused: its format, the files, the split, all settings but the device,
        defaults included, and the score it is ranked by."""
        files = sorted(
            (path.name, path.stat().st_size) for path in self.plan.sets[cell.data].rglob("*") if path.is_file()
        )
        settings = self._settings(cell)
        made = [FORMAT, digest(files), cell.ratio, cell.split, of_settings(settings), cell.system.decoding]
        return [*made, *of_plugins(settings)]

    def runs(self, system: System, data: str, ratio: float | None) -> list[dict[str, Any]]:
        """The records of a system, one for each measured split."""
        cells = (Cell(system, data, ratio, split) for split in self.plan.splits)
        return [self.found[cell] for cell in cells if cell in self.found]

    def timed(self, system: System, data: str, ratio: float | None) -> list[dict[str, Any]]:
        """The records of the runs that had the machine for themselves."""
        return [run for run in self.runs(system, data, ratio) if run["jobs"] == 1]

    def mean(self, system: System, data: str, ratio: float, measure: str = "hit@1") -> float | None:
        """Mean of a measure over the splits, None if none is measured."""
        values = self._values(system, data, ratio, measure)
        return mean(values) if values else None

    def shown(self, system: System, data: str, ratio: float, measure: str = "hit@1") -> str:
        """Mean and standard deviation over the splits, and their number if some are missing."""
        values = self._values(system, data, ratio, measure)
        if not values:
            return "not measured"
        digits = 1 if measure == "mr" else 3
        spread = f" ± {stdev(values):.{digits}f}" if len(values) > 1 else ""
        missing = f" ({len(values)} of {len(self.plan.splits)} splits)" if len(values) < len(self.plan.splits) else ""
        return f"{mean(values):.{digits}f}{spread}{missing}"

    def _values(self, system: System, data: str, ratio: float, measure: str) -> list[float]:
        """A measure of each measured split: of the ranking, or `links`, the share of the true links that is emitted."""
        runs = self.runs(system, data, ratio)
        if measure == "links":
            return [run["alignment"]["known sources"]["recall"] for run in runs]
        return [run["ranking"][POOL][system.decoding][measure] for run in runs]

    def both(
        self, first: System, second: System, data: str, ratio: float, *, links: bool = False
    ) -> tuple[float, float] | None:
        """Mean Hit@1 of two systems over the splits on which both are measured, None if there is none; with `links`,
        that of a system which emits links is the share of the true ones among them."""
        pairs = self._pairs(first, second, data, ratio)
        hits = [[self._hit(cell, links=links) for cell in pair] for pair in pairs]
        return (mean(one for one, _ in hits), mean(two for _, two in hits)) if hits else None

    def gain(self, first: System, second: System, data: str, ratio: float) -> tuple[float, float] | None:
        """By how much the Hit@1 of the first is higher, mean of the splits on which both are measured, and half of the
        95 % interval that the splits allow; None if there are fewer than two."""
        pairs = self._pairs(first, second, data, ratio)
        gains = [self._hit(one) - self._hit(two) for one, two in pairs]
        if len(gains) < 2:
            return None
        return mean(gains), float(stats.t.ppf(0.975, len(gains) - 1)) * stdev(gains) / math.sqrt(len(gains))

    def p_value(self, first: System, second: System, data: str, ratio: float, *, links: bool = False) -> float | None:
        """The largest p-value, over the splits, of the paired t-test on reciprocal ranks; with `links` on hits."""
        pairs = self._pairs(first, second, data, ratio)
        scores = ((self._scores(cell, links=links) for cell in pair) for pair in pairs)
        return max((paired_t_test(*both)[1] for both in scores), default=None)

    def _hit(self, cell: Cell, *, links: bool = False) -> float:
        record = self.found[cell]
        if links and cell.system.emits:
            return float(record["alignment"]["known sources"]["recall"])
        return float(record["ranking"][POOL][cell.system.decoding]["hit@1"])

    def _scores(self, cell: Cell, *, links: bool) -> Tensor:
        """Reciprocal rank of each test pair; with `links` whether it is found, [test pairs]."""
        record = self.found[cell]
        if links and cell.system.emits:
            return unpacked(record["linked"])
        ranks = unpacked(record["ranks"])
        return (ranks <= 1).double() if links else 1 / ranks

    def _pairs(self, first: System, second: System, data: str, ratio: float) -> list[tuple[Cell, Cell]]:
        """The cells of both, for each split on which both are measured."""
        pairs = [tuple(Cell(system, data, ratio, split) for system in (first, second)) for split in self.plan.splits]
        return [(one, two) for one, two in pairs if one in self.found and two in self.found]

    def machines(self, cells: Iterable[Cell]) -> str:
        """The machines and the code that measured these cells."""
        runs = (self.found[cell] for cell in cells if cell in self.found)
        return "; ".join(sorted({f"code {run['code']}, {run['machine']}" for run in runs})) or "nothing measured"
