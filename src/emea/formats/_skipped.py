"""Counts what cannot be read of a file, where the rest is to be read all the same."""

from __future__ import annotations

from pathlib import Path

SHOWN = 5  # of what was skipped, in a note


class Skipped:
    """Counts the statements, or rows, of a file that were skipped, and describes the first ones."""

    def __init__(self, path: Path, what: str = "statement") -> None:
        self._path, self._what, self._count = path, what, 0
        self._shown: list[str] = []

    def add(self, reason: str, line: int | None = None) -> None:
        """Count one."""
        self._count += 1
        if len(self._shown) < SHOWN:
            self._shown.append(reason if line is None else f"line {line}: {reason}")

    def notes(self) -> tuple[str, ...]:
        """A sentence, if there were any."""
        if not self._count:
            return ()
        what = f"{self._what} was" if self._count == 1 else f"{self._what}s were"
        more = "; and more" if self._count > len(self._shown) else ""
        return (f"{self._path}: {self._count:,} {what} skipped ({'; '.join(self._shown)}{more})",)
