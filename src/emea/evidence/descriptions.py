"""What describes each entity of a graph: values, its own and those of nodes that only describe it; its kind; its
position; and what it is related to."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea.data import Graph
from emea.evidence.names import CAMEL, local_names
from emea.evidence.places import read_positions
from emea.evidence.unnamed import W3C, elsewhere, unnamed
from emea.evidence.values import STRING, Values
from emea.kernels.ranges import spread
from emea.order import unique_rows
from emea.settings import EvidenceSettings

TYPE = f"{W3C}1999/02/22-rdf-syntax-ns#type"
SUBCLASS = f"{W3C}2000/01/rdf-schema#subClassOf"
DEPRECATED = f"{W3C}2002/07/owl#deprecated"
SCHEME = f"{W3C}2004/02/skos/core#inScheme"
ON_PROPERTY = f"{W3C}2002/07/owl#onProperty"
FILLERS = tuple(f"{W3C}2002/07/owl#{name}" for name in ("someValuesFrom", "allValuesFrom", "hasValue"))
NAMING = re.compile(r"(?i)(synonym|label|name)[^/#]*$")  # a relation to nodes that hold names
# An attribute with at most so many strings, held by so many each, and on average by so many, names kinds: each kind is
# judged by its own pairs, and a few rows of each town are too few.
FEW_KINDS, LEAST_HOLDERS, MEAN_HOLDERS = 30, 5, 20
MOST_BORROWED = 16  # neighbours by one relation whose strings an entity without any is known by
SMALLEST_KIND = 0.01  # share of the entities: kinds held by fewer are replaced by a wider one


@dataclass(frozen=True, eq=False)
class Description:
    """What describes the entities of one graph."""

    linkable: np.ndarray  # [entities] bool: not blank nodes, terms or pages of others, or nodes that only describe
    values: Values  # those of describing nodes belong to what they describe
    kind: np.ndarray  # [entities] number of its kind, −1 if it has none
    kinds: tuple[str, ...]  # the name of each
    naming_kinds: int  # the attribute whose values are the kinds, −1 if types are
    position: np.ndarray  # [entities, 2] latitude and longitude in degrees, NaN if unknown
    edges: np.ndarray  # [edges, 3] head, relation, tail; each also as its inverse, relation + relations
    relations: int  # inverses not included

    def without_kinds(self) -> Description:
        """The same, with all entities of one kind."""
        return replace(self, kind=np.full_like(self.kind, -1), kinds=(), naming_kinds=-1)


def describe(graph: Graph, values: Values, settings: EvidenceSettings) -> Description:
    """Collect what describes each entity."""
    triples, names = graph.triples.numpy(), graph.relations.to_pylist()
    numbers = _numbers(names)
    linkable, describing = linkable_of(graph, values, settings)
    values = _inherited(values, triples, describing, names)
    position, places = read_positions(graph, values)
    nodes = np.flatnonzero((describing >= 0) & ~np.isnan(position[:, 0]))
    heads = triples[describing[nodes], 0]
    position[heads] = np.where(np.isnan(position[heads]), position[nodes], position[heads])
    position[~linkable] = np.nan
    values = values[linkable[values.entity] & ~np.isin(values.attribute, places)]
    kind, kinds, naming_kinds = _kinds(graph, values, numbers, linkable)
    edges, relations = _edges(triples, numbers, len(names))
    values = _borrowed(values, edges, names + [""] * (relations - len(names)), linkable)
    return Description(linkable, values, kind, kinds, naming_kinds, position, edges, relations)


def naming_attribute(graph: Graph, values: Values, settings: EvidenceSettings) -> int:
    """The attribute whose values are the kinds, −1 if types are or there are none."""
    linkable, _ = linkable_of(graph, values, settings)
    return _kinds(graph, values, _numbers(graph.relations.to_pylist()), linkable)[2]


def linkable_of(graph: Graph, values: Values, settings: EvidenceSettings) -> tuple[np.ndarray, np.ndarray]:
    """Which entities may be linked, [entities] bool; and the triple by which each that only describes another is
    attached to it, [entities], −1 for others."""
    triples, names = graph.triples.numpy(), graph.relations.to_pylist()
    describing = _describing(graph, values, _numbers(names))
    linkable: np.ndarray = graph.linkable.numpy().copy()
    if not settings.anonymous:
        naming = np.array([NAMING.search(name) is not None for name in (*names, "")])
        attached_by = np.where(describing >= 0, triples[describing, 1] if len(triples) else -1, -1)
        linkable &= ~(unnamed(graph) | elsewhere(graph) | naming[attached_by] | _deprecated(graph))
    return linkable, describing


def _numbers(names: list[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(names)}


def _deprecated(graph: Graph) -> np.ndarray:
    """Which entities are marked as no longer in use, [entities] bool."""
    found = np.zeros(len(graph.entities), dtype=bool)
    attribute = pc.index(graph.attributes, DEPRECATED).as_py()
    if attribute >= 0:
        table = graph.literals.filter(pc.equal(graph.literals["attribute"], attribute))
        found[
            table.filter(pc.is_in(table["value"], pa.array(["true", "1"], pa.large_string())))["entity"].to_numpy()
        ] = True
    return found


def _describing(graph: Graph, values: Values, numbers: dict[str, int]) -> np.ndarray:
    """The triple by which a node that only describes another is attached to it, [entities], −1 for other entities: a
    node with values that one triple leads to and none but its type lead away from, unless it has no name: then it may
    have further relations, as a birth has a place."""
    head, relation, tail = graph.triples.numpy().T
    size, is_type = len(graph.entities), relation == numbers.get(TYPE, -1)
    valued = np.zeros(size, dtype=bool)
    valued[values.entity] = True
    leading_away = np.bincount(head[~is_type], minlength=size)
    single = (np.bincount(tail, minlength=size) == 1) & ((leading_away == 0) | unnamed(graph)) & valued
    attached = np.full(size, -1, dtype=np.int64)
    rows = np.flatnonzero(single[tail] & ~is_type & (head != tail))
    attached[tail[rows]] = rows
    # Where nodes of a kind usually describe several others, they are entities in their own right.
    for each in np.unique(relation[rows]):
        own = np.flatnonzero((relation == each) & ~is_type)
        ends = np.unique(tail[own])
        if (attached[ends] >= 0).mean() < 0.9:
            attached[ends[attached[ends] >= 0]] = -1
    return attached


def _inherited(values: Values, triples: np.ndarray, describing: np.ndarray, relations: list[str]) -> Values:
    """The values of describing nodes, given to what they describe under a combined attribute."""
    rows = np.flatnonzero(describing[values.entity] >= 0)
    head, relation, _ = triples[describing[values.entity[rows]]].T
    return _given(values, head, relation, rows, relations)


def _given(values: Values, entity: np.ndarray, relation: np.ndarray, rows: np.ndarray, relations: list[str]) -> Values:
    """The values, and those of some rows given to other entities, under attributes that combine the relation to them
    with their own."""
    if not len(rows):
        return values
    own = values.attributes.to_pylist()
    combined, attribute = np.unique(relation * len(own) + values.attribute[rows], return_inverse=True)
    names = [f"{relations[key // len(own)]} / {own[key % len(own)]}" for key in combined.tolist()]
    return Values(
        np.concatenate([values.entity, entity]),
        np.concatenate([values.attribute, len(own) + attribute.ravel()]),
        np.concatenate([values.value, values.value[rows]]),
        values.forms,
        pa.concat_arrays([values.attributes, pa.array(names, values.attributes.type)]),
        values.odd,
    )


def _borrowed(values: Values, edges: np.ndarray, names: list[str], linkable: np.ndarray) -> Values:
    """Strings of the neighbours of entities that have none of their own, under combined attributes: a time zone without
    a name is known by its cities. Attributes that name kinds do not count as own."""
    text = np.array([form.startswith(STRING) for form in values.forms], dtype=bool)
    common = np.bincount(values.value, minlength=len(values.forms)) > MOST_BORROWED
    naming = np.flatnonzero(text[values.value] & ~common[values.value])
    named = np.zeros(len(linkable), dtype=bool)
    named[values.entity[naming]] = True
    own = edges[linkable[edges[:, 0]] & ~named[edges[:, 0]] & named[edges[:, 2]]]
    _, index, count = np.unique(own[:, :2], axis=0, return_inverse=True, return_counts=True)
    own = own[count[index.ravel()] <= MOST_BORROWED]
    order = naming[np.argsort(values.entity[naming], kind="stable")]
    first = np.searchsorted(values.entity[order], own[:, 2])
    row, place = spread(first, np.searchsorted(values.entity[order], own[:, 2], side="right") - first)
    return _given(values, own[row, 0], own[row, 1], order[place], [*names, *(f"^{name}" for name in names)])


def _kinds(
    graph: Graph, values: Values, numbers: dict[str, int], linkable: np.ndarray
) -> tuple[np.ndarray, tuple[str, ...], int]:
    """The kind of each entity, [entities], −1 if unknown: its narrowest type that is not rare; without types its
    scheme; without schemes the value of an attribute that has few values. The names of the kinds; and that attribute,
    or −1."""
    head, relation, tail = graph.triples.numpy().T
    size = len(graph.entities)
    for name in (TYPE, SCHEME):
        rows = relation == numbers.get(name, -1)
        held = np.stack([head[rows], tail[rows]], 1)
        if name == TYPE and SUBCLASS in numbers:
            held = _with_wider(held, graph.triples.numpy()[relation == numbers[SUBCLASS]])
        kind, classes = _narrowest(held, linkable)
        if len(np.unique(kind[linkable])) > 1:
            ends = local_names(graph.entities.take(pa.array(classes)))
            return kind, tuple(CAMEL.sub(" ", end).casefold() for end in ends), -1
    kind = np.full(size, -1, dtype=np.int64)
    for attribute, rows in enumerate(values.rows):
        forms, count = np.unique(values.value[rows], return_counts=True)
        few = 1 < len(forms) <= FEW_KINDS and count.min() >= LEAST_HOLDERS and count.mean() >= MEAN_HOLDERS
        if few and len(rows) >= linkable.sum() / 2 and all(values.forms[form].startswith(STRING) for form in forms):
            kind[values.entity[rows]] = np.searchsorted(forms, values.value[rows])
            return kind, tuple(values.forms[form].removeprefix(STRING) for form in forms), attribute
    return kind, (), -1


def _with_wider(held: np.ndarray, subclass: np.ndarray) -> np.ndarray:
    """Entities and their types, with the classes that include these."""
    while True:
        order = np.argsort(subclass[:, 0], kind="stable")
        first = np.searchsorted(subclass[order, 0], held[:, 1])
        rows, place = spread(first, np.searchsorted(subclass[order, 0], held[:, 1], side="right") - first)
        wider = np.unique(np.concatenate([held, np.stack([held[rows, 0], subclass[order[place], 2]], 1)]), axis=0)
        if len(wider) == len(held):
            return wider
        held = wider


def _narrowest(held: np.ndarray, linkable: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each entity's least frequent kind that is not rare, [entities]; −1 if it has none. And what the kinds are."""
    held = held[linkable[held[:, 0]]]
    kind = np.full(len(linkable), -1, dtype=np.int64)
    if not len(held):
        return kind, kind[:0]
    count = np.bincount(held[:, 1])
    held = held[count[held[:, 1]] >= max(2, SMALLEST_KIND * linkable.sum())]
    held = held[np.lexsort((held[:, 1], -count[held[:, 1]]))]  # the least frequent is written last
    kind[held[:, 0]] = held[:, 1]
    found, number = np.unique(kind, return_inverse=True)
    return number.ravel() - int(found[0] < 0), found[found >= 0]


def _edges(triples: np.ndarray, numbers: dict[str, int], relations: int) -> tuple[np.ndarray, int]:
    """The triples but those of types, each also as its inverse; an OWL restriction also leads from its class straight
    to its filler, by a relation that stands for its property."""
    head, relation, tail = triples.T
    plain = triples[relation != numbers.get(TYPE, -1)]
    filler = np.isin(relation, [numbers[name] for name in FILLERS if name in numbers])
    if ON_PROPERTY in numbers and filler.any():
        size = int(triples[:, [0, 2]].max()) + 1
        of, to = np.full(size, -1), np.full(size, -1)
        rows = relation == numbers[ON_PROPERTY]
        of[head[rows]] = tail[rows]
        to[head[filler]] = tail[filler]
        rows = (of[tail] >= 0) & (to[tail] >= 0)
        properties, number = np.unique(of[tail[rows]], return_inverse=True)
        direct = np.stack([head[rows], relations + number.ravel(), to[tail[rows]]], 1)
        plain, relations = np.concatenate([plain, direct]), relations + len(properties)
    back = np.stack([plain[:, 2], plain[:, 1] + relations, plain[:, 0]], 1)
    edges = np.concatenate([plain, back])
    return edges[unique_rows(*edges.T[::-1])], relations
