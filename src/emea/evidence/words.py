"""The words of strings, how alike two words are, and how many rare words two strings share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from rapidfuzz.fuzz import ratio

from emea.evidence.names import romanised
from emea.kernels.limits import WORD_BLOCK
from emea.kernels.ranges import blocks, spread

SAME_WORD = 0.8  # edit ratio from which two words may be the same, misspelled
EDITED = 5  # letters of both words together for each that has to be added or removed, at that ratio
SHORTENED, ABBREVIATED = 3, 0.8  # letters of an abbreviation at most; its likeness to a word that begins with it
STEM, DERIVED = 4, 0.8  # letters of a stem at least; likeness of words with one, such as a noun and its adjective
WORD = re.compile(r"\d+|[^\W\d]+")
VERSION = re.compile(r"(?<= )v(?=\d)")  # as in "License v3", where it is no numeral of its own
JOINING = frozenset(
    [
        *("of", "the", "and", "a", "an", "in", "on", "for", "to"),
        *("de", "la", "le", "les", "des", "du", "et", "el", "los", "y", "der", "die", "das", "und", "von"),
    ]
)
ROMAN = frozenset(
    ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "xiii", "xiv", "xv", "xvi"]
)


def words_of(text: str) -> list[str]:
    """The words of a string in the singular, without those that only join others; digits apart from letters.

    >>> words_of("phalanx of the hand"), words_of("t12 vertebrae"), words_of("the who")
    (['phalanx', 'hand'], ['t', '12', 'vertebrae'], ['who'])
    >>> words_of("license v3 0"), words_of("henry v")
    (['license', '3', '0'], ['henry', 'v'])
    """
    words = [singular(word) for word in WORD.findall(VERSION.sub("", romanised(text)))]
    return [word for word in words if word not in JOINING] or words


def singular(word: str) -> str:
    """An English word without the ending of the plural; other words nearly always stay as they are.

    >>> [singular(word) for word in ("galaxies", "masses", "stars", "virus", "glass")]
    ['galaxy', 'mass', 'star', 'virus', 'glass']
    """
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "xes", "zes", "ches", "shes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def is_numeral(word: str) -> bool:
    """Whether a word is a number, in digits or in Roman numerals."""
    return word.isdigit() or word in ROMAN


def other_amounts(one: str, other: str) -> bool:
    """Whether strings of words have no number in common before a word that has some in both, such as a unit.

    >>> other_amounts("x 200 64 gb black", "x 200 128 gb"), other_amounts("x 200 64 gb", "x 200 12 v")
    (True, False)
    """
    first, second = _amounts(one.split()), _amounts(other.split())
    return any(first[word].isdisjoint(second[word]) for word in first.keys() & second.keys())


def _amounts(words: list[str]) -> dict[str, set[str]]:
    """The numbers before each word."""
    found: dict[str, set[str]] = {}
    for number, word in pairwise(words):
        if number.isdigit() and not word.isdigit():
            found.setdefault(word, set()).add(number)
    return found


def likeness(one: str, other: str) -> float:
    """How surely two different words stand for the same: misspelled, abbreviated or derived from each other."""
    if is_numeral(one) or is_numeral(other):
        return 0.0
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    alike = one[0] == other[0]
    if alike and len(short) <= SHORTENED and long.startswith(short):
        return ABBREVIATED
    if 2 * len(short) >= SAME_WORD * (len(short) + len(long)):  # otherwise the ratio cannot be reached
        found = ratio(one, other, score_cutoff=100 * SAME_WORD) / 100
        if found >= SAME_WORD:
            return found
    if not alike or one[:STEM] != other[:STEM]:
        return 0.0
    stem = next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(short))
    return DERIVED if stem >= STEM and stem >= 0.66 * len(short) and stem >= 0.5 * len(long) else 0.0


@dataclass(frozen=True, eq=False)
class Words:
    """The words of some texts, in their order."""

    vocabulary: list[str]  # distinct
    word: np.ndarray  # [words of all texts] number
    start: np.ndarray  # [texts + 1] position of the first of each text, and the end

    @classmethod
    def read(cls, texts: Iterable[str]) -> Words:
        """The words of each text as `words_of` finds them."""
        number: dict[str, int] = {}
        found: list[int] = []
        ends = [0]
        for text in texts:
            found.extend([number.setdefault(word, len(number)) for word in words_of(text)])
            ends.append(len(found))
        return cls(list(number), np.array(found, dtype=np.int64), np.array(ends, dtype=np.int64))

    def __iter__(self) -> Iterator[list[str]]:
        """The words of each text."""
        words = [self.vocabulary[word] for word in self.word.tolist()]
        return (words[begin:end] for begin, end in pairwise(self.start.tolist()))

    def of(self, text: int) -> list[str]:
        """The words of a text."""
        return [self.vocabulary[word] for word in self.word[self.start[text] : self.start[text + 1]].tolist()]


class Vocabulary:
    """Words by number, in alphabetical order, and how alike they are."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.length = np.array([len(word) for word in words], dtype=np.int64)
        self.numeral = np.array([is_numeral(word) for word in words], dtype=bool)
        self.letters = np.array([_letters(word) for word in words], dtype=np.uint64)
        self.initial, self.stem = (_numbered([word[:size] for word in words]) for size in (1, STEM))
        self.known: dict[int, float] = {}  # likeness by first · words + second

    def likeness(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Likeness of different words side by side, [pairs]."""
        found = np.zeros(len(one))
        rows = np.flatnonzero(self._may_be_alike(one, other))
        keys, index = np.unique(one[rows] * len(self.words) + other[rows], return_inverse=True)
        for key in keys.tolist():
            if key not in self.known:
                first, second = divmod(key, len(self.words))
                self.known[key] = likeness(self.words[first], self.words[second])
        found[rows] = np.array([self.known[key] for key in keys.tolist()])[index.ravel()] if len(rows) else 0.0
        return found

    def _may_be_alike(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Whether the likeness of words may be above 0, by what is known of each alone, [pairs] bool."""
        lengths = self.length[one], self.length[other]
        apart = np.bitwise_count(self.letters[one] ^ self.letters[other]).astype(np.int64)  # at least
        misspelled = EDITED * np.maximum(apart, np.abs(lengths[0] - lengths[1])) <= lengths[0] + lengths[1]
        shortened = (self.initial[one] == self.initial[other]) & (np.minimum(*lengths) <= SHORTENED)
        derived = self.stem[one] == self.stem[other]
        possible: np.ndarray = (misspelled | shortened | derived) & ~(self.numeral[one] | self.numeral[other])
        return possible


def _letters(word: str) -> int:
    """A bit for each letter and for each time that it occurs: words that differ in so many bits are at least so many
    letters apart."""
    bits, seen = 0, dict[str, int]()
    for letter in word:
        times = seen[letter] = seen.get(letter, 0) + 1
        bits |= 1 << (ord(letter) + 26 * times) % 64
    return bits


def _numbered(names: list[str]) -> np.ndarray:
    """A number for each name, the same for equal ones."""
    number: dict[str, int] = {}
    return np.array([number.setdefault(name, len(number)) for name in names], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Texts:
    """The distinct words of texts, the rarest first, as vectors of how rare each is."""

    vocabulary: Vocabulary
    rarity: np.ndarray  # [vocabulary]
    start: np.ndarray  # [texts]
    count: np.ndarray  # [texts]
    word: np.ndarray  # [words of all texts]

    @classmethod
    def build(cls, vocabulary: Vocabulary, rarity: np.ndarray, text: np.ndarray, word: np.ndarray, texts: int) -> Texts:
        """From the distinct words of each text, [words], sorted by text."""
        order = np.lexsort((word, -rarity[word], text))
        count = np.bincount(text, minlength=texts)
        return cls(vocabulary, rarity, np.cumsum(count) - count, count, word[order])

    @cached_property
    def key(self) -> np.ndarray:
        """Sorted: text · words + word."""
        return np.sort(np.repeat(np.arange(len(self.count)), self.count) * len(self.rarity) + self.word)

    @cached_property
    def length(self) -> np.ndarray:
        """Of the texts as vectors, [texts]."""
        text = np.repeat(np.arange(len(self.count)), self.count)
        return np.sqrt(np.bincount(text, self.rarity[self.word] ** 2, len(self.count)))

    def cosines(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Cosine of texts side by side, [pairs]; a word may stand for one that is nearly the same: in turn, the rarest
        first, each word of the first text for the word of the second most like it that no other stands for."""
        found = np.empty(len(one))
        for rows in blocks(self.count[one] + self.count[other], WORD_BLOCK):
            found[rows] = self._products(one[rows], other[rows])
        length: np.ndarray = self.length[one] * self.length[other]
        cosine: np.ndarray = found / np.maximum(1e-9, length)
        return cosine

    @cached_property
    def rarest(self) -> np.ndarray:
        """How rare the rarest word of each text is, [texts]; 0 if it has none."""
        found = np.zeros(len(self.count))
        found[self.count > 0] = self.rarity[self.word[self.start[self.count > 0]]]
        return found

    def have(self, text: np.ndarray, word: np.ndarray) -> np.ndarray:
        """Whether each text has the word at its side, [texts] bool; there are some words."""
        wanted = text * len(self.rarity) + word
        found: np.ndarray = self.key[np.searchsorted(self.key, wanted).clip(max=len(self.key) - 1)] == wanted
        return found

    def contain(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Whether the first text has all words of the other at its side, [pairs] bool."""
        found = np.empty(len(one), dtype=bool)
        for rows in blocks(self.count[other], WORD_BLOCK):
            row, _, shared = self._unfolded(other[rows], one[rows])
            found[rows] = np.bincount(row[~shared], minlength=len(found[rows])) == 0
        return found

    def share(self, one: np.ndarray, other: np.ndarray, words: np.ndarray) -> np.ndarray:
        """Whether texts side by side have one of some words in common, [pairs] bool."""
        found = np.empty(len(one), dtype=bool)
        for rows in blocks(self.count[one], WORD_BLOCK):
            row, word, shared = self._unfolded(one[rows], other[rows])
            found[rows] = np.bincount(row[shared & words[word]], minlength=len(found[rows])) > 0
        return found

    def _products(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Scalar product of texts side by side, [pairs]."""
        (row, word, shared), (back, near, again) = (self._unfolded(*pair) for pair in ((one, other), (other, one)))
        product = np.bincount(row[shared], self.rarity[word[shared]] ** 2, len(one)).astype(float)  # also if none is
        row, word, back, near = row[~shared], word[~shared], back[~again], near[~again]
        place, near, alike = self._alike(row, word, near, np.bincount(back, minlength=len(one)))
        order = np.lexsort((-near, -alike, place))
        place, near, alike = place[order], near[order], alike[order]
        while len(place):  # of each pair the first word that is left, which is the rarest, takes its best
            pair = row[place]
            best = np.flatnonzero(np.diff(pair, prepend=-1))
            product[pair[best]] += self.rarity[word[place[best]]] * self.rarity[near[best]] * alike[best]
            taken = np.cumsum(np.diff(pair, prepend=-1) != 0) - 1
            left = (place != place[best][taken]) & (near != near[best][taken])
            place, near, alike = place[left], near[left], alike[left]
        return product

    def _unfolded(self, text: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Row and number of each word of some texts, and whether the text at its side has it, too, [words]."""
        row, place = spread(self.start[text], self.count[text])
        word, beside = self.word[place], other[row]
        shared: np.ndarray = word == self.word[self.start[beside].clip(max=len(self.word) - 1)]  # its rarest word
        more = np.flatnonzero(~shared & (self.count[beside] > 1))
        shared[more] = self.have(beside[more], word[more])
        shared &= self.count[beside] > 0
        return row, word, shared

    def _alike(
        self, row: np.ndarray, word: np.ndarray, near: np.ndarray, count: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Words that are alike in the same row, one from each side: the place of the first, the second, and how alike
        they are. There are `count` of the second in each row."""
        start, found = np.cumsum(count) - count, [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
        for part in blocks(count[row], WORD_BLOCK):
            place, other = spread(start[row[part]], count[row[part]])
            alike = self.vocabulary.likeness(word[part][place], near[other])
            kept = alike > 0
            found.append((place[kept] + part.start, near[other[kept]], alike[kept]))
        first, second, alike = (np.concatenate(column) for column in zip(*found, strict=True))
        return first, second, alike
