"""The kinds of faults of the campaign: one module each, and this list."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

Case = tuple[str, str]  # what was done, and what was wrong with the end of it: empty if nothing was
Cases = Callable[[range], Iterator[Case]]  # the cases with these numbers; fewer if there are no more
NAMES = ("writes", "kills", "malformed", "memory", "hostile", "together", "long_use", "mutations")


@dataclass(frozen=True)
class Kind:
    """A kind of fault: what is done, how often, and what must come of it."""

    what: str
    asked: str  # in words
    full: int  # cases that this takes
    cases: Cases
    tests: str  # those in the suites
    about: str = ""  # what a case is, and what the machine leaves out
    least: float = 1.0  # share of the cases that must end well
    keep: Callable[[], dict[str, object]] = dict  # what else is told of the cases that were just run
    before: Callable[[int], None] | None = None  # makes ready what all cases need, with this many processes
    alone: bool = False  # whether it measures time, so that nothing may run beside a case


@cache
def kind(name: str) -> Kind:
    """The kind with this name; loads what it needs."""
    found: Kind = importlib.import_module(f"faults.{name}").KIND
    return found
