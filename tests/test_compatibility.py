"""The conditional is that of the joint distribution; rule weights are recovered; refining keeps probabilities sane."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from emea.data import Candidates, Counterparts, Embeddings, Graph, Links, Task
from emea.method.compatibility import (
    NONE,
    SMALLEST_WEIGHT,
    UNDECIDED,
    Factors,
    combine,
    labels,
    learn_weights,
    refine,
    widen,
)
from emea.rules.paris import PARIS, PARISSettings

SMALL = settings(max_examples=40, derandomize=True)

Triple = tuple[int, int, int]
Pair = tuple[int, int]
Assignment = Mapping[int, int | None]

NOWHERE = Embeddings(torch.empty(0, 1), torch.empty(0, 1))  # the rule looks at beliefs alone


def candidates_of(pairs: Sequence[Pair], sources: int, targets: int) -> Candidates:
    return Candidates(
        torch.tensor([pair[0] for pair in pairs], dtype=torch.int64),
        torch.tensor([pair[1] for pair in pairs], dtype=torch.int64),
        torch.zeros(len(pairs)),
        sources,
        targets,
        torch.zeros(sources),
        torch.zeros(targets),
    )


def column(values: Sequence[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


# --- the joint distribution of a toy, by enumeration ---


class Joint:
    """p(y) ∝ Π_F exp(φ·g(y_F)), one factor at each source, with subrelations held at what y⁰ makes of them."""

    def __init__(self, source: Sequence[Triple], target: Sequence[Triple], relations: int, y: Assignment) -> None:
        self.source = [*source, *((t, r + relations, h) for h, r, t in source)]
        self.target = [*target, *((t, r + relations, h) for h, r, t in target)]
        self.y = dict(y)

    def contained(self, r: int, q: int, prior: float, strength: float) -> tuple[float, float]:
        """Pr(r ⊆ r') and Pr(r' ⊆ r) under y⁰: found triples over those whose ends both have a counterpart."""
        equal = {(n, n_other) for n, n_other in self.y.items() if n_other is not None}
        ours = [(h, t) for h, relation, t in self.source if relation == r]
        theirs = [(h, t) for h, relation, t in self.target if relation == q]
        results = []
        for triples, others, same in (
            (ours, theirs, equal),
            (theirs, ours, {(n_other, n) for n, n_other in equal}),
        ):
            known = {n for n, _ in same}
            seen = sum(h in known and t in known for h, t in triples)
            found = sum(any((h, h2) in same and (t, t2) in same for h2, t2 in others) for h, t in triples)
            results.append((found + prior * strength) / (seen + strength))
        return results[0], results[1]

    def hold(self, prior: float, strength: float) -> None:
        used, used_other = {r for _, r, _ in self.source}, {q for _, q, _ in self.target}
        self.subrelations = {(r, q): self.contained(r, q, prior, strength) for r in used for q in used_other}

        def fun(edges: Sequence[Triple], relation: int) -> float:
            tails = [t for _, r, t in edges if r == relation]
            return len(set(tails)) / len(tails)

        self.fun = {r: fun(self.source, r) for r in used}
        self.fun_other = {q: fun(self.target, q) for q in used_other}

    def terms(self, e: int, y: Assignment) -> list[float]:
        """The probabilities whose complements are multiplied in g(y_{F_e})."""
        result = []
        for h, r, n in self.source:
            for h_other, q, n_other in self.target:
                if h == e and h_other == y[e] and y[n] == n_other:
                    inside, around = self.subrelations[r, q]
                    result += [around * self.fun[r], inside * self.fun_other[q]]
        return result

    def log_weight(self, y: Assignment) -> float:
        return sum(1 - math.prod(1 - p for p in self.terms(e, y)) for e in y if y[e] is not None)

    def conditional(self, e: int, options: Sequence[int | None], phi: float) -> dict[int | None, float]:
        """p(y_e | y_-e = y⁰_-e)."""
        weights = {option: math.exp(phi * self.log_weight(self.y | {e: option})) for option in options}
        return {option: weight / sum(weights.values()) for option, weight in weights.items()}


def hard_beliefs(pairs: Sequence[Pair], y: Assignment, sources: int, targets: int) -> Counterparts:
    """Beliefs whose best counterparts are y: 5/8 for y_e, or for "none", the rest spread thinly."""
    forward = [0.625 if y[e] == e_other else 0.0625 for e, e_other in pairs]
    return Counterparts(
        candidates_of(pairs, sources, targets),
        column(forward),
        torch.zeros(len(pairs), dtype=torch.float64),
        column([0.625 if y[e] is None else 0.0 for e in range(sources)]),
        torch.zeros(targets, dtype=torch.float64),
    )


def check_conditional(
    source: Sequence[Triple],
    target: Sequence[Triple],
    y: dict[int, int | None],
    *,
    seeds: Mapping[int, int],
    sizes: tuple[int, int, int],
    strength: float,
    phi: float,
) -> Joint:
    """Factors.conditional is p(y_e | y_-e), for every unlabelled e, with all unlabelled targets as candidates."""
    sources, targets, relations = sizes
    free = [target_id for target_id in range(targets) if target_id not in seeds.values()]
    pairs = sorted(
        [*seeds.items(), *((e, e_other) for e in range(sources) if e not in seeds for e_other in free)],
    )
    joint = Joint(source, target, relations, y)
    joint.hold(0.1, strength)

    def graph(triples: Sequence[Triple], entities: int) -> Graph:
        names = [f"e{number}" for number in range(entities)]
        return Graph.build(names, [f"r{n}" for n in range(relations)], np.array(triples, dtype=np.int64).reshape(-1, 3))

    task = Task(graph(source, sources), graph(target, targets), Links.empty(), Links.empty())
    rule = PARIS(
        task,
        PARISSettings(evidence="best", scope="blanket", prior=0.1, prior_strength=strength),
        torch.device("cpu"),
    )
    beliefs = hard_beliefs(pairs, y, sources, targets)
    factors = factors_about(beliefs.candidates, rule.factors(beliefs, NOWHERE)[:, None], none=0.0)
    found = dict(zip(pairs, factors.conditional(column([phi])).tolist(), strict=True))
    for e in range(sources):
        if e in seeds:
            continue
        expected = joint.conditional(e, [*free, None], phi)
        for e_other in free:
            assert found[e, e_other] == pytest.approx(expected[e_other], abs=1e-7), (e, e_other)
        outside = 1 - sum(found[e, e_other] for e_other in free)
        assert outside == pytest.approx(expected[None], abs=1e-7)
    return joint


CYCLE = [(0, 0, 1), (1, 1, 2), (2, 0, 3), (3, 1, 0)]  # each relation is one-to-one
STATES: list[dict[int, int | None]] = [
    {0: 0, 1: 1, 2: 2, 3: 3},
    {0: 0, 1: 1, 2: None, 3: 3},
    {0: 0, 1: 2, 2: 1, 3: 3},
    {0: 0, 1: 1, 2: 2, 3: None},
    {0: 0, 1: 3, 2: 2, 3: 1},
    {0: 0, 1: 1, 2: 1, 3: 1},
]


@pytest.mark.parametrize("y", STATES, ids=str)
@pytest.mark.parametrize("phi", [0.5, 3.0])
def test_conditional_is_that_of_the_joint_where_every_term_is_0_or_1(y: dict[int, int | None], phi: float) -> None:
    # the subrelations are what the state makes of them: 0 or 1 but for a prior that weighs next to nothing
    joint = check_conditional(CYCLE, CYCLE, y, seeds={0: 0}, sizes=(4, 4, 2), strength=1e-9, phi=phi)
    values = {round(p, 6) for e in y if y[e] is not None for p in joint.terms(e, y)}
    assert values <= {0.0, 1.0, 0.1, 0.5}


def test_the_terms_of_a_true_assignment_are_all_1() -> None:
    joint = check_conditional(CYCLE, CYCLE, STATES[0], seeds={0: 0}, sizes=(4, 4, 2), strength=1e-9, phi=2.0)
    for e in range(4):
        assert joint.terms(e, STATES[0]) == pytest.approx([1.0] * 4, abs=1e-8)
        # g drops from 1 to 0 at e alone: every neighbour still has the other neighbour for a witness
    expected = joint.conditional(1, [1, 2, 3, None], 2.0)
    rest = math.exp(2.0) + 3
    assert list(expected.values()) == pytest.approx([math.exp(2.0) / rest, 1 / rest, 1 / rest, 1 / rest], abs=1e-7)


def test_the_joint_by_full_enumeration_has_the_conditionals_of_the_slices() -> None:
    """p(y) over all 4³ assignments of the unlabelled, normalised, then conditioned: as the slice through y⁰."""
    y, phi, options = STATES[2], 1.5, [1, 2, 3, None]
    joint = check_conditional(CYCLE, CYCLE, y, seeds={0: 0}, sizes=(4, 4, 2), strength=0.5, phi=phi)
    table = {
        values: math.exp(phi * joint.log_weight({0: 0, **dict(zip((1, 2, 3), values, strict=True))}))
        for values in itertools.product(options, repeat=3)
    }
    total = sum(table.values())
    for e in (1, 2, 3):
        others = tuple(y[n] for n in (1, 2, 3) if n != e)
        rows = {values: weight / total for values, weight in table.items() if values[: e - 1] + values[e:] == others}
        assert len(rows) == 4
        expected = joint.conditional(e, options, phi)
        for values, probability in rows.items():
            assert probability / sum(rows.values()) == pytest.approx(expected[values[e - 1]], rel=1e-12)


@st.composite
def toys(draw: st.DrawFn) -> tuple[list[Triple], list[Triple], dict[int, int | None], dict[int, int], int]:
    """Two graphs of 4 entities without self loops, a state, and one seed."""
    relations = draw(st.integers(1, 2))
    triple = st.tuples(st.integers(0, 3), st.integers(0, relations - 1), st.integers(0, 3)).filter(
        lambda row: row[0] != row[2]
    )
    graphs = [draw(st.lists(triple, min_size=2, max_size=7, unique=True)) for _ in range(2)]
    y: dict[int, int | None] = {0: 0}
    for e in (1, 2, 3):
        y[e] = draw(st.sampled_from([1, 2, 3, None]))
    return graphs[0], graphs[1], y, {0: 0}, relations


@given(toys(), st.sampled_from([0.01, 0.5]), st.sampled_from([0.3, 2.0]))
@SMALL
def test_conditional_is_that_of_the_joint_of_any_toy(
    toy: tuple[list[Triple], list[Triple], dict[int, int | None], dict[int, int], int], strength: float, phi: float
) -> None:
    source, target, y, seeds, relations = toy
    check_conditional(source, target, y, seeds=seeds, sizes=(4, 4, relations), strength=strength, phi=phi)


# --- factors, weights, labels ---


def factors_about(pairs: Candidates | Factors, *said: Any, **rest: Any) -> Factors:
    if isinstance(pairs, Factors):
        return Factors(pairs.entity, pairs.entities, *said, **rest)
    return Factors(pairs.source, pairs.sources, *said, **rest)


def random_factors(
    generator: torch.Generator, entities: int, width: int, rules: int, *, none: float, scale: float = 1.0
) -> Factors:
    pairs = [(e, e * width + step) for e in range(entities) for step in range(width)]
    values = torch.rand(len(pairs), rules, generator=generator, dtype=torch.float64) * scale
    return factors_about(candidates_of(pairs, entities, entities * width), values, none)


def test_conditional_by_hand() -> None:
    factors = factors_about(
        candidates_of([(0, 0), (0, 1), (2, 1)], 3, 2), column([[0.5, 0.0], [1.0, 0.25], [0.1, 0.1]]), 0.125
    )
    weights = column([2.0, 4.0])
    logits = [2 * 0.375 - 4 * 0.125, 2 * 0.875 + 4 * 0.125, -2 * 0.025 - 4 * 0.025]
    assert factors.logits(weights).tolist() == pytest.approx(logits, rel=1e-12)
    first = 1 + math.exp(logits[0]) + math.exp(logits[1])
    expected = [
        math.exp(logits[0]) / first,
        math.exp(logits[1]) / first,
        math.exp(logits[2]) / (1 + math.exp(logits[2])),
    ]
    assert factors.conditional(weights).tolist() == pytest.approx(expected, rel=1e-12)


def draw_samples(factors: Factors, weights: Sequence[float], width: int, generator: torch.Generator) -> list[int]:
    """One row for each entity from exp(Σ φ (g − none)) over its candidates and 1 for "none"; -1 for none."""
    samples = []
    uniform = torch.rand(factors.entities, generator=generator, dtype=torch.float64).tolist()
    values = factors.values.tolist()
    for e, point in enumerate(uniform):
        rows = range(e * width, (e + 1) * width)
        masses = [
            math.exp(sum(w * (g - factors.none) for w, g in zip(weights, values[row], strict=True))) for row in rows
        ]
        level, chosen = point * (1 + sum(masses)), -1
        for row, mass in zip(rows, masses, strict=True):
            if level < mass:
                chosen = row
                break
            level -= mass
        samples.append(chosen)
    return samples


def information(factors: Factors, weights: Sequence[float], width: int) -> np.ndarray:
    """Fisher's information: Σ over entities of Cov[g] under the conditional, "none" having g = 0."""
    total = np.zeros((len(weights), len(weights)))
    for e in range(factors.entities):
        g = factors.values[e * width : (e + 1) * width].numpy() - factors.none
        mass = np.exp(g @ np.array(weights))
        p = mass / (1 + mass.sum())
        mean = p @ g
        total += (g * p[:, None]).T @ g - np.outer(mean, mean)
    return total


