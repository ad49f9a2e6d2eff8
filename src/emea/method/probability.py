"""Similarity → probability of counterparts, both ways (paper 4.1, eq. 1–3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from emea.candidates.parts import Beliefs, KeptCandidates, KeptCounterparts, best_both_ways, sum_in_order
from emea.candidates.search import nearest_only, pattern_of
from emea.data import Candidates, Counterparts, Links
from emea.kernels.joins import lookup
from emea.kernels.messages import Pattern
from emea.kernels.segments import LOWEST, segment_logsumexp, segment_max, segment_sum
from emea.kernels.sinkhorn import Rows, Scales, balanced, both_scales, sinkhorn
from emea.method.competition import ONE_TO_ONE, Competition
from emea.settings import ProbabilitySettings

UNLIKELY = 1e-6  # probabilities are kept this far from 0 or 1 in the fit
NONE_UNIT = 0.1  # change of "none", in similarity, that the prior rates like a factor of e in sharpness


@dataclass(frozen=True)
class Scale:
    """How similarities become probabilities.

    Eq. 1–2 have four parameters, Pr(y_e = e') ∝ exp((ω₁·s + ω₂·(max s − s) + ω₀)/τ), of which ω₀ cancels in the
    normalisation, and so does ω₂·max s: only (ω₁ − ω₂)/τ is left, here called sharpness.
    """

    sharpness: float  # (ω₁ − ω₂)/τ of eq. 1–2
    none: float  # the similarity at which a counterpart is no better than "none"; LOWEST: "none" is not an answer

    @classmethod
    def typical(cls, settings: ProbabilitySettings) -> Scale:
        """The scale as set, or the typical one, assumed without any pair to fit it to. Plain eq. 2 has no "none"."""
        none = settings.typical_none if settings.none is None else settings.none
        return cls(settings.sharpness or settings.typical_sharpness, none if settings.balance else LOWEST)

    @property
    def slack(self) -> float:
        """Logit of "none"."""
        return self.sharpness * self.none if self.none > LOWEST else LOWEST


def counterparts(
    candidates: Candidates,
    scale: Scale,
    settings: ProbabilitySettings,
    *,
    competition: Competition = ONE_TO_ONE,
    pairs: Pattern | None = None,
    rows: Tensor | None = None,
) -> Counterparts:
    """q_Θ both ways: eq. 2 over each entity's candidates and "none", after `balance` Sinkhorn iterations, if any and if
    entities compete both ways.

    `pairs` may be given to save time if the same candidates are evaluated many times; so may `rows`, if only the
    beliefs about some of the candidates are wanted.
    """
    if settings.scaling == "minmax":
        believed = _stretched(candidates)
        return believed if rows is None else believed[rows]
    logits, slack = candidates.similarity.double().mul_(scale.sharpness), scale.slack
    if settings.balance and all(competition):
        ahead, back = sinkhorn(pairs or pattern_of(candidates), logits, settings.balance, slack)
    else:
        row = -segment_logsumexp(logits, candidates.source, candidates.sources, slack)
        column = -segment_logsumexp(logits, candidates.target, candidates.targets, slack)
        ahead, back = Scales(row, torch.zeros_like(column)), Scales(torch.zeros_like(row), column)
    if rows is not None:
        logits, candidates = logits[rows], candidates[rows]
    return Counterparts(
        candidates,
        forward=ahead(logits, candidates.source, candidates.target),
        backward=back(logits, candidates.source, candidates.target),
        source_none=_none(ahead.row, slack),
        target_none=_none(back.column, slack),
    )


def counterparts_of(
    candidates: KeptCandidates, scale: Scale, settings: ProbabilitySettings, competition: Competition = ONE_TO_ONE
) -> KeptCounterparts:
    """The same of candidates in parts; but those that Sinkhorn iterations do not balance are brought here."""
    if settings.scaling == "minmax" or not settings.balance or not all(competition):
        return KeptCounterparts.of(counterparts(candidates.here(), scale, settings, competition=competition))
    engine, slack = candidates.engine, scale.slack
    rows = candidates.made(partial(_rows, scale)).kept()
    column, scales = torch.ones_like(candidates.target_density, dtype=torch.float64), list[Tensor]()
    for _ in range(settings.balance):
        stepped = [*engine.map(partial(_balanced, slack), [(part,) for part in rows], engine.share(column))]
        scales = [row for row, _ in stepped]
        column = balanced(sum_in_order(sums for _, sums in stepped), slack)
    blocks = zip(candidates.parts, rows, scales, strict=True)
    parts, owned = engine.exchange(partial(_shares, scale), blocks, 2, engine.share(column))
    source = torch.full_like(candidates.source_density, -slack, dtype=torch.float64)  # of who has no candidates
    for first, row in owned:
        source[first : first + len(row)] = row
    return KeptCounterparts(candidates, parts.kept(), _none(source, slack), _none(torch.log(column), slack))


def _rows(scale: Scale, pairs: Candidates) -> Rows:
    """What Sinkhorn iterations need of the sources of a part."""
    return Rows.of(_own_rows(pairs), pairs.similarity.double().mul_(scale.sharpness), scale.slack)


def _own_rows(pairs: Candidates) -> Pattern:
    """The pairs of a part, whose sources are numbered from its first."""
    first, last = _ends(pairs)
    return Pattern(pairs.source - first, pairs.target, (last - first, pairs.targets))


def _ends(pairs: Candidates) -> tuple[int, int]:
    """The first source of a part, and the one after the last."""
    return (int(pairs.source[0]), int(pairs.source[-1]) + 1) if len(pairs) else (0, 0)


def _balanced(slack: float, rows: Rows, column: Tensor) -> tuple[Tensor, Tensor]:
    row = rows.scales(column, slack)
    return row, rows.sums(row)


def _shares(scale: Scale, pairs: Candidates, rows: Rows, row: Tensor, column: Tensor) -> Sequence[Any]:
    """The beliefs about the pairs of a part; its first source, and the logarithms of its sources' scales."""
    ahead, back = both_scales(rows, row, column, scale.slack)
    logits, first = pairs.similarity.double().mul_(scale.sharpness), _ends(pairs)[0]
    forward, backward = (scales(logits, pairs.source - first, pairs.target) for scales in (ahead, back))
    return (forward, backward), (first, ahead.row)


def _stretched(candidates: Candidates) -> Counterparts:
    """Each entity's similarities rescaled to 0–1 and divided by their sum; there is no "none"."""
    similarity, sides = candidates.similarity.double(), []
    for index, size in ((candidates.source, candidates.sources), (candidates.target, candidates.targets)):
        most, least = segment_max(similarity, index, size), -segment_max(-similarity, index, size)
        width = (most - least)[index]
        share = torch.where(width > 0, (similarity - least[index]) / width, 1.0)
        sides.append(share / segment_sum(share, index, size)[index])
    none = (similarity.new_zeros(candidates.sources), similarity.new_zeros(candidates.targets))
    return Counterparts(candidates, sides[0], sides[1], *none)


def _none(scales: Tensor, slack: float) -> Tensor:
    """Mass of "none" of the entities with these scales, if it is an answer, [entities]."""
    return torch.exp(scales + slack).clamp_(max=1.0) if slack > LOWEST else torch.zeros_like(scales)


def fit_scale(
    candidates: Candidates,
    held_out: Links,
    last: Scale,
    settings: ProbabilitySettings,
    competition: Competition = ONE_TO_ONE,
    *,
    both_ways: bool = True,
) -> Scale:
    """The sharpness under which held-out pairs are most probable (eq. 3), both ways or from source to target; then the
    value of "none", chosen so that these pairs are found, but "none" would be found if their counterparts were missing.

    It is not known which entities have a counterpart, but a held-out pair teaches both cases: it is found with
    probability p, and if it were missing, "none" would have m = p(none) / (1 − p). The fit minimises
    Σ π·(1 − p)² + (1 − π)·(1 − m)², where π is the share of entities that seemed to have a counterpart in the last
    round. With few pairs, both values stay near the typical ones. The fit uses the nearest candidates only, which hold
    nearly all of the probability mass. Where nothing competes, pairs cannot teach what "none" is worth.
    """
    near = nearest_only(candidates, settings.fit_candidates)
    row = lookup(near.keys(), held_out.keys(near.targets))
    row = row[row >= 0]  # a pair that is not a candidate is equally improbable under every scale
    if len(row) == 0:
        return last
    pairs, typical = pattern_of(near), Scale.typical(settings)

    def believed_at(scale: Scale) -> tuple[Counterparts, Tensor]:
        rows = row if any(competition) else None  # who may have several counterparts sees all of them
        found = counterparts(near, scale, settings, competition=competition, pairs=pairs, rows=rows)
        believed = competition.seen(found) if rows is not None else competition.seen(found)[row]
        return believed, believed.confidence if both_ways else believed.forward

    def surprise(log_sharpness: float) -> float:
        found = believed_at(_sharper(last, log_sharpness))[1]
        return -float(torch.log(found.clamp(min=UNLIKELY)).sum())

    scale = last
    if settings.sharpness is None:
        scale = _sharper(last, _least(surprise, math.log(typical.sharpness), 1.0, settings))
    if settings.none is not None or last.none <= LOWEST or not any(competition):
        return scale
    share = _linked_share(believed_at(last)[0], near)  # π

    def error(none: float) -> float:
        believed, found = believed_at(replace(scale, none=none))
        nones, found = _nones(believed, competition)[: 1 + both_ways], found.clamp(max=1 - UNLIKELY)
        missed = (nones / (1 - found)).clamp(max=1.0).mean(0)
        return 2 * float((share * (1 - found).square() + (1 - share) * (1 - missed).square()).sum())

    return replace(scale, none=_least(error, typical.none, NONE_UNIT, settings, several=True))


def _sharper(scale: Scale, log_sharpness: float) -> Scale:
    return replace(scale, sharpness=math.exp(log_sharpness))


def _nones(believed: Counterparts, competition: Competition) -> Tensor:
    """Mass of "none" of the entities of the pairs, on the sides that compete, [sides, pairs]."""
    pairs = believed.candidates
    sides = zip((believed.source_none[pairs.source], believed.target_none[pairs.target]), competition, strict=True)
    return torch.stack([side for side, once in sides if once])


def _least(
    loss: Callable[[float], float], typical: float, unit: float, settings: ProbabilitySettings, *, several: bool = False
) -> float:
    """The value with the least loss within two units of the typical one; a deviation by one unit costs as much as
    `prior_pairs` pairs. Where there may be `several` minima, a coarse grid tells whether the search ended in a wrong
    one."""
    from scipy.optimize import minimize_scalar  # here: it loads slowly

    def total(value: float) -> float:
        return loss(value) + settings.prior_pairs * ((value - typical) / unit) ** 2

    def refined(low: float, high: float) -> float:
        return float(minimize_scalar(total, bounds=(low, high), method="bounded", options={"xatol": 0.1 * unit}).x)

    low, high = typical - 2 * unit, typical + 2 * unit
    found = refined(low, high)
    if not several:
        return found
    coarse = min((typical + step * unit for step in range(-2, 3)), key=total)
    if abs(coarse - found) < unit or total(coarse) >= total(found):
        return found
    return refined(max(low, coarse - unit), min(high, coarse + unit))


def _linked_share(believed: Counterparts, pairs: Candidates) -> float:
    """Share of the entities with candidates, which are these, that seem to have a counterpart; at least half."""
    sides = ((believed.source_none, pairs.source), (believed.target_none, pairs.target))
    shares = [1 - float(none[torch.bincount(index, minlength=len(none)) > 0].mean()) for none, index in sides]
    return max(0.5, sum(shares) / 2)


def most_probable(believed: Counterparts, count: int, *, both_ways: bool = True) -> Counterparts:
    """The beliefs about each entity's `count` most probable counterparts, both ways or for sources only."""
    found = best_both_ways(KeptCounterparts.of(believed), _by_belief, count, both_ways=both_ways)
    return Counterparts(*found, believed.source_none, believed.target_none)


def _by_belief(pairs: Candidates, beliefs: Beliefs) -> tuple[Candidates, Tensor, Tensor]:
    return pairs, *beliefs


def clamp(
    believed: Counterparts, seeds: Links, cosine: Tensor | float = 1.0, competition: Competition = ONE_TO_ONE
) -> Counterparts:
    """The beliefs with the seeds fixed: each has its weight as probability, and its entities have no other pair, unless
    they may have several counterparts."""
    kept = believed[~competition.taken(believed.candidates, seeds)]
    pairs = kept.candidates
    order = torch.argsort(torch.cat([pairs.keys(), seeds.keys(pairs.targets)]))
    nones = zip((kept.source_none, kept.target_none), (seeds.source, seeds.target), competition, strict=True)
    source_none, target_none = (none.index_fill(0, ids, 0.0) if once else none for none, ids, once in nones)

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
        source_none=source_none,
        target_none=target_none,
    )
