"""Strings as n-grams of characters: TF-IDF rows, and numbers for n-grams of any length."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from scipy.sparse import csr_matrix

from emea.order import unique_numbers

LENGTH = 3  # letters of an n-gram
TABLE = 2**27  # possible n-grams up to which they are numbered by a table
MULTIPLIERS = np.array([0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93], np.uint64)  # odd, their bits without a pattern


class Letters:
    """A list of strings as one array of numbers, a space before and after each; longer strings are cut."""

    def __init__(self, texts: Sequence[str], longest: int | None = None) -> None:
        joined = "".join(chain.from_iterable((" ", text[:longest], " ") for text in texts))
        self.letters = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)  # [letters]
        lengths = np.fromiter((len(text[:longest]) + 2 for text in texts), np.int64, len(texts))
        self.start = np.concatenate([[0], np.cumsum(lengths)])  # [strings + 1] where each begins, and the end
        self.string = np.repeat(np.arange(len(texts), dtype=np.int32), lengths)  # [letters] which it belongs to

    def __len__(self) -> int:
        return len(self.start) - 1

    def places(self, size: int) -> np.ndarray:
        """Whether an n-gram of this size that begins at each letter ends in the same string, [letters] bool."""
        inside = np.zeros(len(self.string), bool)
        if len(inside) >= size:
            inside[: len(inside) - size + 1] = self.string[: len(inside) - size + 1] == self.string[size - 1 :]
        return inside

    def hashes(self, size: int, bits: int) -> np.ndarray:
        """A number below 2^bits of the n-gram that begins at each letter, [letters]; the same for equal n-grams."""
        number = np.zeros(len(self.letters), np.uint64)
        for place in range(size):
            number[: max(0, len(number) - place)] += self.letters[place:]
            number *= MULTIPLIERS[place % 2]
            number ^= number >> np.uint64(29)
        return (number >> np.uint64(64 - bits)).astype(np.int32)


def ngrams(left: Letters, right: Letters) -> tuple[csr_matrix, csr_matrix]:
    """Both lists of strings as TF-IDF rows of character n-grams, of length 1; rarity is counted over both lists."""
    alphabet = np.union1d(np.unique(left.letters), np.unique(right.letters))
    keys, rows = [], []
    for side in (left, right):
        letters, inside = np.searchsorted(alphabet, side.letters), side.places(LENGTH)
        key = np.zeros(len(letters), np.int64)
        for place in range(LENGTH):
            key *= len(alphabet)
            key[: max(0, len(key) - place)] += letters[place:]
        keys.append(key[inside])
        rows.append(side.string[inside])
    vocabulary, number = _numbered(keys, len(alphabet) ** LENGTH)
    counts = [
        _counted(row, column, (len(side), vocabulary))
        for row, column, side in zip(rows, number, (left, right), strict=True)
    ]
    holders = sum(np.bincount(side.indices, minlength=vocabulary) for side in counts)
    rarity = np.log((1 + len(left) + len(right)) / (1 + holders)) + 1
    return _weighted(counts[0], rarity), _weighted(counts[1], rarity)


def _numbered(keys: Sequence[np.ndarray], bound: int) -> tuple[int, list[np.ndarray]]:
    """How many distinct keys there are, and each as a number among these; keys are less than a bound."""
    if bound > TABLE:
        distinct = unique_numbers(np.concatenate([unique_numbers(side) for side in keys]))
        return len(distinct), [np.searchsorted(distinct, side).astype(np.int32) for side in keys]
    found = np.zeros(bound, bool)
    for side in keys:
        found[side] = True
    number = np.cumsum(found, dtype=np.int32) - np.int32(1)
    return int(found.sum()), [number[side] for side in keys]


def _counted(row: np.ndarray, column: np.ndarray, shape: tuple[int, int]) -> csr_matrix:
    """How often each column occurs in each row; rows are sorted."""
    start = np.searchsorted(row, np.arange(shape[0] + 1))
    counts = csr_matrix((np.ones(len(column), np.float32), column, start), shape)
    counts.sum_duplicates()
    return counts


def _weighted(counts: csr_matrix, rarity: np.ndarray) -> csr_matrix:
    """The counts times the rarity of their columns, as rows of length 1."""
    data = counts.data * rarity[counts.indices]
    row = np.repeat(np.arange(counts.shape[0], dtype=np.int32), np.diff(counts.indptr))
    data /= np.sqrt(np.bincount(row, data**2, counts.shape[0]))[row]
    return csr_matrix((data, counts.indices, counts.indptr), counts.shape)


def products(first: csr_matrix, second: csr_matrix, pairs: np.ndarray) -> np.ndarray:
    """The product of the rows of each pair, [pairs]."""
    found: np.ndarray = np.asarray(first[pairs[:, 0]].multiply(second[pairs[:, 1]]).sum(1)).ravel()
    return found
