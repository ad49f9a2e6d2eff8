"""Ontologies in OWL functional syntax, OWL/XML and Manchester syntax: what becomes of labels and axioms, and faults."""

import gzip
import re
import sys
from pathlib import Path

import pytest
from small_graphs import literal_names, triple_names

from emea.contracts import Reading
from emea.errors import InputError
from emea.formats import read_graph

RDF, RDFS = "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "http://www.w3.org/2000/01/rdf-schema#"
OWL, XSD = "http://www.w3.org/2002/07/owl#", "http://www.w3.org/2001/XMLSchema#"
STRING, LANGUAGE_STRING = f"{XSD}string", f"{RDF}langString"
E = "http://example.org/"


def written(tmp_path: Path, text: str, name: str) -> Path:
    path = tmp_path / name
    data = text.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


FUNCTIONAL = """Prefix(:=<http://example.org/>)
Prefix(owl:=<http://www.w3.org/2002/07/owl#>)
Prefix(rdfs:=<http://www.w3.org/2000/01/rdf-schema#>)
Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>)
Ontology(<http://example.org/onto>
Declaration(Class(:Hand)) Declaration(Class(:Limb)) Declaration(ObjectProperty(:partOf))
AnnotationAssertion(rdfs:label :Hand "Main"@fr)
AnnotationAssertion(rdfs:label :Hand "hand & \\"fist\\"")
AnnotationAssertion(owl:deprecated :Limb "true"^^xsd:boolean)
SubClassOf(:Hand :Limb)
SubClassOf(:Hand ObjectSomeValuesFrom(:partOf :Arm))
ClassAssertion(:Hand :mine)
ObjectPropertyAssertion(:partOf :mine :me)
DataPropertyAssertion(:fingers :mine "5"^^xsd:integer)
)
"""
MANCHESTER = """Prefix: : <http://example.org/>
Prefix: owl: <http://www.w3.org/2002/07/owl#>
Prefix: rdfs: <http://www.w3.org/2000/01/rdf-schema#>
Prefix: xsd: <http://www.w3.org/2001/XMLSchema#>
Ontology: <http://example.org/onto>

ObjectProperty: :partOf

DataProperty: :fingers

Class: :Limb
    Annotations: owl:deprecated "true"^^xsd:boolean

Class: :Hand
    Annotations: rdfs:label "Main"@fr, rdfs:label "hand & \\"fist\\""
    SubClassOf: :Limb, :partOf some :Arm

Individual: :mine
    Types: :Hand
    Facts: :partOf :me, :fingers "5"^^xsd:integer
"""
OWL_XML = """<?xml version="1.0"?>
<!DOCTYPE Ontology [ <!ENTITY xsd "http://www.w3.org/2001/XMLSchema#" > ]>
<Ontology xmlns="http://www.w3.org/2002/07/owl#" xml:base="http://example.org/" ontologyIRI="http://example.org/onto">
<Prefix name="rdfs" IRI="http://www.w3.org/2000/01/rdf-schema#"/>
<Prefix name="owl" IRI="http://www.w3.org/2002/07/owl#"/>
<Declaration><Class IRI="http://example.org/Hand"/></Declaration>
<Declaration><Class IRI="http://example.org/Limb"/></Declaration>
<Declaration><ObjectProperty IRI="http://example.org/partOf"/></Declaration>
<SubClassOf><Class IRI="http://example.org/Hand"/><Class IRI="http://example.org/Limb"/></SubClassOf>
<SubClassOf><Class IRI="http://example.org/Hand"/><ObjectSomeValuesFrom>
  <ObjectProperty IRI="http://example.org/partOf"/><Class IRI="http://example.org/Arm"/></ObjectSomeValuesFrom></SubClassOf>
<ClassAssertion><Class IRI="http://example.org/Hand"/><NamedIndividual IRI="http://example.org/mine"/></ClassAssertion>
<ObjectPropertyAssertion><ObjectProperty IRI="http://example.org/partOf"/>
  <NamedIndividual IRI="http://example.org/mine"/><NamedIndividual IRI="http://example.org/me"/></ObjectPropertyAssertion>
<DataPropertyAssertion><DataProperty IRI="http://example.org/fingers"/><NamedIndividual IRI="http://example.org/mine"/>
  <Literal datatypeIRI="&xsd;integer">5</Literal></DataPropertyAssertion>
<AnnotationAssertion><AnnotationProperty abbreviatedIRI="rdfs:label"/>
  <IRI>http://example.org/Hand</IRI><Literal xml:lang="fr">Main</Literal></AnnotationAssertion>
<AnnotationAssertion><AnnotationProperty abbreviatedIRI="rdfs:label"/>
  <IRI>http://example.org/Hand</IRI><Literal datatypeIRI="&xsd;string">hand &amp; "fist"</Literal></AnnotationAssertion>
<AnnotationAssertion><AnnotationProperty abbreviatedIRI="owl:deprecated"/>
  <IRI>http://example.org/Limb</IRI><Literal datatypeIRI="&xsd;boolean">true</Literal></AnnotationAssertion>
</Ontology>
"""
SAID = {
    (f"{E}Hand", f"{RDF}type", f"{OWL}Class"),
    (f"{E}Limb", f"{RDF}type", f"{OWL}Class"),
    (f"{E}partOf", f"{RDF}type", f"{OWL}ObjectProperty"),
    (f"{E}Hand", f"{RDFS}label", "Main", LANGUAGE_STRING, "fr"),
    (f"{E}Hand", f"{RDFS}label", 'hand & "fist"', STRING, ""),
    (f"{E}Limb", f"{OWL}deprecated", "true", f"{XSD}boolean", ""),
    (f"{E}Hand", f"{RDFS}subClassOf", f"{E}Limb"),
    (f"{E}Hand", f"{RDFS}subClassOf", "_:node1"),
    ("_:node1", f"{RDF}type", f"{OWL}Restriction"),
    ("_:node1", f"{OWL}onProperty", f"{E}partOf"),
    ("_:node1", f"{OWL}someValuesFrom", f"{E}Arm"),
    (f"{E}mine", f"{RDF}type", f"{E}Hand"),
    (f"{E}mine", f"{E}partOf", f"{E}me"),
    (f"{E}mine", f"{E}fingers", "5", f"{XSD}integer", ""),
}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *((name, FUNCTIONAL) for name in ("parts.ofn", "parts.ofn.gz", "parts.owl")),
        *((name, OWL_XML) for name in ("parts.owx", "parts.owl", "parts.xml")),
        *((name, MANCHESTER) for name in ("parts.omn", "parts.owl")),
    ],
)
def test_owl(tmp_path: Path, name: str, text: str) -> None:
    graph = read_graph(written(tmp_path, text, name))
    declared = {
        (f"{E}onto", f"{RDF}type", f"{OWL}Ontology"),
        (f"{E}fingers", f"{RDF}type", f"{OWL}DatatypeProperty"),
        (f"{E}mine", f"{RDF}type", f"{OWL}NamedIndividual"),
    }
    found = {*triple_names(graph), *literal_names(graph)}
    assert SAID <= found <= SAID | declared


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "parts.ofn",
            FUNCTIONAL.replace("ClassAssertion(", "Wrong("),
            r"line 12: found 'Wrong\(:Hand :mine\)', expected OWL func",
        ),
        (
            "parts.ofn",
            FUNCTIONAL.replace(":me)", "no:me)"),
            r"line 13: found 'no:me\)' \(undefined prefix\), expected OWL func",
        ),
        ("parts.ofn", "", r"line 1: found the end of a line, expected OWL functional syntax"),
        ("parts.ofn", "Ontology(" + "(" * 5000, r"line 1: found more than 1,000 levels of parentheses"),
        (
            "parts.owl",
            f"Ontology(<a:b>\nSubClassOf({'ObjectComplementOf(' * 20_000}<a:b>{')' * 20_000} <a:c>))",
            r"line 2: found more than 1,000 levels of parentheses",
        ),
        ("parts.owx", OWL_XML.replace("</Ontology>", ""), r"no element found; expected complete, well-formed XML"),
        ("parts.owx", OWL_XML.replace("&xsd;", "&no;"), r"line 16: undefined entity"),
        (
            "parts.owx",
            "<Ontology xmlns='http://www.w3.org/2002/07/owl#'><SubClassOf/></Ontology>",
            r"expected OWL/XML$",
        ),
        ("parts.omn", MANCHESTER.replace("Class: :Hand", "Klass: :Hand"), r"expected Manchester syntax$"),
    ],
)
def test_what_is_not_owl_is_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_graph(written(tmp_path, text, name))
    assert name in str(caught.value)


