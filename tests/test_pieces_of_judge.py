"""What the judge found about a pair, in words and with less evidence, from evidence that is made up."""

import math
from collections.abc import Collection, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from emea.analysis.explanation import Part
from emea.method.grounds import IDENTITY, Line
from emea.runs.pieces_of_judge import JudgedPieces

TAUGHT = "how often what was decided on turned out right at such a confidence"
SAYS = [2.0, 1.0, -0.5, -0.5]  # two fields, how far apart the two are, how rare the equal values are
SAID = {"neighbours": 1.5, "structure": 0.0, "types": 0.25, "none": -math.log(99)}


class Sums:
    """Of three pairs, (0, 0), (0, 1) and (1, 1), of which the second is the likeliest."""

    odds = np.array([1.0, 2.0, 0.5])

    def __init__(self, together: float) -> None:
        self.together = together

    def row(self, source: int, target: int) -> int:
        return {(0, 0): 0, (0, 1): 1, (1, 1): 2}.get((source, target), -1)

    def rows(self, entity: int, side: int) -> np.ndarray:
        return np.array([[[0, 1], [2]], [[0], [1, 2]]][side][entity])

    def values(self, row: int, gone: Collection[int] = ()) -> float:
        return self.together - sum(SAYS[field] for field in gone)

    def log_odds(self, row: int, changed: Mapping[str, float] | None = None) -> float:
        return 10.0 + sum(left - {**SAID, "values": self.together}[name] for name, left in (changed or {}).items())


COMPARED = SimpleNamespace(most_similar=lambda *_: None, kinds=lambda *_: "town in both", described=None)


def judged(together: float = 4.0, **changes: Any) -> JudgedPieces:
    found = JudgedPieces.__new__(JudgedPieces)
    told = {
        "pairs": np.array([[0, 0], [0, 1], [1, 1]]),
        "by_field": np.array([SAYS] * 3),
        "fields": range(2),
        "most": np.array([0.9]),
        "ceiling": np.array([0.9]),
        "share": np.array([1.0]),
        "line": IDENTITY,
        "said": {name: np.full(3, said) for name, said in SAID.items()},
        "is_structural": lambda row: row > 0,
    }
    found.judged = SimpleNamespace(**told | changes)  # type: ignore[assignment]
    found.sums = Sums(together)  # type: ignore[assignment]
    found.values = COMPARED  # type: ignore[assignment]
    return found


def test_candidates_are_told_from_either_side_the_likeliest_first() -> None:
    assert judged().candidates(0) == [1, 0]
    assert judged().candidates(1, swapped=True) == [0, 1]
    assert [judged().known(*pair) for pair in ((0, 0), (1, 0))] == [True, False]


@pytest.mark.parametrize(
    ("most", "row", "line", "share", "told"),
    [
        (0.9, 0, IDENTITY, 1.0, "no such link is given more than 0.9, or less than .0001"),
        (0.4, 0, IDENTITY, 1.0, "chance makes links as good as this so often that none gets more than 0.400"),
        (0.9, 0, Line(1.0, 0.5), 1.0, TAUGHT),
        (0.9, 0, Line(1.0, 0.5), 0.7, f"{TAUGHT}, and what surer candidates leave"),
    ],
)
def test_what_limits_confidence_is_told(most: float, row: int, line: Line, share: float, told: str) -> None:
    found = judged(most=np.array([most]), line=line, share=np.array([share]))
    assert found.told("calibration", 0.0, 0, 0)[0] == told


def test_a_pair_without_values_gets_no_more_than_the_loop_believed() -> None:
    both = {"most": np.array([0.9, 0.25]), "ceiling": np.array([0.9, 0.9])}
    told = judged(**both).told("calibration", 0.0, 0, 1)[0]
    assert told == "values say so little that it gets no more than encoder and rules believed: 0.250"


def test_other_evidence_is_told_in_a_line() -> None:
    assert judged().told("none", -4.6, 0, 0) == ("at random, one pair in 100 would be right", -4.6, ())
    assert judged().told("types", 0.2, 0, 0)[0] == "town in both"
    assert judged().told("neighbours", 0.2, 0, 0) == ("linked neighbours", 0.2, ())  # nothing is known of them
    assert judged().told("structure", 0.2, 0, 0)[0] == "what encoder and rules believed, where values say little"


def test_what_speaks_for_a_pair_can_be_taken_away() -> None:
    """The strongest first: the fields, what kinds of evidence said, and neither what says nothing nor what is rare."""
    evidence = judged(together=4.0).evidence(0, 0)
    assert evidence.texts == ("field 1", "linked neighbours", "field 2", "types that fit")
    assert evidence.without([]) == 10.0
    assert evidence.without([1, 3]) == 10.0 - 1.5 - 0.25
    assert evidence.without([0]) == 10.0 - 2.0, "as the values say without a field"
    assert evidence.without([0, 1, 2]) == 10.0 - 3.0 - 1.5


@pytest.mark.parametrize(
    ("together", "log_odds", "shares", "rest"),
    [
        (4.0, 1.0, [1.0, 0.5, -0.25, -0.25], None),  # fields say 2: half counts
        (4.0, 3.0, [2.0, 1.0, -0.5, -0.5], ("different entities rarely agree as much", 1.0)),
        (0.5, -1.0, [2.0, 1.0, -0.5, -0.5], ("but different entities often agree as much", -3.0)),
        (4.0, -1.0, [2.0, 1.0, -0.5, -0.5], ("how all this counts beside the other evidence", -3.0)),
    ],
)
def test_what_fields_say_adds_up(
    together: float, log_odds: float, shares: list[float], rest: tuple[str, float] | None
) -> None:
    text, total, parts = judged(together).told("values", log_odds, 0, 0)
    names = ["field 1", "field 2", "how far apart the two are", "how rare the equal values are"]
    expected = [*zip(names, shares, strict=True), *([rest] if rest else [])]
    assert {part.text: part.log_odds for part in parts} == pytest.approx(dict(expected))
    assert [abs(part.log_odds) for part in parts] == sorted((abs(part.log_odds) for part in parts), reverse=True)
    assert total == log_odds == pytest.approx(sum(part.log_odds for part in parts))
    assert text == "3 comparisons"


@pytest.mark.parametrize(("together", "less"), [(0.9, True), (1.0, False)])
def test_that_values_count_for_less_together_is_told(together: float, less: bool) -> None:
    text = judged(together).told("values", 0.8, 0, 0)[0]
    why = ", which count for less together: different entities often agree as much"
    assert text == "3 comparisons" + (why if less else "")


def test_what_was_compared_is_told_with_its_values() -> None:
    found, dates = judged(), ("2001-02-03", "2001-02-04")
    told = {0: SimpleNamespace(text="born", values=dates, attributes=("b", "a"), similarity=0.95, dates="a day apart")}
    found.values = SimpleNamespace(most_similar=lambda row, field: told.get(field))  # type: ignore[assignment]
    first, second, *_ = found.told("values", 1.0, 0, 0)[2]
    assert vars(first) | {"log_odds": 0} == vars(Part("born", 0)) | {
        "source_value": dates[0],
        "target_value": dates[1],
        "source_attribute": "b",
        "target_attribute": "a",
        "similarity": 0.95,
        "compared": "a day apart",
    }
    assert vars(second) == vars(Part("field 2", 0.5))
