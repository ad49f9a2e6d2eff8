"""Turns pairs of names into links, and reports which pair cannot be one."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from emea.data import Graph, Links
from emea.errors import InputError
from emea.formats._files import BREAK

OWL, SKOS = "http://www.w3.org/2002/07/owl#", "http://www.w3.org/2004/02/skos/core#"
EQUAL = (OWL + "sameAs", SKOS + "exactMatch", OWL + "equivalentClass", OWL + "equivalentProperty")
DIFFERENT = OWL + "differentFrom"
SKIPPED = b"skipped"  # metadata key of a table of pairs: what else the file holds
NEIGHBOURS = 500  # names to compare on each side of where an unknown name would be


class PairColumns:
    """The columns of a table of pairs that is being read."""

    def __init__(self) -> None:
        self._sources: list[str] = []
        self._targets: list[str] = []
        self._weights: list[float] = []
        self._excluded: list[bool] = []
        self._lines: list[int] = []
        self._skipped: Counter[str] = Counter()

    def add(
        self, source: str, target: str, weight: float = 1.0, *, excluded: bool = False, line: int | None = None
    ) -> None:
        """Add a pair, and its line if known; an empty name says that the other one has no counterpart."""
        self._sources.append(source)
        self._targets.append(target)
        self._weights.append(weight)
        self._excluded.append(excluded or not (source and target))
        if line is not None:
            self._lines.append(line)

    def skip(self, what: str) -> None:
        """Count a row that is not a pair."""
        self._skipped[what] += 1

    def build(self, path: Path, expected: str = "pairs") -> pa.Table:
        """The table; an error if the file holds only rows other than the expected ones."""
        for row, pair in enumerate(zip(self._sources, self._targets, strict=True)):
            for name in pair:
                if not any(pair) or BREAK.search(name):
                    where = f"line {self._lines[row]}" if self._lines else f"pair {row + 1}"
                    raise InputError(
                        f"{path}, {where}: found the name {name!r}, expected a non-empty name without tabs or newlines"
                    )
        skipped = ", ".join(f"{number:,} with {what}" for what, number in sorted(self._skipped.items()))
        if skipped and not self._sources:
            raise InputError(f"{path}: found no pairs, only {skipped}; expected {expected}")
        columns = {
            "source": pa.array(self._sources, pa.large_string()),
            "target": pa.array(self._targets, pa.large_string()),
            "weight": pa.array(self._weights, pa.float32()),
            "excluded": pa.array(self._excluded, pa.bool_()),
        }
        if self._lines:
            columns["line"] = pa.array(self._lines, pa.int64())
        return pa.table(columns, metadata={SKIPPED: skipped.encode()} if skipped else None)


def checked_weight(text: str | float, place: str) -> float:
    """A weight from a file, checked; `place` is where it was found, for the error."""
    try:
        weight = float(text)
    except ValueError:
        weight = -1.0
    if not 0.0 <= weight <= 1.0:
        raise InputError(f"{place}: found the weight '{text}', expected a number from 0 to 1")
    return weight


def is_excluded(pairs: pa.Table) -> np.ndarray:
    """Which pairs are marked as wrong, [pairs] bool."""
    if "excluded" not in pairs.column_names:
        return np.zeros(pairs.num_rows, dtype=bool)
    return np.asarray(pairs["excluded"].to_numpy(), dtype=bool)


def is_unmatched(pairs: pa.Table) -> np.ndarray:
    """Which rows say that an entity has no counterpart, [rows] bool: those with one name only."""
    return np.asarray(pc.or_(pc.equal(pairs["source"], ""), pc.equal(pairs["target"], "")).to_numpy(), dtype=bool)


def needed_columns(pairs: pa.Table) -> pa.Table:
    """Source and target, with weight and excluded only if they are needed."""
    excluded = is_excluded(pairs)
    columns = {"source": pairs["source"], "target": pairs["target"]}
    if excluded.any() or (pairs["weight"].to_numpy() != 1).any():
        columns["weight"] = pairs["weight"]
    if excluded.any():
        columns["excluded"] = pa.array(excluded)
    return pa.table(columns)


def to_exclusions(pairs: pa.Table, path: Path, source: Graph, target: Graph) -> Links:
    """The links that a pair reader's table excludes, sorted, without duplicates."""
    pairs = pairs.filter(pa.array(is_excluded(pairs) & ~is_unmatched(pairs)))
    columns = _positions(pairs, "source", path, source, target), _positions(pairs, "target", path, target, source)
    unique = np.unique(np.stack(columns, axis=1), axis=0)
    return Links.build(*(torch.from_numpy(column.copy()) for column in unique.T))


