"""Table 2: overall performance with semi-supervised RREA."""

from __future__ import annotations

from collections.abc import Iterable

from emea.reproduce import _paper
from emea.reproduce._cells import Measured, Plan
from emea.reproduce._items import Item
from emea.reproduce._pages import Finding, Page, ahead
from emea.reproduce._rows import ABOUT, MEASURES, beside_reported
from emea.reproduce._systems import EMEA_SEMI, EMEA_SUP, RREA_SEMI, VERSIONS, Version
from emea.runs.store import Cell


class Table2(Item):
    """Overall performance with semi-supervised RREA."""

    title = "Table 2: RREA and EMEA, semi-supervised"

    def cells(self, plan: Plan) -> Iterable[Cell]:
        """RREA and both versions of the loop, and the supervised ones to compare with."""
        return plan.cells(
            [RREA_SEMI, *(version(one) for one in (EMEA_SEMI, EMEA_SUP) for version in VERSIONS.values())]
        )

    def page(self, measured: Measured) -> Page:
        """Our results beside the paper's, with its findings."""
        systems = (RREA_SEMI, *(version(EMEA_SEMI) for version in VERSIONS.values()))
        rows = beside_reported(measured, systems, _paper.TABLE_2, MEASURES[:2], RREA_SEMI)
        findings = {f"`{name}`": self._findings(measured, version) for name, version in VERSIONS.items()}
        return Page("table2", self.title, ABOUT, rows, findings)

    @staticmethod
    def _findings(measured: Measured, version: Version) -> list[Finding]:
        sup, semi = version(EMEA_SUP), version(EMEA_SEMI)
        cells = [(data, ratio) for data in measured.plan.sets for ratio in measured.plan.ratios]
        few, more = ([cell for cell in cells if (cell[1] <= 0.01) == small] for small in (True, False))
        return [
            Finding.counted("EMEA boosts semi-supervised RREA everywhere", ahead(measured, semi, RREA_SEMI, cells)),
            Finding.counted(
                "semi-supervised RREA usually ends better than supervised RREA after EMEA (5 % and more)",
                ahead(measured, semi, sup, more),
            ),
            Finding.counted("at 1 % it ends worse", ahead(measured, sup, semi, few)),
        ]
