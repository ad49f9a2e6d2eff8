"""Tab-separated fields of large files, as columns: cut out of bytes many lines at a time."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from emea.formats._files import decoded, line_blocks, open_bytes, split_fields

TAB, NEWLINE = b"\t", b"\n"


def field_columns(path: Path, count: int) -> list[pa.ChunkedArray]:
    """The tab-separated fields of all non-empty lines, as in `fields`, a column each."""
    nothing = [pa.array([], pa.large_string())] * count
    return [pa.chunked_array(column) for column in zip(nothing, *field_blocks(path, count), strict=True)]


def field_blocks(path: Path, count: int) -> Iterator[list[pa.Array]]:
    """The same in blocks of lines."""
    with open_bytes(path) as file:
        before = 0
        for block in line_blocks(path, file):
            yield _regular(block, count) or _irregular(path, block, count, before)
            before += block.count(NEWLINE)


def cut(block: bytes, *bounds: np.ndarray) -> list[pa.Array]:
    """What lies between each two of these places in a block, [rows]; the places ascend within a row and from row to
    row. An ArrowInvalid says that it is not UTF-8."""
    edges = np.ascontiguousarray(np.stack(bounds, 1), dtype=np.int64)
    count = max(edges.size - 1, 0)  # texts, each followed by what is between it and the next one
    buffers = [None, pa.py_buffer(edges), pa.py_buffer(block)]
    every = pa.Array.from_buffers(pa.large_binary(), count, buffers)
    numbers = (np.arange(part, count, len(bounds)) for part in range(0, len(bounds), 2))
    return [every.take(pa.array(each)).cast(pa.large_string()) for each in numbers]


def _regular(block: bytes, count: int) -> list[pa.Array] | None:
    """The columns of a block in which every line has exactly `count` fields of UTF-8; otherwise None."""
    block = block if block.endswith(NEWLINE) else block + NEWLINE
    codes = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero((codes == TAB[0]) | (codes == NEWLINE[0]))
    expected = np.frombuffer(TAB * (count - 1) + NEWLINE, np.uint8)
    if b"\r" in block or len(ends) % count or (codes[ends].reshape(-1, count) != expected).any():
        return None
    starts = np.append(0, ends[:-1] + 1).reshape(-1, count)
    bounds = zip(starts.T, ends.reshape(-1, count).T, strict=True)
    try:
        return cut(block, *(edge for pair in bounds for edge in pair))
    except pa.ArrowInvalid:
        return None


def _irregular(path: Path, block: bytes, count: int, before: int) -> list[pa.Array]:
    """The columns of a block, line by line, with errors that give the line."""
    lines = decoded(path, io.BytesIO(block), before)
    rows = [row for _, row in split_fields(path, lines, count, before)]
    return [pa.array([row[column] for row in rows], pa.large_string()) for column in range(count)]
