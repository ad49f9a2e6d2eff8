"""How similar two values in normal form are, whatever their kinds: strings, numbers, dates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from rapidfuzz.fuzz import ratio
from rapidfuzz.process import cpdist

from emea.evidence.values import DAY, NUMBER_FORM, STRING, Forms
from emea.evidence.words import ROMAN, Texts, Vocabulary
from emea.kernels.limits import SMALLEST_DIVISOR
from emea.order import unique_numbers

REORDERED = 0.99  # the same words in another order, or in the plural
DIFFERENT = 0.98  # at most, for strings that differ otherwise
OTHER_NUMERAL = 0.6  # at most, for strings with different numerals: "T9" and "T10", "Henry IV" and "Henry V"
NO_NUMERAL = 0.8  # at most, for strings of which one has a numeral
MEASURED = 10_000  # integers from here on are measured, not counted
SCALE = 3.0  # numbers that differ by a share s have the similarity 1 − SCALE · s
LONG = 120  # characters: longer strings are texts, which say nothing about how rare a word is in names
FAR = 0.35  # edit ratio up to which words are not compared


@dataclass(frozen=True, slots=True)
class _Text:
    """A string as it is compared."""

    plain: str  # its words
    ordered: str  # its words, sorted
    numerals: int  # number of the set of its numerals, 0 if it has none


class Similarity:
    """Compares values of two graphs; a word counts the more the rarer it is in both."""

    def __init__(self, first: Forms, second: Forms) -> None:
        self.forms = (first, second)
        number: dict[str, int] = {}  # of each form, the same in both graphs
        self.numbers = [
            np.array([number.setdefault(form, len(number)) for form in side], np.int64) for side in self.forms
        ]
        self.strings, self.short = (
            np.array([form.startswith(STRING) and len(form) < most for form in number], bool) for most in (np.inf, LONG)
        )
        self.measures = _Measures.build(number)
        self.read: dict[int, _Text] = {}
        self.numerals: dict[frozenset[str], int] = {frozenset(): 0}

    def __call__(self, pairs: np.ndarray) -> np.ndarray:
        """Similarity of the forms at these positions, [pairs], between 0 and 1: 1 if they are equal."""
        one, other = (numbers[column] for numbers, column in zip(self.numbers, pairs.T, strict=True))
        similarity: np.ndarray = (one == other).astype(float)
        texts = self.strings[one] & self.strings[other] & (one != other)
        rest = ~texts & (one != other)
        similarity[rest] = self.measures.compared(one[rest], other[rest])
        for side, numbers in ((0, one), (1, other)):
            for number, place in dict(zip(numbers[texts].tolist(), pairs[texts, side].tolist(), strict=True)).items():
                if number not in self.read:
                    self.read[number] = self._text(self.forms[side].words.of(place))
        similarity[texts] = self._compared(one[texts], other[texts])
        return similarity

    def _compared(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Similarity of strings: the mean of the edit ratio, in the order that fits better, and of the cosine of their
        words, where words that may be the same count by how similar they are."""
        firsts, seconds = ([self.read[number] for number in side.tolist()] for side in (one, other))
        edits = _edit_ratios([text.plain for text in firsts], [text.plain for text in seconds])
        edits = np.maximum(edits, _edit_ratios([text.ordered for text in firsts], [text.ordered for text in seconds]))
        found: np.ndarray = np.where(edits >= 1.0, REORDERED, edits / 2)
        near = np.flatnonzero((edits > FAR) & (edits < 1.0))
        alike = (edits[near] + self.texts.cosines(one[near], other[near])) / 2
        left, right = (np.array([side[row].numerals for row in near.tolist()], int) for side in (firsts, seconds))
        most = np.where((left > 0) & (right > 0), OTHER_NUMERAL, NO_NUMERAL)
        found[near] = np.minimum(np.where(left == right, DIFFERENT, most), alike)
        return found

    @cached_property
    def texts(self) -> Texts:
        """The words of all strings, and how rare each is among those that are not long."""
        first, second = (side.words for side in self.forms)
        vocabulary = Vocabulary(sorted({*first.vocabulary, *second.vocabulary}))
        number = {word: place for place, word in enumerate(vocabulary.words)}
        key = []
        for words, numbers in zip((first, second), self.numbers, strict=True):
            place = np.array([number[word] for word in words.vocabulary], np.int64)
            key.append(np.repeat(numbers, np.diff(words.start)) * len(number) + place[words.word])
        text, word = np.divmod(unique_numbers(np.concatenate(key)), max(1, len(number)))
        times = np.bincount(np.concatenate(self.numbers), minlength=len(self.strings))  # in how many of the graphs
        found = np.bincount(word, (times * self.short)[text], len(number))
        rarity = np.log1p(max(1, (times * self.strings).sum()) / np.maximum(1, found))
        return Texts.build(vocabulary, rarity, text, word, len(self.strings))

    @cached_property
    def numeric(self) -> frozenset[str]:
        """The words that are numerals."""
        words = {*self.forms[0].words.vocabulary, *self.forms[1].words.vocabulary}
        return frozenset(word for word in words if word in ROMAN or any(letter.isdigit() for letter in word))

    def _text(self, words: list[str]) -> _Text:
        number = self.numerals.setdefault(self.numeric.intersection(words), len(self.numerals))
        return _Text(" ".join(words), " ".join(sorted(words)), number)


