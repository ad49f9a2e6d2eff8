"""Propagation equals its formula in slow loops, and depends on nothing but graphs, pairs and the generator."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from emea.data import Embeddings, Graph, Links, Task
from emea.encoders import propagation
from emea.encoders.propagation import Propagation, PropagationSettings
from emea.kernels.joins import Edges

CLOSE = 2e-6  # single precision
CPU = torch.device("cpu")

PLAIN: dict[str, Any] = {"shared": False, "forget": False, "far": 1.0}  # nothing that LightEA lacks
ALL: dict[str, Any] = {"shared": True, "forget": True, "far": 0.5}  # what LightEA does not have
Triple = tuple[int, int, int]
Vector = list[float]

# parallel edges 0 → 1, a hub 3, an entity without edges (5), an island (6, 7) with a relation of its own
SOURCE: list[Triple] = [(0, 0, 1), (0, 1, 1), (1, 0, 2), (2, 1, 3), (4, 0, 3), (0, 1, 3), (6, 2, 7)]
TARGET: list[Triple] = [(1, 0, 0), (2, 0, 1), (3, 1, 2), (3, 0, 4), (3, 2, 0), (5, 1, 4), (5, 2, 4)]


def graph_of(triples: Sequence[Triple], entities: int, relations: int = 3) -> Graph:
    names = [f"e{number}" for number in range(entities)]
    return Graph.build(names, [f"r{n}" for n in range(relations)], np.array(triples, dtype=np.int64))


TASK = Task(graph_of(SOURCE, 8), graph_of(TARGET, 6), Links.empty(), Links.empty())


def pairs_of(rows: Sequence[tuple[int, int, float]]) -> Links:
    source, target, weight = zip(*rows, strict=True)
    return Links.build(torch.tensor(source), torch.tensor(target), torch.tensor(weight))


PAIRS = pairs_of([(0, 1, 1.0), (3, 3, 0.5), (0, 2, 0.25), (1, 0, 1.0)])  # source 0 is in two pairs


def fit(task: Task, pairs: Links, settings: PropagationSettings, seed: int = 0) -> Embeddings:
    return Propagation(task, settings, CPU).fit(pairs, torch.Generator().manual_seed(seed))


# --- the slow reference ---


def unit(vector: Vector) -> Vector:
    length = math.sqrt(sum(value * value for value in vector))
    return [value / length for value in vector] if length else vector


def add(vectors: Sequence[Vector], dimension: int) -> Vector:
    return [sum(vector[d] for vector in vectors) for d in range(dimension)]


class Draws:
    """What the generator gives: a vector for each pair, then coordinates and signs for relations and for entities."""

    def __init__(self, pairs: int, settings: PropagationSettings, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        shape = (settings.depth + 1, settings.paths)
        self.vectors = [unit(row) for row in torch.randn(pairs, settings.dimension, generator=generator).tolist()]
        self.sketches = []
        for _ in ("relations", "entities"):
            coordinate = torch.randint(settings.dimension, shape, generator=generator).tolist()
            sign = torch.randint(2, shape, generator=generator).tolist()
            self.sketches.append((coordinate, [[2 * bit - 1 for bit in row] for row in sign]))


def slow_worth(triples: Sequence[Triple], others: Sequence[Triple], pairs: Sequence[tuple[int, int, float]]) -> Vector:
    """Of the three relations and their inverses: how often edges between known entities are shared, shrunk."""
    best = {source: max((w, t) for s, t, w in pairs if s == source) for source, _, _ in pairs}
    joined = {frozenset((h, t)) for h, _, t in others}
    seen, hits = [0.0] * 3, [0.0] * 3
    for h, r, t in triples:
        if h in best and t in best:
            (one, head), (two, tail) = best[h], best[t]
            seen[r] += one * two
            hits[r] += one * two * (frozenset((head, tail)) in joined)
    if not sum(hits):
        return [20 / (20 + count) for count in seen] * 2
    mean = sum(hits) / sum(seen)
    return [(hit + 20 * mean) / (count + 20) / mean for hit, count in zip(hits, seen, strict=True)] * 2


def slow_embeddings(
    triples: Sequence[Triple],
    entities: int,
    labelled: Sequence[tuple[int, float]],
    draws: Draws,
    settings: PropagationSettings,
    *,
    worth: Vector,
) -> list[Vector]:
    dimension, relations = settings.dimension, 3
    edges = [*triples, *((t, r + relations, h) for h, r, t in triples)]
    zero = [0.0] * dimension
    first = [
        add(
            [[weight * x for x in v] for (e, weight), v in zip(labelled, draws.vectors, strict=True) if e == n],
            dimension,
        )
        for n in range(entities)
    ]
    e_views, r_views = [first], [[zero] * (2 * relations)]
    near = {e: {t for h, _, t in edges if h == e} for e in range(entities)}  # once each, however many relations

    def value(e: int, n: int) -> float:
        return max(worth[r] for h, r, t in edges if (h, t) == (e, n))

    lengths = [1.0] * entities
    for depth in range(settings.depth):
        e_last, r_last = e_views[-1], r_views[-1]
        e_next, lengths_next = [], []
        for entity in range(entities):
            terms = [e_last[entity], *(r_last[r] for h, r, _ in edges if h == entity)]
            for n in near[entity]:
                term = e_last[n]
                if depth and settings.forget and any(term):
                    back = value(n, entity) / lengths[n]
                    term = [x - back * y for x, y in zip(term, e_views[-2][entity], strict=True)]
                terms.append([value(entity, n) * x for x in term])
            total = add(terms, dimension)
            lengths_next.append(math.sqrt(sum(x * x for x in total)))
            e_next.append(unit(total))
        lengths = lengths_next
        r_next = [unit(add([e_last[h] for h, r, _ in edges if r == relation], dimension)) for relation in range(6)]
        e_views.append(e_next)
        r_views.append(r_next)

    def feature(sketch: tuple[list[list[int]], list[list[int]]], views: list[list[Vector]], row: int, c: int) -> float:
        coordinate, sign = sketch
        return sum(
            sign[depth][c] * view[row][coordinate[depth][c]] * (settings.far if depth == settings.depth else 1)
            for depth, view in enumerate(views)
        )

    result = []
    for entity in range(entities):
        plain = unit([value for view in e_views[1:] for value in view[entity]])
        if not settings.paths:
            result.append(plain)
            continue
        third = [
            sum(
                worth[r] * feature(draws.sketches[0], r_views, r, c) * feature(draws.sketches[1], e_views, t, c)
                for h, r, t in edges
                if h == entity
            )
            for c in range(settings.paths)
        ]
        result.append(unit(plain + [settings.path_weight * value for value in unit(third)]))
    return result


@pytest.mark.parametrize(
    "settings",
    [
        PropagationSettings(dimension=8, depth=1, paths=0, **PLAIN),
        PropagationSettings(dimension=8, depth=3, paths=0, **PLAIN),
        PropagationSettings(dimension=8, depth=1, paths=5, path_weight=0.7, **PLAIN),
        PropagationSettings(dimension=9, depth=2, paths=12, path_weight=1.5, **PLAIN),
        PropagationSettings(dimension=8, depth=3, paths=0, **ALL),
        PropagationSettings(dimension=9, depth=2, paths=12, **ALL),
        PropagationSettings(dimension=9, depth=2, paths=12, **PLAIN | {"shared": True}),
        PropagationSettings(dimension=9, depth=1, paths=12, **PLAIN | {"far": 0.3}),
        PropagationSettings(dimension=9, depth=2, paths=12, **PLAIN | {"forget": True}),
    ],
    ids=str,
)
def test_embeddings_equal_the_formula(settings: PropagationSettings) -> None:
    found = fit(TASK, PAIRS, settings, seed=4)
    draws = Draws(len(PAIRS), settings, 4)
    for side, triples, entities in (("source", SOURCE, 8), ("target", TARGET, 6)):
        own = side == "source"
        labelled = list(zip(getattr(PAIRS, side).tolist(), PAIRS.weight.tolist(), strict=True))
        given = list(zip(*(column.tolist() for column in (PAIRS if own else PAIRS.swap()).columns), strict=True))
        worth = slow_worth(triples, TARGET if own else SOURCE, given) if settings.shared else [1.0] * 6
        assert not settings.shared or len(set(worth)) > 1
        expected = torch.tensor(slow_embeddings(triples, entities, labelled, draws, settings, worth=worth))
        embeddings = getattr(found, side)
        assert embeddings.shape == (entities, settings.depth * settings.dimension + settings.paths)
        torch.testing.assert_close(embeddings, expected, atol=CLOSE, rtol=0)


def test_rows_have_length_one_or_zero() -> None:
    found = fit(TASK, PAIRS, PropagationSettings(dimension=16, paths=32))
    lengths = torch.cat([found.source, found.target]).norm(dim=1)
    assert bool((((lengths - 1).abs() < 1e-6) | (lengths == 0)).all())
    assert int((lengths > 0).sum()) > 8


@pytest.mark.parametrize("paths", [0, 32])
def test_entities_that_no_label_reaches_are_zero(paths: int) -> None:
    found = fit(TASK, PAIRS, PropagationSettings(dimension=16, paths=paths)).source
    assert found[5].abs().max().item() == 0.0  # no edges
    assert found[6:].abs().max().item() == 0.0  # an island whose relation occurs nowhere else
    for entity in (0, 1, 2, 3, 4):
        assert found[entity].norm().item() == pytest.approx(1.0, abs=1e-6)


def test_a_label_flows_as_far_as_the_depth() -> None:
    chain = graph_of([(0, 0, 1), (1, 1, 2), (2, 2, 3)], 4)
    task = Task(chain, chain, Links.empty(), Links.empty())
    near = fit(task, pairs_of([(0, 0, 1.0)]), PropagationSettings(dimension=8, depth=1, paths=0)).source
    assert [row.norm().item() > 0 for row in near] == [True, True, False, False]
    far = fit(task, pairs_of([(0, 0, 1.0)]), PropagationSettings(dimension=8, depth=2, paths=0)).source
    assert [row.norm().item() > 0 for row in far] == [True, True, True, False]


def test_weights_scale_what_a_pair_contributes() -> None:
    settings = PropagationSettings(dimension=16, depth=1, paths=0)
    star = graph_of([(0, 0, 1), (0, 0, 2)], 3)
    task = Task(star, star, Links.empty(), Links.empty())
    vectors = Draws(2, settings, 0).vectors
    for weight in (1.0, 0.5, 0.0):
        found = fit(task, pairs_of([(1, 1, 1.0), (2, 2, weight)]), settings).source[0].tolist()
        expected = unit([a + weight * b for a, b in zip(*vectors, strict=True)])
        assert found == pytest.approx(expected, abs=CLOSE)


def test_one_weight_for_all_pairs_changes_nothing_of_the_plain_first_step() -> None:
    settings = PropagationSettings(dimension=16, depth=1, paths=0, shared=False)  # what is shared, it may
    full = fit(TASK, pairs_of([(0, 1, 1.0), (3, 3, 1.0)]), settings)
    half = fit(TASK, pairs_of([(0, 1, 0.5), (3, 3, 0.5)]), settings)
    torch.testing.assert_close(half.source, full.source, atol=CLOSE, rtol=0)


def test_swapping_task_and_pairs_swaps_the_embeddings() -> None:
    settings = PropagationSettings(dimension=16, paths=24, **ALL)
    there, back = fit(TASK, PAIRS, settings), fit(TASK.swap(), PAIRS.swap(), settings)
    assert torch.equal(there.source, back.target)
    assert torch.equal(there.target, back.source)


def test_the_same_graph_and_pairs_have_the_same_embeddings_on_both_sides() -> None:
    task = Task(graph_of(SOURCE, 8), graph_of(SOURCE, 8), Links.empty(), Links.empty())
    found = fit(task, pairs_of([(0, 0, 1.0), (3, 3, 1.0)]), PropagationSettings(dimension=16, paths=24))
    assert torch.equal(found.source, found.target)


def test_ids_do_not_matter() -> None:
    """Renumbering the target's entities renumbers its embeddings."""
    order = [3, 0, 5, 1, 4, 2]  # entity n is called order[n] now
    renamed = [(order[h], r, order[t]) for h, r, t in TARGET]
    task = Task(TASK.source, graph_of(renamed, 6), Links.empty(), Links.empty())
    settings = PropagationSettings(dimension=16, paths=24)
    pairs = Links.build(PAIRS.source, torch.tensor(order)[PAIRS.target], PAIRS.weight)
    found, before = fit(task, pairs, settings).target, fit(TASK, PAIRS, settings).target
    torch.testing.assert_close(found[torch.tensor(order)], before, atol=CLOSE, rtol=0)


