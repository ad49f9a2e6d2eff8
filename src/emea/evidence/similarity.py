"""How similar two values in normal form are, whatever their kinds: strings, numbers, dates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from rapidfuzz.fuzz import ratio
from rapidfuzz.process import cpdist

from emea.evidence.values import DAY, NUMBER_FORM, STRING, Forms
from emea.evidence.words import ROMAN, Texts, Vocabulary

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
        self.read: dict[int, _Text] = {}
        self.numerals: dict[frozenset[str], int] = {frozenset(): 0}

    def __call__(self, pairs: np.ndarray) -> np.ndarray:
        """Similarity of the forms at these positions, [pairs], between 0 and 1: 1 if they are equal."""
        one, other = (numbers[column] for numbers, column in zip(self.numbers, pairs.T, strict=True))
        similarity: np.ndarray = (one == other).astype(float)
        texts = self.strings[one] & self.strings[other] & (one != other)
        for row in np.flatnonzero(~texts & (one != other)).tolist():
            similarity[row] = _measured(self.forms[0][pairs[row, 0]], self.forms[1][pairs[row, 1]])
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
        text, word = np.divmod(np.unique(np.concatenate(key)), max(1, len(number)))
        times = np.bincount(np.concatenate(self.numbers), minlength=len(self.strings))  # in how many of the graphs
        found = np.bincount(word, (times * self.short)[text], len(number))
        rarity = np.log1p(max(1, (times * self.strings).sum()) / np.maximum(1, found))
        return Texts.build(vocabulary, rarity, text, word, len(self.strings))

    def _text(self, words: list[str]) -> _Text:
        numerals = frozenset(word for word in words if word in ROMAN or any(letter.isdigit() for letter in word))
        number = self.numerals.setdefault(numerals, len(self.numerals))
        return _Text(" ".join(words), " ".join(sorted(words)), number)


def _edit_ratios(left: list[str], right: list[str]) -> np.ndarray:
    """Of the strings side by side, [pairs]."""
    ratios: np.ndarray = cpdist(left, right, scorer=ratio, workers=-1).astype(float) / 100
    return ratios


def _measured(first: str, second: str) -> float:
    """Similarity of two values that differ and are not both strings."""
    kinds, one, other = {first[:2], second[:2]}, first[2:], second[2:]
    if kinds == {NUMBER_FORM}:
        apart, most = abs(float(one) - float(other)), max(abs(float(one)), abs(float(other)))
        counted = float(one).is_integer() and float(other).is_integer() and most < MEASURED
        if counted:  # years, sizes, numbers of things: near misses are errors at best
            return 0.6 if apart <= 1 and most > 20 else 0.0
        return min(DIFFERENT, max(0.0, 1 - SCALE * apart / most))
    if kinds == {DAY}:
        return 0.5 if one[:7] == other[:7] else 0.3 if one[:4] == other[:4] else 0.0
    if kinds == {NUMBER_FORM, DAY}:  # a year and a date
        year, day = (one, other) if first.startswith(NUMBER_FORM) else (other, one)
        return 0.95 if day[:4] == year else 0.0
    return 0.0
