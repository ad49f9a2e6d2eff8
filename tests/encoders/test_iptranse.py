"""IPTransE equals its formulas in slow loops: shared vectors, copied triples, paths and both losses."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from small_tasks import Triple, graph_of

from emea.data import Links, Task
from emea.encoders.iptranse import IPTransE, IPTransESettings

CPU = torch.device("cpu")
CLOSE = 1e-5  # single precision
SMALL = IPTransESettings(
    epochs=3, dimension=5, negatives=4, near=3, batch=20, path_count=2, busiest=12, path_weight=0.3, learning_rate=0.05
)
SOURCES, TARGETS = 14, 11  # entities of the tasks below; the last of each graph is without edges
RELATIONS = 3, 2  # the target's first has the number 6, after the source's inverses


def random_task(seed: int) -> Task:
    draw = np.random.default_rng(seed)
    sides = []
    for entities, relations, count in ((SOURCES, RELATIONS[0], 40), (TARGETS, RELATIONS[1], 25)):
        ends = draw.integers(entities - 1, size=(count, 2)).tolist()
        kinds = draw.integers(relations, size=count).tolist()
        triples = [(head, kind, tail) for (head, tail), kind in zip(ends, kinds, strict=True)]
        sides.append(graph_of([*triples, (3, 1, 3)], entities, relations))
    return Task(sides[0], sides[1], Links.empty())


def links_of(rows: Sequence[tuple[int, int, float]]) -> Links:
    source, target, weight = zip(*rows, strict=True)
    return Links.build(torch.tensor(source), torch.tensor(target), torch.tensor(weight))


# certain: (0, 2), (5, 5), (12, 0); soft: (3, 4) by its weight, (7, 1) and (7, 6), (8, 9) and (9, 9) by their rivals
PAIRS = links_of(
    [(0, 2, 1.0), (3, 4, 0.5), (5, 5, 1.0), (7, 1, 1.0), (7, 6, 0.25), (8, 9, 1.0), (9, 9, 1.0), (12, 0, 1.0)]
)
SHARED = {0: SOURCES + 2, 5: SOURCES + 5, 12: SOURCES}
SOFT = [(3, 4, 0.5), (7, 1, 1.0), (7, 6, 0.25), (8, 9, 1.0), (9, 9, 1.0)]


def fitted(task: Task, settings: IPTransESettings = SMALL, pairs: Links = PAIRS) -> IPTransE:
    encoder = IPTransE(task, settings, CPU)
    encoder.fit(pairs, torch.Generator().manual_seed(3))
    return encoder


# --- the slow reference: both graphs as one ---


def triples_of(task: Task) -> list[Triple]:
    """Target entities and relations after the source's, inverse relations included in the count."""
    source = [tuple(row) for row in task.source.triples.tolist()]
    moved = [(h + SOURCES, r + 2 * RELATIONS[0], t + SOURCES) for h, r, t in task.target.triples.tolist()]
    return [*source, *moved]


def inverse(relation: int) -> int:
    first, count = (0, RELATIONS[0]) if relation < 2 * RELATIONS[0] else (2 * RELATIONS[0], RELATIONS[1])
    return first + (relation - first + count) % (2 * count)


def slow_paths(task: Task, settings: IPTransESettings) -> dict[Triple, float]:
    """(r₁, r₂, r) → share of the paths i –r₁→ k –r₂→ j, i ≠ j, for which r(i, j)."""
    edges = [edge for h, r, t in triples_of(task) for edge in ((h, r, t), (t, inverse(r), h))]
    degree, known = Counter(h for h, _, _ in edges), set(edges)
    seen: Counter[tuple[int, int]] = Counter()
    closed: Counter[Triple] = Counter()
    for i, first, k in edges:
        for h, second, j in edges:
            if h != k or i == j or degree[k] > settings.busiest:
                continue
            seen[first, second] += 1
            for r in range(2 * sum(RELATIONS)):
                closed[first, second, r] += (i, r, j) in known
    return {path: n / seen[path[:2]] for path, n in closed.items() if n >= settings.path_count}


def slow_vectors(encoder: IPTransE, shared: dict[int, int]) -> list[np.ndarray]:
    own = encoder.parameters["entities"].detach().double().numpy()
    both = shared | {target: source for source, target in shared.items()}
    raw = [(own[e] + own[both.get(e, e)]) / 2 for e in range(len(own))]
    return [vector / np.linalg.norm(vector) for vector in raw]


def energy(triple: Sequence[int], entities: list[np.ndarray], relations: np.ndarray) -> float:
    head, relation, tail = triple
    return float(np.linalg.norm(entities[head] + relations[relation] - entities[tail]))


