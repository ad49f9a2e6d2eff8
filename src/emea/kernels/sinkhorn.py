"""Sparse optimal transport by Sinkhorn's iteration, in the log domain, with slack for "none"."""

from __future__ import annotations

import torch
from torch import Tensor

from emea.data import Candidates
from emea.kernels.segments import LOWEST, segment_logsumexp


def sinkhorn(candidates: Candidates, logits: Tensor, iterations: int, slack: float = LOWEST) -> Tensor:
    """Log of the transport plan over the candidate pairs, [pairs]: exp(logits) scaled until the pairs of each source,
    and those of each target, sum to 1 less what goes to "none", whose logit is `slack`."""
    source, target = candidates.source, candidates.target
    row = torch.zeros(candidates.sources, dtype=logits.dtype, device=logits.device)
    column = torch.zeros(candidates.targets, dtype=logits.dtype, device=logits.device)
    for _ in range(iterations):
        row = -segment_logsumexp(logits + column[target], source, candidates.sources, slack)
        column = -segment_logsumexp(logits + row[source], target, candidates.targets, slack)
    return logits + row[source] + column[target]
