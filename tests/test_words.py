"""Words are compared all at once as they would be one by one, and entities are joined by those that few have."""

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest

from emea.evidence import joins
from emea.evidence.similarity import Similarity
from emea.evidence.values import Forms, Values
from emea.evidence.words import ABBREVIATED, DERIVED, Vocabulary, Words, likeness, singular, words_of

SYLLABLES = ("ka", "mer", "to", "lin", "s", "ri", "um", "an", "ba", "x", "ti", "on", "12", "iv")


def random_words(draw: np.random.Generator, count: int) -> list[str]:
    """Many alike: from few syllables, some with a letter changed."""
    words = ["".join(draw.choice(SYLLABLES[:12], draw.integers(1, 5))) for _ in range(count)]
    words += [word.replace(str(draw.choice(list(word))), "e", 1) for word in words[: count // 2]]
    return sorted({*words, *SYLLABLES})


def random_forms(draw: np.random.Generator, words: list[str], count: int) -> Forms:
    return Forms({"s " + " ".join(draw.choice(words, draw.integers(1, 7))) for _ in range(count)})


def test_all_words_at_once_are_as_alike_as_one_by_one() -> None:
    words = random_words(np.random.default_rng(0), 150)
    one, other = (column.ravel() for column in np.meshgrid(*[np.arange(len(words))] * 2))
    one, other = one[one != other], other[one != other]
    found = Vocabulary(words).likeness(one, other)
    assert found.tolist() == [likeness(words[a], words[b]) for a, b in zip(one, other, strict=True)]
    assert 100 < np.count_nonzero(found) < len(found) / 2


def test_two_letters_that_changed_places_leave_a_word_much_the_same() -> None:
    assert likeness("wsahington", "washington") == pytest.approx(0.9)
    assert likeness("was", "washingtonian") < 0.9  # too short to be a misspelling of it


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("j", "john", ABBREVIATED),
        ("prof", "professor", 0.0),  # of four letters, no abbreviation, and less than half of a word
        ("spleen", "splenic", DERIVED),
        ("card", "carpet", 0.0),  # three letters are no stem
        ("j", "anna", 0.0),
    ],
)
def test_abbreviations_and_words_with_one_stem(one: str, other: str, expected: float) -> None:
    assert likeness(one, other) == likeness(other, one) == expected


@pytest.mark.parametrize(("one", "other"), [("1024", "1025"), ("1024", "102"), ("viii", "vii"), ("xiii", "xiiii")])
def test_numbers_are_the_same_or_different(one: str, other: str) -> None:
    assert likeness(one, other) == 0.0
    words = sorted([one, other])
    assert Vocabulary(words).likeness(np.array([0]), np.array([1])).tolist() == [0.0]


def plain_cosine(first: list[str], second: list[str], rarity: dict[str, float]) -> float:
    """Each word of the first, the rarest first, stands for the word of the second most like it that is left."""
    shared, left = {*first} & {*second}, {*second} - {*first}
    product = sum(rarity[word] ** 2 for word in shared)
    for word in sorted({*first} - shared, key=lambda word: (-rarity[word], word)):
        alike, near = max(((likeness(word, each), each) for each in left), default=(0.0, ""))
        if alike > 0:
            product += rarity[word] * rarity[near] * alike
            left.remove(near)
    return product / math.prod(math.sqrt(sum(rarity[word] ** 2 for word in {*side})) for side in (first, second))


@pytest.mark.parametrize("seed", range(3))
def test_all_texts_at_once_are_as_similar_as_one_by_one(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emea.evidence.words.WORD_BLOCK", 50)  # many blocks
    draw = np.random.default_rng(seed)
    words = random_words(draw, 40)
    first, second = (random_forms(draw, words, 40) for _ in range(2))
    texts = Similarity(first, second)
    held = [words_of(form[2:]) for form in (*first, *second)]
    rarity = {word: math.log1p(len(held) / sum(word in each for each in held)) for word in {*itertools.chain(*held)}}
    pairs = np.array([*itertools.product(range(len(first)), range(len(second)))])
    found = texts.texts.cosines(*(numbers[side] for numbers, side in zip(texts.numbers, pairs.T, strict=True)))
    expected = [plain_cosine(held[a], held[len(first) + b], rarity) for a, b in pairs.tolist()]
    assert found == pytest.approx(expected, abs=1e-12)


def test_words_are_read_as_for_a_single_text() -> None:
    texts = ["", "The Hague 12", "of the", "stars of the galaxies", "Αθήνα"]
    words = Words.read(texts)
    assert [words.of(place) for place in range(len(texts))] == [words_of(text) for text in texts]


@pytest.mark.parametrize("alone", [False, True])
def test_entities_are_joined_by_the_rarest_words(monkeypatch: pytest.MonkeyPatch, *, alone: bool) -> None:
    monkeypatch.setattr(joins, "MOST_HOLDERS", 8)
    monkeypatch.setattr(joins, "BEST", 2)
    monkeypatch.setattr(joins, "WORD_BLOCK", 20)
    draw, size = np.random.default_rng(1), 40
    words, sides = [f"{a}{b}" for a, b in itertools.product("bdfghklm", "aeio")], []
    for _ in range(1 if alone else 2):
        forms = random_forms(draw, words, 30)
        held = np.unique(draw.integers(0, (size, len(forms)), (60, 2)), axis=0)
        sides.append(Values(held[:, 0], held[:, 0] * 0, held[:, 1], forms, pa.array(["name"]), {}))
    first, second = sides[0], sides[-1]
    holders = []
    for side in (first, second):
        rows = [(entity, side.forms[value]) for entity, value in zip(side.entity.tolist(), side.value, strict=True)]
        found = {word: {entity for entity, form in rows if word in words_of(form[2:])} for word in words}
        times = {word: sum(word in words_of(form[2:]) for _, form in rows) for word in words}
        holders.append({w: each for w, each in found.items() if 0 < len(each) <= 8 and times[w] <= 32})
    weight: dict[tuple[int, int], float] = {}
    for word in holders[0].keys() & holders[1].keys():
        told = math.log(2 * size / (len(holders[0][word]) + len(holders[1][word])))
        for pair in itertools.product(holders[0][word], holders[1][word]):
            weight[pair] = weight.get(pair, 0.0) + told
    expected = {
        pair
        for pair, own in weight.items()
        if any(sum(w > own + 1e-9 for p, w in weight.items() if p[end] == pair[end]) < 2 for end in (0, 1))
    }
    assert {tuple(pair) for pair in joins._by_words(first, second, (size, size)).tolist()} == expected
    assert 20 < len(expected) < len(weight)


def test_a_graph_of_one_entity_is_joined_by_words() -> None:
    texts = ["s red castle"], ["s blue tower", "s old castle", "s green red"]
    rows = [np.arange(len(each)) for each in texts]
    one, other = (Values(n, n * 0, n, Forms(each), pa.array(["name"]), {}) for n, each in zip(rows, texts, strict=True))
    assert joins._by_words(one, other, (1, 3)).tolist() == [[0, 1], [0, 2]]


@pytest.mark.parametrize(
    ("plural", "expected"),
    [("axes", "axe"), ("boxes", "box"), ("lies", "lie"), ("flies", "fly"), ("oaks", "oak"), ("gas", "gas")],
)
def test_short_words_keep_what_is_no_ending(plural: str, expected: str) -> None:
    assert singular(plural) == expected
