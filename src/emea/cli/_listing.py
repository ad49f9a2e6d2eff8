"""The verbs that list what there is, look after an installation, convert and merge."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from emea import plugins
from emea.cli._options import Json
from emea.cli._reporting import Run
from emea.presets import PRESETS
from emea.settings import Settings, load

if TYPE_CHECKING:
    from emea.contracts import Plugin

Name = Annotated[str | None, typer.Argument(help="Show the settings of this one.")]


def convert(  # noqa: PLR0917 - one parameter for each option
    source: Annotated[str, typer.Argument(help="What to read: a graph or pairs.")],
    target: Annotated[Path, typer.Argument(help="File to write; its suffix names the format.")],
    kind: Annotated[
        Literal["graph", "pairs"] | None, typer.Option(help="What the file holds; detected by default.")
    ] = None,
    graph: Annotated[str | None, typer.Option(help="Name of one graph among several.")] = None,
    id_column: Annotated[str | None, typer.Option(help="Column of a table that names its rows.")] = None,
    table: Annotated[
        Literal["rows", "triples"] | None, typer.Option(help="What a row of a table is: an entity, or a triple.")
    ] = None,
    context: Annotated[Path | None, typer.Option(help="Context of JSON-LD, instead of remote ones.")] = None,
    query: Annotated[str | None, typer.Option(help="A CONSTRUCT query, or a class, for a SPARQL endpoint.")] = None,
    lenient: Annotated[bool, typer.Option("--lenient", help="Skip statements that cannot be read.")] = False,
) -> None:
    """Convert a graph, or pairs, to another format."""
    from emea.cli._console import noting, out, warn
    from emea.contracts import Reading
    from emea.formats import convert as write_converted

    reading = Reading(graph=graph, id_column=id_column, table=table, context=context, query=query, lenient=lenient)
    with noting(warn):
        summary = write_converted(source, target, kind=kind, reading=reading)
    out.print(summary, markup=False, highlight=False, soft_wrap=True)


def merge(
    run: Run,
    target: Annotated[
        Path,
        typer.Option(
            "--out", help="File to write: .nt, .ttl, .rdf; .nq names the original graphs; .csv or .parquet: a table."
        ),
    ],
    keep: Annotated[Literal["source", "target"], typer.Option(help="Whose name a linked pair gets.")] = "target",
) -> None:
    """Write both graphs of a run as one: RDF with one name for each linked pair, or a table with both side by side.

    emea merge run --out merged.ttl

    emea merge run --out table.csv
    """
    from emea.cli._console import out
    from emea.formats import nearby
    from emea.runs.merge import merge as write_merged

    with nearby(run) as folder:
        told = write_merged(folder, target, keep)
    out.print(told, markup=False, highlight=False, soft_wrap=True)


def doctor(as_json: Json = False) -> None:
    """Show what is installed, what the machine offers, and what a run would use of it."""
    from emea.runs.doctor import examine

    found = examine()
    if as_json:
        import json
        from dataclasses import asdict

        typer.echo(json.dumps({**asdict(found), "missing": found.missing}, indent=2))
        return

    from emea.cli._show import show_findings

    show_findings(found)


def list_settings(
    preset: Annotated[
        str | None, typer.Option(help=f"Print a preset as a file for --config: {', '.join(PRESETS)}.")
    ] = None,
) -> None:
    """List the settings of all stages, for --set and --config.

    emea settings --preset paper > mine.toml
    """
    from pydantic import BaseModel

    from emea.cli._console import out
    from emea.cli._show import show_fields

    if preset is not None:
        import tomli_w

        load(preset)  # refuses an unknown one
        # Not the defaults: some depend on what a run is given, and would be taken for choices.
        typer.echo(f"# What the preset {preset} changes in the defaults, which emea settings lists.")
        typer.echo(tomli_w.dumps(PRESETS[preset]), nl=False)
        return
    for name, field in Settings.model_fields.items():
        stage = field.annotation
        if isinstance(stage, type) and issubclass(stage, BaseModel):
            show_fields(name, stage, (stage.__doc__ or "").splitlines()[0])
    out.print(
        "also method, seed and device; settings of plug-ins: emea encoders NAME, emea rules NAME, emea baselines NAME",
        highlight=False,
    )


def encoders(name: Name = None) -> None:
    """List the embedding models, or the settings of one."""
    _list("encoders", name)


def rules(name: Name = None) -> None:
    """List the rules, or the settings of one."""
    _list("rules", name)


def baselines(name: Name = None) -> None:
    """List the baselines, for --method, or the settings of one."""
    _list("baselines", name)


def formats() -> None:
    """List the file formats."""
    _list("formats", None)


def _list(kind: str, name: str | None) -> None:
    """The plug-ins of a kind, read without importing what they compute with; or the settings of one."""
    from rich.markup import escape
    from rich.table import Table

    from emea.cli._console import out

    if name is not None:
        from emea.cli._show import show_fields
        from emea.contracts import Plugin

        plugin: type[Plugin[Any]] = plugins.find(kind, name, Plugin)
        about = [] if name in plugins.built_in(kind) else [(plugin.__doc__ or "").partition("\n")[0]]
        about += [plugins.summary(kind, name)] if name in plugins.names(kind) else []
        show_fields(f"{kind}.{name}", plugin.Settings, " · ".join(filter(None, about)))
        return
    table = Table(box=None, show_header=False, padding=(0, 2))
    for each in plugins.names(kind):
        table.add_row(each, escape(_about(kind, each)))
    out.print(table)
    for point in plugins.unheard(kind):
        told = f"'{point.name}' of {plugins.origin(point)} is left out: the name means another {kind[:-1]}"
        out.print(told, markup=False, highlight=False, soft_wrap=True)
    if kind == "formats" and plugins.announced(kind):
        _tell_overruled()
    elif kind != "formats":
        out.print(f"settings: emea {kind} NAME", highlight=False)


def _about(kind: str, name: str) -> str:
    """One line about a plug-in; of what a package announces also whose it is, and why it cannot be used."""
    told = plugins.summary(kind, name)
    if name not in plugins.announced(kind):
        return told
    try:
        plugin: type = plugins.find(kind, name, plugins.KINDS[kind])
    except Exception as error:  # noqa: BLE001 - a module of others may fail by anything
        return f"{told}, cannot be used: {str(error) or type(error).__name__}"
    about = (plugin.__doc__ or "").strip().partition("\n")[0]
    return f"{about} ({told})" if about else told


def _tell_overruled() -> None:
    """Which suffixes of announced formats have no effect."""
    from emea.cli._console import noting, out, silent
    from emea.formats._lookup import overruled

    with noting(silent):  # of what cannot be used, the table says why
        found = overruled()
    for name, key, taken in found:
        whose = plugins.announced_as("formats", plugins.announced("formats")[name])
        out.print(f"'{key}' of {whose} is left out: it means {taken}", markup=False, highlight=False, soft_wrap=True)
