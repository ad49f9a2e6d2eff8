"""Categories by other words are the same where links say so."""

import random

import numpy as np
import pandas as pd

import emea
from emea.evidence.prepared import prepare
from emea.evidence.vocabularies import _corresponding
from emea.settings import EvidenceSettings
from two_tables import SYLLABLES, linked

COLOURS = {"Rotwein": "red wine", "Weißwein": "white wine", "Schaumwein": "sparkling"}


def wines(things: int = 120, *, wrong: float = 0.05, names: int = 4) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Wines whose names have so many syllables, with categories in two languages."""
    draw = random.Random(0)
    called = ["".join(draw.choice(SYLLABLES) for _ in range(names)) for _ in range(things)]
    ours = [draw.choice([*COLOURS]) for _ in called]
    theirs = [draw.choice([*COLOURS.values()]) if draw.random() < wrong else COLOURS[each] for each in ours]
    return (
        pd.DataFrame({"id": [f"a{n}" for n in range(things)], "name": called, "sort": ours}),
        pd.DataFrame({"key": [f"b{n}" for n in range(things)], "title": called, "department": theirs}),
    )


def told(pair: tuple[pd.DataFrame, pd.DataFrame]) -> list[str]:
    return [each for each in prepare(emea.read(*pair), EvidenceSettings(kind="all")).faults if "its words" in each]


def test_words_that_go_together_are_found_and_said() -> None:
    (sentence,) = told(_rare(wines()))
    assert sentence.startswith("target graph: 3 values of 'department' compared with 'sort' in its words, such as ")
    assert any(f"{theirs} = {ours.lower().replace('ß', 'ss')}" in sentence for ours, theirs in COLOURS.items())


def test_words_that_do_not_go_together_are_left() -> None:
    assert told(_rare(wines(wrong=0.8))) == []
    first, second = _rare(wines())
    assert told((first.assign(sort="wine"), second.assign(department="drink"))) == []  # one word for all tells nothing
    assert told((first.head(9), second.head(9))) == []


def test_things_of_one_name_are_told_apart_by_their_categories() -> None:
    first, second = wines(200, wrong=0.0)
    names = [first["name"][100 + row // 2] if row >= 100 else name for row, name in enumerate(first["name"])]
    sorts = [[*COLOURS][row % 2] if row >= 100 else sort for row, sort in enumerate(first["sort"])]
    departments = [COLOURS[sort] for sort in sorts]
    found = linked(_rare((first.assign(name=names, sort=sorts), second.assign(title=names, department=departments))))[1]
    assert found.f1 > 0.95  # .67 where red wine is not Rotwein


def _rare(pair: tuple[pd.DataFrame, pd.DataFrame]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """With a fourth category that two have: too rare for a kind."""
    first, second = pair
    return (
        first.assign(sort=["Likör"] * 2 + first["sort"].tolist()[2:]),
        second.assign(department=["liqueur"] * 2 + second["department"].tolist()[2:]),
    )


def test_ten_pairs_tell_which_words_go_together() -> None:
    ours, theirs = np.repeat([3, 4], 5), np.repeat([8, 7], 5)
    assert _corresponding(ours, theirs) == (0.5, {8: 3, 7: 4})  # by chance, every second pair would agree
    assert _corresponding(np.append(ours[1:], -1), theirs) is None
    assert _corresponding(np.full(10, 3), np.full(10, 8)) is None, "one word for all tells nothing"
