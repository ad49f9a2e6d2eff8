"""Tables of nodes and of edges, told by the names of their columns: as Neo4j imports them, and as it writes them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from typing import Literal

import pyarrow as pa

from emea.contracts import Reading
from emea.data import Graph
from emea.formats._property_graph import RELATED, PropertyGraph, refuse_choices
from emea.formats._values import as_text

Role = Literal["id", "label", "start", "end", "type"]
End = tuple[str, str]  # an id, and the space of ids
ROLES: dict[str, Role] = {"ID": "id", "LABEL": "label", "START_ID": "start", "END_ID": "end", "TYPE": "type"}
WRITTEN: dict[str, Role] = {
    f"_{name}": role for name, role in zip(("id", "labels", "start", "end", "type"), ROLES.values(), strict=True)
}
MARKED = re.compile(
    r"(?P<name>[^:]*):(?P<role>ID|LABEL|START_ID|END_ID|TYPE)(\((?P<space>[^()]*)\))?(\{(?P<more>[^{}]*)\})?"
)
LABELLED = re.compile(r"\blabel:\s*([^,\s]+)")  # of all nodes of a space, as Neo4j 5 writes it
TYPED = re.compile(
    r"(?P<name>[^:]+):(int|long|float|double|boolean|byte|short|char|string|point|date|(local)?(date)?time|duration)"
    r"(?P<several>\[\])?(\{[^{}]*\})?",
    re.IGNORECASE,
)
IGNORED = ":IGNORE"
SEVERAL = ";"


def heads_graph(row: Sequence[str]) -> bool:
    """Whether a row is the header of nodes or edges."""
    return any(MARKED.fullmatch(cell.strip()) for cell in row) or {"_start", "_end"} <= {*row}


class _Table:
    """A table, and what its columns are by their names."""

    def __init__(self, name: str, table: pa.Table) -> None:
        self.name, self._table = name, table
        self.roles: dict[Role, tuple[str, str]] = {}  # column, and the space in which its ids differ
        self.kind = ""  # of all nodes
        self.values: list[tuple[str, str, bool]] = []  # attribute, column, and whether a cell has several
        for column in table.column_names:
            marked, typed = MARKED.fullmatch(column), TYPED.fullmatch(column)
            if marked:
                self.roles[ROLES[marked["role"]]] = column, marked["space"] or ""
                labelled = LABELLED.search(marked["more"] or "")
                self.kind = labelled[1] if labelled else self.kind
            elif column in WRITTEN:
                self.roles[WRITTEN[column]] = column, ""
            elif not column.endswith(IGNORED):
                self.values.append(
                    (typed["name"], column, bool(typed["several"])) if typed else (column, column, False)
                )

    @property
    def has_nodes(self) -> bool:
        """Whether rows with an id are nodes; a column called _id alone does not say so."""
        return "id" in self.roles and (self.roles["id"][0] not in WRITTEN or "label" in self.roles)

    @property
    def has_edges(self) -> bool:
        """Whether rows with two ends are edges."""
        return "start" in self.roles and "end" in self.roles

    def ends(self, role: Role) -> list[End]:
        """The nodes that rows name as this, with their space."""
        space = self.roles[role][1]
        return [(cell, space) for cell in self._cells(self.roles[role][0])]

    def nodes(self) -> Iterator[tuple[End, list[tuple[str, object]], list[str]]]:
        """The nodes, their values by attribute, and their kinds."""
        kinds = self._cells(self.roles["label"][0]) if "label" in self.roles else repeat(self.kind)
        columns = [self._cells(column) for _, column, _ in self.values]
        for end, kind, *cells in zip(self.ends("id"), kinds, *columns, strict=False):
            told = zip(self.values, cells, strict=True)
            values = [(name, cell.split(SEVERAL) if several else cell) for (name, _, several), cell in told if cell]
            if end[0]:
                yield end, values, [each for each in re.split("[:;]", kind) if each]

    def edges(self) -> Iterator[tuple[End, str, End]]:
        """The edges; without a column of types, they are called like the table."""
        types = self._cells(self.roles["type"][0]) if "type" in self.roles else repeat(self.name)
        for head, relation, tail in zip(self.ends("start"), types, self.ends("end"), strict=False):
            if head[0] or tail[0]:
                yield head, relation or RELATED, tail

    def _cells(self, column: str) -> list[str]:
        cells = self._table[column].to_pylist()
        return ["" if cell is None else _text(cell).strip() for cell in cells]


def _text(cell: object) -> str:
    return SEVERAL.join(map(as_text, cell)) if isinstance(cell, list) else as_text(cell)


def graph_of_tables(tables: Mapping[str, pa.Table], place: str, reading: Reading) -> Graph | None:
    """The graph whose nodes and edges are the rows of tables, if columns say so; others are left out, and named."""
    every = [_Table(*each) for each in tables.items()]
    told = [each for each in every if each.has_nodes or each.has_edges]
    if not told:
        return None
    others = [each.name for each in every if each not in told]
    refuse_choices(reading, place)
    nodes = [node for each in told if each.has_nodes for node in each.nodes()]
    used = Counter(name for name, _ in {end for end, _, _ in nodes})

    def name(end: End) -> str:
        return "/".join(end[::-1]) if end[1] and used[end[0]] > 1 else end[0]  # after its space if others have the same

    graph = PropertyGraph(place)
    for end, values, kinds in nodes:
        graph.node(name(end), values, kinds)
    for head, relation, tail in (edge for each in told if each.has_edges for edge in each.edges()):
        graph.edge(name(head), relation, name(tail))
    built = graph.build()
    left = f"{place}: tables whose columns do not say that rows are nodes or edges are left out: {', '.join(others)}"
    return replace(built, notes=(*built.notes, left)) if others else built
