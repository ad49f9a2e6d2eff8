"""RDF/XML: encodings, entities, what is refused, and what can be written."""

from pathlib import Path

import pyarrow as pa
import pytest
import torch
from small_graphs import graph_of, literal_names, triple_names

from emea.data import Graph
from emea.errors import InputError
from emea.formats import _files, read_graph
from emea.formats.rdf import RDF

HEAD = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://example.org/">\n'
TAIL = "</rdf:RDF>\n"
INTEGER = "http://www.w3.org/2001/XMLSchema#int"


def city(name: str) -> str:
    return f'<rdf:Description rdf:about="http://example.org/a"><e:name>{name}</e:name></rdf:Description>\n'


def written(tmp_path: Path, text: str, encoding: str = "utf-8") -> Path:
    path = tmp_path / "graph.rdf"
    path.write_bytes(text.encode(encoding))
    return path


def value_in(path: Path) -> str:
    ((_, _, value, _, _),) = literal_names(RDF().read_graph(path))
    return value


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [
        ("utf-8", "UTF-8"),
        ("utf-8-sig", "utf-8"),
        ("cp1252", "windows-1252"),
        ("iso-8859-1", "ISO-8859-1"),
        ("utf-16", "UTF-16"),
        ("utf-16-le", "utf-16"),
        ("utf-16-be", "utf-16"),
        ("shift_jis", "Shift_JIS"),
    ],
)
def test_the_declared_encoding_counts(tmp_path: Path, encoding: str, declared: str) -> None:
    name = "東京" if encoding == "shift_jis" else "Zürich"
    text = f"<?xml version='1.0' encoding='{declared}'?>\r\n{HEAD}{city(name)}{TAIL}"
    assert value_in(written(tmp_path, text, encoding)) == name


@pytest.mark.parametrize("suffix", ["rdf", "xml", "owl"])
def test_entities_abbreviate(tmp_path: Path, suffix: str) -> None:
    document_type = f"<!DOCTYPE rdf:RDF [\n<!ENTITY xsd '{INTEGER[:-3]}'> <!-- <!ENTITY no '&no;'> -->\n]>\n"
    size = '<rdf:Description rdf:about="http://example.org/a"><e:size rdf:datatype="&xsd;int">3</e:size>'
    path = tmp_path / f"graph.{suffix}"
    path.write_text(f"<?xml version='1.0'?>\n{document_type}{HEAD}{size}</rdf:Description>{TAIL}")
    expected = {("http://example.org/a", "http://example.org/size", "3", INTEGER, "")}
    assert literal_names(RDF().read_graph(path)) == expected


LAUGHS = "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(9))


@pytest.mark.parametrize(
    ("declarations", "message"),
    [
        (f'<!ENTITY a0 "ha">{LAUGHS}', "line 1: found the entity a1 with markup or other entities"),
        ('<!ENTITY a9 SYSTEM "file:///etc/passwd">', "line 1: found the external or parameter entity a9"),
        ('<!ENTITY % p "x">', "line 1: found the external or parameter entity p"),
        (f'<!ENTITY a9 "{"ha" * 600}">', "found the entity a9, expected at most 1,000 entities of 1,000 characters"),
        ("".join(f'<!ENTITY b{n} "x">' for n in range(1001)), "found the entity b1000, expected at most 1,000"),
    ],
)
def test_entities_that_expand_or_read_other_files_are_refused(tmp_path: Path, declarations: str, message: str) -> None:
    path = written(tmp_path, f"<!DOCTYPE x [{declarations}]>{HEAD}{city('&a9;')}{TAIL}")
    with pytest.raises(InputError, match=message):
        RDF().read_graph(path)


