"""Sums and products along edges equal python loops, with their gradients, whatever the order of the entries."""

import math
import random

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from emea.kernels.messages import Pattern, edge_softmax, mean, plain_product, plain_sum, products, take, weighted_sum

CLOSE = {torch.float32: 1e-5, torch.float64: 1e-12}
EVERY_DTYPE = pytest.mark.parametrize("dtype", list(CLOSE), ids=str)

# rows 1 and 4 are empty, (3, 2) stands there three times, column 3 is never met; not in order
MIXED = Pattern(torch.tensor([3, 0, 3, 2, 0, 3, 2]), torch.tensor([2, 4, 2, 0, 1, 2, 4]), (5, 6))
SORTED = Pattern(torch.tensor([0, 0, 2, 2, 3]), torch.tensor([1, 4, 0, 0, 5]), (5, 6))
NOTHING = Pattern(torch.empty(0, dtype=torch.int64), torch.empty(0, dtype=torch.int64), (5, 6))


def random_pattern(entries: int, rows: int, columns: int, seed: int) -> Pattern:
    draw = random.Random(seed)
    places = [(draw.randrange(rows), draw.randrange(columns)) for _ in range(entries)]
    return Pattern(torch.tensor([r for r, _ in places]), torch.tensor([c for _, c in places]), (rows, columns))


PATTERNS = {
    "mixed": MIXED,
    "sorted": SORTED,
    "nothing": NOTHING,
    "one": Pattern(torch.tensor([4]), torch.tensor([0]), (5, 6)),
    "random": random_pattern(100, 17, 9, seed=1),
    "wide": random_pattern(60, 3, 40, seed=2),
    "crowded": random_pattern(40, 5, 6, seed=3),  # more entries than places
}
every_pattern = pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)


