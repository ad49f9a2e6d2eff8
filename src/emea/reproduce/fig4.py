"""Figure 4: other models in the loop."""

from __future__ import annotations

from collections.abc import Iterable

from emea.reproduce._cells import Measured, Plan
from emea.reproduce._items import Item
from emea.reproduce._pages import READINGS, Finding, Page, ahead
from emea.reproduce._points import cells_of, drawn, figure_page, flat, ordered, point
from emea.reproduce._systems import EMEA_SUP, MODELS, PARIS, RREA_SUP, VERSIONS, Version, alone, guided, model_of
from emea.runs.store import Cell


class Fig4(Item):
    """Generality: other models in the loop."""

    title = "Figure 4: EMEA with other models"

    @staticmethod
    def models(plan: Plan) -> tuple[str, ...]:
        """The paper's, or others, beside RREA."""
        chosen = [model_of(encoder) for encoder in plan.encoders] or [*MODELS]
        return tuple(model for model in dict.fromkeys(chosen) if model != "RREA")

    def cells(self, plan: Plan) -> Iterable[Cell]:
        """Each model alone and in the loop, and PARIS."""
        models = self.models(plan)
        systems = [PARIS, RREA_SUP, *map(alone, models)]
        loops = [EMEA_SUP, *map(guided, models)]
        return plan.cells([*systems, *(version(loop) for version in VERSIONS.values() for loop in loops)])

    def page(self, measured: Measured) -> Page:
        """Lines by amount of labels."""
        points, cells, models = [], cells_of(measured.plan), self.models(measured.plan)
        for data, ratio in cells:
            for model in models:
                kinds = {"alone": alone(model), "PARIS": PARIS}
                kinds |= {f"with EMEA, `{name}`": version(guided(model)) for name, version in VERSIONS.items()}
                points += [
                    point(measured, system, data, ratio, panel=model, what=what) for what, system in kinds.items()
                ]
            for name, version in VERSIONS.items():
                panel = f"with EMEA, `{name}`"
                every = [(one, version(guided(one))) for one in ("RREA", *models)]
                points += [point(measured, system, data, ratio, panel=panel, what=one) for one, system in every]
        findings = {
            f"`{name}`{reading}": self._findings(measured, version, cells, links=links)
            for reading, links in READINGS.items()
            for name, version in VERSIONS.items()
        }
        figures = drawn("fig4", points, "seeds", "what", "panel")
        return figure_page("fig4", self.title, points, findings, figures)

    def _findings(
        self, measured: Measured, version: Version, cells: list[tuple[str, float]], *, links: bool
    ) -> list[Finding]:
        models = self.models(measured.plan)
        pairs = [(version(guided(model)), alone(model)) for model in models]
        better = ordered(measured, cells, ("RREA", *models))
        final = [(version(guided(one)), version(guided(two))) for one, two in better]
        return [
            Finding.counted("EMEA improves each model", flat(ahead(measured, *pair, cells) for pair in pairs)),
            Finding.counted(
                "a model with EMEA is better than PARIS alone, too",
                flat(ahead(measured, loop, PARIS, cells, links=links) for loop, _ in pairs),
            ),
            Finding.counted(
                "better models end in better results", flat(ahead(measured, *pair, cells) for pair in final)
            ),
        ]
