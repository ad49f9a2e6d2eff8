"""A soft maximum over negatives: log-sum-exp of each row's standardised losses, and the share of each loss in it."""

from __future__ import annotations

import torch
from torch import Tensor

from emea.kernels.devices import fused

SMALLEST_LOG = -60.0  # smaller shares become 0: subnormal numbers slow down products tenfold on a CPU


def hardest_first(losses: Tensor, own: Tensor, scale: float, shift: float) -> tuple[Tensor, Tensor]:
    """log Σ_e exp(λ·z_e + τ) of each row, [rows], where z are the losses standardised over the row; and its gradient
    with respect to the losses, with mean and standard deviation held fixed, [rows, columns]. Overwrites the losses.

    The columns in `own`, [rows, 2], count with the constant loss 0.
    """
    kernels = fused(losses)
    compute = plain_hardest_first if kernels is None else kernels.hardest_first
    total, slope = compute(losses, own, scale, shift)
    return total, slope


def plain_hardest_first(losses: Tensor, own: Tensor, scale: float, shift: float) -> tuple[Tensor, Tensor]:
    """The same in plain torch."""
    losses = losses.scatter_(1, own, 0.0)
    losses = losses.sub_(losses.mean(1, keepdim=True))
    steepness = scale / losses.square().mean(1).clamp(min=1e-12).sqrt()
    losses = losses.mul_(steepness[:, None])
    peak = losses.amax(1, keepdim=True)
    losses = losses.sub_(peak)
    shares = losses.masked_fill_(losses < SMALLEST_LOG, -torch.inf).exp_()
    total = shares.sum(1)
    return total.log() + peak[:, 0] + shift, shares.scatter_(1, own, 0.0).mul_((steepness / total)[:, None])
