"""Pairs of entities that share a rare value or rare words: candidates that need no embedding."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from scipy.sparse import csr_matrix

from emea.evidence.similarity import words_of
from emea.evidence.values import STRING, Values
from emea.kernels.ranges import spread
from emea.kernels.segments import segment_rank

MOST_SHARED = 50  # pairs that one value may join
MOST_HOLDERS = 200  # entities of a side that have a word which joins
BEST = 8  # pairs by words, for each source and each target


def joined(first: Values, second: Values, sizes: tuple[int, int]) -> np.ndarray:
    """Distinct pairs that share a value which few have, in whatever order its words are, or many rare words,
    [pairs, 2]."""
    ordered, holders = _read(first)
    others = (ordered, holders) if second is first else _read(second)
    found = [
        _sharing(first, second, (first.forms, second.forms))[:, 1:],
        _sharing(first, second, (ordered, others[0]))[:, 1:],
        _by_words(holders, others[1], sizes),
    ]
    return np.unique(np.concatenate(found), axis=0)


def alone(first: Values, second: Values, fits: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Pairs of entities that fit each other and alone share some value, [pairs, 2]."""
    found = _sharing(first, second, (first.forms, second.forms))
    found = found[fits(found[:, 1:])]
    once: np.ndarray = found[np.bincount(found[:, 0])[found[:, 0]] == 1, 1:]
    return once


def _read(values: Values) -> tuple[list[str], dict[str, np.ndarray]]:
    """The values with their words sorted, and the entities that have each word."""
    words = [_words(form) for form in values.forms]
    ordered = [" ".join(each) or form for each, form in zip(words, values.forms, strict=True)]
    return ordered, _holders(values, words)


def _words(form: str) -> list[str]:
    """The distinct words of a string, sorted."""
    return sorted({*words_of(form)}) if form.startswith(STRING) else []


def _sharing(first: Values, second: Values, keys: tuple[list[str], list[str]]) -> np.ndarray:
    """Equal keys of values, and the pairs of entities that each joins, [pairs, 3], unless it joins too many."""
    number: dict[str, int] = {}
    held = []
    for values, names in ((first, keys[0]), (second, keys[1])):
        of_form = np.array([number.setdefault(name, len(number)) for name in names], dtype=np.int64)
        held.append(np.unique(np.stack([of_form[values.value], values.entity], 1), axis=0))
    left, right = held
    count = [np.bincount(side[:, 0], minlength=len(number)) for side in held]
    left = left[(count[0] * count[1] <= MOST_SHARED)[left[:, 0]]]
    row, place = spread(np.searchsorted(right[:, 0], left[:, 0]), count[1][left[:, 0]])
    return np.stack([left[row, 0], left[row, 1], right[place, 1]], 1)


def _holders(values: Values, words: list[list[str]]) -> dict[str, np.ndarray]:
    """The entities that have each word, unless they are too many."""
    forms: dict[str, list[int]] = {}
    for number, each in enumerate(words):
        for word in each:
            forms.setdefault(word, []).append(number)
    order = np.argsort(values.value, kind="stable")
    start = np.searchsorted(values.value[order], np.arange(len(words) + 1))
    found = {}
    for word, numbers in forms.items():
        if sum(start[number + 1] - start[number] for number in numbers) <= 4 * MOST_HOLDERS:  # some hold several
            rows = np.concatenate([order[start[number] : start[number + 1]] for number in numbers])
            entities = np.unique(values.entity[rows])
            if 0 < len(entities) <= MOST_HOLDERS:
                found[word] = entities
    return found


def _by_words(first: dict[str, np.ndarray], second: dict[str, np.ndarray], sizes: tuple[int, int]) -> np.ndarray:
    """The pairs that share the rarest words, the best of each source and of each target."""
    shared = sorted(first.keys() & second.keys())
    weight = np.array([np.log(sum(sizes) / (len(first[word]) + len(second[word]))) for word in shared])
    sides = []
    for holders, size in ((first, sizes[0]), (second, sizes[1])):
        column = np.repeat(np.arange(len(shared)), [len(holders[word]) for word in shared])
        row = np.concatenate([np.empty(0, dtype=np.int64), *(holders[word] for word in shared)])
        sides.append(csr_matrix((np.sqrt(weight)[column], (row, column)), (size, len(shared))))
    product = (sides[0] @ sides[1].T).tocoo()
    pairs = torch.from_numpy(np.stack([product.row, product.col], 1).astype(np.int64))
    ranks = [
        segment_rank(side, size, torch.from_numpy(product.data)) for side, size in zip(pairs.T, sizes, strict=True)
    ]
    return pairs[(ranks[0] < BEST) | (ranks[1] < BEST)].numpy()
