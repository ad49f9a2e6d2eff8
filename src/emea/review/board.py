"""The cards of a run on the table: which are decided, which lie open with whom, which is next, and how good it is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea.errors import InputError
from emea.review import queues
from emea.review.cards import Reviewed
from emea.review.dealer import Dealer
from emea.review.decision import Decision
from emea.review.decisions import Decisions
from emea.review.estimates import Answer, Sample, estimate
from emea.review.queues import Cards, Reach
from emea.review.tables import numbers, single

if TYPE_CHECKING:
    from emea.review.entities import Entities

SAMPLED, LARGEST_SHARE = 400, 1 / 4  # cards of the probability sample, and of all cards at most
SEED = 0  # of the sample: the same each time the page is opened
STALE = 50  # decisions after which the most informative cards are chosen anew
KEPT = 32  # orders that are kept
BULK = "bulk"  # stands for the queue of what was accepted without a look at each
NAMES = {"least_sure": "least sure", "of_type": "type", "of_relation": "relation"}  # of queues, in requests
QUEUES = ("informative", "least_sure", "conflicts", "of_type", "of_relation", "search", "unlinked", "random")
WANTED = {"of_type": "type", "of_relation": "relation", "search": "text"}  # what these must be given
NO_TRIPLES = np.zeros((0, 3), dtype=np.int64)


class Board:
    """The cards of one run, shared by all who decide on them."""

    def __init__(self, reviewed: Reviewed, decisions: Decisions) -> None:
        self.reviewed, self.decisions, self._lock = reviewed, decisions, threading.RLock()
        self.sample: Sample | None = None
        if reviewed.linked.any():
            n = max(1, min(SAMPLED, int(len(reviewed) * LARGEST_SHARE)))
            linked, others = reviewed.probability[reviewed.linked], reviewed.probability[~reviewed.linked]
            self.sample = Sample.draw(linked, others, n, SEED)
        chances = [] if self.sample is None else [self.sample.cards.tolist(), self.sample.probability.tolist()]
        self.dealer = Dealer(np.zeros(len(reviewed), dtype=np.int64), list(zip(*chances, strict=True)))
        self._seen, self._since, self._choosing = 0, 0, False
        self._orders: dict[tuple[str, str], np.ndarray] = {}
        self._texts: list[str] | None = None
        self._catch_up()
        self.rebuild()

    def rebuild(self) -> None:
        """Order the cards by what is known of them now: again when the graphs have been read."""
        cards, triples = _cards(self.reviewed)
        reach = Reach.of(cards, triples[0])
        first = queues.informative(cards, reach, self.dealer.decided.copy())
        with self._lock:
            self._cards, self._reach, self._triples = cards, reach, triples
            self._orders, self._texts, self.dealer.kind = {("informative", ""): first}, None, cards.kind

    def next(self, who: str, queue: str, value: str, skip: Iterable[str]) -> str | None:
        """The next source of a queue for a person, who has it open from now on; None if there is none left."""
        number = self.reviewed.number
        with self._lock:
            self._catch_up()
            order = self._order(queue, value)
            found = self.dealer.next(who, queue, order, [number[each] for each in skip if each in number])
        self._choose_anew()
        return None if found is None else self.reviewed.source[found.card]

    def renew(self, who: str) -> None:
        """A person is still there: what lies open with them stays theirs."""
        with self._lock:
            self.dealer.renew(who)

    def sampled(self, source: str) -> float | None:
        """The probability with which a source was drawn, if it is in the sample."""
        card = self.reviewed.number.get(source)
        return None if card is None else self.dealer.sample.get(card)

    def looked_at(self, source: str) -> Decision | None:
        """The decision on a source; None if it was accepted among many, and is to be looked at for the sample."""
        found = self.decisions.decided(source)
        return None if found is not None and _unseen(found) and self.sampled(source) is not None else found

    @property
    def decided(self) -> np.ndarray:
        """Which cards are decided, [cards] bool, those accepted among many included."""
        found = np.zeros(len(self.reviewed), dtype=bool)
        found[[self.reviewed.number[each] for each in self.decisions.standing() if each in self.reviewed.number]] = True
        return found

    def queues(self) -> list[dict[str, Any]]:
        """All queues, and how many cards wait in those that need no choice."""
        with self._lock:
            self._catch_up()
            waiting = {name: None if name in WANTED else self._order(name, "") for name in QUEUES}
            decided = self.dealer.decided.copy()
        told = []
        for name, order in waiting.items():
            title, about = queues.TITLES[NAMES.get(name, name)]
            count = None if order is None else int((~decided[order]).sum())
            told.append({"name": name, "title": title, "about": about, "count": count})
        return told

    def types(self) -> list[dict[str, Any]]:
        """The types of the cards, the most frequent first."""
        count = np.bincount(self._cards.type[self._cards.type >= 0], minlength=len(self._cards.types))
        order = np.argsort(-count, kind="stable").tolist()
        return [{"name": self._cards.types[each], "count": int(count[each])} for each in order if count[each]]

    def type_of(self, card: int) -> str:
        """The types of a card's source, joined by |; empty if it has none."""
        number = int(self._cards.type[card])
        return self._cards.types[number] if number >= 0 else ""

    def texts(self) -> list[str]:
        """Label and name of each card's source, in lower case, [cards]."""
        found = self._texts
        if found is None:
            both = zip(self.reviewed.label, self.reviewed.source, strict=True)
            self._texts = found = [f"{label}\n{name}".lower() for label, name in both]
        return found

    def estimate(self) -> dict[str, Any]:
        """Precision and recall as far as the sample tells, and whether one can stop."""
        if self.sample is None:
            return {"precision": None, "recall": None, "stop": {"yes": False, "why": "There are no links to judge."}}
        answers: dict[int, Answer] = {}
        for card in self.sample.order.tolist():  # only those before the first without an answer count
            made = self.decisions.decided(self.reviewed.source[card])
            if made is None or _unseen(made):
                break
            proposed = self.reviewed.target[card] if self.reviewed.linked[card] else None
            answers[card] = Answer.of(made.verdict, made.target, proposed)
        found = estimate(self.sample, answers)
        told: dict[str, Any] = {
            name: getattr(found, name) for name in ("answered", "look", "next_look", "unsure", "more")
        }
        known = found.look > 0
        for name, prefix in (("precision", ""), ("recall", "recall_")):
            figure = getattr(found, name)
            told[name] = _number(figure.value) if known else None
            told |= {f"{prefix}{end}": _number(getattr(figure, end)) if known else None for end in ("low", "high")}
        told["strata"] = [_stratum(each) for each in found.strata] if known else []
        return {**told, "stop": {"yes": found.stop, "why": found.why}}

    def _catch_up(self) -> None:
        """Take in what was decided and undone since, here or elsewhere."""
        changed = self.decisions.changes(self._seen)
        self._seen, self._since = self._seen + len(changed), self._since + len(changed)
        for source in dict.fromkeys(changed):
            card = self.reviewed.number.get(source)
            if card is not None:
                self.dealer.decide([card], decided=self.looked_at(source) is not None)

    def _order(self, queue: str, value: str) -> np.ndarray:
        if queue not in QUEUES:
            raise InputError(f"found the queue '{queue}', expected one of {', '.join(QUEUES)}")
        if queue in WANTED and not value:
            raise InputError(f"found the queue {queue} without {WANTED[queue]}, expected one to choose by")
        key = queue, value if queue in WANTED else ""
        if key not in self._orders:
            for old in list(self._orders)[len(QUEUES) : -KEPT]:
                del self._orders[old]
            self._orders[key] = self._made(queue, value)
        return self._orders[key]

    def _made(self, queue: str, value: str) -> np.ndarray:
        if queue == "of_type":
            return queues.of_type(self._cards, value)
        if queue == "of_relation":
            return queues.of_relation(self._cards, self._triples[0], self._relation(value))
        if queue == "search":
            return queues.search(self.texts(), value)
        if queue == "random" and self.sample is not None:
            return self.sample.order  # each of these cards counts for the estimate
        make: Callable[[Cards], np.ndarray] = getattr(queues, queue)
        return make(self._cards)

    def _relation(self, name: str) -> int:
        known = [] if self.reviewed.entities is None else self.reviewed.entities[0].graph.relations.to_pylist()
        if name not in known:
            raise InputError(
                f"found the relation '{name}', expected one of the source graph, which must have been read"
            )
        return int(known.index(name))

    def _choose_anew(self) -> None:
        """Look for the most informative cards again after some decisions, while the old order goes on."""
        with self._lock:
            if self._since < STALE or self._choosing:
                return
            self._since, self._choosing = 0, True
        threading.Thread(target=self._chosen, daemon=True).start()

    def _chosen(self) -> None:
        cards, reach = self._cards, self._reach
        found = queues.informative(cards, reach, self.dealer.decided.copy())
        with self._lock:
            if cards is self._cards:
                self._orders["informative", ""] = found
            self._choosing = False


