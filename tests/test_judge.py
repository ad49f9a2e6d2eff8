"""The mixture of matched and unmatched pairs: its formulas against slow ones, and what it finds."""

import random
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from sklearn.isotonic import IsotonicRegression

import emea
from emea import Links, Task
from emea.data import LITERAL_SCHEMA, Candidates, Counterparts, Embeddings, Graph
from emea.evidence.comparison import Comparison
from emea.evidence.descriptions import Description, describe
from emea.evidence.values import Forms, Values, read_values
from emea.method import sample
from emea.method.competition import Competition, competing
from emea.method.grounds import Steps
from emea.method.judge import LONE, RELEARNED, _cosine, _estimated, _proposed
from emea.method.mixture import _Mixture, estimate
from emea.method.profiles import Profiles, Rivals, by_level, falling
from emea.method.sample import Sample, _fitting
from emea.method.support import LINKED, SUPPORT, Support, Told
from emea.runs.run import summary
from emea.settings import load
from valued_columns import graph

FIRST = ("Anna", "Bert", "Carla", "Dirk", "Eva", "Fritz", "Gerda", "Hans", "Ilse", "Jan")
LAST = ("Adler", "Bauer", "Conrad", "Decker", "Ebert", "Fischer", "Graf", "Huber", "Ihle", "Jung", "Kern", "Lang")
TOWNS = ("Aachen", "Berlin", "Celle", "Dresden", "Erfurt", "Fulda", "Gera", "Halle")


def register(people: list[tuple[int, tuple[str, str, str]]], side: str) -> Graph:
    """People by name, date of birth and town; one date in ten is missing."""
    rows = []
    for place, (number, (name, born, town)) in enumerate(people):
        told = (name, born if number % 10 else "", town)
        rows += [(place, attribute, value, "", "") for attribute, value in enumerate(told) if value]
    table = pa.table([*zip(*rows, strict=True)], schema=LITERAL_SCHEMA)
    names = [f"{side}{number:04}" for number, _ in people]
    return Graph.build(names, [], np.zeros((0, 3)), attributes=["name", "born", "town"], literals=table)


@pytest.fixture(scope="module")
def registers() -> tuple[Task, Links]:
    """Two registers of 240 people each, of whom 80 are in both; names and birthdays repeat."""
    draw = random.Random(3)
    people = [
        (
            f"{draw.choice(FIRST)} {draw.choice(LAST)}",
            f"19{draw.randrange(40, 90)}-{draw.randrange(1, 13):02}-{draw.randrange(1, 29):02}",
            draw.choice(TOWNS),
        )
        for _ in range(400)
    ]
    both = list(range(80))
    left = register([(i, people[i]) for i in [*both, *range(80, 240)]], "a")
    right = register([(i, people[i]) for i in [*both, *range(240, 400)]], "b")
    return Task(left, right, Links.empty()), Links.build(torch.arange(80), torch.arange(80))


Found = tuple[emea.Result, set[tuple[int, int]]]


def links_of(task: Task, **changes: str) -> Found:
    settings = ["evidence.kind=all", *(f"{name.replace('__', '.')}={value}" for name, value in changes.items())]
    result = emea.align(task, load(assignments=settings))
    found = result.alignment
    return result, set(zip(found.source.tolist(), found.target.tolist(), strict=True))


@pytest.fixture(scope="module")
def judged(registers: tuple[Task, Links]) -> Found:
    """What is found by all defaults."""
    return links_of(registers[0])


@pytest.fixture(scope="module")
def unjudged(registers: tuple[Task, Links]) -> Found:
    """What is found without the judge."""
    return links_of(registers[0], matching__judge="false")


def test_people_without_counterpart_are_not_linked(judged: Found, unjudged: Found) -> None:
    result, found = judged
    right = {pair for pair in found if pair[0] == pair[1] < 80}
    assert len(right) >= 72
    assert len(found) - len(right) <= 4
    absence = result.outcome.absence
    assert absence is not None
    assert absence.share == pytest.approx(160 / 240, abs=0.05)
    assert absence.linked <= 0.05
    expected = float((1 - result.alignment.confidence).sum())
    assert abs(len(found) - len(right) - expected) <= 4
    _, without = unjudged
    assert len({pair for pair in without if not pair[0] == pair[1] < 80}) > 10 * max(1, len(found) - len(right))


def test_what_is_known_is_kept_out_of_the_links(registers: tuple[Task, Links]) -> None:
    task, truth = registers
    known = replace(
        task,
        seeds=truth[:20],
        exclusions=Links.build(torch.tensor([30]), torch.tensor([30])),
        unmatched=Links.build(torch.tensor([40, -1]), torch.tensor([-1, 50])),
    )
    result, found = links_of(known)
    assert not {pair for pair in found if min(pair) < 20}
    assert not {(30, 30), (40, 40), (50, 50)} & found
    assert len({pair for pair in found if pair[0] == pair[1] < 80}) >= 50
    beliefs = result.counterparts
    assert not bool(beliefs.candidates.touches(truth[:20]).any())
    total = torch.zeros(beliefs.candidates.sources, dtype=torch.float64)
    total.index_add_(0, beliefs.candidates.source, beliefs.forward)
    assert float((total + beliefs.source_none).max()) <= 1 + 1e-3


