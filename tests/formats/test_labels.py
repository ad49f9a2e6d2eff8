"""Labels and types of entities, for people."""

import random
from dataclasses import replace
from string import ascii_lowercase

import numpy as np
import pyarrow as pa
import pytest
import torch
from small_graphs import graph_of

from emea.data import LITERAL_SCHEMA, Graph
from emea.formats._labels import labelled, labels, types
from emea.formats._namings import LABELS, LAST_PARTS

RDFS, SKOS, SCHEMA, _, FOAF, DC, _ = LABELS
Literal = tuple[str, str, str, str]  # entity, attribute, value, language


def described(entities: str, *literals: Literal) -> Graph:
    names = list(entities)
    attributes = sorted({attribute for _, attribute, _, _ in literals})
    rows = [(names.index(e), attributes.index(a), value, "", language) for e, a, value, language in literals]
    columns = [list(column) for column in zip(*rows, strict=True)]
    table = pa.table(columns, schema=LITERAL_SCHEMA) if rows else None
    return Graph.build(names, [], torch.empty(0, 3, dtype=torch.int64), attributes=attributes, literals=table)


@pytest.mark.parametrize(
    ("literals", "label"),
    [
        ([(FOAF, "of foaf", "en"), (RDFS, "of rdfs", "de"), (SKOS, "of skos", "en")], "of rdfs"),
        ([(DC, "a title", ""), (SCHEMA, "a name", "")], "a name"),
        ([("http://ex.org/ns#Title", "a title", ""), ("Name", "a name", "")], "a name"),
        ([("ex:name", "ours", ""), (DC, "theirs", "")], "theirs"),
        (
            [(RDFS, "none", ""), (RDFS, "deutsch", "de"), (RDFS, "American", "en-us"), (RDFS, "English", "en")],
            "English",
        ),
        ([(RDFS, "no", ""), (RDFS, "de", "de"), (RDFS, "American", "en-US")], "American"),
        ([(RDFS, "no language", ""), (RDFS, "de", "de")], "no language"),
        ([(RDFS, "längeres", "de"), (RDFS, "kurz", "de"), (RDFS, "aber", "de")], "aber"),
        ([(RDFS, "北京", "zh"), (RDFS, "Pékin", "fr")], "Pékin"),  # letters that readers of English know
        ([(RDFS, " a\ttab\n and  lines ", "")], "a tab and  lines"),
        ([(RDFS, "\n ", ""), ("label", "x", "")], "x"),
        ([("nickname", "x", ""), ("http://ex.org/name/first", "y", ""), ("surname", "z", "")], None),
        ([], None),
    ],
)
def test_the_best_label(literals: list[tuple[str, str, str]], label: str | None) -> None:
    for order in (literals, literals[::-1]):
        graph = described("ab", *(("b", *literal) for literal in order))
        assert labels(graph).to_pylist() == [None, label]
        assert labels(graph, np.array([1, 0, 1])).to_pylist() == [label, None, label]


@pytest.mark.parametrize(
    "called",
    [
        "company_name",
        "companyName",
        "http://ex.org/company-name",
        "Company name",
        "kurzbezeichnung",
        "会社名",
        "公司_名称",
    ],
)
def test_attributes_that_end_like_a_name(called: str) -> None:
    names, streets = ["Miller", "Smith", "Café 24", "Fisher", "Baker"], ["Mill Lane", "Market", "Quay", "Hill", "Lane"]
    rows = [
        (e, a, value, "")
        for a, row in ((called, names), ("street", streets))
        for e, value in zip("abcde", row, strict=True)
    ]
    assert labels(described("abcde", *rows)).to_pylist() == names
    also = described("abcde", *rows, ("b", "label", "Smith & Co", ""))
    assert labels(also).to_pylist() == [None, "Smith & Co", None, None, None], "what is called a label is one"


