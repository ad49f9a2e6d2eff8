"""Literals as entities: a value that both graphs have becomes an entity of both, known to be the same, as in PARIS.

So encoders and rules see values as they see any other neighbour, and shared values are seeds that nobody had to give.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from emea.data import LITERAL_SCHEMA, Graph, Links, Task
from emea.settings import EvidenceSettings

DATE = re.compile(r"^(-?\d{4})-(\d{2})-(\d{2})(T.*)?$")
NUMBER = re.compile(r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
LONGEST = 2**16  # characters of a value that counts
LARGEST = 1e15  # up to this whole numbers are told apart
STRING = "s "  # begins the normal form of a string
BLOCK = 2048  # strings compared at a time


@dataclass(frozen=True, eq=False)
class Anchors:
    """Pairs of values that count as equal: always known, and never found."""

    links: Links  # the weight says how surely they are equal
    telling: Tensor  # [links] how much each tells of the entities that have it: little, if many have

    def to(self, device: torch.device) -> Anchors:
        """The same on a device."""
        return Anchors(self.links.to(device), self.telling.to(device))

    @classmethod
    def none(cls) -> Anchors:
        """No pairs."""
        return cls(Links.empty(), torch.empty(0))

    @property
    def labels(self) -> Links:
        """What an encoder shall learn from them."""
        return Links(self.links.source, self.links.target, self.links.weight * self.telling)


@dataclass(frozen=True, eq=False)
class _Values:
    """One graph's literals in normal form."""

    entity: np.ndarray  # [literals]
    attribute: np.ndarray  # [literals]
    value: np.ndarray  # [literals] position among the forms
    forms: list[str]  # distinct

    @property
    def holders(self) -> np.ndarray:
        """How many literals have each form."""
        return np.bincount(self.value, minlength=len(self.forms))


def with_values(task: Task, settings: EvidenceSettings) -> tuple[Task, Anchors]:
    """The graphs with their shared values as further entities, numbered after all others, and these as anchors."""
    sides = [_values(graph, settings) for graph in (task.source, task.target)]
    pairs, likeness = _equal_pairs(sides[0], sides[1], settings)
    graphs = [
        _extended(graph, side, used)
        for graph, side, used in zip((task.source, task.target), sides, (pairs[:, 0], pairs[:, 1]), strict=True)
    ]
    counts = [side.holders[used] for side, used in zip(sides, (pairs[:, 0], pairs[:, 1]), strict=True)]
    numbers = torch.arange(len(pairs))
    links = Links.build(
        numbers + len(task.source.entities), numbers + len(task.target.entities), torch.from_numpy(likeness)
    )
    telling = torch.from_numpy(1 / np.sqrt(counts[0] * counts[1])).float()
    return Task(graphs[0], graphs[1], task.seeds, task.validation, task.exclusions), Anchors(links, telling)


def _values(graph: Graph, settings: EvidenceSettings) -> _Values:
    """A graph's literals in normal form; those without one, or of a kind that does not count, are left out."""
    table = graph.literals
    place: dict[str, int] = {}
    rows, value = [], []
    columns = table["value"].to_pylist(), table["language"].to_pylist()
    for row, (text, language) in enumerate(zip(*columns, strict=True)):
        form = normal_form(text, language)
        if form is None or (settings.kind == "names" and not form.startswith(STRING)):
            continue
        rows.append(row)
        value.append(place.setdefault(form, len(place)))
    chosen = np.array(rows, dtype=np.int64)
    entity, attribute = (table[name].to_numpy()[chosen] for name in ("entity", "attribute"))
    return _Values(entity, attribute, np.array(value, dtype=np.int64), list(place))


def normal_form(text: str, language: str | None = None) -> str | None:
    """What equal values have in common, with a letter for its kind; None for what says nothing, or is too long.

    >>> normal_form("Côte d’Ivoire", language="fr"), normal_form("  310/246-1501 "), normal_form("1.50e1")
    ('s cote d ivoire', 's 310 246 1501', 'n 15')
    >>> normal_form("2001-02-03T04:05:06Z"), normal_form("—")
    ('d 2001-02-03', None)
    """
    if len(text) > LONGEST:
        return None
    text = text.strip()
    if not language and NUMBER.match(text):
        number = float(text)
        if not math.isfinite(number):
            return None
        return f"n {int(number)}" if number.is_integer() and abs(number) < LARGEST else f"n {number:.9g}"
    date = DATE.match(text)
    if date:
        return f"d {date[1]}-{date[2]}-{date[3]}"
    plain = unicodedata.normalize("NFKD", text).casefold()
    plain = "".join(letter if letter.isalnum() else " " for letter in plain if not unicodedata.combining(letter))
    words = " ".join(plain.split())
    return STRING + words if words else None


