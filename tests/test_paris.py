"""The PARIS rule equals slow loops over triples written from its formulas (PARIS eq. 12 and 13, paper eq. cond_p)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from emea.data import Candidates, Counterparts, Embeddings, Graph, Links, Task
from emea.kernels.joins import Edges
from emea.rules._subrelations import Subrelations
from emea.rules.paris import PARIS, PARISSettings

SMALL = settings(max_examples=40, derandomize=True)
CLOSE = 1e-7  # the rule keeps 1 − p above 1e-9; nothing else is approximate

Triple = tuple[int, int, int]
Pair = tuple[int, int]
Belief = Mapping[Pair, float]  # Pr(n ≡ n')

NOWHERE = Embeddings(torch.empty(0, 1), torch.empty(0, 1))  # the rule looks at beliefs alone


@dataclass(frozen=True)
class Toy:
    """Two small graphs and beliefs about some pairs; columns are dictionaries so that loops can read them."""

    source: tuple[Triple, ...]
    target: tuple[Triple, ...]
    sources: int
    targets: int
    relations: int
    forward: dict[Pair, float]
    backward: dict[Pair, float]
    source_none: tuple[float, ...]
    target_none: tuple[float, ...]

    def swap(self) -> "Toy":
        return Toy(
            self.target,
            self.source,
            self.targets,
            self.sources,
            self.relations,
            {(t, s): value for (s, t), value in self.backward.items()},
            {(t, s): value for (s, t), value in self.forward.items()},
            self.target_none,
            self.source_none,
        )


def task_of(toy: Toy) -> Task:
    def graph(triples: Sequence[Triple], entities: int) -> Graph:
        return Graph.build(
            [f"e{number}" for number in range(entities)],
            [f"r{number}" for number in range(toy.relations)],
            np.array(triples, dtype=np.int64).reshape(-1, 3),
        )

    return Task(graph(toy.source, toy.sources), graph(toy.target, toy.targets), Links.empty(), Links.empty())


def beliefs_of(toy: Toy, pairs: Sequence[Pair]) -> Counterparts:
    candidates = Candidates(
        torch.tensor([pair[0] for pair in pairs], dtype=torch.int64),
        torch.tensor([pair[1] for pair in pairs], dtype=torch.int64),
        torch.zeros(len(pairs)),
        toy.sources,
        toy.targets,
        torch.zeros(toy.sources),
        torch.zeros(toy.targets),
    )
    return Counterparts(
        candidates,
        torch.tensor([toy.forward[pair] for pair in pairs], dtype=torch.float64),
        torch.tensor([toy.backward[pair] for pair in pairs], dtype=torch.float64),
        torch.tensor(toy.source_none, dtype=torch.float64),
        torch.tensor(toy.target_none, dtype=torch.float64),
    )


def rule_factors(toy: Toy, rule_settings: PARISSettings) -> dict[Pair, float]:
    pairs = sorted(toy.forward)
    values = PARIS(task_of(toy), rule_settings, torch.device("cpu")).factors(beliefs_of(toy, pairs), NOWHERE)
    assert values.dtype == torch.float64
    assert values.shape == (len(pairs),)
    return dict(zip(pairs, values.tolist(), strict=True))


# --- the slow reference ---


def both_ways(triples: Sequence[Triple], relations: int) -> list[Triple]:
    """Every (h, r, t), and (t, r⁻¹, h)."""
    distinct = sorted(set(triples))
    return distinct + [(t, r + relations, h) for h, r, t in distinct]


def by_relation(edges: Sequence[Triple]) -> dict[int, list[Pair]]:
    return {relation: [(h, t) for h, r, t in edges if r == relation] for relation in {r for _, r, _ in edges}}


def inverse_functionality(pairs: Sequence[Pair]) -> float:
    """fun⁻¹(r) = fun(r⁻¹) = #{y : ∃x r(x, y)} / #{(x, y) : r(x, y)}."""
    return len({t for _, t in pairs}) / len(pairs)


