"""Excel: sheets with a header row are tables; dates are dates."""

import datetime
import gzip
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest
from generated import as_csv, as_ntriples, assert_same, places
from openpyxl import Workbook
from small_graphs import literal_names, triple_names

from emea.errors import InputError, SettingsError
from emea.formats import _files, read_graph, read_pair_names
from emea.formats.excel import Excel

XSD = "http://www.w3.org/2001/XMLSchema#"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


def workbook(path: Path, sheets: Mapping[str, Iterable[Sequence[object]]]) -> Path:
    book = Workbook(write_only=True)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


@pytest.mark.parametrize("count", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_many_rows_are_the_same_graph_as_elsewhere(tmp_path: Path, count: int) -> None:
    columns = places(count)
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    graph = read_graph(workbook(tmp_path / "places.xlsx", {"Places": rows}))
    assert_same(graph, as_ntriples(tmp_path, columns, dates=True))
    assert_same(graph, as_csv(tmp_path, columns), datatypes=False)


def test_every_sheet_with_a_header_is_a_table(tmp_path: Path) -> None:
    path = workbook(
        tmp_path / "world.xlsx",
        {
            "countries": [["id", "title", None, "note\n(short)"], ["CH", "Switzerland", None, "x"], ["FR", "France"]],
            "cities": [
                ["All cities, 2024"],
                [],
                ["code", "name", "country", "founded", "seen", "mixed", "formula"],
                ["b", "Bern", "CH", datetime.date(1191, 1, 1), datetime.datetime(2024, 5, 6, 7, 8, 9), 1, "#N/A"],
                ["p", "Paris", "FR", datetime.date(1950, 1, 2), datetime.datetime(2024, 5, 6), "two", None],
            ],
            "empty": [],
            "read me": [["These are"], ["some lines"]],
            "header only": [["id", "name"]],
        },
    )
    graph = read_graph(path)
    assert triple_names(graph) == {
        ("cities/b", "country", "countries/CH"),
        ("cities/p", "country", "countries/FR"),
        *((f"cities/{code}", TYPE, "cities") for code in "bp"),
        *((f"countries/{code}", TYPE, "countries") for code in ("CH", "FR")),
    }
    assert {row[:4] for row in literal_names(graph)} == {
        *((f"countries/{code}", "id", code, f"{XSD}string") for code in ("CH", "FR")),
        ("countries/CH", "title", "Switzerland", f"{XSD}string"),
        ("countries/FR", "title", "France", f"{XSD}string"),
        ("countries/CH", "note (short)", "x", f"{XSD}string"),
        ("cities/b", "name", "Bern", f"{XSD}string"),
        ("cities/p", "name", "Paris", f"{XSD}string"),
        ("cities/p", "founded", "1950-01-02", f"{XSD}date"),
        ("cities/b", "founded", "1191-01-01", f"{XSD}date"),
        ("cities/b", "seen", "2024-05-06T07:08:09", f"{XSD}dateTime"),
        ("cities/p", "seen", "2024-05-06T00:00:00", f"{XSD}dateTime"),
        ("cities/b", "mixed", "1", f"{XSD}string"),
        ("cities/p", "mixed", "two", f"{XSD}string"),
    }
    left_out = [note for note in graph.notes if note.endswith("is no table with a header row and is left out")]
    assert [name for name in ("read me", "header only", "empty") if any(name in note for note in left_out)] == [
        "read me",
        "header only",
    ]


def test_a_compressed_workbook(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", {"a": [["id", "name"], ["1", "x"], ["2", "y"]]})
    packed = tmp_path / "a.xlsx.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert_same(read_graph(packed), read_graph(path))


def test_bad_files_are_refused(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", {"a": [["id", "name"], ["1", "x"], ["2", "y"]]})
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], whole[:-10], b"id,name\n1,a\n", b"", bytes.fromhex("d0cf11e0a1b11ae1")):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"a\.xlsx cannot be read: .*; expected an Excel workbook \(\.xlsx\)$"):
            read_graph(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "<document/>")
    with pytest.raises(InputError, match=r"a\.xlsx cannot be read: .*; expected an Excel workbook \(\.xlsx\)$"):
        read_graph(path)
    with pytest.raises(InputError, match=r"found nothing, expected a sheet with a header row and rows below it$"):
        read_graph(workbook(path, {"a": []}))
    with pytest.raises(InputError, match=r"found only a, expected a sheet with a header row and rows below it$"):
        read_graph(workbook(path, {"a": [["only", "a header"]]}))


