"""The nouns: graphs, links, the task, the sealed reference, and the beliefs that pass between stages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from emea.order import LITERAL_SCHEMA as LITERAL_SCHEMA  # noqa: PLC0414 - also for readers and writers
from emea.order import ascending, literal_table, ranked, sort_names, triple_rows, unique_rows


@dataclass(frozen=True, eq=False)
class Graph:
    """Integer triples with names; literals are kept in a table of their own.

    Ids are positions in the sorted names, so a graph does not depend on the order of lines in its file.
    """

    entities: pa.Array  # names of entities, sorted; those that occur only in literals included
    relations: pa.Array  # names of relations between entities, sorted
    triples: Tensor  # [triples, 3] int64: head, relation, tail; sorted, no duplicates
    attributes: pa.Array  # names of relations to literals, sorted
    literals: pa.Table  # LITERAL_SCHEMA, no duplicates
    aliases: pa.Array | None = None  # a second name of entities: ids without their table, or of id folders
    repeated: int = 0  # duplicate triples that were dropped
    selected: Tensor | None = None  # [entities] bool: those that may be linked; if unset all
    notes: tuple[str, ...] = ()  # what its reader has to say, a sentence each
    columns: tuple[str, ...] = ()  # those of the tables it was read from, in their order

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
        """Make a graph from columns as a reader collects them: names in any order, triples [n, 3] of positions in them,
        and a table of literals: entity, attribute (positions), value and, if known, datatype and language (texts).

        >>> graph = Graph.build(["b", "a"], ["knows"], torch.tensor([[0, 0, 1], [0, 0, 1]]))
        >>> graph.entities.to_pylist(), graph.triples.tolist()
        (['a', 'b'], [[1, 0, 0]])
        """
        entity_names, entity_rank, entity_order = sort_names(entities)
        relation_names, relation_rank, _ = sort_names(relations)
        attribute_names, attribute_rank, _ = sort_names(attributes)
        head, relation, tail = triple_rows(triples).T
        ends = ranked(head, entity_rank, "entity"), ranked(tail, entity_rank, "entity")
        rows = np.stack([ends[0], ranked(relation, relation_rank, "relation"), ends[1]], axis=1)
        unique = np.ascontiguousarray(rows[unique_rows(*rows.T[::-1])])
        table = literal_table(literals)
        if table.num_rows:
            for place, (name, rank) in enumerate((("entity", entity_rank), ("attribute", attribute_rank))):
                table = table.set_column(place, name, pa.array(ranked(table[name].to_numpy(), rank, name)))
            described = [table[name].to_numpy() for name in ("attribute", "entity")]
            if not ascending(*described):
                coded = (pc.dictionary_encode(table[name].combine_chunks()) for name in table.column_names[:1:-1])
                table = table.take(pa.array(unique_rows(*(column.indices.to_numpy() for column in coded), *described)))
        second = None if aliases is None else pa.array(list(aliases), pa.large_string()).take(entity_order)
        kept, dropped = torch.from_numpy(unique), len(rows) - len(unique)
        return cls(entity_names, relation_names, kept, attribute_names, table, second, dropped)

    @property
    def linkable(self) -> Tensor:
        """Which entities may be linked, [entities] bool."""
        return torch.ones(len(self.entities), dtype=torch.bool) if self.selected is None else self.selected

    def positions(self, names: pa.Array) -> pa.Array:
        """Ids of the named entities, by name or else by alias; null for unknown names."""
        found = pc.index_in(names, self.entities)
        return found if self.aliases is None else pc.coalesce(found, pc.index_in(names, self.aliases))

    def __repr__(self) -> str:
        sizes = f"{len(self.entities):,} entities, {len(self.relations):,} relations, {len(self.triples):,} triples"
        return f"Graph({sizes}, {self.literals.num_rows:,} literals)"


def pair_keys(source: Tensor, target: Tensor, targets: int) -> Tensor:
    """One number for each pair of a source and a target, sorted as the pairs are; `targets` is how many there are."""
    return source * targets + target


@dataclass(frozen=True, eq=False, repr=False)
class Links:
    """Pairs of a source and a target entity, each with a weight between 0 and 1."""

    source: Tensor  # [n] int64
    target: Tensor  # [n] int64
    weight: Tensor  # [n] float32

    @classmethod
    def build(cls, source: Tensor, target: Tensor, weight: Tensor | None = None) -> Links:
        """Links from two columns of ids; weight 1 unless given."""
        weight = torch.ones(len(source)).to(source.device) if weight is None else weight.float()
        return cls(source.long(), target.long(), weight)

    @classmethod
    def empty(cls) -> Links:
        """No links."""
        return cls.build(torch.empty(0, dtype=torch.int64), torch.empty(0, dtype=torch.int64))

    def __len__(self) -> int:
        return len(self.source)

    def __repr__(self) -> str:
        return f"Links({len(self):,} pairs)"

    def __getitem__(self, rows: Tensor | slice) -> Links:
        return Links(self.source[rows], self.target[rows], self.weight[rows])

    def __add__(self, other: Links) -> Links:
        return Links(*(torch.cat([a, b]) for a, b in zip(self.columns, other.columns, strict=True)))

    @property
    def columns(self) -> tuple[Tensor, Tensor, Tensor]:
        """Source, target, weight."""
        return self.source, self.target, self.weight

    def keys(self, targets: int) -> Tensor:
        """One number for each pair, [n], given the number of target entities."""
        return pair_keys(self.source, self.target, targets)

    def swap(self) -> Links:
        """The same links seen from the target."""
        return Links(self.target, self.source, self.weight)

    def to(self, device: torch.device) -> Links:
        """The same links on a device."""
        return Links(*(column.to(device) for column in self.columns))


@dataclass(frozen=True, eq=False, repr=False)
class Task:
    """What the method may know: two graphs and the links it was given. It has no test pairs."""

    source: Graph
    target: Graph
    seeds: Links
    validation: Links = field(default_factory=Links.empty)  # used by no default setting
    exclusions: Links = field(default_factory=Links.empty)  # pairs known to be wrong
    unmatched: Links = field(default_factory=Links.empty)  # entities known to have no counterpart; −1 stands for it
    checked: Links = field(default_factory=Links.empty)  # proposed links that were checked: weight 1 right, 0 wrong
    benchmark: bool = False  # by convention compared by its structure alone

    def __repr__(self) -> str:
        return f"Task({self.source!r}, {self.target!r}, {len(self.seeds):,} seeds)"

    def names(self, links: Links | Alignment) -> tuple[pa.Array, pa.Array]:
        """Names of the links' sources, and of their targets."""
        sources, targets = links.source.cpu().numpy(), links.target.cpu().numpy()
        return self.source.entities.take(sources), self.target.entities.take(targets)

    def swap(self) -> Task:
        """The same task seen from the target."""
        given = ("seeds", "validation", "exclusions", "unmatched", "checked")
        links = {name: getattr(self, name).swap() for name in given}
        return replace(self, source=self.target, target=self.source, **links)


