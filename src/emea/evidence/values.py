"""Literals in normal form, and which values of two graphs are equal or nearly so."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea.data import Graph
from emea.evidence.names import CAMEL, alike, local_names
from emea.evidence.words import Words
from emea.kernels.ranges import distinct
from emea.settings import EvidenceSettings

ACCENT = re.compile("[\u0300-\u036f]")  # of Latin, Greek and Cyrillic; marks of other scripts count as letters
MARKED = re.compile(r"(?<=[\w+])[+#](?!\w)")  # a sign at the end of a word: C++, C#, Canal+
SIGNS = {"+": " plus", "#": " sharp"}
APART = re.compile("[^0-9a-z]+")  # what stands between words of ASCII, in lower case
Meanings = Mapping[int, Mapping[str, str]]  # attribute → value → what it stands for, in normal form
DATE = re.compile(r"^(-?\d{4})-(\d{2})-(\d{2})(T.*|Z|[+-]\d{2}:\d{2})?$")
NUMBER = re.compile(r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
SCHEME = re.compile(r"^(?:https?|ftp)://(?:www\.)?", re.IGNORECASE)  # which two of one address often differ in
WHOLE = re.compile(r"^(?:\+|(-))?0*(\d+)$")
TOGETHER, SPACE = r"^[A-Z]*[a-z]+([A-Z]+[a-z]+)+$", r"\s"
OFTEN, SELDOM = 0.2, 0.05  # share of an attribute's values written like birthDate at least, and with spaces at most
CODE = re.compile(r"^[^\s\d]*\d\S*( [^\s\d]*\d\S*)*$")  # words that all have digits
LONGEST = 2**16  # most characters of a value that counts
LARGEST = 1e15  # up to this, numbers with a point or an exponent can be recognised as integers
STRING, NUMBER_FORM, DAY = "s ", "n ", "d "  # prefixes of the normal forms of strings, numbers and days
SHOWN = 40  # characters of a value shown in a message
# What stands in cells that are empty, in English, German, French, Spanish and Italian. Not "na", which is a code of a
# country and of an element.
NOTHING = frozenset(
    STRING + words
    for words in (
        *("n a", "null", "nan", "nil", "unknown", "not available", "not applicable", "not specified", "missing", "tbd"),
        *("k a", "unbekannt", "keine angabe", "inconnu", "non renseigne", "desconocido", "sin datos", "sconosciuto"),
    )
)
AGAIN = 3  # entities that have such a value in an attribute: what one or two have may be a name
XSD = "http://www.w3.org/2001/XMLSchema#"
DATES = ("date", "dateTime")
NUMBERS = ("integer", "int", "long", "short", "decimal", "float", "double", "nonNegativeInteger", "positiveInteger")
NO_NUMBERS = ("INF", "+INF", "-INF", "NaN")  # valid in XSD, but without a normal form as numbers
IRI_FORM = "i "  # prefix of an IRI that both graphs use
LOCAL_NAME, IRI = "local name", "IRI"  # the attributes that hold the local names of URIs, and the URIs of both graphs


class Forms(list[str]):
    """Values in normal form."""

    @cached_property
    def words(self) -> Words:
        """The words of the strings among them; the other values have none."""
        return Words.read(form.removeprefix(STRING) if form.startswith(STRING) else "" for form in self)

    @cached_property
    def reordered(self) -> list[str]:
        """The same with the distinct words of each string sorted."""
        return [" ".join(sorted({*words})) or form for words, form in zip(self.words, self, strict=True)]


@dataclass(frozen=True, eq=False)
class Values:
    """One graph's literals in normal form."""

    entity: np.ndarray  # [literals]
    attribute: np.ndarray  # [literals]
    value: np.ndarray  # [literals] position among the forms
    forms: Forms  # distinct
    attributes: pa.Array  # their names
    odd: dict[str, list[str]]  # fault → the values that have it

    @cached_property
    def holders(self) -> np.ndarray:
        """How many entities have each form."""
        held = distinct(np.stack([self.entity, self.value], 1))
        return np.bincount(held[:, 1], minlength=len(self.forms))

    @cached_property
    def rows(self) -> list[np.ndarray]:
        """Rows of the values of each attribute, ascending."""
        order = np.argsort(self.attribute, kind="stable")
        bounds = np.searchsorted(self.attribute[order], np.arange(len(self.attributes) + 1))
        return [order[begin:end] for begin, end in pairwise(bounds.tolist())]

    def __getitem__(self, rows: np.ndarray) -> Values:
        """Some of the values, given by number, or whether each is one of them."""
        return replace(self, entity=self.entity[rows], attribute=self.attribute[rows], value=self.value[rows])

    def packed(self) -> Values:
        """The same without forms that no entity has."""
        held, value = np.unique(self.value, return_inverse=True)
        return replace(self, value=value.ravel(), forms=Forms(self.forms[number] for number in held.tolist()))

    def faults(self, side: str) -> Iterator[str]:
        """One sentence for each kind of value that is not what it claims to be."""
        for fault, values in self.odd.items():
            shown = values[0] if len(values[0]) <= SHOWN else f"{values[0][:SHOWN]}…"
            yield f"{side} graph: {len(values):,} {fault}, such as '{shown}'"

    def others(self, kind: str, taken: np.ndarray) -> np.ndarray:
        """Positions of the forms of a kind that are not taken."""
        return np.setdiff1d(np.flatnonzero([form.startswith(kind) for form in self.forms]), taken)


