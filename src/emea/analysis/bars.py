"""The log-odds of a pair's confidence as a sum: what each kind of evidence adds, by Shapley values.

A coalition of kinds of evidence has the log-odds that the pair would have if only these spoke, with beliefs about other
pairs as they are. Without the encoder all candidates of an entity are alike; a rule that is silent says nothing about
any of them, and one that never says anything counts for nothing; without "rivals" the other candidates are as likely as
those nothing is known about; without "none" one of the candidates is right; without "calibration" the method's own
probability stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from emea.analysis.shapley import coalitions, shapley
from emea.data import Candidates, Counterparts
from emea.kernels.segments import LOWEST
from emea.method.grounds import Grounds
from emea.method.matching import SMALLEST_CHANCE

ENCODER, NONE, RIVALS, CALIBRATION = "encoder", "none", "rivals", "calibration"
NOTHING = 1e-300  # stands for a probability of 0
READ = 1 << 16  # pairs at a time
HIGHEST = float(np.log((1 - SMALLEST_CHANCE) / SMALLEST_CHANCE))  # log-odds that a method's probability can have


@dataclass(frozen=True)
class Bars:
    """The log-odds of a confidence, as a sum."""

    base: float  # before any evidence
    groups: dict[str, float]  # what each kind of evidence adds
    log_odds: float  # base and groups together
    saturated: bool  # whether the method's probability was at a limit

    @property
    def confidence(self) -> float:
        """The confidence with these log-odds."""
        return float(1 / (1 + np.exp(-self.log_odds)))

    def limited(self, most: float) -> Bars:
        """The same with log-odds of at most so much, by calibration."""
        less = min(0.0, most - self.log_odds)
        groups = {**self.groups, CALIBRATION: self.groups[CALIBRATION] + less}
        return Bars(self.base, groups, self.log_odds + less, self.saturated)

    @classmethod
    def of(cls, names: list[str], worth: np.ndarray, *, saturated: bool) -> Bars:
        """From what each coalition is worth."""
        shares = shapley(worth)
        return cls(float(worth[0]), dict(zip(names, shares.tolist(), strict=True)), float(worth[-1]), saturated)


class LoopBars:
    """Bars of pairs whose confidence comes from the loop: encoder and rules."""

    def __init__(self, grounds: Grounds) -> None:
        self.grounds = grounds
        self.names = [ENCODER, *grounds.rules, NONE, RIVALS, CALIBRATION]
        self.members = coalitions(len(self.names))
        self.sides = _Side.both(grounds)

    def known(self, source: int, target: int) -> bool:
        """Whether the pair is a candidate."""
        return self.sides[0].position(source, target) >= 0

    def of(self, source: int, target: int, changed: dict[str, tuple[float, float]] | None = None) -> Bars:
        """The bars of a candidate pair; `changed` logits of rules, seen from both sides, replace those found."""
        worth, saturated = self._worth(source, target, self.members, changed or {})
        return Bars.of(self.names, worth, saturated=saturated)

    def log_odds(
        self, source: int, target: int, changed: dict[str, tuple[float, float]], silent: tuple[str, ...] = ()
    ) -> float:
        """Of the confidence that a pair would have with changed logits, and without some kinds of evidence."""
        speaking = np.array([[name not in silent for name in self.names]])
        return float(self._worth(source, target, speaking, changed)[0][0])

    def _worth(
        self, source: int, target: int, members: np.ndarray, changed: dict[str, tuple[float, float]]
    ) -> tuple[np.ndarray, bool]:
        """Log-odds for each coalition, and whether those of the last are at a limit."""
        line, raw = self.grounds.line, self._raw(source, target, members, changed)
        found = np.log(raw.clip(NOTHING)) - np.log1p(-raw.clip(max=1 - 1e-16))
        before = found.clip(-HIGHEST, HIGHEST)
        after = line(before)
        most = self.grounds.taught.get((source, target))
        if most is not None:
            after = np.minimum(before, np.log(most) - np.log1p(-most)).clip(-HIGHEST, HIGHEST)
        return np.where(members[:, -1], after, before), bool(abs(found[-1]) >= HIGHEST)

    def _raw(
        self, source: int, target: int, members: np.ndarray, changed: dict[str, tuple[float, float]]
    ) -> np.ndarray:
        """The method's probability of the pair for each coalition."""
        competition, row = self.grounds.competition, self.sides[0].position(source, target)
        beliefs = [
            side.belief(
                *ends, row, members, {name: sides[place] for name, sides in changed.items()}, divided=any(competition)
            )
            for place, (side, ends) in enumerate(zip(self.sides, ((source, target), (target, source)), strict=True))
        ]
        counted = [belief for belief, once in zip(beliefs, competition, strict=True) if once] or beliefs
        found: np.ndarray = counted[0] if len(counted) == 1 else np.sqrt(counted[0] * counted[1])
        return found