def test_a_failure_of_the_parser_is_a_fault_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As py-horned-owl fails on some malformed files: not by an Exception."""
    panic = type("PanicException", (BaseException,), {})

    def failing(*_: object) -> None:
        raise panic("end byte index 2505 is not a char boundary")

    monkeypatch.setattr("pyhornedowl.open_ontology_from_string", failing)
    with pytest.raises(InputError, match=r"parts\.omn: found text on which py-horned-owl fails, expected Manchester"):
        read_graph(written(tmp_path, MANCHESTER, "parts.omn"))


def test_an_invalid_language_in_owl_xml_is_skipped(tmp_path: Path) -> None:
    path = written(tmp_path, OWL_XML.replace('"fr"', '"hunengfreeng"'), "parts.owx")
    with pytest.raises(InputError, match=r"parts\.owx: found the language 'hunengfreeng', .*; --lenient skips it$"):
        read_graph(path)
    graph = read_graph(path, Reading(lenient=True))
    assert {value for _, _, value, _, _ in literal_names(graph)} == {'hand & "fist"', "true", "5"}
    assert "1 statement was skipped (found the language 'hunengfreeng'" in graph.notes[0]


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [("parts.ofn", FUNCTIONAL, "OWL functional syntax"), ("parts.owl", OWL_XML, "OWL/XML")],
)
def test_the_missing_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, what: str
) -> None:
    monkeypatch.setitem(sys.modules, "pyhornedowl", None)
    with pytest.raises(InputError, match=re.escape(f"{name}: {what} needs a package: pip install 'emea[owl]'") + "$"):
        read_graph(written(tmp_path, text, name))
