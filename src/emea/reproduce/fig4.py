"""Figure 4: other models in the loop."""

from __future__ import annotations

from collections.abc import Iterable

from emea.reproduce._cells import Measured, Plan
from emea.reproduce._items import Item
from emea.reproduce._pages import Finding, Page, ahead
from emea.reproduce._points import cells_of, drawn, figure_page, flat, ordered, point
from emea.reproduce._systems import EMEA_SUP, MODELS, PARIS, RREA_SUP, alone, guided
from emea.runs.store import Cell


class Fig4(Item):
    """Generality: other models in the loop."""

    title = "Figure 4: EMEA with other models"
    models = ("Dual-AMN", "AliNet", "IPTransE")

    def cells(self, plan: Plan) -> Iterable[Cell]:
        """Each model alone and in the loop, and PARIS."""
        systems = [PARIS, EMEA_SUP, RREA_SUP]
        for model in self.models:
            systems += [alone(model), guided(model)]
        return plan.cells(systems)

    def page(self, measured: Measured) -> Page:
        """Lines by amount of labels."""
        points, pairs = [], [(guided(model), alone(model)) for model in self.models]
        cells = cells_of(measured.plan)
        for data, ratio in cells:
            for model in self.models:
                for name, system in (("with EMEA", guided(model)), ("alone", alone(model)), ("PARIS", PARIS)):
                    points.append(point(measured, system, data, ratio, panel=model, what=name))
            points += [point(measured, guided(one), data, ratio, panel="with EMEA", what=one) for one in MODELS]
        final = [(guided(one), guided(two)) for one, two in ordered(measured, cells)]
        findings = [
            Finding.counted("EMEA improves each model", flat(ahead(measured, *pair, cells) for pair in pairs)),
            Finding.counted(
                "a model with EMEA is better than PARIS alone, too",
                flat(ahead(measured, guided(model), PARIS, cells) for model in self.models),
            ),
            Finding.counted(
                "better models end in better results",
                flat(ahead(measured, *pair, cells) for pair in final),
            ),
        ]
        figures = drawn("fig4", points, "seeds", "what", "panel")
        return figure_page("fig4", self.title, points, findings, figures)