def hard_assignment(toy: Toy) -> dict[int, int | None]:
    """y: each source's best counterpart, None where "none" is as good or two tie."""
    result: dict[int, int | None] = {}
    for source in range(toy.sources):
        options = sorted((value, pair[1]) for pair, value in toy.forward.items() if pair[0] == source)
        result[source] = None
        if options and options[-1][0] > toy.source_none[source]:
            tied = len(options) > 1 and options[-2][0] == options[-1][0]
            result[source] = None if tied else options[-1][1]
    return result


def equal_pairs(toy: Toy, mode: str, minimum: float) -> dict[Pair, float]:
    if mode == "best":
        return {(s, t): 1.0 for s, t in hard_assignment(toy).items() if t is not None}
    weights = {
        pair: toy.forward[pair] * toy.backward[pair] if mode == "both" else toy.forward[pair] for pair in toy.forward
    }
    return {pair: weight for pair, weight in weights.items() if weight > minimum}


def contained(triples: Sequence[Pair], other: Sequence[Pair], equal: Belief, prior: float, strength: float) -> float:
    """Pr(r ⊆ r') by eq. 12, of the triples of r and those of r'; the prior counts as `strength` triples seen."""
    entities = {pair[1] for pair in equal}
    found = seen = 0.0
    for x, y in triples:
        not_found = not_seen = 1.0
        for x_other, y_other in other:
            not_found *= 1 - equal.get((x, x_other), 0.0) * equal.get((y, y_other), 0.0)
        for x_other in entities:
            for y_other in entities:
                not_seen *= 1 - equal.get((x, x_other), 0.0) * equal.get((y, y_other), 0.0)
        found += 1 - not_found
        seen += 1 - not_seen
    return (found + prior * strength) / (seen + strength) if seen + strength > 0 else 0.0


class Slow:
    """Eq. 13 with subrelations held at what eq. 12 makes of `equal`."""

    def __init__(self, toy: Toy, equal: Belief, prior: float, strength: float) -> None:
        self.source, self.target = both_ways(toy.source, toy.relations), both_ways(toy.target, toy.relations)
        back = {(t, s): weight for (s, t), weight in equal.items()}
        used, used_other = by_relation(self.source), by_relation(self.target)
        self.fun = {r: inverse_functionality(pairs) for r, pairs in used.items()}
        self.fun_other = {q: inverse_functionality(pairs) for q, pairs in used_other.items()}
        self.inside, self.around = {}, {}  # Pr(r ⊆ r'), Pr(r' ⊆ r)
        for r, pairs in used.items():
            for q, pairs_other in used_other.items():
                self.inside[r, q] = contained(pairs, pairs_other, equal, prior, strength)
                self.around[r, q] = contained(pairs_other, pairs, back, prior, strength)

    def factor(self, e: int, e_other: int, equal: Callable[[int, int], float]) -> float:
        unlikely = 1.0
        for h, r, n in self.source:
            for h_other, q, n_other in self.target:
                if (h, h_other) == (e, e_other):
                    p = equal(n, n_other)
                    unlikely *= 1 - self.around[r, q] * self.fun[r] * p
                    unlikely *= 1 - self.inside[r, q] * self.fun_other[q] * p
        return 1 - unlikely

    def total(self, y: Mapping[int, int | None]) -> float:
        """Σ over all factors of g(y_F); a source without counterpart has g = 0."""
        return sum(
            self.factor(n, n_other, lambda m, m_other: float(y[m] == m_other))
            for n, n_other in y.items()
            if n_other is not None
        )


def slow_own(toy: Toy, mode: str, minimum: float, prior: float, strength: float) -> dict[Pair, float]:
    """The factor at e with y_e = e', also where a triple joins e with itself; what both sides believe is one-to-one, so
    that no other entity is e' then."""
    equal = equal_pairs(toy, mode, minimum)
    slow = Slow(toy, equal, prior, strength)

    def belief(e: int, e_other: int) -> Callable[[int, int], float]:
        def certainty(n: int, m: int) -> float:
            if n == e:
                return float(m == e_other)
            return 0.0 if mode == "both" and m == e_other else equal.get((n, m), 0.0)

        return certainty

    return {pair: slow.factor(*pair, belief(*pair)) for pair in toy.forward}


