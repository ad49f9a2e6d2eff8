"""Weighted sums over edges and dot products along edges: sparse matrices whose values have gradients."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from emea.kernels.devices import compiled, fused
from emea.kernels.limits import EMBEDDING_BLOCK, MANY_ROWS

LONGEST = 64  # most entries in a part
HALVES_BLOCK = 2**27  # numbers that are converted to single precision at a time


@dataclass(frozen=True, eq=False)
class Parts:
    """The non-empty rows of a pattern, split into parts of at most `LONGEST` entries. Each GPU program takes one part,
    so that none has to go through the thousands of entries of a busy row."""

    rows: int
    row: Tensor  # [parts]
    begin: Tensor  # [parts] position of its first entry in sorted order
    end: Tensor  # [parts]
    whole: Tensor  # [parts] whether it is the whole row
    start: Tensor  # [rows + 1] position of each row's first part, and the end
    split: Tensor  # rows that have several parts

    @classmethod
    def build(cls, start: Tensor) -> Parts:
        """Split rows that begin at `start`, [rows + 1]."""
        size = start[1:] - start[:-1]
        count = (size + LONGEST - 1) // LONGEST
        first = torch.nn.functional.pad(count.cumsum(0), (1, 0))
        row = torch.repeat_interleave(torch.arange(len(count), device=start.device), count)
        begin = start[row] + LONGEST * (torch.arange(len(row), device=start.device) - first[row])
        end = torch.minimum(begin + LONGEST, start[row + 1])
        return cls(len(count), row, begin, end, count[row] == 1, first, (count > 1).nonzero()[:, 0])

    @property
    def columns(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Row, begin, end and whole of each part."""
        return self.row, self.begin, self.end, self.whole


@dataclass(frozen=True, eq=False)
class Pattern:
    """Where a sparse matrix has entries. Values are given and returned in the order in which the entries are listed."""

    row: Tensor  # [entries]
    column: Tensor  # [entries]
    shape: tuple[int, int]

    @cached_property
    def is_sorted(self) -> bool:
        """Whether the entries are listed by row and column."""
        key = self.row * self.shape[1] + self.column
        return bool((key[1:] >= key[:-1]).all())

    @cached_property
    def is_by_row(self) -> bool:
        """Whether the entries are listed by row, in any order of columns."""
        return bool((self.row[1:] >= self.row[:-1]).all())

    @property
    def is_crowded(self) -> bool:
        """Whether there are more entries than cells, as between few entities with many edges: what multiplies sparse
        matrices refuses that."""
        return len(self.row) > self.shape[0] * self.shape[1]

    @cached_property
    def order(self) -> Tensor:
        """The permutation that sorts the entries by row and column, [entries]."""
        if self.is_sorted:
            return torch.arange(len(self.row), device=self.row.device)
        kernels = compiled(self.row) if len(self.row) > MANY_ROWS else None
        if kernels is not None:
            order: Tensor = kernels.grouped(self.column, self.shape[1])
            return order[kernels.grouped(self.row[order], self.shape[0])]
        return torch.argsort(self.row * self.shape[1] + self.column, stable=True)

    @cached_property
    def share(self) -> Tensor:
        """1 over the number of entries in the same row, [entries]: the weights of a mean."""
        return 1 / torch.bincount(self.row, minlength=self.shape[0])[self.row].float()

    @cached_property
    def start(self) -> Tensor:
        """Position of each row's first entry in sorted order, and the end, [rows + 1]."""
        return torch.nn.functional.pad(torch.bincount(self.row, minlength=self.shape[0]).cumsum(0), (1, 0))

    @cached_property
    def sorted_column(self) -> Tensor:
        """The columns in sorted order, [entries]."""
        return self.sorted(self.column)

    @cached_property
    def parts(self) -> Parts:
        """The rows, split into parts."""
        return Parts.build(self.start)

    @cached_property
    def transposed(self) -> Pattern:
        """The same entries with row and column swapped, listed in the same order."""
        return Pattern(self.column, self.row, (self.shape[1], self.shape[0]))

    def sorted(self, values: Tensor) -> Tensor:
        """Values in sorted order, [entries]."""
        return values if self.is_sorted else values[self.order]

    def matrix(self, values: Tensor, kind: torch.dtype = torch.int64) -> Tensor:
        """The sparse matrix in CSR format, with positions of this kind."""
        _hear_warning_once()
        start, column = self.start.to(kind), self.sorted_column.to(kind)
        return torch.sparse_csr_tensor(start, column, self.sorted(values), self.shape, check_invariants=False)


