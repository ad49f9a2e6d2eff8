"""The verbs; the only place that prints, asks or exits."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import torch
import typer
from pydantic import BaseModel
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from emea import __version__, plugins, run, settings
from emea.checks import check
from emea.contracts import Encoder, Format, Rule
from emea.em import Result, Round
from emea.errors import EmeaError, InputError, SettingsError
from emea.estimate import Estimate, estimate, fitted
from emea.finished import evaluate_run
from emea.formats import convert as write_converted
from emea.inputs import Inputs
from emea.settings import PRESETS, Settings

app = typer.Typer(
    help="Link two knowledge graphs: find which entities are the same, with a confidence for each link.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
out, log = Console(), Console(stderr=True)

Out = Annotated[Path, typer.Option("--out", help="Folder for the results; made if it is not there.")]
Preset = Annotated[str, typer.Option(help=f"Named settings: {', '.join(PRESETS)}.")]
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
    device: Device = None,
    seed: Seed = None,
    config: Config = None,
    assignments: Set = None,
    top_k: TopK = None,
    with_seeds: Annotated[bool, typer.Option("--with-seeds", help="Write the seeds among the links, too.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what the run would take, and stop.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out after its last round.")] = False,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Link two graphs, given some known pairs.

    emea align a.ttl b.ttl --seeds pairs.tsv --out run

    emea align --data dbp15k/zh_en --ratio 0.05 --out run

    emea align --resume --out run
    """
    given = {"source": source, "target": target, "data": data, "seeds": seeds, "ratio": ratio, "split": split}
    given |= {"fold": fold, "top_k": top_k, "with_seeds": with_seeds or None}
    given = {name: value for name, value in given.items() if value is not None}
    if resume:
        others = any(value is not None for value in (config, assignments, seed, device)) or preset != "fast"
        config = _unfinished(folder, alone=not (given or others))
    inputs = (
        Inputs(**given) if config is None else Inputs.parse(settings.read_config(config, "run"), config).over(given)
    )
    seed = inputs.split if seed is None and config is None and ratio is not None else seed
    job = _Job(inputs.absolute(), folder, force=force or resume, resume=resume, dry_run=dry_run)
    _link(job, _settings(preset, config, assignments, device, seed), quiet=quiet, as_json=as_json)