def test_same_seed_same_bytes_and_each_fit_starts_anew() -> None:
    settings = PropagationSettings(dimension=16, paths=24)
    first, second, other = (fit(TASK, PAIRS, settings, seed) for seed in (1, 1, 2))
    assert first.source.numpy().tobytes() == second.source.numpy().tobytes()
    assert first.target.numpy().tobytes() == second.target.numpy().tobytes()
    assert not torch.equal(first.source, other.source)
    encoder = Propagation(TASK, settings, CPU)
    encoder.fit(pairs_of([(2, 2, 1.0)]), torch.Generator().manual_seed(9))
    again = encoder.fit(PAIRS, torch.Generator().manual_seed(1))
    assert torch.equal(again.source, first.source)


def test_without_pairs_everything_is_zero() -> None:
    found = fit(TASK, Links.empty(), PropagationSettings(dimension=8, paths=8))
    assert found.source.abs().max().item() == found.target.abs().max().item() == 0.0


@pytest.mark.parametrize("paths", [0, 16])
def test_with_all_its_edges_an_entity_is_embedded_as_before(paths: int) -> None:
    settings = PropagationSettings(dimension=16, paths=paths, **ALL)
    one, other = Propagation(TASK, settings, CPU).spread(PAIRS, torch.Generator().manual_seed(0))
    whole = fit(TASK, PAIRS, settings)
    assert torch.equal(one.embedding, whole.source)
    for spread, graph, labelled in ((one, TASK.source, PAIRS.source), (other, TASK.target, PAIRS.target)):
        edges = Edges.build(graph, CPU)
        others = set(range(len(graph.entities))) - set(labelled.tolist())
        assert others
        for entity in others:
            relation, tail = (torch.tensor(column, dtype=torch.long) for column in edges.leaving(entity))
            assert torch.allclose(spread.embed(entity, relation, tail), spread.embedding[entity], atol=1e-6)


