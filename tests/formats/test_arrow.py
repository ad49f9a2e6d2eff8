"""Arrow and Feather: files and streams, and what is refused."""

import datetime
import gzip
import uuid
from pathlib import Path

import pyarrow as pa
import pytest
from generated import as_csv, as_ntriples, assert_same, places
from pyarrow import feather
from small_graphs import literal_names

from emea.errors import InputError
from emea.formats import _files, read_graph

TABLE = pa.table({"id": ["a", "b"], "name": ["x", "y"]})


def written(path: Path, table: pa.Table, *, stream: bool = False, compression: str | None = None) -> Path:
    options = pa.ipc.IpcWriteOptions(compression=compression)
    new = pa.ipc.new_stream if stream else pa.ipc.new_file
    with new(path, table.schema, options=options) as writer:
        writer.write_table(table, 1000)
    return path


@pytest.mark.parametrize(("name", "stream"), [("places.arrow", False), ("places.ipc", True)])
def test_ten_thousand_rows_are_the_same_graph_as_elsewhere(tmp_path: Path, name: str, stream: bool) -> None:
    columns = places()
    graph = read_graph(written(tmp_path / name, pa.table(columns), stream=stream))
    assert_same(graph, as_ntriples(tmp_path, columns, dates=True))
    assert_same(graph, as_csv(tmp_path, columns), datatypes=False)


def test_feather_and_compressed_files(tmp_path: Path) -> None:
    expected = read_graph(written(tmp_path / "a.arrow", TABLE))
    feather.write_feather(TABLE, tmp_path / "b.feather")
    written(tmp_path / "c.arrow", TABLE, stream=True, compression="zstd")
    (tmp_path / "d.arrow.gz").write_bytes(gzip.compress((tmp_path / "a.arrow").read_bytes()))
    for name in ("b.feather", "c.arrow", "d.arrow.gz"):
        assert_same(read_graph(tmp_path / name), expected)


def test_nested_records_lists_and_small_types(tmp_path: Path) -> None:
    table = pa.table(
        {
            "id": pa.array([7, 8], pa.uint8()),
            "address": [{"city": "Bern", "at": {"street": "x"}}, None],
            "tags": [["a", "b"], []],
            "kind": pa.array(["k", "l"]).dictionary_encode(),
            "half": pa.array([0.5, 1.0], pa.float16()),
            "day": [datetime.date(2020, 1, 2), None],
            "number": pa.array([uuid.UUID(int=255).bytes, None], pa.uuid()),
        }
    )
    assert {row[:3] for row in literal_names(read_graph(written(tmp_path / "a.arrow", table)))} == {
        ("7", "address.city", "Bern"),
        ("7", "address.at.street", "x"),
        ("7", "tags", "a"),
        ("7", "tags", "b"),
        ("7", "kind", "k"),
        ("8", "kind", "l"),
        ("7", "half", "0.5"),
        ("8", "half", "1"),
        ("7", "day", "2020-01-02"),
        ("7", "number", "00000000-0000-0000-0000-0000000000ff"),
    }


def test_bad_files_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.arrow", pa.table({"id": list(range(5000)), "name": ["x"] * 5000}))
    whole = path.read_bytes()
    stream = written(tmp_path / "b.arrow", pa.table({"id": list(range(5000))}), stream=True).read_bytes()
    for content in (whole[:-20], whole[: len(whole) // 2], stream[: len(stream) // 2], b"id,name\n1,a\n", b""):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"a\.arrow cannot be read: .*; expected an Arrow file or stream$"):
            read_graph(path)
    with pytest.raises(InputError, match=r"a\.arrow has a header and no rows"):
        read_graph(written(path, TABLE.slice(0, 0)))


def test_few_bytes_with_much_data_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "a.arrow", pa.table({"id": ["a" * 1000] * 2000}), compression="zstd")
    monkeypatch.setattr(_files, "EXPANDED_SIZE", 100_000)
    monkeypatch.setattr(_files, "EXPANDED_TIMES", 20)
    with pytest.raises(InputError, match=r"bytes of data in .* bytes, expected at most"):
        read_graph(path)
