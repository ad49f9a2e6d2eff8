"""Dates are the same whatever their notation, and those that are nearly the same count for something; words are told
apart that are written without spaces."""

import calendar
import datetime
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from emea.data import LITERAL_SCHEMA, Graph
from emea.evidence.dates import read_days, readings
from emea.evidence.similarity import _days_before
from emea.evidence.values import normal_form, read_values, words_apart
from emea.runs.wording import Called
from emea.settings import EvidenceSettings
from two_tables import linked, museums, people
from valued_columns import graph

DAY_FIRST = ("31/12/2001", "1/2/2003", "04/05/2006")
UNCLEAR = ("01/02/2003", "04/05/2006", "07/08/2009")
NORMAL = {"01/02/2003": "d 2003-02-01", "04/05/2006": "d 2006-05-04", "07/08/2009": "d 2009-08-07"}


OTHER = graph(name=("Ada", "Bob"))


@pytest.mark.parametrize(
    "text",
    [
        *("31.12.2001", "31. 12. 2001", "31/12/2001", "31-12-2001", "12/31/2001", "12-31-2001", "31.12.2001, 23:59"),
        *("2001/12/31", "2001.12.31", "2001-12-31 23:59:00", "2001年12月31日", "20011231", " 31/12/2001 "),
        *("31 Dec 2001", "31-Dec-2001", "31 december 2001", "31st of December 2001", "Mon, 31 Dec 2001 23:59:00 GMT"),
        *("Dec 31, 2001", "Dec. 31st, 2001", "Monday, December 31, 2001", "31. Dezember 2001", "31 déc. 2001"),
        *("31 décembre 2001", "31 de diciembre de 2001", "31 dicembre 2001", "31 de dezembro de 2001"),
    ],
)
def test_one_day_in_every_notation(text: str) -> None:
    assert [*readings(text).values()] == ["d 2001-12-31"]
    several = (text, *(text.replace("1231", f"12{day}") for day in range(10, 20)))  # where the digits stand together
    assert read_days(graph(day=several), OTHER)[0][0][text] == "d 2001-12-31"


@pytest.mark.parametrize(
    "text",
    [
        *("30/02/2001", "31.04.2001", "13/13/2001", "2001-13-01", "20011301", "99991231", "31/12-2001", "31/12/01"),
        *(
            "310-246-1501",
            "192.168.10.2001",
            "12 monkeys 1995",
            "Apollo 13, 1970",
            "5 jui 2001",
            "December 2001",
            "2001",
        ),
    ],
)
def test_what_is_no_date_stays_text(text: str) -> None:
    assert readings(text) == {}


@pytest.mark.parametrize(
    ("values", "day"),
    [(DAY_FIRST, "d 2003-02-01"), (("12/31/2001", "1/2/2003", "04/05/2006"), "d 2003-01-02")],
)
def test_a_day_above_twelve_tells_the_order_for_all(values: tuple[str, ...], day: str) -> None:
    for days in (read_days(graph(born=values), OTHER)[0], read_days(OTHER, graph(born=values))[1]):
        assert days[0]["1/2/2003"] == day


def test_a_few_slips_do_not_hide_the_order() -> None:
    values = tuple(f"{day}/12/2001" for day in range(1, 31))
    found = read_days(graph(born=(*values, "12/31/2001")), OTHER)[0][0]
    assert found == {value: f"d 2001-12-{int(value.split('/')[0]):02}" for value in values}
    assert read_days(graph(born=(*DAY_FIRST, "12/31/2001")), OTHER)[0] == {0: {}}  # one in four is no slip


def test_single_values_or_contradictory_ones_do_not_tell_the_order() -> None:
    unclear = tuple(f"{day}/{month}/2001" for day in range(1, 13) for month in range(1, 13) if day != month)
    slip, others = ("12/31/2001",), tuple(f"{day}/7/2001" for day in range(13, 16))
    for values in (unclear + slip, unclear + slip + others):
        assert read_days(graph(born=values), OTHER)[0][0] == {}
        assert read_days(graph(born=values, died=DAY_FIRST), OTHER)[0][0]["3/4/2001"] == "d 2001-04-03"
    many = tuple(f"{day}/{month}/2001" for day in range(13, 29) for month in range(1, 13))
    assert read_days(graph(born=unclear + slip + many), OTHER)[0][0]["3/4/2001"] == "d 2001-04-03"


