"""What confidence was computed from, by hand."""

import numpy as np
import pytest
import torch

from emea.kernels.segments import LOWEST
from emea.method.compatibility import Factors
from emea.method.grounds import IDENTITY, Line, logit_of_none, logits_by_rule


def test_a_line_is_as_steep_as_the_identity_below_what_was_tried() -> None:
    logits = np.array([-5.0, -3.0, 0.0, 2.0])
    assert Line(1.0, 2.0, -3.0)(logits).tolist() == [-7.0, -5.0, 1.0, 5.0]
    assert IDENTITY(logits).tolist() == logits.tolist()


def side(values: list[list[float]], ratios: list[float], slack: float = 0.0) -> Factors:
    entity = torch.arange(len(values))
    table = torch.tensor(values, dtype=torch.float64)
    return Factors(entity, len(values), table, torch.tensor([0.5, 1.0, 0.0]), slack, torch.tensor(ratios))


def test_each_rule_adds_what_its_indicators_say_times_their_weights() -> None:
    weights = {"paris": 2.0, "mine.one": 3.0, "mine.two": -1.0}
    sides = side([[1, 2, 4], [0, 1, 1]], [0.25, 0.5]), side([[1, 0, 1], [3, 0, 2]], [7, 8])
    found = logits_by_rule(sides, weights, ["mine", "paris", "near", "far"])
    assert {name: [each.tolist() for each in both] for name, both in found.items()} == {
        "mine": [[2, 2], [-1, -2]],
        "paris": [[2, 0], [2, 6]],
        "near + far": [[0.25, 0.5], [7, 8]],
    }


@pytest.mark.parametrize(("slack", "expected"), [(0.0, 4.0), (-1.5, 2.5), (LOWEST, LOWEST)])
def test_none_has_the_bars_of_all_rules_unless_it_is_no_answer(slack: float, expected: float) -> None:
    assert logit_of_none(side([[1, 2, 4]], [0], slack), [2.0, 3.0, -1.0]) == expected
