"""What trained encoders share: warm starts, interruptions, the optimiser's steps, dropout and reports."""

from functools import cache
from typing import Any

import pytest
import torch
from small_tasks import graph_of, pairs_of, random_triples
from tiny_encoders import (
    MORE,
    PAIRS,
    TINY,
    build,
    every_encoder,
    every_encoder_in_both_modes,
    every_encoder_in_turns,
    fit,
    same,
)
from torch import Tensor

from emea import plugins
from emea.contracts import Encoder, Progress
from emea.data import Embeddings, Links, Task
from emea.encoders._training import TrainedEncoder, dropped


@pytest.fixture(autouse=True)
def every_epoch_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emea.encoders._training.REPORT", 0.0)


def stopped(encoder: TrainedEncoder[Any], pairs: Links, seed: int, turn: int, epoch: int) -> dict[str, Tensor]:
    """The state at an epoch of a fit that ends there."""
    taken: dict[str, Tensor] = {}

    def stop(progress: Progress) -> None:
        if (progress.turn, progress.epoch) == (turn, epoch):
            taken.update(encoder.state())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(encoder, pairs, seed, stop)
    return taken


def states_equal(first: dict[str, Tensor], second: dict[str, Tensor]) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[key], second[key]) for key in first)


def test_every_trained_encoder_is_tested() -> None:
    known = {name: plugins.find("encoders", name, Encoder) for name in plugins.names("encoders")}
    assert set(TINY) == {name for name, plugin in known.items() if issubclass(plugin, TrainedEncoder)}


# --- going on ---


@cache
def whole(name: str, mode: str) -> Embeddings:
    """What a fit that nobody watches ends in."""
    return fit(build(name, mode=mode), MORE, 2)


@every_encoder_in_both_modes
def test_a_restored_encoder_goes_on_as_the_first_would(name: str, mode: str) -> None:
    first, second = build(name, mode=mode), build(name, mode=mode)
    fit(first, PAIRS, 1)
    second.restore(first.state())
    fitted = fit(first, MORE, 2)
    assert same(fitted, fit(second, MORE, 2))
    assert not same(fitted, whole(name, mode))  # a cold start is another


PLACES = {"sup": [(0, 1), (0, 2), (0, 3), (0, 4)], "semi": [(0, 4), (1, 1), (1, 2), (1, 4), (2, 2)]}  # turn, epoch


@every_encoder_in_both_modes
def test_a_fit_interrupted_again_and_again_ends_in_the_same_numbers(name: str, mode: str) -> None:
    kept = build(name, mode=mode)
    states = [stopped(kept, MORE, 2, *place) for place in PLACES[mode]]
    assert same(whole(name, mode), fit(kept, MORE, 2))  # in the same object
    again = build(name, mode=mode)
    for place, state in zip(PLACES[mode], states, strict=True):
        assert states_equal(stopped(again, MORE, 2, *place), state), place
        again = build(name, mode=mode)
        again.restore(state)
    assert same(whole(name, mode), fit(again, MORE, 2))


@every_encoder_in_turns
def test_turns_are_of_the_first_fit(name: str) -> None:
    encoder, turns = build(name, mode="semi"), []

    def keep(progress: Progress) -> None:
        turns.append(progress.turn)

    fit(encoder, PAIRS, 1, keep)
    assert max(turns) == 2
    turns.clear()
    fit(encoder, MORE, 2, keep)
    assert {*turns} == {0}


@every_encoder
def test_a_state_stays_as_it_was_taken(name: str) -> None:
    """Neither the fit it was taken from nor one that goes on from it changes it."""
    first, second = build(name), build(name)
    fit(first)
    state = first.state()
    copy = {key: value.clone() for key, value in state.items()}
    fit(first, MORE)
    assert all(torch.equal(state[key], copy[key]) for key in copy)
    second.restore(state)
    fit(second, MORE)
    assert all(torch.equal(state[key], copy[key]) for key in copy)


# --- the optimiser ---


