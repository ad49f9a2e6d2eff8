"""RSN equals its formulas in slow loops; its paths follow triples, and turn where they should."""

import math

import pytest
import torch
from small_tasks import CPU, SMALL, SMALL_PAIRS, Parameters, assert_gradient, doubled, graph_of
from test_bootea import PAIRS, TRIPLES, swapped
from torch import Tensor

from emea.data import Links, Task
from emea.encoders.rsn import RSN, RSNSettings

SOURCES = len(SMALL.source.entities)


def encoder_of(**settings: float) -> RSN:
    encoder = RSN(SMALL, RSNSettings(**{"dimension": 3, "hops": 3, "dropout": 0.0, "negatives": 2, **settings}), CPU)
    encoder.parameters = doubled(encoder.initial(torch.Generator().manual_seed(0)))
    encoder.noise = [(chance.double(), expected.double()) for chance, expected in encoder.noise]
    return encoder


def joint_triples(encoder: RSN) -> set[tuple[int, ...]]:
    """All triples with inverses, and those in which entities of pairs stand in for each other at one or both ends."""
    every = [*TRIPLES]
    own, other = len(SMALL.source.relations), len(SMALL.target.relations)
    every += [(t, r + (own if r < own else other), h) for h, r, t in TRIPLES]
    once = [triple for triple, _ in swapped(every, PAIRS)]
    ends = {(one, two) for one, two, _ in PAIRS} | {(two, one) for one, two, _ in PAIRS}
    twice = [(a, r, b) for h, r, t in every for x, a in ends for y, b in ends if h == x and t == y]
    assert encoder.graph.relations == 2 * (own + other)
    return {*every, *once, *twice}


def test_paths_follow_the_triples_of_both_graphs_and_those_through_pairs() -> None:
    encoder = encoder_of(walks=3)
    encoder.prepare(SMALL_PAIRS)
    joint = joint_triples(encoder)
    assert len(encoder.paths) == 3 * len(joint)
    assert encoder.paths.shape[1] == 7
    steps = {tuple(path[place : place + 3]) for path in encoder.paths.tolist() for place in (0, 2, 4)}
    assert steps <= joint
    first = sorted(tuple(path[:3]) for path in encoder.paths.tolist())
    assert first == sorted([*joint] * 3), "each triple starts as many"
    encoder.prepare(SMALL_PAIRS)
    again = encoder.paths
    encoder.prepare(SMALL_PAIRS)
    assert torch.equal(encoder.paths, again)


def test_paths_lead_away_and_across() -> None:
    """From 1 there is an edge to 2, which 0 is not linked to, one back to 0, and one to 3, of a known pair."""
    graph = graph_of([(0, 0, 1), (1, 0, 2), (1, 0, 3)], 4, 1)
    task = Task(graph, graph_of([(0, 0, 1)], 2, 1), Links.empty())
    encoder = RSN(task, RSNSettings(hops=3, walks=4000, across=0.9, away=0.8), CPU)
    encoder.prepare(Links.build(torch.tensor([3]), torch.tensor([1])))
    second = encoder.paths[(encoder.paths[:, 0] == 0) & (encoder.paths[:, 2] == 1), 4]
    share = {end: float((second == end).double().mean()) for end in (0, 2, 3, 5)}
    # from 1: to 0 and 2 (weight .1), to 3 and its counterpart 5 (weight .9)
    total = 2 * 0.1 + 2 * 0.9
    assert share[3] == pytest.approx(0.9 / total, abs=0.03)
    assert share[5] == pytest.approx(0.9 / total, abs=0.03)
    assert share[0] == pytest.approx(0.1 / total, abs=0.02)
    rows = encoder.paths[
        (encoder.paths[:, 0] == 0) & (encoder.paths[:, 4] == 0)
    ]  # back at 0: its only edge is to 1 again
    assert set(rows[:, 6].tolist()) == {1}
    third = encoder.paths[(encoder.paths[:, 0] == 2) & (encoder.paths[:, 4] == 0) & (encoder.paths[:, 2] == 1), 6]
    assert set(third.tolist()) == {1}


