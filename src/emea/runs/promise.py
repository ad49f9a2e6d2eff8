"""Whether the links that were kept can be promised to be as precise as was asked."""

from __future__ import annotations

import math

from emea.method.competition import Competition
from emea.method.judge import FEWEST_CHECKED, MUCH, teaches
from emea.method.rounds import Outcome

DOUBT = 0.05  # chance that a promise is broken
FEWEST = 30  # links from which a share of right ones can be expected at all


def doubt(outcome: Outcome) -> str | None:
    """Why the links may be worth less than they seem, and what would help; None if nothing is known against them."""
    absence = outcome.absence
    if absence is not None and absence.by_chance >= MUCH:
        return (
            f"{absence.by_chance:.0%} of what was found would be found between graphs that have nothing in common, "
            "and confidence is lowered; known pairs (--seeds), or more columns that both have, would help, and "
            "--cardinality if a graph has duplicates"
        )
    if (
        absence is not None
        and not any(Competition.of(outcome.settings.matching))
        and not teaches(outcome.prepared.given)
    ):
        return (
            "with --cardinality many-to-many, confidence has little to stand on and may be too high; "
            f"{FEWEST_CHECKED} decisions (--decisions) would correct it, and so would another --cardinality that holds"
        )
    return broken_promise(outcome)


def broken_promise(outcome: Outcome) -> str | None:
    """Why the precision that was asked for cannot be promised, and what would help; None if it can, or if none was
    asked for."""
    asked, checked = outcome.settings.matching.precision, outcome.prepared.given.checked
    if asked is None or not asked or not len(outcome.alignment):
        return None
    if asked >= 1:
        return "a precision of 1 cannot be promised, however many links are checked"
    needed = checks_for(asked)
    if len(checked) >= needed:
        return None
    help_ = f"{needed:,} random links, checked and right, would show it (--decisions)"
    if outcome.absence is None:
        return (
            f"a precision of {asked:g} cannot be promised: confidence was fitted to known pairs, which all have a "
            f"counterpart, and says nothing about entities that have none; {help_}"
        )
    if len(outcome.alignment) < FEWEST:
        return f"a precision of {asked:g} cannot be promised for as few as {len(outcome.alignment):,} links; {help_}"
    return None


def checks_for(precision: float) -> int:
    """How many random links, all of them right, show a precision with 95 % confidence.

    >>> checks_for(0.95), checks_for(0.9)
    (59, 29)
    """
    return math.ceil(math.log(DOUBT) / math.log(precision))


def caution(links: int) -> str:
    """What has to be said after how many links should be right, if these are few.

    >>> caution(2), caution(1), caution(30)
    (', but 2 links are too few to rely on that', ', but 1 link is too few to rely on that', '')
    """
    few = f"{links:,} links are" if links != 1 else "1 link is"
    return f", but {few} too few to rely on that" if links < FEWEST else ""
