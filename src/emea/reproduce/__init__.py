"""The paper's tables and figures, each by one command, with ours beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from emea import plugins
from emea.errors import SettingsError
from emea.methods import Step
from emea.reproduce._cells import Cell, Measured, Plan
from emea.reproduce._items import Item
from emea.reproduce._pages import Page, write_overview

__all__ = ["Cell", "Page", "Plan", "item", "items", "reproduce"]


def items() -> list[str]:
    """The names of all tables and figures."""
    return [name.replace("_", "-") for name in plugins.names("reproduce")]


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
) -> list[tuple[Page, list[Path]]]:
    """Measure what is missing until it is enough, and write the pages: what each says, and its files.

    `begin` is told each cell, its number and how many there are; `watch` sees the rounds.
    """
    chosen, measured = {name: item(name) for name in names}, Measured(plan)
    wanted = _by_seeds(cell for one in chosen.values() for cell in one.cells(plan))
    measured.check(wanted)
    cells = [cell for cell in wanted if not measured.load(cell)]
    for number, cell in enumerate(cells):
        if enough():
            break
        if begin is not None:
            begin(cell, number, len(cells))
        measured.measure(cell, watch)
    written = []
    for name, one in chosen.items():
        page, machines = one.page(measured), measured.machines(one.cells(plan))
        written.append((page, page.write(plan.folder, f"Made by `{plan.command(name)}`; {machines}.")))
    write_overview(plan.folder, {name: item(name).title for name in items()})
    return written


def _by_seeds(cells: Iterable[Cell]) -> list[Cell]:
    """Each cell once, those with the same seeds together: they share fits."""
    groups: dict[tuple[str, float, int], dict[Cell, None]] = {}
    for cell in cells:
        groups.setdefault((cell.data, cell.ratio, cell.split), {})[cell] = None
    return [cell for group in groups.values() for cell in group]
