"""Estimates from sampled cards: formulas against slow ones written anew, and how often intervals hold the truth."""

import json
import math
from dataclasses import asdict

import numpy as np
import pytest
from scipy.stats import binomtest, hypergeom

from emea.errors import InputError
from emea.review.estimates import ALPHA, Answer, Estimate, Sample, _looks, estimate
from emea.review.intervals import limits

RIGHT, OTHER, WRONG, NONE, UNSURE = Answer


class Run:
    """A made-up run with a true answer for each source."""

    def __init__(self, confidence: np.ndarray, counterpart: np.ndarray, answers: list[Answer]) -> None:
        self.confidence, self.counterpart, self.answers = confidence, counterpart, answers
        links = len(confidence)
        right = answers[:links].count(RIGHT)
        missed = sum(each == OTHER for each in answers)
        self.precision = right / sum(each != UNSURE for each in answers[:links])
        self.recall = right / (right + missed)

    def review(self, cards: int, seed: int = 0) -> Estimate:
        return self.looks([cards], seed)[0]

    def looks(self, numbers: list[int], seed: int) -> list[Estimate]:
        """The same review after some numbers of cards."""
        sample = Sample.draw(self.confidence, self.counterpart, max(numbers), seed)
        cards = sample.cards.tolist()
        return [estimate(sample, {card: self.answers[card] for card in cards[:number]}) for number in numbers]


def run(
    *, links: int = 3000, others: int = 1500, right: float | None = None, unsure: float = 0.0, seed: int = 0
) -> Run:
    """Calibrated, unless all links are right with the same probability, whatever their confidence."""
    draw = np.random.default_rng(seed)
    confidence, counterpart = 0.5 + 0.4999 * draw.beta(3, 0.4, links), draw.beta(0.5, 4, others)
    is_right = draw.random(links) < (confidence if right is None else right)
    linked = np.where(is_right, RIGHT, np.where(draw.random(links) < 0.5, OTHER, NONE))
    unlinked = np.where(draw.random(others) < counterpart, OTHER, NONE)
    said = np.concatenate([linked, unlinked])
    said[draw.random(len(said)) < unsure] = UNSURE
    return Run(confidence, counterpart, [Answer(each) for each in said.tolist()])


@pytest.fixture(scope="module")
def calibrated() -> Run:
    return run()


# --- the sample ---


def test_cards_come_from_every_stratum_in_proportion(calibrated: Run) -> None:
    sample = Sample.draw(calibrated.confidence, calibrated.counterpart, 200, 0)
    assert sorted(sample.order.tolist()) == list(range(4500))
    dealt = sample.dealt(200)
    assert dealt.sum() == len(sample.cards) == 200
    assert dealt.min() >= 4
    assert dealt[[not each.linked for each in sample.strata]].sum() == pytest.approx(40, abs=1)
    for number, each in enumerate(sample.strata):
        inside = sample.score[sample.stratum == number]
        assert each.low <= inside.min()
        assert inside.max() < each.high
        assert len(inside) == each.size
    most = dict(zip([each.low for each in sample.strata if each.linked], dealt.tolist(), strict=False))
    assert most[0.5] / sample.strata[0].size > most[0.99] / sample.strata[4].size, "doubtful links are drawn more often"


def test_weighted_by_inclusion_probability_the_cards_stand_for_all(calibrated: Run) -> None:
    sample = Sample.draw(calibrated.confidence, calibrated.counterpart, 200, 0)
    assert (1 / sample.probability).sum() == pytest.approx(4500)


def test_within_a_stratum_every_source_is_equally_probable() -> None:
    confidence, counterpart = np.array([0.6] * 20 + [0.95] * 80), np.array([0.2] * 30)
    drawn = np.zeros(130)
    for seed in range(2000):
        drawn[Sample.draw(confidence, counterpart, 40, seed).cards] += 1
    sample = Sample.draw(confidence, counterpart, 40, 0)
    chance = (sample.dealt(40) / [each.size for each in sample.strata])[sample.stratum]
    assert np.abs(drawn / 2000 - chance).max() < 4.5 * math.sqrt(0.25 / 2000)


def test_a_larger_sample_goes_on_where_the_smaller_ended(calibrated: Run) -> None:
    small, large = (Sample.draw(calibrated.confidence, calibrated.counterpart, n, 7).cards for n in (120, 400))
    assert small.tolist() == large[:120].tolist()
    assert small.tolist() != Sample.draw(calibrated.confidence, calibrated.counterpart, 120, 8).cards.tolist()


def test_a_run_without_links_cannot_be_drawn_from() -> None:
    with pytest.raises(InputError, match="found no links"):
        Sample.draw(np.zeros(0), np.array([0.5]), 10, 0)


