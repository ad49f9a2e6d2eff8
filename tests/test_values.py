"""Shared values become entities that both graphs know: normal forms, near strings, and links without any seed."""

import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import emea
from emea.data import LITERAL_SCHEMA, Graph, Links, Task
from emea.errors import InputError
from emea.evidence.prepared import Anchors, ValuedGraph, prepare
from emea.evidence.values import CODE, DATE, SCHEME, Forms, Values, _nearest_number, normal_form
from emea.settings import EvidenceSettings, load

ALL = EvidenceSettings(kind="all")
Literal = tuple[int, int, str, str | None]


def with_values(given: Task, settings: EvidenceSettings) -> tuple[Task, Anchors]:
    """The graphs with shared values, and those as anchors."""
    prepared = prepare(given, settings)
    return prepared.graphs, prepared.anchors


def graph(names: list[str], triples: list[list[int]], literals: list[Literal], attributes: int = 2) -> Graph:
    table = pa.table(
        {
            "entity": [row[0] for row in literals],
            "attribute": [row[1] for row in literals],
            "value": [row[2] for row in literals],
            "datatype": [""] * len(literals),
            "language": [row[3] or "" for row in literals],
        },
        LITERAL_SCHEMA,
    )
    return Graph.build(
        names,
        ["near"],
        np.array(triples, dtype=np.int64).reshape(-1, 3),
        attributes=[f"a{number}" for number in range(attributes)],
        literals=table,
    )


def task(first: list[Literal], second: list[Literal]) -> Task:
    names = [["a", "b", "c"], ["x", "y", "z"]]
    graphs = [graph(own, [[0, 0, 1]], rows) for own, rows in zip(names, (first, second), strict=True)]
    return Task(graphs[0], graphs[1], Links.empty())


@pytest.mark.parametrize(
    ("text", "language", "form"),
    [
        ("Berlin", None, "s berlin"),
        ("BERLIN ", "de", "s berlin"),
        ("São Tomé & Príncipe", "pt", "s sao tome principe"),
        ("310/246-1501", None, "s 310 246 1501"),
        ("007", None, "n 7"),
        ("7.0", None, "n 7"),
        ("7", "en", "s 7"),
        ("19690505", None, "n 19690505"),
        ("19690514", None, "n 19690514"),
        ("-1.5e-3", None, "n -0.0015"),
        ("1e999", None, None),
        ("12345678901234567", None, "n 12345678901234567"),  # of a post, say: no float tells it from the next
        ("-012345678901234568", None, "n -12345678901234568"),
        ("-00", None, "n 0"),
        ("+5", None, "n 5"),
        ("2001-02-03", None, "d 2001-02-03"),
        ("2001-02-03T10:00:00+01:00", None, "d 2001-02-03"),
        ("2001-2-3", None, "s 2001 2 3"),
        ("", None, None),
        ("...", None, None),
        ("x" * 70_000, None, None),
        ("ß", None, "s ss"),
        ("日本", "ja", "s 日本"),
        ("दिल्ली", "hi", "s दिल्ली"),
        ("ガーナ", "ja", "s ガーナ"),
        ("กรุงเทพ", "th", "s กรุงเทพ"),
        ("2001-02-03Z", None, "d 2001-02-03"),
    ],
)
def test_normal_forms(text: str, language: str | None, form: str | None) -> None:
    assert normal_form(text, language) == form


def test_shared_values_are_entities_of_both_graphs() -> None:
    given = task(
        [(0, 0, "Köln", "de"), (1, 0, "Bonn", None), (1, 1, "7", None)],
        [(2, 1, "koln", "en"), (0, 0, "7.0", None), (1, 0, "elsewhere", None)],
    )
    extended, anchors = with_values(given, ALL)
    source, target = extended.source, extended.target
    assert isinstance(source, ValuedGraph)
    assert isinstance(target, ValuedGraph)
    assert source.values == target.values == len(anchors.links) == 2
    assert source.linkable.tolist() == target.linkable.tolist() == [True, True, True, False, False]
    assert source.entities.to_pylist()[:3] == ["a", "b", "c"]
    pairs = {
        (source.entities[s].as_py(), target.entities[t].as_py())
        for s, t in zip(anchors.links.source.tolist(), anchors.links.target.tolist(), strict=True)
    }
    assert pairs == {('"s koln"', '"s koln"'), ('"n 7"', '"n 7"')}
    assert source.relations.to_pylist() == ["near", "a0", "a1"]
    named = {
        (source.entities[h].as_py(), source.relations[r].as_py(), source.entities[t].as_py())
        for h, r, t in source.triples.tolist()
    }
    assert named == {("a", "near", "b"), ("a", "a0", '"s koln"'), ("b", "a1", '"n 7"')}
    assert anchors.links.weight.tolist() == [1.0, 1.0]
    held = [
        dict(zip(side.claims.entity.tolist(), side.claims.value.tolist(), strict=True)) for side in (source, target)
    ]
    assert held[0][0] == held[1][2] >= 0, "equal values have the same number"
    assert held[1][1] == -1, "the other graph has no value like it"


