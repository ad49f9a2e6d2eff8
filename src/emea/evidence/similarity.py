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


@dataclass(frozen=True)
class _Text:
    """A string as it is compared."""

    plain: str  # its words
    ordered: str  # its words, sorted
    numerals: frozenset[str]
    weights: dict[str, float]  # how rare each of its words is
    length: float  # of the weights, as a vector


class Similarity:
    """Compares values of two graphs; a word counts the more the rarer it is in both."""

    def __init__(self, first: Sequence[str], second: Sequence[str]) -> None:
        self.forms = (first, second)
        self.texts: dict[str, _Text] = {}
        self.likenesses: dict[tuple[str, str], float] = {}
        found = Counter(
            word
            for side in self.forms
            for form in side
            if form.startswith(STRING) and len(form) < LONG
            for word in set(words_of(form))
        )
        self.total = max(1, sum(form.startswith(STRING) for side in self.forms for form in side))
        self.rarity = {word: math.log1p(self.total / count) for word, count in found.items()}

    def __call__(self, pairs: np.ndarray) -> np.ndarray:
        """Similarity of the forms at these positions, [pairs], between 0 and 1: 1 if they are equal."""
        similarity = np.zeros(len(pairs))
        texts = []
        for row, (one, other) in enumerate(pairs.tolist()):
            first, second = self.forms[0][one], self.forms[1][other]
            if first == second:
                similarity[row] = 1.0
            elif first.startswith(STRING) and second.startswith(STRING):
                texts.append(row)
            else:
                similarity[row] = _measured(first, second)
        similarity[texts] = self._texts([(self.forms[0][a], self.forms[1][b]) for a, b in pairs[texts].tolist()])
        return similarity

    def _texts(self, pairs: list[tuple[str, str]]) -> np.ndarray:
        """Similarity of strings: the mean of the edit ratio, in the order that fits better, and of the cosine of their
        words, where words that may be the same count by how similar they are."""
        texts = [(self._text(first), self._text(second)) for first, second in pairs]
        sides = [[one.plain for one, _ in texts], [other.plain for _, other in texts]]
        ordered = [[one.ordered for one, _ in texts], [other.ordered for _, other in texts]]
        edits = np.maximum(
            *(cpdist(left, right, scorer=ratio, workers=-1).astype(float) / 100 for left, right in (sides, ordered))
        )
        found = edits / 2
        for row in np.flatnonzero(edits > FAR).tolist():
            one, other = texts[row]
            if edits[row] >= 1.0:
                found[row] = REORDERED
                continue
            found[row] = min(DIFFERENT, (edits[row] + self._cosine(one, other)) / 2)
            if one.numerals != other.numerals:
                found[row] = min(OTHER_NUMERAL if one.numerals and other.numerals else NO_NUMERAL, found[row])
        return found

    def _cosine(self, first: _Text, second: _Text) -> float:
        """Cosine of two sets of words by rarity; a word may stand for one that is nearly the same."""
        one, other = first.weights, second.weights
        shared = one.keys() & other.keys()
        product = sum(one[word] ** 2 for word in sorted(shared))
        left = {word: weight for word, weight in other.items() if word not in shared}
        if left and len(shared) < len(one):
            for word in sorted((each for each in one if each not in shared), key=lambda each: (-one[each], each)):
                likeness, near = max(((self._likeness(word, each), each) for each in left), default=(0.0, ""))
                if likeness > 0:
                    product += one[word] * left.pop(near) * likeness
        return product / max(1e-9, first.length * second.length)

    def _likeness(self, one: str, other: str) -> float:
        """How surely two words are the same: misspelled, shortened, or a noun and its adjective; 0 if not."""
        key = (one, other)
        found = self.likenesses.get(key)
        if found is None:
            found = self.likenesses[key] = _likeness(one, other)
        return found

    @cached_property
    def unseen(self) -> float:
        """Rarity of a word that occurs in long texts only."""
        return math.log1p(self.total)

    def _text(self, form: str) -> _Text:
        found = self.texts.get(form)
        if found is None:
            words = words_of(form)
            weights = {word: self.rarity.get(word, self.unseen) for word in words}
            length = math.sqrt(sum(weight**2 for weight in weights.values()))
            found = _Text(" ".join(words), " ".join(sorted(words)), _numerals(words), weights, length)
            self.texts[form] = found
        return found


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
