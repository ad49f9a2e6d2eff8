"""The verbs that measure: evaluate, profile, bench, reproduce."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from emea import plugins
from emea.cli._options import (
    All,
    Data,
    Device,
    Json,
    MethodOptions,
    Quiet,
    Ratio,
    Seeds,
    Set,
    chosen_settings,
    flattened,
    numbers,
)
from emea.cli._reading import ReadingOptions
from emea.cli._reporting import Run
from emea.runs.inputs import Inputs
from emea.settings import Settings

if TYPE_CHECKING:
    from emea.reproduce import Made

ITEMS = [name.replace("_", "-") for name in plugins.built_in("reproduce")]


def evaluate(  # noqa: PLR0917 - one parameter for each option
    run: Run,
    reference: Annotated[Path, typer.Option(help="True pairs: two columns, source and target.")],
    complete: Annotated[
        bool,
        typer.Option("--complete", help="The pairs are all there are: links from other sources are wrong."),
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Plot reliability, and precision against recall: .svg, .png, .html or .json.")
    ] = None,
    everything: All = False,
    as_json: Json = False,
) -> None:
    """Compare a finished run with true pairs; pairs that were its seeds do not count."""
    from emea.cli._console import say
    from emea.cli._show import show_measures
    from emea.formats import nearby
    from emea.report.figures import reliability_plot, save_plot
    from emea.runs.finished import evaluate_run

    with nearby(run) as folder:
        measures = evaluate_run(folder, reference, complete=complete)
    if as_json:
        typer.echo(json.dumps(measures.to_dict(), indent=2))
    else:
        show_measures(measures, everything=everything)
    if plot is not None:
        save_plot(reliability_plot(measures), plot)
        if not as_json:
            say(f"plotted in {plot}")


@dataclass(frozen=True)
class ProfiledGraphs:
    """What to look at."""

    source: Annotated[str | None, typer.Argument(help="Graph to link from.")] = None
    target: Annotated[str | None, typer.Argument(help="Graph to link to.")] = None
    seeds: Seeds = None
    data: Data = None
    ratio: Ratio = None


@dataclass(frozen=True)
class ProfileOutput:
    """How to show it."""

    as_json: Json = False


@flattened
def profile(graphs: ProfiledGraphs, reading: ReadingOptions, output: ProfileOutput) -> None:
    """Show what two graphs offer before linking them: sizes, shared values, how far known pairs reach."""
    given = {field.name: getattr(graphs, field.name) for field in fields(graphs)}
    inputs = Inputs(**given, **reading.readings(graphs.source, graphs.target))
    inputs.check()
    settings = chosen_settings(MethodOptions(evidence="all"))

    from emea.cli._console import noting, say, warn
    from emea.cli._show import show_profile
    from emea.evidence.prepared import prepare
    from emea.runs.profile import profile as look_at

    with noting(warn):
        task, _, detected = inputs.read()
    found = look_at(prepare(task, settings.evidence), settings)
    if output.as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    for line in filter(None, (detected, *task.source.notes, *task.target.notes)):
        say(line)
    show_profile(found)


def bench(  # noqa: PLR0917 - one parameter for each option
    device: Device = None,
    repeats: Annotated[int, typer.Option(min=1, help="How often to measure each stage.")] = 5,
    data: Annotated[
        Path | None, typer.Option(help="Benchmark folder to measure on; synthetic graphs by default.")
    ] = None,
    ratio: Ratio = None,
    file: Annotated[Path | None, typer.Option("--out", help="Write the result as JSON, to compare with later.")] = None,
    compare: Annotated[
        tuple[Path, Path] | None, typer.Option(help="Compare two such files instead of measuring.")
    ] = None,
    scale: Annotated[
        list[Path] | None,
        typer.Option(help="Benchmark folder on which to measure a whole run; several show how it grows."),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(help="Folder of a run with --engine ray: compute what other sizes and clusters would take."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure how fast each stage runs here, and how close that is to what the machine allows.

    emea bench --out now.json

    emea bench --compare before.json now.json

    emea bench --scale small --scale large --ratio 0.02

    emea bench --plan run
    """
    from emea import bench as benchmarks
    from emea.cli._show import show_comparison
    from emea.formats._files import write_text

    if compare is not None:
        show_comparison(*(benchmarks.read_bench(path) for path in compare))
        return
    found, show = _planned(plan) if plan is not None else _measured(device, repeats, data, ratio, scale or [])
    if file is not None:
        write_text(file, json.dumps(found, indent=1) + "\n")
    if as_json:
        typer.echo(json.dumps(found, indent=1))
    else:
        show(found)