def slow_blanket(toy: Toy, prior: float, strength: float) -> dict[Pair, float]:
    """What y_e = e' adds to the sum over all factors, compared with y_e = none, all else as it stands."""
    slow, y = Slow(toy, equal_pairs(toy, "best", 0.0), prior, strength), hard_assignment(toy)
    return {(e, e_other): slow.total(y | {e: e_other}) - slow.total(y | {e: None}) for e, e_other in toy.forward}


# --- toys ---


@st.composite
def toys(draw: st.DrawFn, self_loops: bool = True) -> Toy:
    """Up to 5 × 4 entities and 3 relations; probabilities are sixteenths, exact in every float type."""
    sources, targets, relations = draw(st.integers(2, 5)), draw(st.integers(2, 4)), draw(st.integers(1, 3))

    def triples(entities: int) -> tuple[Triple, ...]:
        one = st.tuples(
            st.integers(0, entities - 1), st.integers(0, relations - 1), st.integers(0, entities - 1)
        ).filter(lambda triple: self_loops or triple[0] != triple[2])
        return tuple(draw(st.lists(one, min_size=2, max_size=9, unique=True)))

    sixteenth = st.integers(0, 16).map(lambda number: number / 16)
    grid = [(s, t) for s in range(sources) for t in range(targets)]
    pairs = draw(st.lists(st.sampled_from(grid), min_size=1, unique=True))
    return Toy(
        triples(sources),
        triples(targets),
        sources,
        targets,
        relations,
        {pair: draw(sixteenth) for pair in pairs},
        {pair: draw(sixteenth) for pair in pairs},
        tuple(draw(st.sampled_from([0.0, 0.0, 0.5])) for _ in range(sources)),
        tuple(draw(st.sampled_from([0.0, 0.0, 0.5])) for _ in range(targets)),
    )


def fixed(self_loops: bool) -> Toy:
    """Four people and their doubles: parallel edges (0 → 1 by r0 and r1), a hub, and, if asked, self loops."""
    source = [(0, 0, 1), (0, 1, 1), (1, 0, 2), (3, 1, 2), (0, 2, 3), (1, 2, 3), (2, 2, 3)]
    target = [(0, 0, 1), (0, 1, 1), (1, 0, 2), (3, 0, 2), (0, 2, 3), (1, 1, 3), (2, 2, 1)]
    if self_loops:
        source += [(1, 1, 1), (3, 0, 3)]
        target += [(1, 1, 1), (2, 1, 2), (3, 0, 3)]
    grid = [(s, t) for s in range(4) for t in range(4)]
    forward = {pair: (9 if pair[0] == pair[1] else 2 + (3 * pair[0] + pair[1]) % 3) / 16 for pair in grid}
    backward = {pair: (11 if pair[0] == pair[1] else 1 + (pair[0] + 2 * pair[1]) % 4) / 16 for pair in grid}
    forward[2, 1] = 12 / 16  # source 2 is mistaken
    return Toy(tuple(source), tuple(target), 4, 4, 3, forward, backward, (0.0,) * 4, (0.0,) * 4)


def agree(found: Mapping[Pair, float], expected: Mapping[Pair, float]) -> None:
    assert found.keys() == expected.keys()
    for pair, value in expected.items():
        assert found[pair] == pytest.approx(value, abs=CLOSE), pair


MODES = ("both", "forward", "best")
PRIORS = ((0.1, 0.0), (0.1, 0.5), (0.3, 2.0))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("prior", "strength"), PRIORS)
def test_own_factor_of_a_fixed_toy(mode: str, prior: float, strength: float) -> None:
    toy = fixed(self_loops=True)
    rule = PARISSettings(evidence=mode, minimum=0.05, prior=prior, prior_strength=strength)
    expected = slow_own(toy, mode, 0.05, prior, strength)
    assert len({round(value, 6) for value in expected.values()}) > 4  # the toy tells pairs apart
    agree(rule_factors(toy, rule), expected)


@given(toys(), st.sampled_from(MODES), st.sampled_from(PRIORS), st.sampled_from([0.0, 0.05, 0.3]))
@SMALL
def test_own_factor_equals_the_double_loop(toy: Toy, mode: str, prior: tuple[float, float], minimum: float) -> None:
    rule = PARISSettings(evidence=mode, minimum=minimum, prior=prior[0], prior_strength=prior[1])
    agree(rule_factors(toy, rule), slow_own(toy, mode, minimum, *prior))


