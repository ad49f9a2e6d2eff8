"""Values that one table has in parts are put together where the other has them whole."""

import random
from collections.abc import Sequence
from itertools import combinations, cycle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import emea
from emea.analysis.relations import relation_links, relation_mappings
from emea.evidence.descriptions import describe
from emea.evidence.prepared import Prepared, prepare
from emea.evidence.values import Forms, Values
from emea.evidence.wholes import AND, put_together
from emea.method.copies import copies
from emea.settings import EvidenceSettings
from two_tables import FIRST, LAST, SYLLABLES, TOWNS, linked

PEOPLE = 200
Cells = Sequence[object]


def plus(*parts: str) -> str:
    """The name of what is put together of attributes."""
    return AND.join(parts)


def names(seed: int = 0) -> tuple[list[str], list[str]]:
    """First and last names, of which hardly two are the same."""
    draw = random.Random(seed)
    last = [f"{draw.choice(LAST)}{draw.choice(SYLLABLES)}" for _ in range(PEOPLE)]
    return [draw.choice(FIRST) for _ in range(PEOPLE)], last


def together(*columns: Cells) -> list[str]:
    """What cells give with spaces between them."""
    return [" ".join(str(cell) for cell in row if cell) for row in zip(*columns, strict=True)]


def prepared(source: dict[str, Cells], target: dict[str, Cells]) -> Prepared:
    """Two tables, the rows of the second in another order."""
    ours, theirs = (pd.DataFrame(columns) for columns in (source, target))
    ours.insert(0, "id", [f"a{row}" for row in range(len(ours))])
    theirs.insert(0, "key", [f"b{row}" for row in range(len(theirs))])
    return prepare(emea.read(ours, theirs.sample(frac=1, random_state=0)), EvidenceSettings(kind="all"))


def found(source: dict[str, Cells], target: dict[str, Cells]) -> list[list[str]]:
    """The attributes that are put together, of both tables."""
    told = prepared(source, target).values
    return [[name for name in values.attributes.to_pylist() if AND in name] for values in told]


def test_first_and_last_name_are_put_together_in_the_order_of_the_other_table() -> None:
    first, last = names()
    parts, commas = {"first": first, "last": last}, [f"{b}, {a}" for a, b in zip(first, last, strict=True)]
    assert found(parts, {"name": together(first, last)}) == [[plus("first", "last")], []]
    assert found({"name": commas}, parts) == [[], [plus("last", "first")]]
    values = prepared(parts, {"name": commas}).values[0]
    rows = values.attribute == len(values.attributes) - 1
    forms = {values.forms[place] for place in values.value[rows]}
    assert rows.sum() == PEOPLE
    assert forms == {f"s {b} {a}".lower() for a, b in zip(first, last, strict=True)}


def test_most_may_be_missing_or_written_otherwise() -> None:
    first, last = names()
    mine = [name if row % 10 == 0 else f"{name} (retired)" for row, name in enumerate(together(first, last))]
    assert found({"first": first, "last": last}, {"name": mine}) == [[plus("first", "last")], []]
    mine = [name if row < 4 else f"{name} (retired)" for row, name in enumerate(mine)]
    assert found({"first": first, "last": last}, {"name": mine}) == [[], []]


def test_middle_names_may_be_missing() -> None:
    first, last = names()
    middle = [name if row % 3 == 0 else None for row, name in enumerate(names(1)[0])]
    source = {"first": first, "middle": middle, "last": last, "room": range(PEOPLE)}
    assert found(source, {"name": together(first, middle, last)}) == [[plus("first", "middle", "last")], []]
    assert found(source, {"name": together(first, last)}) == [[plus("first", "last")], []]


