"""Label propagation: random vectors of the seeds spread through both graphs; nothing is trained."""

from __future__ import annotations

import math
import warnings

import torch
from pydantic import Field
from torch import Tensor

from emea.contracts import Encoder, PluginSettings, Report, unreported
from emea.data import Embeddings, Links, Task
from emea.kernels.bunches import Bunches
from emea.kernels.devices import compiled, on_device
from emea.kernels.joins import Edges
from emea.kernels.limits import MANY_NUMBERS

MOST_NUMBERS = 2**27  # of a graph's embeddings in single precision; beyond they are halves
NUMBERS, FEWEST = 2**25, 128  # of the relation-weighted view at a time, and its features at least
ROWS = 2**15  # rows at a time


class PropagationSettings(PluginSettings):
    """Size of the vectors, and how far they spread."""

    dimension: int = Field(256, ge=8, description="dimension of the random vector of each pair")
    depth: int = Field(2, ge=1, description="propagation steps")
    paths: int = Field(1024, ge=0, description="features of the relation-weighted view; 0 leaves it out")
    path_weight: float = Field(1.5, ge=0, description="weight of the relation-weighted view relative to the plain one")


class Propagation(Encoder[PropagationSettings]):
    """LightEA's encoder (Mao et al., EMNLP 2022), with a sketch in place of its random projections.

    Both entities of a pair (e, e') start with the same random unit vector, all other entities with zero: E₀. Then,
    `depth` times, with n(·) the normalisation of rows, A the adjacency matrix (0 or 1) plus the identity, B the
    entity–relation incidence and H the relation–head incidence,

        E_{k+1} = n(A E_k + B R_k),   R_{k+1} = n(H E_k),   R₀ = 0.

    The relation-weighted view sums, over the edges (e, r, n) of an entity, the products of random features of r and
    of n: third(e)_c = Σ a_c(r) · b_c(n). Since E₀ is already random, any of its coordinates is a random projection:
    a_c and b_c are signed sums of one random coordinate from each depth.

    Embedding: n([n([E₁ … E_depth]) ‖ path_weight · n(third)]). E₀ is left out: an entity's own label is not evidence
    for itself.

    Departures from the publication: these sums replace LightEA's projections of the entities, which are redrawn for
    each relation dimension and take most of its time (docs/log.md).
    """

    Settings = PropagationSettings

    @classmethod
    def features(cls, settings: PropagationSettings) -> int:
        """The plain view has `depth` vectors, the relation-weighted one `paths` features."""
        return settings.depth * settings.dimension + settings.paths

    def __init__(self, task: Task, settings: PropagationSettings, device: torch.device) -> None:
        self.settings = settings
        self.source = _Operators(Edges.build(task.source, device))
        self.target = _Operators(Edges.build(task.target, device))

    def fit(self, pairs: Links, generator: torch.Generator, report: Report = unreported) -> Embeddings:  # noqa: ARG002
        """Embed both graphs from the pairs; each fit starts from scratch."""
        vectors, sketches = self._drawn(pairs, generator)
        return Embeddings(
            self.source.embed(pairs.source, vectors, sketches, self.settings),
            self.target.embed(pairs.target, vectors, sketches, self.settings),
        )

    def spread(self, pairs: Links, generator: torch.Generator) -> tuple[Spread, Spread]:
        """The same, kept so that entities can be embedded again with fewer edges."""
        vectors, sketches = self._drawn(pairs, generator)
        return (
            Spread(self.source, pairs.source, vectors, sketches, self.settings),
            Spread(self.target, pairs.target, vectors, sketches, self.settings),
        )

    def _drawn(self, pairs: Links, generator: torch.Generator) -> tuple[Tensor, list[_Sketch]]:
        """The random vector of each pair, and the sketches of relations and of entities."""
        shape, device = (len(pairs), self.settings.dimension), pairs.source.device
        vectors = normalise(torch.randn(shape, generator=on_device(generator, device), device=device))
        return vectors * pairs.weight[:, None], [_Sketch(self.settings, generator), _Sketch(self.settings, generator)]


class _Sketch:
    """Random features of vectors that are already random: signed sums of one coordinate per depth."""

    def __init__(self, settings: PropagationSettings, generator: torch.Generator) -> None:
        shape = (settings.depth + 1, settings.paths)
        self.coordinate = torch.randint(settings.dimension, shape, generator=generator)
        self.sign = torch.randint(2, shape, generator=generator) * 2.0 - 1.0

    def __call__(self, views: list[Tensor], part: slice = slice(None)) -> Tensor:
        """[rows, features] of the views, each [rows, dimension]; or some of the features."""
        coordinates, signs = (each[:, part].to(views[0].device) for each in (self.coordinate, self.sign))
        total = views[0].new_zeros(len(views[0]), signs.shape[1])
        kernels = compiled(total, torch.float32) if total.numel() > MANY_NUMBERS else None
        if kernels is not None:
            for view, coordinate, sign in zip(views, coordinates, signs, strict=True):
                kernels.add_columns(view, coordinate, sign, total)
            return total
        for first in range(0, len(total), ROWS):  # the columns that gather takes are as many as it finds
            some = total[first : first + ROWS]
            for view, coordinate, sign in zip(views, coordinates, signs, strict=True):
                some += view[first : first + ROWS].gather(1, coordinate.expand(len(some), -1)).mul_(sign)
        return total