@pytest.mark.parametrize("called", ["Bezeichnung", "libellé", "titel", "Titre", "nombre", "título", "naam", "ex:nome"])
def test_words_of_other_languages_count_as_english_ones_do(called: str) -> None:
    """Also where values have digits, and beside a column that is called a label."""
    wares = ["HP UX3914 Notebook 8GB", "Kopfhörer WM-350", "Canon 24-70"]
    rows = [(e, a, value, "") for e, value in zip("abc", wares, strict=True) for a in (called, "sku")]
    assert labels(described("abc", *rows)).to_pylist() == wares
    assert labels(described("abc", *rows, ("b", "label", "WM", ""))).to_pylist() == [wares[0], "WM", wares[2]]
    counts = [(e, called, str(number), "") for number, e in enumerate("abcdef")]
    assert labels(described("abcdef", *counts)).to_pylist() == [None] * 6, "nombre is a number in French"


def test_each_table_has_a_label_of_its_own() -> None:
    """As in a workbook of companies and of contacts, whose names come in parts."""
    firms = {f"c{number}": f"{letter * 3} Ltd" for number, letter in enumerate("abcdefgh")}
    people = {f"p{number}": (first, "shaw") for number, first in enumerate(("ann", "bea", "cy", "dee", "eli", "fay"))}
    names = [*firms, *people, "companies", "contacts"]
    cells = [(each, "Company name", firm) for each, firm in firms.items()]
    cells += [(each, "First name", first) for each, (first, _) in people.items()]
    cells += [(each, "Surname", last) for each, (_, last) in people.items()]
    cells += [(each, "Company name", "Elsewhere") for each in people]
    attributes = ["Company name", "First name", "Surname"]
    rows = [(names.index(each), attributes.index(a), value, "", "") for each, a, value in cells]
    types = [[number, 0, len(names) - (2 if name in firms else 1)] for number, name in enumerate(names[:-2])]
    literals = pa.table([list(column) for column in zip(*rows, strict=True)], schema=LITERAL_SCHEMA)
    graph = Graph.build(names, ["type"], torch.tensor(types), attributes=attributes, literals=literals)
    found = dict(zip(graph.entities.to_pylist(), labels(graph).to_pylist(), strict=True))
    expected = {each: f"{first} {last}" for each, (first, last) in people.items()}
    assert found == firms | expected | {"companies": None, "contacts": None}
    assert [graph.entities[int(row)].as_py() for row in labelled(graph, "CCC Ltd")] == ["c2"]


def test_names_may_recur_where_they_are_called_so() -> None:
    names = ["City Hospital"] * 3 + ["Saint Mary", "General"]
    for called, expected in (("Bezeichnung", names), ("house", [None] * 5)):
        rows = [(e, called, value, "") for e, value in zip("abcde", names, strict=True)]
        assert labels(described("abcde", *rows)).to_pylist() == expected


WARES = ["HP UX3914 Notebook", "Portwood 21 Year Old", "Bin 128 / Shiraz", "Canon 24-70", "Rioja 2016", "Talisker 10"]


def columns_of(**columns: list[str]) -> Graph:
    """A table with these columns, in this order, an underscore standing for a blank."""
    named = {name.replace("_", " "): values for name, values in columns.items()}
    rows = [(e, a, text, "") for a, values in named.items() for e, text in zip("abcdef", values, strict=True)]
    return replace(described("abcdef", *rows), columns=tuple(named))


@pytest.mark.parametrize(
    "called", ["Product_title", "Titel_des_Buches", "Product_name_(long)", "produktName", "Nom_du_produit"]
)
def test_a_word_for_names_makes_a_label_also_of_values_with_digits(called: str) -> None:
    others = {"Brand": ["HP", "Balvernie", "Penhallow", "Canon", "Olmedo", "Talisker"], "File_name": list("uvwxyz")}
    graph = columns_of(**others, **{called: WARES})
    assert labels(graph).to_pylist() == WARES
    assert labelled(graph, "portwood 21 year old").tolist() == [1]


@pytest.mark.parametrize(
    "others",
    [
        {"Brand_name": ["HP", "Balvernie", "Penhallow", "Canon", "Olmedo", "Talisker"]},
        {"username": ["user ann", "user bob", "user cyd", "user dan", "user eve", "user fay"]},
        {"A_title_id": ["id aa", "id bb", "id cc", "id dd", "id ee", "id ff"]},
        {"An_original_title": ["un", "deux", "trois", "quatre", "cinq", "six"]},
        {"A_Nachname": ["Ott", "Graf", "Klein", "Wolf", "Busch", "Frank"]},
        {"Name_of_the_region": ["Leeds", "York", "Hull", "Bath", "Kent", "Ayr"]},
        {"Wine_title_of_the_maker": ["Red"] * 3 + ["White"] * 3},
        {"Titel_der_Sorte": ["Rotwein"] * 2 + ["Whisky", "Rum", "Gin", "Sekt"]},
    ],
)
def test_of_several_columns_called_names_the_plainest(others: dict[str, list[str]]) -> None:
    assert labels(columns_of(**others, Product_title=WARES)).to_pylist() == WARES