def check_negatives(triples: list[Triple], negatives: list[list[list[int]]]) -> None:
    """The relation stays, and so does one end; what stands for the other is of the same graph."""
    for (head, relation, tail), row in zip(triples, negatives, strict=True):
        for other_head, other_relation, other_tail in row:
            assert other_relation == relation
            assert (other_head != head) + (other_tail != tail) == 1
            assert (other_head < SOURCES) == (head < SOURCES)
            assert (other_tail < SOURCES) == (tail < SOURCES)


# --- pairs ---


def test_certain_pairs_share_a_vector_and_the_others_do_not() -> None:
    encoder = fitted(random_task(0))
    expected = np.array(slow_vectors(encoder, SHARED))
    with torch.no_grad():
        embeddings, vectors = encoder.embed(), encoder.vectors().numpy()
    assert np.abs(vectors - expected).max() < CLOSE
    assert np.abs(torch.cat([embeddings.source, embeddings.target]).numpy() - expected).max() < CLOSE
    for source, target, _ in zip(*(column.tolist() for column in PAIRS.columns), strict=True):
        same = np.abs(vectors[source] - vectors[target + SOURCES]).max() < CLOSE
        assert same == (SHARED.get(source) == target + SOURCES)


@pytest.mark.parametrize("seed", range(4))
def test_triples_of_soft_pairs_are_copied_with_their_weight(seed: int) -> None:
    task, encoder = random_task(seed), fitted(random_task(seed))
    expected = Counter((*triple, 1.0) for triple in triples_of(task))
    for source, target, weight in SOFT:
        for old, new in ((source, target + SOURCES), (target + SOURCES, source)):
            for head, relation, tail in triples_of(task):
                if head == old:
                    expected[new, relation, tail, weight] += 1
                if tail == old:
                    expected[head, relation, new, weight] += 1
    found = zip(encoder.all_triples.tolist(), encoder.weight.tolist(), strict=True)
    assert Counter((*triple, weight) for triple, weight in found) == expected
    assert sum(expected.values()) > len(triples_of(task)) + 5


def test_pairs_of_one_turn_are_forgotten_in_the_next() -> None:
    encoder = fitted(random_task(0))
    encoder.fit(PAIRS[:1], torch.Generator().manual_seed(4))
    with torch.no_grad():
        found = encoder.vectors().numpy()
    assert np.abs(found - np.array(slow_vectors(encoder, {0: SOURCES + 2}))).max() < CLOSE
    assert len(encoder.all_triples) == len(triples_of(random_task(0)))


# --- paths ---


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("path_count", "busiest"), [(2, 12), (1, 100), (4, 8)])
def test_paths_and_their_reliability(seed: int, path_count: int, busiest: int) -> None:
    task, settings = random_task(seed), SMALL.model_copy(update={"path_count": path_count, "busiest": busiest})
    encoder = IPTransE(task, settings, CPU)
    expected = slow_paths(task, settings)
    found = [tuple(path) for path in encoder.paths.tolist()]
    assert sorted(found) == sorted(expected)
    for path, reliability in zip(found, encoder.path_reliability.tolist(), strict=True):
        assert reliability == pytest.approx(expected[path], rel=1e-6)
    assert any(inverse(r) < r for path in found for r in path)  # inverse relations take part …
    assert any(r >= 2 * RELATIONS[0] for path in found for r in path)  # … and so do the target's


def test_path_loss_knows_inverse_relations_by_their_sign() -> None:
    task, encoder = random_task(1), fitted(random_task(1))
    own = encoder.parameters["relations"].detach().double().numpy()
    straight = [*range(RELATIONS[0]), *range(2 * RELATIONS[0], 2 * RELATIONS[0] + RELATIONS[1])]
    vector = {r: own[r] for r in straight} | {inverse(r): -own[r] for r in straight}
    expected = slow_paths(task, SMALL)
    total = sum(share * np.linalg.norm(vector[a] + vector[b] - vector[r]) for (a, b, r), share in expected.items())
    assert encoder.path_loss().item() == pytest.approx(total / len(expected), rel=1e-4)


# --- triples ---


@pytest.mark.parametrize("near", [3, 0])
def test_corrupted_triples_stay_in_their_graph_and_change_one_end(near: int) -> None:
    task = random_task(2)
    encoder = fitted(task, SMALL.model_copy(update={"near": near, "negatives": 40}))
    triples = triples_of(task)
    negatives = encoder.corrupted(torch.tensor(triples), torch.Generator().manual_seed(0)).tolist()
    check_negatives(triples, negatives)
    at_head = np.mean([other[0] != head for (head, _, _), row in zip(triples, negatives, strict=True) for other in row])
    assert at_head == pytest.approx(0.5, abs=0.05)


