"""Values are compared whatever their kind, attributes that correspond are found, and so are pairs to compare."""

import itertools
from datetime import date
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from emea.data import LITERAL_SCHEMA, Graph
from emea.evidence import joins
from emea.evidence.comparison import LEVELS, UNKNOWN, Comparison, _differ_less
from emea.evidence.descriptions import Description, describe
from emea.evidence.similarity import (
    CONTAINED,
    DIFFERENT,
    MEASURED,
    NEXT_DAY,
    NO_NUMERAL,
    ONE_APART,
    OTHER_NUMERAL,
    OTHER_YEAR,
    REORDERED,
    ROUNDED,
    SAME_MONTH,
    SAME_YEAR,
    SCALE,
    SLIPPED,
    YEAR_OF_DAY,
    Similarity,
)
from emea.evidence.values import DAY, NUMBER_FORM, Forms, Values, read_values
from emea.runs.compared import ComparedValues
from emea.settings import EvidenceSettings

NAMES = ("s thoracic vertebra 12", "s smith john", "s dark matter", "s spleen capsule", "s hand phalanx")


def similarity(first: str, second: str) -> float:
    return float(Similarity(Forms([first, *NAMES]), Forms([second, *NAMES]))(np.array([[0, 0]]))[0])


@pytest.mark.parametrize(
    ("first", "second", "least", "most"),
    [
        ("s dark matter", "s dark matter", 1, 1),
        ("s smith john", "s john smith", REORDERED, REORDERED),
        ("s stars", "s star", REORDERED, REORDERED),
        ("s phalanx of the hand", "s hand phalanx", REORDERED, REORDERED),
        ("s j smith", "s john smith", 0.7, 0.98),
        ("s splenic capsule", "s spleen capsule", 0.8, 0.98),
        ("s vertebra t9", "s vertebra t10", 0, OTHER_NUMERAL),
        ("s henry iv", "s henry v", 0, OTHER_NUMERAL),
        ("s henry iv 1", "s henry iv 2", 0, OTHER_NUMERAL),
        ("s 15 romolo place san francisco", "s 15 romolo place san francisco 94133", 0.85, DIFFERENT),
        ("s dark matter", "s visual magnitude", 0, 0.3),
        ("n 1995", "d 1995-03-01", 0.9, 1),
        ("n 1993", "d 1995-03-01", 0, 0),
        ("n 1e+307", "d 1995-03-01", 0, 0),
        ("n 1995", "n 1996", 0.5, 0.7),
        ("n 60964900", "n 60431283", 0.95, 0.98),
        ("n 12.5", "n 25", 0, 0.1),
        ("n 121.908368", "n 121.91", ROUNDED, ROUNDED),
        ("n 121.908368", "n 122", ROUNDED, ROUNDED),
        ("n 121.908368", "n 121.90", 0.9, DIFFERENT),
        ("n 12.34", "n 12", 0.5, DIFFERENT),  # two digits are soon the same
        ("n 1e-12", "n 2e-12", 0, 0.1),
        ("n 1994", "d 1995-01-01", ONE_APART, ONE_APART),
        ("d 1995-03-01", "d 1995-02-28", NEXT_DAY, NEXT_DAY),
        ("d 1996-03-01", "d 1996-02-29", NEXT_DAY, NEXT_DAY),
        ("d 1900-03-01", "d 1900-02-28", NEXT_DAY, NEXT_DAY),
        ("d 2000-03-01", "d 2000-02-29", NEXT_DAY, NEXT_DAY),
        ("d 1995-12-31", "d 1996-01-01", NEXT_DAY, NEXT_DAY),
        ("d 1995-03-04", "d 1995-04-03", SLIPPED, SLIPPED),
        ("d 1995-03-04", "d 1996-03-04", SLIPPED, SLIPPED),
        ("d 1995-03-04", "d 1995-03-14", SAME_MONTH, SAME_MONTH),
        ("d 1995-03-04", "d 1965-03-04", OTHER_YEAR, OTHER_YEAR),
        ("d 1995-03-04", "d 1995-07-14", SAME_YEAR, SAME_YEAR),
        ("d 1995-03-04", "d 1996-07-14", 0, 0),
        ("d -0044-03-15", "d -0043-03-15", SLIPPED, SLIPPED),
        ("s prado 7", "s museo prado 12", 0, OTHER_NUMERAL),
        ("s 1995", "n 1995", 0, 0),
    ],
)
def test_values_are_compared(first: str, second: str, least: float, most: float) -> None:
    assert least <= similarity(first, second) <= most
    assert similarity(second, first) == pytest.approx(similarity(first, second), abs=0.02)