def test_many_references_to_a_long_entity_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_files, "EXPANDED_SIZE", 100_000)
    text = f'<!DOCTYPE x [<!ENTITY a "{"ha" * 400}">]>{HEAD}{city("&a;" * 3000)}{TAIL}'
    with pytest.raises(InputError, match="found entities that expand to more than"):
        RDF().read_graph(written(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + city("x"), r"line 3: no element found; expected complete, well-formed XML"),
        (HEAD + "\n<rdf:Description rdf:ab", r"line 3: unclosed token"),
        ("", r"line 1: no element found"),
        (HEAD + "\n<no:prefix/>" + TAIL, r"line 3: unbound prefix"),
        (HEAD + city("&eacute;") + TAIL, r"line 2: undefined entity"),
        (
            HEAD + city("x").replace("/a", "/[") + TAIL,
            r"line . or shortly before: .*'\[';.*RDF/XML; --lenient skips it$",
        ),
        (
            "<?xml version='1.0' encoding='utf-7'?>" + HEAD + TAIL,
            r"line 1: found the encoding utf-7, expected a supported one such",
        ),
        (HEAD + "<e:a><e:b>" * 600, r"line 2: found more than 1,000 levels of nested elements"),
        ("<!-- x -->" * 200_000 + HEAD, r"found no element in the first 1,048,576 bytes"),
    ],
)
def test_broken_documents_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        RDF().read_graph(written(tmp_path, text))
    assert "graph.rdf" in str(caught.value)


@pytest.mark.parametrize(("declared", "byte"), [("windows-1252", 0x81), ("utf-8", 0xE9)])
def test_bytes_of_another_encoding_are_refused(tmp_path: Path, declared: str, byte: int) -> None:
    path = written(tmp_path, f"<?xml version='1.0' encoding='{declared}'?>\n{HEAD}{city('?')}{TAIL}")
    path.write_bytes(path.read_bytes().replace(b">?<", bytes([62, byte, 60])))
    with pytest.raises(InputError, match=rf"line 3: found byte 0x{byte:02x}, expected text in (cp1252|utf-8)"):
        RDF().read_graph(path)


def test_oaei_files_are_read_as_they_are(benchmark_data: Path) -> None:
    sizes = {}
    for path in sorted((benchmark_data / "oaei").glob("*/*[12].rdf")):
        graph = read_graph(path)
        sizes[path.stem] = (len(graph.entities), len(graph.triples), graph.literals.num_rows)
    assert sizes == {
        "person11": (2004, 3500, 5500),
        "person12": (1002, 1500, 5500),
        "restaurant1": (342, 565, 565),
        "restaurant2": (2259, 3760, 3760),
    }


@pytest.mark.parametrize("label", ["b_x", "1a", "node1"])
def test_blank_nodes_stay_apart(tmp_path: Path, label: str) -> None:
    names = [f"_:{label}", "_:x", "_:b_b_x"]
    graph = Graph.build(names, ["urn:p"], torch.tensor([[0, 0, 1], [1, 0, 2]]))
    RDF().write_graph(graph, tmp_path / "graph.rdf")
    assert len(triple_names(RDF().read_graph(tmp_path / "graph.rdf"))) == 2


@pytest.mark.parametrize(
    ("relation", "value", "message"),
    [
        (
            "http://example.org/1",
            "x",
            r"found the relation 'http://example\.org/1', expected an IRI that ends in an XML name",
        ),
        ("http://www.w3.org/1999/02/22-rdf-syntax-ns#li", "x", "found the relation"),
        ("http://example.org/p", "\x01", r"found the character U\+0001 in a literal"),
        ("no iri", "x", "found 'no iri', expected an IRI"),
    ],
)
def test_what_xml_cannot_hold_is_refused(tmp_path: Path, relation: str, value: str, message: str) -> None:
    row = {"entity": [0], "attribute": [0], "value": [value], "datatype": [INTEGER], "language": [""]}
    literals = pa.table({name: pa.array(cells) for name, cells in row.items()}).cast(graph_of([]).literals.schema)
    graph = Graph.build(["urn:a"], [], torch.empty(0, 3), attributes=[relation], literals=literals)
    with pytest.raises(InputError, match=message):
        RDF().write_graph(graph, tmp_path / "graph.rdf")
    assert list(tmp_path.iterdir()) == []
