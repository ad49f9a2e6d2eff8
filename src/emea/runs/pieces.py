"""What the confidence of a pair is made of, piece by piece, in words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from emea.analysis.bars import Bars
from emea.analysis.explanation import Part


@dataclass(frozen=True, eq=False)
class Evidence:
    """The pieces that speak for a pair, the strongest first, and the log-odds of its confidence without some of them,
    computed anew."""

    texts: tuple[str, ...]
    without: Callable[[Collection[int]], float]


class Pieces(ABC):
    """The evidence about the pairs of a run, by one way of computing confidence."""

    @abstractmethod
    def known(self, source: int, target: int) -> bool:
        """Whether the pair is one of these."""

    @abstractmethod
    def candidates(self, entity: int, *, swapped: bool = False) -> list[int]:
        """The best counterparts of a source or, if swapped, of a target."""

    @abstractmethod
    def bars(self, source: int, target: int) -> Bars:
        """The log-odds of a pair's confidence as a sum."""

    @abstractmethod
    def log_odds(self, source: int, target: int) -> float:
        """The same without taking it apart."""

    @abstractmethod
    def told(self, group: str, log_odds: float, source: int, target: int) -> tuple[str, float, tuple[Part, ...]]:
        """One line about a group of a pair's evidence, its share, and its parts, which add up to it."""

    def not_compared(self, source: int, target: int) -> tuple[str, ...]:  # noqa: ARG002 - some do not compare values
        """Of which attributes of a pair nothing was compared, where values are: a line for each side."""
        return ()

    @abstractmethod
    def evidence(self, source: int, target: int) -> Evidence:
        """What speaks for a pair, and what is left without it."""


def scaled(parts: Sequence[tuple[Part, float]], log_odds: float) -> tuple[Part, ...]:
    """The parts, each with its share of the log-odds, the largest first; nothing if no part says anything."""
    total = sum(said for _, said in parts)
    if not total:
        return ()
    found = (Part(**{**vars(part), "log_odds": log_odds * said / total}) for part, said in parts)
    return tuple(sorted(found, key=lambda part: -abs(part.log_odds)))
