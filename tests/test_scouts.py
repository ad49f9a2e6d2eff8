"""Loops that go ahead: each knows nothing of the others, and the last one starts from what they agree on."""

import itertools
from functools import cache

import pytest
import torch

from emea.data import Links
from emea.evidence.prepared import prepare
from emea.method.em import conclude, rounds
from emea.method.matching import Calibration
from emea.method.rounds import Outcome, State
from emea.method.scouts import added_up, agreed_on, of_scouts
from emea.runs.checks import check
from emea.runs.estimate import estimate
from emea.settings import Settings, load
from small_world import read_small_world

TARGETS = 10
SMALL = [
    *("em.rounds=1", "evidence.kind=structure", "similarity.candidates=10"),
    *("encoders.propagation.dimension=32", "encoders.propagation.paths=64"),
]


def links(*pairs: tuple[int, int, float]) -> Links:
    source, target, weight = zip(*pairs, strict=True)
    return Links(torch.tensor(source), torch.tensor(target), torch.tensor(weight, dtype=torch.float64))


def test_loops_agree_on_what_they_are_sure_of_on_average() -> None:
    found = links((0, 0, 0.9), (1, 1, 1.0), (2, 2, 0.7), (3, 3, 0.8)) + links((0, 0, 0.9), (1, 3, 1.0), (2, 2, 1.0))
    found += links((3, 3, 0.7))
    agreed = agreed_on(added_up(found, TARGETS), 2)
    assert list(zip(agreed.source.tolist(), agreed.target.tolist(), strict=True)) == [(0, 0), (2, 2)]
    assert agreed.weight.tolist() == pytest.approx([0.9, 0.85])


def settings(scouts: int) -> Settings:
    return load(assignments=[*SMALL, f"em.scouts={scouts}"])


@cache
def ran(scouts: int) -> tuple[list[tuple[int, int, bool, int, int]], list[State], Outcome]:
    """Loop, round, whether it is the last, labels found, and pairs that the encoder was shown beside seeds before; the
    states in between; the outcome."""
    chosen = settings(scouts)
    prepared = prepare(read_small_world(40)[0], chosen.evidence)
    seen, states = [], []
    before = 0
    for ended in rounds(prepared, chosen):
        seen.append((ended.scout, ended.number, ended.final, len(ended.labels), before))
        before = len(ended.state.labels)
        states.append(ended.state)
    return seen, states, conclude(ended, prepared, chosen)


@pytest.mark.slow
def test_scouts_go_ahead_one_by_one_and_start_from_nothing() -> None:
    seen, states, outcome = ran(2)
    first = {scout: next(row for row in seen if row[0] == scout) for scout in (1, 2, 0)}
    assert [row[0] for row in seen] == sorted((row[0] for row in seen), key=[1, 2, 0].index)
    assert [scout for scout, row in first.items() if row[4]] == [0]  # only the last loop is shown labels at once
    assert [row[2] for row in seen] == [False] * (len(seen) - 1) + [True]
    ends = [row[3] for row, after in itertools.pairwise(seen) if row[0] != after[0]]
    assert 0 < first[0][4] <= min(ends)  # no more than either found
    assert states[-1].scouts == 2
    assert len(outcome.alignment.source) > 0


def test_scouts_run_as_fast_does_whatever_the_last_loop_does() -> None:
    ahead, fast = of_scouts(load("best")), load("fast")
    assert (ahead.em, ahead.compatibility) == (fast.em, fast.compatibility)
    assert of_scouts(load("best", assignments=["compatibility.sweeps=2"])).compatibility.sweeps == 2


def test_without_scouts_there_is_one_loop() -> None:
    seen, states, _ = ran(0)
    assert {row[0] for row in seen} == {0}
    assert (states[-1].scouts, len(states[-1].scouted)) == (0, 0)


@pytest.mark.slow
def test_a_run_goes_on_from_any_round_to_the_same_end() -> None:
    seen, states, whole = ran(2)
    chosen = settings(2)
    prepared = prepare(read_small_world(40)[0], chosen.evidence)
    changes = [place for place, (row, after) in enumerate(itertools.pairwise(seen)) if row[0] != after[0]]
    for place in (changes[1] - 2, changes[1]):  # within a scout, and after the last of them
        *_, last = rounds(prepared, chosen, states[place])
        found = conclude(last, prepared, chosen).alignment
        assert torch.equal(found.source, whole.alignment.source), place
        assert torch.equal(found.confidence, whole.alignment.confidence), place


def test_what_several_loops_agree_on_is_discounted_less() -> None:
    sure = torch.tensor([0.9, 0.99], dtype=torch.float64)
    nothing = torch.zeros(0, 2, dtype=torch.float64)
    alone, scouted, whole = (
        Calibration(nothing, self_taught=share, scouted=scouted)(sure)
        for share, scouted in ((0.95, False), (0.95, True), (0.0, True))
    )
    assert bool((alone < scouted).all())
    assert bool((scouted < whole).all())


def test_scouts_take_time_and_use_their_encoder_s_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emea.runs.estimate.matrix_rate", lambda *_: 1e10)
    task = read_small_world(40)[0]
    prepared = prepare(task, settings(0).evidence)
    none, two = (estimate(prepared, settings(scouts)).seconds for scouts in (0, 2))
    assert two > none
    own = "encoders.propagation.dimension=32"
    for scouts, told in ((0, True), (1, False)):
        chosen = load("best", assignments=["evidence.kind=structure", own, f"em.scouts={scouts}"])
        assert any("'propagation' have no effect" in warning for warning in check(task, chosen)) is told
    assert load("best", assignments=["em.scouts=1", own]).resolved()["encoders"]["propagation"]["dimension"] == 32
