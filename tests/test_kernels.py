"""The kernels equal plain loops: segments, joins, the edges of a graph, and Sinkhorn's iteration."""

import math
import random
from collections.abc import Sequence
from itertools import chain, pairwise
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from emea.data import Graph
from emea.kernels import segments
from emea.kernels.bunches import Bunches
from emea.kernels.devices import at_a_time
from emea.kernels.greedy import greedy
from emea.kernels.joins import Edges, expand, lookup
from emea.kernels.messages import Pattern
from emea.kernels.segments import (
    LOWEST,
    cuts,
    segment_best,
    segment_choice,
    segment_logsumexp,
    segment_max,
    segment_rank,
    segment_softmax,
    segment_sum,
)
from emea.kernels.sinkhorn import sinkhorn

SMALL = settings(max_examples=60, derandomize=True)
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
SIZE = 5  # indices of the segment tests; some stay without a row


def rows_of_segments(low: float = -30.0, high: float = 30.0) -> st.SearchStrategy[list[tuple[int, float]]]:
    """Rows of (index, value)."""
    return st.lists(st.tuples(st.integers(0, SIZE - 1), st.floats(low, high)), max_size=25)


def columns(rows: Sequence[tuple[int, float]]) -> tuple[Tensor, Tensor]:
    index = torch.tensor([row[0] for row in rows], dtype=torch.int64)
    return index, torch.tensor([row[1] for row in rows], dtype=torch.float64)


def members(rows: Sequence[tuple[int, float]], index: int) -> list[float]:
    return [value for row_index, value in rows if row_index == index]


@given(rows_of_segments())
@SMALL
def test_segment_sum_and_max_equal_loops(rows: list[tuple[int, float]]) -> None:
    index, values = columns(rows)
    sums, maxima = segment_sum(values, index, SIZE), segment_max(values, index, SIZE)
    assert sums.shape == maxima.shape == (SIZE,)
    for segment in range(SIZE):
        inside = members(rows, segment)
        assert sums[segment].item() == pytest.approx(math.fsum(inside), abs=1e-12)
        assert maxima[segment].item() == (max(inside) if inside else LOWEST)


@given(rows_of_segments(), st.none() | st.floats(-5, 40))
@SMALL
def test_segment_logsumexp_and_softmax_equal_loops(rows: list[tuple[int, float]], slack: float | None) -> None:
    index, values = columns(rows)
    given_slack = LOWEST if slack is None else slack
    logs = segment_logsumexp(values, index, SIZE, given_slack)
    shares = segment_softmax(values, index, SIZE, given_slack)
    for segment in range(SIZE):
        inside = members(rows, segment)
        total = math.fsum(math.exp(value) for value in inside) + (0.0 if slack is None else math.exp(slack))
        assert logs[segment].item() == pytest.approx(math.log(total) if total else LOWEST, abs=1e-12, rel=1e-13)
        mass = shares[index == segment].sum().item()
        if inside:
            left = 0.0 if slack is None else math.exp(slack) / total
            assert mass == pytest.approx(1 - left, abs=1e-12)
    for row, (segment, value) in enumerate(rows):
        total = math.fsum(map(math.exp, members(rows, segment))) + (0.0 if slack is None else math.exp(slack))
        assert shares[row].item() == pytest.approx(math.exp(value) / total, rel=1e-12)


def test_segment_logsumexp_survives_values_whose_exponential_does_not() -> None:
    index = torch.tensor([0, 0, 1, 1])
    values = torch.tensor([1000.0, 1000.0, -1000.0, -1001.0], dtype=torch.float64)
    logs = segment_logsumexp(values, index, 3)
    assert logs[0].item() == pytest.approx(1000 + math.log(2), rel=1e-14)
    assert logs[1].item() == pytest.approx(-1000 + math.log1p(math.exp(-1)), rel=1e-14)
    assert logs[2].item() == LOWEST
    assert segment_logsumexp(values, index, 3, slack=0.0).tolist() == [logs[0].item(), 0.0, 0.0]
    assert segment_softmax(values, index, 3).tolist() == pytest.approx(
        [0.5, 0.5, 1 / (1 + math.exp(-1)), math.exp(-1) / (1 + math.exp(-1))], rel=1e-12
    )


