"""The committee: its cosines are weighted means of its members', and it goes on where it was stopped."""

from functools import cache
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from small_tasks import CPU
from tiny_encoders import MORE, PAIRS, SHORT, TASK, TINY, same
from torch import Tensor

from emea import plugins
from emea.contracts import Encoder, Progress, Report, Size, unreported
from emea.data import Embeddings, Links
from emea.encoders.committee import Committee, CommitteeSettings
from emea.errors import SettingsError

OWN: dict[str, dict[str, Any]] = {name: {**TINY[name], **SHORT} for name in ("rrea", "dual_amn")}
OWN["propagation"] = {"dimension": 16, "paths": 32}
MEMBERS = ("propagation", "dual_amn", "rrea")


def committee(**settings: Any) -> Committee:
    return Committee(TASK, CommitteeSettings(**{"members": MEMBERS, "settings": OWN, **settings}), CPU)


def fit(encoder: Committee, pairs: Links = PAIRS, seed: int = 0, report: Report = unreported) -> Embeddings:
    return encoder.fit(pairs, torch.Generator().manual_seed(seed), report)


def apart(pairs: Links, seed: int) -> list[Embeddings]:
    """What the members come to by themselves, one after the other."""
    generator, spaces = torch.Generator().manual_seed(seed), []
    for name in MEMBERS:
        plugin = plugins.find("encoders", name, Encoder)
        spaces.append(plugin(TASK, plugin.Settings(**OWN[name]), CPU).fit(pairs, generator))
    return spaces


def cosines(space: Embeddings) -> Tensor:
    return space.source @ space.target.T


@pytest.mark.parametrize("weights", [{}, {"rrea": 2.0, "propagation": 0.5}])
def test_cosines_are_weighted_means(weights: dict[str, float]) -> None:
    found, spaces = fit(committee(weights=weights)), apart(PAIRS, 0)
    shares = [weights.get(name, 1.0) for name in MEMBERS]
    length = [
        sum(share * getattr(space, side).square().sum(1) for share, space in zip(shares, spaces, strict=True)).sqrt()
        for side in ("source", "target")
    ]  # 1, were no vector zero
    total = sum(share * cosines(space) for share, space in zip(shares, spaces, strict=True))
    expected = total / (length[0][:, None] * length[1]).clamp(min=1e-12)
    assert torch.allclose(cosines(found), expected, atol=1e-5)
    assert found.source.shape[1] == Committee.features(CommitteeSettings(members=MEMBERS, settings=OWN))


def test_a_single_member_is_no_more_than_itself() -> None:
    assert same(fit(committee(members=("propagation",))), apart(PAIRS, 0)[0])


def test_without_weight_a_member_says_nothing() -> None:
    found = fit(committee(weights={"propagation": 0.0, "dual_amn": 0.0}))
    assert torch.allclose(cosines(found), cosines(apart(PAIRS, 0)[2]), atol=1e-5)


def test_a_restored_committee_goes_on_as_the_first_would() -> None:
    first, second = committee(), committee()
    for seed in range(2):
        fit(first, PAIRS, seed)
    second.restore(first.state())
    assert same(fit(first, MORE, 5), fit(second, MORE, 5))


@cache
def fitted_twice() -> tuple[Embeddings, dict[str, Tensor], Embeddings]:
    """What a fit comes to, the state after it, and what another comes to."""
    encoder = committee()
    return fit(encoder), encoder.state(), fit(encoder, MORE, 3)


@pytest.mark.parametrize("stop_at", [1, 4, 6, 8])  # epochs of Dual-AMN, then of RREA
def test_an_interrupted_fit_ends_in_the_same_numbers(stop_at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emea.encoders._training.REPORT", 0.0)
    first, state, whole = fitted_twice()
    stopped, again = committee(), committee()
    stopped.restore(state)
    taken: dict[str, Tensor] = {}
    reports = 0

    def stop(_: Progress) -> None:
        nonlocal reports
        reports += 1
        if reports == stop_at:
            taken.update(stopped.state())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(stopped, MORE, 3, stop)
    again.restore(taken)
    found = fit(again, MORE, 3)
    assert same(found, whole)
    assert not same(found, first)


def test_work_counts_the_fits_of_each() -> None:
    size, settings = Size(100, 400, 10), CommitteeSettings(members=("rrea", "dual_amn"), settings=OWN)
    each = [plugins.find("encoders", name, Encoder).work(settings.of(name), size, 5) for name in settings.members]
    assert min(each) > 0
    assert Committee.work(settings, size, 5) == sum(each)


@pytest.mark.parametrize(
    "wrong",
    [
        {"members": "rrea,rrea"},
        {"members": ""},
        {"members": "committee"},
        {"weights": {"rrea": -1}},
        {"members": "rrea", "weights": {"rrea": 0}},
    ],
)
def test_what_makes_no_committee_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        CommitteeSettings(**wrong)


def test_wrong_members_are_refused() -> None:
    with pytest.raises(SettingsError, match="unknown encoder 'rea'"):
        CommitteeSettings(members="propagation,rea")
    with pytest.raises(SettingsError, match=r"unknown setting encoders\.committee\.settings\.rrea\.epoch;"):
        CommitteeSettings(settings={"rrea": {"epoch": 3}})
