"""One run at a time writes to an address of a store: each leaves a mark there that says who it is."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import psutil
from pyarrow.fs import FileSelector, FileSystem, FileType

from emea.errors import InputError
from emea.formats import without_password
from emea.formats._stores import reached

BEGINS, ENDS = "in-use-by-", ".json"  # of the name of a mark, which is another for each run
IN_USE = (
    "is being written by {}; expected that to end first, or another --out; if it has died, --force writes there "
    "nevertheless, with --resume or without"
)
TAKEN_OVER = "was taken over with --force, by {}; expected to be alone, nothing more is written there"


@dataclass(frozen=True)
class Writer:
    """Who writes to an address, as a mark there says."""

    process: int = 0
    host: str = "an unknown machine"
    machine: str = ""
    since: str = "an unknown time"

    @classmethod
    def here(cls) -> Writer:
        """This process."""
        return cls(os.getpid(), platform.node(), _machine(), f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC")

    @classmethod
    def parse(cls, content: bytes) -> Writer:
        """What a mark says; nobody in particular if it was not written to its end."""
        try:
            return cls(**json.loads(content))
        except (ValueError, TypeError):
            return cls()

    @property
    def has_ended(self) -> bool:
        """Whether this is known for sure: of a process of this machine."""
        return self.machine == _machine() != "" and not psutil.pid_exists(self.process)

    def __str__(self) -> str:
        return f"process {self.process} on {self.host}, since {self.since}"


class Claim:
    """The mark of a run at an address. Stores cannot lock, but list what was written before: each run leaves its own
    mark first and looks for others then, so that of two that begin at once at least one sees the other."""

    def __init__(self, address: str) -> None:
        self.address, self.name = address, str(without_password(address))
        self.mark, self.left = f"{BEGINS}{uuid4().hex}{ENDS}", False

    def take(self, *, force: bool) -> None:
        """Leave the mark; refused if another run writes there. Marks of runs that have ended without taking them away
        are removed, and with `force` all others, which ends those runs."""
        with reached(self.address, to_write=True) as (system, folder):
            with system.open_output_stream(f"{folder}/{self.mark}") as file:
                file.write(json.dumps(asdict(Writer.here())).encode())
            self.left = True
            for path, writer in self._others(system, folder):
                if not (force or writer.has_ended):
                    raise InputError(f"{self.name} {IN_USE.format(writer)}")
                with suppress(FileNotFoundError):
                    system.delete_file(path)

    def check(self, system: FileSystem, folder: str) -> None:
        """Refuse to go on once another run has taken the mark away."""
        if system.get_file_info(f"{folder}/{self.mark}").type == FileType.NotFound:
            by = [str(writer) for _, writer in self._others(system, folder)]
            raise InputError(f"{self.name} {TAKEN_OVER.format(', '.join(by) or 'a run that has ended')}")

    def give_back(self) -> None:
        """Take the mark away, if it was left. Where that fails, it is as if this process had died."""
        if not self.left:
            return
        with suppress(InputError), reached(self.address, to_write=True) as (system, folder):
            system.delete_file(f"{folder}/{self.mark}")

    def _others(self, system: FileSystem, folder: str) -> Iterator[tuple[str, Writer]]:
        """The other marks, and what they say."""
        for each in system.get_file_info(FileSelector(folder, allow_not_found=True)):
            name = each.base_name
            if name.startswith(BEGINS) and name.endswith(ENDS) and name != self.mark:
                with suppress(FileNotFoundError):  # taken away meanwhile
                    content = system.open_input_stream(each.path).read()
                    yield each.path, Writer.parse(content)


@contextmanager
def claimed(address: str, *, force: bool) -> Iterator[Claim]:
    """An address for a run alone."""
    claim = Claim(address)
    try:
        claim.take(force=force)
        yield claim
    finally:
        claim.give_back()


def _machine() -> str:
    """What only processes that see each other have in common: this start of the machine, and the container. Nothing
    where the system does not tell."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip() + str(
            Path("/proc/self/ns/pid").readlink()
        )
    except OSError:
        return ""
