"""The verbs; the only place that prints, asks or exits."""

from __future__ import annotations

import json
import math
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, NoReturn, TypeVar

import torch
import typer
from pydantic import BaseModel
from rich.table import Table

from emea import __version__, plugins, run, settings
from emea.bench import bench as measure_all
from emea.bench import read_bench
from emea.contracts import Baseline, Encoder, Format, Rule
from emea.errors import EmeaError, InputError, SettingsError
from emea.estimate import estimate, fitted
from emea.finished import evaluate_run
from emea.formats import convert as write_converted
from emea.inputs import Inputs
from emea.plots import reliability_plot, save_plot
from emea.profile import doubts, offers, profile
from emea.reproduce import Plan, items
from emea.reproduce import reproduce as make_anew
from emea.settings import EMEA, PRESETS, Settings
from emea.terminal import (
    cells_progress,
    log,
    out,
    progress,
    say,
    show_bench,
    show_comparison,
    show_estimate,
    show_fields,
    show_measures,
    show_page,
    show_plugins,
    show_profile,
    show_result,
    shown_offers,
    silent,
)

app = typer.Typer(
    help="Link two knowledge graphs: find which entities are the same, with a confidence for each link.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Number = TypeVar("Number", int, float)
Out = Annotated[Path, typer.Option("--out", help="Folder for the results; made if it is not there.")]
Preset = Annotated[str, typer.Option(help=f"Named settings: {', '.join(PRESETS)}.")]
Method = Annotated[
    str | None,
    typer.Option(
        "--method", help="emea, or a system to compare it with; listed by emea baselines.", show_default=False
    ),
]
EncoderName = Annotated[str | None, typer.Option("--encoder", help="Embedding model; listed by emea encoders.")]
Mode = Annotated[
    Literal["sup", "semi"] | None,
    typer.Option(help="Of a trained encoder: supervised, or semi-supervised, also on pairs it finds."),
]
EvidenceKind = Annotated[
    Literal["structure", "names", "literals", "all"] | None,
    typer.Option(
        help="What counts: relations alone, also names, also values, or all; by default all, with --data structure."
    ),
]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1 …; by default a GPU where there is one.")]
Seed = Annotated[int | None, typer.Option(min=0, help="Of all random draws; by default the split's number, or 0.")]
Config = Annotated[Path | None, typer.Option(help="Settings in a TOML file, such as another run's settings.toml.")]
Set = Annotated[list[str] | None, typer.Option("--set", help="One setting, such as em.rounds=5; may be repeated.")]
TopK = Annotated[int | None, typer.Option(min=1, help="Candidates written for each source; by default 50.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print the summary as JSON, for other programs.")]
Force = Annotated[bool, typer.Option("--force", help="Write into a folder that already holds a run.")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"emea {__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which emea.")
    ] = False,
) -> None:
    """Link two knowledge graphs: find which entities are the same, with a confidence for each link."""


