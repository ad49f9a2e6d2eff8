"""Appendix A: compatibility of RREA's predictions by amount of labels."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import mean
from typing import Any

from emea.reproduce._cells import Cell, Measured, Plan
from emea.reproduce._items import Item
from emea.reproduce._pages import Finding, Page, Rows, with_facet
from emea.reproduce._points import flat, rising
from emea.reproduce._systems import RREA_SUP


class AppendixA(Item):
    """Compatibility of RREA's predictions."""

    title = "Appendix A: compatibility and conflicts by amount of labels"

    def cells(self, plan: Plan) -> Iterable[Cell]:
        """RREA alone."""
        return plan.cells([RREA_SUP])

    def page(self, measured: Measured) -> Page:
        """Violins beside the oracle's, and the share of conflicts."""
        rows: Rows = []
        violins: list[dict[str, Any]] = []
        means: list[list[float]] = []
        conflicts: list[list[float]] = []
        oracle: list[bool] = []
        for data in measured.plan.sets:
            means.append([])
            conflicts.append([])
            for ratio in measured.plan.ratios:
                runs = [run["compatibility"] for run in measured.runs(RREA_SUP, data, ratio)]
                if not runs:
                    continue
                predicted, true = (mean(run[who]["mean"] for run in runs) for who in ("predicted", "true"))
                clash = mean(run["conflicts"] for run in runs)
                means[-1].append(predicted)
                conflicts[-1].append(clash)
                oracle.append(true > predicted)
                rows.append(
                    {
                        "set": data,
                        "seeds": f"{ratio:.0%}",
                        "mean compatibility": f"{predicted:.3f}",
                        "of the true links": f"{true:.3f}",
                        "conflicting predictions": f"{clash:.3f}",
                        "hit@1": measured.shown(RREA_SUP, data, ratio),
                    }
                )
                violins += _violin(f"{ratio:.0%}", runs[0]["predicted"]["shares"], predicted)
                if ratio == measured.plan.ratios[-1]:
                    violins += _violin("oracle", runs[0]["true"]["shares"], true)
        findings = [
            Finding.counted("better models make more compatible predictions", flat(map(rising, means))),
            Finding.counted("the oracle's alignment is more compatible", oracle),
            Finding.counted(
                "better models make fewer conflicting predictions", [not up for up in flat(map(rising, conflicts))]
            ),
        ]
        about = "g of the PARIS rule at each test source under the predictions of RREA; bars show the first split."
        return Page(
            "appendix-a", self.title, about, rows, findings, {"appendix-a": _violins(violins)} if violins else {}
        )


def _violin(name: str, shares: list[float], average: float) -> list[dict[str, Any]]:
    step, widest = 1 / len(shares), max(shares) or 1.0
    return [
        {
            "labels": name,
            "compatibility": step * (place + 0.5),
            "low": -share / widest,
            "high": share / widest,
            "mean": average,
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
                "y": {"field": "mean", "aggregate": "mean", "type": "quantitative"},
            },
        },
    ]
    spec = with_facet({"width": 70, "height": 220, "layer": layers}, rows, "labels")
    return {**spec, "columns": 8}
