"""What pairs of different entities of one graph tell about those between graphs: how much more often than by chance
evidence is so strong, and which links chance explains."""

from __future__ import annotations

import numpy as np

from emea.method.grounds import Steps

INDEPENDENT = 0.3  # weight of "fields are independent" against what pairs within a graph show
UNTOLD = 0.1  # log-odds by which scores differ that are told apart by nothing but how often a value was counted
TOP_PRIOR = 0.1  # unmatched pairs assumed beyond the best that was seen


def raised(against: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Scores of pairs within a graph; where a pair between the graphs scores hardly more, its score."""
    if not len(score):
        return against
    rising = np.unique(score)
    above = rising[np.searchsorted(rising, against).clip(max=len(rising) - 1)]
    found: np.ndarray = np.where((above >= against) & (above - against <= UNTOLD), above, against)
    return found


def would_link(score: np.ndarray, linked: np.ndarray, against: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """How many links pairs within a graph would be that have scores, `against`, and stand for so many pairs between the
    graphs, `weight`: as often as pairs between the graphs are, [pairs within]."""
    likely = Steps.rising(score, linked.astype(float), np.ones(len(score)), 0.0)
    found: np.ndarray = weight * np.interp(against, likely.place, likely.share)
    return found


def by_chance(score: np.ndarray, linked: np.ndarray, against: np.ndarray, made: np.ndarray, more: float) -> np.ndarray:
    """Of the links with such a score, the share that chance explains, [pairs]; it falls with the score. Chance has
    `made` so many links at the scores `against`, and may always make a few `more` that are as good as the best."""
    made, best = np.append(made, more), score.max()
    place = np.concatenate([score[linked], against, [best]])
    real = np.append(np.ones(int(linked.sum())), np.zeros(len(made)))
    total = np.append(np.ones(int(linked.sum())), made)
    kept = total > 0
    share = Steps.rising(place[kept], real[kept] / total[kept], total[kept], 0.0)
    right = np.interp(score, share.place, share.share)  # links, of these and those that chance would make
    found: np.ndarray = ((1 - right) / right).clip(max=1.0)
    return found


def density_ratio(
    score: np.ndarray, matched: np.ndarray, against: np.ndarray, weight: np.ndarray, slope: float
) -> Steps:
    """The ratio in which a score occurs among matched pairs and among pairs within a graph. It rises with the score, by
    `slope` also on a step; where few pairs within a graph have such a score, it is near the score itself."""
    if not len(score):
        return Steps(score, score, slope)
    total = max(1.0, weight.sum())
    matched, weight = matched / max(matched.sum(), 1e-9), weight / total
    expected = INDEPENDENT * matched * np.exp(-score.clip(-5, 40))
    best = max(score.max(initial=0.0), against.max(initial=0.0))
    place = np.concatenate([score, against, [best]])
    counted = np.concatenate([matched + expected, (1 - INDEPENDENT) * weight, [TOP_PRIOR / total]])
    kept = counted > 0
    right = np.concatenate([matched, np.zeros(len(against) + 1)]) / np.where(kept, counted, 1.0)
    return Steps.rising(place[kept], right[kept], counted[kept], slope)
