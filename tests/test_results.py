"""What a finished run leaves for people to look at."""

import torch

from emea.data import Alignment, Candidates
from emea.runs.results import _among


def candidates(*pairs: tuple[int, int]) -> Candidates:
    source, target = (torch.tensor(column) for column in zip(*pairs, strict=True))
    return Candidates(source, target, torch.ones(len(pairs)), 2, 3, torch.zeros(2), torch.zeros(3))


def test_candidates_that_are_linked_are_known_in_whatever_order() -> None:
    source, target = torch.tensor([1, 0, 1]), torch.tensor([1, 2, 2])
    links = Alignment(source, target, torch.ones(3).double(), torch.ones(3))
    assert _among(candidates((0, 0), (0, 2), (1, 1)), links).tolist() == [False, True, True]
    assert _among(candidates((1, 1), (0, 0), (0, 2)), links).tolist() == [True, False, True]
