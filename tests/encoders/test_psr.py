"""PSR equals its formulas in slow loops, and so do the gradients of its loss."""

import pytest
import torch
from small_tasks import CPU, SMALL, SMALL_PAIRS, Parameters, assert_gradient, doubled, neighbours_of, softmax, views
from torch import Tensor
from torch.nn.functional import elu

from emea.data import Links
from emea.encoders.psr import PSR, PSRSettings, standardised

NEIGHBOURS = neighbours_of(SMALL)
SOURCES = len(SMALL.source.entities)
CLOSE = 1e-6  # shares of a mean are in single precision


def encoder_of(**settings: float) -> PSR:
    """An encoder with random parameters, larger than they start, so that attention is uneven."""
    encoder = PSR(SMALL, PSRSettings(**{"dimension": 4, "dropout": 0.0, **settings}), CPU)
    start = encoder.initial(torch.Generator().manual_seed(3))
    encoder.parameters = doubled({name: 20 * value for name, value in start.items()})
    return encoder


def slow_output(parameters: Parameters) -> Tensor:
    depths = [[[elu(vector) for vector in view] for view in views(NEIGHBOURS, parameters)]]
    for v in parameters["attention"]:
        layer = []
        for x in depths[-1]:
            gathered = []
            for near in NEIGHBOURS:
                total, triples = torch.zeros_like(x[0]), [(r, j) for j, joining in near.items() for r in joining]
                logits = [(v * parameters["relations"][r]).sum() for r, _ in triples]
                for share, (r, j) in zip(softmax(logits), triples, strict=True):
                    relation = parameters["relations"][r]
                    length = relation.square().sum().sqrt()
                    total = total + share * (x[j] - 2 * (x[j] * relation).sum() / length * relation)
                gathered.append(elu(total))
            layer.append(gathered)
        depths.append(layer)
    return torch.stack([torch.cat([view[n] for depth in depths for view in depth]) for n in range(len(NEIGHBOURS))])


def slow_standardised(rows: Tensor) -> Tensor:
    columns = []
    for column in rows.T:
        apart = column - column.mean()
        columns.append(apart / (apart.square().mean() + 1e-12).sqrt())
    return torch.stack([row / row.square().sum().sqrt() for row in torch.stack(columns, 1)])


def slow_loss(output: Tensor, first: Tensor, pairs: Links) -> Tensor:
    source, target = pairs.source, pairs.target + SOURCES
    total = output.new_zeros(())
    for here, there in ((source, target), (target, source)):
        likeness = (slow_standardised(output[here]) * slow_standardised(first[there])).sum(1)
        total = total - (pairs.weight * likeness**3).mean()
    return total


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_output_equals_the_loops(depth: int) -> None:
    encoder = encoder_of(depth=depth)
    output = encoder.output(encoder.parameters)
    assert output.shape == (len(NEIGHBOURS), PSR.features(encoder.settings) // 2)
    torch.testing.assert_close(output, slow_output(encoder.parameters), atol=CLOSE, rtol=CLOSE)


def test_the_first_view_is_that_of_the_start_and_stays() -> None:
    encoder = encoder_of()
    start = encoder.initial(torch.Generator().manual_seed(3))
    torch.testing.assert_close(encoder.first, slow_output(start), atol=CLOSE, rtol=CLOSE)
    other = encoder_of()
    other.initial(torch.Generator().manual_seed(4))  # begins elsewhere …
    other._begin(start)
    assert not torch.equal(other.first, encoder.first)
    other.buffers = dict(encoder.buffers)
    other.restore({**other.state()})  # … and continues from the same state
    assert torch.equal(other.first, encoder.first)


def test_loss_and_gradient_equal_the_formula() -> None:
    encoder = encoder_of()
    (loss,) = encoder.losses(SMALL_PAIRS, torch.Generator().manual_seed(1))
    first = encoder.first.double()

    def slow(parameters: Parameters) -> Tensor:
        return slow_loss(slow_output(parameters), first, SMALL_PAIRS)

    torch.testing.assert_close(loss, slow(encoder.parameters), atol=CLOSE, rtol=CLOSE)
    assert_gradient(loss, slow, encoder.parameters)


def test_batches_are_about_the_same_size_and_hold_each_pair_once(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, seen = encoder_of(batch=2), []
    real = type(encoder.graph).pairs
    monkeypatch.setattr(
        type(encoder.graph), "pairs", lambda graph, links: seen.append(links.source) or real(graph, links)
    )
    list(encoder.losses(SMALL_PAIRS, torch.Generator().manual_seed(1)))
    assert [len(batch) for batch in seen] == [3, 2]
    assert sorted(torch.cat(seen).tolist()) == sorted(SMALL_PAIRS.source.tolist())


@torch.no_grad()
def test_cosines_are_the_mean_of_both_likenesses_to_the_first_view() -> None:
    encoder = encoder_of()
    embeddings = encoder.embed()
    unit = [view / view.norm(dim=1, keepdim=True) for view in (slow_output(encoder.parameters), encoder.first.double())]
    for source, target in ((0, 1), (3, 5)):
        likeness = [float(unit[one][source] @ unit[1 - one][SOURCES + target]) for one in (0, 1)]
        assert float(
            embeddings.source[source] @ embeddings.target[target].to(embeddings.source.dtype)
        ) == pytest.approx(sum(likeness) / 2, abs=1e-5)


def test_a_feature_that_is_the_same_everywhere_says_nothing() -> None:
    rows = torch.tensor([[1.0, 2.0], [1.0, 4.0]])
    assert standardised(rows).tolist() == [[0.0, -1.0], [0.0, 1.0]]
