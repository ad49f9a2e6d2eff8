"""Numbers in other notations than 1234.5, such as 1.234,50 €, $1,234.50, 1 234,5 and 0,75 l. What points and commas
stand for is told by all values of an attribute, and where these leave it open by the other attributes of the graph."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea.data import Graph
from emea.evidence.quantities import in_one_unit, read_quantities
from emea.evidence.values import Meanings, normal_form

COMMA, POINT, NEITHER, ODD = "decimal comma", "decimal point", "whole", "no number"  # what a value tells
OPEN = {".": "a point before three digits", ",": "a comma before three digits"}  # of decimals, or between groups
MARKS = {COMMA: (".", ","), POINT: (",", ".")}  # between groups, and before decimals
SIGN = r"(?:[%€$£¥₹]|[A-Z]{3})?"  # of percentages and currencies
LIKE = rf"^\s*{SIGN}\s?[+-]?\d[\d.,'’\x{{a0}}\x{{202f}} ]*{SIGN}\s*$"  # numbers, for Arrow
PLAIN = r"^\s*[+-]?\d+(?:\.\d+)?\s*$"  # those that need no help
PARTS = re.compile(rf"^\s*{SIGN}\s?([+-]?)(\d[\d.,'’\u00a0\u202f ]*?)\s?{SIGN}\s*$")
GAP = r"['’\u00a0\u202f ]"  # also between groups
DOUBTFUL = re.compile(r"^[1-9]\d{0,2}([.,])\d{3}$")
WHOLE = re.compile(rf"^\d+$|^[1-9]\d{{0,2}}(?:{GAP}\d{{3}})+$")
LEADING = re.compile(r"^0\d")  # codes, and telephone numbers
NEARLY_ALL = 0.95  # share of an attribute's values that are numbers, and of those that tell a notation
FEWEST = 3  # values that are not plain

Digits = dict[str, tuple[str, str]]  # value → its sign and its digits, with what parts them


def _grouped(mark: str) -> str:
    """Digits in groups of three, two groups at least."""
    return rf"\d{{1,3}}(?:(?:\{mark}\d{{3}})+|(?:{GAP}\d{{3}})+)"


def _clear(group: str, decimal: str) -> re.Pattern[str]:
    """Groups and decimals, three groups, or decimals that could be no group."""
    decimals = rf"(?:0\{decimal}|\d+\{decimal}(?!\d{{3}}$))\d+"
    return re.compile(rf"^(?:{_grouped(group)}\{decimal}\d+|\d+(?:\{group}\d{{3}}){{2,}}|{decimals})$")


CLEAR = {notation: _clear(*marks) for notation, marks in MARKS.items()}


def read_amounts(graph: Graph) -> Meanings:
    """What the values stand for in attributes that hold numbers in another notation, in normal form."""
    worded = {number: (each, in_one_unit(each)) for number, each in read_quantities(graph).items()}
    columns = {
        number: {text: (each[text].sign, each[text].digits) for text in factors}
        for number, (each, factors) in worded.items()
    } | _columns(graph)
    told = {number: Counter(_told(digits) for _, digits in column.values()) for number, column in columns.items()}
    decided = {number: _decided(count) for number, count in told.items()}
    usual = {notation for notation in decided.values() if notation}
    found: dict[int, dict[str, str]] = {}
    for number, column in columns.items():
        factors = worded[number][1] if number in worded else {}
        notation = decided[number] or _left_open(told[number], usual) or (POINT if factors else None)
        if notation:
            forms = ((text, _form(*parts, notation, factors.get(text, 1.0))) for text, parts in column.items())
            found[number] = {text: form for text, form in forms if form}
    return found


def _columns(graph: Graph) -> dict[int, Digits]:
    """The values of each attribute that holds numbers, some of which may be in another notation."""
    attribute, value = graph.literals["attribute"].to_numpy(), graph.literals["value"]
    like, plain = (pc.match_substring_regex(value, each).to_numpy() for each in (LIKE, PLAIN))
    count, likely, other = (np.bincount(attribute, each, len(graph.attributes)) for each in (None, like, like & ~plain))
    found: dict[int, Digits] = {}
    for number in np.flatnonzero((count > 0) & (likely >= NEARLY_ALL * count)).tolist():
        texts = pc.unique(value.filter(pa.array(attribute == number))).to_pylist()
        parts = {text: (match[1], match[2]) for text in texts if (match := PARTS.match(text))}
        doubtful = other[number] >= FEWEST or any(DOUBTFUL.match(digits) for _, digits in parts.values())
        if doubtful and not any(LEADING.match(digits) for _, digits in parts.values()):
            found[number] = parts
    return found


def _told(digits: str) -> str:
    """What a number tells of its notation.

    >>> [_told(digits) for digits in ("1.234,5", "1,234,567", "12,50", "1.234", "1234")]
    ['decimal comma', 'decimal point', 'decimal comma', 'a point before three digits', 'whole']
    """
    for notation, pattern in CLEAR.items():
        if pattern.match(digits):
            return notation
    if found := DOUBTFUL.match(digits):
        return OPEN[found[1]]
    return NEITHER if WHOLE.match(digits) else ODD


def _decided(told: Counter[str]) -> str | None:
    """The notation that the values of an attribute tell, if any."""
    clear = told[COMMA] + told[POINT]
    if not clear or told[ODD] > (1 - NEARLY_ALL) * told.total():
        return None
    return next((notation for notation in MARKS if told[notation] >= NEARLY_ALL * clear), None)


def _left_open(told: Counter[str], usual: set[str]) -> str | None:
    """The notation of an attribute whose values tell none: that of the others, if they agree. Where nothing tells, a
    comma before three digits is between groups, and a point before decimals, as usual."""
    if told[ODD] or told[COMMA] or told[POINT]:
        return None
    if usual == {COMMA}:
        return COMMA
    return POINT if not usual - {POINT} and told[OPEN[","]] and not told[OPEN["."]] else None


def _form(sign: str, digits: str, notation: str, factor: float = 1.0) -> str | None:
    """The number, multiplied, in normal form; None if it is not in this notation."""
    group, decimal = MARKS[notation]
    whole, _, decimals = digits.partition(decimal)
    if not re.fullmatch(rf"\d+|{_grouped(group)}", whole) or not re.fullmatch(r"\d*", decimals):
        return None
    number = f"{sign}{re.sub(r'[^0-9]', '', whole)}.{decimals or 0}"
    return normal_form(number if factor == 1 else f"{float(number) * factor:.9g}")
