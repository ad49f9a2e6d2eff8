"""An explanation: why a pair has its confidence, in a sum that a person can read."""

from __future__ import annotations

from dataclasses import dataclass, is_dataclass
from typing import Any

BEFORE = "base"
TITLES = {  # of groups, for people
    BEFORE: "Before any evidence",
    "encoder": "Similar structure",
    "paris": "Equal neighbours",
    "disagreement": "Conflicting values",
    "values": "Names and values",
    "neighbours": "Neighbours",
    "types": "Types",
    "structure": "Structure",
    "none": "May have no counterpart",
    "rivals": "Other candidates",
    "calibration": "Calibration",
}
FROZEN = "beliefs about other pairs as they were"  # the kind of counterfactual
ANEW = "encoder and rules computed anew, other labels as they were"  # another kind


@dataclass(frozen=True)
class Named:
    """An entity or a value by name, and what it is called."""

    name: str
    label: str


@dataclass(frozen=True)
class Part:
    """One piece of evidence and its share of the log-odds."""

    text: str
    log_odds: float
    source_neighbour: Named | None = None
    target_neighbour: Named | None = None
    source_relation: str | None = None
    target_relation: str | None = None
    inverse: bool | None = None  # whether the source's relation leads from the neighbour to the entity
    belief: float | None = None
    source_value: str | None = None
    target_value: str | None = None
    source_attribute: str | None = None
    target_attribute: str | None = None
    similarity: float | None = None
    target_inverse: bool | None = None  # of the target's relation
    compared: str | None = None  # how the values compare, where words say it better than their similarity


@dataclass(frozen=True)
class Group:
    """One kind of evidence: its share of the log-odds, and what that is made of."""

    name: str
    text: str
    log_odds: float
    parts: tuple[Part, ...] = ()

    @property
    def title(self) -> str:
        """What the group is called where people read about it."""
        return TITLES.get(self.name, self.name)


@dataclass(frozen=True)
class Candidate:
    """A candidate and the bars of its confidence."""

    target: str
    target_label: str
    confidence: float
    log_odds: float
    base: float
    groups: tuple[Group, ...]


@dataclass(frozen=True)
class SmallestSet:
    """The least evidence without which a link would be given up."""

    parts: tuple[str, ...]
    threshold: float
    confidence: float  # without it
    kind: str = FROZEN


@dataclass(frozen=True)
class FewestTriples:
    """As few triples of two entities as carry their link: with them alone it is found, without them it is not."""

    triples: tuple[str, ...]
    among: int  # so many triples of both
    kind: str = ANEW


@dataclass(frozen=True)
class Explanation:
    """Why a pair has its confidence: base and groups add up to its log-odds."""

    source: str
    target: str | None
    source_label: str
    target_label: str
    status: str  # link, candidate, seed, excluded, no counterpart, not a candidate
    confidence: float
    log_odds: float | None = None
    saturated: bool = False
    base: float | None = None
    groups: tuple[Group, ...] = ()
    not_compared: tuple[str, ...] = ()  # of which attributes nothing was, a line for each side
    illustration: tuple[str, ...] = ()
    runner_up: Candidate | None = None
    smallest_set: SmallestSet | None = None
    fewest_triples: FewestTriples | None = None  # if asked for
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it; parts have only the keys that say something."""
        found: dict[str, Any] = _plain(self)
        return found


def _plain(value: Any) -> Any:
    """Lists and dictionaries for tuples and values of these classes."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if not is_dataclass(value):
        return value
    found = {key: _plain(each) for key, each in vars(value).items() if each is not None or not isinstance(value, Part)}
    return found | {"title": TITLES.get(value.name, value.name)} if isinstance(value, Group) else found
