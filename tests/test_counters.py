"""Numbers that merely count the rows of a table are no evidence, unless other values agree with them."""

import random
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

import emea
from emea.evidence.counters import _confirmed
from emea.evidence.prepared import prepare
from emea.settings import EvidenceSettings

ALL = EvidenceSettings(kind="all")
Numbering = Callable[[int], object]


def name(thing: int) -> str:
    return f"{''.join(random.Random(thing).choices('bcdfglmnprst', k=9))} house"


def table(things: list[int], numbered: Numbering) -> pd.DataFrame:
    """Things with a name of their own, numbered in this order."""
    return pd.DataFrame({"number": [numbered(place) for place in range(len(things))], "name": [*map(name, things)]})


def shared(source: pd.DataFrame, target: pd.DataFrame, seeds: list[tuple[str, str]] | None = None) -> set[str]:
    """The values that both tables are taken to share: of the column "number" or "name"."""
    prepared = prepare(emea.read(source, target, seeds=seeds), ALL)
    names = prepared.graphs.source.entities.to_pylist()
    found = [names[place] for place in prepared.anchors.links.source.tolist()]
    return {"name" if "house" in each else "number" for each in found}


THINGS, OTHERS = list(range(100)), list(range(1000, 1100))
SHUFFLED = random.Random(0).sample(THINGS, len(THINGS))


@pytest.mark.parametrize("numbered", [lambda place: place + 1, lambda place: f"rec-{place}-x", lambda place: 2 * place])
def test_rows_that_are_counted_in_both_tables_are_not_the_same(numbered: Numbering) -> None:
    assert shared(table(THINGS, numbered), table(SHUFFLED, numbered)) == {"name"}
    assert shared(table(THINGS, numbered), table(THINGS, numbered)) == {
        "number",
        "name",
    }  # the names confirm the numbers


def test_numbers_that_do_not_count_are_values_like_any_other() -> None:
    draw = random.Random(0).sample(range(10_000), 100)
    assert shared(table(THINGS, lambda place: draw[place]), table(SHUFFLED, lambda place: draw[place])) == {
        "number",
        "name",
    }


def test_a_few_numbers_do_not_count() -> None:
    few = THINGS[:4]
    assert shared(table(few, str), table(few[::-1], str)) == {"number", "name"}
    small = THINGS[:9]
    assert shared(table(small, str), table(small[::-1], str)) == {"name"}


@pytest.mark.parametrize("rows", [12, 100, 400])
def test_names_that_are_only_alike_contradict_and_confirm_numbers_too(rows: int) -> None:
    """No name is written alike in both tables: what they have in common are words."""
    things = list(range(rows))
    first, second, last = table(things, int), table(random.Random(0).sample(things, rows), int), table(things, int)
    first["name"] = "The old " + first["name"]
    for each in (second, last):
        each["name"] += " of this town"
    assert shared(first, second) == {"name"}
    assert shared(first, last) == {"number", "name"}


def test_known_pairs_confirm_what_no_other_value_does() -> None:
    tables = table(THINGS, str)[["number"]], table(OTHERS, str)[["number"]]
    assert shared(*tables, seeds=[(str(place), str(place)) for place in range(3)]) == {"number"}
    assert shared(*tables, seeds=[(str(place), str(place + 1)) for place in range(3)]) == set()


def test_rows_without_a_number_contradict_nothing() -> None:
    first, second = (table(THINGS, lambda place: f"nr {place}") for _ in range(2))
    draw = random.Random(1)
    for each in (first, second):
        each.loc[[draw.random() < 0.3 for _ in THINGS], "number"] = None
    assert shared(first, second) == {"number", "name"}


def test_numbers_that_are_equal_by_chance_confirm_nothing() -> None:
    draw = random.Random(0)
    prices = [[draw.randrange(50) for _ in THINGS] for _ in range(2)]
    tables = [
        table(things, int)[["number"]].assign(price=price)
        for things, price in zip((THINGS, OTHERS), prices, strict=True)
    ]
    prepared = prepare(emea.read(*tables), ALL)
    assert len(prepared.anchors.links) <= 50, "prices only"


def test_what_numbers_rows_is_told_if_both_graphs_have_it() -> None:
    def faults(source: pd.DataFrame, target: pd.DataFrame) -> list[str]:
        return [each.partition(", ")[0] for each in prepare(emea.read(source, target), ALL).faults]

    numbers, names = table(THINGS, int), table(SHUFFLED, int)
    assert faults(numbers, names) == [
        f"{side} graph: 100 numbers of rows that the other graph has" for side in ("source", "target")
    ]
    assert faults(numbers, table(SHUFFLED, lambda place: place + 500)) == []
    assert shared(numbers[["number"]], names[["number"]]) == set()  # nothing confirms them
    assert faults(numbers[["number"]], names[["number"]]) == faults(numbers, names)
    wards = [table(things, lambda place: f"Ward {place}")[["number"]] for things in (THINGS, SHUFFLED)]
    assert shared(*wards) == {"number"}  # these are names
    assert faults(*wards) == [f"{side} graph: 100 values that both graphs have" for side in ("source", "target")]


def test_codes_that_are_nearly_equal_are_not_similar() -> None:
    codes = table(THINGS, lambda place: f"A{7 * place:04}"), table(SHUFFLED, lambda place: f"B{7 * place:04}")
    assert shared(*codes) == {"name"}


def test_tables_that_only_count_their_rows_alike_are_not_linked() -> None:
    draw = random.Random(0)
    first, second = table(THINGS, int), table(OTHERS, int)
    for each in (first, second):
        each["town"] = [draw.choice(["Aachen", "Bremen", "Celle", "Essen"]) for _ in range(len(each))]
    found = emea.align(emea.read(first, second)).to_pandas()
    assert len(found) < 20  # names that happen to be alike
    assert (found["source"] == found["target"]).sum() <= 1


@pytest.mark.parametrize(
    ("ours", "theirs", "confirmed"),
    [
        ([[1, 0], [0, 1]], [[0, 1], [1, 0]], True),
        ([[1, 0, 1], [0, 1, 1]], [[0, 1, 1], [1, 0, 1]], True),  # twice as much as otherwise
        ([[1, 0, 2], [0, 1, 2]], [[0, 1, 2], [1, 0, 2]], False),
        ([[1, 0], [1, 0]], [[1, 0], [1, 0]], False),
        ([[1, 0], [1, 0]], [[0, 1], [0, 1]], None),
    ],
)
def test_few_pairs_confirm_numbers_if_they_have_more_in_common_than_otherwise(
    ours: list[list[int]], theirs: list[list[int]], confirmed: bool | None
) -> None:
    crossed, nothing = np.array([[0, 1], [1, 0]]), np.empty((0, 2), dtype=np.int64)
    assert _confirmed(crossed, nothing, (csr_matrix(ours), csr_matrix(theirs))) is confirmed
