"""The next run, which learns from the decisions, as a process beside the page."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import deque
from pathlib import Path
from typing import Any

from emea.errors import InputError

SHOWN = 200  # last lines of what it says
MEMORY = {"MIMALLOC_PURGE_DELAY": "0"}  # the page's own: what was freed goes back to the system at once


class NextRun:
    """Starts it, one at a time, and tells how far it is."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._lock = folder.resolve(), threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._lines: deque[str] = deque(maxlen=SHOWN)
        self._out = ""

    def start(self) -> None:
        """`emea align` with the settings of this run and the decisions on it, into a new folder beside it."""
        with self._lock:
            if self.running:
                raise InputError(f"found a run that goes on in {self._out}, expected it to end before the next")
            number = 2
            while (out := self._folder.with_name(f"{self._folder.name}-{number}")).exists():
                number += 1
            given = ["--config", self._folder / "settings.toml", "--decisions", self._folder, "--out", out]
            self._lines.clear()
            self._out = str(out)
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "emea", "align", *map(str, given)],
                env={**_environment(), "PYTHONUNBUFFERED": "1"},  # the page shows what it says as it says it
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                encoding="utf-8",
                errors="replace",
            )
            threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()

    @property
    def running(self) -> bool:
        """Whether one goes on."""
        return self._process is not None and self._process.poll() is None

    def told(self) -> dict[str, Any]:
        """Its state, the last lines it wrote, and where it writes."""
        process = self._process
        if process is None:
            state = "none"
        elif process.poll() is None:
            state = "running"
        else:
            state = "failed" if process.returncode else "done"
        return {"state": state, "lines": list(self._lines), "out": self._out or None}

    def stop(self) -> None:
        """End it: the page is closed."""
        if self._process is not None and self.running:
            self._process.terminate()
            self._process.wait()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                if line.strip():
                    self._lines.append(line.rstrip())


def _environment() -> dict[str, str]:
    """That of this process without what only a page that stands by wants: it would slow a run down."""
    return {name: value for name, value in os.environ.items() if MEMORY.get(name) != value}