def test_columns_beyond_the_header_are_numbered(tmp_path: Path) -> None:
    rows = [["id", "name"], ["1", "x", 7], ["2", "y"], ["3", None, None, None]]
    graph = read_graph(workbook(tmp_path / "a.xlsx", {"a": rows}))
    assert {row[:3] for row in literal_names(graph)} == {("1", "name", "x"), ("1", "column 3", "7"), ("2", "name", "y")}


@pytest.mark.parametrize("lxml", ["True", "False"])
def test_bad_files_are_refused_whatever_reads_their_xml(tmp_path: Path, lxml: str) -> None:
    path = workbook(tmp_path / "a.xlsx", {"a": [["id", "name"], ["1", "x"]]})
    with zipfile.ZipFile(path) as whole, zipfile.ZipFile(tmp_path / "broken.xlsx", "w") as broken:
        for part in whole.namelist():
            broken.writestr(part, whole.read(part) + b"<" * (part == "xl/workbook.xml"))
    told = subprocess.run(
        [sys.executable, "-m", "emea", "convert", "broken.xlsx", "graph.nt"],
        cwd=tmp_path,
        env={**os.environ, "OPENPYXL_LXML": lxml},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 2
    assert re.fullmatch(
        r"error: broken\.xlsx cannot be read: .*; expected an Excel workbook \(\.xlsx\)", told.stderr.strip()
    )


def test_a_workbook_that_expands_too_far_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", " " * 1_000_000)
    monkeypatch.setattr(_files, "EXPANDED_SIZE", 100_000)
    with pytest.raises(InputError, match=r"found 1,000,000 bytes in .* compressed bytes, expected at most 200 times"):
        read_graph(path)


def test_without_the_package_the_sentence_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = workbook(tmp_path / "a.xlsx", {"a": [["id", "name"], ["1", "x"]]})
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(SettingsError, match=r"a\.xlsx needs openpyxl to be read: pip install 'emea\[excel\]'$"):
        read_graph(path)


def test_seeds_and_decisions_are_the_rows_of_the_first_sheet(tmp_path: Path) -> None:
    path = workbook(
        tmp_path / "seeds.xlsx",
        {"seeds": [["My seeds"], [], ["Source", "Target", "weight"], [100, "é", 0.5], [], [101.0, "f"]], "other": []},
    )
    pairs = read_pair_names(path)
    assert pairs["source"].to_pylist() == ["100", "101"]
    assert pairs["target"].to_pylist() == ["é", "f"]
    assert pairs["weight"].to_pylist() == [0.5, 1.0]
    assert pairs["line"].to_pylist() == [4, 6]
    rows = [["a", True, "x", 0.2], ["b", "no", "y", 0.9], ["c", None, "z", 0.5], ["d", "none", None, 0.1]]
    path = workbook(tmp_path / "decided.xlsx", {"s": [["source", "decision", "target", "confidence"], *rows]})
    pairs = read_pair_names(path)
    assert pairs.select(["source", "target", "excluded"]).to_pylist() == [
        {"source": "a", "target": "x", "excluded": False},
        {"source": "b", "target": "y", "excluded": True},
        {"source": "d", "target": "", "excluded": True},
    ]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([["from here", "target"], ["a", "b"]], r"columns from here, target, expected exactly one named source$"),
        ([], r"found the columns none, expected exactly one named source$"),
        ([["source", "target", "weight"], ["a", "b", 7]], r"row 2: found the weight '7', expected a number"),
        (
            [["source", "target", "decision"], ["a", "b", "ja"]],
            r"row 2: found 'ja' in the column decision, expected yes",
        ),
        ([["source", "target", "excluded"], ["a", "b", "x"]], r"row 2: found 'x' in the column excluded"),
    ],
)
def test_bad_sheets_of_pairs_are_refused(tmp_path: Path, rows: Sequence[Sequence[object]], message: str) -> None:
    path = workbook(tmp_path / "seeds.xlsx", {"seeds": rows})
    with pytest.raises(InputError, match=message):
        read_pair_names(path)
    assert Excel().holds_pairs(path) == bool(rows and rows[0][0] == "source")
