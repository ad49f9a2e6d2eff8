"""Figure 5: convergence of both parts."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import mean
from typing import Any

from emea.reproduce._cells import Measured, Plan
from emea.reproduce._items import Item
from emea.reproduce._pages import Finding, Page
from emea.reproduce._points import cells_of, drawn, figure_page
from emea.reproduce._systems import EMEA_SUP, VERSIONS
from emea.runs.store import Cell

PARTS = ("neural", "compatibility")


class Fig5(Item):
    """Convergence of both parts."""

    title = "Figure 5: both parts from round to round"
    ratios = (0.01, 0.05)

    def cells(self, plan: Plan) -> Iterable[Cell]:
        """The paper's loop with few labels."""
        return plan.cells([version(EMEA_SUP) for version in VERSIONS.values()], self.ratios)

    def page(self, measured: Measured) -> Page:
        """Lines by round."""
        points: list[dict[str, Any]] = []
        findings = {}
        for name, version in VERSIONS.items():
            rising, early, late = [], [], []
            for data, ratio in cells_of(measured.plan, self.ratios):
                runs = [run["rounds"] for run in measured.runs(version(EMEA_SUP), data, ratio)]
                length = min(map(len, runs), default=0)
                lines = {part: [mean(run[step][part] for run in runs) for step in range(length)] for part in PARTS}
                for part, values in lines.items():
                    panel = {"set": data, "panel": f"{ratio:.0%}, `{name}`", "part": part}
                    points += [{**panel, "round": step, "hit@1": value} for step, value in enumerate(values)]
                    rising += [values[-1] > values[0]] if length > 1 else []
                if length > 1:
                    early.append(lines["compatibility"][0] > lines["neural"][0])
                    late.append(lines["compatibility"][-1] < lines["neural"][-1])
            findings[f"`{name}`"] = [
                Finding.counted("both parts improve over the rounds", rising),
                Finding.counted("the compatibility model is better at first", early),
                Finding.counted("and worse at the end", late),
            ]
        figures = drawn("fig5", points, "round", "part", "panel")
        return figure_page("fig5", self.title, points, findings, figures)
