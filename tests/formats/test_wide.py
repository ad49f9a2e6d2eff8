"""Tables in which a row is an entity: ids, values, relations between tables, and what is said about them."""

import random
from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
import pytest

import emea
from emea.contracts import Reading
from emea.data import Graph
from emea.errors import InputError, InputWarning, SettingsError
from emea.formats import convert, read_graph
from emea.formats._columns import STRING
from emea.formats._selection import TYPE
from emea.formats._wide import rows_graph
from formats.small_graphs import literal_names, triple_names

XSD = "http://www.w3.org/2001/XMLSchema#"
HOTELS = "id,name,city,stars\nh1,Ritz,Paris,5\nh2,Savoy,London,\nh3,Adlon,Berlin,5\n"


def written(folder: Path, text: str, name: str = "hotels.csv") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def values(graph: Graph) -> set[tuple[str, str, str]]:
    return {(entity, attribute, value) for entity, attribute, value, _, _ in literal_names(graph)}


def test_columns_are_attributes_of_rows(tmp_path: Path) -> None:
    graph = read_graph(written(tmp_path, HOTELS))
    assert graph.entities.to_pylist() == ["h1", "h2", "h3"]
    assert values(graph) == {
        *(("h1", "name", "Ritz"), ("h1", "city", "Paris"), ("h1", "stars", "5")),
        *(("h2", "name", "Savoy"), ("h2", "city", "London")),
        *(("h3", "name", "Adlon"), ("h3", "city", "Berlin"), ("h3", "stars", "5")),
    }
    assert "named by the column 'id'" in graph.notes[0]


@pytest.mark.parametrize("separator", [";", "\t"])
def test_csv_may_be_separated_by_semicolons_or_tabs(tmp_path: Path, separator: str) -> None:
    graph = read_graph(written(tmp_path, HOTELS.replace(",", separator)))
    assert values(graph) == values(read_graph(written(tmp_path, HOTELS, "other.csv")))


@pytest.mark.parametrize(
    ("header", "row", "key"),
    [
        ("name,id,city", "Ritz,h1,Paris", "id"),
        ("name,hotel_id,stars", "Ritz,h1,5", "hotel_id"),
        ("Name,URI,stars", "Ritz,http://a/1,5", "URI"),
        ("code,name,stars,hotels_id", "x,Ritz,5,h1", "code"),
    ],
)
def test_the_id_column_is_found_by_its_name(tmp_path: Path, header: str, row: str, key: str) -> None:
    graph = read_graph(written(tmp_path, f"{header}\n{row}\n"))
    place = header.split(",").index(key)
    assert graph.entities.to_pylist() == [row.split(",")[place]]
    assert key not in graph.attributes.to_pylist()


def test_else_a_first_column_that_never_repeats_names_the_rows_and_stays_a_value(tmp_path: Path) -> None:
    graph = read_graph(written(tmp_path, "hotel name,stars,town,price\nRitz,5,Paris,1\nSavoy,5,London,2\n"))
    assert graph.entities.to_pylist() == ["Ritz", "Savoy"]
    assert ("Ritz", "hotel name", "Ritz") in values(graph)


def test_else_rows_are_numbered_and_it_is_said(tmp_path: Path) -> None:
    graph = read_graph(written(tmp_path, "town,stars,price,owner\nParis,5,1,a\nParis,4,2,b\n"))
    assert graph.entities.to_pylist() == ["1", "2"]
    assert "no column identifies the rows, so they are numbered; --id-column names one" in graph.notes[0]


def test_the_id_column_can_be_named(tmp_path: Path) -> None:
    path = written(tmp_path, HOTELS)
    assert read_graph(path, Reading(id_column="Name")).entities.to_pylist() == ["Adlon", "Ritz", "Savoy"]
    with pytest.raises(InputError, match=r"found the columns id, name, city, stars, expected one named key"):
        read_graph(path, Reading(id_column="key"))


def test_three_columns_with_an_id_leave_no_doubt(tmp_path: Path) -> None:
    rows = "Ritz,Paris\n2,Savoy,London\n"
    assert not any("--table" in note for note in read_graph(written(tmp_path, f"id,name,city\n1,{rows}")).notes)
    assert any("--table" in note for note in read_graph(written(tmp_path, f"nr,name,city\n1,{rows}")).notes)


