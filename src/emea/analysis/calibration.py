"""Whether links are right as often as their confidence says, and what is gained by accepting only the surest."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from emea.analysis.measures import Bin, Point
from emea.kernels.segments import segment_sum

BINS, BIN_LINKS = 15, 30  # bins of equal mass at most, and links in each at least
POINTS = 100  # at most, on a curve
LEVELS = (0.99, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3)  # of confidence that are on it


def reliability(confidence: Tensor, right: Tensor) -> tuple[Bin, ...]:
    """The links in up to 15 bins of equal mass, the least confident first; fewer if there are few links.

    >>> reliability(torch.tensor([0.5, 0.5]), torch.tensor([True, False]))
    (Bin(links=2, confidence=0.5, right=0.5),)
    """
    if len(right) == 0:
        return ()
    values, group = torch.unique(confidence, return_inverse=True)  # links of equal confidence are not told apart
    share = segment_sum(right.double(), group, len(values)) / torch.bincount(group)
    parts = torch.argsort(confidence, stable=True).tensor_split(max(1, min(BINS, len(right) // BIN_LINKS)))
    return tuple(
        Bin(len(rows), float(confidence[rows].double().mean()), float(share[group[rows]].mean())) for rows in parts
    )


def calibration_error(bins: Sequence[Bin]) -> float:
    """Mean distance between confidence and the share of right links, over all links."""
    links = sum(one.links for one in bins)
    return sum(one.links * abs(one.confidence - one.right) for one in bins) / max(links, 1)


def curve(confidence: Tensor, right: Tensor, known: int) -> tuple[Point, ...]:
    """Precision and recall of the links accepted down to some confidence, the surest first; at most 100 points, plus
    those of the LEVELS."""
    order = torch.argsort(confidence, descending=True, stable=True)
    sure, found = confidence[order], torch.cumsum(right[order].double(), 0)
    ends = torch.cat([sure[1:] != sure[:-1], torch.ones(min(1, len(sure)), dtype=torch.bool, device=sure.device)])
    ends = ends.nonzero()[:, 0]  # links of equal confidence are accepted together
    if len(ends) > POINTS:
        steps = torch.linspace(0, len(sure) - 1, POINTS, device=sure.device, dtype=torch.float64)
        spread = ends[torch.searchsorted(ends.double(), steps).clamp(max=len(ends) - 1)]
        levels = torch.tensor([int((sure >= level).sum()) - 1 for level in LEVELS], device=sure.device)
        ends = torch.unique(torch.cat([spread, levels[levels >= 0]]))
    return tuple(
        Point(float(sure[end]), end + 1, float(found[end]) / (end + 1), float(found[end]) / max(known, 1))
        for end in ends.tolist()
    )