def slow_best(index: list[int], size: int, scores: list[list[float]], tolerance: float) -> list[int]:
    result = []
    for segment in range(size):
        left = [row for row, row_index in enumerate(index) if row_index == segment]
        for score in scores:
            if left:
                top = max(score[row] for row in left)
                left = [row for row in left if score[row] >= top - tolerance]
        result.append(left[0] if len(left) == 1 else -1)
    return result


@given(st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(0, 2), st.integers(0, 2)), max_size=20))
@SMALL
def test_segment_best_equals_a_loop_with_many_ties(rows: list[tuple[int, int, int]]) -> None:
    index = [row[0] for row in rows]
    scores = [[float(row[1]) for row in rows], [float(row[2]) for row in rows]]
    tensors = [torch.tensor(score, dtype=torch.float64) for score in scores]
    for count in (1, 2):
        best = segment_best(torch.tensor(index, dtype=torch.int64), SIZE, *tensors[:count])
        assert best.tolist() == slow_best(index, SIZE, scores[:count], 1e-9)


def test_a_choice_is_the_best_if_it_is_better_than_none() -> None:
    index, score = torch.tensor([0, 0, 1, 1, 2, 3]), torch.tensor([0.5, 0.2, 0.3, 0.3, 0.4, 0.1])
    none, tie_break = torch.tensor([0.4, 0.0, 0.4, 0.0, 0.0]), torch.tensor([0.0, 0.0, 1.0, 2.0, 0.0, 0.0])
    assert segment_choice(index, 5, none, score).tolist() == [0, 5]
    assert segment_choice(index, 5, none, score, tie_break).tolist() == [0, 3, 5]


@SMALL
@given(sizes=st.lists(st.integers(0, 9), max_size=40), block=st.integers(1, 30))
def test_parts_are_not_much_larger_than_a_block(sizes: list[int], block: int) -> None:
    ends = cuts(torch.tensor(sizes, dtype=torch.int64), block)
    assert ends[0] == 0
    assert ends[-1] == len(sizes)
    parts = [sizes[first:last] for first, last in pairwise(ends)]
    assert [*chain(*parts)] == sizes
    assert all(sum(part) < block + 9 + 9 for part in parts)


def test_segment_best_abstains_at_a_tie_unless_a_later_score_breaks_it() -> None:
    index = torch.tensor([0, 0, 0, 1, 1, 3])
    first = torch.tensor([0.7, 0.7, 0.1, 0.2, 0.3, -5.0], dtype=torch.float64)
    later = torch.tensor([0.1, 0.2, 0.9, 0.9, 0.1, 0.0], dtype=torch.float64)
    assert segment_best(index, 4, first).tolist() == [-1, 4, -1, 5]
    assert segment_best(index, 4, first, later).tolist() == [1, 4, -1, 5]  # row 2 is best by `later` alone
    assert segment_best(index, 4, first, torch.zeros(6)).tolist() == [-1, 4, -1, 5]


def test_segment_best_takes_values_within_the_tolerance_for_tied() -> None:
    index = torch.zeros(2, dtype=torch.int64)
    scores = torch.tensor([0.5, 0.5 + 5e-10], dtype=torch.float64)
    assert segment_best(index, 1, scores).tolist() == [-1]
    assert segment_best(index, 1, scores, tolerance=1e-10).tolist() == [1]


@given(st.lists(st.integers(0, SIZE - 1), max_size=25), st.randoms(use_true_random=False))
@SMALL
def test_segment_rank_counts_the_better_rows_of_the_segment(index: list[int], chance: random.Random) -> None:
    scores = [float(value // 2) for value in range(len(index))]
    chance.shuffle(scores)
    expected = [
        sum(index[other] == index[row] and scores[other] > scores[row] for other in range(len(index)))
        for row in range(len(index))
    ]
    for rows in (segments.RANKED_ROWS, 3, 1):
        with patch.object(segments, "RANKED_ROWS", rows):
            rank = segment_rank(torch.tensor(index, dtype=torch.int64), SIZE, torch.tensor(scores))
        assert rank.tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 4)), max_size=12))
@SMALL
def test_expand_equals_a_loop(ranges: list[tuple[int, int]]) -> None:
    start = torch.tensor([first for first, _ in ranges], dtype=torch.int64)
    count = torch.tensor([number for _, number in ranges], dtype=torch.int64)
    rows, positions = expand(start, count)
    expected = [(row, first + step) for row, (first, number) in enumerate(ranges) for step in range(number)]
    assert list(zip(rows.tolist(), positions.tolist(), strict=True)) == expected


