"""Attributes that merely number the entities of a graph, 1, 2, 3 or rec-1, rec-2, rec-3: two graphs may both do so, and
mean nothing by it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from emea.data import Links
from emea.evidence.joins import alone
from emea.evidence.values import NUMBER_FORM, STRING, Forms, Values
from emea.kernels.ranges import distinct

NUMBERED = re.compile(r"^(\D*)(\d{1,18})(\D*)$")
FEWEST = 20  # entities that are counted; and at least half of a graph's
DENSE = 0.5  # share of the numbers from the lowest to the highest that are used
NEARLY_ALL = 0.95  # of the values that differ, and that look alike but for the number
CONFIRMED, LEAST_CONFIRMED = 0.5, 3  # share, and number, of known or likely pairs that have the same number


def without_counters(first: Values, second: Values, sizes: Sequence[int], seeds: Links) -> tuple[Values, Values]:
    """The values of both graphs, of which these are the sizes, without attributes that number a graph's entities;
    unless most pairs that are known, or alone share some other value, have the same number."""
    sides = first, second
    counting = [_counting(values, size) for values, size in zip(sides, sizes, strict=True)]
    if not any(counting):
        return sides
    others = [_without(values, attributes) for values, attributes in zip(sides, counting, strict=True)]
    likely = alone(others[0], others[1], lambda pairs: np.ones(len(pairs), dtype=bool))
    pairs = distinct(np.concatenate([likely, np.stack([seeds.source.numpy(), seeds.target.numpy()], 1)]))
    useless = [
        [each for each in counting[side] if not _confirmed(values, each, other, pairs[:, [side, 1 - side]])]
        for side, (values, other) in enumerate((sides, sides[::-1]))
    ]
    return _without(first, useless[0]), _without(second, useless[1])


def _counting(values: Values, size: int) -> list[int]:
    """The attributes that number at least half of a graph's entities."""
    found = []
    for attribute in range(len(values.attributes)):
        held = values.value[values.attribute == attribute]
        forms = np.unique(held)
        if len(held) < max(FEWEST, size / 2) or len(forms) < NEARLY_ALL * len(held):
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


def _confirmed(values: Values, attribute: int, other: Values, pairs: np.ndarray) -> bool:
    """Whether most pairs of an entity that an attribute numbers and one of the other graph have that number both."""
    place, width = {form: number for number, form in enumerate(other.forms)}, len(other.forms)
    rows = np.flatnonzero(values.attribute == attribute)
    order = rows[np.argsort(values.entity[rows], kind="stable")]
    row = np.searchsorted(values.entity[order], pairs[:, 0]).clip(max=len(order) - 1)
    tried = values.entity[order[row]] == pairs[:, 0]
    number = [place.get(values.forms[form], -1) for form in values.value[order[row[tried]]].tolist()]
    same = np.isin(pairs[tried, 1] * width + np.array(number, np.int64), other.entity * width + other.value)
    same &= np.array(number, np.int64) >= 0
    return bool(same.sum() >= max(LEAST_CONFIRMED, CONFIRMED * len(same)))


def _without(values: Values, attributes: Sequence[int]) -> Values:
    """The values without those of some attributes."""
    if not attributes:
        return values
    rows = ~np.isin(values.attribute, attributes)
    kept, value = np.unique(values.value[rows], return_inverse=True)
    forms = Forms(values.forms[form] for form in kept.tolist())
    entity, attribute = values.entity[rows], values.attribute[rows]
    return replace(values, entity=entity, attribute=attribute, value=value.ravel(), forms=forms)