def weighted_sum(pattern: Pattern, values: Tensor, features: Tensor) -> Tensor:
    """Each row's sum of value · features[column], [rows, features]; differentiable in values and features."""
    result: Tensor = _WeightedSum.apply(pattern, values, features)  # type: ignore[no-untyped-call]
    return result


def mean(pattern: Pattern, features: Tensor) -> Tensor:
    """Each row's mean of features[column], [rows, features]; zero for a row without entries."""
    return weighted_sum(pattern, pattern.share.to(features.dtype), features)


def products(pattern: Pattern, left: Tensor, right: Tensor) -> Tensor:
    """left[row] · right[column] for each entry, [entries]; differentiable in both."""
    result: Tensor = _Products.apply(pattern, left, right)  # type: ignore[no-untyped-call]
    return result


def take(features: Tensor, index: Tensor) -> Tensor:
    """features[index], with a gradient that, unlike that of indexing, a CPU sums in a fixed order."""
    return features.index_select(0, index.flatten()).reshape(*index.shape, *features.shape[1:])


def edge_softmax(pattern: Pattern, logits: Tensor) -> Tensor:
    """Softmax of the logits over each row, [entries]; differentiable."""
    if fused(logits) is not None and pattern.is_sorted:
        shares: Tensor = _FusedSoftmax.apply(pattern, logits)  # type: ignore[no-untyped-call]
        return shares
    row, rows = pattern.row, pattern.shape[0]
    peak = torch.full((rows,), -torch.inf, dtype=logits.dtype, device=logits.device)
    peak = peak.scatter_reduce(0, row, logits.detach(), "amax")
    raised = torch.exp(logits - peak[row])
    total = torch.zeros(rows, dtype=logits.dtype, device=logits.device).index_add(0, row, raised)
    return raised / take(total, row)


class _FusedSoftmax(Function):
    @staticmethod
    def forward(context: Any, pattern: Pattern, logits: Tensor) -> Tensor:
        kernels = fused(logits)
        assert kernels is not None
        share: Tensor = kernels.softmax(pattern.start, logits)
        context.pattern = pattern
        context.save_for_backward(share)
        return share

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[None, Tensor]:
        (share,) = context.saved_tensors
        kernels = fused(share)
        assert kernels is not None
        return None, kernels.softmax_gradient(context.pattern.start, share, gradient)


class _WeightedSum(Function):
    @staticmethod
    def forward(context: Any, pattern: Pattern, values: Tensor, features: Tensor) -> Tensor:
        context.pattern = pattern
        context.save_for_backward(values, features)
        return _sum(pattern, values, features)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        values, features = context.saved_tensors
        _, of_values, of_features = context.needs_input_grad
        return (
            None,
            _product(context.pattern, gradient, features) if of_values else None,
            _sum(context.pattern.transposed, values, gradient) if of_features else None,
        )


class _Products(Function):
    @staticmethod
    def forward(context: Any, pattern: Pattern, left: Tensor, right: Tensor) -> Tensor:
        context.pattern = pattern
        context.save_for_backward(left, right)
        return _product(pattern, left, right)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        left, right = context.saved_tensors
        _, of_left, of_right = context.needs_input_grad
        return (
            None,
            _sum(context.pattern, gradient, right) if of_left else None,
            _sum(context.pattern.transposed, gradient, left) if of_right else None,
        )


