"""The paired t-test is that of scipy, and says something sensible where scipy has no answer."""

import random

import pytest
from scipy import stats

from answers import column
from emea.analysis.significance import paired_t_test


def test_paired_t_test_is_that_of_scipy_on_reciprocal_ranks() -> None:
    chance = random.Random(2)
    first = [chance.choice([1, 1, 1.5, 2, 3, 10]) for _ in range(40)]
    second = [chance.choice([1, 2, 2.5, 4, 20]) for _ in range(40)]
    difference, p_value = paired_t_test(1 / column(first), 1 / column(second))
    expected = stats.ttest_rel([1 / r for r in first], [1 / r for r in second])
    assert difference == pytest.approx(sum(1 / a - 1 / b for a, b in zip(first, second, strict=True)) / 40, rel=1e-12)
    assert p_value == pytest.approx(expected.pvalue, rel=1e-9)
    assert paired_t_test(1 / column(second), 1 / column(first)) == pytest.approx((-difference, p_value), rel=1e-12)


def test_two_equal_runs_do_not_differ() -> None:
    difference, p_value = paired_t_test(column([1, 2, 3]), column([1, 2, 3]))
    assert difference == 0.0
    assert p_value == 1.0


def test_runs_that_differ_by_the_same_everywhere_surely_differ() -> None:
    assert paired_t_test(column([1, 1, 1]), column([0.5, 0.5, 0.5])) == (0.5, 0.0)