class _Operators:
    """The sparse matrices of one graph."""

    def __init__(self, edges: Edges) -> None:
        self.entities, self.relations = edges.entities, edges.relations
        ones = torch.ones(len(edges.head), device=edges.head.device)
        loops = torch.arange(edges.entities, device=edges.head.device)
        neighbour = torch.unique(edges.key)  # several relations between two entities count once
        self.adjacency = sparse(
            torch.cat([neighbour // edges.entities, loops]),
            torch.cat([neighbour % edges.entities, loops]),
            torch.ones(len(neighbour) + edges.entities, device=edges.head.device),
            (edges.entities, edges.entities),
        )
        self.relation_of = sparse(edges.head, edges.relation, ones, (edges.entities, edges.relations))
        self.head_of = sparse(edges.relation, edges.head, ones, (edges.relations, edges.entities))
        self.bunches = Bunches.build(edges)

    def embed(
        self, labelled: Tensor, vectors: Tensor, sketches: list[_Sketch], settings: PropagationSettings
    ) -> Tensor:
        """Embeddings of this graph's entities, [entities, features]: a few features at a time, as only rows' lengths
        depend on all of them."""
        entities, relations = self.views(labelled, vectors, settings.depth)
        (of_relations, of_entities), plain = sketches, settings.depth * settings.dimension
        shape, device = (self.entities, Propagation.features(settings)), vectors.device
        kind = torch.bfloat16 if math.prod(shape) > MOST_NUMBERS else torch.float32
        result, squares = torch.empty(shape, dtype=kind, device=device), torch.zeros(2, self.entities, device=device)
        for view, column in zip(entities[1:], range(0, plain, settings.dimension), strict=True):
            squares[0] += view.square().sum(1)  # of the lengths of the two views
            result[:, column : column + settings.dimension] = view
        few = max(FEWEST, NUMBERS // max(1, self.entities))  # features at a time
        for part in (slice(first, first + few) for first in range(0, settings.paths, few)):
            third = self.bunches.weighted(of_relations(relations, part), of_entities(entities, part))
            squares[1] += third.square().sum(1)
            result[:, plain + part.start : plain + part.start + third.shape[1]] = third
        entities.clear()  # frees memory
        weight = torch.tensor([1.0, settings.path_weight], device=device)[:, None] * (squares > 0)
        share = weight / torch.linalg.vector_norm(weight, dim=0).clamp(min=1e-12)
        share /= squares.sqrt().clamp(min=1e-12)
        for some, own in zip(torch.split(result, ROWS), torch.split(share, ROWS, 1), strict=True):
            some[:, :plain] *= own[0][:, None]  # a few rows at a time: torch copies halves to single precision
            some[:, plain:] *= own[1][:, None]
        return result

    def views(self, labelled: Tensor, vectors: Tensor, depth: int) -> tuple[list[Tensor], list[Tensor]]:
        """E₀ … E_depth and R₀ … R_depth."""
        dimension = vectors.shape[1]
        entities = [vectors.new_zeros(self.entities, dimension).index_add_(0, labelled, vectors)]
        relations = [vectors.new_zeros(self.relations, dimension)]
        for _ in range(depth):
            heads = normalise(self.head_of @ entities[-1])
            total = self.adjacency @ entities[-1]
            total += self.relation_of @ relations[-1]
            entities.append(total.div_(torch.linalg.vector_norm(total, dim=1, keepdim=True).clamp(min=1e-12)))
            relations.append(heads)
        return entities, relations


class Spread:
    """What propagation made of one graph, and of its entities with fewer edges: all others stay as they are, except
    that neighbours forget the entity's own label."""

    def __init__(
        self,
        operators: _Operators,
        labelled: Tensor,
        vectors: Tensor,
        sketches: list[_Sketch],
        settings: PropagationSettings,
    ) -> None:
        self._sketches, self._settings = sketches, settings
        self._entities, self._relations = operators.views(labelled, vectors, settings.depth)
        self._first = operators.adjacency @ self._entities[0]  # E₁, before it is normalised
        self.embedding = operators.embed(labelled, vectors, sketches, settings)

    def embed(self, entity: int, relation: Tensor, tail: Tensor) -> Tensor:
        """The embedding of an entity with these edges only, [features]; zero without any."""
        if not len(tail):
            return torch.zeros_like(self.embedding[0])
        near, position = torch.unique(tail, return_inverse=True)
        around = [each[near] for each in self._entities]
        around[1] = normalise(self._first[near] - self._entities[0][entity])
        own = [torch.zeros_like(around[0][0])]
        for depth in range(self._settings.depth):
            total = around[depth].sum(0) + own[-1] + self._relations[depth][relation].sum(0)
            own.append(torch.nn.functional.normalize(total, dim=0))
        plain = torch.cat(own[1:])[None]
        if not self._settings.paths:
            return normalise(plain)[0]
        of_relations, of_entities = self._sketches
        weighted = of_relations([each[relation] for each in self._relations]) * of_entities(around)[position]
        return _joined(plain, weighted.sum(0, keepdim=True), self._settings)[0]


def _joined(plain: Tensor, third: Tensor, settings: PropagationSettings) -> Tensor:
    return normalise(torch.cat([normalise(plain), settings.path_weight * normalise(third)], 1))


def normalise(rows: Tensor) -> Tensor:
    """Rows scaled to length 1; a row of zeros stays zero."""
    return torch.nn.functional.normalize(rows, dim=1)


def sparse(row: Tensor, column: Tensor, value: Tensor, shape: tuple[int, int]) -> Tensor:
    """A sparse matrix in CSR format, ready for products with dense ones."""
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "Sparse (CSR tensor support|invariant checks)"
        )  # torch warns once that these are in beta
        matrix: Tensor = torch.sparse_coo_tensor(torch.stack([row, column]), value, shape, check_invariants=True)
        return matrix.coalesce().to_sparse_csr()
