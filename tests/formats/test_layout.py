"""How a table is laid out is told from many lines; what is no table is told so."""

from pathlib import Path

import pytest

from emea.contracts import Reading
from emea.errors import InputError
from emea.formats import read_graph
from emea.formats._layout import separator_of

HEADER = "Nr.;Bezeichnung;Land;Preis\n"
ROWS = "".join(f"W{number};Malbec 0,75l;Peru;{number},50\n" for number in range(9))


def columns(folder: Path, text: str, name: str = "a.csv", *, lenient: bool = False) -> tuple[str, ...]:
    (folder / name).write_text(text)
    return read_graph(folder / name, Reading(lenient=lenient)).columns


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        (HEADER + ROWS, ";"),
        (HEADER.replace("Land", "Land, Staat") + ROWS, ";"),
        (HEADER.replace("Land", "Land, Staat, Region") + ROWS, ";"),
        (ROWS, ";"),
        (ROWS.replace("0,75l", "0,75l, rot", 3), ";"),
        ("id;price\n1;2,5\n2;3,5\n", ";"),
        ("Export, 2024\n\n" + HEADER + ROWS, ";"),
        ("id,tags\n1,a;b;c\n2,d;e;f\n", ","),
        ("1,a;b;c\n2,d;e;f\n", ","),
        ("x,y\n1,2\n3,4\n", ","),
        ('id,name\n1,"a\nb;c;d"\n2,"e; f, g"\n', ","),
        ("id|name, first\n1|a, b\n2|c\n", "|"),
        ("id\tname\n1\ta, b\n", "\t"),
        ("id\n1\n", ","),
        ("", ","),
    ],
)
def test_columns_are_separated_by_what_most_lines_agree_on(text: str, separator: str) -> None:
    assert separator_of(text.splitlines(keepends=True)) == separator


@pytest.mark.parametrize("lenient", [False, True])
def test_a_table_of_semicolons_may_have_commas_anywhere(lenient: bool, tmp_path: Path) -> None:
    found = columns(tmp_path, HEADER.replace("Land", "Land, Staat") + ROWS, lenient=lenient)
    assert found == ("Nr.", "Bezeichnung", "Land, Staat", "Preis")


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize(("name", "mark"), [("a.csv", ";"), ("a.tsv", "\t"), ("a.csv", ",")])
def test_a_title_before_the_header_is_called_one(name: str, mark: str, lenient: bool, tmp_path: Path) -> None:
    rows = "".join(f"W{number};Malbec;Peru;{number}\n" for number in range(9))
    table = ("Export vom 12.03.2024\n\n" + HEADER + rows).replace(";", mark)
    message = (
        f"{name}: found 1 column in the first line and 4 in most others; that line looks like a title, and line 3 "
        "like the header: remove what is before it"
    )
    with pytest.raises(InputError, match=message):
        columns(tmp_path, table, name, lenient=lenient)


def test_a_header_that_no_row_agrees_with_is_to_be_mended(tmp_path: Path) -> None:
    rows = "".join(f"{number},a,b\n" for number in range(9))
    with pytest.raises(InputError, match="found 4 columns in the header and 3 in most rows, expected as many; mend"):
        columns(tmp_path, "id,name,Land, Staat\n" + rows)


def test_a_first_row_like_the_others_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(ROWS)
    told = "a.csv: the first row names the columns, but 'Malbec 0,75l' and 'Peru' also stand below; is there no header?"
    assert any(note.endswith(told) for note in read_graph(tmp_path / "a.csv").notes)
    (tmp_path / "a.csv").write_text(HEADER + "W;Bezeichnung;Peru;7\n" + ROWS)
    assert not any("no header" in note for note in read_graph(tmp_path / "a.csv").notes)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("@prefix e: <http://e.org/> .\ne:a e:b e:c .\n", "it looks like Turtle: call it .ttl"),
        ("PREFIX e: <http://e.org/>\ne:a e:b e:c, e:d .\n", "it looks like Turtle: call it .ttl"),
        ('<a:a> <a:b> "c" .\n<a:a> <a:b> "d" .\n', "it looks like N-Triples: call it .nt"),
        ('<?xml version="1.0"?>\n<rdf:RDF/>\n', "it looks like XML: call it .rdf"),
    ],
)
@pytest.mark.parametrize("name", ["a.txt", "a.csv"])
def test_rdf_is_no_table(name: str, text: str, hint: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"{name}: found no table, expected columns separated by .*; {hint}"):
        columns(tmp_path, text, name)
