"""Pairs of entities that share a rare value or rare words: candidates that need no embedding."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from emea.evidence.values import Values
from emea.kernels.limits import WORD_BLOCK
from emea.kernels.ranges import blocks, distinct, spread
from emea.kernels.segments import segment_max, segment_top
from emea.order import unique_numbers

MOST_SHARED = 50  # pairs that one value may join
MOST_HOLDERS = 200  # entities of a side that have a word which joins
BEST = 8  # pairs by words, for each source and each target


def joined(first: Values, second: Values, sizes: tuple[int, int], tied: float = np.inf) -> np.ndarray:
    """Distinct pairs that share a value which few have, in whatever order its words are, or many rare words,
    [pairs, 2]. If ties would make more than `tied` of the best pairs of an entity by words, the worst are left out."""
    found = [
        _sharing(first, second, (first.forms, second.forms))[:, 1:],
        _sharing(first, second, (first.forms.reordered, second.forms.reordered))[:, 1:],
        _by_words(first, second, sizes, tied),
    ]
    return distinct(np.concatenate(found))


def alone(first: Values, second: Values, fits: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Pairs of entities that fit each other and alone share some value, [pairs, 2]."""
    found = _sharing(first, second, (first.forms, second.forms))
    found = found[fits(found[:, 1:])]
    once: np.ndarray = found[np.bincount(found[:, 0])[found[:, 0]] == 1, 1:]
    return once


def _sharing(first: Values, second: Values, keys: tuple[list[str], list[str]]) -> np.ndarray:
    """Equal keys of values, and the pairs of entities that each joins, [pairs, 3], unless it joins too many."""
    number: dict[str, int] = {}
    held = []
    for values, names in ((first, keys[0]), (second, keys[1]))[: 1 if second is first else 2]:
        of_form = np.array([number.setdefault(name, len(number)) for name in names], dtype=np.int64)
        held.append(distinct(np.stack([of_form[values.value], values.entity], 1)))
    left, right = held[0], held[-1]
    count = [np.bincount(side[:, 0], minlength=len(number)) for side in (left, right)]
    left = left[(count[0] * count[1] <= MOST_SHARED)[left[:, 0]]]
    row, place = spread(np.searchsorted(right[:, 0], left[:, 0]), count[1][left[:, 0]])
    return np.stack([left[row, 0], left[row, 1], right[place, 1]], 1)


def _by_words(first: Values, second: Values, sizes: tuple[int, int], tied: float = np.inf) -> np.ndarray:
    """The pairs that share the rarest words, the best of each source and of each target."""
    number: dict[str, int] = {}
    holders = [_holders(values, number) for values in (first, second)]
    counts = [np.bincount(word, minlength=len(number)) for word, _ in holders]
    shared = np.flatnonzero((counts[0] > 0) & (counts[1] > 0))
    weight, place = np.zeros(len(number)), np.full(len(number), -1)
    weight[shared] = np.sqrt(np.log(sum(sizes) / (counts[0] + counts[1])[shared]))
    place[shared] = np.arange(len(shared))
    sides = []
    for (word, entity), size in zip(holders, sizes, strict=True):
        kept = place[word] >= 0
        sides.append(csr_matrix((weight[word[kept]], (entity[kept], place[word[kept]])), (size, len(shared))))
    one, other = sides
    found = [_most_shared(one, other, tied)]
    found.append(found[0][:, ::-1] if second is first else _most_shared(other, one, tied)[:, ::-1])
    return distinct(np.concatenate(found))


def _holders(values: Values, number: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Words that few enough entities have, by number, and each of these entities; new words get new numbers."""
    words, names = values.forms.words, values.forms.words.vocabulary
    form = np.repeat(np.arange(len(values.forms)), np.diff(words.start))
    form, word = np.divmod(unique_numbers(form * max(1, len(names)) + words.word), max(1, len(names)))  # each word once
    rows = np.bincount(values.value, minlength=len(values.forms))  # with each form
    few = np.bincount(word, rows[form], len(names))[word] <= 4 * MOST_HOLDERS  # some entities hold several
    form, word = form[few], word[few]
    start = np.searchsorted(form, np.arange(len(values.forms) + 1))
    row, place = spread(start[values.value], np.diff(start)[values.value])
    key = unique_numbers(word[place] * (values.entity.max(initial=0) + 1) + values.entity[row])
    word, entity = np.divmod(key, values.entity.max(initial=0) + 1)
    kept = np.bincount(word, minlength=len(names))[word] <= MOST_HOLDERS
    used, index = np.unique(word[kept], return_inverse=True)
    numbers = np.array([number.setdefault(names[each], len(number)) for each in used.tolist()], dtype=np.int64)
    return numbers[index.ravel()], entity[kept]


def _most_shared(one: csr_matrix, other: csr_matrix, tied: float) -> np.ndarray:
    """The best pairs of each row of the first with rows of the second, by scalar product, [pairs, 2]."""
    across = other.T.tocsr()
    work = np.bincount(
        np.repeat(np.arange(one.shape[0]), np.diff(one.indptr)), np.diff(across.indptr)[one.indices], one.shape[0]
    )
    found = [np.empty((0, 2), dtype=np.int64)]
    for rows in blocks(work, WORD_BLOCK):
        product = (one[rows] @ across).tocoo()
        row = torch.from_numpy(product.row.astype(np.int64))
        kept = _best(row, product.shape[0], torch.from_numpy(product.data), tied).numpy()
        found.append(np.stack([product.row[kept] + rows.start, product.col[kept]], 1).astype(np.int64))
    return np.concatenate(found)


def _best(row: Tensor, rows: int, score: Tensor, tied: float) -> Tensor:
    """Whether a pair is among the best of its row, without the worst of these if they are more than `tied`, [pairs]."""
    kept = segment_top(row, rows, score, BEST)
    crowded = torch.bincount(row[kept], minlength=rows) > tied
    worst = -segment_max(-score[kept].float(), row[kept], rows)
    return kept & (~crowded[row] | (score.float() > worst[row]))