def slow_normalised(rows: list[Tensor], scale: Tensor, shift: Tensor) -> list[Tensor]:
    mean = sum(rows) / len(rows)
    variance = sum((row - mean) ** 2 for row in rows) / len(rows)
    return [(row - mean) / (variance + 1e-3).sqrt() * scale + shift for row in rows]


def slow_loss(encoder: RSN, parameters: Parameters, paths: list[list[int]], negatives: list[list[int]]) -> Tensor:
    width, total = 3, torch.zeros((), dtype=torch.float64)
    state = {(row, layer): (torch.zeros(width).double(),) * 2 for row in range(len(paths)) for layer in (0, 1)}
    before: list[Tensor] = []
    for place in range(len(paths[0]) - 1):
        table = parameters["entities" if place % 2 == 0 else "relations"]
        read = slow_normalised(
            [table[path[place]] for path in paths], parameters["input_scale"], parameters["input_bias"]
        )
        outs = []
        for row, item in enumerate(read):
            out = item
            for layer in (0, 1):
                h, c = state[row, layer]
                gates = out @ parameters[f"reads_{layer}"] + h @ parameters[f"keeps_{layer}"]
                i, g, f, o = (gates + parameters[f"{layer}_bias"]).reshape(4, width)
                c = c / (1 + torch.exp(-f - 1)) + g / (1 + torch.exp(-i))
                out = c / (1 + torch.exp(-o))
                state[row, layer] = out, c
            if place % 2:
                out = out @ parameters["skip_state"] + before[row] @ parameters["skip_input"]
            outs.append(out)
        name = "relations" if place % 2 == 0 else "entities"
        _, expected = encoder.noise[place % 2 == 0]
        for path, out in zip(
            paths, slow_normalised(outs, parameters["output_scale"], parameters["output_bias"]), strict=True
        ):
            for item, sign in [(path[place + 1], -1), *((other, 1) for other in negatives[place])]:
                score = (
                    (out * parameters[f"next_{name}"][item]).sum() + parameters[f"{name}_bias"][item] - expected[item]
                )
                total = total + torch.log1p(torch.exp(sign * score))
        before = read
    return total / len(paths)


def test_loss_and_gradient_equal_the_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, drawn = encoder_of(hops=2), []
    encoder.prepare(SMALL_PAIRS)
    real = torch.multinomial
    monkeypatch.setattr(torch, "multinomial", lambda *given, **more: drawn.append(real(*given, **more)) or drawn[-1])
    paths = encoder.paths[::40].long()
    loss = encoder.path_loss(paths, torch.Generator().manual_seed(1))
    relations, entities = (each.tolist() for each in drawn)
    negatives = [relations[0], entities[0], relations[1], entities[1]]  # place by place
    assert all(len(set(each)) == 2 for each in negatives)

    def slow(parameters: Parameters) -> Tensor:
        return slow_loss(encoder, parameters, paths.tolist(), negatives)

    torch.testing.assert_close(loss, slow(encoder.parameters), atol=1e-8, rtol=1e-8)
    assert_gradient(loss, slow, encoder.parameters)


def test_frequent_items_are_drawn_more_often() -> None:
    encoder = RSN(SMALL, RSNSettings(negatives=4), CPU)
    chance, expected = encoder.noise[0]
    degree = torch.bincount(encoder.graph.head, minlength=encoder.graph.entities)
    assert chance.argmax() == degree.argmax()
    assert float(chance.sum()) == pytest.approx(1.0, abs=1e-5)
    assert float(expected.exp().sum()) == pytest.approx(4.0, abs=1e-3)
    draws = torch.stack([torch.multinomial(chance, 4) for _ in range(4000)])
    seen = torch.bincount(draws.flatten(), minlength=len(chance)) / 4000
    assert (seen - expected.exp()).abs().max() < 0.06


def test_gradients_are_cut() -> None:
    encoder = encoder_of(clipped=1e-3)
    values = list(encoder.parameters.values())
    optimiser = encoder.build_optimiser(values)
    for value in values:
        value.grad = torch.ones_like(value)
    optimiser.step()
    length = math.sqrt(sum(float(value.grad.square().sum()) for value in values if value.grad is not None))
    assert length == pytest.approx(1e-3, rel=1e-3)
