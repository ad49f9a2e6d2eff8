"""Values that one graph has in parts: first and last name here, the whole name there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, pairwise, permutations

import numpy as np
import pyarrow as pa

from emea.evidence.values import NUMBER_FORM, STRING, Forms, Values

AND = " + "  # between the names of the attributes that are put together
FEWEST = 5  # values that are the same only if parts are put together
NEWS = 0.05  # share of the values that could be, of the graph that has fewer of them
MOSTLY = 0.5  # share of the values of a part that the other graph has as they are: it need not be put together
SINGLE = 0.9  # share of an attribute's values that are the only one of their entity, and words or numbers
MOST_WORDS = 5.0  # of a part on average
MOST_PARTS = 30  # attributes of a graph that are tried: those that most entities have
TRIED = 20_000  # entities


def put_together(first: Values, second: Values) -> tuple[Values, Values]:
    """The values of both graphs, and the whole ones that follow from parts where the other graph has wholes, under
    attributes of their own, such as `first name + last name`. The order of words does not matter for what is whole."""
    sides, number = (first, second), _numbers_of(first, second)
    keys = [_Keys(values, number) for values in sides]
    found = [_wholes(keys[place], keys[1 - place]) for place in (0, 1)]
    one, other = (
        _with(values, sorted(wholes), sides[1 - place])
        for place, (values, wholes) in enumerate(zip(sides, found, strict=True))
    )
    return one, other


def _numbers_of(*sides: Values) -> dict[str, int]:
    """A random number for each word."""
    words = list(dict.fromkeys(word for values in sides for word in values.forms.words.vocabulary))
    drawn = np.random.default_rng(0).integers(1, 2**62, len(words))
    return dict(zip(words, drawn.tolist(), strict=True))


class _Keys:
    """The words of a graph's values, as sums of random numbers: whoever has the same words has the same sum."""

    def __init__(self, values: Values, number: dict[str, int]) -> None:
        self.values, words = values, values.forms.words
        drawn = np.array([number[word] for word in words.vocabulary] or [0], dtype=np.int64)
        sums = np.append(0, np.cumsum(drawn[words.word]))
        self.count = np.diff(words.start)
        self.form = sums[words.start[1:]] - sums[words.start[:-1]]  # by form; sums wrap around
        numeric = [place for place, form in enumerate(values.forms) if form.startswith(NUMBER_FORM)]
        digits = [number.get(values.forms[place].removeprefix(NUMBER_FORM), -place) for place in numeric]
        self.form[numeric], self.count[numeric] = digits, 1
        self.plain = np.zeros(len(values.forms), dtype=bool)
        self.plain[numeric] = True
        self.plain |= [form.startswith(STRING) for form in values.forms]
        order = np.argsort(values.attribute, kind="stable")
        bounds = np.searchsorted(values.attribute[order], np.arange(len(values.attributes) + 1))
        self.rows = [order[begin:end] for begin, end in pairwise(bounds)]

    def of(self, attribute: int) -> np.ndarray:
        """The distinct keys of an attribute."""
        return np.unique(self.form[self.values.value[self.rows[attribute]]])

    def column(self, attribute: int) -> tuple[np.ndarray, np.ndarray] | None:
        """The entities that have an attribute, and their keys, if nearly all have one short value."""
        rows = self.rows[attribute]
        value = self.values.value[rows]
        if not len(rows) or self.plain[value].mean() < SINGLE or self.count[value].mean() > MOST_WORDS:
            return None
        entity, place, count = np.unique(self.values.entity[rows], return_index=True, return_counts=True)
        if (count == 1).mean() < SINGLE:
            return None
        return entity[count == 1], self.form[value[place[count == 1]]]

    def parts(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """The columns that may be parts, without those of a single value."""
        columns = {each: self.column(each) for each in range(len(self.rows))}
        found = {each: column for each, column in columns.items() if column and len(np.unique(column[1])) > 1}
        kept = sorted(found, key=lambda each: -len(found[each][0]))[:MOST_PARTS]
        return {each: found[each] for each in sorted(kept)}

    def wholes(self) -> Iterator[tuple[int, np.ndarray]]:
        """The attributes that may be wholes, which mostly have several words, and their keys."""
        for attribute, rows in enumerate(self.rows):
            value = np.unique(self.values.value[rows])
            several = value[self.count[value] > 1]
            if len(several) >= max(FEWEST, MOSTLY * len(value)):
                yield attribute, np.unique(self.form[several])


def _wholes(own: _Keys, other: _Keys) -> set[tuple[int, ...]]:
    """The attributes that give values of the other graph if they are put together, two or three at a time."""
    columns, wholes = own.parts(), [*other.wholes()]
    if len(columns) < 2 or not wholes:
        return set()
    anywhere = np.unique(other.form)
    known = {each: np.isin(np.unique(keys), anywhere).mean() >= MOSTLY for each, (_, keys) in columns.items()}
    pairs = [pair for pair in combinations(columns, 2) if not all(known[part] for part in pair)]
    joined = {pair: _joined(columns, pair) for pair in pairs}
    found = set()
    for _, whole in wholes:
        gain = {pair: int(np.isin(keys, whole).sum()) for pair, keys in joined.items()}
        best = max(gain, key=lambda pair: gain[pair], default=None)
        if best is None or gain[best] < max(FEWEST, NEWS * min(len(joined[best]), len(whole))):
            continue
        if any(np.isin(joined[best], own.of(each)).mean() >= MOSTLY for each in range(len(own.rows))):
            continue  # the graph has the whole, too
        wider = {(*best, part): _joined(columns, (*best, part)) for part in columns if part not in best}
        more = {parts: int(np.isin(keys, whole).sum()) for parts, keys in wider.items()}
        widest = max(more, key=lambda parts: more[parts], default=best)
        better = more.get(widest, 0) - gain[best] >= max(FEWEST, NEWS * len(whole))
        found.add(tuple(sorted(widest if better else best)))
    return found


def _joined(columns: dict[int, tuple[np.ndarray, np.ndarray]], parts: tuple[int, ...]) -> np.ndarray:
    """The distinct keys of some of the entities that have all parts."""
    entity, keys = columns[parts[0]]
    for part in parts[1:]:
        entity, here, there = np.intersect1d(entity, columns[part][0], assume_unique=True, return_indices=True)
        keys = keys[here] + columns[part][1][there]
    step = max(1, len(keys) // TRIED)
    return np.unique(keys[::step])


def _with(values: Values, found: list[tuple[int, ...]], other: Values) -> Values:
    """The values and those put together, in the order in which the other graph has them most often."""
    there = {*other.forms}
    for parts in found:
        held: dict[int, dict[int, str]] = {}
        rows = np.flatnonzero(np.isin(values.attribute, parts))
        for entity, attribute, value in zip(
            values.entity[rows].tolist(), values.attribute[rows].tolist(), values.value[rows].tolist(), strict=True
        ):
            held.setdefault(entity, {})[attribute] = values.forms[value].partition(" ")[2]
        several = {entity: texts for entity, texts in held.items() if len(texts) > 1}
        ways = [
            {
                entity: STRING + " ".join(texts[part] for part in way if part in texts)
                for entity, texts in several.items()
            }
            for way in permutations(parts)
        ]
        best = max(range(len(ways)), key=lambda place: sum(form in there for form in ways[place].values()))
        values = _added(values, ways[best], AND.join(_names(values, [*permutations(parts)][best])))
    return values


def _names(values: Values, parts: tuple[int, ...]) -> list[str]:
    return [str(values.attributes[part].as_py()) for part in parts]


def _added(values: Values, forms: dict[int, str], name: str) -> Values:
    """The values, and one form for each of some entities under a new attribute."""
    place = {form: number for number, form in enumerate(values.forms)}
    value = [place.setdefault(form, len(place)) for form in forms.values()]
    return replace(
        values,
        entity=np.append(values.entity, np.array([*forms], dtype=np.int64)),
        attribute=np.append(values.attribute, np.full(len(forms), len(values.attributes))),
        value=np.append(values.value, np.array(value, dtype=np.int64)),
        forms=Forms(place),
        attributes=pa.concat_arrays([values.attributes, pa.array([name], values.attributes.type)]),
    )
