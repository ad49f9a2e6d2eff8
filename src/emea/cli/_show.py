"""What the verbs print: measures, estimates, benchmarks, lists."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Column, Table

from emea.cli._console import out, warn

if TYPE_CHECKING:
    from pydantic import BaseModel

    from emea.analysis.measures import LinkMeasures, Measures
    from emea.data import Task
    from emea.reproduce import Page
    from emea.runs.doctor import Findings
    from emea.runs.estimate import Estimate
    from emea.runs.profile import Offers
    from emea.settings import Settings

SIMILARITY = "similarity"  # the decoding of saved runs
LEVELS = (0.95, 0.9, 0.8, 0.5)  # of confidence


def show_estimate(needed: Estimate, chosen: Settings, *, as_json: bool) -> None:
    """What a run would take."""
    from emea.runs.estimate import told_apart

    if as_json:
        out.print(json.dumps(asdict(needed), indent=2), markup=False, highlight=False, soft_wrap=True)
        return
    out.print(f"candidate pairs  up to {needed.pairs:,}", highlight=False)
    out.print(f"embeddings       {needed.features:,} numbers for each entity", highlight=False)
    memory, free = told_apart(needed.memory, needed.free)
    out.print(f"memory           about {memory} GB of {free} GB free", highlight=False)
    out.print(f"time             about {needed.seconds:.0f} s on {chosen.device}", highlight=False)


def show_findings(found: Findings) -> None:
    """The state of an installation, and how to complete it."""

    def row(name: str, text: str) -> None:
        out.print(f"{name:<10} {text}", markup=False, highlight=False, soft_wrap=True)

    row("emea", f"{found.emea}, Python {found.python}")
    row("packages", ", ".join(f"{name} {version or 'MISSING'}" for name, version in found.packages.items()))
    for extra, packages in found.extras.items():
        state = ", ".join(f"{name} {version or 'not installed'}" for name, version in packages.items())
        row("extra", f"{extra}: {state}")
    row("torch", f"built for {found.torch_build}; {', '.join(found.gpus) or 'no GPU'}")
    row("machine", f"{found.cores} cores, {found.free_memory / 1e9:.1f} GB free on {found.device}")
    row("a run", f"uses {found.device}" + (f" with {found.threads} threads" if found.device == "cpu" else ""))
    row("example", found.example)
    for command in found.missing:
        row("to add", command)


def show_page(page: Page, paths: list[Path]) -> None:
    """What a page finds, and its files."""
    out.print(f"\n[bold]{page.title}[/bold]", highlight=False)
    for reading, findings in page.findings.items():
        for finding in findings:
            figures = f" ({finding.figures})" if finding.figures else ""
            out.print(f"  {reading} {finding.verdict}: {finding.claim}{figures}", markup=False, highlight=False)
    for path in paths:
        out.print(f"  {path}", markup=False, highlight=False, soft_wrap=True)


def show_measures(measures: Measures, *, everything: bool = False, benchmark: bool = False) -> None:
    """Precision and recall of the links, and how often the final beliefs rank the true target first, of a benchmark
    also among the test targets alone, as papers report it; or all measures, in both readings of the reference."""
    meaning, trusted = measures.readings[0]
    against = f"against {measures.reference:,} true links that were not given"
    if everything:
        out.print(f"\n{against}:", highlight=False)
        _show_all(measures)
        _show_sample(measures)
        return
    out.print(f"\n{against}; counted: {meaning.partition(': ')[2]}", highlight=False, soft_wrap=True)
    pools = ("test targets", "all targets") if benchmark else ("all targets",)
    gap = "\n" if benchmark else " "  # eighty columns have room for one of them
    headers = (f"calibration{gap}error", *(f"Hit@1{gap}({pool})" for pool in pools))
    table = Table("links", "precision", "recall", "F1", *headers, box=None)
    first = (measures.ranking[pool]["probability"].hit_at_1 for pool in pools)
    table.add_row(f"{trusted.links:,}", *_link_figures(trusted), *(f"{each:.3f}" for each in first))
    out.print(table)
    _show_sample(measures)


def _show_sample(measures: Measures) -> None:
    """Say so if ranks are estimates."""
    if measures.sampled is not None:
        drawn = f"{measures.sampled:,} of the {measures.reference:,} true links, drawn at random"
        out.print(f"ranks beyond the candidates are estimated from {drawn}", highlight=False, soft_wrap=True)


def _show_all(measures: Measures) -> None:
    """Both readings, what is left of the surest links, and the ranks of the true targets by each decoding."""
    table = Table("links", "precision", "recall", "F1", "calibration error", "counted", box=None, title_justify="left")
    for meaning, reading in measures.readings:
        table.add_row(f"{reading.links:,}", *_link_figures(reading), meaning)
    out.print(table)
    show_curve(measures.readings[0][1], "strict" if measures.complete else "known sources")
    table = Table("ranked among", "by", "Hit@1", "Hit@10", "MRR", "MR", box=None)
    for pool, decodings in measures.ranking.items():
        for decoding, ranks in decodings.items():
            high = (ranks.hit_at_1, ranks.hit_at_10, ranks.mrr)
            mean = "–" if ranks.mr is None else f"{ranks.mr:.1f}"
            table.add_row(pool, decoding, *(f"{figure:.3f}" for figure in high), mean)
    out.print(table)
    saved = [each for decodings in measures.ranking.values() for name, each in decodings.items() if name == SIMILARITY]
    if saved:
        told = (
            f"{SIMILARITY}: as in candidates.tsv, where the loop writes the cosine of the encoder's vectors, not csls"
        )
        out.print(told, soft_wrap=True)
    if any(each.mr is None for each in saved):
        out.print("MR: not known, as a saved run keeps only the best candidates of each source", soft_wrap=True)


def _link_figures(links: LinkMeasures) -> list[str]:
    figures = (links.precision, links.recall, links.f1, links.calibration_error)
    return [f"{figure:.3f}" for figure in figures]


def show_curve(links: LinkMeasures, reading: str) -> None:
    """What is left if only the surest links are accepted."""
    shown = 0
    table = Table(f"{reading}, confidence from", "links", "precision", "recall", box=None)
    for least in (0.99, *LEVELS, 0.0):
        accepted = [point for point in links.curve if point.confidence >= least]
        if accepted and accepted[-1].links > shown:
            last, shown = accepted[-1], accepted[-1].links
            table.add_row(f"{least:g}", f"{last.links:,}", f"{last.precision:.3f}", f"{last.recall:.3f}")
    if table.row_count:
        out.print(table)


def shown_offers(found: Offers) -> str:
    """What two graphs have to offer, in one line."""
    shared = f"{found.shared_values:,} shared values, {found.similar_values:,} similar values, "
    source, target = found.source, found.target
    return (
        f"{found.seeds:,} seeds, {shared if found.shared_values or found.similar_values else ''}"
        f"{source.typical_degree:g} and {target.typical_degree:g} triples per entity (median), "
        f"{source.reached:.0%} and {target.reached:.0%} of the entities within reach"
    )


def shown_decisions(given: Task, *, judged: bool) -> str | None:
    """What is known besides seeds and, where links are judged by values, whether it is enough to learn confidence from;
    None if nothing is."""
    from emea.method.judge import FEWEST_CHECKED, teaches
    from emea.runs.wording import counted

    if not (len(given.checked) or len(given.exclusions) or len(given.unmatched)):
        return None
    wrong, alone = counted(len(given.exclusions), "pair"), counted(len(given.unmatched), "entity")
    told = f"besides the seeds, {wrong} given as wrong and {alone} without counterpart"
    decided = counted(len(given.checked) + len(given.unmatched), "decision")
    if not judged:
        return told
    if teaches(given):
        return f"{told}; confidence is corrected by {decided}"
    return f"{told}; confidence is corrected from {FEWEST_CHECKED} decisions on, found {decided}"


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
        f"{found['seeds']:,} seeds, {found['shared values']:,} shared values, "
        f"{found['similar values']:,} pairs of similar values",
        highlight=False,
    )
    out.print(f"a run needs about {found['memory'] / 1e9:.1f} GB and {found['seconds']:.0f} s", highlight=False)
    for warning in found["warnings"]:
        warn(warning)


def show_bench(found: dict[str, Any]) -> None:
    """The stages of a benchmark with time, memory, work, and how close to the limits of the machine."""
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


def show_growth(found: dict[str, Any]) -> None:
    """Whole runs by size: time and memory, what was expected of them, and how they grow."""
    out.print(f"{found['machine']}; torch {found['versions']['torch']}", highlight=False)
    on_gpu = any(run["device memory"] is not None for run in found["runs"])
    columns = [
        "folder",
        "entities",
        "seconds",
        "expected",
        "rounds",
        "GB",
        *["GB on GPU"] * on_gpu,
        "expected",
        "Hit@1",
    ]
    table = Table(*(Column(name, no_wrap=True) for name in columns), box=None)
    for run in found["runs"]:
        held, hits = (run["memory"], run["device memory"])[: 1 + on_gpu], run["Hit@1"]
        table.add_row(
            run["folder"],
            f"{run['sources'] + run['targets']:,}",
            f"{run['seconds']:,.0f}",
            f"{run['expected']['seconds']:,.0f}",
            f"{run['rounds']:,.1f}",
            *(f"{each / 1e9:.1f}" for each in held),
            f"{run['expected']['memory'] / 1e9:.1f}",
            "" if hits is None else f"{hits:.3f}",
        )
    out.print(table)
    for name, slope in found["growth"].items():
        if slope is not None:
            out.print(f"{name} grow{'s' if name == 'memory' else ''} with entities to the power of {slope:.2f}")


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
    out.print("dim: within the spread of the measurements", highlight=False)


def _duration(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"


def show_fields(place: str, model: type[BaseModel], about: str) -> None:
    """The settings of a model: key, default, meaning."""
    out.print(f"[bold]{place}[/bold]  {escape(about)}", highlight=False)
    table = Table(box=None, show_header=False, padding=(0, 2))
    table.add_column(no_wrap=True)  # to be copied whole
    table.add_column(overflow="fold")
    table.add_column()
    for key, field in model.model_fields.items():
        table.add_row(f"{place}.{key}", str(field.get_default(call_default_factory=True)), field.description or "")
    out.print(table)
