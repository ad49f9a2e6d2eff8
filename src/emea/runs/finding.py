"""Finds the entities of a run by what a person calls them, and tells what they are called."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from itertools import chain, zip_longest

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea.data import Links
from emea.errors import InputError
from emea.evidence.prepared import Prepared
from emea.formats._labels import labelled, labels, last_parts
from emea.order import place_of
from emea.runs.kept import Kept
from emea.runs.wording import Called, both_called, readable

SIDES = ("source", "target")
HINTS = 5  # entities that may be meant
ALIKE, COMPARED = 2, 10_000  # those of each graph that are spelled like it, of how many


class Finder:
    """Names and labels of the entities of both graphs."""

    def __init__(self, kept: Kept, prepared: Prepared | None, languages: Sequence[str]) -> None:
        self.prepared = prepared
        given = prepared.given if prepared is not None else None
        self.names = kept.names if given is None else (given.source.entities, given.target.entities)
        self.called: tuple[Called, Called] | None = both_called(prepared, languages) if prepared else None

    def name(self, side: int, entity: int) -> str:
        """That of an entity of the source graph (0), or of the target graph."""
        return str(self.names[side][entity].as_py())

    def number(self, side: int, name: str) -> int | None:
        """The entity of this name."""
        return place_of(name, self.names[side])

    def given(self, what: str) -> Links:
        """Pairs that the run was given: seeds, exclusions, unmatched."""
        found: Links = getattr(self.prepared.given, what) if self.prepared else Links.empty()
        return found

    def label(self, side: int, entity: int) -> str:
        """What an entity is called."""
        return self.called[side].label(entity) if self.called else readable(self.name(side, entity))

    def pair(self, source: str, target: str | None) -> tuple[int | None, int | None]:
        """The two entities; if only one is given, it may be of either graph."""
        if target is not None:
            self._refuse_swapped(source, target)
            return self._find(source, 0), self._find(target, 1)
        ours, theirs = self._named(source, 0), self._named(source, 1)
        if not ours and not theirs:
            raise InputError(f"neither graph has '{source}'{self._hint(source, 0, 1)}")
        only_there = len(ours) != 1 and (len(theirs) == 1 or not ours)
        return (None, self._find(source, 1)) if only_there else (self._find(source, 0), None)

    def _refuse_swapped(self, source: str, target: str) -> None:
        for text, side in ((source, 0), (target, 1)):
            if not self._named(text, side) and self._named(text, 1 - side):
                found = f"the {SIDES[side]} graph has no '{text}'; it is in the {SIDES[1 - side]} graph"
                raise InputError(f"{found}: are the two swapped?")

    def _named(self, text: str, side: int) -> list[int]:
        """The entity of this name, or else those whose label or last part of the name is this."""
        exact = self._exact(text, side)
        return self._called_so(text, side) if exact is None else [exact]

    def _exact(self, text: str, side: int) -> int | None:
        found = self.number(side, text)
        if found is None and self.prepared is not None:
            graph = (self.prepared.given.source, self.prepared.given.target)[side]
            aliases = graph.aliases.to_pylist() if graph.aliases is not None else []
            found = aliases.index(text) if text in aliases else None
        return found

    def _called_so(self, text: str, side: int) -> list[int]:
        names, wanted = self.names[side].to_pylist(), text.casefold()
        found = {number for number, name in enumerate(names) if readable(name).casefold() == wanted}
        if self.prepared is not None:
            graph = (self.prepared.given.source, self.prepared.given.target)[side]
            found |= set(labelled(graph, text).tolist())
        return sorted(found)

    def _find(self, text: str, side: int) -> int:
        """The only entity that is named so."""
        found = self._named(text, side)
        if len(found) == 1:
            return found[0]
        if found:
            shown = ", ".join(self.name(side, number) for number in found[:3])
            raise InputError(f"{len(found)} {SIDES[side]}s are called '{text}': expected one of {shown}")
        raise InputError(f"the {SIDES[side]} graph has no '{text}'{self._hint(text, side)}")

    def _hint(self, text: str, *sides: int) -> str:
        """Which entities of these graphs may be meant: those whose label or name contains the text, else those whose
        names, or their last parts, are most like it."""
        turns = zip_longest(*(self._containing(text, side) for side in sides))
        found = [each for turn in turns for each in turn if each is not None]
        if not found:
            found = [each for side in sides for each in self._alike(text, side)]
        shown = [f"'{each}'" for each in dict.fromkeys(found)][:HINTS]
        return f"; did you mean {' or '.join(shown)}?" if shown else ""

    def _alike(self, text: str, side: int) -> list[str]:
        """A few labels and names that are most like a text, or whose last parts are; of many, some are compared."""
        alike = dict[str, str]()  # what is compared, and what is shown for it
        for shown, column in self._spellings(text, side):
            some = np.arange(0, len(column), 1 + len(column) // COMPARED)
            alike |= zip(column.take(some).to_pylist(), shown.take(some).to_pylist(), strict=True)
        close = difflib.get_close_matches(text, filter(None, alike), n=ALIKE)
        return [alike[each] for each in close]

    def _containing(self, text: str, side: int) -> list[str]:
        """A few labels and names that contain a text; those that begin with it first."""
        found = [
            shown.filter(like(column, text, ignore_case=True)).slice(0, HINTS).to_pylist()
            for like in (pc.starts_with, pc.match_substring)
            for shown, column in self._spellings(text, side)
        ]
        return [*dict.fromkeys(chain.from_iterable(found))] if text.strip() else []

    def _spellings(self, text: str, side: int) -> list[tuple[pa.Array, pa.Array]]:
        """Labels and names as they are shown, and what of them a text is compared with."""
        names = self.names[side]
        whole = any(mark in text for mark in "/#:")  # else it may be in the namespace, which says nothing
        columns = [(names, names if whole else last_parts(names))]
        if self.prepared is not None:
            called = labels((self.prepared.given.source, self.prepared.given.target)[side])
            columns.insert(0, (called, called))
        return columns
