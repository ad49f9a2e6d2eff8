"""Parquet: graphs and pairs as tables with named columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Union

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow.dataset import dataset

from emea.contracts import PLAIN, AlignmentWriter, GraphWriter, PairReader, PairWriter, Reading
from emea.data import Alignment, Graph, Task
from emea.errors import InputError
from emea.formats._columns import GraphColumns
from emea.formats._files import (
    EXPANDED_TIMES,
    expands_too_far,
    is_folder,
    one_line,
    open_bytes,
    stem,
    writing,
)
from emea.formats._packing import is_packed
from emea.formats._pairs import DECISION, PAIR_NAMES, PairColumns, checked_weight, needed_columns
from emea.formats._triples import (
    TRIPLE_DEFAULTS,
    TRIPLE_HEADER,
    TRIPLE_NAMES,
    add_rows,
    are_triples,
    needed_header,
    recognised,
    row_blocks,
    usual_names,
)
from emea.formats._wide import TableReader, rows_graph
from emea.formats._writing import alignment_table

BATCH = 1 << 14  # rows held as Python values at a time
ROW_SIZE = 16  # bytes that a row takes at least, once read
ASKED = re.compile(r"of size (\d+) failed")  # how Arrow says that there is too little memory
NO_DEFAULT = (None, None, None)
PAIR_TYPES = {
    "source": pa.large_string(),
    "target": pa.large_string(),
    "weight": pa.float64(),
    "excluded": pa.bool_(),
    DECISION: pa.large_string(),
}
PAIR_DEFAULTS = (None, None, 1.0, False, "")
_File = Union[pq.ParquetFile, "_Parts"]
SCHEMA = pa.schema([(name, pa.large_string()) for name in TRIPLE_HEADER])


class Parquet(TableReader, GraphWriter, PairReader, PairWriter, AlignmentWriter):
    """Columns by name, in any order; others are ignored. Read and written in parts."""

    description: ClassVar[str] = (
        "Parquet (.parquet) whose rows are entities, or head, relation, tail[, kind, datatype, language], "
        "or source, target[, weight, excluded]"
    )
    suffixes: ClassVar[tuple[str, ...]] = (".parquet",)
    pair_suffixes: ClassVar[tuple[str, ...]] = (".parquet",)

    def read_graph(self, path: Path, reading: Reading = PLAIN) -> Graph:
        """The graph in the columns head, relation and tail, where the column kind marks literals; or, with other
        columns, the graph whose entities are the rows."""
        columns = GraphColumns()
        with _open(path) as file:
            names = file.schema_arrow.names
            if not are_triples(names, reading):
                return rows_graph({stem(path): _whole(file)}, path, reading)
            defaults = (*NO_DEFAULT, *TRIPLE_DEFAULTS[3:])
            types = dict.fromkeys(TRIPLE_HEADER, pa.large_string())
            for before, cells in _blocks(file, path, types, defaults, required=3, aliases=TRIPLE_NAMES):
                add_rows(columns, cells, path, before)
        return recognised(columns.build(), names, path)

    def read_tables(self, path: Path) -> dict[str, pa.Table]:
        """The table of all columns."""
        with _open(path) as file:
            return {stem(path): _whole(file)}

    def write_graph(self, graph: Graph, path: Path) -> None:
        """Write the triples and, if there are any, the literals."""
        header = needed_header(graph)
        schema = pa.schema([SCHEMA.field(name) for name in header])
        _write(path, schema, (block.select(header) for block in row_blocks(graph)))

    def holds_pairs(self, path: Path) -> bool:
        """Whether the file has the columns source and target."""
        with _open(path) as file:
            return {"source", "target"} <= {*usual_names(file.schema_arrow.names, PAIR_NAMES)}

    def read_pairs(self, path: Path) -> pa.Table:
        """Columns source, target, weight, excluded, and line: the number of the row."""
        columns = PairColumns()
        with _open(path) as file:
            decided = DECISION in usual_names(file.schema_arrow.names, PAIR_NAMES)
            for number, row in _rows(file, path, PAIR_TYPES, PAIR_DEFAULTS, required=2, aliases=PAIR_NAMES):
                source, target, weight, excluded, decision = row
                where = f"{path}, row {number}"
                if decided:
                    columns.decide(decision, where, source, target, excluded=excluded, line=number)
                else:
                    columns.add(source, target, checked_weight(weight, where), excluded=excluded, line=number)
        return columns.build(path)

    def write_pairs(self, pairs: pa.Table, path: Path) -> None:
        """Write the names and, if there are any, weights and exclusions."""
        table = needed_columns(pairs)
        _write(path, table.schema, [table])

    def write_alignment(self, alignment: Alignment, task: Task, path: Path) -> None:
        """Write the links with confidence, similarity, labels, types and cardinality, sorted by name."""
        table = alignment_table(alignment, task)
        _write(path, table.schema, [table])


def _write(path: Path, schema: pa.Schema, blocks: Iterable[pa.Table]) -> None:
    with writing(path) as file, pq.ParquetWriter(file, schema) as writer:
        for block in blocks:
            writer.write_table(block)


@contextmanager
def _open(path: Path) -> Iterator[_File]:
    """The file, or a folder of its parts, with the reader's errors turned into ours; a .gz file is decompressed in
    memory."""
    size = 0
    with ExitStack() as stack:
        try:
            if is_folder(path):
                parts = _Parts(path)
                size = sum(Path(part).stat().st_size for part in parts.data.files)
                _refuse_bomb(path, parts.data.count_rows(), size)
                yield parts
                return
            raw = stack.enter_context(open_bytes(path))
            packed = is_packed(path)
            source = pa.BufferReader(raw.read()) if packed else pa.PythonFile(raw, "r")
            size = source.size()
            with pq.ParquetFile(source, pre_buffer=False) as file:
                _refuse_bomb(path, file.metadata.num_rows, size)
                yield file
        except (pa.ArrowException, OSError, UnicodeDecodeError, MemoryError) as error:
            if isinstance(error, MemoryError) and not _asks_too_much(error, size):
                raise  # the file may be sound
            raise InputError(f"{path} cannot be read: {one_line(str(error))}; expected Parquet") from error


def _asks_too_much(error: MemoryError, size: int) -> bool:
    """Whether memory was asked for that no sound file of this size needs: a broken one may say anything."""
    asked = ASKED.search(str(error))
    return asked is not None and expands_too_far(int(asked[1]), size)


def _refuse_bomb(path: Path, rows: int, size: int) -> None:
    if expands_too_far(rows * ROW_SIZE, size):
        found = f"{rows:,} rows in {size:,} bytes"
        raise InputError(f"{path}: found {found}, expected at most {EXPANDED_TIMES} times as many bytes of data")


class _Parts:
    """The parts of a table in a folder, in the order of their names, as one file; folders named column=value inside it
    say the value of a column."""

    def __init__(self, path: Path) -> None:
        self.data = dataset(path, format="parquet", partitioning="hive")
        if not self.data.files:
            raise InputError(f"{path} is an empty folder; expected parts of a Parquet table")

    @property
    def schema_arrow(self) -> pa.Schema:
        """The columns of all parts."""
        return self.data.schema

    def iter_batches(self, size: int, *, use_threads: bool) -> Iterator[pa.RecordBatch]:
        """The rows in blocks."""
        yield from self.data.to_batches(batch_size=size, use_threads=use_threads)

    def read(self, *, use_threads: bool) -> pa.Table:
        """All rows."""
        return self.data.to_table(use_threads=use_threads)


def _whole(file: _File) -> pa.Table:
    table = file.read(use_threads=False)
    table.validate(full=True)
    return table


def _rows(
    file: _File,
    path: Path,
    types: dict[str, pa.DataType],
    defaults: Sequence[object],
    *,
    required: int,
    aliases: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """The numbered rows, with one cell for each named column, or its default if the column or the value is missing."""
    for before, cells in _blocks(file, path, types, defaults, required=required, aliases=aliases):
        yield from enumerate(zip(*(column.to_pylist() for column in cells), strict=True), before + 1)


def _blocks(
    file: _File,
    path: Path,
    types: dict[str, pa.DataType],
    defaults: Sequence[object],
    *,
    required: int,
    aliases: Mapping[str, str],
) -> Iterator[tuple[int, list[pa.Array]]]:
    """The named columns in blocks, each with the number of rows before it; a missing column or value is its default."""
    found = usual_names(file.schema_arrow.names, aliases)
    for name in list(types)[:required]:
        if found.count(name) != 1:
            listed = ", ".join(file.schema_arrow.names[:10]) or "none"
            raise InputError(f"{path}: found the columns {listed}, expected exactly one named {name}")
    before = 0
    for batch in file.iter_batches(BATCH, use_threads=False):
        batch.validate(full=True)
        cells = []
        for (name, data_type), default in zip(types.items(), defaults, strict=True):
            filled = pa.scalar(default, data_type)
            column = batch.column(found.index(name)).cast(data_type) if name in found else None
            cells.append(pa.repeat(filled, batch.num_rows) if column is None else pc.coalesce(column, filled))
        lacking = [(pc.index(cell.is_null(), True).as_py(), name) for cell, name in zip(cells, types, strict=True)]
        lacking = [each for each in lacking[:required] if each[0] >= 0]
        if lacking:
            row, name = min(lacking, key=lambda each: each[0])
            raise InputError(f"{path}, row {before + row + 1}: found an empty cell, expected a {name}")
        yield before, cells
        before += batch.num_rows