def test_decisions_teach_how_far_to_trust(registers: tuple[Task, Links], judged: Found) -> None:
    task, _ = registers
    everything = judged[0].alignment
    wrong = Links.build(everything.source[:25], everything.target[:25])  # a reviewer who finds most links wrong
    told = replace(task, exclusions=wrong, checked=Links(wrong.source, wrong.target, torch.zeros(25)))
    doubted, _ = links_of(told, matching__minimum="0.0")
    assert float(doubted.alignment.confidence.max()) < float(everything.confidence.max()) - 0.2


@pytest.mark.slow
def test_decisions_teach_also_without_the_judge(registers: tuple[Task, Links], unjudged: Found) -> None:
    (task, _), (plain, before) = registers, unjudged
    order = np.random.default_rng(0).permutation(len(before))[:60]
    source, target = (column[torch.from_numpy(order)] for column in (plain.alignment.source, plain.alignment.target))
    right = (source == target) & (source < 80)
    checked = Links(source, target, right.float())
    told = replace(task, seeds=checked[right], exclusions=checked[~right], checked=checked)
    _, after = links_of(told, matching__judge="false")
    decided = {*source.tolist()}
    shares = []
    for found in (before, after):
        left = {pair for pair in found if pair[0] not in decided}
        shares.append(sum(pair[0] == pair[1] < 80 for pair in left) / len(left))
    assert shares[1] >= (1 + shares[0]) / 2  # half of what is missing is won
    alike = replace(told, exclusions=Links.empty(), checked=checked[right][:25])
    assert links_of(alike, matching__judge="false")[1]  # all decisions are alike: nothing to learn from


def test_only_pairs_that_would_be_proposed_teach_how_often_proposals_are_right() -> None:
    pairs = np.array([[0, 0], [0, 1], [1, 1], [2, 2], [3, 3], [3, 4]])
    sure, decided = np.array([0.9, 0.2, 0.05, 0.8, 0.7, 0.3]), np.array([1, 0, 1, 0, np.nan, 1])
    right, wrong = torch.tensor([[0, 0], [1, 1], [3, 4]]), torch.tensor([[2, 2]])  # 1 was found by hand
    checked = Links(*torch.cat([right, wrong]).T, torch.tensor([1.0, 1.0, 1.0, 0.0]))
    sample, given = (
        SimpleNamespace(pairs=pairs, sizes=(4, 5), decided=decided),
        SimpleNamespace(checked=checked, unmatched=Links.empty()),
    )
    row, answer = _proposed(sample, sure, given)  # 3 may have several counterparts, and its surest pair is open
    assert dict(zip(map(tuple, pairs[row].tolist()), answer.tolist(), strict=True)) == {(0, 0): 1, (2, 2): 0}


def twins() -> Task:
    """Pairs of people who differ by a letter of their name, which the other register often lacks."""
    draw, people = random.Random(4), []
    for _ in range(120):
        name, town = f"{draw.choice(FIRST)} {draw.choice(LAST)}", draw.choice(TOWNS)
        for _ in range(2):
            letter, born = draw.choice("ABCDEFGH"), f"19{draw.randrange(40, 90)}" if draw.random() < 0.3 else ""
            people.append((f"{name} {letter}", born, town))
    lacking = [
        (name if draw.random() < 0.6 else name[:-2], born if draw.random() < 0.5 else "", town)
        for name, born, town in people
    ]
    return Task(register([*enumerate(people)], "a"), register([*enumerate(lacking)], "b"), Links.empty())


@pytest.mark.slow
@pytest.mark.parametrize("judge", ["true", "false"])
def test_what_decisions_teach_leaves_one_counterpart_at_most(judge: str) -> None:
    task = twins()
    plain = links_of(task, matching__judge=judge, matching__minimum="0.1")[0].alignment
    rows = torch.argsort(plain.confidence)[:40].sort().values  # somebody looks at the least sure, and most are right
    source, target = plain.source[rows], plain.target[rows]
    right = source == target
    checked = Links(source, target, right.float())
    told = replace(task, seeds=checked[right], exclusions=checked[~right], checked=checked)
    result, _ = links_of(told, matching__judge=judge)
    beliefs = result.counterparts
    for entity, belief, none in (
        (beliefs.candidates.source, beliefs.forward, beliefs.source_none),
        (beliefs.candidates.target, beliefs.backward, beliefs.target_none),
    ):
        total = none.clone().index_add_(0, entity, belief)
        assert float(total.max()) <= 1 + 1e-3
    names = [graph.entities.to_pylist() for graph in (task.source, task.target)]
    pairs, confidence = beliefs.candidates, beliefs.confidence
    for row in torch.argsort(-confidence)[::30][:20].tolist():  # also of pairs that lost
        found = result.explain(names[0][pairs.source[row]], names[1][pairs.target[row]])
        assert found.confidence == pytest.approx(float(confidence[row]), abs=1e-4)


