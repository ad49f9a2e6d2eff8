"""Table 1: overall performance with supervised RREA."""

from __future__ import annotations

from collections.abc import Iterable

from emea.reproduce import _paper
from emea.reproduce._cells import Measured, Plan
from emea.reproduce._items import Item
from emea.reproduce._pages import Finding, Page, ahead
from emea.reproduce._rows import ABOUT, MEASURES, beside_reported, missing_sets, unmeasured
from emea.reproduce._systems import EMEA_SUP, PARIS, PRASE, RREA_SUP, ours
from emea.runs.store import Cell

SIGNIFICANT = 0.01
COMPARABLE = 0.03  # of Hit@1


class Table1(Item):
    """Overall performance with supervised RREA."""

    title = "Table 1: PARIS, RREA, PRASE and EMEA, supervised"
    systems = (PARIS, RREA_SUP, PRASE, EMEA_SUP)

    def cells(self, plan: Plan) -> Iterable[Cell]:
        """Every system, and our presets, on every set, ratio and split."""
        return plan.cells([*self.systems, *map(ours, plan.presets)])

    def page(self, measured: Measured) -> Page:
        """Our results beside the paper's, with its findings."""
        plan = measured.plan
        rows = beside_reported(measured, self.systems, _paper.TABLE_1, MEASURES, (EMEA_SUP, RREA_SUP))
        for data in (name for name in _paper.TABLE_1 if name not in plan.sets):
            rows += unmeasured(data, self.systems, plan.ratios, rows[0]) if rows else []
        return Page("table1", self.title, ABOUT, rows, self._findings(measured), below=missing_sets(plan))

    def _findings(self, measured: Measured) -> list[Finding]:
        cells = [(data, ratio) for data in measured.plan.sets for ratio in measured.plan.ratios]
        better = []
        for cell in cells:
            hits, p = measured.both(EMEA_SUP, RREA_SUP, *cell), measured.p_value(EMEA_SUP, RREA_SUP, *cell)
            if hits is not None and p is not None:
                better.append(hits[0] > hits[1] and p < SIGNIFICANT)
        pairs = [
            (measured.mean(EMEA_SUP, data, 0.05), measured.mean(RREA_SUP, data, 0.2)) for data in measured.plan.sets
        ]
        near = [few > many - COMPARABLE for few, many in pairs if few is not None and many is not None]
        return [
            Finding.counted("EMEA significantly improves RREA on all sets and ratios (p < 0.01)", better),
            Finding.counted(
                "EMEA with 5 % of the labels is comparable with RREA with 20 % (at most three points behind)", near
            ),
            Finding.counted("EMEA always outperforms PARIS", ahead(measured, EMEA_SUP, PARIS, cells)),
            Finding.counted(
                "PARIS is worse than RREA where only structure counts", ahead(measured, RREA_SUP, PARIS, cells)
            ),
            Finding.counted("EMEA outperforms PRASE everywhere", ahead(measured, EMEA_SUP, PRASE, cells)),
            Finding.counted("PRASE always improves PARIS", ahead(measured, PRASE, PARIS, cells)),
            Finding.somewhere("PRASE is sometimes worse than RREA alone", ahead(measured, RREA_SUP, PRASE, cells)),
        ]