def read_values(
    graph: Graph, settings: EvidenceSettings, common: pa.Array | None = None, meanings: Meanings | None = None
) -> Values:
    """A graph's literals in normal form; those without one, or of a kind that does not count, are left out. `common`
    holds the names that entities of both graphs have, `meanings` what dates in other notations, words without
    spaces and numbers of things stand for."""
    table = graph.literals
    columns = [table[name].to_pylist() for name in ("entity", "attribute", "value", "datatype", "language")]
    rows: Iterable[tuple[int, int, str, str | None, str | None]] = zip(*columns, strict=True)
    attributes = graph.attributes
    if settings.local_names:
        names = local_names(graph.entities)
        split = CAMEL if _run_together(names) else None
        own = ((entity, split.sub(" ", name) if split else name) for entity, name in enumerate(names) if name)
        rows = chain(rows, ((entity, len(graph.attributes), name, None, "") for entity, name in own))
        attributes = pa.concat_arrays([attributes, pa.array([LOCAL_NAME], attributes.type)])
    place: dict[str, int] = {}
    found: list[tuple[int, int, int]] = []
    odd: dict[str, list[str]] = {}
    read: dict[tuple[str, str | None, str | None], tuple[str | None, str | None]] = {}  # what many have is read once
    for entity, attribute, text, datatype, language in rows:
        form = meanings[attribute].get(text) if meanings and attribute in meanings else None
        if form is None and (text, datatype, language) not in read:
            plain = normal_form(text, language)
            read[text, datatype, language] = plain, _fault(text, datatype, plain)
        form, fault = (form, None) if form else read[text, datatype, language]
        if fault is not None:
            odd.setdefault(fault, []).append(text)
        if form is not None and (settings.kind != "names" or form.startswith(STRING)):
            found.append((entity, attribute, place.setdefault(form, len(place))))
    if common is not None and len(common):
        for entity, name in zip(graph.positions(common).to_pylist(), common.to_pylist(), strict=True):
            found.append((entity, len(attributes), place.setdefault(IRI_FORM + name, len(place))))
        attributes = pa.concat_arrays([attributes, pa.array([IRI], attributes.type)])
    numbers = np.array(found, dtype=np.int64).reshape(-1, 3)
    values = Values(numbers[:, 0], numbers[:, 1], numbers[:, 2], Forms(place), attributes, odd)
    empty = _stands_for_nothing(numbers, place)
    return values[~empty].packed() if empty.any() else values


def _stands_for_nothing(rows: np.ndarray, place: Mapping[str, int]) -> np.ndarray:
    """Which rows of entity, attribute and value hold words such as "N/A" that several entities have there, [rows]
    bool."""
    words = np.array([place[form] for form in NOTHING if form in place], dtype=np.int64)
    empty = np.isin(rows[:, 2], words)
    count = np.bincount(rows[empty, 1], minlength=rows[:, 1].max(initial=0) + 1)
    found: np.ndarray = empty & (count[rows[:, 1]] >= AGAIN)
    return found


def words_apart(graph: Graph) -> Meanings:
    """What values stand for that are written like birthDate, in attributes that have many such and no spaces."""
    attribute, value = graph.literals["attribute"].to_numpy(), graph.literals["value"]
    count, together, spaced = (
        np.bincount(attribute, shown, len(graph.attributes))
        for shown in (None, *(pc.match_substring_regex(value, like).to_numpy() for like in (TOGETHER, SPACE)))
    )
    found: dict[int, dict[str, str]] = {}
    for number in np.flatnonzero((together > 0) & (together >= OFTEN * count) & (spaced <= SELDOM * count)).tolist():
        texts = pc.unique(value.filter(pa.array(attribute == number))).to_pylist()
        forms = ((text, normal_form(CAMEL.sub(" ", text))) for text in texts if CAMEL.search(text))
        found[number] = {text: form for text, form in forms if form}
    return found


