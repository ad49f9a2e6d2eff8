"""Two made-up tables of the same things, as two offices would keep them: each lacks some rows of the other, some cells
are empty, and several things are easily taken for each other."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date, timedelta

import pandas as pd

import emea
from emea.analysis.measures import Measures

Row = tuple[str, str | None, str | None]
Pair = tuple[pd.DataFrame, pd.DataFrame]

FIRST = [begin + end for begin in ("An", "Bri", "Cor", "Do", "El", "Ger", "Hu") for end in ("na", "bert", "lia", "go")]
LAST = [begin + end for begin in ("Ad", "Bau", "Eck", "Fal", "Kol", "Ros") for end in ("ler", "mann", "hoff", "berg")]
TOWNS = ["Aachen", "Bremen", "Celle", "Dortmund", "Essen", "Fulda", "Gera", "Hameln", "Jena", "Kassel"]
SYLLABLES = [
    "pra",
    "do",
    "lou",
    "her",
    "mit",
    "uf",
    "bra",
    "te",
    "lin",
    "say",
    "kron",
    "vas",
    "tul",
    "nem",
    "gor",
    "sil",
]
INSTITUTIONS = ["Museo Nacional del {}", "{} Museum of Art", "{} Gallery", "National Museum {}", "The {} Collection"]
THINGS = 360  # of which each table has five in six


def tables(draw: random.Random, thing: Callable[[int], tuple[Row, Row]], things: int = THINGS) -> Pair:
    """Tables with a row for each thing that they have: source and target are told by their ids, a7 and b7."""
    rows: tuple[list[tuple[str | None, ...]], list[tuple[str | None, ...]]] = ([], [])
    for number in range(things):
        for name, own, row in zip("ab", rows, thing(number), strict=True):
            cells = [cell if draw.random() < 0.85 else None for cell in row[1:]]
            if draw.random() < 5 / 6:
                own.append((f"{name}{number}", row[0], *cells))
    draw.shuffle(rows[1])
    columns = ["id", "name", "town", "since"], ["key", "title", "place", "day"]
    first, second = (pd.DataFrame(own, columns=names) for own, names in zip(rows, columns, strict=True))
    return first, second


def people(
    notation: str,
    own: str = "%Y-%m-%d",
    *,
    last_day: int = 31,
    astray: float = 0.0,
    things: int = THINGS,
    names: int = len(FIRST),
) -> Pair:
    """People with common names, of which there are so many; dates of birth in two notations, a share of the second a
    day off."""
    draw = random.Random(0)

    def person(_: int) -> tuple[Row, Row]:
        first, last, town = draw.choice(FIRST[:names]), draw.choice(LAST[:names]), draw.choice(TOWNS)
        born = date(1940, 1, 1) + timedelta(draw.randrange(18_000))
        born = born.replace(day=min(born.day, draw.randint(1, last_day))) if last_day < 31 else born
        other = born + timedelta(draw.choice([-1, 1]) if draw.random() < astray else 0)
        return (f"{first} {last}", town, born.strftime(own)), (f"{last}, {first}", town, other.strftime(notation))

    return tables(draw, person, things)


def museums() -> Pair:
    """Museums, in the first table by the one word that tells them from others; some words are those of two museums."""
    draw = random.Random(0)
    names = [f"{a}{b}{c}".capitalize() for a in SYLLABLES for b in SYLLABLES for c in SYLLABLES if len({a, b, c}) == 3]
    draw.shuffle(names)

    def museum(number: int) -> tuple[Row, Row]:
        name, town, year = names[number % 300], draw.choice(TOWNS), str(draw.randrange(1790, 2015))
        return (name, town, year), (draw.choice(INSTITUTIONS).format(name), town, year)

    return tables(draw, museum)


def linked(pair: Pair) -> tuple[emea.Result, Measures]:
    """The links between the tables without any known pair, and how good they are."""
    task = emea.read(*pair)
    result = emea.align(task)
    there = {key[1:] for key in pair[1]["key"]}
    truth = [(name, f"b{name[1:]}") for name in pair[0]["id"] if name[1:] in there]
    return result, emea.evaluate(result, emea.read_reference(truth, task)).strict
