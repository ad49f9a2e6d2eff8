"""SSSOM/TSV, read back with sssom-pydantic."""

from pathlib import Path
from urllib.parse import unquote

import curies
import plain_curies
import pyarrow as pa
import pytest
import sssom_pydantic
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_graphs import aligned, graph_of

from emea.data import LITERAL_SCHEMA, Alignment, Graph, Links, Task
from emea.errors import InputError, SettingsError
from emea.formats import read_benchmark, read_pairs
from emea.formats._curies import OWN_NAMESPACE
from emea.formats._curies import shorten as shorten_array
from emea.formats._files import BREAK
from emea.formats.sssom import SSSOM

SOURCES = [
    "http://zh.dbpedia.org/resource/天空之城",
    "http://zh.dbpedia.org/resource/Beep!!",
    "http://example.org/Category:Zürich",
    "http://example.org/a'b",
    "http://example.org/thing#ü",
    "http://example.org/",
    "http://www.w3.org/2004/02/skos/core#Concept",
    "urn:contea:fr:32405",
    "_:node1",
    'plain "name" 50% | é#',
]
TARGETS = [f"http://dbpedia.org/resource/Target_{number}" for number in range(len(SOURCES))]


def read_names(path: Path) -> tuple[sssom_pydantic.SemanticMappingPack, list[str], list[str]]:
    pack = sssom_pydantic.read(path)
    columns = []
    for side, end in (("source", "subject"), ("target", "object")):
        expanded = [
            unquote(pack.converter.expand(getattr(mapping, end).curie, strict=True)) for mapping in pack.mappings
        ]
        columns.append([name.removeprefix(f"{OWN_NAMESPACE}{side}/") for name in expanded])
    return pack, columns[0], columns[1]


def test_names_and_numbers_survive(tmp_path: Path) -> None:
    alignment, task = aligned(SOURCES, TARGETS)
    SSSOM().write_alignment(alignment, task, tmp_path / "links.sssom.tsv")
    pack, sources, targets = read_names(tmp_path / "links.sssom.tsv")
    assert len(pack.mappings) == len(SOURCES)
    assert dict(zip(sources, targets, strict=True)) == dict(zip(SOURCES, TARGETS, strict=True))
    confidence = dict(zip(SOURCES, alignment.confidence.tolist(), strict=True))
    for name, mapping in zip(sources, pack.mappings, strict=True):
        assert mapping.confidence == pytest.approx(confidence[name], rel=1e-5)
        assert mapping.similarity_score == pytest.approx(max(0, confidence[name] - 0.5), abs=1e-6)
        assert mapping.predicate.curie == "owl:sameAs"
        assert mapping.justification.curie == "semapv:CompositeMatching"
        assert mapping.cardinality == "1:1"
        assert mapping.similarity_measure == "cosine"
        assert mapping.mapping_tool is not None
        assert mapping.mapping_tool.name == "emea"
        assert mapping.mapping_tool.version
        assert mapping.mapping_date is None


def test_the_file_is_plain_text_that_any_reader_accepts(tmp_path: Path) -> None:
    path = tmp_path / "links.sssom.tsv"
    SSSOM().write_alignment(*aligned(SOURCES, TARGETS), path)
    first = path.read_bytes()
    SSSOM().write_alignment(*aligned(SOURCES, TARGETS), path)
    assert path.read_bytes() == first
    lines = first.decode("ascii").splitlines()
    table = [line.split("\t") for line in lines if not line.startswith("#")]
    assert len(table) == len(SOURCES) + 1
    assert {len(row) for row in table} == {7}
    for row in table[1:]:
        for curie in (row[0], row[2]):
            prefix, _, local = curie.partition(":")
            assert any(line.startswith(f"#  {prefix}: ") for line in lines)
            assert local[0].isalnum() or local[0] == "_"
            assert not set(local) & set("\"'#|<> ")
            assert ":" not in local.partition("/")[0]


def test_labels_and_cardinality_are_read_back(tmp_path: Path) -> None:
    path, texts = tmp_path / "links.sssom.tsv", ['say "ah"', '"quoted"', "天\tand | comma, it's", None]
    names = pa.array([f"http://e.org/{number}" for number in range(4)], pa.large_string())
    rows = [(number, 0, text, "", "") for number, text in enumerate(texts) if text is not None]
    literals = pa.table([list(column) for column in zip(*rows, strict=True)], schema=LITERAL_SCHEMA)
    source = Graph.build(names, [], torch.empty(0, 3, dtype=torch.int64), attributes=["name"], literals=literals)
    one = torch.ones(4)
    links = Alignment(torch.tensor([0, 1, 2, 3]), torch.tensor([0, 0, 1, 2]), one, one)
    SSSOM().write_alignment(links, Task(source, graph_of(TARGETS), Links.empty()), path)
    mappings = sssom_pydantic.read(path).mappings
    assert [mapping.subject.name for mapping in mappings] == ['say "ah"', '"quoted"', "天 and | comma, it's", None]
    assert [mapping.cardinality for mapping in mappings] == ["n:1", "n:1", "1:1", "1:1"]
    assert "object_label" not in path.read_text()  # nothing to say
    assert SSSOM().read_pairs(path)["source"].to_pylist() == names.to_pylist()