def test_of_columns_that_name_as_plainly_the_first() -> None:
    """Though one firm is there twice; but where the other is far more distinct, that."""
    people = [f"Person {letter * 2}" for letter in ascii_lowercase]
    for distinct, first in ((25, True), (18, False)):
        firms = [f"Firm {letter * 2}" for letter in ascii_lowercase[:distinct]] + ["Firm aa"] * (26 - distinct)
        rows = [
            (e, a, text, "")
            for a, texts in (("Person name", people), ("Firm name", firms))
            for e, text in zip(ascii_lowercase, texts, strict=True)
        ]
        graph = replace(described(ascii_lowercase, *rows), columns=("Firm name", "Person name"))
        assert labels(graph).to_pylist() == (firms if first else people)


def test_names_of_other_things_are_no_labels() -> None:
    firms, streets = ["Miller", "Smith", "Fisher", "Baker", "Wood"], ["Mill Lane"] * 3 + ["Quay Street"] * 2
    rows = [(e, "street_name", value, "") for e, value in zip("abcde", streets, strict=True)]
    assert labels(described("abcde", *rows)).to_pylist() == [None] * 5
    rows += [(e, "firm", value, "") for e, value in zip("abcde", firms, strict=True)]
    assert labels(described("abcde", *rows)).to_pylist() == firms
    keywords = [("a", "keyword", f"word{'x' * number}", "") for number in range(8)]
    others = [(e, "year", "1990", "") for e in "abcde"]
    assert labels(described("abcde", *keywords, *others)).to_pylist() == [None] * 5, "one entity has them all"


def test_without_any_name_what_looks_most_like_one() -> None:
    rows = [
        ("Miller & Sons", "12 Mill Lane", "Leeds", "0113 496", "mill@ex.org"),
        ("Café Central", "1 Market Square", "York", "01904 496", "cafe@ex.org"),
        ("Castle Hotel", "Castle Street", "York", "01904 497", "info@ex.org"),
        ("Book Nook", "7 Castle Street", "York", "01904 498", "book@ex.org"),
        ("Cycles 2000", "88 Station Road", "Leeds", "0113 497", "cycl@ex.org"),
    ]
    columns = ("firm", "address", "town", "telephone", "mail")
    cells = [
        (e, a, value, "") for e, row in zip("abcde", rows, strict=True) for a, value in zip(columns, row, strict=True)
    ]
    assert labels(described("abcdef", *cells)).to_pylist() == [*(row[0] for row in rows), None]
    assert labels(described("abcd", *cells[:20])).to_pylist() == [None] * 4, "too few to tell"
    assert labels(described("abcde", *(cell for cell in cells if cell[1] != "firm"))).to_pylist() == [None] * 5


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("given_name", "surname"),
        ("First name", "Last name"),
        ("http://xmlns.com/foaf/0.1/givenName", "http://xmlns.com/foaf/0.1/familyName"),
        ("Vorname", "Nachname"),
        ("prénom", "nom_de_famille"),
        ("prenom", "nom"),
        ("nombre", "apellido"),
    ],
)
def test_first_and_last_names_are_one_label(first: str, last: str) -> None:
    people = {"a": ("elton", "white"), "b": ("", "shaw"), "c": ("mia", ""), "d": ("", ""), "e": ("ann", "lee")}
    streets = ["Mill Lane", "Market", "Quay", "Hill", "Lane"]
    rows = [
        (e, a, value, "")
        for (e, names), street in zip(people.items(), streets, strict=True)
        for a, value in ((first, names[0]), (last, names[1]), ("street", street), ("title", "Dr"))
        if value and (a != "title" or e == "a")
    ]
    graph, expected = described("abcde", *rows), ["elton white", "shaw", "mia", None, "ann lee"]
    assert labels(graph).to_pylist() == expected
    assert labels(graph, np.array([4, 0, 3])).to_pylist() == ["ann lee", "elton white", None]
    assert labelled(graph, " Elton WHITE").tolist() == [0]
    assert labelled(graph, "elton").tolist() == []
    also = described("abcde", *rows, ("a", "name", "Sir Elton White", ""), ("d", "name", "Dee", ""))
    assert labels(also).to_pylist() == ["Sir Elton White", "shaw", "mia", "Dee", "ann lee"], "the whole name first"