class _Side:
    """What is believed about the counterparts of each entity of one side."""

    def __init__(
        self, grounds: Grounds, proposed: Counterparts, considered: Counterparts, place: int, counted: np.ndarray
    ) -> None:
        self.wide, self.near, self.counted = _Index(proposed), _Index(considered), counted
        self.rules = {name: sides[place].cpu().numpy() for name, sides in grounds.rules.items()}
        said = [_says_something(each) for each in self.rules.values()]
        self.speaking = np.array([each or not any(said) for each in said], dtype=bool)  # [rules]
        self.none, self.say = grounds.none[place], grounds.say

    @classmethod
    def both(cls, grounds: Grounds) -> tuple[_Side, _Side]:
        """Seen from the source, and from the target."""
        wide, near = grounds.proposed, grounds.considered
        counted = _proposed(wide.candidates, near.candidates)
        return cls(grounds, wide, near, 0, counted), cls(grounds, wide.swap(), near.swap(), 1, counted)

    def position(self, entity: int, other: int) -> int:
        """Row of a pair among the candidates, −1 if it is none."""
        return self.wide.row(entity, other)

    def belief(
        self, entity: int, other: int, row: int, members: np.ndarray, changed: dict[str, float], *, divided: bool
    ) -> np.ndarray:
        """p(other | entity) for each coalition; the pair has a row among those proposed. Where entities may have
        several counterparts, what these have together is what the most probable one has."""
        near = self.near.rows(entity)
        considered = np.flatnonzero(self.near.other[near] == other)
        believed = self._ruled(entity, int(considered[0]) if len(considered) else -1, members, changed)
        # the rules have not looked at what is too improbable
        found = believed[:, considered[0]] if len(considered) else self._unruled(entity, row, members)
        if divided:
            return found
        wide = self.wide.rows(entity)
        others = self.wide.belief[wide[~_among(self.wide.other[wide], self.near.other[near])]]
        highest = np.maximum(believed.max(1, initial=0.0), others.max(initial=0.0)).clip(NOTHING)
        total = (believed.sum(1) + others.sum()).clip(max=1.0)
        scaled: np.ndarray = found * np.where(members[:, -2], total / highest, 1.0)
        return scaled

    def _left(self, entity: int) -> float:
        """What the encoder does not give to "none"."""
        none = float(self.wide.none[entity])
        return 1 - none if none < 1 else 1.0

    def _unruled(self, entity: int, row: int, members: np.ndarray) -> np.ndarray:
        """p(other | entity) by the encoder alone."""
        encoder, none, rivals = members[:, 0], members[:, -3], members[:, -2]
        chance, count, left = self.wide.belief[row], self.wide.count(entity), self._left(entity)
        share = np.where(encoder, chance / left, 1 / count)
        others = np.where(encoder & rivals, 1 - chance / left, 1 - 1 / count)
        found: np.ndarray = share / (share + others).clip(NOTHING) * np.where(encoder & none, left, 1.0)
        return found

    def _ruled(self, entity: int, place: int, members: np.ndarray, changed: dict[str, float]) -> np.ndarray:
        """p of each pair that the rules looked at, [coalitions, pairs]; the pair at `place` is the one asked about."""
        near = self.near.rows(entity)
        encoder, none, rivals = members[:, 0], members[:, -3], members[:, -2]
        chance, left, counted = self.near.belief[near], self._left(entity), self.counted[near]
        given = chance[counted].sum().clip(NOTHING)
        logit = np.zeros((len(members), len(near)))
        for number, (name, found) in enumerate(self.rules.items()):
            said = found[near]  # a copy
            if place >= 0:
                said[place] = changed.get(name, said[place])
            logit += members[:, 1 + number, None] * said
        ruled = (members[:, 1 : 1 + len(self.rules)] & self.speaking).any(1)  # "none" is no answer to silence
        usual = np.log(given / max(1, len(near)))
        proposal = np.where(encoder[:, None], np.log(chance.clip(NOTHING)), usual)
        neutral = ~rivals[:, None] & (np.arange(len(near)) != place)
        logit, proposal = np.where(neutral, 0.0, logit), np.where(neutral, usual, proposal)
        score = proposal + self.say * logit
        score = np.exp(score - score.max(1, keepdims=True, initial=LOWEST))
        share = score / score.sum(1, keepdims=True)
        against = self.none if self.none > LOWEST else -np.inf
        compatible = 1 / (1 + np.exp(np.where((none & ruled)[:, None], against - logit, -np.inf)))
        mass = np.where(encoder, np.where(none, given, given / left), 1.0)
        believed: np.ndarray = share * compatible * mass[:, None] * counted
        return believed