def test_the_surest_keeps_its_confidence_and_others_divide_what_is_left() -> None:
    pairs = np.array([[0, 0], [0, 1], [0, 2], [1, 3], [1, 4], [2, 5], [2, 6]])
    confidence = np.array([0.8, 0.4, 0.2, 0.9, 0.9, 0.5, 0.4])
    shared = confidence * Competition().shares(pairs, confidence, (3, 7))
    assert shared == pytest.approx([0.8, 0.4 / 3, 0.2 / 3, 0.5, 0.5, 0.5, 0.4])
    assert (Competition(source=False).shares(pairs, confidence, (3, 7)) == 1).all()
    swapped = confidence * Competition(source=False).shares(pairs[:, ::-1], confidence, (7, 3))
    assert swapped == pytest.approx(shared)


def test_entities_of_unknown_kind_may_be_linked_at_the_start() -> None:
    def described(kinds: tuple[str, ...], kind: list[int]) -> Description:
        found = bare(len(kind), np.zeros((0, 3), dtype=np.int64), 0)
        return replace(found, kind=np.array(kind), kinds=kinds)

    first, second = described(("zone", "land"), [0, 1, -1]), described(("time zone", "city"), [0, 1, -1])
    every = np.array([(s, t) for s in range(3) for t in range(3)])
    fits = _fitting(first, second)(every).reshape(3, 3)
    assert fits.tolist() == [[True, False, True], [False, True, True], [True, True, True]]


def test_a_graph_without_anything_to_link_ends_without_links() -> None:
    def graph(names: list[str]) -> Graph:
        rows = [(i, 0, f"word {i}", "", "") for i in range(len(names))]
        table = pa.table([*zip(*rows, strict=True)], schema=LITERAL_SCHEMA)
        return Graph.build(names, [], np.zeros((0, 3)), attributes=["name"], literals=table)

    blank, named = graph([f"_:b{i}" for i in range(20)]), graph([f"http://x.org/{i:02}" for i in range(20)])
    assert links_of(Task(blank, named, Links.empty()))[1] == set()


def test_candidates_keep_their_cosine_and_only_new_pairs_get_one() -> None:
    old = torch.tensor([[1, 0], [0, 1]])  # in no order
    pairs = Candidates(*old.T, torch.tensor([0.3, 0.4]), 2, 2, torch.zeros(2), torch.zeros(2))
    even = torch.full((2,), 0.5)
    beliefs = Counterparts(pairs, even, even, even, even)
    embeddings = Embeddings(torch.eye(2), torch.eye(2))
    source, target = torch.tensor([0, 0, 1, 1]), torch.tensor([0, 1, 0, 1])
    found = _cosine(embeddings, source, target, beliefs, source * 2 + target)
    assert found.tolist() == pytest.approx([1.0, 0.4, 0.3, 1.0])


def test_without_values_hidden_seeds_calibrate() -> None:
    draw = np.random.default_rng(1)
    edges = np.stack([draw.integers(0, 60, 240), draw.integers(0, 2, 240), draw.integers(0, 60, 240)], 1)
    graphs = [Graph.build([f"{side}{i:02}" for i in range(60)], ["r", "s"], edges) for side in "ab"]
    seeds = Links.build(torch.arange(30), torch.arange(30))
    task = Task(graphs[0], graphs[1], seeds)
    result = emea.align(task, load(assignments=["evidence.kind=all"]))
    assert result.outcome.absence is None
    assert result.last is not None
    assert len(result.last.state.trials) > 0


def test_entities_compete() -> None:
    pairs = np.array([[0, 0], [0, 1], [1, 1], [2, 2]])
    odds = np.array([1.0, 2.0, 3.0, -1.0])
    z = np.exp(odds)
    expected = [
        z[0] / (1 + z[0] + z[1]),
        z[1] / (1 + z[0] + z[1] + z[2]),
        z[2] / (1 + z[2] + z[1]),
        z[3] / (1 + z[3]),
    ]
    assert competing(pairs, odds, (3, 3)) == pytest.approx(expected)


def bare(entities: int, edges: np.ndarray, relations: int) -> Description:
    """A description with nothing but edges, inverses included."""
    back = np.stack([edges[:, 2], edges[:, 1] + relations, edges[:, 0]], 1)
    nothing = np.zeros(0, dtype=np.int64)
    values = Values(nothing, nothing, nothing, Forms(), pa.array([], pa.large_string()), {})
    every = np.unique(np.concatenate([edges, back]), axis=0)
    position = np.full((entities, 2), np.nan)
    return Description(np.ones(entities, dtype=bool), values, np.full(entities, -1), (), -1, position, every, relations)


