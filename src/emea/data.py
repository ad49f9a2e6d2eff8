"""The nouns: graphs, links, the task, the sealed reference, and the beliefs that pass between stages."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

LITERAL_SCHEMA = pa.schema(
    [
        ("entity", pa.int64()),
        ("attribute", pa.int64()),
        ("value", pa.large_string()),
        ("datatype", pa.large_string()),
        ("language", pa.large_string()),
    ]
)


@dataclass(frozen=True, eq=False)
class Claims:
    """Which values the entities of a graph have, those that the other graph does not have included."""

    entity: Tensor  # [claims]
    attribute: Tensor  # [claims] number
    value: Tensor  # [claims] number, the same for equal values of both graphs; −1: the other graph has none like it
    likeness: Tensor  # [claims] how surely the two are equal
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


@dataclass(frozen=True, eq=False)
class Graph:
    """Integer triples with names; literals are kept beside them.

    Ids are positions in the sorted names, so a graph does not depend on the order of its file's lines.
    """

    entities: pa.Array  # names of entities, sorted; those that occur only in literals included
    relations: pa.Array  # names of relations between entities, sorted
    triples: Tensor  # [triples, 3] int64: head, relation, tail; sorted, no duplicates
    attributes: pa.Array  # names of relations to literals, sorted
    literals: pa.Table  # LITERAL_SCHEMA, no duplicates
    aliases: pa.Array | None = None  # a second name per entity (numeric ids of id folders)
    repeated: int = 0  # triples that stood in the file more than once, and count once
    values: int = 0  # how many of the entities, the last ones, are literal values
    claims: Claims | None = None  # which values the others have, where values count

    @classmethod
    def build(
        cls,
        entities: Iterable[str] | pa.Array,
        relations: Iterable[str] | pa.Array,
        triples: np.ndarray | Tensor,
        *,
        attributes: Iterable[str] | pa.Array = (),
        literals: pa.Table | None = None,
        aliases: Iterable[str] | None = None,
    ) -> Graph:
        """Make a graph of columns as a reader collects them: names in any order, triples [n, 3] of positions in them.

        >>> graph = Graph.build(["b", "a"], ["knows"], torch.tensor([[0, 0, 1], [0, 0, 1]]))
        >>> graph.entities.to_pylist(), graph.triples.tolist()
        (['a', 'b'], [[1, 0, 0]])
        """
        entity_names, entity_rank, entity_order = _sort_names(entities)
        relation_names, relation_rank, _ = _sort_names(relations)
        attribute_names, attribute_rank, _ = _sort_names(attributes)
        columns = np.asarray(triples, dtype=np.int64).reshape(-1, 3)
        ranked = np.stack(
            [entity_rank[columns[:, 0]], relation_rank[columns[:, 1]], entity_rank[columns[:, 2]]], axis=1
        )
        table = LITERAL_SCHEMA.empty_table() if literals is None else literals
        if table.num_rows:
            table = table.set_column(0, "entity", pa.array(entity_rank[table["entity"].to_numpy()]))
            table = table.set_column(1, "attribute", pa.array(attribute_rank[table["attribute"].to_numpy()]))
            table = _unique_literals(table)
        unique = _unique_rows(ranked)
        return cls(
            entities=entity_names,
            relations=relation_names,
            triples=torch.from_numpy(unique),
            attributes=attribute_names,
            literals=table,
            aliases=None if aliases is None else pa.array(list(aliases), pa.large_string()).take(entity_order),
            repeated=len(ranked) - len(unique),
        )

    def positions(self, names: pa.Array) -> pa.Array:
        """Ids of the named entities, by name or else by alias; null where neither knows it."""
        found = pc.index_in(names, self.entities)
        return found if self.aliases is None else pc.coalesce(found, pc.index_in(names, self.aliases))

    def __repr__(self) -> str:
        return (
            f"Graph({len(self.entities):,} entities, {len(self.relations):,} relations, "
            f"{len(self.triples):,} triples, {self.literals.num_rows:,} literals)"
        )


def _sort_names(names: Iterable[str] | pa.Array) -> tuple[pa.Array, np.ndarray, pa.Array]:
    """Sorted names, the rank of each old position in them, and the order that sorts."""
    array = names if isinstance(names, pa.Array) else pa.array(list(names), pa.large_string())
    order = pc.sort_indices(array)
    rank = np.empty(len(array), dtype=np.int64)
    rank[order.to_numpy()] = np.arange(len(array))
    return array.take(order), rank, order


def _unique_rows(rows: np.ndarray) -> np.ndarray:
    order = np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))
    rows = rows[order]
    keep = np.ones(len(rows), dtype=bool)
    keep[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return np.ascontiguousarray(rows[keep])


def _unique_literals(table: pa.Table) -> pa.Table:
    """The rows sorted by entity and attribute, each once."""
    codes = [
        pc.dictionary_encode(table[name].combine_chunks()).indices.to_numpy()
        for name in ("language", "datatype", "value")
    ]
    codes += [table["attribute"].to_numpy(), table["entity"].to_numpy()]
    order = np.lexsort(codes)
    keep = np.ones(len(order), dtype=bool)
    keep[1:] = np.any([code[order][1:] != code[order][:-1] for code in codes], axis=0)
    return table.take(pa.array(order[keep]))


@dataclass(frozen=True, eq=False)
class Links:
    """Pairs of a source and a target entity, each with a weight between 0 and 1."""

    source: Tensor  # [n] int64
    target: Tensor  # [n] int64
    weight: Tensor  # [n] float32

    @classmethod
    def build(cls, source: Tensor, target: Tensor, weight: Tensor | None = None) -> Links:
        """Links of two columns of ids; weight 1 where none is given."""
        return cls(
            source.long(),
            target.long(),
            torch.ones(len(source)).to(source.device) if weight is None else weight.float(),
        )

    def certain(self) -> Links:
        """The same pairs, each with weight 1."""
        return Links(self.source, self.target, torch.ones_like(self.weight))

    @classmethod
    def empty(cls) -> Links:
        """No links."""
        return cls.build(torch.empty(0, dtype=torch.int64), torch.empty(0, dtype=torch.int64))

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, rows: Tensor | slice) -> Links:
        return Links(self.source[rows], self.target[rows], self.weight[rows])

    def __add__(self, other: Links) -> Links:
        return Links(*(torch.cat([a, b]) for a, b in zip(self.columns, other.columns, strict=True)))

    @property
    def columns(self) -> tuple[Tensor, Tensor, Tensor]:
        """Source, target, weight."""
        return self.source, self.target, self.weight

    def swap(self) -> Links:
        """The same links seen from the target."""
        return Links(self.target, self.source, self.weight)

    def to(self, device: torch.device) -> Links:
        """The same links on a device."""
        return Links(*(column.to(device) for column in self.columns))


@dataclass(frozen=True, eq=False)
class Task:
    """What the method may know: two graphs and the links it was given. It has no test pairs."""

    source: Graph
    target: Graph
    seeds: Links
    validation: Links = field(default_factory=Links.empty)  # looked at by no default setting
    exclusions: Links = field(default_factory=Links.empty)  # pairs known to be wrong

    def names(self, links: Links | Alignment) -> tuple[pa.Array, pa.Array]:
        """Names of the links' sources, and of their targets."""
        sources, targets = links.source.cpu().numpy(), links.target.cpu().numpy()
        return self.source.entities.take(sources), self.target.entities.take(targets)

    def swap(self) -> Task:
        """The same task seen from the target."""
        return Task(self.target, self.source, self.seeds.swap(), self.validation.swap(), self.exclusions.swap())


