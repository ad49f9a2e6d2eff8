"""Points of the figures, and what the findings ask of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import mean
from typing import Any

from emea.reproduce._cells import Measured, Plan
from emea.reproduce._pages import CHOSEN, Finding, Page, lines_plot
from emea.reproduce._systems import alone
from emea.runs.store import System

ABOUT = f"Structure only, blind; Hit@1 among the targets of the test pairs, mean of the splits. {CHOSEN}"
SLIGHT = 0.02 + 1e-9  # of Hit@1: a difference up to this is slight


def cells_of(plan: Plan, ratios: Iterable[float] | None = None) -> list[tuple[str, float]]:
    """The requested sets and ratios, among these ratios if given."""
    return [(data, ratio) for data in plan.sets for ratio in plan.ratios if ratios is None or ratio in {*ratios}]


def point(measured: Measured, system: System, data: str, ratio: float, **more: Any) -> dict[str, Any]:
    """The results of a system on a set, None if not measured."""
    values = {measure: measured.mean(system, data, ratio, measure) for measure in ("hit@1", "mr")}
    return {"set": data, "labels": f"{ratio:.0%}", "seeds": ratio, **more, **values}


def drawn(
    name: str, points: list[dict[str, Any]], x: str, color: str, facet: str, *, y: str = "hit@1"
) -> dict[str, dict[str, Any]]:
    """One figure for each set with anything to draw, by name."""
    known = [each for each in points if each[y] is not None]
    sets = list(dict.fromkeys(each["set"] for each in known))
    return {
        name if len(sets) == 1 else f"{name}-{data}": lines_plot(
            [each for each in known if each["set"] == data], x, y, color, facet
        )
        for data in sets
    }


def figure_page(
    name: str,
    title: str,
    points: list[dict[str, Any]],
    findings: dict[str, list[Finding]],
    figures: dict[str, dict[str, Any]],
) -> Page:
    """A page of points: their values, the findings, and the figures."""
    rows = [{key: _shown(key, value) for key, value in one.items() if key != "seeds"} for one in points]
    return Page(name, title, ABOUT, rows, findings, figures)


def _shown(key: str, value: Any) -> str:
    if value is None:
        return "not measured"
    return f"{value:.{1 if key == 'mr' else 3}f}" if isinstance(value, float) else str(value)


def ordered(measured: Measured, cells: list[tuple[str, float]], models: Sequence[str]) -> list[tuple[str, str]]:
    """Consecutive models in the order of their Hit@1 alone, the better one first."""
    hits = {
        model: [hit for cell in cells if (hit := measured.mean(alone(model), *cell)) is not None] for model in models
    }
    known = sorted((model for model in models if hits[model]), key=lambda model: -mean(hits[model]))
    return list(pairwise(known))


def rising(values: list[float]) -> list[bool]:
    """Whether each value is larger than the one before."""
    return [later > earlier for earlier, later in pairwise(values)]


def flat(parts: Iterable[list[bool]]) -> list[bool]:
    """All answers in one list."""
    return [answer for part in parts for answer in part]
