"""What people call an entity."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from emea.data import Graph
from emea.formats._selection import last_part

NAMING = ("label", "prefLabel", "name", "title")  # the last parts of attributes that hold labels, the best first
LANGUAGES = ("en", "")  # the best first; "" is no language


def labels(graph: Graph, entities: np.ndarray | None = None) -> pa.Array:
    """A label for each of some entities, or for all; null if it has none."""
    attributes = [last_part(name) for name in graph.attributes.to_pylist()]
    rank = np.array([NAMING.index(name) if name in NAMING else -1 for name in attributes], dtype=np.int64)
    table = graph.literals.filter(pa.array(rank[graph.literals["attribute"].to_numpy()] >= 0))
    columns = (table[name].to_pylist() for name in ("entity", "attribute", "language", "value"))
    best: dict[int, tuple[int, int, str, str]] = {}
    for entity, attribute, language, value in zip(*columns, strict=True):
        known = LANGUAGES.index(language) if language in LANGUAGES else len(LANGUAGES)
        own = (int(rank[attribute]), known, language, value)
        best[entity] = min(own, best.get(entity, own))
    asked = range(len(graph.entities)) if entities is None else entities.tolist()
    return pa.array([best[each][-1] if each in best else None for each in asked], pa.large_string())