def test_the_named_id_column_counts_in_the_tables_that_have_it(tmp_path: Path) -> None:
    (tmp_path / "cities.csv").write_text("nr,name,code\n1,Berlin,b\n2,Paris,p\n")
    (tmp_path / "countries.csv").write_text("cc,name\nde,Germany\nfr,France\n")
    (tmp_path / "rivers.csv").write_text("Code,name\ns,Spree\n")
    graph = read_graph(tmp_path, Reading(id_column="code"))
    rows = [name for name in graph.entities.to_pylist() if "/" in name]
    assert rows == ["cities/b", "cities/p", "countries/de", "countries/fr", "rivers/s"]
    assert graph.notes[0].endswith("no column 'code' in countries; what names the rows there is found as usual")
    expected = r"found the columns nr, name, code, cc, Code in 3 tables, expected one named kode \(--id-column\)"
    with pytest.raises(InputError, match=expected):
        read_graph(tmp_path, Reading(id_column="kode"))
    with pytest.raises(InputError, match="table a: found bytes that are no text in the column key, expected names"):
        rows_graph({"a": pa.table({"key": [b"\xff"], "name": ["x"]})}, "b", Reading(id_column="key"))
    tables = {"a": {"nr": [1, 2], "name": ["x", "y"]}, "b": {"key": ["k", "l"], "name": ["x", "y"]}}
    held = emea.graph({name: pa.table(columns) for name, columns in tables.items()}, id="name")
    assert {"a/x", "b/y"} <= {*held.entities.to_pylist()}


def test_rows_with_one_id_are_one_entity_and_rows_without_are_skipped(tmp_path: Path) -> None:
    path = written(tmp_path, "id,name,phone,town\na,Ann,1,x\na,Anna,1,x\n,Bob,2,y\n")
    with pytest.warns(InputWarning, match=r"1 rows repeat a 'id', such as 'a'; rows with the same one are one entity$"):
        graph = read_graph(path, Reading(id_column="id"))
    assert values(graph) == {("a", "name", "Ann"), ("a", "name", "Anna"), ("a", "phone", "1"), ("a", "town", "x")}
    assert any("1 rows without 'id' are skipped" in note for note in graph.notes)


def test_a_column_of_few_values_is_said_not_to_identify_rows(tmp_path: Path) -> None:
    path = written(tmp_path, "id,name,land\n1,Ann,x\n2,Bob,x\n3,Cem,x\n4,Dan,y\n5,Eva,y\n")
    expected = r"found 2 values in the 5 rows of the column 'land', expected one that identifies rows \(--id-column\): "
    with pytest.warns(InputWarning, match=f"{expected}all rows with 'x' are taken for one entity$"):
        assert len(read_graph(path, Reading(id_column="land")).entities) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,name,name,x\n1,a,b,c\n", "found the column 'name' twice, expected a header of distinct names"),
        ("id,name,x,y\n1,a,b,c\n2,a\n", "line 3: found 2 columns, expected 4 as in the header"),
        ("id\n1\n", "found 1 column, expected several separated by commas"),
        ("source,target\na,b\n", "holds pairs; expected a graph"),
        ("id,name,x,y\n", "has a header and no rows; expected at least one"),
    ],
)
def test_bad_tables_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_graph(written(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("nr,name,city\n1,Ritz,Paris\n2,Savoy,London\n", "rows"),
        ("place,name,city\nh1,Ritz,Paris\nh2,Savoy,London\nh3,Adlon,Berlin\n", "rows"),
        ("Berlin,in,Germany\nParis,in,France\n", "triples"),
        ("Berlin,in,Germany\nBerlin,near,Potsdam\n", "triples"),
        ("http://a/1,http://p/q,http://a/2\nhttp://a/3,http://p/r,x\n", "triples"),
    ],
)
def test_three_columns_are_rows_or_triples_and_it_is_said(tmp_path: Path, text: str, kind: str) -> None:
    path = written(tmp_path, text)
    graph = read_graph(path)
    other = "triples" if kind == "rows" else "rows"
    assert any(f"give --table {other}" in note for note in graph.notes)
    assert bool(len(graph.triples)) == (kind == "triples")
    turned = read_graph(path, Reading(table=other))
    assert bool(len(turned.triples)) == (other == "triples")
    assert not any("--table" in note for note in turned.notes)


def test_values_among_triples_without_a_kind_are_recognised(tmp_path: Path) -> None:
    cities = [("Berlin", "Germany"), ("Hamburg", "Germany"), ("Paris", "France"), ("Lyon", "France"), ("Rome", "Italy")]
    rows = ["subject,predicate,object"]
    for number, (city, country) in enumerate(cities):
        rows += [f"{city},in,{country}", f"{country},contains,{city}"]
        rows += [f"{city},population,{number}00000", f"{city},founded,1{number}00-01-0{number + 1}"]
        rows += [f'{city},motto,"the city, of {city} number {number}"']
    graph = read_graph(written(tmp_path, "\n".join(rows)))
    assert {relation for _, relation, _ in triple_names(graph)} == {"in", "contains"}
    assert graph.attributes.to_pylist() == ["founded", "motto", "population"]
    assert len(graph.entities) == 8
    (note,) = graph.notes
    assert "taken as values, not entities: the tails of founded, motto, population; a column kind says which" in note


