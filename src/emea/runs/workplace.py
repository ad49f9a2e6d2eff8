"""Where a run is written: a folder here, or one that a store is kept equal to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from emea.runs.folder import KEPT, LAST


def nowhere() -> None:
    """A folder that is its own place need not be put anywhere."""


@dataclass(frozen=True)
class Workplace:
    """A folder here, how people call it, and what to call when its files should be where they belong."""

    folder: Path
    name: str
    put: Callable[[], None] = nowhere


@contextmanager
def workplace(place: str) -> Iterator[Workplace]:
    """For the folder of a run, or its address in a store: a temporary folder then, with what the store has of the
    run."""
    if "://" not in place:
        yield Workplace(Path(place), str(Path(place)))
        return
    from pyarrow.fs import LocalFileSystem

    from emea.formats import without_password
    from emea.formats._addresses import STORES, unknown_scheme
    from emea.formats._stores import is_stored, reached, said_of

    if not is_stored(place):
        raise unknown_scheme(place, STORES)
    with reached(place) as (system, path):
        here = Path(path) if isinstance(system, LocalFileSystem) else None
    if here is not None:
        yield Workplace(here, str(here))
        return
    with TemporaryDirectory(prefix="emea-") as folder:
        mirror = _Mirror(place, Path(folder))
        mirror.fetch()
        with said_of(place, mirror.folder):
            yield Workplace(mirror.folder, str(without_password(place)), mirror.put)


class _Version(NamedTuple):
    """What tells a file from the one that it replaced."""

    changed: int
    size: int
    number: int


class _Mirror:
    """The files of a run in a folder here, and in a store."""

    def __init__(self, address: str, folder: Path) -> None:
        self.address, self.folder = address, folder
        self.there: dict[str, _Version] = {}  # the files in the store, as they are here

    def fetch(self) -> None:
        """Copy here what the store has of the run."""
        from pyarrow.fs import FileSelector, LocalFileSystem, copy_files

        from emea.formats._stores import reached

        with reached(self.address) as (system, path):
            for each in system.get_file_info(FileSelector(path, allow_not_found=True)):
                if each.is_file and each.base_name in KEPT:
                    copy_files(each.path, str(self.folder / each.base_name), system, LocalFileSystem())
        self.there = self._versions()

    def put(self) -> None:
        """Make the store equal to what is here: take away what is gone, then copy what is new. The file that says that
        a run is finished goes first and comes last."""
        from pyarrow.fs import LocalFileSystem, copy_files

        from emea.formats._stores import reached

        here = self._versions()
        gone = self.there.keys() - here.keys()
        new = {name for name, version in here.items() if self.there.get(name) != version}
        with reached(self.address, to_write=True) as (system, path):
            for name in sorted(gone, key=lambda each: (each != LAST, each)):
                system.delete_file(f"{path}/{name}")
            for name in sorted(new, key=lambda each: (each == LAST, each)):
                copy_files(str(self.folder / name), f"{path}/{name}", LocalFileSystem(), system)
        self.there = here

    def _versions(self) -> dict[str, _Version]:
        found = {path.name: path.stat() for path in self.folder.iterdir() if path.name in KEPT}
        return {name: _Version(each.st_mtime_ns, each.st_size, each.st_ino) for name, each in found.items()}
