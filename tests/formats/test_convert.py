"""Conversion between any two formats, and round trips through all of them."""

from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_graphs import graph_of, link_names, literal_names, triple_names

from emea import plugins
from emea.contracts import Format, GraphReader, GraphWriter, PairReader, PairWriter, Reading
from emea.data import LITERAL_SCHEMA, Graph
from emea.errors import InputError, SettingsError
from emea.formats import convert, read_graph, read_known, read_pair_names

FORMATS = [plugins.find("formats", name, Format)() for name in plugins.names("formats")]
GRAPH_WRITERS = {suffix: each for each in FORMATS if isinstance(each, GraphWriter) for suffix in each.suffixes}
PAIR_WRITERS = {suffix: each for each in FORMATS if isinstance(each, PairWriter) for suffix in each.pair_suffixes}
STRING, INTEGER = (f"http://www.w3.org/2001/XMLSchema#{name}" for name in ("string", "integer"))
LANGUAGE_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
Literals = list[tuple[int, str, tuple[str, str]]]


def graph_with(triples: list[tuple[int, int, int]], literals: Literals) -> Graph:
    """A graph of four entities, two relations and one attribute."""
    rows = [(entity, 0, value, datatype, language) for entity, value, (datatype, language) in literals]
    columns = zip(*rows, strict=True) if rows else [[]] * 5
    table = pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, LITERAL_SCHEMA, strict=True)], LITERAL_SCHEMA
    )
    names = ["http://example.org/é", "urn:a:%20b", "_:node1", "http://example.org/c#d?e=f&g=\u5929"]
    relations = ["http://example.org/p", "http://example.org/ü-2"]
    return Graph.build(names, relations, torch.tensor(triples), attributes=["http://example.org/name"], literals=table)


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), max_size=8)
kinds = st.sampled_from([(STRING, ""), (INTEGER, ""), (LANGUAGE_STRING, "fr"), (LANGUAGE_STRING, "zh-hant")])
ids = st.integers(0, 3)
graphs = st.builds(
    graph_with,
    st.lists(st.tuples(ids, st.integers(0, 1), ids), min_size=1, max_size=5),
    st.lists(st.tuples(ids, texts, kinds), max_size=4),
)


@pytest.mark.slow
@settings(max_examples=20)
@given(graphs)
def test_every_graph_format_gives_back_what_it_was_given(
    tmp_path_factory: pytest.TempPathFactory, graph: Graph
) -> None:
    folder = tmp_path_factory.mktemp("graphs")
    for suffix, writer in GRAPH_WRITERS.items():
        for ending in (suffix, f"{suffix}.gz"):
            path = folder / f"graph{ending}"
            writer.write_graph(graph, path)
            found = read_graph(path)
            assert triple_names(found) == triple_names(graph), ending
            assert literal_names(found) == literal_names(graph), ending


def test_breaks_survive_where_the_format_has_room_for_them(tmp_path: Path) -> None:
    graph = graph_with([(0, 0, 1)], [(0, 'a\tb\r\n"c",\rd\n', (STRING, "")), (1, " ", (STRING, ""))])
    for suffix in GRAPH_WRITERS.keys() - {".tsv", ".txt"}:
        GRAPH_WRITERS[suffix].write_graph(graph, tmp_path / f"graph{suffix}")
        assert literal_names(read_graph(tmp_path / f"graph{suffix}")) == literal_names(graph), suffix


names = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), min_size=1, max_size=8
)
rows_of_pairs = st.lists(
    st.tuples(names, st.builds("http://example.org/{}".format, names), st.sampled_from([0, 0.25, 1]), st.booleans()),
    min_size=1,
    max_size=5,
)


def pairs_of(rows: list[tuple[str, str, float, bool]]) -> pa.Table:
    sources, targets, weights, excluded = (list(column) for column in zip(*rows, strict=True))
    strings = [pa.array(column, pa.large_string()) for column in (sources, targets)]
    columns = [*strings, pa.array(weights, pa.float32()), pa.array(excluded)]
    return pa.table(columns, ["source", "target", "weight", "excluded"])


def content(pairs: pa.Table) -> list[tuple[str, str, float, bool]]:
    columns = ("source", "target", "weight", "excluded")
    return list(zip(*(pairs[name].to_pylist() for name in columns), strict=True))


@settings(max_examples=20)
@given(rows_of_pairs)
def test_every_pair_format_gives_back_what_it_was_given(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, float, bool]]
) -> None:
    folder = tmp_path_factory.mktemp("pairs")
    for suffix in PAIR_WRITERS.keys() - {".nt", ".ttl"}:  # which hold IRIs only, and no weights
        PAIR_WRITERS[suffix].write_pairs(pairs_of(rows), folder / f"pairs{suffix}")
        assert content(read_pair_names(folder / f"pairs{suffix}")) == rows, suffix


PAIRS = [("http://a.org/é", "http://b.org/%C3%A9", 1.0, False), ("http://a.org/'x'", "urn:y", 1.0, True)]


def from_each_to_each(suffixes: Iterable[str]) -> list[Any]:
    """Every two of them; the quick tests read each once and write each once."""
    known = sorted(suffixes)
    quick = set(zip(known, known[1:] + known[:1], strict=True))
    return [pytest.param(*two, marks=() if two in quick else pytest.mark.slow) for two in product(known, repeat=2)]


