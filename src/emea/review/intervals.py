"""Intervals of precision and recall from answers by stratum.

A stratum has Wilson's interval, or Clopper and Pearson's where all answers agree, both for finite strata. Precision and
recall are ratios of totals over strata; their variance (by Taylor's formula) tells how many cards of a simple random
sample would say as much, and these have Wilson's interval again (Korn and Graubard, 1998). For the variance each
stratum has half a hit and half a miss more than was seen: where errors are rare, often none is drawn, and a normal
interval or a bootstrap would then be far too short.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

MORE = 0.5  # hits, and misses, in each stratum than were seen, for the variance


@dataclass(frozen=True)
class Figure:
    """Precision or recall with its interval, of the sources that can be decided."""

    value: float
    low: float
    high: float
    least: float  # the value, if everything that was left open spoke against it
    most: float  # and if it spoke for it

    @property
    def half_width(self) -> float:
        """Of the interval."""
        return (self.high - self.low) / 2


@dataclass(frozen=True, eq=False)
class Tally:
    """What was answered, by stratum, [strata] each."""

    linked: np.ndarray  # bool
    sizes: np.ndarray  # sources
    asked: np.ndarray
    hits: np.ndarray  # right links, or unlinked sources with a counterpart
    elsewhere: np.ndarray  # wrong links whose source has another counterpart
    unnamed: np.ndarray  # wrong links of which nobody said whether it has
    unsure: np.ndarray
    shift: np.ndarray  # mean confidence of the stratum, less that of those asked
    variance: np.ndarray  # of the confidence

    @property
    def decided(self) -> np.ndarray:
        """Answers that decide something."""
        return np.asarray(self.asked - self.unsure)

    @property
    def able(self) -> np.ndarray:
        """Share of the sources that can be decided."""
        return np.asarray(np.where(self.asked > 0, self.decided / np.maximum(self.asked, 1), 1.0))

    def chances(self, more: float = 0.0) -> np.ndarray:
        """The share of sources with each outcome (see `Measure`), [strata, 3]; or, with more hits and misses than were
        seen, without the shift."""
        able, wrong = self.able, self.decided - self.hits
        if not more:
            hits = able * (self.hits / np.maximum(self.decided, 1) + self.shift)
            elsewhere = self.elsewhere / np.maximum(self.asked, 1)
        else:
            hits = able * (self.hits + more) / (self.decided + 2 * more)
            other = (self.elsewhere.sum() + more) / (wrong[self.linked].sum() + 2 * more)
            elsewhere = np.where(self.linked, other * (able - hits), 0.0)
        return np.stack([hits, elsewhere, able - hits - elsewhere], axis=1)

    def limits(self, alpha: float) -> list[tuple[float, float]]:
        """The ends of the interval of each stratum's share of hits."""
        rows = zip(self.hits.tolist(), self.decided.tolist(), (self.sizes * self.able).tolist(), strict=True)
        return [limits(hits, decided, size, alpha) for hits, decided, size in rows]


def limits(hits: float, asked: float, size: float, alpha: float) -> tuple[float, float]:
    """The interval of the share of hits in a stratum of some size of which a number was asked.

    >>> [round(end, 3) for end in limits(9, 10, 1e9, 0.05)], [round(end, 3) for end in limits(10, 10, 1e9, 0.05)]
    ([0.596, 0.982], [0.741, 1.0])
    >>> limits(9, 10, 10, 0.05)
    (0.9, 0.9)
    """
    if not asked:
        return 0.0, 1.0
    share = hits / asked
    if asked > size - 1e-6:
        return share, share
    if hits in {0, asked}:
        unseen = most_unseen(asked, size, alpha)
        return (1 - unseen, 1.0) if hits else (0.0, unseen)
    z = NormalDist().inv_cdf(1 - alpha / 2)
    part = z * z * (size - asked) / max(size - 1, 1) / asked  # z²/n, for n that tell as much of an endless stratum
    middle = (share + part / 2) / (1 + part)
    apart = math.sqrt(part * share * (1 - share) + part * part / 4) / (1 + part)
    return middle - apart, middle + apart


def most_unseen(asked: float, size: float, alpha: float) -> float:
    """The share of exceptions of which none would be drawn with a chance of alpha: 1 − alpha^(1/n) of an endless
    stratum."""

    def chance(number: float) -> float:
        """log of C(size − number, asked) / C(size, asked)"""
        rest = size - asked
        return (
            math.lgamma(size - number + 1)
            - math.lgamma(rest - number + 1)
            - math.lgamma(size + 1)
            + math.lgamma(rest + 1)
        )

    low, high = 0.0, size - asked
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if chance(middle) > math.log(alpha) else (low, middle)
    return low / size


@dataclass(frozen=True, eq=False)
class Measure:
    """A ratio of totals: what each source adds above and below the line, by outcome: of links right, wrong with a
    counterpart elsewhere, otherwise wrong; of unlinked sources with a counterpart, (none), without one, [2, 3]."""

    above: np.ndarray
    below: np.ndarray


PRECISION = Measure(np.array([[1, 0, 0], [0, 0, 0]]), np.array([[1, 1, 1], [0, 0, 0]]))
MISSED = Measure(np.array([[0, 0, 0], [1, 0, 0]]), np.array([[0, 0, 0], [1, 1, 1]]))
RECALL = Measure(np.array([[1, 0, 0], [0, 0, 0]]), np.array([[1, 1, 0], [1, 0, 0]]))