class Reference:
    """Known links that nothing may learn from. Sealed: only `evaluation` opens it."""

    def __init__(self, links: Links) -> None:
        self.__links = links

    def __len__(self) -> int:
        return len(self.__links)

    def __repr__(self) -> str:
        return f"Reference({len(self):,} links, sealed)"

    def open(self) -> Links:
        """The links, for `evaluation` alone; a test fails where anything else in the package calls this."""
        return self.__links


def split(
    source: Graph, target: Graph, links: Links, ratio: float, seed: int, *, validation: int = 100
) -> tuple[Links, Links, Reference]:
    """Seeds, validation and reference: links sorted by their names, shuffled by the seed; the first `ratio` of them are
    seeds, the next `validation` the validation pairs, the rest is sealed."""
    sources = source.entities.take(links.source.numpy()).to_pylist()
    targets = target.entities.take(links.target.numpy()).to_pylist()
    order = sorted(range(len(links)), key=lambda row: (sources[row], targets[row]))
    random.Random(seed).shuffle(order)
    rows, seeds = torch.tensor(order, dtype=torch.int64), round(ratio * len(links))
    held = seeds + validation
    return links[rows[:seeds]], links[rows[seeds:held]], Reference(links[rows[held:]])


@dataclass(frozen=True, eq=False)
class Embeddings:
    """One vector of length 1 (or 0 where nothing is known) for each entity of both graphs, in one space."""

    source: Tensor  # [sources, dimension]
    target: Tensor  # [targets, dimension]

    def swap(self) -> Embeddings:
        """The same embeddings seen from the target."""
        return Embeddings(self.target, self.source)

    def to(self, device: torch.device) -> Embeddings:
        """The same embeddings on a device."""
        return Embeddings(self.source.to(device), self.target.to(device))