def slow_support(  # noqa: PLR0912 - as plain as can be
    first: Description, second: Description, pairs: np.ndarray, probability: np.ndarray
) -> list[float]:
    """Neighbour by neighbour."""
    links = {(int(s), int(t)): p for (s, t), p in zip(pairs, probability, strict=True) if p > LINKED}
    out = [{}, {}]
    for side, found in zip((first, second), out, strict=True):
        for head, relation, tail in side.edges.tolist():
            found.setdefault(head, []).append((relation, tail))
    together: dict[tuple[int, int], float] = {}
    total: dict[int, float] = {}
    for (s, t), p in links.items():
        for r, n in out[0].get(s, []):
            for (a, b), q in links.items():
                if a == n:
                    total[r] = total.get(r, 0) + p * q
                    for r2, m in out[1].get(t, []):
                        if m == b:
                            together[r, r2] = together.get((r, r2), 0) + p * q
    sizes = len(first.linkable), len(second.linkable)
    found = []
    for s, t in pairs.tolist():
        best: dict[int, float] = {}
        for r, n in out[0].get(s, []):
            for (a, b), q in links.items():
                for r2, m in out[1].get(t, []):
                    if a == n and m == b and (r, r2) in together:
                        share = min(sizes[0] / len(out[0][n]), sizes[1] / len(out[1][b]))
                        rare = np.log(max(2, share)) / np.log(max(3, sizes[1]))
                        best[n] = max(best.get(n, 0), q * together[r, r2] / (total[r] + 1) * rare)
        found.append(sum(best.values()))
    return found


@pytest.mark.parametrize("edges", [30, 90])  # with so many, neighbours often have several relations
def test_support_equals_the_slow_one(edges: int) -> None:
    draw = np.random.default_rng(5)
    graphs = [np.unique(np.stack([draw.integers(0, most, edges) for most in (12, 2, 12)], 1), axis=0) for _ in range(2)]
    first, second = (bare(12, graph, 2) for graph in graphs)
    pairs = np.unique(draw.integers(0, 12, (60, 2)), axis=0)
    probability = draw.random(len(pairs)) * (draw.random(len(pairs)) < 0.4)
    level = Support(first, second, pairs).levels(probability)
    expected = np.array(slow_support(first, second, pairs, probability))
    known = level >= 0
    assert known.any()
    assert (expected > 0).any()
    assert level[known].tolist() == (len(SUPPORT) - np.searchsorted(SUPPORT, expected[known], side="right")).tolist()
    assert not expected[~known].any()


@pytest.mark.parametrize("works", [[19], [18, 19]])
@pytest.mark.parametrize(("sure", "values", "vouches"), [(0.95, -3.0, False), (0.95, 3.0, True), (1.0, -3.0, True)])
def test_two_pairs_do_not_vouch_for_each_other(works: list[int], sure: float, values: float, vouches: bool) -> None:
    """Twenty works and their creators. The last creator's link rests on each of his works as far as its support would
    fall without it, and hardly supports that work if his values speak against the link, unless it is known."""
    edges = np.array([*((work, 0, 20 + work) for work in range(19)), *((work, 0, 39) for work in works)])
    sides, pairs = [bare(40, edges, 1) for _ in "ab"], np.stack([np.arange(40)] * 2, 1)
    probability, said = np.full(40, 0.95), np.full(40, 5.0)
    probability[39], said[39] = sure, values
    ratio = np.linspace(30.0, -2.0, len(SUPPORT) + 1)[None]
    support = Support(*sides, pairs)
    work, other, creator = support.levels(probability, Told(ratio, np.zeros(40, dtype=np.int64), said))[[19, 17, 39]]
    assert (work <= other) == vouches
    assert creator == support.levels(probability)[39], "his works have values of their own"
    told = support.pieces(pairs[19], support.linked(probability))
    assert [each[:4] for each in told] == [(39, 39, 0, 0)], "by the relation from a work to its creator"
    assert support.pieces(pairs[19], support.linked(np.zeros(40))) == []


def test_neighbours_can_make_a_link_surer_than_one_field_alone() -> None:
    draw, count = random.Random(5), 80
    names = ["".join(draw.choices("abcdefghijklmnop", k=8)) for _ in range(count)]
    table = pa.table([*zip(*((i, 0, names[i], "", "") for i in range(count)), strict=True)], schema=LITERAL_SCHEMA)
    edges = np.array([(i, 0, (7 * i + 3) % 40) for i in range(40)])  # the others have no neighbours
    first, second = (
        Graph.build([f"{side}{i:02}" for i in range(count)], ["knows"], edges, attributes=["name"], literals=table)
        for side in "ab"
    )
    found = links_of(Task(first, second, Links.empty()))[0].alignment
    related = found.source < 40
    assert float(found.confidence[related].min()) > LONE >= float(found.confidence[~related].max())