def test_under_our_own_header_tails_are_entities(tmp_path: Path) -> None:
    text = "head,relation,tail\n" + "".join(f"a{n},age,{n}\n" for n in range(20))
    assert not read_graph(written(tmp_path, text)).literals.num_rows


def folder_of_tables(folder: Path) -> Path:
    (folder / "world").mkdir()
    written(folder / "world", "id,name,population\nDE,Germany,84\nFR,France,68\n", "countries.csv")
    written(
        folder / "world",
        "city_id\tname\tcountry\ttwin_city_id\trank\n1\tBerlin\tDE\t2\t1\n2\tParis\tFR\t1\t2\n3\tBonn\tDE\t\t3\n",
        "cities.tsv",
    )
    (folder / "world" / "notes.md").write_text("not a table")
    return folder / "world"


def test_a_folder_of_tables_is_one_graph_with_types_and_relations(tmp_path: Path) -> None:
    graph = read_graph(folder_of_tables(tmp_path))
    assert triple_names(graph) == {
        *(("countries/DE", TYPE, "countries"), ("countries/FR", TYPE, "countries")),
        *((f"cities/{number}", TYPE, "cities") for number in (1, 2, 3)),
        *(("cities/1", "country", "countries/DE"), ("cities/2", "country", "countries/FR")),
        ("cities/3", "country", "countries/DE"),
        *(("cities/1", "twin_city_id", "cities/2"), ("cities/2", "twin_city_id", "cities/1")),
    }
    assert ("cities/1", "rank", "1") in values(graph)  # small numbers are no ids unless the column says so
    assert any("country → countries" in note for note in graph.notes)


def test_pairs_may_name_rows_of_a_folder_by_their_ids_alone_where_one_table_has_them(tmp_path: Path) -> None:
    graph = read_graph(folder_of_tables(tmp_path))
    written(tmp_path / "world", "id,name\n1,Rhine\nR,Rhône\n", "rivers.csv")
    several = read_graph(tmp_path / "world")
    named = pa.array(["DE", "1", "cities/1", "R", "cities"], pa.large_string())
    known = [other.entities.take(other.positions(named)).to_pylist() for other in (graph, several)]
    assert known[0] == ["countries/DE", "cities/1", "cities/1", None, "cities"]
    assert known[1] == ["countries/DE", None, "cities/1", "rivers/R", "cities"]


def test_types_of_a_folder_choose_what_is_linked(tmp_path: Path) -> None:
    graph = read_graph(folder_of_tables(tmp_path), Reading(type=("cities",)))
    assert graph.entities.filter(pa.array(graph.linkable.numpy())).to_pylist() == [f"cities/{n}" for n in (1, 2, 3)]


def test_a_folder_without_tables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is a folder without tables; expected files that end in \.arrow|\.csv"):
        read_graph(tmp_path)


def test_the_folder_of_a_run_is_no_graph(tmp_path: Path) -> None:
    for name in ("alignment.tsv", "settings.toml"):
        (tmp_path / name).write_text("source\ttarget\na\tb\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"is the folder of a run; expected a graph: a file, or a folder of tables$"):
        read_graph(tmp_path)


def test_typed_cells_keep_their_datatypes() -> None:
    table = pa.table(
        {
            "id": ["a", "b"],
            "age": pa.array([5, None]),
            "count": pa.array([5.0, float("nan")]),
            "height": pa.array([1.5, 2.0]),
            "born": pa.array([date(2001, 2, 3), None]),
            "seen": pa.array([datetime(2001, 2, 3, 4, 5, 6), None]),
            "alive": [True, False],
            "kind": pa.array(["x", "y"]).dictionary_encode(),
            "tags": [["p", "q"], []],
            "at": [{"lat": 1.5, "town": "X"}, None],
            "nothing": pa.nulls(2),
        }
    )
    found = literal_names(rows_graph({"t": table}, "t", Reading()))
    assert {row for row in found if row[0] == "a"} == {
        ("a", "age", "5", f"{XSD}integer", ""),
        ("a", "count", "5", f"{XSD}integer", ""),
        ("a", "height", "1.5", f"{XSD}double", ""),
        ("a", "born", "2001-02-03", f"{XSD}date", ""),
        ("a", "seen", "2001-02-03T04:05:06", f"{XSD}dateTime", ""),
        ("a", "alive", "true", f"{XSD}boolean", ""),
        ("a", "kind", "x", STRING, ""),
        *(("a", "tags", tag, STRING, "") for tag in "pq"),
        ("a", "at.lat", "1.5", f"{XSD}double", ""),
        ("a", "at.town", "X", STRING, ""),
    }


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_ten_thousand_rows_are_the_graph_of_their_n_triples(tmp_path: Path, ending: str) -> None:
    draw = random.Random(1)
    names = ["id", "name", "note", "score"]
    rows = [(f"http://a/{n}", f"Ünïcode {draw.random()}", "x" * (n % 3), f"{n % 50}") for n in range(10_000)]
    path = tmp_path / f"wide.{ending}"
    if ending == "parquet":
        import pyarrow.parquet as pq

        pq.write_table(pa.table(dict(zip(names, zip(*rows, strict=True), strict=True))), path)
    else:
        mark = "," if ending == "csv" else "\t"
        path.write_text("\n".join(mark.join(row) for row in [tuple(names), *rows]), encoding="utf-8")
    lines = (
        f'<{row[0]}> <http://p/{name}> "{cell}" .\n'
        for row in rows
        for name, cell in zip(names[1:], row[1:], strict=True)
        if cell
    )
    long = read_graph(written(tmp_path, "".join(lines), "long.nt"))
    wide = read_graph(path)
    assert wide.entities.equals(long.entities)
    assert [f"http://p/{name}" for name in wide.attributes.to_pylist()] == long.attributes.to_pylist()
    assert wide.literals.equals(long.literals)


def test_a_wide_table_can_be_converted(tmp_path: Path) -> None:
    path = written(tmp_path, HOTELS)
    convert(path, tmp_path / "long.tsv")
    assert literal_names(read_graph(tmp_path / "long.tsv")) == literal_names(read_graph(path))


def test_choices_without_effect_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "<a:a> <a:p> <a:b> .", "graph.nt")
    with pytest.raises(SettingsError, match=r"found --id-column for .*graph\.nt, expected none: RDF graphs"):
        read_graph(path, Reading(id_column="id"))


