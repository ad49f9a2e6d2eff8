"""The measures of a run, as values with names."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any


@dataclass(frozen=True)
class Ranking:
    """How high the true counterparts rank. Ranks are realistic: the mean of the best and the worst possible, so that a
    tie is no hit."""

    hit_at_1: float
    hit_at_10: float
    mrr: float  # mean reciprocal rank
    mr: float | None  # mean rank; None if nobody knows the ranks beyond the best candidates
    hit_at_1_shared: float  # like Hit@1, but a tie of k at the top counts as 1/k of a hit


@dataclass(frozen=True)
class Bin:
    """Links of similar confidence."""

    links: int
    confidence: float  # mean
    right: float  # share of the links


@dataclass(frozen=True)
class Point:
    """What is gained by accepting the links down to some confidence."""

    confidence: float
    links: int
    precision: float
    recall: float


@dataclass(frozen=True)
class LinkMeasures:
    """How good the links are, in one reading of the reference."""

    links: int
    precision: float
    recall: float
    f1: float
    calibration_error: float
    reliability: tuple[Bin, ...] = field(repr=False)  # of equal mass, the least confident first
    curve: tuple[Point, ...] = field(repr=False)  # the most confident first


@dataclass(frozen=True)
class Alignments:
    """The links in both readings of the reference."""

    known_sources: LinkMeasures  # only links whose source occurs in the reference
    strict: LinkMeasures  # all links; those from other sources are wrong


@dataclass(frozen=True)
class Measures:
    """All measures of a run against a reference."""

    reference: int  # links in the reference that the run was not given
    ranking: dict[str, dict[str, Ranking]]  # by pool of targets ("test targets", "all targets") and decoding
    alignment: Alignments
    complete: bool = (
        False  # whether the reference names every true link, so that the strict reading is the one to trust
    )
    sampled: int | None = None  # links of the reference compared with all targets, if not all: ranks are estimates

    @property
    def strict(self) -> LinkMeasures:
        """The links, if every link from a source outside the reference is wrong."""
        return self.alignment.strict

    @property
    def known_sources(self) -> LinkMeasures:
        """The links from sources that occur in the reference."""
        return self.alignment.known_sources

    def to_dict(self) -> dict[str, Any]:
        """As metrics.json has it, with names spelled out: hit@1, calibration error."""
        found: dict[str, Any] = spelled_out(self)
        del found["complete"]  # is said anew with each evaluation
        if self.sampled is None:
            del found["sampled"]
        return found

    @property
    def readings(self) -> tuple[tuple[str, LinkMeasures], ...]:
        """Both readings with what they count, the one to trust first."""
        known = ("known sources: links whose source occurs in the reference", self.known_sources)
        strict = ("strict: all links", self.strict)
        return (strict, known) if self.complete else (known, strict)


@dataclass(frozen=True)
class Comparison:
    """How a first run differs from a second on the same true pairs, ranked among the test targets by final probability.
    Differences are the first's figure minus the second's: above 0, the first is better."""

    pairs: int  # true pairs that neither run was given
    hit_at_1: float
    mrr: float
    p_value: float  # two-tailed, of the paired t-test on reciprocal ranks


def spelled_out(value: Any) -> Any:
    """Measures as plain dictionaries and lists, their names as people write them.

    >>> spelled_out(Ranking(1.0, 1.0, 1.0, 1.0, 1.0))["hit@1 shared"]
    1.0
    """
    if is_dataclass(value):
        names = (each.name for each in fields(value))
        return {name.replace("_at_", "@").replace("_", " "): spelled_out(getattr(value, name)) for name in names}
    if isinstance(value, dict):
        return {name: spelled_out(each) for name, each in value.items()}
    return [spelled_out(each) for each in value] if isinstance(value, tuple) else value
