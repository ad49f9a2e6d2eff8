"""The matching is what brute force finds, leaves doubt as "none", and confidence is calibrated as planted."""

import itertools
import math
import random
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from emea.data import Alignment, Candidates, Counterparts
from emea.method import matching
from emea.method.competition import ONE_TO_ONE
from emea.method.matching import STEADY, Calibration, _discount, _fit_line, match, one_to_one, surest
from emea.settings import MatchingSettings

SMALL = settings(max_examples=60, derandomize=True)
METHODS = ("mutual", "one_to_one", "transport")

Pair = tuple[int, int]


def column(values: Sequence[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def beliefs_of(
    forward: Mapping[Pair, float], backward: Mapping[Pair, float], sources: int = 4, targets: int = 5
) -> Counterparts:
    pairs = sorted(forward)
    candidates = Candidates(
        torch.tensor([pair[0] for pair in pairs], dtype=torch.int64),
        torch.tensor([pair[1] for pair in pairs], dtype=torch.int64),
        torch.tensor([(s + t) / 16 for s, t in pairs], dtype=torch.float32),
        sources,
        targets,
        torch.zeros(sources),
        torch.zeros(targets),
    )
    return Counterparts(
        candidates,
        column([forward[pair] for pair in pairs]),
        column([backward[pair] for pair in pairs]),
        torch.zeros(sources, dtype=torch.float64),
        torch.zeros(targets, dtype=torch.float64),
    )


IDENTITY = Calibration(torch.empty(0, 2, dtype=torch.float64))


def links_of(alignment: Alignment) -> dict[Pair, float]:
    rows = list(zip(alignment.source.tolist(), alignment.target.tolist(), strict=True))
    assert len({s for s, _ in rows}) == len(rows)  # no entity twice
    assert len({t for _, t in rows}) == len(rows)
    return dict(zip(rows, alignment.confidence.tolist(), strict=True))


@st.composite
def tables(draw: st.DrawFn, steps: int = 1000) -> tuple[dict[Pair, float], dict[Pair, float]]:
    """p both ways of random pairs of 4 sources and 5 targets, strictly inside 0 and 1; few steps make many ties."""
    grid = list(itertools.product(range(4), range(5)))
    pairs = draw(st.lists(st.sampled_from(grid), min_size=1, unique=True))
    value = st.integers(1, steps - 1).map(lambda number: number / steps)
    return {pair: draw(value) for pair in pairs}, {pair: draw(value) for pair in pairs}


def slow_mutual(forward: Mapping[Pair, float], backward: Mapping[Pair, float]) -> set[Pair]:
    """Pairs strictly better than every other of their source and of their target."""
    result = set()
    for s, t in forward:
        best = all(forward[s, t] > forward[pair] for pair in forward if pair[0] == s and pair[1] != t)
        best_back = all(backward[s, t] > backward[pair] for pair in backward if pair[1] == t and pair[0] != s)
        if best and best_back and forward[s, t] * backward[s, t] > 0:
            result.add((s, t))
    return result


@given(tables(steps=6))
@SMALL
def test_mutual_best_equals_a_loop_with_many_ties(table: tuple[dict[Pair, float], dict[Pair, float]]) -> None:
    forward, backward = table
    rows = ONE_TO_ONE.winners(beliefs_of(forward, backward)).tolist()
    pairs = sorted(forward)
    assert {pairs[row] for row in rows} == slow_mutual(forward, backward)
    assert len(rows) == len(set(rows))


def test_mutual_best_leaves_out_ties_and_what_nobody_believes() -> None:
    forward = {(0, 0): 0.5, (0, 1): 0.5, (1, 2): 0.9, (2, 3): 0.0, (3, 4): 0.2}
    backward = {(0, 0): 1.0, (0, 1): 1.0, (1, 2): 0.9, (2, 3): 1.0, (3, 4): 0.3}
    found = ONE_TO_ONE.winners(beliefs_of(forward, backward))
    assert [sorted(forward)[row] for row in found.tolist()] == [(1, 2), (3, 4)]


def test_probabilities_closer_than_1e_4_are_tied() -> None:
    forward = {(0, 0): 0.5, (0, 1): 0.50005, (1, 2): 0.5, (1, 3): 0.5002}
    backward = dict.fromkeys(forward, 1.0)
    found = ONE_TO_ONE.winners(beliefs_of(forward, backward))
    assert [sorted(forward)[row] for row in found.tolist()] == [(1, 3)]


@given(tables(), st.sampled_from([0.0, 0.3, 0.6]))
@SMALL
def test_mutual_match_is_the_mutual_best_above_the_minimum(
    table: tuple[dict[Pair, float], dict[Pair, float]], minimum: float
) -> None:
    forward, backward = table
    found = match(beliefs_of(forward, backward), IDENTITY, MatchingSettings(method="mutual", minimum=minimum))
    confidence = {pair: math.sqrt(forward[pair] * backward[pair]) for pair in slow_mutual(forward, backward)}
    expected = {pair: value for pair, value in confidence.items() if value >= minimum}
    links = links_of(found)
    assert links.keys() == expected.keys()
    for pair, value in expected.items():
        assert links[pair] == pytest.approx(value, abs=1e-9)
    assert found.similarity.tolist() == [(s + t) / 16 for s, t in links]


def brute_force_gain(confidence: Mapping[Pair, float], minimum: float) -> float:
    """The largest Σ (confidence − minimum) over one-to-one sets: sources take targets or nothing, in every way."""
    best = 0.0
    for choice in itertools.product([None, *range(5)], repeat=4):
        taken = [t for t in choice if t is not None]
        if len(set(taken)) == len(taken):
            pairs = [(s, t) for s, t in enumerate(choice) if t is not None]
            if all(pair in confidence for pair in pairs):
                best = max(best, math.fsum(confidence[pair] - minimum for pair in pairs))
    return best


@given(tables(), st.sampled_from([0.0, 0.3, 0.6]))
@settings(SMALL, max_examples=25)
def test_one_to_one_has_the_largest_total_of_all_one_to_one_sets(
    table: tuple[dict[Pair, float], dict[Pair, float]], minimum: float
) -> None:
    forward, backward = table
    confidence = {pair: math.sqrt(forward[pair] * backward[pair]) for pair in forward}
    found = match(beliefs_of(forward, backward), IDENTITY, MatchingSettings(method="one_to_one", minimum=minimum))
    links = links_of(found)
    assert all(links[pair] == pytest.approx(confidence[pair], abs=1e-9) for pair in links)
    gain = math.fsum(confidence[pair] - minimum for pair in links)
    assert gain == pytest.approx(brute_force_gain(confidence, minimum), abs=1e-9)


def test_one_to_one_equals_the_dense_assignment() -> None:
    """30 sources, 25 targets, a third of all pairs; dense: gains padded with "none" at 0."""
    chance = np.random.default_rng(8)
    gains = np.zeros((30, 25 + 30))
    confidence: dict[Pair, float] = {}
    for s, t in itertools.product(range(30), range(25)):
        if chance.random() < 0.33:
            confidence[s, t] = float(chance.random())
            gains[s, t] = max(confidence[s, t] - 0.2, 0.0)
    beliefs = beliefs_of(confidence, confidence, 30, 25)
    rows = one_to_one(beliefs, beliefs.forward, 0.2).tolist()
    taken = linear_sum_assignment(gains, maximize=True)
    expected = {(s, t) for s, t in zip(*(side.tolist() for side in taken), strict=True) if gains[s, t] > 0}
    assert {sorted(confidence)[row] for row in rows} == expected
    assert len(expected) > 20


def test_one_to_one_gives_up_a_best_pair_for_a_better_whole() -> None:
    confidence = {(0, 0): 0.9, (0, 1): 0.8, (1, 0): 0.8}
    beliefs = beliefs_of(confidence, confidence)
    assert links_of(match(beliefs, IDENTITY, MatchingSettings(method="one_to_one", minimum=0.1))).keys() == {
        (0, 1),
        (1, 0),
    }
    # where the minimum is high, one sure link beats two that hardly pass: 0.9 − 0.75 > 2·(0.8 − 0.75)
    assert links_of(match(beliefs, IDENTITY, MatchingSettings(method="one_to_one", minimum=0.75))).keys() == {(0, 0)}


@given(tables())
@SMALL
def test_beyond_the_largest_assignment_the_surest_goes_first(
    table: tuple[dict[Pair, float], dict[Pair, float]],
) -> None:
    forward, backward = table
    confidence = {pair: math.sqrt(forward[pair] * backward[pair]) for pair in forward}
    expected: set[Pair] = set()
    for s, t in sorted(confidence, key=lambda pair: -confidence[pair]):
        if confidence[s, t] > 0.2 and all(s != a and t != b for a, b in expected):
            expected.add((s, t))
    if len(set(confidence.values())) < len(confidence):
        return  # the surest is not one
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "LARGEST_ASSIGNMENT", 0)
        rows = one_to_one(
            beliefs_of(forward, backward), column([confidence[pair] for pair in sorted(confidence)]), 0.2
        ).tolist()
    assert {sorted(confidence)[row] for row in rows} == expected


def slow_plan(confidence: Mapping[Pair, float], minimum: float, iterations: int) -> np.ndarray:
    """Sinkhorn on confidence, with `minimum` as what "none" weighs for each entity."""
    kernel = np.zeros((4, 5))
    for pair, value in confidence.items():
        kernel[pair] = value
    row, column_scale = np.ones(4), np.ones(5)
    for _ in range(iterations):
        row = 1 / (kernel @ column_scale + minimum)
        column_scale = 1 / (kernel.T @ row + minimum)
    return row[:, None] * kernel * column_scale[None, :]


@given(tables(), st.sampled_from([0.2, 0.5]), st.integers(1, 20))
@SMALL
def test_transport_is_the_mutual_best_of_the_plan(
    table: tuple[dict[Pair, float], dict[Pair, float]], minimum: float, iterations: int
) -> None:
    forward, backward = table
    confidence = {pair: math.sqrt(forward[pair] * backward[pair]) for pair in forward}
    dense = slow_plan(confidence, minimum, iterations)
    plan = {pair: float(dense[pair]) for pair in confidence}
    if any(abs(b - a) < 2e-4 for a, b in itertools.pairwise(sorted(plan.values()))):
        return  # probabilities closer than 1e-4 are tied
    expected = {pair for pair in slow_mutual(plan, plan) if confidence[pair] >= minimum}
    rule = MatchingSettings(method="transport", minimum=minimum, iterations=iterations)
    assert links_of(match(beliefs_of(forward, backward), IDENTITY, rule)).keys() == expected


def test_transport_resolves_a_conflict_that_mutual_best_leaves_open() -> None:
    """Source 1 prefers target 0, which prefers source 0: mass moves source 1 to target 1."""
    table = {(0, 0): 0.9, (1, 0): 0.7, (1, 1): 0.6}
    beliefs = beliefs_of(table, table)
    assert links_of(match(beliefs, IDENTITY, MatchingSettings(method="mutual", minimum=0.3))).keys() == {(0, 0)}
    found = links_of(match(beliefs, IDENTITY, MatchingSettings(method="transport", minimum=0.3)))
    assert found.keys() == {(0, 0), (1, 1)}


@pytest.mark.parametrize("method", METHODS)
def test_below_the_minimum_is_none(method: str) -> None:
    table = {(0, 0): 0.9, (1, 1): 0.4, (2, 2): 0.6}
    beliefs = beliefs_of(table, table)
    found = links_of(match(beliefs, IDENTITY, MatchingSettings(method=method, minimum=0.5)))
    assert found == {(0, 0): pytest.approx(0.9, abs=1e-9), (2, 2): pytest.approx(0.6, abs=1e-9)}
    # the minimum is one of calibrated confidence
    rng = random.Random(0)
    doubtful = Calibration(column([[0.9, float(rng.random() < 0.2)] for _ in range(400)]))
    assert links_of(match(beliefs, doubtful, MatchingSettings(method=method, minimum=0.5))) == {}


@pytest.mark.parametrize("method", METHODS)
def test_without_candidates_there_is_no_link(method: str) -> None:
    found = match(beliefs_of({}, {}), IDENTITY, MatchingSettings(method=method))
    assert len(found) == 0
    assert found.source.dtype == found.target.dtype == torch.int64
    nothing = {(0, 0): 0.0, (1, 2): 0.0}
    assert len(match(beliefs_of(nothing, nothing), IDENTITY, MatchingSettings(method=method))) == 0


# --- calibration ---

RANGE = torch.linspace(0.001, 0.999, 200, dtype=torch.float64)


def drawn_trials(count: int, offset: float, slope: float, seed: int) -> Tensor:
    """Confidence spread evenly over logits from -3 to 5; right with logit offset + slope · logit."""
    chance = random.Random(seed)
    rows = []
    for step in range(count):
        logit = -3 + 8 * (step + 0.5) / count
        right = chance.random() < 1 / (1 + math.exp(-(offset + slope * logit)))
        rows.append([1 / (1 + math.exp(-logit)), float(right)])
    return column(rows)


def test_without_trials_confidence_stays_as_it_is() -> None:
    assert IDENTITY(RANGE).tolist() == pytest.approx(RANGE.tolist(), abs=1e-9)


def test_a_few_trials_move_it_a_little() -> None:
    moved = Calibration(column([[0.9, 1.0], [0.8, 1.0], [0.7, 0.0]]))(RANGE)
    assert 1e-4 < (moved - RANGE).abs().max().item() < 0.1


@pytest.mark.parametrize(("offset", "slope"), [(-1.0, 0.5), (0.5, 2.0), (1.5, 0.3), (0.0, 1.0)])
def test_planted_miscalibration_is_recovered(offset: float, slope: float) -> None:
    trials = drawn_trials(6000, offset, slope, seed=3)
    found = Calibration(trials)
    information = np.diag([1.0, 4.0])  # what the prior adds; its pull is below it over the information
    for confidence, _ in trials.tolist():
        x = math.log(confidence / (1 - confidence))
        p = 1 / (1 + math.exp(-(offset + slope * x)))
        information += p * (1 - p) * np.outer([1, x], [1, x])
    errors = np.sqrt(np.diag(np.linalg.inv(information)))
    pull = np.abs(np.linalg.solve(information, np.diag([1.0, 4.0]) @ np.array([offset, slope - 1.0])))
    assert (errors < 0.12).all()
    for position, planted in enumerate((offset, slope)):
        assert found.parameters[position].item() == pytest.approx(planted, abs=4 * errors[position] + pull[position])
    expected = 1 / (1 + torch.exp(-(offset + slope * torch.logit(RANGE))))
    assert (found(RANGE) - expected).abs().max().item() < 0.05


def gradient(trials: Tensor, parameters: Sequence[float]) -> tuple[float, float]:
    """Of Σ log-likelihood − (offset² + 4·(slope − 1)²)/2."""
    offset, slope = parameters
    total = [-offset, -4 * (slope - 1)]
    for confidence, right in trials.tolist():
        bounded = min(max(confidence, 1e-4), 1 - 1e-4)
        x = math.log(bounded / (1 - bounded))
        error = right - 1 / (1 + math.exp(-(offset + slope * x)))
        total[0] += error
        total[1] += error * x
    return total[0], total[1]


@pytest.mark.parametrize("right", [0.0, 1.0])
@pytest.mark.parametrize("confidence", [0.0, 0.5, 0.99, 1.0])
def test_the_fit_settles_even_when_all_trials_say_the_same(confidence: float, right: float) -> None:
    for count in (1, 20, 500):
        trials = column([[confidence, right]] * count)
        found = Calibration(trials)
        offset, slope = gradient(trials, found.parameters.tolist())
        assert offset == pytest.approx(0.0, abs=1e-6)
        at_the_floor = float(found.parameters[1]) == pytest.approx(0.05)
        assert slope < 0 if at_the_floor else slope == pytest.approx(0.0, abs=1e-6)


def test_what_a_loop_taught_itself_is_discounted() -> None:
    """The more, the fewer pairs were known; nothing where all were. The order is kept, and doubt stays doubt."""
    sure = torch.tensor([0.6, 0.9, 0.99, 0.999], dtype=torch.float64)
    found = [Calibration(column([]).reshape(0, 2), self_taught=share)(sure) for share in (0.0, 0.7, 0.95, 0.99, 1.0)]
    assert found[0].tolist() == pytest.approx(sure.tolist(), abs=1e-9)
    for less, more in itertools.pairwise(found):
        assert bool((more[1:] < less[1:]).all())
    assert all(bool((one[1:] > one[:-1]).all()) for one in found)
    assert 0.8 < found[-1][2] < 0.95
    trials = drawn_trials(500, -0.5, 1.2, seed=1)
    offset, slope = _fit_line(torch.logit(trials[:, 0]), trials[:, 1], STEADY, None).tolist()
    shift, factor = _discount(0.9, scouted=False)
    assert Calibration(trials, self_taught=0.9).line[:2] == pytest.approx((shift + factor * offset, factor * slope))


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=30))
@SMALL
def test_calibration_keeps_order_and_stays_a_probability(rows: list[tuple[float, bool]]) -> None:
    trials = column([[confidence, float(right)] for confidence, right in rows]).reshape(-1, 2)
    found = Calibration(trials)(torch.linspace(0, 1, 101, dtype=torch.float64))
    assert bool((found[1:] >= found[:-1]).all())
    assert bool(((found >= 0) & (found <= 1)).all())
    inner = found[1:-1]
    assert bool((inner[1:] > inner[:-1]).all())


