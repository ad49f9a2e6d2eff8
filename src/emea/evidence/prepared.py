"""A task prepared once for a run: graphs whose shared values are entities, and what is known about those.

A value that both graphs have becomes an entity of both, known to be the same, as in PARIS. Encoders and rules see it
like any other neighbour, and shared values serve as seeds that nobody had to provide.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from emea.data import Graph, Links, Task
from emea.errors import InputError
from emea.evidence.amounts import read_amounts
from emea.evidence.codes import read_codes
from emea.evidence.counters import without_counters
from emea.evidence.dates import read_days
from emea.evidence.descriptions import naming_attribute
from emea.evidence.languages import understood
from emea.evidence.linked import with_names
from emea.evidence.lists import divided
from emea.evidence.units import converted
from emea.evidence.unnamed import unnamed
from emea.evidence.values import Meanings, Values, equal_pairs, read_values, words_apart
from emea.evidence.vocabularies import translated
from emea.evidence.wholes import put_together
from emea.order import unique_rows
from emea.settings import EvidenceSettings, Settings

NO_PAIRS = "there are no known pairs, and structure alone needs some; evidence.kind=all also uses names and values"
NOTHING_SHARED = (
    "there are no known pairs, and the graphs share no value, or none that is rare enough to tell: expected pairs "
    "(--seeds), or names, labels or identifiers in both graphs; --local-names uses the last part of URIs as names"
)
IRI_NAME = r"^[A-Za-z][A-Za-z0-9+.-]*:[^\s]"  # not a number or a word, which two tables may use for different rows
LEAST_VALUED = 0.1  # share of the entities


@dataclass(frozen=True, eq=False)
class Claims:
    """Which values the entities of a graph have, including those that the other graph does not have."""

    entity: Tensor  # [claims]
    attribute: Tensor  # [claims] number
    value: Tensor  # [claims] number, the same for equal values of both graphs; −1 if the other graph has none like it
    likeness: Tensor  # [claims] how surely the two values are equal
    entities: int
    attributes: int
    values: int

    @classmethod
    def none(cls, entities: int) -> Claims:
        """No claims."""
        nothing = torch.empty(0, dtype=torch.int64)
        return cls(nothing, nothing, nothing, torch.empty(0, dtype=torch.float64), entities, 1, 1)

    def to(self, device: torch.device) -> Claims:
        """The same on a device."""
        entity, attribute, value = (column.to(device) for column in (self.entity, self.attribute, self.value))
        likeness = self.likeness.to(device)
        return replace(self, entity=entity, attribute=attribute, value=value, likeness=likeness)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ValuedGraph(Graph):
    """A graph whose last entities are values: neighbours like any other, but never linked themselves."""

    values: int  # how many
    claims: Claims  # which values the other entities have

    @property
    def linkable(self) -> Tensor:
        """Those that may be linked, and no value, [entities] bool."""
        proper = torch.ones(len(self.entities) - self.values, dtype=torch.bool)
        return torch.cat([proper if self.selected is None else self.selected, proper.new_zeros(self.values)])


def claims_of(graph: Graph) -> Claims:
    """The values that a graph's entities have; none if values do not count."""
    return graph.claims if isinstance(graph, ValuedGraph) else Claims.none(len(graph.entities))


