"""What people call the entities, relations and values of two graphs."""

from __future__ import annotations

import locale
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from emea.data import Graph
from emea.evidence.prepared import Prepared, ValuedGraph
from emea.evidence.similarity import NEXT_DAY, ONE_APART, OTHER_YEAR, SAME_MONTH, SAME_YEAR, SLIPPED, YEAR_OF_DAY
from emea.evidence.values import DAY, Meanings, normal_form
from emea.formats._labels import labels, last_part, last_parts

SHOWN = 80  # characters of a value


class Called:
    """What the entities, relations and attributes of one graph are called."""

    def __init__(self, graph: Graph, wide: Graph, languages: Sequence[str], meanings: Meanings | None = None) -> None:
        self.graph, self.wide, self.languages = graph, wide, tuple(languages) or usual_languages()
        self.meanings = meanings or {}
        self.values = wide.values if isinstance(wide, ValuedGraph) else 0

    @cached_property
    def _labels(self) -> list[str | None]:
        found: list[str | None] = labels(self.graph, None, self.languages).to_pylist()
        return found

    @cached_property
    def _relations(self) -> list[str]:
        found: list[str] = last_parts(self.wide.relations).to_pylist()
        return found

    def name(self, entity: int) -> str:
        """Its name in the graph; of a value the value."""
        return str(self.wide.entities[entity].as_py())

    def is_value(self, entity: int) -> bool:
        """Whether this is a value that counts as an entity."""
        return entity >= len(self.graph.entities)

    def label(self, entity: int) -> str:
        """Its label, else the last part of its name; of a value the value in quotes."""
        if self.is_value(entity):
            return f"“{shortened(self.name(entity).strip(chr(34))[2:])}”"
        return self._labels[entity] or readable(self.name(entity))

    def relation(self, number: int) -> tuple[str, bool]:
        """What a relation is called, and whether it is followed backwards."""
        backwards, own = divmod(number, len(self._relations))
        return self._relations[own], bool(backwards)

    def value(self, entity: int, form: str) -> str:
        """A value of an entity, given in normal form, as the graph has it, maybe in parts; in that form where it is not
        its own."""
        order, held = self._literals
        first, last = np.searchsorted(held, [entity, entity + 1])
        rows = self.graph.literals.select(["attribute", "value"]).take(pa.array(order[first:last]))
        own: dict[str, str] = {}
        for attribute, text in zip(*(column.to_pylist() for column in rows.columns), strict=True):
            own.setdefault(self.meanings.get(attribute, {}).get(text) or normal_form(text) or "", text)
        return shortened(own.get(form) or _in_parts(form[2:], {each[2:]: own[each] for each in own}) or form[2:])

    @cached_property
    def _literals(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows of the values by entity, and the entity of each of these."""
        entity = self.graph.literals["entity"].to_numpy()
        order = np.argsort(entity, kind="stable")
        return order, entity[order]


def _in_parts(form: str, own: Mapping[str, str]) -> str | None:
    """The texts whose forms follow each other in a form, each once.

    >>> _in_parts("xenia petrov", {"petrov": "Petrov", "xenia": "Xenia"})
    'Xenia Petrov'
    """
    if form in own:
        return own[form]
    for each in own:
        if each and form.startswith(f"{each} "):
            rest = _in_parts(form[len(each) + 1 :], {other: own[other] for other in own if other != each})
            if rest is not None:
                return f"{own[each]} {rest}"
    return None


def both_called(prepared: Prepared, languages: Sequence[str]) -> tuple[Called, Called]:
    """Of the source graph, and of the target graph."""
    given, graphs, (first, second) = prepared.given, prepared.graphs, prepared.meanings
    return (
        Called(given.source, graphs.source, languages, first),
        Called(given.target, graphs.target, languages, second),
    )


def languages_of(text: str | None) -> list[str]:
    """Languages given by commas, the best first.

    >>> languages_of("de, EN,"), languages_of(None)
    (['de', 'en'], [])
    """
    return [each.strip().lower() for each in (text or "").split(",") if each.strip()]


def usual_languages() -> tuple[str, ...]:
    """The system's language, then English."""
    own = (locale.getlocale()[0] or "en").partition("_")[0].lower()
    own = own if own.isalpha() and len(own) == 2 else "en"
    return tuple(dict.fromkeys((own, "en")))


def readable(name: str) -> str:
    """The last part of a name with spaces for underscores."""
    return last_part(name).replace("_", " ").strip() or name


def followed(relation: str, *, back: bool) -> str:
    """A relation as it is followed from an entity, whether its name is a noun or a verb.

    >>> followed("includes", back=True)
    'inverse of includes'
    """
    return f"inverse of {relation}" if back else relation


def counted(number: int, noun: str) -> str:
    """As in "2 matching neighbours or values".

    >>> counted(2, "matching neighbour or value"), counted(1, "link"), counted(0, "entity")
    ('2 matching neighbours or values', '1 link', '0 entities')
    """
    several = (f"{word[:-1]}ies" if word.endswith("ty") else f"{word}s" for word in noun.split(" or "))
    return f"{number:,} {noun if number == 1 else ' or '.join(several)}"


def either(one: str, other: str) -> str:
    """What something is called in both graphs.

    >>> either("capital", "capital"), either("capital", "chef-lieu")
    ('capital', 'capital / chef-lieu')
    """
    return one if one == other else f"{one} / {other}"


def dates_compared(first: str, second: str, similarity: float) -> str | None:
    """How two values in normal form compare, if they are days, or a day and a year.

    >>> dates_compared("d 2001-12-31", "d 2001-12-31", 1.0), dates_compared("n 2001", "d 2001-12-31", YEAR_OF_DAY)
    ('the same day', 'the same year')
    """
    days = first.startswith(DAY) + second.startswith(DAY)
    if days < 2:
        return {YEAR_OF_DAY: "the same year", ONE_APART: "one year apart"}.get(similarity) if days else None
    same_year = first[:-6] == second[:-6]
    return {
        1.0: "the same day",
        NEXT_DAY: "one day apart",
        SLIPPED: "day and month swapped" if same_year else "one year apart",
        SAME_MONTH: "the same month",
        OTHER_YEAR: "the same day of another year",
        SAME_YEAR: "the same year",
    }.get(similarity, "different dates")


@dataclass(frozen=True)
class Compared:
    """Two values that were compared."""

    values: tuple[str, str]
    attributes: tuple[str, str]
    similarity: float
    dates: str | None  # how they compare, if they are dates

    @property
    def text(self) -> str:
        """In words."""
        both = either(*self.attributes)
        if self.values[0] == self.values[1]:
            return f"{both}: “{self.values[0]}” in both"
        return f"{both}: “{self.values[0]}” and “{self.values[1]}”, {self.dates or f'alike {self.similarity:.2f}'}"


def shortened(text: str) -> str:
    """The text, cut where it is long."""
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
