"""One decision, and what several about the same source amount to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from emea.errors import InputError
from emea.verdicts import NO, NONE, VERDICTS, YES, holding


@dataclass(frozen=True, slots=True)
class Decision:
    """An answer to which target a source has, or none; or that a pair is wrong."""

    source: str
    target: str  # empty if the verdict is none
    verdict: str
    comment: str = ""
    sampled: float | None = None
    shown: dict[str, Any] = field(default_factory=dict)  # confidence, queue, candidates, hidden
    who: str = ""
    at: str = ""
    step: int = 0
    named: bool = True  # whether `who` is a person, not the file in which nobody is named

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise InputError(f"found the verdict '{self.verdict}', expected one of {', '.join(VERDICTS)}")
        if not self.source:
            raise InputError("found a decision without source, expected the name of an entity")
        if self.verdict in {YES, NO} and not self.target:
            raise InputError(f"found the verdict {self.verdict} without target, expected one; '{NONE}': no counterpart")
        if self.verdict == NONE and self.target:
            raise InputError(f"found the verdict {NONE} with the target '{self.target}', expected no target")


def answer(history: Sequence[Decision]) -> Decision:
    """What decisions about one source amount to: a target or none if one was named, or else the last of them.

    >>> answer([Decision("a", "x", YES), Decision("a", "y", NO)]).target
    'x'
    """
    held = holding(history)
    return next((each for each in held if each.verdict in {YES, NONE}), held[-1])


def held_by_each(decisions: Iterable[Decision]) -> list[Decision]:
    """What each person holds, of decisions in the order in which they were made."""
    found: dict[tuple[str, str], list[Decision]] = defaultdict(list)
    for each in decisions:
        found[each.source, each.who].append(each)
    return [each for history in found.values() for each in holding(history)]
