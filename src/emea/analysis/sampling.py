"""Ranks on a sample, where comparing the source of every known pair with every target would take too long."""

from __future__ import annotations

import torch
from torch import Tensor

from emea.analysis.ranking import CSLS, Answer, compared, ranks, rows_of
from emea.data import Links

RANKED = 2**29  # known pairs × targets up to which all are compared; beyond, as many pairs as make so much
SEED = 0


def draw(subject: Answer, known: Links) -> Tensor | None:
    """How many known pairs each stands for, [known]: 0 for those that are not drawn. Half of the pairs are drawn from
    those that are candidates, half from the others, the same each time. None if all are drawn."""
    count = RANKED // max(1, subject.targets)
    if subject.tail is None or len(known) <= count:
        return None
    is_candidate = rows_of(subject, known) >= 0
    weight = torch.zeros(len(known), dtype=torch.float64, device=known.source.device)
    generator = torch.Generator().manual_seed(SEED)
    for stratum in (is_candidate, ~is_candidate):
        rows = stratum.nonzero()[:, 0]
        drawn = rows[torch.randperm(len(rows), generator=generator)[: max(1, count // 2)].to(rows.device)]
        weight[drawn] = len(rows) / max(1, len(drawn))
    return weight


def weighted_ranks(
    subject: Answer, known: Links, pool: Tensor, decoding: str, *, outside: Tensor | None, weight: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Optimistic and pessimistic ranks, and weights whose means estimate those over all known pairs; `outside`,
    [known, 4], need only hold for pairs with a weight. If none is given, each known pair counts once.

    By similarity, the rank among the candidates stands for pairs that were not drawn, corrected by how far it is off
    for those that were: Σ f(near) + Σ w·(f(right) − f(near)). By other scores the ranks of candidates are right anyway.
    """
    best, worst = ranks(subject, known, pool, decoding, outside)
    if weight is None:
        return best, worst, torch.ones_like(best)
    is_candidate = rows_of(subject, known) >= 0
    if decoding != CSLS:
        return best, worst, torch.where(is_candidate, 1.0, weight)
    better, as_good = (each[is_candidate] for each in compared(subject, known, pool, decoding))
    return (
        torch.cat([best, 1 + better]),
        torch.cat([worst, as_good]),
        torch.cat([weight, 1 - weight[is_candidate]]),
    )