def test_values_of_many_tell_little_and_those_of_too_many_nothing() -> None:
    first = [(0, 0, "red", None), (1, 0, "red", None), (2, 0, "blue", None)]
    second = [(0, 0, "red", None), (1, 0, "red", None), (2, 0, "blue", None)]
    _, anchors = with_values(task(first, second), ALL)
    assert sorted(anchors.telling.tolist()) == [0.5, 1.0]
    assert sorted(anchors.labels.weight.tolist()) == [0.5, 1.0]
    _, rare = with_values(task(first, second), EvidenceSettings(kind="all", most_holders=1))
    assert rare.telling.tolist() == [1.0]


@pytest.mark.parametrize("swapped", [False, True])
def test_holders_of_both_sides_decide_how_much_a_value_tells(swapped: bool) -> None:
    once, thrice = [(0, 0, "red", None)], [(number, 0, "red", None) for number in range(3)]
    given = task(thrice, once) if swapped else task(once, thrice)
    assert with_values(given, ALL)[1].telling.tolist() == pytest.approx([1 / 3**0.5])
    assert len(with_values(given, EvidenceSettings(kind="all", most_holders=2))[1].links) == 0


@pytest.mark.parametrize(("kind", "count"), [("all", 2), ("names", 1), ("literals", 1)])
def test_the_kind_of_evidence_says_what_counts(kind: str, count: int) -> None:
    given = task([(0, 0, "Albanien", None), (1, 0, "12", None)], [(0, 0, "Albania", None), (1, 0, "12", None)])
    _, anchors = with_values(given, EvidenceSettings(kind=kind))
    assert len(anchors.links) == count
    if kind != "literals":
        assert 0.5 < float(anchors.links.weight.min()) < 1  # near, not equal


@pytest.mark.parametrize(("name", "romanised"), [("दिल्ली", "Dilli"), ("ঢাকা", "Dhaka"), ("Ελλάδα", "Ellada")])
def test_names_of_other_scripts_are_compared(name: str, romanised: str) -> None:
    given = task([(0, 0, name, None), (1, 0, "Xanadu", None)], [(0, 0, romanised, None), (1, 0, "Zembla", None)])
    extended, anchors = with_values(given, ALL)
    assert len(anchors.links) == 1
    assert extended.target.entities[int(anchors.links.target[0])].as_py() == f'"s {romanised.casefold()}"'


def test_a_value_counts_once_for_an_entity_that_has_it_twice() -> None:
    given = task([(0, 0, "Oslo", "en"), (0, 0, "Oslo", "de"), (0, 1, "oslo", None)], [(0, 0, "Oslo", "en")])
    assert with_values(given, ALL)[1].telling.tolist() == [1.0]


def test_near_strings_are_mutual_and_one_to_one() -> None:
    given = task(
        [(0, 0, "Albanien", None), (1, 0, "Algerien", None), (2, 0, "Xanadu", None)],
        [(0, 0, "Albania", None), (1, 0, "Algeria", None), (2, 0, "Zembla", None)],
    )
    extended, anchors = with_values(given, ALL)
    pairs = {
        (extended.source.entities[s].as_py(), extended.target.entities[t].as_py())
        for s, t in zip(anchors.links.source.tolist(), anchors.links.target.tolist(), strict=True)
    }
    assert pairs == {('"s albanien"', '"s albania"'), ('"s algerien"', '"s algeria"')}