def test_a_day_is_shown_as_it_is_written() -> None:
    side = graph(born=DAY_FIRST)
    twice = pa.table([[0, 0], [0, 0], ["2/1/2003", "1/2/2003"], ["", ""], ["", ""]], schema=LITERAL_SCHEMA)
    side = replace(side, literals=pa.concat_tables([side.literals, twice]))
    days = read_days(side, OTHER)[0]
    called = Called(side, side, ("en",), days)
    shown = [called.value(0, form) for form in ("d 2003-02-01", "d 2003-01-02", "d 2001-12-31", "d 1999-01-01")]
    assert shown == ["1/2/2003", "2/1/2003", "31/12/2001", "1999-01-01"]


def test_the_last_of_february_is_that_of_its_year() -> None:
    there = ("29/02/2000", "29.2.2004", "20040229", "29 Feb 1500")  # the last in the calendar of its time
    assert all(map(readings, there))
    assert not any(map(readings, ("29/02/2001", "2/29/2003", "29. Februar 1900", "20010229", "2100/2/29")))


def test_a_month_ends_with_its_last_day() -> None:
    for month in range(1, 13):
        last = calendar.monthrange(2001, month)[1]
        there = [day for day in range(33) if readings(f"{day}.{month}.2001")]
        assert there == [*range(1, last + 1)]


def test_days_of_one_month_tell_people_apart() -> None:
    first, second = people("%Y-%m-01", things=60, names=6)
    assert linked((first.drop(columns="town"), second.drop(columns="place")))[1].recall > 0.6  # else .2


def test_where_values_do_not_tell_the_order_other_columns_do() -> None:
    assert read_days(graph(born=UNCLEAR, died=DAY_FIRST), OTHER)[0][0] == NORMAL
    both = graph(born=UNCLEAR, died=DAY_FIRST, buried=("12/31/2001",))
    assert not read_days(both, OTHER)[0][0]  # those say this and that


def test_where_no_column_tells_the_order_the_other_graph_does() -> None:
    iso = tuple(form.removeprefix("d ") for form in NORMAL.values())
    for theirs in (iso, tuple(f"{day}T12:00:00" for day in iso), ("1 Feb 2003", "4 May 2006", "7 August 2009")):
        assert read_days(graph(born=UNCLEAR), graph(day=theirs))[0][0] == NORMAL
        assert read_days(graph(day=theirs), graph(born=UNCLEAR))[1][0] == NORMAL
    assert not read_days(graph(born=UNCLEAR), graph(day=iso[:2]))[0][0]  # two days may be chance
    swapped = ("2003-01-02", "2006-04-05", "2009-07-08")
    assert not read_days(graph(born=UNCLEAR), graph(day=iso + swapped))[0][0]
    assert not read_days(graph(born=UNCLEAR), graph(day=UNCLEAR))[0][0]


def test_only_columns_of_dates_hold_dates() -> None:
    titles = ("4 July 1976", "Blade Runner", "Alien", "Solaris")
    assert read_days(graph(title=titles), OTHER) == ({}, {})
    assert read_days(graph(died=("4 July 1976", "1980", "2001-02-03", "unknown")), OTHER)[0] == {
        0: {"4 July 1976": "d 1976-07-04"}
    }


def test_numbers_of_eight_digits_are_dates_if_all_are() -> None:
    dates = ("20011231", "19991101", *(f"{year}0505" for year in range(1960, 1970)))
    assert read_days(graph(born=dates), OTHER)[0][0]["20011231"] == "d 2001-12-31"
    assert not read_days(graph(number=(*dates, "40031877")), OTHER)[0]
    assert not read_days(graph(number=dates[:9]), OTHER)[0]  # too few to tell
    years = tuple(f"{year}0505" for year in range(1960, 1979))
    assert len(read_days(graph(born=(*years, "unknown")), OTHER)[0][0]) == 19  # nearly all: 95 %
    assert not read_days(graph(born=(*years[1:], "unknown")), OTHER)[0]


