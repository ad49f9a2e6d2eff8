"""Dual-AMN equals its formulas in slow loops over entities, edges and proxies, and so do the gradients of its loss."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

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
from emea.encoders import dual_amn
from emea.encoders._training import dropped
from emea.encoders.dual_amn import DualAMN, DualAMNSettings

CLOSE = 1e-6  # double precision, but for shares of a mean in single precision
NEIGHBOURS = neighbours_of(SMALL)
ENTITIES, SOURCES = len(NEIGHBOURS), len(SMALL.source.entities)
VIEWS = ("entity", "relation")

Row = tuple[int, int, float]
Statistics = list[tuple[float, float]]


def encoder_of(seed: int = 0, **settings: Any) -> DualAMN:
    """An encoder with random parameters, larger than they start, so that attention, proxies and gates are uneven."""
    chosen = {"dimension": 4, "depth": 2, "proxies": 3, "dropout": 0.0, "scale": 2.0, "least_pairs": 1, **settings}
    encoder = DualAMN(SMALL, DualAMNSettings(**chosen), CPU)
    start = encoder.initial(torch.Generator().manual_seed(seed))
    noise = random_directions(start, seed)
    encoder.parameters = doubled({name: 2 * value + 0.3 * noise[name] for name, value in start.items()})
    return encoder


# --- the slow reference ---


def layers(neighbours: Neighbours, features: list[Tensor], attention: Tensor, relations: Tensor) -> list[Tensor]:
    """All depths of each entity, one after the other: tanh(Σ α M_r h_j), α = softmax of v·r̂."""
    depths = [[torch.tanh(vector) for vector in features]]
    for v in attention:
        h, gathered = depths[-1], []
        for number, near in enumerate(neighbours):
            normals = [direction(relations, joining) for joining in near.values()]
            total = torch.zeros_like(h[number])
            for share, other, normal in zip(softmax([(v * n).sum() for n in normals]), near, normals, strict=True):
                total = total + share * reflected(h[other], normal)
            gathered.append(torch.tanh(total))
        depths.append(gathered)
    return [torch.cat([values[number] for values in depths]) for number in range(len(neighbours))]


def cosine(first: Tensor, second: Tensor) -> Tensor:
    lengths = first.square().sum() * second.square().sum()
    return (first * second).sum() / lengths.sqrt() if lengths > 0 else (first * second).sum()


def through_proxies(h: Tensor, proxies: Tensor, weights: Tensor, bias: Tensor) -> Tensor:
    """h' = h − Σ_p β_p q_p; η = sigmoid(W h' + b); η∘h + (1 − η)∘h'."""
    beta = softmax([cosine(h, proxy) for proxy in proxies])
    rest = h - sum(share * proxy for share, proxy in zip(beta, proxies, strict=True))
    numbers = []
    for place in range(len(h)):
        eta = 1 / (1 + torch.exp(-(weights[:, place] * rest).sum() - bias[place]))
        numbers.append(eta * h[place] + (1 - eta) * rest[place])
    return torch.stack(numbers)


def slow_output(parameters: Parameters) -> list[Tensor]:
    sides = []
    for view, features in zip(VIEWS, views(NEIGHBOURS, parameters), strict=True):
        h = layers(NEIGHBOURS, features, parameters[f"{view}.attention"], parameters["relations"])
        gate = [parameters[f"{view}.{name}"] for name in ("proxies", "gate", "bias")]
        sides.append([through_proxies(vector, *gate) for vector in h])
    return [torch.cat([side[number] for side in sides]) for number in range(ENTITIES)]


def standard_of(values: list[Tensor]) -> tuple[float, float]:
    """Mean and standard deviation, as numbers without gradient."""
    numbers = [float(value.detach()) for value in values]
    average = sum(numbers) / len(numbers)
    return average, math.sqrt(sum((number - average) ** 2 for number in numbers) / len(numbers))