def _unseen(decision: Decision) -> bool:
    """Whether it was made for many at once."""
    return decision.shown.get("queue") == BULK


def _cards(reviewed: Reviewed) -> tuple[Cards, tuple[np.ndarray, np.ndarray]]:
    """What the queues need to know, with the triples of both graphs as far as they have been read."""
    types, triples = single(reviewed.names["source_type"]), (NO_TRIPLES, NO_TRIPLES)
    names = [single(reviewed.names[side]) for side in ("source", "target")]
    source = np.arange(len(reviewed))
    target = np.where(numbers(pc.binary_length(names[1])) > 0, numbers(pc.dictionary_encode(names[1]).indices), -1)
    if reviewed.entities is not None:
        ours, theirs = reviewed.entities
        triples = ours.triples, theirs.triples
        source, target = (_positions(each, column) for each, column in zip((ours, theirs), names, strict=True))
        known = pa.array(source, mask=source < 0)
        types = pc.coalesce(ours.types.take(known), types)
        source = np.where(source < 0, len(ours.graph.entities) + np.arange(len(source)), source)  # in no triple
    told = pc.dictionary_encode(types)
    named, type_ = told.dictionary.to_pylist(), numbers(told.indices)
    if "" in named:
        type_[type_ == named.index("")] = -1
    kind = queues.kinds(type_, source, triples[0])
    about = type_, tuple(named), kind, reviewed.judged
    return Cards(source, target, reviewed.linked, reviewed.probability, *about), triples


def _positions(entities: Entities, names: pa.Array) -> np.ndarray:
    """The numbers of entities, −1 for unknown names."""
    found: np.ndarray = entities.graph.positions(names).fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _stratum(each: Any) -> dict[str, Any]:
    about = {name: getattr(each.stratum, name) for name in ("linked", "low", "high", "size")}
    interval = {"share_low": _number(each.low), "share_high": _number(each.high)}
    return {**about, "asked": each.asked, "unsure": each.unsure, "hits": each.hits, **interval}
