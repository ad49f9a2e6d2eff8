"""Figure 7: sensitivity to K and N."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from emea.reproduce._cells import Measured, Plan
from emea.reproduce._items import Item
from emea.reproduce._pages import Finding, Page
from emea.reproduce._points import SLIGHT, cells_of, drawn, figure_page, point
from emea.reproduce._systems import EMEA_SUP, VERSIONS, Version, avoiding
from emea.runs.store import Cell, System


class Fig7(Item):
    """Sensitivity to K and N."""

    title = "Figure 7: sensitivity to K, and to N of AvoidConf"
    ratios = (0.01, 0.05, 0.1)
    candidates, nearest = (5, 10, 20, 50), (5, 10, 15, 20)

    def cells(self, plan: Plan) -> Iterable[Cell]:
        """The loop with each K and each N."""
        loops = [*self._by_k().values(), *self._by_n().values()]
        return plan.cells([version(loop) for version in VERSIONS.values() for loop in loops], self.ratios)

    def page(self, measured: Measured) -> Page:
        """Lines by K and by N."""
        points = []
        for data, ratio in cells_of(measured.plan, self.ratios):
            for name, version in VERSIONS.items():
                for parameter, systems in (("K", self._by_k()), ("N", self._by_n())):
                    for value, system in systems.items():
                        panel = f"{parameter}, `{name}`"
                        points.append(point(measured, version(system), data, ratio, panel=panel, value=value))
        figures = drawn("fig7", points, "value", "labels", "panel")
        figures |= drawn("fig7-mr", points, "value", "labels", "panel", y="mr")
        findings = {f"`{name}`": self._findings(measured, version) for name, version in VERSIONS.items()}
        return figure_page("fig7", self.title, points, findings, figures)

    def _findings(self, measured: Measured, version: Version) -> list[Finding]:
        spread = {ratio: self._spread(measured, version, ratio, self.candidates) for ratio in self.ratios}
        stable = {ratio: self._spread(measured, version, ratio, self.candidates[1:]) for ratio in self.ratios}
        known = [ratio for ratio in self.ratios if spread[ratio] is not None]
        widths = [width for ratio in known if (width := spread[ratio]) is not None]
        steady = [width <= SLIGHT for ratio in known if (width := stable[ratio]) is not None]
        more = [
            0 < large - small <= SLIGHT
            for data, ratio in cells_of(measured.plan, self.ratios)
            if (large := measured.mean(version(self._by_k()[50]), data, ratio)) is not None
            and (small := measured.mean(version(self._by_k()[10]), data, ratio)) is not None
        ]
        shown = ", ".join(f"{ratio:.0%}: {width:.3f}" for ratio, width in zip(known, widths, strict=True))
        return [
            Finding.counted("from K = 10 on the result is stable (within two points)", steady),
            Finding.counted(
                "fewer labels are more sensitive to K",
                [one > two for one, two in pairwise(widths)],
                f"range of Hit@1 over K {shown}",
            ),
            Finding.counted("K = 50 is only slightly better than 10 (within two points)", more),
        ]

    def _spread(self, measured: Measured, version: Version, ratio: float, values: tuple[int, ...]) -> float | None:
        """Range of Hit@1 over these K, the largest over the sets."""
        ranges = []
        for data in measured.plan.sets:
            found = [measured.mean(version(self._by_k()[value]), data, ratio) for value in values]
            hits = [hit for hit in found if hit is not None]
            ranges += [max(hits) - min(hits)] if len(hits) == len(values) else []
        return max(ranges, default=None)

    def _by_k(self) -> dict[int, System]:
        others = {k: EMEA_SUP.but(f"EMEA sup, K {k}", f"compatibility.candidates={k}") for k in self.candidates}
        return others | {10: EMEA_SUP}

    def _by_n(self) -> dict[int, System]:
        five = avoiding(EMEA_SUP)
        others = {n: five.but(f"{five.name}, N {n}", f"rules.avoid_conflict.nearest={n}") for n in self.nearest}
        return others | {5: five}
