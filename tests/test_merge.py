"""Two graphs become one: every statement once, one name for each linked pair, nothing lost and nothing mixed up."""

import csv
import io
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import tomli_w
from pyoxigraph import NamedNode, RdfFormat, parse
from typer.testing import CliRunner

from emea.cli import app
from emea.errors import InputError
from emea.runs.merge import merge

SAME = "<http://www.w3.org/2002/07/owl#sameAs>"
SOURCE = """
<http://a/1> <http://v/name> "One" .
<http://a/1> <http://v/name> "Eins"@de .
<http://a/1> <http://v/knows> <http://a/2> .
<http://a/2> <http://v/knows> <http://a/3> .
<http://a/2> <http://v/part> _:n .
_:n <http://v/size> "3"^^<http://www.w3.org/2001/XMLSchema#integer> .
<http://both> <http://v/name> "the same IRI" .
"""
TARGET = """
<http://b/1> <http://v/name> "One" .
<http://b/1> <http://w/name> "Uno" .
<http://b/1> <http://v/knows> <http://b/2> .
<http://b/2> <http://v/part> _:n .
_:n <http://v/size> "4"^^<http://www.w3.org/2001/XMLSchema#integer> .
<http://b/4> <http://w/age> "7" .
<http://both> <http://v/name> "the same IRI" .
"""
LINKS = [("http://a/1", "http://b/1", 0.9), ("http://a/2", "http://b/2", 0.75)]


def finished_run(folder: Path, links: list[tuple[str, str, float]] = LINKS, **inputs: str) -> Path:
    """The folder of a finished run over two files beside it."""
    run = folder / "run"
    run.mkdir()
    (run / "settings.toml").write_text(tomli_w.dumps({"run": inputs}))
    rows = [f"{source}\t{target}\t{confidence}\t0.5" for source, target, confidence in links]
    (run / "alignment.tsv").write_text("\n".join(["source\ttarget\tconfidence\tsimilarity", *rows]) + "\n")
    (run / "candidates.tsv").write_text("source\trank\ttarget\tsimilarity\tprobability\n")
    (run / "summary.json").write_text("{}")
    return run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    for name, text in (("a.nt", SOURCE), ("b.nt", TARGET)):
        (tmp_path / name).write_text(text)
    return finished_run(tmp_path, source=str(tmp_path / "a.nt"), target=str(tmp_path / "b.nt"))


def statements(path: Path, syntax: RdfFormat = RdfFormat.N_TRIPLES) -> Counter[str]:
    """The statements of a file with the names of blank nodes left out."""
    found = Counter[str]()
    for quad in parse(path=str(path), format=syntax):
        terms = (quad.subject, quad.predicate, quad.object, *([quad.graph_name] if syntax == RdfFormat.N_QUADS else []))
        found[" ".join("_" if str(term).startswith("_:") else str(term) for term in terms)] += 1
    return found


def expected(one: str, other: str) -> Counter[str]:
    """The statements about both graphs, with the names of the two pairs."""
    number = "^^<http://www.w3.org/2001/XMLSchema#integer>"
    return Counter([
        f'<http://{one}/1> <http://v/name> "One"',
        f'<http://{one}/1> <http://v/name> "Eins"@de',
        f'<http://{one}/1> <http://w/name> "Uno"',
        f"<http://{one}/1> <http://v/knows> <http://{one}/2>",
        f"<http://{one}/2> <http://v/knows> <http://a/3>",
        f"<http://{one}/2> <http://v/part> _",
        f"<http://{one}/2> <http://v/part> _",
        f'_ <http://v/size> "3"{number}',
        f'_ <http://v/size> "4"{number}',
        '<http://b/4> <http://w/age> "7"',
        '<http://both> <http://v/name> "the same IRI"',
        f"<http://{other}/1> {SAME} <http://{one}/1>",
        f"<http://{other}/2> {SAME} <http://{one}/2>",
    ])  # fmt: skip


