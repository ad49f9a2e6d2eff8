"""Tables 4 and 5: how long each part takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from emea.report.tables import Rows
from emea.reproduce import _paper
from emea.reproduce._cells import Measured, Plan
from emea.reproduce._items import Item
from emea.reproduce._pages import Page
from emea.reproduce._rows import seconds
from emea.reproduce._systems import EMEA_SUP, ours
from emea.runs.store import Cell


class Times(Item):
    """How long each part takes."""

    title = "Tables 4 and 5: time of EMEA"

    def cells(self, plan: Plan) -> Iterable[Cell]:
        """The paper's loop, and our presets."""
        return plan.cells([EMEA_SUP, *map(ours, plan.presets)])

    def page(self, measured: Measured) -> Page:
        """Seconds of the first fit, and of both parts of a round, by machine."""
        rows: Rows = []
        for data in measured.plan.sets:
            for ratio in measured.plan.ratios:
                for system in (EMEA_SUP, *map(ours, measured.plan.presets)):
                    head = {"set": data, "seeds": f"{ratio:.0%}", "method": system.name}
                    runs = measured.timed(system, data, ratio)
                    for machine in dict.fromkeys(run["machine"] for run in runs) or [""]:
                        own = [run for run in runs if run["machine"] == machine]
                        reported = _paper.TIMES.get(ratio, ()) if data == "zh_en" and system == EMEA_SUP else ()
                        rows.append({**head, **_row(own, reported), "machine": machine.split(", ", 2)[-1]})
        below = "A process's first run, and those that share its first fit, include the start of the device."
        if "dbp_wd" not in measured.plan.sets:
            below += " DWY100K (the paper's Table 5: 146–190 minutes, then 33–49 and 16–30 a round) is not measured: "
            below += "`emea reproduce times --data DWY100K/dbp_wd`."
        return Page("times", self.title, "Seconds, the median of the runs.", rows, below=below)


def _row(runs: list[dict[str, Any]], reported: Sequence[float]) -> dict[str, str]:
    first = [run["rounds"][0]["fitting"] for run in runs]
    neural = [step["fitting"] for run in runs for step in run["rounds"][1:]]
    rules = [step["seconds"] - step["fitting"] for run in runs for step in run["rounds"][1:]]
    row = {}
    parts = (("first fit", first), ("neural part of a round", neural), ("rules of a round", rules))
    for place, (name, values) in enumerate(parts):
        row[f"{name}, reported"] = f"{reported[place]:.1f}" if reported else ""
        row[name] = seconds(values)
    return {**row, "whole run": seconds([run["seconds"] for run in runs])}