def test_kinds_with_a_namesake_are_not_linked_to_others() -> None:
    """Zones bear the names of cities; the other graph knows zones only as what cities lie in."""
    draw, count = random.Random(5), 40
    names = ["".join(draw.choices("abcdefgh", k=6)) for _ in range(count)]
    lands = [(f"land{i}", "land", f"country {draw.choices('mnopqr', k=5)}") for i in range(5)]
    zones = [(f"z{i:02}", "zone", names[i]) for i in range(count)]
    cities = [(f"c{i:02}", "city", names[i]) for i in range(count)]
    unnamed = [(f"t{i:02}", "time zone", "") for i in range(count)]

    def graph(things: list[tuple[str, str, str]], triples: list[tuple[int, int, int]]) -> Graph:
        rows = [(i, 0, kind, "", "") for i, (_, kind, _) in enumerate(things)]
        rows += [(i, 1, name, "", "") for i, (_, _, name) in enumerate(things) if name]
        table = pa.table([*zip(*rows, strict=True)], schema=LITERAL_SCHEMA)
        ids = [name for name, _, _ in things]
        return Graph.build(ids, ["in", "has"], np.array(triples), attributes=["kind", "label"], literals=table)

    first = graph([*lands, *zones], [(5 + i, 0, i % 5) for i in range(count)])
    inside = [(5 + i, 0, i % 5) for i in range(count)]
    second = graph([*lands, *cities, *unnamed], [*inside, *((5 + i, 1, 5 + count + i) for i in range(count))])
    _, found = links_of(Task(first, second, Links.empty()))
    assert sum((5 + i, 5 + count + i) in found for i in range(count)) >= 0.9 * count
    assert not any((5 + i, 5 + i) in found for i in range(count))


def test_the_loop_ends_once_hardly_any_label_is_new(judged: Found) -> None:
    result, found = judged
    assert result.last is not None
    assert result.last.final
    assert result.last.number < result.settings.em.rounds
    assert found


@pytest.mark.parametrize("seed", range(5))
def test_rising_function_is_the_isotonic_regression(seed: int) -> None:
    draw = np.random.default_rng(seed)
    place = draw.integers(-30, 60, 400) / 10
    value, weight = (draw.random(400) < 0.5 + place / 20).astype(float), draw.random(400)
    expected = IsotonicRegression(y_min=1e-12, y_max=1 - 1e-12, out_of_bounds="clip").fit(place, value, weight)
    found = Steps.rising(place, value, weight, 0.0)
    everywhere = np.linspace(-4, 7, 1001)
    assert np.interp(everywhere, found.place, found.share) == pytest.approx(expected.predict(everywhere), abs=1e-12)


def test_highest_probability_of_the_other_pairs() -> None:
    draw = np.random.default_rng(0)
    index, probability = draw.integers(0, 40, 120), draw.integers(0, 5, 120) / 5  # many ties
    pairs = [*enumerate(zip(index, probability, strict=True))]
    expected = [max((q for j, (k, q) in pairs if k == own and j != i), default=0) for i, (own, _) in pairs]
    assert Rivals(index).highest(probability).tolist() == expected
    assert Rivals(index[:0]).highest(probability[:0]).tolist() == []


@pytest.mark.parametrize("fields", [0, 3, 40])  # 40 fields of 10 levels do not fit in one number
def test_pairs_with_the_same_evidence_are_counted_together(fields: int) -> None:
    draw = np.random.default_rng(fields)
    pool = np.c_[draw.integers(-1, 9, (30, fields)), draw.integers(0, 3, 30), draw.integers(0, 2, (30, 2))]
    levels, kind, frequent, less = np.split(pool[draw.integers(0, 30, 500)], [fields, fields + 1, fields + 2], 1)
    kind, frequent, less = kind[:, 0], frequent[:, 0] / 3, less[:, 0] / 3
    weight, found = draw.random(500), Profiles.build(levels.astype(np.int8), kind, frequent, less)
    assert np.array_equal(found.levels[found.of], levels)
    assert np.array_equal(found.kind[found.of], kind)
    assert np.array_equal(found.frequent[found.of], frequent)
    assert np.array_equal(found.less[found.of], less)
    assert len(found.kind) == len(
        {(*row, *more) for row, *more in zip(levels.tolist(), kind, frequent, less, strict=True)}
    )
    assert found.sums(weight)[found.of[7]] == pytest.approx(weight[found.of == found.of[7]].sum())