@pytest.mark.parametrize(("keep", "one", "other"), [("target", "b", "a"), ("source", "a", "b")])
def test_every_statement_is_kept_once_under_one_name(run: Path, keep: str, one: str, other: str) -> None:
    out = run.parent / "merged.nt"
    done = CliRunner().invoke(app, ["merge", str(run), "--out", str(out), "--keep", keep])
    assert done.exit_code == 0, done.output
    assert statements(out) == expected(one, other)
    assert done.stdout.startswith("2 linked pairs, 6 triples and 7 literals written to ")


def test_turtle_says_the_same(run: Path) -> None:
    merge(run, run.parent / "merged.ttl")
    assert statements(run.parent / "merged.ttl", RdfFormat.TURTLE) == expected("b", "a")


def test_blank_nodes_of_the_two_graphs_stay_apart(run: Path) -> None:
    merge(run, run.parent / "merged.nt")
    nodes = {str(quad.subject) for quad in parse(path=str(run.parent / "merged.nt"), format=RdfFormat.N_TRIPLES)}
    assert len([node for node in nodes if node.startswith("_:")]) == 2


def test_quads_name_the_graph_of_each_statement(run: Path) -> None:
    merge(run, run.parent / "merged.nq")
    found = statements(run.parent / "merged.nq", RdfFormat.N_QUADS)
    first, second = (f"<{(run.parent / name).as_uri()}>" for name in ("a.nt", "b.nt"))
    assert found[f'<http://b/1> <http://v/name> "Eins"@de {first}'] == 1
    assert found[f'<http://b/1> <http://w/name> "Uno" {second}'] == 1
    assert found[f'<http://b/1> <http://v/name> "One" {first}'] == 1
    assert found[f'<http://b/1> <http://v/name> "One" {second}'] == 1
    assert found[f"<http://a/1> {SAME} <http://b/1> DEFAULT"] == 1
    assert sum(found.values()) == 7 + 7 + 2


def test_concepts_and_classes_are_the_same_by_relations_of_their_own(run: Path) -> None:
    kinds = {"1": "http://www.w3.org/2004/02/skos/core#Concept", "2": "http://www.w3.org/2002/07/owl#Class"}
    for side in "ab":
        with (run.parent / f"{side}.nt").open("a") as file:
            for number, kind in kinds.items():
                file.write(f"<http://{side}/{number}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{kind}> .\n")
    merge(run, run.parent / "merged.nt")
    found = statements(run.parent / "merged.nt")
    assert found["<http://a/1> <http://www.w3.org/2004/02/skos/core#exactMatch> <http://b/1>"] == 1
    assert found["<http://a/2> <http://www.w3.org/2002/07/owl#equivalentClass> <http://b/2>"] == 1
    assert not [statement for statement in found if SAME in statement]


def test_a_table_has_both_side_by_side(run: Path) -> None:
    out = run.parent / "table.csv"
    done = CliRunner().invoke(app, ["merge", str(run), "--out", str(out)])
    assert done.exit_code == 0, done.output
    header, *rows = csv.reader(io.StringIO(out.read_text()))
    assert header[:3] == ["source", "target", "confidence"]
    assert header[3:] == [
        "source_knows", "source_name", "source_part_size",
        "target_age", "target_http://v/name", "target_http://w/name", "target_knows", "target_part_size",
    ]  # fmt: skip
    table = [dict(zip(header, row, strict=True)) for row in rows]
    assert [(row["source"], row["target"], row["confidence"]) for row in table[:2]] == [
        ("http://a/1", "http://b/1", "0.9"), ("http://a/2", "http://b/2", "0.75"),
    ]  # fmt: skip
    assert table[0]["source_name"] == "Eins | One"
    assert table[0]["target_http://w/name"] == "Uno"
    assert table[1]["source_name"] == ""
    assert [row["source_part_size"] for row in table[:3]] == ["", "3", ""]
    assert [row["source_knows"] for row in table[:2]] == ["http://a/2", "http://a/3"]
    alone = [(row["source"], row["target"]) for row in table[2:]]
    assert alone == [("http://a/3", ""), ("http://both", ""), ("", "http://b/4"), ("", "http://both")]
    assert "2 other sources and 2 other targets" in done.output
    assert table[4]["target_age"] == "7"
    assert all(row["confidence"] == "" for row in table[2:])
    merge(run, run.parent / "table.parquet")
    columns = pq.read_table(run.parent / "table.parquet")
    assert columns.column_names == header
    assert [value or "" for value in columns["source_name"].to_pylist()] == [row["source_name"] for row in table]


