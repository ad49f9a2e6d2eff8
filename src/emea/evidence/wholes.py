"""Values that one graph has in parts: first and last name here, the whole name there."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, islice, permutations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea.evidence.names import local_names
from emea.evidence.values import NUMBER_FORM, STRING, Forms, Values
from emea.kernels.ranges import among, spread
from emea.order import unique_numbers

AND = "\u00a0+\u00a0"  # between the names of attributes that are put together: no-break spaces, which no header has
FEWEST, NEWS = 5, 0.05  # values of the other graph that parts must give beyond chance, and share of those they could
MOSTLY = 0.5  # share of the values of a part that the other graph has as they are: it need not be put together
SINGLE = 0.9  # share of an attribute's values that are the only one of their entity, and words or numbers
MOST_WORDS, LONGEST = 5.0, 200  # words of a part on average, and characters of any value
MOST_PARTS = 4  # of a whole
COLUMNS, FITTING, WHOLES = 100, 8, 20  # attributes that may be parts, or parts of one whole, and wholes
TRIED, ORDERED = 4000, 1000  # entities by which parts are found, and by which their order is
SLOTS = 2**20  # of a table that quickly tells most keys that are not those of a whole

Column = tuple[np.ndarray, np.ndarray]  # entities, and the one value of each: position among the forms
Parts = tuple[int, ...]  # attributes


def put_together(first: Values, second: Values) -> tuple[Values, Values]:
    """The values of both graphs, and the whole ones that follow from parts where the other graph has wholes, under
    attributes of their own, such as `first name + last name`. The order of words does not matter for what is whole."""
    sides = _keyed(first, second)
    one, other = (_with(sides[place], sides[1 - place]) for place in (0, 1))
    return one, other


def parts_of(attribute: str) -> list[str]:
    """The names of the attributes of which one is put together.

    >>> parts_of(f"address / street{AND}city"), parts_of("R + D")
    (['address / street', 'address / city'], ['R + D'])
    """
    way, step, last = attribute.rpartition(" / ")
    return [way + step + part for part in last.split(AND)]


def as_given(values: Values) -> Values:
    """The values without those put together, which tell nothing that their parts do not."""
    whole = [number for number, name in enumerate(values.attributes.to_pylist()) if AND in name]
    return values[~np.isin(values.attribute, whole)]


@dataclass(frozen=True, eq=False)
class _Keyed:
    """A graph's values, and a key for the words of each: a sum of random numbers, so that keys of parts add up."""

    values: Values
    word: np.ndarray  # [words of all forms] number, the same in both graphs
    start: np.ndarray  # [forms + 1] position of the first word of each form, and the end
    key: np.ndarray  # [forms] 0 if it is neither words nor a number, or too long

    @cached_property
    def count(self) -> np.ndarray:
        """Words of each form."""
        return np.diff(self.start)

    @cached_property
    def columns(self) -> dict[int, Column]:
        """The attributes that may be parts: nearly all entities that have one have a single short value."""
        found, held = {}, self.values.rows
        for attribute in sorted(range(len(held)), key=lambda each: -len(held[each]))[:COLUMNS]:
            rows = held[attribute]
            value = self.values.value[rows]
            if not len(rows) or (self.key[value] != 0).mean() < SINGLE or self.count[value].mean() > MOST_WORDS:
                continue
            entity, place, count = np.unique(self.values.entity[rows], return_index=True, return_counts=True)
            form, single = value[place], (count == 1) & (self.key[value[place]] != 0)
            if single.mean() >= SINGLE and len(unique_numbers(form[single])) > 1:
                found[attribute] = entity[single], form[single]
        return found

    @cached_property
    def distinct(self) -> dict[int, np.ndarray]:
        """The distinct values of each column."""
        return {part: unique_numbers(form) for part, (_, form) in self.columns.items()}

    @cached_property
    def entities(self) -> np.ndarray:
        """Those that may have parts."""
        return unique_numbers(np.concatenate([entity for entity, _ in self.columns.values()]))

    @cached_property
    def tried(self) -> dict[int, np.ndarray]:
        """The keys that some of the entities have in each column, 0 for none."""
        some = np.sort(np.random.default_rng(0).permutation(self.entities)[:TRIED])
        return dict(zip(self.columns, np.append(self.key, 0)[self.held(self.columns, some)], strict=True))

    def held(self, parts: Collection[int], entities: np.ndarray) -> np.ndarray:
        """The values that entities have in some columns, [parts, entities] position among the forms, −1 for none."""
        found = np.full((len(parts), len(entities)), -1)
        for row, part in zip(found, parts, strict=True):
            entity, form = self.columns[part]
            place = np.searchsorted(entity, entities).clip(max=len(entity) - 1)
            row[:] = np.where(entity[place] == entities, form[place], -1)
        return found

    def wholes(self) -> Iterator[np.ndarray]:
        """Of each attribute that may be a whole, the forms of several words, as most are; what many have first."""
        for rows in sorted(self.values.rows, key=len, reverse=True):
            form = unique_numbers(self.values.value[rows])
            several = form[self.count[form] > 1]
            if len(several) >= max(FEWEST, MOSTLY * len(form)):
                yield several

    def words(self, forms: np.ndarray) -> np.ndarray:
        """The words of some forms."""
        words: np.ndarray = self.word[spread(self.start[forms], self.count[forms])[1]]
        return words

    def made_of(self, words: np.ndarray) -> list[int]:
        """The columns that have the most values of none but these words."""
        known = np.zeros(max(self.word.max(initial=0), words.max(initial=0)) + 1, dtype=bool)
        known[words] = True
        other = np.append(0, np.cumsum(~known[self.word]))
        fits = other[self.start[1:]] == other[self.start[:-1]]
        count = {part: int(fits[forms].sum()) for part, forms in self.distinct.items()}
        return sorted(sorted(count, key=lambda part: -count[part])[:FITTING])