def _says_something(said: np.ndarray) -> bool:
    """Whether a rule says something about any pair; of what lies in a file, no more is read than it takes to know."""
    return any(bool(said[first : first + READ].any()) for first in range(0, len(said), READ))


def _among(these: np.ndarray, those: np.ndarray) -> np.ndarray:
    """Which of these are among those; of so few, quicker to compare than to sort."""
    found: np.ndarray = (these[:, None] == those).any(1)
    return found


def _proposed(wide: Candidates, near: Candidates) -> np.ndarray:
    """Which of the pairs considered were proposed, [considered] bool: seeds were not. By bisection among the sorted
    targets of their sources, as a key for each pair proposed would take more memory than all the rest."""
    source, wanted, target = near.source.cpu().numpy(), near.target.cpu().numpy(), wide.target.cpu().numpy()
    start = _starts(wide.source.cpu(), wide.sources)
    first, last = start[source], start[source + 1]
    end = last.copy()
    while (left := np.flatnonzero(first < last)).size:
        middle = (first[left] + last[left]) // 2
        below = target[middle] < wanted[left]
        first[left[below]], last[left[~below]] = middle[below] + 1, middle[~below]
    found: np.ndarray = first < end
    found[found] = target[first[found]] == wanted[found]
    return found


def _starts(entity: Tensor, entities: int) -> np.ndarray:
    """Where the rows of each entity begin if they are sorted, and the last one ends, [entities + 1]."""
    found: np.ndarray = np.append(0, torch.bincount(entity, minlength=entities).cumsum(0).numpy())
    return found


class _Index:
    """Beliefs by entity. They may be many, and lie in a file of which only the rows asked for are read."""

    def __init__(self, beliefs: Counterparts) -> None:
        self._entity = beliefs.candidates.source.cpu()
        self._start = _starts(self._entity, beliefs.candidates.sources)
        self.other = beliefs.candidates.target.cpu().numpy()
        self.belief = beliefs.forward.double().cpu().numpy()
        self.none = beliefs.source_none.double().cpu().numpy()

    def rows(self, entity: int) -> np.ndarray:
        """Rows of an entity's pairs."""
        first, last = self._start[entity : entity + 2]
        return np.arange(first, last) if self._order is None else self._order[first:last]

    def count(self, entity: int) -> int:
        """How many pairs an entity has."""
        return int(self._start[entity + 1] - self._start[entity])

    @cached_property
    def _order(self) -> np.ndarray | None:
        """Rows by entity; None if they stand so. Of all that is proposed for each target, they are seldom asked for."""
        entity = self._entity
        if bool((entity[1:] >= entity[:-1]).all()):
            return None
        small = np.int32 if len(entity) <= np.iinfo(np.int32).max else np.int64
        return np.argsort(entity.numpy(), kind="stable").astype(small)

    def row(self, entity: int, other: int) -> int:
        """Row of a pair, −1 if there is none."""
        rows = self.rows(entity)
        found = rows[self.other[rows] == other]
        return int(found[0]) if len(found) else -1
