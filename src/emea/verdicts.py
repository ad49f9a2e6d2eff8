"""What people decide about links, and what holds of several decisions: for the review page and for the next run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

YES, NO, NONE, UNSURE = VERDICTS = ("yes", "no", "none", "unsure")
DATABASE = "decisions.sqlite"  # of the review page, in the folder of a run


class Answer(Protocol):
    """What a person said about a source."""

    @property
    def target(self) -> str:
        """Empty if there is none."""

    @property
    def verdict(self) -> str:
        """One of the verdicts."""


Said = TypeVar("Said", bound=Answer)


def holding(history: Iterable[Said]) -> list[Said]:
    """What holds of decisions about one source, given in their order: the last answer, and every pair that was rejected
    and not taken up again."""
    kept: list[Said] = []
    for later in history:
        kept = [each for each in kept if each.target != later.target and NO in {each.verdict, later.verdict}]
        kept.append(later)
    return kept
