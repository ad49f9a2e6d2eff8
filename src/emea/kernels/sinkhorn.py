"""Sparse optimal transport by Sinkhorn iteration, with slack for "none"."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from scipy.sparse import csr_array
from torch import Tensor

from emea.kernels.messages import Pattern
from emea.kernels.segments import LOWEST, segment_max

Product = Callable[[Tensor], Tensor]

FURTHEST = -300.0  # floor of a logit relative to its row's best: keeps the product of two weights within float64


class Scales(NamedTuple):
    """Logs of scales of rows and columns that turn exp(logits) into shares."""

    row: Tensor  # [rows]
    column: Tensor  # [columns]

    def __call__(self, logits: Tensor, row: Tensor, column: Tensor) -> Tensor:
        """The shares of entries with these logits, rows and columns."""
        return self.row[row].add_(self.column[column]).add_(logits).exp_()


def sinkhorn(pairs: Pattern, logits: Tensor, iterations: int, slack: float = LOWEST) -> tuple[Scales, Scales]:
    """The scales that turn exp(logits) into a transport plan: each row and each column sums to 1, minus what goes to
    "none", whose logit is `slack`. First those under which exactly the rows do, then those under which the columns do.

    With K = exp(logits − peak) and u and v the scales of rows and columns: u = 1 / (K v + exp(slack − peak)),
    v = 1 / (Kᵀ u + exp(slack)), one sparse product each.
    """
    logits = logits.double()
    peak = segment_max(logits, pairs.row, pairs.shape[0]).clamp(min=slack)
    weight = (logits - peak[pairs.row]).clamp_(min=FURTHEST).exp_()
    forward, backward = _products(pairs, weight)
    row_slack, column_slack = torch.exp(slack - peak), math.exp(slack)
    row, column = logits.new_ones(pairs.shape[0]), logits.new_ones(pairs.shape[1])
    for _ in range(iterations):  # scales of rows and columns without pairs are meaningless and not used
        row = (forward(column) + row_slack).reciprocal_()
        column = (backward(row) + column_slack).reciprocal_()
    after = (forward(column) + row_slack).reciprocal_()
    column = torch.log(column)
    return Scales(torch.log(after) - peak, column), Scales(torch.log(row) - peak, column)


def _products(pairs: Pattern, weight: Tensor) -> tuple[Product, Product]:
    """The products of the matrix of these weights, and of its transpose, with a vector."""
    if weight.device.type != "cpu":
        matrix, transposed = pairs.matrix(weight), pairs.transposed.matrix(weight)
        return lambda vector: (matrix @ vector[:, None])[:, 0], lambda vector: (transposed @ vector[:, None])[:, 0]
    # For a single column, scipy is some 25 times as fast as torch, whose product is made for many; and its transpose,
    # which adds to scattered sums, takes no memory and no more time than one sorted by column.
    narrow = torch.int32 if len(weight) < 2**31 else torch.int64
    column, start = (each.to(narrow).numpy() for each in (pairs.sorted_column, pairs.start))
    plain = csr_array((pairs.sorted(weight).numpy(), column, start), pairs.shape)
    return (
        lambda vector: torch.from_numpy(plain @ vector.numpy()),
        lambda vector: torch.from_numpy(plain.T @ vector.numpy()),
    )


def plan(pairs: Pattern, logits: Tensor, iterations: int, slack: float = LOWEST) -> Tensor:
    """The transport plan over the pairs, [pairs]."""
    return sinkhorn(pairs, logits, iterations, slack)[1](logits.double(), pairs.row, pairs.column)
