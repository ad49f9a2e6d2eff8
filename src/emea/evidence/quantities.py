"""Numbers among few words, such as 0,75 l, 439 S., [1988] and 3. Aufl.: what counts is the number, in whatever unit."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea.data import Graph

LIKE = r"^[^\d]{0,12}\d[\d.,'’\x{a0}\x{202f} ]{0,15}[^\d]{0,24}$"  # for Arrow
PARTS = re.compile(r"^(\D*?)([+-]?)(\d[\d.,'’\u00a0\u202f ]*?)([.]?\D*)$")
AROUND = " \t\u00a0\u202f.,:;?()[]{}<>~≈©℗*†\"'“”„/-"  # says nothing
BEFORE = {"", "c", "ca", "circa", "cop", "about", "approx", "um", "vol", "bd", "band", "no", "nr", "№"}
AFTER = re.compile(
    r"^(?:(?:%|°|st|nd|rd|th)\s*)?(?:[^\W\d_]{1,10})?$"
)  # one word, besides an ending: two may be a street
LEADING = re.compile(r"^0\d|\d{8}")  # of numbers that name something
NEARLY_ALL = 0.95  # share of an attribute's values that are such numbers
FEWEST = 3  # values with words
MOST_WORDS = 12  # different ones in an attribute: more are names, as those of streets

UNITS = {  # unit → what it measures, and how many of that; of one letter only those that mean nothing else
    **{f"{prefix}l": ("l", factor) for prefix, factor in (("", 1), ("d", 0.1), ("c", 0.01), ("m", 0.001), ("h", 100))},
    **dict.fromkeys(("liter", "litre", "liters", "litres"), ("l", 1)),
    **{f"{prefix}g": ("kg", factor) for prefix, factor in (("k", 1), ("", 1e-3), ("m", 1e-6))},
    **dict.fromkeys(("lb", "lbs"), ("kg", 0.45359237)),
    "oz": ("kg", 0.028349523125),
    **{f"{prefix}m": ("m", factor) for prefix, factor in (("", 1), ("k", 1e3), ("d", 0.1), ("c", 0.01), ("m", 0.001))},
    **dict.fromkeys(("in", "inch", "inches", "zoll"), ("m", 0.0254)),
    "ft": ("m", 0.3048),
    **{f"{prefix}b": ("b", factor) for prefix, factor in (("k", 1e3), ("m", 1e6), ("g", 1e9), ("t", 1e12))},
    **{f"{prefix}hz": ("hz", factor) for prefix, factor in (("", 1), ("k", 1e3), ("m", 1e6), ("g", 1e9))},
    **{f"{prefix}w": ("w", factor) for prefix, factor in (("", 1), ("k", 1e3))},
}


@dataclass(frozen=True)
class Quantity:
    """A number as it was written."""

    sign: str
    digits: str
    words: str  # around it, in lower case

    @classmethod
    def parse(cls, text: str) -> Quantity | None:
        """The only number of a text, if there are just marks and a word around it.

        >>> Quantity.parse("[c1976]").words, Quantity.parse("0,75 l").digits, Quantity.parse("12 Main Street North")
        ('c', '0,75', None)
        """
        match = PARTS.match(text.strip())
        if match is None or LEADING.search(match[3]):
            return None
        before, after = (words.strip(AROUND).casefold() for words in match.group(1, 4))
        if before not in BEFORE or not AFTER.match(after):
            return None
        return cls(match[2], match[3], f"{before} {after}".strip())

    @property
    def unit(self) -> tuple[str, float] | None:
        """What it measures, and how many of that its number counts."""
        return UNITS.get(self.words.split(" ")[0])


def read_quantities(graph: Graph) -> dict[int, dict[str, Quantity]]:
    """The values of each attribute that holds numbers among words."""
    attribute, value = graph.literals["attribute"].to_numpy(), graph.literals["value"]
    like = pc.match_substring_regex(value, LIKE).to_numpy()
    count, likely = (np.bincount(attribute, each, len(graph.attributes)) for each in (None, like))
    found: dict[int, dict[str, Quantity]] = {}
    for number in np.flatnonzero((count > 0) & (likely >= NEARLY_ALL * count)).tolist():
        texts = pc.value_counts(value.filter(pa.array(attribute == number)))
        times = dict(zip(texts.field("values").to_pylist(), texts.field("counts").to_pylist(), strict=True))
        read = {text: quantity for text in times if (quantity := Quantity.parse(text))}
        words = {quantity.words for quantity in read.values()}
        plain = sum(times[text] for text, quantity in read.items() if text.strip() == quantity.sign + quantity.digits)
        known = sum(times[text] for text in read)
        if known >= NEARLY_ALL * count[number] and known - plain >= FEWEST and len(words) <= MOST_WORDS:
            found[number] = read
    return found


def in_one_unit(quantities: dict[str, Quantity]) -> dict[str, float]:
    """The values that can be told in one unit, and by what their numbers are to be multiplied: all, by 1, if no unit is
    known; none if they measure different things."""
    units = {text: each.unit for text, each in quantities.items()}
    known = {text: unit for text, unit in units.items() if unit is not None}
    if not known:
        return dict.fromkeys(quantities, 1.0)
    return (
        {text: factor for text, (_, factor) in known.items()} if len({unit for unit, _ in known.values()}) == 1 else {}
    )
