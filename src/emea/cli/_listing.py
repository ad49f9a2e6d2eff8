"""The verbs that list what there is, and convert."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import tomli_w
import typer
from pydantic import BaseModel
from rich.table import Table

from emea import plugins
from emea.contracts import Baseline, Encoder, Format, Rule
from emea.formats import convert as write_converted
from emea.settings import PRESETS, Settings, load
from emea.terminal import out, show_fields, show_plugins


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


def list_settings(
    preset: Annotated[
        str | None, typer.Option(help=f"Print those of a preset as a file for --config: {', '.join(PRESETS)}.")
    ] = None,
) -> None:
    """List the settings of all stages, for --set and --config.

    emea settings --preset paper > mine.toml
    """
    if preset is not None:
        values = load(preset).resolved()
        typer.echo(tomli_w.dumps({name: value for name, value in values.items() if name not in {"seed", "device"}}))
        return
    for name, field in Settings.model_fields.items():
        stage = field.annotation
        if isinstance(stage, type) and issubclass(stage, BaseModel):
            show_fields(name, stage, (stage.__doc__ or "").splitlines()[0])
    out.print("method, seed, device; and those of plug-ins: emea encoders, emea rules, emea baselines", highlight=False)


def encoders() -> None:
    """List the embedding models and their settings."""
    show_plugins("encoders", Encoder)


def rules() -> None:
    """List the rules and their settings."""
    show_plugins("rules", Rule)


def baselines() -> None:
    """List the systems to compare with, for --method, and their settings."""
    show_plugins("baselines", Baseline)


def formats() -> None:
    """List the file formats."""
    table = Table("format", "reads and writes", box=None)
    for name in plugins.names("formats"):
        table.add_row(name, plugins.find("formats", name, Format).description)
    out.print(table)
