"""What the confidence of each pair was computed from: enough to compute it again, with and without some evidence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np
from torch import Tensor

from emea.data import Counterparts
from emea.evidence.comparison import Fields
from emea.kernels.segments import LOWEST
from emea.method.compatibility import Factors
from emea.method.competition import Competition
from emea.method.probability import Scale

Logits = TypeVar("Logits", np.ndarray, Tensor)
ANY_LOGIT = -1e9  # lower than any
SAME_PLACE = 1e-15  # difference of sums that differ by rounding only


class Line(NamedTuple):
    """From logits to calibrated ones: a line from `lowest` on, and below, where nothing was tried, as steep as the
    identity."""

    offset: float = 0.0
    slope: float = 1.0
    lowest: float = ANY_LOGIT

    def __call__(self, logits: Logits) -> Logits:
        """Of an array or a tensor."""
        tried = logits.clip(min=self.lowest)
        calibrated: Logits = self.offset + self.slope * tried + (logits - tried)
        return calibrated


IDENTITY = Line()
ALIKE = "alike"  # what is taken off what was said where other pairs of an entity are as good


@dataclass(frozen=True, eq=False)
class Steps:
    """How the sum of what fields say becomes what they say together: shares between places, then logits."""

    place: np.ndarray  # ascending
    share: np.ndarray
    slope: float  # of what is added, to tell sums on one step apart

    @classmethod
    def rising(cls, place: np.ndarray, value: np.ndarray, weight: np.ndarray, slope: float) -> Steps:
        """The rising shares nearest to weighted values at some places."""
        from scipy.optimize import isotonic_regression  # here: it loads slowly, and few commands judge

        order = np.argsort(place)
        group = np.cumsum(np.diff(place[order], prepend=-np.inf) >= SAME_PLACE) - 1
        total = np.bincount(group, weight[order])
        mean = np.bincount(group, (weight * value)[order]) / total
        share = isotonic_regression(mean, weights=total).x.clip(1e-12, 1 - 1e-12)
        place = place[order][np.flatnonzero(np.diff(group, prepend=-1))]
        bends = np.ones(len(place), dtype=bool)
        bends[1:-1] = (share[1:-1] != share[:-2]) | (share[1:-1] != share[2:])
        return cls(place[bends], share[bends], slope)

    def __call__(self, said: np.ndarray) -> np.ndarray:
        """The logarithm of the likelihood ratio, same shape."""
        if not len(self.place):
            return said
        share = np.interp(said, self.place, self.share).clip(1e-9, 1 - 1e-9)
        ratio: np.ndarray = np.log(share) - np.log1p(-share) + self.slope * said
        return ratio


@dataclass(frozen=True, eq=False)
class Judged:
    """What pairs that were judged by values were judged by; logarithms of likelihood ratios."""

    pairs: np.ndarray  # [pairs, 2] source, target
    said: dict[str, np.ndarray]  # by kind of evidence, [pairs]; "none" is the prior
    by_field: np.ndarray  # [pairs, fields + 2]: of each field, of the position, and of how frequent equal values are
    steps: Steps  # from the sum of these to the evidence "values"
    fields: Fields  # attributes of the source graph, and of the target graph
    ceiling: np.ndarray  # [pairs] by which probability is multiplied
    most: np.ndarray  # [pairs] confidence at most
    share: np.ndarray  # [pairs] by which what decisions teach is multiplied beside surer candidates
    line: Line  # from this confidence to what decisions teach
    things: np.ndarray  # [entities, sources first] where nobody competes, what each entity is; else empty
    sources: int  # entities of the source graph
    mirrored: bool  # judged from the target's side

    def is_structural(self, row: int) -> bool:
        """Whether the two have nothing that could be compared, and so get no more than encoder and rules believed. What
        values say together is corrected by steps, and need not be 0 then."""
        return not self.by_field[row].any()


@dataclass(frozen=True, eq=False)
class Grounds:
    """What the confidence of pairs was computed from."""

    proposed: Counterparts  # q_Θ over all candidates, whose entities are int32 where a file keeps them: they are many
    scale: Scale  # by which similarities became these
    considered: Counterparts  # q_Θ over the best of each entity, with the seeds fixed
    asked: Counterparts  # beliefs that the rules were asked with, over the same pairs
    rules: dict[str, tuple[Tensor, Tensor]]  # by rule, its logit of each of these, seen from the source and the target
    none: tuple[float, float]  # the rules' logit of "none"; LOWEST if it is not an answer
    say: float  # exponent of what the rules say
    competition: Competition
    line: Line = IDENTITY  # calibration on hidden seeds
    taught: dict[tuple[int, int], float] = field(default_factory=dict)  # confidence at most, by pair
    judged: Judged | None = None


def logits_by_rule(
    sides: tuple[Factors, Factors], weights: dict[str, float], names: Iterable[str]
) -> dict[str, tuple[Tensor, Tensor]]:
    """What each rule adds to the logit of each pair, seen from the source and from the target. Rules without a weight
    are one, called by all their names."""
    columns, unweighted = list(weights), []
    found: dict[str, tuple[Tensor, Tensor]] = {}
    for name in names:
        own = [place for place, each in enumerate(columns) if each == name or each.startswith(f"{name}.")]
        if own:
            weight = sides[0].values.new_tensor([weights[columns[place]] for place in own])
            found[name] = (sides[0].values[:, own] @ weight, sides[1].values[:, own] @ weight)
        else:
            unweighted.append(name)
    if unweighted:
        zero = sides[0].values.new_zeros(len(sides[0].values))
        found[" + ".join(unweighted)] = (sides[0].ratios + zero, sides[1].ratios + zero)
    return found


def logit_of_none(side: Factors, weights: Iterable[float]) -> float:
    """The rules' logit of "none", where a pair has the sum of what the rules say; LOWEST if it is not an answer."""
    weight = side.values.new_tensor([*weights])
    return LOWEST if side.slack <= LOWEST else float((side.none * weight).sum()) + side.slack
