"""The tables of a run folder: written and read in blocks, as TSV or, by their suffix, as Parquet. Reading them does not
load torch."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from emea.errors import InputError

PARQUET = ".parquet"
BATCH = 1 << 16  # rows read at a time
AHEAD = 2  # blocks made while others are written


def write_blocks(path: Path, schema: pa.Schema, blocks: Iterable[pa.Table]) -> None:
    """Write a table that comes in blocks. In TSV, fractions have six significant digits; in Parquet, all they have."""
    from emea.formats._files import writing
    from emea.formats._writing import as_lines, write_table

    with writing(path) as file:
        if path.suffix == PARQUET:
            with pq.ParquetWriter(file, schema, compression="zstd") as writer:
                for block in blocks:
                    writer.write_table(block)
            return
        write_table(file, schema.names, [[]] * len(schema.names))
        ahead: deque[Future[pa.Buffer | bytes]] = deque()
        with ThreadPoolExecutor(AHEAD) as pool:
            for block in blocks:
                ahead.append(pool.submit(as_lines, block.columns))
                if len(ahead) > AHEAD:
                    file.write(ahead.popleft().result())
            for lines in ahead:
                file.write(lines.result())


def column_names(path: Path) -> list[str]:
    """The names of the columns of a table."""
    if path.suffix == PARQUET:
        with _open(path) as file:
            return list(file.schema_arrow.names)
    with path.open(encoding="utf-8") as lines:
        return lines.readline().rstrip("\n").split("\t")


def read_blocks(path: Path, types: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
    """These columns of a table in these types, in blocks; texts are never null."""
    schema = pa.schema(types)
    if path.suffix == PARQUET:
        with _open(path) as file:
            for batch in file.iter_batches(BATCH, columns=schema.names, use_threads=False):
                yield _filled(batch.select(schema.names).cast(schema))
        return
    parse = pyarrow.csv.ParseOptions(delimiter="\t", quote_char=False)
    convert = pyarrow.csv.ConvertOptions(column_types=schema, include_columns=schema.names)
    with pyarrow.csv.open_csv(path, parse_options=parse, convert_options=convert) as batches:
        yield from batches


def read_whole(path: Path, types: Mapping[str, pa.DataType]) -> pa.Table:
    """The same as one table."""
    return pa.Table.from_batches(list(read_blocks(path, types)), pa.schema(types))


def _filled(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = (column.fill_null("") if pa.types.is_large_string(column.type) else column for column in batch.columns)
    return pa.RecordBatch.from_arrays(list(columns), schema=batch.schema)


@contextmanager
def _open(path: Path) -> Iterator[pq.ParquetFile]:
    try:
        with pq.ParquetFile(path) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path} cannot be read as Parquet ({' '.join(str(error).split())}); run again") from error