@dataclass(frozen=True, eq=False)
class Anchors:
    """Pairs of values that count as equal: always known, never found."""

    links: Links  # the weight says how surely they are equal
    telling: Tensor  # [links] how much each says about the entities that have it: little if many have it

    @classmethod
    def none(cls) -> Anchors:
        """No pairs."""
        return cls(Links.empty(), torch.empty(0))

    def to(self, device: torch.device) -> Anchors:
        """The same on a device."""
        return Anchors(self.links.to(device), self.telling.to(device))

    @property
    def labels(self) -> Links:
        """What an encoder should learn from them."""
        return Links(self.links.source, self.links.target, self.links.weight * self.telling)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A task together with what its values contribute. Prepared once, then passed on to every stage that needs it."""

    given: Task  # as it was given
    graphs: Task  # the graphs as encoders and rules see them, without seeds
    anchors: Anchors
    values: tuple[Values, ...] = ()  # of both graphs, if values count
    meanings: tuple[Meanings, Meanings] = ({}, {})  # of values of both graphs that need to be interpreted

    @cached_property
    def faults(self) -> tuple[str, ...]:
        """Values that are not what they claim to be, a sentence for each kind."""
        sides = zip(("source", "target"), self.values, strict=False)
        return tuple(sentence for name, side in sides for sentence in side.faults(name))

    @property
    def known(self) -> Links:
        """Seeds, and values that count as equal."""
        return self.given.seeds + self.anchors.links

    @cached_property
    def valued(self) -> bool:
        """Whether values tell much: one entity in ten of a graph has a value that the other graph has, too; or there
        are no seeds, so that nothing else tells."""
        if self.values and not len(self.given.seeds):
            return True
        shares = []
        for graph in (self.graphs.source, self.graphs.target):
            claims = claims_of(graph)
            told = len(torch.unique(claims.entity[claims.value >= 0]))
            shares.append(told / max(1, int(graph.linkable.sum())))
        return max(shares) >= LEAST_VALUED

    @cached_property
    def connected(self) -> bool:
        """Whether the entities of both graphs have neighbours other than values, so that links can tell of others."""
        return all(len(graph.triples) > 0 for graph in (self.given.source, self.given.target))

    def judged_by(self, settings: Settings) -> bool:
        """Whether links are judged by values: the settings ask for it, and values tell enough."""
        return settings.judges and self.valued

    def require_known(self) -> None:
        """Refuse a task in which nothing at all is known."""
        if not len(self.known):
            valued = isinstance(self.graphs.source, ValuedGraph)
            raise InputError(NOTHING_SHARED if valued else NO_PAIRS)


def prepare(task: Task, settings: EvidenceSettings) -> Prepared:
    """The task with shared values as extra entities, numbered after all others; unchanged if values do not count."""
    if not settings.counts_values:
        return Prepared(task, Task(task.source, task.target, Links.empty()), Anchors.none())
    task = with_names(divided(task))
    source, target = task.source, task.target
    common = _common_iris(source, target) if settings.shared_iris == "same" else None
    days = read_days(source, target)
    codes = read_codes(source, target)
    plain = [{**words_apart(graph), **read_amounts(graph)} for graph in (source, target)]
    meanings = {**plain[0], **codes[0], **days[0]}, {**plain[1], **codes[1], **days[1]}
    first, second = (
        read_values(graph, settings, common, own)
        for graph, own in zip(understood(source, target), meanings, strict=True)
    )
    first, second = without_counters(first, second, (len(source.entities), len(target.entities)), task.seeds)
    first, second = put_together(first, second)
    kinds = naming_attribute(source, first, settings), naming_attribute(target, second, settings)
    told = kinds if min(kinds) >= 0 else (-1, -1)  # where only one graph has such an attribute, it names no kinds
    sides = first, translated(first, converted(first, second, task.seeds), task.seeds, told)
    equal, alike = equal_pairs(sides[0], sides[1], settings)
    most = np.maximum(sides[0].holders[equal[:, 0]], sides[1].holders[equal[:, 1]])
    pairs, likeness = equal[most <= settings.most_holders], alike[most <= settings.most_holders]
    used = pairs[:, 0], pairs[:, 1]
    numbers, counts = torch.arange(len(pairs)), [side.holders[own] for side, own in zip(sides, used, strict=True)]
    links = Links.build(numbers + len(source.entities), numbers + len(target.entities), torch.from_numpy(likeness))
    telling = torch.from_numpy(1 / np.sqrt(counts[0] * counts[1])).float()
    wide = [
        _extended(graph, side, own, _claims(side, equal[:, place], alike, len(graph.entities) + len(own)))
        for place, (graph, side, own) in enumerate(zip((source, target), sides, used, strict=True))
    ]
    return Prepared(task, Task(wide[0], wide[1], Links.empty()), Anchors(links, telling), sides, meanings)


def _common_iris(source: Graph, target: Graph) -> pa.Array:
    """The IRIs of entities that both graphs have and that may be linked."""
    names = source.entities.filter(pc.is_in(source.entities, target.entities))
    names = names.filter(pc.match_substring_regex(names, IRI_NAME))
    for graph in (source, target):
        free = graph.linkable.numpy() & ~unnamed(graph)
        names = names.filter(pa.array(free[graph.positions(names).to_numpy()]))
    return names


def _claims(values: Values, equal: np.ndarray, alike_to_it: np.ndarray, entities: int) -> Claims:
    """A graph's literals as claims; a value that equals one of the other graph is numbered by their pair."""
    number, alike = np.full(len(values.forms), -1, dtype=np.int64), np.zeros(len(values.forms))
    number[equal], alike[equal] = np.arange(len(equal)), alike_to_it
    entity, attribute = torch.from_numpy(values.entity), torch.from_numpy(values.attribute)
    value, likeness = torch.from_numpy(number[values.value]), torch.from_numpy(alike[values.value])
    return Claims(entity, attribute, value, likeness, entities, max(1, len(values.attributes)), max(1, len(equal)))


def _extended(graph: Graph, values: Values, used: np.ndarray, claims: Claims) -> ValuedGraph:
    """The graph with the used values as entities, numbered after all others, and attributes as relations to them."""
    number = np.full(len(values.forms), -1, dtype=np.int64)
    number[used] = np.arange(len(used)) + len(graph.entities)
    kept = number[values.value] >= 0
    added = np.stack(
        [values.entity[kept], values.attribute[kept] + len(graph.relations), number[values.value[kept]]], 1
    )
    names = [f'"{values.forms[form]}"' for form in used.tolist()]
    triples = np.concatenate([graph.triples.numpy(), added])
    return ValuedGraph(
        entities=pa.concat_arrays([graph.entities, pa.array(names, graph.entities.type)]),
        relations=pa.concat_arrays([graph.relations, values.attributes]),
        triples=torch.from_numpy(triples[unique_rows(*triples.T[::-1])]),
        attributes=graph.attributes,
        literals=graph.literals,
        selected=graph.selected,
        values=len(used),
        claims=claims,
    )
