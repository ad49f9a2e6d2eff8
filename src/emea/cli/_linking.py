"""The verbs that link: align, demo."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from emea import run, settings
from emea.cli._options import (
    Config,
    Device,
    EncoderName,
    EvidenceKind,
    Force,
    Json,
    Method,
    Mode,
    Out,
    Preset,
    Quiet,
    Seed,
    Set,
    TopK,
    chosen_settings,
)
from emea.errors import InputError, SettingsError
from emea.estimate import estimate, fitted
from emea.inputs import Inputs
from emea.profile import doubts, offers
from emea.settings import EMEA, Settings
from emea.terminal import log, progress, say, show_estimate, show_result, shown_offers, silent

DEMO = Path("demo-run")  # is written over without asking


def align(  # noqa: PLR0917 - one parameter for each option
    source: Annotated[
        Path | None, typer.Argument(help="Graph to link from: .ttl, .nt, .rdf, .csv, .tsv, .parquet.")
    ] = None,
    target: Annotated[Path | None, typer.Argument(help="Graph to link to.")] = None,
    seeds: Annotated[Path | None, typer.Option(help="Known pairs: two columns source, target.")] = None,
    data: Annotated[
        Path | None, typer.Option(help="Benchmark folder (OpenEA or id files) instead of two files.")
    ] = None,
    ratio: Annotated[float | None, typer.Option(help="With --data: share of its links given as seeds.")] = None,
    split: Annotated[
        int | None, typer.Option(min=0, help="With --ratio: number of the random split; by default 0.")
    ] = None,
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
    told = config is not None and "kind" in settings.read_config(config).get("evidence", {})
    evidence = evidence or ("all" if not told and (inputs.data is None or local_names) else None)
    assignments = [
        *([f"evidence.kind={evidence}"] if evidence else []),
        *(["evidence.local_names=true"] if local_names else []),
        *(assignments or ()),
        *([f"method={method}"] if method else []),
        *([f"em.encoder={encoder}"] if encoder else []),
        *([f"matching.minimum={min_confidence}"] if min_confidence is not None else []),
        *([f"matching.precision={target_precision}"] if target_precision is not None else []),
    ]
    _link(job, chosen_settings(preset, config, assignments, device, seed, mode), quiet=quiet, as_json=as_json)


def demo(
    folder: Out = DEMO,
    device: Device = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Link two real graphs of the world, from Unicode CLDR and GeoNames, given 50 pairs; names are not looked at."""
    job = _Job(Inputs(example="world"), folder, force=folder == DEMO)
    _link(job, chosen_settings(device=device), quiet=quiet, as_json=as_json)


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
        chosen = fitted(chosen, needed)
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


def _refuse_overwriting(folder: Path, *, force: bool) -> None:
    if (folder / "settings.toml").exists() and not force:
        raise SettingsError(f"{folder} already holds a run; give --force to write over it, or another --out")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file, expected a folder for the results")
