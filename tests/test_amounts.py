"""Numbers are the same whatever parts their groups and decimals, where an attribute tells which does."""

import numpy as np
import pandas as pd
import pytest

import emea
from emea.evidence.amounts import read_amounts
from emea.evidence.values import read_values
from emea.settings import EvidenceSettings
from two_tables import linked
from valued_columns import graph


def amounts(*values: str, **others: tuple[str, ...]) -> list[str | None]:
    found = read_amounts(graph(first=values, **others)).get(0, {})
    return [found.get(value) for value in values]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (("2939,78", "12", "1.762,94", "-0,5"), ["n 2939.78", "n 12", "n 1762.94", "n -0.5"]),
        (("$1,158.68", "$181.90", "$5"), ["n 1158.68", "n 181.9", "n 5"]),
        (("12 345,5 €", "1\u00a0000,25 €", "7,5 €"), ["n 12345.5", "n 1000.25", "n 7.5"]),
        (("1'234.50 CHF", "17.25 CHF", "100.00 CHF"), ["n 1234.5", "n 17.25", "n 100"]),
        (("1.234.567", "12.345.678", "9.876.543"), ["n 1234567", "n 12345678", "n 9876543"]),
        (("12 %", "12,5 %", "99,25 %"), ["n 12", "n 12.5", "n 99.25"]),
        (("1,396", "22,118", "7"), ["n 1396", "n 22118", "n 7"]),  # alone, groups
        (("2,5", "1.234", "17,25"), ["n 2.5", "n 1234", "n 17.25"]),
    ],
)
def test_a_column_tells_what_points_and_commas_are(values: tuple[str, ...], expected: list[str]) -> None:
    assert amounts(*values) == expected


@pytest.mark.parametrize(
    "values",
    [
        ("1.396", "1.177", "2.700"),  # decimals, as usual
        ("2,5", "2.5", "7,25", "7.25"),  # as many tell the one as the other
        ("0911 123", "089 122", "030 555"),  # telephone numbers
        ("1,2,3", "4,5", "6,7"),  # lists
        ("31.12.2001", "1.2.2003", "24.12.2004"),
        ("10.0.0.1", "10.0.0.2", "192.168.0.1"),
        ("12,5 kg", "many", "7,5 kg"),
        ("2.5", "17.25", "12"),
    ],
)
def test_other_columns_stay_as_they_are(values: tuple[str, ...]) -> None:
    first = read_values(graph(first=values), EvidenceSettings(kind="all"))
    column = graph(first=values)
    told = read_values(column, EvidenceSettings(kind="all"), None, read_amounts(column))
    assert [told.forms[value] for value in told.value] == [first.forms[value] for value in first.value]


def test_what_a_column_leaves_open_is_told_by_the_others() -> None:
    column = ("1.396", "1.177", "500")
    assert amounts(*column, price=("2,50", "3,75", "1,25")) == ["n 1396", "n 1177", "n 500"]
    assert amounts(*column, price=("2.50", "3.75", "1.25")) == [None] * 3
    assert amounts(*column, price=("2,50", "3,75", "1,25"), weight=("$2.50", "$3.75", "$1.25")) == [None] * 3
    assert amounts("1,396", "1,177", "500", price=("2,50", "3,75", "1,25")) == ["n 1.396", "n 1.177", "n 500"]


def test_tables_that_write_numbers_differently_are_linked() -> None:
    draw = np.random.default_rng(3)
    numbers = draw.uniform(1000, 99_999, 60).round(2)
    german = [f"{number:,.2f} €".translate(str.maketrans(",.", ".,")) for number in numbers]
    names = draw.permutation(["Meyer", "Huber", "Wagner", "Bauer", "Koch", "Wolf"] * 10)
    ours = pd.DataFrame({"id": [f"a{row}" for row in range(60)], "Name": names, "Umsatz": german})
    theirs = pd.DataFrame({"key": [f"b{row}" for row in range(60)], "name": names, "revenue": numbers})
    measures = linked((ours, theirs.sample(frac=1, random_state=0)))[1]
    assert (measures.precision, measures.recall) == (1.0, 1.0)


@pytest.mark.parametrize(("times", "left"), [(2, 3), (3, 1)])
def test_words_for_nothing_are_no_values_where_several_have_them(times: int, left: int) -> None:
    brands = (*("N/A", "unknown", "n/a")[:times], "Bosch")
    values = read_values(graph(brand=brands, name=("Nan", "Bob")), EvidenceSettings(kind="all"))
    assert np.bincount(values.attribute).tolist() == [left, 2]
    assert values.holders.all(), "every form is somebody's"


def test_what_is_nothing_in_one_table_may_be_a_name_in_the_other() -> None:
    towns = [f"{begin}{end}" for begin in ("Ash", "Bur", "Cal", "Dun", "El", "Fen") for end in ("ford", "ham", "ton")]
    first = pd.DataFrame({"town": towns, "region": ["null"] * 6 + ["North"] * 12})
    second = pd.DataFrame({"town": [*towns[4:], "Null"], "county": [f"{town}shire" for town in [*towns[4:], "Null"]]})
    assert len(emea.align(emea.read(first, second)).to_pandas()) == 14