@pytest.mark.parametrize(
    ("verdict", "target", "proposed", "meant"),
    [
        ("yes", "b", "b", RIGHT),
        ("yes", "c", "b", OTHER),
        ("yes", "c", None, OTHER),
        ("no", "b", "b", WRONG),
        ("no", "c", "b", UNSURE),
        ("no", "c", None, UNSURE),
        ("none", None, "b", NONE),
        ("unsure", None, "b", UNSURE),
    ],
)
def test_what_a_decision_says(verdict: str, target: str | None, proposed: str | None, meant: Answer) -> None:
    assert Answer.of(verdict, target, proposed) is meant


# --- the formulas ---


@pytest.mark.parametrize(("hits", "asked"), [(1, 8), (30, 40), (159, 160)])
def test_strata_have_the_interval_of_wilson(hits: int, asked: int) -> None:
    found = binomtest(hits, asked).proportion_ci(0.95, "wilson")
    assert limits(hits, asked, 1e12, 0.05) == pytest.approx((found.low, found.high), abs=1e-6)


@pytest.mark.parametrize("asked", [5, 60])
def test_without_an_error_the_bound_is_that_of_clopper_and_pearson(asked: int) -> None:
    found = binomtest(asked, asked, alternative="greater").proportion_ci(0.95, "exact")
    assert limits(asked, asked, 1e9, 0.05) == pytest.approx((found.low, 1), abs=1e-5)
    assert limits(0, asked, 1e9, 0.05) == pytest.approx((0, 1 - found.low), abs=1e-5)


@pytest.mark.parametrize(("asked", "size"), [(5, 9), (40, 100), (60, 2000)])
def test_in_a_finite_stratum_as_many_errors_may_be_unseen_as_the_hypergeometric_distribution_allows(
    asked: int, size: int
) -> None:
    unseen = int(np.flatnonzero(hypergeom.pmf(0, size, np.arange(size), asked) >= 0.05).max())
    low, _ = limits(asked, asked, size, 0.05)
    assert unseen <= size * (1 - low) + 1e-6 < unseen + 1


def test_precision_and_recall_are_those_of_a_slow_formula() -> None:
    made = run(unsure=0.1)
    sample = Sample.draw(made.confidence, made.counterpart, 200, 3)
    cards = sample.cards.tolist()
    right = decided = missed = 0.0
    for number, each in enumerate(sample.strata):
        asked = [card for card in cards if sample.stratum[card] == number]
        answers = [made.answers[card] for card in asked]
        able = [answer for answer in answers if answer != UNSURE]
        shift = each.mean - sum(sample.score[card] for card in asked) / len(asked)
        if each.linked:
            right += each.size * len(able) / len(asked) * (able.count(RIGHT) / len(able) + shift)
            decided += each.size * len(able) / len(asked)
            missed += each.size * able.count(OTHER) / len(asked)
        else:
            missed += each.size * (able.count(OTHER) / len(asked) + shift)
    found = made.review(200, seed=3)
    assert found.precision.value == pytest.approx(right / decided)
    assert found.recall.value == pytest.approx(right / (right + missed))


def test_estimates_are_right_on_average_however_wrong_the_confidence() -> None:
    made = run(right=0.8)
    found = np.array([made.review(200, seed).precision.value for seed in range(200)])
    assert abs(found.mean() - made.precision) < 4 * found.std() / math.sqrt(200)


def test_the_interval_is_as_wide_as_estimates_spread() -> None:
    made = run(right=0.8)
    found = [made.review(200, seed) for seed in range(150)]
    for name in ("precision", "recall"):
        figures = [getattr(each, name) for each in found]
        spread = np.std([figure.value for figure in figures])
        width = np.mean([figure.half_width for figure in figures]) / 2.17  # normal quantile of the look at 200 cards
        assert 0.9 < width / spread < 1.25, name


# --- coverage ---


@pytest.mark.parametrize(
    "made",
    [
        run(),
        run(right=0.85, seed=1),  # overconfident
        run(right=0.99, others=0, seed=2),  # often without any error among the cards
        run(links=400, others=200, seed=3),  # half of the run is reviewed
        run(unsure=0.15, seed=4),
    ],
    ids=["calibrated", "overconfident", "rare errors", "small", "unsure"],
)
def test_intervals_hold_the_truth_at_every_look(made: Run) -> None:
    reviews, kept = 100, {"precision": 0, "recall": 0}
    for seed in range(reviews):
        looks = made.looks([50, 100, 200], seed)
        for name in kept:
            figures = [getattr(each, name) for each in looks]
            kept[name] += all(each.low - 1e-9 <= getattr(made, name) <= each.high + 1e-9 for each in figures)
    assert min(kept.values()) >= 0.93 * reviews, kept


