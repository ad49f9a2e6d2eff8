"""What pairs within a graph stand for, against sums that are written out pair by pair."""

from itertools import product

import numpy as np
import pytest

from emea.method.chance import raised
from emea.method.coincidences import START, STAYED, Coincidences, crowded

SOURCES, TARGETS = 7, 9
OFFSETS = np.array([0, SOURCES])  # entities of the target graph come after those of the source graph


def drawn(seed: int) -> tuple[np.random.Generator, np.ndarray, np.ndarray]:
    """Pairs between two graphs, sorted, and pairs within one of them."""
    draw = np.random.default_rng(seed)
    between = np.array(list(product(range(SOURCES), range(TARGETS))))
    between = between[np.sort(draw.choice(len(between), 40, replace=False))]
    inside = [(a, b) for a, b in product(range(SOURCES), repeat=2) if a < b]
    inside += [(SOURCES + a, SOURCES + b) for a, b in product(range(TARGETS), repeat=2) if a < b]
    return draw, between, np.array(inside)


def counted(ends: np.ndarray, score: np.ndarray) -> np.ndarray:
    """How many pairs of either entity are as good, counted pair by pair."""
    found = [
        [np.sum((ends == entity).any(1) & (score >= own)) for entity in pair] if own > 0 else []
        for pair, own in zip(ends, score, strict=True)
    ]
    return np.array([max([1, *each]) for each in found])


@pytest.mark.parametrize("seed", range(5))
def test_pairs_that_are_as_good_are_counted_by_their_entities(seed: int) -> None:
    draw, between, _ = drawn(seed)
    score = draw.integers(-3, 5, len(between)) / 2
    ends = between + OFFSETS
    for columns in ([0, 1], [0], [1], []):
        assert crowded(ends[:, columns], score).tolist() == counted(ends[:, columns], score).tolist()


@pytest.mark.parametrize("seed", range(5))
def test_a_pair_within_a_graph_passes_its_weight_on_unless_neither_of_its_entities_is_linked(seed: int) -> None:
    draw, between, inside = drawn(seed)
    weight, probability = draw.random(len(inside)), draw.random(len(between))
    score, places = draw.integers(-3, 5, len(between)) / 2, draw.integers(-3, 5, len(inside)) / 2
    found = Coincidences(between, inside, (SOURCES, TARGETS), (True, True))
    own, passed, rest = found.weights(weight, probability, score, [places])

    row_of = {tuple(pair): row for row, pair in enumerate(between.tolist())}
    links = {}  # of each entity: its most probable pair
    for row, (source, target) in enumerate(between.tolist()):
        for entity in (source, SOURCES + target):
            if entity not in links or probability[row] > probability[links[entity]]:
                links[entity] = row
    sure = {entity: float(probability[row]) for entity, row in links.items()}
    left, expected, lost = weight.copy(), np.zeros(len(between)), 0.0
    received, gone, come = [], [], []  # the latter two: score and weight, as far as links are trusted
    for number, pair in enumerate(inside.tolist()):
        left[number] *= (1 - sure.get(pair[0], 0.0)) * (1 - sure.get(pair[1], 0.0))
        for one, other in (pair, pair[::-1]):
            if other not in links:
                continue
            share = weight[number] * sure[other] * (1 - 0.5 * sure.get(one, 0.0))
            trust, trust_in_one = (max(0.0, (sure.get(each, 0.0) - START) / (1 - START)) for each in (other, one))
            trusted = weight[number] * trust * (1 - 0.5 * trust_in_one)
            gone.append((places[number], trusted))
            source, target = between[links[other]].tolist()
            beside = (one, target) if other < SOURCES else (source, one - SOURCES)
            if beside in row_of:
                received.append((row_of[beside], share))
                come.append((score[row_of[beside]], trusted))
            else:
                lost += share
    for row, share in received:
        expected[row] += share
    rows = np.unique([row for row, _ in received])
    expected[rows] /= counted(between[rows] + OFFSETS, score[rows])
    for number, place in enumerate(places):
        seen, made = (sum(part for at, part in parts if at >= place) for parts in (come, gone))
        left[number] *= min(1.0, (seen + STAYED) / (made + STAYED)) if place > 0 else 1.0
    assert own[0] == pytest.approx(left / counted(inside, places))
    assert passed == pytest.approx(expected)
    assert rest == pytest.approx(lost)


def test_families_of_one_graph_only_hardly_count() -> None:
    """Ten sure links, families of alike entities within the source graph, and nothing alike between the graphs."""
    between = np.c_[np.arange(10), np.arange(10)]
    inside = np.array([(a, b) for a in range(12) for b in range(a + 1, 12)])
    found = Coincidences(between, inside, (12, 10), (True, True))
    alike, different = np.ones(len(inside)), -np.ones(len(inside))
    own, _, _ = found.weights(np.ones(len(inside)), np.ones(10), np.zeros(10), [alike, different])
    left = (inside >= 10).all(1)  # neither is linked
    assert (own[0][left] < 0.1).all()
    assert (own[1][left] == 1).all()
    unsure, _, _ = found.weights(np.ones(len(inside)), np.full(10, START), np.zeros(10), [different, alike])
    assert unsure[1][left] == pytest.approx(1 / 11), "such links are not trusted: its entities only compete"


def test_without_links_pairs_within_a_graph_keep_their_weight() -> None:
    _, between, inside = drawn(0)
    found = Coincidences(between[:0], inside, (SOURCES, TARGETS), (True, True))
    own, passed, rest = found.weights(np.ones(len(inside)), np.zeros(0), np.zeros(0), [np.zeros(len(inside))])
    assert (own[0] == 1).all()
    assert (len(passed), rest) == (0, 0)


def test_scores_that_hardly_differ_are_one() -> None:
    score = np.array([3.0, 1.0])
    assert raised(np.array([0.5, 0.95, 1.0, 1.05, 2.95, 3.02]), score).tolist() == [0.5, 1.0, 1.0, 1.05, 3.0, 3.02]
    assert raised(np.array([1.0]), np.zeros(0)).tolist() == [1.0]
