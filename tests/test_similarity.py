"""The search equals brute force, whatever the block size, and exact ties do not fall by position."""

import math
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from emea.candidates.search import search, search_among
from emea.data import Candidates, Embeddings
from emea.kernels.nearest import best_columns, main_axes, nearest, shuffled
from emea.settings import SimilaritySettings

CLOSE = 2e-6  # single precision


def random_embeddings(sources: int, targets: int, seed: int, dimension: int = 6) -> Embeddings:
    generator = torch.Generator().manual_seed(seed)
    source, target = (torch.randn(size, dimension, generator=generator) for size in (sources, targets))
    return Embeddings(source / source.norm(dim=1, keepdim=True), target / target.norm(dim=1, keepdim=True))


def dense_cosines(embeddings: Embeddings) -> list[list[float]]:
    sources, targets = embeddings.source.tolist(), embeddings.target.tolist()
    return [[math.fsum(a * b for a, b in zip(x, y, strict=True)) for y in targets] for x in sources]


def top(values: Sequence[float], count: int) -> list[int]:
    return sorted(range(len(values)), key=lambda position: -values[position])[:count]


def brute_force(cosines: list[list[float]], count: int) -> set[tuple[int, int]]:
    """Pairs among the `count` nearest of their source or of their target."""
    columns = [list(column) for column in zip(*cosines, strict=True)]
    forward = {(s, t) for s, row in enumerate(cosines) for t in top(row, count)}
    return forward | {(s, t) for t, column in enumerate(columns) for s in top(column, count)}


def mean_of_nearest(values: Sequence[float], neighbours: int) -> float:
    nearest_values = sorted(values, reverse=True)[:neighbours]
    return sum(nearest_values) / len(nearest_values)


def check(candidates: Candidates, cosines: list[list[float]], settings: SimilaritySettings) -> None:
    """Pairs, cosines and csls(x, y) = 2·cos − r_T(x) − r_S(y), r over the `neighbours` nearest of all entities."""
    columns = [list(column) for column in zip(*cosines, strict=True)]
    rows = list(zip(candidates.source.tolist(), candidates.target.tolist(), strict=True))
    assert rows == sorted(brute_force(cosines, settings.candidates))  # sorted by source and target, each once
    assert (candidates.sources, candidates.targets) == (len(cosines), len(columns))
    for row, (s, t) in enumerate(rows):
        assert candidates.cosine[row].item() == pytest.approx(cosines[s][t], abs=CLOSE)
        csls = 2 * cosines[s][t]
        if settings.measure == "csls":
            csls -= mean_of_nearest(cosines[s], settings.neighbours) + mean_of_nearest(columns[t], settings.neighbours)
        assert candidates.similarity[row].item() == pytest.approx(csls, abs=3 * CLOSE)


