"""The log-odds of a pair that was judged by values, as a sum; by Shapley values, as in `bars`.

Without "none" a pair is as likely as not before anything is known about it; otherwise what is added to that are
likelihood ratios. Without "rivals" no other pair competes, or is as good; without "calibration" probability has no
ceiling.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from emea.analysis.bars import CALIBRATION, HIGHEST, RIVALS, Bars
from emea.analysis.shapley import coalitions
from emea.method.competition import LOG_ODDS, against_none
from emea.method.grounds import ALIKE, IDENTITY, Grounds, Judged
from emea.method.judge import LEAST
from emea.method.matching import SMALLEST_CHANCE


@dataclass(frozen=True, eq=False)
class _Rivals:
    """The other pairs of a pair's source, and of its target."""

    source: np.ndarray  # rows
    target: np.ndarray


class JudgedBars:
    """Bars of the pairs that were judged."""

    def __init__(self, grounds: Grounds, judged: Judged) -> None:
        self.judged, self.competition = judged, grounds.competition
        told = {name: said for name, said in judged.said.items() if name != ALIKE}
        self.kinds, self.names = list(told), [*told, RIVALS, CALIBRATION]
        self.members = coalitions(len(self.names))
        self.said = np.stack(list(told.values()), 1) if len(judged.pairs) else np.zeros((0, len(told)))
        self.alike = judged.said[ALIKE]
        self.odds = self.said.sum(1) + self.alike  # of each pair before others compete
        width = int(judged.pairs[:, 1].max(initial=0)) + 1
        self.width, key = width, judged.pairs[:, 0] * width + judged.pairs[:, 1]
        self.order = np.argsort(key, kind="stable")
        self.key = key[self.order]
        self.by_end = [np.argsort(column, kind="stable") for column in judged.pairs.T]
        self.ends = [column[order] for column, order in zip(judged.pairs.T, self.by_end, strict=True)]

    def row(self, source: int, target: int) -> int:
        """Row of a pair, −1 if it was not judged."""
        key = source * self.width + target
        place = int(np.searchsorted(self.key, key))
        found = target < self.width and place < len(self.key) and self.key[place] == key
        return int(self.order[place]) if found else -1

    def rows(self, entity: int, place: int) -> np.ndarray:
        """Rows of the pairs of a source, place 0, or of a target, place 1."""
        first, last = np.searchsorted(self.ends[place], [entity, entity + 1])
        found: np.ndarray = self.by_end[place][first:last]
        return found

    def of(self, row: int) -> Bars:
        """The bars of a judged pair."""
        worth, saturated = self._worth(row, self.members, {})
        return Bars.of(self.names, worth, saturated=saturated)

    def log_odds(self, row: int, changed: dict[str, float] | None = None) -> float:
        """Of the confidence of a judged pair; `changed` are log-likelihood ratios in place of those found."""
        return float(self._worth(row, self.members[-1:], changed or {})[0][0])

    def _worth(self, row: int, members: np.ndarray, changed: dict[str, float]) -> tuple[np.ndarray, bool]:
        """Log-odds for each coalition, and whether those of the last are at a limit."""
        own = self.said[row].copy()
        for name, value in changed.items():
            own[self.kinds.index(name)] = value
        speaking = members[:, : len(self.kinds)].T.astype(float)
        odds = (own @ speaking + self.alike[row] * members[:, -2]).clip(*LOG_ODDS)
        rivals = self._rivals(row)
        sums = [
            against_none(self.said[rows] @ speaking + self.alike[rows, None]).sum(0)
            for rows in (rivals.source, rivals.target)
        ]
        counted = [
            total for total, once in zip(sums, self.competition, strict=True) if once or not any(self.competition)
        ]
        against = np.where(members[:, -2], np.sum(counted, axis=0), 0.0)
        before = odds - np.log1p(against)
        worth = np.where(members[:, -1], self._calibrated(before, row), before)
        return worth, bool(abs(odds[-1]) >= LOG_ODDS[1])

    def _calibrated(self, log_odds: np.ndarray, row: int) -> np.ndarray:
        """Log-odds of the confidence that a probability leads to."""
        chance = np.minimum(self.judged.ceiling[row] / (1 + np.exp(-log_odds)), self.judged.most[row])
        chance = chance.clip(SMALLEST_CHANCE, 1 - SMALLEST_CHANCE)
        found = np.log(chance) - np.log1p(-chance)
        line, share = self.judged.line, self.judged.share[row]
        calibrated: np.ndarray = found if line == IDENTITY else line(found).clip(-HIGHEST, HIGHEST)
        if share < 1:
            chance = np.maximum(share / (1 + np.exp(-calibrated)), LEAST)
            calibrated = np.log(chance) - np.log1p(-chance)
        return calibrated

    def _rivals(self, row: int) -> _Rivals:
        """The rows that compete with a row."""
        found = []
        for place, end in enumerate(self.judged.pairs[row].tolist()):
            rows = self.rows(end, place)
            found.append(rows[rows != row])
        rivals = _Rivals(*found)
        if any(self.competition):
            return rivals
        thing, sources = self.judged.things, self.judged.sources
        source, target = self.judged.pairs[row]
        return replace(  # pairs with other entities of the same thing do not compete
            rivals,
            source=rivals.source[thing[self.judged.pairs[rivals.source, 1] + sources] != thing[target + sources]],
            target=rivals.target[thing[self.judged.pairs[rivals.target, 0]] != thing[source]],
        )

    def values(self, row: int, without: frozenset[int] = frozenset()) -> float:
        """What values say together, without those of some fields."""
        own = self.judged.by_field[row].copy()
        own[list(without)] = 0.0
        return float(self.judged.steps(own.sum()))