@given(st.sets(st.integers(-20, 20), max_size=12), st.lists(st.integers(-25, 25), max_size=12))
@SMALL
def test_lookup_equals_a_dictionary(known: set[int], keys: list[int]) -> None:
    place = {key: position for position, key in enumerate(sorted(known))}
    found = lookup(torch.tensor(sorted(known), dtype=torch.int64), torch.tensor(keys, dtype=torch.int64))
    assert found.tolist() == [place.get(key, -1) for key in keys]


ENTITIES, RELATIONS = 5, 3
triples_strategy = st.lists(
    st.tuples(st.integers(0, ENTITIES - 1), st.integers(0, RELATIONS - 1), st.integers(0, ENTITIES - 1)), max_size=15
)


def edges_of(triples: Sequence[tuple[int, int, int]]) -> Edges:
    graph = Graph.build(
        [f"e{number}" for number in range(ENTITIES)],
        [f"r{number}" for number in range(RELATIONS)],
        np.array(triples, dtype=np.int64).reshape(-1, 3),
    )
    return Edges.build(graph, torch.device("cpu"))


def with_inverses(triples: Sequence[tuple[int, int, int]]) -> set[tuple[int, int, int]]:
    return set(triples) | {(tail, relation + RELATIONS, head) for head, relation, tail in triples}


@given(triples_strategy)
@SMALL
def test_edges_are_the_triples_and_their_inverses(triples: list[tuple[int, int, int]]) -> None:
    edges = edges_of(triples)
    rows = list(zip(edges.head.tolist(), edges.relation.tolist(), edges.tail.tolist(), strict=True))
    assert len(rows) == len(set(rows))
    assert set(rows) == with_inverses(triples)
    assert edges.relations == 2 * RELATIONS
    assert edges.key.tolist() == sorted(head * ENTITIES + tail for head, _, tail in rows)
    assert [row[0] * ENTITIES + row[2] for row in rows] == edges.key.tolist()
    for entity in range(ENTITIES):
        first, degree = int(edges.start[entity]), int(edges.degree[entity])
        assert sorted(rows[first : first + degree]) == sorted(row for row in rows if row[0] == entity)
    inverse = edges.inverse(torch.arange(2 * RELATIONS)).tolist()
    assert inverse == [3, 4, 5, 0, 1, 2]


@given(triples_strategy)
@SMALL
def test_between_finds_exactly_the_edges_of_two_entities(triples: list[tuple[int, int, int]]) -> None:
    edges = edges_of(triples)
    heads = torch.arange(ENTITIES).repeat_interleave(ENTITIES)
    tails = torch.arange(ENTITIES).repeat(ENTITIES)
    joined, start, count = edges.between(heads, tails)
    found = {
        (int(heads[row]), relation, int(tails[row]))
        for row, first, number in zip(joined.tolist(), start.tolist(), count.tolist(), strict=True)
        for relation in edges.relation[first : first + number].tolist()
    }
    assert found == with_inverses(triples)
    assert int(count.sum()) == len(edges.head)
    assert len(set(joined.tolist())) == len(joined)


@given(triples_strategy, st.integers(1, 9))
@SMALL
def test_bunches_sum_products_over_the_edges(triples: list[tuple[int, int, int]], block: int) -> None:
    edges, draw = edges_of(triples), torch.Generator().manual_seed(len(triples))
    relations = torch.randn(edges.relations, 3, generator=draw)
    entities = torch.randn(ENTITIES, 3, generator=draw)
    expected = torch.zeros(ENTITIES, 3)
    for head, relation, tail in with_inverses(triples):
        expected[head] += relations[relation] * entities[tail]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("emea.kernels.bunches.BUNCH_BLOCK", block)
        found = Bunches.build(edges).weighted(relations, entities)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_inverse_functionality_by_hand() -> None:
    # r0: 0→1, 2→1, 3→4: tails {1, 4} of 3 edges; heads {0, 2, 3} of 3.  r1: 0→1, 0→2: tails 2/2, heads 1/2.  r2: none.
    edges = edges_of([(0, 0, 1), (2, 0, 1), (3, 0, 4), (0, 1, 1), (0, 1, 2)])
    assert edges.inverse_functionality().tolist() == pytest.approx([2 / 3, 1.0, 0.0, 1.0, 0.5, 0.0], rel=1e-15)


