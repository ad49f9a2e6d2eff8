"""The verb that links, and what it shares with the demo."""

from __future__ import annotations

import json
import time
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
from emea.errors import InputError, SettingsError
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
    with workplace(output.folder) as place:
        if long.resume:
            begun = interrupted(place.folder, graphs, reading, method, output)
            method = MethodOptions(config=begun, engine=method.engine, engine_gpus=method.engine_gpus)
            graphs, reading = GraphOptions(), ReadingOptions()
        job = Job(chosen_inputs(graphs, reading, output, method.config), output, place, long)
        if not long.dry_run:
            refuse_overwriting(place.folder, force=output.force or long.resume)
        done = link(job, chosen_settings(method, job.inputs, output))
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
    """Read the graphs, say what they offer, and run; nothing comes of a dry run."""
    from emea.cli import _show
    from emea.evidence.prepared import prepare
    from emea.formats import read_reference
    from emea.runs.estimate import estimate, fitted

    require(chosen.engine.kind)
    if chosen.method != EMEA and chosen.engine.kind != "local":
        raise SettingsError(f"--engine works with the method emea only, found --method {chosen.method}")
    with noting(silent if job.output.quiet else warn):
        task, reference, detected = job.inputs.read(chosen.matching.cardinality)
    if job.truth is not None:
        reference = read_reference(job.truth, task)
    notes = (detected, *task.source.notes, *task.target.notes)
    for line in filter(None, (*notes, f"source: {task.source!r}", f"target: {task.target!r}")):
        (say if job.talks else silent)(line)
    prepared = prepare(task, chosen.evidence)
    _offer(job, prepared, chosen)
    if chosen.method == EMEA:
        needed = estimate(prepared, chosen, job.long.memory)
        if job.long.dry_run:
            needed = replace(needed, seconds=needed.seconds + _since_start())  # reading would take the same again
            _show.show_estimate(needed, chosen, as_json=job.output.as_json)
            return None
        if chosen.engine.kind == "local":  # elsewhere the memory of this machine says little
            chosen = fitted(chosen, needed)
    elif job.long.memory is not None:
        raise SettingsError(f"--memory works with the method emea only, found --method {chosen.method}")
    elif job.long.dry_run:
        raise SettingsError(f"--dry-run works with the method emea only, found --method {chosen.method}")
    return _run(job, prepared, chosen, reference)


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
    from emea.runs.folder import held
    from emea.runs.run import run

    folder = job.place.folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {folder} cannot be created: {error.strerror}") from error
    try:
        with held(folder), progress(chosen, shown=job.talks) as observers:
            if job.long.resume:  # again: some time has passed
                refuse_finished(folder)
            refuse_overwriting(folder, force=job.output.force or job.long.resume)
            return run(
                prepared,
                chosen,
                folder,
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
