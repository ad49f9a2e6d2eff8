"""A disk that is full, over quota, read-only, failing or slow: every write of a command fails once, or from there on.

What is counted and made to fail is every file that is opened to write, every write to it, every close, rename, delete
and folder made, anywhere below the folder of the command. The writes of SQLite are made to fail by limiting its size.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import random
import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from faults import Case, Kind
from faults._forked import command, start_call
from faults._works import LINKED, WORKS, Work

FULL, QUOTA, READ_ONLY, FAILING = errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO
ERRORS = {  # that a system gives for each
    "open": (FULL, QUOTA, READ_ONLY),
    "write": (FULL, QUOTA, FAILING),
    "close": (QUOTA, FAILING),
    "rename": (FULL, READ_ONLY),
    "unlink": (READ_ONLY,),
    "mkdir": (FULL, QUOTA, READ_ONLY),
}
SLOW = 0.02  # seconds for each of these
SIZES = (1, 5_000, 20_000, 50_000)  # bytes


class Disk:
    """Stands between a process and the files below a folder."""

    def __init__(self, folder: Path, fail: Callable[[int, str], None]) -> None:
        self.folder, self.fail, self.number = str(folder), fail, 0
        self.log: list[str] = []

    def asked(self, what: str, path: object) -> None:
        """One of the things that may fail."""
        name = os.fsdecode(os.path.abspath(path)) if isinstance(path, str | bytes | os.PathLike) else ""  # noqa: PTH100
        if name.startswith(self.folder):
            self.number += 1
            self.log.append(what)
            self.fail(self.number, what)

    def stand_between(self) -> None:
        """From now on, in this process."""
        opened = io.open

        def open_(file: Any, mode: str = "r", buffering: int = -1, *rest: Any, **more: Any) -> Any:
            if not {*"wax+"} & {*mode}:
                return opened(file, mode, buffering, *rest, **more)
            self.asked("open", file)
            raw = _Raw(self, file, mode.replace("b", "").replace("t", ""))
            if buffering == 0:
                return raw
            buffered = io.BufferedWriter(raw)
            return buffered if "b" in mode else io.TextIOWrapper(buffered, *rest, **more)

        io.open = builtins.open = open_  # type: ignore[assignment]
        for name, what in (("replace", "rename"), ("rename", "rename"), ("mkdir", "mkdir"), ("unlink", "unlink")):
            setattr(os, name, self._asking(what, getattr(os, name)))

    def _asking(self, what: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *rest: Any, **more: Any) -> Any:
            if what != "unlink" or os.path.lexists(path):
                self.asked(what, path)
            return function(path, *rest, **more)

        return call


class _Raw(io.FileIO):
    def __init__(self, disk: Disk, path: Any, mode: str) -> None:
        self._disk, self._path, self._done = disk, path, False
        super().__init__(path, mode)

    def write(self, data: Any) -> int:
        self._disk.asked("write", self._path)
        return super().write(data)

    def close(self) -> None:
        if not self._done and not self.closed:
            self._done = True
            super().close()
            self._disk.asked("close", self._path)


@dataclass(frozen=True)
class Fault:
    """One thing that fails."""

    work: Work
    place: int
    what: str
    error: int
    lasting: bool  # and all that follows

    def __str__(self) -> str:
        how = "and all after it" if self.lasting else "once"
        return f"{self.work.name}: {self.what} {self.place} {how}: {os.strerror(self.error)}"

    def fail(self, number: int, what: str) -> None:
        """Called for each; fails the one that is meant."""
        if number == self.place or (self.lasting and number > self.place and self.error in ERRORS[what]):
            raise OSError(self.error, os.strerror(self.error))

    def wrong(self) -> str:
        """What came of it that should not."""
        self.work.learn()
        with self.work.prepared() as folder:
            before = self.work.made(folder)
            ended = command(self.work.arguments, folder, Disk(folder, self.fail).stand_between)
            if wrong := ended.complaint(0, 2):
                return wrong
            if ended.code and os.strerror(self.error) not in ended.said:
                return f"does not say why: {ended.said.strip().splitlines()[-1][:200]}"
            parts = [path.name for path in folder.rglob(".*.part")]
            if parts and not (self.lasting and self.error == READ_ONLY):
                return f"left {parts[0]}"
            if ended.code == 0:
                return self.work.differs(folder)
            if self.work.single and self.work.made(folder) != before:
                return f"{self.work.makes} is not as it was before"
            return self.work.went_on(folder)


@cache
def faults() -> list[Fault]:
    """Every write of every command, with every error: once, and with all that follow; in an order of its own, so that
    the first are a sample of all."""
    found = [
        Fault(work, place, what, error, lasting=lasting)
        for work in WORKS
        for place, what in enumerate(_log(work), 1)
        for error in ERRORS[what]
        for lasting in (False, True)
    ]
    random.Random(0).shuffle(found)
    return found


def _log(work: Work) -> list[str]:
    """What a command asks of the disk."""
    with work.prepared() as folder:
        told = folder.parent / "log"

        def listen() -> None:
            disk = Disk(folder, lambda *_: told.write_text(" ".join(disk.log)) and None)
            disk.stand_between()

        command(work.arguments, folder, listen)
        return told.read_text(encoding="utf-8").split()


def _slow(work: Work) -> Case:
    work.learn()
    with work.prepared() as folder:
        slow = Disk(folder, lambda *_: time.sleep(SLOW)).stand_between
        return f"{work.name} on a slow disk", command(work.arguments, folder, slow).complaint(0) or work.differs(folder)


def _decided(size: int) -> Case:
    """Decisions where no file may become larger than some bytes: what was acknowledged is there, the rest is told."""
    work = Work("review", [], "run", None, (LINKED,))
    with work.prepared() as folder:
        ended = start_call(lambda: _decide(folder / "run", size), folder).wait()
        return f"review with at most {size:,} bytes for decisions", ended.complaint(0)


def _decide(run: Path, size: int) -> None:
    import sqlite3

    from emea.errors import InputError
    from emea.review.decision import Decision
    from emea.review.decisions import Decisions
    from emea.verdicts import DATABASE, YES

    acknowledged = 0
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    with suppress(InputError):
        decisions = Decisions.open(run / DATABASE)
        for number in range(400):
            decisions.add([Decision(f"s{number}", "t", YES)], str(number), "anna")
            acknowledged += 1
    assert acknowledged < 400, "found no end of the disk"
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.getrlimit(resource.RLIMIT_FSIZE)[1],) * 2)
    with sqlite3.connect(run / DATABASE) as found:
        assert found.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    again = Decisions.open(run / DATABASE)
    assert again.counts()["decided"] == acknowledged
    again.add([Decision("other", "t", YES)], "after", "anna")
    assert again.counts()["decided"] == acknowledged + 1


def cases(numbers: range) -> Iterator[Case]:
    """Slow disks, decisions, and every write."""
    every = _every()
    for case in islice(every, numbers.start, numbers.stop):
        yield case()


def _every() -> Iterator[Callable[[], Case]]:
    for work in WORKS:
        yield lambda work=work: _slow(work)  # type: ignore[misc]
    for size in SIZES:
        yield lambda size=size: _decided(size)  # type: ignore[misc]
    for fault in faults():
        yield lambda fault=fault: (str(fault), fault.wrong())  # type: ignore[misc]


KIND = Kind(
    "disk full, over quota, read-only, failing, slow",
    "every write of a run fails once: one sentence, nothing lost, resumable",
    100_000,
    cases,
    "`tests/test_campaign.py`, `tests/test_resume.py`",
    "A case is one open, write, close, rename, delete or new folder of a command that fails with one error, alone"
    " or with all that follow; then the command goes on, and must leave the same bytes. For decisions, the file "
    "that keeps them may not grow. After slow "
    "disks and decisions, the cases are in random order, so that the first are a sample of all.",
    keep=lambda: {"of": len(faults()) + len(WORKS) + len(SIZES)},
)
