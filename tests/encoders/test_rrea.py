"""RREA equals its formulas in slow loops over entities and edges, and so do the gradients of its loss."""

import pytest
import torch
from small_tasks import (
    CPU,
    SMALL,
    SMALL_PAIRS,
    Neighbours,
    Parameters,
    direction,
    doubled,
    gradients,
    moved,
    neighbours_of,
    pairs_of,
    random_directions,
    reflected,
    softmax,
    views,
)
from torch import Tensor

from emea.data import Links
from emea.encoders._training import dropped
from emea.encoders.rrea import RREA, RREASettings

CLOSE = 1e-6  # double precision, but for shares of a mean in single precision
NEIGHBOURS = neighbours_of(SMALL)
ENTITIES, SOURCES = len(NEIGHBOURS), len(SMALL.source.entities)


def encoder_of(seed: int = 0, *, double: bool = True, **settings: float) -> RREA:
    """An encoder with random parameters, larger than they start, so that attention is uneven."""
    chosen = RREASettings(**{"dimension": 4, "depth": 2, "dropout": 0.0, **settings})
    encoder = RREA(SMALL, chosen, CPU)
    start = encoder.initial(torch.Generator().manual_seed(seed))
    encoder.parameters = doubled({name: 2 * value for name, value in start.items()})
    if not double:
        encoder.parameters = {name: value.detach().float() for name, value in encoder.parameters.items()}
    return encoder


# --- the slow reference ---


def layers(neighbours: Neighbours, view: list[Tensor], parameters: Parameters, depth: int) -> list[list[Tensor]]:
    """All depths of one view: relu(Σ α M_r h_j), α = softmax of v·[h_i ‖ M_r h_j ‖ r̂]."""
    depths = [[torch.relu(vector) for vector in view]]
    on_self = torch.randn(len(view[0]), generator=torch.Generator().manual_seed(9), dtype=view[0].dtype)  # cancels
    for layer in range(depth):
        v = torch.cat([on_self, parameters["attention"][2 * layer], parameters["attention"][2 * layer + 1]])
        h, gathered = depths[-1], []
        for number, near in enumerate(neighbours):
            messages, logits = [], []
            for other, joining in near.items():
                normal = direction(parameters["relations"], joining)
                messages.append(reflected(h[other], normal))
                logits.append((v * torch.cat([h[number], messages[-1], normal])).sum())
            weighted = [share * message for share, message in zip(softmax(logits), messages, strict=True)]
            gathered.append(torch.relu(sum(weighted, torch.zeros_like(h[number]))))
        depths.append(gathered)
    return depths


def slow_output(parameters: Parameters, depth: int = 2, neighbours: Neighbours = NEIGHBOURS) -> list[Tensor]:
    both = [layers(neighbours, view, parameters, depth) for view in views(neighbours, parameters)]
    return [torch.cat([values[number] for view in both for values in view]) for number in range(len(neighbours))]


def slow_loss(output: list[Tensor], pairs: Links, negatives: Tensor, margin: float) -> Tensor:
    """Mean over as many rows as entities, the pairs taken in turn; each row has its l⁻ and its r⁻."""
    total = torch.zeros((), dtype=output[0].dtype)
    rows = list(zip(*(column.tolist() for column in pairs.columns), strict=True))
    for number in range(ENTITIES):
        source, target, weight = rows[number % len(rows)]
        left, right = output[source], output[SOURCES + target]
        other_left, other_right = (output[other] for other in negatives[:, number].tolist())
        near = (left - right).abs().sum()
        first = torch.relu(margin + near - (left - other_right).abs().sum())
        second = torch.relu(margin + near - (other_left - right).abs().sum())
        total = total + weight * (first + second)
    return total / ENTITIES


def drawn(seed: int) -> Tensor:
    """What the generator gives without dropout: l⁻ and r⁻ of each row, of both graphs."""
    return torch.randint(ENTITIES, (2, ENTITIES), generator=torch.Generator().manual_seed(seed))


def loss_of(encoder: RREA, pairs: Links, seed: int) -> Tensor:
    (loss,) = encoder.losses(pairs, torch.Generator().manual_seed(seed))
    return loss


# --- output ---


def test_the_task_has_what_it_should() -> None:
    assert len(NEIGHBOURS[0][1]) == 4  # three relations and the inverse of a fourth triple
    assert {len(NEIGHBOURS[2][2]), len(NEIGHBOURS[3][3])} == {2, 4}  # loops, each with its inverse
    assert not NEIGHBOURS[8]
    assert not NEIGHBOURS[SOURCES + 6]
    assert len(NEIGHBOURS[4]) >= 7


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_output_equals_the_loops(depth: int) -> None:
    encoder = encoder_of(depth=depth)
    output = encoder.output()
    assert output.shape == (ENTITIES, RREA.features(encoder.settings)) == (ENTITIES, 2 * (depth + 1) * 4)
    torch.testing.assert_close(output, torch.stack(slow_output(encoder.parameters, depth)), atol=CLOSE, rtol=CLOSE)


def test_output_in_single_precision_equals_the_loops() -> None:
    encoder = encoder_of(seed=3, double=False)
    expected = torch.stack(slow_output(doubled(encoder.parameters)))
    torch.testing.assert_close(encoder.output().double(), expected, atol=1e-5, rtol=1e-5)