def test_counts_and_dates_before_christ() -> None:
    counts = (*map(str, range(1000, 1200)), *(f"12{month:02}0131" for month in range(1, 13)))
    assert not read_days(graph(inhabitants=counts), OTHER)[0][0]
    found = read_days(graph(died=("-0044-03-15", "-0043-12-07", "1/13/2001", "1/14/2001", "1/15/2001")), OTHER)[0]
    assert found[0]["1/13/2001"] == "d 2001-01-13"
    assert [normal_form(text) for text in ("٢٠٠١-٠٢-٠٣", "-0044-03-15")] == ["d 2001-02-03", "d -0044-03-15"]


def test_a_date_that_claims_to_be_one_is_no_fault_in_another_notation() -> None:
    side = graph(born=DAY_FIRST)
    kind = pa.array(["http://www.w3.org/2001/XMLSchema#date"] * 3, LITERAL_SCHEMA.field("datatype").type)
    table = side.literals.set_column(side.literals.column_names.index("datatype"), "datatype", kind)
    typed = Graph.build(["a", "b", "c"], [], np.zeros((0, 3), np.int64), attributes=["born"], literals=table)
    settings = EvidenceSettings(kind="all")
    values = read_values(typed, settings, meanings=read_days(typed, OTHER)[0])
    assert (sorted(values.forms), values.odd) == (["d 2001-12-31", "d 2003-02-01", "d 2006-05-04"], {})
    assert read_values(typed, settings).odd


@pytest.mark.parametrize(
    "notation", ["%d/%m/%Y", *(pytest.param(one, marks=pytest.mark.slow) for one in ("%B %d, %Y", "%Y%m%d"))]
)
def test_people_are_told_apart_by_dates_in_another_notation(notation: str) -> None:
    result, measures = linked(people(notation))
    assert measures.f1 > 0.98  # .95 if dates are text
    links = result.links().to_pylist()
    told = [part.text for each in links[:20] for group in result.explain(each["source"]).groups for part in group.parts]
    assert any(text.startswith("since / day: “19") and text.endswith("”, the same day") for text in told)


def test_the_order_of_day_and_month_is_found_out() -> None:
    assert linked(people("%m/%d/%Y", last_day=12))[1].f1 > 0.98  # .96 if dates are text


@pytest.mark.slow
def test_a_day_off_is_nearly_the_same_day() -> None:
    result, measures = linked(people("%d.%m.%Y", astray=0.25))
    assert measures.f1 > 0.98
    assert measures.calibration_error < 0.03
    links = result.links().to_pylist()
    told = [part.text for each in links for group in result.explain(each["source"]).groups for part in group.parts]
    assert any(text.endswith("”, one day apart") for text in told)


def test_a_museum_is_found_by_the_one_word_that_tells_it_from_others() -> None:
    measures = linked(museums())[1]
    assert measures.f1 > 0.95  # .74 if only the whole name counts
    assert measures.precision > 0.97


def test_words_without_spaces_are_told_apart_where_an_attribute_is_written_so() -> None:
    names = ("birthDate", "TVSeries", "Person", "name", "radioStation")
    side = graph(
        label=names, family=("Miller", "McDonald", "Smith", "Jones", "Brown", "Clark"), text=("ab cD", "eF gh")
    )
    meanings = words_apart(side)
    label = side.attributes.index("label").as_py()
    assert meanings == {
        label: {"birthDate": "s birth date", "TVSeries": "s tv series", "radioStation": "s radio station"}
    }
    values = read_values(side, EvidenceSettings(kind="all"), meanings=meanings)
    assert {"s birth date", "s person", "s mcdonald", "s ab cd"} <= {*values.forms}
    assert Called(side, side, ("en",), meanings).value(0, "s birth date") == "birthDate"


def test_days_between_dates_are_those_of_the_calendar() -> None:
    days = [datetime.date(1599, 2, 28) + datetime.timedelta(step) for step in range(0, 200_000, 29)]
    found = _days_before(np.array([[day.year, day.month, day.day] for day in days], float))
    assert np.diff(found).tolist() == [29] * (len(days) - 1)


def test_words_are_taken_apart_only_where_others_do_not_set_them_apart() -> None:
    together, apart = ("birthDate", "TVSeries", "radioStation", "person"), ("birth date", "television series")
    assert words_apart(graph(label=together, note=(*together, *apart))).keys() == {0}
