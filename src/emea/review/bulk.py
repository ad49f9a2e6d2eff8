"""Accept many links at once: which these are, how many may be wrong, and whether they are still those shown before."""

from __future__ import annotations

import hashlib
import random
from typing import Any

import numpy as np

from emea.errors import InputError
from emea.review.board import BULK, Board
from emea.review.decision import Decision
from emea.verdicts import YES

SAMPLES = 20
NAMES = ("minimum", "maximum", "type", "text")  # of what can be chosen by


class Choice:
    """The undecided links that a filter chooses: confidence from a minimum to a maximum, a type, words in the name."""

    def __init__(self, board: Board, given: Any) -> None:
        if not isinstance(given, dict) or not set(given) <= set(NAMES) or "minimum" not in given:
            raise InputError(f"found another filter, expected a minimum, and {', '.join(NAMES[1:])} if wanted")
        low, high = _confidence(given["minimum"]), _confidence(given.get("maximum") or 1)
        reviewed = self.reviewed = board.reviewed
        chosen = reviewed.linked & ~board.decided & (reviewed.probability >= low) & (reviewed.probability <= high)
        words, kind = _text(given.get("text")).lower().split(), _text(given.get("type"))
        texts, exclusive = board.texts() if words else [], reviewed.exclusive
        self.cards = [
            card
            for card in np.flatnonzero(chosen).tolist()
            if (not exclusive or not board.decisions.confirmed(reviewed.target[card]))
            and (not kind or board.type_of(card) == kind)
            and all(word in texts[card] for word in words)
        ]

    @property
    def fingerprint(self) -> str:
        """Different whenever the links are."""
        pairs = (f"{self.reviewed.source[card]}\t{self.reviewed.target[card]}" for card in self.cards)
        return hashlib.sha256("\n".join(pairs).encode()).hexdigest()

    def preview(self) -> dict[str, Any]:
        """How many, how many errors are to be expected, and some of them, drawn at random."""
        some = random.Random(self.fingerprint).sample(self.cards, min(SAMPLES, len(self.cards)))
        return {
            "count": len(self.cards),
            "expected_errors": float((1 - self.reviewed.probability[self.cards]).sum()),
            "samples": [self.reviewed.head(card) for card in some],
            "fingerprint": self.fingerprint,
        }

    def decisions(self) -> list[Decision]:
        """All of them, accepted."""
        reviewed = self.reviewed
        return [
            Decision(
                reviewed.source[card],
                reviewed.target[card],
                YES,
                shown={"confidence": float(reviewed.probability[card]), "queue": BULK},
            )
            for card in self.cards
        ]


def _confidence(given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 1:
        raise InputError(f"found the confidence {given!r}, expected a number from 0 to 1")
    return float(given)


def _text(given: Any) -> str:
    if given is not None and not isinstance(given, str):
        raise InputError(f"found {given!r}, expected a text")
    return (given or "").strip()