@pytest.mark.parametrize(
    ("first", "second", "most"),
    [
        ("s prado", "s museo nacional del prado", CONTAINED),
        ("s hand", "s hand phalanx", DIFFERENT),
        ("s prado", "s prado 12", NO_NUMERAL),
    ],
)
def test_a_name_within_another_is_like_it_where_its_words_are_rare(first: str, second: str, most: float) -> None:
    others = [f"s {word} {number}" for word in ("museo", "galleria") for number in range(60)]
    found = Similarity(Forms([first, *others]), Forms([second, *others]))(np.array([[0, 0]]))
    assert CONTAINED <= float(found[0]) <= most
    assert similarity(first, second) < CONTAINED  # among two strings, no word is rare


@pytest.mark.parametrize(
    ("first", "second", "least", "most"),
    [
        ("s bohrer vz 673 12 v", "s cordless drill vz 673 18 inch", CONTAINED, DIFFERENT),  # one model
        ("s bohrer vz 673", "s cordless drill vz 674", 0, OTHER_NUMERAL),
        ("s drill vz 673 12 v red", "s drill vz 673 18 v red", 0, OTHER_NUMERAL),  # the same model, but another size
        ("s museo of 1873 in prado", "s galleria 1873", 0, OTHER_NUMERAL),  # years are no models
        ("s 310 246 1501", "s 213 246 9999", 0, OTHER_NUMERAL),  # nor are telephone numbers
        ("s hand 60", "s arm 60", 0, OTHER_NUMERAL),  # two digits are soon the same
    ],
)
def test_what_hardly_any_other_has_makes_strings_alike(first: str, second: str, least: float, most: float) -> None:
    others = [f"s {word} {number}" for word in ("museo", "galleria") for number in range(60)]
    found = Similarity(Forms([first, *others]), Forms([second, *others]))(np.array([[0, 0]]))
    assert least <= float(found[0]) <= most


def test_what_many_have_does_not_tell_apart() -> None:
    """Unless each of the two has its own."""
    others = [f"s name{number}{end}" for number in range(60) for end in ("", " given name", " family name")]
    sides = Forms(["s asa name", *others]), Forms(["s asa", "s asa given name", "s asa family", "s aga name", *others])
    bare, given, family, other = Similarity(*sides)(np.array([[0, 0], [0, 1], [0, 2], [0, 3]])).tolist()
    assert min(bare, given) > 0.9
    assert max(family, other) < 0.9


def test_a_single_word_is_enough_to_compare() -> None:
    """Where all values of both graphs are made of it."""
    alone = Similarity(Forms(["s anna"]), Forms(["s anna anna"]))(np.array([[0, 0]]))
    assert float(alone[0]) == pytest.approx(similarity("s anna", "s anna anna"), abs=0.02)


def plain_measured(first: str, second: str) -> float:
    """Similarity of two values that differ and are not both strings, one pair at a time."""
    kinds, one, other = {first[:2], second[:2]}, first[2:], second[2:]
    if kinds == {NUMBER_FORM}:
        apart, most = abs(float(one) - float(other)), max(abs(float(one)), abs(float(other)))
        counted = float(one).is_integer() and float(other).is_integer() and most < MEASURED
        if counted:  # years, sizes, numbers of things: near misses are errors at best
            return 0.6 if apart <= 1 and most > 20 else 0.0
        unit = max(0.1 ** len(each.partition(".")[2]) for each in (one, other))
        if "e" not in one + other and apart <= 0.501 * unit and most >= 100 * unit:
            return ROUNDED
        return min(DIFFERENT, max(0.0, 1 - SCALE * apart / most))
    if kinds == {DAY}:
        return plain_days(date.fromisoformat(one), date.fromisoformat(other))
    if kinds == {NUMBER_FORM, DAY}:  # a year and a date
        year, day = (one, other) if first.startswith(NUMBER_FORM) else (other, one)
        return (
            YEAR_OF_DAY if int(day[:4]) == float(year) else ONE_APART if abs(int(day[:4]) - float(year)) == 1 else 0.0
        )
    return 0.0


