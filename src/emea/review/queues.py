"""Queues: in which order sources come up for a decision.

A card stands for a source that can be decided. Orders are arrays of card numbers, the first to be dealt first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea.order import unique_numbers

if TYPE_CHECKING:
    from emea.data import Graph

TITLES = {  # of the queues, and what they are good for
    "informative": ("Most informative", "Doubtful links on which many others depend"),
    "least sure": ("Least sure", "Links whose confidence is lowest"),
    "conflicts": ("Conflicts", "Several sources that want the same target"),
    "type": ("A type", "Links of one type, the least sure first"),
    "relation": ("A relation", "Links of entities with one relation, the least sure first"),
    "search": ("A search", "Sources whose label or name has all the words"),
    "unlinked": ("Unlinked", "Sources without a link, the likeliest to have one first"),
    "random": ("Random", "Every source, in the random order that tells soonest how good the links are"),
}
FOUND = 0.1  # chance that a person finds a counterpart of which a run had no idea that does not judge who has none
DRAW = 0  # seed of the informative queue


@dataclass(frozen=True, eq=False)
class Cards:
    """What the queues know about each card, [cards]."""

    source: np.ndarray  # number of the source
    target: np.ndarray  # number of the linked target, or else of the likeliest candidate; −1 if there is none
    linked: np.ndarray  # bool
    probability: np.ndarray  # confidence of the link, or else probability of the candidate
    type: np.ndarray  # number of the type, −1 if unknown
    types: tuple[str, ...]  # names of the types
    kind: np.ndarray  # a number for type and main relation together: cards of a kind are alike
    judged: bool = False  # whether the run estimated who has no counterpart

    def __len__(self) -> int:
        return len(self.source)

    @classmethod
    def of(cls, links: pa.Table, unlinked: pa.Table, graphs: tuple[Graph, Graph], *, judged: bool) -> Cards:
        """From the tables `alignment` and `unlinked` of a run; of several links of a source, the surest counts."""
        from emea.formats._labels import types  # here: it loads slowly, and the page should open at once

        source, target = graphs
        ends = [
            np.concatenate([_numbers(graph, links[column]), _numbers(graph, unlinked[other])])
            for graph, column, other in ((source, "source", "source"), (target, "target", "candidate"))
        ]
        sure = np.concatenate([column.to_numpy() for column in (links["confidence"], unlinked["probability"])])
        sure = np.nan_to_num(sure.astype(np.float64))
        order = np.lexsort((-sure, ends[0]))
        number, first = np.unique(ends[0][order], return_index=True)
        rows = order[first[number >= 0]]
        told = types(source, ends[0][rows]).dictionary_encode()
        type_ = told.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        kind = kinds(type_, ends[0][rows], source.triples.cpu().numpy())
        names = tuple(told.dictionary.to_pylist())
        return cls(ends[0][rows], ends[1][rows], rows < links.num_rows, sure[rows], type_, names, kind, judged)

    @property
    def doubt(self) -> np.ndarray:
        """How much a decision would tell, [cards]: how likely the run is wrong, and a person has an answer."""
        found = 0.0 if self.judged else FOUND
        doubt: np.ndarray = ((1 - self.probability) * (self.probability + found)).clip(1e-12)
        return doubt


def _numbers(graph: Graph, names: pa.ChunkedArray) -> np.ndarray:
    """The numbers of entities, −1 for no or an unknown name."""
    found = graph.positions(pc.cast(names, pa.large_string()).combine_chunks())
    return np.asarray(found.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)


def kinds(type_: np.ndarray, source: np.ndarray, triples: np.ndarray) -> np.ndarray:
    """A number for each combination of type and main relation, [cards]: the relation that most of an entity's triples,
    [triples, 3], have."""
    ends = np.concatenate([triples[:, :2], triples[:, :0:-1]])  # entity, relation
    relations = int(ends[:, 1].max(initial=0)) + 1
    key, count = np.unique(ends[:, 0] * relations + ends[:, 1], return_counts=True)
    order = np.lexsort((-count, key // relations))
    entity, first = np.unique(key[order] // relations, return_index=True)
    main = np.full(int(max(source.max(initial=-1), entity.max(initial=-1))) + 1, -1)
    main[entity] = key[order][first] % relations
    both = (type_ + 1) * (relations + 1) + main[source] + 1
    return np.unique(both, return_inverse=True)[1]


@dataclass(frozen=True, eq=False)
class Reach:
    """Which cards bear on which: two of them if a triple joins their sources."""

    one: np.ndarray  # [neighbours]
    other: np.ndarray  # [neighbours]

    @classmethod
    def of(cls, cards: Cards, triples: np.ndarray) -> Reach:
        """From the triples of the source graph, [triples, 3]."""
        size, width = int(max(cards.source.max(initial=-1), triples[:, [0, 2]].max(initial=-1))) + 1, max(1, len(cards))
        card = np.full(size, -1)
        card[cards.source] = np.arange(len(cards))
        head, tail = card[triples[:, 0]], card[triples[:, 2]]
        known = (head >= 0) & (tail >= 0) & (head != tail)
        head, tail = head[known], tail[known]
        keys = unique_numbers(np.concatenate([head * width + tail, tail * width + head]))
        return cls(keys // width, keys % width)

    def count(self, undecided: np.ndarray) -> np.ndarray:
        """How many undecided cards each bears on, [cards]."""
        return np.bincount(self.one[undecided[self.other]], minlength=len(undecided))


def informative(cards: Cards, reach: Reach, decided: np.ndarray) -> np.ndarray:
    """What would change most, likely first: the cards are drawn one after the other, each with a chance in proportion
    to doubt × √reach. Drawn rather than sorted, because the most doubtful ones are alike: neighbours of each other, of
    one kind, and on one another's account (docs/log.md). `decided`, [cards] bool, are left out."""
    worth = cards.doubt * np.sqrt(1 + reach.count(~decided))
    luck = np.random.default_rng(DRAW).gumbel(size=len(cards))  # of a card the same after each decision
    order = np.argsort(-(np.log(worth) + luck), kind="stable")
    return np.asarray(order[~decided[order]])


