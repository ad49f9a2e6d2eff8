"""AliNet equals its formulas in slow loops: both neighbourhoods, the layers, and the three parts of the loss."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from small_tasks import Triple, graph_of

from emea.data import Links, Task
from emea.encoders.alinet import AliNet, AliNetSettings

CPU = torch.device("cpu")
CLOSE = 2e-5  # single precision
SMALL = AliNetSettings(
    epochs=3,
    learning_rate=0.05,  # biases leave zero at once
    dimensions=(6, 5, 4),
    frequent=3,
    fan=3.0,
    busiest=9,
    negatives=3,
    near=4,
    triples=50,
    negative_weight=0.3,
    relation_weight=0.7,
)


def random_task(seed: int) -> Task:
    """Two graphs of 16 and 13 entities; the last of each is without edges, one triple is a loop."""
    draw = np.random.default_rng(seed)
    sides = []
    for entities, relations, count in ((16, 3, 34), (13, 2, 26)):
        triples = [
            (int(draw.integers(entities - 1)), int(draw.integers(relations)), int(draw.integers(entities - 1)))
            for _ in range(count)
        ]
        sides.append(graph_of([*triples, (2, 0, 2)], entities, relations))
    return Task(sides[0], sides[1], Links.empty())


def links_of(rows: Sequence[tuple[int, int, float]]) -> Links:
    source, target, weight = zip(*rows, strict=True)
    return Links.build(torch.tensor(source), torch.tensor(target), torch.tensor(weight))


PAIRS = links_of([(0, 3, 1.0), (4, 1, 0.5), (7, 7, 1.0), (2, 0, 0.25), (11, 5, 1.0)])


def fitted(task: Task, settings: AliNetSettings = SMALL, pairs: Links = PAIRS) -> AliNet:
    encoder = AliNet(task, settings, CPU)
    encoder.fit(pairs, torch.Generator().manual_seed(3))
    return encoder


# --- the slow reference: both graphs as one, target entities and relations after the source's ---


def edges_of(task: Task) -> list[Triple]:
    """Each graph's triples with their inverses, by head and tail; straight relations before inverse ones."""
    edges, entity, relation = [], 0, 0
    for graph in (task.source, task.target):
        count, triples = len(graph.relations), [tuple(row) for row in graph.triples.tolist()]
        both = [*triples, *((t, r + count, h) for h, r, t in triples)]
        both.sort(key=lambda edge: (edge[0], edge[2]))  # stable
        edges += [(h + entity, r + relation, t + entity) for h, r, t in both]
        entity, relation = entity + len(graph.entities), relation + 2 * count
    return edges


def slow_two_hops(task: Task, settings: AliNetSettings) -> set[tuple[int, int]]:
    edges = edges_of(task)
    reached: dict[tuple[int, int], set[tuple[int, int]]] = {}
    for i, first, k in edges:
        if sum(h == k for h, _, _ in edges) > settings.busiest:
            continue
        for h, second, j in edges:
            if h == k and i != j:
                reached.setdefault((first, second), set()).add((i, j))
    entities = len(task.source.entities) + len(task.target.entities)
    result = {(i, i) for i in range(entities)}
    for ends in reached.values():
        starts = len({i for i, _ in ends})
        if starts >= settings.frequent and len(ends) / starts <= settings.fan:
            result |= ends
    return result


def slow_one_hop(task: Task, pairs: Links | None) -> set[tuple[int, int]]:
    """Neighbours and itself; and i–j where a counterpart of i is linked with a counterpart of j."""
    sources, targets = len(task.source.entities), len(task.target.entities)
    linked = {(h, t) for h, _, t in edges_of(task)}
    counterparts: dict[int, set[int]] = {}
    if pairs is not None:
        for source, target in zip(pairs.source.tolist(), pairs.target.tolist(), strict=True):
            counterparts.setdefault(source, set()).add(target + sources)
            counterparts.setdefault(target + sources, set()).add(source)
    added = {
        (i, j)
        for i in counterparts
        for j in counterparts
        if any((a, b) in linked for a in counterparts[i] for b in counterparts[j])
    }
    return linked | added | {(i, i) for i in range(sources + targets)}


def entries(pattern: object) -> list[tuple[int, int]]:
    return list(zip(pattern.row.tolist(), pattern.column.tolist(), strict=True))


def unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def slow_output(encoder: AliNet, one_hop: set[tuple[int, int]], two_hop: set[tuple[int, int]]) -> np.ndarray:
    weights = {name: value.detach().double().numpy() for name, value in encoder.parameters.items()}
    layers = [weights["entities"]]
    for layer in range(len(encoder.settings.dimensions) - 1):
        w1, w2, m1, m2, m, b = (
            weights[f"{layer}.{name}"] for name in ("one_hop", "two_hop", "centre", "neighbour", "gate", "bias")
        )
        h, rows = layers[-1], []
        for i in range(len(h)):
            near = [j for a, j in one_hop if a == i]
            h1 = np.tanh(sum(h[j] @ w1 for j in near) / len(near))
            far = [j for a, j in two_hop if a == i]
            scores = [float((h[i] @ m1) @ (h[j] @ m2)) for j in far]
            raised = [math.exp(score if score > 0 else 0.2 * score) for score in scores]
            h2 = np.tanh(sum(each / sum(raised) * (h[j] @ w2) for each, j in zip(raised, far, strict=True)))
            gate = 1 / (1 + np.exp(-(h2 @ m + b)))
            rows.append(gate * h1 + (1 - gate) * h2)
        layers.append(np.array(rows))
    return np.array([unit(np.concatenate([unit(layer[i]) for layer in layers])) for i in range(len(layers[0]))])


def slow_relation_terms(task: Task, h: np.ndarray) -> list[float]:
    """For each edge: ‖h_s − h_o − r‖ over the number of triples of r; their sum is the relation loss."""
    edges = edges_of(task)
    apart: dict[int, list[np.ndarray]] = {}
    for s, r, o in edges:
        apart.setdefault(r, []).append(h[s] - h[o])
    centre = {r: sum(rows) / len(rows) for r, rows in apart.items()}
    return [float(np.linalg.norm(h[s] - h[o] - centre[r])) / len(apart[r]) for s, r, o in edges]


def nearest(h: np.ndarray, entity: int, among: range, count: int) -> list[int]:
    others = sorted((e for e in among if e != entity), key=lambda e: -float(h[entity] @ h[e]))
    return others[:count]


# --- neighbourhoods ---


@pytest.mark.parametrize("seed", [0, 5, 12, 17, 24, 26])
@pytest.mark.parametrize(("frequent", "fan", "busiest"), [(3, 3.0, 9), (1, 1.5, 6), (5, 100.0, 100), (1, 1.0, 100)])
def test_two_hops_follow_frequent_relation_pairs(seed: int, frequent: int, fan: float, busiest: int) -> None:
    task = random_task(seed)
    settings = SMALL.model_copy(update={"frequent": frequent, "fan": fan, "busiest": busiest})
    expected = slow_two_hops(task, settings)
    assert sorted(entries(AliNet(task, settings, CPU).two_hop)) == sorted(expected)
    everything = slow_two_hops(task, SMALL.model_copy(update={"frequent": 1, "fan": 1e9, "busiest": 10**6}))
    assert expected < everything  # each of the limits leaves something out


def test_many_ways_to_one_entity_reach_one_entity() -> None:
    """Each of three entities reaches one other, by three ways: the relation pair leads to one entity each."""
    triples = [(9 + i, 0, 3 * i + way) for i in range(3) for way in range(3)]
    triples += [(3 * i + way, 1, 12 + i) for i in range(3) for way in range(3)]
    task = Task(graph_of(triples, 15, 2), graph_of([(0, 0, 1)], 2, 1), Links.empty())
    found = set(entries(AliNet(task, SMALL.model_copy(update={"fan": 2.0}), CPU).two_hop))
    assert {(9 + i, 12 + i) for i in range(3)} <= found


@pytest.mark.parametrize("seed", range(6))
def test_entities_are_linked_where_their_counterparts_are(seed: int) -> None:
    task, encoder = random_task(seed), fitted(random_task(seed))
    expected, plain = slow_one_hop(task, PAIRS), slow_one_hop(task, None)
    assert expected > plain
    assert sorted(entries(encoder.one_hop)) == sorted(expected)
    encoder = fitted(task, SMALL.model_copy(update={"augmented": False}))
    assert sorted(entries(encoder.one_hop)) == sorted(plain)


def test_links_of_an_entity_in_several_pairs_do_not_depend_on_their_order() -> None:
    """Labels of the loop may give one target to several sources."""
    task = Task(graph_of([(0, 0, 1), (2, 0, 1), (3, 0, 4)], 5, 1), graph_of([(0, 0, 2)], 3, 1), Links.empty())
    rows = [(0, 0, 1.0), (1, 1, 1.0), (2, 0, 1.0), (3, 0, 1.0), (4, 2, 1.0)]
    found = [set(entries(fitted(task, pairs=links_of(order)).one_hop)) for order in (rows, rows[::-1])]
    assert found[0] == found[1]