@pytest.mark.parametrize("planted", [(3.0, 1.0), (0.5, 2.0)])
def test_planted_weights_are_recovered(planted: tuple[float, float]) -> None:
    """From two sides of 1,500 entities each, within 4 standard errors after the ridge's pull is allowed for."""
    generator, width, ridge = torch.Generator().manual_seed(11), 4, 1.0
    sides = [random_factors(generator, 1500, width, 2, none=0.1) for _ in range(2)]
    samples = [draw_samples(side, planted, width, generator) for side in sides]
    found = learn_weights([(side, torch.tensor(rows)) for side, rows in zip(sides, samples, strict=True)], ridge=ridge)
    fisher = sum(information(side, planted, width) for side in sides)
    pull = np.linalg.solve(fisher + ridge * np.eye(2), ridge * np.array(planted))  # to first order
    errors = np.sqrt(np.diag(np.linalg.inv(fisher)))
    assert (errors < 0.2).all()  # the samples say enough for the test to mean something
    for rule in range(2):
        assert found[rule].item() == pytest.approx(planted[rule] - pull[rule], abs=4 * errors[rule])


def stationary(sides: list[tuple[Factors, Tensor]], weights: Tensor, ridge: float) -> list[float]:
    """∂/∂φ of Σ log p(ŷ_e | blanket) − ridge/2·|φ|², entity by entity."""
    gradient = -ridge * weights.numpy()
    for factors, sample in sides:
        source = factors.entity.tolist()
        for e in range(factors.entities):
            rows = [row for row, index in enumerate(source) if index == e]
            g = factors.values.numpy()[rows] - factors.none
            logits = g @ weights.numpy()
            peak = max([0.0, *logits])
            mass = np.exp(logits - peak)
            gradient -= (mass / (math.exp(-peak) + mass.sum())) @ g
            if sample[e] >= 0:
                gradient += factors.values.numpy()[int(sample[e])] - factors.none
    return gradient.tolist()


