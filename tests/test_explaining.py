"""Which pairs are explained, beside which others, and what it would take to lose a link: from evidence that is made
up."""

import math
from collections.abc import Collection
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from emea.analysis.bars import Bars
from emea.analysis.explanation import Group, Part
from emea.data import Links
from emea.runs.explaining import Explainer
from emea.runs.pieces import Evidence, Pieces
from emea.settings import load


class Made:
    """What some pairs were judged by: their log-odds, and what speaks for each."""

    def __init__(self, log_odds: dict[tuple[int, int], float]) -> None:
        self.all, self.says = log_odds, [1.0, 3.6, 0.2]

    def known(self, source: int, target: int) -> bool:
        return (source, target) in self.all

    def candidates(self, entity: int, *, swapped: bool = False) -> list[int]:
        return [pair[1 - swapped] for pair in self.all if pair[swapped] == entity]

    def log_odds(self, source: int, target: int) -> float:
        return self.all[source, target]

    def bars(self, source: int, target: int) -> Bars:
        total = self.all[source, target]
        groups = {"none": 5.0, "values": total, "types": 0.5, "neighbours": -1.0}
        return Bars(-4.5, groups, total, saturated=False)

    def told(self, group: str, log_odds: float, source: int, target: int) -> tuple[str, float, tuple[Part, ...]]:
        parts = (Part("name", 0.6), Part("place", 0.4), Part("born", 0.1)) if group == "values" else ()
        return group, log_odds, parts

    def evidence(self, source: int, target: int) -> Evidence:
        def without(taken: Collection[int]) -> float:
            return self.all[source, target] - sum(self.says[each] for each in taken)

        return Evidence(("a", "b", "c"), without)


def links(*pairs: tuple[int, int]) -> Links:
    return Links.build(*torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T)


def explainer(judged: Made | None, loop: Made, closest: Any = lambda *_: None, **given: Links) -> Explainer:
    found = Explainer.__new__(Explainer)
    found.judged, found.loop, found.closest = judged, loop, closest  # type: ignore[assignment]
    found.kept = SimpleNamespace(confidence={(1, 1): 0.9, (2, 1): 0.8})  # type: ignore[assignment]
    found.settings = load()
    found.finder = SimpleNamespace(  # type: ignore[assignment]
        given=lambda what: given.get(what, links()),
        name=lambda side, entity: f"{'ab'[side]}{entity}",
        label=lambda side, entity: f"{'AB'[side]} {entity}",
        number=lambda _, name: int(name[1:]),
    )
    return found


@pytest.mark.parametrize(
    ("log_odds", "minimum", "parts"),
    [
        (3.59, 0.5, ("b",)),  # without a and b it is lost, and without b alone as well
        (3.7, 0.5, ("a", "b")),
        (4.7, 0.5, ("a", "b", "c")),
        (4.9, 0.5, None),  # nothing that could be taken away is enough
        (3.7, 0.55, ("b",)),  # log-odds of .2
        (-0.1, 0.5, None),  # it is lost already
        (3.59, 0.0, None),  # nothing is ever lost
    ],
)
def test_the_least_evidence_without_which_a_link_is_lost(
    log_odds: float, minimum: float, parts: tuple[str, ...] | None
) -> None:
    made = Made({(0, 0): log_odds})
    found = explainer(made, made)
    found.settings = load(assignments=[f"matching.minimum={minimum}"])
    smallest = found._smallest_set(0, 0, made.bars(0, 0), cast(Pieces, made))
    assert (smallest and smallest.parts) == parts
    if smallest and parts:
        left = log_odds - sum({"a": 1.0, "b": 3.6, "c": 0.2}[each] for each in parts)
        assert (smallest.threshold, smallest.confidence) == (minimum, pytest.approx(1 / (1 + math.exp(-left))))


def test_what_was_judged_counts_before_what_the_loop_believed() -> None:
    judged, loop = Made({(0, 0): 1.0, (0, 1): 2.0}), Made({(0, 2): 9.0, (3, 2): -1.0, (3, 1): 0.5})
    found = explainer(judged, loop)
    assert found._ranked(0) == [(2.0, 1), (1.0, 0)]
    assert found._ranked(3) == [(0.5, 1), (-1.0, 2)]
    assert found._ranked(2, swapped=True) == [(9.0, 0), (-1.0, 3)]
    assert found._pieces(0, 2) is loop
    assert found._pieces(0, 1) is judged
    assert found._pieces(7, 7) is None
    assert explainer(None, loop)._ranked(0) == [(9.0, 2)]


def test_an_entity_is_explained_with_what_it_was_linked_to_else_with_its_best_candidate() -> None:
    loop = Made({(0, 0): 1.0, (0, 1): 2.0, (3, 3): 1.0, (4, 3): 2.0})
    found = explainer(None, loop, seeds=links((2, 5)))
    assert [found._chosen(source) for source in range(4)] == [1, 1, 5, 3], "seeds before links"
    assert [found._chosen(target, swapped=True) for target in (1, 5, 3, 9)] == [1, 2, 4, None]
    listed = explainer(None, loop, closest=lambda side, name, entity: {"a0": "b0", "a3": "b9"}.get(name))
    assert listed._chosen(0) == 0, "as the run lists it"
    assert listed._chosen(3) == 3, "it is not known how that came about"


def test_the_next_best_candidate_is_shown_with_its_bars() -> None:
    found = explainer(None, Made({(0, 0): 1.0, (0, 1): 2.0, (0, 2): 0.5}))
    other = found._runner_up(0, 1)
    assert other is not None
    assert (other.target, other.target_label, other.log_odds, other.base) == ("b0", "B 0", 1.0, -4.5)
    assert other.groups[1] == Group("values", "", 1.0)
    assert explainer(None, Made({(0, 1): 2.0}))._runner_up(0, 1) is None


def test_the_two_strongest_pieces_are_the_reason() -> None:
    found = explainer(None, Made({(0, 0): 1.0}))
    assert found.reason(0, 0) == "name; types"
    assert found.reason(0, 7) == ""


def test_a_pair_is_called_what_the_run_made_of_it() -> None:
    found = explainer(None, Made({(0, 0): 1.0}), seeds=links((3, 3)), exclusions=links((4, 4)))
    pairs = [(1, 1), (3, 3), (4, 4), (0, 0), (3, 4)]
    assert [found._status(*pair) for pair in pairs] == ["link", "seed", "excluded", "candidate", "not a candidate"]
    alone = explainer(None, Made({}), unmatched=links((5, -1), (-1, 6)))
    assert [alone._known_alone(side, entity) for side in (0, 1) for entity in (5, 6, None)] == [
        *(True, False, False),
        *(False, True, False),
    ]


def test_candidates_are_told_with_their_confidence() -> None:
    found = explainer(None, Made({(1, 0): 0.0, (1, 1): 3.0, (1, 2): -1.0}))
    assert found.candidates("a1", 2) == [("b1", 0.9, 3.0), ("b0", 0.5, 0.0)], "that of a link as it was given"