def _run_together(names: list[str]) -> bool:
    """Whether names are written like birthDate."""
    named = pa.array([name for name in names if name], pa.large_string())
    together, spaced = (pc.sum(pc.match_substring_regex(named, like)).as_py() or 0 for like in (TOGETHER, SPACE))
    return bool(together and together >= OFTEN * len(named) and spaced <= SELDOM * len(named))


def _fault(text: str, datatype: str | None, form: str | None) -> str | None:
    """What is wrong with a value, if anything: too long, or not of its datatype."""
    if len(text) > LONGEST:
        return f"values longer than {LONGEST:,} characters, ignored"
    kind = (datatype or "").removeprefix(XSD)
    if kind in DATES and not (form or "").startswith(DAY):
        return "invalid dates, treated as text"
    if kind in NUMBERS and not (form or "").startswith(NUMBER_FORM) and text.strip() not in NO_NUMBERS:
        return "invalid numbers, treated as text"
    return None


def normal_form(text: str, language: str | None = None) -> str | None:
    """The form that equal values share, with a letter for the kind; None for a value that is empty or too long.

    >>> normal_form("Côte d’Ivoire", language="fr"), normal_form("  310/246-1501 "), normal_form("1.50e1")
    ('s cote d ivoire', 's 310 246 1501', 'n 15')
    >>> normal_form("2001-02-03T04:05:06Z"), normal_form("—"), normal_form("http://www.example.org/")
    ('d 2001-02-03', None, 's example org')
    >>> normal_form("C++"), normal_form("C#"), normal_form("C"), normal_form("+49 (0) 30")
    ('s c plus plus', 's c sharp', 's c', 's 49 0 30')
    """
    if len(text) > LONGEST:
        return None
    text = text.strip()
    if not language and NUMBER.match(text):
        number = float(text)
        if not math.isfinite(number):
            return None
        if (whole := WHOLE.match(text)) and number:  # keeps digits that a float would lose, as in long identifiers
            return f"{NUMBER_FORM}{whole[1] or ''}{whole[2]}"
        return NUMBER_FORM + (str(int(number)) if number.is_integer() and abs(number) < LARGEST else f"{number:.9g}")
    day = DATE.match(text)
    if day and 1 <= int(day[2]) <= 12 and 1 <= int(day[3]) <= 31:
        year, month, number = (int(part) for part in day.group(1, 2, 3))  # in whatever digits
        return f"{DAY}{year:0{4 + (year < 0)}}-{month:02}-{number:02}"
    if ("+" in text or "#" in text) and "://" not in text:
        text = MARKED.sub(lambda sign: SIGNS[sign[0]], text)
    text = SCHEME.sub("", text)
    if text.isascii():  # the same, faster
        words = APART.sub(" ", text.lower()).strip()
        return STRING + words if words else None
    plain = unicodedata.normalize("NFKD", text).casefold()
    plain = "".join(letter if _in_word(letter) else " " for letter in plain if not ACCENT.match(letter))
    words = " ".join(unicodedata.normalize("NFC", plain).split())
    return STRING + words if words else None


def _in_word(letter: str) -> bool:
    """Whether a character is part of a word: a letter, a digit, or a mark such as the vowel signs of Indic scripts."""
    return letter.isalnum() or unicodedata.category(letter).startswith("M")


def equal_pairs(first: Values, second: Values, settings: EvidenceSettings) -> tuple[np.ndarray, np.ndarray]:
    """Positions of equal or similar forms, [pairs, 2], and their similarity."""
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
    """Mutually most similar strings, if names count; a code that is nearly another says nothing."""
    if settings.kind == "literals":
        return np.empty((0, 2), dtype=np.int64), np.empty(0)
    named = [[row for row, text in enumerate(texts) if not CODE.match(text)] for texts in (left, right)]
    if not all(named):
        return np.empty((0, 2), dtype=np.int64), np.empty(0)
    pairs, likeness = alike([left[row] for row in named[0]], [right[row] for row in named[1]], settings)
    return np.stack([np.array(rows)[column] for rows, column in zip(named, pairs.T, strict=True)], 1), likeness


def _near_numbers(left: list[str], right: list[str], settings: EvidenceSettings) -> tuple[np.ndarray, np.ndarray]:
    """Mutually nearest numbers within the tolerance, unless both are integers: those are counted, not measured."""
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
