"""What people call an entity: its label, and its types by name."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea.data import Graph
from emea.formats._namings import TYPES, Naming, namings
from emea.order import unique_numbers

LANGUAGES = ("en", "")  # "" is no language
SAMPLE = 20  # labels by which the script of a language is told
LAST = r"^.*[/#:]([^/#:]+)[/#:]*$"
BREAKS = r" *[\t\n\v\f\r\x{85}\x{2028}\x{2029}][ \t\n\v\f\r\x{85}\x{2028}\x{2029}]*"


def labels(graph: Graph, entities: np.ndarray | None = None, languages: Sequence[str] = LANGUAGES) -> pa.Array:
    """A label on one line for each of some entities, or for all; null if it has none.

    The best attribute counts first, then the language in this order, others with Latin letters and frequent ones first,
    then the shortest label. Of people whose names come in parts it is the first and the last name together.
    """
    found = [_joined([_best(graph, each, entities, languages) for each in parts]) for parts in _found(graph)]
    return pc.coalesce(*found)


def labelled(graph: Graph, label: str) -> np.ndarray:
    """The entities that have this label in some language, upper and lower case alike."""
    found_by, wanted = _found(graph), label.strip().lower()
    naming = pa.array(found_by[0][0].ranks(graph.literals) >= 0)
    same = pc.equal(pc.utf8_lower(pc.utf8_trim_whitespace(graph.literals["value"])), wanted)
    found = graph.literals["entity"].filter(pc.and_(naming, same)).to_numpy()
    if len(found_by) > 1:
        joined = pc.index_in(pc.utf8_lower(labels(graph)), pa.array([wanted], pa.large_string()))
        found = np.append(found, np.flatnonzero(joined.is_valid().to_numpy(zero_copy_only=False)))
    return unique_numbers(found)


def types(graph: Graph, entities: np.ndarray | None = None) -> pa.Array:
    """The last parts of the names of the types of some entities, or of all, sorted and joined by |; null if it has
    none."""
    head, relation, tail = graph.triples.numpy().T
    of_type = pc.is_in(graph.relations, pa.array(TYPES, pa.large_string())).to_numpy(zero_copy_only=False)
    rows = of_type[relation]
    if entities is not None:
        wanted = np.zeros(len(graph.entities), dtype=bool)
        wanted[entities] = True
        rows &= wanted[head]
    classes, number = np.unique(tail[rows], return_inverse=True)
    parts = last_parts(graph.entities.take(pa.array(classes)))
    names = pc.unique(parts).take(pc.sort_indices(pc.unique(parts)))
    name = pc.index_in(parts, names).to_numpy()[number.ravel()]
    held = unique_numbers(head[rows] * max(len(names), 1) + name)
    typed, start = np.unique(held // max(len(names), 1), return_index=True)
    ends = pa.array(np.append(start, len(held)), pa.int32())
    lists = pa.ListArray.from_arrays(ends, names.take(pa.array(held % max(len(names), 1))))
    return _of_each(graph, entities, typed, pc.binary_join(lists, pa.scalar("|", pa.large_string())))


def last_parts(names: pa.Array) -> pa.Array:
    """What follows the last slash, hash or colon of each name.

    >>> last_parts(pa.array(["http://ex.org/City", "http://ex.org/ns#River/", "plain"])).to_pylist()
    ['City', 'River', 'plain']
    """
    return pc.replace_substring_regex(names, LAST, r"\1")


def last_part(name: str) -> str:
    """The same of one name, quicker than by an array.

    >>> last_part("http://ex.org/ns#River/")
    'River'
    """
    return re.sub(LAST, r"\1", name)


def one_line(texts: pa.Array) -> pa.Array:
    """The texts with a space for tabs and line breaks.

    >>> one_line(pa.array(["two\\n\\tlines "])).to_pylist()
    ['two lines']
    """
    return pc.utf8_trim_whitespace(pc.replace_substring_regex(texts, BREAKS, " "))


def _found(graph: Graph) -> list[tuple[Naming, ...]]:
    return namings(graph, last_parts(graph.attributes))


def _best(graph: Graph, naming: Naming, entities: np.ndarray | None, languages: Sequence[str]) -> pa.Array:
    """The label for each entity by the attributes that name it."""
    wanted = np.ones(len(graph.entities), dtype=bool)
    if entities is not None:
        wanted[:] = False
        wanted[entities] = True
    held = (naming.ranks(graph.literals) >= 0) & wanted[graph.literals["entity"].to_numpy()]
    table = graph.literals.drop_columns("datatype").filter(pa.array(held))
    table = table.filter(pc.match_substring_regex(table["value"], r"\S")).combine_chunks()
    entity, rank = table["entity"].to_numpy(), naming.ranks(table)
    value = _single(table["value"])
    language = _language_ranks(_single(table["language"]), value, languages)
    key = ((rank * (1 + language.max(initial=0)) + language) << 32) + pc.utf8_length(value).to_numpy()
    best = np.full(len(graph.entities), np.iinfo(np.int64).max)
    np.minimum.at(best, entity, key)
    rows = np.flatnonzero(key == best[entity])
    by_text = pa.table({"entity": entity[rows], "value": value.take(pa.array(rows))})
    rows = rows[pc.sort_indices(by_text, [("entity", "ascending"), ("value", "ascending")]).to_numpy()]
    named, first = np.unique(entity[rows], return_index=True)
    return _of_each(graph, entities, named, one_line(value.take(pa.array(rows[first]))))


def _language_ranks(column: pa.Array, value: pa.Array, preferred: Sequence[str]) -> np.ndarray:
    """How welcome the language of each row is, [rows], 0 the most."""
    encoded = pc.dictionary_encode(column)
    names, code = encoded.dictionary.to_pylist(), encoded.indices.to_numpy()
    count, order = np.bincount(code, minlength=len(names)), np.argsort(code, kind="stable")
    first = np.cumsum(count) - count

    def place(number: int) -> tuple[int, bool, bool, int, str]:
        name = names[number].lower()
        family = name.partition("-")[0]  # en-gb is English, too
        if family in preferred:
            return preferred.index(family), name != family, False, 0, name
        sample = value.take(pa.array(order[first[number] :][: min(SAMPLE, count[number])]))
        latin = sum(pc.match_substring_regex(sample, r"\p{Latin}").to_pylist())
        return len(preferred), False, 2 * latin < len(sample), -int(count[number]), name

    rank = np.empty(len(names), dtype=np.int64)
    rank[sorted(range(len(names)), key=place)] = np.arange(len(names))
    ranks: np.ndarray = rank[code]
    return ranks


def _joined(parts: list[pa.Array]) -> pa.Array:
    """The texts of each row with spaces between them; the first there is where one is missing, null if all are."""
    return pc.coalesce(pc.binary_join_element_wise(*parts, pa.scalar(" ", pa.large_string())), *parts)


def _single(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _of_each(graph: Graph, entities: np.ndarray | None, told: np.ndarray, texts: pa.Array) -> pa.Array:
    """The texts told of some entities, for each of those asked for, or for all; null for others."""
    place = np.full(len(graph.entities), -1, dtype=np.int64)
    place[told] = np.arange(len(told))
    place = place if entities is None else place[entities]
    return texts.cast(pa.large_string()).take(pa.array(place, mask=place < 0))