@pytest.mark.slow
def test_a_sample_of_the_pairs_within_a_graph_stands_for_all(
    registers: tuple[Task, Links], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = registers[0].source
    settings = load(assignments=["evidence.kind=all"]).evidence
    side = describe(graph, read_values(graph, settings), settings)
    fields = Comparison(side, side).fields(np.stack([np.arange(240)] * 2, 1), np.random.default_rng(0)).within(0)
    alone = np.zeros(len(side.kinds) + 1, dtype=np.int64)
    few, whole = 500, sample._within(side, fields, np.random.default_rng(1), alone, 0)
    monkeypatch.setattr(sample, "MOST_WITHIN", few)
    part = sample._within(side, fields, np.random.default_rng(1), alone, 0)
    near = whole.weight == 1
    assert len(part.levels) == len(whole.levels) - near.sum() + few
    assert part.weight.sum() == pytest.approx(whole.weight.sum()) == pytest.approx(240 * 239 / 2)
    every = [sample._within(side, fields, np.random.default_rng(seed), alone, 0) for seed in range(30)]
    for field in np.flatnonzero((whole.levels == 0).any(0)):  # pairs that agree in it
        share, *shares = (np.average(pairs.levels[:, field] == 0, weights=pairs.weight) for pairs in (whole, *every))
        assert abs(np.mean(shares) - share) < 3 * np.std(shares) / np.sqrt(len(shares))


@pytest.mark.parametrize(("typed", "mates"), [(True, [0, 1, 1]), (True, [0, 1, 2]), (False, [0, 1, 1])])
def test_two_types_that_are_linked_to_one_tell_nothing_about_chance(typed: bool, mates: list[int]) -> None:
    """A station has the name of its town. If a column says who is which, both may be the same thing after all."""
    count, settings = 40, load(assignments=["evidence.kind=all"]).evidence
    names, kinds = [f"town {chr(97 + i % 26)}{i}" for i in range(count)] * 2, ["town", "station"]
    rows = [(i, 0, name, "", "") for i, name in enumerate(names)]
    rows += [(i, 1, kinds[i // count], "", "") for i in range(2 * count) if not typed]
    triples = np.array([(i, 0, 2 * count + i // count) for i in range(2 * count) if typed], dtype=np.int64)
    graph = Graph.build(
        [*(f"e{i:02}" for i in range(2 * count)), *kinds],
        ["http://www.w3.org/1999/02/22-rdf-syntax-ns#type"],
        triples.reshape(-1, 3),
        attributes=["label", "kind"],
        literals=pa.table([*zip(*rows, strict=True)], schema=LITERAL_SCHEMA),
    )
    side = describe(graph, read_values(graph, settings), settings)
    fields = Comparison(side, side).fields(np.stack([np.arange(2 * count)] * 2, 1), np.random.default_rng(0)).within(0)
    found = sample._within(side, fields, np.random.default_rng(1), np.array(mates), 0)
    listed = {
        (one, other) for (one, other), weight in zip(found.ends.tolist(), found.weight, strict=True) if weight == 1
    }
    left_out = typed and mates[1] == mates[2]
    assert all(((i, i + count) in listed) is not left_out for i in range(count))


@pytest.mark.parametrize("seed", range(5))
def test_levels_that_would_rise_are_pooled(seed: int) -> None:
    draw = np.random.default_rng(seed)
    matched, unmatched = (draw.dirichlet(np.full(7, 0.4), 3) + 1e-3 for _ in "ab")
    found = falling(matched, unmatched)
    for row in range(3):
        plain = IsotonicRegression(increasing=False).fit(range(7), matched[row] / unmatched[row], unmatched[row])
        assert np.exp(found[row]) == pytest.approx(plain.predict(range(7)), rel=1e-9)


def test_levels_that_almost_never_occur_have_a_ratio_all_the_same() -> None:
    """A billion pairs within a graph, none of them on the last level: its share is lost in a sum over all levels."""
    found = falling(np.array([[0.9, 0.1, 1e-19]]), np.array([[1e-10, 1.0, 4e-18]]))[0]
    assert np.exp(found) == pytest.approx([9e9, 0.1, 0.025], rel=1e-6)


def test_codes_of_a_column_do_not_speak_against_right_pairs() -> None:
    """Half of the right pairs say the same, the other half "art" and "Fine arts"; nothing lies between."""
    matched = np.array([[0.5, 1e-4, 1e-4, 1e-4, 0.49, 0.01]])
    unmatched = np.array([[0.05, 0.001, 0.01, 0.05, 0.2, 0.689]])
    ratio = falling(matched, unmatched)[0]
    assert ratio[0] > ratio[4] > 0.5
    assert ratio[5] < -3.0
    assert np.minimum.accumulate(np.log(matched / unmatched), 1)[0, 4] < -5.0, "what a level that is rare did before"


def test_a_level_that_hardly_occurs_takes_nothing_from_those_below_it() -> None:
    """Of neighbours' support, say: a single unmatched pair on the best level does not hide what the second one says."""
    level = np.array([0] + [1] * 50 + [2] * 50)
    right = np.array([0.0] + [1.0] * 45 + [0.0] * 55)
    kind, nobody = np.zeros(len(level), dtype=np.int64), np.empty(0, dtype=np.int64)
    mixture = _Mixture.__new__(_Mixture)
    mixture.sample = cast(Sample, SimpleNamespace(evidence=SimpleNamespace(kind=kind), random_kind=nobody))
    mixture.kinds, mixture.unlisted = 1, np.empty(0)
    said = by_level(mixture._ratio(level, nobody, right, 1 - right, 3), kind, level)
    assert said[1] > 1.5  # −2.2 if nothing below a level may say more than it
    assert said[0] >= said[1] > 0 > said[-1]


def test_the_same_text_speaks_for_a_pair_and_another_text_not_against_it() -> None:
    draw = random.Random(0)
    words = ["".join(draw.choices("bcdfglmnprst", k=7)) for _ in range(400)]
    names = [f"{a} {b}" for a in words[:12] for b in words[12:24]]
    rows = [
        (draw.choice(names), " ".join(draw.choices(words, k=24)), " ".join(draw.choices(words, k=24)))
        for _ in range(150)
    ]
    first = pd.DataFrame(
        {"id": [f"x{i}" for i in range(150)], "name": [a for a, _, _ in rows], "about": [b for _, b, _ in rows]}
    )
    second = first.assign(id=[f"y{i}" for i in range(150)])
    second.loc[::3, "about"] = [c for _, _, c in rows[::3]]
    found = emea.align(emea.read(first, second)).to_pandas()
    right = {
        (each.source, each.target): each.confidence for each in found.itertuples() if each.source[1:] == each.target[1:]
    }
    same = [right.get((f"x{i}", f"y{i}"), 0.0) for i in range(150) if i % 3]
    assert sum(same) / len(same) > 0.95
    once = {name for name in names if [row[0] for row in rows].count(name) == 1}
    other = [right.get((f"x{i}", f"y{i}"), 0.0) for i in range(0, 150, 3) if rows[i][0] in once]
    assert sum(each > 0.5 for each in other) > len(other) / 2 > 5


@pytest.mark.parametrize(("chance", "believed"), [(0.0, True), (0.4, True), (0.9, False)])
def test_links_that_chance_explains_are_doubted(chance: float, believed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["".join(random.Random(i).choices("bcdfglmnprst", k=9)) for i in range(90)]
    first, second = (
        pd.DataFrame({"id": [f"{side}{i}" for i in rows], "name": [names[i] for i in rows]})
        for side, rows in (("x", range(60)), ("y", range(30, 90)))
    )
    monkeypatch.setattr("emea.method.mixture._Mixture.by_chance", lambda _, found, __: np.full(len(found), chance))
    result = emea.align(emea.read(first, second))
    assert result.outcome.absence is not None
    assert result.outcome.absence.by_chance == pytest.approx(chance)
    assert len(result.alignment) == (30 if believed else 0)
    assert (summary(result.outcome)["doubt"] is None) == believed
    assert result.outcome.absence.share == pytest.approx(0.5 if believed else 1.0), "as the links that are shown"


@pytest.mark.parametrize(("shared", "most"), [(8, 0.65), (30, 1.0)])
def test_chance_lowers_few_links_whatever_its_share(shared: int, most: float, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["".join(random.Random(i).choices("bcdfglmnprst", k=9)) for i in range(120)]
    first, second = (
        pd.DataFrame({"id": [f"{side}{i}" for i in rows], "name": [names[i] for i in rows]})
        for side, rows in (("x", range(60)), ("y", range(60 - shared, 120 - shared)))
    )
    monkeypatch.setattr("emea.method.mixture._Mixture.by_chance", lambda _, found, __: np.full(len(found), 0.4))
    result = emea.align(emea.read(first, second))
    confidence = result.outcome.alignment.confidence
    assert len(confidence) == shared
    assert most - 0.2 < float(confidence.max()) <= most
    told = " ".join(str(result.explain("x59")).split())
    assert ("chance makes links as good as this so often" in told) == (most < 1)


def towns() -> Description:
    """Sixty towns of two states, which the first column names."""
    names = ["".join(random.Random(i).choices("bcdfglmnprst", k=9)) for i in range(60)]
    side = graph(area=tuple(("north", "south")[i % 2] for i in range(60)), name=tuple(names))
    settings = load(assignments=["evidence.kind=all"]).evidence
    return describe(side, read_values(side, settings), settings)


def compared(first: Description, second: Description) -> Sample:
    """Of each town its own pair and a wrong one, the former linked at the start."""
    pairs = np.array([(i, j) for i in range(60) for j in sorted((i, (i + 2) % 60))])
    start = pairs[:, 0] == pairs[:, 1]
    asked = sample.Asked(pairs, start * 0.9, start, np.full(len(pairs), np.nan))
    return sample.compare(first, second, asked, Competition())


def test_kinds_that_are_compared_as_values_are_not_kinds_as_well() -> None:
    one, other = towns(), towns()
    assert one.naming_kinds == 0
    assert len(one.kinds) == 2
    assert len(compared(one, other).sources) == 1
    assert len(compared(one, replace(other, naming_kinds=-1)).sources) == 3, "two kinds, and unknown"


def test_support_by_neighbours_is_counted_anew_as_links_change() -> None:
    asked: list[np.ndarray] = []
    given = compared(towns(), towns())

    def levels(probability: np.ndarray, told: Told | None) -> np.ndarray:
        assert (told is None) == (not asked)
        asked.append(probability)
        return given.support.levels(probability, told)

    estimate(replace(given, support=cast(Support, SimpleNamespace(levels=levels))))
    assert len(asked) > 1
    assert not np.array_equal(asked[0], asked[-1])


@pytest.mark.parametrize(
    ("linked", "chosen"), [([5, 6], 1), ([5, 5], 0), ([5, 4, 9], 0), ([5, 6, 7, 8, 9], RELEARNED), ([5], 0)]
)
def test_fields_are_learned_anew_as_long_as_more_is_linked(
    linked: list[int], chosen: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emea.method.judge.estimate", lambda each: SimpleNamespace(probability=each.probability))
    samples = [SimpleNamespace(probability=np.repeat([0.5, 0.4], [count, 10 - count])) for count in linked]
    for number, each in enumerate(samples):
        each.again = lambda _, later=samples[number + 1 : number + 2]: later
    assert _estimated(cast(Sample, samples[0]))[0] is samples[chosen]


@pytest.mark.parametrize(("linked", "chosen"), [([5, 6, 7], 2), ([5, 7, 6], 1), ([5, 4, 5], 0), ([5, 6, 6], 1)])
def test_of_several_ways_to_compare_the_one_in_which_most_is_linked_is_kept(
    linked: list[int], chosen: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emea.method.judge.estimate", lambda each: SimpleNamespace(probability=each.probability))
    samples = [SimpleNamespace(probability=np.repeat([0.5, 0.4], [count, 10 - count])) for count in linked]
    for number, each in enumerate(samples):
        each.again = lambda _, later=samples[1:] * (number == 0): later
    assert _estimated(cast(Sample, samples[0]))[0] is samples[chosen]


def test_how_much_more_often_than_by_chance_kinds_are_linked() -> None:
    """Of thirty and ten targets of two kinds; of the links, sources of the first kind have four, all of one kind."""
    evidence = SimpleNamespace(kind=np.array([1] * 5 + [2, 2, 0]), target_kind=np.array([1] * 5 + [2, 1, 1]))
    probability = np.array([0.8] * 5 + [1.0, 1.0, 0.5])
    known = {"evidence": evidence, "sources": np.array([0, 20, 20]), "targets": np.array([2, 30, 10])}
    given = Sample(**dict.fromkeys(vars(Sample)["__dataclass_fields__"]) | known)
    share = np.array(
        [
            [1.0, 4.25 / 6.5 / 0.5, 2.25 / 6.5 / 0.5],  # of all links, where the target's kind is unknown
            [5.375 / 6.5 / 0.75, 4.375 / 4.5 / 0.75, 1.375 / 2.5 / 0.75],
            [1.125 / 6.5 / 0.25, 0.125 / 4.5 / 0.25, 1.125 / 2.5 / 0.25],
        ]
    ).T
    assert given.by_kinds(probability) == pytest.approx(np.log(share))
    expected = [*np.log(share)[[1] * 5, [1] * 5], *np.log(share)[[2, 2], [2, 1]], 0.0]
    assert given.types(probability) == pytest.approx(expected), "nothing where a kind is unknown"
    assert given.per_source(probability) == pytest.approx([1.3125 / 5, 4.8125 / 25, 2.8125 / 25])
    many = replace(given, targets=np.array([0, 10**6, 1]))
    assert many.by_kinds(probability)[2, 2] == 2.0, "at most"


def test_chance_is_that_of_the_sources_without_a_link(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of sixty are linked, to one target."""
    given, asked = replace(compared(towns(), towns()), competition=Competition(target=False)), []

    def explained(score: np.ndarray, *rest: float) -> np.ndarray:
        asked.append(rest[-1])
        return np.full(len(score), 0.25)

    monkeypatch.setattr("emea.method.mixture.by_chance", explained)
    linked, neighbours = given.pairs[:, 1] == 0, np.zeros(len(given.pairs))
    neighbours[0] = 0.1
    found = _Mixture(given).by_chance(0.5 * linked, neighbours)
    assert linked.sum() == 2
    assert asked == [pytest.approx(58 / 60)]
    assert found.tolist() == [0.0] + [0.25] * (len(linked) - 1), "nothing where neighbours speak, too"
    assert not _Mixture(given).by_chance(0.4 * linked, neighbours).any()