def test_a_table_of_tables_has_their_columns_as_they_are_called_and_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,payment_terms,name,EUR/h\n1,30d,Ann,5\n2,60d,Bob,6\n")
    (tmp_path / "b.csv").write_text("id,zip,name,city\n7,10115,Ann,Berlin\n8,20095,Cem,Hamburg\n")
    run = finished_run(tmp_path, [("1", "7", 0.9)], source=str(tmp_path / "a.csv"), target=str(tmp_path / "b.csv"))
    merge(run, tmp_path / "table.csv")
    header, first, *_ = csv.reader(io.StringIO((tmp_path / "table.csv").read_text()))
    own, other = ["source_payment_terms", "source_name", "source_EUR/h"], ["target_zip", "target_name", "target_city"]
    assert header == ["source", "target", "confidence", *own, *other]
    assert first == ["1", "7", "0.9", "30d", "Ann", "5", "10115", "Ann", "Berlin"]


def test_seeds_are_links_and_names_need_not_be_iris_in_a_table(tmp_path: Path) -> None:
    for side in ("a", "b"):
        rows = [f"{side}{number}\tname\tnumber {number}, {side}\tliteral" for number in range(3)]
        (tmp_path / f"{side}.tsv").write_text("\n".join(["head\trelation\ttail\tkind", *rows]) + "\n")
    (tmp_path / "seeds.tsv").write_text("a2\tb2\n")
    paths = {
        name: str(tmp_path / f"{file}.tsv") for name, file in (("source", "a"), ("target", "b"), ("seeds", "seeds"))
    }
    run = finished_run(tmp_path, [("a1", "b1", 0.8)], **paths)
    merge(run, tmp_path / "table.csv")
    header, *rows = csv.reader(io.StringIO((tmp_path / "table.csv").read_text()))
    assert header == ["source", "target", "confidence", "source_name", "target_name"]
    assert rows == [
        ["a1", "b1", "0.8", "number 1, a", "number 1, b"],
        ["a2", "b2", "1", "number 2, a", "number 2, b"],
        ["a0", "", "", "number 0, a", ""],
        ["", "b0", "", "", "number 0, b"],
    ]


@pytest.mark.parametrize("ending", [".nt", ".ttl", ".rdf", ".nq"])
def test_ids_and_columns_become_iris(ending: str, tmp_path: Path) -> None:
    """As in SSSOM; the same id or column of the other table is something else."""
    (tmp_path / "a.csv").write_text("id,year made\nA 13/1112,1999\nB 2,2001\n")
    (tmp_path / "b.csv").write_text("id,year made\nB 2,1999\nC 3,2002\n")
    run = finished_run(
        tmp_path, [("A 13/1112", "B 2", 0.9)], source=str(tmp_path / "a.csv"), target=str(tmp_path / "b.csv")
    )
    merge(run, tmp_path / f"merged{ending}")
    quads = list(parse(path=str(tmp_path / f"merged{ending}")))
    found = {(quad.subject.value, quad.predicate.value, quad.object.value) for quad in quads}
    ours, theirs = "urn:emea:source/", "urn:emea:target/"
    same = (f"{ours}A%2013%2F1112", SAME[1:-1], f"{theirs}B%202")
    years = [(f"{theirs}B%202", ours, "1999"), (f"{theirs}B%202", theirs, "1999")]
    years += [(f"{ours}B%202", ours, "2001"), (f"{theirs}C%203", theirs, "2002")]
    assert found == {same, *((head, f"{side}year%20made", year) for head, side, year in years)}
    graphs = {(tmp_path / name).as_uri() for name in ("a.csv", "b.csv")} if ending == ".nq" else set()
    assert {quad.graph_name.value for quad in quads if isinstance(quad.graph_name, NamedNode)} == graphs


