"""OBO: what becomes of terms, synonyms and relations, and faults."""

import gzip
import re
import sys
from pathlib import Path

import pyhornedowl
import pytest
from pyoxigraph import RdfFormat, parse
from small_graphs import literal_names, triple_names

from emea.contracts import Reading
from emea.data import Graph
from emea.errors import InputError, SettingsError
from emea.formats import read_graph
from emea.formats._statements import graph_of

OBO, OIO = "http://purl.obolibrary.org/obo/", "http://www.geneontology.org/formats/oboInOwl#"
RDF, RDFS = "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "http://www.w3.org/2000/01/rdf-schema#"
OWL, XSD = "http://www.w3.org/2002/07/owl#", "http://www.w3.org/2001/XMLSchema#"
STRING = f"{XSD}string"


def written(tmp_path: Path, text: str, name: str) -> Path:
    path = tmp_path / name
    data = text.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def statements(graph: Graph) -> set[tuple[str, ...]]:
    return {*triple_names(graph), *literal_names(graph)}


TERMS = """format-version: 1.2
ontology: parts
idspace: FOO http://foo.org/

[Term]
id: X:0000001
name: hand \\{left\\} ! a comment
namespace: anatomy
alt_id: X:0000009
def: "What is \\"held\\"." [PMID:1]
comment: Seen often.
subset: slim
synonym: "manus" EXACT [PMID:2]
synonym: "limb end" BROAD []
synonym: "fingers" NARROW []
synonym: "paw" RELATED []
xref: Y:5 "described"
xref: http://foo.org/5
is_a: X:0000002 {source="x"} ! limb
relationship: part_of X:0000003 ! arm
disjoint_from: FOO:1
property_value: created "2001" xsd:integer
property_value: see X:0000004
created_by: joe
creation_date: 2010-01-01T00:00:00Z

[Term]
id: X:0000002
name: limb
is_obsolete: true
replaced_by: X:0000003

[Term]
id: X:0000003
name: arm
intersection_of: X:0000002
intersection_of: develops_from X:0000004
union_of: X:0000001

[Typedef]
id: part_of
name: part of
xref: BFO:0000050
is_transitive: true
is_a: overlaps

[Typedef]
id: created
is_metadata_tag: true
"""


@pytest.mark.parametrize("name", ["parts.obo", "parts.obo.gz"])
def test_obo(tmp_path: Path, name: str) -> None:
    graph = read_graph(written(tmp_path, TERMS, name))
    hand, limb, arm = (f"{OBO}X_000000{number}" for number in (1, 2, 3))
    part_of, created = f"{OBO}BFO_0000050", f"{OBO}parts#created"
    assert triple_names(graph) == {
        *((term, f"{RDF}type", f"{OWL}Class") for term in (hand, limb, arm)),
        (hand, f"{OIO}inSubset", f"{OBO}parts#slim"),
        (hand, f"{RDFS}subClassOf", limb),
        (hand, part_of, arm),
        (hand, f"{OWL}disjointWith", "http://foo.org/1"),
        (hand, f"{OBO}parts#see", f"{OBO}X_0000004"),
        (limb, f"{OBO}IAO_0100001", arm),
        (arm, f"{RDFS}subClassOf", limb),
        (arm, f"{OBO}parts#develops_from", f"{OBO}X_0000004"),
        (hand, f"{RDFS}subClassOf", arm),
        (part_of, f"{RDF}type", f"{OWL}ObjectProperty"),
        (part_of, f"{RDF}type", f"{OWL}TransitiveProperty"),
        (part_of, f"{RDFS}subPropertyOf", f"{OBO}parts#overlaps"),
        (created, f"{RDF}type", f"{OWL}AnnotationProperty"),
    }
    of_hand = {(attribute, value, kind) for head, attribute, value, kind, _ in literal_names(graph) if head == hand}
    assert of_hand == {
        (f"{OIO}id", "X:0000001", STRING),
        (f"{RDFS}label", "hand {left}", STRING),
        (f"{OIO}hasOBONamespace", "anatomy", STRING),
        (f"{OIO}hasAlternativeId", "X:0000009", STRING),
        (f"{OBO}IAO_0000115", 'What is "held".', STRING),
        (f"{RDFS}comment", "Seen often.", STRING),
        (f"{OIO}hasExactSynonym", "manus", STRING),
        (f"{OIO}hasBroadSynonym", "limb end", STRING),
        (f"{OIO}hasNarrowSynonym", "fingers", STRING),
        (f"{OIO}hasRelatedSynonym", "paw", STRING),
        (f"{OIO}hasDbXref", "Y:5", STRING),
        (f"{OIO}hasDbXref", "http://foo.org/5", STRING),
        (f"{OBO}parts#created", "2001", f"{XSD}integer"),
        (f"{OIO}created_by", "joe", STRING),
        (f"{OIO}creation_date", "2010-01-01T00:00:00Z", STRING),
    }
    assert (limb, f"{OWL}deprecated", "true", f"{XSD}boolean", "") in literal_names(graph)