@given(triples_strategy)
@SMALL
def test_inverse_functionality_counts_tails_over_triples(triples: list[tuple[int, int, int]]) -> None:
    values = edges_of(triples).inverse_functionality()
    assert values.dtype == torch.float64
    for relation in range(2 * RELATIONS):
        pairs = [(h, t) for h, r, t in with_inverses(triples) if r == relation]
        expected = len({tail for _, tail in pairs}) / len(pairs) if pairs else 0.0
        assert values[relation].item() == pytest.approx(expected, rel=1e-15)


def pattern_of(pairs: Sequence[tuple[int, int]], sources: int, targets: int) -> Pattern:
    source, target = torch.tensor(pairs, dtype=torch.int64).unbind(1)
    return Pattern(source, target, (sources, targets))


def log_plan(pairs: Pattern, logits: Tensor, iterations: int, slack: float = LOWEST) -> Tensor:
    row, column = sinkhorn(pairs, logits, iterations, slack)[1]
    return logits.double() + row[pairs.row] + column[pairs.column]


def slow_sinkhorn(
    pairs: Sequence[tuple[int, int]], logits: Sequence[float], shape: tuple[int, int], iterations: int, none: float
) -> np.ndarray:
    """u_i = 1/(none + Σ_j K_ij v_j), then v_j = 1/(none + Σ_i u_i K_ij), with K = exp(logits) and 0 off the pairs."""
    kernel = np.zeros(shape)
    for (source, target), logit in zip(pairs, logits, strict=True):
        kernel[source, target] = math.exp(logit)
    row, column = np.ones(shape[0]), np.ones(shape[1])
    for _ in range(iterations):
        for source in range(shape[0]):
            total = none + float(kernel[source] @ column)
            row[source] = 1 / total if total else 0.0
        for target in range(shape[1]):
            total = none + float(kernel[:, target] @ row)
            column[target] = 1 / total if total else 0.0
    return row[:, None] * kernel * column[None, :]


@given(
    st.sets(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=20),
    st.none() | st.floats(-4, 4),
    st.integers(1, 6),
    st.randoms(use_true_random=False),
)
@SMALL
def test_sinkhorn_equals_the_dense_iteration(
    pair_set: set[tuple[int, int]], slack: float | None, iterations: int, chance: random.Random
) -> None:
    pairs = sorted(pair_set)
    chance.shuffle(pairs)  # the rows need no order
    logits = [chance.uniform(-5, 5) for _ in pairs]
    plan = torch.exp(
        log_plan(
            pattern_of(pairs, 5, 4),
            torch.tensor(logits, dtype=torch.float64),
            iterations,
            LOWEST if slack is None else slack,
        )
    )
    expected = slow_sinkhorn(pairs, logits, (5, 4), iterations, 0.0 if slack is None else math.exp(slack))
    assert plan.tolist() == pytest.approx([expected[pair] for pair in pairs], rel=1e-10, abs=1e-14)


def log_domain_sinkhorn(pairs: Pattern, logits: Tensor, iterations: int) -> Tensor:
    """u = −logsumexp(logits + v) over rows, v = −logsumexp(logits + u) over columns: never under- or overflows."""
    row, column = torch.zeros(pairs.shape[0]).double(), torch.zeros(pairs.shape[1]).double()
    for _ in range(iterations):
        row = -segment_logsumexp(logits + column[pairs.column], pairs.row, pairs.shape[0])
        column = -segment_logsumexp(logits + row[pairs.row], pairs.column, pairs.shape[1])
    return logits + row[pairs.row] + column[pairs.column]


@pytest.mark.parametrize("spread", [10.0, 60.0, 140.0])
def test_sinkhorn_bears_steep_logits(spread: float) -> None:
    """Differences of 2 · spread within a row: e^-280 beside 1."""
    draw = torch.Generator().manual_seed(int(spread))
    pairs = pattern_of([(s, t) for s in range(30) for t in range(20) if (s * 7 + t * 3) % 4], 30, 20)
    logits = (torch.rand(len(pairs.row), generator=draw, dtype=torch.float64) * 2 - 1) * spread
    found, expected = log_plan(pairs, logits, 15), log_domain_sinkhorn(pairs, logits, 15)
    torch.testing.assert_close(found, expected, atol=1e-8, rtol=1e-8)