def test_where_surer_links_are_more_often_wrong_the_share_of_right_ones_is_still_met() -> None:
    """The slope may not fall below its limit; the offset must then make up for it."""
    trials = column(
        [[0.9, float(step < 90)] for step in range(100)] + [[0.999, float(step < 30)] for step in range(100)]
    )
    share = trials[:, 1].mean().item()  # 0.6
    calibrated = Calibration(trials)(trials[:, 0])
    assert calibrated.mean().item() == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize(
    ("confidence", "precision", "kept"),
    [([], 0.9, 0), ([0.5], 0.9, 0), ([0.95, 0.5], 0.9, 1), ([1.0, 0.9, 0.8], 0.9, 3), ([0.7, 0.7, 1.0], 0.8, 3)],
)
def test_a_target_precision_keeps_the_surest(confidence: list[float], precision: float, kept: int) -> None:
    found = surest(torch.tensor(confidence), precision)
    assert int(found.sum()) == kept
    chosen = [value for value, keep in zip(confidence, found.tolist(), strict=True) if keep]
    others = [value for value, keep in zip(confidence, found.tolist(), strict=True) if not keep]
    assert not chosen or sum(chosen) / len(chosen) >= precision - 1e-6
    assert not chosen or not others or min(chosen) > max(others)


def test_right_decisions_on_sure_links_lift_no_pair_that_nobody_would_link() -> None:
    checked = column([[0.5 + 0.02 * place, 1.0] for place in range(24)])  # every link that was looked at is right
    found = Calibration(checked, links=checked[:, 0])
    low, half, sure = found(column([0.009, 0.5, 0.9])).tolist()
    assert sure > half > 0.7
    assert low < 0.1  # below what was tried, nothing but the shift is learned
    logit = lambda p: float(torch.logit(torch.tensor(p, dtype=torch.float64)))  # noqa: E731
    assert logit(low) - logit(0.009) == pytest.approx(logit(half) - logit(0.5), abs=1e-9)
    assert (torch.diff(found(torch.linspace(0.001, 0.999, 500, dtype=torch.float64))) > 0).all()
