"""Collects the columns of a graph while a file is read, and makes the graph of them once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from emea.data import LITERAL_SCHEMA, Graph

STRING = "http://www.w3.org/2001/XMLSchema#string"
LANGUAGE_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
CHUNK = 1 << 16  # rows held as Python strings before they are packed into arrow


@dataclass
class Rows:
    """Rows as a reader brings them."""

    heads: list[str] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)
    tails: list[str] = field(default_factory=list)
    described: list[str] = field(default_factory=list)  # the entities that literals are about
    attributes: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    datatypes: list[str] = field(default_factory=list)
    languages: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Packed:
    """The same rows as arrow arrays, each name stored once."""

    triples: int
    literals: int
    ends: pa.DictionaryArray  # heads, tails, described entities, then entities without a row
    relations: pa.DictionaryArray
    attributes: pa.DictionaryArray
    datatypes: pa.DictionaryArray
    languages: pa.DictionaryArray
    values: pa.Array


class GraphColumns:
    """The columns of a graph that is being read."""

    def __init__(self) -> None:
        self.rows = Rows()
        self._packed: list[_Packed] = []

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

    def build(self, mentioned: Iterable[str] = (), rename: Callable[[pa.Array], pa.Array] | None = None) -> Graph:
        """The graph, with entities `mentioned` beside those of the rows, and names replaced by `rename` where given."""
        self.pack(mentioned)
        entities, ends = _unify([part.ends for part in self._packed])
        relations, relation_codes = _unify([part.relations for part in self._packed])
        attributes, attribute_codes = _unify([part.attributes for part in self._packed])
        triples, described = [], []
        for part, codes in zip(self._packed, ends, strict=True):
            heads, tails, subjects, _ = np.split(codes, np.cumsum([part.triples, part.triples, part.literals]))
            triples.append((heads, tails))
            described.append(subjects)
        heads, tails = (np.concatenate(column) for column in zip(*triples, strict=True))
        return Graph.build(
            entities=entities if rename is None else rename(entities),
            relations=relations,
            triples=np.stack([heads, np.concatenate(relation_codes), tails], axis=1),
            attributes=attributes,
            literals=self._literals(np.concatenate(described), np.concatenate(attribute_codes)),
        )

    def pack(self, mentioned: Iterable[str] = ()) -> None:
        """Turn the rows so far into arrow arrays, and start with none."""
        rows, self.rows = self.rows, Rows()
        packed = _Packed(
            triples=len(rows.heads),
            literals=len(rows.values),
            ends=_encode([*rows.heads, *rows.tails, *rows.described, *mentioned]),
            relations=_encode(rows.relations),
            attributes=_encode(rows.attributes),
            datatypes=_encode(rows.datatypes),
            languages=_encode(rows.languages),
            values=pa.array(rows.values, pa.large_string()),
        )
        self._packed.append(packed)

    def _literals(self, entity: np.ndarray, attribute: np.ndarray) -> pa.Table:
        decoded = [
            pa.chunked_array([getattr(part, name).dictionary_decode() for part in self._packed])
            for name in ("datatypes", "languages")
        ]
        values = pa.chunked_array([part.values for part in self._packed])
        columns = [pa.array(entity, pa.int64()), pa.array(attribute, pa.int64()), values, *decoded]
        return pa.table(columns, schema=LITERAL_SCHEMA)


def _encode(names: list[str]) -> pa.DictionaryArray:
    return pa.array(names, pa.large_string()).dictionary_encode()


def _unify(parts: list[pa.DictionaryArray]) -> tuple[pa.Array, list[np.ndarray]]:
    """All names of the parts, each once, and for each part the positions of its rows in them."""
    chunks = pa.chunked_array(parts).unify_dictionaries().chunks
    return chunks[0].dictionary, [chunk.indices.to_numpy() for chunk in chunks]