def test_values_that_are_not_what_they_say_are_counted_and_count_as_text() -> None:
    given = task(
        [(0, 0, "soon", None), (1, 0, "x" * 70_000, None), (1, 0, "2001-12-01", None), (1, 0, "12", None)],
        [(0, 0, "Soon!", None), (1, 0, "2001-13-01", None)],
    )
    xsd = "http://www.w3.org/2001/XMLSchema#"
    kinds = [[f"{xsd}integer", "", f"{xsd}date", f"{xsd}integer"], [f"{xsd}integer", f"{xsd}date"]]
    graphs = [
        replace(side, literals=side.literals.set_column(3, "datatype", pa.array(own, pa.large_string())))
        for side, own in zip((given.source, given.target), kinds, strict=True)
    ]
    given = Task(graphs[0], graphs[1], Links.empty())
    assert prepare(given, ALL).faults == (
        "source graph: 1 invalid numbers, treated as text, such as 'soon'",
        f"source graph: 1 values longer than 65,536 characters, ignored, such as '{'x' * 40}…'",
        "target graph: 1 invalid numbers, treated as text, such as 'Soon!'",
        "target graph: 1 invalid dates, treated as text, such as '2001-13-01'",
    )
    _, anchors = with_values(given, ALL)
    assert len(anchors.links) == 1


def test_measured_numbers_are_near_within_a_tolerance_and_counts_are_not() -> None:
    given = task(
        [(0, 0, "357021.5", None), (1, 0, "1999", None), (2, 0, "0.5", None), (2, 1, "12.25", None)],
        [(0, 0, "357022", None), (1, 0, "2000", None), (2, 0, "0.6", None), (2, 1, "12.2500000001", None)],
    )
    extended, anchors = with_values(given, ALL)
    pairs = {
        (extended.source.entities[s].as_py(), extended.target.entities[t].as_py())
        for s, t in zip(anchors.links.source.tolist(), anchors.links.target.tolist(), strict=True)
    }
    assert pairs == {('"n 357021.5"', '"n 357022"'), ('"n 12.25"', '"n 12.25"')}
    assert sorted(anchors.links.weight.tolist()) == [pytest.approx(1 - 0.5 / 357022 / 2e-3, abs=1e-6), 1.0]


@pytest.mark.parametrize("seed", range(5))
def test_the_nearest_number_is_found(seed: int) -> None:
    draw = np.random.default_rng(seed)
    of, among = draw.normal(size=seed + 1), draw.normal(size=2 * seed + 1)
    assert _nearest_number(of, among).tolist() == [int(np.abs(among - value).argmin()) for value in of]


def test_uris_are_no_evidence_unless_asked_for() -> None:
    sides = [
        graph([f"http://{host}/{name}" for name in ("New_York", "Li%C3%A8ge", "Oslo")], [[0, 0, 1]], [])
        for host in ("a.example", "b.example")
    ]
    given = Task(sides[0], sides[1], Links.empty())
    assert len(with_values(given, ALL)[1].links) == 0
    extended, anchors = with_values(given, EvidenceSettings(kind="all", local_names=True))
    assert len(anchors.links) == 3
    assert extended.source.relations.to_pylist()[-1] == "local name"


def people(count: int, draw: random.Random) -> tuple[Task, dict[str, str]]:
    """Persons with a name, a year and a number, on the other side in other words and another order, some missing."""
    order = list(range(count))
    draw.shuffle(order)
    first: list[Literal] = []
    second: list[Literal] = []
    for number, other in enumerate(order):
        name = f"{draw.choice(['ann', 'bob', 'eve', 'joe'])} {draw.choice(['smith', 'jones', 'brown'])}{number % 40}"
        first += [(number, 0, name.title(), None), (number, 1, str(1900 + number % 50), None)]
        second += [(other, 1, name.upper(), None), (other, 0, f"{1900 + number % 50}.0", None)]
    links = [[number, 0, (number + 1) % count] for number in range(count)]
    others = [[order[number], 0, order[(number + 1) % count]] for number in range(count)]
    source = graph([f"s{number:03d}" for number in range(count)], links, first)
    target = graph([f"t{number:03d}" for number in range(count)], others, second)
    return Task(source, target, Links.empty()), {f"s{n:03d}": f"t{o:03d}" for n, o in enumerate(order)}


