"""Table 1: overall performance with supervised RREA."""

from __future__ import annotations

from collections.abc import Iterable

from emea.reproduce import _paper
from emea.reproduce._cells import Measured, Plan
from emea.reproduce._items import Item
from emea.reproduce._pages import READINGS, Finding, Page, ahead
from emea.reproduce._rows import ABOUT, MEASURES, beside_reported, missing_sets, unmeasured
from emea.reproduce._systems import EMEA_SUP, PARIS, PRASE, RREA_SUP, VERSIONS, as_written, ours
from emea.runs.store import Cell, System

SIGNIFICANT = 0.01
COMPARABLE = 0.03  # of Hit@1


class Table1(Item):
    """Overall performance with supervised RREA."""

    title = "Table 1: PARIS, RREA, PRASE and EMEA, supervised"
    systems = (PARIS, RREA_SUP, PRASE, as_written(EMEA_SUP), EMEA_SUP)

    def cells(self, plan: Plan) -> Iterable[Cell]:
        """Every system, and our presets, on every set, ratio and split."""
        return plan.cells([*self.systems, *map(ours, plan.presets)])

    def page(self, measured: Measured) -> Page:
        """Our results beside the paper's, with its findings."""
        plan = measured.plan
        rows = beside_reported(measured, self.systems, _paper.TABLE_1, MEASURES, RREA_SUP)
        for data in (name for name in _paper.TABLE_1 if name not in plan.sets):
            rows += unmeasured(data, self.systems, plan.ratios, rows[0]) if rows else []
        findings = {
            f"`{name}`{reading}": self._findings(measured, version(EMEA_SUP), links=links)
            for reading, links in READINGS.items()
            for name, version in VERSIONS.items()
        }
        return Page("table1", self.title, ABOUT, rows, findings, below=missing_sets(plan))

    def _findings(self, measured: Measured, emea: System, *, links: bool) -> list[Finding]:
        cells = [(data, ratio) for data in measured.plan.sets for ratio in measured.plan.ratios]
        better, worse = [], []
        for cell in cells:
            hits, p = measured.both(emea, RREA_SUP, *cell), measured.p_value(emea, RREA_SUP, *cell)
            ranks = [measured.mean(system, *cell, "mr") for system in (emea, RREA_SUP)]
            if hits is not None and p is not None:
                better.append(hits[0] > hits[1] and p < SIGNIFICANT)
            if ranks[0] is not None and ranks[1] is not None:
                worse.append(ranks[0] < ranks[1])
        pairs = [(measured.mean(emea, data, 0.05), measured.mean(RREA_SUP, data, 0.2)) for data in measured.plan.sets]
        near = [few > many - COMPARABLE for few, many in pairs if few is not None and many is not None]
        significant = [
            self._significantly(measured, RREA_SUP, PARIS, cell, links=links)
            for cell in cells
            if measured.both(RREA_SUP, PARIS, *cell) is not None
        ]
        told = f"significantly (p < {SIGNIFICANT}) in {sum(significant)}" if significant else ""
        return [
            Finding.counted("EMEA significantly improves RREA on all sets and ratios (p < 0.01)", better),
            Finding.counted("and lowers its mean rank (MR)", worse),
            Finding.counted(
                "EMEA with 5 % of the labels is comparable with RREA with 20 % (at most three points behind)", near
            ),
            Finding.counted("EMEA always outperforms PARIS", ahead(measured, emea, PARIS, cells, links=links)),
            Finding.counted(
                "PARIS is worse than RREA where only structure counts",
                ahead(measured, RREA_SUP, PARIS, cells, links=links),
                told,
            ),
            Finding.counted("EMEA outperforms PRASE everywhere", ahead(measured, emea, PRASE, cells, links=links)),
            Finding.counted("PRASE always improves PARIS", ahead(measured, PRASE, PARIS, cells, links=links)),
            Finding.somewhere(
                "PRASE is sometimes worse than RREA alone", ahead(measured, RREA_SUP, PRASE, cells, links=links)
            ),
        ]

    @staticmethod
    def _significantly(
        measured: Measured, first: System, second: System, cell: tuple[str, float], *, links: bool
    ) -> bool:
        """Whether the first is better, beyond chance within every split."""
        hits, p = measured.both(first, second, *cell, links=links), measured.p_value(first, second, *cell, links=links)
        return hits is not None and p is not None and hits[0] > hits[1] and p < SIGNIFICANT