def test_id_and_licence_can_be_given(tmp_path: Path) -> None:
    path = tmp_path / "links.sssom.tsv.gz"
    writer = SSSOM("https://example.org/set", licence="https://creativecommons.org/licenses/by/4.0/")
    writer.write_alignment(*aligned(["a:a"], ["a:b"]), path)
    pack = sssom_pydantic.read(path)
    assert str(pack.mapping_set.id) == "https://example.org/set"
    assert str(pack.mapping_set.license) == "https://creativecommons.org/licenses/by/4.0/"
    with pytest.raises(SettingsError, match="found the licence mine, expected an http or https IRI"):
        SSSOM(licence="mine").write_alignment(*aligned(["a:a"], ["a:b"]), path)
    with pytest.raises(SettingsError, match="found the mapping set id urn:x, expected an http or https IRI"):
        SSSOM("urn:x")


def test_an_empty_alignment_is_a_valid_set(tmp_path: Path) -> None:
    path = tmp_path / "links.sssom.tsv"
    SSSOM().write_alignment(*aligned([], []), path)
    assert sssom_pydantic.read(path).mappings == []


def test_a_missing_folder_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        SSSOM().write_alignment(*aligned(["a:a"], ["a:b"]), tmp_path / "none" / "links.sssom.tsv")


def test_rare_namespaces_get_no_prefix_of_their_own() -> None:
    names = [f"http://example.org/resource/{number}" for number in range(300)]
    names += ["http://example.org/resource/AC/DC", "https://elsewhere.org/x/y"]
    curies_found, prefixes = shorten(names, "source", {})
    assert prefixes == {"source": "http://example.org/resource/", "source2": "https://"}
    assert curies_found[-2:] == ["source:AC/DC", "source2:elsewhere.org/x/y"]


def shorten(names: list[str], side: str, prefixes: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    found, declared = shorten_array(pa.array(names, pa.large_string()), side, prefixes)
    return found.to_pylist(), declared


def test_both_sides_share_the_prefix_of_a_namespace() -> None:
    _, prefixes = shorten(["http://example.org/a"], "source", {})
    found, prefixes = shorten(["http://example.org/b", "http://other.org/c"], "target", prefixes)
    assert found == ["source:b", "target:c"]
    assert prefixes == {"source": "http://example.org/", "target": "http://other.org/"}


def test_encoded_characters_stay_encoded() -> None:
    name = "http://example.org/AC%2FDC_100%_é"
    (curie,), prefixes = shorten([name], "source", {})
    assert curies.Converter.from_prefix_map(prefixes).expand(curie) == "http://example.org/AC%2FDC_100%25_%C3%A9"


def rows(pairs: pa.Table) -> list[tuple[str, str, float, bool, int]]:
    columns = ("source", "target", "weight", "excluded", "line")
    return list(zip(*(pairs[name].to_pylist() for name in columns), strict=True))


def read(tmp_path: Path, text: str) -> pa.Table:
    path = tmp_path / "links.sssom.tsv"
    path.write_text(text, encoding="utf-8")
    return SSSOM().read_pairs(path)


HEADER = "subject_id\tpredicate_id\tobject_id\tmapping_justification\tconfidence\tpredicate_modifier\n"


def test_foreign_sets_are_read_as_they_stand(tmp_path: Path) -> None:
    text = f"""#curie_map:
#  ex: http://example.org/
#license: "https://example.org/licence"
#subject_source: ex:one
{HEADER}ex:a%20b\tskos:exactMatch\tex:é\tsemapv:LexicalMatching\t0.5\t
"ex:say ""a"\towl:sameAs\thttp://else.org/x:y\tsemapv:LexicalMatching\t\tNot
ex:a\tskos:broadMatch\tex:b\tsemapv:LexicalMatching\t1\t
ex:a\tskos:broadMatch\tex:c\tsemapv:LexicalMatching\t1\tNot
ex:a\towl:sameAs\tsssom:NoTermFound\tsemapv:LexicalMatching\t1\t
\towl:sameAs\tex:b\tsemapv:LexicalMatching\t1\t
ex:c\towl:equivalentClass\tex:d\tsemapv:LexicalMatching\t1\t
"""
    pairs = read(tmp_path, text)
    assert rows(pairs) == [
        ("http://example.org/a%20b", "http://example.org/é", 0.5, False, 6),
        ('http://example.org/say "a', "http://else.org/x:y", 1, True, 7),
        ("http://example.org/a", "", 1, True, 10),  # has no counterpart
        ("http://example.org/c", "http://example.org/d", 1, False, 12),
    ]
    skipped = b"1 with no subject, predicate or object, 2 with skos:broadMatch"
    assert pairs.schema.metadata[b"skipped"] == skipped


def test_metadata_slots_apply_to_all_rows(tmp_path: Path) -> None:
    text = "#mapping_tool: emea\n#confidence: 0.5\n#curie_map: {ex: 'urn:'}\nsubject_id\tpredicate_id\tobject_id\n"
    pairs = read(tmp_path, f"{text}ex:%C3%A9\towl:sameAs\tex:b\n")
    assert rows(pairs) == [("urn:é", "urn:b", 0.5, False, 5)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"{HEADER}no:a\towl:sameAs\tno:b\tx\t1\t\n",
            r"line 2: found 'no:a', expected a CURIE .* curie_map \(owl, rdf",
        ),
        (f"{HEADER}owl:a\towl:sameAs\towl:b\tx\t2\t\n", r"line 2: found the weight '2', expected a number from 0 to 1"),
        (f"{HEADER}owl:a\towl:sameAs\n", "line 2: found 2 columns, expected 6"),
        (
            "#a: b\nsubject_id\tobject_id\n",
            "line 2: found no column predicate_id, expected subject_id, predicate_id, object_id",
        ),
        (f"#a: b\n#c: [\n{HEADER}", "line 2: .*; expected metadata in YAML"),
        (f"#- a\n{HEADER}", "line 1: found metadata without slots"),
        (f"#{'[' * 5000}\n{HEADER}", "found metadata nested too deeply"),
        (f"#curie_map: [a]\n{HEADER}", "found an invalid curie_map, expected prefixes with their IRIs"),
        (f"#a: {'x' * (1 << 20)}\n{HEADER}", "found more than 1,048,576 characters of metadata"),
        (f'{HEADER}"owl:a\n', "line 2: .*expected standard CSV quoting"),
        (
            f"{HEADER}owl:a\tskos:broadMatch\towl:b\tx\t1\t\n",
            "found no pairs, only 1 with skos:broadMatch; expected rows",
        ),
    ],
)
def test_broken_sets_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, text)
    assert "links.sssom.tsv" in str(caught.value)