# --- layers and losses ---


@pytest.mark.parametrize("seed", [0, 1])
def test_output_is_the_normalised_layers(seed: int) -> None:
    task, encoder = random_task(seed), fitted(random_task(seed))
    assert bool((encoder.parameters["0.bias"] != 0).all())
    expected = slow_output(encoder, slow_one_hop(task, PAIRS), slow_two_hops(task, SMALL))
    with torch.no_grad():
        output, embeddings = encoder.output(), encoder.embed()
    assert output.shape == (29, AliNet.features(SMALL))
    assert np.abs(output.numpy() - expected).max() < CLOSE
    assert np.abs(torch.cat([embeddings.source, embeddings.target]).numpy() - expected).max() < CLOSE


def test_relation_loss_of_the_drawn_triples_is_exact_and_estimates_that_of_all() -> None:
    task = random_task(4)
    encoder = fitted(task)
    with torch.no_grad():
        h = encoder.output()
    terms = slow_relation_terms(task, h.double().numpy())
    totals = []
    for seed in range(400):
        drawn = torch.randint(len(terms), (SMALL.triples,), generator=torch.Generator().manual_seed(seed)).tolist()
        estimate = float(encoder.relation_loss(h, torch.Generator().manual_seed(seed)))
        assert estimate == pytest.approx(sum(terms[row] for row in drawn) * len(terms) / SMALL.triples, rel=1e-4)
        totals.append(estimate)
    error = np.std(totals) / math.sqrt(len(totals))
    assert error < 0.02 * sum(terms)
    assert float(np.mean(totals)) == pytest.approx(sum(terms), abs=4 * error)


@pytest.mark.parametrize("seed", [0, 5])
def test_loss_of_pairs_negatives_and_relations(seed: int) -> None:
    task, encoder = random_task(seed), fitted(random_task(seed))
    encoder.look_around(PAIRS)
    loss = next(encoder.losses(PAIRS, torch.Generator().manual_seed(8))).item()
    with torch.no_grad():
        h = encoder.output().double().numpy()
    draw = torch.Generator().manual_seed(8)
    chosen = [torch.randint(4, (len(PAIRS), 3), generator=draw).tolist() for _ in ("of sources", "of targets")]
    expected = 0.0
    for row, (source, target, weight) in enumerate(zip(*(c.tolist() for c in PAIRS.columns), strict=True)):
        left, right = source, target + 16
        near_right, near_left = nearest(h, right, range(16, 29), 4), nearest(h, left, range(16), 4)
        apart = [float(np.linalg.norm(h[left] - h[near_right[n]])) for n in chosen[0][row]]
        apart += [float(np.linalg.norm(h[right] - h[near_left[n]])) for n in chosen[1][row]]
        negatives = sum(max(0.0, SMALL.margin - each) for each in apart)
        expected += weight * (float(np.linalg.norm(h[left] - h[right])) + SMALL.negative_weight * negatives)
    terms = slow_relation_terms(task, h)
    drawn = torch.randint(len(terms), (SMALL.triples,), generator=draw).tolist()
    expected += SMALL.relation_weight * sum(terms[row] for row in drawn) * len(terms) / SMALL.triples
    assert loss == pytest.approx(expected, rel=1e-4)


def test_the_nearest_are_looked_up_again_after_some_epochs() -> None:
    encoder = fitted(random_task(0), SMALL.model_copy(update={"refresh": 2, "near": 2}))
    seen = []
    for epoch in range(4):
        encoder.epoch = epoch
        encoder.look_around(PAIRS)
        seen.append(encoder.buffers["near_source"].tolist() + encoder.buffers["near_target"].tolist())
        with torch.no_grad():
            encoder.parameters["entities"].normal_(generator=torch.Generator().manual_seed(epoch))
    assert seen[0] == seen[1] != seen[2] == seen[3]


def test_gradients_reach_every_parameter_and_every_linked_entity() -> None:
    task = random_task(2)
    encoder = fitted(task, SMALL.model_copy(update={"triples": 5000}))
    encoder.optimiser.zero_grad()
    next(encoder.losses(PAIRS, torch.Generator().manual_seed(0))).backward()
    for name, parameter in encoder.parameters.items():
        assert bool(torch.isfinite(parameter.grad).all()), name
        assert float(parameter.grad.abs().max()) > 0, name
    linked = sorted({h for h, _, t in edges_of(task) if h != t})
    assert float(encoder.parameters["entities"].grad[linked].abs().amax(1).min()) > 0
