"""Sparse optimal transport by Sinkhorn iteration, with slack for "none"."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from emea.kernels.messages import Pattern
from emea.kernels.segments import LOWEST, segment_max

FURTHEST = -300.0  # floor of a logit relative to its row's best: keeps the product of two weights within float64


def sinkhorn(pairs: Pattern, logits: Tensor, iterations: int, slack: float = LOWEST) -> tuple[Tensor, Tensor]:
    """Logs of the scales of rows and columns, [rows] and [columns], that turn exp(logits) into a transport plan: each
    row and each column sums to 1, minus what goes to "none", whose logit is `slack`.

    With K = exp(logits − peak) and u and v the scales of rows and columns: u = 1 / (K v + exp(slack − peak)),
    v = 1 / (Kᵀ u + exp(slack)), one sparse product each.
    """
    logits = logits.double()
    peak = segment_max(logits, pairs.row, pairs.shape[0]).clamp(min=slack)
    weight = torch.exp((logits - peak[pairs.row]).clamp(min=FURTHEST))
    forward, backward = pairs.matrix(weight), pairs.transposed.matrix(weight)
    row_slack = torch.exp(slack - peak)[:, None]
    column_slack = logits.new_full((pairs.shape[1], 1), math.exp(slack))
    row, column = logits.new_ones(pairs.shape[0], 1), logits.new_ones(pairs.shape[1], 1)
    for _ in range(iterations):  # scales of rows and columns without pairs are meaningless and not used
        row = torch.addmm(row_slack, forward, column).reciprocal_()
        column = torch.addmm(column_slack, backward, row).reciprocal_()
    return torch.log(row[:, 0]) - peak, torch.log(column[:, 0])


def plan(pairs: Pattern, logits: Tensor, iterations: int, slack: float = LOWEST) -> Tensor:
    """The transport plan over the pairs, [pairs]."""
    row, column = sinkhorn(pairs, logits, iterations, slack)
    return torch.exp(logits.double() + row[pairs.row] + column[pairs.column])
