"""Points of the figures, and what is asked of them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from statistics import mean
from typing import Any

from emea.reproduce._cells import Measured, Plan, System
from emea.reproduce._pages import Finding, Page
from emea.reproduce._systems import MODELS, alone

ABOUT = "Structure only, blind; Hit@1 among the targets of the test pairs, mean of the splits."
SLIGHT = 0.02  # of Hit@1: a difference that is no more than this is slight


def cells_of(plan: Plan, ratios: Iterable[float] | None = None) -> list[tuple[str, float]]:
    return [(data, ratio) for data in plan.sets for ratio in plan.ratios if ratios is None or ratio in {*ratios}]


def point(measured: Measured, system: System, data: str, ratio: float, **more: Any) -> dict[str, Any]:
    values = {measure: measured.mean(system, data, ratio, measure) for measure in ("hit@1", "mr")}
    return {"set": data, "labels": f"{ratio:.0%}", "seeds": ratio, **more, **values}


def drawn(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [point for point in points if point["hit@1"] is not None]


def figure_page(
    name: str, title: str, points: list[dict[str, Any]], findings: list[Finding], figure: dict[str, Any]
) -> Page:
    rows = [{key: _shown(key, value) for key, value in point.items() if key != "seeds"} for point in points]
    drawn = any(point["hit@1"] is not None for point in points)
    return Page(name, title, ABOUT, rows, findings, {name: figure} if drawn else {})


def _shown(key: str, value: Any) -> str:
    if value is None:
        return "not measured"
    return f"{value:.{1 if key == 'mr' else 3}f}" if isinstance(value, float) else str(value)


def ordered(measured: Measured, cells: list[tuple[str, float]]) -> list[tuple[str, str]]:
    """Neighbouring models by how good they are alone, the better first."""
    hits = {
        model: [hit for cell in cells if (hit := measured.mean(alone(model), *cell)) is not None] for model in MODELS
    }
    known = sorted((model for model in MODELS if hits[model]), key=lambda model: -mean(hits[model]))
    return list(pairwise(known))


def rising(values: list[float]) -> list[bool]:
    return [later > earlier for earlier, later in pairwise(values)]


def flat(parts: Iterable[list[bool]]) -> list[bool]:
    return [answer for part in parts for answer in part]
