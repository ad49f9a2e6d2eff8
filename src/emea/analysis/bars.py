"""The log-odds of a pair's confidence as a sum: what each kind of evidence adds, by Shapley values.

A coalition of kinds of evidence has the log-odds that the pair would have if only these spoke, with beliefs about other
pairs as they are. Without the encoder all candidates of an entity are alike; a rule that is silent says nothing about
any of them; without "rivals" the other candidates are as likely as those nothing is known about; without "none" one of
the candidates is right; without "calibration" the method's own probability stands.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from emea.analysis.shapley import coalitions, shapley
from emea.data import Counterparts
from emea.kernels.segments import LOWEST
from emea.method.grounds import Grounds
from emea.method.matching import SMALLEST_CHANCE

ENCODER, NONE, RIVALS, CALIBRATION = "encoder", "none", "rivals", "calibration"
NOTHING = 1e-300  # stands for a probability of 0
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
        after = line[0] + line[1] * before
        most = self.grounds.taught.get((source, target))
        if most is not None:
            after = np.minimum(before, np.log(most) - np.log1p(-most)).clip(-HIGHEST, HIGHEST)
        return np.where(members[:, -1], after, before), bool(abs(found[-1]) >= HIGHEST)

    def _raw(
        self, source: int, target: int, members: np.ndarray, changed: dict[str, tuple[float, float]]
    ) -> np.ndarray:
        """The method's probability of the pair for each coalition."""
        competition = self.grounds.competition
        beliefs = [
            side.belief(
                *ends, members, {name: sides[place] for name, sides in changed.items()}, divided=any(competition)
            )
            for place, (side, ends) in enumerate(zip(self.sides, ((source, target), (target, source)), strict=True))
        ]
        counted = [belief for belief, once in zip(beliefs, competition, strict=True) if once] or beliefs
        found: np.ndarray = counted[0] if len(counted) == 1 else np.sqrt(counted[0] * counted[1])
        return found


class _Side:
    """What is believed about the counterparts of each entity of one side."""

    def __init__(
        self, proposed: Counterparts, considered: Counterparts, rules: dict[str, np.ndarray], none: float, say: float
    ) -> None:
        self.wide, self.near = _Index(proposed), _Index(considered)
        self.rules, self.none, self.say = rules, none, say

    @classmethod
    def both(cls, grounds: Grounds) -> tuple[_Side, _Side]:
        """Seen from the source, and from the target."""
        forward, backward = (
            {name: sides[place].cpu().numpy() for name, sides in grounds.rules.items()} for place in (0, 1)
        )
        return (
            cls(grounds.proposed, grounds.considered, forward, grounds.none[0], grounds.say),
            cls(grounds.proposed.swap(), grounds.considered.swap(), backward, grounds.none[1], grounds.say),
        )

    def position(self, entity: int, other: int) -> int:
        """Row of a pair among the candidates, −1 if it is none."""
        return self.wide.row(entity, other)

    def belief(
        self, entity: int, other: int, members: np.ndarray, changed: dict[str, float], *, divided: bool
    ) -> np.ndarray:
        """p(other | entity) for each coalition. Where entities may have several counterparts, what these have together
        is what the most probable one has."""
        near, wide = self.near.rows(entity), self.wide.rows(entity)
        considered = np.flatnonzero(self.near.other[near] == other)
        believed = self._ruled(entity, int(considered[0]) if len(considered) else -1, members, changed)
        # the rules have not looked at what is too improbable
        found = believed[:, considered[0]] if len(considered) else self._unruled(entity, other, wide, members)
        if divided:
            return found
        others = self.wide.belief[wide[~_among(self.wide.other[wide], self.near.other[near])]]
        highest = np.maximum(believed.max(1, initial=0.0), others.max(initial=0.0)).clip(NOTHING)
        total = (believed.sum(1) + others.sum()).clip(max=1.0)
        scaled: np.ndarray = found * np.where(members[:, -2], total / highest, 1.0)
        return scaled

    def _left(self, entity: int) -> float:
        """What the encoder does not give to "none"."""
        none = float(self.wide.none[entity])
        return 1 - none if none < 1 else 1.0

    def _unruled(self, entity: int, other: int, wide: np.ndarray, members: np.ndarray) -> np.ndarray:
        """p(other | entity) by the encoder alone."""
        encoder, none, rivals = members[:, 0], members[:, -3], members[:, -2]
        chance, count, left = self.wide.belief[self.wide.row(entity, other)], len(wide), self._left(entity)
        share = np.where(encoder, chance / left, 1 / count)
        others = np.where(encoder & rivals, 1 - chance / left, 1 - 1 / count)
        found: np.ndarray = share / (share + others).clip(NOTHING) * np.where(encoder & none, left, 1.0)
        return found

    def _ruled(self, entity: int, place: int, members: np.ndarray, changed: dict[str, float]) -> np.ndarray:
        """p of each pair that the rules looked at, [coalitions, pairs]; the pair at `place` is the one asked about."""
        near, wide = self.near.rows(entity), self.wide.rows(entity)
        encoder, none, rivals = members[:, 0], members[:, -3], members[:, -2]
        chance, left = self.near.belief[near], self._left(entity)
        counted = _among(self.near.other[near], self.wide.other[wide])  # seeds are not
        given = chance[counted].sum().clip(NOTHING)
        logit = np.zeros((len(members), len(near)))
        for number, (name, found) in enumerate(self.rules.items()):
            said = found[near]  # a copy
            if place >= 0:
                said[place] = changed.get(name, said[place])
            logit += members[:, 1 + number, None] * said
        ruled = members[:, 1 : 1 + len(self.rules)].any(1)
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


def _among(these: np.ndarray, those: np.ndarray) -> np.ndarray:
    """Which of these are among those; of so few, quicker to compare than to sort."""
    found: np.ndarray = (these[:, None] == those).any(1)
    return found


class _Index:
    """Beliefs by entity. They may be many, and lie in a file of which only the rows asked for are read."""

    def __init__(self, beliefs: Counterparts) -> None:
        entity = beliefs.candidates.source.cpu()
        self.start = np.append(0, torch.bincount(entity, minlength=beliefs.candidates.sources).cumsum(0).numpy())
        self.order: np.ndarray | None = None  # rows by entity; None if they stand so
        if not bool((entity[1:] >= entity[:-1]).all()):
            small = np.int32 if len(entity) <= np.iinfo(np.int32).max else np.int64
            self.order = np.argsort(entity.numpy(), kind="stable").astype(small)
        self.other = beliefs.candidates.target.cpu().numpy()
        self.belief = beliefs.forward.double().cpu().numpy()
        self.none = beliefs.source_none.double().cpu().numpy()

    def rows(self, entity: int) -> np.ndarray:
        """Rows of an entity's pairs."""
        first, last = self.start[entity : entity + 2]
        return np.arange(first, last) if self.order is None else self.order[first:last]

    def row(self, entity: int, other: int) -> int:
        """Row of a pair, −1 if there is none."""
        rows = self.rows(entity)
        found = rows[self.other[rows] == other]
        return int(found[0]) if len(found) else -1
