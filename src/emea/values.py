"""Literals as entities: a value that both graphs have becomes an entity of both, known to be the same, as in PARIS.

So encoders and rules see values as they see any other neighbour, and shared values are seeds that nobody had to give.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from emea.data import LITERAL_SCHEMA, Claims, Graph, Links, Task
from emea.names import alike, local_names
from emea.settings import EvidenceSettings

ACCENT = re.compile("[\u0300-\u036f]")  # of Latin, Greek and Cyrillic letters; marks of other scripts are letters
DATE = re.compile(r"^(-?\d{4})-(\d{2})-(\d{2})(T.*|Z|[+-]\d{2}:\d{2})?$")
NUMBER = re.compile(r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
WHOLE = re.compile(r"^(?:\+|(-))?0*(\d+)$")
LONGEST = 2**16  # characters of a value that counts
LARGEST = 1e15  # up to this numbers with a point or an exponent can be told to be whole
STRING, NUMBER_FORM, DAY = "s ", "n ", "d "  # begin the normal forms of strings, numbers and days
SHOWN = 40  # characters of a value that is named
XSD = "http://www.w3.org/2001/XMLSchema#"
DATES = ("date", "dateTime")
NUMBERS = ("integer", "int", "long", "short", "decimal", "float", "double", "nonNegativeInteger", "positiveInteger")
NO_NUMBERS = ("INF", "+INF", "-INF", "NaN")  # which XSD counts among them
NOTHING_SHARED = (
    "there are no known pairs, and the graphs share no value: expected pairs by --seeds, or names, labels or "
    "identifiers in both graphs; --local-names takes what URIs end in as names"
)
LOCAL_NAME = "local name"  # the attribute under which names of URIs count


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
    attributes: pa.Array  # their names
    odd: dict[str, list[str]]  # what is wrong with values → those it is wrong with

    @cached_property
    def holders(self) -> np.ndarray:
        """How many entities have each form."""
        held = np.unique(np.stack([self.entity, self.value], 1), axis=0)
        return np.bincount(held[:, 1], minlength=len(self.forms))

    def others(self, kind: str, taken: np.ndarray) -> np.ndarray:
        """Positions of the forms of a kind that are not taken."""
        return np.setdiff1d(np.flatnonzero([form.startswith(kind) for form in self.forms]), taken)


def with_values(task: Task, settings: EvidenceSettings) -> tuple[Task, Anchors]:
    """The graphs with their shared values as further entities, numbered after all others, and these as anchors; the
    graphs as they are where values do not count."""
    if not settings.counts_values:
        return task, Anchors.none()
    source, target, anchors, _ = _joined(task.source, task.target, settings)
    return Task(source, target, task.seeds, task.validation, task.exclusions), anchors


def odd_values(task: Task, settings: EvidenceSettings) -> list[str]:
    """One sentence for each kind of value that is not what it says it is."""
    sentences = []
    for side, odd in zip(("source", "target"), _joined(task.source, task.target, settings)[3], strict=True):
        for fault, values in odd.items():
            shown = values[0] if len(values[0]) <= SHOWN else f"{values[0][:SHOWN]}…"
            sentences.append(f"values of the {side} graph {fault}: {len(values):,}, such as '{shown}'")
    return sentences


@lru_cache(maxsize=1)  # a run asks several times for the same graphs
def _joined(
    source: Graph, target: Graph, settings: EvidenceSettings
) -> tuple[Graph, Graph, Anchors, tuple[dict[str, list[str]], ...]]:
    sides = [_values(graph, settings) for graph in (source, target)]
    equal, alike = _equal_pairs(sides[0], sides[1], settings)
    most = np.maximum(sides[0].holders[equal[:, 0]], sides[1].holders[equal[:, 1]])
    pairs, likeness = equal[most <= settings.most_holders], alike[most <= settings.most_holders]
    used = pairs[:, 0], pairs[:, 1]
    numbers, counts = torch.arange(len(pairs)), [side.holders[own] for side, own in zip(sides, used, strict=True)]
    links = Links.build(numbers + len(source.entities), numbers + len(target.entities), torch.from_numpy(likeness))
    telling = torch.from_numpy(1 / np.sqrt(counts[0] * counts[1])).float()
    wide = [
        _extended(graph, side, own, _claims(side, equal[:, place], alike, len(graph.entities) + len(own)))
        for place, (graph, side, own) in enumerate(zip((source, target), sides, used, strict=True))
    ]
    return wide[0], wide[1], Anchors(links, telling), tuple(side.odd for side in sides)


def _values(graph: Graph, settings: EvidenceSettings) -> _Values:
    """A graph's literals in normal form; those without one, or of a kind that does not count, are left out."""
    table = graph.literals
    columns = [table[name].to_pylist() for name in ("entity", "attribute", "value", "datatype", "language")]
    rows: Iterable[tuple[int, int, str, str | None, str | None]] = zip(*columns, strict=True)
    attributes = graph.attributes
    if settings.local_names:
        own = enumerate(local_names(graph.entities))
        rows = chain(rows, ((entity, len(graph.attributes), name, None, "") for entity, name in own if name))
        attributes = pa.concat_arrays([attributes, pa.array([LOCAL_NAME], attributes.type)])
    place: dict[str, int] = {}
    found: list[tuple[int, int, int]] = []
    odd: dict[str, list[str]] = {}
    for entity, attribute, text, datatype, language in rows:
        form = normal_form(text, language)
        fault = _fault(text, datatype, form)
        if fault is not None:
            odd.setdefault(fault, []).append(text)
        if form is not None and (settings.kind != "names" or form.startswith(STRING)):
            found.append((entity, attribute, place.setdefault(form, len(place))))
    numbers = np.array(found, dtype=np.int64).reshape(-1, 3)
    return _Values(numbers[:, 0], numbers[:, 1], numbers[:, 2], list(place), attributes, odd)


