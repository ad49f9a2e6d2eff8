"""Pictures as SVG that take their colours from the page, and are legible without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

import numpy as np

from emea.report.markup import h
from emea.runs.wording import counted

WIDTH, HEIGHT = 380, 240
LEFT, RIGHT, TOP, BOTTOM = 48, 12, 14, 40  # margins
BINS = 20
SIZE = 14  # of letters


@dataclass(frozen=True)
class Axis:
    """From data to a place in the picture, with marks at some of the values."""

    low: float
    high: float
    title: str
    marks: Sequence[float]

    def at(self, value: float, begin: float, end: float) -> float:
        """Where a value lies between two places."""
        return begin + (value - self.low) / ((self.high - self.low) or 1) * (end - begin)


def histogram(confidence: np.ndarray) -> Element:
    """How many links there are at each confidence."""
    edges = np.linspace(0, 1, BINS + 1)
    counts, _ = np.histogram(confidence, edges)
    first = min(BINS // 2, int(np.flatnonzero(counts)[0])) if counts.any() else BINS // 2  # half, if that shows all
    across = Axis(float(edges[first]), 1.0, "confidence", [float(mark) for mark in np.linspace(edges[first], 1, 6)])
    most = max(1, int(counts.max(initial=0)))
    up = Axis(0, most, "links", ticks(most))
    bars = []
    for low, high, count in zip(edges[first:-1], edges[first + 1 :], counts[first:], strict=True):
        left, right, top = _x(across, low) + 1, _x(across, high) - 1, _y(up, float(count))
        told = h("title", f"{counted(int(count), 'link')} from {low:.2f} to {high:.2f}")
        bars.append(
            h("rect", told, x=left, y=top, width=right - left, height=_y(up, 0) - top, class_="bar", fill="#3d6fb4")
        )
    total = f"Histogram of the confidence of {counted(len(confidence), 'link')}"
    return _picture(total, across, up, bars)


def unit_lines(
    lines: Sequence[tuple[str, Sequence[tuple[float, float]]]], across: str, up: str, told: str, *, diagonal: bool
) -> Element:
    """Lines between 0 and 1 on both axes; each is named, and drawn differently from the others."""
    marks = [0, 0.2, 0.4, 0.6, 0.8, 1]
    x, y = Axis(0, 1, across, marks), Axis(0, 1, up, marks)
    drawn = []
    if diagonal:
        drawn.append(_line([(0, 0), (1, 1)], x, y, "guide", "2 4"))
    for number, (_, points) in enumerate(lines):
        drawn.append(_line(points, x, y, f"line line-{number}", None if number == 0 else "6 3"))
        if diagonal:
            drawn += [h("circle", cx=_x(x, a), cy=_y(y, b), r=3, class_=f"dot line-{number}") for a, b in points]
    return _picture(told, x, y, drawn)


def ticks(most: float) -> list[float]:
    """About four round values from 0 to at most `most`.

    >>> ticks(770)
    [0.0, 200.0, 400.0, 600.0]
    """
    rough = max(most, 1) / 4
    power = 10 ** np.floor(np.log10(rough))
    step = max(1.0, next(float(factor * power) for factor in (1, 2, 5, 10) if factor * power >= rough))
    return [float(value) for value in np.arange(0, most + step / 100, step)]


def _x(axis: Axis, value: float) -> float:
    return axis.at(value, LEFT, WIDTH - RIGHT)


def _y(axis: Axis, value: float) -> float:
    return axis.at(value, HEIGHT - BOTTOM, TOP)


def _line(points: Sequence[tuple[float, float]], x: Axis, y: Axis, kind: str, dashes: str | None) -> Element:
    path = "M" + " L".join(f"{_x(x, a):.1f} {_y(y, b):.1f}" for a, b in points) if points else "M0 0"
    return h("path", d=path, class_=kind, fill="none", stroke="currentColor", stroke_dasharray=dashes)


def _picture(told: str, across: Axis, up: Axis, drawn: Sequence[Element]) -> Element:
    """The axes, and what is drawn between them."""
    floor = HEIGHT - BOTTOM
    parts = []
    for mark in up.marks:
        parts.append(
            h("line", x1=LEFT, x2=WIDTH - RIGHT, y1=_y(up, mark), y2=_y(up, mark), class_="grid", stroke="#8884")
        )
        parts.append(_text(_short(mark), x=LEFT - 6, y=_y(up, mark) + 4, text_anchor="end"))
    parts += [_text(_short(mark), x=_x(across, mark), y=floor + 17, text_anchor="middle") for mark in across.marks]
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(_text(across.title, x=middle, y=HEIGHT - 6, text_anchor="middle", class_="title"))
    turn = f"rotate(-90 12 {(floor + TOP) / 2:g})"
    parts.append(_text(up.title, x=12, y=(floor + TOP) / 2, transform=turn, text_anchor="middle", class_="title"))
    return h(
        "svg",
        *parts,
        *drawn,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=told,
        class_="chart",
        width=WIDTH,
        height=HEIGHT,
    )


def _text(text: str, **attributes: str | float) -> Element:
    return h("text", text, font_size=SIZE, fill="currentColor", **attributes)


def _short(value: float) -> str:
    if value >= 1000:
        return f"{value / 1000:g}k"
    return f"{value:.2f}".rstrip("0").rstrip(".")
