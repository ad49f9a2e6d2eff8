"""Numbers in other units: columns whose values have one ratio in most pairs that are known or that a name links."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from emea.data import Links
from emea.evidence.values import NUMBER_FORM, STRING, Forms, Values, normal_form
from emea.kernels.ranges import distinct

FEWEST = 10  # pairs of entities that tell a ratio
MOST = 4000  # pairs that are asked
COLUMNS = 100  # attributes that are compared with as many
ALIKE = 0.01  # ratios that differ by less are the same
AGREEING, BY_CHANCE = 0.8, 0.2  # share of the pairs that have to have the ratio, and of others that may


def converted(first: Values, second: Values, seeds: Links) -> Values:
    """The second graph's values, with numbers in other units as the first graph has them."""
    links = likely(first, second, seeds)
    if len(links) < FEWEST:
        return second
    ours, theirs = _numbers(first, links[:, 0]), _numbers(second, links[:, 1])
    for attribute, own in theirs.items():
        found = {other: _ratio(column, own) for other, column in ours.items()}
        ratio, other = max(((each, place) for place, each in found.items() if each), default=(0.0, 0))
        if ratio and not any(each == 1.0 for each in found.values()):
            second = _multiplied(second, attribute, ratio, str(first.attributes[other].as_py()))
    return second


def likely(first: Values, second: Values, seeds: Links) -> np.ndarray:
    """Pairs of entities that are known, or that a name links, [pairs, 2]; not more than can be asked."""
    known = np.stack([seeds.source.numpy(), seeds.target.numpy()], 1)
    return distinct(np.concatenate([_linked(first, second), known]))[:MOST]


def _linked(first: Values, second: Values) -> np.ndarray:
    """Entities that have a string which nobody else in their graphs has, [pairs, 2]."""
    place = {form: number for number, form in enumerate(second.forms) if second.holders[number] == 1}
    shared = [
        (number, place[form])
        for number, form in enumerate(first.forms)
        if first.holders[number] == 1 and form.startswith(STRING) and form in place
    ]
    pairs = np.array(shared, dtype=np.int64).reshape(-1, 2)
    ends = [_holder(side)[column] for side, column in zip((first, second), pairs.T, strict=True)]
    return np.stack(ends, 1)


def _holder(values: Values) -> np.ndarray:
    """One entity that has each form, [forms]."""
    holder = np.zeros(len(values.forms), dtype=np.int64)
    holder[values.value] = values.entity
    return holder


def _numbers(values: Values, entities: np.ndarray) -> dict[int, np.ndarray]:
    """By attribute, the number that each of these entities has, [entities]; NaN if none. Of many attributes, those that
    most of them have."""
    form = np.array([float(each[2:]) if each.startswith(NUMBER_FORM) else np.nan for each in values.forms])
    rows = np.flatnonzero(np.isin(values.entity, entities) & ~np.isnan(form)[values.value])
    count = np.bincount(values.attribute[rows], minlength=1)
    most = np.argsort(-count, kind="stable")[:COLUMNS]
    found, held = {}, np.empty(int(values.entity.max(initial=0)) + 1)
    for attribute in most[count[most] >= FEWEST].tolist():
        own = rows[values.attribute[rows] == attribute]
        held.fill(np.nan)
        held[values.entity[own]] = form[values.value[own]]
        found[attribute] = held[entities]
    return found


def _ratio(ours: np.ndarray, theirs: np.ndarray) -> float | None:
    """By what their numbers are to be multiplied, 1 if by nothing; None if that is not told."""
    known = (ours > 0) & (theirs > 0)  # also not NaN
    if known.sum() < FEWEST:
        return None
    each, other = ours[known] / theirs[known], ours[known] / np.roll(theirs[known], known.sum() // 2)
    ratio = float(np.median(each))
    agreeing, by_chance = (float((np.abs(side / ratio - 1) <= ALIKE).mean()) for side in (each, other))
    if agreeing < AGREEING or by_chance > BY_CHANCE:
        return None
    return 1.0 if abs(ratio - 1) <= ALIKE else ratio


def _multiplied(values: Values, attribute: int, ratio: float, like: str) -> Values:
    """The values with the numbers of an attribute multiplied, which is said."""
    place = {form: number for number, form in enumerate(values.forms)}
    value, texts = values.value.copy(), []
    for row in values.rows[attribute].tolist():
        form = values.forms[value[row]]
        if form.startswith(NUMBER_FORM):
            texts.append(form[2:])
            product = normal_form(f"{float(form[2:]) * ratio:.9g}") or form
            value[row] = place.setdefault(product, len(place))
    name = values.attributes[attribute].as_py()
    said = f"numbers of '{name}' compared with '{like}' after multiplying them by {ratio:.4g}"
    return replace(values, value=value, forms=Forms(place), odd={**values.odd, said: texts}).packed()