def plain_days(one: date, other: date) -> float:
    if abs((one - other).days) == 1:
        return NEXT_DAY
    same_day, same_year = (one.month, one.day) == (other.month, other.day), one.year == other.year
    if (same_year and (one.month, one.day) == (other.day, other.month)) or (
        same_day and abs(one.year - other.year) == 1
    ):
        return SLIPPED
    if same_year:
        return SAME_MONTH if one.month == other.month else SAME_YEAR
    return OTHER_YEAR if same_day else 0.0


def test_all_measures_at_once_are_as_similar_as_one_by_one() -> None:
    numbers = ("0", "1", "-1", "19", "20", "21", "1994", "1995", "9999", "10000", "10100", "2.5", "2.75", "-2.5")
    days = (
        "1995-03-01",
        "1995-03-09",
        "1995-04-01",
        "1994-03-01",
        "1995-02-28",
        "1995-01-03",
        "1990-03-01",
        "2000-12-31",
    )
    forms = Forms([*(f"n {number}" for number in numbers), *(f"d {day}" for day in days), "s 1995", "i a"])
    pairs = np.array([*itertools.permutations(range(len(forms)), 2)])
    expected = [plain_measured(forms[a], forms[b]) for a, b in pairs.tolist()]
    assert Similarity(forms, forms)(pairs) == pytest.approx(expected, abs=1e-15)
    assert {0.0, NEXT_DAY, SLIPPED, SAME_MONTH, OTHER_YEAR, SAME_YEAR, YEAR_OF_DAY, ONE_APART} <= {*expected}


def graph(rows: dict[str, dict[str, str]]) -> Graph:
    attributes = sorted({name for row in rows.values() for name in row})
    cells = [
        (place, attributes.index(name), value, "", "")
        for place, row in enumerate(rows.values())
        for name, value in row.items()
    ]
    table = pa.table([*zip(*cells, strict=True)], schema=LITERAL_SCHEMA)
    nothing = np.zeros((0, 3), dtype=np.int64)
    return Graph.build(list(rows), [], nothing, attributes=attributes, literals=table)


def described(rows: dict[str, dict[str, str]]) -> Description:
    settings, side = EvidenceSettings(kind="all"), graph(rows)
    return describe(side, read_values(side, settings), settings)


@pytest.fixture
def sides() -> tuple[Description, Description]:
    draw = np.random.default_rng(0)
    words = ["".join(draw.choice(list("abcdefgh"), 5)) for _ in range(60)]
    left = {f"a{i:02}": {"name": words[i], "born": f"19{i:02}", "note": "same"} for i in range(40)}
    right = {f"b{i:02}": {"title": words[i], "year": f"19{i:02}", "text": words[59 - i]} for i in range(40)}
    first, second = (described(rows) for rows in (left, right))
    return first, second


def test_attributes_correspond_if_links_agree_in_them(sides: tuple[Description, Description]) -> None:
    links = np.stack([np.arange(30)] * 2, 1)
    fields = Comparison(*sides).fields(links, np.random.default_rng(0))
    names = [side.values.attributes.to_pylist() for side in sides]
    found = {
        (names[0][a], names[1][b])
        for a, b in itertools.product(range(3), range(3))
        if fields.source[a] == fields.target[b] >= 0
    }
    assert found == {("name", "title"), ("born", "year")}
    levels, frequent, _ = Comparison(*sides).levels(np.array([[0, 0], [0, 1], [35, 36]]), fields)
    assert levels[0].tolist() == [0, 0, UNKNOWN]
    assert (levels[1:, :2] > 2).all()
    assert frequent.tolist() == [0, 0, 0]  # every value is as rare as any other


def test_equal_under_another_attribute_is_less_than_equal() -> None:
    left = described({f"a{i}": {"name": f"word{i} x{i}y"} for i in range(20)})
    right = described({f"b{i}": {"name" if i < 15 else "other": f"word{i} x{i}y"} for i in range(20)})
    links = np.stack([np.arange(20)] * 2, 1)
    compare = Comparison(left, right)
    fields = compare.fields(links, np.random.default_rng(0))
    assert len(fields) == 1
    assert set(compare.levels(links, fields)[0][:, 0].tolist()) == {0, 1}
    assert LEVELS[1] < LEVELS[0]


def words_of_all(count: int) -> list[str]:
    draw = np.random.default_rng(1)
    return ["".join(draw.choice(list("abcdefghklmnop"), 8)) for _ in range(count)]


