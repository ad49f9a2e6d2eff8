"""Values at odds speak against a pair, as far as equal entities agree on them: against loops, and in the loop."""

import math
import random
from collections import defaultdict
from dataclasses import replace

import pyarrow as pa
import pytest
import torch

import emea
from emea.data import LITERAL_SCHEMA, Candidates, Counterparts, Embeddings, Graph, Links, Task
from emea.evidence.prepared import Claims, ValuedGraph
from emea.rules.disagreement import Disagreement, DisagreementSettings
from emea.settings import load

CPU = torch.device("cpu")
NOWHERE = Embeddings(torch.zeros(0, 1), torch.zeros(0, 1))
ENTITIES, ATTRIBUTES, VALUES = 6, 3, 5
Held = dict[tuple[int, int], dict[int, float]]  # entity and attribute → value → how alike it is to the other graph's


def drawn(draw: random.Random, likeness: list[float]) -> tuple[ValuedGraph, Held]:
    """A graph whose entities have some values; the value −1 is nobody else's."""
    held: Held = defaultdict(dict)
    for _ in range(14):
        value = draw.randrange(-1, VALUES)
        held[draw.randrange(ENTITIES), draw.randrange(ATTRIBUTES)][value] = likeness[value] if value >= 0 else 0.0
    rows = [(entity, attribute, value, s) for (entity, attribute), own in held.items() for value, s in own.items()]
    draw.shuffle(rows)
    *ids, alike = (torch.tensor(column, dtype=torch.float64) for column in zip(*rows, strict=True))
    entity, attribute, value = (column.long() for column in ids)
    claims = Claims(entity, attribute, value, alike, ENTITIES, ATTRIBUTES, VALUES)
    names = [f"e{number}" for number in range(ENTITIES)]
    graph = Graph.build(names, ["r"], torch.tensor([[0, 0, 1]]))
    columns = (graph.entities, graph.relations, graph.triples, graph.attributes, graph.literals)
    return ValuedGraph(*columns, values=0, claims=claims), held


def beliefs_of(draw: random.Random) -> Counterparts:
    rows = sorted(draw.sample([(e, f) for e in range(ENTITIES) for f in range(ENTITIES)], 20))
    source, target = (torch.tensor(column) for column in zip(*rows, strict=True))
    empty = torch.zeros(ENTITIES)
    pairs = Candidates(source, target, torch.ones(len(rows)), ENTITIES, ENTITIES, empty, empty)
    forward, backward = (torch.tensor([draw.random() for _ in rows], dtype=torch.float64) for _ in range(2))
    return Counterparts(pairs, forward, backward, empty.double(), empty.double())


