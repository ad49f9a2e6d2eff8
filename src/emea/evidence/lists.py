"""Cells that hold several values, such as "cr; crystal". Whether those of an attribute do is told by the other graph,
which has the parts more often than the whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea.data import Graph, Task
from emea.evidence.values import normal_form

MOST = 20_000  # values of an attribute that are looked for
SEPARATORS = ";", "|"  # commas and slashes stand within names, too
FEWEST = 3  # values with a separator, and values found in the other graph only if lists are divided, at least
OFTEN = 0.05  # share of an attribute's values with a separator, at least
TIMES = 2  # as many are found then, at least: where whole lists agree, they say more than one part of each

Cells = dict[int, list[frozenset[str]]]  # attribute → of each distinct value, its parts in normal form


def divided(task: Task) -> Task:
    """The task, with a literal for each of the values that a cell holds."""
    sides = task.source, task.target
    lists = [_lists(graph) for graph in sides]
    if not any(lists):
        return task
    cells = [_cells(graph) for graph in sides]
    whole, parts = _found(*cells), _found(*map(_parted, cells, sides, lists))
    kept: tuple[dict[int, str], dict[int, str]] = {}, {}
    for both, count in parts.items():
        if count >= max(whole[both] + FEWEST, TIMES * whole[both]):
            for own, found, number in zip(kept, lists, both, strict=True):
                own.update({number: found[number]} if number in found else {})
    source, target = map(_divided, sides, kept)
    return replace(task, source=source, target=target)


def _lists(graph: Graph) -> dict[int, str]:
    """Attributes whose values may be lists, and what stands between the parts."""
    attribute, value = graph.literals["attribute"].to_numpy(), graph.literals["value"]
    found: dict[int, str] = {}
    for mark in SEPARATORS[::-1]:
        marked = pc.match_substring(value, mark).to_numpy()
        count, every = (np.bincount(rows, minlength=len(graph.attributes)) for rows in (attribute[marked], attribute))
        likely = count >= np.maximum(FEWEST, OFTEN * every)
        found.update((number, mark) for number in np.flatnonzero(likely).tolist())
    return found


def _cells(graph: Graph) -> Cells:
    """The distinct values of each attribute."""
    distinct = graph.literals.group_by(["attribute", "value"]).aggregate([])
    found: Cells = {}
    for number, text in zip(distinct["attribute"].to_pylist(), distinct["value"].to_pylist(), strict=True):
        form = normal_form(text)
        found.setdefault(number, []).append(frozenset([form] if form else []))
    return found


def _parted(cells: Cells, graph: Graph, lists: Mapping[int, str]) -> Cells:
    """The same, with the parts of values that are lists."""
    found = dict(cells)
    for number, mark in lists.items():
        texts = pc.unique(graph.literals["value"].filter(pc.equal(graph.literals["attribute"], number))).to_pylist()
        parts = ((normal_form(part) for part in text.split(mark)) for text in texts)
        found[number] = [frozenset(form for form in each if form) for each in parts]
    return found


def _found(first: Cells, second: Cells) -> Counter[tuple[int, int]]:
    """How many values of an attribute of either graph have a part that one of the other graph's has, too."""
    found: Counter[tuple[int, int]] = Counter()
    for turned, (own, others) in enumerate(((first, second), (second, first))):
        held: dict[str, set[int]] = {}
        for number, cells in others.items():
            for form in frozenset().union(*cells):
                held.setdefault(form, set()).add(number)
        for number, cells in own.items():
            for parts in cells[:: max(1, len(cells) // MOST)]:
                for other in set().union(*(held.get(form, ()) for form in parts)):
                    found[(other, number) if turned else (number, other)] += 1
    return found


def _divided(graph: Graph, lists: Mapping[int, str]) -> Graph:
    """The graph, with a literal for each part of the values of some attributes."""
    table = graph.literals
    for number, mark in lists.items():
        own = pc.equal(table["attribute"], number)
        cells = table.filter(own).combine_chunks()
        parts = pc.split_pattern(cells["value"].combine_chunks(), mark)
        several = cells.take(pc.list_parent_indices(parts))
        text = pc.utf8_trim_whitespace(pc.list_flatten(parts))
        several = several.set_column(table.schema.get_field_index("value"), "value", text)
        table = pa.concat_tables([table.filter(pc.invert(own)), several.filter(pc.not_equal(text, ""))])
    if not lists:
        return graph
    columns = table.schema.names
    table = table.group_by(columns).aggregate([]).select(columns).sort_by([(name, "ascending") for name in columns])
    return replace(graph, literals=table.cast(graph.literals.schema))