def test_addresses_have_numbers() -> None:
    draw = random.Random(0)
    street = [f"{draw.choice(LAST)} {draw.choice(('Street', 'Road', 'Lane'))}" for _ in range(PEOPLE)]
    house, town = [draw.randrange(1, 90) for _ in street], [draw.choice(TOWNS) for _ in street]
    code = [f"{draw.randrange(400, 99_999):05}" for _ in street]  # some begin with 0
    source = {"house": house, "street": street, "code": code, "town": town, "age": [draw.randrange(90) for _ in town]}
    whole = together(house, street, code, town)
    assert found(source, {"address": whole}) == [[plus("house", "street", "code", "town")], []]
    assert found(source, {"address": together(street, house)}) == [[plus("street", "house")], []]
    assert found(source, {"address": together(street, code, town), "town": town}) == [
        [plus("street", "code", "town")],
        [],
    ]


def test_genus_and_epithet_are_put_together() -> None:
    genus, epithet = [list(column) for column in zip(*((a, f"{b}us") for a in LAST for b in SYLLABLES), strict=True)]
    authors = ["L."] * len(genus)
    source = {
        "genus": genus,
        "epithet": epithet,
        "author": authors,
        "rank": ["species", "subspecies"] * (len(genus) // 2),
    }
    assert found(source, {"binomial": together(genus, epithet)}) == [[plus("genus", "epithet")], []]


def test_nothing_is_put_together_where_nothing_is_in_parts() -> None:
    first, last = names()
    parts, whole = {"first": first, "last": last}, together(first, last)
    assert found(parts, parts) == [[], []]
    assert found({"name": whole}, {"label": whole}) == [[], []]
    assert found({**parts, "name": whole}, {**parts, "label": whole}) == [[], []]
    assert found({**parts, "name": whole}, {"label": whole}) == [[], []]  # it has the whole, too
    assert found(parts, {**parts, "label": whole}) == [[], []]  # both parts are compared


def test_nothing_is_put_together_by_chance() -> None:
    first, last = names()
    others = names(1)
    assert found({"first": first, "last": last}, {"name": together(*others)}) == [[], []]  # of other people
    draw = random.Random(0)
    colour, thing = ([draw.choice(few) for _ in range(PEOPLE)] for few in (SYLLABLES, TOWNS))
    made = {"colour": colour, "thing": thing}
    titles = [f"{draw.choice(SYLLABLES)} {draw.choice(TOWNS)}" for _ in range(PEOPLE)]
    assert found(made, {"title": titles}) == [[], []]
    scores = [f"{draw.randrange(9)}:{draw.randrange(9)}" for _ in range(PEOPLE)]
    assert found(
        {"children": [draw.randrange(9) for _ in scores], "floor": [draw.randrange(9) for _ in scores]},
        {"score": scores},
    ) == [[], []]


def test_values_that_entities_have_several_of_are_no_parts() -> None:
    first, last = names()
    rows = [
        (f"a{row}", attribute, name)
        for row in range(PEOPLE)
        for attribute, name in (("first", first[row]), ("first", last[row - 1]), ("last", last[row]))
    ]
    table = pd.DataFrame(rows, columns=["head", "relation", "tail"]).assign(kind="literal")
    task = emea.read(table, pd.DataFrame({"key": [f"b{row}" for row in range(PEOPLE)], "name": together(first, last)}))
    assert all(
        AND not in name
        for side in prepare(task, EvidenceSettings(kind="all")).values
        for name in side.attributes.to_pylist()
    )


def test_iris_are_named_by_their_last_parts() -> None:
    first, last = names()
    foaf = "http://xmlns.com/foaf/0.1/"
    assert found({f"{foaf}givenName": first, f"{foaf}familyName": last}, {"label": together(first, last)})[0] == [
        plus("givenName", "familyName")
    ]


def values_of(columns: dict[str, Cells]) -> Values:
    """Strings as values, without reading a table."""
    place: dict[str, int] = {}
    rows = [
        (row, attribute, place.setdefault(f"s {cell}", len(place)))
        for attribute, cells in enumerate(columns.values())
        for row, cell in enumerate(cells)
    ]
    entity, attribute, value = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return Values(entity, attribute, value, Forms(place), pa.array([*columns], pa.large_string()), {})


@pytest.mark.parametrize("columns", [{}, {"a": []}, {"a": ["x"]}, {"a": ["x"], "b": ["y"]}])
def test_empty_and_tiny_graphs_stay_as_they_are(columns: dict[str, Cells]) -> None:
    few, many = values_of(columns), values_of({"name": [f"x y{row}" for row in range(9)]})
    assert put_together(few, many) == (few, many)
    assert put_together(many, few) == (many, few)
    assert put_together(few, few) == (few, few)


def test_many_attributes_are_bounded() -> None:
    draw = random.Random(0)
    first, last = names()
    more = {f"n{number}": [str(draw.randrange(50)) for _ in first] for number in range(60)}
    source, target = (
        values_of({**more, "first": first, "last": last}),
        values_of({**more, "name": together(first, last)}),
    )
    told = put_together(source, target)[0].attributes.to_pylist()
    assert told == [*source.attributes.to_pylist(), plus("first", "last")]


def test_people_are_found_by_their_parts() -> None:
    draw = random.Random(0)
    first, last = names()
    wrong = [f"{name}{draw.choice('aeiou')}" if draw.random() < 0.2 else name for name in last]
    orders = cycle(("{0} {1}", "{1}, {0}"))
    whole = [order.format(*each) for order, *each in zip(orders, first, wrong, strict=False)]
    ours = pd.DataFrame({"id": [f"a{row}" for row in range(PEOPLE)], "first": first, "last": last}).head(160)
    theirs = pd.DataFrame({"key": [f"b{row}" for row in range(PEOPLE)], "name": whole}).tail(160)
    assert linked((ours, theirs))[1].f1 > 0.8


def test_what_is_put_together_is_shown_in_the_words_of_the_graph() -> None:
    first, last = names()
    foaf, born = "http://xmlns.com/foaf/0.1/", [str(1930 + row % 60) for row in range(PEOPLE)]
    ours = pd.DataFrame({"id": range(PEOPLE), f"{foaf}givenName": first, f"{foaf}familyName": last, "born": born})
    theirs = pd.DataFrame(
        {"key": range(PEOPLE), "displayName": together(first, last), "mail": [f"{a[0]}@x" for a in last]}
    )
    ours["id"], theirs["key"] = "a" + ours["id"].astype(str), "b" + theirs["key"].astype(str)
    result = emea.align(emea.read(ours, theirs))
    told = result.explain("a7", "b7")
    texts = [part.text for group in told.groups for part in group.parts]
    assert f"{plus('givenName', 'familyName')} / displayName: “{first[7]} {last[7]}” in both" in texts
    assert not any("Name" in line for line in told.not_compared)
    assert "born" in told.not_compared[0]
    relations = relation_links(result.outcome)
    assert (plus("givenName", "familyName"), "displayName") in zip(
        *(relations[side].to_pylist() for side in ("source", "target")), strict=True
    )
    assert not any(AND in name for name in relation_mappings(relations)["source"].to_pylist())


def test_namesakes_are_no_copies() -> None:
    draw = random.Random(0)
    first, last = ([draw.choice(few) for _ in range(PEOPLE)] for few in (FIRST, LAST))
    told = prepared({"first": first, "last": last}, {"name": together(first, last)})
    assert told.values[0].attributes.to_pylist()[-1] == plus("first", "last")
    side = describe(told.given.source, told.values[0], EvidenceSettings(kind="all"))
    place = {name: row for row, name in enumerate(told.given.source.entities.to_pylist())}
    whole = together(first, last)
    same = [
        (place[f"a{one}"], place[f"a{other}"])
        for one, other in combinations(range(PEOPLE), 2)
        if whole[one] == whole[other]
    ]
    assert len(same) > 10
    assert not copies(side, np.array(same)).any()
