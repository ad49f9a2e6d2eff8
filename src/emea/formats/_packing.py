"""Compressed files, told by their names: a.ttl.gz, a.ttl.bz2, a.ttl.xz."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from pathlib import Path
from typing import BinaryIO, Literal

PACKED = (".gz", ".bz2", ".xz")
TORN = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)  # a compressed file that breaks off, or is damaged


def is_packed(path: Path) -> bool:
    """Whether a file is compressed, by its name."""
    return path.suffix.lower() in PACKED


def unpacked_name(path: Path) -> str:
    """The name of a file without the suffix of compression.

    >>> unpacked_name(Path("a/b.ttl.BZ2")), unpacked_name(Path("b.ttl"))
    ('b.ttl', 'b.ttl')
    """
    return path.name[: -len(path.suffix)] if is_packed(path) else path.name


def packing(path: Path, file: BinaryIO, mode: Literal["rb", "wb"]) -> gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile:
    """A compressed file, read or always written to the same bytes."""
    if path.suffix.lower() == ".bz2":
        return bz2.BZ2File(file, mode)
    if path.suffix.lower() == ".xz":
        return lzma.LZMAFile(file, mode)
    return gzip.GzipFile(filename="", mode=mode, compresslevel=6, fileobj=file, mtime=0)
