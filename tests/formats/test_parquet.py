"""Parquet: columns by name, and what is refused."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_graphs import literal_names, triple_names

import emea
from emea.errors import InputError
from emea.formats import _files, parquet
from emea.formats._columns import GraphColumns
from emea.formats._triples import TRIPLE_DEFAULTS, TRIPLE_HEADER, add_row
from emea.formats.parquet import Parquet

STRING = "http://www.w3.org/2001/XMLSchema#string"
LANGUAGE_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"


def written(tmp_path: Path, columns: dict[str, list[object] | pa.Array]) -> Path:
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=2)
    return path


def test_columns_by_name_in_any_order(tmp_path: Path) -> None:
    columns: dict[str, list[object] | pa.Array] = {
        "note": [1, 2, 3, 4],
        "Tail": ["b", "x\ny", "é", "5"],
        "head": pa.array(["a", "a", "b", "b"]).dictionary_encode(),
        "relation": [7, 7, 7, 8],
        "kind": [None, "literal", "literal", "literal"],
        "language": ["", None, "FR", ""],
        "datatype": [None, None, None, "urn:number"],
    }
    graph = Parquet().read_graph(written(tmp_path, columns))
    assert triple_names(graph) == {("a", "7", "b")}
    assert literal_names(graph) == {
        ("a", "7", "x\ny", STRING, ""),
        ("b", "7", "é", LANGUAGE_STRING, "fr"),
        ("b", "8", "5", "urn:number", ""),
    }


def test_pairs(tmp_path: Path) -> None:
    columns: dict[str, list[object] | pa.Array] = {"source": ["a", "b"], "target": ["x", "y"], "weight": [None, 0.5]}
    path = written(tmp_path, columns)
    pairs = Parquet().read_pairs(path)
    assert pairs["weight"].to_pylist() == [1, 0.5]
    assert pairs["excluded"].to_pylist() == [False, False]
    assert Parquet().holds_pairs(path)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"head": ["a"], "relation": ["b"]}, "found the columns head, relation, expected exactly one named tail"),
        ({"head": ["a"], "relation": ["p"], "tail": [None]}, "row 1: found an empty cell, expected a tail"),
        ({"head": ["a", ""], "relation": ["p", "p"], "tail": ["b", "b"]}, "row 2: found the name ''"),
        ({"head": ["a"], "relation": ["p"], "tail": ["b"], "kind": ["thing"]}, "row 1: found the kind 'thing'"),
        ({"head": [b"\xff"], "relation": ["p"], "tail": ["b"]}, "cannot be read: .*expected Parquet"),
        ({"head": [["a"]], "relation": ["p"], "tail": ["b"]}, "cannot be read: .*expected Parquet"),
    ],
)
def test_bad_graphs_are_refused(tmp_path: Path, columns: dict[str, list[object] | pa.Array], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Parquet().read_graph(written(tmp_path, columns))


def test_bad_pairs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"row 2: found the weight '1\.5', expected a number from 0 to 1"):
        Parquet().read_pairs(written(tmp_path, {"source": ["a", "b"], "target": ["x", "y"], "weight": [1.0, 1.5]}))


def test_other_files_and_truncated_ones_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, {"source": ["a"], "target": ["x"]})
    for content in (path.read_bytes()[:-20], b"source\ttarget\n", b""):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"table\.parquet cannot be read: .*expected Parquet"):
            Parquet().read_pairs(path)


def test_few_bytes_with_many_rows_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "pairs.parquet"
    pq.write_table(pa.table({"source": ["a"] * 100_000, "target": ["x"] * 100_000}), path)
    monkeypatch.setattr(_files, "EXPANDED_SIZE", 100_000)
    with pytest.raises(
        InputError, match=r"found 100,000 rows in .* bytes, expected at most 200 times as many bytes of data"
    ):
        Parquet().read_pairs(path)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("a", "r", "b", "thing"), "row 3: found the kind 'thing', expected entity or literal"),
        (("a", "", "b", "entity"), "row 3: found the name '', expected a non-empty name"),
        (("a", "r", "b\tc", "entity"), r"row 3: found the name 'b\\tc', expected a non-empty name"),
        (("a", "r\n", "b", "literal"), r"row 3: found the name 'r\\n', expected a non-empty name"),
        (("a", None, "b", "entity"), "row 3: found an empty cell, expected a relation"),
    ],
)
def test_a_wrong_row_is_told_by_its_number(tmp_path: Path, row: tuple[str | None, ...], message: str) -> None:
    rows = [("a", "r", "b", "entity"), ("a", "q", "", " Literal "), row, ("", "", "", "")]
    columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    pq.write_table(pa.table(columns, names=["head", "relation", "tail", "kind"]), tmp_path / "graph.parquet")
    with pytest.raises(InputError, match=message):
        Parquet().read_graph(tmp_path / "graph.parquet")


def test_many_rows_at_once_are_what_they_are_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = ["entity", "literal", " ENTITY", "Literal\n", None]
    languages, datatypes = ["", "EN-us", None, "de"], [None, "", "x:int"]
    rows = [
        (f"e{n % 7}", f"r{n % 3}", f"e{n % 5}", kinds[n % 5], datatypes[n % 3], languages[n % 4]) for n in range(200)
    ]
    columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    pq.write_table(pa.table(columns, names=list(TRIPLE_HEADER)), tmp_path / "graph.parquet")
    expected = GraphColumns()
    for number, row in enumerate(rows, 1):
        cells = [default if cell is None else cell for cell, default in zip(row, TRIPLE_DEFAULTS, strict=True)]
        add_row(expected, cells, "graph", number)
    plain = expected.build()
    for size in (1, 7, 1000):
        monkeypatch.setattr(parquet, "BATCH", size)
        graph = Parquet().read_graph(tmp_path / "graph.parquet")
        assert graph.entities == plain.entities
        assert graph.triples.tolist() == plain.triples.tolist()
        assert graph.literals.to_pylist() == plain.literals.to_pylist()


def in_parts(folder: Path, tables: dict[str, dict[str, list[str]]]) -> Path:
    """A folder as Spark writes it."""
    for name, columns in tables.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), folder / name)
    (folder / "_SUCCESS").touch()
    return folder


@pytest.mark.parametrize("folder", ["people.parquet", "people"])
def test_the_parts_of_a_table_are_one_table(tmp_path: Path, folder: str) -> None:
    parts = {
        f"part-0000{number}.snappy.parquet": {"id": [f"a{number}"], "name": [f"Ann {number}"]} for number in range(3)
    }
    graph = emea.read_graph(in_parts(tmp_path / folder, parts))
    assert graph.entities.to_pylist() == ["a0", "a1", "a2"]
    assert [value for _, _, value, *_ in sorted(literal_names(graph))] == ["Ann 0", "Ann 1", "Ann 2"]


def test_parts_hold_triples_and_pairs_and_columns_of_folders(tmp_path: Path) -> None:
    by_relation = {f"relation=r{number}/part-0.parquet": {"head": ["a"], "tail": [f"b{number}"]} for number in range(2)}
    graph = Parquet().read_graph(in_parts(tmp_path / "graph.parquet", by_relation))
    assert triple_names(graph) == {("a", "r0", "b0"), ("a", "r1", "b1")}
    pairs = {f"part-{number}.parquet": {"source": [f"s{number}"], "target": [f"t{number}"]} for number in range(2)}
    found = Parquet().read_pairs(in_parts(tmp_path / "pairs.parquet", pairs))
    assert found["source"].to_pylist() == ["s0", "s1"]


def test_a_folder_of_tables_with_other_names_is_still_that(tmp_path: Path) -> None:
    tables = {"people.parquet": {"id": ["a"], "town": ["x"]}, "towns.parquet": {"id": ["x"], "name": ["X"]}}
    assert "people/a" in emea.read_graph(in_parts(tmp_path / "shop", tables)).entities.to_pylist()


def test_an_empty_folder_of_parts(tmp_path: Path) -> None:
    (tmp_path / "nothing.parquet").mkdir()
    with pytest.raises(InputError, match=r"empty folder; expected parts of a Parquet table"):
        Parquet().read_graph(tmp_path / "nothing.parquet")


def test_categories_are_what_they_stand_for(tmp_path: Path) -> None:
    columns = {
        "kind": pa.array(["a", "b", "a"]).dictionary_encode(),
        "name": pa.array(["x", "y", "z"]).dictionary_encode(),
    }
    plain = {name: column.cast(pa.string()) for name, column in columns.items()}
    for name, table in (("packed", columns), ("plain", plain)):
        pq.write_table(pa.table(table), tmp_path / f"{name}.parquet")
    packed, whole = (emea.read_graph(tmp_path / f"{name}.parquet") for name in ("packed", "plain"))
    assert packed.literals.select(["entity", "value"]) == whole.literals.select(["entity", "value"])


@pytest.mark.parametrize(
    ("error", "raised", "said"),
    [
        (pa.ArrowMemoryError("realloc of size 33554432 failed"), MemoryError, "33554432"),
        (MemoryError("Unable to allocate 45.8 MiB"), MemoryError, "45.8 MiB"),
        (pa.ArrowMemoryError("malloc of size 2147483648 failed"), InputError, "cannot be read: malloc of size"),
    ],
)
def test_too_little_memory_is_no_fault_of_a_file_that_may_need_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: MemoryError, raised: type[Exception], said: str
) -> None:
    def refused(_: object) -> None:
        raise error

    pq.write_table(pa.table({"id": ["a", "b"], "name": ["A", "B"]}), tmp_path / "a.parquet")
    monkeypatch.setattr("emea.formats.parquet._whole", refused)
    with pytest.raises(raised, match=said):
        Parquet().read_graph(tmp_path / "a.parquet")


def test_lists_of_records_are_several_values(tmp_path: Path) -> None:
    rows = [
        {
            "id": "a",
            "at": [{"town": "Bern", "since": [{"y": 1}, {"y": 2}]}, {"town": "Thun", "since": []}],
            "m": [("k", 7)],
        },
        {"id": "b", "at": [], "m": []},
        {"id": "c", "at": None, "m": None},
    ]
    inner = pa.list_(pa.struct([("y", pa.int64())]))
    at = pa.list_(pa.struct([("town", pa.string()), ("since", inner)]))
    schema = pa.schema([("id", pa.string()), ("at", at), ("m", pa.map_(pa.string(), pa.int64()))])
    pq.write_table(pa.Table.from_pylist(rows, schema), tmp_path / "a.parquet")
    graph = Parquet().read_graph(tmp_path / "a.parquet")
    assert graph.entities.to_pylist() == ["a", "b", "c"]
    assert {row[:3] for row in literal_names(graph)} == {
        *(("a", "at.town", "Bern"), ("a", "at.town", "Thun"), ("a", "at.since.y", "1"), ("a", "at.since.y", "2")),
        *(("a", "m.key", "k"), ("a", "m.value", "7")),
    }
