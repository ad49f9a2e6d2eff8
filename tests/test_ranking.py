"""Ranks equal slow loops over whole pools, ties and all."""

import math
from collections.abc import Mapping, Sequence
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from answers import Pair, alignment_of, answer_of, column, links_of, pool_of
from emea.analysis import evaluation, sampling
from emea.analysis.evaluation import answer, evaluate
from emea.analysis.measures import spelled_out
from emea.analysis.ranking import _cosines, ranking, ranks
from emea.candidates.search import search
from emea.cli._show import show_measures
from emea.data import Candidates, Counterparts, Embeddings, Graph, Links, Reference, Task
from emea.evidence.prepared import prepare
from emea.method.rounds import Outcome
from emea.settings import Settings, SimilaritySettings

SMALL = settings(max_examples=60, derandomize=True)


# --- ranks ---


def slow_ranks(scores: Mapping[Pair, float], pair: Pair, pool: Sequence[int]) -> tuple[int, int]:
    """Optimistic and pessimistic rank; candidates come before all else, which is tied, and without any the rank is
    the worst."""
    source, target = pair
    candidates = [t for t in pool if (source, t) in scores]
    if not candidates:
        return len(pool), len(pool)
    if pair not in scores:
        return len(candidates) + 1, len(pool)
    right = scores[pair]
    better = sum(scores[source, t] > right + 1e-6 for t in candidates if t != target)
    tied = sum(abs(scores[source, t] - right) <= 1e-6 for t in candidates if t != target)
    return better + 1, better + 1 + tied


@st.composite
def rankings(draw: st.DrawFn) -> tuple[dict[Pair, float], list[Pair], list[int]]:
    """Scores in few steps (many ties) of some pairs, known links, one a source, and a pool with their targets."""
    grid = [(s, t) for s in range(5) for t in range(7)]
    pairs = draw(st.lists(st.sampled_from(grid), min_size=1, unique=True))
    scores = {pair: draw(st.integers(-3, 3)) / 2 for pair in pairs}
    sources = draw(st.lists(st.integers(0, 4), min_size=1, unique=True))
    known = list(zip(sources, draw(st.permutations(range(7))), strict=False))
    pool = sorted({t for _, t in known} | set(draw(st.lists(st.integers(0, 6)))))
    return scores, known, pool


@given(rankings())
@SMALL
def test_ranks_of_candidates_equal_the_loop(case: tuple[dict[Pair, float], list[Pair], list[int]]) -> None:
    scores, known, pool = case
    known = [pair for pair in known if pair in scores]
    best, worst = ranks(answer_of(scores, 7), links_of(known), pool_of(pool, 7), "score")
    expected = [slow_ranks(scores, pair, pool) for pair in known]
    assert list(zip(best.tolist(), worst.tolist(), strict=True)) == expected


@given(rankings())
@SMALL
def test_ranks_of_pairs_outside_the_candidates_equal_the_loop(
    case: tuple[dict[Pair, float], list[Pair], list[int]],
) -> None:
    scores, known, pool = case
    known = [pair for pair in known if any((pair[0], t) in scores for t in pool)]
    best, worst = ranks(answer_of(scores, 7), links_of(known), pool_of(pool, 7), "score")
    expected = [slow_ranks(scores, pair, pool) for pair in known]
    assert list(zip(best.tolist(), worst.tolist(), strict=True)) == expected


def test_a_source_without_candidates_has_the_worst_rank() -> None:
    """It is never dropped, and half the pool is not the worst."""
    subject = answer_of({(0, 0): 1.0}, 10)
    best, worst = ranks(subject, links_of([(0, 0), (3, 4)]), pool_of(range(10), 10), "score")
    assert [best[0].item(), worst[0].item()] == [1, 1]
    assert (best[1].item() + worst[1].item()) / 2 == 10
    measures = ranking(best, worst)
    assert measures.mr == pytest.approx((1 + 10) / 2)
    assert measures.mrr == pytest.approx((1 + 1 / 10) / 2)
    assert measures.hit_at_1_shared == 0.5


def test_scores_closer_than_a_millionth_are_tied() -> None:
    scores = {(0, 0): 0.5, (0, 1): 0.5 + 5e-7, (0, 2): 0.5 - 5e-7, (0, 3): 0.5 + 2e-6, (0, 4): 0.5 - 2e-6}
    best, worst = ranks(answer_of(scores, 5), links_of([(0, 0)]), pool_of(range(5), 5), "score")
    assert [best.item(), worst.item()] == [2, 4]


