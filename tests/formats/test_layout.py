"""How a table is laid out is told from many lines; what is no table is told so."""

from pathlib import Path

import pytest
from small_graphs import literal_names

from emea.contracts import Reading
from emea.errors import InputError, InputWarning
from emea.formats import read_graph
from emea.formats._layout import separator_of
from emea.formats._text_tables import holds_table

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
@pytest.mark.parametrize("title", ["Export vom 12.03.2024\n\n", "Export vom 12.03.2024;;;\n;;;\n"])
def test_a_title_before_the_header_is_left_out(name: str, mark: str, lenient: bool, title: str, tmp_path: Path) -> None:
    rows = "".join(f"W{number};Malbec;Peru;{number}\n" for number in range(9))
    (tmp_path / name).write_text((title + HEADER + rows).replace(";", mark))
    graph = read_graph(tmp_path / name, Reading(lenient=lenient))
    assert graph.columns == ("Nr.", "Bezeichnung", "Land", "Preis")
    assert len(graph.entities) == 9
    told = "what stands before line 3 is taken for a title and left out ('Export vom 12.03.2024')"
    assert graph.notes[0] == f"{tmp_path / name}: {told}"


def test_a_line_before_the_header_that_is_no_title_is_told(tmp_path: Path) -> None:
    rows = "".join(f"W{number};Malbec;Peru;{number}\n" for number in range(9))
    message = "found 2 columns in the header and 4 in most rows|found 1 column|found 2 columns"
    with pytest.raises(InputError, match=message):
        columns(tmp_path, "Export;2024\n" + HEADER + rows)