def slow(
    beliefs: Counterparts, first: Held, second: Held, likeness: list[float], settings: DisagreementSettings
) -> list[float]:
    """The formula of the docstring, by loops."""

    def values(held: Held, entity: int, attribute: int) -> set[int]:
        return set(held.get((entity, attribute), {}))

    def alike(e: int, f: int, a: int, b: int) -> float:
        return max((likeness[v] for v in values(first, e, a) & values(second, f, b) if v >= 0), default=0.0)

    def witness(e: int, f: int, a: int) -> float:
        of_e, of_f = (
            set().union(*(values(held, one, k) for k in range(ATTRIBUTES))) for held, one in ((first, e), (second, f))
        )
        return min(1.0, sum(likeness[v] for v in (of_e & of_f) - values(first, e, a) if v >= 0))

    pairs = [*zip(beliefs.candidates.source.tolist(), beliefs.candidates.target.tolist(), strict=True)]
    both, agreed = defaultdict(float), defaultdict(float)
    for (e, f), weight in zip(pairs, beliefs.agreement.tolist(), strict=True):
        for a in range(ATTRIBUTES):
            for b in range(ATTRIBUTES):
                if weight > settings.minimum and (e, a) in first and (f, b) in second:
                    both[a, b] += weight * witness(e, f, a)
                    agreed[a, b] += weight * witness(e, f, a) * alike(e, f, a, b)
    share = {kind: agreed[kind] / (both[kind] + settings.prior_strength) for kind in both}
    found = []
    for e, f in pairs:
        total = 0.0
        for a in range(ATTRIBUTES):
            kinds = [(share.get((a, b), 0.0), alike(e, f, a, b)) for b in range(ATTRIBUTES) if (f, b) in second]
            if (e, a) in first and kinds:
                most = max(m for m, _ in kinds)
                total += max(math.log(1 - m * (1 - s)) for m, s in kinds if m == most)
        found.append(total)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_it_equals_loops(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(seed)
    likeness = [1.0, 1.0, 0.6, 0.9, 1.0]
    (one, first), (other, second) = drawn(draw, likeness), drawn(draw, likeness)
    beliefs, settings = beliefs_of(draw), DisagreementSettings(minimum=0.1, prior_strength=0.5)
    expected = slow(beliefs, first, second, likeness, settings)
    for block in (2**21, 3):
        monkeypatch.setattr("emea.rules.disagreement.ATTRIBUTE_BLOCK", block)
        rule = Disagreement(Task(one, other, Links.empty()), settings, CPU)
        assert rule.factors(beliefs, NOWHERE).tolist() == pytest.approx(expected, abs=1e-12)
    assert min(expected) < 0 or seed > 0


def test_many_attributes_take_no_room_for_all_their_pairs() -> None:
    (one, _), (other, _) = drawn(random.Random(0), [1.0] * VALUES), drawn(random.Random(1), [1.0] * VALUES)
    wide = [replace(graph, claims=replace(graph.claims, attributes=10**6)) for graph in (one, other)]
    few, many = (
        Disagreement(Task(first, second, Links.empty()), DisagreementSettings(), CPU)
        for first, second in ((one, other), wide)
    )
    beliefs = beliefs_of(random.Random(0))
    assert torch.equal(few.factors(beliefs, NOWHERE), many.factors(beliefs, NOWHERE))


def test_where_values_do_not_count_it_says_nothing() -> None:
    graph = Graph.build([f"e{number}" for number in range(ENTITIES)], ["r"], torch.tensor([[0, 0, 1]]))
    rule = Disagreement(Task(graph, graph, Links.empty()), DisagreementSettings(), CPU)
    assert rule.factors(beliefs_of(random.Random(0)), NOWHERE).tolist() == [0.0] * 20


def people(draw: random.Random) -> tuple[Task, set[tuple[str, str]]]:
    """Two registers of people with names and days of birth; a third of each is in one of them alone."""
    first, last = (["Ann", "Bob", "Cleo", "Dan", "Eve", "Fay"], ["Ash", "Birch", "Cedar", "Fir", "Oak", "Pine", "Yew"])
    known = [
        (
            f"{draw.choice(first)} {draw.choice(last)}",
            f"19{draw.randrange(40, 99)}-0{draw.randrange(1, 9)}-1{draw.randrange(9)}",
            draw.randrange(30),
        )
        for _ in range(180)
    ]
    parts = [range(120), range(60, 180)]
    graphs = []
    for side, part in zip("ab", parts, strict=True):
        names = [f"{side}{number:03}" for number in part] + [f"{side}-firm{number:02}" for number in range(30)]
        rows = [
            (place, attribute, known[number][attribute], "", "")
            for place, number in enumerate(part)
            for attribute in (0, 1)
        ]
        table = pa.table([*zip(*rows, strict=True)], schema=LITERAL_SCHEMA)
        triples = torch.tensor([[place, 0, len(part) + known[number][2]] for place, number in enumerate(part)])
        graphs.append(Graph.build(names, ["works for"], triples, attributes=["name", "born"], literals=table))
    return Task(graphs[0], graphs[1], Links.empty()), {(f"a{number:03}", f"b{number:03}") for number in range(60, 120)}


def test_people_who_are_in_one_register_alone_are_not_linked_to_strangers() -> None:
    task, truth = people(random.Random(0))
    wrong, right = [], []
    for rules in ("paris", "paris,disagreement"):
        result = emea.align(task, load(assignments=["evidence.kind=all", f"em.rules={rules}", "matching.judge=false"]))
        found = {
            pair
            for pair in zip(*(names.to_pylist() for names in task.names(result.alignment)), strict=True)
            if "firm" not in pair[0]
        }
        wrong.append(len(found - truth))
        right.append(len(found & truth))
    assert right[1] >= right[0] - 1
    assert wrong[1] < 0.5 * wrong[0]


def test_it_is_at_work_where_values_count_and_has_no_weight() -> None:
    task, _ = people(random.Random(1))
    assert load().rule_names == ("paris",)
    settings = load(assignments=["evidence.kind=all", "em.rounds=0"])
    assert settings.rule_names == ("paris", "disagreement")
    assert settings.resolved()["em"]["rules"] == ["paris", "disagreement"]
    last = emea.align(task, settings).last
    assert last is not None
    assert list(last.weights) == ["paris"]
    alone = emea.align(task, load(assignments=["evidence.kind=all", "em.rounds=0", "em.rules=disagreement"]))
    assert alone.last is not None
    assert alone.last.weights == {}