def test_a_source_with_two_known_targets_has_a_rank_for_each() -> None:
    scores = {(0, 0): 0.9, (0, 1): 0.7, (0, 2): 0.5}
    best, worst = ranks(answer_of(scores, 3), links_of([(0, 0), (0, 2)]), pool_of(range(3), 3), "score")
    assert best.tolist() == worst.tolist() == [1.0, 2.0]  # the other true target is no rival


def test_measures_of_realistic_ranks_by_hand() -> None:
    best, worst = column([1, 1, 1, 2, 10, 10]), column([1, 2, 4, 2, 10, 11])
    rank = [1, 1.5, 2.5, 2, 10, 10.5]
    assert spelled_out(ranking(best, worst)) == {
        "hit@1": pytest.approx(1 / 6),  # a tie is no hit
        "hit@10": pytest.approx(5 / 6),
        "mrr": pytest.approx(sum(1 / r for r in rank) / 6),
        "mr": pytest.approx(sum(rank) / 6),
        "hit@1 shared": pytest.approx((1 + 1 / 2 + 1 / 4) / 6),  # a tie of k at the top has 1/k
    }


def test_nothing_to_rank() -> None:
    assert set(spelled_out(ranking(column([]), column([]))).values()) == {0.0}
    measures = evaluate(answer_of({(0, 0): 1.0}, 2), Reference(Links.empty()))
    assert measures.reference == 0


def test_neither_candidates_nor_reference() -> None:
    measures = evaluate(answer_of({}, 2), Reference(Links.empty()))
    assert measures.ranking["all targets"]["score"].hit_at_1 == 0.0


# --- the tail: pairs outside the candidates ---


def graph_of(entities: int) -> Graph:
    return Graph.build([f"e{number:02d}" for number in range(entities)], [], torch.empty(0, 3, dtype=torch.int64))


def outcome_of(
    embeddings: Embeddings, candidates: Candidates, seeds: Sequence[Pair], forward: Sequence[float]
) -> Outcome:
    """A run whose last round proposed these candidates, with the given final beliefs."""
    sources, targets = candidates.sources, candidates.targets
    zeros = [torch.zeros(size, dtype=torch.float64) for size in (sources, targets)]
    final = Counterparts(candidates, column(forward), column(forward), *zeros)
    believed = Counterparts(candidates, column(forward) / 2, column(forward) / 2, *zeros)
    task = Task(graph_of(sources), graph_of(targets), links_of(seeds), Links.empty())
    last = SimpleNamespace(embeddings=embeddings, believed=believed)  # what evaluation looks at
    return Outcome(prepare(task, Settings().evidence), Settings(), alignment_of({}), final, last)


def dense_ranks(
    cosines: list[list[float]], scores: Mapping[Pair, float], pair: Pair, pool: Sequence[int]
) -> tuple[int, int]:
    """A full ranking of the pool: candidates first, by log probability, tied within 1e-4; then all others by CSLS over
    10 neighbours, tied within 1e-6."""
    columns = [list(values) for values in zip(*cosines, strict=True)]

    def csls(s: int, t: int) -> float:
        density = [sum(sorted(values, reverse=True)[:10]) / min(10, len(values)) for values in (cosines[s], columns[t])]
        return 2 * cosines[s][t] - density[0] - density[1]

    s, right = pair
    place = {t: (1, scores[s, t]) if (s, t) in scores else (0, csls(s, t)) for t in pool}
    ahead = tied = 0
    for t in pool:
        close = 1e-4 if place[t][0] else 1e-6
        if t != right and place[t][0] == place[right][0] and abs(place[t][1] - place[right][1]) <= close:
            tied += 1
        elif place[t] > place[right]:
            ahead += 1
    return ahead + 1, ahead + 1 + tied


def tail_case(seed: int) -> tuple[Outcome, list[list[float]], dict[Pair, float], list[Pair]]:
    """30 sources and 25 targets of which three are twins, 10 candidates each, seeds taken out of them."""
    generator = torch.Generator().manual_seed(seed)
    source, target = (torch.randn(size, 5, generator=generator) for size in (30, 25))
    target[7], target[9] = target[3], target[3]
    embeddings = Embeddings(source / source.norm(dim=1, keepdim=True), target / target.norm(dim=1, keepdim=True))
    seeds = [(0, 0), (1, 1)]
    candidates = search(embeddings, SimilaritySettings(candidates=10), generator)
    candidates = candidates[~candidates.touches(links_of(seeds))]
    candidates = candidates[candidates.cosine > candidates.cosine.median()]  # so that many known pairs are outside
    forward = torch.rand(len(candidates), generator=generator, dtype=torch.float64).tolist()
    pairs = list(zip(candidates.source.tolist(), candidates.target.tolist(), strict=True))
    cosines = [
        [math.fsum(a * b for a, b in zip(x, y, strict=True)) for y in embeddings.target.tolist()]
        for x in embeddings.source.tolist()
    ]
    known = [(s, s) for s in range(2, 25)]
    outcome = outcome_of(embeddings, candidates, seeds, forward)
    return outcome, cosines, dict(zip(pairs, forward, strict=True)), known


