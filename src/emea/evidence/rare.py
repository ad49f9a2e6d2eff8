"""Similar strings among very many: a join on each string's rarest n-grams, at a cost that grows with their number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from emea.evidence.ngrams import Letters, ngrams, products
from emea.kernels.ranges import distinct

JOINED = 2**28  # pairs of strings that n-grams join in all, unless that is less than LEAST_JOINED for each string
LEAST_JOINED = 500
SIZES = (3, 4, 5, 6)  # letters of an n-gram
COVERED = 0.4  # share of a string's n-grams that its budget should cover; otherwise longer ones are used
SHORTLIST = 20  # joined strings, the best by the n-grams that joined them, whose similarity is computed
HOPELESS = 0.25  # of a string's highest score: joined strings with less are left out
BITS = 24  # of an n-gram's number at most
STRINGS = 2**12  # joined at a time
PAIRS = 2**17  # whose similarity is computed at a time
LETTERS = 2**26  # of all strings together, unless that is less than LEAST_LETTERS for each: longer ones are cut
LEAST_LETTERS = 64
MOST = 2**31 - 1  # of a 32-bit number


def nearest_joined(left: Sequence[str], right: Sequence[str], count: int) -> tuple[np.ndarray, np.ndarray]:
    """Distinct pairs of a string and one of those nearest to it by n-grams, [pairs, 2], and their cosines, [pairs]; a
    string is compared only with those of the other side that share its rarest n-grams."""
    strings = len(left) + len(right)
    budget = max(LEAST_JOINED, JOINED // strings)
    own, other = (Letters(side, max(LEAST_LETTERS, LETTERS // strings)) for side in (left, right))
    first, second = ngrams(own, other)
    forward = [*_one_way((own, other), (first, second), count, budget)]
    backward = [pairs[:, ::-1] for pairs in _one_way((other, own), (second, first), count, budget)]
    pairs = distinct(np.concatenate([*forward, *backward]))
    blocks = np.array_split(pairs, -(-len(pairs) // PAIRS) or 1)
    return pairs, np.concatenate([products(first, second, block) for block in blocks])


def _one_way(
    letters: tuple[Letters, Letters], grams: tuple[csr_matrix, csr_matrix], count: int, budget: int
) -> Iterator[np.ndarray]:
    """Pairs of each string of the first side and those nearest to it, a block at a time."""
    own, other = letters
    bits = min(BITS, 2 + max(len(own.letters), len(other.letters)).bit_length())
    left = np.ones(len(own), bool)  # strings that have not been joined
    for size in SIZES:
        join = _Join.build(own, other, size, bits, budget)
        for start in range(0, len(own), STRINGS):
            strings = slice(start, min(start + STRINGS, len(own)))
            chosen, enough = join.chosen(strings, left[strings])
            left[strings] &= ~enough
            yield _nearest(_shortlist(chosen @ join.postings) + np.array([start, 0]), grams, count)


@dataclass(frozen=True, eq=False)
class _Join:
    """What joins strings by n-grams of one size."""

    own: Letters
    number: np.ndarray  # [letters] of the n-gram that begins at each letter of the own strings
    inside: np.ndarray  # [letters] bool: whether there is one
    holders: np.ndarray  # [numbers] how often the other strings have each n-gram
    postings: csr_matrix  # [numbers, other strings] which of them have an n-gram that is not too frequent
    size: int
    budget: int  # strings of the other side that a string may be joined with, spent on its rarest n-grams

    @classmethod
    def build(cls, own: Letters, other: Letters, size: int, bits: int, budget: int) -> _Join:
        """Index the n-grams of the other strings, without those that alone exceed the budget."""
        inside = other.places(size)
        number, string = other.hashes(size, bits)[inside], other.string[inside]
        holders = np.bincount(number, minlength=2**bits).astype(np.int32)
        rare = holders[number] <= budget
        number, string = number[rare], string[rare]
        length = np.sqrt(np.diff(other.start)).astype(np.float32)
        postings = csr_matrix((1 / length[string], (number, string)), (2**bits, len(other)))
        return cls(own, own.hashes(size, bits), own.places(size), holders, postings, size, budget)

    def chosen(self, strings: slice, left: np.ndarray) -> tuple[csr_matrix, np.ndarray]:
        """The rarest n-grams within the budget of those strings for which that is enough, or which are too short for
        longer ones, [strings, numbers] weights; and which these are, [strings] bool. Only those left count."""
        letters = slice(self.own.start[strings.start], self.own.start[strings.stop])
        places = np.flatnonzero(self.inside[letters]) + letters.start
        string, number = self.own.string[places] - strings.start, self.number[places]
        holders, count = self.holders[number], strings.stop - strings.start
        kept = left[string] & (holders > 0)
        string, number, holders = string[kept], number[kept], holders[kept]
        total = np.bincount(string, minlength=count)
        order = np.argsort(string * np.int64(self.budget + 2) + holders.clip(max=self.budget + 1), kind="stable")
        spent = np.cumsum(holders[order], dtype=np.int64)
        begun = np.concatenate([[0], spent])[np.cumsum(total) - total]
        affordable = order[spent - begun[string[order]] <= self.budget]
        covered = np.bincount(string[affordable], minlength=count)
        longer = np.diff(self.own.start[strings.start : strings.stop + 1]) - self.size  # how many there would be
        enough = left & ((covered >= COVERED * total) | (longer < 2) | (self.size == SIZES[-1]))
        affordable = affordable[enough[string[affordable]]]
        rarity = np.log1p(self.postings.shape[1] / holders[affordable]).astype(np.float32)
        shape = count, self.postings.shape[0]
        return csr_matrix((rarity**2, (string[affordable], number[affordable])), shape), enough


def _shortlist(score: csr_matrix) -> np.ndarray:
    """The pairs of a row and a column with the highest scores of each row, [pairs, 2]."""
    width = np.diff(score.indptr)
    row = np.repeat(np.arange(len(width)), width)
    highest = np.zeros(len(width), np.float32)
    highest[width > 0] = np.maximum.reduceat(score.data, score.indptr[:-1][width > 0]) if len(row) else 0
    kept = score.data >= HOPELESS * highest[row]
    # Row, score and column in the bits of one number, which is sorted faster than three; 20 bits of a score will do.
    falling = (MOST - score.data[kept].view(np.int32)) >> 11
    key = np.sort((row[kept] << 51) | (falling.astype(np.int64) << 31) | score.indices[kept])
    row = key >> 51
    best = np.arange(len(key)) - np.searchsorted(row, np.arange(len(width)))[row] < SHORTLIST
    return np.stack([row[best], key[best] & MOST], 1)


def _nearest(pairs: np.ndarray, grams: tuple[csr_matrix, csr_matrix], count: int) -> np.ndarray:
    """The pairs with the largest products of rows, `count` at most for each string of the first side, [pairs, 2]."""
    cosine = products(*grams, pairs)
    order = np.lexsort((-cosine, pairs[:, 0]))
    string = pairs[order, 0]
    found: np.ndarray = pairs[order[np.arange(len(order)) - np.searchsorted(string, string) < count]]
    return found.astype(np.int32)