def test_what_no_rdf_can_hold_is_said_of_the_file_that_was_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,name\n_:a b,Ann\n1,Bob\n")
    (tmp_path / "b.csv").write_text("id,name\n7,Ann\n8,Cem\n")
    run = finished_run(tmp_path, [("1", "7", 0.9)], source=str(tmp_path / "a.csv"), target=str(tmp_path / "b.csv"))
    for ending, syntax in ((".nq", "N-Quads"), (".nt", "N-Triples")):
        out = tmp_path / f"merged{ending}"
        with pytest.raises(InputError, match=f"^{out} cannot be written as {syntax}: found '_:source-a b'"):
            merge(run, out)
        assert not out.exists()


def test_what_cannot_be_merged_is_said(run: Path) -> None:
    with pytest.raises(InputError, match=r"found the suffix '\.xlsx', expected one of \.nt, "):
        merge(run, run.parent / "merged.xlsx")
    (run.parent / "a.nt").write_text('<http://a/9> <http://v/name> "Nine" .\n')
    with pytest.raises(InputError, match="the source graph has no 'http://a/1', which the run linked"):
        merge(run, run.parent / "merged.nt")
    (run / "candidates.tsv").unlink()
    with pytest.raises(InputError, match="holds no finished run"):
        merge(run, run.parent / "merged.nt")


def test_a_table_names_what_rows_refer_to(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "cities.csv").write_text("id,name,country\nb,Berlin,de\np,Paris,fr\n")
    (tmp_path / "a" / "countries.csv").write_text("id,name\nde,Germany\nfr,France\n")
    (tmp_path / "b.csv").write_text("id,name,country\n1,Berlin,Deutschland\n")
    run = finished_run(tmp_path, [("cities/b", "1", 0.9)], source=str(tmp_path / "a"), target=str(tmp_path / "b.csv"))
    merge(run, tmp_path / "table.csv")
    header, first, *others = csv.reader(io.StringIO((tmp_path / "table.csv").read_text()))
    found = dict(zip(header, first, strict=True))
    assert (found["source_country"], found["target_country"]) == ("Germany", "Deutschland")
    assert found["source_type"] == "cities"
    assert [row[0] for row in others] == ["cities/p", "countries/de", "countries/fr"], "tables have no rows themselves"


@pytest.mark.parametrize("name", ["_:x", "<http://a/.well-known/genid/x>"])
def test_what_a_blank_node_holds_stands_somewhere_in_the_table(name: str, tmp_path: Path) -> None:
    more = f'{name} <http://v/nick> "Nobody leads here" .\n<http://a/9> <http://v/has> {name.replace("x", "y")} .\n'
    more += (
        f'{name.replace("x", "y")} <http://v/size> "12" .\n<http://www.w3.org/2002/07/owl#Class> <http://v/n> "x" .\n'
    )
    (tmp_path / "a.nt").write_text(SOURCE + more)
    (tmp_path / "b.nt").write_text(TARGET)
    folder = finished_run(tmp_path, source=str(tmp_path / "a.nt"), target=str(tmp_path / "b.nt"))
    merge(folder, tmp_path / "merged.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "merged.csv").read_text(encoding="utf-8"))))
    assert [row["source_nick"] for row in rows if row["source_nick"]] == ["Nobody leads here"]
    assert [row["source_has_size"] for row in rows if row["source"] == "http://a/9"] == ["12"]
    assert not any("w3.org" in row["source"] for row in rows)
    assert sum("genid" in row["source"] or row["source"].startswith("_:") for row in rows) == 1
