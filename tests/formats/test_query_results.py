"""Results of SPARQL queries are the same in each of their four formats."""

import json
from pathlib import Path

import pytest
from small_graphs import literal_names, triple_names

from emea.errors import InputError
from emea.formats import read_graph

PLACE, NAMESPACE = "http://e.org/", 'xmlns="http://www.w3.org/2005/sparql-results#"'
ROWS = [(f"{PLACE}b", 'Bern "BE"', "7"), (f"{PLACE}t", "Thun\\Tun", "9"), (f"{PLACE}z", "Zug", None)]
NAMES = ("item", "itemLabel", "size")


def as_tsv(path: Path) -> None:
    written = [
        (f"<{iri}>", '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"@de', size or "")
        for iri, name, size in ROWS
    ]
    lines = ["\t".join(f"?{name}" for name in NAMES), *map("\t".join, written)]
    path.write_text("\n".join(lines) + "\n")


def as_json(path: Path) -> None:
    kinds = ("uri", "literal", "typed-literal")
    rows = [
        {name: {"type": kind, "value": each} for name, kind, each in zip(NAMES, kinds, row, strict=True) if each}
        for row in ROWS
    ]
    path.write_text(json.dumps({"head": {"vars": NAMES}, "results": {"bindings": rows}}))


def as_xml(path: Path) -> None:
    kinds = ("uri", "literal", "literal")
    rows = [
        "".join(
            f'<binding name="{name}"><{kind}>{each}</{kind}></binding>'
            for name, kind, each in zip(NAMES, kinds, row, strict=True)
            if each
        )
        for row in ROWS
    ]
    head = "".join(f'<variable name="{name}"/>' for name in NAMES)
    body = "".join(f"<result>{row}</result>" for row in rows)
    path.write_text(f"<sparql {NAMESPACE}><head>{head}</head><results>{body}</results></sparql>")


def as_csv(path: Path) -> None:
    rows = [",".join(f'"{(each or "").replace(chr(34), chr(34) * 2)}"' for each in row) for row in ROWS]
    path.write_text("\r\n".join([",".join(NAMES), *rows]) + "\r\n")


FORMATS = {
    "a.tsv": as_tsv, "a.json": as_json, "a.srj": as_json, "a.xml": as_xml, "a.srx": as_xml, "a.csv": as_csv,
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
def test_results_are_rows_of_plain_values(name: str, tmp_path: Path) -> None:
    FORMATS[name](tmp_path / name)
    graph = read_graph(tmp_path / name)
    assert graph.entities.to_pylist() == [iri for iri, _, _ in ROWS]
    assert {row[:3] for row in literal_names(graph)} == {
        (row[0], column, cell) for row in ROWS for column, cell in zip(NAMES, row, strict=True) if cell
    }


@pytest.mark.parametrize("mark", ["?", ""])
def test_a_query_for_all_statements_gives_triples(mark: str, tmp_path: Path) -> None:
    header = "\t".join(f"{mark}{name}" for name in "spo")
    rows = ["<e:b>\t<e:in>\t<e:ch>", '<e:b>\t<e:name>\t"Bern"@de', '<e:ch>\t<e:name>\t"Switzerland"']
    text = "\n".join([header, *rows]) + "\n"
    (tmp_path / "a.tsv").write_text(text if mark else text.replace("<", "").replace(">", "").replace('"', ""))
    graph = read_graph(tmp_path / "a.tsv")
    assert triple_names(graph) >= {("e:b", "e:in", "e:ch")}
    assert len(graph.triples) + graph.literals.num_rows == 3


def test_an_answer_without_rows_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.srx").write_text(f"<sparql {NAMESPACE}><head/><boolean>true</boolean></sparql>")
    with pytest.raises(InputError, match=r"a\.srx is empty; expected at least one"):
        read_graph(tmp_path / "a.srx")