def test_obo_as_another_converter_reads_it(tmp_path: Path) -> None:
    """All that horned-owl says about the terms is here, but for restrictions, lists, and who stated what."""
    path = written(
        tmp_path, TERMS.replace("intersection_of: X:0000002\n", "").replace("union_of: X:0000001\n", ""), "parts.obo"
    )
    text = path.read_text().replace("intersection_of: develops_from X:0000004\n", "")
    theirs = graph_of(
        parse(pyhornedowl.open_ontology_from_string(text, "obo").save_to_string("rdf"), RdfFormat.RDF_XML), path
    )
    terms = tuple(f"{OBO}X_000000{number}" for number in (1, 2, 3))
    expected = {row for row in statements(theirs) if row[0] in terms and not row[2].startswith("_:")}
    assert len(expected) > 20
    assert expected <= statements(read_graph(path))


def test_obo_names_its_faults(tmp_path: Path) -> None:
    broken = TERMS.replace('"manus" EXACT [PMID:2]', '"manus EXACT [PMID:2]').replace(
        "is_obsolete: true", "is_obsolete: maybe"
    )
    broken = broken.replace("idspace: FOO http://foo.org/", "idspace: FOO").replace(
        "[Typedef]\nid: created", "[Typedef]\nno: id"
    )
    path = written(tmp_path, broken, "parts.obo")
    with pytest.raises(
        InputError, match=r"parts\.obo, line 3: found 'idspace: FOO', expected .* in OBO; --lenient skips it$"
    ):
        read_graph(path)
    graph, whole = read_graph(path, Reading(lenient=True)), read_graph(written(tmp_path, TERMS, "whole.obo"))
    (note, _) = graph.notes
    assert re.search(
        r"4 statements were skipped \(line 3: found 'idspace: FOO', expected .*; line 13: .*; line 30: .*; line 47: ",
        note,
    )
    missing = statements(whole) - statements(graph)
    assert {row[1].rpartition("#")[2] for row in missing} == {
        "hasExactSynonym",
        "deprecated",
        "disjointWith",
        "type",
        "id",
    }


def test_instances_of_obo_are_left_out_and_counted(tmp_path: Path) -> None:
    path = written(tmp_path, TERMS + "\n[Instance]\nid: X:i\nname: my hand\ninstance_of: X:0000001\n", "parts.obo")
    assert f"{path}: 1 instance was left out; terms and relations are read" in read_graph(path).notes


@pytest.mark.parametrize("content", [b"[Foo]\nid: X:1\n", b"junk", b"\x00"])
def test_what_is_not_obo_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "parts.obo").write_bytes(content)
    with pytest.raises(InputError, match=r"parts\.obo"):
        read_graph(tmp_path / "parts.obo")


def test_bytes_that_are_not_utf_8_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "parts.obo"
    path.write_bytes(TERMS.replace("Seen often.", "Déjà vu.").encode("latin-1"))
    with pytest.raises(
        InputError, match=r"line 11: found 'comment: .*', with byte 0xe9, expected UTF-8 in OBO; --lenient"
    ):
        read_graph(path)
    graph = read_graph(path, Reading(lenient=True))
    assert {row[1] for row in statements(read_graph(written(tmp_path, TERMS, "whole.obo"))) - statements(graph)} == {
        f"{RDFS}comment"
    }


def test_the_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastobo", None)
    with pytest.raises(InputError, match=re.escape("parts.obo: OBO needs a package: pip install 'emea[obo]'") + "$"):
        read_graph(written(tmp_path, TERMS, "parts.obo"))


def test_named_graphs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"found --graph for .*parts\.obo, expected none"):
        read_graph(written(tmp_path, TERMS, "parts.obo"), Reading(graph="a:g"))


def test_lines_that_can_be_read_alone_and_not_together_are_skipped(tmp_path: Path) -> None:
    # A string that is not closed goes on in the next line.
    text = """format-version: 1.2

[Term]
id: X:1
name: hand
relationship: part_of X:3 extra
property_value: created "2001
property_value: created "2001" xsd:integer
"""
    graph = read_graph(written(tmp_path, text, "together.obo"), Reading(lenient=True))
    assert {each[2] for each in literal_names(graph)} >= {"hand"}
    assert any("skipped" in note for note in graph.notes)


def test_a_failure_of_the_parser_is_a_fault_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As fastobo fails on some malformed files: not by an Exception."""
    panic = type("PanicException", (BaseException,), {})

    def failing(*_: object, **__: object) -> None:
        raise panic("internal error")

    monkeypatch.setattr("fastobo.iter", failing)
    (tmp_path / "a.obo").write_text("format-version: 1.2\n\n[Term]\nid: A:1\nname: a\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"a\.obo: found text on which fastobo fails, expected OBO; "):
        read_graph(tmp_path / "a.obo")
