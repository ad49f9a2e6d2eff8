"""A margin loss over pairs and random negatives under Manhattan distance, with its gradient."""

from __future__ import annotations

import torch
from torch import Tensor

from emea.kernels.devices import compiled, fused
from emea.kernels.limits import MANY_AT_ONCE, MARGIN_BLOCK
from emea.kernels.messages import take


def margin_loss(
    output: Tensor, pairs: Tensor, negatives: Tensor, weight: Tensor, margin: float
) -> tuple[Tensor, Tensor]:
    """The loss and its gradient with respect to `output`, [entities, features]. The loss is a weighted sum over rows of

        relu(γ + ‖l − r‖₁ − ‖l − r⁻‖₁) + relu(γ + ‖l − r‖₁ − ‖l⁻ − r‖₁).

    `negatives`, [2, rows], holds l⁻ and r⁻ of each row; the rows cycle through the `pairs`, [2, pairs].
    """
    kernels = fused(output)
    if kernels is None and negatives.shape[1] * output.shape[1] > MANY_AT_ONCE:
        kernels = compiled(output, torch.float32)
    compute = plain_margin_loss if kernels is None else kernels.margin_loss
    loss, gradient = compute(output, pairs, negatives, weight, margin)
    return loss, gradient


def plain_margin_loss(
    output: Tensor, pairs: Tensor, negatives: Tensor, weight: Tensor, margin: float
) -> tuple[Tensor, Tensor]:
    """The same in plain torch, in blocks of rows; the gradient is a sum of signs."""
    gradient, total = torch.zeros_like(output), output.new_zeros(())
    rows = torch.arange(negatives.shape[1], device=output.device) % pairs.shape[1]
    for row, others in zip(torch.split(rows, MARGIN_BLOCK), torch.split(negatives, MARGIN_BLOCK, 1), strict=True):
        ends, share = pairs[:, row], weight[row]
        left, right = take(output, ends[0]), take(output, ends[1])
        near = left - right
        to_right, to_left = left - take(output, others[1]), take(output, others[0]) - right
        reach = margin + near.abs().sum(1)
        first, second = reach - to_right.abs().sum(1), reach - to_left.abs().sum(1)
        total = total + (share * (torch.relu(first) + torch.relu(second))).sum()
        first, second = (share * (first > 0))[:, None], (share * (second > 0))[:, None]
        near = (first + second) * near.sign_()
        to_right, to_left = first * to_right.sign_(), second * to_left.sign_()
        gradient.index_add_(0, ends[0], near - to_right)
        gradient.index_add_(0, ends[1], to_left - near)
        gradient.index_add_(0, others[1], to_right)
        gradient.index_add_(0, others[0], -to_left)
    return total, gradient
