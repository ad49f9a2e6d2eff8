"""GCN-Align equals its formulas in slow loops, and so do the gradients of its loss."""

import pytest
import torch
from small_tasks import CPU, SMALL, SMALL_PAIRS, Parameters, assert_gradient, doubled
from torch import Tensor

from emea.data import Links
from emea.encoders.gcn_align import GCNAlign, GCNAlignSettings, normalised

SOURCES = len(SMALL.source.entities)
ENTITIES = SOURCES + len(SMALL.target.entities)
CLOSE = 1e-6  # A is in single precision


def encoder_of(**settings: float) -> GCNAlign:
    encoder = GCNAlign(SMALL, GCNAlignSettings(**{"dimension": 4, **settings}), CPU)
    encoder.parameters = doubled(encoder.initial(torch.Generator().manual_seed(0)))
    return encoder


def slow_adjacency() -> Tensor:
    """A in loops over the triples of each graph."""
    n = torch.eye(ENTITIES, dtype=torch.float64)
    for graph, first in ((SMALL.source, 0), (SMALL.target, SOURCES)):
        triples = graph.triples.tolist()
        for h, r, t in triples:
            of_relation = [(head, tail) for head, relation, tail in triples if relation == r]
            fun, ifun = (len({pair[end] for pair in of_relation}) / len(of_relation) for end in (0, 1))
            if h != t:
                n[first + h, first + t] += max(ifun, 0.3)
                n[first + t, first + h] += max(fun, 0.3)
    scale = n.sum(0).rsqrt()
    return scale[:, None] * n * scale


def slow_output(entities: Tensor) -> Tensor:
    a = slow_adjacency()
    return a @ torch.relu(a @ (entities / entities.norm(dim=1, keepdim=True)))


def slow_loss(output: Tensor, pairs: Links, negatives: Tensor, margin: float, count: int) -> Tensor:
    rows = list(zip(*(column.tolist() for column in pairs.columns), strict=True)) * count
    total = output.new_zeros(())
    for (source, target, weight), (other_left, other_right) in zip(rows, negatives.T.tolist(), strict=True):
        left, right = output[source], output[SOURCES + target]
        near = (left - right).abs().sum()
        first = torch.relu(margin + near - (left - output[other_right]).abs().sum())
        second = torch.relu(margin + near - (output[other_left] - right).abs().sum())
        total = total + weight * (first + second)
    return total / (2 * len(rows))


def test_adjacency_equals_the_loops() -> None:
    pattern, value = normalised(encoder_of().graph)
    found = torch.zeros(ENTITIES, ENTITIES)
    found[pattern.row, pattern.column] = value
    torch.testing.assert_close(found.double(), slow_adjacency(), atol=CLOSE, rtol=0)
    assert not torch.equal(found, found.T), "it is not symmetric"


def test_output_equals_the_formula() -> None:
    encoder = encoder_of()
    expected = slow_output(encoder.parameters["entities"])
    torch.testing.assert_close(encoder.output(), expected, atol=CLOSE, rtol=CLOSE)
    embeddings = encoder.embed()
    found = torch.cat([embeddings.source, embeddings.target])
    torch.testing.assert_close(found, expected / expected.norm(dim=1, keepdim=True), atol=CLOSE, rtol=CLOSE)


@pytest.mark.parametrize("count", [1, 3])
def test_loss_and_gradient_equal_the_formula(count: int) -> None:
    encoder = encoder_of(negatives=count, margin=0.5)
    (loss,) = encoder.losses(SMALL_PAIRS, torch.Generator().manual_seed(1))
    rows = count * len(SMALL_PAIRS)
    negatives = torch.randint(ENTITIES, (2, rows), generator=torch.Generator().manual_seed(1))
    assert loss.item() > 0

    def slow(parameters: Parameters) -> Tensor:
        return slow_loss(slow_output(parameters["entities"]), SMALL_PAIRS, negatives, 0.5, count)

    torch.testing.assert_close(loss, slow(encoder.parameters), atol=CLOSE, rtol=CLOSE)
    assert_gradient(loss, slow, encoder.parameters)


def test_negatives_stay_for_some_epochs() -> None:
    encoder, seen = encoder_of(refresh=3), []
    for encoder.epoch in range(5):
        list(encoder.losses(SMALL_PAIRS, torch.Generator().manual_seed(encoder.epoch)))
        seen.append(encoder.buffers["negatives"].tolist())
    assert seen[0] == seen[1] == seen[2] != seen[3] == seen[4]


def test_vectors_start_within_two_standard_deviations() -> None:
    values = GCNAlign(SMALL, GCNAlignSettings(dimension=400), CPU).initial(torch.Generator().manual_seed(0))["entities"]
    assert values.abs().max() <= 2 / ENTITIES**0.5
    assert values.std().item() == pytest.approx(0.88 / ENTITIES**0.5, rel=0.03)  # of a normal that is cut there
