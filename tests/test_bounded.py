"""Candidates from marks and lists: a reference for each step, and the exact search where all are looked at."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
import torch
from torch import Tensor

import emea
from emea import Graph
from emea.candidates import bounded
from emea.candidates.bounded import nearest_both_ways
from emea.candidates.kept import KeptEmbeddings
from emea.candidates.marks import KEPT, LOOKED_AT, Holders, Marks, Neighbourhood
from emea.candidates.search import search
from emea.data import Embeddings, pair_keys
from emea.encoders import propagation
from emea.kernels import messages
from emea.kernels.joins import Edges
from emea.kernels.lists import Found, Visits, centres, nearest_lists, scan
from emea.kernels.messages import Pattern, plain_product, products
from emea.settings import SimilaritySettings, load
from small_world import read_small_world

CPU = torch.device("cpu")


def drawn(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def units(count: int, seed: int, axes: int = 8) -> Tensor:
    return torch.nn.functional.normalize(torch.randn(count, axes, generator=drawn(seed)), dim=1)


def graph(entities: int, triples: Tensor) -> Graph:
    names = pa.array([f"e{number:06}" for number in range(entities)], pa.large_string())
    return Graph.build(names, pa.array(["r", "s"], pa.large_string()), triples)


def neighbourhood(entities: int, edges: int, seed: int) -> tuple[Neighbourhood, dict[int, set[int]]]:
    """A random graph, and the neighbours of each entity."""
    ends = (torch.rand(edges, 2, generator=drawn(seed)).square() * entities).long()  # some have many more than others
    relation = torch.randint(2, (edges, 1), generator=drawn(seed))
    triples = torch.unique(torch.cat([ends[:, :1], relation, ends[:, 1:]], 1), dim=0)
    near: dict[int, set[int]] = defaultdict(set)
    for head, _, tail in triples.tolist():
        near[head].add(tail)
        near[tail].add(head)
    return Neighbourhood.of(Edges.build(graph(entities, triples), CPU)), near


def scores(near: dict[int, set[int]], labelled: list[int], entities: int) -> list[dict[int, float]]:
    """What each mark is worth to each entity, from the definition."""
    number = {entity: mark for mark, entity in enumerate(labelled)}
    degree = {entity: len(near[entity]) for entity in range(entities)}
    first, around = {}, {}
    for entity in range(entities):
        known = [other for other in near[entity] if other in number]
        around[entity] = len(known) + (entity in number)
        rarest = sorted(known, key=lambda other: degree[other])[: KEPT - 1]
        first[entity] = [number[other] for other in rarest] + ([number[entity]] if entity in number else [])
    holders: dict[int, float] = defaultdict(float)
    for entity in range(entities):
        for mark in first[entity]:
            holders[mark] += min(degree[entity], LOOKED_AT) + 1
    found = []
    for entity in range(entities):
        worth: dict[int, float] = defaultdict(float)
        for other in [*near[entity], entity]:
            for mark in first[other]:
                worth[mark] += around[other] ** -0.5
        found.append({mark: total * holders[mark] ** -0.5 for mark, total in worth.items()})
    return found


@pytest.mark.parametrize("seed", range(5))
def test_marks_are_the_best_of_their_definition(seed: int) -> None:
    entities = 60  # of fewer than KEPT known neighbours each, so that ties between equally rare ones do not matter
    about, near = neighbourhood(entities, 90, seed)
    labelled = torch.randperm(entities, generator=drawn(seed))[:12]
    marks, expected = about.marks(labelled), scores(near, labelled.tolist(), entities)
    for entity in range(entities):
        found = [mark for mark in marks[entity].tolist() if mark >= 0]
        best = sorted(expected[entity].values(), reverse=True)[:KEPT]
        assert len(set(found)) == len(found) == len(best)
        assert sorted((expected[entity][mark] for mark in found), reverse=True) == pytest.approx(best, rel=1e-5)


def test_a_hub_takes_no_more_than_others() -> None:
    leaves = 100_000
    triples = torch.stack(
        [torch.arange(1, leaves + 1), torch.zeros(leaves, dtype=torch.int64), torch.arange(leaves) * 0], 1
    )
    about = Neighbourhood.of(Edges.build(graph(leaves + 1, triples), CPU))
    marks = about.marks(torch.arange(1, 1001))
    assert marks.shape == (leaves + 1, KEPT)
    assert (marks[:, : KEPT - 1] >= 0).all()  # the hub is one step from every known pair, and so each leaf two
    holders = Holders.of(marks, 1000, torch.ones(leaves + 1, dtype=torch.bool))
    row, place, entity = holders.sharing(holders.within(marks[:5], 512))
    assert len(row) == len(place) == len(entity) <= 5 * 512


def test_the_rarest_marks_are_shared_first_and_within_the_budget() -> None:
    marks = torch.tensor([[0, 1, 2], [0, 1, -1], [0, -1, -1], [0, 2, -1], [3, -1, -1]], dtype=torch.int32)
    holders = Holders.of(marks, 4, torch.tensor([True, True, True, True, False]))
    within = holders.within(torch.tensor([[0, 1, 2], [3, 0, -1], [-1, -1, -1]], dtype=torch.int32), 4)
    assert within.tolist() == [[1, 2, -1], [0, -1, -1], [-1, -1, -1]]
    row, place, entity = holders.sharing(within)
    found: dict[int, list[int]] = defaultdict(list)
    for one, where, other in sorted(zip(row.tolist(), place.tolist(), entity.tolist(), strict=True)):
        assert where == len(found[one])
        found[one].append(other)
    assert found == {0: [0, 1, 0, 3], 1: [0, 1, 2, 3]}  # marks 1 and 2, for which 0 leaves no room; and 0


def scanned(
    queries: Tensor, visited: Tensor, keys: Tensor, shelf: Tensor, *, kept: int, longest: int, generator: Any
) -> tuple[Tensor, Tensor]:
    """The best of each list that a query visits, [queries, lists · kept]."""
    lists = visited.shape[1]
    every = Found.nothing(visited.numel(), kept, CPU)
    for found in scan(queries, keys, Visits.plan(visited, shelf, longest, generator), lists=lists, kept=kept):
        every.fill(found.visit, found)
    return every.value.view(len(queries), -1), every.key.view(len(queries), -1)


@pytest.mark.parametrize("seed", range(3))
def test_a_scan_of_all_lists_finds_the_nearest(seed: int) -> None:
    queries, keys, lists = units(50, seed), units(80, seed + 100), 6
    middle = centres(torch.cat([queries, keys])[torch.randperm(130, generator=drawn(seed))], lists)
    shelf = nearest_lists(keys, middle, 1)[:, 0]
    shelf[:7] = -1
    visited = torch.arange(lists, dtype=torch.int32).expand(50, -1).clone()
    visited[3] = -1
    value, found = scanned(queries, visited, keys, shelf, kept=10, longest=80, generator=drawn(seed))
    assert (found[3] == -1).all()
    for query in set(range(50)) - {3}:
        products = queries[query] @ keys.T
        for one in range(lists):
            on_list = [key for key in range(80) if shelf[key] == one]
            best = sorted(on_list, key=lambda key: -float(products[key]))[:10]
            part = slice(10 * one, 10 * one + len(best))
            assert set(found[query, part].tolist()) == set(best)
            assert value[query, part].float().sort().values.tolist() == pytest.approx(
                sorted(products[best].tolist()), abs=1e-3
            )


def test_long_lists_are_cut() -> None:
    keys = units(1000, 0)
    shelf = torch.zeros(1000, dtype=torch.int32)
    limits = {"kept": 999, "longest": 400}
    _, found = scanned(keys[:20], torch.zeros(20, 1, dtype=torch.int32), keys, shelf, **limits, generator=drawn(0))
    assert ((found >= 0).sum(1) == 400).all()


def kept(source: Tensor, target: Tensor) -> KeptEmbeddings:
    return KeptEmbeddings.of(Embeddings(source, target))


def no_marks(sources: int, targets: int) -> Marks:
    nothing = (torch.full((size, KEPT), -1, dtype=torch.int32) for size in (sources, targets))
    return Marks(*nothing, 1)


def test_where_all_are_looked_at_the_search_is_exact() -> None:
    embeddings = Embeddings(units(70, 1), units(90, 2))
    settings = SimilaritySettings(candidates=12, neighbours=5)
    exact = search(embeddings, settings, drawn(0))
    looking = settings.model_copy(update={"bounded": 0, "scanned": 10_000})
    bounded = search(embeddings, looking, drawn(0), no_marks(70, 90))
    assert bounded.keys().tolist() == exact.keys().tolist()
    assert torch.equal(bounded.cosine, exact.cosine)
    assert torch.allclose(bounded.source_density, exact.source_density)


def test_what_shares_a_mark_is_found_far_from_every_list() -> None:
    source, target = units(400, 3, axes=32), units(400, 4, axes=32)
    marks = no_marks(400, 400)
    marks.source[:, 0], marks.target[:, 0] = torch.arange(400).int(), torch.arange(400).flip(0).int()
    marks = Marks(marks.source, marks.target, 400)
    forward, backward = nearest_both_ways(kept(source, target), marks, count=50, looked_at=(4, 1), generator=drawn(0))
    assert all(399 - entity in forward[entity].tolist() for entity in range(400))
    assert all(399 - entity in backward[entity].tolist() for entity in range(400))
    for row in forward.tolist():
        assert len({entity for entity in row if entity >= 0}) == sum(entity >= 0 for entity in row)


def test_an_entity_with_enough_marks_visits_few_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    source, target, marks, visits = units(100, 5), units(100, 6), no_marks(100, 100), []
    marks.source[:50], marks.target[:, : KEPT // 2] = torch.arange(KEPT).int(), torch.arange(KEPT // 2).int()

    class Watched(Visits):
        @classmethod
        def plan(cls, visited: Tensor, *rest: Any) -> list[Visits]:
            visits.append((visited >= 0).sum(1))
            return Visits.plan(visited, *rest)

    monkeypatch.setattr(bounded, "Visits", Watched)
    marks = Marks(marks.source, marks.target, KEPT)
    nearest_both_ways(kept(source, target), marks, count=5, looked_at=(1000, 100), generator=drawn(0))
    assert visits[0].tolist() == 50 * [1] + 50 * [10]
    assert visits[1].tolist() == 100 * [1]  # the sources that share their marks are few enough


def test_entities_without_a_vector_find_nothing_and_are_not_found() -> None:
    source, target = units(30, 5), units(30, 6)
    source[4], target[9] = 0, 0
    marks = no_marks(30, 30)
    marks.source[:, 0], marks.target[:, 0] = 0, 0
    forward, backward = nearest_both_ways(
        kept(source, target), Marks(marks.source, marks.target, 1), count=5, looked_at=(64, 64), generator=drawn(0)
    )
    assert (forward[4] == -1).all()
    assert (backward[9] == -1).all()
    assert not (forward == 9).any()
    assert not (backward == 4).any()


@pytest.mark.parametrize("block", [2**27, 64 * 30, 1])
def test_products_of_halves_are_summed_in_single_precision(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where they are not compiled."""
    monkeypatch.setattr(messages, "HALVES_BLOCK", block)
    monkeypatch.setattr(messages, "compiled", lambda *_: None)
    left, right = units(40, 7, axes=64).bfloat16(), units(50, 8, axes=64).bfloat16()
    row, column = torch.randint(40, (200,), generator=drawn(1)), torch.randint(50, (200,), generator=drawn(2))
    pattern = Pattern(row, column, (40, 50))
    found = products(pattern, left, right)
    assert found.dtype == torch.float32
    assert torch.allclose(found, plain_product(pattern, left.float(), right.float()), atol=1e-6)