locals_of_iris = st.text(
    st.characters(min_codepoint=33, exclude_categories=["Cs", "Cc", "Z"], exclude_characters='<>"{}|\\^`%'), min_size=1
)
names_of_entities = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="%"), min_size=1, max_size=12),
    st.builds("http://example.org/{}".format, locals_of_iris),
    st.builds("http://example.org/ns#{}".format, locals_of_iris),
    st.builds("urn:{}".format, locals_of_iris),
)


PIECES = st.sampled_from(
    ["http://e.org/", "https://f/", "urn:", "a", "Zü", "天", "%", "%C3", "/", "#", ":", "'", "|", " ", "\u3000", "_"]
)


@given(st.lists(st.one_of(names_of_entities, st.lists(PIECES, min_size=1, max_size=5).map("".join)), max_size=12))
def test_many_names_are_shortened_as_one_by_one(names: list[str]) -> None:
    assert shorten(names, "source", {"owl": "http://e.org/a/"}) == plain_curies.shorten(
        names, "source", {"owl": "http://e.org/a/"}
    )


@given(st.lists(names_of_entities, min_size=1, max_size=8, unique=True))
def test_any_name_is_recovered(names: list[str]) -> None:
    found, prefixes = shorten(names, "source", {})
    converter = curies.Converter.from_prefix_map(prefixes)
    expanded = [unquote(converter.expand(curie, strict=True)) for curie in found]
    assert [name.removeprefix(f"{OWN_NAMESPACE}source/") for name in expanded] == names
    assert all(curie.isascii() and curie.isprintable() and " " not in curie for curie in found)


@given(
    st.lists(
        st.one_of(names_of_entities, st.from_regex(r"\A(http://e/|urn:emea:source/)?(%[0-9A-Fa-f]{0,2}|é|\"){1,4}\Z")),
        min_size=1,
    )
)
def test_every_name_is_read_back(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    names = [name for name in names if not BREAK.search(name)] or ["a%20b"]
    path = tmp_path_factory.mktemp("sssom") / "links.sssom.tsv"
    strings = pa.array(names, pa.large_string())
    weights = pa.array([0.25] * len(names), pa.float32())
    SSSOM().write_pairs(pa.table({"source": strings, "target": strings, "weight": weights}), path)
    found = SSSOM().read_pairs(path)
    assert found["source"].to_pylist() == found["target"].to_pylist() == names
    assert set(found["weight"].to_pylist()) == {0.25}
    assert len(sssom_pydantic.read(path).mappings) == len(names)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["zh_en", "fr_en"])
def test_fifteen_thousand_links_are_read_back(benchmark_data: Path, tmp_path: Path, name: str) -> None:
    task, _ = read_benchmark(benchmark_data / "dbp15k" / name, ratio=1.0)
    path, count = tmp_path / "links.sssom.tsv", len(task.seeds)
    weight = torch.linspace(0, 1, count)
    SSSOM().write_alignment(Alignment(task.seeds.source, task.seeds.target, weight, weight), task, path)
    links, order = read_pairs(path, task.source, task.target), task.seeds.source.argsort()
    assert count == 15_000
    assert torch.equal(links.source, task.seeds.source[order])
    assert torch.equal(links.target, task.seeds.target[order])
    assert torch.allclose(links.weight, weight[order], atol=1e-5)
    assert len(sssom_pydantic.read(path).mappings) == count
