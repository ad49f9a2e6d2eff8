"""Files that cannot be read or written at all, and those that expand too far."""

import gzip
import time
from pathlib import Path

import pytest

from emea.contracts import Reading
from emea.errors import InputError
from emea.formats import _files, convert, read_graph, read_pair_names

BOMBS = {
    "graph.nt.gz": b"<a:a> <a:p> <a:b> .\n" * 50_000,
    "graph.tsv.gz": b"a\tp\tb\n" * 100_000,
    "graph.rdf.gz": b"<!-- -->\n" + b" " * 900_000,
    "graph.parquet.gz": bytes(1_000_000),
}


@pytest.mark.parametrize("name", BOMBS)
def test_an_archive_that_expands_too_far_is_refused(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_files, "EXPANDED_SIZE", 100_000)
    path = tmp_path / name
    path.write_bytes(gzip.compress(BOMBS[name]))
    with pytest.raises(
        InputError, match=r"found more than 100,000 bytes in .* compressed bytes, expected at most 200 times"
    ):
        read_graph(path)


def test_a_large_archive_that_expands_little_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_files, "EXPANDED_SIZE", 1_000)
    path = tmp_path / "graph.tsv.gz"
    path.write_bytes(gzip.compress(b"".join(b"%d\tp\t%d\n" % (n, n * 7919 % 1000) for n in range(1000))))
    assert len(read_graph(path).triples) == 1000


def test_a_file_without_permission_is_an_input_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied")

    path = tmp_path / "graph.nt"
    path.write_text("")
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match=r"graph\.nt cannot be read: .*Permission denied"):
        read_graph(path)
    with (
        pytest.raises(InputError, match=r"graph\.tsv cannot be written: Permission denied"),
        _files.writing(tmp_path / "graph.tsv"),
    ):
        pass


