"""The order in which sources come up for a decision, and who is dealt which card."""

import time
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from emea import Graph
from emea.review import queues
from emea.review.dealer import EVERY, IN_A_ROW, LEASE, Dealer, Dealt
from emea.review.queues import Cards, Reach
from emea.review.tables import Texts


def cards(
    probability: list[float],
    *,
    target: list[int] | None = None,
    unlinked: tuple[int, ...] = (),
    kind: int | list[int] = 0,
) -> Cards:
    """A card for each probability, linked to the target of the same number unless said otherwise."""
    number = np.arange(len(probability))
    kinds = np.broadcast_to(np.array(kind), number.shape)
    ends = number if target is None else np.array(target)
    types = np.where(kinds < 2, kinds, -1)
    return Cards(number, ends, ~np.isin(number, unlinked), np.array(probability), types, ("town", "river"), kinds)


def star(centre: int, leaves: range) -> list[tuple[int, int, int]]:
    return [(leaf, 0, centre) for leaf in leaves]


def nobody(some: Cards) -> np.ndarray:
    return np.zeros(len(some), dtype=bool)


# --- orders ---


def test_doubt_on_which_much_depends_tends_to_come_first() -> None:
    some = cards([0.99] * 100 + [0.5] * 200 + [0.99] * 900)  # sure, doubtful, doubtful with nine neighbours each
    triples = np.array([edge for n in range(100) for edge in star(200 + n, range(300 + 9 * n, 309 + 9 * n))])
    reach = Reach.of(some, triples)
    assert reach.count(np.ones(1200, dtype=bool)).tolist() == [0] * 200 + [9] * 100 + [1] * 900
    order = queues.informative(some, reach, nobody(some))
    assert sorted(order.tolist()) == list(range(1200))
    assert order.tolist() == queues.informative(some, reach, nobody(some)).tolist()
    first = Counter(min(card // 100, 3) for card in order[:60].tolist())
    assert first[2] > 2 * first[1] > 4 * max(first[0], 1)  # √10 times as likely, and 27 times
    decided = nobody(some)
    decided[order[:50]] = True
    assert queues.informative(some, reach, decided).tolist() != order[50:].tolist()  # their neighbours matter less
    assert not set(order[:50].tolist()) & set(queues.informative(some, reach, decided).tolist())


def test_where_it_is_judged_who_has_a_counterpart_the_unlikely_are_left_for_last() -> None:
    some = cards([0.001] * 50 + [0.5] * 50, unlinked=tuple(range(50)))
    nothing = Reach.of(some, np.empty((0, 3), dtype=np.int64))
    first = {
        judged: int((queues.informative(replace(some, judged=judged), nothing, nobody(some))[:50] < 50).sum())
        for judged in (False, True)
    }
    assert first[True] <= 1
    assert first[False] > 10


def test_there_may_be_no_cards() -> None:
    nothing = np.empty((0, 3), dtype=np.int64)
    assert len(queues.informative(cards([]), Reach.of(cards([]), nothing), np.zeros(0, dtype=bool))) == 0


def test_links_are_ordered_by_confidence() -> None:
    some = cards([0.9, 0.5, 0.2, 0.7, 0.4], unlinked=(2, 4), kind=[0, 0, 0, 1, 0])
    assert queues.least_sure(some).tolist() == [1, 3, 0]
    assert queues.unlinked(some).tolist() == [4, 2]
    assert queues.of_type(some, "town").tolist() == [1, 0, 4, 2]
    assert queues.of_type(some, "river").tolist() == [3]
    assert queues.of_type(some, "lake").tolist() == []
    triples = np.array([(0, 7, 3), (1, 8, 2), (9, 7, 4)])
    assert queues.of_relation(some, triples, 7).tolist() == [3, 0, 4]


def test_those_who_want_one_target_come_together() -> None:
    some = cards([0.9, 0.3, 0.8, 0.6, 0.7, 0.1], target=[5, 5, 6, 7, 6, -1], unlinked=(1, 4, 5))
    assert queues.conflicts(some).tolist() == [2, 4, 0, 1]
    assert queues.conflicts(cards([0.5, 0.5], target=[-1, -1])).tolist() == []


def test_all_words_are_searched_for() -> None:
    texts = ["x:1 new york city", "x:2 york", "x:3 new york", "x:4 paris"]
    assert queues.search(texts, "York").tolist() == [1, 2, 0]
    assert queues.search(texts, "york NEW").tolist() == [2, 0]
    assert queues.search(texts, " ").tolist() == []


def test_every_card_comes_up_at_random_once() -> None:
    some = cards([0.5] * 100)
    order = queues.random(some, seed=1)
    assert sorted(order.tolist()) == list(range(100))
    assert order.tolist() != queues.random(some, seed=2).tolist()


def test_cards_are_made_of_the_tables_of_a_run() -> None:
    triples = np.array([(0, 0, 1), (0, 0, 2), (1, 1, 3), (2, 1, 3)])
    source = Graph.build(["a", "b", "c", "d"], ["in", "of"], triples)
    target = Graph.build(["x", "y", "z"], ["in"], np.array([(0, 0, 1), (1, 0, 2)]))
    links = pa.table({"source": ["c", "a", "a"], "target": ["x", "z", "y"], "confidence": [0.9, 0.6, 0.8]})
    rest = pa.table({"source": ["b", "d"], "candidate": ["x", None], "probability": [0.3, None]})
    found = Cards.of(links, rest, (source, target), judged=False)
    assert found.source.tolist() == [0, 1, 2, 3]
    assert found.target.tolist() == [1, 0, 0, -1]  # the surest of two
    assert found.linked.tolist() == [True, False, True, False]
    assert found.probability.tolist() == [0.8, 0.3, 0.9, 0.0]
    assert (found.types, found.type.tolist()) == ((), [-1] * 4)
    assert found.kind[0] == found.kind[1] == found.kind[2] != found.kind[3]  # two relations as often: the first
    assert queues.conflicts(found).tolist() == [2, 1]


# --- dealing ---


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def decide_all(dealer: Dealer, order: np.ndarray, count: int, who: str = "ann") -> list[Dealt]:
    """Deal cards to a person who decides each at once."""
    found = []
    while len(found) < count and (dealt := dealer.next(who, "informative", order)) is not None:
        found.append(dealt)
        dealer.decide([dealt.card])
    return found


def test_every_fifth_card_is_the_next_of_the_sample() -> None:
    sample = [(90 + number, 0.1) for number in range(5)]
    dealer = Dealer(np.arange(100), sample)
    dealt = decide_all(dealer, np.arange(90), 20)
    assert [each.card for each in dealt if each.sampled is not None] == [90, 91, 92, 93]
    assert all((each.sampled is not None) == (number % EVERY == 0) for number, each in enumerate(dealt, 1))
    assert dealer.answered == 4
    assert len({each.card for each in decide_all(dealer, np.arange(90), 100)}) == 95 - 20  # all that is left
    assert dealer.next("ann", "informative", np.arange(90)) is None


def test_a_card_of_the_sample_counts_whatever_queue_it_came_from() -> None:
    dealer = Dealer(np.arange(10), [(3, 0.5), (0, 0.2)])
    first = dealer.next("ann", "least sure", np.arange(10))
    assert first == Dealt(0, "least sure", 0.2)
    dealer.decide([0])
    assert dealer.answered == 0  # the sample has a gap
    dealer.decide([3])
    assert dealer.answered == 2
    dealer.decide([3], decided=False)
    assert dealer.answered == 0


def test_the_first_card_of_a_text_is_found_sorted_or_not() -> None:
    column = ["b", "", "a", "b", "é", "a"]
    texts = Texts(pa.array(column, pa.large_string()))
    for _ in range(2):
        assert list(texts) == column
        assert [texts.first(each) for each in ("a", "b", "é", "", "c")] == [2, 0, 4, 1, None]
        texts.sort()


def test_nobody_is_dealt_a_card_that_lies_open_or_is_decided() -> None:
    clock, order = Clock(), np.arange(4)
    dealer = Dealer(np.arange(4), clock=clock)
    people = ["ann", "bob", "cid", "dot", "eve"]
    dealt = {who: dealer.next(who, "random", order) for who in people}
    assert [each and each.card for each in dealt.values()] == [0, 1, 2, 3, None]
    assert dealer.next("ann", "random", order) == dealt["ann"]  # again, after a reload
    dealer.decide([0])
    assert dealer.next("ann", "random", order) is None
    clock.now = LEASE - 1
    dealer.renew("bob")
    clock.now = LEASE + 1
    again = [dealer.next(who, "random", order) for who in ("ann", "eve", "bob")]
    assert [each and each.card for each in again] == [2, 3, 1]
    dealer.decide([0], decided=False)
    assert dealer.next("cid", "random", order) == Dealt(0, "random", None)


def test_a_card_may_be_skipped_and_the_queue_changed() -> None:
    dealer = Dealer(np.arange(6))
    assert [dealer.next("ann", "random", np.arange(6), skip=skip).card for skip in ([], [0], [0, 1])] == [0, 1, 2]  # type: ignore[union-attr]
    assert dealer.next("ann", "unlinked", np.array([5, 4])) == Dealt(5, "unlinked", None)
    assert dealer.next("bob", "random", np.arange(6)) == Dealt(3, "random", None)  # the first three lie open


@pytest.mark.parametrize("sample", [[], [(card, 0.1) for card in range(40, 60)]])
def test_never_ten_of_a_kind_in_a_row(sample: list[tuple[int, float]]) -> None:
    kind = np.array([0] * 60 + [1] * 10)
    dealt = decide_all(Dealer(kind, sample), np.arange(70), 70)
    told = "".join(str(kind[each.card]) for each in dealt[:60])
    assert "0" * (IN_A_ROW + 1) not in told
    assert len(dealt) == 70
    assert len(decide_all(Dealer(kind), np.arange(60), 60)) == 60  # a queue that has only one kind


def test_the_sample_is_dealt_also_where_all_cards_are_of_one_kind() -> None:
    """As in a plain table: a card that is like the last ones gives way to others only where there are others."""
    dealer = Dealer(np.zeros(100, dtype=np.int64), [(card, 0.1) for card in range(60, 100)])
    dealt = decide_all(dealer, np.arange(60), 50)
    assert sum(each.sampled is not None for each in dealt) == 50 / EVERY == dealer.answered


def test_a_hundred_thousand_links_are_quick() -> None:
    draw, count = np.random.default_rng(0), 100_000
    triples = np.stack(
        [draw.integers(0, count, 400_000), draw.integers(0, 50, 400_000), draw.integers(0, count, 400_000)], 1
    )
    begun = time.process_time()
    kind = queues.kinds(draw.integers(0, 20, count), np.arange(count), triples)
    some = Cards(np.arange(count), np.arange(count), draw.random(count) < 0.9, draw.random(count), kind, (), kind)
    order = queues.informative(some, Reach.of(some, triples), nobody(some))
    assert len(order) == count
    assert time.process_time() - begun < 5
    dealer = Dealer(kind, [(int(card), 0.01) for card in draw.choice(count, 1000, replace=False)])
    begun = time.process_time()
    assert len(decide_all(dealer, order, 200)) == 200
    assert (time.process_time() - begun) / 200 < 0.02