def test_rows_that_look_at_the_same_follow_each_other() -> None:
    marks = torch.randint(-1, 90, (400, KEPT), generator=drawn(3)).int()
    target = torch.randint(-1, 90, (300, KEPT), generator=drawn(4)).int()
    holders = Holders.of(target, 90, torch.ones(300, dtype=torch.bool))
    marks = holders.within(marks, 64)
    order, shared = holders.together(marks), []
    assert sorted(order.tolist()) == list(range(400))
    for each in (order, torch.arange(400)):
        row, _, entity = holders.sharing(marks[each])
        looked_at = [frozenset(entity[row == number].tolist()) for number in range(400)]
        shared.append(sum(len(one & other) for one, other in pairwise(looked_at)))
    assert shared[0] > 2 * shared[1]


def right_links(limit: int) -> int:
    """How many links of a small run are right, if graphs with more pairs than the limit are searched in bounds."""
    task, reference = read_small_world(100)
    changes = ["em.rounds=1", "evidence.kind=structure", "encoders.propagation={dimension=128, paths=128}"]
    found = emea.align(task, load("fast", assignments=[*changes, f"similarity.bounded={limit}"])).alignment
    keys = (pair_keys(links.source, links.target, len(task.target.entities)) for links in (found, reference.open()))
    return int(torch.isin(*keys).sum())


@pytest.mark.slow
def test_a_whole_run_in_bounds_finds_as_much_where_all_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with embeddings in halves."""
    exact, bounds = right_links(2**62), right_links(0)
    assert exact > 100
    assert bounds >= 0.9 * exact  # other random vectors, and ties that fall otherwise
    monkeypatch.setattr(propagation, "MOST_NUMBERS", 0)
    assert right_links(0) >= 0.97 * bounds
