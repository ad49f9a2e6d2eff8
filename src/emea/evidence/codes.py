"""Numbers of things, written with separators or without: VAT and telephone numbers, ISBNs, accounts. Whether an
attribute holds such numbers is told by all of its values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea.data import Graph
from emea.evidence.values import NUMBER_FORM, STRING, Meanings, normal_form

# For Arrow: what they look like; and those that are no mere numbers, by parts set apart, or a zero or letters in front.
LIKE = r"^\s*[+(]?(?:[A-Za-z][-\s(./]{0,3}){0,4}\d(?:[-\s()./]{0,3}[A-Za-z0-9]){4,}\)?\s*$"
MARKED = r"^\s*\+|^\s*0\d|^\s*[A-Za-z]|[A-Za-z0-9)][-\s(./]{1,3}[A-Za-z0-9(]"
OTHERS = r"^\s*(?:[+-]?\d*\.\d+\s*$|-?\d{1,4}[-./]\d{1,2}[-./]\d{1,4}(?:$|[T ,]))"  # measured numbers, and dates
OTHER = re.compile(OTHERS)
DIGITS, MOST_LETTERS = 5, 4  # a number of a thing has so many at least, and at most
SEPARATOR = re.compile(r"[^0-9a-z]+")
EXTENSION = re.compile(  # within a company: of any number by a word, of telephone numbers also 0
    r"(?<=\d)\s*(?:x|ext\.?|extension|durchwahl|dw)\s*\d{1,5}\s*$|^(\s*(?:\+|\(0|0\d\d).*\d)\s?[-–]\s?0\s*$",
    re.IGNORECASE,
)
TRUNK = re.compile(r"\(0+\)")  # dialled within a country only
# Calling codes of countries: no other begins like one of these, and all others have three digits.
CALLING = re.compile(r"1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|\d{3}")
MOSTLY = 0.5  # share of an attribute's values that are such numbers; the others may have a remark
ALL_BUT_FEW = 0.9  # share of its distinct values that stay distinct without separators
FEWEST = 3  # values that are marked, or that both graphs have only without separators
NEWS = 0.05  # share of the values of both graphs that are the same only without separators
LONG = 7  # digits of numbers that identify by being all as long as each other
SAME_LENGTH = 0.8  # share of such an attribute's values
ISBN = re.compile(r"^\d{9}[\dx]$")  # of ten digits: those of thirteen begin with 978, and end with another digit
BOOKS = "978"


def read_codes(source: Graph, target: Graph) -> tuple[Meanings, Meanings]:
    """What the values stand for in attributes of both graphs that hold numbers of things, where separators hide that
    they are the same, or where they look like measured numbers, of which those that are near count as similar: others
    that are written alike are better left as they are."""
    sides = _codes(source), _codes(target)
    plain = [
        {number: {form for text in codes if (form := normal_form(text))} for number, codes in side.items()}
        for side in sides
    ]
    bare = [{number: {*codes.values()} for number, codes in side.items()} for side in sides]
    before = _shared(*plain)
    found: tuple[dict[int, dict[str, str]], dict[int, dict[str, str]]] = {}, {}
    for both, same in _shared(*bare).items():
        forms = [side[number] for side, number in zip(plain, both, strict=True)]
        measured = all(form.startswith(NUMBER_FORM) for side in forms for form in side)
        if same - before[both] >= max(FEWEST, NEWS * same) or (
            measured and same >= max(FEWEST, NEWS * min(map(len, forms)))
        ):
            for own, side, number in zip(found, sides, both, strict=True):
                own[number] = side[number]
    return found


def _shared(first: dict[int, set[str]], second: dict[int, set[str]]) -> Counter[tuple[int, int]]:
    """How many forms each attribute of the first graph has in common with each of the second."""
    held: dict[str, list[int]] = {}
    for number, forms in second.items():
        for form in forms:
            held.setdefault(form, []).append(number)
    return Counter((one, other) for one, forms in first.items() for form in forms for other in held.get(form, ()))


def _codes(graph: Graph) -> dict[int, dict[str, str]]:
    """The values of attributes that hold numbers of things, and the same without separators, in normal form."""
    attribute, value = graph.literals["attribute"].to_numpy(), graph.literals["value"]
    like, marked, others = (pc.match_substring_regex(value, each).to_numpy() for each in (LIKE, MARKED, OTHERS))
    count, likely, parted = (
        np.bincount(attribute, each, len(graph.attributes)) for each in (None, like & ~others, marked & ~others)
    )
    order = np.argsort(attribute, kind="stable")
    ends = np.cumsum(count)
    found: dict[int, dict[str, str]] = {}
    for number in np.flatnonzero((likely > 0) & (likely >= MOSTLY * count)).tolist():
        texts = pc.unique(value.take(pa.array(order[ends[number] - count[number] : ends[number]])))
        if parted[number] < FEWEST and not _as_long(texts):
            continue
        codes = {text: code for text in texts.to_pylist() if (code := squeezed(text))}
        books = _books([*codes.values()])
        forms = {text: STRING + (books.get(code, code).lstrip("0") or code) for text, code in codes.items()}
        if len({*forms.values()}) >= ALL_BUT_FEW * len({text.casefold() for text in codes}):
            found[number] = forms
    return found


def _books(codes: list[str]) -> dict[str, str]:
    """ISBNs of ten digits, and how these are written with thirteen; none if there are few, or if some of the codes that
    look like ISBNs are none, as their last digits tell.

    >>> _books(["0306406152", "316148410x", "080442957x", "9783161484100"])["0306406152"]
    '9780306406157'
    >>> _books(["0306406152", "316148410x", "080442957x", "0659469473"])
    {}
    """
    short = [code for code in codes if ISBN.match(code)]
    if len(short) < FEWEST or not all(_weighed(code, range(10, 0, -1)) % 11 == 0 for code in short):
        return {}
    bodies = [BOOKS + code[:-1] for code in short]
    return {code: f"{body}{-_weighed(body, [1, 3] * 6) % 10}" for code, body in zip(short, bodies, strict=True)}


def _weighed(code: str, weights: Iterable[int]) -> int:
    """The sum of a code's digits with these weights; x stands for ten."""
    return sum(weight * (10 if digit == "x" else int(digit)) for digit, weight in zip(code, weights, strict=True))


def _as_long(texts: pa.Array) -> bool:
    """Whether nearly all are long and have the same length, as numbers that count or measure something do not."""
    lengths = np.bincount(pc.utf8_length(texts).to_numpy())
    return len(lengths) > LONG and bool(lengths[LONG:].max() >= SAME_LENGTH * len(texts))


def squeezed(text: str) -> str | None:
    """The number of a thing without separators, and a telephone number without what is dialled before the area and
    within a company; None for other texts.

    >>> squeezed("DE 863 694 781"), squeezed("+49 (0)65 946-9472"), squeezed("065/9469472"), squeezed("12.50")
    ('de863694781', '659469472', '0659469472', None)
    >>> squeezed("(089) 471 3227-0"), squeezed("555 123 4567 ext. 12"), squeezed("3-16-148410-0")
    ('0894713227', '5551234567', '3161484100')
    """
    text = EXTENSION.sub(r"\1", text)
    code = SEPARATOR.sub("", text.lower())
    digits = sum(each.isdigit() for each in code)
    if digits < DIGITS or len(code) - digits > MOST_LETTERS or OTHER.match(text):
        return None
    if text.lstrip().startswith("+"):
        code = SEPARATOR.sub("", TRUNK.sub("", text))
        return CALLING.sub("", code, count=1).lstrip("0") or code
    return code
