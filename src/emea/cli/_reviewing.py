"""The verbs by which people decide on links: review, decisions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from emea.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from emea.data import Graph
    from emea.review.cards import Reviewed
    from emea.review.exchange import Conflict

Here = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")]


def review(  # noqa: PLR0917 - one parameter for each option
    folder: Here,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port of the page; 8347 if it is free.")] = None,
    host: Annotated[str, typer.Option(help="Address to listen at; others than this machine need --insecure.")] = (
        "127.0.0.1"
    ),
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Serve a network without encryption: you trust everybody on it.")
    ] = False,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Open no browser.")] = False,
    person: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Who decides, each with an address of their own.")
    ] = None,
) -> None:
    """Open a page on which you confirm, reject and correct links; the next run learns from it.

    emea review run

    emea review run --person anna --person ben --host 192.168.1.5 --insecure
    """
    import os
    import webbrowser

    from emea.cli._console import say
    from emea.review.running import MEMORY

    os.environ.update({**MEMORY, **os.environ})  # before Arrow and torch are loaded, which read it
    from emea.review.exchange import left_out
    from emea.review.people import People
    from emea.review.server import serve
    from emea.runs.wording import counted

    people = People(person or ())
    serving = serve(folder, host=host, port=port, insecure=insecure, people=people)
    for name, address in serving.addresses.items():
        typer.echo(f"{name}: {address}" if len(serving.addresses) > 1 else address)
    for sentence in left_out(serving.desk.decisions, folder, exclusive=serving.desk.reviewed.exclusive):
        say(sentence)
    say("decisions are kept as they are made; end with Ctrl-C")
    if not no_browser and len(serving.addresses) == 1:
        webbrowser.open(serving.address)
    try:
        serving.wait()
    except KeyboardInterrupt:
        counts = serving.desk.decisions.counts()
        serving.stop()
        again = f"emea align --config {folder}/settings.toml --decisions {folder} --out {folder}-2"
        say(f"{counted(counts['decided'], 'decision')} in {folder}; use them: {again}")


def decisions(
    folder: Here,
    target: Annotated[
        Path | None, typer.Option("--export", metavar="FILE", help="Write what was decided: .sssom.tsv or .tsv.")
    ] = None,
    sources: Annotated[
        list[Path] | None,
        typer.Option(
            "--import", metavar="FILE", help="Take in decisions: SSSOM, TSV, CSV, Excel, or another run's; repeatable."
        ),
    ] = None,
) -> None:
    """Count the decisions on a run, write them to a file, or take in those of others; lists every conflict.

    emea decisions run --export decisions.sssom.tsv

    emea decisions run --import anna.sssom.tsv --import ben.tsv
    """
    from emea.cli._console import out
    from emea.review.cards import Reviewed
    from emea.review.decisions import Decisions
    from emea.review.exchange import conflicts, export, left_out, merge, of_run, read
    from emea.runs.wording import counted
    from emea.verdicts import DATABASE

    def tell(text: str) -> None:
        out.print(text, markup=False, highlight=False, soft_wrap=True)

    if target is not None and sources:
        raise SettingsError("found both --export and --import, expected one of them")
    reviewed = Reviewed.open(folder)
    theirs = [each for path in sources or () for each in read(path)]
    held = Decisions.open(folder / DATABASE) if sources else of_run(folder)
    if sources:
        added, found = merge(held, theirs, exclusive=reviewed.exclusive)
        tell(f"{counted(added, 'decision')} taken in")
        _list(found, tell)
    elif target is not None:
        tell(f"{counted(export(held, target, _graphs(reviewed, target, tell)), 'decision')} written to {target}")
    else:
        counts = held.counts()
        verdicts = ", ".join(f"{count:,} {verdict}" for verdict, count in counts["by_verdict"].items())
        tell(f"{counts['decided']:,} of {len(reviewed):,} sources decided: {verdicts}")
        for each in counts["people"]:
            tell(f"{each['who']}: {each['decided']:,}")
        _list(conflicts(held.by_person(), exclusive=reviewed.exclusive), tell)
    for sentence in left_out(held, folder, exclusive=reviewed.exclusive):
        tell(sentence)
    held.close()


def _graphs(reviewed: Reviewed, path: Path, tell: Callable[[str], None]) -> tuple[Graph, Graph] | None:
    """The graphs of a run if a file needs them: of a run without concepts, classes or properties, all is owl:sameAs."""
    from emea.formats._equality import may_differ
    from emea.formats._files import suffix
    from emea.report.graphs import read_again

    types = {part for each in {*reviewed.type} for part in each.split("|")}  # "": of what is not linked, unknown
    if suffix(path) != ".sssom.tsv" or not ("" in types or may_differ(types)):
        return None
    task = read_again(reviewed.run)
    if isinstance(task, str):
        tell(f"all pairs are written as owl:sameAs, also of concepts, classes and properties: {task}")
        return None
    return task.source, task.target


def _list(found: list[Conflict], tell: Callable[[str], None]) -> None:
    from emea.runs.wording import counted

    if found:
        tell(f"{counted(len(found), 'conflict')}, left to decide:")
    for each in found:
        tell(f"  {each}")
