"""PARIS by itself: its turns equal slow loops written from the formulas (eq. 12 and 13), and end in the right links."""

import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

import emea
from emea.baselines import _equivalences as joins
from emea.baselines._equivalences import Equivalences, Grouped, assumed, best_of_both, equivalences, observed
from emea.baselines._settling import Settling
from emea.cli import main
from emea.contracts import Turn
from emea.data import LITERAL_SCHEMA, Graph, Links, Task
from emea.errors import InputError
from emea.kernels.limits import TIED_SCORE
from emea.method.rounds import Step
from emea.rules._subrelations import Subrelations
from emea.runs.align import TurnStep
from emea.settings import load, read_config

CPU = torch.device("cpu")
CLOSE = 1e-9
THETA = 0.1

Triple = tuple[int, int, int]
Pair = tuple[int, int]
Belief = dict[Pair, float]


# --- the slow reference: relations are numbered as in Edges, the inverse of r is r + relations ---


def both_ways(graph: Graph) -> list[Triple]:
    """Every (h, r, t), and (t, r⁻¹, h)."""
    triples, relations = graph.triples.tolist(), len(graph.relations)
    return [(h, r, t) for h, r, t in triples] + [(t, r + relations, h) for h, r, t in triples]


def inverse_functionality(edges: Sequence[Triple], relation: int) -> float:
    """fun⁻¹(r) = fun(r⁻¹) = #{y : ∃x r⁻¹(y, x)} / #{(y, x) : r⁻¹(y, x)}."""
    turned = {(t, h) for h, r, t in edges if r == relation}
    return len({y for y, _ in turned}) / len(turned) if turned else 0.0


def slow_equivalences(
    task: Task, equal: Belief, inside: Belief, around: Belief, theta: float, *, least: float = 0.0
) -> Belief:
    """Eq. 13; two edges that say less than `least` for a pair are not counted, and less probable pairs than θ go."""
    edges, others = both_ways(task.source), both_ways(task.target)
    fun = {r: inverse_functionality(edges, r) for _, r, _ in edges}
    fun_other = {r: inverse_functionality(others, r) for _, r, _ in others}
    unlikely: Belief = {}
    for x, r, y in edges:
        for x_other, r_other, y_other in others:
            if (y, y_other) in equal:
                sure = equal[y, y_other]
                term = 1 - around[r, r_other] * fun[r] * sure
                term *= 1 - inside[r, r_other] * fun_other[r_other] * sure
                if 1 - term >= least:
                    unlikely[x, x_other] = unlikely.get((x, x_other), 1.0) * term
    return {pair: 1 - left for pair, left in unlikely.items() if 1 - left >= theta}


def slow_contained(first: Graph, second: Graph, equal: Belief) -> Belief:
    """Eq. 12: Pr(r ⊆ r') for all relations of both, inverses included; 0 where no triple of r is seen at all."""
    edges, others = both_ways(first), both_ways(second)
    result: Belief = {}
    for relation in range(2 * len(first.relations)):
        triples = [(x, y) for x, r, y in edges if r == relation]
        seen = 0.0
        for x, y in triples:
            none = 1.0
            for x_other in range(len(second.entities)):
                for y_other in range(len(second.entities)):
                    none *= 1 - equal.get((x, x_other), 0.0) * equal.get((y, y_other), 0.0)
            seen += 1 - none
        for other in range(2 * len(second.relations)):
            found = 0.0
            for x, y in triples:
                none = 1.0
                for x_other, r, y_other in others:
                    if r == other:
                        none *= 1 - equal.get((x, x_other), 0.0) * equal.get((y, y_other), 0.0)
                found += 1 - none
            result[relation, other] = found / seen if seen else 0.0
    return result


def slow_subrelations(task: Task, equal: Belief) -> tuple[Belief, Belief]:
    """Pr(r ⊆ r') and Pr(r' ⊆ r), both by (r, r')."""
    back = slow_contained(task.target, task.source, {(t, s): value for (s, t), value in equal.items()})
    return slow_contained(task.source, task.target, equal), {(r, other): value for (other, r), value in back.items()}