def _edit_ratios(left: list[str], right: list[str]) -> np.ndarray:
    """Of the strings side by side, [pairs]."""
    ratios: np.ndarray = cpdist(left, right, scorer=ratio, workers=-1).astype(float) / 100
    return ratios


@dataclass(frozen=True, eq=False)
class _Measures:
    """What values other than strings are compared by, [forms]; −1 and NaN stand for nothing."""

    number: np.ndarray
    month: np.ndarray  # of a day, numbered, with its year
    year: np.ndarray  # of a day, numbered; of a number, the year that is written like it

    @classmethod
    def build(cls, forms: Iterable[str]) -> _Measures:
        """Read the forms."""
        number, month, year = [], [], []
        months: dict[str, int] = {}
        years: dict[str, int] = {}
        for form in forms:
            is_number, is_day, text = form.startswith(NUMBER_FORM), form.startswith(DAY), form[len(DAY) :]
            number.append(float(text) if is_number else np.nan)
            month.append(months.setdefault(text[:7], len(months)) if is_day else -1)
            year.append(years.setdefault(text if is_number else text[:4], len(years)) if is_number or is_day else -1)
        return cls(np.array(number), np.array(month, dtype=np.int64), np.array(year, dtype=np.int64))

    def compared(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Similarity of values that differ and are not both strings, [pairs]."""
        a, b = self.number[one], self.number[other]
        same_year = (self.year[one] == self.year[other]) & (self.year[one] >= 0)
        days = (self.month[one] >= 0).astype(int) + (self.month[other] >= 0)
        same_month = (days == 2) & (self.month[one] == self.month[other])
        found = np.select([same_month, same_year & (days == 2), same_year & (days == 1)], [0.5, 0.3, 0.95], 0.0)
        numbers = np.flatnonzero(~np.isnan(a) & ~np.isnan(b))
        a, b = a[numbers], b[numbers]
        apart, most = np.abs(a - b), np.maximum(np.abs(a), np.abs(b))
        counted = (a % 1 == 0) & (b % 1 == 0) & (most < MEASURED)  # years, sizes: near misses are errors at best
        near = (1 - SCALE * apart / np.maximum(most, SMALLEST_DIVISOR)).clip(0.0, DIFFERENT)
        found[numbers] = np.where(counted, np.where((apart <= 1) & (most > 20), 0.6, 0.0), near)
        return found
