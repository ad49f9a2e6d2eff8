"""One-to-one pairs chosen greedily, without a loop over pairs."""

from __future__ import annotations

import torch
from torch import Tensor

from emea.kernels.segments import starts


def greedy(source: Tensor, target: Tensor, gain: Tensor) -> Tensor:
    """Positions of the distinct pairs that are left if the best is taken again and again, and all that share its
    source or target are dropped, [chosen], ascending. Of equal gains (≥ 0), the lower source comes first, then the
    lower target.

    Both sides order pairs by gain, so this is also their one stable matching: free sources propose to their next
    target, and each target keeps the best proposal. No pair is looked at twice.
    """
    if not len(source):
        return torch.empty(0, dtype=torch.int64, device=source.device)
    sources, targets = int(source.max()) + 1, int(target.max()) + 1
    order = torch.sort(target, stable=True).indices
    falling = -(gain.double() + 0.0).view(torch.int64)[order]  # their bits, which are sorted faster; -0.0 becomes 0.0
    order = order[torch.sort(falling, stable=True).indices]
    order = order[torch.sort(source[order], stable=True).indices]  # by source, the best first
    target, gain = target[order], gain[order]
    count = torch.bincount(source, minlength=sources)
    row, end = starts(count), torch.cumsum(count, 0)  # the next proposal of each source, and where its pairs end
    best = torch.full((targets,), -1.0, dtype=gain.dtype, device=gain.device)  # gain of the proposal that is kept
    keeper = torch.full((targets,), sources, device=source.device)  # its source
    free = (count > 0).nonzero()[:, 0]
    while len(free):
        asked, offer = target[row[free]], gain[row[free]]
        before, former = best[asked], keeper[asked]
        best.scatter_reduce_(0, asked, offer, "amax")
        keeper[asked[best[asked] > before]] = sources
        level = offer == best[asked]
        keeper.scatter_reduce_(0, asked[level], free[level], "amin")
        kept = keeper[asked] == free
        dropped = former[kept]
        free = torch.cat([free[~kept], dropped[dropped < sources]])
        row[free] += 1
        free = free[row[free] < end[free]]
    chosen: Tensor = order[row[keeper[keeper < sources]]].sort().values
    return chosen