def same_fields(sides: tuple[Description, Description], links: np.ndarray) -> set[tuple[str, str]]:
    fields = Comparison(*sides).fields(links, np.random.default_rng(0))
    names = [side.values.attributes.to_pylist() for side in sides]
    every = itertools.product(enumerate(names[0]), enumerate(names[1]))
    return {(one, other) for (a, one), (b, other) in every if fields.source[a] == fields.target[b] >= 0}


@pytest.mark.parametrize(("only_in_town", "merged"), [(0, False), (3, False), (36, True)])
def test_attributes_are_one_field_only_if_links_agree_that_otherwise_would_not(only_in_town: int, merged: bool) -> None:
    """Some are called like their towns; what is called otherwise in the other table has its name as the town there."""
    words, count = words_of_all(600), 300
    left = {f"a{i:03}": {"name": words[i], "town": words[i if i % 5 == 0 else 300 + i]} for i in range(count)}
    right = {f"b{i:03}": {"name": words[i], "town": words[i if i % 5 == 0 else 300 + i]} for i in range(count)}
    for place in range(1, 1 + 5 * only_in_town, 5):
        right[f"b{place:03}"] = {"name": f"{words[place][::-1]} hall", "town": words[place]}
    sides = described(left), described(right)
    links = np.stack([np.arange(count)] * 2, 1)
    found = same_fields(sides, links)
    assert {("name", "name"), ("town", "town")} <= found
    assert (("name", "town") in found) == merged
    best = Comparison(*sides).fields(links, np.random.default_rng(0)).main.tolist()
    assert best in ([[0, 0], [1, 1]], [[0, 0]], [[1, 1]]), "where nearly all agree"
    assert len(best) == 2 - merged


def test_synonyms_may_only_stand_in_for_names() -> None:
    """One in five goes by its synonym in the other table, and one more has nothing else."""
    words, count = words_of_all(300), 100
    left = {f"a{i:02}": {"name": words[i], "synonym": words[100 + i]} for i in range(count)}
    left["a99"] = {"synonym": words[199]}
    right = {f"b{i:02}": {"name": words[i if i % 5 and i < count - 1 else 100 + i]} for i in range(count)}
    compare, links = Comparison(described(left), described(right)), np.stack([np.arange(count)] * 2, 1)
    fields, spared = (compare.fields(links, np.random.default_rng(0), spare=spare) for spare in (False, True))
    assert (len(fields), fields.spare.tolist(), spared.spare.tolist()) == (1, [False], [True])
    named, synonymous, alone = links[1:2], links[5:6], links[-1:]
    for pairs, level, with_names in ((named, 0, 0), (synonymous, 1, len(LEVELS)), (alone, 1, 1)):
        assert compare.levels(pairs, fields)[0][0, 0] == level
        assert compare.levels(pairs, spared)[0][0, 0] == with_names
    assert np.isfinite(compare.levels(synonymous, spared)[1]).all()
    assert spared.swap().spare.tolist() == spared.within(0).spare.tolist() == [True]
    single = compare.fields(links[links[:, 0] % 5 > 0], np.random.default_rng(0), spare=True)
    assert single.spare.tolist() == [False], "names alone are names alone, which is no other way of comparing"


@pytest.mark.parametrize(("spare", "shown"), [(False, ["synonym", "synonym"]), (True, ["name", "synonym"])])
def test_values_are_shown_as_they_were_compared(spare: bool, shown: list[str]) -> None:
    sides = (
        described({"a0": {"name": "quarter", "synonym": "suburb"}, "a1": {"synonym": "suburb"}}),
        described({"b0": {"name": "suburb"}}),
    )
    fields = SimpleNamespace(
        source=np.zeros(2, dtype=np.int64),
        target=np.zeros(1, dtype=np.int64),
        main=np.array([[sides[0].values.attributes.to_pylist().index("name"), 0]]),
        inside=np.array([False]),
        spare=np.array([spare]),
    )
    called = SimpleNamespace(value=lambda _, form: form[1:])
    judged = SimpleNamespace(pairs=np.array([[0, 0], [1, 0]]), fields=fields)
    known: Any = (judged, None, None, SimpleNamespace(called=(called, called)))
    values = ComparedValues(*known)
    values.described = sides
    compared = [values.most_similar(row, 0) for row in (0, 1)]
    assert [each.attributes[0] for each in compared if each] == shown


