"""What fuzzing found: long relations in RDF/XML, columns whose names are no text, plug-ins that begin with a dot."""

import io
import time
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import NamedNode, Triple

from emea import read_graph
from emea.errors import InputError, SettingsError
from emea.formats._rdfxml import NAME, REVERSED, write_rdf_xml
from emea.settings import load


@given(st.text("ab1-./#:é\u00b7", max_size=12))
def test_the_name_at_the_end_of_an_iri_is_found_from_its_end(iri: str) -> None:
    expected, found = NAME.search(iri), REVERSED.match(iri[::-1])
    assert (None if expected is None else expected[0]) == (None if found is None else found[0][::-1])


def test_a_long_relation_takes_no_time() -> None:
    relation = NamedNode("http://example.org/" + "a" * 200_000 + "/a/" + "b" * 200_000 + "/n")
    begun, file = time.process_time(), io.BytesIO()
    write_rdf_xml(file, [Triple(NamedNode("urn:a"), relation, NamedNode("urn:b"))])
    assert time.process_time() - begun < 2
    assert b"<n:n " in file.getvalue()


def test_a_column_whose_name_is_no_text_is_refused(tmp_path: Path) -> None:
    with pa.ipc.new_file(tmp_path / "a.arrow", pa.schema([("naive", pa.string()), ("other", pa.string())])) as file:
        file.write_table(pa.table({"naive": ["1"], "other": ["2"]}))
    content = (tmp_path / "a.arrow").read_bytes()
    (tmp_path / "a.arrow").write_bytes(content.replace(b"naive", b"\xce\xceive"))
    with pytest.raises(InputError, match=r"a\.arrow cannot be read: 'utf-8' codec can't decode"):
        read_graph(tmp_path / "a.arrow")


def test_a_rule_that_begins_with_a_dot_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"rule '\.rules:Mine' cannot be imported: it begins with a dot"):
        load(assignments=["em.rules=.rules:Mine"]).resolved()