def _fault(text: str, datatype: str | None, form: str | None) -> str | None:
    """What a value is, where it is not what its datatype says; such a value counts as the text that it is."""
    if len(text) > LONGEST:
        return f"that are longer than {LONGEST:,} characters and do not count"
    kind = (datatype or "").removeprefix(XSD)
    if kind in DATES and not (form or "").startswith(DAY):
        return "that are said to be dates, are none, and count as text"
    if kind in NUMBERS and not (form or "").startswith(NUMBER_FORM) and text.strip() not in NO_NUMBERS:
        return "that are said to be numbers, are none, and count as text"
    return None


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
        if (whole := WHOLE.match(text)) and number:  # digits say more than a float can: think of long identifiers
            return f"{NUMBER_FORM}{whole[1] or ''}{whole[2]}"
        return NUMBER_FORM + (str(int(number)) if number.is_integer() and abs(number) < LARGEST else f"{number:.9g}")
    day = DATE.match(text)
    if day and 1 <= int(day[2]) <= 12 and 1 <= int(day[3]) <= 31:
        return f"{DAY}{day[1]}-{day[2]}-{day[3]}"
    plain = unicodedata.normalize("NFKD", text).casefold()
    plain = "".join(letter if _in_word(letter) else " " for letter in plain if not ACCENT.match(letter))
    words = " ".join(unicodedata.normalize("NFC", plain).split())
    return STRING + words if words else None


def _in_word(letter: str) -> bool:
    """Whether it is part of a word: a letter, a digit, or a mark such as the vowel signs of Indic scripts."""
    return letter.isalnum() or unicodedata.category(letter).startswith("M")


def _equal_pairs(first: _Values, second: _Values, settings: EvidenceSettings) -> tuple[np.ndarray, np.ndarray]:
    """Positions of forms that are equal, or near each other, [pairs, 2], and how alike they are."""
    place = {form: number for number, form in enumerate(second.forms)}
    shared = [(number, place[form]) for number, form in enumerate(first.forms) if form in place]
    equal = np.array(shared, dtype=np.int64).reshape(-1, 2)
    found = [(equal, np.ones(len(equal)))]
    for kind, near in ((STRING, _near_strings), (NUMBER_FORM, _near_numbers)):
        left, right = first.others(kind, equal[:, 0]), second.others(kind, equal[:, 1])
        texts = [
            [side.forms[row].removeprefix(kind) for row in rows] for side, rows in ((first, left), (second, right))
        ]
        if len(left) and len(right):
            pairs, likeness = near(texts[0], texts[1], settings)
            found.append((np.stack([left[pairs[:, 0]], right[pairs[:, 1]]], 1), likeness))
    pairs, likeness = (np.concatenate(column) for column in zip(*found, strict=True))
    return pairs, likeness


def _near_strings(left: list[str], right: list[str], settings: EvidenceSettings) -> tuple[np.ndarray, np.ndarray]:
    """Strings that are most like each other, where names count and there are not too many."""
    if settings.kind == "literals" or max(len(left), len(right)) > settings.most_strings:
        return np.empty((0, 2), dtype=np.int64), np.empty(0)
    return alike(left, right, settings)


def _near_numbers(left: list[str], right: list[str], settings: EvidenceSettings) -> tuple[np.ndarray, np.ndarray]:
    """Numbers that are nearest to each other, within the tolerance, unless both are whole: those are counted, not
    measured."""
    first, second = (np.array(side, dtype=np.float64) for side in (left, right))
    nearest, back = _nearest_number(first, second), _nearest_number(second, first)
    rows = np.flatnonzero(back[nearest] == np.arange(len(first)))
    one, other = first[rows], second[nearest[rows]]
    apart = np.abs(one - other) / np.maximum(np.abs(one), np.abs(other))
    kept = (apart <= settings.tolerance) & ((one % 1 != 0) | (other % 1 != 0))
    rows, apart = rows[kept], apart[kept]
    return np.stack([rows, nearest[rows]], 1), 1 - apart / (2 * settings.tolerance)


def _nearest_number(of: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Position of the number nearest to each, [numbers]."""
    order = np.argsort(among, kind="stable")
    place = np.searchsorted(among[order], of).clip(1, max(1, len(among) - 1))
    pair = np.stack([place - 1, np.minimum(place, len(among) - 1)])
    side = np.abs(among[order][pair] - of).argmin(0)
    nearest: np.ndarray = order[pair[side, np.arange(len(of))]]
    return nearest


def _claims(values: _Values, equal: np.ndarray, alike_to_it: np.ndarray, entities: int) -> Claims:
    """A graph's literals, those equal to some of the other graph's by the number of the pair."""
    number, alike = np.full(len(values.forms), -1, dtype=np.int64), np.zeros(len(values.forms))
    number[equal], alike[equal] = np.arange(len(equal)), alike_to_it
    entity, attribute = torch.from_numpy(values.entity), torch.from_numpy(values.attribute)
    value, likeness = torch.from_numpy(number[values.value]), torch.from_numpy(alike[values.value])
    return Claims(entity, attribute, value, likeness, entities, max(1, len(values.attributes)), max(1, len(equal)))


def _extended(graph: Graph, values: _Values, used: np.ndarray, claims: Claims) -> Graph:
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
        relations=pa.concat_arrays([graph.relations, values.attributes]),
        triples=triples,
        attributes=graph.attributes[:0],
        literals=LITERAL_SCHEMA.empty_table(),
        values=len(used),
        claims=claims,
    )
