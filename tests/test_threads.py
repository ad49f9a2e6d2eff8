"""The number of threads changes no digit: a task of a cluster has one, a run on one machine several."""

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor

from emea.kernels.nearest import main_axes
from emea.method.compatibility import Factors, learn_weights


@pytest.fixture(autouse=True)
def _threads_as_before() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def with_threads(count: int, compute: Callable[[], Tensor]) -> Tensor:
    torch.set_num_threads(count)
    found = compute()
    assert torch.get_num_threads() == count
    return found


def assert_same_bits(compute: Callable[[], Tensor]) -> None:
    alone = with_threads(1, compute)
    assert all(torch.equal(with_threads(count, compute), alone) for count in (2, 3))


def test_main_axes() -> None:
    rows = torch.randn(400, 128, generator=torch.Generator().manual_seed(0))
    assert_same_bits(lambda: main_axes(rows, 32))


def test_learned_weights() -> None:
    """Sums over more numbers than a library gives to one thread."""
    entities, each, draw = 2**15, 4, torch.Generator().manual_seed(0)
    entity = torch.arange(entities).repeat_interleave(each)
    values = torch.rand(len(entity), 1, generator=draw, dtype=torch.float64)
    sample = each * torch.arange(entities) + torch.randint(each, (entities,), generator=draw)
    factors = Factors(entity, entities, values, torch.tensor([0.1], dtype=torch.float64))
    assert_same_bits(lambda: learn_weights([(factors, sample)]))