def test_an_equal_value_counts_by_how_common_it_is_among_pairs() -> None:
    """Of 40 entities half have the same town: two at random share a town as often as if 10.5 had each."""
    towns = ["big"] * 20 + [f"town{'abcdefghijklmnopqrst'[i]}" for i in range(20)]
    words = words_of_all(40)
    side = described({f"a{i:02}": {"name": words[i], "town": towns[i]} for i in range(40)})
    fields = Comparison(side, side).fields(np.stack([np.arange(40)] * 2, 1), np.random.default_rng(0))
    pairs = np.array([[0, 1], [30, 30]])
    usual = (20**2 + 20) / 40
    assert Comparison(side, side).levels(pairs, fields)[1].tolist() == pytest.approx(
        [np.log(20 / usual), np.log(1 / usual)]
    )


@pytest.mark.parametrize(("words", "texts"), [(5, False), (40, True)])
def test_long_values_are_texts(words: int, texts: bool) -> None:
    draw = np.random.default_rng(0)
    text = [" ".join(draw.choice(words_of_all(400), words)) for _ in range(40)]
    side = described({f"a{i:02}": {"about": text[i]} for i in range(40)})
    fields = Comparison(side, side).fields(np.stack([np.arange(40)] * 2, 1), np.random.default_rng(0))
    assert fields.texts.tolist() == [texts]


def test_distance_is_measured_on_the_sphere() -> None:
    places = {
        "berlin": ("52.5", "13.4"),
        "potsdam": ("52.4", "13.1"),
        "suva": ("-18.1", "178.4"),
        "apia": ("-13.8", "-171.8"),
    }
    side = described({name: {"lat": one, "long": other} for name, (one, other) in places.items()})
    compare = Comparison(side, side)
    fields = compare.fields(np.zeros((0, 2), dtype=np.int64), np.random.default_rng(0))
    order = sorted(places)  # apia, berlin, potsdam, suva
    pairs = np.array(
        [[order.index(a), order.index(b)] for a, b in (("berlin", "potsdam"), ("suva", "apia"), ("berlin", "suva"))]
    )
    # Berlin and Potsdam are 23 km apart, Suva and Apia 1,150 km across the date line
    assert compare.levels(pairs, fields)[0][:, -1].tolist() == [4, 8, 8]


def test_pairs_that_alone_share_a_value(sides: tuple[Description, Description]) -> None:
    first, second = (side.values for side in sides)

    def fits(pairs: np.ndarray) -> np.ndarray:
        even: np.ndarray = pairs.sum(1) % 2 == 0
        return even

    found = {tuple(pair) for pair in joins.alone(first, second, fits).tolist()}
    expected = set()
    for form in {*first.forms} & {*second.forms}:
        held = [
            {int(entity) for entity in side.entity[side.value == side.forms.index(form)]} for side in (first, second)
        ]
        fitting = {pair for pair in itertools.product(*held) if sum(pair) % 2 == 0}
        expected |= fitting if len(fitting) == 1 else set()
    assert found == expected
    assert {(i, i) for i in range(40)} <= {tuple(pair) for pair in joins.joined(first, second, (40, 40)).tolist()}


def called(first: str, others: str) -> Values:
    """The values of twelve Millers; the first two have a word of their own."""
    own = [first if place < 2 else f"{others}{chr(97 + place) * 4}" for place in range(12)]
    return described({f"{others}{place:02}": {"name": f"miller {word}"} for place, word in enumerate(own)}).values


def test_pairs_by_words_that_too_many_share_are_left_out() -> None:
    first, second = called("quentin", "p"), called("rolf", "s")
    assert len(joins.joined(first, second, (30, 30))) == 144  # the one word that they share makes all equal
    assert len(joins.joined(first, second, (30, 30), 12)) == 144
    assert len(joins.joined(first, second, (30, 30), 11)) == 0


def test_the_better_pairs_of_an_entity_stay_where_ties_for_the_last_place_go() -> None:
    first, second = called("quentin", "p"), called("q-u-e-n-t-i-n quentin", "s")
    assert len(joins.joined(first, second, (30, 30))) == 144
    kept = joins.joined(first, second, (30, 30), 11)
    assert {tuple(pair) for pair in kept.tolist()} == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_a_column_that_says_less_than_another_corresponds_to_nothing() -> None:
    """Every third is called in short as in full, which says nothing that the full name does not."""
    words, count = words_of_all(160), 40
    left = described({f"a{i:02}": {"1 name": words[i], "2 note": words[40 + i]} for i in range(count)})
    rows = {f"b{i:02}": {"1 title": words[i], "2 short": words[i if i % 3 == 0 else 80 + i]} for i in range(count)}
    assert same_fields((left, described(rows)), np.stack([np.arange(count)] * 2, 1)) == {("1 name", "1 title")}


