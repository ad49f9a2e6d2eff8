"""Arrow: tables in files (also called Feather) and streams."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from emea.errors import InputError
from emea.formats._files import EXPANDED_TIMES, expands_too_far, one_line, open_bytes, stem
from emea.formats._packing import is_packed
from emea.formats._wide import TableReader

MAGIC = b"ARROW1"  # at the beginning of a file, not of a stream


class Arrow(TableReader):
    """One table a file."""

    description: ClassVar[str] = "Arrow and Feather tables (.arrow, .feather, .ipc)"
    suffixes: ClassVar[tuple[str, ...]] = (".arrow", ".feather", ".ipc")

    def read_tables(self, path: Path) -> dict[str, pa.Table]:
        """The table, named like the file."""
        with _opened(path) as (schema, batches):
            table = pa.Table.from_batches(batches, schema)
        return {stem(path): table}


@contextmanager
def _opened(path: Path) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    """The batches of a file or a stream; a .gz file is decompressed in memory."""
    with open_bytes(path) as raw:
        try:
            is_file = raw.peek(len(MAGIC)).startswith(MAGIC)
            packed = is_packed(path)
            source = pa.BufferReader(raw.read()) if packed else pa.PythonFile(raw, "r")
            with pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source) as reader:
                batches = map(reader.get_batch, range(reader.num_record_batches)) if is_file else iter(reader)
                _ = reader.schema.names  # which are decoded only now
                yield reader.schema, _limited(batches, path)
        except (pa.ArrowException, OSError, UnicodeDecodeError, MemoryError, OverflowError) as error:
            reason = one_line(str(error))
            raise InputError(f"{path} cannot be read: {reason}; expected an Arrow file or stream") from error


def _limited(batches: Iterator[pa.RecordBatch], path: Path) -> Iterator[pa.RecordBatch]:
    """The batches, as long as they do not expand too far."""
    packed, expanded = path.stat().st_size, 0
    for batch in batches:
        batch.validate(full=True)  # before anything is done with it: broken offsets would point out of memory
        expanded += batch.nbytes
        if expands_too_far(expanded, packed):
            found = f"more than {expanded:,} bytes of data in {packed:,} bytes"
            raise InputError(f"{path}: found {found}, expected at most {EXPANDED_TIMES} times as many")
        yield batch
