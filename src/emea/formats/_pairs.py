"""Turns pairs of names into links, and reports which pair cannot be one."""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from emea.data import Graph, Links
from emea.errors import InputError, InputWarning
from emea.formats._files import BREAK
from emea.formats._meant import meant

OWL, SKOS = "http://www.w3.org/2002/07/owl#", "http://www.w3.org/2004/02/skos/core#"
EQUAL = (OWL + "sameAs", SKOS + "exactMatch", OWL + "equivalentClass", OWL + "equivalentProperty")
DIFFERENT = OWL + "differentFrom"
ONE_TO_ONE, MANY_TO_MANY = "one-to-one", "many-to-many"
SKIPPED = b"skipped"  # metadata key of a table of pairs: what else the file holds
DECISION = "decision"  # the column in which a person says whether a pair is right
UNDECIDED, UNSURE_VERDICT = "no decision", "the verdict unsure"
NONE, UNSURE = "none", "unsure"  # verdicts: the source has no counterpart; nobody knows
DECISIONS = {
    **dict.fromkeys(("yes", "y", "right", "true", "1", "ok", "okay", "correct"), True),
    **dict.fromkeys(("no", "n", "wrong", "false", "0", "incorrect"), False),
}
ENDS = (  # what the two columns of names are called elsewhere
    ("left", "right"),
    ("subject", "object"),
    ("subject_id", "object_id"),
    ("source_id", "target_id"),
    ("left_id", "right_id"),
    ("ltable_id", "rtable_id"),
    ("entity1", "entity2"),
    ("entity_1", "entity_2"),
    ("e1", "e2"),
    ("id1", "id2"),
    ("id_1", "id_2"),
    ("uri1", "uri2"),
    ("from", "to"),
    ("kg1", "kg2"),
)
PAIR_NAMES = {  # other names of the columns of pairs
    **{first: "source" for first, _ in ENDS},
    **{second: "target" for _, second in ENDS},
    "confidence": "weight",  # its name in our own alignments
    "predicate_modifier": "excluded",  # its name in SSSOM
}
TRUTH = {"true": True, "1": True, "not": True, "false": False, "0": False, "": False}
TOLERATED = 0.05  # share of the pairs whose names may be unknown


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

    def decide(
        self, decision: str, place: str, source: str, target: str, *, excluded: bool = False, line: int | None = None
    ) -> None:
        """Add a pair that a person decided on, whatever its weight: one that is rejected is excluded, and one that is
        not decided is no pair. `place` is where it was found, for the error."""
        word = decision.strip().lower()
        if word == NONE and source:
            self.add(source, "", line=line)
            return
        if word == UNSURE:
            self.skip(UNSURE_VERDICT)
            return
        if word and word not in DECISIONS:
            expected = "expected yes, right, ok, y or true; no, wrong, n or false; none; unsure; or nothing"
            raise InputError(f"{place}: found '{decision}' in the column {DECISION}, {expected}")
        if word and excluded and DECISIONS[word]:
            raise InputError(f"{place}: found a pair that is excluded and decided to be right, expected one of them")
        if not word and not excluded:
            self.skip(UNDECIDED)
        elif word and not DECISIONS[word] and not (source and target):
            self.skip("a counterpart that is not named")
        else:
            self.add(source, target, excluded=excluded or not DECISIONS[word], line=line)

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
        expected = f"yes or no in the column {DECISION}" if UNDECIDED in self._skipped else expected
        expected = "yes, no or none" if {*self._skipped} == {UNSURE_VERDICT} else expected
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


def checked_exclusion(text: str, place: str) -> bool:
    """Whether a pair is marked as wrong in a file; `place` is where, for the error."""
    if text.strip().lower() not in TRUTH:
        raise InputError(f"{place}: found '{text}' in the column excluded, expected true or false")
    return TRUTH[text.strip().lower()]


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


def to_exclusions(pairs: pa.Table, path: str | Path, source: Graph, target: Graph) -> Links:
    """The links that a pair reader's table excludes, sorted, without duplicates."""
    pairs = pairs.filter(pa.array(is_excluded(pairs) & ~is_unmatched(pairs)))
    columns = _positions(pairs, "source", path, source, target), _positions(pairs, "target", path, target, source)
    unique = np.unique(np.stack(columns, axis=1), axis=0)
    return Links.build(*(torch.from_numpy(column.copy()) for column in unique.T))