def test_own_factor_by_hand() -> None:
    """Two tails of one seed: r(0, 1), r(2, 1) against s(0, 1), s(2, 1), with 1 ≡ 1 and 0 ≡ 0 believed by a half."""
    toy = Toy(
        ((0, 0, 1), (2, 0, 1)),
        ((0, 0, 1), (2, 0, 1)),
        3,
        3,
        1,
        {(0, 0): 0.5, (1, 1): 1.0, (2, 2): 0.0},
        {(0, 0): 1.0, (1, 1): 1.0, (2, 2): 0.0},
        (0.0,) * 3,
        (0.0,) * 3,
    )
    # fun⁻¹(r) = 1 tail / 2 triples, fun⁻¹(r⁻¹) = 2 / 2; the triple seen by a half was found by a half: Pr(r ⊆ r') = 1
    found = rule_factors(toy, PARISSettings(prior_strength=0.0))
    assert found[0, 0] == pytest.approx(1 - 0.5 * 0.5, abs=CLOSE)
    assert found[2, 2] == pytest.approx(1 - 0.5 * 0.5, abs=CLOSE)
    assert found[1, 1] == pytest.approx(1 - 0.5 * 0.5, abs=CLOSE)  # along r⁻¹ to 0, believed by a half, twice
    # the prior, weighing half a triple, draws Pr(r ⊆ r') to (0.5 + 0.2·0.5) / (0.5 + 0.5)
    found = rule_factors(toy, PARISSettings(prior=0.2, prior_strength=0.5))
    assert found[2, 2] == pytest.approx(1 - (1 - 0.6 * 0.5) ** 2, abs=CLOSE)


@given(toys(), st.sampled_from(PRIORS))
@SMALL
def test_subrelations_equal_the_double_loop(toy: Toy, prior: tuple[float, float]) -> None:
    task, device = task_of(toy), torch.device("cpu")
    equal = {pair: value for pair, value in toy.forward.items() if value > 0}
    pairs = list(equal)
    links = Links.build(
        torch.tensor([pair[0] for pair in pairs], dtype=torch.int64),
        torch.tensor([pair[1] for pair in pairs], dtype=torch.int64),
        torch.tensor([equal[pair] for pair in pairs], dtype=torch.float64),
    )
    subrelations = Subrelations.estimate(
        Edges.build(task.source, device),
        Edges.build(task.target, device),
        links,
        prior=prior[0],
        strength=prior[1],
    )
    slow = Slow(toy, equal, *prior)
    relation_pairs = sorted(slow.inside)
    inside, around = subrelations.of(
        torch.tensor([pair[0] for pair in relation_pairs]), torch.tensor([pair[1] for pair in relation_pairs])
    )
    assert inside.tolist() == pytest.approx([slow.inside[pair] for pair in relation_pairs], abs=CLOSE)
    assert around.tolist() == pytest.approx([slow.around[pair] for pair in relation_pairs], abs=CLOSE)


BEST = {"evidence": "best", "scope": "blanket"}