def _keyed(*sides: Values) -> list[_Keyed]:
    """The values of both graphs with their keys."""
    forms = (form for values in sides for form in values.forms)
    plain = (form[2:] if form.startswith((STRING, NUMBER_FORM)) and len(form) <= LONGEST else None for form in forms)
    split = pc.split_pattern(pc.replace_substring(pa.array(plain, pa.large_string()), ".", " "), " ")
    word = split.flatten()
    bare = pc.utf8_ltrim(word, "-0")  # of a number, as it is in a text
    number = pc.dictionary_encode(pc.if_else(pc.equal(bare, ""), word, bare)).indices.to_numpy()
    start = np.append(0, np.cumsum(pc.list_value_length(split).fill_null(0).to_numpy()))
    mark = np.random.default_rng(0).integers(1, 2**62, number.max(initial=0) + 1)
    sums = np.append(0, np.cumsum(mark[number]))  # they wrap around, but not their differences
    key, found, begin = sums[start[1:]] - sums[start[:-1]], [], 0
    for values in sides:
        end = begin + len(values.forms)
        own = start[begin : end + 1]
        found.append(_Keyed(values, number[own[0] : own[-1]], own - own[0], key[begin:end]))
        begin = end
    return found


def _with(own: _Keyed, other: _Keyed) -> Values:
    """A graph's values, and those put together where the other graph has them whole."""
    found, wholes = dict[Parts, _Whole](), [_Whole(other, forms) for forms in islice(other.wholes(), WHOLES)]
    if len(own.columns) < 2 or not wholes:
        return own.values
    known = unique_numbers(other.key)
    new = {part for part, forms in own.distinct.items() if among(own.key[forms], known).mean() < MOSTLY}
    for whole in wholes:
        if parts := whole.parts(own, new):
            found.setdefault(parts, whole)
    values = own.values
    for parts, whole in found.items():
        order, texts = _joined(own, parts, whole)
        values = _added(values, texts, AND.join(local_names(values.attributes.take(pa.array(order)))))
    return values


