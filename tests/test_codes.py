"""Numbers of things, written with separators or without."""

import random

import pandas as pd
import pyarrow as pa
import pytest

from emea.data import LITERAL_SCHEMA, Graph
from emea.evidence.codes import read_codes, squeezed
from two_tables import FIRST, TOWNS, linked


def graph_of(*values: str) -> Graph:
    rows = [(place, 0, value, "", "") for place, value in enumerate(values)]
    table = pa.table([*zip(*rows, strict=True)], schema=LITERAL_SCHEMA)
    names = [f"e{place:03}" for place in range(len(values))]
    return Graph.build(names, [], [], attributes=["number"], literals=table)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("DE 863 694 781", "DE863694781"),
        ("+49 65 946 9472", "065/9469472"),
        ("+49 (0)65 9469472", "0659469472"),
        ("+1 (312) 555-0199", "312-555-0199"),
        ("+353 1 234 5678", "01 2345678"),
        ("+49 89 4713227", "(089) 471 3227-0"),
        ("978-3-16-148410-0", "9783161484100"),
        ("DE89 3704 0044 0532 0130 00", "de89370400440532013000"),
    ],
)
def test_separators_and_calling_codes_make_no_difference(one: str, other: str) -> None:
    first, second = ["00123-456", "00123-457", "00123-458", one], ["00123456", "00123457", "00123458", other]
    found = read_codes(graph_of(*first), graph_of(*second))
    assert [found[0][0][text] for text in first] == [found[1][0][text] for text in second]


def test_what_is_written_alike_is_left_as_it_is() -> None:
    values = ["310 246-1501", "310 246-1502", "312 555-0199", "312 555-0188"]
    assert read_codes(graph_of(*values), graph_of(*values)) == ({}, {})


@pytest.mark.parametrize(
    "values",
    [
        ["1.5", "12345.75", "99999.25", "10000.5"],  # measured
        ["1200345", "99812", "15", "7403221", "880", "31415926"],  # counted
        ["Room 12345", "the 12345 hotel", "Hall 77777 A", "No. 44444 or so"],
        ["111-11", "1-1111", "11-111", "11111"],  # the separators tell them apart
    ],
)
def test_other_attributes_are_left_alone(values: list[str]) -> None:
    bare = [value.replace("-", "") for value in values]
    assert read_codes(graph_of(*values), graph_of(*bare)) == ({}, {})


def test_numbers_of_several_countries_that_begin_with_letters() -> None:
    """Neither all as long nor parted on one side; on the other, letters are set apart, too."""
    plain = ["DE471901679", "CH13598017", "ATU54166975", "IT01656458", "ATU78805793", "DE337871472", "CZ1234567"]
    parted = [
        "DE 471 901 679",
        "CH13598017",
        "AT U541 66975",
        "IT 016 56458",
        "ATU 788 057 93",
        "DE337871472",
        "CZ 1234567",
    ]
    found = read_codes(graph_of(*plain), graph_of(*parted))
    assert [found[0][0][text] for text in plain] == [found[1][0][text] for text in parted]


def test_numbers_that_are_all_as_long_identify() -> None:
    values = [f"{7_000_000 + 7919 * place}" for place in range(20)]
    apart = [f"{value[:3]} {value[3:]}" for value in values]
    found = read_codes(graph_of(*values), graph_of(*apart))
    assert found[0][0][values[3]] == f"s {values[3]}", "no number, of which a near one would be nearly the same"


@pytest.mark.parametrize(
    "text", ["", "12", "3.14159", "Berlin", "ABCDE 12345", "2001-12-31", "31/12/01", "2001-12-31T10:00:00Z"]
)
def test_what_is_no_number_of_a_thing(text: str) -> None:
    assert squeezed(text) is None


def isbn(number: int) -> str:
    """The thirteen digits of a book."""
    digits = f"97834{number * 7919 % 10_000_000:07}"
    return digits + str(-sum(int(digit) * (1, 3)[place % 2] for place, digit in enumerate(digits)) % 10)


def test_plain_digits_that_both_have_are_no_measured_numbers() -> None:
    first, second = [isbn(number) for number in range(40)], [isbn(number) for number in range(30, 70)]
    found = read_codes(graph_of(*first), graph_of(*second))
    assert found[0][0][first[35]] == found[1][0][first[35]] == f"s {first[35]}"
    assert read_codes(graph_of(*first[:20]), graph_of(*second)) == ({}, {})  # nothing says that they are the same kind
    people = [str(1_000_000 + 7919 * place) for place in range(40)]
    more = [str(int(number) + 100) for number in people]
    assert read_codes(graph_of(*people), graph_of(*more)) == ({}, {})  # measured in another year


def test_books_of_one_publisher_are_told_apart_by_plain_isbns() -> None:
    draw = random.Random(0)
    titles = [f"{draw.choice(FIRST)} of {draw.choice(TOWNS)}" for _ in range(200)]
    books = pd.DataFrame({"id": [f"a{n}" for n in range(120)], "title": titles[:120], "isbn": map(isbn, range(120))})
    other = range(60, 200)
    theirs = pd.DataFrame(
        {
            "key": [f"b{n}" for n in other],
            "name": [titles[n] for n in other],
            "number": [isbn(n) for n in other],
        }
    )
    assert linked((books, theirs))[1].f1 > 0.98  # .69 where ISBNs are measured: all of them are nearly the same


def test_isbns_of_ten_and_of_thirteen_digits_are_the_same() -> None:
    ten, thirteen = (
        ["0-306-40615-2", "3-16-148410-X", "0-8044-2957-X"],
        ["9780306406157", "9783161484100", "9780804429573"],
    )
    found = read_codes(graph_of(*ten), graph_of(*thirteen, *map(isbn, range(9))))
    assert [found[0][0][text] for text in ten] == [f"s {text}" for text in thirteen]
    others = ["0-306-40615-3", *ten]  # the last digit of one is wrong: these are other numbers
    assert read_codes(graph_of(*others), graph_of(*thirteen)) == ({}, {})


@pytest.mark.parametrize(("remarks", "read"), [(4, True), (5, False)])
def test_half_of_an_attribute_may_be_remarks(remarks: int, read: bool) -> None:
    codes, others = [f"00{place}23-456" for place in range(4)], ["see the list, page one"] * remarks
    found = read_codes(graph_of(*codes, *others), graph_of(*(code.replace("-", "") for code in codes)))
    assert bool(found[0]) is read
