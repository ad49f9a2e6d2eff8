"""What the verbs print: progress, results, lists."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column, Table

from emea import plugins
from emea.contracts import Baseline, Encoder, Rule
from emea.em import Fitting, Result, Round
from emea.estimate import Estimate
from emea.methods import Step
from emea.reproduce import Cell, Page
from emea.settings import EMEA, Settings

out, log = Console(), Console(stderr=True)
LINE_SECONDS = 30.0  # between lines on a long fit, where there is no terminal


def show_estimate(needed: Estimate, chosen: Settings, *, as_json: bool) -> None:
    """What a run would take."""
    if as_json:
        out.print(json.dumps(asdict(needed), indent=2), markup=False, highlight=False, soft_wrap=True)
        return
    out.print(f"candidate pairs  up to {needed.pairs:,}", highlight=False)
    out.print(f"embeddings       {needed.features:,} numbers for each entity", highlight=False)
    out.print(
        f"memory           about {needed.memory / 1e9:.1f} GB of {needed.free / 1e9:.1f} GB free", highlight=False
    )
    out.print(f"time             about {needed.seconds:.0f} s on {chosen.device}", highlight=False)


@dataclass(frozen=True)
class Observers:
    """What a run calls: at the end of each round, and now and then within a long fit."""

    round: Callable[[Step], None] | None = None
    fit: Callable[[Fitting], None] | None = None


@contextmanager
def progress(chosen: Settings, *, shown: bool) -> Iterator[Observers]:
    """Shows each round as it ends, and the epochs in between: bars on a terminal, lines in a log elsewhere."""
    if not shown:
        yield Observers()
    elif log.is_terminal:
        columns = (SpinnerColumn(), TextColumn("{task.fields[what]}"), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, TimeElapsedColumn(), TextColumn("{task.description}"), console=log) as bars:
            yield _bars(bars, _rounds(chosen))
    else:
        yield _lines(_rounds(chosen))


def _rounds(chosen: Settings) -> int | None:
    """How many there will be after the first; None where nobody knows."""
    return chosen.em.rounds if chosen.method == EMEA else None


def _bars(bars: Progress, rounds: int | None) -> Observers:
    outer = bars.add_task("first fit", total=None if rounds is None else rounds + 1, what="rounds")
    inner = bars.add_task("", total=None, what="epochs", visible=False)

    def fit(fitting: Fitting) -> None:
        now = fitting.progress
        bars.update(inner, completed=now.epoch, total=now.epochs, description=_training(fitting), visible=True)

    return Observers(lambda ended: bars.update(outer, advance=1, description=_found(ended)), fit)


def _lines(rounds: int | None) -> Observers:
    spoken = time.monotonic()
    of = "" if rounds is None else f"/{rounds}"

    def fit(fitting: Fitting) -> None:
        nonlocal spoken
        if time.monotonic() - spoken >= LINE_SECONDS:
            now, spoken = fitting.progress, time.monotonic()
            say(f"round {fitting.round}{of}, epoch {now.epoch:,}/{now.epochs:,}: {_training(fitting)}")

    return Observers(lambda ended: say(f"round {ended.number}{of}: {_found(ended)}, {ended.seconds:.1f} s"), fit)


def _training(fitting: Fitting) -> str:
    now = fitting.progress
    turn = f"turn {now.turn}, " if now.turn else ""
    return f"{turn}loss {now.loss:.4g} on {now.pairs:,} pairs, {now.seconds_left:.0f} s left"


def _found(ended: Step) -> str:
    if not isinstance(ended, Round):
        return f"{len(ended.labels):,} pairs, {ended.changed:.1%} of them new"
    found = f"{len(ended.state.labels):,} pairs labelled"
    if len(ended.trials):
        found += f", {int(ended.trials[:, 1].sum())} of {len(ended.trials)} links of held-out pairs right"
    return found


@dataclass(frozen=True)
class CellObservers:
    """What the making of a table calls: before each run, and after each round of it."""

    begin: Callable[[Cell, int, int], None] | None = None
    round: Callable[[Step], None] | None = None


@contextmanager
def cells_progress(*, shown: bool) -> Iterator[CellObservers]:
    """Shows which run of how many is at work and how long the others may take: a bar, or lines elsewhere."""
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


def show_page(page: Page, paths: list[Path]) -> None:
    """What a page finds, and its files."""
    out.print(f"\n[bold]{page.title}[/bold]", highlight=False)
    for finding in page.findings:
        figures = f" ({finding.figures})" if finding.figures else ""
        out.print(f"  {finding.verdict}: {finding.claim}{figures}", markup=False, highlight=False)
    for path in paths:
        out.print(f"  {path}", markup=False, highlight=False, soft_wrap=True)


def show_result(result: Result, measures: dict[str, Any] | None, folder: Path) -> None:
    """The links by confidence, the measures where there are any, and the files written."""
    count, confidence = len(result.alignment), result.alignment.confidence
    besides = f" besides the {len(result.task.seeds):,} seeds" if len(result.task.seeds) else ""
    out.print(f"\n[bold]{count:,} links[/bold] found{besides}")
    if not count:
        chosen = result.settings.matching
        asked = f" and a precision of {chosen.precision:g}" if chosen.precision is not None else ""
        out.print(f"no link is sure enough for a confidence of {chosen.minimum:g}{asked}", highlight=False)
    if count:
        table = Table("confidence from", "links", box=None)
        for low in (0.95, 0.9, 0.8, 0.5):
            table.add_row(f"{low}", f"{int((confidence >= low).sum()):,}")
        out.print(table)
    if measures is not None:
        show_measures(measures)
    out.print(f"\nfiles in {folder}:", highlight=False)
    meanings = {
        "alignment.tsv": "the links with confidence",
        "alignment.sssom.tsv": "the same as SSSOM",
        "alignment.nt": "the same as owl:sameAs",
        "relations.tsv": "which relations are contained in which",
        "relations.sssom.tsv": "the likely ones as SSSOM",
        "candidates.tsv": "the most probable counterparts of each source",
        "metrics.json": "the measures above and more",
        "rounds.jsonl": "what each round found",
        "settings.toml": "all it takes to do this again",
    }
    for name, meaning in meanings.items():
        if (folder / name).exists() and (measures is not None or name != "metrics.json"):
            out.print(f"  {name:<20} {meaning}", highlight=False)


def show_measures(measures: dict[str, Any]) -> None:
    """Precision and recall of the links, and the ranks of the true ones."""
    table = Table("links", "precision", "recall", "F1", "calibration error", "counted", box=None, title_justify="left")
    readings = {"known sources": "known sources: links whose source the reference has", "strict": "strict: all links"}
    for reading, values in measures["alignment"].items():
        figures = (f"{values[name]:.3f}" for name in ("precision", "recall", "f1", "calibration error"))
        table.add_row(f"{values['links']:,}", *figures, readings[reading])
    out.print(f"\nagainst {measures['reference']:,} true links that were not given:", highlight=False)
    out.print(table)
    show_curve(measures["alignment"]["known sources"])
    table = Table("ranked among", "by", "Hit@1", "Hit@10", "MRR", "MR", box=None)
    for pool, decodings in measures["ranking"].items():
        for decoding, values in decodings.items():
            figures = (f"{values[name]:.3f}" for name in ("hit@1", "hit@10", "mrr"))
            table.add_row(pool, decoding, *figures, f"{values['mr']:.1f}")
    out.print(table)


def show_curve(links: dict[str, Any]) -> None:
    """What is left when only the surest links are accepted."""
    shown = 0
    table = Table("known sources, confidence from", "links", "precision", "recall", box=None)
    for least in (0.99, 0.95, 0.9, 0.8, 0.5, 0.0):
        accepted = [point for point in links["curve"] if point["confidence"] >= least]
        if accepted and accepted[-1]["links"] > shown:
            last, shown = accepted[-1], accepted[-1]["links"]
            table.add_row(f"{least:g}", f"{last['links']:,}", f"{last['precision']:.3f}", f"{last['recall']:.3f}")
    if table.row_count:
        out.print(table)


def shown_offers(found: dict[str, Any]) -> str:
    """What two graphs have to offer, in one line."""
    sides = [found[side] for side in ("source", "target")]
    degrees, reached = ([one[key] for one in sides] for key in ("typical_degree", "reached"))
    shared = f"{found['shared values']:,} shared values, {found['similar values']:,} similar values, "
    return (
        f"{found['seeds']:,} seeds, {shared if found['shared values'] or found['similar values'] else ''}"
        f"triples of an entity {degrees[0]:g} and {degrees[1]:g} (median), "
        f"{reached[0]:.0%} and {reached[1]:.0%} of the entities within reach"
    )


def show_profile(found: dict[str, Any]) -> None:
    """What two graphs have to offer."""
    table = Table("", "source", "target", box=None)
    counts = ("entities", "relations", "triples", "literals", "highest_degree")
    for key in found["source"]:
        cells = [found[side][key] for side in ("source", "target")]
        shown = [
            f"{cell:,}" if key in counts else f"{cell:g}" if key == "typical_degree" else f"{cell:.0%}"
            for cell in cells
        ]
        table.add_row(key.replace("_", " "), *shown)
    out.print(table)
    out.print(
        f"{found['seeds']:,} seeds, {found['shared values']:,} values that both have, "
        f"{found['similar values']:,} pairs of similar values",
        highlight=False,
    )
    out.print(f"a run takes about {found['memory'] / 1e9:.1f} GB and {found['seconds']:.0f} s", highlight=False)
    for warning in found["warnings"]:
        out.print(f"warning: {warning}", style="yellow", markup=False, highlight=False, soft_wrap=True)


def show_bench(found: dict[str, Any]) -> None:
    """The stages of a benchmark with time, memory, work and how near to the machine's limits."""
    limits, startup = found["limits"], found["startup"]
    out.print(f"{found['machine']}; torch {found['versions']['torch']}", highlight=False)
    for side, size in zip(("source", "target"), found["graphs"], strict=True):
        out.print(f"{side}: {size}", highlight=False)
    out.print(
        f"limits: {limits['bytes_per_second'] / 1e9:,.1f} GB/s, {limits['flops_per_second'] / 1e12:,.2f} TFLOP/s; "
        + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in startup.items()),
        highlight=False,
    )
    table = Table(Column("stage", no_wrap=True), "median", "spread", "memory", "of limit", box=None)
    for stage in found["stages"]:
        share = "" if stage["share_of_limit"] is None else f"{stage['share_of_limit']:.0%}"
        spread = f"±{(stage['slowest'] - stage['fastest']) / 2 / stage['seconds']:.0%}"
        table.add_row(stage["stage"], _duration(stage["seconds"]), spread, f"{stage['peak_bytes'] / 1e9:.2f} GB", share)
    out.print(table)


