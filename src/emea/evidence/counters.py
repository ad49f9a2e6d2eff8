"""Attributes that merely number the entities of a graph, 1, 2, 3 or rec-1, rec-2, rec-3: two graphs may both do so, and
mean nothing by it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_matrix

from emea.data import Links
from emea.evidence.joins import alone
from emea.evidence.values import NUMBER_FORM, STRING, Forms, Values
from emea.kernels.ranges import distinct, spread

NUMBERED = re.compile(r"^(\D*)(\d{1,18})(\D*)$")
FEWEST = 20  # entities that are counted; and at least half of a graph's
DENSE = 0.5  # share of the numbers from the lowest to the highest that are used
NEARLY_ALL = 0.95  # of the values that differ, and that look alike but for the number
CONFIRMED = 0.5  # share of the known or likely pairs that have the same number,
LEAST_CONFIRMED = 3  # if there are so many
MORE = 2.0  # times as much in common as by chance
CONTRADICTED = "numbers of rows that the other graph has, too, ignored as other values do not agree with them"
UNTRIED = "values that both graphs have, which may merely number rows: no other value agrees or disagrees"


def without_counters(first: Values, second: Values, sizes: Sequence[int], seeds: Links) -> tuple[Values, Values]:
    """The values of both graphs, of which these are the sizes, without attributes that number a graph's entities;
    unless other values agree with them, or there are none. What both graphs have in such an attribute is told."""
    sides = first, second
    counting = [_counting(values, size) for values, size in zip(sides, sizes, strict=True)]
    if not any(counting):
        return sides
    others = [_worded(_without(values, attributes)) for values, attributes in zip(sides, counting, strict=True)]
    likely = alone(others[0], others[1], lambda pairs: np.ones(len(pairs), dtype=bool))
    likely = distinct(np.concatenate([likely, np.stack([seeds.source.numpy(), seeds.target.numpy()], 1)]))
    kept = []
    for side in (0, 1):
        values, other = sides[side], sides[1 - side]
        useless, odd = [], dict(values.odd)
        for attribute in counting[side]:
            pairs = _same_number(values, attribute, other)
            there = other.entity[np.isin(other.attribute, counting[1 - side])] if counting[1 - side] else pairs[:, 1]
            tried = likely[:, [side, 1 - side]]
            tried = tried[np.isin(tried[:, 0], values.entity[values.rows[attribute]])]
            tried = tried[np.isin(tried[:, 1], there)]  # who has no number cannot contradict
            confirmed = _confirmed(pairs, tried, (others[side], others[1 - side]))
            if not confirmed:
                useless += [attribute] * (confirmed is False)
                if 2 * len(pairs) >= len(values.rows[attribute]):
                    shown = values.forms[values.value[values.rows[attribute][0]]]
                    told = UNTRIED if confirmed is None else CONTRADICTED
                    odd[told] = odd.get(told, []) + [shown.partition(" ")[2]] * len(np.unique(pairs[:, 0]))
        kept.append(replace(_without(values, useless), odd=odd))
    return kept[0], kept[1]


def _counting(values: Values, size: int) -> list[int]:
    """The attributes that number at least half of a graph's entities."""
    found = []
    for attribute, rows in enumerate(values.rows):
        counted, forms = len(np.unique(values.entity[rows])), np.unique(values.value[rows])
        if counted < max(FEWEST, size / 2) or len(forms) < NEARLY_ALL * len(rows):
            continue
        texts = (values.forms[form] for form in forms.tolist())
        matches = filter(None, (NUMBERED.match(text) for text in texts if text.startswith((NUMBER_FORM, STRING))))
        numbers: dict[tuple[str, str], set[int]] = {}  # by what is around them
        for match in matches:
            numbers.setdefault((match[1], match[3]), set()).add(int(match[2]))
        usual = max(numbers.values(), key=len, default={0})
        if len(usual) >= max(NEARLY_ALL * len(forms), DENSE * (max(usual) - min(usual) + 1)):
            found.append(attribute)
    return found


def _same_number(values: Values, attribute: int, other: Values) -> np.ndarray:
    """Pairs of an entity and one of the other graph that has its number, too, [pairs, 2]."""
    place = {form: number for number, form in enumerate(other.forms)}
    rows = values.rows[attribute]
    number = np.array([place.get(values.forms[form], -1) for form in values.value[rows].tolist()], dtype=np.int64)
    order = np.argsort(other.value, kind="stable")
    start, end = (np.searchsorted(other.value[order], number, side=side) for side in ("left", "right"))
    row, there = spread(start, np.where(number >= 0, end - start, 0))
    return distinct(np.stack([values.entity[rows[row]], other.entity[order[there]]], 1))


def _confirmed(pairs: np.ndarray, likely: np.ndarray, others: tuple[Values, Values]) -> bool | None:
    """Whether most of the likely pairs of counted entities are among those with the same number; if too few are likely,
    whether these have more in common than the same entities paired at random. None if there is nothing to tell by."""
    width = int(max(pairs[:, 1].max(initial=0), likely[:, 1].max(initial=0))) + 1
    same = np.isin(likely[:, 0] * width + likely[:, 1], pairs[:, 0] * width + pairs[:, 1])
    if len(same) >= LEAST_CONFIRMED:
        return bool(same.sum() >= CONFIRMED * len(same))
    both = [_common(others, np.stack([pairs[:, 0], targets], 1)) for targets in (pairs[:, 1], np.roll(pairs[:, 1], 1))]
    return None if not any(both) else both[0] >= MORE * both[1]


def _common(others: tuple[Values, Values], pairs: np.ndarray) -> float:
    """How often the entities of pairs have a value in common, a rare one counting more."""
    place = {form: number for number, form in enumerate(others[1].forms)}
    held = []
    for values, number in zip(
        others, ([place.get(form, -1) for form in others[0].forms], range(len(place))), strict=True
    ):
        form = np.array(number, dtype=np.int64)[values.value]
        kept, size = form >= 0, (int(pairs.max(initial=0)) + int(values.entity.max(initial=0)) + 1, len(place))
        held.append(csr_matrix((1 / values.holders[values.value[kept]], (values.entity[kept], form[kept])), size))
    return float(held[0][pairs[:, 0]].multiply(held[1][pairs[:, 1]]).sum()) if len(pairs) else 0.0


def _worded(values: Values) -> Values:
    """The values but numbers, of which some are equal by chance."""
    number = np.array([form.startswith(NUMBER_FORM) for form in values.forms], dtype=bool)
    return values[~number[values.value]]


def _without(values: Values, attributes: Sequence[int]) -> Values:
    """The values without those of some attributes."""
    if not attributes:
        return values
    left = values[~np.isin(values.attribute, attributes)]
    kept, value = np.unique(left.value, return_inverse=True)
    return replace(left, value=value.ravel(), forms=Forms(values.forms[form] for form in kept.tolist()))