def slow_best(pairs: Belief) -> Belief:
    """The pairs that no other of their source or target exceeds; equals share."""
    best = {
        (s, t): value
        for (s, t), value in pairs.items()
        if all(value >= other - TIED_SCORE for pair, other in pairs.items() if s == pair[0] or t == pair[1])
    }
    rivals = {
        (s, t): max(sum(pair[0] == s for pair in best), sum(pair[1] == t for pair in best)) for s, t in best
    }  # of the same source, or of the same target
    return {pair: value / rivals[pair] for pair, value in best.items()}


def slow_turn(task: Task, known: Belief, found: Belief, inside: Belief, around: Belief) -> tuple[Belief, Belief]:
    """All pairs of free entities with their probability, and the best of them."""
    pairs = slow_equivalences(task, {**known, **found}, inside, around, THETA)
    taken = {s for s, _ in known}, {t for _, t in known}
    pairs = {pair: value for pair, value in pairs.items() if pair[0] not in taken[0] and pair[1] not in taken[1]}
    return pairs, slow_best(pairs)


# --- toys ---


def random_graph(draw: random.Random, name: str) -> Graph:
    """8–12 entities, one of them alone, and 3 relations; loops, and edges side by side, if chance has it."""
    entities = draw.randrange(8, 13)
    triples = [(draw.randrange(entities - 1), draw.randrange(3), draw.randrange(entities - 1)) for _ in range(18)]
    names = [f"{name}{number:02}" for number in range(entities)], [f"{name}r{number}" for number in range(3)]
    return Graph.build(*names, np.array(triples))


def random_task(seed: int) -> Task:
    draw = random.Random(seed)
    return Task(random_graph(draw, "s"), random_graph(draw, "t"), Links.empty())


def random_pairs(task: Task, seed: int, count: int = 9) -> Belief:
    """Pairs that count as equal, not one to one."""
    draw = random.Random(seed + 100)
    grid = [(s, t) for s in range(len(task.source.entities) - 1) for t in range(len(task.target.entities) - 1)]
    return {pair: draw.uniform(0.05, 0.95) for pair in draw.sample(grid, count)}


def links_of(belief: Belief) -> Links:
    pairs = list(belief)
    source, target = (torch.tensor([pair[side] for pair in pairs], dtype=torch.int64) for side in (0, 1))
    return Links(source, target, torch.tensor([belief[pair] for pair in pairs], dtype=torch.float64))


def as_strong(links: Links) -> Equivalences:
    return Equivalences(links, links.weight)


def belief_of(links: Links) -> Belief:
    pairs = zip(links.source.tolist(), links.target.tolist(), strict=True)
    belief = dict(zip(pairs, links.weight.tolist(), strict=True))
    assert len(belief) == len(links), "a pair stands there twice"
    return belief


def grouped(task: Task) -> tuple[Grouped, Grouped]:
    return Grouped.build(task.source, CPU), Grouped.build(task.target, CPU)


def relation_pairs(task: Task) -> list[Pair]:
    """All pairs of relations, inverses included, sorted."""
    return [(r, s) for r in range(2 * len(task.source.relations)) for s in range(2 * len(task.target.relations))]


def given_subrelations(task: Task, seed: int) -> tuple[Subrelations, Belief, Belief]:
    """Random probabilities, a fifth of them 0."""
    draw, pairs = random.Random(seed + 200), relation_pairs(task)
    inside, around = ({pair: max(0.0, draw.uniform(-0.25, 1.0)) for pair in pairs} for _ in range(2))
    columns = [torch.tensor([side[pair] for pair in pairs], dtype=torch.float64) for side in (inside, around)]
    ones = [torch.ones(2 * len(graph.relations), dtype=torch.float64) for graph in (task.source, task.target)]
    return Subrelations(torch.arange(len(pairs)), *columns, *ones), inside, around


def both_probabilities(task: Task, subrelations: Subrelations) -> tuple[Belief, Belief]:
    pairs = relation_pairs(task)
    columns = subrelations.of(*(torch.tensor([pair[side] for pair in pairs]) for side in (0, 1)))
    inside, around = (dict(zip(pairs, column.tolist(), strict=True)) for column in columns)
    return inside, around


def agree(found: Belief, expected: Belief, tolerance: float = CLOSE) -> None:
    assert found.keys() == expected.keys()
    for pair, value in expected.items():
        assert found[pair] == pytest.approx(value, abs=tolerance), pair


