"""The W3C's test suites: what is right is read as it should be, what is wrong is refused with its line."""

import re
import tarfile
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pyoxigraph import BlankNode, CanonicalizationAlgorithm, Dataset, DefaultGraph, Literal, NamedNode, Quad, parse
from small_graphs import literal_names, triple_names

from emea.contracts import PLAIN, Reading
from emea.data import Graph
from emea.errors import InputError
from emea.formats import rdf
from emea.formats._quads import open_quads
from emea.formats._salvage import salvaged
from emea.formats._skipped import Skipped
from emea.formats._triples import row_blocks

ARCHIVE = Path(__file__).parent / "w3c" / "suites.tar.xz"
MANIFEST = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
HOMES = {
    "ntriples": "http://www.w3.org/2013/N-TriplesTests/",
    "nquads": "http://www.w3.org/2013/N-QuadsTests/",
    "turtle": "http://www.w3.org/2013/TurtleTests/",
    "trig": "http://www.w3.org/2013/TriGTests/",
    "rdf-xml": "http://www.w3.org/2013/RDFXMLTests/",
}
CASES = {"ntriples": (41, 27), "nquads": (53, 32), "turtle": (209, 82), "trig": (232, 103), "rdf-xml": (122, 40)}
CANONICAL_XML = "xml-canon-test001"  # its result is in canonical XML, which RDF 1.1 does not ask of parsers
MENDED = {  # wrong, but read whole: dots too many or too few, directives inside a graph, an rdf:ID twice
    "turtle": {f"turtle-syntax-bad-{end}" for end in ("base-03", "struct-09", "struct-10")},
    "trig": {"trig-graph-bad-02", "trig-graph-bad-06"}
    | {f"trig-syntax-bad-{end}" for end in ("base-03", "base-04", "base-05", "prefix-06", "prefix-07")}
    | {f"trig-syntax-bad-{end}" for end in ("struct-09", "struct-10")},
    "rdf-xml": {"rdfms-difference-between-ID-and-about-error1"},
}
Statement = tuple[str, ...]
Name = NamedNode | BlankNode | DefaultGraph


@dataclass(frozen=True)
class Case:
    name: str
    action: Path
    iri: str
    result: Path | None


@pytest.fixture(scope="module")
def suites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("w3c")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder


def cases(suites: Path, suite: str, *, negative: bool) -> list[Case]:
    """The cases of a suite that its manifest lists."""
    home, folder = HOMES[suite], suites / suite
    said: dict[str, dict[str, str]] = {}
    for quad in parse(path=folder / "manifest.ttl", base_iri=home + "manifest.ttl"):
        if isinstance(quad.subject, NamedNode):
            said.setdefault(quad.subject.value, {})[quad.predicate.value] = quad.object.value
    found = []
    for each in said.values():
        if MANIFEST + "action" in each and ("Negative" in each[TYPE]) == negative:
            action, result = (each.get(MANIFEST + end) for end in ("action", "result"))
            path = folder / result.removeprefix(home) if result else None
            assert action is not None
            found.append(Case(each[MANIFEST + "name"], folder / action.removeprefix(home), action, path))
    return found


def canonical(quads: list[Quad]) -> Dataset | set[Statement]:
    """Statements to compare: as names or, if there are blank nodes, as a graph whose blank nodes are renamed."""
    if any(isinstance(term, BlankNode) for quad in quads for term in quad):
        found = Dataset(quads)
        found.canonicalize(CanonicalizationAlgorithm.UNSTABLE)
        return found
    return {
        (head.value, relation.value, tail.value, tail.datatype.value, tail.language or "")
        if isinstance(tail, Literal)
        else (head.value, relation.value, tail.value)
        for head, relation, tail, _ in quads
    }


def statements(graph: Graph) -> Dataset | set[Statement]:
    names = {*triple_names(graph), *literal_names(graph)}
    if not any(name.startswith("_:") for name in graph.entities.to_pylist()):
        return names
    return canonical([Quad(*triple) for block in row_blocks(graph) for triple in rdf._triples(block)])


