"""OBO as stanzas, by fastobo; faulty lines can be skipped."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from emea.contracts import Reading
from emea.errors import InputError
from emea.formats._files import one_line, open_bytes
from emea.formats._salvage import Part, Salvage
from emea.formats._skipped import Skipped
from emea.formats._validity import HINT, is_panic


class Stanzas:
    """The header of an OBO file and the stanzas after it, as fastobo's clauses."""

    def __init__(self, path: Path, reading: Reading) -> None:
        self._path = path
        self.skipped = Skipped(path)
        try:
            import fastobo
        except ImportError as error:
            raise InputError(f"{path}: OBO needs a package: pip install 'emea[obo]'") from error
        self._iterate = fastobo.iter
        with open_bytes(path) as file:
            data = file.read()
        try:
            self.header, self.stanzas = self._parsed(data)
        except SyntaxError as error:
            if not reading.lenient and error.lineno is None:
                raise InputError(f"{path}: found {error.msg}, expected OBO; {HINT}") from error
            if not reading.lenient:
                found = one_line((error.text or "").rstrip("␊"))
                raise InputError(
                    f"{path}, line {error.lineno}: found '{found}', {one_line(error.msg)} in OBO; {HINT}"
                ) from error
            first, *others = _parts(data)
            self.header = [clause for line in self._rescued_header(first) for clause in line]
            self.stanzas = list(Salvage(lambda text: self._parsed(text)[1], self._rescued).read(others))

    def _parsed(self, data: bytes) -> tuple[list[Any], list[Any]]:
        """The header and the stanzas in a text."""
        try:
            data.decode()
        except UnicodeDecodeError as error:
            line, found = data.count(b"\n", 0, error.start), data[error.start]
            text = data.splitlines()[line].decode(errors="replace")
            raise SyntaxError(f"with byte 0x{found:02x}, expected UTF-8", (None, line + 1, None, text)) from error
        try:
            found = self._iterate(io.BytesIO(data), ordered=True, threads=1)
            return list(found.header()), list(found)
        except BaseException as error:
            if not is_panic(error):
                raise
            raise SyntaxError("text on which fastobo fails") from error

    def _rescued_header(self, part: Part) -> Iterator[list[Any]]:
        """The clauses of the header that can be read."""
        for number, line in enumerate(part.text.splitlines(keepends=True)):
            try:
                yield self._parsed(line)[0]
            except SyntaxError as error:
                self._skip(line, error, number + part.line)

    def _rescued(self, part: Part, error: SyntaxError) -> list[Any]:
        """A stanza without the lines that cannot be read; none if that leaves nothing."""
        lines = part.text.splitlines(keepends=True)
        named = next((number for number, line in enumerate(lines) if line.startswith(b"id:")), len(lines))
        start, kept = b"".join(lines[: named + 1]), list[int]()
        try:
            alone = self._parsed(start)[1]
        except SyntaxError:
            self._skip(lines[0], error, part.line)
            return []
        for number in range(named + 1, len(lines)):
            try:
                self._parsed(start + lines[number])
            except SyntaxError as own:
                self._skip(lines[number], own, part.line + number)
            else:
                kept.append(number)
        while kept:
            try:
                return self._parsed(start + b"".join(lines[number] for number in kept))[1]
            except SyntaxError as own:  # lines that can be read by themselves, and not together
                place = (own.lineno or len(lines)) - named - 2
                number = kept.pop(min(max(place, 0), len(kept) - 1))
                self._skip(lines[number], own, part.line + number)
        return alone

    def _skip(self, line: bytes, error: SyntaxError, number: int) -> None:
        found = one_line(line.decode(errors="replace"))
        self.skipped.add(f"found '{found}', {one_line(error.msg)}", number)


def _parts(data: bytes) -> Iterator[Part]:
    """The header, and each stanza."""
    lines: list[bytes] = []
    start = 1
    for number, line in enumerate(data.splitlines(keepends=True), 1):
        if line.startswith(b"["):
            yield Part(b"".join(lines), start)
            lines, start = [], number
        lines.append(line)
    yield Part(b"".join(lines).rstrip() + b"\n", start)