def test_an_impossible_name_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be read: .*File name too long"):
        read_graph(tmp_path / f"{'x' * 300}.nt")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("pairs.tsv", "a\tb\nc\n", "line 2: found 1 columns, expected 2"),
        ("pairs.csv", 'a,b\n"c,d\n', "line 2: .*expected standard CSV quoting"),
        (
            "pairs.tsv",
            "source\ttarget\texcluded\na\tb\tmaybe\n",
            "line 2: found 'maybe' in the column excluded, expected true or false",
        ),
        (
            "pairs.nt",
            "<a:a> <a:p> <a:b> .\n",
            "found no pairs, only 1 with other relations; expected triples with .*sameAs",
        ),
        (
            "pairs.nt",
            '<a:a> <http://www.w3.org/2002/07/owl#sameAs> "b" .\n',
            'found <a:a> paired with "b", expected IRIs',
        ),
        ("pairs.nt", "<a:a> <http://www.w3.org/2002/07/owl#sameAs> <a:b>", "line 1: .*expected N-Triples"),
    ],
)
def test_bad_pairs_are_refused(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        read_pair_names(tmp_path / name)
    assert name in str(caught.value)


def test_triples_inside_triples_do_not_overflow(tmp_path: Path) -> None:
    path = tmp_path / "graph.ttl"
    path.write_text("<a:a> <a:p> " + "<<( <a:a> <a:p> " * 30_000 + "<a:b>" + " )>>" * 30_000 + " .")
    with pytest.raises(InputError, match="found more than 1,000 triples used as nodes"):
        read_graph(path)


def test_a_failed_conversion_leaves_the_old_file(tmp_path: Path) -> None:
    source, target = tmp_path / "graph.csv", tmp_path / "graph.tsv"
    source.write_text('head,relation,tail,kind\na,p,"x\ny",literal\n')
    target.write_text("old")
    with pytest.raises(InputError, match=r"graph\.tsv cannot be written: found 'x\\ny', expected text without tabs"):
        convert(source, target)
    assert target.read_text() == "old"
    assert sorted(tmp_path.iterdir()) == [source, target]


def test_a_folder_in_the_way_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "graph.tsv").write_text("a\tp\tb\n")
    (tmp_path / "graph.csv").mkdir()
    with pytest.raises(InputError, match=r"graph\.csv cannot be written: Is a directory"):
        convert(tmp_path / "graph.tsv", tmp_path / "graph.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["graph.csv", "graph.tsv"]


@pytest.mark.parametrize(
    "text", [b'<a:a> <a:p> "x"^^<a:%s> .\n', b'<a:a> <a:p> "%s"@en .\n'], ids=["datatype", "value"]
)
@pytest.mark.parametrize("name", ["graph.nt", "graph.ttl", "graph.nq"])
def test_a_term_beyond_the_parser_s_buffer_is_named_or_read(tmp_path: Path, name: str, text: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(text % (b"x" * (17 << 20)))
    if name.endswith(".nt") and b"@en" in text:  # values in lines are not the parser's
        assert read_graph(path).literals.num_rows == 1
        return
    with pytest.raises(InputError, match=r"found a name or value of more than 16 MB, expected shorter ones$"):
        read_graph(path)


def test_a_short_row_among_plain_triples_is_named(tmp_path: Path) -> None:
    path = tmp_path / "graph.tsv"
    path.write_text("Bern\tin\tSwitzerland\nBern\tnear\tThun\nParis\n")
    with pytest.raises(InputError, match=r"graph\.tsv, line 3: found 1 column"):
        read_graph(path)


@pytest.mark.parametrize("name", ["graph.nt", "graph.tsv"])
def test_a_line_without_end_is_refused(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_files, "LONGEST_LINE", 1 << 21)
    path = tmp_path / name
    path.write_bytes(b"a\tp\tb\n" * 3 * name.endswith("tsv") + b"x" * (4 << 20))
    with pytest.raises(InputError, match=r"found a line of more than 2,097,152 bytes, expected shorter ones$"):
        read_graph(path)


def test_a_table_of_many_columns_is_refused_soon(tmp_path: Path) -> None:
    path = tmp_path / "wide.tsv"
    path.write_text("\t".join(f"c{number % 3999}" for number in range(4000)) + "\n" + "x\t" * 3999 + "x\n")
    before = time.process_time()
    with pytest.raises(InputError, match="found the column 'c0' twice"):
        read_graph(path)
    assert time.process_time() - before < 5


@pytest.mark.parametrize("name", ["a.nt", "a.ttl", "a.csv", "a.tsv"])
def test_a_compressed_file_that_breaks_off_is_read_as_far_as_it_goes(name: str, tmp_path: Path) -> None:
    if name.endswith("sv"):
        mark = "," if name == "a.csv" else "\t"
        lines = [mark.join(("id", "name", "town")), *(mark.join((f"e{n}", f"{n * n}", f"t{n}")) for n in range(2_000))]
    else:
        lines = [f'<urn:e{n}> <urn:name> "{n * n}" .' for n in range(2_000)]
    path = tmp_path / f"{name}.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode() + b"\n")[:4_000])
    with pytest.raises(InputError, match=r"Compressed file ended .*; --lenient reads what comes before"):
        read_graph(path)
    graph = read_graph(path, Reading(lenient=True))
    assert 300 < len(graph.entities) < 2_000
    assert sum("all that follows: Compressed file ended" in note for note in graph.notes) == 1
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    assert read_graph(path, Reading(lenient=True)).notes == read_graph(path).notes


def test_rows_that_cannot_be_read_are_skipped_if_that_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,name,town\n1,Ann,Oslo\n2,Bob\n3,"Cid"x,Rome\n4,Dot,Bonn,Berlin\n5,Eve,Lima\n')
    with pytest.raises(InputError, match="line 4: "):
        read_graph(path)
    graph = read_graph(path, Reading(lenient=True))
    assert graph.entities.to_pylist() == ["1", "5"]
    assert all(told in graph.notes[-1] for told in ("3 rows were skipped", "line 3: found 2 columns", "line 4: "))


def test_other_separators_are_recognised_or_named(tmp_path: Path) -> None:
    rows = "id,name\n1,Ann\n2,Bob\n"
    for mark in ";|\t":
        (tmp_path / "a.csv").write_text(rows.replace(",", mark))
        assert read_graph(tmp_path / "a.csv").attributes.to_pylist() == ["name"]
    (tmp_path / "a.tsv").write_text(rows)
    with pytest.raises(InputError, match="expected several separated by tabs; it looks separated by commas: call it"):
        read_graph(tmp_path / "a.tsv")
