"""A floor under the quality of the links: what a change must not lose."""

import csv
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import torch

import emea
from emea import Graph, Links, Reference, Task
from emea.formats import read_graph, read_pairs
from emea.settings import load


def spoken(graph: Graph, language: str) -> Graph:
    """The graph with the labels of one language, and whatever has none."""
    wanted = pa.array([language, ""], graph.literals["language"].type)
    return replace(graph, literals=graph.literals.filter(pc.is_in(graph.literals["language"], value_set=wanted)))


def of_kinds(task: Task, links: Links, kinds: set[str]) -> Links:
    """The links whose source is of some kinds."""
    table = task.source.literals
    kind = [name.endswith("kind") for name in task.source.attributes.to_pylist()].index(True)
    chosen = pc.and_(pc.equal(table["attribute"], kind), pc.is_in(table["value"], value_set=pa.array([*kinds])))
    entities = torch.from_numpy(table.filter(chosen)["entity"].to_numpy().copy())
    return links[torch.isin(links.source, entities)]


@pytest.mark.slow
def test_named_graphs_are_linked_without_seeds() -> None:
    task, reference = emea.read_example("world", seeds=0)
    given = Task(spoken(task.source, "de"), spoken(task.target, "en"), Links.empty())
    result = emea.align(given, load(assignments=["evidence.kind=all"]))
    every = emea.evaluate(result, reference).strict
    assert every.f1 >= 0.72
    assert every.calibration_error <= 0.12
    told_well = of_kinds(task, reference.open(), {"territory", "currency"})
    assert emea.evaluate(result, Reference(told_well)).known_sources.f1 >= 0.97


def melted(path: Path, to: Path) -> Path:
    """A wide table as triples."""
    with path.open(encoding="utf-8", newline="") as file, to.open("w", encoding="utf-8") as out:
        out.write("head\trelation\ttail\tkind\n")
        for row in csv.DictReader(file):
            entity = row.pop("id")
            out.writelines(f"{entity}\t{name}\t{value}\tliteral\n" for name, value in row.items() if value.strip())
    return to


def test_most_restaurants_have_no_counterpart(benchmark_data: Path, tmp_path: Path) -> None:
    folder = benchmark_data / "real" / "fodors_zagats"
    task = emea.read(folder / "source.csv", folder / "target.csv")
    for graph, side in ((task.source, "source"), (task.target, "target")):
        long = read_graph(melted(folder / f"{side}.csv", tmp_path / f"{side}.tsv"))
        assert (graph.entities, graph.literals) == (long.entities, long.literals)
    result = emea.align(task, load(assignments=["evidence.kind=all"]))
    measures = emea.evaluate(result, emea.read_reference(folder / "truth.tsv", task)).strict
    assert measures.f1 >= 0.97
    assert measures.calibration_error <= 0.05
    absence = result.outcome.absence
    assert absence is not None
    assert absence.share == pytest.approx(1 - 112 / 533, abs=0.03)


@pytest.mark.slow
def test_terms_are_linked_by_their_labels(benchmark_data: Path) -> None:
    folder = benchmark_data / "real" / "iaut_uat"
    task = emea.read(folder / "source.ttl", folder / "target.rdf")
    result = emea.align(task, load(assignments=["evidence.kind=all"]))
    names = zip(*(column.to_pylist() for column in task.names(result.alignment)), strict=True)
    rows = [line.split("\t") for line in (folder / "truth_other.tsv").read_text(encoding="utf-8").splitlines()]
    related = {(row[0], row[-1]) for row in rows}  # neither right nor wrong
    truth = {tuple(line.split("\t")) for line in (folder / "truth.tsv").read_text(encoding="utf-8").splitlines()}
    found = {pair for pair in names if pair not in related}
    assert 2 * len(found & truth) / (len(found) + len(truth)) >= 0.88


@pytest.mark.slow
def test_dbp15k_is_linked_from_few_seeds(benchmark_data: Path) -> None:
    task, reference = emea.read_benchmark(benchmark_data / "dbp15k" / "zh_en", ratio=0.05, split=10)
    assert reference is not None
    # Two rounds instead of a dozen cost five points, and save three quarters of the time.
    result = emea.align(task, load(seed=10, assignments=["em.rounds=2"]))
    assert emea.evaluate(result, reference).ranking["test targets"]["probability"].hit_at_1 >= 0.715


@pytest.mark.slow
def test_people_are_linked_without_seeds(benchmark_data: Path) -> None:
    folder = benchmark_data / "oaei" / "person1"
    task = emea.read(folder / "person11.rdf", folder / "person12.rdf")
    truth = read_pairs(folder / "dataset11_dataset12_goldstandard_person.xml", task.source, task.target)
    result = emea.align(task, load(assignments=["evidence.kind=all"]))
    assert emea.evaluate(result, Reference(truth)).known_sources.f1 >= 0.99
