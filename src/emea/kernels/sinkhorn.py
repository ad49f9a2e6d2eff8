"""Sparse optimal transport by Sinkhorn iteration, with slack for "none"."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from scipy.sparse import csr_array
from torch import Tensor

from emea.kernels.messages import Pattern
from emea.kernels.segments import LOWEST, segment_max

FURTHEST = -300.0  # floor of a logit relative to its row's best: keeps the product of two weights within float64


class Scales(NamedTuple):
    """Logs of scales of rows and columns that turn exp(logits) into shares."""

    row: Tensor  # [rows]
    column: Tensor  # [columns]

    def __call__(self, logits: Tensor, row: Tensor, column: Tensor) -> Tensor:
        """The shares of entries with these logits, rows and columns."""
        return self.row[row].add_(self.column[column]).add_(logits).exp_()


class Rows(NamedTuple):
    """Some rows of K = exp(logits − peak), and of the logit of "none"."""

    peak: Tensor  # [rows] largest logit of each, at least that of "none"
    matrix: Tensor  # K, in CSR format
    transposed: Tensor | None  # Kᵀ, where a device needs it

    @classmethod
    def of(cls, pairs: Pattern, logits: Tensor, slack: float = LOWEST) -> Rows:
        """From the logits of the pairs, and that of "none"."""
        peak = segment_max(logits, pairs.row, pairs.shape[0]).clamp(min=slack)
        weight = (logits - peak[pairs.row]).clamp_(min=FURTHEST).exp_()
        if weight.device.type != "cpu":
            return cls(peak, pairs.matrix(weight), pairs.transposed.matrix(weight))
        return cls(peak, pairs.matrix(weight, torch.int32 if len(weight) < 2**31 else torch.int64), None)

    def scales(self, column: Tensor, slack: float = LOWEST) -> Tensor:
        """Under which the rows sum to 1, given those of the columns: u = 1 / (K v + exp(slack − peak))."""
        product = self._plain @ column.numpy() if self.transposed is None else (self.matrix @ column[:, None])[:, 0]
        return (torch.as_tensor(product) + torch.exp(slack - self.peak)).reciprocal_()

    def sums(self, row: Tensor) -> Tensor:
        """Of the columns, given the scales of the rows: Kᵀ u."""
        if self.transposed is None:
            return torch.from_numpy(self._plain.T @ row.numpy())
        return (self.transposed @ row[:, None])[:, 0]

    @property
    def _plain(self) -> csr_array:
        """K for scipy: for a single column, it is some 25 times as fast as torch, whose product is made for many; and
        its transpose, which adds to scattered sums, takes no memory and no more time than one sorted by column."""
        values, column, start = self.matrix.values(), self.matrix.col_indices(), self.matrix.crow_indices()
        return csr_array((values.numpy(), column.numpy(), start.numpy()), tuple(self.matrix.shape))


def sinkhorn(pairs: Pattern, logits: Tensor, iterations: int, slack: float = LOWEST) -> tuple[Scales, Scales]:
    """The scales that turn exp(logits) into a transport plan: each row and each column sums to 1, minus what goes to
    "none", whose logit is `slack`. First those under which exactly the rows do, then those under which the columns do.

    With K = exp(logits − peak) and u and v the scales of rows and columns: u = 1 / (K v + exp(slack − peak)),
    v = 1 / (Kᵀ u + exp(slack)), one sparse product each.
    """
    logits = logits.double()
    rows = Rows.of(pairs, logits, slack)
    row, column = logits.new_ones(pairs.shape[0]), logits.new_ones(pairs.shape[1])
    for _ in range(iterations):  # scales of rows and columns without pairs are meaningless and not used
        row = rows.scales(column, slack)
        column = balanced(rows.sums(row), slack)
    return both_scales(rows, row, column, slack)


def balanced(sums: Tensor, slack: float = LOWEST) -> Tensor:
    """The scales under which columns sum to 1, given their sums: v = 1 / (Kᵀ u + exp(slack))."""
    return (sums + math.exp(slack)).reciprocal_()


def both_scales(rows: Rows, row: Tensor, column: Tensor, slack: float = LOWEST) -> tuple[Scales, Scales]:
    """The scales under which the rows sum to 1, and those under which the columns do, given the latter's factors."""
    after, of_columns = rows.scales(column, slack), torch.log(column)
    return Scales(torch.log(after) - rows.peak, of_columns), Scales(torch.log(row) - rows.peak, of_columns)


def plan(pairs: Pattern, logits: Tensor, iterations: int, slack: float = LOWEST) -> Tensor:
    """The transport plan over the pairs, [pairs]."""
    return sinkhorn(pairs, logits, iterations, slack)[1](logits.double(), pairs.row, pairs.column)