def test_an_entity_without_triples_has_its_own_vector_alone() -> None:
    encoder = encoder_of()
    own = torch.relu(encoder.parameters["entities"][8])
    torch.testing.assert_close(encoder.output()[8, :4], own, atol=CLOSE, rtol=CLOSE)
    assert not encoder.output()[8, 4:].any()


def test_embeddings_are_the_output_scaled_to_length_1() -> None:
    encoder = encoder_of(dropout=0.5)
    with torch.no_grad():
        encoder.parameters["entities"][8].abs_().neg_()
    output = slow_output(encoder.parameters)
    assert not output[8].any()  # an entity of whose vector nothing is positive has length 0
    expected = [vector / vector.norm() if vector.any() else vector for vector in output]
    embeddings = encoder.embed()
    found = torch.cat([embeddings.source, embeddings.target])
    assert len(embeddings.source) == SOURCES
    torch.testing.assert_close(found, torch.stack(expected), atol=CLOSE, rtol=CLOSE)


# --- loss ---


@pytest.mark.parametrize("block", [3, 8192])
@pytest.mark.parametrize("margin", [0.3, 3.0])  # at the first, some rows are beyond the margin
@pytest.mark.parametrize("seed", [0, 1])
def test_loss_and_its_gradient_equal_the_loops(
    block: int, margin: float, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emea.kernels.margin.MARGIN_BLOCK", block)
    encoder = encoder_of(seed, margin=margin)
    loss = loss_of(encoder, SMALL_PAIRS, seed)
    expected = slow_loss(slow_output(encoder.parameters), SMALL_PAIRS, drawn(seed), margin)
    torch.testing.assert_close(loss, expected, atol=CLOSE, rtol=CLOSE)
    slow = gradients(expected, encoder.parameters)
    for name, gradient in gradients(loss, encoder.parameters).items():
        assert slow[name].abs().max() > 1e-3, name
        torch.testing.assert_close(gradient, slow[name], atol=CLOSE, rtol=CLOSE)


def test_the_gradient_is_the_slope_of_the_loss() -> None:
    encoder = encoder_of(4, margin=0.4)
    parameters = encoder.parameters
    found = gradients(loss_of(encoder, SMALL_PAIRS, 5), parameters)

    def at(directions: Parameters, step: float) -> float:
        encoder.parameters = moved(parameters, directions, step)
        return float(loss_of(encoder, SMALL_PAIRS, 5))

    for name in parameters:
        for seed in range(3):
            directions = random_directions(parameters, seed)
            directions = {other: value * (other == name) for other, value in directions.items()}
            slope = (at(directions, 1e-6) - at(directions, -1e-6)) / 2e-6
            assert float((found[name] * directions[name]).sum()) == pytest.approx(slope, rel=1e-5, abs=1e-7), name


def test_the_gradient_is_multiplied_by_what_comes_from_above() -> None:
    encoder = encoder_of()
    once = gradients(loss_of(encoder, SMALL_PAIRS, 0), encoder.parameters)
    thrice = gradients(-3 * loss_of(encoder, SMALL_PAIRS, 0), encoder.parameters)
    for name, gradient in once.items():
        torch.testing.assert_close(thrice[name], -3 * gradient)


def test_gradients_reach_every_relation_and_every_part_of_the_attention() -> None:
    encoder = encoder_of(2)
    found = gradients(loss_of(encoder, SMALL_PAIRS, 1), encoder.parameters)
    for name in ("relations", "attention"):
        assert found[name].abs().sum(1).min() > 0, name
    assert (found["entities"].abs().sum(1) > 0).all()


@pytest.mark.parametrize("scale", [0.0, 0.25, 0.5])
def test_weights_scale_the_loss(scale: float) -> None:
    encoder, rows = encoder_of(), [(0, 1), (3, 2), (4, 3)]
    full, part = (pairs_of([(*row, weight) for row in rows], torch.float64) for weight in (1.0, scale))
    torch.testing.assert_close(loss_of(encoder, part, 0), scale * loss_of(encoder, full, 0))


def test_few_pairs_are_repeated_to_the_number_of_entities() -> None:
    """At a margin that dwarfs all distances, a row's loss is twice the margin: so each pair's share shows."""
    margin, ends = 1e9, [(0, 1), (3, 2), (4, 3)]
    encoder, shares = encoder_of(margin=margin), []
    for number in range(3):
        alone = pairs_of([(*row, float(other == number)) for other, row in enumerate(ends)], torch.float64)
        shares.append(float(loss_of(encoder, alone, 0).detach()) / (2 * margin))
    assert ENTITIES == 16
    assert shares == pytest.approx([6 / 16, 5 / 16, 5 / 16], rel=1e-6)


def test_the_loss_is_that_of_the_output_after_dropout() -> None:
    encoder, generator = encoder_of(dropout=0.5), torch.Generator().manual_seed(6)
    output = torch.stack(slow_output(encoder.parameters))
    kept = dropped(torch.ones_like(output), 0.5, generator)  # 0 or 2
    negatives = torch.randint(ENTITIES, (2, ENTITIES), generator=generator)
    expected = slow_loss(list(output * kept), SMALL_PAIRS, negatives, 3.0)
    torch.testing.assert_close(loss_of(encoder, SMALL_PAIRS, 6), expected, atol=CLOSE, rtol=CLOSE)
