"""Tables of triples and pairs, and the table of an alignment."""

import csv
import gzip
import io
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_graphs import aligned, literal_names, triple_names

from emea.data import Alignment, Links, Task
from emea.errors import InputError
from emea.formats import _text, read_pair_names
from emea.formats._folder import Folder
from emea.formats.parquet import Parquet
from emea.formats.table import Table, write_columns

STRING = "http://www.w3.org/2001/XMLSchema#string"
ALIGNMENT = (
    "source\ttarget\tconfidence\tsimilarity\tsource_label\ttarget_label\tsource_type\ttarget_type\tcardinality\n"
)


def written(tmp_path: Path, text: str, name: str = "graph.tsv") -> Path:
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("graph.tsv", "a\tknows\tb\nb\tknows\tc"),
        ("graph.txt", "Head\tRELATION\ttail\r\na\tknows\tb\r\n\r\nb\tknows\tc\r\n"),
        ("graph.tsv", "\ufeffhead\trelation\ttail\na\tknows\tb\nb\tknows\tc\n"),
        ("graph.csv.gz", 'head,relation,tail\n"a",knows,b\nb,knows,c\n'),
    ],
)
def test_triples(tmp_path: Path, name: str, text: str) -> None:
    graph = Table().read_graph(written(tmp_path, text, name))
    assert triple_names(graph) == {("a", "knows", "b"), ("b", "knows", "c")}


@pytest.mark.parametrize(
    "text",
    [
        "tail\trelation\thead\nb\tr\ta\n",
        "Subject\tPredicate\tObject\na\tr\tb\n",
        "head\trelation\ttail\tkind\tprovenance\na\tr\tb\tentity\tsomewhere\n",
        "note\thead\trelation\ttail\nhm\ta\tr\tb\n",
    ],
)
def test_a_header_gives_the_order_of_columns(tmp_path: Path, text: str) -> None:
    assert triple_names(Table().read_graph(written(tmp_path, text))) == {("a", "r", "b")}


def test_any_other_first_row_is_a_triple_unless_it_is_nearly_a_header(tmp_path: Path) -> None:
    assert triple_names(Table().read_graph(written(tmp_path, "tail\tr\tb\n"))) == {("tail", "r", "b")}
    with pytest.raises(InputError, match=r"line 1: found the columns head, verb, tail, expected head, relation, tail"):
        Table().read_graph(written(tmp_path, "head\tverb\ttail\na\tr\tb\n"))


def test_kind_marks_literals(tmp_path: Path) -> None:
    text = 'head,relation,tail,kind\na,knows,b,entity\na,note,"two\nlines, ""quoted""",literal\n'
    graph = Table().read_graph(written(tmp_path, text, "graph.csv"))
    assert triple_names(graph) == {("a", "knows", "b")}
    assert literal_names(graph) == {("a", "note", 'two\nlines, "quoted"', STRING, "")}


def test_many_rows_are_packed_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emea.formats._columns.CHUNK", 3)
    lines = [f"{n}\tp{n % 2}\t{n * 7 % 10}\tentity\n{n}\tq\tvalue {n}\tliteral\n" for n in range(10)]
    graph = Table().read_graph(written(tmp_path, "".join(lines)))
    assert triple_names(graph) == {(f"{n}", f"p{n % 2}", f"{n * 7 % 10}") for n in range(10)}
    assert literal_names(graph) == {(f"{n}", "q", f"value {n}", STRING, "") for n in range(10)}


def test_quotes_in_tsv_are_text(tmp_path: Path) -> None:
    graph = Table().read_graph(written(tmp_path, '"a\tknows\tb"\n'))
    assert triple_names(graph) == {('"a', "knows", 'b"')}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("graph.tsv", "a\tb\tc\n\na\tb\n", r"line 3: found 2 columns, expected 3 separated by tabs"),
        ("graph.tsv", "a b c\n", r"found 1 column, expected several separated by tabs"),
        ("graph.csv", "a,b,c\na,b,c,d\n", r"line 2: found 4 columns, expected 3 separated by commas"),
        (
            "graph.tsv",
            "a\tb\tc\tentity\na\tb\tc\tthing\n",
            r"line 2: found the kind 'thing', expected entity or literal",
        ),
        (
            "graph.csv",
            'a,b,"c\nd"\n',
            r"line 2: found the name 'c\\nd', expected a non-empty name without tabs or newlines",
        ),
        ("graph.csv", 'a,b,"c\td"\n', r"found the name 'c\\td'"),
        ("graph.tsv", "a\t\tc\n", r"line 1: found the name '', expected a non-empty name"),
        ("graph.csv", 'a,b,"c\n', r"expected standard CSV quoting"),
    ],
)
def test_bad_tables_are_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Table().read_graph(written(tmp_path, text, name))
    assert name in str(caught.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("a\tb\té\n".encode() + b"a\tb\t\xe9\n", "line 2: found byte 0xe9, expected text in UTF-8; save it so"),
        (b"a\tb\t\xe9\n" + "a\tb\té\n".encode(), "line 1: found byte 0xe9, expected text in UTF-8; save it so"),
        (b"a\tb\t\xe9\na\tb\t\x03\n", "line 1: found byte 0xe9; this is not text"),
        (b"a\tb\t\xe9\x81\n", "line 1: found byte 0xe9; this is not text"),  # undefined in Windows-1252
        (b"a\tb\t\x00\xc3\xa9\xff\n", "line 1: found byte 0xff; this is not text"),
        ("a\tb\té\n".encode("utf-16")[:-1], "line 1: found broken UTF-16; save it as UTF-8"),
        (b"PK\x03\x04\x14\x00", "this is an Excel or zip file: call it .xlsx"),
    ],
)
def test_what_is_no_text_or_in_several_encodings_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "graph.tsv"
    path.write_bytes(data)
    with pytest.raises(InputError, match=message):
        Table().read_graph(path)