@pytest.mark.parametrize("seed", [0, 1])
def test_pairs_outside_the_candidates_rank_as_in_a_dense_ranking(seed: int) -> None:
    outcome, cosines, forward, known = tail_case(seed)
    subject = answer(outcome)
    assert set(subject.scores) == {"csls", "transport", "probability"}
    outside = [pair for pair in known if pair not in forward]
    assert len(outside) > 8
    pools = {"all": [t for t in range(25) if t not in {0, 1}], "test": [t for _, t in known if t % 2 or t > 10]}
    for name, pool in pools.items():
        inside = [pair for pair in known if pair[1] in pool]
        scores = {pair: math.log(value) for pair, value in forward.items()}
        expected = [dense_ranks(cosines, scores, pair, pool) for pair in inside]
        best, worst = ranks(subject, links_of(inside), pool_of(pool, 25), "probability")
        assert list(zip(best.tolist(), worst.tolist(), strict=True)) == expected, name
        tied = {pair for pair, (a, b) in zip(inside, expected, strict=True) if a < b}
        assert not tied or {t for _, t in tied} <= {3, 7, 9}


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_by_similarity_a_pair_is_ranked_among_all_targets(seed: int) -> None:
    outcome, cosines, forward, known = tail_case(seed)
    subject, pool = answer(outcome), [t for t in range(2, 25) if t % 3]
    inside = [pair for pair in known if pair[1] in pool]
    expected = [dense_ranks(cosines, {}, pair, pool) for pair in inside]  # as if there were no candidates
    found = [ranks(subject, links_of(inside), pool_of(pool, 25), name) for name in ("csls", "probability")]
    lists = [list(zip(best.tolist(), worst.tolist(), strict=True)) for best, worst in found]
    assert lists[0] == expected
    assert any(pair in forward and a != b for pair, a, b in zip(inside, *lists, strict=True))


@pytest.mark.parametrize("seed", [0, 1])
def test_other_true_targets_are_no_rivals_outside_the_candidates_either(seed: int) -> None:
    outcome, cosines, forward, known = tail_case(seed)
    both = sorted({*known, *((s, 2 + (s + 5) % 23) for s, _ in known)})
    assert sum(pair not in forward for pair in both) > 16
    scores, pool = {pair: math.log(value) for pair, value in forward.items()}, range(2, 25)
    expected = [
        dense_ranks(cosines, scores, (s, t), [other for other in pool if other == t or (s, other) not in both])
        for s, t in both
    ]
    best, worst = ranks(answer(outcome), links_of(both), pool_of(pool, 25), "probability")
    assert list(zip(best.tolist(), worst.tolist(), strict=True)) == expected


def test_twins_outside_the_candidates_are_tied() -> None:
    tied = 0
    for seed in range(4):
        outcome, _, forward, _ = tail_case(seed)
        pool = pool_of(range(2, 25), 25)
        sources = [s for s in range(2, 30) if not any((s, t) in forward for t in (3, 7, 9))]
        known = links_of([(s, 3) for s in sources])
        best, worst = ranks(answer(outcome), known, pool, "probability")
        assert (worst - best).tolist() == [2.0] * len(sources)
        tied += len(sources)
    assert tied > 10


def test_evaluate_opens_the_reference_and_ranks_the_whole_pool() -> None:
    outcome, cosines, forward, known = tail_case(3)
    measures = evaluate(outcome, Reference(links_of(known)))
    scores = {pair: math.log(value) for pair, value in forward.items()}
    pool = list(range(2, 25))
    expected = [sum(dense_ranks(cosines, scores, pair, pool)) / 2 for pair in known]
    found = measures.ranking["all targets"]["probability"]
    assert found.mr == pytest.approx(sum(expected) / len(expected), rel=1e-12)
    assert found.mrr == pytest.approx(sum(1 / rank for rank in expected) / len(expected), rel=1e-12)
    assert measures.ranking["all targets"]["transport"] == found  # halving every belief changes no rank
    assert measures.reference == len(known)


