"""Preset `paper`: the published loop, end to end on a graph and its renamed copy, and step by step."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

import emea
from emea.contracts import Report, unreported
from emea.data import Candidates, Counterparts, Embeddings, Graph, Links, Task
from emea.encoders.rrea import RREA
from emea.kernels.segments import LOWEST
from emea.method.compatibility import labels, sample
from emea.method.probability import Scale, counterparts
from emea.method.rounds import Round
from emea.settings import ProbabilitySettings, Settings, load

CPU = torch.device("cpu")
ENTITIES, RELATIONS, TRIPLES = 60, 5, 150
QUICK = ("encoders.rrea.epochs=12", "encoders.rrea.more_epochs=15", "encoders.rrea.dimension=24")
FIXED = "probability.sharpness=30.0"

Pair = tuple[int, int]


def toy(seed: int, seeds: int = 6, validation: int = 8) -> tuple[Task, list[Pair]]:
    """A random graph, a copy under other names, and the pairs that are neither seeds nor validation."""
    draw = np.random.default_rng(seed)
    triples = np.stack([draw.integers(high, size=TRIPLES) for high in (ENTITIES, RELATIONS, ENTITIES)], 1)
    place = draw.permutation(ENTITIES)
    copied = np.stack([place[triples[:, 0]], triples[:, 1], place[triples[:, 2]]], 1)
    relations = [f"r{number}" for number in range(RELATIONS)]
    source, target = ([f"{side}{number:02}" for number in range(ENTITIES)] for side in ("s", "t"))
    every = Links.build(torch.arange(ENTITIES), torch.tensor(place))[torch.tensor(draw.permutation(ENTITIES))]
    held = seeds + validation
    task = Task(Graph.build(source, relations, triples), Graph.build(target, relations, copied), every[:seeds])
    return replace(task, validation=every[seeds:held]), pairs_of(every[held:])


def paper(*assignments: str) -> Settings:
    return load("paper", assignments=[*QUICK, *assignments])


def run(task: Task, *assignments: str) -> list[Round]:
    return list(emea.rounds(task, paper(*assignments)))


@cache
def aligned(seed: int) -> tuple[emea.Result, list[Round]]:
    found: list[Round] = []
    return emea.align(toy(seed)[0], paper(), found.append), found


def usual(seed: int) -> list[Round]:
    return aligned(seed)[1]


def pairs_of(links: Links | Candidates) -> list[Pair]:
    return list(zip(links.source.tolist(), links.target.tolist(), strict=True))


def by_source(candidates: Candidates, values: torch.Tensor) -> dict[int, dict[int, float]]:
    table: dict[int, dict[int, float]] = {}
    for (source, target), value in zip(pairs_of(candidates), values.tolist(), strict=True):
        table.setdefault(source, {})[target] = value
    return table


def hits(beliefs: Counterparts, test: Sequence[Pair]) -> int:
    """Test pairs whose target is the only most probable one."""
    table, found = by_source(beliefs.candidates, beliefs.forward), 0
    for source, target in test:
        best = [t for t, value in table[source].items() if value >= max(table[source].values()) - 1e-9]
        found += best == [target]
    return found


# --- end to end ---


@pytest.mark.parametrize("seed", range(3))
def test_the_loop_finds_nearly_all_pairs_and_more_than_the_encoder_alone(seed: int) -> None:
    task, test = toy(seed)
    first, last = usual(seed)[0], usual(seed)[-1]
    assert hits(first.believed, test) < 0.8 * len(test)  # six seeds and twelve epochs are few
    assert hits(last.believed, test) >= 0.95 * len(test)
    assert hits(last.agreed, test) >= 0.95 * len(test)
    result = aligned(seed)[0]
    assert hits(result.counterparts, test) >= 0.95 * len(test)
    found = set(zip(result.alignment.source.tolist(), result.alignment.target.tolist(), strict=True))
    assert len(found & {*test, *pairs_of(task.validation)}) >= 0.9 * (len(test) + len(task.validation))
    assert not {source for source, _ in found} & set(task.seeds.source.tolist())


def test_a_third_of_the_pairs_as_seeds_is_enough_for_all() -> None:
    task, test = toy(2, seeds=20)
    assert hits(run(task)[-1].agreed, test) == len(test)


@pytest.mark.parametrize("seed", range(3))
def test_every_unlabelled_source_gets_the_most_compatible_of_its_candidates(seed: int) -> None:
    """Where q* is tied, the one that the encoder believes in most."""
    seeds, tied = toy(seed)[0].seeds, 0
    for each in usual(seed):
        compatible = by_source(each.refined.candidates, each.refined.forward)
        believed = by_source(each.believed.candidates, each.believed.forward)
        expected = {}
        for source, shares in compatible.items():
            if source not in seeds.source.tolist():
                best = [t for t, share in shares.items() if share >= max(shares.values()) - 1e-9]
                tied += len(best) > 1
                expected[source] = max(best, key=lambda t, source=source: believed[source][t])
        assert len(expected) == ENTITIES - len(seeds)
        given = each.state.labels
        assert sorted(pairs_of(given)) == sorted(expected.items())
        assert given.weight.tolist() == [1.0] * len(given)
        assert not set(given.target.tolist()) & set(seeds.target.tolist())
    assert tied


def test_sampled_labels_are_one_for_each_source_and_not_always_the_best() -> None:
    task, _ = toy(0)
    sampled, best = run(task, "em.labels=sampled", "em.rounds=0")[0], usual(0)[0]
    drawn = sampled.state.labels
    assert sorted(drawn.source.tolist()) == sorted(best.state.labels.source.tolist())
    share = by_source(sampled.refined.candidates, sampled.refined.forward)
    masses = [share[source][target] for source, target in pairs_of(best.state.labels)]
    same = set(pairs_of(drawn)) & set(pairs_of(best.state.labels))
    assert len(same) == pytest.approx(sum(masses), abs=4 * math.sqrt(sum(p * (1 - p) for p in masses)))
    assert len(same) < len(drawn)


# --- what the encoder and the probabilities learn from ---


@pytest.mark.parametrize("seeds", [6, 25])
def test_the_encoder_is_given_all_seeds_and_the_labels_and_no_more(seeds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    task, _ = toy(1, seeds)
    given, fit = [], RREA.fit

    def watched(self: RREA, pairs: Links, generator: torch.Generator, report: Report = unreported) -> Embeddings:
        given.append(pairs_of(pairs))
        return fit(self, pairs, generator, report)

    monkeypatch.setattr(RREA, "fit", watched)
    found = run(task, "em.rounds=3")
    assert len(given) == len(found) > 1
    labelled = [[], *(pairs_of(each.state.labels) for each in found[:-1])]
    assert given == [pairs_of(task.seeds) + each for each in labelled]


def everything(found: Sequence[Round]) -> list[bytes]:
    """All numbers of all rounds, but how the validation pairs fared."""
    tensors = []
    for each in found:
        weights = torch.tensor([*each.weights.values()], dtype=torch.float64)
        tensors += [each.embeddings.source, each.embeddings.target, weights, *each.state.labels.columns]
        for beliefs in (each.believed, each.refined, each.agreed):
            tensors += [beliefs.candidates.keys(), beliefs.forward, beliefs.backward, beliefs.source_none]
        scale = torch.tensor([each.state.scale.sharpness, each.state.scale.none])
        tensors += [scale, each.state.random, *each.state.encoder.values()]
    return [tensor.detach().numpy().tobytes() for tensor in tensors]


@pytest.mark.slow
def test_validation_pairs_change_nothing_but_the_sharpness() -> None:
    task, _ = toy(1)
    pairs = task.validation
    wrong = replace(task, validation=Links.build(pairs.source, pairs.target.roll(1)))
    assert everything(run(wrong, FIXED, "em.rounds=3")) == everything(run(task, FIXED, "em.rounds=3"))
    chosen = paper("probability.fit_candidates=20")  # among which the wrong ones are, too
    reordered = next(emea.rounds(replace(task, validation=pairs[torch.arange(7, -1, -1)]), chosen))
    right, misled = next(emea.rounds(task, chosen)), next(emea.rounds(wrong, chosen))
    assert reordered.state.scale.sharpness == pytest.approx(right.state.scale.sharpness, rel=1e-9)
    assert misled.state.scale.sharpness < right.state.scale.sharpness
    assert torch.equal(misled.embeddings.source, right.embeddings.source)
    assert torch.equal(misled.believed.candidates.keys(), right.believed.candidates.keys())
    assert not torch.equal(misled.believed.forward, right.believed.forward)


@pytest.mark.parametrize("validation", [8, 0])
def test_a_given_sharpness_needs_no_pairs_to_be_fitted_to(validation: int) -> None:
    task, _ = toy(1, validation=validation)
    (only,) = run(task, "probability.sharpness=7.0", "em.rounds=0")
    assert only.state.scale.sharpness == 7.0


def test_sharpness_is_all_that_is_left_of_the_four_parameters() -> None:
    """Eq. 1–2: softmax over a source's candidates of (ω₁·s + ω₂·(max s − s) + ω₀)/τ, and likewise over a target's."""
    draw = np.random.default_rng(3)
    pairs = [(s, t) for s in range(7) for t in range(5) if draw.random() < 0.7]
    columns = torch.tensor(pairs).unbind(1)
    density = [torch.tensor(draw.random(count), dtype=torch.float32) for count in (7, 5)]
    cosine = torch.tensor(draw.uniform(-1, 1, len(pairs)), dtype=torch.float32)
    candidates = Candidates(*columns, cosine, 7, 5, *density)
    near, far = density[0].tolist(), density[1].tolist()
    s = {pair: 2 * c - near[pair[0]] - far[pair[1]] for pair, c in zip(pairs, cosine.tolist(), strict=True)}
    for first, second, zero, temperature in [(3.0, -1.0, 0.7, 0.2), (1.0, 0.5, -2.0, 0.05), (0.1, 0.0, 0.0, 1.0)]:
        settings = ProbabilitySettings(balance=0)
        found = counterparts(candidates, Scale((first - second) / temperature, LOWEST), settings)
        for end, values in ((0, found.forward), (1, found.backward)):
            for pair, value in zip(pairs, values.tolist(), strict=True):
                own = [other for other in pairs if other[end] == pair[end]]
                peak = max(s[other] for other in own)
                f = {other: first * s[other] + second * (peak - s[other]) + zero for other in own}
                expected = math.exp(f[pair] / temperature) / sum(math.exp(f[other] / temperature) for other in own)
                assert value == pytest.approx(expected, rel=1e-4)
        assert found.source_none.tolist() == [0.0] * 7


# --- labels ---


def beliefs_of(rows: Sequence[tuple[int, int, float]], none: Sequence[float], targets: int) -> Counterparts:
    source, target, share = zip(*rows, strict=True)
    sources = len(none)
    columns = torch.tensor(source), torch.tensor(target), torch.zeros(len(rows))
    candidates = Candidates(*columns, sources, targets, torch.zeros(sources), torch.zeros(targets))
    forward = torch.tensor(share, dtype=torch.float64)
    nothing = torch.tensor(none, dtype=torch.float64)
    return Counterparts(candidates, forward, forward, nothing, torch.zeros(targets, dtype=torch.float64))


def test_best_labels_fall_back_to_the_encoder_and_may_be_none() -> None:
    ends = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1)]
    compatible = [0.4, 0.6, 0.5, 0.5, 0.5, 0.5, 0.3, 0.3]
    proposed = [0.9, 0.1, 0.2, 0.8, 0.5, 0.5, 0.9, 0.1]
    none = [0.0, 0.0, 0.0, 0.4, 0.0]
    refined, believed = (
        beliefs_of([(*end, share) for end, share in zip(ends, shares, strict=True)], none, 2)
        for shares in (compatible, proposed)
    )
    assert sorted(labels(refined, believed).tolist()) == [1, 3]  # 2 is tied in both, 3 rather none, 4 has nothing


def test_samples_follow_each_source_and_none() -> None:
    """And no source's draw tells of another's: outcomes of 0 and of 2 come together as often as by chance."""
    rows = [(0, 0, 0.7), (0, 1, 0.2), (0, 2, 0.0), (1, 1, 1.0), (2, 0, 0.25), (2, 1, 0.25), (2, 2, 0.5)]
    alike, times = 50, 6000  # the four sources again and again
    rows = [(4 * number + source, target, share) for number in range(alike) for source, target, share in rows]
    refined, draw = beliefs_of(rows, alike * [0.1, 0.0, 0.0, 1.0], 3), torch.Generator().manual_seed(0)
    seen: Counter[tuple[int | None, int]] = Counter()
    for _ in range(times // alike):
        drawn = pairs_of(refined.candidates[sample(refined, draw)])
        choice = dict(drawn)
        assert len(choice) == len(drawn)
        for first in range(0, 4 * alike, 4):
            assert {first + 1, first + 2} <= choice.keys()
            assert first + 3 not in choice  # which has none
            seen[choice.get(first), choice[first + 2]] += 1
    mass = {(a, b): p * q for a, p in ((0, 0.7), (1, 0.2), (None, 0.1)) for b, q in ((0, 0.25), (1, 0.25), (2, 0.5))}
    assert set(seen) <= set(mass)
    assert chisquare([seen[each] for each in mass], [times * p for p in mass.values()]).pvalue > 1e-3


# --- rounds ---


def test_rounds_end_when_the_labels_have_settled() -> None:
    found = usual(0)
    assert len(found) < 11
    assert [each.final for each in found] == [False] * (len(found) - 1) + [True]
    for before, after in pairwise(found):
        new = set(pairs_of(after.state.labels)) - set(pairs_of(before.state.labels))
        assert after.final == (len(new) < 0.01 * len(after.state.labels))
    unsettled = run(toy(0)[0], "em.settled=0.0", "em.rounds=4")
    assert [each.number for each in unsettled] == [0, 1, 2, 3, 4]


def test_no_rounds_give_the_encoder_alone() -> None:
    task, _ = toy(2)
    (only,) = run(task, "em.rounds=0", "seed=4")
    assert only.final
    settings = paper("seed=4").encoder_settings()
    alone = RREA(Task(task.source, task.target, Links.empty()), settings, CPU)
    expected = alone.fit(task.seeds, torch.Generator().manual_seed(4))
    assert torch.equal(only.embeddings.source, expected.source)
    assert torch.equal(only.embeddings.target, expected.target)


def test_same_seed_same_bytes() -> None:
    task, _ = toy(2)
    first, second, other = (run(task, f"seed={seed}", "em.labels=sampled", "em.rounds=1") for seed in (3, 3, 4))
    assert everything(first) == everything(second)
    assert everything(first) != everything(other)


def test_as_written_probabilities_are_fitted_to_the_seeds() -> None:
    task, _ = toy(3)
    settings = load("letter", assignments=[*QUICK, "em.rounds=1"])
    blind = replace(task, validation=Links.empty())
    first, second = ([*emea.rounds(given, settings)] for given in (task, blind))
    assert [ended.state.scale for ended in first] == [ended.state.scale for ended in second]
    assert torch.equal(first[-1].state.labels.target, second[-1].state.labels.target)
    fewer = [*emea.rounds(replace(task, seeds=task.seeds[:3]), settings)]
    assert fewer[0].state.scale != first[0].state.scale
    typical = Scale.typical(settings.probability).sharpness
    assert first[0].state.scale.sharpness > typical  # an encoder is sure of the pairs that it has learned
