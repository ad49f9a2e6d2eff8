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
from emea.evidence.values import NUMBER_FORM, STRING, Values
from emea.kernels.ranges import distinct, spread

NUMBERED = re.compile(r"^(\D*)(\d{1,18})(\D*)$")
FEWEST = 5  # entities that are counted; and at least half of a graph's
DENSE = 0.5  # share of the numbers from the lowest to the highest that are used
NEARLY_ALL = 0.95  # of the values that differ, and that look alike but for the number
CONFIRMED = 0.5  # share of the known or likely pairs that have the same number,
LEAST_CONFIRMED = 3  # if there are so many
MORE = 2.0  # times as much in common as by chance,
SHIFTS = 10  # which that many other pairings show
UNTRIED = "values that both graphs have, which may merely number things: no other value agrees or disagrees"
IGNORED = "numbers of rows that the other graph has, too, ignored as no other values agree with them"


def without_counters(first: Values, second: Values, sizes: Sequence[int], seeds: Links) -> tuple[Values, Values]:
    """The values of both graphs, of which these are the sizes, without attributes that number a graph's entities,
    unless other values or known pairs agree with them, or they are names that nothing speaks against. What both graphs
    have in such an attribute is told."""
    sides = first, second
    counting = [_counting(values, size) for values, size in zip(sides, sizes, strict=True)]
    if not any(counting):
        return sides
    others = [_worded(_without(values, attributes)) for values, attributes in zip(sides, counting, strict=True)]
    likely = alone(others[0], others[1], lambda pairs: np.ones(len(pairs), dtype=bool))
    likely = distinct(np.concatenate([likely, np.stack([seeds.source.numpy(), seeds.target.numpy()], 1)]))
    kept, held = [], _held(others, sizes)
    for side in (0, 1):
        values, other = sides[side], sides[1 - side]
        useless, odd = [], dict(values.odd)
        for attribute in counting[side]:
            pairs = _same_number(values, attribute, other)
            there = other.entity[np.isin(other.attribute, counting[1 - side])] if counting[1 - side] else pairs[:, 1]
            tried = likely[:, [side, 1 - side]]
            tried = tried[np.isin(tried[:, 0], values.entity[values.rows[attribute]])]
            tried = tried[np.isin(tried[:, 1], there)]  # who has no number cannot contradict
            confirmed = _confirmed(pairs, tried, (held[side], held[1 - side]))
            if not confirmed:
                shown = values.forms[values.value[values.rows[attribute][0]]].partition(" ")[2]
                named = confirmed is None and " " in shown  # District 5 is a name, if nothing denies it
                useless += [attribute] * (not named)
                if 2 * len(pairs) >= len(values.rows[attribute]):
                    told = UNTRIED if named else IGNORED
                    odd[told] = odd.get(told, []) + [shown] * len(np.unique(pairs[:, 0]))
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


def _confirmed(pairs: np.ndarray, likely: np.ndarray, held: tuple[csr_matrix, csr_matrix]) -> bool | None:
    """Whether most of the likely pairs of counted entities are among those with the same number; if too few are likely,
    whether these have more in common than the same entities paired otherwise. None if there is nothing to tell by."""
    width = int(max(pairs[:, 1].max(initial=0), likely[:, 1].max(initial=0))) + 1
    same = np.isin(likely[:, 0] * width + likely[:, 1], pairs[:, 0] * width + pairs[:, 1])
    if len(same) >= LEAST_CONFIRMED:
        return bool(same.sum() >= CONFIRMED * len(same))
    source, target = held[0][pairs[:, 0]], held[1][pairs[:, 1]]
    shift = range(1, min(SHIFTS, len(pairs) - 1) + 1)
    otherwise = [source.multiply(target[np.roll(np.arange(len(pairs)), by)]).sum() for by in shift]
    together = source.multiply(target).sum()
    return bool(together * len(otherwise) >= MORE * sum(otherwise)) if together + sum(otherwise) > 0 else None


def _held(sides: Sequence[Values], sizes: Sequence[int]) -> list[csr_matrix]:
    """Which values and which words of them the entities of each graph have, a rare one counting more, [entities, values
    and words]."""
    number: dict[str, int] = {}
    pairs = []
    for values in sides:
        words = values.forms.words
        form = np.array([number.setdefault(each, len(number)) for each in values.forms], dtype=np.int64)
        word = np.array([number.setdefault(each, len(number)) for each in words.vocabulary], dtype=np.int64)[words.word]
        row, place = spread(words.start[values.value], np.diff(words.start)[values.value])
        own = np.stack([values.entity, form[values.value]], 1), np.stack([values.entity[row], word[place]], 1)
        pairs.append(distinct(np.concatenate(own)))
    shapes = [(size, len(number)) for size in sizes]
    weights = [1 / np.bincount(each[:, 1])[each[:, 1]] for each in pairs]
    return [
        csr_matrix((weight, tuple(each.T)), shape) for weight, each, shape in zip(weights, pairs, shapes, strict=True)
    ]


def _worded(values: Values) -> Values:
    """The values but numbers, of which some are equal by chance."""
    number = np.array([form.startswith(NUMBER_FORM) for form in values.forms], dtype=bool)
    return values[~number[values.value]]


def _without(values: Values, attributes: Sequence[int]) -> Values:
    """The values without those of some attributes."""
    if not attributes:
        return values
    return values[~np.isin(values.attribute, attributes)].packed()