class Reference:
    """Known links that nothing may learn from. Sealed: only `analysis.evaluation` opens it."""

    def __init__(self, links: Links, absent: Sequence[int] = ()) -> None:
        self.__links, self.absent = links, absent  # sources of links that nobody finds: the graphs lack an entity (−1)

    def __len__(self) -> int:
        return len(self.__links)

    def __repr__(self) -> str:
        return f"Reference({len(self):,} links, sealed)"

    def open(self) -> Links:
        """The links, for `analysis.evaluation` only; a test fails if another module of the package calls this."""
        return self.__links


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

    Rows keep their order under `swap`, so columns computed in the two directions stand side by side.
    """

    source: Tensor  # [pairs] int64
    target: Tensor  # [pairs] int64
    cosine: Tensor  # [pairs] float32
    sources: int  # entities in the source graph
    targets: int  # entities in the target graph
    source_density: Tensor  # [sources] mean cosine to the nearest targets (0 if hubs are not corrected for)
    target_density: Tensor  # [targets] mean cosine to the nearest sources

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, rows: Tensor) -> Candidates:
        return replace(self, source=self.source[rows], target=self.target[rows], cosine=self.cosine[rows])

    @property
    def similarity(self) -> Tensor:
        """What ranks the pairs, [pairs]: csls(x, y) = 2 cos(x, y) − density(x) − density(y)."""
        return 2 * self.cosine - self.source_density[self.source] - self.target_density[self.target]

    def keys(self) -> Tensor:
        """One number for each pair, [pairs]."""
        return pair_keys(self.source, self.target, self.targets)

    def among(self, links: Links) -> Tensor:
        """Whether each pair is one of the links, [pairs] bool."""
        known = torch.cat([links.keys(self.targets), self.source.new_tensor([-1])]).sort().values  # −1: of no pair
        return known[torch.searchsorted(known, self.keys(), right=True) - 1] == self.keys()  # `isin` sorts all pairs

    def touches(self, links: Links, by_source: bool = True, by_target: bool = True) -> Tensor:
        """Whether each pair shares an entity with the links, [pairs] bool."""
        source, target = (self.cosine.new_zeros(size + 1, dtype=torch.bool) for size in (self.sources, self.targets))
        source[links.source], target[links.target] = by_source, by_target
        return source[self.source] | target[self.target]

    def swap(self) -> Candidates:
        """The same pairs seen from the target."""
        densities = self.target_density, self.source_density
        return Candidates(self.target, self.source, self.cosine, self.targets, self.sources, *densities)


@dataclass(frozen=True, eq=False)
class Counterparts:
    """Beliefs about the candidate pairs, both ways, with the mass of "none" of each entity.

    Whatever an entity's candidates and "none" leave of 1 lies outside its candidates, unless it may have several.
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
        """The beliefs about some of the pairs; the mass of the others now lies outside the candidates."""
        return replace(self, candidates=self.candidates[rows], forward=self.forward[rows], backward=self.backward[rows])

    @property
    def agreement(self) -> Tensor:
        """Belief shared by both directions: p(target | source) · p(source | target), [pairs]."""
        return self.forward * self.backward

    @property
    def confidence(self) -> Tensor:
        """Geometric mean of both directions, [pairs]."""
        return self.agreement.sqrt()


@dataclass(frozen=True, eq=False)
class Alignment:
    """The found links, one-to-one unless the cardinality says otherwise, each with the confidence that it is right."""

    source: Tensor  # [links] int64
    target: Tensor  # [links] int64
    confidence: Tensor  # [links] between 0 and 1
    similarity: Tensor  # [links] cosine, or the confidence again if there are no embeddings
    reasons: np.ndarray | None = None  # [links] why it was found, in a line, if that was asked for

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, rows: Tensor) -> Alignment:
        reasons = None if self.reasons is None else self.reasons[rows.cpu().numpy()]
        return Alignment(self.source[rows], self.target[rows], self.confidence[rows], self.similarity[rows], reasons)
