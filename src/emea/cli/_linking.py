"""The verb that links, and what it shares with the demo."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from emea.cli._console import noting, say, silent, warn
from emea.cli._options import (
    GraphOptions,
    LongRunOptions,
    MethodOptions,
    OutputOptions,
    ScreenOptions,
    chosen_inputs,
    chosen_settings,
    flattened,
)
from emea.cli._reading import ReadingOptions
from emea.cli._resuming import interrupted, refuse_finished, refuse_overwriting
from emea.engine import require
from emea.errors import EmeaError, InputError, PluginError, SettingsError
from emea.runs.folder import RECORDS, take_away
from emea.runs.inputs import Inputs
from emea.runs.workplace import Workplace, workplace
from emea.settings import EMEA, Settings

if TYPE_CHECKING:
    from emea.analysis.measures import Measures
    from emea.data import Reference
    from emea.evidence.prepared import Prepared
    from emea.method.rounds import Outcome


@flattened
def align(  # noqa: PLR0917 - one parameter for each group of options
    graphs: GraphOptions,
    reading: ReadingOptions,
    method: MethodOptions,
    output: OutputOptions,
    screen: ScreenOptions,
    long: LongRunOptions,
) -> None:
    """Link two graphs by their structure, names and values, and by known pairs if there are any.

    emea align a.ttl b.ttl --seeds pairs.tsv --out run

    emea align --data dbp15k/zh_en --ratio 0.05 --out run

    emea align --resume --out run
    """
    inputs = None if long.resume else chosen_inputs(graphs, reading, output, method.config)
    if inputs is not None and "://" in output.folder:
        chosen_settings(method, inputs, output)  # wrong ones are refused before --force ends another run
    with workplace(output.folder, to_write=not long.dry_run, force=output.force) as place:
        if inputs is None:
            begun = interrupted(place.folder, graphs, reading, method, output)
            method = MethodOptions(config=begun, engine=method.engine, engine_gpus=method.engine_gpus)
            inputs = chosen_inputs(GraphOptions(), ReadingOptions(), output, begun)
        elif not long.dry_run:
            refuse_overwriting(place.folder, force=output.force)
        job = Job(inputs, output, place, long)
        done = link(job, chosen_settings(method, inputs, output))
        if done is not None:
            tell(job, *done, everything=screen.everything)


@dataclass(frozen=True)
class Job:
    """What to link, and where to."""

    inputs: Inputs
    output: OutputOptions
    place: Workplace
    long: LongRunOptions = field(default_factory=LongRunOptions)
    truth: Path | None = None  # pairs to measure by, where the inputs have none

    @property
    def talks(self) -> bool:
        """Whether to report what goes on."""
        return not (self.output.quiet or self.output.as_json)


def link(job: Job, chosen: Settings) -> tuple[Outcome, Measures | None] | None:
    """Read the graphs, say what they offer, and run; nothing comes of a dry run. What can be refused without them is
    refused before."""
    from emea.runs.estimate import estimate, fitted

    _refuse_misfits(job, chosen)
    if job.long.dry_run:
        _tell_need(job, chosen)
        return None
    with _alone(job):
        prepared, reference = _read(job, chosen)
        if job.long.resume:  # again: some time has passed, and not every system can keep others out
            refuse_finished(job.place.folder)
        refuse_overwriting(job.place.folder, force=job.output.force or job.long.resume)
        if chosen.method == EMEA and chosen.engine.kind == "local":  # elsewhere this machine's memory says little
            chosen = fitted(chosen, estimate(prepared, chosen, job.long.memory))
        return _run(job, prepared, chosen, reference)


def _refuse_misfits(job: Job, chosen: Settings) -> None:
    """Refuse options that do not go with the method."""
    require(chosen.engine.kind)
    if chosen.method == EMEA:
        return
    options = {
        "--engine": chosen.engine.kind != "local",
        "--memory": job.long.memory is not None,
        "--dry-run": job.long.dry_run,
    }
    for option, given in options.items():
        if given:
            raise SettingsError(f"{option} works with the method emea only, found --method {chosen.method}")


def _tell_need(job: Job, chosen: Settings) -> None:
    """Read the graphs, and show what a run would need."""
    from emea.cli._show import show_estimate
    from emea.runs.estimate import estimate

    prepared, _ = _read(job, chosen)
    needed = estimate(prepared, chosen, job.long.memory)
    needed = replace(needed, seconds=needed.seconds + _since_start())  # reading would take the same again
    show_estimate(needed, chosen, as_json=job.output.as_json)


def _read(job: Job, chosen: Settings) -> tuple[Prepared, Reference | None]:
    """The task, with what its graphs offer, and pairs to measure by."""
    from emea.evidence.prepared import prepare
    from emea.formats import read_reference

    with noting(silent if job.output.quiet else warn):
        task, reference, detected = job.inputs.read(chosen.matching.cardinality)
    if job.truth is not None:
        reference = read_reference(job.truth, task)
    notes = (detected, *task.source.notes, *task.target.notes)
    for line in filter(None, (*notes, f"source: {task.source!r}", f"target: {task.target!r}")):
        (say if job.talks else silent)(line)
    prepared = prepare(task, chosen.evidence)
    _offer(job, prepared, chosen)
    return prepared, reference


@contextmanager
def _alone(job: Job) -> Iterator[None]:
    """The folder of a run, without any other process in it; taken away again if nothing was written there."""
    from emea.runs.folder import held

    folder, made = job.place.folder, not job.place.folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {folder} cannot be created: {error.strerror}") from error
    try:
        with held(folder):
            yield
    finally:
        if made:
            with suppress(OSError):
                folder.rmdir()


def _since_start() -> float:
    """Seconds since this process was started."""
    import psutil

    return time.time() - psutil.Process().create_time()


def tell(job: Job, outcome: Outcome, measures: Measures | None, *, everything: bool = False) -> None:
    """Show the result."""
    from emea.cli._show_outcome import show_outcome
    from emea.runs.run import summary

    told = summary(outcome)
    if told["doubt"] is not None and not job.output.quiet:
        warn(told["doubt"])
    if job.output.as_json:
        told["folder"] = job.place.name
        typer.echo(json.dumps({**told, "measures": measures and measures.to_dict()}, indent=2))
    elif not job.output.quiet:
        show_outcome(outcome, measures, job.place, everything=everything)


def _offer(job: Job, prepared: Prepared, chosen: Settings) -> None:
    """Say what the graphs offer, and what makes the run doubtful."""
    from emea.cli import _show
    from emea.runs.profile import doubts, offers

    found = offers(prepared)
    if job.talks:
        say(_show.shown_offers(found))
        decided = _show.shown_decisions(prepared.given, judged=prepared.judged_by(chosen))
        if decided is not None:
            say(decided)
    for warning in doubts(prepared, chosen, found):
        if not job.output.quiet:
            warn(warning)


def _run(
    job: Job, prepared: Prepared, chosen: Settings, reference: Reference | None
) -> tuple[Outcome, Measures | None]:
    """Run, with progress on the terminal; an interrupted run can be resumed."""
    from emea.cli._progress import progress
    from emea.runs.run import run

    new = not any((job.place.folder / name).exists() for name in RECORDS)
    try:
        with progress(chosen, shown=job.talks) as observers:
            return run(
                prepared,
                chosen,
                job.place.folder,
                inputs=job.inputs,
                reference=reference,
                resume=job.long.resume,
                observers=observers,
                put=job.place.put,
            )
    except KeyboardInterrupt:
        if chosen.method == EMEA:
            say(f"interrupted; continue with: emea align --resume --out {job.place.name}")
        raise typer.Exit(130) from None
    except Exception as error:
        if new and _would_fail_again(error):
            take_away(job.place.folder)
            job.place.put()
        raise


def _would_fail_again(error: Exception) -> bool:
    """Whether a run that is resumed would end likewise: by a plug-in or a mistake of ours, not for lack of room or of
    others."""
    return isinstance(error, PluginError) or not isinstance(error, EmeaError | OSError | MemoryError)
