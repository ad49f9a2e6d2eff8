"""The entities of one graph as cards show them: labels, types, values and neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea.data import Graph
from emea.formats._labels import last_parts, types
from emea.formats._namings import TYPES
from emea.order import place_of
from emea.review.tables import FOUND, page_of
from emea.runs.wording import Called

MOST = 40  # values, and neighbours, of an entity that are shown
LONGEST = 300  # characters of a value
Counterpart = Callable[[str], str | None]  # of a name, that of the entity it is linked to


class Entities:
    """Those of one graph."""

    def __init__(self, graph: Graph, called: Called) -> None:
        self.graph, self.called = graph, called
        triples = graph.triples.numpy()
        typing = pc.is_in(graph.relations, pa.array(TYPES, pa.large_string())).to_numpy(zero_copy_only=False)
        self.triples = triples[~typing[triples[:, 1]]] if typing.any() else triples  # types are shown by themselves
        self._by_tail = np.argsort(self.triples[:, 2], kind="stable")
        entity, self._held = (graph.literals[column].to_numpy() for column in ("entity", "attribute"))
        self._literals, self._values_held = np.argsort(entity, kind="stable"), graph.literals["value"].combine_chunks()
        self._heads, self._tails, self._holders = (  # where the rows of each entity begin
            np.append(0, np.cumsum(np.bincount(column, minlength=len(graph.entities))))
            for column in (self.triples[:, 0], self.triples[:, 2], entity)
        )
        self._relations, self._attributes = (
            last_parts(names).to_pylist() for names in (graph.relations, graph.attributes)
        )

    @cached_property
    def types(self) -> pa.Array:
        """The types of each entity by name, joined by |, null if it has none, [entities]."""
        return types(self.graph)

    @cached_property
    def relations(self) -> list[tuple[str, int]]:
        """Relations by name with how often they occur, the most frequent first."""
        names = self.graph.relations.to_pylist()
        counts = Counter(dict(zip(names, np.bincount(self.triples[:, 1], minlength=len(names)).tolist(), strict=True)))
        return [(name, count) for name, count in counts.most_common() if count]

    def warm(self) -> None:
        """Prepare what the first card, choice or search would wait for."""
        self.shown(self.graph.entities[0].as_py(), lambda _: None)
        self.search("x")
        self.relations  # noqa: B018 - computed once

    def number(self, name: str) -> int | None:
        """Which entity has this name."""
        return place_of(name, self.graph.entities)

    def shown(self, name: str, counterpart: Counterpart) -> dict[str, Any] | None:
        """All that a card shows of an entity; None if the graph has none of this name."""
        entity = self.number(name)
        if entity is None:
            return None
        kinds = (self.types[entity].as_py() or "").split("|")
        return {
            "name": name,
            "label": self.called.label(entity),
            "types": [each for each in kinds if each],
            "values": self._values(entity),
            "neighbours": self._neighbours(entity, counterpart),
            "link": page_of(name),
        }

    def search(self, text: str) -> list[dict[str, str]]:
        """The entities whose name or label has a text, upper and lower case alike, the shortest first."""
        wanted = text.strip().lower()
        if not wanted:
            return []
        rows = np.flatnonzero(pc.match_substring(self._texts, wanted).to_numpy(zero_copy_only=False))
        order = np.argsort(pc.binary_length(self._texts.take(pa.array(rows))).to_numpy(), kind="stable")[:FOUND]
        names = self.graph.entities.take(pa.array(rows[order])).to_pylist()
        return [
            {"name": name, "label": self.called.label(entity)}
            for name, entity in zip(names, rows[order].tolist(), strict=True)
        ]

    @cached_property
    def _texts(self) -> pa.Array:
        """Label and name of each entity in lower case, [entities]."""
        labels = pa.array([self.called.label(entity) for entity in range(len(self.graph.entities))], pa.large_string())
        both = pc.binary_join_element_wise(labels, self.graph.entities, pa.scalar("\n", pa.large_string()))
        return pc.utf8_lower(both)

    def _values(self, entity: int) -> list[dict[str, str]]:
        first, last = self._holders[entity : entity + 2]
        rows = self._literals[first : min(last, first + MOST)]
        values = self._values_held.take(pa.array(rows)).to_pylist()
        return [
            {"attribute": self._attributes[attribute], "value": _cut(value)}
            for attribute, value in zip(self._held[rows].tolist(), values, strict=True)
        ]

    def _neighbours(self, entity: int, counterpart: Counterpart) -> list[dict[str, Any]]:
        first, last = self._heads[entity : entity + 2]
        there = [(row[1], row[2], False) for row in self.triples[first : min(last, first + MOST)].tolist()]
        first, last = self._tails[entity : entity + 2]
        back = self.triples[self._by_tail[first : min(last, first + MOST)]].tolist()
        found = [*there, *((relation, head, True) for head, relation, _ in back)][:MOST]
        names = self.graph.entities.take(pa.array([other for _, other, _ in found], pa.int64())).to_pylist()
        return [
            {
                "relation": self._relations[relation],
                "name": name,
                "label": self.called.label(other),
                "inverse": inverse,
                "counterpart": counterpart(name),
            }
            for (relation, other, inverse), name in zip(found, names, strict=True)
        ]


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