@pytest.mark.parametrize(("first", "second"), from_each_to_each(PAIR_WRITERS))
def test_pairs_from_any_format_to_any(tmp_path: Path, first: str, second: str) -> None:
    source, target = tmp_path / f"pairs{first}.gz", tmp_path / f"converted{second}"
    PAIR_WRITERS[first].write_pairs(pairs_of(PAIRS), source)
    assert convert(source, target) == f"2 pairs written to {target}, 1 of them exclusions"
    assert content(read_pair_names(target)) == PAIRS


@pytest.mark.parametrize(("first", "second"), from_each_to_each(GRAPH_WRITERS))
def test_graphs_from_any_format_to_any(tmp_path: Path, first: str, second: str) -> None:
    graph = graph_with([(0, 0, 1), (2, 1, 3)], [(0, "x", (LANGUAGE_STRING, "fr"))])
    source, target = tmp_path / f"graph{first}", tmp_path / f"converted{second}.gz"
    GRAPH_WRITERS[first].write_graph(graph, source)
    assert convert(source, target) == f"2 triples and 1 literals written to {target}"
    assert (triple_names(read_graph(target)), literal_names(read_graph(target))) == (
        triple_names(graph),
        literal_names(graph),
    )


SAME = "<a:a> <http://www.w3.org/2002/07/owl#sameAs> <a:b> .\n"


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("x.nt", SAME, "pairs"),
        ("x.nt", SAME + "<a:a> <a:p> <a:b> .\n", "triples"),
        ("x.tsv", "a\tb\n", "pairs"),
        ("x.tsv", "a\tp\tb\n", "triples"),
        ("x.tsv", "a\tb\t0.5\n", "pairs"),
        ("x.tsv", "2\t0\t1\n", "triples"),
        ("x.csv", "source,target,weight\na,b,1\n", "pairs"),
        ("x.csv", "Source,Target,Confidence,Similarity\na,b,1,-0.5\n", "pairs"),
        ("x.csv", "head,relation,tail,kind\na,p,b,entity\n", "triples"),
        ("x", "a\tb\n", "pairs"),
        ("x.owl", "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns:e='urn:'>"
         "<rdf:Description rdf:about='a:a' e:p='x'/></rdf:RDF>", "triples"),
    ],
)  # fmt: skip
def test_what_a_file_holds_is_detected(tmp_path: Path, name: str, text: str, kind: str) -> None:
    (tmp_path / name).write_text(text)
    assert f" {kind} " in convert(tmp_path / name, tmp_path / "converted.csv")


def test_the_kind_can_be_given(tmp_path: Path) -> None:
    source = tmp_path / "x.nt"
    source.write_text(SAME)
    assert convert(source, tmp_path / "x.tsv", kind="graph").startswith("1 triples and 0 literals")
    with pytest.raises(InputError, match=r"found the suffix '\.nq', expected one for pairs: \.csv"):
        convert(source, tmp_path / "x.nq", kind="pairs")
    with pytest.raises(InputError, match=r"found the suffix '\.sssom\.tsv', expected one for a graph: \.csv"):
        convert(source, tmp_path / "x.sssom.tsv", kind="graph")
    with pytest.raises(SettingsError, match="found --graph for pairs, expected a graph"):
        convert(source, tmp_path / "x.tsv", kind="pairs", reading=Reading(graph="a:g"))


def test_a_named_graph_can_be_converted(tmp_path: Path) -> None:
    (tmp_path / "x.nq").write_text("<a:a> <a:p> <a:b> <a:g> .\n<a:a> <a:p> <a:c> .\n")
    convert(tmp_path / "x.nq", tmp_path / "x.tsv", reading=Reading(graph="a:g"))
    assert triple_names(read_graph(tmp_path / "x.tsv")) == {("a:a", "a:p", "a:b")}
    with pytest.raises(SettingsError, match=r"found --graph for .*x\.tsv, expected none: TSV and CSV"):
        read_graph(tmp_path / "x.tsv", Reading(graph="a:g"))


def test_what_was_skipped_is_reported(tmp_path: Path) -> None:
    (tmp_path / "x.ttl").write_text(SAME + "<a:a> <a:p> <a:b> .")
    found = convert(tmp_path / "x.ttl", tmp_path / "x.tsv", kind="pairs")
    assert found == f"1 pairs written to {tmp_path / 'x.tsv'}; skipped: 1 with other relations"


def test_exclusions_are_not_links(tmp_path: Path) -> None:
    source, target = graph_of(["a", "b"]), graph_of(["x", "y"])
    rows = [("a", "x", 1.0, False), ("a", "y", 1.0, True), ("b", "y", 1.0, True), ("b", "y", 0.5, True)]
    PAIR_WRITERS[".tsv"].write_pairs(pairs_of(rows), tmp_path / "pairs.tsv")
    known = read_known(tmp_path / "pairs.tsv", source, target)
    assert link_names(known.seeds, known) == {("a", "x")}
    assert link_names(known.exclusions, known) == {("a", "y"), ("b", "y")}
    assert len(known.exclusions) == 2
    with pytest.raises(InputError, match=r"line 3: found 'y', expected an entity of the target graph"):
        read_known(tmp_path / "pairs.tsv", source, graph_of(["x"]))


def test_what_is_written_can_be_read() -> None:
    for each in FORMATS:
        assert isinstance(each, PairReader) or not isinstance(each, PairWriter)
        assert isinstance(each, GraphReader) or not isinstance(each, GraphWriter)