def slow_loss(
    output: list[Tensor],
    rows: Sequence[Row],
    settings: DualAMNSettings,
    held: Statistics | None = None,
    among: Sequence[int] = range(ENTITIES),
) -> tuple[Tensor, Statistics]:
    """Mean over the pairs of the losses of both sides; and the mean and deviation of each, if they were not given."""
    total, used = torch.zeros((), dtype=output[0].dtype), []
    for source, target, weight in rows:
        for here, there in ((source, SOURCES + target), (SOURCES + target, source)):
            near = (output[here] - output[there]).square().sum()
            others = [e for e in among if e not in (here, there)]
            losses = [settings.margin + near - (output[here] - output[e]).square().sum() for e in others]
            losses += [torch.zeros_like(near)] * 2  # the pair itself: constants
            used.append(standard_of(losses) if held is None else held[len(used)])
            average, deviation = used[-1]
            standard = [settings.scale * (loss - average) / deviation + settings.shift for loss in losses]
            total = total + weight * torch.log(sum(torch.exp(value) for value in standard))
    return total / len(rows), used


def rows_of(pairs: Links) -> list[Row]:
    return list(zip(*(column.tolist() for column in pairs.columns), strict=True))


def order_of(pairs: Links, repeats: int, seed: int) -> list[Row]:
    """The order in which the generator has the pairs, repeated."""
    rows = rows_of(pairs)
    chance = torch.rand(repeats, len(rows), generator=torch.Generator().manual_seed(seed)).tolist()
    return [rows[row] for drawn in chance for row in sorted(range(len(rows)), key=drawn.__getitem__)]


def only_loss(encoder: DualAMN, pairs: Links, seed: int = 0) -> Tensor:
    (loss,) = encoder.losses(pairs, torch.Generator().manual_seed(seed))
    return loss


# --- output ---


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_output_equals_the_loops(depth: int) -> None:
    encoder = encoder_of(depth=depth)
    output = encoder.output()
    assert output.shape == (ENTITIES, DualAMN.features(encoder.settings)) == (ENTITIES, 2 * (depth + 1) * 4)
    torch.testing.assert_close(output, torch.stack(slow_output(encoder.parameters)), atol=CLOSE, rtol=CLOSE)


def test_output_in_single_precision_equals_the_loops() -> None:
    encoder = encoder_of(seed=3)
    expected = torch.stack(slow_output(encoder.parameters))
    encoder.parameters = {name: value.detach().float() for name, value in encoder.parameters.items()}
    torch.testing.assert_close(encoder.output().double(), expected, atol=1e-5, rtol=1e-5)


def test_embeddings_are_the_output_scaled_to_length_1() -> None:
    encoder = encoder_of(dropout=0.5)
    embeddings = encoder.embed()
    expected = torch.stack([vector / vector.norm() for vector in slow_output(encoder.parameters)])
    assert len(embeddings.source) == SOURCES
    found = torch.cat([embeddings.source, embeddings.target])
    torch.testing.assert_close(found, expected, atol=CLOSE, rtol=CLOSE)


# --- loss ---


