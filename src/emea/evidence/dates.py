"""Dates in other notations than 2001-12-31, such as 31/12/2001, December 31, 2001 and 20011231. Whether the day or the
month comes first is told by all values of an attribute."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea.data import Graph
from emea.evidence.values import DAY, Meanings

DAY_FIRST, MONTH_FIRST, COMPACT, CLEAR = "day first", "month first", "compact", "clear"  # notations
ORDERS = (DAY_FIRST, MONTH_FIRST)
LONGEST = 40  # characters of a date
NORMAL = r"^\s*-?\d{4}-\d{2}-\d{2}(T.*|Z|[+-]\d{2}:\d{2})?\s*$"  # dates that need no help
YEAR = r"^\s*\d{4}\s*$"
PERHAPS = (  # what other dates look like, for Arrow
    r"^\s*(?:\d{8}\s*$|\d{1,4} ?[-./年] ?\d{1,2} ?[-./月]|\D{0,30}\d{1,2}\D{1,20}\d{4}(?:\D|$))"
)
TIME = r"(?:[T ,]+\d{1,2}:\d{2}.*)?$"
TO = r" ?([-./]) ?"  # from one number to the next
DIGITS = re.compile(r"^(\d{4})(\d{2})(\d{2})$")
YEAR_FIRST = re.compile(rf"^(\d{{4}})(?:{TO}|年)(\d{{1,2}})(?:{TO}|月)(\d{{1,2}})日?{TIME}")
YEAR_LAST = re.compile(rf"^(\d{{1,2}}){TO}(\d{{1,2}}){TO}(\d{{4}}){TIME}")
WEEKDAY = r"^(?:[^\W\d]+[,.]{0,2} +)?"
NUMBERED = r"(?P<day>\d{1,2})(?:st|nd|rd|th|er|\.|º)?"
MONTH = r"(?P<month>[^\W\d]{3,})[.,]?[- ]"
OF_YEAR = rf"(?:de |del )?(?P<year>\d{{4}}){TIME}"
NAMED = (
    re.compile(rf"{WEEKDAY}{NUMBERED}[- ]?(?:of |de )?{MONTH}{OF_YEAR}"),
    re.compile(rf"{WEEKDAY}{MONTH}{NUMBERED},?[- ]{OF_YEAR}"),
)
MONTHS = (  # in English, German, French, Spanish, Italian, Portuguese and Dutch
    "january januar janner janvier enero gennaio janeiro januari",
    "february februar fevrier febrero febbraio fevereiro februari",
    "march marz mars marzo marco maart mrt",
    "april avril abril aprile",
    "may mai mayo maggio maio mei",
    "june juni juin junio giugno junho",
    "july juli juillet julio luglio julho",
    "august aout agosto augustus",
    "september septembre septiembre settembre setembro",
    "october oktober octobre octubre ottobre outubro",
    "november novembre noviembre novembro",
    "december dezember decembre diciembre dicembre dezembro",
)
SHORTEST = 3  # letters of a month
MOST_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)  # of each month
GREGORIAN = 1583  # the first year of the calendar in which not every fourth year is a leap year
COMPACT_YEARS = range(1000, 2200)  # of dates without separators: other numbers of eight digits are no dates
MOSTLY = 0.5  # share of an attribute's values that are dates or years, for it to hold dates
NEARLY_ALL = 0.95  # share that has to fit an order of day and month, or dates without separators; others are slips
AGREEING = 0.9  # share of the values that tell an order of day and month that has to tell the same
FEWEST = 3  # days that tell a notation
FEWEST_NUMBERS = 10  # values that tell that numbers are dates


def _numbers_of_months() -> dict[str, int]:
    """The number of each month by its names and by what these begin with, if that is clear."""
    begins = [{name[:end] for name in names.split() for end in range(SHORTEST, len(name) + 1)} for names in MONTHS]
    times = Counter(begin for each in begins for begin in each)
    return {begin: number for number, each in enumerate(begins, 1) for begin in each if times[begin] == 1}


NUMBERS_OF_MONTHS = _numbers_of_months()


def readings(text: str) -> dict[str, str]:
    """The day that a value is, in normal form, by notation; none if it is no date.

    >>> readings("31.12.2001"), readings("Dec 31st, 2001"), readings("5/31/2001")
    ({'day first': 'd 2001-12-31'}, {'clear': 'd 2001-12-31'}, {'month first': 'd 2001-05-31'})
    >>> readings("1/2/2001")
    {'day first': 'd 2001-02-01', 'month first': 'd 2001-01-02'}
    """
    text = text.strip()
    if found := DIGITS.match(text):
        return _valid({COMPACT: found.groups()}) if int(found[1]) in COMPACT_YEARS else {}
    if found := YEAR_FIRST.match(text):
        return _valid({CLEAR: found.group(1, 3, 5)}) if found[2] == found[4] else {}
    if found := YEAR_LAST.match(text):
        orders = {DAY_FIRST: found.group(5, 3, 1), MONTH_FIRST: found.group(5, 1, 3)}
        if found[2] != found[4]:
            return {}
        return _valid({DAY_FIRST: orders[DAY_FIRST]} if found[2] == "." else orders)
    for notation in NAMED:
        if found := notation.match(text):
            month = NUMBERS_OF_MONTHS.get(_plain(found["month"]))
            return {} if month is None else _valid({CLEAR: (found["year"], month, found["day"])})
    return {}


def _valid(days: Mapping[str, tuple[str | int, ...]]) -> dict[str, str]:
    """The days that there are, of years, months and days by notation."""
    found = {}
    for notation, parts in days.items():
        year, month, day = map(int, parts)
        leap = year % 4 == 0 and (year < GREGORIAN or year % 100 != 0 or year % 400 == 0)
        if 1 <= month <= len(MONTHS) and 1 <= day <= MOST_DAYS[month - 1] and (leap or (month, day) != (2, 29)):
            found[notation] = f"{DAY}{year:04}-{month:02}-{day:02}"
    return found


def _plain(word: str) -> str:
    """In lower case, without accents."""
    return "".join(letter for letter in unicodedata.normalize("NFKD", word.casefold()) if letter.isalpha())


@dataclass(frozen=True, eq=False)
class _Written:
    """The dates of a graph whose notation is not the normal one."""

    graph: Graph
    known: dict[int, dict[str, str]]  # attribute → value → day
    unclear: dict[int, dict[str, dict[str, str]]]  # attribute → value → day by order of day and month
    orders: frozenset[str]  # those that are known of attributes

    @classmethod
    def read(cls, graph: Graph) -> _Written:
        """Read the values of each attribute that mostly holds dates."""
        known, undecided, orders = {}, {}, set()
        for attribute, values in _columns(graph):
            found = {text: days for text, days in values.items() if not days.keys() & {*ORDERS}}
            known[attribute] = {text: form for text, days in found.items() for form in days.values()}
            ordered = {text: days for text, days in values.items() if text not in found}
            count = [sum(order in days for days in ordered.values()) for order in ORDERS]
            if max(count) < NEARLY_ALL * len(ordered) or not ordered:
                continue
            best = int(np.argmax(count))
            if not _tells(len(ordered) - count[1 - best], len(ordered) - count[best], len(ordered)):
                undecided[attribute] = ordered
                continue
            orders.add(ORDERS[best])
            known[attribute] |= _ordered(ordered, ORDERS[best])
        return cls(graph, known, undecided, frozenset(orders))

    def days(self) -> set[str]:
        """The days that are known, in whatever notation."""
        values = self.graph.literals["value"]
        normal = pc.replace_substring_regex(
            values.filter(_matches(values, NORMAL)), r"^\s*(-?\d{4}-\d{2}-\d{2}).*$", r"\1"
        )
        found = {f"{DAY}{day}" for day in pc.unique(normal).to_pylist()}
        return found.union(*(column.values() for column in self.known.values()))

    def decided(self, other: _Written) -> Meanings:
        """The days, where values of an attribute do not tell the order of day and month: in the order of the graph's
        other attributes, else in that which leads to far more days of the other graph; else they stay text."""
        found = dict(self.known)
        theirs = other.days() if self.unclear and len(self.orders) != 1 else set()
        for attribute, values in self.unclear.items():
            shared = [len(theirs.intersection(_ordered(values, order).values())) for order in ORDERS]
            order = ORDERS[int(np.argmax(shared))]
            if len(self.orders) == 1:
                (order,) = self.orders
            elif max(shared) < max(FEWEST, 2 * min(shared)):
                continue
            found[attribute] = found[attribute] | _ordered(values, order)
        return found


def read_days(source: Graph, target: Graph) -> tuple[Meanings, Meanings]:
    """The days that values of both graphs stand for, where their notation is not the normal one."""
    first, second = _Written.read(source), _Written.read(target)
    return first.decided(second), second.decided(first)


def _tells(fitting: int, against: int, count: int) -> bool:
    """Whether values that only fit one order of day and month, and those that only fit the other, tell that of all:
    if the former are more than slips could be, and nearly all of those that tell anything."""
    return fitting > (1 - NEARLY_ALL) * count and fitting >= AGREEING * (fitting + against)


def _ordered(values: Mapping[str, Mapping[str, str]], order: str) -> dict[str, str]:
    """The values that are days in this order."""
    return {text: days[order] for text, days in values.items() if order in days}


def _matches(values: pa.ChunkedArray, pattern: str) -> pa.ChunkedArray:
    return pc.match_substring_regex(values, pattern)


def _columns(graph: Graph) -> list[tuple[int, dict[str, dict[str, str]]]]:
    """The attributes that mostly hold dates, and the readings of their values that are not in normal form."""
    table = graph.literals.select(["attribute", "value"])
    value, total = table["value"], np.bincount(table["attribute"].to_numpy(), minlength=len(graph.attributes))
    usual = pc.or_(_matches(value, NORMAL), _matches(value, YEAR))
    perhaps = pc.and_not(pc.and_(pc.less_equal(pc.utf8_length(value), LONGEST), _matches(value, PERHAPS)), usual)
    digits = np.bincount(table.filter(_matches(value, r"^\s*\d+\s*$"))["attribute"].to_numpy(), minlength=len(total))
    fitting = np.bincount(table.filter(usual)["attribute"].to_numpy(), minlength=len(total))
    counted = table.filter(perhaps).group_by(["attribute", "value"], use_threads=False).aggregate([([], "count_all")])
    found: dict[int, dict[str, dict[str, str]]] = {}
    rows = np.zeros((len(total), 2), dtype=np.int64)  # of compact dates, and of others
    for attribute, text, times in zip(*(counted[name].to_pylist() for name in counted.column_names), strict=True):
        if days := readings(text):
            found.setdefault(attribute, {})[text] = days
            rows[attribute, int(COMPACT not in days)] += times
    columns = []
    for attribute, values in found.items():
        numbers, others = rows[attribute].tolist()
        alone = others + fitting[attribute]
        clear = numbers >= MOSTLY * digits[attribute]  # most numbers are dates, not counts
        if clear and len(values) >= FEWEST_NUMBERS and numbers + alone >= NEARLY_ALL * total[attribute]:
            columns.append((attribute, values))
        elif alone >= MOSTLY * total[attribute]:
            columns.append((attribute, {text: days for text, days in values.items() if COMPACT not in days}))
    return columns