def _equal_pairs(first: _Values, second: _Values, settings: EvidenceSettings) -> tuple[np.ndarray, np.ndarray]:
    """Positions of forms that are equal, or strings nearest to each other, [pairs, 2], and how alike they are."""
    place = {form: number for number, form in enumerate(second.forms)}
    shared = [(number, place[form]) for number, form in enumerate(first.forms) if form in place]
    pairs = np.array(shared, dtype=np.int64).reshape(-1, 2)
    alone = [
        np.setdiff1d(np.flatnonzero([form.startswith(STRING) for form in side.forms]), taken)
        for side, taken in ((first, pairs[:, 0]), (second, pairs[:, 1]))
    ]
    near, likeness = _near_strings(first, second, alone, settings)
    pairs, likeness = np.concatenate([pairs, near]), np.concatenate([np.ones(len(pairs)), likeness])
    most = np.maximum(first.holders[pairs[:, 0]], second.holders[pairs[:, 1]])
    return pairs[most <= settings.most_holders], likeness[most <= settings.most_holders]


def _near_strings(
    first: _Values, second: _Values, alone: list[np.ndarray], settings: EvidenceSettings
) -> tuple[np.ndarray, np.ndarray]:
    """Of the strings that have no equal on the other side, pairs that are most like each other."""
    left, right = alone
    many = max(len(left), len(right)) > settings.most_strings
    if settings.kind == "literals" or many or not len(left) or not len(right):
        return np.empty((0, 2), dtype=np.int64), np.empty(0)
    grams = ngrams([first.forms[row][2:] for row in left], [second.forms[row][2:] for row in right])
    best, likeness = _nearest_rows(*grams)
    back, _ = _nearest_rows(*grams[::-1])
    rows = np.flatnonzero((back[best] == np.arange(len(best))) & (likeness >= settings.least_likeness))
    return np.stack([left[rows], right[best[rows]]], 1), likeness[rows]


def ngrams(left: Iterable[str], right: Iterable[str], size: int = 3) -> tuple[csr_matrix, csr_matrix]:
    """Both lists of strings as rows of character n-grams, weighted by their rarity in both, of length 1."""
    texts = [[f" {text} " for text in side] for side in (left, right)]
    place: dict[str, int] = {}
    row, column = [], []
    for number, text in enumerate([*texts[0], *texts[1]]):
        for start in range(max(1, len(text) - size + 1)):
            row.append(number)
            column.append(place.setdefault(text[start : start + size], len(place)))
    shape = (len(texts[0]) + len(texts[1]), len(place))
    counts = csr_matrix((np.ones(len(row)), (row, column)), shape)
    rarity = np.log((1 + shape[0]) / (1 + np.asarray((counts > 0).sum(0)).ravel())) + 1
    weighted = counts.multiply(rarity[None, :]).tocsr()
    length = np.sqrt(np.asarray(weighted.multiply(weighted).sum(1)).ravel())
    weighted = weighted.multiply(1 / length[:, None]).tocsr()
    return weighted[: len(texts[0])], weighted[len(texts[0]) :]


def _nearest_rows(queries: csr_matrix, keys: csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    """For each row of the first, the row of the second with the largest product, and that product."""
    best, likeness = [], []
    transposed = keys.T.tocsr()
    for start in range(0, queries.shape[0], BLOCK):
        products = (queries[start : start + BLOCK] @ transposed).tocsr()
        chosen = np.asarray(products.argmax(1)).ravel()
        best.append(chosen)
        likeness.append(np.asarray(products[np.arange(len(chosen)), chosen]).ravel())
    return np.concatenate(best), np.concatenate(likeness)


def _extended(graph: Graph, values: _Values, used: np.ndarray) -> Graph:
    """The graph with the used values as entities, numbered after all others, and attributes as relations to them."""
    number = np.full(len(values.forms), -1, dtype=np.int64)
    number[used] = np.arange(len(used)) + len(graph.entities)
    kept = number[values.value] >= 0
    added = np.stack(
        [values.entity[kept], values.attribute[kept] + len(graph.relations), number[values.value[kept]]], 1
    )
    names = [f'"{values.forms[form]}"' for form in used.tolist()]
    triples = torch.unique(torch.cat([graph.triples, torch.from_numpy(added)]), dim=0)
    return Graph(
        entities=pa.concat_arrays([graph.entities, pa.array(names, graph.entities.type)]),
        relations=pa.concat_arrays([graph.relations, graph.attributes]),
        triples=triples,
        attributes=graph.attributes[:0],
        literals=LITERAL_SCHEMA.empty_table(),
        values=len(used),
    )
