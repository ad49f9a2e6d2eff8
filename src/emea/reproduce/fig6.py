"""Figure 6: PARIS against AvoidConf."""

from __future__ import annotations

from collections.abc import Iterable

from emea.reproduce._cells import Measured, Plan
from emea.reproduce._items import Item
from emea.reproduce._pages import Finding, Page, ahead
from emea.reproduce._points import SLIGHT, cells_of, drawn, figure_page, point
from emea.reproduce._systems import EMEA_SEMI, EMEA_SUP, RREA_SEMI, RREA_SUP, VERSIONS, Version, avoiding
from emea.runs.store import Cell


class Fig6(Item):
    """PARIS against AvoidConf."""

    title = "Figure 6: the rules compared"

    def cells(self, plan: Plan) -> Iterable[Cell]:
        """RREA alone and with each rule, in both modes."""
        loops = [loop for one in (EMEA_SUP, EMEA_SEMI) for loop in (one, avoiding(one))]
        return plan.cells([RREA_SUP, RREA_SEMI, *(version(loop) for version in VERSIONS.values() for loop in loops)])

    def page(self, measured: Measured) -> Page:
        """Lines by amount of labels."""
        points, cells = [], cells_of(measured.plan)
        modes = {"supervised": (RREA_SUP, EMEA_SUP), "semi-supervised": (RREA_SEMI, EMEA_SEMI)}
        for data, ratio in cells:
            for name, version in VERSIONS.items():
                for mode, (model, loop) in modes.items():
                    for what, system in (
                        ("RREA", model),
                        ("with PARIS", version(loop)),
                        ("with AvoidConf", version(avoiding(loop))),
                    ):
                        panel = f"{mode}, `{name}`"
                        points.append(point(measured, system, data, ratio, panel=panel, what=what))
        figures = drawn("fig6", points, "seeds", "what", "panel")
        findings = {f"`{name}`": self._findings(measured, version, cells) for name, version in VERSIONS.items()}
        return figure_page("fig6", self.title, points, findings, figures)

    @staticmethod
    def _findings(measured: Measured, version: Version, cells: list[tuple[str, float]]) -> list[Finding]:
        sup, semi, avoid_sup, avoid_semi = map(version, (EMEA_SUP, EMEA_SEMI, avoiding(EMEA_SUP), avoiding(EMEA_SEMI)))
        few, many = ([cell for cell in cells if (cell[1] <= 0.1) == small] for small in (True, False))
        gain = ahead(measured, avoid_semi, RREA_SEMI, many, by=SLIGHT)
        return [
            Finding.counted("AvoidConf improves supervised RREA", ahead(measured, avoid_sup, RREA_SUP, cells)),
            Finding.counted(
                "and semi-supervised RREA with few labels (up to 10 %)", ahead(measured, avoid_semi, RREA_SEMI, few)
            ),
            Finding.counted("but hardly with more (less than two points)", [not much for much in gain]),
            Finding.counted(
                "it is always worse than PARIS",
                [*ahead(measured, sup, avoid_sup, cells), *ahead(measured, semi, avoid_semi, cells)],
            ),
        ]
