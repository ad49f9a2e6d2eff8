"""A join on rare n-grams finds the similar strings that comparing all with all finds, at a bounded cost."""

import random
from collections.abc import Iterator

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfVectorizer

from emea.evidence import ngrams as ngrams_module
from emea.evidence import rare
from emea.evidence.names import alike
from emea.evidence.ngrams import Letters, ngrams
from emea.evidence.rare import nearest_joined
from emea.settings import EvidenceSettings

ALL_WITH_ALL, JOINED = (EvidenceSettings(kind="all", most_strings=most) for most in (10**6, 0))
SYLLABLES = [first + second for first in "bdfgklmnprstvz" for second in ("a", "e", "i", "o", "u", "ar", "en", "is")]


def names(count: int, seed: int, ending: str = "") -> Iterator[str]:
    """Distinct names of one to three words."""
    chance, found = random.Random(seed), set[str]()
    while len(found) < count:
        words = ["".join(chance.choices(SYLLABLES, k=chance.randint(2, 4))) for _ in range(chance.randint(1, 3))]
        name = " ".join(words) + ending
        if name not in found:
            found.add(name)
            yield name


def slips(names: list[str], seed: int) -> list[str]:
    """The names with a letter or two changed, or their words in another order."""
    chance, found = random.Random(seed), []
    for name in names:
        letters = list(name)
        for _ in range(chance.randint(1, 2)):
            letters[chance.randrange(len(letters))] = chance.choice("abcdefghijklm")
        words = "".join(letters).split()
        found.append(" ".join(words[::-1] if chance.random() < 0.2 else words))
    return found


def two_lists(count: int, ending: str = "") -> tuple[list[str], list[str]]:
    """Names, and others of which two thirds are nearly the same."""
    left = [*names(count, 0, ending)]
    return left, [*slips(left[: 2 * count // 3], 1), *names(count // 3, 2, ending)]


def found(left: list[str], right: list[str], settings: EvidenceSettings) -> dict[tuple[int, int], float]:
    pairs, likeness = alike(left, right, settings)
    return {(a, b): value for (a, b), value in zip(pairs.tolist(), likeness.tolist(), strict=True)}


@pytest.mark.parametrize("table", [0, 2**27])
def test_ngrams_are_those_of_scikit_learn(table: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both where letters are few and where there are too many for a table of all n-grams."""
    monkeypatch.setattr(ngrams_module, "TABLE", table)
    left, right = [*names(50, 0), "ab", "x", "北京 西", "aaaaaaa"], [*names(40, 1), "北京 西 x", "ա", "𝔞𝔟𝔠"]
    expected = TfidfVectorizer(analyzer="char", ngram_range=(3, 3), lowercase=False).fit_transform(
        [f" {text} " for text in (*left, *right)]
    )
    first, second = ngrams(Letters(left), Letters(right))
    assert np.allclose((first @ second.T).toarray(), (expected[: len(left)] @ expected[len(left) :].T).toarray())
    assert np.allclose((first @ first.T).toarray(), (expected[: len(left)] @ expected[: len(left)].T).toarray())


def test_the_join_finds_what_comparing_all_with_all_finds() -> None:
    left, right = two_lists(1500)
    expected, joined = (found(left, right, settings) for settings in (ALL_WITH_ALL, JOINED))
    assert len(expected) > 900
    assert len(expected.keys() & joined.keys()) >= 0.995 * len(expected)
    assert len(joined.keys() - expected.keys()) <= 0.005 * len(expected)
    assert all(joined[pair] == pytest.approx(expected[pair], abs=1e-12) for pair in joined.keys() & expected.keys())


def test_a_small_budget_keeps_the_most_similar(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a million strings may spend, on fewer: a hundredth of the other side each."""
    left, right = two_lists(1500)
    expected = found(left, right, ALL_WITH_ALL)
    monkeypatch.setattr(rare, "JOINED", 0)
    monkeypatch.setattr(rare, "LEAST_JOINED", 15)
    joined, surest = found(left, right, JOINED), {pair for pair, value in expected.items() if value >= 0.7}
    assert len(surest) > 400
    assert len(surest & joined.keys()) >= 0.97 * len(surest)
    assert len(expected.keys() & joined.keys()) >= 0.9 * len(expected)


def test_ngrams_that_every_string_has_join_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    joined, budget = 0, 50
    shortlist = rare._shortlist

    def counting(score: csr_matrix) -> np.ndarray:
        nonlocal joined
        joined += score.nnz
        return shortlist(score)

    monkeypatch.setattr(rare, "_shortlist", counting)
    monkeypatch.setattr(rare, "JOINED", 0)
    monkeypatch.setattr(rare, "LEAST_JOINED", budget)
    left, right = two_lists(6000, ending=" department of agriculture")
    pairs, _ = nearest_joined(left, right, 5)
    assert 0 < joined <= budget * (len(left) + len(right))  # 72 million if a shared n-gram were enough
    assert len({a for a, b in pairs.tolist() if a == b}) > 0.9 * 4000


def test_blocks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = two_lists(300)
    whole = nearest_joined(left, right, 5)
    monkeypatch.setattr(rare, "STRINGS", 7)
    monkeypatch.setattr(rare, "PAIRS", 11)
    assert all(np.array_equal(*both) for both in zip(whole, nearest_joined(left, right, 5), strict=True))


def test_long_strings_are_joined_by_their_beginnings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rare, "LETTERS", 0)
    tail = " and so on" * 500
    left, right = ([name + tail for name in side] for side in two_lists(30))
    pairs = {(a, b) for a, b in found(left, right, JOINED) if a == b}
    assert len(pairs) >= 18


def test_strings_that_share_nothing_are_not_joined() -> None:
    for left, right in ((["qqq"], ["zzz"]), (["a"], ["b"]), ([""], ["", "abc"])):
        pairs, cosine = nearest_joined(left, right, 5)
        assert pairs.shape == (0, 2)
        assert cosine.shape == (0,)


def test_strings_are_joined_with_the_nearest_of_either_side() -> None:
    one, several = ["karamela"], ["karamelo", "karamel", "karamelas"]
    assert nearest_joined(one, several, 1)[0].tolist() == [[0, 0], [0, 1], [0, 2]]
    assert nearest_joined(several, one, 1)[0].tolist() == [[0, 0], [1, 0], [2, 0]]
