"""Which pairs of two graphs are judged, and what the mixture of matched and unmatched pairs is estimated from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import torch

from emea.data import Counterparts, Task
from emea.evidence.comparison import Comparison, Fields
from emea.evidence.descriptions import Description
from emea.evidence.joins import alone, joined
from emea.evidence.places import close
from emea.evidence.words import words_of
from emea.kernels.ranges import distinct
from emea.kernels.segments import segment_top
from emea.method.competition import Competition
from emea.method.copies import copies
from emea.method.profiles import Pairs
from emea.method.support import Support

BEST, LEAST = 10, 1e-3  # pairs of an entity that the loop believes most, and at least so much, are judged
TIED = 32  # pairs of an entity by words up to which ties for the last place are judged: more say nothing of any
FEWEST = 10  # pairs to start from, below which those count whose kinds do not fit
SURE = 0.8  # confidence of the loop's links from which the judge starts
RANDOM_PAIRS = 4000  # by which chance is measured
MOST_WITHIN = 400_000  # pairs of a graph that share rare values or words and are compared: a sample if there are more
KIND_RANGE = (-5.0, 2.0)  # of what kinds say
SHARE_PRIOR = 5.0  # entities of a kind of which as many are linked as of all


@dataclass(frozen=True, eq=False)
class Asked:
    """What is judged."""

    pairs: np.ndarray  # [pairs, 2]
    belief: np.ndarray  # [pairs] of the loop
    start: np.ndarray  # [pairs] bool: linked at the start
    decided: np.ndarray  # [pairs] 1: known to be right, 0: known to be wrong, NaN: open


@dataclass(frozen=True, eq=False)
class Sample:
    """What the mixture is estimated from."""

    pairs: np.ndarray  # [pairs, 2] between the graphs
    evidence: Pairs
    belief: np.ndarray  # [pairs] of the loop
    start: np.ndarray  # [pairs] bool: linked at the start
    decided: np.ndarray  # [pairs] 1: known to be right, 0: known to be wrong, NaN: open
    random_kind: np.ndarray  # [random pairs] of the source; none of these pairs is one of those above
    within: Pairs  # pairs of different entities of one graph
    support: Support  # for the pairs, then the random ones
    sources: np.ndarray  # [kinds] entities that may be linked
    targets: np.ndarray  # [kinds]
    sizes: tuple[int, int]  # entities of both graphs
    fields: Fields  # in which entities are compared
    competition: Competition
    again: Callable[[np.ndarray], list[Sample]]  # with other fields, if these pairs, [pairs] bool, tell of some

    def types(self, probability: np.ndarray) -> np.ndarray:
        """How much more often than by chance the kinds of a pair's entities are linked, as a logarithm, [pairs]."""
        source, target = self.evidence.kind, self.evidence.target_kind
        said: np.ndarray = np.where((source > 0) & (target > 0), self.by_kinds(probability)[source, target], 0.0)
        return said

    def by_kinds(self, probability: np.ndarray) -> np.ndarray:
        """How much more often than by chance kinds are linked, as a logarithm, [source kinds, target kinds]; where one
        of them is unknown, how much more often the other one is linked at all."""
        source, target, targets = self.evidence.kind, self.evidence.target_kind, len(self.targets)
        known = (source > 0) & (target > 0)
        linked = np.bincount(source[known] * targets + target[known], probability[known], len(self.sources) * targets)
        linked = linked.reshape(-1, targets)
        linked[0], linked[:, 0] = linked.sum(0), linked.sum(1)
        ratio = _beyond_chance(linked, self.targets)
        ratio[:, 0] = _beyond_chance(linked.T, self.sources)[0]
        ratio[0, 0] = 0.0
        return ratio

    def per_source(self, probability: np.ndarray) -> np.ndarray:
        """Expected links of a source of each kind, [kinds]."""
        everywhere = probability.sum() / max(1, self.sources.sum())
        matched = np.bincount(self.evidence.kind, probability, len(self.sources)) + SHARE_PRIOR * everywhere
        expected: np.ndarray = matched / (self.sources + SHARE_PRIOR)
        return expected