@app.command()
def demo(
    folder: Out = Path("demo-run"),
    device: Device = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Link two real graphs of the world, from Unicode CLDR and GeoNames, given 50 pairs; names are not looked at."""
    job = _Job(Inputs(example="world"), folder, force=True)
    _link(job, _settings("fast", None, None, device, None), quiet=quiet, as_json=as_json)


@app.command()
def evaluate(
    folder: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    reference: Annotated[Path, typer.Option(help="True pairs: two columns source, target.")],
    as_json: Json = False,
) -> None:
    """Compare a finished run with true pairs; pairs that were its seeds do not count."""
    measures = evaluate_run(folder, reference)
    if as_json:
        typer.echo(json.dumps(measures, indent=2))
    else:
        _show_measures(measures)


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


@app.command("settings")
def list_settings() -> None:
    """List the settings of all stages, for --set and --config."""
    for name, field in Settings.model_fields.items():
        stage = field.annotation
        if isinstance(stage, type) and issubclass(stage, BaseModel):
            _show_fields(name, stage, (stage.__doc__ or "").splitlines()[0])
    out.print("seed, device; and those of plug-ins: emea encoders, emea rules", highlight=False)


@app.command()
def encoders() -> None:
    """List the embedding models and their settings."""
    _show_plugins("encoders", Encoder)


@app.command()
def rules() -> None:
    """List the rules and their settings."""
    _show_plugins("rules", Rule)


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
    say = _silent if quiet or as_json else _say
    if not job.dry_run:
        _refuse_overwriting(job.folder, force=job.force)
    task, reference, detected = job.inputs.read()
    if detected is not None:
        say(detected)
    say(f"source: {task.source!r}")
    say(f"target: {task.target!r}")
    for warning in check(task):
        log.print(f"warning: {warning}", style="yellow", markup=False, highlight=False, soft_wrap=True)
    needed = estimate(task, chosen)
    if job.dry_run:
        _show_estimate(needed, chosen, as_json=as_json)
        return
    chosen = fitted(task, chosen, needed)
    try:
        job.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {job.folder} cannot be made: {error.strerror}") from error
    try:
        with _progress(chosen, shown=not (quiet or as_json)) as observe:
            result, measures = run.run(
                task, chosen, job.folder, inputs=job.inputs, reference=reference, resume=job.resume, observe=observe
            )
    except KeyboardInterrupt:
        _say(f"interrupted; go on with: emea align --resume --out {job.folder}")
        raise typer.Exit(130) from None
    if as_json:
        summary = {"links": len(result.alignment), "folder": str(job.folder), "measures": measures}
        typer.echo(json.dumps(summary, indent=2))
    elif not quiet:
        _show_result(result, measures, job.folder)


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


def _show_estimate(needed: Estimate, chosen: Settings, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(asdict(needed), indent=2))
        return
    out.print(f"candidate pairs  up to {needed.pairs:,}", highlight=False)
    out.print(f"embeddings       {needed.features:,} numbers for each entity", highlight=False)
    out.print(
        f"memory           about {needed.memory / 1e9:.1f} GB of {needed.free / 1e9:.1f} GB free", highlight=False
    )
    out.print(f"time             about {needed.seconds:.0f} s on {chosen.device}", highlight=False)


def _settings(
    preset: str, config: Path | None, assignments: list[str] | None, device: str | None, seed: int | None
) -> Settings:
    chosen = settings.load(preset, config, assignments or (), device=device, seed=seed)
    decided = device is not None or "device" in chosen.model_fields_set
    if not decided and torch.cuda.is_available():
        chosen = chosen.model_copy(update={"device": "cuda"})
    try:
        torch.empty(0, device=chosen.device)
    except (RuntimeError, AssertionError) as error:
        raise SettingsError(f"device '{chosen.device}' cannot be used here: {str(error).splitlines()[0]}") from error
    return chosen


def _refuse_overwriting(folder: Path, *, force: bool) -> None:
    if (folder / "settings.toml").exists() and not force:
        raise SettingsError(f"{folder} already holds a run; give --force to write over it, or another --out")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file, expected a folder for the results")


@contextmanager
def _progress(chosen: Settings, *, shown: bool) -> Iterator[Callable[[Round], None]]:
    """Shows each round as it ends: a bar on a terminal, a line in a log elsewhere."""
    total = chosen.em.rounds
    if not shown:
        yield lambda _: None
    elif not log.is_terminal:
        yield lambda ended: _say(f"round {ended.number}/{total}: {_found(ended)}, {ended.seconds:.1f} s")
    else:
        columns = (SpinnerColumn(), TextColumn("rounds"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, TextColumn("{task.description}"), console=log) as progress:
            bar = progress.add_task("first fit", total=total + 1)
            yield lambda ended: progress.update(bar, advance=1, description=_found(ended))


def _found(ended: Round) -> str:
    found = f"{len(ended.state.labels):,} pairs agreed on"
    if len(ended.trials):
        found += f", {int(ended.trials[:, 1].sum())} of {len(ended.trials)} links of hidden seeds right"
    return found


def _show_result(result: Result, measures: dict[str, Any] | None, folder: Path) -> None:
    count, confidence = len(result.alignment), result.alignment.confidence
    out.print(f"\n[bold]{count:,} links[/bold] found besides the {len(result.task.seeds):,} seeds")
    if count:
        table = Table("confidence from", "links", box=None)
        for low in (0.95, 0.9, 0.8, 0.5):
            table.add_row(f"{low}", f"{int((confidence >= low).sum()):,}")
        out.print(table)
    if measures is not None:
        _show_measures(measures)
    out.print(f"\nfiles in {folder}:", highlight=False)
    meanings = {
        "alignment.tsv": "the links with confidence",
        "alignment.sssom.tsv": "the same as SSSOM",
        "alignment.nt": "the same as owl:sameAs",
        "candidates.tsv": "the most probable counterparts of each source",
        "metrics.json": "the measures above and more",
        "rounds.jsonl": "what each round found",
        "settings.toml": "all it takes to do this again",
    }
    for name, meaning in meanings.items():
        if (folder / name).exists() and (measures is not None or name != "metrics.json"):
            out.print(f"  {name:<20} {meaning}", highlight=False)


def _show_measures(measures: dict[str, Any]) -> None:
    table = Table("links", "precision", "recall", "F1", "calibration error", "counted", box=None, title_justify="left")
    readings = {"known sources": "links whose source the reference knows", "strict": "all links"}
    for reading, values in measures["alignment"].items():
        figures = (f"{values[name]:.3f}" for name in ("precision", "recall", "f1", "calibration error"))
        table.add_row(f"{values['links']:,}", *figures, readings[reading])
    out.print(f"\nagainst {measures['reference']:,} true links that were not given:", highlight=False)
    out.print(table)
    table = Table("ranked among", "by", "Hit@1", "Hit@10", "MRR", "MR", box=None)
    for pool, decodings in measures["ranking"].items():
        for decoding, values in decodings.items():
            figures = (f"{values[name]:.3f}" for name in ("hit@1", "hit@10", "mrr"))
            table.add_row(pool, decoding, *figures, f"{values['mr']:.1f}")
    out.print(table)


def _show_plugins(kind: str, contract: type[Encoder] | type[Rule]) -> None:
    for name in plugins.names(kind):
        plugin: type[Encoder] | type[Rule] = plugins.find(kind, name, contract)
        _show_fields(f"{kind}.{name}", plugin.Settings, _first_line(plugin))


def _show_fields(place: str, model: type[BaseModel], about: str) -> None:
    """The settings of a model: key, default, meaning."""
    out.print(f"[bold]{place}[/bold]  {about}", highlight=False)
    table = Table(box=None, show_header=False, padding=(0, 2))
    for key, field in model.model_fields.items():
        table.add_row(f"{place}.{key}", str(field.default), field.description or "")
    out.print(table)


def _first_line(plugin: type) -> str:
    return (sys.modules[plugin.__module__].__doc__ or "").strip().splitlines()[0]


def _say(text: str) -> None:
    log.print(text, markup=False, highlight=False, soft_wrap=True)


def _silent(text: str) -> None:
    """Say nothing."""


if __name__ == "__main__":
    main()
