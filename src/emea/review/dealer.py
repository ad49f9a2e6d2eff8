"""Deals the cards of queues to people, mixed with those of a probability sample."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

EVERY = 5  # cards of a person of which one is from the probability sample
IN_A_ROW = 9  # cards of one kind that may follow each other
LEASE = 120.0  # seconds for which a card that lies open is nobody else's


@dataclass(frozen=True)
class Dealt:
    """A card that a person has open."""

    card: int
    queue: str
    sampled: float | None  # its inclusion probability if it is in the probability sample; its score is then hidden


class Dealer:
    """Deals cards to several people: every fifth of a person is the next of the probability sample; none that is
    decided or lies open with somebody else; never ten of a kind in a row as long as there are others.

    A card of the sample counts as sampled whatever queue it came from, and its score is hidden: left out, the sample
    would lack what people look for. So only as much of the sample is valid as is decided without a gap from its start:
    see `answered`. In a small run, most hidden cards of a queue are still ahead of that.
    """

    def __init__(
        self, kind: np.ndarray, sample: Sequence[tuple[int, float]] = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Kinds of the cards, [cards]; the sample: cards in order, each with its inclusion probability."""
        self.kind, self.sample, self.clock = kind, dict(sample), clock
        self.decided = np.zeros(len(kind), dtype=bool)
        self._leases: dict[int, tuple[str, float]] = {}  # of each open card: who has it, until when
        self._open: dict[str, list[Dealt]] = {}
        self._since: dict[str, int] = {}  # cards of a person since the last one of the sample
        self._row: dict[str, tuple[int, int]] = {}  # the kind of a person's last cards, and how many these are

    @property
    def answered(self) -> int:
        """How many cards of the sample are decided, from its start without a gap."""
        return next((place for place, card in enumerate(self.sample) if not self.decided[card]), len(self.sample))

    def next(self, who: str, queue: str, order: np.ndarray, skip: Iterable[int] = ()) -> Dealt | None:
        """The next card of a queue, from now on open with this person: again the one that is open, unless it is to be
        skipped; None if there is none left."""
        now = self.clock()
        self._leases = {card: lease for card, lease in self._leases.items() if lease[1] > now}
        blocked = self.decided.copy()
        blocked[[*skip, *(card for card, (holder, _) in self._leases.items() if holder != who)]] = True
        mine = [each for each in self._open.get(who, ()) if self._leases.get(each.card, ("", 0.0))[0] == who]
        found = next((each for each in mine if each.queue == queue and not blocked[each.card]), None)
        if found is None and (found := self._choose(who, queue, order, blocked)) is not None:
            mine.append(found)
            kind, (last, length) = int(self.kind[found.card]), self._row.get(who, (-1, 0))
            self._row[who] = kind, length + 1 if kind == last else 1
        self._open[who] = mine
        if found is not None:
            self._leases[found.card] = who, now + LEASE
        return found

    def renew(self, who: str) -> None:
        """The person is still there."""
        until = self.clock() + LEASE
        held = [card for card, (holder, _) in self._leases.items() if holder == who]
        self._leases |= dict.fromkeys(held, (who, until))

    def decide(self, cards: Iterable[int], *, decided: bool = True) -> None:
        """These cards are decided, or, after an undo, no longer."""
        for card in cards:
            self.decided[card] = decided
            self._leases.pop(card, None)

    def _choose(self, who: str, queue: str, order: np.ndarray, blocked: np.ndarray) -> Dealt | None:
        last, length = self._row.get(who, (-1, 0))
        tired = self.kind == last if length >= IN_A_ROW else np.zeros(len(self.kind), dtype=bool)
        order = order[~blocked[order]]
        due = next((card for card in self.sample if not blocked[card]), None)
        others = order[~tired[order]]
        self._since[who] = since = self._since.get(who, 0) + 1
        if due is not None and since >= EVERY and not (tired[due] and len(others)):
            self._since[who] = 0
            return Dealt(due, queue, self.sample[due])
        if not len(order):
            return None
        card = int((others if len(others) else order)[0])
        return Dealt(card, queue, self.sample.get(card))
