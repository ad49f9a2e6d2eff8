"""The verb that says why: explain."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from emea.cli._options import Json
from emea.cli._reporting import Run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console
    from rich.table import Table

    from emea.analysis.explanation import Explanation, Group

WIDEST = 5.0  # log-odds that a full bar stands for
CELLS = 12  # of a full bar
PARTS = 4  # shown of each group
WIDTH = 100  # of plain text


def explain(  # noqa: PLR0917 - one parameter for each option
    run: Run,
    source: Annotated[str, typer.Argument(help="An entity: its name, the last part of it, or its label.")],
    target: Annotated[str | None, typer.Argument(help="Explain this pair, not the link that was found.")] = None,
    language: Annotated[str, typer.Option(help="Languages of labels, the best first, by commas.")] = "",
    fewest: Annotated[
        bool, typer.Option("--fewest", help="Also the fewest triples that carry the link; takes a fit of the encoder.")
    ] = False,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the bars: .svg, .png or .pdf.")] = None,
    as_json: Json = False,
) -> None:
    """Say why an entity is linked as it is: what speaks for and against the link, and why not the next best."""
    from emea.cli._console import say
    from emea.formats import nearby
    from emea.runs.explaining import Explainer
    from emea.runs.wording import languages_of

    with nearby(run) as folder:
        found = Explainer.open(folder, languages_of(language)).explain(source, target, fewest=fewest)
        found = _with_reason(found, folder)
    if plot is not None:
        from emea.report.bars import save_bars

        save_bars(found, plot)
        say(f"drawn in {plot}")
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2, ensure_ascii=False))
    else:
        from emea.cli._console import out

        _show(found, out)


def _with_reason(found: Explanation, folder: Path) -> Explanation:
    """With why the source's best candidate is not linked, as the run said it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from emea.runs.folder import written_table
    from emea.runs.tables import read_blocks

    table = written_table(folder, "unlinked")
    if found.status != "candidate" or not table.exists():
        return found
    for batch in read_blocks(table, dict.fromkeys(("source", "candidate", "why"), pa.large_string())):
        rows = pc.and_(pc.equal(batch["source"], found.source), pc.equal(batch["candidate"], found.target))
        for why in batch["why"].filter(rows).to_pylist():
            return replace(found, notes=(*found.notes, f"not linked: {why}"))
    return found


def plain(found: Explanation) -> str:
    """The same as text, for programs that print it."""
    from io import StringIO

    from rich.console import Console

    text = StringIO()
    _show(found, Console(file=text, width=WIDTH))
    return text.getvalue().rstrip()


def _show(found: Explanation, out: Console) -> None:
    from rich.markup import escape

    def say(text: str | Table, style: str | None = None) -> None:
        out.print(text, style=style, highlight=False, soft_wrap=isinstance(text, str))

    pair = f"{found.source_label} ↔ {found.target_label}" if found.target else found.source_label
    say(f"[bold]{escape(pair)}[/bold]  {_status(found)}")
    say(escape(f"{found.source}  {found.target or ''}"), style="dim")
    for note in found.notes:
        say(f"note: {escape(note)}")
    if found.base is None:
        return
    say(_bars(found.base, found.groups, found.log_odds or 0.0, found.confidence))
    for line in found.not_compared:
        say(escape(line))
    if found.saturated:
        say("the method is as sure as it can be: what it would add beyond that is not counted")
    if found.illustration:
        say("labelled pairs near both, which an encoder can know them by (an illustration):")
        for line in found.illustration:
            say(f"  {escape(line)}")
    if found.runner_up is not None:
        other = found.runner_up
        same = other.target_label == found.target_label  # so that its label does not tell it
        called = other.target if same or not other.target_label else other.target_label
        named = f"[bold]{escape(called)}[/bold] ({_chance(other.confidence)})"
        question = "why not" if other.confidence <= found.confidence else "better fits"
        say(f"{question} {named}: {escape(_difference(found))}")
    if found.smallest_set is not None:
        least = found.smallest_set
        say(f"would fall to {_chance(least.confidence)} without ({escape(least.kind)}):")
        for line in least.parts:
            say(f"  {escape(line)}")
    if found.fewest_triples is not None:
        few = found.fewest_triples
        say(f"{len(few.triples)} of {few.among} triples carry the link ({escape(few.kind)}):")
        for line in few.triples:
            say(f"  {escape(line)}")


def _status(found: Explanation) -> str:
    sure = f"confidence {_chance(found.confidence)}"
    texts = {
        "link": f"linked, {sure}",
        "candidate": f"not linked, {sure}",
        "seed": "given as known",
        "excluded": "given as wrong",
        "no counterpart": "given as having no counterpart",
    }
    return texts.get(found.status, "not a candidate")


def _bars(base: float, groups: Iterable[Group], log_odds: float, confidence: float) -> Table:
    """Groups and their parts with bars; numbers are log-odds and add up."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("evidence", "log-odds", "", "what"):
        table.add_column(name, justify="right" if name == "log-odds" else "left")
    table.add_row("base", f"{base:+.2f}", _bar(base), "before any evidence")
    for group in groups:
        table.add_row(escape(group.name), f"{group.log_odds:+.2f}", _bar(group.log_odds), escape(group.text))
        for part in group.parts[:PARTS]:
            table.add_row("", f"[dim]{part.log_odds:+.2f}[/dim]", "", f"[dim]{escape(part.text)}[/dim]")
        left = group.parts[PARTS:]
        if left:
            total = sum(part.log_odds for part in left)
            table.add_row("", f"[dim]{total:+.2f}[/dim]", "", f"[dim]{len(left)} more[/dim]")
    table.add_row("together", f"{log_odds:+.2f}", "", f"a confidence of {_chance(confidence)}")
    return table


def _chance(confidence: float) -> str:
    return f"{confidence:.3f}" if 0.001 <= confidence <= 0.999 else "below .001" if confidence < 0.5 else "above .999"


def _bar(log_odds: float) -> str:
    cells = min(CELLS, round(CELLS * abs(log_odds) / WIDEST))
    return f"[{'green' if log_odds > 0 else 'red'}]{('█' if log_odds > 0 else '▒') * cells}[/]"


def _difference(found: Explanation) -> str:
    """What tells a pair from the next candidate: the two groups that differ most."""
    assert found.runner_up is not None
    other = {group.name: group.log_odds for group in found.runner_up.groups}
    own = {group.name: group.log_odds for group in found.groups}
    gaps = [(own.get(name, 0.0) - other.get(name, 0.0), name) for name in {**own, **other}]
    return ", ".join(f"{name} {gap:+.1f}" for gap, name in sorted(gaps, key=lambda each: -abs(each[0]))[:2])
