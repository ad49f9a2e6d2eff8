"""How a text table is laid out: what separates its columns, which line is the header, or that it is no table."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice, zip_longest

from emea.formats._files import LONGEST_FIELD, SEPARATORS

SAMPLE = 100  # lines, or rows, looked at
MOST = 0.5  # share of them
LONGEST_SAMPLE = 1 << 20  # characters
DECIMAL = re.compile(r"(?<=\d),(?=\d)")
ADDRESS = re.compile(r"\s*(https?://|www\.)\S+\s*$|\s*[^\s@]+@[^\s@]+\.[^\s@]+\s*$")  # of a page, or for mail
FEWEST = 2  # rows that can disagree with a header
RDF = {  # how files begin that are no tables, and what they should be called
    ("Turtle", ".ttl"): re.compile(r"\s*(@(prefix|base)\s|(?i:prefix|base)\s+[\w.-]*:?\s*<)"),
    ("N-Triples", ".nt"): re.compile(r"\s*(<[^<>\s]*>|_:\S+)\s*<[^<>\s]*>\s*[<_\"].*\.\s*$"),
    ("XML", ".rdf"): re.compile(r"\s*<(\?xml|rdf:RDF)[\s>]"),
}

Numbered = tuple[int, list[str]]  # a row, and its line


def separator_of(lines: Iterable[str]) -> str:
    """What separates the columns of CSV: what gives the same number of them, two at least, on more lines than others.
    Where it is not most lines, commas, unless the first line has none but semicolons, tabs or bars.

    >>> separator_of(["id;Land, Staat;Preis", "1;Peru;2,50", "2;Chile;3"]), separator_of(["a;b", "1,2;3"])
    (';', ';')
    """
    sample = _sample(lines)
    shares = {each: _agreeing(sample, each) for each in SEPARATORS}
    best = max(shares.values())
    if best <= MOST:
        return next((each for each in SEPARATORS if each in "".join(sample[:1])), ",")
    first, *others = (each for each, share in shares.items() if share == best)
    return others[0] if first == "," and others and _decimal(sample) else first


def header_fault(rows: Sequence[Numbered]) -> str | None:
    """What is wrong with the first row, if most of the others, up to a sample, have another number of columns."""
    (_, header), *others = rows[: SAMPLE + 1]
    widths = Counter(len(row) for _, row in others)
    usual, count = widths.most_common(1)[0] if widths else (0, 0)
    if usual < FEWEST or count < FEWEST or count <= MOST * len(others) or len(header) == usual:
        return None
    if 2 * len(header) > usual:
        return f"found {len(header)} columns in the header and {usual} in most rows, expected as many; mend the header"
    line = next(number for number, row in others if len(row) == usual)
    found = f"found {len(header)} column{'s' * (len(header) > 1)} in the first line and {usual} in most others"
    return f"{found}; that line looks like a title, and line {line} like the header: remove what is before it"


def data_in_header(rows: Sequence[list[str]]) -> str | None:
    """What in the first row says that it is one of the others and no header: in two columns at least, a cell that also
    stands below, or an address above addresses. A header may stand again further down.

    >>> data_in_header([["1", "Rum", "Peru"], ["2", "Gin", "Peru"], ["3", "Rum", "Cuba"]])
    "'Rum' and 'Peru'"
    >>> data_in_header([["a", "https://a.org", "x"], ["b", "https://b.org", "x"]])
    "'https://a.org' and 'x'"
    """
    header, *others = rows or [[]]
    if header in others:
        return None
    columns = zip(header, zip_longest(*others), strict=False)
    found = [cell for cell, below in columns if cell.strip() and (cell in below or _addresses([cell, *below]))]
    return " and ".join(f"'{each}'" for each in found[:FEWEST]) if len(found) >= FEWEST else None


def _addresses(cells: Sequence[str | None]) -> bool:
    """Whether the first cell is an address, and most of the others that are not empty, one at least."""
    told = [ADDRESS.match(cell) is not None for cell in cells if cell and cell.strip()]
    return told[0] and sum(told[1:]) > MOST * len(told[1:])


def rdf_hint(text: str) -> str:
    """What a file should be called that begins like this, if it is RDF and no table.

    >>> rdf_hint("@prefix owl: <http://www.w3.org/2002/07/owl#> ."), rdf_hint("id;name")
    ('; it looks like Turtle: call it .ttl', '')
    """
    kind = next((kind for kind, begins in RDF.items() if begins.match(text)), None)
    return "" if kind is None else f"; it looks like {kind[0]}: call it {kind[1]}"


def _sample(lines: Iterable[str]) -> list[str]:
    """The first lines, not too much of them."""
    found, length = list[str](), 0
    for line in islice(lines, SAMPLE):
        found.append(line)
        length += len(line)
        if length > LONGEST_SAMPLE:
            break
    return found


def _agreeing(sample: list[str], separator: str) -> float:
    """The share of rows that have the most frequent number of columns, of those above one."""
    csv.field_size_limit(LONGEST_FIELD)
    widths = Counter[int]()
    try:
        widths.update(len(row) for row in csv.reader(sample, delimiter=separator) if row)
    except csv.Error:  # said when the file is read
        return 0.0
    several = (count for width, count in widths.items() if width > 1)
    return max(several, default=0) / max(widths.total(), 1)


def _decimal(sample: list[str]) -> bool:
    """Whether there are commas below the first line, and each stands between two digits."""
    rest = "".join(sample[1:])
    return "," in rest and "," not in DECIMAL.sub("", rest)
