"""Who may be linked to several: duplicates on either side are linked, and nobody else is."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from typer.testing import CliRunner

import emea
from crowds import Crowd, crowd, misspelt, pairs_of, scored
from emea import Graph, Links, Task
from emea.analysis.calibration import calibration_error, reliability
from emea.cli import app
from emea.data import LITERAL_SCHEMA
from emea.evidence.descriptions import TYPE
from emea.evidence.prepared import prepare
from emea.formats import read_graph, read_pairs
from emea.method.competition import Competition, competing
from emea.runs.checks import duplicates
from emea.settings import MatchingSettings, load
from test_matching import SMALL, beliefs_of, tables

CARDINALITIES = ("one-to-one", "many-to-one", "one-to-many", "many-to-many")
BRIEFLY = ("encoders.propagation.dimension=64", "encoders.propagation.paths=64", "em.rounds=1")


def competition(cardinality: str) -> Competition:
    return Competition.of(MatchingSettings(cardinality=cardinality))


def linked(task: Task, cardinality: str, *assignments: str) -> tuple[emea.Result, list[tuple[int, int]]]:
    settings = load(assignments=["evidence.kind=all", f"matching.cardinality={cardinality}", *assignments])
    result = emea.align(task, settings)
    return result, pairs_of(result.alignment.source, result.alignment.target)


def judged(people: Crowd, cardinality: str, *assignments: str) -> tuple[float, float, float]:
    """Precision, F1 and calibration error of the links; each entity has as many as it may."""
    result, found = linked(people.task, cardinality, *assignments)
    for once, column in zip(competition(cardinality), torch.tensor(found).reshape(-1, 2).T.tolist(), strict=True):
        assert len(set(column)) == len(column) or not once
    precision, _, f1 = scored(set(found), people.truth)
    right = torch.tensor([pair in people.truth for pair in found])
    return precision, f1, calibration_error(reliability(result.alignment.confidence.double(), right))


# --- who competes with whom ---


def test_what_the_names_mean() -> None:
    found = {name: tuple(competition(name)) for name in CARDINALITIES}
    assert found["many-to-one"] == (True, False)  # a source has one target at most, a target may have many sources
    assert found["one-to-many"] == (False, True)
    assert found["one-to-one"] == (True, True)
    assert found["many-to-many"] == (False, False)


@pytest.mark.parametrize("cardinality", CARDINALITIES)
@given(table=tables(steps=6))
@SMALL
def test_winners_are_better_than_all_they_compete_with(
    cardinality: str, table: tuple[dict[tuple[int, int], float], dict[tuple[int, int], float]]
) -> None:
    forward, backward = table
    by_source, by_target = competition(cardinality)
    won = set()
    for s, t in forward:
        rivals = [other for other in forward if other != (s, t)]
        first = all(forward[s, t] > forward[other] for other in rivals if other[0] == s)
        second = all(backward[s, t] > backward[other] for other in rivals if other[1] == t)
        if (first or not by_source) and (second or not by_target):
            won.add((s, t))
    beliefs = beliefs_of(forward, backward)
    rows = competition(cardinality).winners(beliefs)
    assert set(pairs_of(beliefs.candidates.source[rows], beliefs.candidates.target[rows])) == won


def test_a_link_rules_out_what_competes_with_it_and_is_itself_taken() -> None:
    even = dict.fromkeys([(0, 0), (0, 1), (1, 0), (1, 1)], 0.5)
    pairs = beliefs_of(even, even).candidates
    link = Links.build(torch.tensor([0]), torch.tensor([0]))
    taken = {name: pairs[competition(name).taken(pairs, link)] for name in CARDINALITIES}
    assert {name: pairs_of(found.source, found.target) for name, found in taken.items()} == {
        "one-to-one": [(0, 0), (0, 1), (1, 0)],
        "many-to-one": [(0, 0), (0, 1)],
        "one-to-many": [(0, 0), (1, 0)],
        "many-to-many": [(0, 0)],
    }


def test_duplicates_of_a_source_do_not_compete_for_their_target() -> None:
    pairs, odds = np.array([[0, 0], [1, 0], [1, 1], [2, 0]]), np.array([3.0, 2.0, 1.0, -2.0])
    z = np.exp(odds)
    expected = [z[0] / (1 + z[0]), z[1] / (1 + z[1] + z[2]), z[2] / (1 + z[1] + z[2]), z[3] / (1 + z[3])]
    assert competing(pairs, odds, (3, 2), competition("many-to-one")) == pytest.approx(expected)
    swapped = competing(pairs[:, ::-1], odds, (2, 3), competition("one-to-many"))
    assert swapped == pytest.approx(expected)
    alone = competing(pairs, odds, (3, 2))
    assert (alone <= np.array(expected)).all()
    assert alone[1] < 0.3 < expected[1]


def test_where_both_may_have_several_different_things_still_compete() -> None:
    """Source 0 is target 0, and target 1 is, too: its surest pair is with source 0. Target 2 is source 1."""
    pairs, odds = np.array([[0, 0], [0, 1], [0, 2], [1, 2]]), np.array([6.0, 4.0, 3.0, 8.0])
    z = np.exp(odds)
    found = competing(pairs, odds, (2, 3), competition("many-to-many"))
    assert found[0] == pytest.approx(z[0] / (1 + z[0] + z[2]))  # not with target 1
    assert found[1] == pytest.approx(z[1] / (1 + z[1] + z[2]))
    assert found[2] == pytest.approx(z[2] / (1 + z[0] + z[1] + z[2] + z[3]))


def test_beliefs_are_those_of_the_side_that_competes() -> None:
    beliefs = beliefs_of({(0, 0): 0.9, (1, 0): 0.8, (2, 0): 0.1}, {(0, 0): 0.4, (1, 0): 0.5, (2, 0): 0.05})
    for cardinality, own in (("many-to-one", beliefs.forward), ("one-to-many", beliefs.backward)):
        seen = competition(cardinality).seen(beliefs)
        assert seen.confidence.tolist() == pytest.approx(own.tolist())
    assert competition("one-to-one").seen(beliefs) is beliefs
    both = competition("many-to-many").seen(beliefs)
    assert both.backward.tolist() == pytest.approx([0.4 * 0.95 / 0.5, 0.95, 0.05 * 0.95 / 0.5])


# --- registers of people with several records ---


@pytest.mark.parametrize(
    ("cardinality", "people", "least"),
    [
        ("many-to-one", crowd(40), 0.95),
        ("one-to-many", crowd(40).swap(), 0.95),
        ("many-to-many", crowd(40, most=(3, 3)), 0.85),
    ],
)
def test_duplicates_are_linked(cardinality: str, people: Crowd, least: float) -> None:
    precision, f1, _ = judged(people, cardinality, *BRIEFLY)
    assert precision >= 0.95
    assert f1 >= least
    assert judged(people, "one-to-one", *BRIEFLY)[1] < f1 - 0.2


def test_a_seed_leaves_its_target_to_the_other_duplicates() -> None:
    people = crowd(40, seed=1)
    seeds = sorted(people.truth)[::5]
    kept = Links.build(*torch.tensor(seeds).T)
    wrong = Links.build(*torch.tensor([pair for pair in sorted(people.truth) if pair not in seeds][:5]).T)
    _, found = linked(replace(people.task, seeds=kept, exclusions=wrong), "many-to-one", *BRIEFLY)
    given = {target for _, target in seeds}
    assert sum(target in given for _, target in found) >= 0.8 * sum(t in given for _, t in people.truth - {*seeds})
    assert not {source for source, _ in found} & {source for source, _ in seeds}
    assert not {*found} & {*pairs_of(wrong.source, wrong.target)}
    assert scored({*found} | {*seeds}, people.truth)[0] >= 0.95


@pytest.mark.parametrize("cardinality", CARDINALITIES)
def test_without_anything_to_link_there_are_no_links(cardinality: str) -> None:
    people = crowd(10)
    blank = [f"_:{place}" for place in range(len(people.owners[0]))]
    unnamed = replace(people.task.source, entities=pa.array(blank, pa.large_string()))
    assert linked(replace(people.task, source=unnamed), cardinality, *BRIEFLY)[1] == []


@pytest.fixture(scope="module")
def register() -> Crowd:
    """A register of 1,000 people, and some 3,000 records of seven in ten of them and of 250 others."""
    return crowd(1000)


@pytest.mark.slow
@pytest.mark.parametrize("cardinality", ["many-to-one", "one-to-many"])
def test_a_register_with_up_to_nine_records_of_a_person(cardinality: str, register: Crowd) -> None:
    people = register if cardinality == "many-to-one" else register.swap()
    result, found = linked(people.task, cardinality)
    assert scored(set(found), people.truth)[2] >= 0.97
    right = torch.tensor([pair in people.truth for pair in found])
    assert calibration_error(reliability(result.alignment.confidence.double(), right)) <= 0.05
    for side in (0, 1):
        known, reached = ({pair[side] for pair in pairs} for pairs in (people.truth, found))
        without = set(range(len(people.owners[side]))) - known
        assert len(without & reached) <= 0.02 * len(without)
    known = {source for source, _ in people.truth}
    absence = result.outcome.absence
    assert absence is not None
    assert absence.share == pytest.approx(1 - len(known) / len(people.owners[0]), abs=0.06)


@pytest.mark.slow
def test_a_person_may_have_several_records_in_both_registers() -> None:
    precision, f1, error = judged(crowd(400, most=(4, 3)), "many-to-many")
    assert precision >= 0.93
    assert f1 >= 0.9
    assert error <= 0.06


# --- graphs with structure ---


def doubled(graph: Graph, draw: random.Random, slips: float = 0.0) -> Graph:
    """The graph with a copy of each entity, which has the same neighbours' copies and classes, and the same values but
    for some slips."""
    size, names = len(graph.entities), graph.entities.to_pylist()
    kinds = [place for place, name in enumerate(graph.relations.to_pylist()) if name == TYPE]
    triples = graph.triples.numpy()
    copied = triples + size
    copied[:, 1] = triples[:, 1]
    copied[:, 2] -= size * np.isin(triples[:, 1], kinds)
    rows = graph.literals.to_pylist()
    again = [
        {
            **row,
            "entity": row["entity"] + size,
            "value": misspelt(row["value"], draw) if len(row["value"]) > 1 and draw.random() < slips else row["value"],
        }
        for row in rows
    ]
    return Graph.build(
        [*names, *(f"{name}-copy" for name in names)],
        graph.relations.to_pylist(),
        np.concatenate([triples, copied]),
        attributes=graph.attributes.to_pylist(),
        literals=pa.Table.from_pylist([*rows, *again], schema=LITERAL_SCHEMA),
    )


@pytest.fixture(scope="module")
def woven() -> tuple[Task, set[tuple[int, int]]]:
    """Two equal graphs, one of them doubled, whose copies also share the neighbours of the originals; and their links
    but the seeds, which are half of the originals."""
    draw = np.random.default_rng(4)
    edges = np.stack([draw.integers(0, 80, 400), draw.integers(0, 3, 400), draw.integers(0, 80, 400)], 1)
    target = Graph.build([f"b{i:02}" for i in range(80)], ["r", "s", "t"], edges)
    copies = [edges + np.array([80 * head, 0, 80 * tail]) for head in (0, 1) for tail in (0, 1)]
    source = Graph.build([f"a{i:03}" for i in range(160)], ["r", "s", "t"], np.concatenate(copies))
    links = {(place, place % 80) for place in range(160)}
    return Task(source, target, Links.build(torch.arange(40), torch.arange(40))), {*links} - {(i, i) for i in range(40)}


@pytest.mark.parametrize("swapped", [False, True])
def test_by_structure_each_source_has_its_best_target(woven: tuple[Task, set[tuple[int, int]]], swapped: bool) -> None:
    task, truth = woven
    if swapped:
        task, truth = task.swap(), {(target, source) for source, target in truth}
    cardinality = "one-to-many" if swapped else "many-to-one"
    result, found = linked(task, cardinality, "evidence.kind=structure", *BRIEFLY)
    precision, _, f1 = scored({*found}, truth)
    assert min(precision, f1) >= 0.95
    beliefs, side = result.counterparts, int(swapped)
    own = beliefs.backward if swapped else beliefs.forward
    assert torch.allclose(beliefs.confidence, own)
    pairs = beliefs.candidates
    total = torch.zeros(160, dtype=own.dtype).index_add_(0, pairs.target if swapped else pairs.source, own)
    assert float(total.max()) <= 1 + 1e-6  # of one entity's counterparts, one is right
    assert len({pair[side] for pair in found}) == len(found)
    _, alone = linked(task, "one-to-one", "evidence.kind=structure", *BRIEFLY)
    assert scored({*alone}, truth)[2] < 0.7


def test_a_baseline_links_duplicates(woven: tuple[Task, set[tuple[int, int]]]) -> None:
    task, truth = woven
    unseeded = {(source, target) for source, target in truth if target >= 40}
    paris = ("evidence.kind=structure", "method=paris")
    _, found = linked(task, "many-to-one", *paris)
    assert len({source for source, _ in found}) == len(found)
    assert scored({*found}, unseeded)[2] >= 0.75
    assert linked(task, "one-to-one", *paris)[1] == []  # the two copies are tied


def restaurants(folder: Path) -> tuple[Task, Links]:
    paths = [folder / "oaei" / "restaurants" / f"restaurant{side}" for side in ("1.rdf", "2.rdf")]
    first, second = (read_graph(path) for path in paths)
    truth = read_pairs(folder / "oaei" / "restaurants" / "restaurant1_restaurant2_goldstandard.rdf", first, second)
    return Task(first, second, Links.empty()), truth


@pytest.mark.slow
def test_restaurants_that_are_listed_twice_are_linked_twice(benchmark_data: Path) -> None:
    task, truth = restaurants(benchmark_data)
    source = doubled(task.source, random.Random(0), slips=0.1)
    names = task.source.entities.take(truth.source.numpy()).to_pylist()
    copies = [
        source.entities.index(name).as_py() for name in (f"{name}{end}" for name in names for end in ("", "-copy"))
    ]
    wanted = {*zip(copies, np.repeat(truth.target.numpy(), 2).tolist(), strict=True)}
    twice = replace(task, source=source)
    _, found = linked(twice, "many-to-one")
    assert len(wanted & {*found}) >= 0.95 * len(wanted)
    known = {source for source, _ in wanted}
    assert sum(source in known for source, _ in found) <= len(wanted & {*found}) / 0.95
    _, once = linked(twice, "one-to-one")
    assert len(wanted & {*once}) <= 0.6 * len(wanted)
    (warning,) = warnings_of(twice)
    assert warning.startswith("the source graph seems to have duplicates")


# --- the warning ---


def warnings_of(task: Task, cardinality: str = "one-to-one") -> list[str]:
    settings = load(assignments=["evidence.kind=all", f"matching.cardinality={cardinality}"])
    return [*duplicates(prepare(task, settings.evidence), settings)]


def test_duplicates_are_noticed_and_the_option_is_named() -> None:
    people = crowd(80)
    (warning,) = warnings_of(people.task)
    assert "the source graph seems to have duplicates (" in warning
    assert f"of {len(people.owners[0])} entities share rare values" in warning
    assert warning.endswith("--cardinality many-to-one links all of them")
    (warning,) = warnings_of(people.swap().task)
    assert warning.startswith("the target graph")
    assert "--cardinality one-to-many" in warning
    both = warnings_of(crowd(300, most=(4, 4)).task)
    assert [warning.split(" graph")[0] for warning in both] == ["the source", "the target"]
    assert all("--cardinality many-to-many" in warning for warning in both)
    assert "--cardinality many-to-many" in warnings_of(crowd(300, most=(4, 4)).task, "many-to-one")[0]
    assert warnings_of(people.task, "many-to-one") == []
    assert warnings_of(crowd(300, most=(1, 1)).task) == []


def test_one_value_under_two_attributes_does_not_make_duplicates() -> None:
    """Two share a name with each target: namesakes, perhaps, however often they say it."""
    names = [f"{name} {number}" for number, name in enumerate(("Anna", "Bert", "Cora") * 10)]
    told = [(i, attribute, names[i // 2], "", "") for i in range(60) for attribute in (0, 1)]
    graphs = [
        Graph.build(
            [f"{side}{i:02}" for i in range(count)],
            [],
            np.zeros((0, 3)),
            attributes=["name", "label"],
            literals=pa.table([*zip(*rows, strict=True)], schema=LITERAL_SCHEMA),
        )
        for side, count, rows in (("a", 60, told), ("b", 30, [(i, 0, names[i], "", "") for i in range(30)]))
    ]
    assert warnings_of(Task(*graphs, Links.empty())) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["world", "fodors_zagats", "dblp_acm", "restaurants", "person1", "anatomy", "languages", "iaut_uat"]
)
def test_graphs_without_duplicates_are_not_suspected(name: str, benchmark_data: Path, tmp_path: Path) -> None:
    if name == "world":
        task = emea.read_example("world", seeds=0)[0]
    elif name == "restaurants":
        task = restaurants(benchmark_data)[0]
    elif name == "person1":
        folder = benchmark_data / "oaei" / name
        task = emea.read(folder / "person11.rdf", folder / "person12.rdf")
    else:
        folder = benchmark_data / "real" / name
        task = emea.read(*(next(folder.glob(f"{side}.*")) for side in ("source", "target")))
    assert warnings_of(task) == []


# --- the option ---


def test_the_option_says_how_many_links_an_entity_may_have(tmp_path: Path) -> None:
    people = crowd(40)
    for name, graph in (("a", people.task.source), ("b", people.task.target)):
        names, fields = graph.entities.to_pylist(), graph.attributes.to_pylist()
        rows = [
            f"{names[r['entity']]}\t{fields[r['attribute']]}\t{r['value']}\tliteral" for r in graph.literals.to_pylist()
        ]
        (tmp_path / f"{name}.tsv").write_text("\n".join(["head\trelation\ttail\tkind", *rows]) + "\n")
    files = [str(tmp_path / "a.tsv"), str(tmp_path / "b.tsv")]
    small = [word for setting in BRIEFLY for word in ("--set", setting)]
    out = ["--out", str(tmp_path / "run"), "--device", "cpu", *small]
    plain = CliRunner().invoke(app, ["align", *files, *out])
    assert plain.exit_code == 0, plain.output
    assert "--cardinality many-to-one" in " ".join(plain.output.split())
    many = CliRunner().invoke(app, ["align", *files, *out, "--force", "--cardinality", "many-to-one"])
    assert many.exit_code == 0, many.output
    assert "seems to have duplicates" not in many.output
    rows = [line.split("\t") for line in (tmp_path / "run" / "alignment.tsv").read_text().splitlines()[1:]]
    assert len({row[0] for row in rows}) == len(rows) > 1.5 * len({row[1] for row in rows})
    assert 'cardinality = "many-to-one"' in (tmp_path / "run" / "settings.toml").read_text()
    refused = CliRunner().invoke(app, ["align", *files, *out, "--force", "--cardinality", "two-to-one"])
    assert refused.exit_code == 2
    assert "many-to-one" in refused.output


@pytest.mark.parametrize(
    ("pairs", "confidence", "expected"),
    [
        ([[1, 0], [0, 0], [0, 1]], [0.85, 0.84, 0.83], [0.85, 0.15, 0.83]),
        ([[0, 0], [0, 1], [1, 0], [1, 1]], [0.9, 0.85, 0.95, 0.1], [0.05, 0.85, 0.95, 0.05]),
        ([[0, 0], [0, 1]], [0.9, 0.9], [0.5, 0.5]),
        ([[0, 0], [0, 1]], [0.5, 0.3], [0.5, 0.3]),
    ],
)
def test_no_pair_yields_to_one_that_has_to_yield(
    pairs: list[list[int]], confidence: list[float], expected: list[float]
) -> None:
    found = np.array(confidence) * Competition().shares(np.array(pairs), np.array(confidence), (2, 2))
    assert found == pytest.approx(expected, abs=1e-9)
