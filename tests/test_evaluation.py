"""Ranks, links, calibration and significance equal slow loops over whole pools, ties and all."""

import math
import random
from collections.abc import Mapping, Sequence
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from torch import Tensor

from emea.data import Alignment, Candidates, Counterparts, Embeddings, Graph, Links, Reference, Task
from emea.method.em import Result
from emea.analysis.evaluation import (
    Answer,
    alignment_measures,
    answer,
    calibration_error,
    curve,
    evaluate,
    paired_t_test,
    ranking_measures,
    ranks,
    reliability,
)
from emea.settings import Settings, SimilaritySettings
from emea.candidates.search import search

SMALL = settings(max_examples=60, derandomize=True)

Pair = tuple[int, int]


def column(values: Sequence[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def links_of(pairs: Sequence[Pair]) -> Links:
    return Links.build(
        torch.tensor([pair[0] for pair in pairs], dtype=torch.int64),
        torch.tensor([pair[1] for pair in pairs], dtype=torch.int64),
    )


def alignment_of(links: Mapping[Pair, float]) -> Alignment:
    pairs = list(links)
    columns = links_of(pairs)
    return Alignment(columns.source, columns.target, column(list(links.values())), torch.zeros(len(pairs)))


def answer_of(
    scores: Mapping[Pair, float],
    targets: int,
    given_pairs: Sequence[Pair] = (),
    links: Mapping[Pair, float] | None = None,
) -> Answer:
    pairs = sorted(scores)
    columns = links_of(pairs)
    return Answer(
        links=alignment_of(links or {}),
        source=columns.source,
        target=columns.target,
        scores={"score": (column([scores[pair] for pair in pairs]), 1e-6)},
        targets=targets,
        given=links_of(given_pairs),
    )


def pool_of(inside: Sequence[int], targets: int) -> Tensor:
    pool = torch.zeros(targets, dtype=torch.bool)
    pool[list(inside)] = True
    return pool


# --- ranks ---


def slow_ranks(scores: Mapping[Pair, float], pair: Pair, pool: Sequence[int]) -> tuple[int, int]:
    """Optimistic and pessimistic rank; candidates come before all else, which is tied, and without any the rank is
    the worst."""
    source, target = pair
    candidates = [t for t in pool if (source, t) in scores]
    if not candidates:
        return len(pool), len(pool)
    if pair not in scores:
        return len(candidates) + 1, len(pool)
    right = scores[pair]
    better = sum(scores[source, t] > right + 1e-6 for t in candidates if t != target)
    tied = sum(abs(scores[source, t] - right) <= 1e-6 for t in candidates if t != target)
    return better + 1, better + 1 + tied


@st.composite
def rankings(draw: st.DrawFn) -> tuple[dict[Pair, float], list[Pair], list[int]]:
    """Scores in few steps (many ties) of some pairs, known links, one a source, and a pool with their targets."""
    grid = [(s, t) for s in range(5) for t in range(7)]
    pairs = draw(st.lists(st.sampled_from(grid), min_size=1, unique=True))
    scores = {pair: draw(st.integers(-3, 3)) / 2 for pair in pairs}
    sources = draw(st.lists(st.integers(0, 4), min_size=1, unique=True))
    known = list(zip(sources, draw(st.permutations(range(7))), strict=False))
    pool = sorted({t for _, t in known} | set(draw(st.lists(st.integers(0, 6)))))
    return scores, known, pool


@given(rankings())
@SMALL
def test_ranks_of_candidates_equal_the_loop(ranking: tuple[dict[Pair, float], list[Pair], list[int]]) -> None:
    scores, known, pool = ranking
    known = [pair for pair in known if pair in scores]
    best, worst = ranks(answer_of(scores, 7), links_of(known), pool_of(pool, 7), "score")
    expected = [slow_ranks(scores, pair, pool) for pair in known]
    assert list(zip(best.tolist(), worst.tolist(), strict=True)) == expected


@given(rankings())
@SMALL
def test_ranks_of_pairs_outside_the_candidates_equal_the_loop(
    ranking: tuple[dict[Pair, float], list[Pair], list[int]],
) -> None:
    scores, known, pool = ranking
    known = [pair for pair in known if any((pair[0], t) in scores for t in pool)]
    best, worst = ranks(answer_of(scores, 7), links_of(known), pool_of(pool, 7), "score")
    expected = [slow_ranks(scores, pair, pool) for pair in known]
    assert list(zip(best.tolist(), worst.tolist(), strict=True)) == expected


def test_a_source_without_candidates_has_the_worst_rank() -> None:
    """It is never dropped, and half the pool is not the worst."""
    subject = answer_of({(0, 0): 1.0}, 10)
    best, worst = ranks(subject, links_of([(0, 0), (3, 4)]), pool_of(range(10), 10), "score")
    assert [best[0].item(), worst[0].item()] == [1, 1]
    assert (best[1].item() + worst[1].item()) / 2 == 10
    measures = ranking_measures(best, worst)
    assert measures["mr"] == pytest.approx((1 + 10) / 2)
    assert measures["mrr"] == pytest.approx((1 + 1 / 10) / 2)
    assert measures["hit@1 shared"] == 0.5


def test_scores_closer_than_a_millionth_are_tied() -> None:
    scores = {(0, 0): 0.5, (0, 1): 0.5 + 5e-7, (0, 2): 0.5 - 5e-7, (0, 3): 0.5 + 2e-6, (0, 4): 0.5 - 2e-6}
    best, worst = ranks(answer_of(scores, 5), links_of([(0, 0)]), pool_of(range(5), 5), "score")
    assert [best.item(), worst.item()] == [2, 4]


def test_a_source_with_two_known_targets_has_a_rank_for_each() -> None:
    scores = {(0, 0): 0.9, (0, 1): 0.7, (0, 2): 0.5}
    best, worst = ranks(answer_of(scores, 3), links_of([(0, 0), (0, 2)]), pool_of(range(3), 3), "score")
    assert best.tolist() == worst.tolist() == [1.0, 3.0]


def test_measures_of_realistic_ranks_by_hand() -> None:
    best, worst = column([1, 1, 1, 2, 10, 10]), column([1, 2, 4, 2, 10, 11])
    rank = [1, 1.5, 2.5, 2, 10, 10.5]
    assert ranking_measures(best, worst) == {
        "hit@1": pytest.approx(1 / 6),  # a tie is no hit
        "hit@10": pytest.approx(5 / 6),
        "mrr": pytest.approx(sum(1 / r for r in rank) / 6),
        "mr": pytest.approx(sum(rank) / 6),
        "hit@1 shared": pytest.approx((1 + 1 / 2 + 1 / 4) / 6),  # a tie of k at the top has 1/k
    }


def test_nothing_to_rank() -> None:
    assert set(ranking_measures(column([]), column([])).values()) == {0.0}
    measures = evaluate(answer_of({(0, 0): 1.0}, 2), Reference(Links.empty()))
    assert measures["reference"] == 0


def test_neither_candidates_nor_reference() -> None:
    measures = evaluate(answer_of({}, 2), Reference(Links.empty()))
    assert measures["ranking"]["all targets"]["score"]["hit@1"] == 0.0


# --- pools, readings, seeds ---

# source 0 is a seed; of the reference, source 1 is right, 2 is beaten by target 4, which no test pair has, 3 is wrong
SCORES = {
    (0, 0): 1.0,
    (0, 1): 0.9,
    (1, 0): 0.95,
    (1, 1): 0.9,
    (1, 2): 0.8,
    (2, 2): 0.5,
    (2, 4): 0.7,
    (3, 1): 0.9,
    (3, 3): 0.4,
    (4, 4): 0.9,
}
LINKS = {(0, 1): 0.99, (1, 1): 0.9, (2, 4): 0.7, (3, 3): 0.6, (4, 5): 0.8}
SEEDS = [(0, 0)]
KNOWN = [(0, 1), (1, 1), (2, 2), (3, 3)]  # (0, 1) is of a seed: left out


def test_pools_are_the_test_targets_and_all_but_the_seeds() -> None:
    measures = evaluate(answer_of(SCORES, 6, SEEDS, LINKS), Reference(links_of(KNOWN)))
    assert measures["reference"] == 3
    test, every = (measures["ranking"][pool]["score"] for pool in ("test targets", "all targets"))
    # test targets {1, 2, 3}: ranks 1 (target 0 is in neither pool), 1 (4 is no test target), 2
    assert test["hit@1"] == pytest.approx(2 / 3)
    assert test["mr"] == pytest.approx(4 / 3)
    # all targets {1, …, 5}: ranks 1, 2, 2
    assert every["hit@1"] == pytest.approx(1 / 3)
    assert every["mr"] == pytest.approx(5 / 3)


def test_links_in_both_readings_without_the_seeds() -> None:
    measures = evaluate(answer_of(SCORES, 6, SEEDS, LINKS), Reference(links_of(KNOWN)))["alignment"]
    known, strict = measures["known sources"], measures["strict"]
    # counted: (1, 1) right, (2, 4) wrong, (3, 3) right; (4, 5), of a source that nobody knows, only when strict
    assert known["links"] == 3
    assert known["precision"] == pytest.approx(2 / 3)
    assert known["recall"] == pytest.approx(2 / 3)
    assert known["f1"] == pytest.approx(2 / 3)
    assert known["calibration error"] == pytest.approx((0.1 + 0.7 + 0.4) / 3)
    assert strict["links"] == 4
    assert strict["precision"] == pytest.approx(2 / 4)
    assert strict["recall"] == pytest.approx(2 / 3)
    assert strict["f1"] == pytest.approx(2 * (1 / 2) * (2 / 3) / (1 / 2 + 2 / 3))
    assert strict["calibration error"] == pytest.approx((0.1 + 0.7 + 0.4 + 0.8) / 4)


@given(st.integers(1, 400), st.integers(1, 8), st.randoms(use_true_random=False))
@SMALL
def test_the_curve_is_what_accepting_the_surest_gives(count: int, levels: int, chance: random.Random) -> None:
    confidence = [chance.randint(0, levels * 40) / (levels * 40) for _ in range(count)]
    right = [chance.random() < value for value in confidence]
    points = curve(torch.tensor(confidence), torch.tensor(right), known=count + 3)
    assert len(points) <= 109
    assert points[-1]["links"] == count
    assert [point["confidence"] for point in points] == sorted({point["confidence"] for point in points}, reverse=True)
    for point in points:
        accepted = [good for value, good in zip(confidence, right, strict=True) if value >= point["confidence"] - 1e-6]
        assert point["links"] == len(accepted)
        assert point["precision"] == pytest.approx(sum(accepted) / len(accepted))
        assert point["recall"] == pytest.approx(sum(accepted) / (count + 3))


def test_the_curve_tells_exactly_how_many_are_that_sure() -> None:
    confidence = torch.arange(10_001, dtype=torch.float64) / 10_000
    points = curve(confidence, confidence > 0.3, 20_000)
    for level, count in ((0.99, 101), (0.95, 501), (0.9, 1001), (0.5, 5001)):
        assert [point for point in points if point["confidence"] >= level][-1]["links"] == count


def test_bins_of_reliability_hold_all_links_and_their_order() -> None:
    chance = random.Random(0)
    confidence = torch.tensor([chance.random() for _ in range(100)], dtype=torch.float64)
    bins = reliability(confidence, confidence > 0.7)
    assert sum(one["links"] for one in bins) == 100
    assert max(one["links"] for one in bins) - min(one["links"] for one in bins) <= 1
    assert [one["confidence"] for one in bins] == sorted(one["confidence"] for one in bins)
    assert bins[0]["right"] == 0
    assert bins[-1]["right"] == 1


def test_no_links_and_no_reference_measure_zero() -> None:
    nothing = alignment_measures(answer_of(SCORES, 6, SEEDS), links_of(KNOWN), strict=True)
    assert nothing == {
        "links": 0,
        "precision": 0.0,
        "recall": 0.0,
        "f1": 0.0,
        "calibration error": 0.0,
        "reliability": [],
        "curve": [],
    }
    wrong = alignment_measures(answer_of(SCORES, 6, SEEDS, LINKS), Links.empty(), strict=True)
    assert (wrong["precision"], wrong["recall"], wrong["f1"]) == (0.0, 0.0, 0.0)


@given(st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=12), st.randoms(use_true_random=False))
@SMALL
def test_links_equal_a_count(table: set[Pair], chance: random.Random) -> None:
    links = dict.fromkeys(dict(table).items(), 0.5)
    known = list(zip(chance.sample(range(10), 6), chance.sample(range(10), 6), strict=True))
    seeds = list(zip(chance.sample(range(10), 2), chance.sample(range(10), 2), strict=True))
    known = [pair for pair in known if pair[0] not in {s for s, _ in seeds}]
    subject = answer_of({(0, 0): 0.0}, 10, seeds, links)
    for strict in (False, True):
        counted = [p for p in links if p[0] not in {s for s, _ in seeds}]
        if not strict:
            counted = [p for p in counted if p[0] in {s for s, _ in known}]
        right = sum(p in known for p in counted)
        found = alignment_measures(subject, links_of(known), strict=strict)
        assert found["links"] == len(counted)
        assert found["precision"] == pytest.approx(right / len(counted) if counted else 0.0)
        assert found["recall"] == pytest.approx(right / len(known) if known else 0.0)


# --- calibration and significance ---


def test_calibration_error_by_hand() -> None:
    # 30 links in 15 bins of two: confidence of bin b is (b + ½)/15 ± 0.01; of every third bin both are right, else one
    confidence, right, expected = [], [], 0.0
    for b in range(15):
        middle = (b + 0.5) / 15
        confidence += [middle - 0.01, middle + 0.01]
        right += [True, b % 3 == 0]
        expected += abs(middle - (1.0 if b % 3 == 0 else 0.5)) * 2 / 30
    order = list(range(30))
    random.Random(1).shuffle(order)
    found = calibration_error(
        torch.tensor([confidence[row] for row in order], dtype=torch.float64),
        torch.tensor([right[row] for row in order]),
    )
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("count", [1, 7, 15, 16, 100])
def test_calibration_error_equals_a_loop_over_bins_of_equal_mass(count: int) -> None:
    chance = random.Random(count)
    rows = sorted((chance.random(), chance.random() < 0.6) for _ in range(count))
    bins = min(15, count)
    sizes = [count // bins + (position < count % bins) for position in range(bins)]  # as even as can be
    expected, first = 0.0, 0
    for size in sizes:
        part = rows[first : first + size]
        expected += abs(sum(c for c, _ in part) - sum(r for _, r in part)) / count
        first += size
    found = calibration_error(column([c for c, _ in rows]), torch.tensor([r for _, r in rows]))
    assert found == pytest.approx(expected, rel=1e-12)


def test_calibration_error_of_nothing_is_zero() -> None:
    assert calibration_error(column([]), torch.tensor([], dtype=torch.bool)) == 0.0


def test_paired_t_test_is_that_of_scipy_on_reciprocal_ranks() -> None:
    chance = random.Random(2)
    first = [chance.choice([1, 1, 1.5, 2, 3, 10]) for _ in range(40)]
    second = [chance.choice([1, 2, 2.5, 4, 20]) for _ in range(40)]
    difference, p_value = paired_t_test(column(first), column(second))
    expected = stats.ttest_rel([1 / r for r in first], [1 / r for r in second])
    assert difference == pytest.approx(sum(1 / a - 1 / b for a, b in zip(first, second, strict=True)) / 40, rel=1e-12)
    assert p_value == pytest.approx(expected.pvalue, rel=1e-9)
    assert paired_t_test(column(second), column(first)) == pytest.approx((-difference, p_value), rel=1e-12)


def test_two_equal_runs_do_not_differ() -> None:
    difference, p_value = paired_t_test(column([1, 2, 3]), column([1, 2, 3]))
    assert difference == 0.0
    assert p_value == 1.0


# --- the tail: pairs outside the candidates ---


def graph_of(entities: int) -> Graph:
    return Graph.build([f"e{number:02d}" for number in range(entities)], [], torch.empty(0, 3, dtype=torch.int64))


def result_of(
    embeddings: Embeddings, candidates: Candidates, seeds: Sequence[Pair], forward: Sequence[float]
) -> Result:
    """A run whose last round proposed these candidates, with the given final beliefs."""
    sources, targets = candidates.sources, candidates.targets
    zeros = [torch.zeros(size, dtype=torch.float64) for size in (sources, targets)]
    final = Counterparts(candidates, column(forward), column(forward), *zeros)
    believed = Counterparts(candidates, column(forward) / 2, column(forward) / 2, *zeros)
    task = Task(graph_of(sources), graph_of(targets), links_of(seeds), Links.empty())
    last = SimpleNamespace(embeddings=embeddings, believed=believed)  # what evaluation looks at
    return Result(task, Settings(), alignment_of({}), final, last)


def dense_ranks(
    cosines: list[list[float]], scores: Mapping[Pair, float], pair: Pair, pool: Sequence[int]
) -> tuple[int, int]:
    """A full ranking of the pool: candidates first, by log probability, tied within 1e-4; then all others by CSLS over
    10 neighbours, tied within 1e-6."""
    columns = [list(values) for values in zip(*cosines, strict=True)]

    def csls(s: int, t: int) -> float:
        density = [sum(sorted(values, reverse=True)[:10]) / min(10, len(values)) for values in (cosines[s], columns[t])]
        return 2 * cosines[s][t] - density[0] - density[1]

    s, right = pair
    place = {t: (1, scores[s, t]) if (s, t) in scores else (0, csls(s, t)) for t in pool}
    ahead = tied = 0
    for t in pool:
        close = 1e-4 if place[t][0] else 1e-6
        if t != right and place[t][0] == place[right][0] and abs(place[t][1] - place[right][1]) <= close:
            tied += 1
        elif place[t] > place[right]:
            ahead += 1
    return ahead + 1, ahead + 1 + tied


def tail_case(seed: int) -> tuple[Result, list[list[float]], dict[Pair, float], list[Pair]]:
    """30 sources and 25 targets of which three are twins, 10 candidates each, seeds taken out of them."""
    generator = torch.Generator().manual_seed(seed)
    source, target = (torch.randn(size, 5, generator=generator) for size in (30, 25))
    target[7], target[9] = target[3], target[3]
    embeddings = Embeddings(source / source.norm(dim=1, keepdim=True), target / target.norm(dim=1, keepdim=True))
    seeds = [(0, 0), (1, 1)]
    candidates = search(embeddings, SimilaritySettings(candidates=10), generator)
    candidates = candidates[~candidates.touches(links_of(seeds))]
    candidates = candidates[candidates.cosine > candidates.cosine.median()]  # so that many known pairs are outside
    forward = torch.rand(len(candidates), generator=generator, dtype=torch.float64).tolist()
    pairs = list(zip(candidates.source.tolist(), candidates.target.tolist(), strict=True))
    cosines = [
        [math.fsum(a * b for a, b in zip(x, y, strict=True)) for y in embeddings.target.tolist()]
        for x in embeddings.source.tolist()
    ]
    known = [(s, s) for s in range(2, 25)]
    result = result_of(embeddings, candidates, seeds, forward)
    return result, cosines, dict(zip(pairs, forward, strict=True)), known


@pytest.mark.parametrize("seed", [0, 1])
def test_pairs_outside_the_candidates_rank_as_in_a_dense_ranking(seed: int) -> None:
    result, cosines, forward, known = tail_case(seed)
    subject = answer(result)
    assert set(subject.scores) == {"csls", "transport", "probability"}
    outside = [pair for pair in known if pair not in forward]
    assert len(outside) > 8
    pools = {"all": [t for t in range(25) if t not in {0, 1}], "test": [t for _, t in known if t % 2 or t > 10]}
    for name, pool in pools.items():
        inside = [pair for pair in known if pair[1] in pool]
        scores = {pair: math.log(value) for pair, value in forward.items()}
        expected = [dense_ranks(cosines, scores, pair, pool) for pair in inside]
        best, worst = ranks(subject, links_of(inside), pool_of(pool, 25), "probability")
        assert list(zip(best.tolist(), worst.tolist(), strict=True)) == expected, name
        tied = {pair for pair, (a, b) in zip(inside, expected, strict=True) if a < b}
        assert not tied or {t for _, t in tied} <= {3, 7, 9}


def test_twins_outside_the_candidates_are_tied() -> None:
    tied = 0
    for seed in range(4):
        result, _, forward, _ = tail_case(seed)
        pool = pool_of(range(2, 25), 25)
        sources = [s for s in range(2, 30) if not any((s, t) in forward for t in (3, 7, 9))]
        known = links_of([(s, 3) for s in sources])
        best, worst = ranks(answer(result), known, pool, "probability")
        assert (worst - best).tolist() == [2.0] * len(sources)
        tied += len(sources)
    assert tied > 10


def test_evaluate_opens_the_reference_and_ranks_the_whole_pool() -> None:
    result, cosines, forward, known = tail_case(3)
    measures = evaluate(result, Reference(links_of(known)))
    scores = {pair: math.log(value) for pair, value in forward.items()}
    pool = list(range(2, 25))
    expected = [sum(dense_ranks(cosines, scores, pair, pool)) / 2 for pair in known]
    found = measures["ranking"]["all targets"]["probability"]
    assert found["mr"] == pytest.approx(sum(expected) / len(expected), rel=1e-12)
    assert found["mrr"] == pytest.approx(sum(1 / rank for rank in expected) / len(expected), rel=1e-12)
    assert measures["ranking"]["all targets"]["transport"] == found  # halving every belief changes no rank
    assert measures["reference"] == len(known)