@pytest.mark.parametrize("name", ["firms.csv", "firms.tsv", "firms.csv.gz"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be-sig", "cp1252"])
def test_tables_are_read_in_the_encodings_of_spreadsheets(tmp_path: Path, name: str, encoding: str) -> None:
    separator = "\t" if ".tsv" in name else ";"
    rows = [["id", "Straße"], *([str(number), "Müller – 5 €"] for number in range(9))]
    text = "".join(f"{separator.join(row)}\r\n" for row in rows)
    data = b"\xfe\xff" + text.encode("utf-16-be") if encoding == "utf-16-be-sig" else text.encode(encoding)
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    graph = Table().read_graph(path)
    assert graph.attributes.to_pylist() == ["Straße"]
    assert set(graph.literals["value"].to_pylist()) == {"Müller – 5 €"}
    note = f"{path} is not UTF-8: read as Windows-1252; if names look wrong, save it as UTF-8"
    assert (note in graph.notes) == (encoding == "cp1252")


def test_a_folder_says_which_of_its_tables_are_not_utf_8(tmp_path: Path) -> None:
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_bytes("id,name\n1,Zoë\n2,Zoë\n".encode("cp1252" if name == "two.csv" else "utf-8"))
    assert sum("read as Windows-1252" in note for note in Folder().read_graph(tmp_path).notes) == 1


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252"])
def test_pairs_are_read_in_the_encodings_of_spreadsheets(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "seeds.txt"
    path.write_bytes("source\ttarget\tdecision\nä\tß\tyes\nö\tü\tno\n".encode(encoding))
    pairs = Table().read_pairs(path)
    assert pairs["source"].to_pylist() == ["ä", "ö"]
    assert pairs["excluded"].to_pylist() == [False, True]


def test_a_character_of_several_bytes_is_seen_where_blocks_meet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_text, "BLOCK", 4)
    path = tmp_path / "table.csv"
    for before in range(4):
        path.write_bytes(b"a" * before + "€".encode() + b"\xe9")
        assert _text.encoding_of(path) == _text.UTF_8
        path.write_bytes(b"a" * before + b"\xe9" + b"a" * before + b"\x80")
        assert _text.encoding_of(path) == _text.WINDOWS


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("a\tb\nc\td\n", [1, 1]),
        ("source\ttarget\na\tb\nc\td\n", [1, 1]),
        ("Source\tTarget\tweight\na\tb\t0.5\nc\td\t1\n", [0.5, 1]),
    ],
)
def test_pairs(tmp_path: Path, text: str, weights: list[float]) -> None:
    pairs = Table().read_pairs(written(tmp_path, text, "pairs.tsv"))
    assert pairs["source"].to_pylist() == ["a", "c"]
    assert pairs["target"].to_pylist() == ["b", "d"]
    assert pairs["weight"].to_pylist() == weights
    assert pairs["line"].to_pylist()[-1] == text.count("\n")


@pytest.mark.parametrize("weight", ["1.5", "-0.1", "nan", "much"])
def test_weights_outside_0_to_1_are_refused(tmp_path: Path, weight: str) -> None:
    with pytest.raises(InputError, match=f"line 1: found the weight '{weight}'"):
        Table().read_pairs(written(tmp_path, f"a\tb\t{weight}\n", "pairs.tsv"))


names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\r\n"), min_size=1, max_size=6)


@given(st.lists(st.tuples(names, names, names), min_size=1, max_size=6), st.sampled_from(["tsv", "csv", "tsv.gz"]))
def test_what_was_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, triples: list[tuple[str, str, str]], ending: str
) -> None:
    rows = [("head", "relation", "tail"), *triples]
    text = io.StringIO()
    if ending == "csv":
        csv.writer(text).writerows(rows)
    else:
        text.write("".join("\t".join(row) + "\n" for row in rows))
    graph = Table().read_graph(written(tmp_path_factory.mktemp("table"), text.getvalue(), f"graph.{ending}"))
    assert triple_names(graph) == set(triples)