def to_unmatched(pairs: pa.Table, path: Path, source: Graph, target: Graph) -> Links:
    """The entities that a pair reader's table says to have no counterpart, as links to −1."""
    alone = pairs.filter(pa.array(is_unmatched(pairs)))
    sides = []
    for column, graph, other in (("source", source, target), ("target", target, source)):
        rows = alone.filter(pc.not_equal(alone[column], ""))
        sides.append(torch.from_numpy(np.unique(_positions(rows, column, path, graph, other))))
    missing = [torch.full_like(side, -1) for side in sides]
    return Links.build(sides[0], missing[0]) + Links.build(missing[1], sides[1])


def to_links(pairs: pa.Table, path: Path, source: Graph, target: Graph, *, one_to_one: bool = True) -> Links:
    """The links in a pair reader's table, sorted, without duplicates; each entity may have only one counterpart, unless
    the links need not be one-to-one."""
    pairs = pairs.filter(pa.array(~is_excluded(pairs)))
    sources = _positions(pairs, "source", path, source, target)
    targets = _positions(pairs, "target", path, target, source)
    weights = pairs["weight"].to_numpy()
    order = np.lexsort((-weights, targets, sources))  # the largest weight of a repeated pair comes first
    sources, targets, weights = sources[order], targets[order], weights[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (sources[1:] != sources[:-1]) | (targets[1:] != targets[:-1])
    rows = order[first]
    if one_to_one:
        _refuse_two_counterparts(pairs, rows, sources[first], path, ("source", "target"))
        _refuse_two_counterparts(pairs, rows, targets[first], path, ("target", "source"))
    columns = (torch.from_numpy(column[first]) for column in (sources, targets, weights))
    return Links.build(*columns)


def place(pairs: pa.Table, row: int, path: Path) -> str:
    """The file and the line of a pair, or its number if the line is not known."""
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
        return f"; it is in the {'target' if column == 'source' else 'source'} graph: are the columns swapped?"
    # Names are sorted by their bytes, so the neighbours of the unknown one share the longest prefixes with it.
    entities = graph.entities
    middle = bisect_left(range(len(entities)), name.encode(), key=lambda row: entities[row].as_py().encode())
    sample = entities.slice(max(0, middle - NEIGHBOURS), 2 * NEIGHBOURS).to_pylist()
    close = get_close_matches(name, sample, 1)
    return f"; did you mean '{close[0]}'?" if close else ""


def _refuse_two_counterparts(
    pairs: pa.Table, rows: np.ndarray, ids: np.ndarray, path: Path, columns: tuple[str, str]
) -> None:
    """Refuse distinct pairs that share the entity in the first column."""
    column, other = columns
    order = np.argsort(ids, kind="stable")
    repeated = np.flatnonzero(ids[order][1:] == ids[order][:-1])
    if len(repeated):
        first, second = sorted(int(rows[order[repeated[0] + step]]) for step in (0, 1))
        raise InputError(
            f"{place(pairs, second, path)}: found '{pairs[column][second]}' paired with '{pairs[other][second]}', "
            f"and earlier with '{pairs[other][first]}' ({place(pairs, first, path)}), expected at most one counterpart"
        )
