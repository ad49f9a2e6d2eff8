"""Opening and writing files: gzip by suffix, UTF-8 with or without a byte order mark, written whole or not at all."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from emea.errors import InputError

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BUFFER = 1 << 20  # parsers in other languages ask for small pieces; a large buffer spares them the way back to us


def suffix(path: Path) -> str:
    """The suffix that names the format: lower case, with the dot, without .gz.

    >>> suffix(Path("countries.TTL.gz"))
    '.ttl'
    """
    return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked where it ends in .gz and without a byte order mark."""
    if not path.exists():
        raise InputError(f"{path} does not exist; expected a file")
    if path.is_dir():
        raise InputError(f"{path} is a folder; expected a file")
    try:
        with ExitStack() as stack:
            packed = path.suffix.lower() == ".gz"
            raw = stack.enter_context(gzip.GzipFile(path) if packed else path.open("rb", buffering=0))
            # Typed as raw input and output, which a gzip file is in all but name.
            file = io.BufferedReader(cast(io.RawIOBase, raw), BUFFER)
            if file.peek(3).startswith(BYTE_ORDER_MARK):
                file.read(3)
            yield file
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read: {error}") from error


def decoded_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file with their ends."""
    with open_bytes(path) as file:
        for number, line in enumerate(file, 1):
            try:
                yield line.decode()
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{path}, line {number}: found byte 0x{line[error.start]:02x}, expected text in UTF-8"
                ) from error


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file that are not empty, counted from 1, without their ends."""
    for number, line in enumerate(decoded_lines(path), 1):
        if text := line.rstrip("\r\n"):
            yield number, text


def fields(path: Path, count: int) -> Iterator[tuple[int, list[str]]]:
    """The tab-separated fields of each line, exactly `count`; tabs beyond those belong to the last field."""
    for number, line in enumerate(decoded_lines(path), 1):
        text = line.rstrip("\r\n")
        found = text.split("\t", count - 1)
        if len(found) != count:
            if not text:
                continue
            raise InputError(f"{path}, line {number}: found {len(found)} columns, expected {count} separated by tabs")
        yield number, found


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """A file that takes its place only when it is complete; packed where it ends in .gz, the same way each time."""
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: the folder {path.parent} does not exist")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with ExitStack() as stack:
            file: BinaryIO = stack.enter_context(part.open("wb"))
            if path.suffix.lower() == ".gz":
                packed = gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0)
                file = cast(BinaryIO, stack.enter_context(packed))
            yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
