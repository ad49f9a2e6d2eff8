"""The package as a program uses it: tables and graphs that it holds, its defaults, and its errors."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from functools import cache
from pathlib import Path
from typing import Any

import networkx as nx
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest
import rdflib
import torch

import emea
from emea.data import Graph, Links
from emea.errors import InputWarning
from emea.runs.finished import evaluate_run
from emea.settings import load

SMALL = ["encoders.propagation.dimension=64", "encoders.propagation.paths=64", "em.rounds=1"]
CAPITALS = {  # ours are numbered, theirs have codes and other words
    "Berlin": ("Germany", 3677), "Paris": ("France", 2103), "Rome": ("Italy", 2748), "Madrid": ("Spain", 3332),
    "Lisbon": ("Portugal", 545), "Vienna": ("Austria", 2005), "Oslo": ("Norway", 709), "Athens": ("Greece", 643),
}  # fmt: skip
OURS = pd.DataFrame(
    {
        "id": range(11, 19),
        "name": list(CAPITALS),
        "country": [country for country, _ in CAPITALS.values()],
        "people": [people for _, people in CAPITALS.values()],
    }
)
THEIRS = pd.DataFrame(
    {
        "code": [f"c{number}" for number in range(8)],
        "label": list(reversed(CAPITALS)),
        "state": [country for country, _ in reversed(CAPITALS.values())],
    }
)
RIGHT = {(11 + number, f"c{7 - number}") for number in range(8)}
TURTLE = """
@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:berlin rdfs:label "Berlin"@en, "Berlin"@de-DE ; :capitalOf :germany ; :people 3677 ; :founded "1237"^^:year .
:germany rdfs:label "Germany"@en ; :note "two\\nlines" . [] :about :berlin .
"""


def contents(graph: Graph) -> tuple[set[tuple[str, ...]], set[tuple[str, ...]]]:
    """Triples and literals by name."""
    entities, relations, attributes = (
        column.to_pylist() for column in (graph.entities, graph.relations, graph.attributes)
    )
    triples = {(entities[head], relations[relation], entities[tail]) for head, relation, tail in graph.triples.tolist()}
    literals = {
        (entities[row["entity"]], attributes[row["attribute"]], row["value"], row["datatype"], row["language"])
        for row in graph.literals.to_pylist()
    }
    return triples, literals


@pytest.fixture(scope="module")
def result() -> emea.Result:
    return emea.align(emea.read(OURS, THEIRS))


def test_two_frames_are_linked_in_one_line() -> None:
    found = emea.link(OURS, THEIRS)
    assert isinstance(found, pd.DataFrame)
    assert list(found.columns) == ["source", "target", "confidence", "source_label", "target_label"]
    assert set(zip(found["source"], found["target"], strict=True)) == RIGHT
    assert (found["source_label"] == found["target_label"]).all()
    assert found["confidence"].is_monotonic_decreasing
    assert len(OURS.merge(found, left_on="id", right_on="source")) == len(RIGHT), "ids keep their type"


@pytest.mark.parametrize(("convert", "kind"), [(pl.from_pandas, pl.DataFrame), (pa.table, pa.Table)])
def test_the_answer_is_a_table_of_the_same_library(convert: Callable[[Any], Any], kind: type) -> None:
    found = emea.link(convert(OURS), THEIRS, id=("id", "code"), seeds=[(11, "c7"), (12, "c6")], min_confidence=0.6)
    assert isinstance(found, kind)
    rows = found.to_dicts() if isinstance(found, pl.DataFrame) else found.to_pylist()
    assert {(row["source"], row["target"]) for row in rows} == RIGHT - {(11, "c7"), (12, "c6")}, "seeds are known"
    assert all(row["confidence"] >= 0.6 for row in rows)


def test_rows_without_id_are_called_by_the_index() -> None:
    ours = OURS.drop(columns="id").assign(name="city").set_axis(range(100, 108))[["name", "country"]]
    found = emea.link(ours, THEIRS)
    assert {(row.source - 89, row.target) for row in found.itertuples()} == RIGHT
    graph = emea.graph(pl.from_pandas(ours))
    assert graph.entities.to_pylist() == [str(number) for number in range(8)]
    assert "no column identifies the rows" in graph.notes[-1]


def test_the_index_of_a_frame_is_a_column_if_it_says_something() -> None:
    by_name = OURS.drop(columns="id").set_index("name")
    assert set(emea.graph(by_name).entities.to_pylist()) == {*CAPITALS}
    assert "name" in emea.graph(by_name).attributes.to_pylist()
    assert set(emea.graph(by_name.rename_axis(None)).entities.to_pylist()) == {*CAPITALS}
    left_over = OURS[OURS["people"] > 1000]  # whose index has gaps
    assert contents(emea.graph(left_over)) == contents(emea.graph(left_over.reset_index(drop=True)))


@pytest.mark.parametrize(
    "same",
    [
        pl.from_pandas(OURS), pa.Table.from_pandas(OURS), OURS.convert_dtypes(), OURS.astype({"name": "category"}),
        OURS.to_dict("list"), pa.table(pl.from_pandas(OURS)), pa.table(OURS).to_reader(), OURS.astype(object),
        OURS.assign(people=OURS["people"].astype(float)),
    ],
    ids=range(9),
)  # fmt: skip
def test_the_library_of_a_table_makes_no_difference(same: Any) -> None:
    assert contents(emea.graph(same)) == contents(emea.graph(OURS))


def test_missing_and_mixed_cells() -> None:
    frame = pd.DataFrame({"id": [1, 2, 3], "x": [1, "a", None], "y": [1.0, None, 3.0], "z": [["p", "q"], [], None]})
    _, literals = contents(emea.graph(frame))
    assert {row[:3] for row in literals} == {
        ("1", "x", "1"), ("2", "x", "a"), ("1", "y", "1"), ("3", "y", "3"), ("1", "z", "p"), ("1", "z", "q"),
    }  # fmt: skip


def test_columns_with_ids_of_another_table_are_relations() -> None:
    cities = pl.DataFrame({"id": ["b", "p"], "name": ["Berlin", "Paris"], "country": ["de", "fr"]})
    countries = pd.DataFrame({"id": ["de", "fr"], "name": ["Germany", "France"]})
    triples, literals = contents(emea.graph({"cities": cities, "countries": countries}))
    assert ("cities/b", "country", "countries/de") in triples
    assert ("countries/fr", "name", "France", "http://www.w3.org/2001/XMLSchema#string", "") in literals


def test_a_dict_of_frames_is_linked_by_its_relations_too() -> None:
    ours = {"cities": OURS[["id", "name"]], "countries": OURS[["country"]].drop_duplicates()}
    theirs = {"places": THEIRS[["code", "label"]], "states": THEIRS[["state"]]}
    found = emea.link(ours, theirs)
    assert isinstance(found, pd.DataFrame)
    cities = {(f"cities/{source}", f"places/{target}") for source, target in RIGHT}
    assert cities <= set(zip(found["source"], found["target"], strict=True))


def test_an_rdflib_graph_is_the_graph_in_its_file(tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text(TURTLE)
    ours = emea.graph(rdflib.Graph().parse(tmp_path / "a.ttl"))
    read = emea.read_graph(tmp_path / "a.ttl")
    assert contents(ours)[1] == contents(read)[1]
    named, as_read = ({row for row in contents(each)[0] if not row[0].startswith("_:")} for each in (ours, read))
    assert named == as_read
    assert len(ours.triples) == len(read.triples) == 2
    assert ours.notes == read.notes


def test_a_vocabulary_is_linked_by_its_concepts_as_from_a_file() -> None:
    vocabulary = rdflib.Graph()
    for name in ("a", "b"):
        vocabulary.add((rdflib.URIRef(f"http://x/{name}"), rdflib.RDF.type, rdflib.SKOS.Concept))
    assert emea.graph(vocabulary).linkable.sum() == 2


def test_a_networkx_graph() -> None:
    held = nx.MultiDiGraph()
    held.add_node("berlin", label="Berlin", people=3677, tags=["big", "old"], area=None)
    held.add_edge("berlin", "germany", relation="capital of")
    held.add_edge("berlin", "germany", label="in")
    held.add_edge("berlin", "germany", "near")
    held.add_edge("berlin", 7)
    held.add_node("alone")
    graph = emea.graph(held)
    triples, literals = contents(graph)
    assert triples == {
        ("berlin", "capital of", "germany"), ("berlin", "in", "germany"), ("berlin", "near", "germany"),
        ("berlin", "related", "7"),
    }  # fmt: skip
    assert {row[1:3] for row in literals if row[0] == "berlin"} == {
        ("id", "berlin"), ("label", "Berlin"), ("people", "3677"), ("tags", "big"), ("tags", "old"),
    }  # fmt: skip
    assert "alone" in graph.entities.to_pylist()


def test_an_edge_without_direction_is_one_both_ways() -> None:
    triples, _ = contents(emea.graph(nx.Graph([("a", "b")])))
    assert triples == {("a", "related", "b"), ("b", "related", "a")}


def test_seeds_of_every_kind_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "seeds.tsv").write_text("11\tc7\n12\tc6\n")
    rows = [(11, "c7"), (12, "c6")]
    kinds = [
        tmp_path / "seeds.tsv", str(tmp_path / "seeds.tsv"), rows, zip(OURS["id"][:2], ["c7", "c6"], strict=True),
        pd.DataFrame(rows, columns=["target", "source"]).rename(columns={"target": "source", "source": "target"}),
        pl.DataFrame(rows, schema=["ours", "theirs"], orient="row"), {"source": [11.0, 12.0], "target": ["c7", "c6"]},
    ]  # fmt: skip
    for kind in kinds:
        task = emea.read(OURS, THEIRS, kind)
        assert [column.to_pylist() for column in task.names(task.seeds)] == [["11", "12"], ["c7", "c6"]]
    weighted = emea.read(OURS, THEIRS, pd.DataFrame({"source": [11], "target": ["c7"], "weight": [0.5]}))
    assert weighted.seeds.weight.tolist() == [0.5]
    assert len(emea.read(OURS, THEIRS, []).seeds) == 0


def test_a_task_is_compared_as_the_command_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from emea.cli import main

    OURS.to_csv(tmp_path / "a.csv", index=False)
    THEIRS.to_csv(tmp_path / "b.csv", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["emea", "align", "a.csv", "b.csv", "--device", "cpu", "--quiet"])
    with pytest.raises(SystemExit):
        main()
    result = emea.align(emea.read("a.csv", "b.csv"))
    written = pa.csv.read_csv("run/alignment.tsv", parse_options=pa.csv.ParseOptions(delimiter="\t")).to_pylist()
    told = {(row["source"], row["target"]): row["confidence"] for row in result.links().to_pylist()}
    assert {(str(row["source"]), row["target"]): row["confidence"] for row in written} == pytest.approx(told, abs=1e-6)
    assert result.settings.evidence.kind == "all"


def test_a_benchmark_is_compared_by_its_structure_and_settings_change_only_what_they_name(tmp_path: Path) -> None:
    task, _ = emea.read_example("world")
    assert task.benchmark
    assert task.swap().benchmark
    for name, rows in {"ent_ids_1": "0 a", "ent_ids_2": "1 b", "triples_1": "0 0 0", "triples_2": "1 0 1"}.items():
        (tmp_path / name).write_text(rows.replace(" ", "\t") + "\n")
    (tmp_path / "ref_ent_ids").write_text("0\t1\n")
    benchmark, _ = emea.read_benchmark(tmp_path, ratio=1.0)
    assert benchmark.benchmark
    assert emea.align(benchmark).settings.resolved() == emea.Settings().resolved()
    assert emea.align(benchmark, emea.Settings(seed=1)).settings.evidence.kind == "structure"
    tables = emea.read(OURS, THEIRS)
    assert not tables.benchmark
    seeded = emea.align(tables, emea.Settings(seed=1, evidence={"tolerance": 0.01}))  # type: ignore[arg-type]
    assert len(seeded) == len(RIGHT)
    assert (seeded.settings.evidence.kind, seeded.settings.evidence.tolerance) == ("all", 0.01)
    with pytest.raises(emea.InputError, match="structure alone needs some"):
        emea.align(tables, emea.Settings(evidence={"kind": "structure"}))  # type: ignore[arg-type]


def test_what_a_result_says_of_itself(result: emea.Result) -> None:
    assert len(result) == len(RIGHT)
    assert repr(result).startswith("Result(8 links between Graph(8 entities")
    assert repr(result.task).startswith("Task(Graph(8 entities")
    assert repr(result.task.seeds) == "Links(0 pairs)"
    assert result.links().column_names == ["source", "target", "confidence", "similarity"]
    assert result.links().equals(result.to_arrow())
    labelled = result.links(labels=True)
    assert labelled.column_names[4:] == ["source_label", "target_label"]
    assert labelled["source_label"].to_pylist() == labelled["target_label"].to_pylist()
    assert set(labelled["source_label"].to_pylist()) == {*CAPITALS}
    measures = emea.evaluate(result, emea.read_reference(RIGHT, result.task))
    assert measures.strict.f1 == 1


def test_a_result_is_saved_as_a_run(result: emea.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "new" / "run")
    folder = tmp_path / "new" / "run"
    expected = {"alignment.tsv", "alignment.sssom.tsv", "candidates.tsv", "summary.json", "settings.toml", "seeds.tsv"}
    assert expected <= {path.name for path in folder.iterdir()}
    (tmp_path / "truth.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in RIGHT))
    assert evaluate_run(folder, tmp_path / "truth.tsv").strict.f1 == 1
    assert load(config=folder / "settings.toml").evidence.kind == "all"
    with pytest.raises(emea.SettingsError, match="already holds a run"):
        result.save(folder)
    for name in ("metrics.json", "report.html"):
        (folder / name).write_text("of another run")
    result.save(folder, force=True)
    assert not {"metrics.json", "report.html"} & {path.name for path in folder.iterdir()}
    with pytest.raises(emea.InputError, match="cannot be created"):
        result.save(tmp_path / "truth.tsv")


def test_saving_again_keeps_decisions(result: emea.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "run")
    path = tmp_path / "run" / "alignment.review.tsv"
    header, *lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    assert header.startswith("decision\t")
    path.write_text("".join([header, "right" + lines[0], *lines[1:]]), encoding="utf-8")
    with pytest.raises(emea.InputError, match="holds decisions that would be lost"):
        result.save(tmp_path / "run", force=True)
    assert path.read_text(encoding="utf-8").count("\nright\t") == 1


def test_validation_pairs_of_a_saved_result_are_not_measured(result: emea.Result, tmp_path: Path) -> None:
    pairs = sorted((str(source), target) for source, target in RIGHT)[:2]
    graphs, columns = (result.task.source, result.task.target), zip(*pairs, strict=True)
    numbers = [
        graph.positions(pa.array(names, pa.large_string())).to_pylist()
        for graph, names in zip(graphs, columns, strict=True)
    ]
    validation = Links.build(*map(torch.tensor, numbers))
    prepared = replace(result.outcome.prepared, given=replace(result.task, validation=validation))
    emea.Result(replace(result.outcome, prepared=prepared)).save(tmp_path / "run")
    (tmp_path / "pairs.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    assert (tmp_path / "run" / "validation.tsv").read_text().splitlines()[1:] == [f"{a}\t{b}" for a, b in pairs]
    with pytest.raises(emea.InputError, match="all of its 2 pairs were given to the run"):
        evaluate_run(tmp_path / "run", tmp_path / "pairs.tsv")
    result.save(tmp_path / "run", force=True)
    assert not (tmp_path / "run" / "validation.tsv").exists()


def test_a_saved_result_is_loaded_again(result: emea.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "run")
    again = emea.load(tmp_path / "run")
    assert again.settings.resolved() == result.settings.resolved()
    old, new = (side.links(labels=True).sort_by("source") for side in (result, again))
    for name in ("source", "target", "source_label", "target_label"):
        assert new[name].to_pylist() == old[name].to_pylist()
    assert new["confidence"].to_pylist() == pytest.approx(old["confidence"].to_pylist(), abs=1e-6)
    best = {row["source"]: row["target"] for row in again.candidates().to_pylist() if row["rank"] == 1}
    assert {(str(source), target) for source, target in RIGHT} <= {*best.items()}
    why, before = (side.explain("11") for side in (again, result))
    assert why.confidence == pytest.approx(before.confidence)
    assert any("cannot be read again" in note for note in why.notes)  # what was in memory only
    assert f"SavedResult({len(result)} links in " in repr(again)
    assert "<table" in again._repr_html_()
    with pytest.raises(emea.InputError, match="is not a run folder"):
        emea.load(tmp_path)
    (tmp_path / "run" / "alignment.tsv").unlink()
    with pytest.raises(emea.InputError, match="expected a finished run"):
        emea.load(tmp_path / "run")


def test_a_task_is_profiled() -> None:
    found = emea.profile(emea.read(OURS, THEIRS))
    assert found["source"]["entities"] == 8
    assert found["shared values"] > 0


@cache
def mistakes() -> dict[str, tuple[Callable[[], Any], str]]:
    """Calls that are wrong, by what is wrong, with what is said."""
    task = emea.read(OURS, THEIRS)
    example = emea.read_example("world")
    pair = pd.DataFrame({"source": [11], "target": ["c7"], "weight": [3]})
    tables = "expected a pandas, polars or Arrow table"
    return {
        "preset as settings": (lambda: emea.align(task, "fast"), "found 'fast', expected settings"),  # type: ignore[arg-type]
        "dict as settings": (lambda: emea.align(task, {"seed": 1}), "found a dict, expected settings"),  # type: ignore[arg-type]
        "file as task": (lambda: emea.align("a.csv"), "found 'a.csv', expected a task"),  # type: ignore[arg-type]
        "no task": (lambda: emea.align(None), "found None, expected a task"),  # type: ignore[arg-type]
        "task and reference": (lambda: emea.align(example), "the task is the first of the two"),  # type: ignore[arg-type]
        "frame as task": (lambda: emea.profile(OURS), "found a pandas DataFrame, expected a task"),
        "rounds of nothing": (lambda: emea.rounds(3), "found 3, expected a task"),  # type: ignore[arg-type]
        "rounds of a baseline": (lambda: emea.rounds(task, emea.Settings(method="paris")), "only its loop has rounds"),
        "number as graph": (lambda: emea.graph(42), f"found 42, {tables}"),
        "nothing as graph": (lambda: emea.graph(None), f"found None, {tables}"),
        "file as graph": (lambda: emea.graph("a.csv"), "emea.read_graph reads files"),
        "list as graph": (lambda: emea.graph([1, 2]), f"found a list, {tables}"),
        "column as graph": (lambda: emea.graph(OURS["name"]), f"found a pandas Series, {tables}"),
        "lazy frame": (lambda: emea.graph(pl.LazyFrame({"a": [1]})), "call its collect()"),
        "table that is none": (lambda: emea.graph({"a": OURS, "b": 3}), f"data, table b: found 3, {tables}"),
        "uneven columns": (lambda: emea.graph({"a": [1, 2], "b": [3]}), "that Arrow cannot read"),
        "empty frame": (lambda: emea.graph(pd.DataFrame()), "data is empty"),
        "empty rdflib graph": (lambda: emea.graph(rdflib.Graph(), name="mine"), "mine is empty"),
        "several graphs": (lambda: emea.graph(rdflib.Dataset()), "expected a Graph, or one of a Dataset"),
        "unknown id": (lambda: emea.graph(OURS, id="nope"), "expected one named nope"),
        "number as id": (lambda: emea.graph(OURS, id=3), "found id=3, expected the name of a column"),  # type: ignore[arg-type]
        "id of a graph": (lambda: emea.graph(nx.Graph([(1, 2)]), id="x"), "expected it for a table"),
        "two nodes of a name": (lambda: emea.graph(nx.Graph([(1, "1")])), "found two nodes called '1'"),
        "setting": (lambda: emea.Settings(em={"rounds": "x"}), "setting em.rounds: found 'x'"),  # type: ignore[arg-type]
        "unknown setting": (lambda: emea.Settings(sed=1), "unknown setting sed"),  # type: ignore[call-arg]
        "setting of a plug-in": (lambda: emea.Settings(encoders={"rrea": {"x": 1}}), "unknown setting encoders.rrea.x"),
        "frame as file": (lambda: emea.read_graph(OURS), "emea.graph takes tables"),  # type: ignore[arg-type]
        "number as folder": (lambda: emea.read_benchmark(3), "found 3, expected a file"),  # type: ignore[arg-type]
        "unknown example": (lambda: emea.read_example("moon"), "found the example 'moon', expected world"),
        "number as target": (lambda: emea.read(OURS, 42), f"target: found 42, {tables}"),
        "unknown seed": (lambda: emea.read(OURS, THEIRS, [(11, "x9")]), "seeds"),
        "seed twice": (lambda: emea.read(OURS, THEIRS, [(11, "c7"), (11, "c6")]), "; cardinality=one-to-many"),
        "half a seed": (lambda: emea.read(OURS, THEIRS, [(11, None)]), "seeds, pair 1: found an empty name"),
        "seeds in a row": (lambda: emea.read(OURS, THEIRS, [11, 12]), "seeds, pair 1: found 11, expected (source,"),
        "number as seeds": (lambda: emea.read(OURS, THEIRS, 5), "seeds: found 5, expected a file"),
        "seeds of other columns": (lambda: emea.read(OURS, THEIRS, OURS), "found the columns id, name, country"),
        "weight of a seed": (lambda: emea.read(OURS, THEIRS, pair), "found the weight '3'"),
        "reference of nothing": (lambda: emea.read_reference([], OURS), "expected a task"),  # type: ignore[arg-type]
        "decisions of nothing": (lambda: emea.read_decisions("x.tsv", OURS), "expected a task"),  # type: ignore[arg-type]
        "empty reference": (lambda: emea.read_reference([], task), "reference holds no pairs; expected at least one"),
        "evaluated task": (lambda: emea.evaluate(task, example[1]), "expected the result of emea.align"),  # type: ignore[arg-type]
        "compared task": (lambda: emea.compare(task, task, example[1]), "expected two results of emea.align"),  # type: ignore[arg-type]
        "unknown preset": (lambda: emea.link(OURS, THEIRS, preset="quick"), "unknown preset 'quick'"),
        "list as preset": (lambda: emea.link(OURS, THEIRS, preset=["x"]), "found preset=a list"),  # type: ignore[arg-type]
        "confidence": (lambda: emea.link(OURS, THEIRS, min_confidence=2), "setting matching.minimum: found 2"),
        "id of one": (lambda: emea.link(OURS, THEIRS, "id"), "target: found the columns code, label, state"),
        "three ids": (lambda: emea.link(OURS, THEIRS, ("a", "b", "c")), "found id=a tuple"),  # type: ignore[arg-type]
        "nothing in common": (lambda: emea.link(OURS, THEIRS[["code"]]), "share no value"),
    }  # fmt: skip


@pytest.mark.parametrize("mistake", mistakes())
def test_a_mistake_is_explained_in_a_sentence(mistake: str) -> None:
    call, said = mistakes()[mistake]
    with pytest.raises(emea.EmeaError) as error:
        call()
    assert isinstance(error.value, emea.InputError | emea.SettingsError)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.slow
def test_libraries_are_loaded_only_for_their_own_data() -> None:
    program = (
        "import sys, emea, emea.cli, emea.engine, emea.method.em, emea.runs.run\n"
        "graph = emea.graph({'id': ['a', 'b'], 'name': ['A', 'B']}); emea.read(graph, graph)\n"
        "print([name for name in ('polars', 'rdflib', 'networkx', 'numba', 'ray') if name in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == "[]"  # pandas is loaded by pyarrow


def test_messages_name_parameters_and_no_options(tmp_path: Path) -> None:
    apart = pd.DataFrame({"id": [1, 2], "v": ["aa", "bb"]}), pd.DataFrame({"id": [1, 2], "v": ["xx", "yy"]})
    with pytest.raises(emea.InputError, match=r"expected pairs \(seeds=…\).*; the setting evidence\.local_names uses"):
        emea.link(*apart)
    with pytest.raises(emea.InputError, match=r"expected pairs \(emea\.read\(…, seeds=…\)\)"):
        emea.align(emea.read(*apart))
    OURS.to_csv(path := tmp_path / "ours.csv", index=False)
    with pytest.raises(emea.InputError, match=r"expected one named nr \(id=…\)$"):
        emea.link(path, THEIRS, id="nr")
    with pytest.raises(emea.InputError, match=r"expected one named nr \(emea\.Reading\(id_column=…\)\)$"):
        emea.read_graph(path, emea.Reading(id_column="nr"))
    path.with_suffix(".ttl").write_text("<a:b> <a:c> .")
    with pytest.raises(emea.InputError, match=r"; emea\.Reading\(lenient=True\) skips it$"):
        emea.read(path.with_suffix(".ttl"), OURS)
    assert emea.read is emea.read
    assert emea.read.__doc__.startswith("The task of linking two graphs")


def test_warnings_of_a_profile_name_settings() -> None:
    twice = pd.concat([OURS, OURS.assign(id=OURS["id"] + 100)] * 3, ignore_index=True).assign(id=range(48))
    warnings = emea.profile(
        emea.read(twice, THEIRS.assign(people=[people for _, people in reversed(CAPITALS.values())]))
    )
    assert not any("--" in warning for warning in warnings["warnings"])
    assert any("; the setting matching.cardinality many-to-one links" in warning for warning in warnings["warnings"])


def test_decisions_may_be_held_by_the_program(result: emea.Result) -> None:
    task = result.task
    review = result.to_pandas().assign(decision="")
    review.loc[:2, "decision"] = ["yes", "no", None]
    decided = emea.read_decisions(review, task)
    links = [f"{row.source} {row.target}" for row in review.head(2).itertuples()]
    for found, expected in ((decided.seeds, links[:1]), (decided.exclusions, links[1:])):
        assert [
            " ".join(pair) for pair in zip(*(side.to_pylist() for side in task.names(found)), strict=True)
        ] == expected
    assert decided.checked.weight.tolist() == [1, 0]
    assert len(emea.read_decisions([(11, "c7"), (12, "c6")], task).seeds) == 2
    with pytest.raises(
        emea.InputError, match="decisions, pair 1: found 'perhaps' in the column decision, expected yes"
    ):
        emea.read_decisions(review.assign(decision="perhaps"), task)
    with pytest.raises(emea.InputError, match="decisions: found no pairs, only 8 with no decision; expected yes or no"):
        emea.read_decisions(review.assign(decision=""), task)


def test_rows_with_the_same_id_are_one_entity_and_that_is_said() -> None:
    twice = pd.concat([OURS, OURS])
    with pytest.warns(
        InputWarning, match=r"^data: 8 rows repeat a 'id', such as '11'; rows with the same one are one entity$"
    ):
        assert len(emea.graph(twice, id="id").entities) == 8


@pytest.mark.parametrize("make", [pd.DataFrame, dict], ids=["pandas", "dict"])
def test_a_misspelt_date_leaves_the_other_dates_of_its_column_as_they_are(make: Callable[[Any], Any]) -> None:
    days: list[object] = [datetime(1990, 1, 2), date(1991, 5, 6), datetime(1992, 7, 8, 9, 10), "31.2.1990", None]
    literals = emea.graph(make({"id": list("abcde"), "born": days})).literals
    assert literals["value"].to_pylist() == ["1990-01-02", "1991-05-06", "1992-07-08T09:10:00", "31.2.1990"]


def test_what_was_not_linked_is_told_in_memory_and_from_the_folder(tmp_path: Path) -> None:
    result = emea.align(emea.read(OURS, THEIRS.iloc[2:]))
    result.save(tmp_path / "run")
    saved = emea.load(tmp_path / "run")
    for ours, theirs in ((result.unlinked(), saved.unlinked()), (result.candidates(), saved.candidates())):
        assert ours.num_rows
        assert ours.column_names == theirs.column_names
        assert ours["source"].to_pylist() == theirs["source"].to_pylist()
    assert {"17", "18"} <= {*result.unlinked()["source"].to_pylist()}  # Oslo and Athens, which they do not have


def test_links_are_compared_with_pairs_of_any_kind(result: emea.Result, tmp_path: Path) -> None:
    pairs = sorted(RIGHT)
    table = pd.DataFrame(pairs, columns=["source", "target"])
    table.to_csv(tmp_path / "truth.tsv", sep="\t", index=False)
    result.save(tmp_path / "run")
    sealed = emea.read_reference(pairs, result.task)
    precisions = {
        emea.evaluate(*each).strict.precision
        for each in (
            *((result, reference) for reference in (sealed, pairs, table, tmp_path / "truth.tsv")),
            (emea.load(tmp_path / "run"), str(tmp_path / "truth.tsv")),
        )
    }
    assert precisions == {1.0}
    with pytest.raises(emea.InputError, match=r"expected a file of true pairs, such as 'truth.tsv'"):
        emea.evaluate(emea.load(tmp_path / "run"), sealed)


def test_a_result_does_not_differ_from_itself(result: emea.Result, tmp_path: Path) -> None:
    assert emea.compare(result, result, sorted(RIGHT)) == emea.Comparison(len(RIGHT), 0.0, 0.0, 1.0)
    swapped = emea.align(emea.read(THEIRS, OURS))
    with pytest.raises(emea.InputError, match="found results for two source graphs"):
        emea.compare(result, swapped, sorted(RIGHT))


@pytest.mark.slow
def test_saved_runs_are_compared_as_they_were_in_memory(tmp_path: Path) -> None:
    task, reference = emea.read_example("world", seeds=50)
    truth = Path(emea.__file__).parent / "examples" / "world" / "links.tsv"
    small = {"propagation": {"dimension": 64, "paths": 64}}
    result, other = (
        emea.align(task, emea.Settings(evidence={"kind": kind}, em={"rounds": 0}, encoders=small))
        for kind in ("names", "structure")
    )
    for name, each in (("one", result), ("other", other)):
        each.save(tmp_path / name)
    one, two = (emea.load(tmp_path / name) for name in ("one", "other"))
    found = emea.compare(one, two, truth)
    assert found.hit_at_1 > 0.05
    memory = emea.compare(result, other, truth)
    assert (found.pairs, found.hit_at_1) == (memory.pairs, pytest.approx(memory.hit_at_1))
    assert found.mrr == pytest.approx(memory.mrr, abs=0.01)  # ranks beyond the written candidates are not known
    assert emea.compare(one, one, str(truth)) == emea.Comparison(found.pairs, 0.0, 0.0, 1.0)
    with pytest.raises(emea.InputError, match=r"expected a file of true pairs, such as 'truth.tsv'"):
        emea.compare(one, two, reference)
    with pytest.raises(emea.InputError, match=r"found a saved run and a result in memory, expected .*emea\.load"):
        emea.compare(one, other, truth)
    emea.align(emea.read(THEIRS, OURS)).save(tmp_path / "swapped")
    with pytest.raises(emea.InputError, match="found runs on two source graphs"):
        emea.compare(one, emea.load(tmp_path / "swapped"), truth)


def test_what_a_program_prints_can_be_read(result: emea.Result) -> None:
    told = str(result.explain("11"))
    assert told == str(result.explain(11))  # as `emea.link` gives it where ids are numbers
    assert told.startswith("Berlin ↔ Berlin  linked, confidence 0.9")
    assert "values" in told
    assert len(repr(emea.evaluate(result, sorted(RIGHT)).strict)) < 200


def test_labels_are_the_same_in_memory_and_in_files(tmp_path: Path) -> None:
    for side in "ab":
        rows = [f'<urn:{side}:{n}> a <urn:{side}:Town> ; <urn:name> "Town {n * 37}" .' for n in range(30)]
        (tmp_path / f"{side}.ttl").write_text("\n".join(rows))
    result = emea.align(emea.read(tmp_path / "a.ttl", tmp_path / "b.ttl"))
    result.save(tmp_path / "run")
    key = [("source", "ascending")]
    in_memory, saved = (each.links(labels=True).sort_by(key) for each in (result, emea.load(tmp_path / "run")))
    for name in ("source", "source_label", "target_label"):
        assert in_memory[name].to_pylist() == saved[name].to_pylist()
    assert "Town" in in_memory["source_label"].to_pylist()  # a class that no label names


def test_a_saved_run_over_several_tables_is_compared_by_ids_alone(tmp_path: Path) -> None:
    ours, theirs = ({"towns": each, "notes": pd.DataFrame({"id": ["n1"], "text": ["?"]})} for each in (OURS, THEIRS))
    emea.align(emea.read(emea.graph(ours), emea.graph(theirs))).save(tmp_path / "run")
    pd.DataFrame(sorted(RIGHT), columns=["source", "target"]).to_csv(tmp_path / "truth.csv", index=False)
    assert evaluate_run(tmp_path / "run", tmp_path / "truth.csv").known_sources.precision == 1