def least_sure(cards: Cards) -> np.ndarray:
    """The links, the least sure first."""
    return _rising(cards, np.flatnonzero(cards.linked))


def conflicts(cards: Cards) -> np.ndarray:
    """Cards that want the same target as others, those of a target together; first where the second best claim is
    strongest."""
    claims = np.flatnonzero(cards.target >= 0)
    claims = claims[np.lexsort((claims, -cards.probability[claims], cards.target[claims]))]
    target = cards.target[claims]
    place = np.arange(len(claims)) - np.searchsorted(target, target)  # among the claims to a target
    second = np.zeros(int(target.max(initial=-1)) + 1)
    second[target[place == 1]] = cards.probability[claims[place == 1]]
    contested = np.bincount(target, minlength=len(second))[target] > 1
    claims, target, place = claims[contested], target[contested], place[contested]
    return np.asarray(claims[np.lexsort((place, target, -second[target]))])


def of_type(cards: Cards, name: str) -> np.ndarray:
    """The links of one type, the least sure first, then the unlinked."""
    number = cards.types.index(name) if name in cards.types else -2
    return _rising(cards, np.flatnonzero(cards.type == number))


def of_relation(cards: Cards, triples: np.ndarray, chosen: int) -> np.ndarray:
    """The links whose source has a relation at either end, the least sure first, then the unlinked."""
    own = triples[triples[:, 1] == chosen]
    return _rising(cards, np.flatnonzero(np.isin(cards.source, own[:, [0, 2]])))


def search(texts: Sequence[str], words: str) -> np.ndarray:
    """The cards whose text has all the words, shorter texts first; `texts` hold name and label in lower case,
    [cards]."""
    wanted = words.lower().split()
    found = [card for card, text in enumerate(texts) if all(word in text for word in wanted)] if wanted else []
    return np.array(sorted(found, key=lambda card: (len(texts[card]), card)), dtype=np.int64)


def unlinked(cards: Cards) -> np.ndarray:
    """The sources without a link, those first whose candidate is likeliest."""
    rows = np.flatnonzero(~cards.linked)
    return rows[np.lexsort((rows, -cards.probability[rows]))]


def random(cards: Cards, seed: int = 0) -> np.ndarray:
    """All cards, in random order."""
    return np.random.default_rng(seed).permutation(len(cards))


def _rising(cards: Cards, rows: np.ndarray) -> np.ndarray:
    """The linked ones by confidence, then the others, the likeliest first."""
    linked = cards.linked[rows]
    sure = np.where(linked, cards.probability[rows], -cards.probability[rows])
    return rows[np.lexsort((rows, sure, ~linked))]