def test_all_looks_together_may_err_as_often_as_was_promised() -> None:
    looks = _looks(10**6)
    assert [cards for cards, _ in looks[:4]] == [50, 100, 200, 400]
    assert sum(alpha for _, alpha in looks) <= ALPHA + 1e-12


# --- what is said when ---


def test_nothing_is_known_before_the_first_look(calibrated: Run) -> None:
    for cards in (0, 49):
        found = calibrated.review(cards)
        assert (found.look, found.answered, found.next_look) == (0, cards, 50)
        for figure in (found.precision, found.recall):
            assert (figure.low, figure.high) == (0, 1)
        assert not found.stop
        assert found.why.startswith("Not yet: an interval takes at least 50 sampled cards")


def test_between_looks_figures_stay(calibrated: Run) -> None:
    early, late = calibrated.review(100), calibrated.review(199)
    assert early.precision == late.precision
    assert early.recall == late.recall
    assert (late.answered, late.look, late.next_look) == (199, 100, 200)
    assert late.more == early.more - 99


def test_cards_after_one_without_answer_do_not_count(calibrated: Run) -> None:
    sample = Sample.draw(calibrated.confidence, calibrated.counterpart, 200, 0)
    answers = {source: calibrated.answers[source] for source in sample.cards.tolist()}
    del answers[int(sample.cards[120])]
    found = estimate(sample, answers)
    assert (found.answered, found.look) == (120, 100)
    assert found.precision == calibrated.review(100).precision


def test_when_everything_is_answered_everything_is_known() -> None:
    made = run(links=200, others=90, right=0.8)
    found = made.review(290)
    assert (found.look, found.next_look, found.more, found.stop) == (290, None, 0, True)
    for figure, truth in ((found.precision, made.precision), (found.recall, made.recall)):
        assert (figure.value, figure.low, figure.high) == pytest.approx((truth, truth, truth))
    assert found.why.startswith("Yes: every card is answered. Precision is 0.")


def test_one_can_stop_when_precision_is_known_within_two_points() -> None:
    made = run(links=20_000, right=0.999)
    early, found = made.review(50), made.review(200)
    assert not early.stop
    assert "more sampled cards" in early.why
    assert found.stop
    assert found.precision.half_width <= 0.02
    assert found.more == 0
    assert found.why.startswith(f"Yes: precision is {found.precision.low:.3f} to {found.precision.high:.3f}, that is,")
    assert "of what a reviewer can find" in found.why


def test_as_many_cards_are_asked_for_as_it_takes() -> None:
    made = run(links=20_000, others=3000)
    found = made.review(200)
    assert not found.stop
    then = made.review(200 + found.more)
    before = made.review((200 + found.more) // 2)
    assert then.precision.half_width < 0.022
    assert before.precision.half_width > 0.02


def test_unsure_answers_are_left_out_and_bounded() -> None:
    made = run(unsure=0.2)
    found = made.review(200)
    assert found.unsure == sum(each.unsure for each in found.strata) > 0
    for figure in (found.precision, found.recall):
        assert figure.least < figure.value < figure.most
    links = [each for each in found.strata if each.stratum.linked]
    size = sum(each.stratum.size for each in links)
    apart = sum(each.stratum.size / size * each.unsure / each.asked for each in links)
    assert found.precision.most - found.precision.least == pytest.approx(apart)
    assert f"{found.unsure} of 200 answers leave it open and are left out" in found.why
    sure = run().review(200)
    assert (sure.precision.least, sure.precision.most) == pytest.approx((sure.precision.value,) * 2)
    assert "left out" not in sure.why


def test_if_every_answer_is_unsure_nothing_is_known() -> None:
    made = run()
    made.answers = [UNSURE] * len(made.answers)
    found = made.review(200)
    assert (found.precision.low, found.precision.high) == (found.recall.low, found.recall.high) == (0, 1)
    assert not found.stop


def test_a_wrong_link_without_a_correction_may_have_a_counterpart() -> None:
    made = run(right=0.7)
    named = made.review(200).recall
    made.answers = [WRONG if each == OTHER and place < 3000 else each for place, each in enumerate(made.answers)]
    unnamed = made.review(200).recall
    assert unnamed.value > named.value
    assert unnamed.least == pytest.approx(named.least)


def test_an_estimate_can_be_sent_as_json(calibrated: Run) -> None:
    assert json.loads(json.dumps(asdict(calibrated.review(200))))["look"] == 200
