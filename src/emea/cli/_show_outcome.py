"""What a run prints at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from emea.cli._console import out
from emea.cli._show import LEVELS, show_measures

if TYPE_CHECKING:
    from emea.analysis.measures import Measures
    from emea.method.rounds import Absence, Outcome
    from emea.runs.workplace import Workplace


def show_outcome(outcome: Outcome, measures: Measures | None, place: Workplace, *, everything: bool = False) -> None:
    """How many links there are, the measures or else the links by confidence, and the files written."""
    from emea.runs.folder import RECORDS, RESULTS
    from emea.runs.promise import caution
    from emea.runs.wording import counted

    count, confidence, seeds = len(outcome.alignment), outcome.alignment.confidence, len(outcome.prepared.given.seeds)
    besides = f" besides the {seeds:,} seeds" if seeds else ""
    expected = f"; {float(confidence.mean()):.0%} of them are expected to be right{caution(count)}" if count else ""
    out.print(f"\n[bold]{counted(count, 'link')}[/bold] found{besides}{expected}", highlight=False, soft_wrap=True)
    chosen = outcome.settings.matching
    if count and chosen.precision is not None:
        least = float(confidence.min())
        out.print(
            f"for a precision of {chosen.precision:g}, confidence has to be at least {least:.3f}", highlight=False
        )
    if not count:
        asked = f" and a precision of {chosen.precision:g}" if chosen.precision is not None else ""
        out.print(f"no link reaches a confidence of {chosen.minimum:g}{asked}", highlight=False)
    elif measures is None or everything:
        table = Table("confidence from", "links", box=None)
        for low in LEVELS:
            table.add_row(f"{low}", f"{int((confidence >= low).sum()):,}")
        out.print(table)
    if outcome.absence is not None:
        out.print(shown_absence(outcome, outcome.absence), highlight=False, soft_wrap=True)
    if measures is not None:
        show_measures(measures, everything=everything, benchmark=outcome.prepared.given.benchmark)
    out.print(f"\nfiles in {place.name}:", highlight=False)
    for name, meaning in {**RESULTS, **RECORDS}.items():
        if (place.folder / name).exists() and (measures is not None or name != "metrics.json"):
            out.print(f"  {name:<20} {meaning}", highlight=False)


def shown_absence(outcome: Outcome, absence: Absence) -> str:
    """How many sources stay unlinked, in a sentence that does not say that these have no counterpart; and how many of
    those that have none would be linked, where links tell: not if none was found, or if nobody competes."""
    from emea.method.competition import Competition

    task, links = outcome.prepared.given, outcome.alignment.source
    alone = {*task.unmatched.source.tolist()} - {-1}
    left = max(0, absence.sources - len({*links.tolist(), *task.seeds.source.tolist()} | alone))
    told = f"{left:,} of {absence.sources:,} sources stay unlinked"
    told += f" besides {len(alone):,} known to have no counterpart" * bool(alone)
    told += ", some of which may have a counterpart" * (left > 0 and not alone)
    if not len(links) or not any(Competition.of(outcome.settings.matching)):
        return told
    return f"{told}; of sources that have none, {absence.linked:.1%} are expected to be linked by mistake"