@pytest.mark.parametrize("block", [2, 256])
@pytest.mark.parametrize("scale", [2.0, 30.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_loss_and_its_gradient_equal_the_loops(
    block: int, scale: float, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emea.encoders.dual_amn.HARDEST_BLOCK", block)
    encoder = encoder_of(seed, scale=scale, margin=1.5, shift=7.0)
    loss = only_loss(encoder, SMALL_PAIRS)
    expected, _ = slow_loss(slow_output(encoder.parameters), rows_of(SMALL_PAIRS), encoder.settings)
    torch.testing.assert_close(loss, expected, atol=CLOSE, rtol=CLOSE)
    slow = gradients(expected, encoder.parameters)
    for name, gradient in gradients(loss, encoder.parameters).items():
        assert slow[name].abs().max() > 1e-4, name
        torch.testing.assert_close(gradient, slow[name], atol=10 * CLOSE, rtol=10 * CLOSE)


def test_the_gradient_is_the_slope_with_mean_and_deviation_held() -> None:
    encoder, rows = encoder_of(4, depth=1), rows_of(SMALL_PAIRS)
    parameters = encoder.parameters
    found = gradients(only_loss(encoder, SMALL_PAIRS), parameters)
    _, held = slow_loss(slow_output(parameters), rows, encoder.settings)
    for name in parameters:
        directions = {other: value * (other == name) for other, value in random_directions(parameters, 8).items()}
        ahead, behind = (
            float(slow_loss(slow_output(moved(parameters, directions, step)), rows, encoder.settings, held)[0])
            for step in (1e-5, -1e-5)
        )
        slope = (ahead - behind) / 2e-5
        assert float((found[name] * directions[name]).sum()) == pytest.approx(slope, rel=1e-5, abs=1e-6), name


def test_gradients_reach_every_entity_relation_proxy_and_weight() -> None:
    encoder = encoder_of(2)
    found = gradients(only_loss(encoder, SMALL_PAIRS), encoder.parameters)
    assert len(found) == 2 + 2 * 4  # entities and relations; attention, proxies, gate and bias of each view
    for name, gradient in found.items():
        assert gradient.reshape(len(gradient), -1).abs().sum(1).min() > 0, name


@pytest.mark.parametrize("scale", [0.0, 0.25, 0.5])
def test_weights_scale_the_loss(scale: float) -> None:
    encoder, ends = encoder_of(), [(0, 1), (3, 2), (4, 3)]
    full, part = (pairs_of([(*row, weight) for row in ends], torch.float64) for weight in (1.0, scale))
    torch.testing.assert_close(only_loss(encoder, part), scale * only_loss(encoder, full))


def test_the_loss_in_single_precision_is_close() -> None:
    """As it starts out: the distances are small beside the margin."""
    encoder = encoder_of(scale=30.0)
    start = encoder.initial(torch.Generator().manual_seed(1))
    encoder.parameters = {name: value.requires_grad_() for name, value in start.items()}
    pairs = pairs_of(rows_of(SMALL_PAIRS))
    expected, _ = slow_loss(slow_output(doubled(start)), rows_of(pairs), encoder.settings)
    torch.testing.assert_close(only_loss(encoder, pairs).double(), expected, atol=0, rtol=1e-4)


# --- negatives ---


@pytest.mark.parametrize("seed", range(4))
def test_with_negatives_a_step_compares_with_entities_of_its_pairs_and_as_many_others(seed: int) -> None:
    encoder, pairs = encoder_of(seed, negatives=2), SMALL_PAIRS[:2]
    ends = torch.stack(encoder.graph.pairs(pairs))
    shown, places = encoder._compared(ends, torch.Generator().manual_seed(seed))
    chosen = [int((encoder.output() - vector).abs().sum(1).argmin()) for vector in shown]
    assert len(chosen) == len({*chosen}) == ends.numel() + 2 < ENTITIES
    assert [[chosen[place] for place in side] for side in places.tolist()] == ends.tolist()


@pytest.mark.parametrize("seed", range(4))
def test_the_loss_with_negatives_and_its_gradient_equal_the_loops(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, pairs = encoder_of(seed, negatives=2), SMALL_PAIRS[:2]
    own = {*torch.stack(encoder.graph.pairs(pairs)).flatten().tolist()}
    order = torch.arange(ENTITIES, dtype=torch.float32)  # then the first that are not in the pairs are chosen
    monkeypatch.setattr("torch.rand", lambda *_, **__: order.clone())
    generator = torch.Generator().manual_seed(seed)
    others = [entity for entity in range(ENTITIES) if entity not in own][:2]
    output, places = encoder._compared(torch.stack(encoder.graph.pairs(pairs)), generator)
    loss = dual_amn._HardestFirst.apply(output, *places, pairs.weight, encoder.settings)
    expected, _ = slow_loss(
        slow_output(encoder.parameters), rows_of(pairs), encoder.settings, among=sorted({*own, *others})
    )
    torch.testing.assert_close(loss, expected, atol=CLOSE, rtol=CLOSE)
    slow = gradients(expected, encoder.parameters)
    for name, gradient in gradients(loss, encoder.parameters).items():
        torch.testing.assert_close(gradient, slow[name], atol=10 * CLOSE, rtol=10 * CLOSE)


def test_as_many_negatives_as_there_are_entities_are_all_of_them() -> None:
    drawn = (only_loss(encoder_of(negatives=negatives, batch=64), SMALL_PAIRS) for negatives in (0, ENTITIES))
    torch.testing.assert_close(*drawn, atol=0, rtol=0)


def test_negatives_are_drawn_anew_at_each_step() -> None:
    encoder, ends = encoder_of(negatives=2), torch.stack(encoder_of().graph.pairs(SMALL_PAIRS[:2]))
    generator = torch.Generator().manual_seed(0)
    seen = [encoder._compared(ends, generator)[0].sum().item() for _ in range(8)]
    assert len({round(total, 9) for total in seen}) > 2


# --- batches ---


def test_each_batch_has_its_loss() -> None:
    """Five pairs repeated to eleven in batches of four: the last has three."""
    encoder = encoder_of(batch=4, least_pairs=11)
    output, order = slow_output(encoder.parameters), order_of(SMALL_PAIRS, 3, seed=7)
    losses = list(encoder.losses(SMALL_PAIRS, torch.Generator().manual_seed(7)))
    batches = [order[0:4], order[4:8], order[8:11]]
    expected = [slow_loss(output, batch, encoder.settings)[0] for batch in batches]
    torch.testing.assert_close(torch.stack(losses), torch.stack(expected), atol=CLOSE, rtol=CLOSE)


def test_each_batch_sees_the_step_before() -> None:
    encoder = encoder_of(batch=3)
    losses = encoder.losses(SMALL_PAIRS, torch.Generator().manual_seed(1))
    next(losses)
    encoder.parameters = encoder_of(seed=5).parameters
    batch = order_of(SMALL_PAIRS, 1, seed=1)[3:]
    expected, _ = slow_loss(slow_output(encoder.parameters), batch, encoder.settings)
    torch.testing.assert_close(next(losses), expected, atol=CLOSE, rtol=CLOSE)


@pytest.mark.parametrize(("least", "times"), [(1, {1}), (5, {1}), (10, {2}), (13, {2, 3}), (500, {100})])
def test_every_pair_appears_about_equally_often(least: int, times: set[int], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int]] = []

    def watched(output: Tensor, left: Tensor, right: Tensor, *rest: object) -> Tensor:
        seen.extend(zip(left.tolist(), (right - SOURCES).tolist(), strict=True))
        return output.sum()

    monkeypatch.setattr(dual_amn._HardestFirst, "apply", watched)
    encoder = encoder_of(depth=0, least_pairs=least, batch=16)
    assert len(list(encoder.losses(SMALL_PAIRS, torch.Generator().manual_seed(0)))) == math.ceil(max(least, 5) / 16)
    assert len(seen) == max(least, 5)
    counts = Counter(seen)
    assert set(counts) == {row[:2] for row in rows_of(SMALL_PAIRS)}
    assert set(counts.values()) == times


def test_the_loss_is_that_of_the_output_after_dropout() -> None:
    encoder, generator = encoder_of(dropout=0.5), torch.Generator().manual_seed(6)
    torch.rand(1, len(SMALL_PAIRS), generator=generator)  # the order is drawn first
    batch = order_of(SMALL_PAIRS, 1, seed=6)
    output = torch.stack(slow_output(encoder.parameters))
    kept = dropped(torch.ones_like(output), 0.5, generator)  # 0 or 2
    expected, _ = slow_loss(list(output * kept), batch, encoder.settings)
    torch.testing.assert_close(only_loss(encoder, SMALL_PAIRS, 6), expected, atol=CLOSE, rtol=CLOSE)
