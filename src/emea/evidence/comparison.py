"""Which attributes of two graphs correspond, and how well two entities agree in each field of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from emea.evidence.descriptions import Description
from emea.evidence.places import distance_levels
from emea.evidence.similarity import CONTAINED, LONG, Similarity
from emea.evidence.values import Values
from emea.kernels.limits import VALUE_BLOCK
from emea.kernels.ranges import among, blocks, spread

OTHERWISE = 0.995  # similarity of values that are equal, but not under the attributes that correspond best
LEVELS = np.array(
    [1.0, OTHERWISE, 0.99, 0.93, 0.87, 0.8, 0.7, 0.55]
)  # similarities from which a pair has level 0, 1, …
UNKNOWN = -1  # the level of a pair of which one has no value
MOST_VALUES = 16  # of an entity in a field that are compared with those of another
AGREE = (  # similarity of values that count as agreeing when attributes are matched, and how often they have to;
    (0.85, 0.0, False),  # and whether it is enough that the words of one are among those of the other
    (CONTAINED, 0.5, False),  # for attributes without any like them; also days of one month, which tell entities apart
    (0.85, 0.5, True),  # an address has the street of the other graph inside
    (LEVELS[-1], 0.0, False),  # if there are no others: links whose names are a little alike are judged by these
)
FIRST_VALUES = 6  # of an entity under an attribute that are compared when attributes are matched
LEAST_AGREEING = 3  # links that agree in two attributes, for these to correspond
BEYOND_CHANCE = 3.0  # standard deviations by which links differ less often than entities at random, at least
MOST_LINKS = 4000  # from which the correspondence of attributes is learned
SURE = 50.0  # times more often than by chance: attributes that agree so often may correspond to several
NEWS = 0.05  # share of the links that agree in attributes which are not each other's best, and not in those that are


@dataclass(frozen=True, eq=False)
class Fields:
    """Attributes that correspond, in groups: the fields in which entities are compared."""

    source: np.ndarray  # [attributes] field, −1 if nothing corresponds
    target: np.ndarray  # [attributes]
    main: np.ndarray  # [fields, 2] the attributes that correspond best
    texts: np.ndarray  # [fields] bool: long values, which everybody writes differently
    inside: np.ndarray  # [fields] bool: those of one graph stand inside longer ones of the other
    spare: np.ndarray  # [fields] bool: other attributes than the best only stand in where a pair does not have these

    def __len__(self) -> int:
        return len(self.main)

    def equals(self, other: Fields) -> bool:
        """Whether they are the same."""
        return all(map(np.array_equal, vars(self).values(), vars(other).values()))

    def swap(self) -> Fields:
        """The same from the target to the source."""
        return replace(self, source=self.target, target=self.source, main=self.main[:, ::-1])

    def within(self, side: int) -> Fields:
        """The same for comparing entities of one graph with each other. Where the other graph has one attribute for
        several of this one, these are compared with the best of them: names with names and synonyms. Synonyms agree
        with synonyms more often than unmatched pairs of the two graphs do."""
        own, other = (self.source, self.target) if side == 0 else (self.target, self.source)
        one = np.bincount(other[other >= 0], minlength=len(self)) == 1
        best = np.isin(np.arange(len(own)), self.main[:, side])
        narrow = np.where(best | ~np.append(one, False)[own], own, -1)
        return Fields(own, narrow, self.main[:, [side, side]], self.texts, np.zeros_like(self.inside), self.spare)


@dataclass(frozen=True, eq=False)
class _Agreement:
    """In which attributes the entities of links agree."""

    both: np.ndarray  # [attributes, attributes] links whose entities have values of both
    agreeing: list[np.ndarray]  # of these, those that agree in each sense
    kind: np.ndarray  # attributes, as the place in these tables,
    link: np.ndarray  # and the link of each agreement in the first sense

    def news(self, more: np.ndarray, best: np.ndarray) -> np.ndarray:
        """Which of some pairs of attributes agree in links in which neither agrees with its best, in a share of all."""
        place = np.arange(best.size).reshape(best.shape)
        found = np.zeros_like(more)
        for row, column in zip(*np.nonzero(more), strict=True):
            links = self.link[self.kind == place[row, column]]
            known = self.link[np.isin(self.kind, [*place[row, best[row]], *place[best[:, column], column]])]
            found[row, column] = (~np.isin(links, known)).sum() >= NEWS * self.both[row, column]
        return found


class Comparison:
    """Compares entities of two graphs, or of a graph with itself."""

    def __init__(self, first: Description, second: Description) -> None:
        self.sides = (first, second)
        self.similar = Similarity(first.values.forms, second.values.forms)
        self.width = max(1, len(second.values.forms))
        self.known = [(np.empty(0, dtype=np.int64), np.empty(0))] * 2  # pairs of forms by key, and their similarity

    def similarity(self, one: np.ndarray, other: np.ndarray, *, inside: bool = False) -> np.ndarray:
        """Of pairs of forms, each computed once; also if one only has to be inside the other."""
        key, index = np.unique(one * self.width + other, return_inverse=True)
        keys, known = self.known[inside]
        new = key[~among(key, keys)]
        if len(new):
            pairs = np.stack([new // self.width, new % self.width], 1)
            found = self.similar.inside(pairs, self.similarity(*pairs.T)) if inside else self.similar(pairs)
            keys = np.concatenate([keys, new])
            order = np.argsort(keys, kind="stable")  # which merges what is sorted
            keys, known = self.known[inside] = keys[order], np.concatenate([known, found])[order]
        similarity: np.ndarray = known[np.searchsorted(keys, key)][index.ravel()]
        return similarity

    def fields(self, links: np.ndarray, draw: np.random.Generator, *, spare: bool = False) -> Fields:
        """Attributes correspond if linked entities agree in them more often than entities at random, and each is the
        best for the other, or links agree that otherwise would not; the others, if most linked entities are alike in
        them. If `spare`, several that correspond to one only stand in for the best of them."""
        links = links[:: max(1, math.ceil(len(links) / MOST_LINKS))]
        shuffled = np.stack([links[:, 0], draw.permutation(links[:, 1])], 1)
        shuffled = shuffled[shuffled[:, 1] != links[:, 1]]  # of few links, some stay in place
        told, by_chance = (self._agreement(pairs) for pairs in (links, shuffled))
        gain, (corresponding, holding) = np.zeros(told.both.shape), np.zeros((2, *told.both.shape), dtype=bool)
        for agree, chance, (alike, least, inside) in zip(told.agreeing, by_chance.agreeing, AGREE, strict=True):
            free = ~np.logical_or.outer(corresponding.any(1), corresponding.any(0))
            if alike < CONTAINED and corresponding.any():
                break
            m, u = (agree + 0.5) / (told.both + 1), (chance + 0.5) / (by_chance.both + 1)
            kept = free & (told.both >= max(LEAST_AGREEING, 0.02 * len(links))) & (agree >= LEAST_AGREEING)
            kept &= (m > np.maximum(2 * u, least)) | _differ_less(told.both, agree, u)
            own = np.where(kept, told.both * (m * np.log(m / u) + (1 - m) * np.log((1 - m) / (1 - u))), 0.0)
            best = [(own > 0) & (own >= own.max(axis, keepdims=True, initial=0)) for axis in (0, 1)]
            mutual = best[0] & best[1]
            more = (best[0] | best[1] | (kept & (m / u > SURE))) & ~mutual
            gain, corresponding = gain + own, corresponding | mutual | told.news(more & ~inside, mutual)
            holding |= mutual & inside
        source, target, main = _grouped(corresponding, gain)
        first, second = (side.values for side in self.sides)
        texts = [
            _are_texts(first, source == field) and _are_texts(second, target == field) for field in range(len(main))
        ]
        several = np.array([max((source == field).sum(), (target == field).sum()) > 1 for field in range(len(main))])
        spared = several.astype(bool) & spare
        return Fields(source, target, main, np.array(texts, dtype=bool), holding[main[:, 0], main[:, 1]], spared)

    def _agreement(self, links: np.ndarray) -> _Agreement:
        """In which attributes the entities of links agree."""
        first, second = (
            _Held.build(side.values, len(side.linkable), FIRST_VALUES, by_attribute=True) for side in self.sides
        )
        row, one, other = _crossed(first, second, links)
        sizes = len(self.sides[0].values.attributes), len(self.sides[1].values.attributes)
        kind = first.attribute[one] * sizes[1] + second.attribute[other]
        key, index = np.unique(row * math.prod(sizes) + kind, return_inverse=True)
        most = np.zeros((2, len(key)))
        for inside in (False, True):
            similarity = self.similarity(first.value[one], second.value[other], inside=inside)
            np.maximum.at(most[int(inside)], index.ravel(), similarity)
        kind = key % max(1, math.prod(sizes))
        weights = np.ones(len(key)), *(most[int(inside)] >= least for least, _, inside in AGREE)
        both, *agreeing = (np.bincount(kind, weight, math.prod(sizes)).reshape(sizes) for weight in weights)
        alike = most[0] >= AGREE[0][0]
        return _Agreement(both, agreeing, kind[alike], key[alike] // max(1, math.prod(sizes)))

    def levels(self, pairs: np.ndarray, fields: Fields) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """How well the pairs agree in each field and in position, [pairs, fields + 1]: 0 is best, UNKNOWN if either has
        no value; how much more frequent than usual the values are in which they are equal, as a logarithm summed over
        the fields, [pairs]; and by how much less if one of the pair did not count, [pairs]."""
        found = np.full((len(pairs), len(fields) + 1), UNKNOWN, dtype=np.int8)
        frequent, less = np.zeros((2, len(pairs)))
        for field in range(len(fields)):
            first, second = (
                _Held.build(side.values, len(side.linkable), MOST_VALUES, wanted=groups == field)
                for side, groups in zip(self.sides, (fields.source, fields.target), strict=True)
            )
            most, rarest = np.full(len(pairs), -1.0), np.full(len(pairs), np.inf)
            holders = np.bincount(second.value, minlength=self.width)
            for rows in blocks(first.count[pairs[:, 0]] * second.count[pairs[:, 1]], VALUE_BLOCK):
                row, one, other = _crossed(first, second, pairs[rows])
                main = (np.stack([first.attribute[one], second.attribute[other]], 1) == fields.main[field]).all(1)
                if fields.spare[field]:
                    kept = main | ~np.isin(row, row[main])
                    row, one, other, main = row[kept], one[kept], other[kept], main[kept]
                value = second.value[other]
                similarity = self.similarity(first.value[one], value, inside=bool(fields.inside[field]))
                equal = similarity >= 1.0
                np.maximum.at(most[rows], row, np.where(equal & ~main, OTHERWISE, similarity))
                np.minimum.at(rarest[rows], row[equal], holders[value[equal]])
            known, equal = most >= 0, np.isfinite(rarest)
            found[known, field] = len(LEVELS) - np.searchsorted(LEVELS[::-1], most[known], side="right")
            frequent[equal] += np.log(rarest[equal] / _usual(holders))
            less[equal] += np.log(rarest[equal] / (rarest[equal] - 1).clip(min=1))
        one, other = (side.position[column] for side, column in zip(self.sides, pairs.T, strict=True))
        found[:, -1] = distance_levels(one, other, UNKNOWN)
        return found, frequent, less


def _differ_less(both: np.ndarray, agree: np.ndarray, by_chance: np.ndarray) -> np.ndarray:
    """Where links differ far less often than entities at random, which agree often: most bottles have one size,
    [attributes, attributes] bool."""
    expected = both * (1 - by_chance)
    found: np.ndarray = (both - agree) < np.minimum(expected / 2, expected - BEYOND_CHANCE * np.sqrt(expected))
    return found


def _grouped(corresponding: np.ndarray, gain: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Attributes that correspond, [attributes, attributes] bool, also to the same third one, are one field: those of
    both graphs' attributes, and the attributes that correspond best in each."""
    sizes, (first, second) = corresponding.shape, np.nonzero(corresponding)
    graph = coo_matrix((np.ones(len(first)), (first, sizes[0] + second)), (sum(sizes), sum(sizes)))
    _, component = connected_components(graph, directed=False)
    groups = np.unique(component[first])
    place = np.searchsorted(groups, component).clip(max=max(0, len(groups) - 1))
    field = np.where(np.isin(component, groups), place, -1)
    main = np.zeros((len(groups), 2), dtype=np.int64)
    order = np.argsort(gain[first, second], kind="stable")  # the best is written last
    main[field[first[order]]] = np.stack([first[order], second[order]], 1)
    return field[: sizes[0]], field[sizes[0] :], main


