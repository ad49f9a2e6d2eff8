"""Collects the columns of a graph while a file is read, then builds the graph from them in little memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from emea.data import LITERAL_SCHEMA, Graph
from emea.order import sort_names

STRING = "http://www.w3.org/2001/XMLSchema#string"
LANGUAGE_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
LiteralColumns: TypeAlias = tuple[
    pa.DictionaryArray, pa.DictionaryArray, pa.Array, pa.DictionaryArray, pa.DictionaryArray
]
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

    def triples(self) -> tuple[pa.DictionaryArray, pa.DictionaryArray]:
        """All heads and after them all tails, and the relations."""
        return _encode([*self.heads, *self.tails]), _encode(self.relations)

    def literals(self) -> LiteralColumns:
        """Entities, attributes, values, datatypes and languages."""
        names, kinds = (self.described, self.attributes), (self.datatypes, self.languages)
        return *map(_encode, names), pa.array(self.values, pa.large_string()), *map(_encode, kinds)


class DistinctNames:
    """A column of names: each distinct name stored once, and its position for each row."""

    def __init__(self) -> None:
        self._known = pa.array([], pa.large_string())
        self._codes: list[np.ndarray] = []
        self._parts: list[pa.DictionaryArray] = []  # not yet merged into the known names
        self._waiting = 0  # names in the parts, including those repeated between parts

    def add(self, part: pa.DictionaryArray) -> None:
        """Add rows."""
        self._parts.append(part)
        self._waiting += len(part.dictionary)
        if self._waiting > max(CHUNK, 2 * len(self._known)):  # so that merging takes time proportional to the rows
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
        self._of_triples: list[bool] = []  # whether each part is of triples or of literals
        self._ends = DistinctNames()  # for each part: heads and then tails, or described entities
        self._relations = DistinctNames()
        self._attributes = DistinctNames()
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
        if rows.heads:
            self.add_triples(*rows.triples())
        if rows.values:
            self.add_literals(*rows.literals())

    def add_triples(self, ends: pa.DictionaryArray, relations: pa.DictionaryArray) -> None:
        """Add many triples between entities, [rows]: all heads and after them all tails, and the relations."""
        self._of_triples.append(True)
        self._ends.add(ends)
        self._relations.add(relations)

    def add_literals(
        self,
        entities: pa.DictionaryArray,
        attributes: pa.DictionaryArray,
        values: pa.Array,
        datatypes: pa.DictionaryArray,
        languages: pa.DictionaryArray,
    ) -> None:
        """Add many triples from entities to literals, [rows]."""
        self._of_triples.append(False)
        self._ends.add(entities)
        self._attributes.add(attributes)
        self._values.append(values)
        self._kinds.append((datatypes, languages))

    def build(self, rename: Callable[[pa.Array], pa.Array] | None = None) -> Graph:
        """The graph; `rename` replaces the entity names."""
        self.pack()
        entities, ends = self._ends.finish()
        relations, relation_codes = self._relations.finish()
        attributes, attribute_codes = self._attributes.finish()
        parts = list(zip(ends, self._of_triples, strict=True))
        heads_and_tails = (codes.reshape(2, -1) for codes, of_triples in parts if of_triples)
        triples = [
            np.stack([head, relation, tail])
            for (head, tail), relation in zip(heads_and_tails, relation_codes, strict=True)
        ]
        literals = self._literals([codes for codes, of_triples in parts if not of_triples], attribute_codes)
        del ends, relation_codes, attribute_codes, parts
        names = entities if rename is None else rename(entities)
        return assemble(names, relations, triples, attributes=attributes, literals=literals)

    def _literals(self, entities: list[np.ndarray], attributes: list[np.ndarray]) -> pa.Table:
        if not entities:
            return LITERAL_SCHEMA.empty_table()
        kinds = zip(*self._kinds, strict=True)
        decoded = [pa.chunked_array([part.dictionary_decode() for part in kind]) for kind in kinds]
        numbers = [pa.array(np.concatenate(codes), pa.int64()) for codes in (entities, attributes)]
        columns = [*numbers, pa.chunked_array(self._values), *decoded]
        self._values, self._kinds = [], []
        return pa.table(columns, schema=LITERAL_SCHEMA)


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
    names, entity_rank, order = sort_names(entities)
    relation_names, relation_rank, _ = sort_names(relations)
    if literals is not None:
        literals = literals.set_column(0, "entity", pa.array(entity_rank[literals["entity"].to_numpy()]))
    nothing = torch.empty(0, 3, dtype=torch.int64)
    graph = Graph.build(names, relation_names, nothing, attributes=attributes, literals=literals)
    if aliases is not None:
        graph = replace(graph, aliases=aliases.take(order))
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


def release() -> None:
    """Return unused memory from Arrow to the system: after reading in parts, Arrow keeps more than it uses."""
    pa.default_memory_pool().release_unused()


def _encode(names: list[str]) -> pa.DictionaryArray:
    return pa.array(names, pa.large_string()).dictionary_encode()


def unique_ends(names: pa.Array) -> pa.Array:
    """Of names such as table/id what follows the table, where no other name has the same; null elsewhere.

    >>> unique_ends(pa.array(["a/1", "a/2", "b/2", "b"])).to_pylist()
    ['1', None, None, None]
    """
    ends = pc.if_else(pc.match_substring(names, "/"), pc.replace_substring_regex(names, "^[^/]*/", ""), None)
    counts = pc.value_counts(ends)
    once = counts.field("values").filter(pc.equal(counts.field("counts"), 1))
    return pc.if_else(pc.is_in(ends, once.drop_null()), ends, None)
