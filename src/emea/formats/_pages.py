"""What was fetched from a server in pages, kept on disk so that an interrupted fetch continues."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from emea.errors import InputError
from emea.formats._files import writing

FRESH = 24 * 3600.0  # seconds; older pages are fetched again
WHOLE = "graph.nt.gz"


@dataclass(frozen=True)
class Page:
    """A file with some of the statements: those of the rows from start to end."""

    path: Path
    start: int
    end: int


class Pages:
    """The pages of one question to one server."""

    def __init__(self, *about: str) -> None:
        self.folder = cache_folder() / hashlib.sha256("\n".join(about).encode()).hexdigest()[:16]
        self.whole = self.folder / WHOLE
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            times = [path.stat().st_mtime for path in self.folder.iterdir()]
            if times and min(times) < time.time() - FRESH:
                shutil.rmtree(self.folder)
                self.folder.mkdir()
        except OSError as error:
            reason = error.strerror or error
            raise InputError(f"{self.folder} cannot be used: {reason}; $EMEA_CACHE names another folder") from error

    def __iter__(self) -> Iterator[Page]:
        """The pages at hand, as far as they follow each other."""
        files = (path.name.partition(".")[0].split("-") for path in self.folder.glob("*-*.nt.gz"))
        known = {int(start): int(end) for start, end in files}
        start = 0
        while start in known:
            page = self._page(start, known[start])
            yield page
            if page.end == start:
                return
            start = page.end

    def add(self, start: int, end: int, lines: Iterable[bytes]) -> Page:
        """Keep a page of N-Triples."""
        page = self._page(start, end)
        with writing(page.path) as file:
            file.writelines(lines)
        return page

    def join(self) -> None:
        """Make one file of all pages."""
        pages = list(self)
        with writing(self.whole.with_suffix(".part")) as file:  # not .gz: the pages are compressed already
            for page in pages:
                file.write(page.path.read_bytes())
        self.whole.with_suffix(".part").replace(self.whole)
        for page in pages:
            page.path.unlink()

    def _page(self, start: int, end: int) -> Page:
        return Page(self.folder / f"{start:012}-{end:012}.nt.gz", start, end)


def cache_folder() -> Path:
    """Where fetched data is kept: `$EMEA_CACHE`, or the usual place of the platform."""
    if chosen := os.environ.get("EMEA_CACHE"):
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "emea"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "emea" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "emea"