def precision(tally: Tally, alpha: float) -> Figure:
    """The share of right links."""
    value = _value(tally, PRECISION, tally.chances())
    return _figure(value, *_ends(tally, PRECISION, tally.linked, value, alpha), *_bounds(tally, PRECISION))


def recall(tally: Tally, alpha: float) -> Figure:
    """The share of counterparts that are linked. Links move it as they move precision, or as a share of its own, if
    that is more; unlinked sources move it independently, and what is left open there is no counterpart to be found."""
    bounds, linked = _bounds(tally, RECALL), tally.linked
    if not tally.decided[linked].sum():
        return _figure(_value(tally, RECALL, tally.chances()), 0.0, 1.0, *bounds)
    tally = replace(tally, unsure=np.where(linked, tally.unsure, 0))
    chances = tally.chances()
    right, value = (_value(tally, measure, chances) for measure in (PRECISION, RECALL))
    scale = math.sqrt(_variance(tally, RECALL, linked).plain / _variance(tally, PRECISION, linked).plain)
    as_precision = (scale * (end - right) for end in _ends(tally, PRECISION, linked, right, alpha))
    as_share = (end - value for end in _ends(tally, RECALL, linked, value, alpha))
    down, up = (max(both, key=abs) for both in zip(as_precision, as_share, strict=True))
    if not linked.all():
        above, below = (float(tally.sizes @ part) for part in _parts(tally, RECALL, chances))
        missed, others = _value(tally, MISSED, chances), int(tally.sizes[~linked].sum())
        ends = _ends(tally, MISSED, ~linked, missed, alpha)
        best, worst = (above / max(below + others * (end - missed), above, 1e-9) for end in ends)
        down, up = -math.hypot(down, worst - value), math.hypot(up, best - value)
    return _figure(value, value + down, value + up, *bounds)


def _figure(value: float, low: float, high: float, least: float, most: float) -> Figure:
    return Figure(*(min(1.0, max(0.0, each)) for each in (value, min(low, value), max(high, value), least, most)))


def _parts(tally: Tally, measure: Measure, chances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the mean source of each stratum adds above and below the line."""
    kind = np.where(tally.linked, 0, 1)
    return (chances * measure.above[kind]).sum(1), (chances * measure.below[kind]).sum(1)


def _value(tally: Tally, measure: Measure, chances: np.ndarray) -> float:
    above, below = (float(tally.sizes @ part) for part in _parts(tally, measure, chances))
    return above / below if below > 0 else 0.0


def _bounds(tally: Tally, measure: Measure) -> tuple[float, float]:
    """The measure of all sources, if everything that was left open spoke against it, and if it spoke for it."""
    some, chances = np.maximum(tally.asked, 1), tally.chances()
    doubt, unnamed = tally.unsure / some, tally.unnamed / some
    against, favour = np.zeros_like(chances), np.zeros_like(chances)
    against[:, 0], favour[:, 0] = np.where(tally.linked, 0, doubt), np.where(tally.linked, doubt, 0)
    against[:, 1] = np.where(tally.linked, doubt + unnamed, 0)
    against[:, 2], favour[:, 2] = -unnamed, np.where(tally.linked, 0, doubt)
    return _value(tally, measure, chances + against), _value(tally, measure, chances + favour)


@dataclass(frozen=True)
class _Variance:
    """Of a measure, as far as some of the strata move it."""

    middle: float  # the measure with more hits and misses than were seen
    plain: float  # of endless strata
    left: float  # of these strata, of which some part is known


def _variance(tally: Tally, measure: Measure, among: np.ndarray) -> _Variance:
    """By Taylor's formula: that of the total of (above − measure · below) / all below."""
    chances = np.where(among[:, None], tally.chances(more=MORE), tally.chances().clip(0, 1))
    above, below = (float(tally.sizes @ part) for part in _parts(tally, measure, chances))
    middle = above / max(below, 1e-9)
    score = (measure.above - middle * measure.below)[np.where(tally.linked, 0, 1)]  # of each outcome, [strata, 3]
    spread = (chances * score**2).sum(1) - (chances * score).sum(1) ** 2
    spread += ((score[:, 0] - score[:, 2]) * tally.able) ** 2 * tally.variance  # of the shift
    each = np.where(among, (tally.sizes / max(below, 1e-9)) ** 2 * spread / np.maximum(tally.asked - 1, 1), 0.0)
    return _Variance(middle, float(each.sum()), float((each * (1 - tally.asked / tally.sizes)).sum()))


def _ends(tally: Tally, measure: Measure, among: np.ndarray, value: float, alpha: float) -> tuple[float, float]:
    """The interval of a share of the sources of some strata."""
    if not tally.decided[among].sum():
        return 0.0, 1.0
    found = _variance(tally, measure, among)
    asked = found.middle * (1 - found.middle) / found.plain  # so many of a simple random sample tell as much
    size = asked / max(1 - found.left / found.plain, 1e-9)
    hits = float(tally.hits[among].sum())
    if measure is not RECALL and hits in {0, tally.decided[among].sum()}:
        value = float(hits > 0)  # whatever the shift
    return limits(min(max(value, 0.0), 1.0) * asked, asked, size, alpha)