def copies(
    seed: int, entities: int = 60, edges: int = 240, relations: int = 4, seeds: int = 10, *, kept: float = 1.0
) -> tuple[Task, Belief]:
    """A random graph and the same under other names and in another order, of both a share of the edges; the true pairs
    that are no seeds."""
    draw = random.Random(seed)
    ends = range(entities), range(relations), range(entities)
    triples = sorted({(*map(draw.choice, ends),) for _ in range(edges)})
    other, other_relation = (draw.sample(range(size), size) for size in (entities, relations))
    moved = [(other[head], other_relation[relation], other[tail]) for head, relation, tail in triples]
    one, two = ([row for row in rows if draw.random() < kept] for rows in (triples, moved))
    source, target = (
        Graph.build(
            [f"{name}{number:03}" for number in range(entities)],
            [f"{name}r{number}" for number in range(relations)],
            np.array(rows),
        )
        for name, rows in (("s", one), ("t", two))
    )
    pairs = list(enumerate(other))
    known = Links.build(*links_of(dict.fromkeys(pairs[:seeds], 1.0)).columns)
    return Task(source, target, known), dict.fromkeys(pairs[seeds:], 1.0)


def settle_steps(task: Task, *assignments: str) -> tuple[emea.Result, list[TurnStep]]:
    seen: list[TurnStep] = []

    def observe(step: Step) -> None:
        assert isinstance(step, TurnStep)
        seen.append(step)

    return emea.align(task, load(assignments=["method=paris", *assignments]), observe), seen


def settle(task: Task, *assignments: str) -> tuple[emea.Result, list[Turn]]:
    result, seen = settle_steps(task, *assignments)
    return result, [step.turn for step in seen]


def pairs_in(result: emea.Result) -> Belief:
    found = result.alignment
    return belief_of(Links(found.source, found.target, found.confidence))


# --- one turn ---


@pytest.mark.parametrize("seed", range(4))
def test_inverse_functionality(seed: int) -> None:
    task = random_task(seed)
    for graph, sorted_edges in zip((task.source, task.target), grouped(task), strict=True):
        expected = [inverse_functionality(both_ways(graph), relation) for relation in range(6)]
        assert len(set(expected)) > 1
        assert sorted_edges.functionality.tolist() == pytest.approx(expected, abs=CLOSE)


@pytest.mark.parametrize("theta", [1e-6, 0.3])
@pytest.mark.parametrize("seed", range(6))
def test_equivalences_equal_the_double_loop(seed: int, theta: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joins, "LEAST", 0.0)
    task = random_task(seed)
    equal, (subrelations, inside, around) = random_pairs(task, seed), given_subrelations(task, seed)
    expected = slow_equivalences(task, equal, inside, around, theta)
    assert len(expected) > 20
    found = equivalences(*grouped(task), links_of(equal), subrelations, theta).links
    agree(belief_of(found), expected)
    assert list(belief_of(found)) == sorted(expected)


def test_equivalences_by_hand() -> None:
    """r(0, 2), r(1, 2) against s(0, 1): fun⁻¹(r) = 1/2, fun⁻¹(s) = 1, and Pr = 0.1 for all pairs of relations."""
    task = Task(
        Graph.build(["a", "b", "c"], ["r"], torch.tensor([[0, 0, 2], [1, 0, 2]])),
        Graph.build(["x", "y"], ["s"], torch.tensor([[0, 0, 1]])),
        Links.empty(),
    )
    sides = grouped(task)
    found = equivalences(*sides, links_of({(2, 1): 0.8}), assumed(*sides, THETA), THETA).links
    each = 1 - (1 - 0.1 * 0.5 * 0.8) * (1 - 0.1 * 1.0 * 0.8)
    agree(belief_of(found), {(0, 0): each, (1, 0): each})
    found = equivalences(*sides, links_of({(0, 0): 1.0, (1, 0): 1.0}), assumed(*sides, THETA), THETA).links
    agree(belief_of(found), {(2, 1): 1 - (1 - 0.1 * 1.0) ** 4})  # along r⁻¹ and s⁻¹, with fun⁻¹ = 2/2 and 1/1


