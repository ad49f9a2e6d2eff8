"""A field of one table holds, inside longer values, what the other one has alone: an address, and its street."""

import random
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import emea
from emea.evidence.similarity import DIFFERENT, OTHER_NUMERAL, REORDERED, Similarity
from emea.evidence.values import Forms
from test_run import command
from two_tables import FIRST, LAST, SYLLABLES, TOWNS, Pair, linked

OTHERS = [f"s {one}{other} street {number}" for one in SYLLABLES for other in SYLLABLES for number in (3, 4)]


@pytest.mark.parametrize(
    ("first", "second", "least", "most"),
    [
        ("s krongor street 3", "s krongor street 3 48210 gera", DIFFERENT, DIFFERENT),
        ("s korngor street 3", "s krongor street 3 48210 gera", 0.6, 0.95),
        ("s krongor street 4", "s krongor street 3 48210 gera", 0.5, OTHER_NUMERAL),
        ("s krongor street", "s krongor street 3 48210 gera", DIFFERENT, DIFFERENT),
        ("s lousil street 3", "s krongor street 3 48210 gera", 0, 0.4),
        ("s krongor street 3", "s 3 krongor street", REORDERED, REORDERED),  # neither is inside the other
        ("s 113 128", "n 113", DIFFERENT, DIFFERENT),
        ("s 01067 gera", "n 1067", DIFFERENT, DIFFERENT),
        ("s 113 128", "n 11", 0, 0),
        ("s 113 128", "n 113.5", 0, 0),
    ],
)
def test_what_is_inside_another_is_like_it_as_far_as_its_words_are_there(
    first: str, second: str, least: float, most: float
) -> None:
    for pair in ((first, second), (second, first)):
        similar, place = Similarity(Forms([pair[0], *OTHERS]), Forms([pair[1], *OTHERS])), np.array([[0, 0]])
        assert least <= float(similar.inside(place, similar(place))[0]) <= most


def neighbours(*, inside: bool = True) -> Pair:
    """People with common names, some misspelled, and their streets, which the second table has in addresses; or the
    addresses of others."""
    draw = random.Random(0)
    streets = [f"{one}{other} {kind}" for one in SYLLABLES[:9] for other in SYLLABLES[9:] for kind in ("road", "lane")]
    towns = {town: draw.randrange(10_000, 99_999) for town in TOWNS}

    def called(name: str) -> str:
        place = draw.randrange(1, len(name) - 1)
        return name if draw.random() < 0.7 else name[:place] + name[place + 1 :]

    def street() -> str:
        return f"{draw.choice(streets)} {draw.randrange(1, 60)}"

    ours, theirs = [], []
    for number in range(430):
        name, home, town = f"{draw.choice(FIRST)} {draw.choice(LAST)}", street(), draw.choice(TOWNS)
        address = f"{home if inside else street()}, {towns[town]} {town}"
        if draw.random() < 3 / 4:
            ours.append({"id": f"a{number}", "name": called(name), "street": home})
        if draw.random() < 3 / 4:
            theirs.append({"key": f"b{number}", "title": called(name), "address": address})
    draw.shuffle(theirs)
    return pd.DataFrame(ours), pd.DataFrame(theirs)


def test_people_are_told_apart_by_the_street_in_an_address() -> None:
    found = linked(neighbours())[1]
    assert found.precision > 0.97
    assert found.recall > 0.95  # .72 by their names alone


def test_a_street_and_its_address_are_explained_as_they_were_compared(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.csv", "b.csv")]
    for path, table in zip(paths, neighbours(), strict=True):
        table.to_csv(path, index=False)
    result, run = emea.align(emea.read(*paths)), tmp_path / "run"
    surest = result.links().to_pylist()[0]["source"]
    command("align", *map(str, paths), "--out", str(run), folder=tmp_path)
    for told in (result, emea.load(run)):
        assert f"Bremen”, alike {DIFFERENT}" in str(told.explain(surest))


def test_papers_are_told_apart_by_the_first_of_their_pages() -> None:
    draw = random.Random(0)
    titles = [f"on {one}{other} and {other}{one}" for one in SYLLABLES[:12] for other in SYLLABLES[4:]]
    ours, theirs = [], []
    for number in range(300):
        title, first = draw.choice(titles), draw.randrange(1, 400)
        if draw.random() < 3 / 4:
            ours.append({"id": f"a{number}", "title": title, "pages": f"{first}–{first + draw.randrange(4, 30)}"})
        if draw.random() < 3 / 4:
            theirs.append({"key": f"b{number}", "name": title, "first page": first})
    found = linked((pd.DataFrame(ours), pd.DataFrame(theirs)))[1]
    assert found.precision > 0.97
    assert found.recall > 0.95  # nothing is linked by titles alone


def test_addresses_of_others_are_not_taken_for_streets() -> None:
    result = linked(neighbours(inside=False))[0]
    told = str(result.explain(result.links().to_pylist()[0]["source"]))
    assert "not compared: street (nothing like it found in the target)" in told
