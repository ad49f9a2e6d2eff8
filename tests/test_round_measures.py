"""Hits of a round, and how compatible predictions are, equal slow loops over all pairs."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from statistics import mean
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from emea.analysis.evaluation import evaluate
from emea.data import Alignment, Candidates, Counterparts, Embeddings, Graph, Links, Reference, Task
from emea.evidence.prepared import prepare
from emea.method.rounds import Outcome, Round, State
from emea.reproduce._hits import compatibility, round_hits
from emea.rules.paris import PARISSettings
from emea.runs.align import Observers, align
from emea.settings import Settings, load

Pair = tuple[int, int]
Triple = tuple[int, int, int]


def test_hits_of_a_round_are_those_of_the_ranking_and_a_count() -> None:
    task, reference = copies(200, 700)
    rough, counted = ["encoders.propagation={dimension=8, paths=8}", "compatibility.candidates=3"], set[float]()
    for preset in ("fast", "paper"):
        settings = load(preset, assignments=["em.encoder=propagation", "em.rounds=1", *rough])
        ended: list[Round] = []
        outcome = align(prepare(task, settings.evidence), settings, Observers(ended.append))
        assert [one.number for one in ended] == [0, 1]
        measures = evaluate(outcome, reference).ranking["test targets"]["csls"]
        assert 0.4 < measures.hit_at_1 < 1
        assert round_hits(ended[-1], task, reference)["neural"] == measures.hit_at_1
        for one in ended:  # in round 0 `fast` hides some seeds, which are candidates then
            hits = slow_hits(one.believed, one.refined, reference.open())
            assert round_hits(one, task, reference)["compatibility"] == pytest.approx(hits)
            counted.add(hits)
    assert len(counted) > 2
    assert 0.4 < min(counted) < 1


def copies(entities: int, edges: int) -> tuple[Task, Reference]:
    """Two graphs, each with nine of ten triples of a third; seeds, validation pairs and the others."""
    draw = random.Random(3)
    triples = [(draw.randrange(entities), draw.randrange(2), int(entities * draw.random() ** 2)) for _ in range(edges)]
    graphs = [[row for row in triples if draw.random() < 0.9] for _ in range(2)]
    same = draw.sample([(number, number) for number in range(entities)], entities)
    task = task_of(graphs, entities, same[: entities // 4], same[entities // 4 : entities // 2])
    return task, Reference(links_of(same[entities // 2 :]))


def slow_hits(believed: Counterparts, refined: Counterparts, known: Links) -> float:
    """Of the known links, those whose target has the highest q* of all candidates in the pool, and alone."""
    compatible = dict(zip(pairs_of(refined.candidates), refined.forward.tolist(), strict=True))
    score = {pair: compatible.get(pair, 0.0) for pair in pairs_of(believed.candidates)}
    pool, hits = known.target.tolist(), 0
    for source, target in zip(known.source.tolist(), pool, strict=True):
        rivals = [score[source, other] for other in pool if other != target and (source, other) in score]
        hits += (source, target) in score and score[source, target] > max(rivals, default=-1.0) * (1 + 1e-4)
    return hits / len(pool)


def pairs_of(candidates: Candidates) -> list[Pair]:
    return list(zip(candidates.source.tolist(), candidates.target.tolist(), strict=True))


def candidates_of(cosine: Mapping[Pair, float], sources: int, targets: int) -> Candidates:
    pairs = sorted(cosine)
    columns = (torch.tensor([pair[side] for pair in pairs]) for side in (0, 1))
    density = (torch.zeros(size) for size in (sources, targets))
    return Candidates(*columns, torch.tensor([cosine[pair] for pair in pairs]), sources, targets, *density)


def links_of(pairs: Sequence[Pair]) -> Links:
    return Links.build(*(torch.tensor([pair[side] for pair in pairs], dtype=torch.int64) for side in (0, 1)))


def believed_of(cosine: Mapping[Pair, float], forward: Mapping[Pair, float], entities: int) -> Counterparts:
    candidates, none = candidates_of(cosine, entities, entities), torch.zeros(entities, dtype=torch.float64)
    mass = torch.tensor([forward[pair] for pair in pairs_of(candidates)], dtype=torch.float64)
    return Counterparts(candidates, mass, mass, none, none)


def task_of(
    graphs: Sequence[Sequence[Triple]], entities: int, seeds: Sequence[Pair], validation: Sequence[Pair]
) -> Task:
    names = [f"e{number:03}" for number in range(entities)], ["r0", "r1"]
    sides = (Graph.build(*names, np.array(triples, dtype=np.int64).reshape(-1, 3)) for triples in graphs)
    return Task(*sides, links_of(seeds), links_of(validation))


def test_a_tie_is_no_hit_and_a_target_outside_the_pool_no_rival() -> None:
    # 0 is a seed; 1 is right in both; 2 is tied in both; 3 is wrong for the encoder and right for the rules, with a
    # better target that no test pair has; 4 the other way round; 5 is no candidate of its target
    cosine = {
        (1, 1): 0.9, (1, 2): 0.8, (2, 2): 0.7, (2, 3): 0.7, (3, 3): 0.4, (3, 4): 0.5, (3, 6): 0.9,
        (4, 4): 0.8, (4, 1): 0.7, (5, 1): 0.5,
    }  # fmt: skip
    compatible = {
        (1, 1): 0.6, (1, 2): 0.4, (2, 2): 0.5, (2, 3): 0.5, (3, 3): 0.3, (3, 4): 0.1, (3, 6): 0.6,
        (4, 1): 0.9, (0, 0): 1.0,
    }  # fmt: skip
    known = [(3, 3), (1, 1), (5, 5), (2, 2), (4, 4)]
    task = task_of(([], []), 7, [(0, 0)], [(6, 0)])
    every = torch.full((7, 7), -1.0)  # those that are no candidates are far apart
    for pair, value in cosine.items():
        every[pair] = value
    ended = SimpleNamespace(
        believed=believed_of(cosine, cosine, 7),
        refined=believed_of(dict.fromkeys(compatible, 0.0), compatible, 7),
        embeddings=Embeddings(torch.eye(7), every.T),
    )
    hits = round_hits(ended, task, Reference(links_of(known)))
    assert hits == {"neural": pytest.approx(2 / 5), "compatibility": pytest.approx(2 / 5)}
    assert slow_hits(ended.believed, ended.refined, links_of(known)) == pytest.approx(2 / 5)
    compatible[2, 2] += 1e-3  # no longer tied
    ended.refined = believed_of(dict.fromkeys(compatible, 0.0), compatible, 7)
    assert round_hits(ended, task, Reference(links_of(known)))["compatibility"] == pytest.approx(3 / 5)


def outcome_of(task: Task, candidates: Candidates) -> Outcome:
    """A run whose last round proposed these candidates, as far as compatibility looks at it."""
    nothing, size = torch.zeros(0), (candidates.sources, candidates.targets)
    beliefs = Counterparts(candidates, candidates.cosine, candidates.cosine, *map(torch.zeros, size))
    last = SimpleNamespace(believed=beliefs, embeddings=Embeddings(nothing[:, None], nothing[:, None]))
    settings = Settings()
    links = Alignment(nothing, nothing, nothing, nothing)
    return Outcome(prepare(task, settings.evidence), settings, links, beliefs, last)


def slow_compatibility(graphs: Sequence[Sequence[Triple]], y: Mapping[int, int]) -> dict[int, float]:
    """g of the PARIS rule (eq. 13 with Pr = 1 for y) at each source; relations are numbered with their inverses."""
    edges, others = ([*rows, *((t, r + 2, h) for h, r, t in rows)] for rows in graphs)
    same, prior = {*y.items()}, PARISSettings()

    def inverse_functionality(rows: Sequence[Triple], relation: int) -> float:
        tails = [t for _, r, t in rows if r == relation]
        return len({*tails}) / len(tails)

    def contained(rows: Sequence[Triple], r: int, elsewhere: Sequence[Triple], q: int, equal: set[Pair]) -> float:
        ends, inside = [(h, t) for h, relation, t in rows if relation == r], {h for h, _ in equal}
        images = {(h, t) for h, relation, t in elsewhere if relation == q}
        seen = sum(h in inside and t in inside for h, t in ends)
        found = sum(any((h, a) in equal and (t, b) in equal for a, b in images) for h, t in ends)
        return (found + prior.prior * prior.prior_strength) / (seen + prior.prior_strength)

    found = {}
    for source, target in y.items():
        unlikely = 1.0
        for h, r, n in edges:
            for h_other, q, n_other in others:
                if (h, h_other) == (source, target) and y.get(n) == n_other:
                    around = contained(others, q, edges, r, {(b, a) for a, b in same})
                    unlikely *= 1 - around * inverse_functionality(edges, r)
                    unlikely *= 1 - contained(edges, r, others, q, same) * inverse_functionality(others, q)
        found[source] = 1 - unlikely
    return found


@pytest.mark.parametrize("seed", range(6))
def test_compatibility_of_predictions_and_truth_equals_the_loops(seed: int) -> None:
    draw, entities = random.Random(seed), 14
    grid = [(h, r, t) for h in range(entities) for r in range(2) for t in range(entities)]
    first = draw.sample(grid, 24) + [(number, 0, number) for number in draw.sample(range(entities), 8)]
    graphs = sorted({*first}), sorted({*first[4:], *draw.sample(grid, 5)})
    truth = [(number, number) for number in range(entities - 2)]  # the last two sources have no known counterpart
    draw.shuffle(truth)
    seeds, validation, known = truth[:2], truth[2:4], truth[4:]
    free = [number for number in range(entities) if number not in {s for s, _ in seeds}]
    cosine = {(s, t): draw.randrange(6) / 8 + (s == t) / 2 for s in free[1:] for t in free if draw.random() < 0.5}
    predicted = {}
    for source in free:
        own = {t: value for (s, t), value in cosine.items() if s == source}
        best = [t for t, value in own.items() if value == max(own.values())]
        predicted |= {source: best[0]} if len(best) == 1 else {}  # a tie predicts nothing
    found = compatibility(
        outcome_of(task_of(graphs, entities, seeds, validation), candidates_of(cosine, entities, entities)),
        Reference(links_of(known)),
    )
    given, tested = dict(seeds + validation), {s for s, _ in known}
    for name, y in (("predicted", {**predicted, **given}), ("true", dict(truth))):
        values = [g for source, g in slow_compatibility(graphs, y).items() if source in tested]
        assert len({*values}) > 1
        assert found[name]["mean"] == pytest.approx(mean(values), abs=1e-7)
        bars = [0] * 20
        for g in values:
            assert round(20 * g) in {0, 20} or abs(20 * g - round(20 * g)) > 1e-4, "between two bars"
            bars[min(19, int(20 * g))] += 1
        assert found[name]["shares"] == pytest.approx([bar / len(values) for bar in bars])
        assert sum(found[name]["shares"]) == pytest.approx(1.0)
    claims = [*{**predicted, **given}.values()]
    clash = [claims.count(target) > 1 for source, target in predicted.items() if source in tested]
    assert found["conflicts"] == pytest.approx(mean(clash))


def test_conflicts_by_hand() -> None:
    # 0 is a seed and 1 a validation pair; of the test sources 2 and 3 claim the same, 4 claims the seed's target,
    # 5 the target of 7, which nobody knows, 6 a target of its own
    best = {1: 0, 2: 2, 3: 2, 4: 0, 5: 5, 6: 6, 7: 5}
    cosine = dict.fromkeys(best.items(), 0.9) | {(s, 3): 0.5 for s in (2, 4, 5, 6, 7)}
    task = task_of(([(0, 0, 1)], [(0, 0, 1)]), 8, [(0, 0)], [(1, 1)])
    reference = Reference(links_of([(number, number) for number in (6, 5, 4, 3, 2)]))
    assert compatibility(outcome_of(task, candidates_of(cosine, 8, 8)), reference)["conflicts"] == pytest.approx(4 / 5)
    alone_there = candidates_of(cosine | {(4, 4): 0.95, (3, 3): 0.95}, 8, 8)
    assert compatibility(outcome_of(task, alone_there), reference)["conflicts"] == pytest.approx(1 / 5)


def test_a_round_counts_the_trials_of_its_own() -> None:
    started = State.start(Settings().probability, torch.Generator())
    trials = torch.tensor([[0, 0.9, 1.0], [1, 0.8, 0.0], [1, 1.0, 1.0], [1, 0.7, 1.0]])
    told: dict[str, Any] = dict.fromkeys(field.name for field in fields(Round))
    ended = Round(
        **told | {"number": 1, "scout": 2, "labels": links_of([(0, 0)]), "state": replace(started, trials=trials)}
    )
    assert ended.trials.tolist() == trials[1:, 1:].tolist()
    assert ended.headline() == "scout 2, 1 pairs labelled, 2 of 3 links of held-out pairs right"
    assert replace(ended, number=2, scout=0).headline() == "1 pairs labelled"
