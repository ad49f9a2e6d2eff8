"""Coordinate ascent: with more sweeps q* is refined from q_Θ · q* of the sweep before, as by hand."""

import numpy as np
import pytest
import torch

import emea
from emea.candidates.search import search
from emea.data import Counterparts, Graph, Links, Task
from emea.method.compatibility import learn_weights, refine
from emea.method.rounds import Round
from emea.method.rulebook import Rulebook
from emea.settings import Settings, load

CPU = torch.device("cpu")
CASES = {
    "fast": ("fast", ()),
    "two rules": ("fast", ("em.rules=paris,avoid_conflict",)),
    "paper": ("paper", ("em.encoder=propagation",)),
    "hard evidence": ("paper", ("em.encoder=propagation", "rules.paris.evidence=best")),
}


def toy() -> Task:
    """A graph of 60 entities and a copy with some other triples; six seeds."""
    draw = np.random.default_rng(1)
    triples = np.stack([draw.integers(high, size=150) for high in (60, 3, 60)], 1)
    other = np.concatenate([triples[20:], triples[:20, ::-1] % [60, 3, 60]])
    names = [f"e{number:02}" for number in range(60)], ["r0", "r1", "r2"]
    known = torch.tensor(draw.permutation(60))
    seeds, validation = (Links.build(part, part) for part in (known[:6], known[6:20]))
    return Task(Graph.build(*names, triples), Graph.build(*names, other), seeds, validation)


def settings_of(case: str, *more: str) -> Settings:
    preset, changes = CASES[case]
    quick = ["em.rounds=0", "encoders.propagation={dimension=16, paths=16}", "compatibility.candidates=4"]
    quick += ["similarity.candidates=60"]  # all, so that no tie is cut at random
    quick += ["compatibility.last_say=1"]  # so that a round ends with q_Θ · q*
    return load(preset, assignments=[*changes, *quick, *more])


def only_round(settings: Settings) -> Round:
    last = emea.align(toy(), settings).last
    assert last is not None
    return last


def refined_again(before: Counterparts, ended: Round, settings: Settings) -> tuple[Counterparts, list[float]]:
    """q* from what the rules say of an earlier q_Θ · q*, and Φ."""
    task = toy()
    nearest = search(ended.embeddings, settings.similarity, torch.Generator().manual_seed(0))
    said, lessons = Rulebook(task, settings, CPU).factors(before, ended.embeddings, nearest, task.seeds)
    weights = learn_weights(lessons)
    return refine(before, *said, weights), weights.tolist()


def columns(beliefs: Counterparts) -> list[list[float]]:
    pairs = beliefs.candidates
    ids = (pairs.source, pairs.target)
    masses = (beliefs.forward, beliefs.backward, beliefs.source_none, beliefs.target_none)
    return [each.tolist() for each in (*ids, *masses)]


def close(first: Counterparts, second: Counterparts) -> bool:
    return all(one == pytest.approx(two, abs=1e-9) for one, two in zip(columns(first), columns(second), strict=True))


@pytest.mark.parametrize("case", CASES)
def test_our_presets_make_one_sweep_and_the_papers_three(case: str) -> None:
    usual = 3 if CASES[case][0] == "paper" else 1
    default, told = only_round(settings_of(case)), only_round(settings_of(case, f"compatibility.sweeps={usual}"))
    assert columns(default.refined) == columns(told.refined)
    assert columns(default.agreed) == columns(told.agreed)
    one, two = (only_round(settings_of(case, f"compatibility.sweeps={sweeps}")) for sweeps in (1, 2))
    assert not close(one.refined, two.refined)


@pytest.mark.parametrize("case", CASES)
def test_each_sweep_refines_what_the_one_before_left(case: str) -> None:
    settings = settings_of(case, "compatibility.sweeps=1")
    before = only_round(settings)
    for sweeps in (2, 3):
        after = only_round(settings_of(case, f"compatibility.sweeps={sweeps}"))
        expected, weights = refined_again(before.agreed, before, settings)
        assert close(after.refined, expected)
        assert [*after.weights.values()] == pytest.approx(weights)
        assert columns(after.believed) == columns(before.believed)  # the encoder's proposal stays
        before = after
