"""The folder of a run in a store, and the copy of it here that a run works on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

from pyarrow.fs import FileSelector, FileSystem, LocalFileSystem, copy_files

from emea.formats._addresses import STORES, unknown_scheme
from emea.formats._stores import is_stored, reached, said_of
from emea.runs.claim import Claim, claimed
from emea.runs.folder import KEPT, LAST

Version = tuple[int, int, int]  # what tells a file from the one that it replaced: when it was changed, size, number


class Mirror:
    """The files of a run in a folder here, and at an address."""

    def __init__(self, claim: Claim, folder: Path) -> None:
        self.claim, self.folder = claim, folder
        self.address, self.name = claim.address, claim.name
        self.there: dict[str, Version] = {}  # the files at the address, as they are here

    def fetch(self) -> None:
        """Copy here what the store has of the run."""
        with reached(self.address) as (system, path):
            for name in _sizes(system, path):
                copy_files(f"{path}/{name}", str(self.folder / name), system, LocalFileSystem())
        self.there = self._versions()

    def put(self) -> None:
        """Make the store equal to what is here: take away what is gone, then copy what is new. The file that says that
        a run is finished goes first and comes last. Nothing is touched once another run has taken the address over."""
        here = self._versions()
        new = {name for name, version in here.items() if self.there.get(name) != version}
        with reached(self.address, to_write=True) as (system, path):
            sizes = _sizes(system, path)  # others than ours: of files that a run wrote while it was overridden
            new |= {name for name, (_, size, _) in here.items() if sizes.get(name) != size}
            for name in sorted(sizes.keys() - here.keys(), key=lambda each: (each != LAST, each)):
                self.claim.check(system, path)
                system.delete_file(f"{path}/{name}")
            for name in sorted(new, key=lambda each: (each == LAST, each)):
                self.claim.check(system, path)
                copy_files(str(self.folder / name), f"{path}/{name}", LocalFileSystem(), system)
        self.there = here

    def _versions(self) -> dict[str, Version]:
        found = {path.name: path.stat() for path in self.folder.iterdir() if path.name in KEPT}
        return {name: (each.st_mtime_ns, each.st_size, each.st_ino) for name, each in found.items()}


def _sizes(system: FileSystem, path: str) -> dict[str, int]:
    """The files of a run in a store."""
    found = system.get_file_info(FileSelector(path, allow_not_found=True))
    return {each.base_name: each.size for each in found if each.is_file and each.base_name in KEPT}


class InPlace(Mirror):
    """The address of a folder here, which is its own copy."""

    def put(self) -> None:
        """Nothing: the files are where they belong."""


@contextmanager
def mirrored(address: str, *, to_write: bool = True, force: bool = False) -> Iterator[Mirror]:
    """A temporary folder with what the store has of a run, to be put there again; what a refusal says of it, it says of
    the address. Unless it is only looked at, the address is claimed before, with `force` also from another run. A
    folder that lies here is taken as it is."""
    if not is_stored(address):
        raise unknown_scheme(address, STORES)
    with reached(address) as (system, path):
        here = isinstance(system, LocalFileSystem)
    if here:
        yield InPlace(Claim(address), Path(path))
        return
    own = claimed(address, force=force) if to_write else nullcontext(Claim(address))
    with own as claim, TemporaryDirectory(prefix="emea-") as folder:
        mirror = Mirror(claim, Path(folder))
        mirror.fetch()
        with said_of(address, mirror.folder):
            yield mirror
