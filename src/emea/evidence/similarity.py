"""How similar two values in normal form are, whatever their kinds: strings, numbers, dates."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from rapidfuzz.fuzz import ratio
from rapidfuzz.process import cpdist

from emea.evidence.names import romanised
from emea.evidence.values import DAY, NUMBER_FORM, STRING

REORDERED = 0.99  # the same words in another order, or in the plural
DIFFERENT = 0.98  # at most, for strings that differ otherwise
OTHER_NUMERAL = 0.6  # at most, for strings with different numerals: "T9" and "T10", "Henry IV" and "Henry V"
SAME_WORD = 0.8  # edit ratio from which two words may be the same, misspelled
MEASURED = 10_000  # integers from here on are measured, not counted
SCALE = 3.0  # numbers that differ by a share s have the similarity 1 − SCALE · s
LONG = 120  # characters: longer strings are texts, which say nothing about how rare a word is in names
FAR = 0.35  # edit ratio up to which words are not compared
NO_NUMERAL = 0.8  # at most, for strings of which one has a numeral
SHORTENED, ABBREVIATED = 3, 0.8  # letters of an abbreviation at most; its likeness to a word that begins with it
DERIVED = 0.8  # likeness of words with a common stem, such as a noun and its adjective
WORD = re.compile(r"\d+|[^\W\d]+")
JOINING = frozenset(
    [
        "of",
        "the",
        "and",
        "a",
        "an",
        "in",
        "on",
        "for",
        "to",
        "de",
        "la",
        "le",
        "les",
        "des",
        "du",
        "der",
        "die",
        "das",
        "und",
        "von",
        "et",
        "el",
        "los",
        "y",
    ]
)
ROMAN = frozenset(
    ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "xiii", "xiv", "xv", "xvi"]
)


@dataclass(frozen=True, slots=True)
class _Text:
    """A string as it is compared."""

    plain: str  # its words
    ordered: str  # its words, sorted
    numerals: frozenset[str]
    weights: dict[str, float]  # how rare each of its words is
    rarest: tuple[str, ...]  # its words, the rarest first
    length: float  # of the weights, as a vector


class Similarity:
    """Compares values of two graphs; a word counts the more the rarer it is in both."""

    def __init__(self, first: Sequence[str], second: Sequence[str]) -> None:
        self.forms = (first, second)
        number: dict[str, int] = {}  # of each form, the same in both graphs
        self.numbers = [
            np.array([number.setdefault(form, len(number)) for form in side], np.int64) for side in self.forms
        ]
        self.strings = np.array([form.startswith(STRING) for form in number], bool)
        self.words = {place: words_of(form) for form, place in number.items() if form.startswith(STRING)}
        self.texts: dict[int, _Text] = {}
        self.likenesses: dict[tuple[str, str], float] = {}
        short = [place for form, place in number.items() if form.startswith(STRING) and len(form) < LONG]
        count = np.bincount(np.concatenate(self.numbers), minlength=len(number))  # in how many of the graphs
        found = Counter[str]()
        for place in short:
            for word in {*self.words[place]}:
                found[word] += int(count[place])
        self.total = max(1, int(self.strings[np.concatenate(self.numbers)].sum()))
        self.rarity = {word: math.log1p(self.total / count) for word, count in found.items()}

    def __call__(self, pairs: np.ndarray) -> np.ndarray:
        """Similarity of the forms at these positions, [pairs], between 0 and 1: 1 if they are equal."""
        one, other = (numbers[column] for numbers, column in zip(self.numbers, pairs.T, strict=True))
        similarity: np.ndarray = (one == other).astype(float)
        texts = self.strings[one] & self.strings[other] & (one != other)
        for row in np.flatnonzero(~texts & (one != other)).tolist():
            similarity[row] = _measured(self.forms[0][pairs[row, 0]], self.forms[1][pairs[row, 1]])
        for number in {*one[texts].tolist(), *other[texts].tolist()}:
            if number not in self.texts:
                self.texts[number] = self._text(self.words[number])
        similarity[texts] = self._texts(one[texts], other[texts])
        return similarity

    def _texts(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Similarity of strings: the mean of the edit ratio, in the order that fits better, and of the cosine of their
        words, where words that may be the same count by how similar they are."""
        firsts, seconds = ([self.texts[number] for number in side.tolist()] for side in (one, other))
        edits = _edit_ratios([text.plain for text in firsts], [text.plain for text in seconds])
        edits = np.maximum(edits, _edit_ratios([text.ordered for text in firsts], [text.ordered for text in seconds]))
        found: np.ndarray = edits / 2
        for row in np.flatnonzero(edits > FAR).tolist():
            first, second = firsts[row], seconds[row]
            if edits[row] >= 1.0:
                found[row] = REORDERED
                continue
            found[row] = min(DIFFERENT, (edits[row] + self._cosine(first, second)) / 2)
            if first.numerals != second.numerals:
                found[row] = min(OTHER_NUMERAL if first.numerals and second.numerals else NO_NUMERAL, found[row])
        return found

    def _cosine(self, first: _Text, second: _Text) -> float:
        """Cosine of two sets of words by rarity; a word may stand for one that is nearly the same."""
        one, other = first.weights, second.weights
        shared = one.keys() & other.keys()
        product = sum(one[word] ** 2 for word in sorted(shared)) if shared else 0.0
        if len(shared) < min(len(one), len(other)):
            left = [word for word in other if word not in shared]
            for word in first.rarest:
                if word in shared:
                    continue
                likeness, near = 0.0, ""
                for each in left:  # the hottest loop of comparing: nothing but lookups
                    alike = self.likenesses.get((word, each))
                    if alike is None:
                        alike = self.likenesses[word, each] = _likeness(word, each)
                    if alike > likeness or (alike == likeness and each > near):
                        likeness, near = alike, each
                if likeness > 0:
                    product += one[word] * other[near] * likeness
                    left.remove(near)
        return product / max(1e-9, first.length * second.length)

    @cached_property
    def unseen(self) -> float:
        """Rarity of a word that occurs in long texts only."""
        return math.log1p(self.total)

    def _text(self, words: list[str]) -> _Text:
        weights = {word: self.rarity.get(word, self.unseen) for word in words}
        length = math.sqrt(sum(weight**2 for weight in weights.values()))
        rarest = tuple(sorted(weights, key=lambda word: (-weights[word], word)))
        return _Text(" ".join(words), " ".join(sorted(words)), _numerals(words), weights, rarest, length)


