"""Where a run is written: a folder here, or one that a store is kept equal to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


def nowhere() -> None:
    """A folder that is its own place need not be put anywhere."""


@dataclass(frozen=True)
class Workplace:
    """A folder here, how people call it, and what to call when its files should be where they belong."""

    folder: Path
    name: str
    put: Callable[[], None] = nowhere


@contextmanager
def workplace(place: str | Path, *, to_write: bool = True, force: bool = False) -> Iterator[Workplace]:
    """For the folder of a run, or its address in a store: a temporary folder then, with what the store has of the run.
    No other run may write there meanwhile, unless this one only looks; `force` takes the address from another."""
    if isinstance(place, Path):
        from emea.formats._addresses import check_no_address  # here: it loads much, as what follows

        check_no_address(place)
    if isinstance(place, Path) or "://" not in place:
        yield Workplace(Path(place), str(Path(place)))
        return
    from emea.runs.mirror import mirrored

    with mirrored(place, to_write=to_write, force=force) as mirror:
        yield Workplace(mirror.folder, mirror.name, mirror.put)