def _beyond_chance(linked: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """How much more often the kinds of the rows are linked to those of the columns than these are frequent."""
    frequency = sizes / max(1, sizes[1:].sum())
    share = (linked + 0.5 * frequency) / (linked[:, 1:].sum(1, keepdims=True) + 0.5)
    with np.errstate(divide="ignore", invalid="ignore"):  # if the kinds of all are known
        ratio: np.ndarray = np.log(share / frequency).clip(*KIND_RANGE)
    return ratio


def consider(
    first: Description, second: Description, believed: Counterparts, given: Task, competition: Competition
) -> Asked:
    """The pairs that the loop believes most, that share a rare value or rare words, or that are decided. At the start
    the loop's surest links count as links, pairs that alone share some value, and the seeds."""
    table, width = believed.candidates, len(second.linkable)
    confident = believed.confidence.double().cpu().numpy()
    near = segment_top(table.source, table.sources, believed.forward, BEST)
    near |= segment_top(table.target, table.targets, believed.backward, BEST)
    near &= torch.maximum(believed.forward, believed.backward) > LEAST
    every = np.stack([table.source.cpu().numpy(), table.target.cpu().numpy()], 1)
    linked = competition.winners(believed).cpu().numpy()
    linked = linked[confident[linked] >= SURE]
    fits = _fitting(first, second)
    seeds, checked = (torch.stack([links.source, links.target], 1).numpy() for links in (given.seeds, given.checked))
    single = alone(first.values, second.values, fits)
    shared = joined(first.values, second.values, (len(first.linkable), width), TIED)
    there, sole = close(first.position, second.position)
    pairs = distinct(np.concatenate([every[near.cpu().numpy()], shared, there, single, seeds, checked]))
    pairs = pairs[first.linkable[pairs[:, 0]] & second.linkable[pairs[:, 1]]]
    key, own = keys_of(pairs, width), keys_of(every, width)
    judged = np.isin(own, key)
    belief = np.zeros(len(pairs))
    belief[np.searchsorted(key, own[judged])] = confident[judged]
    certain = np.concatenate([every[linked], there[sole]])
    start = np.isin(key, keys_of(np.concatenate([certain[fits(certain)], single, seeds]), width))
    if start.sum() < FEWEST:  # which does not tell which attributes correspond, and without these chance is not seen
        single = alone(first.values, second.values, lambda pairs: np.ones(len(pairs), dtype=bool))
        start |= np.isin(key, keys_of(np.concatenate([certain, single]), width))
    return Asked(pairs, belief, start, _decisions(pairs, given, competition))


def compare(
    first: Description, second: Description, asked: Asked, competition: Competition, *, spare: bool = False
) -> Sample:
    """Compare the pairs, pairs at random, and pairs within each graph."""
    draw, width, pairs = np.random.default_rng(0), len(second.linkable), asked.pairs
    sides, links, comparison = (first, second), pairs[asked.start], Comparison(first, second)
    fields = comparison.fields(links, draw, spare=spare)

    def again(linked: np.ndarray) -> list[Sample]:
        told = replace(asked, start=linked)
        return [compare(*sides, told, competition, spare=each) for each in _others(comparison, pairs[linked], fields)]

    named = first.naming_kinds, second.naming_kinds
    if min(named) >= 0 and fields.source[named[0]] == fields.target[named[1]] >= 0:  # compared as values already
        first, second = first.without_kinds(), second.without_kinds()
    at_random = _at_random(first, second, keys_of(pairs, width), draw)
    levels, frequent, _ = comparison.levels(pairs, fields)
    within = _joint(
        [
            _within(side, fields.within(place), draw, mates, place * len(first.linkable))
            for place, (side, mates) in enumerate(
                ((first, _alike(second, first, links[:, ::-1])), (second, _alike(first, second, links)))
            )
            if competition.distinct[place] or not any(competition)  # duplicates are not different things
        ]
    )
    return Sample(
        pairs=pairs,
        evidence=Pairs(
            pairs + np.array([0, len(first.linkable)]),
            levels,
            frequent,
            np.zeros(len(pairs)),
            first.kind[pairs[:, 0]] + 1,
            second.kind[pairs[:, 1]] + 1,
            np.ones(len(pairs)),
        ),
        belief=asked.belief,
        start=asked.start,
        decided=asked.decided,
        random_kind=first.kind[at_random[:, 0]] + 1,
        within=within,
        support=Support(first, second, np.concatenate([pairs, at_random])),
        sources=np.bincount(first.kind[first.linkable] + 1, minlength=len(first.kinds) + 1),
        targets=np.bincount(second.kind[second.linkable] + 1, minlength=len(second.kinds) + 1),
        sizes=(len(first.linkable), width),
        fields=fields,
        competition=competition,
        again=again,
    )


def _others(comparison: Comparison, links: np.ndarray, fields: Fields) -> list[bool]:
    """Whether attributes only stand in, in each of the two ways in which the links tell of other fields."""
    known, found = [fields], []
    for spare in (False, True) if len(links) >= FEWEST else ():
        known.append(comparison.fields(links, np.random.default_rng(0), spare=spare))
        found += [] if any(map(known[-1].equals, known[:-1])) else [spare]
    return found


def _at_random(first: Description, second: Description, known: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """Pairs at random but those with known keys, [pairs, 2]."""
    own = [np.flatnonzero(side.linkable) for side in (first, second)]
    drawn = RANDOM_PAIRS if all(map(len, own)) else 0
    pairs = np.stack([draw.choice(side, drawn) if drawn else side[:0] for side in own], 1)
    return pairs[~np.isin(keys_of(pairs, len(second.linkable)), known)]


def keys_of(pairs: np.ndarray, width: int) -> np.ndarray:
    """A number for each pair, [pairs]."""
    keys: np.ndarray = pairs[:, 0] * width + pairs[:, 1]
    return keys


def _fitting(first: Description, second: Description) -> Callable[[np.ndarray], np.ndarray]:
    """Whether the entities of pairs may be linked, and none of their kinds has a namesake in the other graph that is
    not the other's kind, [pairs] bool."""
    akin = _akin(first.kinds, second.kinds)
    namesake: np.ndarray = np.logical_or.outer(akin.any(1), akin.any(0))
    namesake[0], namesake[:, 0] = False, False  # nothing is known about these

    def fits(pairs: np.ndarray) -> np.ndarray:
        source, target = pairs.T
        kinds = first.kind[source] + 1, second.kind[target] + 1
        found: np.ndarray = first.linkable[source] & second.linkable[target] & (akin | ~namesake)[kinds]
        return found

    return fits


def _akin(first: tuple[str, ...], second: tuple[str, ...]) -> np.ndarray:
    """Whether the names of two kinds share a word, [kinds, kinds] bool; not in the row and column of "unknown"."""
    akin = np.zeros((len(first) + 1, len(second) + 1), dtype=bool)
    for (row, one), (column, other) in product(enumerate(first, 1), enumerate(second, 1)):
        akin[row, column] = not set(words_of(one)).isdisjoint(words_of(other))
    return akin


def _decisions(pairs: np.ndarray, given: Task, competition: Competition) -> np.ndarray:
    """What is known about each pair, [pairs]: 1 for seeds, 0 for pairs that are ruled out, NaN for others."""
    width = len(given.target.entities)
    decided = np.full(len(pairs), np.nan)
    decided[np.isin(pairs[:, 0], given.unmatched.source) | np.isin(pairs[:, 1], given.unmatched.target)] = 0.0
    seeds, out = (torch.stack([links.source, links.target], 1).numpy() for links in (given.seeds, given.exclusions))
    for once, own, known in zip(competition, pairs.T, seeds.T, strict=True):
        decided[np.isin(own, known) & once] = 0.0
    decided[np.isin(keys_of(pairs, width), keys_of(out, width))] = 0.0
    decided[np.isin(keys_of(pairs, width), keys_of(seeds, width))] = 1.0
    return decided


def _within(side: Description, fields: Fields, draw: np.random.Generator, mates: np.ndarray, before: int) -> Pairs:
    """Pairs of different entities of a graph: those that share rare values or words, or a sample that stands for them,
    and some at random, which stand for all others. `mates` are the other graph's kinds for those of this one, [kinds];
    they replace those of the second graph, before which the first one has so many entities."""
    size, own = len(side.linkable), np.flatnonzero(side.linkable)
    near = joined(side.values, side.values, (size, size))
    near = distinct(np.concatenate([near[near[:, 0] < near[:, 1]], close(side.position, side.position)[0]]))
    known = keys_of(near, size)
    near = near[~(copies(side, near) | _rivals(side, mates, near))]
    other = np.sort(draw.choice(own, (RANDOM_PAIRS if len(own) else 0, 2)), 1)
    other = other[(other[:, 0] < other[:, 1]) & ~np.isin(keys_of(other, size), known)]
    rest = max(0.0, len(own) * (len(own) - 1) / 2 - len(known))
    each = max(1.0, len(near) / MOST_WITHIN)
    near = near if each == 1 else near[np.sort(draw.choice(len(near), MOST_WITHIN, replace=False))]
    weight = np.concatenate([np.full(len(near), each), np.full(len(other), rest / max(1, len(other)))])
    pairs = np.concatenate([near, other])
    levels, frequent, less = Comparison(side, side).levels(pairs, fields)
    one, other = side.kind[pairs].T + 1
    kinds = (mates[one], other) if before else (one, mates[other])
    return Pairs(pairs + before, levels, frequent, less, *kinds, weight)


def _rivals(side: Description, mates: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Whether the entities of pairs are of different types that are linked to the same one, [pairs] bool: a station and
    its town have the name and the place of an airport, which says nothing about two airports. Kinds that an attribute
    names are no types: people move to other states."""
    one, other = side.kind[pairs].T + 1
    found: np.ndarray = (one != other) & (mates[one] == mates[other]) & (mates[one] > 0) & (side.naming_kinds < 0)
    return found


def _alike(first: Description, second: Description, links: np.ndarray) -> np.ndarray:
    """The kind of source that each kind of target is linked to most often, [kinds]; 0 if to none."""
    count = np.zeros((len(second.kinds) + 1, len(first.kinds) + 1))
    np.add.at(count, (second.kind[links[:, 1]] + 1, first.kind[links[:, 0]] + 1), 1)
    return np.where(count.any(1), count.argmax(1), 0)


def _joint(parts: list[Pairs]) -> Pairs:
    """The pairs of all parts."""
    columns = zip(*(vars(part).values() for part in parts), strict=True)
    return Pairs(*(np.concatenate(column) for column in columns))
