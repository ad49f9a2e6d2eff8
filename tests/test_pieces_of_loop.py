"""What encoder and rules said about a pair, in words and computed anew, from evidence that is made up."""

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import pyarrow as pa
import pytest
import torch

from emea.analysis.explanation import Named, Part
from emea.contracts import Ground
from emea.data import LITERAL_SCHEMA, Graph
from emea.errors import SettingsError
from emea.runs.finding import Finder
from emea.runs.pieces_of_loop import LoopPieces
from emea.runs.recomputed import Recomputed, _Side
from emea.runs.wording import Called
from emea.settings import load

PARIS = Ground(0.3, source=1, target=1, source_relation=0, target_relation=3, belief=0.75, relations=0.5)


def graph(letter: str, *values: str) -> Graph:
    rows = [(place, 0, f"{letter.upper()} {place}", "", "") for place in range(2)]
    literals = pa.table([*zip(*rows, strict=True)], schema=LITERAL_SCHEMA)
    names = [f"{letter}{place}" for place in range(2)]
    return Graph.build(
        [*names, *values], ["x:near", "x:part_of"], [[0, 0, 1]], attributes=["x:label"], literals=literals
    )


@pytest.fixture
def pieces() -> LoopPieces:
    called = tuple(Called(graph(letter), graph(letter, "s miller"), ("en",)) for letter in "ab")
    prepared = SimpleNamespace(values=[SimpleNamespace(attributes=pa.array([name])) for name in ("x/born", "x#d")])
    found = LoopPieces.__new__(LoopPieces)
    found.finder, found.prepared = cast(Finder, SimpleNamespace(called=called)), prepared  # type: ignore[assignment]
    return found


def test_a_rule_is_told_by_how_much_it_found(pieces: LoopPieces) -> None:
    part = Part("x", 0.0)
    told = {
        name: [pieces._rule_text(name, parts) for parts in ([part, part], [])] for name in ("paris", "disagreement")
    }
    assert told == {
        "paris": ["2 matching neighbours or values", "no neighbour or value matches"],
        "disagreement": ["values that differ", "no values that differ"],
    }
    assert pieces._rule_text("avoid_conflict", []) == "the rule avoid_conflict"


def test_a_neighbour_that_both_have_is_told_once_whatever_leads_to_it(pieces: LoopPieces) -> None:
    text = "in both: near / inverse of part_of → A 1 / B 1 (0.75), relations alike 0.50"
    assert pieces._part([PARIS]).text == text
    assert pieces._part([PARIS, PARIS]).text == f"{text}, and by 1 other pair of relations"
    assert pieces._part([PARIS]).inverse is False
    assert pieces._part([PARIS]).target_inverse is True
    assert pieces._part([PARIS]).source_neighbour == Named("a1", "A 1")
    assert pieces._part([PARIS]).target_neighbour == Named("b1", "B 1")
    known = replace(PARIS, belief=1.0, target_relation=0)
    assert pieces._part([known]).text == "in both: near → A 1 / B 1 (1.00), relations alike 0.50"


@pytest.mark.parametrize(("belief", "sure"), [(1.0, ""), (0.8, " (0.80)")])
def test_a_value_that_both_have_is_told_with_how_alike_it_is(belief: float, sure: str, pieces: LoopPieces) -> None:
    both = Ground(0.3, source=2, target=2, source_relation=0, target_relation=0, belief=belief, relations=0.5)
    part = pieces._part([both])
    assert part.text == f"in both: near → “miller”{sure}, relations alike 0.50"
    assert (part.log_odds, part.belief) == (0.0, belief)


def test_values_that_differ_are_told_by_their_attributes(pieces: LoopPieces) -> None:
    part = pieces._part([Ground(-0.2, source_attribute=0, target_attribute=0, belief=0.1, relations=0.9)])
    assert part.text == "born / d differ; such values usually agree (0.90)"
    assert (part.source_attribute, part.target_attribute, part.similarity) == ("born", "d", 0.1)


def test_labelled_pairs_within_two_steps_of_both_illustrate_what_an_encoder_knows(pieces: LoopPieces) -> None:
    """From 0 to 1 and to 2, and from 5 to 6 and to 7, and back; the pairs (1, 8) and (3, 6) are further away."""
    around = {0: [1], 1: [0, 2], 2: [1, 3], 3: []}, {5: [6], 6: [5, 7], 7: [6, 8], 8: []}
    labelled = {1: [(6, 0.9), (8, 0.99)], 2: [(6, 0.7), (7, 0.8)], 3: [(6, 0.95)], 0: [(5, 1.0)]}
    edges = [SimpleNamespace(leaving=lambda entity, side=side: (None, side[entity])) for side in around]
    vars(pieces).update(edges=edges, _labelled=labelled)
    pieces.finder = cast(Finder, SimpleNamespace(label=lambda side, entity: f"{'AB'[side]} {entity}"))
    assert pieces.illustration(0, 5) == (
        "A 1 ↔ B 6 (0.90), 1 step from both",
        "A 2 ↔ B 6 (0.70), 2 steps from the source, 1 from the target",
        "A 2 ↔ B 7 (0.80), 2 steps from both",
    )
    pieces.prepared = None
    assert pieces.illustration(0, 5) == ()


def test_only_propagation_can_be_computed_anew() -> None:
    settings, why = load(assignments=["em.encoder=dual_amn"]), "found a run with dual_amn, expected propagation"
    run = SimpleNamespace(grounds=None, prepared=SimpleNamespace(), settings=settings)
    with pytest.raises(SettingsError, match=why):
        Recomputed(cast(LoopPieces, run), [])
    run.prepared = None
    with pytest.raises(SettingsError, match=why.replace(",", " whose inputs cannot be read again,")):
        Recomputed(cast(LoopPieces, run), [])


def side(said: float, *, against: float = -math.inf) -> _Side:
    """An entity with two candidates, of which the second is likelier, were it not for a rule."""
    found = _Side.__new__(_Side)
    found.place, found.other, found.sharpness, found.say, found.against = 0, 0, 1.0, 0.5, against
    found.far, found.before = torch.eye(2), torch.tensor([0.6, 0.8])
    found.chance = np.log([0.4, 0.6])
    found.rules = [(0, said, lambda kept: float(len(kept)))]
    return found


@pytest.mark.parametrize(
    ("said", "against", "own", "kept", "best"),
    [
        (1.0, -math.inf, (0.6, 0.8), 1, True),  # log .4 + .5 · 1 > log .6
        (1.0, -math.inf, (0.6, 0.8), 0, False),
        (0.7, -math.inf, (0.6, 0.8), 1, False),
        (1.0, 9.0, (0.6, 0.8), 1, True),  # what speaks for a pair is less of what "none" leaves to it
        (-1.0, -math.inf, (0.6, 0.8), 1, False),
        (0.0, -math.inf, (0.8, 0.6), 0, True),  # 2 · (.8 − .6) and 2 · (.6 − .8)
        (0.0, -math.inf, (0.7, 0.75), 0, False),  # .2 and −.1 do not make up for log .4 − log .6 = −.41
    ],
)
def test_a_link_is_found_if_its_belief_stays_the_highest(
    said: float, against: float, own: tuple[float, float], kept: int, best: bool
) -> None:
    own_vector, counterpart = torch.tensor(own), torch.tensor([1.0, 0.0])
    triples = {(0, 0, number) for number in range(kept)}
    assert side(said, against=against).best(own_vector, counterpart, triples) is best
