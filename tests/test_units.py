"""Columns of numbers in other units are compared."""

import random

import numpy as np
import pandas as pd
import pytest

import emea
from emea.evidence.prepared import prepare
from emea.evidence.units import _ratio
from emea.settings import EvidenceSettings
from two_tables import linked, people

TOWNS = 120


def towns(factor: float, digits: int, *, wrong: int = 0, shuffled: bool = False) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Towns with unique names in both tables, and their areas in two units."""
    draw = random.Random(0)
    names = [f"{'bcdfgklmnp'[i % 10]}a{'rstvwz'[i % 6]}o{i}" for i in range(TOWNS)]
    areas = [round(draw.uniform(10, 900), 1) for _ in names]
    other = [round(area * factor * (draw.uniform(2, 9) if i < wrong else 1), digits) for i, area in enumerate(areas)]
    if shuffled:
        draw.shuffle(other)
    ids = range(TOWNS)
    return (
        pd.DataFrame({"id": [f"a{i}" for i in ids], "name": names, "area": areas}),
        pd.DataFrame({"key": [f"b{i}" for i in ids], "title": names, "size": other}),
    )


def told(pair: tuple[pd.DataFrame, pd.DataFrame]) -> list[str]:
    return [each for each in prepare(emea.read(*pair), EvidenceSettings(kind="all")).faults if "multiplying" in each]


@pytest.mark.parametrize(("factor", "digits", "by"), [(0.3861, 2, "2.59"), (0.001, 6, "1000"), (1000.0, 0, "0.001")])
def test_a_constant_ratio_is_found_and_said(factor: float, digits: int, by: str) -> None:
    (sentence,) = told(towns(factor, digits, wrong=12))
    start = f"target graph: {TOWNS} numbers of 'size' compared with 'area' after multiplying them by {by}"
    assert sentence.startswith(start), sentence


def test_no_other_ratio_is_found() -> None:
    assert told(towns(1.0, 1)) == []
    assert told(towns(0.4, 2, wrong=60)) == []  # half of them do not agree
    assert told(towns(0.4, 2, shuffled=True)) == []
    first, second = towns(0.4, 2)
    assert told((first.assign(area=1990), second.assign(size=199))) == []  # one number for all tells nothing
    assert told((first.head(9), second.head(9))) == []


def test_people_are_told_apart_by_heights_in_another_unit() -> None:
    draw = random.Random(0)
    ours, theirs = people("%Y-%m-%d", names=12)
    height = {number: round(draw.gauss(175, 9), 1) for number in range(360)}
    ours = ours.drop(columns=["town", "since"]).assign(height=[height[int(each[1:])] for each in ours["id"]])
    inches = [round(height[int(each[1:])] / 2.54, 2) for each in theirs["key"]]
    theirs = theirs.drop(columns=["place", "day"]).assign(inches=inches)
    theirs["title"] = [" ".join(reversed(each.split(", "))) for each in theirs["title"]]
    assert linked((ours, theirs))[1].f1 > 0.7  # .15 if the ratio is not found, .998 in the same unit


def test_ten_numbers_tell_a_unit() -> None:
    inches = np.append(np.arange(1.0, 11.0), [0.0, np.nan])
    assert _ratio(2.54 * inches, inches) == pytest.approx(2.54)
    assert _ratio(inches, inches) == 1.0
    assert _ratio(2.54 * inches[1:], inches[1:]) is None, "nine do not"
    assert _ratio(np.full(10, 2.54), np.ones(10)) is None, "others would agree as often"
