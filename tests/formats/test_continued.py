"""Rows without an id continue the record above, where the rest of the table says so."""

from pathlib import Path

import openpyxl
import pytest
from small_graphs import literal_names

from emea.formats import read_graph

RECORDS = "id,name,tag\na,Anna,red\n,,green\nb,Bo,blue\nc,Cleo,\n,,red\n,,white\n"
TOLD = {
    *(("a", "name", "Anna"), ("a", "tag", "red"), ("a", "tag", "green"), ("b", "name", "Bo"), ("b", "tag", "blue")),
    *(("c", "name", "Cleo"), ("c", "tag", "red"), ("c", "tag", "white")),
}


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
def test_rows_without_an_id_continue_the_one_above(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{suffix}"
    path.write_text(RECORDS)
    if suffix == "xlsx":
        book = openpyxl.Workbook()
        for line in RECORDS.splitlines():
            book.active.append([cell or None for cell in line.split(",")])
        book.save(path)
    graph = read_graph(path)
    assert {row[:3] for row in literal_names(graph)} == TOLD
    assert graph.notes[0] == f"{path}: 3 rows without 'id' continue the one above, as in records"


@pytest.mark.parametrize(
    "text",
    [
        "id,name,tag\na,Anna,red\n,Ben,green\nb,Bo,blue\n,Cid,red\n",  # ids that are missing
        "id,name,tag\na,Anna,7\nb,Bo,8\nc,Cleo,9\n,,24\n",  # a sum below
        "land,name,tag\nCH,Anna,red\n,,green\nCH,Bo,blue\n,,red\n",  # which groups rows, and names none
        "id,name,tag\na,Anna,red\n,,\nb,Bo,blue\n,,\n",
    ],
)
def test_rows_that_lack_an_id_continue_nothing(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(text)
    assert not any("continue" in note for note in read_graph(tmp_path / "a.csv").notes)
