"""Commands of `emea` in a process of their own, forked from this one, which has loaded everything already."""

from __future__ import annotations

import importlib
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

LOADED = (
    *("emea.cli", "emea.runs.run", "emea.runs.merge", "emea.runs.estimate", "emea.report.page", "emea.report.plots"),
    *("emea.review.server", "emea.review.routes", "emea.reproduce", "emea.kernels.compiled", "uvicorn", "sqlite3"),
    *("emea.cli._progress", "emea.cli._show", "emea.encoders.propagation", "emea.encoders.committee", "scipy.sparse"),
)


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int  # negative: the signal that ended it
    said: str
    seconds: float
    memory: int  # bytes, at most, with what was loaded before

    def complaint(self, *codes: int) -> str:
        """What is wrong with this end, if anything: another code, a traceback, more than a sentence."""
        last = self.said.strip().splitlines()[-1:] or [""]
        if "Traceback (most recent call last)" in self.said:
            return f"a traceback: {last[0][:200]}"
        if self.code < 0:
            return f"ended by {signal.Signals(-self.code).name}: {last[0][:200]}"
        if self.code not in codes:
            return f"ended with {self.code}, expected {' or '.join(map(str, codes))}: {last[0][:200]}"
        errors = [line for line in self.said.splitlines() if line.startswith("error: ")]
        if self.code and len(errors) != 1:
            return f"found {len(errors)} lines with an error, expected one: {last[0][:200]}"
        return ""


@dataclass
class Started:
    """A command that runs."""

    pid: int
    output: BinaryIO
    begun: float = field(default_factory=time.monotonic)

    def kill(self) -> None:
        """End it at once."""
        os.kill(self.pid, signal.SIGKILL)

    def said(self) -> str:
        """What it has said so far."""
        return os.pread(self.output.fileno(), 1 << 24, 0).decode(errors="replace")

    def ended(self) -> bool:
        """Whether it has ended, and waits to be asked how."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def wait(self, seconds: float = 600.0) -> Ended:
        """Its end; it is killed after so many seconds."""
        while True:
            pid, status, used = os.wait4(self.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - self.begun > seconds:
                self.kill()
            time.sleep(0.005)
        code = os.waitstatus_to_exitcode(status)
        with self.output:
            return Ended(code, self.said(), time.monotonic() - self.begun, used.ru_maxrss * 1024)


def start(arguments: list[str], folder: Path, before: Callable[[], None] | None = None) -> Started:
    """Start a command in a folder; `before` is called in its process."""
    return start_call(lambda: _main(arguments), folder, before)


def start_call(call: Callable[[], object], folder: Path, before: Callable[[], None] | None = None) -> Started:
    """Start anything in a process of its own."""
    load()
    output = tempfile.TemporaryFile()  # noqa: SIM115 - closed by who waits
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return Started(pid, output)
    code = 1
    try:
        os.chdir(folder)
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
        if before is not None:
            before()
        call()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - whatever it is, it is told
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def command(arguments: list[str], folder: Path, before: Callable[[], None] | None = None) -> Ended:
    """The end of a command."""
    return start(arguments, folder, before).wait()


def limit_memory(more: float) -> Callable[[], None]:
    """To be called in a process: from there on, it gets so many bytes beside those it has."""

    def limit() -> None:
        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (int(used + more), int(used + more)))

    return limit


def load() -> None:
    """Load what commands need, with one thread, as threads do not survive a fork."""
    import torch

    torch.set_num_threads(1)
    for name in LOADED:
        importlib.import_module(name)


def _main(arguments: list[str]) -> None:
    from emea.cli import main

    sys.argv = ["emea", *arguments]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main()
