"""Appendix A: compatibility of RREA's predictions by amount of labels."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import mean
from typing import Any

from emea.reproduce._cells import Measured, Plan
from emea.reproduce._items import Item
from emea.reproduce._pages import NOT_MEASURED, Finding, Page, with_facet
from emea.reproduce._points import rising
from emea.reproduce._systems import RREA_SUP
from emea.runs.store import Cell


class AppendixA(Item):
    """Compatibility of RREA's predictions."""

    title = "Appendix A: compatibility and conflicts by amount of labels"

    def cells(self, plan: Plan) -> Iterable[Cell]:
        """RREA alone."""
        return plan.cells([RREA_SUP])

    def page(self, measured: Measured) -> Page:
        """Violin plots beside the oracle's, and the share of conflicts."""
        plan, rows, figures, findings = measured.plan, [], {}, _Answers()
        for data in plan.sets:
            measures = {ratio: _means(measured, data, ratio) for ratio in plan.ratios}
            rows += [_row(measured, data, ratio, found) for ratio, found in measures.items()]
            known = {ratio: found for ratio, found in measures.items() if found is not None}
            findings.add(list(known.values()))
            violins = [part for ratio, found in known.items() for part in _violin(f"{ratio:.0%}", found, "predicted")]
            if known:
                violins += _violin("oracle", [*known.values()][-1], "true")
                figures["appendix-a" if len(plan.sets) == 1 else f"appendix-a-{data}"] = _violins(violins)
        about = "g of the PARIS rule at each test source under the predictions of RREA; bars show the first split."
        return Page("appendix-a", self.title, about, rows, {"ours": findings.told()}, figures)


class _Answers:
    """What the sets say about the paper's findings."""

    def __init__(self) -> None:
        self.compatible: list[bool] = []
        self.oracle: list[bool] = []
        self.fewer: list[bool] = []

    def add(self, found: list[dict[str, Any]]) -> None:
        """Add the figures of a set, the fewest labels first."""
        self.compatible += rising([one["predicted"] for one in found])
        self.oracle += [one["true"] > one["predicted"] for one in found]
        self.fewer += rising([-one["conflicts"] for one in found])

    def told(self) -> list[Finding]:
        """The findings."""
        return [
            Finding.counted("better models make more compatible predictions", self.compatible),
            Finding.counted("the oracle's alignment is more compatible", self.oracle),
            Finding.counted("better models make fewer conflicting predictions", self.fewer),
        ]


def _means(measured: Measured, data: str, ratio: float) -> dict[str, Any] | None:
    """Means over the splits, and the histograms of the first."""
    runs = [run["compatibility"] for run in measured.runs(RREA_SUP, data, ratio)]
    if not runs:
        return None
    means = {who: mean(run[who]["mean"] for run in runs) for who in ("predicted", "true")}
    shares = {f"shares {who}": runs[0][who]["shares"] for who in means}
    return {**means, **shares, "conflicts": mean(run["conflicts"] for run in runs)}


def _row(measured: Measured, data: str, ratio: float, found: dict[str, Any] | None) -> dict[str, str]:
    columns = {"mean compatibility": "predicted", "of the true links": "true", "conflicting predictions": "conflicts"}
    values = {name: NOT_MEASURED if found is None else f"{found[key]:.3f}" for name, key in columns.items()}
    return {"set": data, "seeds": f"{ratio:.0%}", **values, "hit@1": measured.shown(RREA_SUP, data, ratio)}


def _violin(name: str, found: dict[str, Any], who: str) -> list[dict[str, Any]]:
    shares = found[f"shares {who}"]
    step, widest = 1 / len(shares), max(shares) or 1.0
    return [
        {
            "labels": name,
            "compatibility": step * (place + 0.5),
            "low": -share / widest,
            "high": share / widest,
            "mean": found[who],
        }
        for place, share in enumerate(shares)
    ]


def _violins(rows: list[dict[str, Any]]) -> dict[str, Any]:
    axis = {"field": "low", "type": "quantitative", "axis": None, "scale": {"domain": [-1, 1]}}
    height = {"field": "compatibility", "type": "quantitative", "scale": {"domain": [0, 1]}}
    layers = [
        {"mark": {"type": "bar", "height": 8}, "encoding": {"x": axis, "x2": {"field": "high"}, "y": height}},
        {
            "mark": {"type": "point", "shape": "triangle-up", "filled": True, "color": "black", "size": 70},
            "encoding": {
                "x": {"datum": 0},
                "y": {"field": "mean", "aggregate": "mean", "type": "quantitative", "title": "compatibility"},
            },
        },
    ]
    spec = with_facet({"width": 70, "height": 220, "layer": layers}, rows, "labels")
    return {**spec, "columns": 8}
