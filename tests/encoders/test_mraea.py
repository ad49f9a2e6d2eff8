"""MRAEA equals its formulas in slow loops, and so do the gradients of its loss."""

import pytest
import torch
from small_tasks import CPU, SMALL, SMALL_PAIRS, Parameters, assert_gradient, doubled, neighbours_of, softmax, views
from test_rrea import drawn, slow_loss
from torch import Tensor

from emea.encoders.mraea import MRAEA, MRAEASettings

NEIGHBOURS = neighbours_of(SMALL)
SOURCES = len(SMALL.source.entities)
CLOSE = 1e-6  # shares of a mean are in single precision


def encoder_of(**settings: float) -> MRAEA:
    """An encoder with random parameters, larger than they start, so that attention is uneven."""
    encoder = MRAEA(SMALL, MRAEASettings(**{"dimension": 3, "dropout": 0.0, **settings}), CPU)
    start = encoder.initial(torch.Generator().manual_seed(0))
    encoder.parameters = doubled({name: 4 * value for name, value in start.items()})
    return encoder


def slow_output(parameters: Parameters, depth: int, heads: int) -> list[Tensor]:
    by_entity, by_relation = views(NEIGHBOURS, parameters)
    depths = [[torch.relu(torch.cat(both)) for both in zip(by_entity, by_relation, strict=True)]]
    for _ in range(depth):
        x, gathered = depths[-1], []
        for number, near in enumerate(NEIGHBOURS):
            total = torch.zeros_like(x[number])
            for head in range(heads):
                a, b, c = parameters["attention"][head].split((6, 6, 3))
                logits = []
                for other, joining in near.items():
                    between = sum(parameters["relations"][r] for r in sorted(joining)) / len(joining)
                    said = (a * x[number]).sum() + (b * x[other]).sum() + (c * between).sum()
                    logits.append(torch.where(said > 0, said, 0.2 * said))
                for share, other in zip(softmax(logits), near, strict=True):
                    total = total + share * x[other] / heads
            gathered.append(torch.relu(total))
        depths.append(gathered)
    return [torch.cat([values[number] for values in depths]) for number in range(len(NEIGHBOURS))]


@pytest.mark.parametrize(("depth", "heads"), [(0, 1), (1, 1), (2, 2), (3, 3)])
def test_output_equals_the_loops(depth: int, heads: int) -> None:
    encoder = encoder_of(depth=depth, heads=heads)
    output, expected = encoder.output(), torch.stack(slow_output(encoder.parameters, depth, heads))
    assert output.shape == (len(NEIGHBOURS), MRAEA.features(encoder.settings))
    torch.testing.assert_close(output, expected, atol=CLOSE, rtol=CLOSE)


def test_an_entity_without_triples_has_its_own_vector_alone() -> None:
    encoder = encoder_of()
    own = torch.relu(encoder.parameters["entities"][8])
    torch.testing.assert_close(encoder.output()[8, :3], own, atol=CLOSE, rtol=CLOSE)
    assert not encoder.output()[8, 3:].any()


def test_loss_and_gradient_equal_the_formula() -> None:
    encoder = encoder_of(margin=0.5)
    (loss,) = encoder.losses(SMALL_PAIRS, torch.Generator().manual_seed(1))
    assert loss.item() > 0

    def slow(parameters: Parameters) -> Tensor:
        return slow_loss(slow_output(parameters, 2, 2), SMALL_PAIRS, drawn(1), 0.5)

    torch.testing.assert_close(loss, slow(encoder.parameters), atol=CLOSE, rtol=CLOSE)
    assert_gradient(loss, slow, encoder.parameters)


def test_embeddings_are_the_output_scaled_to_length_1() -> None:
    encoder = encoder_of(dropout=0.5)
    output, embeddings = encoder.output(), encoder.embed()
    assert len(embeddings.source) == SOURCES
    found = torch.cat([embeddings.source, embeddings.target])
    torch.testing.assert_close(found, torch.nn.functional.normalize(output, dim=1), atol=CLOSE, rtol=CLOSE)