def test_replacements_are_the_nearest_of_the_same_graph() -> None:
    encoder = fitted(random_task(2))
    encoder.epoch = 0  # they are looked up at the start of a fit
    encoder.look_around(PAIRS)
    vectors = slow_vectors(encoder, SHARED)
    triples = encoder.all_triples.tolist()
    negatives = encoder.corrupted(encoder.all_triples, torch.Generator().manual_seed(1)).tolist()
    check_negatives(triples, negatives)
    for (head, _, tail), row in zip(triples, negatives, strict=True):
        for other_head, _, other_tail in row:
            old, new = (head, other_head) if other_head != head else (tail, other_tail)
            same = range(SOURCES) if old < SOURCES else range(SOURCES, SOURCES + TARGETS)
            nearer = sum(vectors[old] @ vectors[e] > vectors[old] @ vectors[new] + 1e-6 for e in same if e != old)
            assert nearer < SMALL.near


def test_what_is_looked_up_again_stands_where_a_recorded_epoch_reads_it() -> None:
    encoder = fitted(random_task(2))
    place, before = encoder.buffers["near"].data_ptr(), encoder.buffers["near"].clone()
    with torch.no_grad():
        encoder.parameters["entities"].normal_(generator=torch.Generator().manual_seed(0))
    encoder.epoch = SMALL.refresh + 1
    encoder.look_around(PAIRS)
    assert torch.equal(encoder.buffers["near"], before)  # not yet
    encoder.epoch = SMALL.refresh
    encoder.look_around(PAIRS)
    assert encoder.buffers["near"].data_ptr() == place
    assert not torch.equal(encoder.buffers["near"], before)


def test_triple_loss_is_the_weighted_mean_over_the_margin() -> None:
    encoder = fitted(random_task(0))
    triples, weight = encoder.all_triples, encoder.weight
    negatives = encoder.corrupted(triples, torch.Generator().manual_seed(5))
    entities, relations = slow_vectors(encoder, SHARED), encoder.parameters["relations"].detach().double().numpy()
    total = 0.0
    for triple, others, each in zip(triples.tolist(), negatives.tolist(), weight.tolist(), strict=True):
        right = energy(triple, entities, relations)
        parts = [max(0.0, SMALL.margin + right - energy(other, entities, relations)) for other in others]
        total += each * sum(parts) / len(parts)
    assert encoder.triple_loss(triples, weight, negatives).item() == pytest.approx(total / len(triples), rel=1e-4)


def test_each_batch_adds_the_paths_to_its_triples() -> None:
    encoder = fitted(random_task(1))
    rows = len(encoder.all_triples)
    found = [loss.item() for loss in encoder.losses(PAIRS, torch.Generator().manual_seed(6))]
    draw = torch.Generator().manual_seed(6)
    order = torch.argsort(torch.rand(rows, generator=draw))
    assert len(found) == math.ceil(rows / SMALL.batch) > 1
    for number, loss in enumerate(found):
        part = order[number * SMALL.batch : (number + 1) * SMALL.batch]
        negatives = encoder.corrupted(encoder.all_triples[part], draw)
        expected = encoder.triple_loss(encoder.all_triples[part], encoder.weight[part], negatives)
        expected = expected + SMALL.path_weight * encoder.path_loss()
        assert loss == pytest.approx(expected.item(), rel=1e-5)


def test_reliability_falls_with_distance() -> None:
    encoder = IPTransE(random_task(0), SMALL.model_copy(update={"distance": 0.6, "steepness": 7.0}), CPU)
    found = encoder.reliability(torch.tensor([0.0, 0.6, 1.3])).tolist()
    assert found == pytest.approx([1 / (1 + math.exp(-7.0 * (0.6 - distance))) for distance in (0.0, 0.6, 1.3)])


def test_gradients_reach_entities_and_relations() -> None:
    task = random_task(0)
    encoder = fitted(task, SMALL.model_copy(update={"batch": 10**6, "margin": 5.0}))
    encoder.optimiser.zero_grad()
    next(encoder.losses(PAIRS, torch.Generator().manual_seed(0))).backward()
    gradient = {name: value.grad.abs().amax(1) for name, value in encoder.parameters.items()}
    linked = {end for head, _, tail in triples_of(task) for end in (head, tail)}
    linked |= {SHARED[e] for e in linked if e in SHARED} | {e for e, other in SHARED.items() if other in linked}
    assert float(gradient["entities"][sorted(linked)].min()) > 0
    used = {relation for _, relation, _ in triples_of(task)}
    assert float(gradient["relations"][sorted(used)].min()) > 0
    assert all(bool(torch.isfinite(each).all()) for each in gradient.values())
