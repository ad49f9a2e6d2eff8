"""Categories by other words, such as Rotwein and Red Wine, de and ger: values of attributes with few of them, which go
together in most pairs that are known or that a name links."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from emea.data import Links
from emea.evidence.units import likely
from emea.evidence.values import Forms, Values

FEWEST = 10  # pairs of entities that tell
MOST_VALUES = 50  # different ones of an attribute
LEAST_TOGETHER, TOGETHER = 3, 0.75  # pairs that have two values, and their share of the pairs that have either
AGREEING = 0.75  # share of the pairs whose values correspond
TELLING = 0.5  # times as often as by chance do values not correspond, at most


def translated(first: Values, second: Values, seeds: Links, kinds: tuple[int, int]) -> Values:
    """The second graph's values, with categories in the words of the first graph. The attributes that name kinds, −1
    for none, are left out: which of these go together is told by links, and things of different kinds share names."""
    links = likely(first, second, seeds)
    if len(links) < FEWEST:
        return second
    ours, theirs = (_categories(side, links[:, place], kinds[place]) for place, side in enumerate((first, second)))
    place, value, odd = {form: number for number, form in enumerate(second.forms)}, second.value.copy(), {**second.odd}
    for attribute, own in theirs.items():
        found = [(each, other) for other, column in ours.items() if (each := _corresponding(column, own)) is not None]
        if not found:
            continue
        (_, words), other = max(found, key=lambda each: (each[0][0], -each[1]))
        new = {old: first.forms[each] for old, each in words.items() if first.forms[each] != second.forms[old]}
        rows = second.rows[attribute]
        rows = rows[np.isin(value[rows], [*new])]
        value[rows] = [place.setdefault(new[old], len(place)) for old in value[rows].tolist()]
        if new:
            names = second.attributes[attribute].as_py(), first.attributes[other].as_py()
            told = "values of '{}' compared with '{}' in its words".format(*names)
            odd[told] = [f"{_text(second.forms[old])} = {_text(form)}" for old, form in new.items()]
    return replace(second, value=value, forms=Forms(place), odd=odd).packed()


def _text(form: str) -> str:
    return form.partition(" ")[2]


def _categories(values: Values, entities: np.ndarray, kinds: int) -> dict[int, np.ndarray]:
    """By attribute, the value that each of these entities has, [entities]; −1 if none. Of attributes with few values,
    one for each entity, and which do not name kinds."""
    found = {}
    for attribute, rows in enumerate(values.rows):
        few = 1 < len(np.unique(values.value[rows])) <= MOST_VALUES
        if few and attribute != kinds and len(np.unique(values.entity[rows])) == len(rows):
            held = np.full(int(max(values.entity.max(), entities.max(initial=0))) + 1, -1)
            held[values.entity[rows]] = values.value[rows]
            found[attribute] = held[entities]
    return found


def _corresponding(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, dict[int, int]] | None:
    """In how many pairs the values of two attributes correspond beyond chance, and to which of ours each of theirs
    does; None if they hardly do."""
    known = (ours >= 0) & (theirs >= 0)
    if known.sum() < FEWEST:
        return None
    (left, one), (right, other) = (np.unique(side[known], return_inverse=True) for side in (ours, theirs))
    count = np.zeros((len(left), len(right)))
    np.add.at(count, (one.ravel(), other.ravel()), 1)
    rows, columns = count.sum(1, keepdims=True), count.sum(0, keepdims=True)
    together = (count >= LEAST_TOGETHER) & (count >= TOGETHER * np.maximum(rows, columns))
    share, by_chance = (float(table[together].sum() / known.sum()) for table in (count, rows * columns / known.sum()))
    if share < AGREEING or 1 - share >= TELLING * (1 - by_chance):
        return None
    return share - by_chance, {
        int(right[column]): int(left[row]) for row, column in zip(*together.nonzero(), strict=True)
    }
