"""Turns pairs of names into links, and says where a pair cannot be one."""

from __future__ import annotations

from bisect import bisect_left
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch

from emea.data import Graph, Links
from emea.errors import InputError

NEIGHBOURS = 500  # names each side of the place where an unknown name would stand


def to_links(pairs: pa.Table, path: Path, source: Graph, target: Graph) -> Links:
    """The links of a pair reader's table, sorted, each once; each entity may have one counterpart only."""
    sources = _positions(pairs, "source", path, source, target)
    targets = _positions(pairs, "target", path, target, source)
    weights = pairs["weight"].to_numpy()
    order = np.lexsort((-weights, targets, sources))  # of a repeated pair the largest weight comes first
    sources, targets, weights = sources[order], targets[order], weights[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (sources[1:] != sources[:-1]) | (targets[1:] != targets[:-1])
    rows = order[first]
    _refuse_two_counterparts(pairs, rows, sources[first], path, ("source", "target"))
    _refuse_two_counterparts(pairs, rows, targets[first], path, ("target", "source"))
    columns = (torch.from_numpy(column[first]) for column in (sources, targets, weights))
    return Links.build(*columns)


def place(pairs: pa.Table, row: int, path: Path) -> str:
    """The file and, where the reader knows it, the line of a pair."""
    return f"{path}, line {pairs['line'][row]}" if "line" in pairs.column_names else f"{path}, pair {row + 1}"


def _positions(pairs: pa.Table, column: str, path: Path, graph: Graph, other: Graph) -> np.ndarray:
    names = pairs[column].combine_chunks()
    positions = graph.positions(names)
    if positions.null_count:
        row = positions.is_null().index(True).as_py()
        name = names[row].as_py()
        hint = _hint(name, column, graph, other)
        raise InputError(f"{place(pairs, row, path)}: found '{name}', expected an entity of the {column} graph{hint}")
    return np.asarray(positions.to_numpy(), dtype=np.int64)


def _hint(name: str, column: str, graph: Graph, other: Graph) -> str:
    if other.positions(pa.array([name], pa.large_string())).null_count == 0:
        return f"; it is one of the {'target' if column == 'source' else 'source'} graph: are the columns swapped?"
    # Names are sorted by their bytes: those next to the unknown one share the longest beginnings with it.
    entities = graph.entities
    middle = bisect_left(range(len(entities)), name.encode(), key=lambda row: entities[row].as_py().encode())
    sample = entities.slice(max(0, middle - NEIGHBOURS), 2 * NEIGHBOURS).to_pylist()
    close = get_close_matches(name, sample, 1)
    return f"; did you mean '{close[0]}'?" if close else ""


def _refuse_two_counterparts(
    pairs: pa.Table, rows: np.ndarray, ids: np.ndarray, path: Path, columns: tuple[str, str]
) -> None:
    """Refuse pairs, each given once, that share the entity of the first column."""
    column, other = columns
    order = np.argsort(ids, kind="stable")
    repeated = np.flatnonzero(ids[order][1:] == ids[order][:-1])
    if len(repeated):
        first, second = sorted(int(rows[order[repeated[0] + step]]) for step in (0, 1))
        raise InputError(
            f"{place(pairs, second, path)}: found '{pairs[column][second]}' paired with '{pairs[other][second]}', "
            f"and before with '{pairs[other][first]}' ({place(pairs, first, path)}), expected one counterpart at most"
        )
