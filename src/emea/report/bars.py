"""The bars of one explanation as a picture that stands by itself: in a file, in a notebook, in a paper."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable
from itertools import accumulate, pairwise
from pathlib import Path
from xml.etree.ElementTree import Element, tostring

from emea.analysis.explanation import BEFORE, Explanation, Group, Part
from emea.errors import SettingsError
from emea.formats._files import writing
from emea.report.figures import converter
from emea.report.markup import h

SUFFIXES = (".svg", ".png", ".pdf")
WIDTH, EDGE = 760, 16
LEFT, RIGHT = 190, 670  # the bars are between these
LETTER = 0.56  # mean width of a letter, as a share of its size
PARTS = 3  # shown of each group
MARKS = (0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999)  # confidences on the axis
APART = 44  # pixels at least between them
FONT = "system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif"
COLOURS = {  # light and dark, as in card.css
    "page": ("#fcfcfa", "#15181c"),
    "ink": ("#1c2126", "#e4e7ea"),
    "quiet": ("#575e66", "#a3abb4"),
    "for": ("#3d6fb4", "#74a3e0"),
    "against": ("#b0561c", "#e39a63"),
}
UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML
ISOLATE, END = "\u2068", "\u2069"  # keep the direction of a text to itself


def drawn(found: Explanation) -> str:
    """The bars as SVG: each begins where the one before it ends, and the last end is the confidence."""
    sheet = _Sheet()
    sheet.line(_pair(found), size=16, weight="bold")
    told = found.status if found.base is None else f"{found.status} · confidence {_sure(found.confidence)}"
    sheet.line(told)
    sheet.line(" ↔ ".join(name for name in (found.source, found.target) if name), size=11, colour="quiet")
    for note in found.notes:
        sheet.line(note, colour="quiet")
    if found.base is not None:
        _waterfall(sheet, Group(BEFORE, "", found.base), *found.groups)
    return sheet.svg(f"Why {_pair(found)} has its confidence, in log-odds")


def save_bars(found: Explanation, path: Path) -> None:
    """Write the picture; the suffix names the format."""
    if path.suffix not in SUFFIXES:
        raise SettingsError(f"found {path.name}, expected a picture as {', '.join(SUFFIXES)}")
    svg = drawn(found)
    if path.suffix == ".svg":
        made = svg.encode()
    else:
        convert = converter(path.suffix, ".svg")
        made = convert.svg_to_png(svg, scale=2) if path.suffix == ".png" else convert.svg_to_pdf(svg)
    with writing(path) as file:
        file.write(made)


class _Sheet:
    """What has been drawn, from the top down."""

    def __init__(self) -> None:
        self.elements: list[Element] = []
        self.top = float(EDGE)

    def line(
        self,
        text: str,
        *,
        size: int = 13,
        colour: str = "ink",
        indent: int = 0,
        number: float | None = None,
        weight: str | None = None,
        room: int = WIDTH - 2 * EDGE,
    ) -> None:
        """A line of text, cut to the room it has, and a number at its end."""
        self.top += size + 7
        fitting = _cut(_clean(text), int((room - indent - 60 * (number is not None)) / (size * LETTER)))
        whole = h("title", _clean(text)) if fitting != _clean(text) else None
        style = {"y": self.top - 5, "font_size": size, "font_weight": weight, "class_": colour, "fill": _light(colour)}
        self.elements.append(h("text", f"{ISOLATE}{fitting}{END}", whole, x=EDGE + indent, **style))
        if number is not None:
            self.elements.append(h("text", _signed(number), x=WIDTH - EDGE, text_anchor="end", **style))

    def svg(self, told: str) -> str:
        """All of it."""
        height = self.top + EDGE
        dark = "".join(
            f".emea-bars .{name}{{{'stroke' if name == 'against' else 'fill'}:{colour}}}"
            for name, (_, colour) in COLOURS.items()
        )
        picture = h(
            "svg",
            h("style", f"@media (prefers-color-scheme:dark){{{dark}.emea-bars .rule{{stroke:{COLOURS['quiet'][1]}}}}}"),
            h("rect", width=WIDTH, height=height, class_="page", fill=_light("page")),
            *self.elements,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {WIDTH} {height:g}",
            width=WIDTH,
            height=height,
            class_="emea-bars",
            font_family=FONT,
            role="group",
            aria_label=_clean(told),
        )
        return tostring(picture, encoding="unicode")


def _waterfall(sheet: _Sheet, *steps: Group) -> None:
    ends = list(accumulate((step.log_odds for step in steps), initial=0.0))
    low, high = min(ends) - 0.5, max(ends) + 0.5

    def place(log_odds: float) -> float:
        return LEFT + (RIGHT - LEFT) * (log_odds - low) / (high - low)

    sheet.top += 6
    for step, (begin, end) in zip(steps, pairwise(ends), strict=True):
        sheet.top += 4
        sheet.line(step.title, number=step.log_odds, room=LEFT - EDGE + 60)
        middle = sheet.top - 9.5
        sheet.elements += [
            _rule(place(0), place(0), middle - 9, middle + 9),
            _bar(place(begin), place(end), middle, step),
        ]
        if step.text:
            sheet.line(step.text, size=12, colour="quiet")
        for part in _strongest(step.parts):
            sheet.line(part.text, size=12, colour="quiet", indent=14, number=part.log_odds)
    _axis(sheet, place, low, high, ends[-1])


def _bar(begin: float, end: float, middle: float, step: Group) -> Element:
    """What speaks for a pair is a full bar, what speaks against it a hollow one."""
    kind = "against" if step.log_odds < 0 else "for"
    paint = {"fill": "none", "stroke": _light(kind), "stroke_width": 2} if step.log_odds < 0 else {"fill": _light(kind)}
    return h(
        "rect", x=min(begin, end), width=abs(end - begin), y=middle - 6, height=12, class_=kind,
        data_group=_clean(step.name), **paint,
    )  # fmt: skip


def _axis(sheet: _Sheet, place: Callable[[float], float], low: float, high: float, end: float) -> None:
    """The sum, and which confidences log-odds stand for."""
    sheet.top += 8
    sheet.line("Together", number=end, weight="bold", room=LEFT - EDGE + 60)
    middle, shown = sheet.top - 9.5, -math.inf
    sheet.elements.append(_rule(LEFT, RIGHT, middle, middle))
    sheet.top += 14
    for mark in MARKS:
        odds = math.log(mark / (1 - mark))
        at = place(odds)
        if low < odds < high and at - shown >= APART:
            shown = at
            sheet.elements += [
                _rule(at, at, middle - 4, middle + 4),
                h("text", f"{mark:g}", x=at, y=middle + 18, text_anchor="middle", font_size=11, class_="quiet",
                  fill=_light("quiet")),
            ]  # fmt: skip
    sheet.elements.append(h("circle", cx=place(end), cy=middle, r=5, class_="ink", fill=_light("ink")))


def _rule(left: float, right: float, top: float, bottom: float) -> Element:
    return h("line", x1=left, x2=right, y1=top, y2=bottom, class_="rule", stroke=_light("quiet"), opacity=0.6)


def _strongest(parts: tuple[Part, ...]) -> list[Part]:
    """Some of the parts, and what the others add up to."""
    order = sorted(parts, key=lambda part: -abs(part.log_odds))
    others = order[PARTS:]
    rest = [Part(f"{len(others):,} more together", sum(part.log_odds for part in others))] if others else []
    return order[:PARTS] + rest


def _pair(found: Explanation) -> str:
    labels = (found.source_label, found.target_label) if found.target else (found.source_label,)
    return " ↔ ".join(f"{ISOLATE}{_cut(label, 36)}{END}" for label in labels)


def _sure(confidence: float) -> str:
    """With three digits, rounded down: nothing is certain."""
    return f"{math.floor(confidence * 1000 + 1e-9) / 1000:.3f}"


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


def _light(colour: str) -> str:
    return COLOURS[colour][0]


def _clean(text: str) -> str:
    """The text in one line, with a mark for what XML cannot hold."""
    return UNWRITABLE.sub("\ufffd", " ".join(text.split()))


def _cut(text: str, room: int) -> str:
    """As much of a text as fits; Chinese, Japanese and Korean letters are wide.

    >>> _cut("Switzerland", 6), _cut("日本語", 4), _cut("日本語", 6)
    ('Switz…', '日…', '日本語')
    """
    ends = list(accumulate(1 + (unicodedata.east_asian_width(letter) in "WF") for letter in text))
    if not ends or ends[-1] <= room:
        return text
    return text[: sum(end < room for end in ends)] + "…"
