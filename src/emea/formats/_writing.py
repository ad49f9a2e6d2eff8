"""Shared by the alignment writers: the order of links, their names and labels, and tables as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import BinaryIO, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import torch
from torch import Tensor

from emea.data import Alignment, Graph, Task
from emea.formats._equality import used_as_types
from emea.formats._labels import labels, last_parts, one_line, types

Column: TypeAlias = Sequence[str] | Tensor | np.ndarray | pa.Array | pa.ChunkedArray

UNQUOTED = pyarrow.csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none", batch_size=1 << 14)
CLASS = pa.scalar("Class", pa.large_string())
EXACT_POWER = 22  # 10**22 is the largest power of ten that a float represents exactly
POWERS = np.array([float(10**exponent) for exponent in range(EXACT_POWER + 1)])


def sort_by_name(alignment: Alignment) -> Alignment:
    """The links sorted by source name, then target name; ids are in the same order as names."""
    rows = np.lexsort((alignment.target.cpu().numpy(), alignment.source.cpu().numpy()))
    links = on_cpu(alignment)
    return replace(links, reasons=alignment.reasons)[torch.from_numpy(rows)]


def on_cpu(links: Alignment) -> Alignment:
    """The same links, ready to be written; without reasons."""
    columns = (links.source, links.target, links.confidence, links.similarity)
    source, target, confidence, similarity = (column.detach().cpu() for column in columns)
    return Alignment(source, target, confidence, similarity)


def alignment_pairs(alignment: Alignment, task: Task) -> pa.Table:
    """The links as a table of pairs, sorted by name: source, target, weight (the confidence), similarity."""
    links = sort_by_name(alignment)
    numbers = (links.confidence.clamp(0, 1), links.similarity)
    columns = [*task.names(links), *(pa.array(column.float().numpy(), pa.float32()) for column in numbers)]
    return pa.table(columns, names=["source", "target", "weight", "similarity"])


def alignment_table(alignment: Alignment, task: Task) -> pa.Table:
    """The links for people, sorted by name: source, target, confidence, similarity, labels, types, cardinality and, if
    there are any, reasons."""
    links = sort_by_name(alignment)
    source, target = links.source.numpy(), links.target.numpy()
    columns = {
        **dict(zip(("source", "target"), task.names(links), strict=True)),
        "confidence": links.confidence.numpy(),
        "similarity": links.similarity.numpy(),
        "source_label": shown_labels(task.source, source),
        "target_label": shown_labels(task.target, target),
        "source_type": _type(task.source, source),
        "target_type": _type(task.target, target),
        "cardinality": _cardinality(source, target),
    }
    if links.reasons is not None:
        columns["reason"] = one_line(pa.array(links.reasons, pa.large_string()))
    return pa.table(columns)


def shown_labels(graph: Graph, entities: np.ndarray) -> pa.Array:
    """The label of each; of a class without one, which the graph only uses, the last part of its name."""
    ends = last_parts(graph.entities.take(pa.array(entities)))
    return pc.coalesce(labels(graph, entities), pc.if_else(pa.array(used_as_types(graph)[entities]), ends, None))


def _type(graph: Graph, entities: np.ndarray) -> pa.Array:
    """The types of each; of a class that the graph does not declare, that it is one."""
    return pc.coalesce(types(graph, entities), pc.if_else(pa.array(used_as_types(graph)[entities]), CLASS, None))


def _cardinality(source: np.ndarray, target: np.ndarray) -> pa.Array:
    """How many sources are linked to how many targets, [links]: 1:1, n:1, 1:n or n:n."""
    many = [np.bincount(ids)[ids] > 1 if len(ids) else np.zeros(0, dtype=bool) for ids in (target, source)]
    names = pa.array(["1:1", "1:n", "n:1", "n:n"], pa.large_string())
    return names.take(pa.array(2 * many[0].astype(np.int64) + many[1]))


def write_table(file: BinaryIO, header: Sequence[str], columns: Sequence[Column]) -> None:
    """Write named columns as TSV: text as it is, never quoted, and fractions with six significant digits."""
    file.write(("\t".join(header) + "\n").encode())
    write_lines(file, columns)


def write_lines(file: BinaryIO, columns: Sequence[Column]) -> None:
    """Write the rows of a table, without a header."""
    file.write(as_lines(columns))


def as_lines(columns: Sequence[Column]) -> pa.Buffer | bytes:
    """The rows of a table as TSV."""
    cells = [_cells(column) for column in columns]
    try:
        sink = pa.BufferOutputStream()
        pyarrow.csv.write_csv(pa.table(cells, names=list(map(str, range(len(cells))))), sink, UNQUOTED)
        return sink.getvalue()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # it refuses quotes within text
        *others, last = (cell.cast(pa.large_string()).fill_null("") for cell in cells)
    tab, end, nothing = (pa.scalar(text, pa.large_string()) for text in ("\t", "\n", ""))
    lines = pc.binary_join_element_wise(*others, pc.binary_join_element_wise(last, end, nothing), tab)
    # Arrow stores the strings of a column one after another: exactly the bytes to write.
    return lines.buffers()[2] if len(lines) else b""


def _cells(column: Column) -> pa.Array:
    values = column.detach().cpu().numpy() if isinstance(column, Tensor) else column
    if isinstance(values, pa.Array | pa.ChunkedArray) and pa.types.is_floating(values.type):
        values = values.to_numpy()
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        values = six_digits(values)
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else pa.array(values)


def six_digits(values: np.ndarray) -> np.ndarray:
    """The numbers rounded to six significant digits."""
    exact = values.astype(np.float64)
    size = np.abs(np.where(np.isfinite(exact) & (exact != 0), exact, 1.0))
    digits = 5 - np.floor(np.log10(size))
    power = POWERS[np.minimum(np.abs(digits), EXACT_POWER).astype(np.int64)]
    # Divide by a power of ten instead of multiplying by its inverse, which has no exact binary form.
    with np.errstate(over="ignore"):  # of large numbers, which are rounded below
        rounded: np.ndarray = np.rint(exact * power) / power
    large = digits < 0
    if large.any():
        rounded[large] = np.rint(exact[large] / power[large]) * power[large]
    extreme = np.abs(digits) > EXACT_POWER
    rounded[extreme] = [float(f"{value:.6g}") for value in exact[extreme].tolist()]
    return rounded
