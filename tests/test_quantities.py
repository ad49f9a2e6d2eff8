"""Numbers among few words are numbers, in whatever unit."""

import pytest

from emea.evidence.amounts import read_amounts
from emea.evidence.quantities import Quantity
from valued_columns import graph


def read(*values: str) -> list[str | None]:
    found = read_amounts(graph(first=values)).get(0, {})
    return [found.get(value) for value in values]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (("0,75 l", "750 ml", "75cl", "1,5 Liter", "0,375l"), ["n 0.75", "n 0.75", "n 0.75", "n 1.5", "n 0.375"]),
        (("500 g", "1.5 kg", "250g"), ["n 0.5", "n 1.5", "n 0.25"]),
        (("5 mm", "2 cm", "3 dm", "1,5 m", "2 km"), ["n 0.005", "n 0.02", "n 0.3", "n 1.5", "n 2000"]),
        (("10 oz", "1 lb", "250 mg"), ["n 0.283495231", "n 0.45359237", "n 0.00025"]),
        (("2 in", "3 ft", "1 Zoll"), ["n 0.0508", "n 0.9144", "n 0.0254"]),
        (("50 Hz", "2.4 GHz", "3 kHz", "88 MHz"), ["n 50", "n 2.4e9", "n 3000", "n 88e6"]),
        (("40 W", "1.5 kW", "60W"), ["n 40", "n 1500", "n 60"]),
        (("1TB", "500 GB", "256GB"), ["n 1e+12", "n 500000000000", "n 256000000000"]),
        (("[1988]", "c1976", "1988", "1990?", "© 2001"), ["n 1988", "n 1976", "n 1988", "n 1990", "n 2001"]),
        (("439 S.", "215 p.", "398 Seiten"), ["n 439", "n 215", "n 398"]),
        (("3. Aufl.", "2nd ed.", "13th ed.", "1st ed."), ["n 3", "n 2", "n 13", "n 1"]),
        (("12,5 % vol", "40,0 % vol", "13 % vol"), ["n 12.5", "n 40", "n 13"]),
        (("Vol. 2", "Bd. 3", "Vol. 11"), ["n 2", "n 3", "n 11"]),
    ],
)
def test_a_column_of_numbers_with_words(values: tuple[str, ...], expected: list[str]) -> None:
    found = read(*values)
    assert [each and float(each[2:]) for each in found] == [float(each[2:]) for each in expected if each]


@pytest.mark.parametrize(
    "values",
    [
        tuple(f"{number} {street} Street" for number, street in enumerate("abcdefghijklmnop", 1)),  # names
        ("180 Birch Road", "139 Cedar Road", "169 Birch Road", "12 Cedar Road"),
        ("653 183462", "801 240789", "775 924423"),  # telephones
        ("W10000", "W10007", "W10014"),  # numbers of things
        ("iPhone 12", "Galaxy 9", "iPhone 13"),
        ("12 Angry Men", "Seven", "The 39 Steps", "Alien"),
        ("500 g", "0,5 l", "2 kg", "3 l"),  # different things are measured
        ("007 Bond", "012 Bond", "003 Bond"),
        ("3", "4", "5"),  # plain
        ("6 x 33cl", "2 x 75cl", "4 x 1 l"),
    ],
)
def test_other_columns_are_left_as_they_are(values: tuple[str, ...]) -> None:
    assert read(*values) == [None] * len(values)


def test_a_number_of_eight_digits_names_something() -> None:
    assert Quantity.parse("no. 12345678") is None