def _planned(folder: Path) -> tuple[dict[str, Any], Callable[[dict[str, Any]], None]]:
    """What follows from a run on a cluster, and what shows it."""
    from emea.bench.plan import plan
    from emea.cli._show_plan import show_plan

    return plan(folder), show_plan


def _measured(
    device: str | None, repeats: int, data: Path | None, ratio: float | None, scale: list[Path]
) -> tuple[dict[str, Any], Callable[[dict[str, Any]], None]]:
    """What was measured, and what shows it: whole runs on several folders, or the stages of a round."""
    import torch

    from emea.bench import bench as measure_stages
    from emea.bench.scale import scale as measure_runs
    from emea.cli._show import show_bench, show_growth

    chosen = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    if scale:
        return measure_runs(scale, ratio, chosen), show_growth
    task = Inputs(data=data, ratio=ratio).read()[0] if data is not None else None
    return measure_stages(chosen, repeats, task), show_bench


def reproduce(  # noqa: PLR0917 - one parameter for each option
    names: Annotated[list[str], typer.Argument(help=f"Which of {', '.join(ITEMS)}; several share their runs.")],
    data: Annotated[list[Path], typer.Option(help="Benchmark folder, such as dbp15k/zh_en; repeatable.")],
    ratios: Annotated[str, typer.Option(help="Shares of the links to use as seeds.")] = "0.01,0.05,0.1,0.2,0.3",
    splits: Annotated[str, typer.Option(help="Numbers of the random splits.")] = "0,1,2",
    presets: Annotated[
        list[str] | None, typer.Option("--preset", help="Our presets to show beside the paper; default: fast and best.")
    ] = None,
    encoders: Annotated[
        list[str] | None, typer.Option("--encoder", help="With fig4: encoder to put into the loop; repeatable.")
    ] = None,
    device: Device = None,
    assignments: Set = None,
    folder: Annotated[Path, typer.Option("--out", help="Folder for the runs and pages.")] = Path("results"),
    minutes: Annotated[
        float | None, typer.Option(min=0, help="Start no run after this long; one that is begun goes on to its end.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Reproduce the paper's tables and figures beside our own results; repeat the command to continue.

    emea reproduce table1 --data dbp15k/zh_en --ratios 0.05,0.3 --splits 0 --device cuda
    """
    shares, chosen_splits = numbers("--ratios", ratios, float), numbers("--splits", splits, int)

    from emea.cli._console import say
    from emea.cli._options import decided
    from emea.cli._progress import cells_progress
    from emea.reproduce import Plan
    from emea.reproduce import reproduce as make_pages

    plan = Plan(
        tuple(path.resolve() for path in data),
        tuple(sorted(shares)),
        tuple(sorted(chosen_splits)),
        tuple(["fast", "best"] if presets is None else presets),
        decided(Settings(**({} if device is None else {"device": device}))).device,
        folder,
        tuple(assignments or ()),
        encoders=tuple(encoders or ()),
    )
    ends = time.monotonic() + 60 * minutes if minutes is not None else math.inf
    try:
        with cells_progress(shown=not quiet) as observers:
            made = make_pages(names, plan, observers.begin, observers.round, lambda: time.monotonic() > ends)
    except KeyboardInterrupt:
        say(f"interrupted; the runs in {folder} are kept, and the same command continues with the others")
        raise typer.Exit(130) from None
    if not quiet:
        _show_pages(made)


def _show_pages(made: Made) -> None:
    from emea.cli._console import say
    from emea.cli._show import show_page
    from emea.runs.wording import counted

    for page, paths in made.pages:
        show_page(page, paths)
    if made.missing:
        verb = "is" if made.missing == 1 else "are"
        say(f"{counted(made.missing, 'run')} {verb} not measured yet; the same command goes on")
