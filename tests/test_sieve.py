"""A sieve lets every key pass that it was built from, and few others."""

import torch

from emea.kernels.sieve import Sieve


def test_all_keys_pass_and_few_others() -> None:
    keys = torch.arange(0, 30_000, 3)
    wanted = torch.arange(30_000)
    passing = set(Sieve.build(keys).passing(wanted).tolist())
    assert {*keys.tolist()} <= passing
    assert len(passing) < len(keys) + 20_000 / 10


def test_nothing_passes_a_sieve_without_keys() -> None:
    assert len(Sieve.build(torch.empty(0, dtype=torch.int64)).passing(torch.arange(100))) == 0
