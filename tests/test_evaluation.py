"""Which targets, links and sources count, in both readings of the reference."""

import random
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from answers import Pair, answer_of, links_of
from emea.analysis.evaluation import compare, emitted, evaluate, link_measures, realistic_ranks, target_pools
from emea.analysis.measures import Comparison, LinkMeasures
from emea.data import Links, Reference

SMALL = settings(max_examples=60, derandomize=True)

# source 0 is a seed; of the reference, source 1 is right, 2 is beaten by target 4, which no test pair has, 3 is wrong
SCORES = {
    (0, 0): 1.0,
    (0, 1): 0.9,
    (1, 0): 0.95,
    (1, 1): 0.9,
    (1, 2): 0.8,
    (2, 2): 0.5,
    (2, 4): 0.7,
    (3, 1): 0.9,
    (3, 3): 0.4,
    (4, 4): 0.9,
}
LINKS = {(0, 1): 0.99, (1, 1): 0.9, (2, 4): 0.7, (3, 3): 0.6, (4, 5): 0.8}
SEEDS = [(0, 0)]
KNOWN = [(0, 1), (1, 1), (2, 2), (3, 3)]  # (0, 1) is of a seed: left out


def test_pools_are_the_test_targets_and_all_but_the_seeds() -> None:
    measures = evaluate(answer_of(SCORES, 6, SEEDS, LINKS), Reference(links_of(KNOWN)))
    assert measures.reference == 3
    test, every = (measures.ranking[pool]["score"] for pool in ("test targets", "all targets"))
    # test targets {1, 2, 3}: ranks 1 (target 0 is in neither pool), 1 (4 is no test target), 2
    assert test.hit_at_1 == pytest.approx(2 / 3)
    assert test.mr == pytest.approx(4 / 3)
    # all targets {1, …, 5}: ranks 1, 2, 2
    assert every.hit_at_1 == pytest.approx(1 / 3)
    assert every.mr == pytest.approx(5 / 3)


def test_targets_that_may_not_be_linked_are_in_no_pool() -> None:
    subject = answer_of(SCORES, 6, SEEDS, LINKS)
    subject = replace(subject, linkable=torch.tensor([True, True, True, True, False, False]))  # 4 and 5 are values
    pools = {name: pool.nonzero()[:, 0].tolist() for name, pool in target_pools(subject, links_of(KNOWN[1:])).items()}
    assert pools == {"test targets": [1, 2, 3], "all targets": [1, 2, 3]}
    every = evaluate(subject, Reference(links_of(KNOWN))).ranking["all targets"]["score"]
    assert every.mr == pytest.approx(4 / 3)  # target 4 no longer beats the right one of source 2


def test_measures_are_written_with_their_usual_names() -> None:
    measures = evaluate(answer_of(SCORES, 6, SEEDS, LINKS), Reference(links_of(KNOWN)))
    written = measures.to_dict()
    assert list(written) == ["reference", "ranking", "alignment"]
    assert written["ranking"]["test targets"]["score"] == {
        "hit@1": measures.ranking["test targets"]["score"].hit_at_1,
        "hit@10": 1.0,
        "mrr": pytest.approx((1 + 1 + 1 / 2) / 3),
        "mr": pytest.approx(4 / 3),
        "hit@1 shared": pytest.approx(2 / 3),
    }
    assert list(written["alignment"]) == ["known sources", "strict"]
    names = ["links", "precision", "recall", "f1", "calibration error", "reliability", "curve"]
    assert list(written["alignment"]["strict"]) == names
    assert written["alignment"]["strict"]["curve"][0] == {
        "confidence": 0.9,
        "links": 1,
        "precision": 1.0,
        "recall": pytest.approx(1 / 3),
    }


def test_links_in_both_readings_without_the_seeds() -> None:
    measures = evaluate(answer_of(SCORES, 6, SEEDS, LINKS), Reference(links_of(KNOWN)))
    known, strict = measures.known_sources, measures.strict
    # counted: (1, 1) right, (2, 4) wrong, (3, 3) right; (4, 5), of a source that nobody knows, only when strict
    assert known.links == 3
    assert known.precision == pytest.approx(2 / 3)
    assert known.recall == pytest.approx(2 / 3)
    assert known.f1 == pytest.approx(2 / 3)
    assert known.calibration_error == pytest.approx(abs(0.1 - 0.7 + 0.4) / 3)
    assert strict.links == 4
    assert strict.precision == pytest.approx(2 / 4)
    assert strict.recall == pytest.approx(2 / 3)
    assert strict.f1 == pytest.approx(2 * (1 / 2) * (2 / 3) / (1 / 2 + 2 / 3))
    assert strict.calibration_error == pytest.approx(abs(0.1 - 0.7 + 0.4 - 0.8) / 4)