SETTINGS = [
    SimilaritySettings(candidates=5, neighbours=3),
    SimilaritySettings(candidates=4, neighbours=4),
    SimilaritySettings(candidates=3, neighbours=2, measure="cosine"),
    SimilaritySettings(candidates=100, neighbours=10),  # more than there are entities
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize(("sources", "targets"), [(23, 17), (9, 31)])
@pytest.mark.parametrize("block", [1, 4, 1024])
def test_search_equals_brute_force(settings: SimilaritySettings, sources: int, targets: int, block: int) -> None:
    embeddings = random_embeddings(sources, targets, seed=sources)
    used = settings.model_copy(update={"block": block})
    check(search(embeddings, used, torch.Generator().manual_seed(0)), dense_cosines(embeddings), used)


def test_csls_looks_at_its_own_number_of_neighbours() -> None:
    """k of CSLS is no matter of how many candidates are kept."""
    embeddings = random_embeddings(20, 15, seed=2)
    settings = SimilaritySettings(candidates=3, neighbours=8)
    check(search(embeddings, settings, torch.Generator().manual_seed(0)), dense_cosines(embeddings), settings)


def test_the_block_size_changes_nothing() -> None:
    embeddings = random_embeddings(40, 30, seed=5)
    results = [
        search(embeddings, SimilaritySettings(candidates=6, block=block), torch.Generator().manual_seed(1))
        for block in (1, 3, 7, 39, 40, 1000)
    ]
    for result in results[1:]:
        assert torch.equal(result.source, results[0].source)
        assert torch.equal(result.target, results[0].target)
        torch.testing.assert_close(result.similarity, results[0].similarity, atol=CLOSE, rtol=0)


def test_among_some_entities_others_are_neither_found_nor_counted() -> None:
    embeddings, settings = random_embeddings(20, 15, seed=3), SimilaritySettings(candidates=4, neighbours=3)
    these = torch.arange(20) % 3 > 0, torch.arange(15) % 4 > 0
    found = search_among(embeddings, these, settings, torch.Generator().manual_seed(0))
    assert (found.sources, found.targets) == (20, 15)
    assert bool(these[0][found.source].all() and these[1][found.target].all())
    part = Embeddings(embeddings.source[these[0]], embeddings.target[these[1]])
    expected = search(part, settings, torch.Generator().manual_seed(0))
    check(expected, dense_cosines(part), settings)
    assert torch.equal(found.cosine, expected.cosine)
    torch.testing.assert_close(found.similarity, expected.similarity)
    assert bool((found.keys().diff() > 0).all())


def test_the_generator_decides_nothing_where_nothing_is_tied() -> None:
    embeddings = random_embeddings(25, 25, seed=6)
    first, second = (
        search(embeddings, SimilaritySettings(candidates=5), torch.Generator().manual_seed(seed)) for seed in (1, 2)
    )
    assert torch.equal(first.keys(), second.keys())


def nearest_in(queries: Tensor, keys: Tensor, count: int, block: int, draw: torch.Generator) -> Tensor:
    order = torch.randperm(len(keys), generator=draw)
    return nearest(queries, shuffled(keys, order), order, count, block)


def test_nearest_come_in_falling_order() -> None:
    embeddings = random_embeddings(12, 9, seed=7)
    cosines = dense_cosines(embeddings)
    found = nearest_in(embeddings.source, embeddings.target, 4, 5, torch.Generator().manual_seed(0))
    assert found.tolist() == [top(row, 4) for row in cosines]
    assert nearest_in(embeddings.source[:0], embeddings.target, 4, 5, torch.Generator()).shape == (0, 4)


@pytest.mark.parametrize(
    ("rows", "columns", "count"), [(7, 40, 3), (5, 1000, 4), (3, 1003, 15), (4, 5000, 50), (2, 1, 1)]
)
def test_best_columns_are_those_of_a_sort(rows: int, columns: int, count: int) -> None:
    values = torch.randn(rows, columns, generator=torch.Generator().manual_seed(columns))
    assert best_columns(values, count).tolist() == [top(row, count) for row in values.tolist()]


def test_best_columns_hold_ties_of_every_group() -> None:
    values = torch.zeros(3, 2000)
    values[:, 100:140] = 1.0
    assert sorted(best_columns(values, 10)[0].tolist()) == sorted(set(best_columns(values, 10)[0].tolist()))
    assert bool((values.gather(1, best_columns(values, 10)) == 1).all())


def clustered(entities: int, seed: int) -> Tensor:
    """Vectors near 60 centres of a space of 128 features, the centres the same for every seed."""
    draw, shared = torch.Generator().manual_seed(seed), torch.Generator().manual_seed(99)
    centres = torch.randn(60, 128, generator=shared)
    rows = centres[torch.randint(60, (entities,), generator=draw)] + torch.randn(entities, 128, generator=draw)
    return torch.nn.functional.normalize(rows, dim=1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")  # halves on a CPU that has none: torch falls back
@pytest.mark.parametrize("axes", [64, 128])
@pytest.mark.parametrize("halves", [False, True])
def test_a_rough_search_finds_nearly_the_same_and_its_cosines_are_exact(
    axes: int, halves: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emea.kernels.nearest.multiplies_halves", lambda _: halves)
    embeddings = Embeddings(clustered(1500, 1), clustered(1200, 2))
    exact, rough = (
        search(embeddings, SimilaritySettings(candidates=50, exact=limit, axes=axes), torch.Generator().manual_seed(0))
        for limit in (10**9, 0)
    )
    assert len(rough) > 0.9 * len(exact)
    dense = embeddings.source @ embeddings.target.T
    torch.testing.assert_close(rough.cosine, dense[rough.source, rough.target], atol=CLOSE, rtol=0)
    torch.testing.assert_close(exact.cosine, dense[exact.source, exact.target], atol=CLOSE, rtol=0)
    ten_nearest = dense.topk(10, 1).indices + torch.arange(1500)[:, None] * 1200
    recall = float(torch.isin(ten_nearest.flatten(), rough.keys()).double().mean())
    assert recall > (0.999 if axes == 128 else 0.95)
    assert float((rough.source_density - exact.source_density).abs().max()) < 0.02
    assert bool((rough.source_density <= exact.source_density + CLOSE).all())


def test_the_exact_search_is_exact_whatever_the_axes() -> None:
    embeddings = random_embeddings(60, 50, seed=3, dimension=40)
    used = SimilaritySettings(candidates=4, neighbours=3, axes=2)
    check(search(embeddings, used, torch.Generator().manual_seed(0)), dense_cosines(embeddings), used)


def test_main_axes_are_orthonormal_and_hold_what_matters() -> None:
    draw = torch.Generator().manual_seed(4)
    basis = torch.linalg.qr(torch.randn(50, 5, generator=draw)).Q
    rows = torch.randn(300, 5, generator=draw) @ basis.T + 0.01 * torch.randn(300, 50, generator=draw)
    found = main_axes(rows, 5)
    torch.testing.assert_close(found.T @ found, torch.eye(5), atol=1e-5, rtol=0)
    kept = (rows @ found).square().sum() / rows.square().sum()
    assert float(kept) > 0.999


def axes(rows: Sequence[int]) -> Tensor:
    """Unit vectors along the given axes: products with them are exact."""
    return torch.eye(8)[torch.tensor(rows)]


@pytest.mark.parametrize("block", [2, 1024])
def test_twins_are_chosen_by_chance_and_not_by_position(block: int) -> None:
    """Targets 0, 3 and 5 are one vector, and so are sources 1 and 4: with one candidate, each twin has its day."""
    embeddings = Embeddings(axes([0, 1, 2, 3, 1]), axes([1, 0, 2, 1, 3, 1]))
    by_source: dict[int, set[int]] = {1: set(), 4: set()}
    by_target: dict[int, set[int]] = {0: set(), 3: set(), 5: set()}
    counts = dict.fromkeys((0, 3, 5), 0)
    for seed in range(60):
        draw = torch.Generator().manual_seed(seed)
        forward = nearest_in(embeddings.source, embeddings.target, 1, block, draw)
        backward = nearest_in(embeddings.target, embeddings.source, 1, block, draw)
        for source, chosen in by_source.items():
            chosen.add(int(forward[source, 0]))
        for target, chosen in by_target.items():
            chosen.add(int(backward[target, 0]))
        counts[int(forward[1, 0])] += 1
    assert by_source == {1: {0, 3, 5}, 4: {0, 3, 5}}
    assert by_target == {0: {1, 4}, 3: {1, 4}, 5: {1, 4}}
    assert min(counts.values()) >= 8  # 60 fair draws of three: fewer than 8 of one has p < 0.0003


def test_the_order_of_one_graph_says_nothing_of_the_other() -> None:
    """Twins on both sides: source 0 and target 0 are not chosen together more often than chance has it."""
    embeddings = Embeddings(axes([0, 0]), axes([0, 0]))
    together = 0
    for seed in range(200):
        draw = torch.Generator().manual_seed(seed)
        forward = nearest_in(embeddings.source, embeddings.target, 1, 1024, draw)
        together += int(forward[0, 0]) == int(nearest_in(embeddings.target, embeddings.source, 1, 1024, draw)[0, 0])
    assert 70 <= together <= 130  # 200 fair coins: outside with p < 0.0001