@dataclass(frozen=True, eq=False)
class Candidates:
    """The pairs under consideration: each source's nearest targets and each target's nearest sources, in one table.

    Rows keep their order under `swap`, so a column computed in one direction stands beside one of the other.
    """

    source: Tensor  # [pairs] int64
    target: Tensor  # [pairs] int64
    cosine: Tensor  # [pairs] float32
    sources: int  # entities in the source graph
    targets: int  # entities in the target graph
    source_density: Tensor  # [sources] mean cosine to the nearest targets (0 where hubs are not corrected for)
    target_density: Tensor  # [targets] mean cosine to the nearest sources

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, rows: Tensor) -> Candidates:
        return replace(self, source=self.source[rows], target=self.target[rows], cosine=self.cosine[rows])

    @property
    def similarity(self) -> Tensor:
        """What ranks the pairs, [pairs]: csls(x, y) = 2 cos(x, y) − density(x) − density(y)."""
        return 2 * self.cosine - self.source_density[self.source] - self.target_density[self.target]

    def touches(self, links: Links) -> Tensor:
        """Whether each pair shares an entity with the links, [pairs] bool."""
        taken_source = torch.zeros(self.sources, dtype=torch.bool, device=self.source.device)
        taken_target = torch.zeros(self.targets, dtype=torch.bool, device=self.source.device)
        taken_source[links.source] = True
        taken_target[links.target] = True
        return taken_source[self.source] | taken_target[self.target]

    def among(self, links: Links) -> Tensor:
        """Whether each pair is one of the links, [pairs] bool."""
        return torch.isin(self.keys(), links.source * self.targets + links.target)

    def swap(self) -> Self:
        """The same pairs seen from the target."""
        return replace(
            self,
            source=self.target,
            target=self.source,
            sources=self.targets,
            targets=self.sources,
            source_density=self.target_density,
            target_density=self.source_density,
        )

    def keys(self) -> Tensor:
        """One number per pair, [pairs]."""
        return self.source * self.targets + self.target


@dataclass(frozen=True, eq=False)
class Counterparts:
    """Beliefs about the candidate pairs, both ways, with the mass of "none" of each entity.

    What an entity's candidates and "none" leave of 1 lies outside its candidates.
    """

    candidates: Candidates
    forward: Tensor  # [pairs] p(target | source)
    backward: Tensor  # [pairs] p(source | target)
    source_none: Tensor  # [sources] mass of "this source has no counterpart"
    target_none: Tensor  # [targets]

    def swap(self) -> Counterparts:
        """The same beliefs seen from the target."""
        return Counterparts(self.candidates.swap(), self.backward, self.forward, self.target_none, self.source_none)

    def __getitem__(self, rows: Tensor) -> Counterparts:
        """The beliefs about some of the pairs; those about the others now lie outside the candidates."""
        return replace(self, candidates=self.candidates[rows], forward=self.forward[rows], backward=self.backward[rows])

    @property
    def agreement(self) -> Tensor:
        """Belief that both directions share: p(target | source) · p(source | target), [pairs]."""
        return self.forward * self.backward

    @property
    def confidence(self) -> Tensor:
        """Geometric mean of both directions, [pairs]."""
        return self.agreement.sqrt()


@dataclass(frozen=True, eq=False)
class Alignment:
    """The found links, one-to-one, with the confidence that each is right."""

    source: Tensor  # [links] int64
    target: Tensor  # [links] int64
    confidence: Tensor  # [links] between 0 and 1
    similarity: Tensor  # [links] cosine, or where there are no embeddings the confidence again

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, rows: Tensor) -> Alignment:
        return Alignment(self.source[rows], self.target[rows], self.confidence[rows], self.similarity[rows])