def test_links_of_entities_that_the_graphs_lack_are_missed() -> None:
    """The target of source 4 is unknown, and so are both entities of another link."""
    subject, reference = answer_of(SCORES, 6, SEEDS, LINKS), Reference(links_of(KNOWN), [4, -1])
    measures = evaluate(subject, reference)
    assert measures.reference == 5
    every = measures.ranking["all targets"]["score"]
    assert every.hit_at_1 == pytest.approx(1 / 5)
    assert every.mr == pytest.approx((1 + 2 + 2 + 6 + 6) / 5)  # behind the five targets of the pool
    assert measures.known_sources.links == 4  # the link of source 4 is wrong
    assert measures.known_sources.recall == measures.strict.recall == pytest.approx(2 / 5)
    assert realistic_ranks(subject, reference, "all targets", "score").tolist() == [1, 2, 2, 6, 6]
    assert emitted(subject, reference).tolist() == [1, 0, 1, 0, 0]


def test_two_runs_are_compared_on_the_pairs_that_neither_was_given() -> None:
    better = answer_of(SCORES | {(2, 4): 0.1, (3, 3): 1.0}, 6, SEEDS)
    first, second = (
        replace(each, scores={"probability": each.scores["score"]})
        for each in (better, answer_of(SCORES, 6, [*SEEDS, (1, 1)]))
    )
    reference = Reference(links_of(KNOWN))
    # test targets {2, 3}; of sources 2 and 3, ranks 1 and 1 by both: 4 is no test target, and 1 was given
    assert compare(first, second, reference) == Comparison(2, 0.0, 0.0, 1.0)
    worse = replace(
        second, scores={"probability": answer_of({(2, 3): 0.9, (2, 2): 0.5, (3, 3): 0.4}, 6).scores["score"]}
    )
    worse = replace(worse, source=torch.tensor([2, 2, 3]), target=torch.tensor([2, 3, 3]))
    found = compare(first, worse, reference)
    assert (found.pairs, found.hit_at_1, found.mrr) == (2, 0.5, 0.25)
    assert found.p_value == pytest.approx(compare(worse, first, reference).p_value) == pytest.approx(0.5)
    assert compare(worse, first, reference).hit_at_1 == -0.5
    assert compare(first, second, Reference(Links.empty())) == Comparison(0, 0.0, 0.0, 1.0)


def test_no_links_and_no_reference_measure_zero() -> None:
    nothing = link_measures(answer_of(SCORES, 6, SEEDS), links_of(KNOWN), strict=True)
    assert nothing == LinkMeasures(
        links=0, precision=0.0, recall=0.0, f1=0.0, calibration_error=0.0, reliability=(), curve=()
    )
    wrong = link_measures(answer_of(SCORES, 6, SEEDS, LINKS), Links.empty(), strict=True)
    assert (wrong.precision, wrong.recall, wrong.f1) == (0.0, 0.0, 0.0)


@given(st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=12), st.randoms(use_true_random=False))
@SMALL
def test_links_equal_a_count(table: set[Pair], chance: random.Random) -> None:
    links = dict.fromkeys(dict(table).items(), 0.5)
    known = list(zip(chance.sample(range(10), 6), chance.sample(range(10), 6), strict=True))
    seeds = list(zip(chance.sample(range(10), 2), chance.sample(range(10), 2), strict=True))
    known = [pair for pair in known if pair[0] not in {s for s, _ in seeds}]
    subject = answer_of({(0, 0): 0.0}, 10, seeds, links)
    for strict in (False, True):
        counted = [p for p in links if p[0] not in {s for s, _ in seeds}]
        if not strict:
            counted = [p for p in counted if p[0] in {s for s, _ in known}]
        right = sum(p in known for p in counted)
        found = link_measures(subject, links_of(known), strict=strict)
        assert found.links == len(counted)
        assert found.precision == pytest.approx(right / len(counted) if counted else 0.0)
        assert found.recall == pytest.approx(right / len(known) if known else 0.0)


def test_pairs_of_a_reference_that_is_not_one_to_one_are_counted() -> None:
    found = {(0, 0): 0.9, (1, 1): 0.8, (2, 3): 0.7}
    known = [(0, 0), (0, 1), (1, 1), (2, 2), (3, 2)]
    measures = evaluate(answer_of({(0, 0): 1.0}, 4, links=found), Reference(links_of(known)))
    assert measures.reference == 5
    assert measures.strict.precision == pytest.approx(2 / 3)
    assert measures.strict.recall == pytest.approx(2 / 5)