def test_half_a_name_is_none_of_a_pair() -> None:
    rows = [(e, "surname", "shaw", "") for e in "abcde"] + [(e, "title", "Dr", "") for e in "ab"]
    assert labels(described("abcde", *rows)).to_pylist() == ["Dr", "Dr", None, None, None]


def test_what_recurs_less_is_the_name() -> None:
    cities = ["Aville", "Aville", *(f"{letter}ville" for letter in "CDEFGHIJ")]
    airports = ["Field 7", *(f"{letter} Field" for letter in "bcdefghij")]
    columns = {"airport": airports, "city": cities, "country": ["Utopia"] * 10}
    rows = [(e, a, value, "") for a, row in columns.items() for e, value in zip("abcdefghij", row, strict=True)]
    assert labels(described("abcdefghij", *rows)).to_pylist() == airports


def test_who_has_no_name_is_called_by_what_looks_like_one() -> None:
    """As in tables of cities and of countries, only one of which calls its column name."""
    countries = ("Austria", "Belgium", "Chile", "Denmark", "Egypt")
    cities = [(city, "name", f"Town {city}", "") for city in "abcde"]
    money = [
        (country, "currency", coin, "")
        for country, coin in zip("FGHIJ", ("euro", "euro", "peso", "krone", "pound"), strict=True)
    ]
    named = [(country, "country", name, "") for country, name in zip("FGHIJ", countries, strict=True)]
    graph = described("abcdeFGHIJ", *cities, *money, *named, ("a", "country", "Austria", ""))
    found = dict(zip(graph.entities.to_pylist(), labels(graph).to_pylist(), strict=True))
    assert found == {**{city: f"Town {city}" for city in "abcde"}, **dict(zip("FGHIJ", countries, strict=True))}
    assert [graph.entities[int(row)].as_py() for row in labelled(graph, "chile")] == ["H"]


def test_other_languages_by_how_frequent_they_are() -> None:
    rows = [("a", RDFS, "eins", "de"), ("a", RDFS, "un", "fr"), ("b", RDFS, "deux", "fr"), ("c", RDFS, "drei", "de")]
    assert labels(described("abcd", *rows, ("d", RDFS, "quatre", "fr"))).to_pylist() == ["un", "deux", "drei", "quatre"]
    assert labels(described("abcd", *rows), languages=("de",)).to_pylist() == ["eins", "deux", "drei", None]


def test_labels_equal_a_plain_loop() -> None:
    draw = random.Random(3)
    attributes = [*LABELS, *LAST_PARTS, "other"]
    rows = {
        (draw.choice("abcdef"), draw.choice(attributes), "".join(draw.choices("xyz", k=draw.randint(1, 3))), language)
        for language in ("", "en", "de")
        for _ in range(40)
    }
    graph = described("abcdefg", *sorted(rows))
    wanted = []
    for entity in "abcdefg":
        keys = [
            (attributes.index(attribute), ["en", "", "de"].index(language), len(value), value)
            for each, attribute, value, language in rows
            if each == entity and attribute != "other"
        ]
        wanted.append(min(keys)[3] if keys else None)
    assert labels(graph).to_pylist() == wanted
    assert wanted[-1] is None


def test_types_by_their_last_parts() -> None:
    type_, names = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type", ["a", "b", "x:City", "y/City", "z#Area/"]
    triples = torch.tensor([[0, 1, 2], [0, 1, 3], [0, 1, 4], [1, 0, 2]])
    graph = Graph.build(names, ["knows", type_], triples)
    assert types(graph).to_pylist() == ["Area|City", None, None, None, None]
    assert types(graph, np.array([1, 0])).to_pylist() == [None, "Area|City"]


def test_no_entities_have_no_labels() -> None:
    assert labels(graph_of([])).to_pylist() == types(graph_of([])).to_pylist() == []
