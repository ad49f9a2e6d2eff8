"""The folder of a run in a store, and the copy of it here that a run works on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from pyarrow.fs import FileSelector, LocalFileSystem, copy_files

from emea.formats import without_password
from emea.formats._addresses import STORES, unknown_scheme
from emea.formats._stores import is_stored, reached, said_of
from emea.runs.folder import KEPT, LAST

Version = tuple[int, int, int]  # what tells a file from the one that it replaced: when it was changed, size, number


class Mirror:
    """The files of a run in a folder here, and at an address."""

    def __init__(self, address: str, folder: Path) -> None:
        self.address, self.folder, self.name = address, folder, str(without_password(address))
        self.there: dict[str, Version] = {}  # the files at the address, as they are here

    def fetch(self) -> None:
        """Copy here what the store has of the run."""
        with reached(self.address) as (system, path):
            for each in system.get_file_info(FileSelector(path, allow_not_found=True)):
                if each.is_file and each.base_name in KEPT:
                    copy_files(each.path, str(self.folder / each.base_name), system, LocalFileSystem())
        self.there = self._versions()

    def put(self) -> None:
        """Make the store equal to what is here: take away what is gone, then copy what is new. The file that says that
        a run is finished goes first and comes last."""
        here = self._versions()
        gone = self.there.keys() - here.keys()
        new = {name for name, version in here.items() if self.there.get(name) != version}
        with reached(self.address, to_write=True) as (system, path):
            for name in sorted(gone, key=lambda each: (each != LAST, each)):
                system.delete_file(f"{path}/{name}")
            for name in sorted(new, key=lambda each: (each == LAST, each)):
                copy_files(str(self.folder / name), f"{path}/{name}", LocalFileSystem(), system)
        self.there = here

    def _versions(self) -> dict[str, Version]:
        found = {path.name: path.stat() for path in self.folder.iterdir() if path.name in KEPT}
        return {name: (each.st_mtime_ns, each.st_size, each.st_ino) for name, each in found.items()}


class InPlace(Mirror):
    """The address of a folder here, which is its own copy."""

    def put(self) -> None:
        """Nothing: the files are where they belong."""


@contextmanager
def mirrored(address: str) -> Iterator[Mirror]:
    """A temporary folder with what the store has of a run, to be put there again; what a refusal says of it, it says of
    the address. A folder that lies here is taken as it is."""
    if not is_stored(address):
        raise unknown_scheme(address, STORES)
    with reached(address) as (system, path):
        here = isinstance(system, LocalFileSystem)
    if here:
        yield InPlace(address, Path(path))
        return
    with TemporaryDirectory(prefix="emea-") as folder:
        mirror = Mirror(address, Path(folder))
        mirror.fetch()
        with said_of(address, mirror.folder):
            yield mirror