@pytest.mark.parametrize("folds", [0, 10])
def test_graphs_are_linked_without_seeds(folds: int) -> None:
    given, truth = people(150, random.Random(1))
    small = ["encoders.propagation.dimension=64", "encoders.propagation.paths=128", "em.rounds=3"]
    chosen = load(assignments=[*small, "evidence.kind=all", f"probability.folds={folds}"])
    seen: list[emea.Round] = []
    result = emea.align(given, chosen, seen.append)
    fitted = {ended.state.scale.sharpness for ended in seen}
    assert (fitted == {35.0}) == (folds == 0)  # with none hidden there is nothing to fit it to
    assert not any(len(ended.trials) for ended in seen)  # labels are no truth
    table = result.to_arrow()
    found = dict(zip(table["source"].to_pylist(), table["target"].to_pylist(), strict=True))
    right = sum(truth[source] == target for source, target in found.items())
    assert right >= 0.95 * len(truth)
    assert right >= 0.98 * len(found)
    assert int(result.alignment.source.max()) < 150  # values are never linked


def test_without_seeds_and_shared_values_nothing_is_tried() -> None:
    given = task([(0, 0, "one thing", None)], [(0, 0, "5", None)])
    with pytest.raises(InputError, match="share no value"):
        emea.align(given, load(assignments=["evidence.kind=all"]))
    with pytest.raises(InputError, match="no known pairs"):
        emea.align(given, load(assignments=["evidence.kind=structure"]))


def test_structure_alone_does_not_look_at_literals() -> None:
    given, _ = people(60, random.Random(2))
    seeded = Task(given.source, given.target, Links.build(torch.arange(20), torch.arange(20)))
    bare = Task(
        *(Graph.build(side.entities, side.relations, side.triples) for side in (given.source, given.target)),
        seeds=seeded.seeds,
    )
    small = ["encoders.propagation.dimension=16", "encoders.propagation.paths=16", "em.rounds=1"]
    structure = load(assignments=["evidence.kind=structure", *small])
    first, second = (emea.align(each, structure).alignment for each in (seeded, bare))
    assert torch.equal(first.source, second.source)
    assert torch.equal(first.target, second.target)
    assert torch.equal(first.confidence, second.confidence)


def signed(text: str) -> str:
    """A text that is no address with the signs that end its words spelled out."""
    said = {"+": " plus", "#": " sharp"} if "://" not in text else {}
    return "".join(
        said[sign] if sign in said and ends_a_word(before, after) else sign
        for before, sign, after in zip(f" {text}", text, f"{text} "[1:], strict=False)
    )


def ends_a_word(before: str, after: str) -> bool:
    return (before.isalnum() or before in "_+") and not (after.isalnum() or after == "_")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("C++", "C", False),
        ("C++", "C#", False),
        ("Canal+", "Canal Plus", True),
        ("+49 30", "49 30", True),
        ("https://a.org/b#", "https://a.org/b", True),
        ("a+b", "a b", True),
    ],
)
def test_signs_that_end_a_word_count(one: str, other: str, same: bool) -> None:
    assert (normal_form(one) == normal_form(other)) is same


@given(st.text(st.characters(max_codepoint=127)))
def test_text_in_ascii_has_the_form_that_the_rule_for_all_scripts_gives(text: str) -> None:
    form = normal_form(text, language="en")
    said = SCHEME.sub("", signed(text.strip()))  # of an address, what follows
    letters = "".join(letter if letter.isalnum() else " " for letter in said.casefold())
    assert form == (f"s {' '.join(letters.split())}" if letters.split() else None) or DATE.match(text.strip())


def test_many_numbers_and_a_word_are_soon_seen_to_be_no_code() -> None:
    assert not CODE.match(" ".join(["1020"] * 40) + " km")  # by backtracking, longer than anybody lives
    assert CODE.match(" ".join(["a1020"] * 40))


def test_values_are_told_apart_by_attribute() -> None:
    draw = np.random.default_rng(0)
    entity, attribute, value = draw.integers(0, 9, 50), draw.choice([0, 1, 3], 50), draw.integers(0, 5, 50)
    held = Values(entity, attribute, value, Forms("abcde"), pa.array(["p", "q", "no value has it", "r"]), {})
    for number, rows in enumerate(held.rows):
        assert rows.tolist() == np.flatnonzero(attribute == number).tolist()
        for some in (held[rows], held[attribute == number]):
            assert (some.entity.tolist(), some.value.tolist()) == (entity[rows].tolist(), value[rows].tolist())
            assert [len(each) for each in some.rows] == [len(rows) * (other == number) for other in range(4)]
