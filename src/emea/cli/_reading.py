"""The options on how to read the two graphs, for both or for one of them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from emea.contracts import Reading
from emea.errors import SettingsError

SIDES = ("source_", "target_")


def _chosen(help_: str, *names: str) -> Any:
    """An option for both graphs, or with a side in its name for one of them."""
    return typer.Option(*names, help=help_, rich_help_panel="Reading")


@dataclass(frozen=True)
class ReadingOptions:
    """How to read the graphs, and which of their entities to link."""

    type: Annotated[list[str] | None, _chosen("Link only entities of this type: owl:Class, City, a table's name.")] = (
        None
    )
    exclude_type: Annotated[list[str] | None, _chosen("Link no entity of this type.")] = None
    namespace: Annotated[list[str] | None, _chosen("Link only entities whose IRI begins like this.")] = None
    entities: Annotated[Path | None, _chosen("Link only the entities named in this file, one a line.")] = None
    id_column: Annotated[str | None, _chosen("Column of a table that names its rows; found by default.")] = None
    table: Annotated[
        Literal["rows", "triples"] | None, _chosen("What a row of a table is: an entity, or a triple; recognised.")
    ] = None
    graph: Annotated[str | None, _chosen("Name of one graph among several, in N-Quads, TriG or JSON-LD.")] = None
    context: Annotated[Path | None, _chosen("Context of JSON-LD, instead of remote ones.")] = None
    query: Annotated[str | None, _chosen("What to ask a SPARQL endpoint for: a CONSTRUCT query, or a class.")] = None
    lenient: Annotated[bool, _chosen("Skip statements or rows that cannot be read; count them.", "--lenient")] = False
    source_type: Annotated[list[str] | None, _chosen("--type for the source alone.")] = None
    target_type: Annotated[list[str] | None, _chosen("--type for the target alone.")] = None
    source_exclude_type: Annotated[list[str] | None, _chosen("--exclude-type for the source alone.")] = None
    target_exclude_type: Annotated[list[str] | None, _chosen("--exclude-type for the target alone.")] = None
    source_namespace: Annotated[list[str] | None, _chosen("--namespace for the source alone.")] = None
    target_namespace: Annotated[list[str] | None, _chosen("--namespace for the target alone.")] = None
    source_entities: Annotated[Path | None, _chosen("--entities for the source alone.")] = None
    target_entities: Annotated[Path | None, _chosen("--entities for the target alone.")] = None
    source_id_column: Annotated[str | None, _chosen("--id-column for the source alone.")] = None
    target_id_column: Annotated[str | None, _chosen("--id-column for the target alone.")] = None
    source_graph: Annotated[str | None, _chosen("--graph for the source alone.")] = None
    target_graph: Annotated[str | None, _chosen("--graph for the target alone.")] = None

    def readings(self, source: str | None, target: str | None) -> dict[str, Reading]:
        """The choices for each side, empty where there are none. One made for both sides counts where it can."""
        given = {field.name: value for field in fields(self) if (value := getattr(self, field.name))}
        common = {name: value for name, value in given.items() if not name.startswith(SIDES)}
        both = [_heeded(common, place) for place in (source, target)]
        for name in common:
            if not any(name in heeded for heeded in both):
                raise SettingsError(f"found --{name.replace('_', '-')}, but neither graph leaves such a choice")
        if not given:
            return {}
        readings = {}
        for side, heeded in zip(SIDES, both, strict=True):
            own = {name.removeprefix(side): value for name, value in given.items() if name.startswith(side)}
            readings[f"{side}reading"] = Reading(**{**heeded, **own})
        return readings


def _heeded(choices: dict[str, Any], place: str | None) -> dict[str, Any]:
    """The choices that mean something to the format of a graph."""
    if not choices or place is None:
        return {}
    from emea.formats import graph_source, location
    from emea.formats._selection import SELECTING

    known = (*graph_source(location(place)).choices, *SELECTING)
    return {name: value for name, value in choices.items() if name in known}
