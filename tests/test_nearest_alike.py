"""The nearest entities of the same graph equal brute force, itself left out."""

import math

import pytest
import torch
from torch import Tensor

from emea.candidates.search import nearest_alike


def unit_vectors(count: int, seed: int, dimension: int = 5) -> Tensor:
    vectors = torch.randn(count, dimension, generator=torch.Generator().manual_seed(seed))
    return vectors / vectors.norm(dim=1, keepdim=True)


def brute_force(vectors: Tensor, count: int, rows: list[int]) -> list[list[int]]:
    """The others by falling cosine."""
    table = vectors.tolist()

    def cosine(first: int, second: int) -> float:
        return math.fsum(a * b for a, b in zip(table[first], table[second], strict=True))

    return [
        sorted((other for other in range(len(table)) if other != row), key=lambda other: -cosine(row, other))[:count]
        for row in rows
    ]


@pytest.mark.parametrize("block", [1, 7, 40, 1024])
@pytest.mark.parametrize("count", [1, 4, 39])
def test_all_entities_have_their_nearest(block: int, count: int) -> None:
    vectors = unit_vectors(40, seed=count)
    found = nearest_alike(vectors, count, block=block)
    assert found.dtype == torch.int64
    assert found.tolist() == brute_force(vectors, count, list(range(40)))


@pytest.mark.parametrize("block", [2, 1024])
@pytest.mark.parametrize("rows", [[5], [7, 0, 19, 7, 3], []], ids=str)
def test_some_entities_have_theirs_in_the_order_asked_for(rows: list[int], block: int) -> None:
    vectors = unit_vectors(20, seed=3)
    found = nearest_alike(vectors, 6, torch.tensor(rows, dtype=torch.int64), block=block)
    assert found.shape == (len(rows), 6)
    assert found.dtype == torch.int64
    assert found.tolist() == brute_force(vectors, 6, rows)


@pytest.mark.parametrize(("entities", "count"), [(5, 5), (5, 50), (2, 3), (1, 4)])
def test_fewer_entities_than_asked_for_give_all_others(entities: int, count: int) -> None:
    vectors = unit_vectors(entities, seed=entities)
    found = nearest_alike(vectors, count)
    assert found.shape == (entities, entities - 1)
    assert found.tolist() == brute_force(vectors, count, list(range(entities)))


def test_an_entity_is_left_out_though_others_are_the_same() -> None:
    """Four entities are one vector: each has the other three, and never itself."""
    vectors = torch.eye(4)[torch.tensor([0, 1, 0, 2, 0, 3, 0])]
    for row, found in zip((0, 2, 4, 6), nearest_alike(vectors, 3, torch.tensor([0, 2, 4, 6])).tolist(), strict=True):
        assert set(found) == {0, 2, 4, 6} - {row}


def test_opposite_entities_are_the_last() -> None:
    vectors = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    assert nearest_alike(vectors, 3).tolist()[0] == [2, 3, 1]


def test_ties_do_not_fall_by_position() -> None:
    """Of fifty entities that are one vector, the first is not everyone's neighbour, nor the last."""
    found = nearest_alike(torch.ones(50, 1), 5)
    first_ten = (found < 10).double().mean()
    assert 0 < first_ten < 1
    assert found.unique().tolist() != [0, 1, 2, 3, 4, 5]


def test_vectors_are_left_as_they_are() -> None:
    vectors = unit_vectors(9, seed=1)
    before = vectors.clone()
    nearest_alike(vectors, 3)
    assert torch.equal(vectors, before)