def by_graph(path: Path) -> dict[Name, Dataset | set[Statement]]:
    """The statements in a file of results, by graph; one of the results has an IRI that is not valid."""
    found: dict[Name, list[Quad]] = {DefaultGraph(): []}
    for head, relation, tail, graph in parse(path=path, lenient=True):
        found.setdefault(graph, []).append(Quad(head, relation, tail))
    return {name: canonical(quads) for name, quads in found.items()}


def graph_names(case: Case) -> list[str | None]:
    """The names of the graphs in a file that can be asked for: not those of graphs without a name of their own."""
    quads = list(parse(path=case.action, base_iri=case.iri))
    names = {quad.graph_name for quad in quads if not isinstance(quad.graph_name, DefaultGraph)}
    text = case.action.read_text()
    named = [name.value if isinstance(name, NamedNode) else str(name) for name in names]
    asked = sorted(name for name in named if not name.startswith("_:") or name in text)
    has_default = any(isinstance(quad.graph_name, DefaultGraph) for quad in quads) or not names
    return [*([None] if has_default else []), *asked]


def check(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read all graphs of a case and compare them with its result."""
    monkeypatch.setattr("emea.formats._quads.own_iri", lambda _: case.iri)
    found = {name: rdf.RDF().read_graph(case.action, Reading(graph=name)) for name in graph_names(case)}
    if case.result is None or case.name == CANONICAL_XML:
        return
    expected = by_graph(case.result)
    blank = [name for name in expected if isinstance(name, BlankNode)]
    for name, graph in found.items():
        if name is None:
            assert statements(graph) == expected[DefaultGraph()], case.name
        elif name.startswith("_:"):
            assert statements(graph) in [expected[each] for each in blank], case.name
        else:
            assert statements(graph) == expected[NamedNode(name)], case.name
    named = {name.value for name in expected if isinstance(name, NamedNode)}
    assert named == {name for name in found if name is not None and not name.startswith("_:")}, case.name


@pytest.mark.parametrize("suite", HOMES)
def test_what_is_right_is_read(suites: Path, suite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    positive = cases(suites, suite, negative=False)
    assert len(positive) == CASES[suite][0]
    for case in positive:
        check(case, monkeypatch)


@pytest.mark.parametrize("suite", HOMES)
def test_what_is_wrong_is_refused_with_its_line(suites: Path, suite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    negative = cases(suites, suite, negative=True)
    assert len(negative) == CASES[suite][1]
    for case in negative:
        monkeypatch.setattr("emea.formats._quads.own_iri", lambda _, iri=case.iri: iri)
        with pytest.raises(InputError, match=rf"{re.escape(str(case.action))}, line \d+"):
            rdf.RDF().read_graph(case.action)


def test_canonical_xml(suites: Path) -> None:
    (case,) = [case for case in cases(suites, "rdf-xml", negative=False) if case.name == CANONICAL_XML]
    assert case.result is not None
    ((*found, value, kind, _),) = literal_names(rdf.RDF().read_graph(case.action))
    ((*expected, result, datatype, _),) = literal_names(rdf.RDF().read_graph(case.result))
    assert (found, ElementTree.canonicalize(value), kind) == (expected, result, datatype)


@pytest.mark.parametrize("suite", HOMES)
def test_files_read_in_pieces_hold_the_same(suites: Path, suite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emea.formats._salvage.BATCH", 2)
    for case in cases(suites, suite, negative=False):
        for module in ("_quads", "_salvage"):
            monkeypatch.setattr(f"emea.formats.{module}.own_iri", lambda _, iri=case.iri: iri)
        skipped = Skipped(case.action)
        in_pieces = canonical(list(salvaged(case.action, PLAIN, skipped).quads))
        assert skipped.notes() == (), case.name
        with open_quads(case.action) as opened:
            assert in_pieces == canonical(list(opened.quads)), case.name


@pytest.mark.parametrize("suite", HOMES)
def test_what_is_wrong_is_skipped_and_the_rest_is_read(suites: Path, suite: str) -> None:
    mended = set()
    for case in cases(suites, suite, negative=True):
        skipped = Skipped(case.action)
        list(salvaged(case.action, PLAIN, skipped).quads)
        if not skipped.notes():
            mended.add(case.name)
        else:
            assert re.search(r"statements? (was|were) skipped \(line \d+: ", skipped.notes()[0]), case.name
    assert mended == MENDED.get(suite, set())