def _sum(pattern: Pattern, values: Tensor, features: Tensor) -> Tensor:
    kernels = fused(features)
    if kernels is not None:
        sums: Tensor = kernels.weighted_sum(pattern.parts, pattern.order, pattern.sorted_column, values, features)
        return sums
    if pattern.is_crowded or features.device.type not in {"cpu", "cuda"}:
        return plain_sum(pattern, values, features)
    if features.device.type == "cpu" and features.dtype == torch.float32:
        summed: Tensor = torch.nn.functional.embedding_bag(  # faster on a CPU than a sparse matrix product
            pattern.sorted_column,
            features.contiguous(),
            pattern.start,
            mode="sum",
            per_sample_weights=pattern.sorted(values),
            include_last_offset=True,
        )
        return summed
    result: Tensor = pattern.matrix(values) @ features.contiguous()
    return result


def _product(pattern: Pattern, left: Tensor, right: Tensor) -> Tensor:
    kernels = fused(left, halves=True)
    if kernels is not None:
        entries: Tensor = kernels.product(pattern.row, pattern.column, left, right)
        return entries
    if (kernels := compiled(left, torch.bfloat16)) is not None:
        found: Tensor = kernels.products(pattern.row, pattern.column, left, right)
        return found
    if left.dtype == torch.bfloat16:  # which sparse products do not know
        return _product_of_halves(pattern, left, right)
    if pattern.is_crowded or left.device.type not in {"cpu", "cuda"}:
        return plain_product(pattern, left, right)
    _hear_warning_once()
    column = pattern.column if pattern.is_by_row else pattern.sorted_column
    zeros = torch.zeros(len(column), dtype=left.dtype, device=left.device)
    empty = torch.sparse_csr_tensor(pattern.start, column, zeros, pattern.shape, check_invariants=False)
    in_order: Tensor = torch.sparse.sampled_addmm(empty, left.contiguous(), right.contiguous().T, beta=0.0).values()
    if pattern.is_by_row:
        return in_order
    return torch.empty_like(in_order).index_copy_(0, pattern.order, in_order)


def _product_of_halves(pattern: Pattern, left: Tensor, right: Tensor) -> Tensor:
    """The same, of as many entries at a time as need few enough features in single precision."""
    row, column, half = pattern.row, pattern.column, len(pattern.row) // 2
    (rows, row_place), (columns, column_place) = _present(row, len(left)), _present(column, len(right))
    if half and (len(rows) + len(columns)) * left.shape[1] > HALVES_BLOCK:
        parts = (Pattern(row[part], column[part], pattern.shape) for part in (slice(half), slice(half, None)))
        return torch.cat([_product_of_halves(part, left, right) for part in parts])
    some = Pattern(row_place, column_place, (len(rows), len(columns)))
    return _product(some, left[rows].float(), right[columns].float())


def _present(index: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Which of `size` things are named, and the place of each name among them: as `torch.unique`, without sorting."""
    named = torch.zeros(size, dtype=torch.bool, device=index.device)
    named[index] = True
    return named.nonzero()[:, 0], (named.cumsum(0) - 1)[index]


@cache
def _hear_warning_once() -> None:
    """Trigger and discard torch's one-time warning that CSR support is in beta."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.sparse_csr_tensor(torch.tensor([0, 0]), torch.empty(0, dtype=torch.int64), torch.empty(0), (1, 1))


def plain_sum(pattern: Pattern, values: Tensor, features: Tensor) -> Tensor:
    """The same as `weighted_sum`, by a gather and an addition for each entry: for devices without sparse products."""
    total = torch.zeros(pattern.shape[0], features.shape[1], dtype=features.dtype, device=features.device)
    return total.index_add(0, pattern.row, values[:, None] * features[pattern.column])


def row_products(left: Tensor, right: Tensor, row: Tensor, column: Tensor) -> Tensor:
    """left[row] · right[column], [rows] float32, a block at a time: for few pairs, or once."""
    parts = zip(torch.split(row, EMBEDDING_BLOCK), torch.split(column, EMBEDDING_BLOCK), strict=True)
    return torch.cat([(left[one].float() * right[other].float()).sum(1) for one, other in parts])


def plain_product(pattern: Pattern, left: Tensor, right: Tensor) -> Tensor:
    """The same as `products`, by two gathers."""
    return (left[pattern.row] * right[pattern.column]).sum(1)