@pytest.mark.parametrize("seed", range(4))
def test_what_two_edges_hardly_say_is_left_out(seed: int) -> None:
    task = random_task(seed)
    equal = {pair: value / 8 for pair, value in random_pairs(task, seed, 12).items()}
    subrelations, inside, around = given_subrelations(task, seed)
    found = belief_of(equivalences(*grouped(task), links_of(equal), subrelations, 1e-6).links)
    agree(found, slow_equivalences(task, equal, inside, around, 1e-6, least=0.01))
    everything = slow_equivalences(task, equal, inside, around, 1e-6)
    assert any(found.get(pair, 0.0) < value - 1e-3 for pair, value in everything.items())
    assert all(found[pair] <= everything[pair] + CLOSE for pair in found)


@pytest.mark.parametrize("seed", range(3))
def test_equivalences_do_not_depend_on_the_size_of_blocks(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    task = random_task(seed)
    arguments = *grouped(task), links_of(random_pairs(task, seed)), given_subrelations(task, seed)[0], THETA
    expected = belief_of(equivalences(*arguments).links)
    for block in (1, 7):
        monkeypatch.setattr(joins, "EDGE_PAIR_BLOCK", block)
        agree(belief_of(equivalences(*arguments).links), expected, 1e-12)


def test_without_equal_pairs_there_is_nothing() -> None:
    sides = grouped(random_task(0))
    assert not len(equivalences(*sides, links_of({}), assumed(*sides, THETA), THETA).links)


def test_at_first_all_relations_are_contained_in_all_others() -> None:
    task = random_task(1)
    for side in both_probabilities(task, assumed(*grouped(task), 0.23)):
        agree(side, dict.fromkeys(relation_pairs(task), 0.23))


@pytest.mark.parametrize("seed", range(6))
def test_subrelations_equal_the_loops(seed: int) -> None:
    task = random_task(seed)
    equal = random_pairs(task, seed, 30)
    found, expected = (
        both_probabilities(task, observed(*grouped(task), links_of(equal))),
        slow_subrelations(task, equal),
    )
    assert len({round(value, 6) for value in expected[0].values()}) > 8
    for side, slow_side in zip(found, expected, strict=True):
        agree(side, slow_side)


@pytest.mark.parametrize("seed", range(3))
def test_subrelations_of_certain_pairs(seed: int) -> None:
    task = random_task(seed)
    equal = dict.fromkeys(random_pairs(task, seed, 30), 1.0)
    expected = slow_subrelations(task, equal)
    assert len({round(value, 6) for value in expected[1].values()}) > 4
    for side, slow_side in zip(
        both_probabilities(task, observed(*grouped(task), links_of(equal))), expected, strict=True
    ):
        agree(side, slow_side, 1e-8)  # 1 − p is kept above 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_turns_equal_those_of_the_loops(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joins, "LEAST", 0.0)
    task, _ = copies(seed, entities=11, edges=20, relations=3, seeds=3)
    known, found = belief_of(task.seeds), dict[Pair, float]()
    inside = around = dict.fromkeys(relation_pairs(task), THETA)
    several = 0
    for turn in Settling(task, THETA, CPU).turns(rounds=5, settled=0.0):
        pairs, found = slow_turn(task, known, found, inside, around)
        inside, around = slow_subrelations(task, {**known, **found})
        believed = turn.beliefs
        agree(belief_of(Links(believed.candidates.source, believed.candidates.target, believed.forward)), pairs, 1e-7)
        agree(belief_of(turn.labels), found, 1e-7)
        assert torch.equal(believed.forward, believed.backward)
        several += len(pairs) > len(found) > 3
    assert several


# --- the best of both ---


HAND = {
    "best of each other": ({(0, 0): 0.9, (0, 1): 0.3, (1, 1): 0.4, (1, 0): 0.2}, {(0, 0): 0.9, (1, 1): 0.4}),
    "best of one only": ({(0, 0): 0.9, (0, 1): 0.8, (1, 1): 0.7}, {(0, 0): 0.9}),
    "two targets tied": ({(0, 0): 0.6, (0, 1): 0.6, (1, 2): 0.5}, {(0, 0): 0.3, (0, 1): 0.3, (1, 2): 0.5}),
    "two sources tied": ({(0, 2): 0.5, (1, 2): 0.5, (1, 0): 0.4}, {(0, 2): 0.25, (1, 2): 0.25}),
    "three tied in a row": ({(0, 0): 0.6, (0, 1): 0.6, (1, 1): 0.6}, {(0, 0): 0.3, (0, 1): 0.3, (1, 1): 0.3}),
    "tied for one, not for the other": ({(0, 0): 0.6, (0, 1): 0.6, (1, 1): 0.8}, {(0, 0): 0.6, (1, 1): 0.8}),
    "tied but for rounding": ({(0, 0): 0.6, (0, 1): 0.6 + 1e-12}, {(0, 0): 0.3, (0, 1): 0.3}),
    "nearly tied": ({(0, 0): 0.6, (0, 1): 0.6 + 1e-6}, {(0, 1): 0.6 + 1e-6}),
    "nothing": ({}, {}),
}


@pytest.mark.parametrize("case", HAND)
def test_best_of_both_by_hand_in_any_order(case: str) -> None:
    pairs, expected = HAND[case]
    for rows in permutations(pairs.items()):
        agree(belief_of(best_of_both(as_strong(links_of(dict(rows))), 2, 3)), expected)


@pytest.mark.parametrize("seed", range(5))
def test_best_of_both_equals_the_loops(seed: int) -> None:
    draw = random.Random(seed)
    grid = [(s, t) for s in range(6) for t in range(7)]
    pairs = {pair: draw.randrange(1, 9) / 10 for pair in draw.sample(grid, 25)}  # many are tied
    agree(belief_of(best_of_both(as_strong(links_of(pairs)), 6, 7)), slow_best(pairs))
    swapped = best_of_both(as_strong(links_of(pairs).swap()), 7, 6).swap()
    agree(belief_of(swapped), slow_best(pairs))


# --- all turns ---


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("size", [{}, {"entities": 200, "edges": 600}, {"edges": 120, "seeds": 3}])
def test_a_copy_is_linked(size: dict[str, int], seed: int) -> None:
    task, truth = copies(seed, **size)
    result, steps = settle_steps(task)
    found, reached = pairs_in(result), len({*task.source.triples[:, 0].tolist(), *task.source.triples[:, 2].tolist()})
    right = len(found.keys() & truth.keys())
    assert right >= 0.93 * (reached - len(task.seeds))
    assert right >= 0.98 * len(found)
    assert steps[-1].turn.changed <= 0.01
    assert result.last is None
    assert [step.number for step in steps] == list(range(len(steps)))


def test_a_turn_says_how_long_it_took() -> None:
    started = time.perf_counter()
    _, steps = settle_steps(copies(0)[0])
    assert len(steps) > 1
    assert min(step.seconds for step in steps) > 0
    assert sum(step.seconds for step in steps) < time.perf_counter() - started


def test_seeds_are_not_found_again() -> None:
    task, _ = copies(1)
    result, turns = settle(task)
    last = result.counterparts.candidates
    for source, target in ((result.alignment.source, result.alignment.target), (last.source, last.target)):
        assert len(source) >= 45
        assert not set(source.tolist()) & set(task.seeds.source.tolist())
        assert not set(target.tolist()) & set(task.seeds.target.tolist())
    for turn in turns:
        assert not set(turn.labels.source.tolist()) & set(task.seeds.source.tolist())


def test_what_is_excluded_is_never_linked() -> None:
    task, truth = copies(2)
    wrong = dict.fromkeys(list(truth)[::5], 1.0)
    assert wrong.keys() <= pairs_in(settle(task)[0]).keys()
    result, turns = settle(replace(task, exclusions=Links.build(*links_of(wrong).columns)))
    for turn in turns:
        candidates = turn.beliefs.candidates
        believed = belief_of(Links(candidates.source, candidates.target, turn.beliefs.forward))
        assert not wrong.keys() & (believed.keys() | belief_of(turn.labels).keys())
    found = pairs_in(result)
    assert not wrong.keys() & found.keys()
    assert len(found.keys() & truth.keys()) >= 0.9 * (len(truth) - len(wrong))


def test_it_ends_when_settled_and_not_before() -> None:
    task, _ = copies(0, edges=120, seeds=3)
    _, turns = settle(task, "baselines.paris.settled=0")
    assert 4 < len(turns) < 60
    assert turns[-1].changed == 0
    assert all(turn.changed > 0 for turn in turns[1:-1])
    _, sooner = settle(task, "baselines.paris.settled=0.4")
    assert 2 < len(sooner) < len(turns)
    assert sooner[-1].changed <= 0.4 < min(turn.changed for turn in sooner[1:-1])


def test_an_empty_first_turn_is_not_the_end() -> None:
    task, truth = copies(0, relations=1, seeds=2)
    result, turns = settle(task)
    assert not len(turns[0].labels)
    assert turns[0].changed == 0
    assert len(pairs_in(result).keys() & truth.keys()) > 50


def test_what_is_new_is_new_to_two_turns() -> None:
    task, _ = copies(0, seeds=5, kept=0.6)
    before: list[set[Pair]] = []
    returned = 0
    for turn in settle(task, "baselines.paris.settled=0")[1]:
        here = set(belief_of(turn.labels))
        assert turn.changed == pytest.approx(len(here - set().union(*before[-2:])) / len(here))
        returned += len(before) > 1 and bool(here & before[-2] - before[-1])
        before.append(here)
    assert returned


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_it_never_goes_on_after_its_rounds(rounds: int) -> None:
    task, _ = copies(0, edges=120, seeds=3)
    _, turns = settle(task)
    result, fewer = settle(task, f"baselines.paris.rounds={rounds}")
    assert len(fewer) == rounds < len(turns)
    for one, other in zip(turns, fewer, strict=False):
        assert belief_of(one.labels) == belief_of(other.labels)
    assert torch.equal(result.counterparts.forward, turns[rounds - 1].beliefs.forward)


def test_the_same_bytes_twice() -> None:
    task, _ = copies(3, entities=200, edges=600)
    (first, turns), (second, again) = settle(task), settle(task)
    assert len(turns) == len(again)
    for name in ("source", "target", "confidence", "similarity"):
        assert torch.equal(getattr(first.alignment, name), getattr(second.alignment, name))
    assert torch.equal(first.counterparts.forward, second.counterparts.forward)
    assert torch.equal(first.counterparts.source_none, second.counterparts.source_none)


def test_small_blocks_end_in_the_same_links(monkeypatch: pytest.MonkeyPatch) -> None:
    task, _ = copies(1, entities=30, edges=60, seeds=3)
    expected = pairs_in(settle(task)[0])
    assert len(expected) > 15
    monkeypatch.setattr(joins, "EDGE_PAIR_BLOCK", 7)
    agree(pairs_in(settle(task)[0]), expected)


@pytest.mark.parametrize("seed", range(3))
def test_neither_names_nor_ids_matter(seed: int) -> None:
    task, _ = copies(seed, edges=150, seeds=5)
    result, _ = settle(task)
    draw = np.random.default_rng(seed)
    (source, new_source), (target, new_target) = renamed(task.source, draw), renamed(task.target, draw)

    def moved(pairs: Belief) -> Belief:
        return {(int(new_source[s]), int(new_target[t])): value for (s, t), value in pairs.items()}

    seeds = Links.build(*links_of(moved(belief_of(task.seeds))).columns)
    assert seeds.source.tolist() != task.seeds.source.tolist()
    assert len(result.alignment) > 40
    agree(pairs_in(settle(Task(source, target, seeds))[0]), moved(pairs_in(result)), 1e-7)


def renamed(graph: Graph, draw: np.random.Generator) -> tuple[Graph, np.ndarray]:
    """The same structure under random names, which shuffles all ids; and the new id of each old one."""
    entities, relations = (
        [f"{value:08x}" for value in draw.permutation(10 * len(names))[: len(names)]]
        for names in (graph.entities, graph.relations)
    )
    rows = graph.triples.numpy()[draw.permutation(len(graph.triples))]
    return Graph.build(entities, relations, rows), np.argsort(np.argsort(np.array(entities)))


# --- values ---


def described(names: list[str], triples: list[list[int]], values: list[tuple[int, int, str]]) -> Graph:
    entity, attribute, text = zip(*values, strict=True)
    columns = {"entity": entity, "attribute": attribute, "value": text}
    table = pa.table({**columns, **{name: [""] * len(values) for name in ("datatype", "language")}}, LITERAL_SCHEMA)
    return Graph.build(names, ["near"], np.array(triples), attributes=["a", "b"], literals=table)


def people(count: int) -> tuple[Task, Belief]:
    """Each has a name that some others have, and a number that some others have; on the other side in other words."""
    draw = random.Random(4)
    order, names, years = draw.sample(range(count), count), ["ann", "bob", "eve", "joe", "kim"], range(1900, 1912)
    sides: list[list[tuple[int, int, str]]] = [[], []]
    for number, other in enumerate(order):
        name, year = f"{draw.choice(names)} {draw.choice(names)}", draw.choice(years)
        sides[0] += [(number, 0, name.title()), (number, 1, str(year))]
        sides[1] += [(other, 1, name.upper()), (other, 0, f"{year}.0")]
    ring = [(number, 0, (number + 1) % count) for number in range(count)]
    source = described([f"s{number:03}" for number in range(count)], [list(row) for row in ring], sides[0])
    rows = [[order[head], relation, order[tail]] for head, relation, tail in ring]
    target = described([f"t{number:03}" for number in range(count)], rows, sides[1])
    return Task(source, target, Links.empty()), dict.fromkeys(enumerate(order), 1.0)


def test_values_alone_link_without_seeds() -> None:
    task, truth = people(60)
    result, _ = settle(task, "evidence.kind=all")
    found = pairs_in(result)
    right = len(found.keys() & truth.keys())
    assert right >= 0.95 * len(truth)
    assert right >= 0.98 * len(found)
    assert result.counterparts.candidates.targets > 60  # values are entities there,
    assert int(result.counterparts.candidates.target.max()) < 60  # and never candidates


def test_seeds_count_beside_values() -> None:
    task, truth = people(60)
    given = list(truth)[::6]
    result, _ = settle(
        replace(task, seeds=Links.build(*links_of(dict.fromkeys(given, 1.0)).columns)), "evidence.kind=all"
    )
    found = pairs_in(result)
    assert not {s for s, _ in given} & {s for s, _ in found}
    assert not {t for _, t in given} & {t for _, t in found}
    assert len(found.keys() & truth.keys()) >= 0.95 * (len(truth) - len(given))


def test_without_seeds_and_values_nothing_is_tried() -> None:
    task, _ = people(10)
    with pytest.raises(InputError, match="no known pairs"):
        settle(task, "evidence.kind=structure")
    bare = replace(task, target=Graph.build(task.target.entities, ["near"], task.target.triples))
    with pytest.raises(InputError, match="share no value"):
        settle(bare, "evidence.kind=all")


# --- the command line ---


RESULTS = ("alignment.tsv", "alignment.sssom.tsv", "alignment.nt", "candidates.tsv", "relations.tsv", "rounds.jsonl")
Command = Callable[..., str]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two graphs of the same shape and seeds, as files in the current folder."""
    task, truth = copies(5)
    for side, graph in (("a", task.source), ("b", task.target)):
        rows = [
            f"urn:{side}:{head}\turn:{side}:r{relation}\turn:{side}:{tail}\n" for head, relation, tail in graph.triples
        ]
        (tmp_path / f"{side}.tsv").write_text("".join(rows))
    (tmp_path / "seeds.tsv").write_text(rows_of(belief_of(task.seeds)))
    (tmp_path / "truth.tsv").write_text(rows_of(truth))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows_of(pairs: Belief) -> str:
    return "".join(f"urn:a:{s}\turn:b:{t}\n" for s, t in pairs)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run emea; returns what it said on both channels, in one line."""

    def call(*arguments: str, code: int = 0) -> str:
        monkeypatch.setattr(sys, "argv", ["emea", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        assert int(ended.value.code or 0) == code, said
        return " ".join((said.out + said.err).split())

    return call


GIVEN = ["align", "a.tsv", "b.tsv", "--seeds", "seeds.tsv", "--device", "cpu"]


def test_a_run_by_the_command_line_and_again_from_its_settings(files: Path, command: Command) -> None:
    said = command(*GIVEN, "--method", "paris", "--set", "baselines.paris.rounds=7", "--out", "run")
    assert "links found besides the 10 seeds" in said
    assert "round 0: " in said
    assert read_config(files / "run" / "settings.toml")["method"] == "paris"
    assert read_config(files / "run" / "settings.toml")["baselines"]["paris"]["rounds"] == 7
    rounds = [json.loads(line) for line in (files / "run" / "rounds.jsonl").read_text().splitlines()]
    assert [row["round"] for row in rounds] == list(range(len(rounds)))
    assert rounds[-1]["labels"] >= 45
    found = {tuple(row.split("\t")[:2]) for row in (files / "run" / "alignment.tsv").read_text().splitlines()[1:]}
    truth = {tuple(row.split("\t")) for row in (files / "truth.tsv").read_text().splitlines()}
    assert len(found & truth) >= 45
    assert len(found - truth) <= 1

    assert "round" not in command("align", "--config", "run/settings.toml", "--out", "again", "--quiet")
    for name in RESULTS:
        assert (files / "run" / name).read_bytes() == (files / "again" / name).read_bytes(), name
    settings = [read_config(files / folder / "settings.toml") for folder in ("run", "again")]
    assert settings[0] == settings[1]


def test_an_unknown_method_ends_with_one_sentence(files: Path, command: Command) -> None:
    said = command(*GIVEN, "--method", "pariss", code=2)
    assert said.endswith("unknown baseline 'pariss'; known are paris, prase, or module:Class; did you mean paris?")
    assert not (files / "run").exists()


def test_nothing_is_estimated_for_another_method(files: Path, command: Command) -> None:
    said = command(*GIVEN, "--method", "paris", "--dry-run", "--quiet", code=2)
    assert said.endswith("--dry-run works with the method emea only, found --method paris")
    assert "Traceback" not in said
    assert not (files / "run").exists()


def test_methods_are_listed(command: Command) -> None:
    said = command("baselines")
    assert "paris" in said
    assert "prase" in said
    assert "theta" in command("baselines", "paris")


def test_a_permuted_reference_changes_no_byte(files: Path, command: Command) -> None:
    fold, data = files / "data" / "721_5fold" / "1", files / "data"
    fold.mkdir(parents=True)
    for number, side in enumerate("ab", 1):
        (data / f"rel_triples_{number}").write_text((files / f"{side}.tsv").read_text())
    (fold / "train_links").write_text((files / "seeds.tsv").read_text())
    (fold / "valid_links").write_text("")
    sources, targets = zip(*copies(5)[1], strict=True)
    for name, order in (("true", targets), ("permuted", random.Random(1).sample(targets, len(targets)))):
        (fold / "test_links").write_text(rows_of(dict.fromkeys(zip(sources, order, strict=True), 1.0)))
        command("align", "--data", "data", "--fold", "1", "--method", "paris", "--device", "cpu", "--out", name)
    for name in RESULTS:
        assert (files / "true" / name).read_bytes() == (files / "permuted" / name).read_bytes(), name
    hits = [
        json.loads((files / name / "metrics.json").read_text())["ranking"]["all targets"]["probability"]["hit@1"]
        for name in ("true", "permuted")
    ]
    assert hits[0] > 0.9
    assert hits[1] < 0.3


def test_pairs_that_are_all_but_certain_are_told_apart() -> None:
    """Thirty seeds speak for both; without what is left of 1 the four pairs would tie, and none were linked."""
    seeds = range(30)
    triples = [(30, 0, seed) for seed in seeds] + [(31, 0, seed) for seed in seeds[5:]]
    graph = Graph.build([f"e{number:02}" for number in range(32)], ["r"], np.array(triples))
    task = Task(graph, graph, Links.build(torch.arange(30), torch.arange(30)))
    assert {*pairs_in(settle(task)[0])} == {(30, 30), (31, 31)}


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_what_it_ends_with_is_what_it_links(seed: int) -> None:
    task, _ = copies(seed, entities=40, edges=1200, relations=3, seeds=10)
    result, turns = settle(task, "matching.minimum=0")
    last = turns[-1].labels
    alone = (torch.bincount(last.source)[last.source] == 1) & (torch.bincount(last.target)[last.target] == 1)
    assert {*pairs_in(result)} == {*belief_of(last[alone])}
