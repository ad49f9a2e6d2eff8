"""What a run will need, by hand, for graphs of which only the sizes are given."""

import math
from types import SimpleNamespace
from typing import cast

import pytest
import torch

from emea.candidates.search import SCANNED
from emea.contracts import Size
from emea.encoders.rrea import RREA
from emea.evidence.prepared import Prepared
from emea.runs.estimate import GATHERED, INTERPRETER, MANY, _rounds, estimate
from emea.settings import Settings, load

FEATURES = 2 * 256 + 64
EXACT = ["encoders.propagation={dimension=256, paths=64}", "similarity={candidates=10, block=100, exact=10000000}"]
TWICE = ["em.rounds=2", "em.growth=0"]
RATE = 1e9  # floating-point operations a second


def sized(sources: int, targets: int, *, known: int = 0, judged: bool = False) -> Prepared:
    """Graphs of such sizes of which half of the entities may be linked."""
    sides = [
        SimpleNamespace(entities=range(size), triples=range(size), linkable=torch.arange(size) % 2 == 0)
        for size in (sources, targets)
    ]
    graphs, given = SimpleNamespace(source=sides[0], target=sides[1]), SimpleNamespace(seeds=range(known))
    told = SimpleNamespace(graphs=graphs, given=given, known=range(known), judged_by=lambda _: judged)
    return cast(Prepared, told)


@pytest.fixture(autouse=True)
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two cores of a known rate."""
    monkeypatch.setattr("emea.runs.estimate.matrix_rate", lambda *_: RATE)
    monkeypatch.setattr("emea.candidates.marks.multiplies_halves", lambda _: False)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)


def settings(*more: str) -> Settings:
    return load(assignments=["evidence.kind=structure", *EXACT, *TWICE, *more])


def test_an_exact_search_compares_all_both_ways() -> None:
    needed = estimate(sized(1000, 2000), settings())
    assert (needed.pairs, needed.features, needed.width) == (30_000, FEATURES, 2000)
    assert needed.blocks == 4 * 100 * 2000
    fixed = INTERPRETER + 65 * 30_000
    assert needed.memory == fixed + 2 * 4 * 3000 * FEATURES + needed.blocks, "embeddings twice, in single precision"
    assert needed.least == fixed + (4 + 1) * 3000 * FEATURES
    products = 2 * 2 * 1000 * 2000 * FEATURES  # a product and a sum for each number, both ways
    assert needed.seconds == pytest.approx(3 * (1.5 * products / RATE + 4.5e-6 * 30_000 / 2 + 0.1))


@pytest.mark.parametrize(("large", "axes"), [(10**7, 32), (10**6, 24)])  # among more pairs, three quarters
def test_a_bounded_search_needs_no_more_than_the_least(large: int, axes: int) -> None:
    bounds = "similarity={candidates=10, bounded=1999999, axes=32, scanned=50, shared=100}"
    needed = estimate(sized(1000, 2000), settings(bounds, f"similarity.large={large}"))
    assert needed.memory == needed.least == INTERPRETER + 65 * 30_000 + 5 * 3000 * FEATURES
    assert needed.blocks == 0
    assert estimate(sized(1000, 2000), settings(bounds, "similarity.bounded=2000000")).blocks > 0, "no more pairs"
    scanned = 2 * 3000 * (int(SCANNED * 50) + math.isqrt(2000)) * axes / RATE
    turned = 2 * 3000 * FEATURES * axes / RATE  # to the main axes
    gathered = 2 * 3000 * 100 * axes / (2 * GATHERED)  # halves
    expected = 3 * (1.5 * (scanned + turned) + gathered + 4.5e-6 * 30_000 / 2 + 0.1)
    assert needed.seconds == pytest.approx(expected)


def test_of_many_embeddings_halves_are_kept_unless_they_are_trained() -> None:
    size = MANY // FEATURES
    few, many, trained = (
        estimate(sized(size, each), settings("similarity.bounded=0", *more))
        for each, more in ((0, ()), (size, ()), (size, ("em.encoder=rrea",)))
    )
    assert few.least - INTERPRETER == (650 + 5 * FEATURES) * size
    assert many.least - INTERPRETER == (650 + 3 * FEATURES) * 2 * size
    assert trained.least - INTERPRETER == (650 + (5 + 4 * 4) * trained.features) * 2 * size


def test_training_takes_the_work_of_its_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    given, chosen, seconds = sized(1000, 2000, known=50), settings("em.encoder=rrea"), []
    size = Size(entities=3000, edges=2 * 3000, pairs=50)
    for work in (0.0, 7 * RATE):
        monkeypatch.setattr(RREA, "work", lambda _, own, fits, work=work: fits * work if own == size else -1)
        seconds.append(estimate(given, chosen).seconds)
    assert seconds[1] - seconds[0] == pytest.approx(3 * 7)


@pytest.mark.parametrize(("limit", "free"), [(None, 9.0), (4.0, 4.0), (20.0, 9.0)])
def test_no_more_than_the_limit_counts_as_free(
    limit: float | None, free: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emea.runs.estimate.free_memory", lambda _: 9.0)
    assert estimate(sized(10, 20), settings(), limit).free == free


def test_where_values_count_only_what_may_be_linked_is_searched_for_and_judged() -> None:
    whole, half = (
        estimate(sized(size, 2 * size), settings(f"evidence.kind={kind}"))
        for size, kind in ((500, "structure"), (1000, "all"))
    )
    judged = estimate(sized(1000, 2000, judged=True), settings("evidence.kind=all"))
    assert half.seconds == pytest.approx(whole.seconds)
    assert judged.seconds - half.seconds == pytest.approx(3.5 + 4e-4 * 1500)


@pytest.mark.parametrize(
    ("known", "judged", "more", "rounds"),
    [
        (50, False, [], 4),
        (5, False, [], 8),
        (500, False, [], 1),
        (0, False, [], 20),
        (5, True, [], 2),
        (5, True, ["em.rounds=1"], 1),
        (5, False, ["em.growth=0"], 20),
    ],
)
def test_the_fewer_pairs_are_known_the_more_rounds_it_takes(
    known: int, judged: bool, more: list[str], rounds: int
) -> None:
    """3.9 of them, and 1.9 more for each factor of e; entities may have several counterparts."""
    chosen = load(assignments=["em.rounds=20", *more])
    assert _rounds(sized(50, 80, known=known, judged=judged), chosen) == rounds
