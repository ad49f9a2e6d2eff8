"""The verbs that measure: evaluate, bench, reproduce, profile."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Annotated

import torch
import typer

from emea.bench import bench as measure_all
from emea.bench import read_bench
from emea.cli._options import Device, Json, Quiet, Set, chosen_settings, numbers
from emea.finished import evaluate_run
from emea.inputs import Inputs
from emea.plots import reliability_plot, save_plot
from emea.profile import profile
from emea.reproduce import Plan, items
from emea.reproduce import reproduce as make_anew
from emea.terminal import cells_progress, say, show_bench, show_comparison, show_measures, show_page, show_profile


def evaluate(
    folder: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    reference: Annotated[Path, typer.Option(help="True pairs: two columns source, target.")],
    plot: Annotated[
        Path | None, typer.Option(help="Draw reliability and precision against recall: .svg, .png, .html or .json.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare a finished run with true pairs; pairs that were its seeds do not count."""
    measures = evaluate_run(folder, reference)
    if plot is not None:
        save_plot(reliability_plot(measures), plot)
    if as_json:
        typer.echo(json.dumps(measures, indent=2))
    else:
        show_measures(measures)
        if plot is not None:
            say(f"drawn in {plot}")


def bench(  # noqa: PLR0917 - one parameter for each option
    device: Device = None,
    repeats: Annotated[int, typer.Option(min=1, help="How often each stage is measured.")] = 5,
    data: Annotated[
        Path | None, typer.Option(help="Benchmark folder to measure on; by default synthetic graphs.")
    ] = None,
    ratio: Annotated[float | None, typer.Option(help="With --data: share of its links given as seeds.")] = None,
    file: Annotated[Path | None, typer.Option("--out", help="Write the result as JSON, to compare with later.")] = None,
    compare: Annotated[
        tuple[Path, Path] | None, typer.Option(help="Measure nothing: show two such files side by side.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure how fast the stages run here, and how near that is to what the machine allows.

    emea bench --out now.json

    emea bench --compare before.json now.json
    """
    if compare is not None:
        show_comparison(*(read_bench(path) for path in compare))
        return
    task = Inputs(data=data, ratio=ratio).read()[0] if data is not None else None
    found = measure_all(torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu")), repeats, task)
    if file is not None:
        file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if as_json:
        typer.echo(json.dumps(found, indent=1))
    else:
        show_bench(found)


def reproduce(  # noqa: PLR0917 - one parameter for each option
    names: Annotated[list[str], typer.Argument(help=f"Which of {', '.join(items())}; several share their runs.")],
    data: Annotated[list[Path], typer.Option(help="Benchmark folder, such as dbp15k/zh_en; may be repeated.")],
    ratios: Annotated[str, typer.Option(help="Shares of the links given as seeds.")] = "0.01,0.05,0.1,0.2,0.3",
    splits: Annotated[str, typer.Option(help="Numbers of the random splits.")] = "0,1,2",
    presets: Annotated[
        list[str] | None, typer.Option("--preset", help="Of ours, shown beside the paper; by default fast and best.")
    ] = None,
    device: Device = None,
    assignments: Set = None,
    folder: Annotated[Path, typer.Option("--out", help="Folder for the cells and pages.")] = Path("results"),
    minutes: Annotated[
        float | None, typer.Option(min=0, help="Begin no run after so long, and make the page of those.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Make the paper's tables and figures anew, with ours beside them; a second call goes on with what is missing.

    emea reproduce table1 --data dbp15k/zh_en --ratios 0.05,0.3 --splits 0 --device cuda
    """
    plan = Plan(
        tuple(path.resolve() for path in data),
        tuple(sorted(numbers("--ratios", ratios, float))),
        tuple(sorted(numbers("--splits", splits, int))),
        tuple(["fast", "best"] if presets is None else presets),
        chosen_settings(device=device).device,
        folder,
        tuple(assignments or ()),
    )
    ends = time.monotonic() + 60 * minutes if minutes is not None else math.inf
    try:
        with cells_progress(shown=not quiet) as observers:
            made = make_anew(names, plan, observers.begin, observers.round, lambda: time.monotonic() > ends)
    except KeyboardInterrupt:
        say(f"interrupted; the runs in {folder} are kept, and the same command goes on with the others")
        raise typer.Exit(130) from None
    if not quiet:
        for page, paths in made.pages:
            show_page(page, paths)
        if made.missing:
            say(f"{made.missing:,} runs are not measured yet; the same command goes on with them")


def show_what_is_there(  # noqa: PLR0917 - one parameter for each option
    source: Annotated[Path | None, typer.Argument(help="Graph to link from.")] = None,
    target: Annotated[Path | None, typer.Argument(help="Graph to link to.")] = None,
    seeds: Annotated[Path | None, typer.Option(help="Known pairs: two columns source, target.")] = None,
    data: Annotated[Path | None, typer.Option(help="Benchmark folder instead of two files.")] = None,
    ratio: Annotated[float | None, typer.Option(help="With --data: share of its links given as seeds.")] = None,
    as_json: Json = False,
) -> None:
    """Say what two graphs have to offer before they are linked: sizes, shared values, who can be reached."""
    task, _, _ = Inputs(source=source, target=target, seeds=seeds, data=data, ratio=ratio).read()
    found = profile(task, chosen_settings(assignments=["evidence.kind=all"]))
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    else:
        show_profile(found)
