"""Label propagation: random vectors of the seeds spread through both graphs; nothing is trained."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import torch
from pydantic import Field
from torch import Tensor

from emea.candidates.kept import KeptEmbeddings
from emea.contracts import Encoder, PluginSettings, Report, unreported
from emea.data import Embeddings, Links, Task
from emea.engine import LOCAL, Distributed, Engine, Kept, ranges
from emea.kernels.bunches import Bunches
from emea.kernels.devices import on_device
from emea.kernels.joins import Edges
from emea.kernels.limits import SMALLEST_LENGTH
from emea.kernels.segments import segment_best
from emea.kernels.sketches import ROWS, Sketch, normalise, quiet, sparse

FEW_EDGES = 20  # of a relation, that weigh as much as what is known of all relations
MOST_NUMBERS = 2**27  # of the larger graph's embeddings in single precision; beyond both are halves
NUMBERS, FEWEST = 2**25, 128  # of the relation-weighted view at a time, and its features at least


_Views = tuple[list[Tensor], list[Tensor]]  # E₀ … E_depth and R₀ … R_depth


class PropagationSettings(PluginSettings):
    """Size of the vectors, and how far they spread."""

    dimension: int = Field(256, ge=8, description="dimension of the random vector of each pair")
    depth: int = Field(2, ge=1, description="propagation steps")
    paths: int = Field(1024, ge=0, description="features of the relation-weighted view; 0 leaves it out")
    path_weight: float = Field(1.5, ge=0, description="weight of the relation-weighted view relative to the plain one")
    shared: bool = Field(True, description="weigh relations by how often the other graph shares their edges")
    forget: bool = Field(True, description="leave out what an entity's neighbours have from itself")
    far: float = Field(0.5, ge=0, description="weight of the last step in the relation-weighted view")


class Propagation(Encoder[PropagationSettings], Distributed):
    """LightEA's encoder (Mao et al., EMNLP 2022), with a sketch in place of its random projections.

    Both entities of a pair (e, e') start with the same random unit vector, all other entities with zero: E₀. Then,
    `depth` times, with n(·) the normalisation of rows, A the weighted adjacency matrix plus the identity, B the
    entity–relation incidence and H the relation–head incidence,

        E_{k+1} = n(A E_k + B R_k),   R_{k+1} = n(H E_k),   R₀ = 0.

    An edge of a relation that the other graph often shares is worth more, w(r) (`shared`): A(e, n) = max w(r) over the
    relations r between e and n; and an entity leaves out what its neighbours have from itself in the step before
    (`forget`).

    The relation-weighted view sums, over the edges (e, r, n) of an entity, the products of random features of r and
    of n: third(e)_c = Σ w(r) · a_c(r) · b_c(n). Since E₀ is already random, any of its coordinates is a random
    projection: a_c and b_c are signed sums of one random coordinate from each depth, the last one times `far`.

    Embedding: n([n([E₁ … E_depth]) ‖ path_weight · n(third)]). E₀ is left out: an entity's own label is not evidence
    for itself.

    Departures from the publication: these sums replace LightEA's projections of the entities, which are redrawn for
    each relation dimension and take most of its time; weights, and what is left out, are not in LightEA, where A is 0
    or 1 and `far` is 1 (docs/log.md).
    """

    Settings = PropagationSettings

    @classmethod
    def features(cls, settings: PropagationSettings) -> int:
        """The plain view has `depth` vectors, the relation-weighted one `paths` features."""
        return settings.depth * settings.dimension + settings.paths

    def __init__(self, task: Task, settings: PropagationSettings, device: torch.device) -> None:
        self.settings = settings
        self.edges = Edges.build(task.source, device), Edges.build(task.target, device)
        numbers = max(edges.entities for edges in self.edges) * self.features(settings)
        self._kind = torch.bfloat16 if numbers > MOST_NUMBERS else torch.float32  # products need the same on both sides

    def fit(self, pairs: Links, generator: torch.Generator, report: Report = unreported) -> Embeddings:  # noqa: ARG002
        """Embed both graphs from the pairs; each fit starts from scratch."""
        starts, sketches = self._drawn(pairs, generator)
        sides = zip(self._kept, self.edges, starts, strict=True)
        embedded = (
            embed(self.engine, (graph, edges.entities), start, sketches, self.settings) for graph, edges, start in sides
        )
        return KeptEmbeddings(self.engine, *embedded)

    @cached_property
    def _kept(self) -> list[Kept[_Operators]]:
        return self.engine.map(_Operators, [(self.engine.share(edges),) for edges in self.edges]).kept()

    def spread(self, pairs: Links, generator: torch.Generator) -> tuple[Spread, Spread]:
        """The same, kept so that entities can be embedded again with fewer edges."""
        starts, sketches = self._drawn(pairs, generator)
        source, target = (
            Spread(graph.fetch(), start, sketches, self.settings)
            for graph, start in zip(self._kept, starts, strict=True)
        )
        return source, target

    def _drawn(self, pairs: Links, generator: torch.Generator) -> tuple[list[_Start], list[Sketch]]:
        """What each graph starts from, and the sketches of relations and of entities."""
        shape, device = (len(pairs), self.settings.dimension), pairs.source.device
        vectors = normalise(torch.randn(shape, generator=on_device(generator, device), device=device))
        vectors *= pairs.weight[:, None]
        starts = []
        for edges, others, links in zip(self.edges, self.edges[::-1], (pairs, pairs.swap()), strict=True):
            worth = shared(edges, others, links) if self.settings.shared else torch.ones(edges.relations, device=device)
            starts.append(_Start(links.source, vectors, worth, self._kind))
        chosen = self.settings.depth, self.settings.dimension, self.settings.paths, self.settings.far
        return starts, [Sketch(*chosen, generator), Sketch(*chosen, generator)]


def shared(edges: Edges, others: Edges, pairs: Links) -> Tensor:
    """How often the other graph shares an edge of each relation, relative to all edges, [relations]: has an edge
    between two entities of known pairs one between their counterparts? Shrunk by FEW_EDGES edges of all relations."""
    known = segment_best(pairs.source, edges.entities, pairs.weight)
    each = edges.relation < edges.relations // 2  # inverses are shared as often
    relation, head, tail = edges.relation[each], known[edges.head[each]], known[edges.tail[each]]
    both = (head >= 0) & (tail >= 0)
    relation, head, tail = relation[both], head[both], tail[both]
    found = torch.zeros(len(relation), device=known.device)
    found[others.between(pairs.target[head], pairs.target[tail])[0]] = 1.0
    weight = (pairs.weight[head] * pairs.weight[tail]).to(found.dtype)
    count, hits = (torch.bincount(relation, each, edges.relations // 2) for each in (weight, weight * found))
    mean = (hits.sum() / count.sum().clamp(min=1e-12)).clamp(min=1e-6)
    return ((hits + FEW_EDGES * mean) / (count + FEW_EDGES) / mean).float().repeat(2)


@dataclass(frozen=True, eq=False)
class _Start:
    """What propagation starts from in one graph."""

    labelled: Tensor  # [pairs] entities
    vectors: Tensor  # [pairs, dimension]
    worth: Tensor  # [relations], 1 on average
    kind: torch.dtype  # the precision in which the embeddings are kept


_Drawn = tuple[_Start, list[Sketch]]


class _Operators:
    """The sparse matrices of one graph."""

    def __init__(self, edges: Edges) -> None:
        self.edges, self.entities, self.relations = edges, edges.entities, edges.relations
        ones = torch.ones(len(edges.head), device=edges.head.device)
        self.relation_of = sparse(edges.head, edges.relation, ones, (edges.entities, edges.relations))
        self.head_of = sparse(edges.relation, edges.head, ones, (edges.relations, edges.entities))
        self.bunches = Bunches.build(edges)
        self.near = edges.joined[0] % edges.entities  # [neighbours] of all entities in turn
        degree = torch.bincount(self.near, minlength=edges.entities)  # who is a neighbour has as many
        self.start = torch.nn.functional.pad(torch.cumsum(degree, 0), (1, 0))  # [entities + 1] in `near`

    def worth(self, relations: Tensor) -> Tensor:
        """What the edges between an entity and each of its neighbours are worth, [neighbours]: several relations
        between two entities count once, as the one worth most."""
        count = self.edges.joined[2]
        row = torch.repeat_interleave(torch.arange(len(count), device=count.device), count)
        value = relations.new_zeros(len(count))
        return value.scatter_reduce_(0, row, relations[self.edges.relation], "amax")

    def adjacency(self, worth: Tensor) -> Tensor:
        """A without the identity, from what each neighbour is worth."""
        with quiet():
            return torch.sparse_csr_tensor(self.start, self.near, worth, (self.entities, self.entities))

    def views(self, start: _Start, settings: PropagationSettings) -> _Views:
        """E₀ … E_depth and R₀ … R_depth."""
        vectors, worth = start.vectors, self.worth(start.worth)
        adjacency, forget = self.adjacency(worth), self.adjacency(worth.square()) if settings.forget else None
        entities = [vectors.new_zeros(self.entities, vectors.shape[1]).index_add_(0, start.labelled, vectors)]
        relations, length = [vectors.new_zeros(self.relations, vectors.shape[1])], None
        for _ in range(settings.depth):
            heads = normalise(self.head_of @ entities[-1])
            total = adjacency @ entities[-1]
            total += entities[-1]
            total += self.relation_of @ relations[-1]
            if forget is not None and length is not None:  # A(e, n) · A(n, e), of what n was before it was normalised
                total.addcmul_(entities[-2], forget @ length.reciprocal(), value=-1.0)
            length = torch.linalg.vector_norm(total, dim=1, keepdim=True)
            length[length < SMALLEST_LENGTH] = torch.inf  # nothing came, and nothing goes
            entities.append(total.div_(length))
            relations.append(heads)
        return entities, relations


def embed(
    engine: Engine,
    graph: tuple[Kept[_Operators], int],
    start: _Start,
    sketches: list[Sketch],
    settings: PropagationSettings,
) -> Kept[Tensor]:
    """Embeddings of a graph's entities, [entities, features]: a few features at a time, as only rows' lengths depend on
    all of them. The graph is given with its number of entities."""
    operators, entities = graph
    few, drawn = max(FEWEST, NUMBERS // max(1, entities)), engine.share((start, sketches))  # features at a time
    views = engine.map(partial(_plain_view, settings), [(operators, drawn)]).kept()[0]
    slices = ((part,) for part in ranges(settings.paths, few))
    weighted = engine.map(_weighted_view, slices, operators, views, drawn)
    return engine.map(partial(_both_views, settings, start.kind), [(weighted, views)]).kept()[0]


def _plain_view(settings: PropagationSettings, operators: _Operators, drawn: _Drawn) -> _Views:
    return operators.views(drawn[0], settings)


def _weighted_view(part: slice, operators: _Operators, views: _Views, drawn: _Drawn) -> tuple[Tensor, Tensor]:
    """Some features of the relation-weighted view, [entities, features], and the squares of its rows' lengths."""
    (entities, relations), (start, (of_relations, of_entities)) = views, drawn
    by_relation = of_relations(relations, part) * start.worth[:, None]
    third = operators.bunches.weighted(by_relation, of_entities(entities, part))
    return third.to(start.kind), torch.linalg.vector_norm(third, dim=1).square_()


def _both_views(
    settings: PropagationSettings, kind: torch.dtype, weighted: Iterator[tuple[Tensor, Tensor]], views: _Views
) -> Tensor:
    """Both views side by side, each with rows of length 1 and its weight, and that again with rows of length 1."""
    entities, plain, done = views[0], settings.depth * settings.dimension, 0
    count, device = len(entities[0]), entities[0].device
    shape = count, Propagation.features(settings)
    result = torch.empty(shape, dtype=kind, device=device)
    squares = torch.zeros(2, count, device=device)  # of the lengths of the two views
    for view, column in zip(entities[1:], range(0, plain, settings.dimension), strict=True):
        squares[0] += view.square().sum(1)
        result[:, column : column + settings.dimension] = view
    for third, square in weighted:
        squares[1] += square
        result[:, plain + done : plain + done + third.shape[1]] = third
        done += third.shape[1]
    weight = torch.tensor([1.0, settings.path_weight], device=device)[:, None] * (squares > 0)
    share = weight / torch.linalg.vector_norm(weight, dim=0).clamp(min=1e-12)
    share /= squares.sqrt().clamp(min=1e-12)
    for some, own in zip(torch.split(result, ROWS), torch.split(share, ROWS, 1), strict=True):
        some[:, :plain] *= own[0][:, None]  # a few rows at a time: torch copies halves to single precision
        some[:, plain:] *= own[1][:, None]
    return result


class Spread:
    """What propagation made of one graph, and of its entities with fewer edges: all others stay as they are, except
    that neighbours forget the entity's own label."""

    def __init__(
        self, operators: _Operators, start: _Start, sketches: list[Sketch], settings: PropagationSettings
    ) -> None:
        self._operators, self._sketches, self._settings = operators, sketches, settings
        self._relation_worth, self._worth = start.worth, operators.worth(start.worth)
        self._entities, self._relations = operators.views(start, settings)
        self._first = operators.adjacency(self._worth) @ self._entities[0] + self._entities[0]  # E₁, before n(·)
        graph = LOCAL.share(operators), operators.entities
        self.embedding = embed(LOCAL, graph, start, sketches, settings).fetch()

    def embed(self, entity: int, relation: Tensor, tail: Tensor) -> Tensor:
        """The embedding of an entity with these edges only, [features]; zero without any."""
        if not len(tail):
            return torch.zeros_like(self.embedding[0])
        near, position = torch.unique(tail, return_inverse=True)
        worth = self._relation_worth[relation]
        value = worth.new_zeros(len(near)).scatter_reduce_(0, position, worth, "amax")
        around = [each[near] for each in self._entities]
        around[1] = normalise(self._first[near] - self._given(entity, near) * self._entities[0][entity])
        own = [torch.zeros_like(around[0][0])]
        for depth in range(self._settings.depth):
            total = value @ around[depth] + own[-1] + self._relations[depth][relation].sum(0)
            own.append(torch.nn.functional.normalize(total, dim=0))
        plain = torch.cat(own[1:])[None]
        if not self._settings.paths:
            return normalise(plain)[0]
        of_relations, of_entities = self._sketches
        weighted = of_relations([each[relation] for each in self._relations]) * of_entities(around)[position]
        return _joined(plain, (worth[:, None] * weighted).sum(0, keepdim=True), self._settings)[0]

    def _given(self, entity: int, near: Tensor) -> Tensor:
        """How much of an entity each of these neighbours has, [near, 1]."""
        operators = self._operators
        own = slice(int(operators.start[entity]), int(operators.start[entity + 1]))
        row = torch.searchsorted(operators.near[own].contiguous(), near)
        return self._worth[own][row][:, None]


def _joined(plain: Tensor, third: Tensor, settings: PropagationSettings) -> Tensor:
    return normalise(torch.cat([normalise(plain), settings.path_weight * normalise(third)], 1))