def test_an_id_column_without_any_id_is_named(tmp_path: Path) -> None:
    (tmp_path / "hotels.csv").write_text("ref,name\n,Adlon\n,Ritz\n")
    with pytest.raises(InputError, match="found no value in the column 'ref', expected the ids of its 2 rows"):
        read_graph(tmp_path / "hotels.csv", Reading(id_column="ref"))


def test_a_column_that_nearly_identifies_the_rows_is_named(tmp_path: Path) -> None:
    rows = [f"s{n},title {n % 7}" for n in range(100)]
    path = written(tmp_path, "\n".join(["shelf,title", *rows, rows[0], rows[1]]), "books.csv")
    assert "such as 'shelf', which all but 2 of 102 rows have to themselves" in read_graph(path).notes[0]
    path = written(tmp_path, "\n".join(["shelf,title", *(f"s{n % 9},{n}" for n in range(100))]), "books.csv")
    assert read_graph(path).notes[0].endswith("--id-column names one")


def test_ids_that_are_words_are_compared_and_those_that_count_rows_are_not(tmp_path: Path) -> None:
    def compared(column: str, *ids: str) -> bool:
        rows = "".join(f"{each},Ritz\n" for each in ids)
        graph = read_graph(written(tmp_path, f"{column},name\n{rows}"))
        assert ("which is compared, too" in graph.notes[0]) == (column in graph.attributes.to_pylist())
        return column in graph.attributes.to_pylist()

    assert compared("id", "go_ref", "vgnc", "4dn", "orphanet.ordo")
    assert compared("code", "AT", "CH")
    assert not compared("key", "a", "b")
    assert not compared("id", "C-17", "C-18")
    assert not compared("id", "1", "2", "ab")
    assert not compared("uri", "http://ex.org/Vienna", "http://ex.org/Graz")
    assert compared("isbn", "9783161484100", "9783161484117")


def test_an_id_column_that_is_named_is_compared_as_if_it_had_been_found(tmp_path: Path) -> None:
    file = written(tmp_path, "isbn,title\n9783161484100,Emma\n9783161484117,Emma\n")
    assert values(read_graph(file, Reading(id_column="isbn"))) == values(read_graph(file))
    assert ("9783161484100", "isbn", "9783161484100") in values(read_graph(file))


def test_numbers_are_ids_of_rows_only_if_the_column_says_so(tmp_path: Path) -> None:
    """Nearly all elevations are also numbers of rows, though some are below sea level."""
    rows = "".join(f"{row},{row * 7 % 90 - 2},{(row + 1) % 100 or ''}\n" for row in range(1, 100))
    graph = read_graph(written(tmp_path, f"id,elevation,parent_id\n{rows}"))
    assert graph.relations.to_pylist() == ["parent_id"]
    assert "elevation" in graph.attributes.to_pylist()


def test_what_repeats_the_ids_of_the_rows_refers_to_none(tmp_path: Path) -> None:
    rows = "".join(f"{name},{name},{other}\n" for name, other in (("Bern", "Graz"), ("Graz", "Linz"), ("Linz", "Bern")))
    graph = read_graph(written(tmp_path, f"name,english,twin\n{rows}"))
    assert graph.relations.to_pylist() == ["twin"]
    assert ("Bern", "english", "Bern") in values(graph)
