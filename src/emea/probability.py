"""Similarity → probability of counterparts, both ways (paper 4.1, eq. 1–3)."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from scipy.optimize import minimize_scalar
from torch import Tensor

from emea.data import Candidates, Counterparts, Links
from emea.kernels.joins import lookup
from emea.kernels.messages import Pattern
from emea.kernels.segments import segment_rank, segment_softmax
from emea.kernels.sinkhorn import sinkhorn
from emea.settings import ProbabilitySettings
from emea.similarity import nearest_only, pattern_of


def counterparts(
    candidates: Candidates, sharpness: float, settings: ProbabilitySettings, pairs: Pattern | None = None
) -> Counterparts:
    """q_Θ both ways: eq. 2 over each entity's candidates, after Sinkhorn's iteration where `balance` asks for it.

    `pairs` may be given where the same candidates are weighed many times.
    """
    logits = sharpness * candidates.similarity.double()
    if settings.balance:
        logits = sinkhorn(pairs or pattern_of(candidates), logits, settings.balance)
    return Counterparts(
        candidates,
        forward=segment_softmax(logits, candidates.source, candidates.sources),
        backward=segment_softmax(logits, candidates.target, candidates.targets),
        source_none=logits.new_zeros(candidates.sources),
        target_none=logits.new_zeros(candidates.targets),
    )


def fit_sharpness(
    candidates: Candidates, held_out: Links, settings: ProbabilitySettings, *, both_ways: bool = True
) -> float:
    """The sharpness under which the held-out pairs are most probable, both ways or from source to target (eq. 3).

    Eq. 1–2 have four parameters, Pr(y_e = e') ∝ exp((ω₁·s + ω₂·(max s − s) + ω₀)/τ), of which ω₀ cancels in the
    normalisation, and so does ω₂·max s: only (ω₁ − ω₂)/τ is left, here called sharpness. Few pairs leave it near
    `typical_sharpness`. The fit looks at the nearest candidates only, which hold nearly all of the mass.
    """
    if settings.sharpness is not None:
        return settings.sharpness
    near = nearest_only(candidates, settings.fit_candidates)
    row = lookup(near.keys(), held_out.source * near.targets + held_out.target)
    row = row[row >= 0]  # a pair that is no candidate is as improbable under every sharpness
    centre = math.log(settings.typical_sharpness)
    if len(row) == 0:
        return settings.typical_sharpness

    pairs = pattern_of(near)

    def loss(log_sharpness: float) -> float:
        believed = counterparts(near, math.exp(log_sharpness), settings, pairs)
        belief = believed.confidence if both_ways else believed.forward
        surprise = -torch.log(belief[row].clamp(min=1e-6)).sum()
        return float(surprise) + settings.prior_pairs * (log_sharpness - centre) ** 2

    found = minimize_scalar(loss, bounds=(centre - 2.0, centre + 2.0), method="bounded", options={"xatol": 0.05})
    return math.exp(found.x)


def most_probable(believed: Counterparts, count: int, *, both_ways: bool = True) -> Counterparts:
    """The beliefs about each entity's `count` most probable counterparts, both ways or those of sources alone."""
    pairs = believed.candidates
    kept = segment_rank(pairs.source, pairs.sources, believed.forward) < count
    if both_ways:
        kept = kept | (segment_rank(pairs.target, pairs.targets, believed.backward) < count)
    return believed[kept]


def clamp(believed: Counterparts, seeds: Links, cosine: Tensor | float = 1.0) -> Counterparts:
    """The beliefs with the seeds known: each is as probable as its weight, and their entities have no other pair."""
    kept = believed[~believed.candidates.touches(seeds)]
    pairs = kept.candidates
    order = torch.argsort(torch.cat([pairs.keys(), seeds.source * pairs.targets + seeds.target]))

    def insert(column: Tensor, value: Tensor | float) -> Tensor:
        added = value.to(column.dtype) if isinstance(value, Tensor) else column.new_full((len(seeds),), value)
        return torch.cat([column, added])[order]

    return replace(
        kept,
        candidates=replace(
            pairs,
            source=insert(pairs.source, seeds.source),
            target=insert(pairs.target, seeds.target),
            cosine=insert(pairs.cosine, cosine),
        ),
        forward=insert(kept.forward, seeds.weight),
        backward=insert(kept.backward, seeds.weight),
        source_none=kept.source_none.index_fill(0, seeds.source, 0.0),
        target_none=kept.target_none.index_fill(0, seeds.target, 0.0),
    )