def numbers(*shape: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def arguments(pattern: Pattern, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """Values of the entries, features of the rows, features of the columns."""
    rows, columns = pattern.shape
    return (
        numbers(len(pattern.row), seed=1, dtype=dtype),
        numbers(rows, 3, seed=2, dtype=dtype),
        numbers(columns, 3, seed=3, dtype=dtype),
    )


def entries(pattern: Pattern) -> list[tuple[int, int]]:
    return list(zip(pattern.row.tolist(), pattern.column.tolist(), strict=True))


def slow_sum(pattern: Pattern, values: list[float], features: list[list[float]], width: int = 3) -> list[list[float]]:
    total = [[0.0] * width for _ in range(pattern.shape[0])]
    for (row, column), value in zip(entries(pattern), values, strict=True):
        for place in range(width):
            total[row][place] += value * features[column][place]
    return total


def check(result: Tensor, expected: list[list[float]] | list[float], dtype: torch.dtype) -> None:
    assert result.dtype == dtype
    wanted = torch.tensor(expected, dtype=torch.float64).reshape(result.shape)
    torch.testing.assert_close(result.double(), wanted, atol=CLOSE[dtype], rtol=CLOSE[dtype])


@every_pattern
@EVERY_DTYPE
def test_weighted_sums_equal_loops(pattern: Pattern, dtype: torch.dtype) -> None:
    values, _, features = arguments(pattern, dtype)
    expected = slow_sum(pattern, values.tolist(), features.tolist())
    check(weighted_sum(pattern, values, features), expected, dtype)
    check(plain_sum(pattern, values, features), expected, dtype)


@every_pattern
@EVERY_DTYPE
def test_products_equal_loops(pattern: Pattern, dtype: torch.dtype) -> None:
    _, left, right = arguments(pattern, dtype)
    a, b = left.tolist(), right.tolist()
    expected = [sum(x * y for x, y in zip(a[row], b[column], strict=True)) for row, column in entries(pattern)]
    check(products(pattern, left, right), expected, dtype)
    check(plain_product(pattern, left, right), expected, dtype)


@every_pattern
def test_means_equal_loops(pattern: Pattern) -> None:
    _, _, features = arguments(pattern, torch.float32)
    count = [sum(row == number for row, _ in entries(pattern)) for number in range(pattern.shape[0])]
    share = [1 / count[row] for row, _ in entries(pattern)]
    check(mean(pattern, features), slow_sum(pattern, share, features.tolist()), torch.float32)
    double = mean(pattern, features.double())
    assert double.dtype == torch.float64
    torch.testing.assert_close(double.float(), mean(pattern, features), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("width", [1, 2, 33])
def test_any_width_will_do(width: int) -> None:
    values, left, features = numbers(7, seed=1), numbers(5, width, seed=2), numbers(6, width, seed=3)
    expected = slow_sum(MIXED, values.tolist(), features.tolist(), width)
    check(weighted_sum(MIXED, values, features), expected, torch.float64)
    check(weighted_sum(MIXED, values.float(), features.float()), expected, torch.float32)
    torch.testing.assert_close(products(MIXED, left, features), plain_product(MIXED, left, features))


def test_features_need_not_be_contiguous() -> None:
    values, left, features = numbers(7, seed=1).float(), numbers(3, 5, seed=2).float(), numbers(3, 6, seed=3).float()
    torch.testing.assert_close(weighted_sum(MIXED, values, features.T), plain_sum(MIXED, values, features.T))
    torch.testing.assert_close(products(MIXED, left.T, features.T), plain_product(MIXED, left.T, features.T))


@every_pattern
def test_edge_softmax_equals_loops(pattern: Pattern) -> None:
    for shift in (0.0, 1000.0, -1000.0):  # far beyond what exp can hold
        logits = 3 * numbers(len(pattern.row), seed=4)
        raised = [math.exp(logit) for logit in logits.tolist()]
        total = [0.0] * pattern.shape[0]
        for (row, _), value in zip(entries(pattern), raised, strict=True):
            total[row] += value
        expected = [value / total[row] for (row, _), value in zip(entries(pattern), raised, strict=True)]
        found = edge_softmax(pattern, logits + shift)
        torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64), atol=1e-10, rtol=1e-10)


@pytest.mark.parametrize("shape", [(4,), (2, 2), (0,), (4, 1)], ids=str)
def test_taking_is_indexing(shape: tuple[int, ...]) -> None:
    index = torch.tensor([2, 0, 2, 4])[: math.prod(shape)].reshape(shape)
    for features in (numbers(5, 3, seed=1), numbers(5, seed=2)):
        features.requires_grad_()
        assert torch.equal(take(features, index), features[index])
        assert gradcheck(lambda each: take(each, index), (features,))


# --- gradients ---


@pytest.mark.parametrize("name", ["mixed", "sorted", "one", "crowded"])
@pytest.mark.parametrize("wanted", [(True, True), (True, False), (False, True)], ids=str)
def test_gradients_are_slopes(name: str, wanted: tuple[bool, bool]) -> None:
    pattern = PATTERNS[name]
    values, left, right = arguments(pattern, torch.float64)
    for argument, of_it in zip((values, left, right), (wanted[0], *wanted), strict=True):
        argument.requires_grad_(of_it)
    assert gradcheck(lambda v, f: weighted_sum(pattern, v, f), (values, right))
    assert gradcheck(lambda a, b: products(pattern, a, b), (left, right))


@pytest.mark.parametrize("name", ["mixed", "sorted", "one", "crowded"])
def test_gradients_of_means_and_softmax_are_slopes(name: str) -> None:
    pattern = PATTERNS[name]
    values, _, right = (argument.requires_grad_() for argument in arguments(pattern, torch.float64))
    assert gradcheck(lambda features: mean(pattern, features), (right,))
    assert gradcheck(lambda logits: edge_softmax(pattern, logits), (values,))


def slopes(result: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
    """Gradients of a sum with uneven weights."""
    return torch.autograd.grad((result * numbers(*result.shape, seed=7, dtype=result.dtype)).sum(), inputs)


@every_pattern
@EVERY_DTYPE
def test_gradients_equal_those_of_the_plain_twins(pattern: Pattern, dtype: torch.dtype) -> None:
    values, left, right = (argument.requires_grad_() for argument in arguments(pattern, dtype))
    for quick, plain, inputs in (
        (weighted_sum, plain_sum, (values, right)),
        (products, plain_product, (left, right)),
    ):
        found, expected = slopes(quick(pattern, *inputs), *inputs), slopes(plain(pattern, *inputs), *inputs)
        for one, other in zip(found, expected, strict=True):
            assert one.shape == other.shape
            torch.testing.assert_close(one, other, atol=CLOSE[dtype], rtol=CLOSE[dtype])


# --- patterns ---


def test_values_keep_the_order_they_were_built_in() -> None:
    """An entry with a value of its own shows up in its own row, and in its own place of a product."""
    for number, (row, column) in enumerate(entries(MIXED)):
        alone = torch.zeros(7)
        alone[number] = 2.0
        expected = torch.zeros(5, 6)
        expected[row, column] = 2.0
        assert torch.equal(weighted_sum(MIXED, alone, torch.eye(6)), expected)
    codes = products(
        MIXED, torch.tensor([[1.0, 10.0 * row] for row in range(5)]), torch.tensor([[c, 1.0] for c in range(6)])
    )
    assert codes.tolist() == [10.0 * row + column for row, column in entries(MIXED)]
    assert not MIXED.is_sorted
    assert SORTED.is_sorted


@every_pattern
@EVERY_DTYPE
def test_a_transposed_pattern_sums_the_other_way(pattern: Pattern, dtype: torch.dtype) -> None:
    turned = pattern.transposed
    assert turned.shape == pattern.shape[::-1]
    assert entries(turned) == [(column, row) for row, column in entries(pattern)]
    values, left, right = arguments(pattern, dtype)
    check(weighted_sum(turned, values, left), slow_sum(turned, values.tolist(), left.tolist()), dtype)
    torch.testing.assert_close(products(turned, right, left), products(pattern, left, right))


@every_pattern
def test_the_matrix_has_the_entries(pattern: Pattern) -> None:
    values, _, _ = arguments(pattern, torch.float64)
    expected = torch.zeros(pattern.shape, dtype=torch.float64)
    for (row, column), value in zip(entries(pattern), values.tolist(), strict=True):
        expected[row, column] += value
    found = pattern.matrix(values)
    assert found.shape == pattern.shape
    torch.testing.assert_close(found @ torch.eye(pattern.shape[1], dtype=torch.float64), expected)