def _usual(holders: np.ndarray) -> float:
    """How many entities have the value of one of them, on average: by so much, equal values at random are expected."""
    return float((holders.astype(float) ** 2).sum() / max(1, holders.sum()))


def _are_texts(values: Values, wanted: np.ndarray) -> bool:
    """Whether the values of some attributes, [attributes] bool, are long on average."""
    held = values.value[wanted[values.attribute]]
    return bool(len(held)) and sum(len(values.forms[form]) for form in held.tolist()) > LONG * len(held)


@dataclass(frozen=True, eq=False)
class _Held:
    """A graph's values by entity, at most so many of each entity, or of each of its attributes."""

    attribute: np.ndarray
    value: np.ndarray
    start: np.ndarray  # [entities]
    count: np.ndarray  # [entities]

    @classmethod
    def build(
        cls, values: Values, entities: int, most: int, wanted: np.ndarray | None = None, *, by_attribute: bool = False
    ) -> _Held:
        """Index the values, or those of wanted attributes, [attributes] bool."""
        rows = np.arange(len(values.entity)) if wanted is None else np.flatnonzero(wanted[values.attribute])
        rows = rows[np.lexsort((values.value[rows], values.attribute[rows], values.entity[rows]))]
        by = values.entity[rows] * (len(values.attributes) + 1) + (values.attribute[rows] if by_attribute else 0)
        rows = rows[np.arange(len(rows)) - np.searchsorted(by, by) < most]
        count = np.bincount(values.entity[rows], minlength=entities)
        return cls(values.attribute[rows], values.value[rows], np.cumsum(count) - count, count)


def _crossed(first: _Held, second: _Held, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each value of a pair's source with each of its target: row of the pair, and positions of both values."""
    row, one = spread(first.start[pairs[:, 0]], first.count[pairs[:, 0]])
    again, other = spread(second.start[pairs[row, 1]], second.count[pairs[row, 1]])
    return row[again], one[again], other