def show_comparison(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Two benchmarks side by side."""
    for name, found in (("before", before), ("after", after)):
        out.print(f"{name}: {found['machine']}; emea {found['versions']['emea']}", highlight=False)
    headers = ("before", "after", "speed-up", "memory", "after")
    table = Table(Column("stage", no_wrap=True), *headers, box=None)
    old = {stage["stage"]: stage for stage in before["stages"]}
    for stage in after["stages"]:
        was = old.get(stage["stage"])
        if was is None:
            table.add_row(
                stage["stage"], "", _duration(stage["seconds"]), "", "", f"{stage['peak_bytes'] / 1e9:.2f} GB"
            )
            continue
        ratio = was["seconds"] / stage["seconds"]
        certain = was["fastest"] > stage["slowest"] or was["slowest"] < stage["fastest"]
        colour = ("green" if ratio > 1 else "red") if certain else "dim"
        memory = [f"{each['peak_bytes'] / 1e9:.2f} GB" for each in (was, stage)]
        times = [_duration(each["seconds"]) for each in (was, stage)]
        table.add_row(stage["stage"], *times, f"[{colour}]{ratio:.2f}[/{colour}]", *memory)
    out.print(table)
    out.print("dim: within what the measurements spread", highlight=False)


def _duration(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"


def show_plugins(kind: str, contract: type[Encoder | Rule | Baseline]) -> None:
    """The plug-ins of a kind with their settings."""
    for name in plugins.names(kind):
        plugin: type[Encoder | Rule | Baseline] = plugins.find(kind, name, contract)
        show_fields(f"{kind}.{name}", plugin.Settings, _first_line(plugin))


def show_fields(place: str, model: type[BaseModel], about: str) -> None:
    """The settings of a model: key, default, meaning."""
    out.print(f"[bold]{place}[/bold]  {about}", highlight=False)
    table = Table(box=None, show_header=False, padding=(0, 2))
    table.add_column(no_wrap=True)  # to be copied whole
    table.add_column(overflow="fold")
    table.add_column()
    for key, field in model.model_fields.items():
        table.add_row(f"{place}.{key}", str(field.get_default(call_default_factory=True)), field.description or "")
    out.print(table)


def _first_line(plugin: type) -> str:
    return (sys.modules[plugin.__module__].__doc__ or "").strip().splitlines()[0]


def say(text: str) -> None:
    """A line for whoever watches."""
    log.print(text, markup=False, highlight=False, soft_wrap=True)


def silent(text: str) -> None:
    """Say nothing."""