@pytest.mark.parametrize("name", sorted(set(TINY) - {"gcn_align"}))  # plain gradient descent has no state
def test_a_later_fit_goes_on_with_the_optimisers_state(name: str) -> None:
    whole = {"batch": 1000} if name in {"dual_amn", "iptranse", "psr", "bootea", "rsn"} else {}  # a step for each epoch
    encoder = build(name, average=0, epochs=3, more_epochs=2, **whole)
    fit(encoder)
    steps = [value for key, value in encoder.state().items() if key.endswith(".step")]
    assert len(steps) == len(encoder.parameters)
    assert {float(step) for step in steps} == {3}
    fit(encoder)
    assert {float(value) for key, value in encoder.state().items() if key.endswith(".step")} == {5}


def test_rmsprop_averages_squares_over_both_fits() -> None:
    """s ← 0.9 s + 0.1 g², p ← p − 0.01 g / (√s + 10⁻⁷), from where the first fit ended."""
    encoder = build("rrea", average=0, epochs=3, more_epochs=2, learning_rate=0.01)
    fit(encoder)
    before, slopes = encoder.state(), []
    for name, parameter in encoder.parameters.items():
        parameter.register_hook(lambda slope, name=name: slopes.append((name, slope.clone())))
    fit(encoder, MORE)
    after = encoder.state()
    for name in encoder.parameters:
        mean, value = before[f"optimiser.{name}.square_avg"], before[f"parameter.{name}"]
        own = [slope for other, slope in slopes if other == name]
        assert len(own) == 2
        assert mean.max() > 0
        for slope in own:
            mean = 0.9 * mean + 0.1 * slope.square()
            value = value - 0.01 * slope / (mean.sqrt() + 1e-7)
        torch.testing.assert_close(after[f"optimiser.{name}.square_avg"], mean, atol=1e-9, rtol=1e-4)
        torch.testing.assert_close(after[f"parameter.{name}"], value, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize(("share", "epochs"), [(0, 1), (0.1, 1), (0.5, 4), (0.75, 6), (1, 8)])
@pytest.mark.parametrize("stop", [None, 5, 7])
def test_a_fit_ends_with_the_average_of_its_last_epochs(share: float, epochs: int, stop: int | None) -> None:
    encoder, seen = build("rrea", average=share, epochs=8, more_epochs=8, learning_rate=0.02), []
    kept: dict[str, Tensor] = {}
    average = encoder._average

    def recorded(count: int) -> None:
        seen.append({name: value.detach().clone() for name, value in encoder.parameters.items()})
        average(count)

    def watch(progress: Progress) -> None:
        if progress.epoch == stop and len(seen) == stop:
            kept.update(encoder.state())
            raise KeyboardInterrupt

    encoder._average = recorded  # type: ignore[method-assign]
    for _ in range(2):  # a later fit averages its own epochs only
        seen.clear()
        if stop is not None:
            with pytest.raises(KeyboardInterrupt):
                fit(encoder, report=watch)
            encoder.restore(kept)
        fit(encoder, report=watch)
        assert len(seen) == 8
        for name, value in encoder.parameters.items():
            mean = torch.stack([values[name] for values in seen[-epochs:]]).mean(0)
            torch.testing.assert_close(value.detach(), mean, atol=1e-6, rtol=1e-5)


# --- dropout ---


@pytest.mark.parametrize("rate", [0.1, 0.25, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("shape", [(1000, 300), (9973, 31)])
def test_dropout_keeps_its_share_and_the_mean(rate: float, shape: tuple[int, int]) -> None:
    values = torch.rand(shape, generator=torch.Generator().manual_seed(1)) + 1
    result = dropped(values, rate, torch.Generator().manual_seed(2))
    kept = result != 0
    assert float((~kept).double().mean()) == pytest.approx(rate, abs=0.005)  # rounded to 1/256, and chance
    assert float(result.double().mean()) == pytest.approx(float(values.double().mean()), rel=0.02)
    torch.testing.assert_close(
        result[kept] / values[kept], torch.full_like(result[kept], 1 / (1 - rate)), rtol=0.02, atol=0
    )
    flat = (~kept).flatten().double()
    for place in range(8):
        assert float(flat[place::8].mean()) == pytest.approx(rate, abs=0.01)
        together = float((flat[: -place - 1] * flat[place + 1 :]).mean())
        assert together == pytest.approx(rate * rate, abs=0.01)  # one number says nothing of the next


def test_dropout_is_the_generators_and_has_the_gradient_of_its_mask() -> None:
    values = torch.ones(37, 5, requires_grad=True)
    first, again, other = (dropped(values, 0.4, torch.Generator().manual_seed(seed)) for seed in (3, 3, 4))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    (slope,) = torch.autograd.grad(first.sum(), values)
    assert torch.equal(slope, first)
    generator = torch.Generator().manual_seed(3)
    assert not torch.equal(dropped(values, 0.4, generator), dropped(values, 0.4, generator))
    assert torch.equal(dropped(values, 0.0, generator), values)


def test_dropout_of_nearly_all_is_possible() -> None:
    """Settings allow all rates below 1."""
    result = dropped(torch.ones(100_000), 0.999, torch.Generator().manual_seed(0))
    assert result.isfinite().all()
    assert float((result == 0).double().mean()) > 0.99


# --- reports and learning ---


@every_encoder_in_both_modes
def test_reports_say_how_far_a_fit_has_come(name: str, mode: str) -> None:
    encoder, reports = build(name, mode=mode), []
    fit(encoder, PAIRS, report=reports.append)
    plan = [(turn, epoch) for turn in range(3 if mode == "semi" else 1) for epoch in range(1, 5)]
    assert [(report.turn, report.epoch) for report in reports] == plan
    for report in reports:
        assert report.epochs == 4
        assert report.pairs >= len(PAIRS)
        assert torch.tensor(report.loss).isfinite()
        assert report.seconds_left >= 0
        assert (report.seconds_left == 0) == (report.epoch == report.epochs)


def test_reports_are_rare_but_reach_the_last_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emea.encoders._training.REPORT", 1000.0)
    encoder, reports = build("rrea", epochs=6), []
    fit(encoder, report=reports.append)
    assert [report.epoch for report in reports] == [1, 6]


def standing(embeddings: Embeddings) -> float:
    """How much more alike the entities of a pair are than others."""
    own = (embeddings.source[PAIRS.source] * embeddings.target[PAIRS.target]).sum(1)
    return float(own.mean() - (embeddings.source @ embeddings.target.T).mean())


FASTER = {"iptranse": 0.1, "mraea": 0.01, "rsn": 0.03, "mugnn": 0.1}  # learning rates for few epochs


@every_encoder
def test_an_encoder_learns(name: str) -> None:
    """The loss falls, every parameter moves, and pairs grow alike. Dual-AMN's loss need not fall: of each pair it is
    standardised anew, so that its value does not depend on the pair's distance at all."""
    encoder = build(name, epochs=30, **({"learning_rate": FASTER[name]} if name in FASTER else {}))
    losses, standings = [], []

    def keep(progress: Progress) -> None:
        losses.append(progress.loss)
        if progress.epoch in {1, progress.epochs}:
            with torch.no_grad():
                standings.append(standing(encoder.embed()))

    embeddings = fit(encoder, report=keep)
    assert standings[-1] > 0.1
    if name == "dual_amn":
        assert standings[-1] > standings[0] + 0.1
    else:
        assert sum(losses[-5:]) < 0.9 * sum(losses[:5])
    seed = int(torch.randint(2**62, (1,), generator=torch.Generator().manual_seed(0)))
    start = encoder.initial(torch.Generator().manual_seed(seed))
    for key, value in encoder.parameters.items():
        assert value.isfinite().all(), key
        assert not torch.equal(value.detach(), start[key]), key
        assert start[key].any() or key.endswith("bias"), key
    lengths = torch.cat([embeddings.source, embeddings.target]).norm(dim=1)
    assert ((lengths - 1).abs() < 1e-5)[lengths > 0].all()


@every_encoder
def test_few_relations_may_have_many_edges(name: str) -> None:
    """One relation, and more edges than entities times sets of relations."""
    graphs = [graph_of(random_triples(80, range(8), 1, seed), 8, 1) for seed in (1, 2)]
    embeddings = fit(build(name, Task(*graphs, Links.empty())), pairs_of([(0, 0, 1.0), (1, 1, 1.0)]))
    assert torch.cat([embeddings.source, embeddings.target]).isfinite().all()