def to_unmatched(pairs: pa.Table, path: str | Path, source: Graph, target: Graph) -> Links:
    """The entities that a pair reader's table says to have no counterpart, as links to −1."""
    alone = pairs.filter(pa.array(is_unmatched(pairs)))
    sides = []
    for column, graph, other in (("source", source, target), ("target", target, source)):
        rows = alone.filter(pc.not_equal(alone[column], ""))
        sides.append(torch.from_numpy(np.unique(_positions(rows, column, path, graph, other))))
    missing = [torch.full_like(side, -1) for side in sides]
    return Links.build(sides[0], missing[0]) + Links.build(missing[1], sides[1])


def to_links(pairs: pa.Table, path: str | Path, source: Graph, target: Graph, cardinality: str = ONE_TO_ONE) -> Links:
    """The links in a pair reader's table, sorted, without duplicates; an entity with more counterparts than the
    cardinality allows is refused."""
    pairs = pairs.filter(pa.array(~is_excluded(pairs)))
    sources = _positions(pairs, "source", path, source, target)
    targets = _positions(pairs, "target", path, target, source)
    weights = pairs["weight"].to_numpy()
    order = np.lexsort((-weights, targets, sources))  # the largest weight of a repeated pair comes first
    sources, targets, weights = sources[order], targets[order], weights[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (sources[1:] != sources[:-1]) | (targets[1:] != targets[:-1])
    rows = order[first]
    if cardinality.endswith("-to-one"):
        _refuse_two_counterparts(pairs, rows, sources[first], path, ("source", "target"))
    if cardinality.startswith("one-to-"):
        _refuse_two_counterparts(pairs, rows, targets[first], path, ("target", "source"))
    columns = (torch.from_numpy(column[first]) for column in (sources, targets, weights))
    return Links.build(*columns)


def place(pairs: pa.Table, row: int, path: str | Path) -> str:
    """The file and the line of a pair, or its number if the line is not known."""
    return f"{path}, line {pairs['line'][row]}" if "line" in pairs.column_names else f"{path}, pair {row + 1}"


def recognised(pairs: pa.Table, path: str | Path, source: Graph, target: Graph) -> pa.Table:
    """The pairs whose entities are in the graphs, with a warning if a few are not; an error if these are many."""
    if not pairs.num_rows:
        raise InputError(f"{path} holds no pair, expected at least one")
    known = {"source": _is_known(pairs, "source", source), "target": _is_known(pairs, "target", target)}
    unknown = ~(known["source"] & known["target"])
    count, total, first = int(unknown.sum()), pairs.num_rows, int(unknown.argmax())
    if not count:
        return pairs
    if known["source"][first]:
        complaint = _complaint(pairs, first, path, "target", (target, source))
    else:
        complaint = _complaint(pairs, first, path, "source", (source, target))
        if first == 0 and not known["target"][0]:
            complaint += "; if this is a header, call its columns source and target"
    if count > TOLERATED * total:
        raise InputError(complaint + (f" ({count:,} of {total:,} pairs have an unknown name)" if count > 1 else ""))
    warnings.warn(
        InputWarning(f"skipping {count:,} of {total:,} pairs with an unknown name; {complaint}"), stacklevel=3
    )
    return pairs.filter(pa.array(~unknown))


def _is_known(pairs: pa.Table, column: str, graph: Graph) -> np.ndarray:
    """Whether each name is that of an entity, or empty, [pairs] bool."""
    names = pairs[column].combine_chunks()
    found = pc.or_(graph.positions(names).is_valid(), pc.equal(names, ""))
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=bool)


def _positions(pairs: pa.Table, column: str, path: str | Path, graph: Graph, other: Graph) -> np.ndarray:
    positions = graph.positions(pairs[column].combine_chunks())
    if positions.null_count:
        raise InputError(_complaint(pairs, positions.is_null().index(True).as_py(), path, column, (graph, other)))
    return np.asarray(positions.to_numpy(), dtype=np.int64)


def _complaint(pairs: pa.Table, row: int, path: str | Path, column: str, graphs: tuple[Graph, Graph]) -> str:
    """Which name is unknown to its graph, the first one, and which one may be meant."""
    name, (graph, other) = pairs[column][row].as_py(), graphs
    found = f"{place(pairs, row, path)}: found '{name}', expected an entity of the {column} graph"
    if other.positions(pa.array([name], pa.large_string())).null_count == 0:
        return f"{found}; it is in the {'target' if column == 'source' else 'source'} graph: are the columns swapped?"
    close = meant(name, graph.entities)
    return found + (f"; did you mean '{close}'?" if close is not None else "")


def _refuse_two_counterparts(
    pairs: pa.Table, rows: np.ndarray, ids: np.ndarray, path: str | Path, columns: tuple[str, str]
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
            f"; --cardinality {'one-to-many' if column == 'source' else 'many-to-one'} or many-to-many allows several"
        )