# --- a sample of the known pairs, where all would cost too much ---


@pytest.mark.parametrize("seed", range(3))
def test_a_sample_of_all_is_all(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome, _, _, known = tail_case(seed)
    whole = evaluate(outcome, Reference(links_of(known)))
    assert whole.sampled is None
    assert "sampled" not in whole.to_dict()
    monkeypatch.setattr(sampling, "RANKED", 25 * len(known))
    assert sampling.draw(answer(outcome), links_of(known)) is None
    monkeypatch.setattr(sampling, "RANKED", 25 * len(known) - 1)
    assert sampling.draw(answer(outcome), links_of(known)) is not None
    monkeypatch.setattr(evaluation, "draw", lambda *_: torch.ones(len(known), dtype=torch.float64))
    sampled = evaluate(outcome, Reference(links_of(known)))
    assert sampled.sampled == len(known)
    for pool, decodings in whole.ranking.items():
        for name, expected in decodings.items():
            assert spelled_out(sampled.ranking[pool][name]) == pytest.approx(spelled_out(expected), rel=1e-12)


def test_samples_agree_with_all_on_average(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every draw of some candidates and some others estimates; their mean is what all pairs give."""
    outcome, _, _, known = tail_case(0)
    reference, subject = Reference(links_of(known)), answer(outcome)
    whole = evaluate(outcome, reference)
    monkeypatch.setattr(sampling, "RANKED", 25 * 10)
    drawn = []
    for seed in range(64):
        monkeypatch.setattr(sampling, "SEED", seed)
        drawn.append(evaluate(subject, reference))
    assert {each.sampled for each in drawn} == {10}
    for pool, decodings in whole.ranking.items():
        for name, expected in decodings.items():
            for key, value in spelled_out(expected).items():
                found = torch.tensor([spelled_out(each.ranking[pool][name])[key] for each in drawn])
                assert abs(float(found.mean()) - value) <= 4 * float(found.std()) / 8 + 1e-6, (pool, name, key)


def test_ranks_of_candidates_by_probability_are_exact_in_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome, _, forward, _ = tail_case(1)
    reference = Reference(
        links_of([*{pair[0]: pair for pair in forward}.values()])
    )  # the last candidate of each source
    whole = evaluate(outcome, reference)
    assert whole.reference > 20
    monkeypatch.setattr(sampling, "RANKED", 25 * 2)
    sampled = evaluate(outcome, reference)
    assert sampled.to_dict()["sampled"] == sampled.sampled == 1
    for pool, decodings in whole.ranking.items():
        for name in ("transport", "probability"):
            found, expected = sampled.ranking[pool][name], decodings[name]
            assert spelled_out(found) == pytest.approx(spelled_out(expected), rel=1e-12)
    assert evaluate(outcome, reference) == sampled  # the same each time


def test_a_sample_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    outcome, _, _, known = tail_case(0)
    reference, sentence = Reference(links_of(known)), "estimated from 10 of the 23 true links"
    show_measures(evaluate(outcome, reference))
    assert sentence not in capsys.readouterr().out
    monkeypatch.setattr(sampling, "RANKED", 25 * 10)
    for everything in (False, True):
        show_measures(evaluate(outcome, reference), everything=everything)
        assert sentence in capsys.readouterr().out


def test_of_a_benchmark_both_pools_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    outcome, _, _, known = tail_case(0)
    measures = evaluate(outcome, Reference(links_of(known)))
    show_measures(measures, benchmark=True)
    *_, first, second, figures = capsys.readouterr().out.splitlines()
    assert first.split() == ["calibration", "Hit@1", "Hit@1"]
    assert second.split()[-5:] == ["error", "(test", "targets)", "(all", "targets)"]
    hits = (measures.ranking[pool]["probability"].hit_at_1 for pool in ("test targets", "all targets"))
    assert figures.split()[-2:] == [f"{each:.3f}" for each in hits]
    show_measures(measures)
    assert capsys.readouterr().out.count("Hit@1") == 1


def test_similarities_are_held_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome, _, _, known = tail_case(2)
    whole = evaluate(outcome, Reference(links_of(known)))
    monkeypatch.setattr("emea.analysis.ranking.RANK_BLOCK", 50)
    assert evaluate(outcome, Reference(links_of(known))) == whole


def test_cosines_of_halves_are_those_of_single_precision() -> None:
    rows, columns = torch.randn(5, 16).bfloat16(), torch.randn(7, 16).bfloat16()
    assert torch.allclose(_cosines(rows, columns), rows.float() @ columns.float().T)
