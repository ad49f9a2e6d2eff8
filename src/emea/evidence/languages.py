"""Values in languages that the other graph does not have. They find nothing there, and entities that share one look
alike within their graph (Arena and Stadium are one word in Greek), although they do not between the graphs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea.data import Graph
from emea.evidence.values import normal_form

MOST = 20_000  # values of a language that are looked for
FEWEST = 10  # of the values of some language that the other graph has, at least
SELDOM = 0.05  # share of a foreign language's values that it has, at most, of the share of that language


def understood(first: Graph, second: Graph) -> tuple[Graph, Graph]:
    """Both graphs without values in languages that the other one does not have, where the entity has the same attribute
    in another language."""
    return _understood(first, second), _understood(second, first)


def _understood(graph: Graph, other: Graph) -> Graph:
    spoken = _languages(graph)
    foreign = _foreign(graph, spoken, other)
    if not foreign:
        return graph
    strange = pc.is_in(spoken, pa.array(foreign, pa.large_string())).to_numpy(zero_copy_only=False)
    entity, attribute = (graph.literals[name].to_numpy() for name in ("entity", "attribute"))
    key = entity.astype(np.int64) * len(graph.attributes) + attribute
    return replace(graph, literals=graph.literals.filter(pa.array(~(strange & np.isin(key, key[~strange])))))


def _foreign(graph: Graph, spoken: pa.Array, other: Graph) -> list[str]:
    """The languages of a graph that the other does not name, and has hardly any value of, next to another language."""
    languages = [each for each in pc.unique(spoken).to_pylist() if each]
    strange = sorted({*languages} - {*pc.unique(_languages(other)).to_pylist()})
    if not strange or len(pc.unique(spoken)) < 2:
        return []
    held = {normal_form(text, "-") for text in pc.unique(other.literals["value"]).to_pylist()}
    found = {}
    for language in ("", *languages):
        texts = pc.unique(graph.literals["value"].filter(pc.equal(spoken, language))).to_pylist()
        texts = texts[:: 1 + len(texts) // MOST]
        found[language] = sum(normal_form(text, "-") in held for text in texts), max(1, len(texts))
    best = max((shared / count for shared, count in found.values() if shared >= FEWEST), default=0.0)
    return [each for each in strange if found[each][0] / found[each][1] < SELDOM * best]


def _languages(graph: Graph) -> pa.Array:
    """The language of each literal without its region, [literals]; empty where none is said."""
    language = graph.literals["language"].combine_chunks().cast(pa.large_string()).fill_null("")
    found: pa.Array = pc.replace_substring_regex(language, "-.*$", "")
    return found