def test_the_alignment_is_sorted_and_has_six_digits(tmp_path: Path) -> None:
    alignment, task = aligned(["b", 'a "x"', "c"], ["y", "z", "é"])
    Table().write_alignment(alignment, task, tmp_path / "alignment.tsv")
    assert (tmp_path / "alignment.tsv").read_text(encoding="utf-8") == (
        f'{ALIGNMENT}a "x"\tz\t0.55\t0.05\t\t\t\t\t1:1\nb\ty\t0.1\t-0.4\t\t\t\t\t1:1\nc\té\t1\t0.5\t\t\t\t\t1:1\n'
    )


def test_the_alignment_shows_labels_types_and_how_many_are_linked_to_how_many(tmp_path: Path) -> None:
    source = Table().read_graph(
        written(
            tmp_path,
            "head,relation,tail,kind\na,name,Anna,literal\na,rdf:type,x/Person,entity\na,rdf:type,x/Author,entity\n"
            'b,Label,"B, or ""Bea""\nin two lines",literal\nc,size,3,literal\n',
            "source.csv",
        )
    )
    target = Table().read_graph(written(tmp_path, "y\ttitle\tYes\tliteral\nz\ttitle\tNo\tliteral\n", "target.tsv"))
    names = source.entities.to_pylist()
    rows = [[names.index("a"), 0], [names.index("b"), 0], [names.index("c"), 1], [names.index("c"), 0]]
    number = torch.tensor([0.9, 0.8, 0.7, 0.6])
    links = Alignment(*torch.tensor(rows).T, number, number)
    task = Task(source, target, Links.empty())
    for name in ("links.tsv", "links.csv", "links.parquet"):
        writer = Parquet() if name.endswith("parquet") else Table()
        writer.write_alignment(links, task, tmp_path / name)
    assert (tmp_path / "links.tsv").read_text() == (
        f"{ALIGNMENT}a\ty\t0.9\t0.9\tAnna\tYes\tAuthor|Person\t\tn:1\n"
        'b\ty\t0.8\t0.8\tB, or "Bea" in two lines\tYes\t\t\tn:1\n'
        "c\ty\t0.6\t0.6\t\tYes\t\t\tn:n\nc\tz\t0.7\t0.7\t\tNo\t\t\t1:n\n"
    )
    with (tmp_path / "links.csv").open(newline="") as file:
        as_csv = list(csv.reader(file))
    assert as_csv == [line.split("\t") for line in (tmp_path / "links.tsv").read_text().splitlines()]
    stored = pq.read_table(tmp_path / "links.parquet")
    assert stored.column_names == as_csv[0]
    assert stored["source_label"].to_pylist() == ["Anna", 'B, or "Bea" in two lines', None, None]
    for name in ("links.tsv", "links.csv", "links.parquet"):
        pairs = read_pair_names(tmp_path / name)
        assert pairs["source"].to_pylist() == ["a", "b", "c", "c"]
        assert pairs["weight"].to_pylist() == pytest.approx([0.9, 0.8, 0.6, 0.7])


def test_an_empty_alignment_has_its_header(tmp_path: Path) -> None:
    Table().write_alignment(*aligned([], []), tmp_path / "alignment.tsv")
    assert (tmp_path / "alignment.tsv").read_text() == ALIGNMENT


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e30, max_value=1e30), min_size=1))
def test_fractions_keep_six_significant_digits(tmp_path_factory: pytest.TempPathFactory, values: list[float]) -> None:
    path = tmp_path_factory.mktemp("columns") / "columns.tsv"
    write_columns(path, ["name", "count", "value"], [["é"] * len(values), np.arange(len(values)), np.array(values)])
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    assert rows[0] == ["name", "count", "value"]
    assert [row[:2] for row in rows[1:]] == [["é", str(number)] for number in range(len(values))]
    for value, row in zip(values, rows[1:], strict=True):
        assert math.isclose(float(row[2]), value, rel_tol=5.0001e-6, abs_tol=1e-320)
        assert len(row[2].lower().partition("e")[0].replace(".", "").strip("-0")) <= 6


def test_compressed_files_are_the_same_bytes_each_time(tmp_path: Path) -> None:
    paths = [tmp_path / "one.tsv.gz", tmp_path / "two.tsv.gz"]
    for path in paths:
        write_columns(path, ["name"], [pa.chunked_array([["a"], ["b"]])])
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert gzip.decompress(paths[0].read_bytes()) == b"name\na\nb\n"


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "columns.tsv"
    path.write_text("old")
    with pytest.raises(pa.ArrowInvalid):
        write_columns(path, ["a", "b"], [["x"], ["y", "z"]])
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"folder .* does not exist"):
        write_columns(tmp_path / "none" / "columns.tsv", ["a"], [["x"]])