class _Whole:
    """Values of several words that a graph has in one attribute."""

    def __init__(self, graph: _Keyed, forms: np.ndarray) -> None:
        self.graph, self.places, self.keys = graph, forms, unique_numbers(graph.key[forms])
        self.slots = np.zeros(SLOTS, dtype=bool)
        self.slots[self.keys % SLOTS] = True

    @cached_property
    def forms(self) -> dict[int, str]:
        """The values by key."""
        places = self.places.tolist()
        return dict(zip(self.graph.key[places].tolist(), map(self.graph.values.forms.__getitem__, places), strict=True))

    def parts(self, own: _Keyed, new: set[int]) -> Parts:
        """The attributes of another graph that give the most values, put together: the fewest that give nearly as many
        as any. None if chance gives as many, or that graph has the wholes, too."""
        best, most, tried = Parts(), 0, own.made_of(self.graph.words(self.places))
        for size in range(2, MOST_PARTS + 1):
            several = (parts for parts in combinations(tried, size) if not new.isdisjoint(parts))
            given = {parts: self.given([own.tried[part] for part in parts]) for parts in several}
            fullest = max(given, key=lambda parts: given[parts], default=best)
            if given.get(fullest, 0) >= most + max(FEWEST, NEWS * most):
                best, most = fullest, given[fullest]
        if not best:
            return best
        columns = [own.tried[part] for part in best]
        shifted = [np.roll(column, place * len(column) // len(best)) for place, column in enumerate(columns)]
        keys = unique_numbers(_sums(columns))
        share = len(columns[0]) / len(own.entities)
        enough = most - self.given(shifted) >= max(FEWEST, NEWS * min(len(keys), share * len(self.keys)))
        return best if enough and among(keys, unique_numbers(own.key)).mean() < MOSTLY else Parts()

    def given(self, columns: list[np.ndarray]) -> int:
        """How many of the values follow from the keys of parts."""
        keys = _sums(columns)
        return int(among(unique_numbers(keys[self.slots[keys % SLOTS]]), self.keys).sum())


def _sums(columns: Sequence[np.ndarray]) -> np.ndarray:
    """The keys of wholes, of entities that have at least two of the parts."""
    several = np.sum([column != 0 for column in columns], axis=0) > 1
    keys: np.ndarray = np.sum(columns, axis=0)[several]
    return keys


def _joined(own: _Keyed, parts: Parts, whole: _Whole) -> tuple[Parts, dict[int, str]]:
    """The parts in the order in which the other graph has most wholes; and by entity, the whole as that graph has it,
    if it does, else in this order."""
    held = own.held(parts, own.entities)
    held, entities = (each[..., (held >= 0).sum(0) > 1] for each in (held, own.entities))
    texts = [
        ["" if form < 0 else own.values.forms[form][2:].replace(".", " ") for form in row] for row in held.tolist()
    ]
    keys = np.append(own.key, 0)[held].sum(0).tolist()
    given = [place for place, key in enumerate(keys) if key in whole.forms][:ORDERED]

    def form(order: Parts, place: int) -> str:
        return STRING + " ".join(text for part in order if (text := texts[parts.index(part)][place]))

    order = max(permutations(parts), key=lambda each: sum(form(each, row) == whole.forms[keys[row]] for row in given))
    return order, {
        entity: whole.forms.get(keys[place]) or form(order, place) for place, entity in enumerate(entities.tolist())
    }


def _added(values: Values, forms: dict[int, str], name: str) -> Values:
    """The values, and one form for each of some entities under a new attribute."""
    place = {form: number for number, form in enumerate(values.forms)}
    value = [place.setdefault(form, len(place)) for form in forms.values()]
    return replace(
        values,
        entity=np.append(values.entity, np.array([*forms], dtype=np.int64)),
        attribute=np.append(values.attribute, np.full(len(forms), len(values.attributes))),
        value=np.append(values.value, np.array(value, dtype=np.int64)),
        forms=Forms(place),
        attributes=pa.concat_arrays([values.attributes, pa.array([name], values.attributes.type)]),
    )