@pytest.mark.parametrize("block", [1, 2, 5])
@pytest.mark.parametrize("scope", ["own", "blanket"])
def test_how_many_edges_are_looked_at_at_a_time_does_not_matter(
    block: int, scope: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy, rule = fixed(self_loops=True), PARISSettings(scope=scope)
    expected = rule_factors(toy, rule)
    monkeypatch.setattr("emea.rules.paris.EDGE_BLOCK", block)
    agree(rule_factors(toy, rule), expected)


@pytest.mark.parametrize(("prior", "strength"), PRIORS)
def test_blanket_of_a_fixed_toy(prior: float, strength: float) -> None:
    toy = fixed(self_loops=False)
    expected = slow_blanket(toy, prior, strength)
    own = slow_own(toy, "best", 0.0, prior, strength)
    assert any(expected[pair] > own[pair] + 0.1 for pair in own)  # the neighbours' factors matter here
    agree(rule_factors(toy, PARISSettings(**BEST, prior=prior, prior_strength=strength)), expected)


@given(toys(self_loops=False), st.sampled_from(PRIORS))
@SMALL
def test_blanket_equals_whole_assignments_recomputed(toy: Toy, prior: tuple[float, float]) -> None:
    rule = PARISSettings(**BEST, prior=prior[0], prior_strength=prior[1])
    agree(rule_factors(toy, rule), slow_blanket(toy, *prior))


@pytest.mark.parametrize(("prior", "strength"), PRIORS)
def test_blanket_of_a_fixed_toy_with_self_loops(prior: float, strength: float) -> None:
    """Where r(e, e), y_e = e' also is what the factor at e believes of its neighbour e."""
    toy = fixed(self_loops=True)
    rule = PARISSettings(**BEST, prior=prior, prior_strength=strength)
    agree(rule_factors(toy, rule), slow_blanket(toy, prior, strength))


@given(toys(self_loops=True), st.sampled_from(PRIORS))
@settings(SMALL, phases=[Phase.generate])
def test_blanket_with_self_loops_equals_whole_assignments_recomputed(toy: Toy, prior: tuple[float, float]) -> None:
    rule = PARISSettings(**BEST, prior=prior[0], prior_strength=prior[1])
    agree(rule_factors(toy, rule), slow_blanket(toy, *prior))


@given(toys(self_loops=False), st.sampled_from(["own", "blanket"]), st.sampled_from(PRIORS))
@SMALL
def test_swapped_task_and_beliefs_give_the_factors_of_the_targets(
    toy: Toy, scope: str, prior: tuple[float, float]
) -> None:
    rule = PARISSettings(evidence="best", scope=scope, prior=prior[0], prior_strength=prior[1])
    pairs = sorted(toy.forward)  # by source: seen from the target the rows are in no order
    values = PARIS(task_of(toy).swap(), rule, torch.device("cpu")).factors(beliefs_of(toy, pairs).swap(), NOWHERE)
    found = {(t, s): value for (s, t), value in zip(pairs, values.tolist(), strict=True)}
    back = toy.swap()
    agree(found, slow_blanket(back, *prior) if scope == "blanket" else slow_own(back, "best", 0.0, *prior))


@given(toys(), st.sampled_from(PRIORS))
@SMALL
def test_own_factor_of_agreement_is_the_same_from_both_sides(toy: Toy, prior: tuple[float, float]) -> None:
    rule = PARISSettings(evidence="both", prior=prior[0], prior_strength=prior[1])
    there, back = rule_factors(toy, rule), rule_factors(toy.swap(), rule)
    agree({(t, s): value for (s, t), value in there.items()}, back)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@given(toys(), st.sampled_from(["own", "blanket"]), st.sampled_from(PRIORS))
@SMALL
def test_one_look_tells_what_two_would(mode: str, toy: Toy, scope: str, prior: tuple[float, float]) -> None:
    rule = PARISSettings(evidence=mode, scope=scope, prior=prior[0], prior_strength=prior[1])
    pairs = sorted(toy.forward)
    there, back = PARIS(task_of(toy), rule, torch.device("cpu")).factors_both_ways(beliefs_of(toy, pairs), NOWHERE)
    agree(dict(zip(pairs, there.tolist(), strict=True)), rule_factors(toy, rule))
    agree({(t, s): value for (s, t), value in zip(pairs, back.tolist(), strict=True)}, rule_factors(toy.swap(), rule))


@pytest.mark.parametrize("scope", ["own", "blanket"])
@pytest.mark.parametrize("mode", MODES)
def test_without_evidence_every_factor_is_zero(mode: str, scope: str) -> None:
    toy = fixed(self_loops=False)
    nothing = Toy(
        toy.source, toy.target, 4, 4, 3, dict.fromkeys(toy.forward, 0.0), toy.backward, (0.0,) * 4, (0.0,) * 4
    )
    found = rule_factors(nothing, PARISSettings(evidence=mode, scope=scope))
    assert set(found.values()) == {0.0}
    no_pairs = Toy(toy.source, toy.target, 4, 4, 3, {}, {}, (0.0,) * 4, (0.0,) * 4)
    assert rule_factors(no_pairs, PARISSettings(evidence=mode, scope=scope)) == {}
