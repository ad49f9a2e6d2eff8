"""How similar two values in normal form are, whatever their kinds: strings, numbers, dates."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from rapidfuzz.fuzz import ratio
from rapidfuzz.process import cpdist

from emea.evidence.values import DAY, NUMBER_FORM, STRING, Forms
from emea.evidence.words import ROMAN, Texts, Vocabulary, other_amounts
from emea.kernels.limits import SMALLEST_DIVISOR
from emea.order import unique_numbers

REORDERED = 0.99  # the same words in another order, or in the plural
DIFFERENT = 0.98  # at most, for strings that differ otherwise
OTHER_NUMERAL = (
    0.6  # at most, for strings that each have a numeral of their own: "T9" and "T10", "1 Oak St" and "2 Oak St"
)
NO_NUMERAL = 0.8  # at most, for strings of which one has a numeral
MEASURED = 10_000  # integers from here on are measured, not counted
SCALE = 3.0  # numbers that differ by a share s have the similarity 1 − SCALE · s
ROUNDED = 0.99  # a measured number, and the same with fewer digits
FEWEST_DIGITS = 100.0  # what is left of a number without its point, at least, for its digits to tell something
ONE_APART = 0.6  # counted numbers, or years, that differ by one
NEXT_DAY = 0.95  # days that follow each other
SLIPPED = 0.9  # the same but for the order of day and month, or for a year
SAME_MONTH, OTHER_YEAR, SAME_YEAR = 0.8, 0.72, 0.6  # other days of a month; the same day of another year; of a year
YEAR_OF_DAY = 0.95  # a day and its year
NO_DATE = (np.nan, np.nan, np.nan)
CONTAINED = 0.8  # at least, for strings of which one has all words of the other, if one of these is rare
COMMON = 0.05  # share of the strings from which a word that only one of two has says nothing: "(given name)"
CODE_DIGITS, YEAR = 3, re.compile(r"1[5-9]\d\d|20\d\d")  # of a number that may be that of a model; what is none
FEW, RARE = 4, 0.02  # strings of both graphs that have a rare word, at most, and as a share of all
LONG = 120  # characters: longer strings are texts, which say nothing about how rare a word is in names
FAR = 0.35  # edit ratio up to which words are not compared


@dataclass(frozen=True, slots=True)
class _Text:
    """A string as it is compared."""

    plain: str  # its words
    ordered: str  # its words, sorted
    telling: str  # its words that are not common
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
        same_code = self._same_code(one, other)
        contained = self._contained(one, other) | same_code
        near = np.flatnonzero(((edits > FAR) | contained) & (edits < 1.0))
        further = near[contained[near]]
        bare = _edit_ratios([firsts[row].telling for row in further], [seconds[row].telling for row in further])
        edits[further] = np.maximum(edits[further], np.minimum(REORDERED, bare))
        alike = (edits[near] + self.texts.cosines(one[near], other[near])) / 2
        alike = np.where(contained[near], np.maximum(CONTAINED, alike), alike)
        left, right = (np.array([side[row].numerals for row in near.tolist()], int) for side in (firsts, seconds))
        most = np.where((left > 0) & (right > 0), OTHER_NUMERAL, NO_NUMERAL)
        most = np.where(self._further(left, right) | same_code[near], DIFFERENT, most)
        found[near] = np.minimum(most, alike)
        return found

    def inside(self, pairs: np.ndarray, similarity: np.ndarray) -> np.ndarray:
        """Similarity of the forms at these positions, [pairs], given how similar they are as a whole, if it is enough
        that the words of the shorter one are among those of the longer one: the share of them that are, the rarer the
        more. Its numerals have to be among them, too. Of a page and a range of pages, the number is its word."""
        one, other = (numbers[column] for numbers, column in zip(self.numbers, pairs.T, strict=True))
        found, texts = similarity.copy(), self.texts
        fewer = texts.count[one] < texts.count[other]  # of a number none
        short, long = np.where(fewer, one, other), np.where(fewer, other, one)
        rows = np.flatnonzero((self.digits[short] >= 0) & (texts.count[long] > 1))
        found[rows[texts.have(long[rows], self.digits[short[rows]])]] = DIFFERENT
        rows = np.flatnonzero(self.strings[short] & self.strings[long] & (texts.count[one] != texts.count[other]))
        short, long = short[rows], long[rows]
        share = texts.cosines(short, long) * texts.length[long] / np.maximum(SMALLEST_DIVISOR, texts.length[short])
        likely, sets = np.flatnonzero(share > OTHER_NUMERAL), list(self.numerals)
        numerals = ([sets[self.read[number].numerals] for number in side[likely].tolist()] for side in (short, long))
        fits = np.array([few <= many for few, many in zip(*numerals, strict=True)], dtype=bool)
        share[likely] = np.minimum(share[likely], np.where(fits, DIFFERENT, OTHER_NUMERAL))
        found[rows] = np.maximum(found[rows], share)
        return found

    def _further(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Whether strings with these numerals have the same, or one has further ones, as an address with its postcode,
        [pairs] bool."""
        found: np.ndarray = left == right
        other = np.flatnonzero(~found & (left > 0) & (right > 0))
        sets, pairs = list(self.numerals), zip(left[other].tolist(), right[other].tolist(), strict=True)
        found[other] = [sets[one] <= sets[two] or sets[two] <= sets[one] for one, two in pairs]
        return found

    def _contained(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Whether one string has all words of the other, and one of these is in few strings, [pairs] bool."""
        texts = self.texts
        fewer = texts.count[one] <= texts.count[other]
        short, long = np.where(fewer, one, other), np.where(fewer, other, one)
        found: np.ndarray = texts.rarest[short] >= self.rare
        found[found] = texts.contain(long[found], short[found])
        return found

    def _same_code(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Whether both strings have, besides words, a number that is in few strings, such as that of a model, and do
        not differ in an amount, such as 64 GB and 128 GB, [pairs] bool."""
        found: np.ndarray = self.coded[one] & self.coded[other]
        rows = np.flatnonzero(found)
        found[rows] = self.texts.share(one[rows], other[rows], self.codes)
        pairs = zip(one[found].tolist(), other[found].tolist(), strict=True)
        found[found] = [not other_amounts(self.read[first].plain, self.read[second].plain) for first, second in pairs]
        return found

    @cached_property
    def digits(self) -> np.ndarray:
        """The word that each whole number is, [forms]; −1 for other forms."""
        place = {int(word): number for number, word in enumerate(self.texts.vocabulary.words) if word.isdecimal()}
        return np.array([place.get(number, -1) for number in self.measures.number.tolist()], dtype=np.int64)

    @cached_property
    def codes(self) -> np.ndarray:
        """The words that are numbers of several digits in few strings, and no years, [vocabulary] bool."""
        words = self.texts.vocabulary.words
        long = [len(word) >= CODE_DIGITS and word.isdigit() and not YEAR.fullmatch(word) for word in words]
        found: np.ndarray = np.array(long, dtype=bool) & (self.texts.rarity >= self.rare)
        return found

    @cached_property
    def coded(self) -> np.ndarray:
        """The strings that have such a number and other words than numbers, [forms] bool."""
        texts = self.texts
        text = np.repeat(np.arange(len(texts.count)), texts.count)
        codes, words = (
            np.bincount(text, each[texts.word], len(texts.count)) > 0
            for each in (self.codes, ~texts.vocabulary.numeral)
        )
        found: np.ndarray = codes & words
        return found

    @property
    def rare(self) -> float:
        """How rare a word in few strings is."""
        return float(np.log1p(max(self.total / FEW, 1 / RARE)))

    @cached_property
    def times(self) -> np.ndarray:
        """In how many of the graphs each form is, [forms]."""
        return np.bincount(np.concatenate(self.numbers), minlength=len(self.strings))

    @cached_property
    def total(self) -> int:
        """How many strings both graphs have together."""
        return max(1, int((self.times * self.strings).sum()))

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
        found = np.bincount(word, (self.times * self.short)[text], len(number))
        rarity = np.log1p(self.total / np.maximum(1, found))
        return Texts.build(vocabulary, rarity, text, word, len(self.strings))

    @cached_property
    def common(self) -> frozenset[str]:
        """The words that are in many strings."""
        words, rarity = self.texts.vocabulary.words, self.texts.rarity
        return frozenset(words[place] for place in np.flatnonzero(rarity < np.log1p(1 / COMMON)).tolist())

    @cached_property
    def numeric(self) -> frozenset[str]:
        """The words that are numerals."""
        words = {*self.forms[0].words.vocabulary, *self.forms[1].words.vocabulary}
        return frozenset(word for word in words if word in ROMAN or any(letter.isdigit() for letter in word))

    def _text(self, words: list[str]) -> _Text:
        number = self.numerals.setdefault(self.numeric.intersection(words), len(self.numerals))
        telling = [word for word in words if word not in self.common]
        return _Text(" ".join(words), " ".join(sorted(words)), " ".join(telling), number)


def _edit_ratios(left: list[str], right: list[str]) -> np.ndarray:
    """Of the strings side by side, [pairs]."""
    ratios: np.ndarray = cpdist(left, right, scorer=ratio, workers=-1).astype(float) / 100
    return ratios


@dataclass(frozen=True, eq=False)
class _Measures:
    """What values other than strings are compared by, [forms]; NaN stands for nothing."""

    number: np.ndarray
    unit: np.ndarray  # in which a number is given: 0.1 for 12.5, 1 for 12
    date: np.ndarray  # [forms, 3] year, month and day; of a whole number, the year alone

    @classmethod
    def build(cls, forms: Iterable[str]) -> _Measures:
        """Read the forms."""
        number, unit, date = [], [], []
        for form in forms:
            is_number, is_day, text = form.startswith(NUMBER_FORM), form.startswith(DAY), form[len(DAY) :]
            number.append(float(text) if is_number else np.nan)
            unit.append(0.1 ** len(text.partition(".")[2]) if "e" not in text else np.nan)
            date.append((float(text[:-6]), float(text[-5:-3]), float(text[-2:])) if is_day else NO_DATE)
        found = np.array(date, dtype=float).reshape(-1, 3)
        whole = (np.array(number) % 1 == 0) & (np.abs(number) < MEASURED)  # others are no years
        found[whole, 0] = np.array(number)[whole]
        return cls(np.array(number), np.array(unit), found)

    def compared(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Similarity of values that differ and are not both strings, [pairs]."""
        found = self._dates(one, other)
        a, b = self.number[one], self.number[other]
        numbers = np.flatnonzero(~np.isnan(a) & ~np.isnan(b))
        a, b = a[numbers], b[numbers]
        apart, most = np.abs(a - b), np.maximum(np.abs(a), np.abs(b))
        counted = (a % 1 == 0) & (b % 1 == 0) & (most < MEASURED)  # years, sizes: near misses are errors at best
        near = (1 - SCALE * apart / np.maximum(most, SMALLEST_DIVISOR)).clip(0.0, DIFFERENT)
        unit = np.maximum(self.unit[one[numbers]], self.unit[other[numbers]])
        near[(apart <= 0.501 * unit) & (most >= FEWEST_DIGITS * unit)] = ROUNDED
        found[numbers] = np.where(counted, np.where((apart <= 1) & (most > 20), ONE_APART, 0.0), near)
        return found

    def _dates(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Similarity of two days, or of a day and a year, [pairs]; 0 for others."""
        first, second = self.date[one], self.date[other]
        days = (~np.isnan(first[:, 1])).astype(int) + ~np.isnan(second[:, 1])
        year, month, day = (first == second).T
        years = np.abs(first[:, 0] - second[:, 0])
        swapped = year & (first[:, 1] == second[:, 2]) & (first[:, 2] == second[:, 1])
        both, single = days == 2, days == 1
        cases = (
            (both & (np.abs(_days_before(first) - _days_before(second)) == 1), NEXT_DAY),
            (both & (swapped | (month & day & (years == 1))), SLIPPED),
            (both & year & month, SAME_MONTH),
            (both & month & day, OTHER_YEAR),
            (both & year, SAME_YEAR),
            (single & year, YEAR_OF_DAY),
            (single & (years == 1), ONE_APART),
        )
        found: np.ndarray = np.select([case for case, _ in cases], [alike for _, alike in cases], 0.0)
        return found


def _days_before(dates: np.ndarray) -> np.ndarray:
    """Days from some day to each date, [dates], in the Gregorian calendar; NaN for what is no date."""
    year, month, day = dates.T
    year, month = year - (month < 3), (month + 9) % 12  # so that a leap day is the last of a year
    before = 365 * year + np.floor(year / 4) - np.floor(year / 100) + np.floor(year / 400)
    found: np.ndarray = before + np.floor((153 * month + 2) / 5) + day
    return found