def test_with_fewer_edges_an_entity_is_embedded_as_in_the_graph_without_them() -> None:
    """The plain view of an entity without a label is the same as in a fit without its other triples."""
    settings = PropagationSettings(dimension=16, paths=0, **ALL)
    triples = [(0, 0, 1), (0, 1, 2), (3, 2, 0), (1, 0, 2), (2, 1, 4), (4, 0, 3)]
    pairs = pairs_of([(1, 1, 1.0), (3, 3, 0.5), (4, 4, 1.0)])
    whole, part = (
        Task(graph_of(each, 5), graph_of(triples, 5), Links.empty(), Links.empty()) for each in (triples, triples[1:])
    )
    spread, _ = Propagation(whole, settings, CPU).spread(pairs, torch.Generator().manual_seed(0))
    relation, tail = torch.tensor([1, 2 + 3]), torch.tensor([2, 3])  # 0 → 2, and the inverse of 3 → 0
    expected = fit(part, pairs, settings).source[0]
    assert torch.allclose(spread.embed(0, relation, tail), expected, atol=1e-6)
    assert not torch.allclose(spread.embedding[0], expected, atol=1e-3)
    nothing = torch.empty(0, dtype=torch.long)
    assert not spread.embed(0, nothing, nothing).any()


def test_a_small_graph_has_the_precision_of_a_large_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise they could not be multiplied."""
    settings, large = (
        PropagationSettings(dimension=16, paths=16),
        Task(graph_of(SOURCE, 8), graph_of(TARGET, 900), PAIRS),
    )
    monkeypatch.setattr(propagation, "MOST_NUMBERS", 100 * Propagation.features(settings))
    for task in (large, Task(large.target, large.source, PAIRS.swap())):
        embedded = fit(task, task.seeds, settings)
        assert embedded.source.dtype == embedded.target.dtype == torch.bfloat16


def test_large_graphs_are_embedded_in_parts_as_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = PropagationSettings(dimension=64, paths=96)
    whole = Propagation(TASK, settings, CPU).fit(PAIRS, torch.Generator().manual_seed(0))
    monkeypatch.setattr(propagation, "MOST_NUMBERS", 0)
    monkeypatch.setattr(propagation, "NUMBERS", 0)
    monkeypatch.setattr(propagation, "FEWEST", 40)
    parts = Propagation(TASK, settings, CPU).fit(PAIRS, torch.Generator().manual_seed(0))
    for one, other in ((whole.source, parts.source), (whole.target, parts.target)):
        assert other.dtype == torch.bfloat16
        assert torch.allclose(one, other.float(), atol=3e-3)
        assert ((one == 0).all(1) == (other == 0).all(1)).all()
