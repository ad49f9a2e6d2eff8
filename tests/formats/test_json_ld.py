"""JSON-LD: contexts that are not in the file, keys without a context, and what is refused."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from small_graphs import literal_names, triple_names

from emea.contracts import Reading
from emea.data import Graph
from emea.errors import InputError
from emea.formats import read_graph

STRING = "http://www.w3.org/2001/XMLSchema#string"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
SCHEMA = "http://schema.org/"
PERSON = {
    "@context": "https://schema.org",
    "@type": "Person",
    "@id": "http://example.org/ada",
    "name": "Ada",
    "birthDate": "1815-12-10",
    "sameAs": "http://www.wikidata.org/entity/Q7259",
    "worksFor": {"@type": "Organization", "@id": "http://example.org/office", "name": "Office"},
}


def written(tmp_path: Path, document: Any, name: str = "graph.jsonld") -> Path:
    path = tmp_path / name
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return path


def statements(graph: Graph) -> set[tuple[str, ...]]:
    return {*triple_names(graph), *literal_names(graph)}


@pytest.mark.parametrize(
    "address",
    [
        *("https://schema.org", "http://schema.org/", "https://www.schema.org/"),
        *("https://schema.org/docs/jsonldcontext.jsonld", "https://schema.org/version/29.2/schemaorgcontext.jsonld"),
    ],
)
def test_schema_org_is_known(tmp_path: Path, address: str) -> None:
    graph = read_graph(written(tmp_path, {**PERSON, "@context": address}))
    ada, office = "http://example.org/ada", "http://example.org/office"
    assert statements(graph) == {
        (ada, TYPE, SCHEMA + "Person"),
        (ada, SCHEMA + "name", "Ada", STRING, ""),
        (ada, SCHEMA + "birthDate", "1815-12-10", SCHEMA + "Date", ""),
        (ada, SCHEMA + "sameAs", "http://www.wikidata.org/entity/Q7259"),
        (ada, SCHEMA + "worksFor", office),
        (office, TYPE, SCHEMA + "Organization"),
        (office, SCHEMA + "name", "Office", STRING, ""),
    }
    assert graph.notes == ()


def test_pages_of_schema_org_in_one_list(tmp_path: Path) -> None:
    pages = [{**PERSON, "@id": f"http://example.org/{number}"} for number in range(1000)]
    assert len(read_graph(written(tmp_path, pages)).triples) == 3 * 1000 + 1


def test_a_list_of_graphs_with_one_context(tmp_path: Path) -> None:
    node = {key: part for key, part in PERSON.items() if key != "@context"}
    pages = [{"@context": "https://schema.org", "@graph": [{**node, "@id": f"a:{number}"}]} for number in range(3)]
    assert len(triple_names(read_graph(written(tmp_path, [*pages, PERSON])))) == 3 * 4 + 1
    named = {**pages[0], "@id": "a:graph"}
    found = read_graph(written(tmp_path, [*pages[1:], named]), Reading(graph="a:graph"))
    assert {head for head, _, _ in triple_names(found)} == {"a:0", "http://example.org/office"}


def test_another_context_is_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, {**PERSON, "@context": ["https://schema.org", "https://example.org/context.jsonld"]})
    message = "graph.jsonld: found the context https://example.org/context.jsonld, which is not downloaded; "
    with pytest.raises(
        InputError, match=re.escape(message) + r"expected a file that stands in for it \(--context FILE\)$"
    ):
        read_graph(path)


CONTEXT = {
    "name": "http://xmlns.com/foaf/0.1/name",
    "knows": {"@id": "http://xmlns.com/foaf/0.1/knows", "@type": "@id"},
}


@pytest.mark.parametrize("file", [{"@context": CONTEXT}, CONTEXT, {"@context": ["https://schema.org", CONTEXT]}])
@pytest.mark.parametrize(
    "context",
    [
        "https://example.org/context.jsonld",
        ["https://example.org/context.jsonld", {"other": "a:b"}],
        {"@version": 1.1, "@import": "https://example.org/context.jsonld"},
        {"@version": 1.1, "Node": {"@id": "a:Node", "@context": "https://example.org/context.jsonld"}},
        "context.jsonld",
    ],
)
def test_a_file_stands_in_for_a_context(tmp_path: Path, context: Any, file: Any) -> None:
    given = written(tmp_path, file, "context.jsonld")
    document = {"@context": context, "@type": "Node", "@id": "a:a", "name": "A", "knows": "a:b"}
    path = written(tmp_path, document)
    if isinstance(context, dict) and "@import" in context and isinstance(file.get("@context"), list):
        with pytest.raises(InputError, match=r"found the import of .*, expected one context in it"):
            read_graph(path, Reading(context=given))
        return
    graph = read_graph(path, Reading(context=given))
    assert ("a:a", "http://xmlns.com/foaf/0.1/knows", "a:b") in triple_names(graph)
    assert ("a:a", "http://xmlns.com/foaf/0.1/name", "A", STRING, "") in literal_names(graph)


def test_a_context_that_refers_to_itself_is_refused(tmp_path: Path) -> None:
    given = written(tmp_path, {"@context": "https://example.org/other"}, "context.jsonld")
    path = written(tmp_path, {**PERSON, "@context": "https://example.org/context"})
    with pytest.raises(InputError, match="found more than 200 contexts inside contexts"):
        read_graph(path, Reading(context=given))


def test_keys_without_a_context_are_noted(tmp_path: Path) -> None:
    path = written(tmp_path, {"@id": "a:a", "a:p": "x", "name": "y", "size": [1, 2]})
    graph = read_graph(path)
    assert literal_names(graph) == {("a:a", "a:p", "x", STRING, "")}
    assert graph.notes == (f"{path}: 3 values were left out, of keys that no context explains: size, name",)


def test_values_are_literals_with_datatypes(tmp_path: Path) -> None:
    tagged, structured = {"@value": "x", "@language": "DE-CH"}, {"@value": {"@context": 1}, "@type": "@json"}
    graph = read_graph(written(tmp_path, {"@id": "a:a", "a:p": [1, 2.5, True, tagged, structured]}))
    assert {(value, kind.rpartition("#")[2], language) for _, _, value, kind, language in literal_names(graph)} == {
        ("1", "integer", ""),
        ("2.5E0", "double", ""),
        ("true", "boolean", ""),
        ("x", "langString", "de-ch"),
        ('{"@context":1}', "JSON", ""),
    }


def test_invalid_iris_and_languages_are_not_lost_in_silence(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        {"@id": "a:a", "a:p": [{"@id": "a:b c"}, {"@id": "a:d"}, {"@value": "x", "@language": "hunengfreeng"}]},
    )
    with pytest.raises(
        InputError, match=r"graph\.jsonld: found the IRI 'a:b c', expected a valid one .*; --lenient skips it$"
    ):
        read_graph(path)
    graph = read_graph(path, Reading(lenient=True))
    assert statements(graph) == {("a:a", "a:p", "a:d")}
    (note,) = graph.notes
    assert re.search(r"2 statements were skipped \(found the IRI 'a:b c'.*; found the language 'hunengfreeng'", note)


def test_a_node_that_is_not_json_ld_is_skipped(tmp_path: Path) -> None:
    path = written(tmp_path, [{"@id": 5, "a:p": "x"}, {"@id": "a:a", "a:p": "y"}])
    with pytest.raises(
        InputError, match=r"graph\.jsonld: @id value must be a string; expected JSON-LD; --lenient skips it$"
    ):
        read_graph(path)
    graph = read_graph(path, Reading(lenient=True))
    assert ("a:a", "a:p", "y", STRING, "") in literal_names(graph)
    assert "1 statement was skipped (@id value must be a string)" in graph.notes[-1]


DEEP = 50_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"@id": "a:a",\n}', "line [12]: .*; expected JSON"),  # from Python 3.13 on, where the comma is
        ("", "line 1: .*; expected JSON"),
        ('{"a:p": NaN}', "found the number NaN; expected JSON"),
        ('{"a:p": 1' + "0" * 5000 + "}", "expected JSON"),
        ('{"a:p":' * DEEP + "1" + "}" * DEEP, "found more than 200 levels of nested values"),
        ('{"a:p":' * 300 + "1" + "}" * 300, "found more than 200 levels of nested values"),
        ("[" * DEEP, "found more than 200 levels of nested values"),
        (
            '{"@context":' + '{"x":{"@id":"a:a","@context":' * 300 + "{}" + "}}" * 300 + ',"@id":"a:a"}',
            "found more than 200",
        ),
        (
            '{"@context":{' + ",".join(f'"t{n}":"t{n + 1}:x"' for n in range(DEEP)) + '},"t0":"1"}',
            "found more than 200 terms that depend on each other",
        ),
        (
            '{"@context":{"a":{"@id":"x:a","@type":"b"},"b":{"@id":"x:b","@type":"a"}},"a":"1"}',
            "found more than 200 terms",
        ),
        ('{"@context": {"a": 5}, "@id": "a:a"}', "expected JSON-LD"),
    ],
    ids=lambda value: value[:20],
)
def test_what_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_graph(written(tmp_path, text))
    assert "graph.jsonld" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bytes_that_are_not_utf_8_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "graph.jsonld"
    path.write_bytes(b'{"@id": "a:a",\n"a:p": "\xe9"}')
    with pytest.raises(InputError, match="line 2: found byte 0xe9, expected text in UTF-8"):
        read_graph(path)
