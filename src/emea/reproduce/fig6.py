"""Figure 6: PARIS against AvoidConf."""

from __future__ import annotations

from collections.abc import Iterable

from emea.reproduce._cells import Measured, Plan
from emea.reproduce._items import Item
from emea.reproduce._pages import Finding, Page, ahead
from emea.reproduce._points import SLIGHT, cells_of, drawn, figure_page, point
from emea.reproduce._systems import AVOID_SEMI, AVOID_SUP, EMEA_SEMI, EMEA_SUP, RREA_SEMI, RREA_SUP
from emea.runs.store import Cell


class Fig6(Item):
    """PARIS against AvoidConf."""

    title = "Figure 6: the rules compared"

    def cells(self, plan: Plan) -> Iterable[Cell]:
        """RREA alone and with each rule, in both modes."""
        return plan.cells([RREA_SUP, EMEA_SUP, AVOID_SUP, RREA_SEMI, EMEA_SEMI, AVOID_SEMI])

    def page(self, measured: Measured) -> Page:
        """Lines by amount of labels."""
        points, cells = [], cells_of(measured.plan)
        kinds = (
            ("supervised", "RREA", RREA_SUP),
            ("supervised", "with PARIS", EMEA_SUP),
            ("supervised", "with AvoidConf", AVOID_SUP),
            ("semi-supervised", "RREA", RREA_SEMI),
            ("semi-supervised", "with PARIS", EMEA_SEMI),
            ("semi-supervised", "with AvoidConf", AVOID_SEMI),
        )
        for data, ratio in cells:
            points += [point(measured, system, data, ratio, mode=mode, what=what) for mode, what, system in kinds]
        few, many = ([cell for cell in cells if (cell[1] <= 0.1) == small] for small in (True, False))
        gain = ahead(measured, AVOID_SEMI, RREA_SEMI, many, by=SLIGHT)
        findings = [
            Finding.counted("AvoidConf improves supervised RREA", ahead(measured, AVOID_SUP, RREA_SUP, cells)),
            Finding.counted(
                "and semi-supervised RREA with few labels (up to 10 %)", ahead(measured, AVOID_SEMI, RREA_SEMI, few)
            ),
            Finding.counted("but hardly with more (less than two points)", [not much for much in gain]),
            Finding.counted(
                "it is always worse than PARIS",
                [
                    *ahead(measured, EMEA_SUP, AVOID_SUP, cells),
                    *ahead(measured, EMEA_SEMI, AVOID_SEMI, cells),
                ],
            ),
        ]
        figures = drawn("fig6", points, "seeds", "what", "mode")
        return figure_page("fig6", self.title, points, findings, figures)
