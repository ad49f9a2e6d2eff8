"""Progress on the terminal: bars where there is one, lines in a log elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from emea.cli._console import log, say
from emea.method.rounds import Fitting, Step
from emea.runs.align import Observers
from emea.runs.store import Cell
from emea.settings import EMEA, Settings

JUDGING = "judging the links by names, values and neighbours"
LINE_SECONDS = 30.0  # between lines about a long fit, without a terminal


@contextmanager
def progress(chosen: Settings, *, shown: bool) -> Iterator[Observers]:
    """Show each round as it ends, and the epochs in between."""
    if not shown:
        yield Observers()
    elif log.is_terminal:
        columns = (SpinnerColumn(), TextColumn("{task.fields[what]}"), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, TimeElapsedColumn(), TextColumn("{task.description}"), console=log) as bars:
            yield _bars(bars, _rounds(chosen))
    else:
        yield _lines(_rounds(chosen))


def _rounds(chosen: Settings) -> int | None:
    """How many there will be after the first; None if unknown."""
    return chosen.em.rounds if chosen.method == EMEA and not chosen.em.scouts else None


def _bars(bars: Progress, rounds: int | None) -> Observers:
    outer = bars.add_task("first fit", total=None if rounds is None else rounds + 1, what="rounds")
    inner = bars.add_task("", total=None, what="epochs", visible=False)

    def fit(fitting: Fitting) -> None:
        now = fitting.progress
        bars.update(inner, completed=now.epoch, total=now.epochs, description=_training(fitting), visible=True)

    def judging() -> None:
        bars.update(outer, description=JUDGING)

    return Observers(lambda ended: bars.update(outer, advance=1, description=ended.headline()), fit, judging)


def _lines(rounds: int | None) -> Observers:
    spoken = time.monotonic()
    of = "" if rounds is None else f" of at most {rounds}"

    def fit(fitting: Fitting) -> None:
        nonlocal spoken
        if time.monotonic() - spoken >= LINE_SECONDS:
            now, spoken = fitting.progress, time.monotonic()
            say(f"round {fitting.round}{of}, epoch {now.epoch:,}/{now.epochs:,}: {_training(fitting)}")

    def ended(step: Step) -> None:
        say(f"round {step.number}{of}: {step.headline()}, {step.seconds:.1f} s")

    return Observers(ended, fit, lambda: say(JUDGING))


def _training(fitting: Fitting) -> str:
    now = fitting.progress
    turn = f"turn {now.turn}, " if now.turn else ""
    return f"{turn}loss {now.loss:.4g} on {now.pairs:,} pairs, {now.seconds_left:.0f} s left"


@dataclass(frozen=True)
class CellObservers:
    """Who is told while a table is made: before each run, and after each round of it."""

    begin: Callable[[Cell, int, int], None] | None = None
    round: Callable[[Step], None] | None = None


@contextmanager
def cells_progress(*, shown: bool) -> Iterator[CellObservers]:
    """Show which run of how many is in progress, and how long the others may take."""
    if not shown:
        yield CellObservers()
    elif log.is_terminal:
        columns = (SpinnerColumn(), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        with Progress(*columns, TextColumn("{task.description}"), console=log, speed_estimate_period=3600) as bars:
            cells = bars.add_task("", total=None)

            def begin(cell: Cell, number: int, count: int) -> None:
                bars.update(cells, completed=number, total=count, description=cell.name)

            yield CellObservers(begin, lambda _: bars.refresh())
    else:
        started = time.monotonic()

        def line(cell: Cell, number: int, count: int) -> None:
            left = f", {(time.monotonic() - started) / number * (count - number):.0f} s left" if number else ""
            say(f"{number + 1} of {count}: {cell.name}{left}")

        yield CellObservers(line)
