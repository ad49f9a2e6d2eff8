"""The paper's tables and figures, each reproduced by one command, with our results beside the paper's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from emea import plugins
from emea.errors import SettingsError
from emea.method.rounds import Step
from emea.reproduce._cells import Measured, Plan
from emea.reproduce._items import Item
from emea.reproduce._pages import Page, write_overview
from emea.runs.store import Cell

__all__ = ["Cell", "Made", "Page", "Plan", "item", "items", "reproduce"]


@dataclass(frozen=True)
class Made:
    """The pages written, and how much is missing."""

    pages: list[tuple[Page, list[Path]]]  # each with its files
    missing: int  # runs that are not measured yet


def items() -> list[str]:
    """The names of all tables and figures."""
    return [name.replace("_", "-") for name in plugins.built_in("reproduce")]


def item(name: str) -> Item:
    """A table or figure by its name."""
    if name not in items():
        raise SettingsError(f"unknown table or figure '{name}'; known are {', '.join(items())}")
    return plugins.find("reproduce", name.replace("-", "_"), Item)()


def reproduce(
    names: Sequence[str],
    plan: Plan,
    begin: Callable[[Cell, int, int], None] | None = None,
    watch: Callable[[Step], None] | None = None,
    enough: Callable[[], bool] = lambda: False,
) -> Made:
    """Measure missing cells until `enough` returns true, and write the pages.

    `begin` gets each cell, its number and how many there are; `watch` gets the rounds.
    """
    if plan.encoders and "fig4" not in names:
        raise SettingsError(f"--encoder is for fig4, found {', '.join(names)}")
    chosen, measured = {name: item(name) for name in names}, Measured(plan)
    for name, one in chosen.items():
        if one.ratios is not None and not {*one.ratios} & {*plan.ratios}:
            about = ", ".join(f"{ratio:g}" for ratio in one.ratios)
            raise SettingsError(
                f"--ratios: {name} is about {about}, found {', '.join(f'{ratio:g}' for ratio in plan.ratios)}"
            )
    wanted = by_seeds(cell for one in chosen.values() for cell in one.cells(plan))
    measured.check(wanted)
    cells = [cell for cell in wanted if not measured.load(cell) or measured.stale(cell)]
    for cell in {cell.data: cell for cell in cells}.values() if not enough() else ():
        measured.read(cell)  # unreadable data is reported before the first run
    for number, cell in enumerate(cells):
        if enough():
            break
        if begin is not None:
            begin(cell, number, len(cells))
        measured.measure(cell, watch)
    written = []
    for name, one in chosen.items():
        page, machines = one.page(measured), measured.machines(one.cells(plan))
        written.append((page, page.write(plan.folder, f"Made by `{plan.command(name, one.ratios)}`; {machines}.")))
    write_overview(plan.folder, {name: item(name).title for name in items()})
    return Made(written, sum(cell not in measured.found or measured.stale(cell) for cell in wanted))


def by_seeds(cells: Iterable[Cell]) -> list[Cell]:
    """Each cell once, with those on the same seeds next to each other: they share fits."""
    groups: dict[tuple[str, float | None, int], dict[Cell, None]] = {}
    for cell in cells:
        groups.setdefault((cell.data, cell.ratio, cell.split), {})[cell] = None
    return [cell for group in groups.values() for cell in group]
