"""Curves, bins and the calibration error equal slow loops over the links."""

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from answers import column
from emea.analysis.calibration import calibration_error, curve, reliability
from emea.method.matching import Calibration

SMALL = settings(max_examples=60, derandomize=True)


@given(st.integers(1, 400), st.integers(1, 8), st.randoms(use_true_random=False))
@SMALL
def test_the_curve_is_what_accepting_the_surest_gives(count: int, levels: int, chance: random.Random) -> None:
    confidence = [chance.randint(0, levels * 40) / (levels * 40) for _ in range(count)]
    right = [chance.random() < value for value in confidence]
    points = curve(torch.tensor(confidence), torch.tensor(right), known=count + 3)
    assert len(points) <= 109
    assert points[-1].links == count
    assert [point.confidence for point in points] == sorted({point.confidence for point in points}, reverse=True)
    for point in points:
        accepted = [good for value, good in zip(confidence, right, strict=True) if value >= point.confidence - 1e-6]
        assert point.links == len(accepted)
        assert point.precision == pytest.approx(sum(accepted) / len(accepted))
        assert point.recall == pytest.approx(sum(accepted) / (count + 3))


def test_the_curve_tells_exactly_how_many_are_that_sure() -> None:
    confidence = torch.arange(10_001, dtype=torch.float64) / 10_000
    points = curve(confidence, confidence > 0.3, 20_000)
    for level, count in ((0.99, 101), (0.95, 501), (0.9, 1001), (0.5, 5001)):
        assert [point for point in points if point.confidence >= level][-1].links == count


def test_bins_of_reliability_hold_all_links_and_their_order() -> None:
    chance = random.Random(0)
    confidence = torch.tensor([chance.random() for _ in range(500)], dtype=torch.float64)
    bins = reliability(confidence, confidence > 0.7)
    assert sum(one.links for one in bins) == 500
    assert max(one.links for one in bins) - min(one.links for one in bins) <= 1
    assert [one.confidence for one in bins] == sorted(one.confidence for one in bins)
    assert bins[0].right == 0
    assert bins[-1].right == 1


def test_calibration_error_by_hand() -> None:
    # 450 links in 15 bins of thirty: confidence of bin b is (b + ½)/15 ± 0.01; of every third bin all are right, else
    # every other one
    confidence, right, expected = [], [], 0.0
    for b in range(15):
        middle = (b + 0.5) / 15
        confidence += [middle - 0.01, middle + 0.01] * 15
        right += [True, b % 3 == 0] * 15
        expected += abs(middle - (1.0 if b % 3 == 0 else 0.5)) / 15
    order = list(range(450))
    random.Random(1).shuffle(order)
    bins = reliability(
        torch.tensor([confidence[row] for row in order], dtype=torch.float64),
        torch.tensor([right[row] for row in order]),
    )
    assert calibration_error(bins) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("count", [1, 59, 60, 449, 500, 3000])
def test_calibration_error_equals_a_loop_over_bins_of_equal_mass(count: int) -> None:
    chance = random.Random(count)
    rows = sorted((chance.random(), chance.random() < 0.6) for _ in range(count))
    bins = max(1, min(15, count // 30))
    sizes = [count // bins + (position < count % bins) for position in range(bins)]  # as even as can be
    expected, first = 0.0, 0
    for size in sizes:
        part = rows[first : first + size]
        expected += abs(sum(c for c, _ in part) - sum(r for _, r in part)) / count
        first += size
    found = reliability(column([c for c, _ in rows]), torch.tensor([r for _, r in rows]))
    assert calibration_error(found) == pytest.approx(expected, rel=1e-12)


def test_calibration_error_of_nothing_is_zero() -> None:
    assert calibration_error(reliability(column([]), torch.tensor([], dtype=torch.bool))) == 0.0


def test_doubtful_trials_hardly_move_what_is_usual() -> None:
    links = torch.full((1000,), 0.96, dtype=torch.float64)
    doubtful = torch.tensor([[0.6, 1.0]] * 70 + [[0.6, 0.0]] * 5, dtype=torch.float64)
    asked = torch.tensor([0.6, 0.96], dtype=torch.float64)
    far, near = Calibration(doubtful)(asked), Calibration(doubtful, links)(asked)
    assert float(near[0]) == pytest.approx(70 / 75, abs=0.04)  # where people looked
    assert float(far[1]) > 0.985
    assert float(near[1]) == pytest.approx(0.96, abs=0.012)
    wrong = torch.tensor([[0.96, 0.0]] * 25, dtype=torch.float64)
    assert float(Calibration(wrong, links)(asked)[1]) < 0.6  # unless sure links turn out to be wrong