@app.command()
def align(  # noqa: PLR0917 - one parameter for each option
    source: Annotated[Path | None, typer.Argument(help="Graph to link from: .nt, .ttl, .tsv, .csv, also .gz.")] = None,
    target: Annotated[Path | None, typer.Argument(help="Graph to link to.")] = None,
    seeds: Annotated[Path | None, typer.Option(help="Known pairs: two columns source, target.")] = None,
    data: Annotated[
        Path | None, typer.Option(help="Benchmark folder (OpenEA or id files) instead of two files.")
    ] = None,
    ratio: Annotated[float | None, typer.Option(help="With --data: share of its links given as seeds.")] = None,
    split: Annotated[int | None, typer.Option(help="With --ratio: number of the random split; by default 0.")] = None,
    fold: Annotated[int | None, typer.Option(help="With --data: fold of an OpenEA folder.")] = None,
    folder: Out = Path("run"),
    preset: Preset = "fast",
    method: Method = None,
    encoder: EncoderName = None,
    mode: Mode = None,
    evidence: EvidenceKind = None,
    local_names: Annotated[
        bool, typer.Option("--local-names", help="Take what URIs end in as names of their entities.")
    ] = False,
    device: Device = None,
    seed: Seed = None,
    config: Config = None,
    assignments: Set = None,
    min_confidence: Annotated[
        float | None, typer.Option(min=0, max=1, help="Leave out links with less confidence; by default 0.5.")
    ] = None,
    target_precision: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Leave out the least sure links until so many of all should be right."),
    ] = None,
    top_k: TopK = None,
    with_seeds: Annotated[bool, typer.Option("--with-seeds", help="Write the seeds among the links, too.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what the run would take, and stop.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out after its last round.")] = False,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Link two graphs, by their structure, names and values, and by known pairs, if there are any.

    emea align a.ttl b.ttl --seeds pairs.tsv --out run

    emea align --data dbp15k/zh_en --ratio 0.05 --out run

    emea align --resume --out run
    """
    given = {"source": source, "target": target, "data": data, "seeds": seeds, "ratio": ratio, "split": split}
    given |= {"fold": fold, "top_k": top_k, "with_seeds": with_seeds or None}
    given = {name: value for name, value in given.items() if value is not None}
    if resume:
        others = (
            any(value is not None for value in (config, assignments, seed, device, method, encoder, mode, evidence))
            or any(value is not None for value in (min_confidence, target_precision))
            or preset != "fast"
            or local_names
        )
        config = _unfinished(folder, alone=not (given or others))
    inputs = (
        Inputs(**given) if config is None else Inputs.parse(settings.read_config(config, "run"), config).over(given)
    )
    seed = inputs.split if seed is None and config is None and ratio is not None else seed
    job = _Job(inputs.absolute(), folder, force=force or resume, resume=resume, dry_run=dry_run)
    if method not in {None, EMEA} and (encoder or mode):
        raise SettingsError(f"--encoder and --mode go with the method emea, found --method {method}")
    if local_names and evidence == "structure":
        raise SettingsError("--local-names takes URIs as names, which --evidence structure does not look at")
    evidence = evidence or ("all" if config is None and (inputs.data is None or local_names) else None)
    assignments = [
        *([f"evidence.kind={evidence}"] if evidence else []),
        *(["evidence.local_names=true"] if local_names else []),
        *(assignments or ()),
        *([f"method={method}"] if method else []),
        *([f"em.encoder={encoder}"] if encoder else []),
        *([f"matching.minimum={min_confidence}"] if min_confidence is not None else []),
        *([f"matching.precision={target_precision}"] if target_precision is not None else []),
    ]
    _link(job, _settings(preset, config, assignments, device, seed, mode), quiet=quiet, as_json=as_json)


@app.command()
def demo(
    folder: Out = Path("demo-run"),
    device: Device = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Link two real graphs of the world, from Unicode CLDR and GeoNames, given 50 pairs; names are not looked at."""
    job = _Job(Inputs(example="world"), folder, force=True)
    _link(job, _settings(device=device), quiet=quiet, as_json=as_json)


@app.command()
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


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(help="File to read: a graph or pairs.")],
    target: Annotated[Path, typer.Argument(help="File to write; its suffix names the format.")],
    kind: Annotated[
        Literal["graph", "pairs"] | None, typer.Option(help="What the file holds; by default looked up.")
    ] = None,
    graph: Annotated[str | None, typer.Option(help="Name of one graph among several, in N-Quads.")] = None,
) -> None:
    """Write a graph, or pairs, in another format."""
    out.print(write_converted(source, target, kind=kind, graph=graph), markup=False, highlight=False, soft_wrap=True)


@app.command()
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


