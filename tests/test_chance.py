"""What chance explains is not believed: tables without a common row have no links, and copies are no coincidences."""

import random
from datetime import date, timedelta
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import emea
from emea.data import LITERAL_SCHEMA, Graph, Links, Task
from emea.evidence.comparison import Comparison
from emea.method.chance import by_chance, would_link
from emea.method.copies import copies
from emea.method.mixture import _Mixture
from test_comparison import described, words_of_all
from two_tables import FIRST, LAST, Pair


def dealt(rows: int, common: int) -> Pair:
    """People dealt out to two tables, so that only a few are in both."""
    draw = random.Random(0)
    people = [
        (draw.choice(FIRST), draw.choice(LAST), str(date(1960, 1, 1) + timedelta(draw.randrange(12 * rows))))
        for _ in range(2 * rows - common)
    ]
    places = range(rows), range(rows - common, 2 * rows - common)
    first, second = (
        pd.DataFrame([(f"{side}{i}", *people[i]) for i in own], columns=["id", "first", "last", "born"])
        for side, own in zip("ab", places, strict=True)
    )
    return first, second


@pytest.mark.parametrize("common", [0, 15])
def test_who_was_born_on_one_day_is_not_the_same(common: int) -> None:
    result = emea.align(emea.read(*dealt(500, common)))
    right = [source[1:] == target[1:] for source, target, *_ in result.to_pandas().itertuples(index=False)]
    assert sum(right) >= 0.9 * common
    assert len(right) - sum(right) <= 3


def classification(base: str, stems: list[str]) -> Graph:
    """Classes of a tree, each with an unspecified, another and an acute one."""
    names = [f"{stem}{more}" for stem in stems for more in ("", ", unspecified", ", other", ", acute")]
    rows = [(place, 0, name, "", "") for place, name in enumerate(names)]
    table = pa.table([*zip(*rows, strict=True)], schema=LITERAL_SCHEMA)
    triples = np.array([(place, 0, place - place % 4) for place in range(len(names)) if place % 4])
    entities = [f"http://{base}.example/{place:03}" for place in range(len(names))]
    return Graph.build(entities, ["part of"], triples, attributes=["label"], literals=table)


def test_names_that_are_merely_alike_link_nothing() -> None:
    """Diseases of two kinds, none in common: no attribute agrees, and the loop would believe its first guesses."""
    draw = random.Random(0)
    first, second = (
        classification(
            base, sorted({draw.choice(starts) + draw.choice("aeiou") + draw.choice(ends) for _ in range(90)})
        )
        for base, starts, ends in (
            ("a", ("myi", "lister", "trach", "echin", "candid", "tular", "anthr"), ("asis", "osis", "oma", "ema")),
            ("b", ("scoli", "chondr", "albin", "porphyr", "synov", "burs", "fibr"), ("itis", "ism", "ia", "algia")),
        )
    )
    assert len(emea.align(Task(first, second, Links.empty()))) <= 3


def test_few_rows_do_not_show_that_all_is_chance() -> None:
    first = pd.DataFrame({"id": ["a0", "a1"], "name": ["Prado", "Louvre"]})
    second = pd.DataFrame({"key": ["b1", "b0"], "title": ["Louvre", "Prado"]})
    found = emea.align(emea.read(first, second)).to_pandas()
    assert sorted(zip(found["source"], found["target"], strict=True)) == [("a0", "b0"), ("a1", "b1")]


def test_links_are_explained_as_far_as_pairs_within_a_graph_are_as_good() -> None:
    score = np.array([9.0] * 40 + [20.0] * 40 + [1.0] * 200)
    linked = score > 5
    against, weight = np.array([9.0, 1.0]), np.array([30.0, 1e6])
    made = would_link(score, linked, against, weight)
    assert made == pytest.approx([30, 0], abs=1e-3)
    found = by_chance(score, linked, against, made, 0.0)
    assert found[:40] == pytest.approx(30 / 40)
    assert found[40:80] == pytest.approx(0, abs=1e-9)
    assert by_chance(score, linked, against, made, 2.0)[40:80] == pytest.approx(2 / 40)


def test_a_value_of_two_is_had_by_one_other() -> None:
    side = described({f"a{i:02}": {"name": name} for i, name in enumerate(words_of_all(20) * 2)})
    compare = Comparison(side, side)
    fields = compare.fields(np.stack([np.arange(40)] * 2, 1), np.random.default_rng(0))
    assert compare.levels(np.array([[0, 20], [0, 1]]), fields)[2].tolist() == pytest.approx([np.log(2), 0])


@pytest.mark.parametrize(("towns", "found"), [(20, True), (2, False)])
def test_copies_are_more_than_chance_makes(towns: int, found: bool) -> None:
    """Ten rows twice, among people of whom hardly two, or many, agree in all they have."""
    words = words_of_all(100)
    rows = [(words[i % (60 if found else 3)], words[60 + i // 3 % towns]) for i in range(60)]
    rows += rows[:10]
    side = described({f"a{i:02}": {"name": name, "town": town} for i, (name, town) in enumerate(rows)})
    pairs = np.array([[i, 60 + i] for i in range(10)] + [[0, 1]])
    assert copies(side, pairs).tolist() == [found] * 10 + [False]


def test_what_is_rare_everywhere_is_not_rarer_in_a_small_kind() -> None:
    """A level that 20 of a million pairs have, of a kind with 10,000 of which none has it."""
    kind, level = np.array([0, 0, 1]), np.array([0, 1, 1])
    weight = np.array([20.0, 990_000, 10_000])
    shares = _Mixture._shares(SimpleNamespace(kinds=2), level, weight, kind, 2, matched=False)  # type: ignore[arg-type]
    assert shares[1, 0] == pytest.approx(shares[0, 0], rel=0.2)
