"""Table 3: the neural models by themselves."""

from __future__ import annotations

from collections.abc import Iterable

from emea.report.tables import Rows
from emea.reproduce import _paper
from emea.reproduce._cells import Measured, Plan
from emea.reproduce._items import Item
from emea.reproduce._pages import Page
from emea.reproduce._rows import ABOUT, MEASURES, REPORTED
from emea.reproduce._systems import ENCODERS, alone, ours
from emea.runs.store import Cell, System

QUOTED = (
    "*reported* is what the paper quotes from the models' own papers, whose code is not always blind. GCN-Align's "
    "figures there are with attributes (with structure alone .384, .382 and .365 are published), BootEA's with a third "
    "objective and MuGNN's with rules, which ours leave out."
)


class Table3(Item):
    """The neural models by themselves."""

    title = "Table 3: neural models with 30 % of the labels"
    ratios = (0.3,)

    def cells(self, plan: Plan) -> Iterable[Cell]:
        """The models implemented here, and our presets."""
        return plan.cells([*self._here().values(), *map(ours, plan.presets)], self.ratios)

    def page(self, measured: Measured) -> Page:
        """Our results beside those that the paper quotes."""
        rows: Rows = []
        here = {**self._here(), **{f"emea {preset}": ours(preset) for preset in measured.plan.presets}}
        for name in {**_paper.TABLE_3, **here}:
            row = {"method": name}
            for data in measured.plan.sets:
                place = _paper.TABLE_3_SETS.index(data) if data in _paper.TABLE_3_SETS else None
                quoted = _paper.TABLE_3[name][place] if name in _paper.TABLE_3 and place is not None else ()
                for column, measure in enumerate(MEASURES[:2]):
                    row[f"{data} {measure}, reported"] = f"{quoted[column]:.3f}" if quoted else ""
                    row[f"{data} {measure}"] = measured.shown(here[name], data, *self.ratios, measure)
            rows.append(row)
        return Page("table3", self.title, ABOUT.replace(REPORTED, QUOTED), rows)

    @staticmethod
    def _here() -> dict[str, System]:
        semi = ("RREA", "Dual-AMN", "MRAEA", "PSR", "BootEA")
        sup = [name for name in ENCODERS if name != "BootEA"]  # which is reported in one mode only
        systems = {f"{name} sup" if name in semi else name: alone(name) for name in sup}
        return {**systems, **{f"{name} semi": alone(name, "semi") for name in semi}}