@app.command()
def reproduce(  # noqa: PLR0917 - one parameter for each option
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(items())}.")],
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
        float | None, typer.Option(help="Begin no run after so long, and make the page of those.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Make one of the paper's tables or figures anew, with ours beside it; a second call goes on with what is missing.

    emea reproduce table1 --data dbp15k/zh_en --ratios 0.05,0.3 --splits 0 --device cuda
    """
    plan = Plan(
        tuple(path.resolve() for path in data),
        tuple(sorted(_numbers("--ratios", ratios, float))),
        tuple(sorted(_numbers("--splits", splits, int))),
        tuple(["fast", "best"] if presets is None else presets),
        _settings(device=device).device,
        folder,
        tuple(assignments or ()),
    )
    ends = time.monotonic() + 60 * minutes if minutes is not None else math.inf
    with cells_progress(shown=not quiet) as observers:
        page, paths = make_anew(name, plan, observers.begin, observers.round, lambda: time.monotonic() > ends)
    if not quiet:
        show_page(page, paths)


@app.command("profile")
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
    found = profile(task, _settings(assignments=["evidence.kind=all"]))
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    else:
        show_profile(found)


@app.command("settings")
def list_settings() -> None:
    """List the settings of all stages, for --set and --config."""
    for name, field in Settings.model_fields.items():
        stage = field.annotation
        if isinstance(stage, type) and issubclass(stage, BaseModel):
            show_fields(name, stage, (stage.__doc__ or "").splitlines()[0])
    out.print("seed, device; and those of plug-ins: emea encoders, emea rules", highlight=False)


@app.command()
def encoders() -> None:
    """List the embedding models and their settings."""
    show_plugins("encoders", Encoder)


@app.command()
def rules() -> None:
    """List the rules and their settings."""
    show_plugins("rules", Rule)


@app.command()
def baselines() -> None:
    """List the systems to compare with, for --method, and their settings."""
    show_plugins("baselines", Baseline)


@app.command()
def formats() -> None:
    """List the file formats."""
    table = Table("format", "reads and writes", box=None)
    for name in plugins.names("formats"):
        table.add_row(name, plugins.find("formats", name, Format).description)
    out.print(table)


def main() -> None:
    """The console script: 0 done, 1 unexpected, 2 bad input or settings, 130 interrupted."""
    sys.path.insert(0, str(Path.cwd()))  # for plug-ins of one's own: --set em.encoder=module:Class
    try:
        app()
    except EmeaError as error:
        _fail(str(error), error.exit_code)
    except OSError as error:
        _fail(f"{error.filename or 'a file'}: {error.strerror or error}", 2)
    except MemoryError:
        _fail("memory ran out; emea align --dry-run says what a run needs", 3)
    except Exception:  # noqa: BLE001 - the last stop: what comes here is a defect of ours, and the user is told so
        traceback.print_exc()
        _fail("this is a defect of emea; please report it with the lines above", 1)


def _fail(sentence: str, code: int) -> NoReturn:
    log.print(f"error: {sentence}", style="red", markup=False, highlight=False, soft_wrap=True)
    sys.exit(code)


@dataclass(frozen=True)
class _Job:
    """What to link, and where to."""

    inputs: Inputs
    folder: Path
    force: bool = False
    resume: bool = False
    dry_run: bool = False


def _link(job: _Job, chosen: Settings, *, quiet: bool, as_json: bool) -> None:
    tell = silent if quiet or as_json else say
    if not job.dry_run:
        _refuse_overwriting(job.folder, force=job.force)
    task, reference, detected = job.inputs.read()
    if detected is not None:
        tell(detected)
    tell(f"source: {task.source!r}")
    tell(f"target: {task.target!r}")
    found = offers(task, chosen)
    tell(shown_offers(found))
    for warning in doubts(task, chosen, found) if not quiet else ():
        log.print(f"warning: {warning}", style="yellow", markup=False, highlight=False, soft_wrap=True)
    if chosen.method == EMEA:
        needed = estimate(task, chosen)
        if job.dry_run:
            show_estimate(needed, chosen, as_json=as_json)
            return
        chosen = fitted(task, chosen, needed)
    elif job.dry_run:
        raise SettingsError(f"--dry-run estimates the method emea alone, found --method {chosen.method}")
    try:
        job.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {job.folder} cannot be made: {error.strerror}") from error
    try:
        with progress(chosen, shown=not (quiet or as_json)) as observers:
            result, measures = run.run(
                task,
                chosen,
                job.folder,
                inputs=job.inputs,
                reference=reference,
                resume=job.resume,
                observe=observers.round,
                watch=observers.fit,
            )
    except KeyboardInterrupt:
        if chosen.method == EMEA:
            say(f"interrupted; go on with: emea align --resume --out {job.folder}")
        raise typer.Exit(130) from None
    if as_json:
        summary = {"links": len(result.alignment), "folder": str(job.folder), "measures": measures}
        typer.echo(json.dumps(summary, indent=2))
    elif not quiet:
        show_result(result, measures, job.folder)


def _unfinished(folder: Path, *, alone: bool) -> Path:
    """The settings of the run to go on with."""
    path = folder / "settings.toml"
    if not alone:
        raise SettingsError("--resume takes graphs, seeds and settings from the run in --out; expected no others")
    if not path.exists():
        raise InputError(f"{folder} holds no run to go on with: it has no settings.toml")
    if run.finished(folder):
        raise InputError(f"the run in {folder} is finished; there is nothing to go on with")
    return path


def _settings(  # noqa: PLR0917 - one parameter for each option
    preset: str = "fast",
    config: Path | None = None,
    assignments: list[str] | None = None,
    device: str | None = None,
    seed: int | None = None,
    mode: str | None = None,
) -> Settings:
    assignments = assignments or []
    chosen = settings.load(preset, config, assignments, device=device, seed=seed)
    if mode is not None:
        name = chosen.em.encoder
        if "mode" not in type(chosen.encoder_settings()).model_fields:
            raise SettingsError(f"found --mode {mode}, but encoder '{name}' is not trained; try --encoder rrea")
        assignments = [*assignments, f'encoders."{name}".mode={mode}']
        chosen = settings.load(preset, config, assignments, device=device, seed=seed)
    decided = device is not None or "device" in chosen.model_fields_set
    if not decided and torch.cuda.is_available():
        chosen = chosen.model_copy(update={"device": "cuda"})
    try:
        torch.empty(0, device=chosen.device)
    except (RuntimeError, AssertionError) as error:
        raise SettingsError(f"device '{chosen.device}' cannot be used here: {str(error).splitlines()[0]}") from error
    return chosen


def _numbers(option: str, text: str, kind: type[Number]) -> list[Number]:
    """The numbers in a text with commas."""
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        raise SettingsError(f"{option}: found '{text}', expected numbers with commas between them") from None


def _refuse_overwriting(folder: Path, *, force: bool) -> None:
    if (folder / "settings.toml").exists() and not force:
        raise SettingsError(f"{folder} already holds a run; give --force to write over it, or another --out")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file, expected a folder for the results")


if __name__ == "__main__":
    main()