@pytest.mark.parametrize("text", [",mean\na,7\nb,8\n", "id,\na,7\nb,8\n"])
def test_the_header_of_two_columns_may_lack_a_name(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(text)
    assert read_graph(tmp_path / "a.csv").entities.to_pylist() == ["a", "b"]


R = """"mpg" "name"
"a" 21 "Mazda RX4"
"b" 22.8 "Datsun 710"
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", R),
        ("a.txt", R.replace('" ', '"\t').replace("21 ", "21\t").replace("8 ", "8\t")),
        ("a.csv", '"mpg","name"\n"a",21,"Mazda RX4"\n"b",22.8,"Datsun 710"\n'),
        ("a.tsv", "mpg\tname\na\t21\tMazda RX4\nb\t22.8\tDatsun 710\n"),
    ],
)
def test_a_header_of_r_does_not_name_the_names_of_rows(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    graph = read_graph(path)
    assert graph.notes[0].endswith("the header names one column less than the rows have: the first one is numbered")
    assert {row[:3] for row in literal_names(graph) if row[1] != "column 1"} == {
        *(("a", "mpg", "21"), ("a", "name", "Mazda RX4"), ("b", "mpg", "22.8"), ("b", "name", "Datsun 710")),
    }


@pytest.mark.parametrize("rows", ["1,Smith, Anna\n2,Ray, Bo\n", "1,2,50\n2,3,50\n"])
def test_a_separator_within_every_value_is_no_name_of_rows(rows: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found 2 columns in the header and 3 in most rows, expected as many; mend"):
        columns(tmp_path, "id,name\n" + rows)


def test_a_separator_at_the_end_of_rows_is_a_column_without_a_name(tmp_path: Path) -> None:
    assert columns(tmp_path, "nr,name\n1,Anna,\n2,Bo,\n") == ("nr", "name", "column 3")


@pytest.mark.parametrize(
    ("text", "separated"),
    [
        ("a b\nc d\ne f\n", True),
        ("To be, or not\nto be, that is\nthe question\nwhether it is nobler\n", False),
        ("Two roads diverged\nin a yellow wood\nand sorry I could\nnot travel both\n", False),
        ("", True),
    ],
)
def test_prose_is_no_table(text: str, separated: bool, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(text)
    assert holds_table(tmp_path / "a.txt") == separated


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("<!DOCTYPE html>\n<html><body>Log in, please</body></html>\n", "it looks like a page of the web"),
        ('[\n {"id": 1, "name": "a"}\n]\n', r"it looks like JSON: call it \.json"),
        ('{"id": 1}\n{"id": 2}\n', r"it looks like JSON: call it \.json"),
    ],
)
@pytest.mark.parametrize("name", ["a.csv", "a.txt", "a.tsv"])
def test_what_else_is_called_a_table_is_told(name: str, text: str, hint: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"{name}: found no table, expected columns separated by .*; {hint}"):
        columns(tmp_path, text, name)


def test_a_header_that_no_row_agrees_with_is_to_be_mended(tmp_path: Path) -> None:
    rows = "".join(f"{number},a,b\n" for number in range(9))
    with pytest.raises(InputError, match="found 4 columns in the header and 3 in most rows, expected as many; mend"):
        columns(tmp_path, "id,name,Land, Staat\n" + rows)


def test_without_a_header_columns_are_numbered(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(ROWS)
    graph = read_graph(tmp_path / "a.csv")
    assert graph.columns == ("column 1", "column 2", "column 3", "column 4")
    assert len(graph.entities) == ROWS.count("\n")
    told = "the first row is no header, since it has 'Malbec 0,75l' and 'Peru', like those below: columns are numbered"
    assert graph.notes[0].endswith(f"a.csv: {told}")
    named = read_graph(tmp_path / "a.csv", Reading(id_column="column 1"))
    assert named.entities[0].as_py() == "W0"


@pytest.mark.parametrize(
    "text",
    [
        HEADER + "W;Bezeichnung;Peru;7\n" + ROWS,  # one name that also stands below
        HEADER + ROWS + HEADER + ROWS.replace("W", "X"),  # two tables, one below the other
        "id;https://a.org/name;https://a.org/land\n"
        + ROWS.replace(",50", "").replace(";Peru", ""),  # names that are URIs
        "id;2020;2021;2022\na;2020;7;2022.5\nb;2;3;4\n",
    ],
)
def test_a_header_stays_one(text: str, tmp_path: Path) -> None:
    assert columns(tmp_path, text)[0] != "column 1"


def test_a_folder_tells_of_tables_without_a_header(tmp_path: Path) -> None:
    (tmp_path / "wines.csv").write_text(ROWS)
    (tmp_path / "lands.csv").write_text("id,name\np,Peru\nc,Chile\n")
    graph = read_graph(tmp_path)
    assert any("wines.csv: the first row is no header" in note for note in graph.notes)
    assert sum(name.startswith("wines/") for name in graph.entities.to_pylist()) == ROWS.count("\n")


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


@pytest.mark.parametrize(("key", "entities"), [("id", 39), ("uuid", 39), ("code", 40)])
def test_a_few_rows_may_repeat_an_id_but_for_codes_that_things_share(
    tmp_path: Path, key: str, entities: int, recwarn: pytest.WarningsRecorder
) -> None:
    rows = "".join(f"K{max(1, number)},name {number}\n" for number in range(40))
    (tmp_path / "things.csv").write_text(f"{key},name\n{rows}")
    assert len(read_graph(tmp_path / "things.csv").entities) == entities
    assert [str(each.message).endswith("rows with the same one are one entity") for each in recwarn] == [True] * (
        40 - entities
    )


def test_a_first_column_of_addresses_names_rows_though_some_have_several(tmp_path: Path) -> None:
    rows = "".join(f"http://www.wikidata.org/entity/Q{number // 2 * 2},{number}\n" for number in range(1, 12))
    (tmp_path / "items.csv").write_text(f"item,value\n{rows}")
    with pytest.warns(InputWarning, match="rows repeat a 'item'"):
        graph = read_graph(tmp_path / "items.csv")
    assert "http://www.wikidata.org/entity/Q2" in graph.entities.to_pylist()


def test_a_code_comes_before_a_column_called_like_the_table(tmp_path: Path) -> None:
    (tmp_path / "airports.csv").write_text("iata,airport\nBER,Berlin\nZRH,Zürich\n", encoding="utf-8")
    assert read_graph(tmp_path / "airports.csv").entities.to_pylist() == ["BER", "ZRH"]
    (tmp_path / "countries.csv").write_text("rank,country\n1,Peru\n2,Chile\n")
    assert {*read_graph(tmp_path / "countries.csv").entities.to_pylist()} == {"Peru", "Chile"}


def test_a_first_line_may_say_what_separates_columns(tmp_path: Path) -> None:
    path = tmp_path / "places.csv"
    path.write_text("sep=;\nid;name\n1;Bern, CH\n2;Basel\n", encoding="utf-8")
    assert {row[:3] for row in literal_names(read_graph(path))} == {("1", "name", "Bern, CH"), ("2", "name", "Basel")}


def test_text_files_may_be_separated_by_commas(tmp_path: Path) -> None:
    path = tmp_path / "stops.txt"
    path.write_text('stop_id,stop_name\n1,"Bern, main"\n2,Basel\n', encoding="utf-8")
    found = {row[:3] for row in literal_names(read_graph(path))}
    assert found == {("1", "stop_name", "Bern, main"), ("2", "stop_name", "Basel")}
