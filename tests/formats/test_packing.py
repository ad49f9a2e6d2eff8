"""Files as they come: compressed in three ways, and those that no format reads."""

import bz2
import gzip
import lzma
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from small_graphs import literal_names

from emea.contracts import Reading
from emea.errors import InputError
from emea.formats import convert, read_graph, read_pair_names
from emea.formats._quads import own_iri

TURTLE = "".join(f'<urn:e{n}> <urn:name> "{n * n}" .\n' for n in range(2_000)).encode()
WAYS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("packed", WAYS)
@pytest.mark.parametrize("name", ["a.ttl", "a.nt"])
def test_compressed_files_are_read_and_written(name: str, packed: str, tmp_path: Path) -> None:
    path = tmp_path / (name + packed)
    path.write_bytes(WAYS[packed](TURTLE))
    assert len(read_graph(path).entities) == 2_000
    convert(path, again := tmp_path / f"b.csv{packed}")
    assert literal_names(read_graph(again)) == literal_names(read_graph(path))
    first = again.read_bytes()
    convert(path, again)
    assert again.read_bytes() == first
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(
        InputError, match=r"cannot be read: .*Compressed file ended .*; --lenient reads what comes before"
    ):
        read_graph(path)
    if packed != ".bz2":  # whose blocks are larger than this file
        assert len(read_graph(path, Reading(lenient=True)).entities) < 2_000
    path.write_bytes(b"no such thing at all" * 10)
    with pytest.raises(InputError, match=r"cannot be read: "):
        read_graph(path)


def test_names_do_not_depend_on_compression(tmp_path: Path) -> None:
    assert own_iri(tmp_path / "a.ttl.bz2") == own_iri(tmp_path / "a.ttl")
    (tmp_path / "pairs.tsv.xz").write_bytes(lzma.compress(b"a\tb\n"))
    assert read_pair_names(tmp_path / "pairs.tsv.xz").num_rows == 1


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("a.zip", "unpack it first"), ("a.csv.ZIP", "unpack it first"), ("a.xls", r"save it as \.xlsx or \.csv"),
        ("a.accdb", "export its tables as CSV"),
        ("a.bib", "convert it to CSV, JSON or XML"), ("a.tab", r"call it \.txt"),
    ],
)  # fmt: skip
def test_what_no_format_reads_is_told_what_to_become(name: str, hint: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(
        InputError, match=rf"found the suffix '\.\w+', expected a file that 'emea formats' lists; .*{hint}"
    ):
        read_graph(tmp_path / name)


def test_geopackage_is_its_tables(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.gpkg")) as database, database:
        database.execute("CREATE TABLE towns (fid INTEGER PRIMARY KEY, name TEXT)")
        database.execute("CREATE TABLE gpkg_contents (table_name TEXT PRIMARY KEY)")
        database.execute("CREATE TABLE rtree_towns_geom_node (nodeno INTEGER PRIMARY KEY)")
        for table, row in (("towns", "1, 'Bern'"), ("gpkg_contents", "'towns'"), ("rtree_towns_geom_node", "7")):
            database.execute(f"INSERT INTO {table} VALUES ({row})")
    assert {row[:3] for row in literal_names(read_graph(tmp_path / "a.gpkg"))} == {("1", "name", "Bern")}


@pytest.mark.parametrize("suffix", ["csv", "tsv", "txt"])
def test_cells_that_databases_leave_out_are_empty(suffix: str, tmp_path: Path) -> None:
    mark = "," if suffix == "csv" else "\t"
    (tmp_path / f"a.{suffix}").write_text("id,name,town\n1,Anna,\\N\n2,\\N,Bern\n".replace(",", mark))
    found = {row[:3] for row in literal_names(read_graph(tmp_path / f"a.{suffix}"))}
    assert found == {("1", "name", "Anna"), ("2", "town", "Bern")}


def test_things_without_names_are_told(tmp_path: Path) -> None:
    context = '"@context": {"@vocab": "https://schema.org/"}'
    things = f'{{{context}, "@graph": [{{"@type": "City", "name": "Bern"}}, {{"name": "Thun"}}]}}'
    (tmp_path / "a.jsonld").write_text(things)
    note = read_graph(tmp_path / "a.jsonld").notes[-1]
    assert "all 2 things described are blank nodes, which are linked only with --set evidence.anonymous=true" in note
    (tmp_path / "a.jsonld").write_text(things.replace('"name": "Thun"', '"@id": "urn:t", "name": "Thun"'))
    assert not read_graph(tmp_path / "a.jsonld").notes