def _edit_ratios(left: list[str], right: list[str]) -> np.ndarray:
    """Of the strings side by side, [pairs]."""
    ratios: np.ndarray = cpdist(left, right, scorer=ratio, workers=-1).astype(float) / 100
    return ratios


def words_of(form: str) -> list[str]:
    """The words of a string in the singular, without those that only join others; digits apart from letters.

    >>> words_of("s phalanx of the hand"), words_of("s t12 vertebrae"), words_of("s the who")
    (['phalanx', 'hand'], ['t', '12', 'vertebrae'], ['who'])
    """
    words = [singular(word) for word in WORD.findall(romanised(form.removeprefix(STRING)))]
    return [word for word in words if word not in JOINING] or words


def _likeness(one: str, other: str) -> float:
    if one.isdigit() or other.isdigit() or one in ROMAN or other in ROMAN:
        return 0.0
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    alike = one[0] == other[0]
    if alike and len(short) <= SHORTENED and long.startswith(short):
        return ABBREVIATED
    if 2 * len(short) >= SAME_WORD * (len(short) + len(long)):  # otherwise the ratio cannot be reached
        likeness = ratio(one, other, score_cutoff=100 * SAME_WORD) / 100
        if likeness >= SAME_WORD:
            return likeness
    if not alike or one[:4] != other[:4]:
        return 0.0
    stem = next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(short))
    return DERIVED if stem >= 4 and stem >= 0.66 * len(short) and stem >= 0.5 * len(long) else 0.0


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


def _numerals(words: Sequence[str]) -> frozenset[str]:
    return frozenset(word for word in words if word in ROMAN or any(letter.isdigit() for letter in word))


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
