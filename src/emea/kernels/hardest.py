"""The hardest of many negatives, softly: standardised losses of a row, and the share of each in their log-sum-exp."""

from __future__ import annotations

import torch
from torch import Tensor

from emea.kernels.devices import fused

SMALLEST_LOG = -60.0  # smaller shares are none: numbers too small to be normal slow products on a CPU tenfold


def hardest_first(losses: Tensor, own: Tensor, scale: float, shift: float) -> tuple[Tensor, Tensor]:
    """log Σ_e exp(λ·z_e + τ) of each row, z the losses standardised over the row, [rows], and its gradient in the
    losses with mean and deviation held fixed, [rows, columns]; overwrites the losses.

    The columns of `own`, [rows, 2], take part with the constant loss 0.
    """
    kernels = fused(losses)
    compute = plain_hardest_first if kernels is None else kernels.hardest_first
    total, slope = compute(losses, own, scale, shift)
    return total, slope


def plain_hardest_first(losses: Tensor, own: Tensor, scale: float, shift: float) -> tuple[Tensor, Tensor]:
    """The same, pass by pass."""
    losses = losses.scatter_(1, own, 0.0)
    losses = losses.sub_(losses.mean(1, keepdim=True))
    steepness = scale / losses.square().mean(1).clamp(min=1e-12).sqrt()
    losses = losses.mul_(steepness[:, None]).add_(shift)
    total = torch.logsumexp(losses, 1)
    losses = losses.sub_(total[:, None]).scatter_(1, own, -torch.inf)
    losses.masked_fill_(losses < SMALLEST_LOG, -torch.inf)
    return total, losses.exp_().mul_(steepness[:, None])