@pytest.mark.parametrize("scale", [0.3, 1.0, 5.0, 40.0])
@pytest.mark.parametrize("follow", ["rules", "chance", "none", "against"])
def test_learned_weights_are_where_the_gradient_vanishes(scale: float, follow: str) -> None:
    """Or where it points below the smallest weight allowed. Large factors are those of hubs with scope `blanket`."""
    generator, width = torch.Generator().manual_seed(5), 3
    factors = random_factors(generator, 60, width, 2, none=0.1, scale=scale)
    first = torch.arange(60) * width
    values = factors.values.sum(1).reshape(60, width)
    sample = {
        "rules": first + values.argmax(1),
        "chance": first + torch.randint(width, (60,), generator=generator),
        "none": torch.full((60,), -1),
        "against": first + values.argmin(1),
    }[follow]
    weights = learn_weights([(factors, sample)])
    for slope, weight in zip(stationary([(factors, sample)], weights, 1.0), weights.tolist(), strict=True):
        assert weight >= SMALLEST_WEIGHT
        if weight > SMALLEST_WEIGHT:
            assert slope == pytest.approx(0.0, abs=1e-3)
        else:
            assert slope <= 1e-9


def test_a_rule_that_the_samples_contradict_leaves_the_other_weights_as_they_would_be_alone() -> None:
    generator, width = torch.Generator().manual_seed(1), 4
    drawn = random_factors(generator, 300, width, 2, none=0.1)
    first, second = drawn.values.unbind(1)
    both = factors_about(drawn, torch.stack([first, (first + second) / 2], 1), 0.1)  # correlated, as rules are
    sample = torch.tensor(draw_samples(both, (4.0, -2.0), width, generator))
    weights = learn_weights([(both, sample)])
    alone = learn_weights([(factors_about(drawn, first[:, None], 0.1), sample)])
    assert weights[1].item() == SMALLEST_WEIGHT
    assert weights[0].item() == pytest.approx(alone[0].item(), abs=5 * SMALLEST_WEIGHT)


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("none", [0.0, 0.1])
def test_undecided_entities_do_not_count_for_the_weights(sides: int, none: float) -> None:
    """Every third entity is tied: the weights are those of the others alone, as if it were not there."""
    generator, entities, width = torch.Generator().manual_seed(3), 90, 3
    tied = torch.arange(entities) % 3 == 1
    every, others, unlike = [], [], []
    for _ in range(sides):
        factors = random_factors(generator, entities, width, 2, none=none)
        sample = torch.tensor(draw_samples(factors, (3.0, 1.0), width, generator))
        every.append((factors, torch.where(tied, UNDECIDED, sample)))
        unlike.append((factors, torch.where(tied, NONE, sample)))
        rows = [row for row in range(entities * width) if not tied[row // width]]
        place = {row: new for new, row in enumerate(rows)}
        pairs = [(new // width, new) for new in range(len(rows))]
        kept = factors_about(candidates_of(pairs, len(rows) // width, len(rows)), factors.values[rows], none)
        others.append((kept, torch.tensor([place.get(row, NONE) for row in sample[~tied].tolist()])))
    found, expected = learn_weights(every), learn_weights(others)
    assert found.tolist() == pytest.approx(expected.tolist(), rel=1e-6)
    assert stationary(others, found, 1.0) == pytest.approx([0.0, 0.0], abs=1e-3)
    assert float((learn_weights(unlike) - found).abs().min()) > 0.2  # those without a counterpart do count


def labelled(factors: Factors, weights: Tensor, proposal: Tensor) -> list[int]:
    """The row of each source's label under q*, -1 where it has none."""
    count = len(factors.entity)
    pairs = candidates_of(list(zip(factors.entity.tolist(), range(count), strict=True)), factors.entities, count)
    nothing, targets = torch.zeros(len(pairs), dtype=torch.float64), torch.zeros(pairs.targets, dtype=torch.float64)
    none = factors.none_probability(weights)
    refined = Counterparts(pairs, factors.conditional(weights), nothing, none, targets)
    believed = Counterparts(pairs, proposal, nothing, torch.zeros_like(none), targets)
    rows = labels(refined, believed)
    found = [-1] * pairs.sources
    for row in rows.tolist():
        found[int(pairs.source[row])] = row
    return found


def test_labels_with_one_rule_do_not_depend_on_its_weight() -> None:
    generator = torch.Generator().manual_seed(2)
    factors = random_factors(generator, 50, 4, 1, none=0.7)
    proposal = torch.rand(200, generator=generator, dtype=torch.float64)
    values = factors.values[:, 0].reshape(50, 4)
    expected = [e * 4 + int(values[e].argmax()) if values[e].max() > 0.7 else -1 for e in range(50)]
    assert -1 in expected
    for weight in (1e-3, 1.0, 7.3, 5e3):
        assert labelled(factors, column([weight]), proposal) == expected


def test_labels_with_two_rules_follow_their_weights() -> None:
    factors = factors_about(candidates_of([(0, 0), (0, 1)], 1, 2), column([[0.9, 0.2], [0.2, 0.8]]), 0.1)
    proposal = column([0.5, 0.5])
    assert labelled(factors, column([3.0, 1.0]), proposal) == [0]
    assert labelled(factors, column([1.0, 3.0]), proposal) == [1]


def test_ties_fall_back_to_the_encoder_and_then_abstain() -> None:
    pairs = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 2), (2, 3), (3, 0)]
    factors = factors_about(candidates_of(pairs, 5, 4), column([0.5, 0.5, 0.5, 0.5, 0.5, 0.6, 0.05])[:, None], 0.1)
    proposal = column([0.2, 0.3, 0.3, 0.3, 0.9, 0.1, 1.0])
    # 0: q breaks the tie; 1: tied in both; 2: the rule decides whatever q says; 3: below "none"; 4: no candidates
    assert labelled(factors, column([2.0]), proposal) == [1, -1, 5, -1, -1]


# --- q*, combine, widen ---


@st.composite
def beliefs(draw: st.DrawFn) -> Counterparts:
    """Normalised both ways over random candidates, with some mass on "none" and some outside."""
    sources, targets = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    grid = [(s, t) for s in range(sources) for t in range(targets)]
    pairs = sorted(draw(st.lists(st.sampled_from(grid), min_size=1, unique=True)))
    masses = st.floats(0.001, 1)

    def side(index: list[int], size: int) -> tuple[Tensor, Tensor]:
        raw = [draw(masses) for _ in pairs]
        none, outside = [draw(st.sampled_from([0.0, 0.3])) for _ in range(size)], draw(st.sampled_from([0.0, 0.2]))
        totals = [none[i] + outside + sum(v for v, j in zip(raw, index, strict=True) if j == i) for i in range(size)]
        shares = [value / totals[i] for value, i in zip(raw, index, strict=True)]
        return column(shares), column([none[i] / totals[i] if totals[i] else 0.0 for i in range(size)])

    forward, source_none = side([pair[0] for pair in pairs], sources)
    backward, target_none = side([pair[1] for pair in pairs], targets)
    return Counterparts(candidates_of(pairs, sources, targets), forward, backward, source_none, target_none)


def check_probabilities(found: Counterparts, *, whole: bool) -> None:
    pairs = found.candidates
    for values, none, index in (
        (found.forward, found.source_none, pairs.source),
        (found.backward, found.target_none, pairs.target),
    ):
        for value in (*values.tolist(), *none.tolist()):
            assert -1e-12 <= value <= 1 + 1e-12
        for entity in range(len(none)):
            total = values[index == entity].sum().item() + none[entity].item()
            assert total <= 1 + 1e-12
            if whole and bool((index == entity).any()):
                assert total == pytest.approx(1.0, abs=1e-12)


def refined_from(believed: Counterparts, seed: int) -> Counterparts:
    generator = torch.Generator().manual_seed(seed)
    sides = [
        factors_about(pairs, torch.rand(len(pairs), 2, generator=generator, dtype=torch.float64), 0.2)
        for pairs in (believed.candidates, believed.candidates.swap())
    ]
    return refine(believed, sides[0], sides[1], column([3.0, 1.0]))


@given(beliefs(), st.integers(0, 5))
@SMALL
def test_refined_beliefs_are_the_conditionals_with_none(believed: Counterparts, seed: int) -> None:
    refined = refined_from(believed, seed)
    check_probabilities(refined, whole=True)
    generator = torch.Generator().manual_seed(seed)
    values = torch.rand(len(refined.forward), 2, generator=generator, dtype=torch.float64)
    masses = torch.exp((values - 0.2) @ column([3.0, 1.0])).tolist()
    source = believed.candidates.source.tolist()
    for row, mass in enumerate(masses):
        total = 1 + sum(m for m, s in zip(masses, source, strict=True) if s == source[row])
        assert refined.forward[row].item() == pytest.approx(mass / total, rel=1e-12)
        assert refined.source_none[source[row]].item() == pytest.approx(1 / total, rel=1e-12)


@given(beliefs(), st.integers(0, 5))
@SMALL
def test_combined_beliefs_are_what_both_support(believed: Counterparts, seed: int) -> None:
    refined = refined_from(believed, seed)
    agreed = combine(believed, refined)
    check_probabilities(agreed, whole=True)
    pairs = believed.candidates
    for column_name, none_name, index in (
        ("forward", "source_none", pairs.source.tolist()),
        ("backward", "target_none", pairs.target.tolist()),
    ):
        q, r = getattr(believed, column_name).tolist(), getattr(refined, column_name).tolist()
        none, found = getattr(refined, none_name).tolist(), getattr(agreed, column_name).tolist()
        for row, entity in enumerate(index):
            total = sum(q[other] * r[other] for other in range(len(q)) if index[other] == entity)
            expected = q[row] * r[row] / total * r[row] / (r[row] + none[entity])
            assert found[row] == pytest.approx(expected, rel=1e-10)
            for other in range(len(q)):  # better by both is better
                if index[other] == entity and q[row] >= q[other] and r[row] >= r[other]:
                    assert found[row] >= found[other] * (1 - 1e-12)


def test_combining_by_hand() -> None:
    pairs = candidates_of([(0, 0), (0, 1)], 1, 2)
    believed = Counterparts(pairs, column([0.75, 0.25]), column([1.0, 1.0]), column([0.0]), column([0.0, 0.0]))
    refined = Counterparts(pairs, column([0.2, 0.6]), column([0.5, 0.75]), column([0.2]), column([0.5, 0.25]))
    agreed = combine(believed, refined)
    # products .15 and .15, normalised ½ each; against "none" .2/.4 and .6/.8
    assert agreed.forward.tolist() == pytest.approx([0.25, 0.375], rel=1e-12)
    assert agreed.source_none.tolist() == pytest.approx([0.375], rel=1e-12)
    assert agreed.backward.tolist() == pytest.approx([0.5, 0.75], rel=1e-12)


@given(beliefs(), st.integers(0, 5), st.data())
@SMALL
def test_widened_beliefs_share_out_what_the_encoder_gave(
    believed: Counterparts, seed: int, data: st.DataObject
) -> None:
    count = len(believed.candidates)
    kept = sorted(data.draw(st.sets(st.integers(0, count - 1), min_size=1, max_size=count)))
    narrow = believed[torch.tensor(kept)]
    agreed = combine(narrow, refined_from(narrow, seed))
    wide = widen(agreed, believed)
    check_probabilities(wide, whole=False)
    assert wide.pairs.here() is believed.candidates
    for column_name, none_name, index in (
        ("forward", "source_none", believed.candidates.source.tolist()),
        ("backward", "target_none", believed.candidates.target.tolist()),
    ):
        q, found = getattr(believed, column_name).tolist(), getattr(wide, column_name).tolist()
        a, none = getattr(agreed, column_name).tolist(), getattr(agreed, none_name).tolist()
        for row, entity in enumerate(index):
            given_mass = sum(q[other] for other in kept if index[other] == entity)
            expected = a[kept.index(row)] * given_mass if row in kept else q[row]
            assert found[row] == pytest.approx(expected, rel=1e-12)
            before = getattr(believed, none_name)[entity].item()
            expected = before + none[entity] * given_mass
            assert getattr(wide, none_name)[entity].item() == pytest.approx(expected, abs=1e-12)


def test_widening_leaves_the_mass_outside_the_candidates_where_it_was() -> None:
    pairs = candidates_of([(0, 0), (0, 1), (0, 2), (1, 1)], 2, 3)
    believed = Counterparts(
        pairs, column([0.4, 0.2, 0.1, 1.0]), column([1.0, 0.5, 1.0, 0.5]), column([0.0, 0.0]), column([0.0] * 3)
    )
    narrow = believed[torch.tensor([0, 1, 3])]
    wide = widen(combine(narrow, refined_from(narrow, 1)), believed)
    inside = [wide.forward[:3].sum().item(), wide.forward[3].item()]
    none = wide.source_none.tolist()
    assert [one + other for one, other in zip(inside, none, strict=True)] == pytest.approx([0.7, 1.0], abs=1e-12)
    assert wide.forward[2].item() == 0.1
    assert wide.forward[:2].sum().item() + wide.source_none[0].item() == pytest.approx(0.6, abs=1e-12)
