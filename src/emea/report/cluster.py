"""The part of a report that says where a run on a cluster was computed."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from emea.report.markup import Content, h, table
from emea.report.reading import FinishedRun
from emea.report.sections import section


def cluster(run: FinishedRun) -> Element | None:
    """The cluster's shape, and the tasks, time and bytes of each kind of work; nothing for a run on one machine."""
    ran = run.engine
    if ran is None:
        return None
    work: dict[str, dict[str, float]] = ran["work"]
    made, seconds = (sum(each[what] for each in work.values()) for what in ("bytes", "seconds"))
    rows: list[tuple[Content, ...]] = [
        (name, f"{each['tasks']:,}", f"{each['seconds']:,.1f}", size(each["bytes"]))
        for name, each in sorted(work.items(), key=lambda item: -item[1]["seconds"])
    ]
    shape = f"{ran['nodes']:,} machines with {ran['cpus']:,} cores"
    told = (
        f"The process that ended this run worked on a Ray cluster of {shape}: {seconds:,.0f} seconds of one core in "
        f"all. It shared {size(ran['shared bytes'])} with the tasks, which made {size(made)}."
    )
    return section(
        "cluster", "Cluster", h("p", told), table(("work", "tasks", "seconds", "made"), rows, "Work", numbers=3)
    )


def size(count: float) -> str:
    """Bytes in a unit that suits them."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count:.0f} bytes"