def test_sinkhorn_stays_finite_beyond_its_range() -> None:
    pairs = pattern_of([(0, 0), (0, 1), (1, 0), (1, 1)], 2, 2)
    plan = log_plan(pairs, torch.tensor([0.0, -2000.0, 0.0, -2000.0], dtype=torch.float64), 15)
    assert bool(torch.isfinite(plan).all())


def test_sinkhorn_over_all_pairs_is_doubly_stochastic() -> None:
    size = 6
    pairs = [(source, target) for source in range(size) for target in range(size)]
    logits = torch.randn(len(pairs), generator=torch.Generator().manual_seed(3), dtype=torch.float64) * 2
    plan = torch.exp(log_plan(pattern_of(pairs, size, size), logits, 200)).reshape(size, size)
    assert plan.sum(0).tolist() == pytest.approx([1.0] * size, abs=1e-12)
    assert plan.sum(1).tolist() == pytest.approx([1.0] * size, abs=1e-12)
    # scaling rows and columns leaves the cross ratios as they were
    kernel = logits.exp().reshape(size, size)
    for i, j, k, m in [(0, 1, 2, 3), (4, 5, 0, 1), (2, 0, 5, 4)]:
        before = kernel[i, j] * kernel[k, m] / (kernel[i, m] * kernel[k, j])
        after = plan[i, j] * plan[k, m] / (plan[i, m] * plan[k, j])
        assert after.item() == pytest.approx(before.item(), rel=1e-9)


def test_sinkhorn_with_slack_leaves_more_to_none_the_larger_it_is() -> None:
    pairs = [(source, target) for source in range(3) for target in range(3)]
    logits = torch.tensor([3.0, 0, 0, 0, 3.0, 0, 0, 0, 0.5], dtype=torch.float64)
    masses = []
    for slack in (-6.0, 0.0, 2.0):
        plan = torch.exp(log_plan(pattern_of(pairs, 3, 3), logits, 300, slack)).reshape(3, 3)
        for mass in (plan.sum(0), plan.sum(1)):
            assert bool((mass < 1).all())
        masses.append(plan.sum().item())
    assert masses[0] > masses[1] > masses[2]


# --- greedy ---


def slow_greedy(source: np.ndarray, target: np.ndarray, gain: np.ndarray) -> list[int]:
    """Pairs taken one by one, the best first, unless one of their ends is taken."""
    used_source, used_target = set[int](), set[int]()
    taken = []
    for position in np.lexsort((target, source, -gain)).tolist():
        if source[position] not in used_source and target[position] not in used_target:
            used_source.add(source[position])
            used_target.add(target[position])
            taken.append(position)
    return sorted(taken)


@pytest.mark.parametrize("steps", [1, 2, 5, 50, 10**6])
@pytest.mark.parametrize("sizes", [(1, 9), (9, 1), (30, 30), (200, 40), (40, 200)])
def test_greedy_takes_what_the_loop_takes(steps: int, sizes: tuple[int, int]) -> None:
    """Few steps make many ties."""
    draw = np.random.default_rng(steps)
    for share in (0.05, 0.3, 1.0):
        cells = draw.permutation(math.prod(sizes))[: max(1, int(share * math.prod(sizes)))]
        source, target = cells // sizes[1], cells % sizes[1]
        gain = draw.integers(0, steps, len(cells)) / steps
        found = greedy(*(torch.from_numpy(side).to(DEVICE) for side in (source, target, gain)))
        assert found.tolist() == slow_greedy(source, target, gain)


def test_greedy_takes_nothing_from_nothing() -> None:
    nothing = torch.empty(0, dtype=torch.int64)
    assert greedy(nothing, nothing, nothing.double()).tolist() == []


def test_greedy_follows_a_chain_in_which_each_pair_rules_out_the_next() -> None:
    pair = torch.arange(2001)
    source, target, gain = (pair + 1) // 2, pair // 2, -pair.double() + 3000
    assert greedy(source, target, gain).tolist() == pair[::2].tolist()


@pytest.mark.parametrize(("memory", "times"), [(6 * 2**30, 1), (24 * 2**30, 6), (139 * 2**30, 16)])
def test_a_gpu_takes_more_at_a_time_if_it_has_the_memory(
    monkeypatch: pytest.MonkeyPatch, memory: int, times: int
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: SimpleNamespace(total_memory=memory))
    assert at_a_time(1000, torch.device("cuda")) == 1000 * times
    assert at_a_time(1000, torch.device("cpu")) == 1000
