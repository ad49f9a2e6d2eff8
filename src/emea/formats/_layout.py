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
OTHERS = {  # how files begin that are no tables, and what they should be called
    ("Turtle", ".ttl"): re.compile(r"\s*(@(prefix|base)\s|(?i:prefix|base)\s+[\w.-]*:?\s*<)"),
    ("N-Triples", ".nt"): re.compile(r"\s*(<[^<>\s]*>|_:\S+)\s*<[^<>\s]*>\s*[<_\"].*\.\s*$"),
    ("XML", ".rdf"): re.compile(r"\s*<(\?xml|rdf:RDF)[\s>]"),
    ("JSON", ".json"): re.compile(r"\s*([\[{]\s*$|\{\s*\"|\[\s*[\[{])"),
}
PAGE = re.compile(r"\s*<(!doctype\s+html|html|head)[\s>]", re.IGNORECASE)
SPACE = " "

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


def separator_of_text(lines: Iterable[str]) -> str:
    """The same of a text file that may also be separated by spaces, if that gives all lines the same columns; tabs
    where nothing separates any.

    >>> separator_of_text(["a b", "c d", "e f"]), separator_of_text(["To be, or", "not", "to be"])
    (' ', ',')
    """
    sample = _sample(lines)
    if _spaced(sample):
        return SPACE
    found = separator_of(sample)
    return found if any(found in line for line in sample[:1]) or _agreeing(sample, found) > MOST else "\t"


def agree_on_columns(lines: Iterable[str]) -> bool:
    """Whether lines are those of a table: most, and two at least, have the same number of columns."""
    sample = [line for line in _sample(lines) if line.strip()]
    if not sample or _spaced(sample):
        return True
    agreeing = max(_agreeing(sample, each) for each in SEPARATORS)
    return agreeing > MOST and agreeing * len(sample) >= FEWEST


def _spaced(sample: list[str]) -> bool:
    """Whether spaces give each line the same number of columns; the header may lack one."""
    if len(sample) <= FEWEST or hint_of(sample[0]) or any(each in line for each in SEPARATORS for line in sample):
        return False
    csv.field_size_limit(LONGEST_FIELD)
    try:
        first, *others = (len(row) for row in csv.reader(sample, delimiter=SPACE) if row)
    except (csv.Error, ValueError):
        return False
    return len({*others}) == 1 and others[0] >= FEWEST and first in (others[0], others[0] - 1)


def titles(rows: Sequence[list[str]]) -> int:
    """How many rows stand before the header: those with one cell at most, the first, above a row with more. The header
    of two columns may lack a name, too.

    >>> titles([["Staff", "", ""], ["", "", ""], ["id", "name", "town"]]), titles([["", "mean"], ["a", "7"]])
    (2, 0)
    """
    held = [[place for place, cell in enumerate(row) if cell.strip()] for row in rows]
    header = next((number for number, places in enumerate(held) if len(places) > 1), 0)
    before = zip(rows[:header], held[:header], strict=True)
    return header if all(not places or (places == [0] and len(row) != 2) for row, places in before) else 0


def lacks_name(rows: Sequence[list[str]], *, sure: bool) -> str | None:
    """Which column the header does not name, if all rows have one more: the last if it is empty, as a separator at
    the end of lines leaves it, else the first, which is the name of the row in tables of R. That is so if it is `sure`
    that no separator stands within a value.

    >>> lacks_name([["a"], ["1", ""], ["2", ""]], sure=False), lacks_name([["a"], ["x", "1"], ["y", "2"]], sure=True)
    ('last', 'first')
    """
    header, *others = rows
    if len(others) < FEWEST or any(len(row) != len(header) + 1 for row in others):
        return None
    if not any(row[-1].strip() for row in others):
        return "last"
    return "first" if sure and len({row[0] for row in others}) == len(others) else None


def are_ends(rows: Sequence[list[str]]) -> bool:
    """Whether rows are edges: of two columns, which have things in common.

    >>> are_ends([["a", "b"], ["b", "c"], ["b", "a"]]), are_ends([["1", "Rum"], ["2", "Gin"], ["3", "Rum"]])
    (True, False)
    """
    if {len(row) for row in rows} != {2}:
        return False
    heads, tails = zip(*((head, tail) for head, tail in rows if head != tail), strict=True) if rows else ((), ())
    common = {*heads} & {*tails} - {""}
    return len(common) >= FEWEST


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
    if are_ends(others):
        known = {cell for row in others for cell in row}
        counted = all(cell.isdigit() for cell in (*header, *known))
        return " and ".join(f"'{cell}'" for cell in header if counted or cell in known) or None
    columns = zip(header, zip_longest(*others), strict=False)
    found = [cell for cell, below in columns if cell.strip() and (cell in below or _addresses([cell, *below]))]
    return " and ".join(f"'{each}'" for each in found[:FEWEST]) if len(found) >= FEWEST else None


def _addresses(cells: Sequence[str | None]) -> bool:
    """Whether the first cell is an address, and most of the others that are not empty, one at least."""
    told = [ADDRESS.match(cell) is not None for cell in cells if cell and cell.strip()]
    return told[0] and sum(told[1:]) > MOST * len(told[1:])


def hint_of(text: str) -> str:
    """What a file should be called that begins like this, if it is no table.

    >>> hint_of("@prefix owl: <http://www.w3.org/2002/07/owl#> ."), hint_of("id;name")
    ('; it looks like Turtle: call it .ttl', '')
    """
    if PAGE.match(text):
        return "; it looks like a page of the web, such as one that asks to log in: download the file itself"
    kind = next((kind for kind, begins in OTHERS.items() if begins.match(text)), None)
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
