"""Table 2: overall performance with semi-supervised RREA."""

from __future__ import annotations

from collections.abc import Iterable

from emea.reproduce import _paper
from emea.reproduce._cells import Measured, Plan
from emea.reproduce._items import Item
from emea.reproduce._pages import Finding, Page, ahead
from emea.reproduce._rows import ABOUT, MEASURES, beside_reported
from emea.reproduce._systems import EMEA_SEMI, EMEA_SUP, RREA_SEMI
from emea.runs.store import Cell


class Table2(Item):
    """Overall performance with semi-supervised RREA."""

    title = "Table 2: RREA and EMEA, semi-supervised"

    def cells(self, plan: Plan) -> Iterable[Cell]:
        """Both systems, and supervised EMEA to compare with."""
        return plan.cells([RREA_SEMI, EMEA_SEMI, EMEA_SUP])

    def page(self, measured: Measured) -> Page:
        """Our results beside the paper's, with its findings."""
        rows = beside_reported(measured, (RREA_SEMI, EMEA_SEMI), _paper.TABLE_2, MEASURES[:2], (EMEA_SEMI, RREA_SEMI))
        sets, ratios = measured.plan.sets, measured.plan.ratios
        cells = [(data, ratio) for data in sets for ratio in ratios]
        few, more = ([cell for cell in cells if (cell[1] <= 0.01) == small] for small in (True, False))
        findings = [
            Finding.counted(
                "EMEA boosts semi-supervised RREA everywhere", ahead(measured, EMEA_SEMI, RREA_SEMI, cells)
            ),
            Finding.counted(
                "semi-supervised RREA usually ends better than supervised RREA after EMEA (5 % and more)",
                ahead(measured, EMEA_SEMI, EMEA_SUP, more),
            ),
            Finding.counted("at 1 % it ends worse", ahead(measured, EMEA_SUP, EMEA_SEMI, few)),
        ]
        return Page("table2", self.title, ABOUT, rows, findings)
