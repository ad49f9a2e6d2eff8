"""The embedded example `world`: sizes, true links, and that no key shows through."""

import gzip
import re
from pathlib import Path
from typing import NamedTuple

import pytest
from pyoxigraph import Literal, NamedNode, RdfFormat, parse

WORLD = Path(__file__).parents[1] / "src" / "emea" / "examples" / "world"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
EDITORS = ("cldr", "geonames")
COUNTERPARTS = {
    "territory": "country",
    "group of territories": "continent",
    "currency": "currency unit",
    "language": "tongue",
    "zone": "time zone",
}


class Row(NamedTuple):
    """One triple, its value being another entity or a literal."""

    subject: str
    relation: str
    value: NamedNode | Literal


def read_graph(editor: str) -> list[Row]:
    """The triples of one graph in the order of the file."""
    rows = []
    turtle = gzip.decompress((WORLD / f"{editor}.ttl.gz").read_bytes())
    for quad in parse(turtle, format=RdfFormat.TURTLE):
        assert isinstance(quad.subject, NamedNode)
        assert isinstance(quad.object, NamedNode | Literal)
        rows.append(Row(quad.subject.value, quad.predicate.value, quad.object))
    return rows


GRAPHS = {editor: read_graph(editor) for editor in EDITORS}


def entities(editor: str) -> set[str]:
    """All entities of one graph, whichever end of a triple they are at."""
    values = {row.value.value for row in GRAPHS[editor] if isinstance(row.value, NamedNode)}
    return values | {row.subject for row in GRAPHS[editor]}


def kinds(editor: str) -> dict[str, str]:
    """What each entity is said to be."""
    relation = f"http://{editor}.example/vocabulary/kind"
    return {row.subject: row.value.value for row in GRAPHS[editor] if row.relation == relation}


def links() -> list[list[str]]:
    """The rows of the true links, without the header."""
    rows = (WORLD / "links.tsv").read_text(encoding="utf-8").splitlines()
    assert rows[0] == "source\ttarget"
    return [row.split("\t") for row in rows[1:]]


def test_sizes() -> None:
    assert 1500 <= len(entities("cldr")) <= 1900
    assert 3000 <= len(entities("geonames")) <= 3250
    assert 940 <= len(links()) <= 1010


def test_links_are_one_to_one_and_between_the_graphs() -> None:
    sources = [source for source, _ in links()]
    targets = [target for _, target in links()]
    assert len(set(sources)) == len(sources)
    assert len(set(targets)) == len(targets)
    assert set(sources) < entities("cldr")
    assert set(targets) < entities("geonames")


def test_links_join_what_is_of_the_same_kind() -> None:
    source_kinds, target_kinds = kinds("cldr"), kinds("geonames")
    joined = {(source_kinds[source], target_kinds[target]) for source, target in links()}
    assert joined == set(COUNTERPARTS.items())


def test_links_are_found_where_the_labels_agree() -> None:
    """A check of the links from outside: countries that bear the same English name are linked."""
    named: dict[str, dict[str, str]] = {}
    for editor, kind in zip(EDITORS, ("territory", "country"), strict=True):
        members = {entity for entity, found in kinds(editor).items() if found == kind}
        named[editor] = {
            row.value.value: row.subject
            for row in GRAPHS[editor]
            if row.relation == LABEL
            and isinstance(row.value, Literal)
            and row.value.language in (None, "en")
            and row.subject in members
        }
    common = named["cldr"].keys() & named["geonames"].keys()
    true = dict(links())
    assert len(common) > 180
    assert all(true[named["cldr"][name]] == named["geonames"][name] for name in common)


@pytest.mark.parametrize("editor", EDITORS)
def test_every_entity_has_one_kind_and_a_relation(editor: str) -> None:
    relation = f"http://{editor}.example/vocabulary/kind"
    said = [row.subject for row in GRAPHS[editor] if row.relation == relation]
    related = {
        end for row in GRAPHS[editor] if isinstance(row.value, NamedNode) for end in (row.subject, row.value.value)
    }
    assert sorted(said) == sorted(entities(editor))
    assert related == entities(editor)


@pytest.mark.parametrize("editor", EDITORS)
def test_identifiers_are_opaque_and_give_the_order(editor: str) -> None:
    opaque = re.compile(rf"http://{editor}\.example/entity/[0-9a-f]{{8}}")
    assert all(opaque.fullmatch(entity) for entity in entities(editor))
    subjects = [row.subject for row in GRAPHS[editor]]
    assert subjects == sorted(subjects)
    assert links() == sorted(links())


@pytest.mark.parametrize("editor", EDITORS)
def test_no_literal_is_a_code(editor: str) -> None:
    code = re.compile(r"[A-Z]{2,3}|[A-Z][A-Za-z]+(/[A-Za-z0-9_+-]+)+|https?://.*")
    texts = {row.value.value for row in GRAPHS[editor] if isinstance(row.value, Literal)}
    assert not [text for text in texts if code.fullmatch(text.strip())]
    assert not [text for text in texts if not text.strip()]


def test_the_graphs_share_only_the_label() -> None:
    relations = [{row.relation for row in GRAPHS[editor]} for editor in EDITORS]
    assert relations[0] & relations[1] == {LABEL}
    for editor, used in zip(EDITORS, relations, strict=True):
        prefix = f"http://{editor}.example/vocabulary/"
        assert all(relation.startswith(prefix) for relation in used - {LABEL})
    assert not entities("cldr") & entities("geonames")
    assert not set(kinds("cldr").values()) & set(kinds("geonames").values())


def test_notice_names_sources_and_licences() -> None:
    notice = (WORLD / "NOTICE").read_text(encoding="utf-8")
    for phrase in ("UNICODE LICENSE V3", "Unicode, Inc.", "CC BY 4.0", "GeoNames", "MIT licence"):
        assert phrase in notice
