"""How good the links of a run are, from cards that were drawn at random: precision and recall with intervals.

Links are divided by confidence, sources without a link by how probable a counterpart is. In each of these strata the
order of cards is random, so that the first n cards are a stratified random sample, whatever n is. The share of right
links in a stratum is estimated by ȳ + c̄ − c̄_asked (a difference estimator: right on average, however wrong the
confidence c is), and the strata are added up by size. `intervals` says how sure that is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from statistics import NormalDist

import numpy as np

from emea.errors import InputError
from emea.review.intervals import Figure, Tally, precision, recall

LINK_CUTS = (0.5, 0.8, 0.9, 0.97, 0.99)  # of confidence
UNLINKED_CUTS = (0.1, 0.5)  # of the probability of a counterpart
LEAST_SHARE = 5 / 200  # of the cards for each stratum
UNLINKED_SHARE = 1 / 5  # of the cards at most: precision, which most people ask for, has no use for them
DOUBT = 0.02  # variance beyond what the tool admits
ALPHA = 0.05  # chance that any of the intervals that are shown is wrong
FIRST_LOOK = 50  # cards; then whenever their number has doubled
LOOK_SHARES = (1 / 40, 3 / 40, 3 / 5, 3 / 20)  # of ALPHA for the looks at 50, 100, 200, 400; then half each time
NARROW = 0.02  # half-width of an interval with which one can stop


class Answer(IntEnum):
    """What a person said about a source."""

    RIGHT = 0  # its link is right
    OTHER = 1  # it has a counterpart, but none that it is linked to
    WRONG = 2  # its link is wrong; no other counterpart was named
    NONE = 3  # it has no counterpart
    UNSURE = 4

    @classmethod
    def of(cls, verdict: str, target: str | None, proposed: str | None) -> Answer:
        """What a decision says, given the target that the run links the source to, if any."""
        if verdict == "yes":
            return cls.RIGHT if target == proposed else cls.OTHER
        if verdict == "none":
            return cls.NONE
        return cls.WRONG if verdict == "no" and proposed is not None and target == proposed else cls.UNSURE


@dataclass(frozen=True)
class Stratum:
    """Sources about which the run is equally sure."""

    linked: bool
    low: float  # confidence of its links, or probability of a counterpart: from here
    high: float  # to below here
    size: int
    mean: float  # of the confidence
    variance: float


@dataclass(frozen=True, eq=False)
class Sample:
    """All sources of a run in the order in which they are dealt for estimates, and how many of them are planned.

    Sources are numbered: first those with a link, then those without. A larger sample with the same seed begins with
    the cards of the smaller one.
    """

    strata: tuple[Stratum, ...]
    links: int
    score: np.ndarray  # confidence or probability of each source
    stratum: np.ndarray  # of each source
    order: np.ndarray  # of all sources
    n: int

    @classmethod
    def draw(cls, confidence: np.ndarray, counterpart: np.ndarray, n: int, seed: int) -> Sample:
        """Draw n cards, given the confidence of the links and how probable a counterpart of each other source is."""
        if not len(confidence):
            raise InputError("found no links to draw from, expected a run with at least one")
        strata: list[Stratum] = []
        rows = []
        for linked, score, cuts in ((True, confidence, LINK_CUTS), (False, counterpart, UNLINKED_CUTS)):
            place, ends = np.searchsorted(cuts, score, side="right"), (0.0, *cuts, 1.0)
            used, row = np.unique(place, return_inverse=True)
            rows.append(len(strata) + row)
            for number in used.tolist():
                inside = score[place == number]
                mean, variance = float(inside.mean()), float(inside.var())
                strata.append(Stratum(linked, ends[number], ends[number + 1], len(inside), mean, variance))
        score, stratum = np.concatenate([confidence, counterpart]), np.concatenate(rows)
        shuffled = np.random.default_rng(seed).permutation(len(stratum))
        shuffled = shuffled[np.argsort(stratum[shuffled], kind="stable")]
        sizes = np.array([each.size for each in strata])
        rank = np.arange(len(stratum)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        turn = (rank + 0.5) / np.repeat(_allocation(strata), sizes)
        return cls(tuple(strata), len(confidence), score, stratum, shuffled[np.argsort(turn, kind="stable")], n)

    @property
    def cards(self) -> np.ndarray:
        """The sources to ask about, in this order, [n]."""
        return self.order[: self.n]

    @property
    def probability(self) -> np.ndarray:
        """How probable it was that each of the cards would be drawn, [n]."""
        shares = self.dealt(self.n) / np.array([each.size for each in self.strata])
        return np.asarray(shares[self.stratum[self.cards]])

    def dealt(self, cards: int) -> np.ndarray:
        """How many of the first cards are in each stratum, [strata]."""
        return np.bincount(self.stratum[self.order[:cards]], minlength=len(self.strata))


def _allocation(strata: list[Stratum]) -> np.ndarray:
    """The share of the cards for each stratum h, ∝ N_h √(mean c(1 − c) + .02)."""
    linked = np.array([each.linked for each in strata])
    share = np.array([each.size * math.sqrt(each.mean - each.mean**2 - each.variance + DOUBT) for each in strata])
    without = min(UNLINKED_SHARE, float(share[~linked].sum() / share.sum()))
    for group, whole in ((linked, 1 - without), (~linked, without)):
        if whole:
            share[group] = np.maximum(share[group] / share[group].sum(), LEAST_SHARE / whole)
            share[group] *= whole / share[group].sum()
    return share


@dataclass(frozen=True)
class StratumEstimate:
    """What was answered in one stratum."""

    stratum: Stratum
    asked: int
    unsure: int
    hits: int  # right links, or unlinked sources that have a counterpart
    low: float  # their share of what can be decided
    high: float


@dataclass(frozen=True)
class Estimate:
    """What the answers so far tell. Figures are those of the last look, so that looking often does not spoil them."""

    answered: int  # cards without a gap
    look: int  # as many of them as the figures rest on; 0 before the first look
    next_look: int | None
    unsure: int  # answers left out: the figures are about what can be decided
    precision: Figure
    recall: Figure  # of what a reviewer can find
    strata: tuple[StratumEstimate, ...]
    more: int  # cards until precision is known within two points
    stop: bool
    why: str


def estimate(sample: Sample, answers: Mapping[int, Answer]) -> Estimate:
    """Precision and recall from the answers that stand, by number of the source.

    Pass every single decision, whichever queue it came from, but no bulk acceptance, which nobody has looked at. Only
    cards before the first one in the sample's order without an answer count: to pass over hard ones would flatter.
    """
    total = len(sample.order)
    answered = next((place for place, source in enumerate(sample.order.tolist()) if source not in answers), total)
    looks = _looks(total)
    look, alpha = next((each for each in reversed(looks) if each[0] <= answered), (0, ALPHA))
    tally = _tally(sample, answers, look)
    figures = precision(tally, alpha), recall(tally, alpha)
    rows = zip(sample.strata, tally.asked, tally.unsure, tally.hits, tally.limits(alpha), strict=True)
    strata = tuple(
        StratumEstimate(each, int(asked), int(unsure), int(hits), *ends) for each, asked, unsure, hits, ends in rows
    )
    unsure = int(tally.unsure.sum())
    stop = look == total or (look > 0 and figures[0].half_width <= NARROW)
    more = 0 if stop else _needed(sample, tally, look) - answered
    why = _why(figures, stop=stop, look=look, total=total, more=more, unsure=unsure)
    next_look = next((cards for cards, _ in looks if cards > answered), None)
    return Estimate(answered, look, next_look, unsure, *figures, strata, more, stop, why)


def _looks(total: int) -> list[tuple[int, float]]:
    """Numbers of cards at which figures are made, at last all of them, and the chance of error that each adds."""
    shares = [*LOOK_SHARES]
    found = [(min(FIRST_LOOK, total), ALPHA * shares[0])]
    while found[-1][0] < total:
        shares = shares[1:] or [shares[0] / 2]
        found.append((min(2 * found[-1][0], total), ALPHA * shares[0]))
    return found


def _tally(sample: Sample, answers: Mapping[int, Answer], look: int) -> Tally:
    """The answers to the first cards, counted."""
    sources = sample.order[:look]
    row, linked = sample.stratum[sources], sources < sample.links
    said = np.array([answers[source] for source in sources.tolist()], dtype=np.int64)
    other, wrong = said == Answer.OTHER, linked & (said == Answer.WRONG)
    hit = (said == Answer.RIGHT) | (other & ~linked)

    def count(of: np.ndarray) -> np.ndarray:
        return np.bincount(row, of, len(sample.strata))

    columns = ([getattr(each, name) for each in sample.strata] for name in ("linked", "size", "mean", "variance"))
    with_link, sizes, mean, variance = (np.array(column) for column in columns)
    asked = count(np.ones(look))
    some = np.maximum(asked, 1)
    return Tally(
        linked=with_link,
        sizes=sizes,
        asked=asked,
        hits=count(hit),
        elsewhere=count(other & linked),
        unnamed=count(wrong),
        unsure=count(~(hit | other | wrong | (said == Answer.NONE))),
        shift=mean - count(sample.score[sources]) / some,
        variance=variance,
    )


def _needed(sample: Sample, tally: Tally, look: int) -> int:
    """The look at which precision would be known within two points, if shares are what they seem, with one more answer
    in each stratum as the tool expects it."""
    mean = np.array([each.mean for each in sample.strata])
    share = np.clip((tally.hits + mean) / (tally.decided + 1), 0, 1)
    mass = np.where(tally.linked, tally.sizes * tally.able, 0.0)
    for cards, alpha in _looks(len(sample.order)):
        if cards <= look:
            continue
        asked = sample.dealt(cards)
        left = (1 - asked / tally.sizes) / np.maximum(asked * tally.able, 1)
        apart = (
            NormalDist().inv_cdf(1 - alpha / 2)
            * math.sqrt(float(mass**2 @ (left * share * (1 - share))))
            / max(mass.sum(), 1e-9)
        )
        if apart <= NARROW:
            return cards
    return len(sample.order)


def _why(figures: tuple[Figure, Figure], *, stop: bool, look: int, total: int, more: int, unsure: int) -> str:
    """Whether one can stop, in a few sentences."""
    right, found = figures
    if look == total:
        return f"Yes: every card is answered. Precision is {right.value:.3f}, recall {found.value:.3f}."
    soon = f"± 2 points take about {more:,} more sampled cards"
    if not look:
        return f"Not yet: an interval takes at least {min(FIRST_LOOK, total)} sampled cards; {soon}."
    within = f"precision is {right.low:.3f} to {right.high:.3f}"
    said = [f"Yes: {within}, that is, within ± 2 points." if stop else f"Not yet: {within}; {soon}."]
    said.append(f"Recall, of what a reviewer can find, is {found.low:.3f} to {found.high:.3f}.")
    if unsure:
        said.append(
            f"{unsure:,} of {look:,} answers leave it open and are left out; counted in, precision would lie "
            f"between {right.least:.3f} and {right.most:.3f}."
        )
    return " ".join(said)