def test_names_that_are_a_little_alike_correspond_if_no_others_do() -> None:
    words, count = words_of_all(120), 40
    left = described({f"a{i:02}": {"name": f"{words[i]} {words[40 + i][:5]}"} for i in range(count)})
    right = described({f"b{i:02}": {"title": f"{words[i]} {words[80 + i][:5]}"} for i in range(count)})
    similarity = Similarity(left.values.forms, right.values.forms)(np.array([[i, i] for i in range(count)]))
    assert LEVELS[-1] < similarity.mean() < CONTAINED
    assert same_fields((left, right), np.stack([np.arange(count)] * 2, 1)) == {("name", "title")}


def test_what_was_read_before_makes_no_difference_to_numerals() -> None:
    forms = Forms(["s vertebra t9", "s vertebra t10"])
    assert Similarity(forms, forms)(np.array([[0, 1], [1, 0]])).tolist() == [OTHER_NUMERAL] * 2


@pytest.mark.parametrize(
    ("both", "agree", "by_chance", "less"),
    [
        (40, 36, 0.5, True),  # 4 differ; 20 are expected to, give or take √20
        (40, 34, 0.5, True),
        (40, 33, 0.5, False),  # 7 are no three deviations less: 20 − 3 · 4.5 = 6.6
        (100, 51, 0.0, True),  # less than half of 100
        (100, 50, 0.0, False),
        (8, 8, 0.5, False),  # 4 ± 2 might be none
    ],
)
def test_values_that_most_have_correspond_where_links_differ_far_less(
    both: int, agree: int, by_chance: float, less: bool
) -> None:
    table = (np.array([[each]], dtype=float) for each in (both, agree, by_chance))
    assert _differ_less(*table).tolist() == [[less]]


def test_each_of_a_pair_is_compared_by_its_own_values() -> None:
    words, others = words_of_all(30), range(2, 12)
    left = described(
        {"a00": {"name": words[0]}, "a01": {"note": "x"}} | {f"a{i:02}": {"name": words[i]} for i in others}
    )
    right = described({"b00": {}, "b01": {"title": words[0]}} | {f"b{i:02}": {"title": words[i]} for i in others})
    compare = Comparison(left, right)
    fields = compare.fields(np.stack([np.arange(2, 12)] * 2, 1), np.random.default_rng(0))
    assert (fields.source.tolist(), fields.target.tolist()) == ([0, -1], [0])
    pairs = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [5, 5], [5, 6]])
    found = compare.levels(pairs, fields)[0][:, 0].tolist()
    assert found[:5] == [UNKNOWN, 0, UNKNOWN, UNKNOWN, 0]
    assert found[5] > 2


def test_within_a_graph_synonyms_are_compared_with_names_as_between_two() -> None:
    """Some go by a synonym in the other table, which has one name for each, and two of a graph share each synonym."""
    words, count = words_of_all(300), 100
    left = {f"a{i:02}": {"name": words[i], "synonym": words[100 + i // 2]} for i in range(count)}
    right = {f"b{i:02}": {"name": words[i if i % 5 else 100 + i // 2]} for i in range(count)}
    first, second = described(left), described(right)
    fields = Comparison(first, second).fields(np.stack([np.arange(count)] * 2, 1), np.random.default_rng(0))
    pairs = np.array([[2 * i, 2 * i + 1] for i in range(count // 2)])
    assert fields.source.tolist() == [0, 0], "names and synonyms are one field"
    assert (Comparison(first, first).levels(pairs, fields.within(0))[0][:, 0] > 2).all()
    assert (Comparison(second, second).levels(pairs, fields.within(1))[0][:, 0] > 2).all()
    assert fields.swap().within(1).equals(fields.within(0))
    both = Comparison(first, first).fields(np.stack([np.arange(count)] * 2, 1), np.random.default_rng(0))
    assert (Comparison(first, first).levels(pairs, both.within(0))[0][:, 1] == 0).all(), "where both have synonyms"
