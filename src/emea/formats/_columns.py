"""Collects the columns of a graph while a file is read, then builds the graph from them in little memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from emea.data import LITERAL_SCHEMA, Graph

STRING = "http://www.w3.org/2001/XMLSchema#string"
LANGUAGE_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
CHUNK = 1 << 14  # rows held as Python strings before they are packed into Arrow arrays


@dataclass
class Rows:
    """Rows as a reader adds them."""

    heads: list[str] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)
    tails: list[str] = field(default_factory=list)
    described: list[str] = field(default_factory=list)  # entities that the literals describe
    attributes: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    datatypes: list[str] = field(default_factory=list)
    languages: list[str] = field(default_factory=list)


class _Names:
    """A column of names: each distinct name stored once, and its position for each row."""

    def __init__(self) -> None:
        self._known = pa.array([], pa.large_string())
        self._codes: list[np.ndarray] = []
        self._parts: list[pa.DictionaryArray] = []  # not yet merged into the known names
        self._waiting = 0  # names in the parts, including those repeated between parts

    def add(self, names: list[str]) -> None:
        """Add rows."""
        part = _encode(names)
        self._parts.append(part)
        self._waiting += len(part.dictionary)
        if self._waiting > max(CHUNK, len(self._known)):  # so that merging takes time proportional to the rows
            self._merge()

    def finish(self) -> tuple[pa.Array, list[np.ndarray]]:
        """All names, and for each part the positions of its rows among them; the positions are no longer kept here."""
        self._merge()
        codes, self._codes = self._codes, []
        return self._known, codes

    def _merge(self) -> None:
        nothing = pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), self._known)
        # The known names come first, so they keep their positions.
        merged, *parts = pa.chunked_array([nothing, *self._parts]).unify_dictionaries().chunks
        self._codes += [part.indices.to_numpy() for part in parts]
        self._known = merged.dictionary
        self._parts, self._waiting = [], 0
        del merged, parts
        release()


class GraphColumns:
    """The columns of a graph that is being read."""

    def __init__(self) -> None:
        self.rows = Rows()
        self._sizes: list[tuple[int, int]] = []  # number of triples and of literals in each part
        self._ends = _Names()  # for each part: heads, tails, described entities, then entities without a row
        self._relations = _Names()
        self._attributes = _Names()
        self._values: list[pa.Array] = []
        self._kinds: list[tuple[pa.Array, pa.Array]] = []  # datatype and language

    def relate(self, head: str, relation: str, tail: str) -> None:
        """Add a triple between entities."""
        rows = self.rows
        rows.heads.append(head)
        rows.relations.append(relation)
        rows.tails.append(tail)
        if len(rows.heads) == CHUNK:
            self.pack()

    def describe(self, entity: str, attribute: str, value: str, datatype: str = STRING, language: str = "") -> None:
        """Add a triple from an entity to a literal."""
        rows = self.rows
        rows.described.append(entity)
        rows.attributes.append(attribute)
        rows.values.append(value)
        rows.datatypes.append(datatype)
        rows.languages.append(language)
        if len(rows.values) == CHUNK:
            self.pack()

    def pack(self) -> None:
        """Turn the rows so far into Arrow arrays and start again with none."""
        rows, self.rows = self.rows, Rows()
        self._sizes.append((len(rows.heads), len(rows.values)))
        self._ends.add([*rows.heads, *rows.tails, *rows.described])
        self._relations.add(rows.relations)
        self._attributes.add(rows.attributes)
        self._values.append(pa.array(rows.values, pa.large_string()))
        self._kinds.append((_encode(rows.datatypes), _encode(rows.languages)))

    def build(self, rename: Callable[[pa.Array], pa.Array] | None = None) -> Graph:
        """The graph; `rename` replaces the entity names."""
        self.pack()
        entities, ends = self._ends.finish()
        relations, relation_codes = self._relations.finish()
        attributes, attribute_codes = self._attributes.finish()
        triples = [
            np.stack([codes[:count], relation, codes[count : 2 * count]])
            for codes, relation, (count, _) in zip(ends, relation_codes, self._sizes, strict=True)
        ]
        described = [
            codes[2 * count : 2 * count + literals] for codes, (count, literals) in zip(ends, self._sizes, strict=True)
        ]
        literals = self._literals(np.concatenate(described), np.concatenate(attribute_codes))
        del ends, relation_codes, attribute_codes, described
        names = entities if rename is None else rename(entities)
        return assemble(names, relations, triples, attributes=attributes, literals=literals)

    def _literals(self, entity: np.ndarray, attribute: np.ndarray) -> pa.Table:
        kinds = zip(*self._kinds, strict=True)
        decoded = [pa.chunked_array([part.dictionary_decode() for part in kind]) for kind in kinds]
        columns = [pa.array(entity, pa.int64()), pa.array(attribute, pa.int64()), pa.chunked_array(self._values)]
        self._values, self._kinds = [], []
        return pa.table([*columns, *decoded], schema=LITERAL_SCHEMA)


def assemble(
    entities: pa.Array,
    relations: pa.Array,
    triples: list[np.ndarray],
    *,
    attributes: Iterable[str] | pa.Array = (),
    literals: pa.Table | None = None,
    aliases: pa.Array | None = None,
) -> Graph:
    """The graph with these distinct names and triples, given in parts [3, n] of positions among the names.

    Like `Graph.build`, in a third of the memory: each triple is one number until all are sorted, and the list of parts
    is emptied in the process.
    """
    release()
    graph = Graph.build(
        entities, relations, torch.empty(0, 3, dtype=torch.int64), attributes=attributes, literals=literals
    )
    order = pc.sort_indices(entities)
    if aliases is not None:
        graph = replace(graph, aliases=aliases.take(order))
    entity_rank, relation_rank = _rank(order), _rank(pc.sort_indices(relations))
    release()
    count = len(entities)
    if count * count * len(relations) >= 1 << 63:
        rows = np.concatenate(triples, axis=1).T
        triples.clear()
        built = Graph.build(entities, relations, rows)
        return replace(graph, triples=built.triples, repeated=built.repeated)
    keys = np.empty(sum(part.shape[1] for part in triples), dtype=np.int64)
    filled = len(keys)
    while triples:
        heads, codes, tails = triples.pop()
        part = keys[filled - len(heads) : filled]
        np.multiply(entity_rank[heads], len(relations), out=part)
        part += relation_rank[codes]
        part *= count
        part += entity_rank[tails]
        filled -= len(heads)
    keys.sort()
    distinct = _decoded(keys, len(relations), count)
    return replace(graph, triples=distinct, repeated=len(keys) - len(distinct))


def _decoded(keys: np.ndarray, relations: int, entities: int) -> torch.Tensor:
    """The distinct triples [n, 3] encoded by sorted keys."""
    new = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    keys = keys if new.all() else keys[new]
    rows = np.empty((len(keys), 3), dtype=np.int64)
    np.remainder(keys, entities, out=rows[:, 2])
    np.floor_divide(keys, entities, out=rows[:, 0])
    np.remainder(rows[:, 0], relations, out=rows[:, 1])
    np.floor_divide(rows[:, 0], relations, out=rows[:, 0])
    return torch.from_numpy(rows)


def _rank(order: pa.Array) -> np.ndarray:
    """The rank of each position in a sorting order."""
    rank = np.empty(len(order), dtype=np.int64)
    rank[order.to_numpy()] = np.arange(len(order))
    return rank


def release() -> None:
    """Return unused memory from Arrow to the system: after reading in parts, Arrow keeps more than it uses."""
    pa.default_memory_pool().release_unused()


def _encode(names: list[str]) -> pa.DictionaryArray:
    return pa.array(names, pa.large_string()).dictionary_encode()
