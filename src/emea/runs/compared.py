"""The values of a judged pair: those that were compared, those that were not, and kinds."""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np

from emea.evidence.descriptions import Description, describe
from emea.evidence.prepared import Prepared
from emea.evidence.similarity import Similarity
from emea.evidence.values import STRING, Values, normal_form
from emea.evidence.wholes import parts_of
from emea.method.grounds import Judged
from emea.runs.finding import Finder
from emea.runs.wording import Compared, dates_compared, readable
from emea.settings import Settings

LISTED = 12  # attributes that were not compared
LATEST = 100  # comparisons that are remembered
TYPES = "types"  # the evidence that kinds are


class ComparedValues:
    """What was compared of the pairs that were judged; nothing is known of it where the inputs are gone."""

    def __init__(self, judged: Judged, prepared: Prepared | None, settings: Settings, finder: Finder) -> None:
        self.judged, self.prepared, self.settings, self.finder = judged, prepared, settings, finder
        self.most_similar = lru_cache(maxsize=LATEST)(self._most_similar)  # asked for group by group

    @cached_property
    def described(self) -> tuple[Description, Description] | None:
        """What describes the entities of both graphs."""
        if self.prepared is None:
            return None
        given, evidence = self.prepared.given, self.settings.evidence
        source, target = (
            describe(graph, values, evidence)
            for graph, values in zip((given.source, given.target), self.prepared.values, strict=True)
        )
        return source, target

    @cached_property
    def _held(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Rows of the values of each side by entity, and where those of each entity begin."""
        assert self.described is not None
        return [
            (
                np.argsort(side.values.entity, kind="stable"),
                np.append(0, np.cumsum(np.bincount(side.values.entity, minlength=len(side.linkable)))),
            )
            for side in self.described
        ]

    @cached_property
    def _similarity(self) -> Similarity | None:
        return Similarity(*(side.values.forms for side in self.described)) if self.described else None

    def _rows(self, row: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Rows of the values of a pair's source and of its target, and the field of each, −1 if it is in none."""
        assert self.described is not None
        found = []
        fields = (self.judged.fields.source, self.judged.fields.target)
        for side, entity, field, (order, start) in zip(
            self.described, self.judged.pairs[row], fields, self._held, strict=True
        ):
            own = order[start[entity] : start[entity + 1]]
            found.append((own, field[side.values.attribute[own]]))
        return found

    def _most_similar(self, row: int, field: int) -> Compared | None:
        """The most similar values of a pair in a field."""
        if self.described is None or self._similarity is None or self.finder.called is None:
            return None
        held = [rows[fields == field] for rows, fields in self._rows(row)]
        if not all(map(len, held)):
            return None
        first, second = self.described
        if self.judged.fields.spare[field]:
            sides = zip((first, second), held, self.judged.fields.main[field], strict=True)
            usual = [rows[side.values.attribute[rows] == attribute] for side, rows, attribute in sides]
            held = usual if all(map(len, usual)) else held
        one, other = (each.ravel() for each in np.meshgrid(*held, indexing="ij"))
        pairs = np.stack([first.values.value[one], second.values.value[other]], 1)
        alike = self._similarity(pairs)
        if self.judged.fields.inside[field]:
            alike = self._similarity.inside(pairs, alike)
        best = int(alike.argmax())
        forms = first.values.forms[first.values.value[one[best]]], second.values.forms[second.values.value[other[best]]]
        texts = [
            called.value(entity, form)
            for called, entity, form in zip(self.finder.called, self.judged.pairs[row].tolist(), forms, strict=True)
        ]
        names = [
            _attribute(side.values, int(side.values.attribute[place]))
            for side, place in zip(self.described, (one[best], other[best]), strict=True)
        ]
        how = dates_compared(*forms, float(alike[best]))
        return Compared((texts[0], texts[1]), (names[0], names[1]), float(alike[best]), how)

    def not_compared(self, row: int) -> tuple[str, ...]:
        """The attributes of a pair that are in no field, and those of which the other has no value, a line for each on
        either side. Kinds are compared, and an entity's own name need not be."""
        if self.described is None:
            return ()
        kinds, held, lines = bool(self.judged.said[TYPES].any()), self._rows(row), []
        for place, other in enumerate(("target", "source")):
            values, naming = self.described[place].values, self.described[place].naming_kinds
            rows, fields = held[place]
            out = (fields < 0) | ~np.isin(fields, held[1 - place][1])
            name = normal_form(self.finder.name(place, int(self.judged.pairs[row, place])))
            known = {int(each) for each in values.attribute[rows[~out]]} | ({naming} if kinds else set())
            parts = {part for each in known for part in parts_of(_attribute(values, each))}
            for lone, why in ((False, f"empty in the {other}"), (True, f"nothing like it found in the {other}")):
                those = rows[out & ((fields < 0) == lone)]
                left = {int(values.attribute[each]) for each in those if values.forms[values.value[each]] != name}
                names = [_attribute(values, each) for each in sorted(left - known)]
                names = [each for each in names if parts.isdisjoint(parts_of(each))]
                more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
                lines += [f"not compared: {', '.join(names[:LISTED])}{more} ({why})"] if names else []
                known |= left
        return tuple(lines)

    def kinds(self, source: int, target: int) -> str:
        """The types of a pair, or the values by which its entities are sorted."""
        if self.described is None or self.finder.called is None:
            return "the types of the two"
        names = []
        for side, called, entity in zip(self.described, self.finder.called, (source, target), strict=True):
            kind = int(side.kind[entity])
            what = _attribute(side.values, side.naming_kinds) if side.naming_kinds >= 0 else "type"
            if kind < 0:
                names.append(f"no {what}")
            elif side.naming_kinds >= 0:
                names.append(f"{what}: {called.value(entity, STRING + side.kinds[kind])}")
            else:
                names.append(f"type {readable(side.kinds[kind])}")
        return f"{names[0]} in both" if names[0] == names[1] else ", ".join(names)


def _attribute(values: Values, number: int) -> str:
    """What an attribute is called."""
    return " / ".join(readable(part) for part in str(values.attributes[number].as_py()).split(" / "))
