"""Embeddings that stay where an engine keeps them: there may be more than one machine holds beside everything else."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from emea.data import Embeddings, Task
from emea.engine import LOCAL, Engine, Kept, ranges
from emea.errors import PluginError, shown
from emea.kernels.devices import at_a_time
from emea.kernels.limits import EMBEDDING_BLOCK
from emea.kernels.messages import Pattern, products

PAIRS = 2**19  # whose cosines are computed at a time


class _Form(NamedTuple):
    shape: torch.Size
    kind: torch.dtype
    device: torch.device


class KeptEmbeddings(Embeddings):
    """Embeddings as work on an engine sees them. Who asks for the vectors themselves has them brought here."""

    engine: Engine
    sides: tuple[Kept[Tensor], Kept[Tensor]]

    def __init__(self, engine: Engine, *sides: Kept[Tensor]) -> None:
        vars(self).update(engine=engine, sides=sides)

    @classmethod
    def of(cls, embeddings: Embeddings, engine: Engine = LOCAL) -> KeptEmbeddings:
        """The same embeddings, kept by the engine unless they are already kept by one."""
        if isinstance(embeddings, KeptEmbeddings):
            return embeddings
        return cls(engine, engine.share(embeddings.source), engine.share(embeddings.target))

    @property
    def source(self) -> Tensor:
        """The vectors of the sources, [sources, dimension]."""
        return self.sides[0].fetch()

    @property
    def target(self) -> Tensor:
        """The vectors of the targets, [targets, dimension]."""
        return self.sides[1].fetch()

    @cached_property
    def forms(self) -> list[_Form]:
        """Shape, precision and device of both sides."""
        return [*self.engine.map(_form, [(side,) for side in self.sides])]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of sources, of targets, and of features."""
        source, target = self.forms
        return source.shape[0], target.shape[0], source.shape[1]

    @property
    def device(self) -> torch.device:
        """Where what follows from them is: the CPU, if they are kept elsewhere."""
        return self.forms[0].device if self.engine is LOCAL else torch.device("cpu")

    def swap(self) -> KeptEmbeddings:
        """The same embeddings seen from the target."""
        return KeptEmbeddings(self.engine, *self.sides[::-1])

    def to(self, device: torch.device) -> KeptEmbeddings:
        """The same embeddings on a device; those that are kept elsewhere stay there."""
        if self.engine is not LOCAL or self.device == device:
            return self
        return self.of(Embeddings(self.source.to(device), self.target.to(device)))

    def here(self) -> Embeddings:
        """The same embeddings, no longer kept by an engine: copied, as its memory may be gone with it."""
        source, target = (side if self.engine is LOCAL else side.clone() for side in (self.source, self.target))
        return Embeddings(source, target)

    def rows(self, source: Tensor, target: Tensor) -> KeptEmbeddings:
        """Those of some entities only."""
        return self._changed(_taken, source, target)

    def masked(self, source: Tensor, target: Tensor) -> KeptEmbeddings:
        """The same with zeros for all entities but some, [entities] bool."""
        return self._changed(_masked, source, target)

    def _changed(self, work: object, *by: Tensor) -> KeptEmbeddings:
        return KeptEmbeddings(self.engine, *self.engine.map(work, zip(self.sides, by, strict=True)).kept())  # type: ignore[arg-type]

    def cosines(self, source: Tensor, target: Tensor) -> Tensor:
        """The cosine of each pair of a source and a target, [pairs]."""
        blocks = ((source[some], target[some]) for some in ranges(len(source), at_a_time(PAIRS, self.device)))
        found = [*self.engine.map(_cosines, blocks, *self.sides)]
        return torch.cat(found) if found else torch.empty(0, device=source.device)

    def lengths(self) -> tuple[Tensor, Tensor]:
        """The length of each vector, [sources] and [targets]."""
        made = [
            self.engine.map(_lengths, ((rows,) for rows in ranges(form.shape[0], EMBEDDING_BLOCK)), side)
            for side, form in zip(self.sides, self.forms, strict=True)
        ]
        source, target = (torch.cat([torch.empty(0, device=self.device), *each]) for each in made)
        return source, target


def joined(rows: int, pieces: Iterator[Tensor]) -> Tensor:
    """Blocks of rows as one table, each freed once it is there."""
    first = next(pieces)
    if len(first) == rows:
        return first
    whole, place = first.new_empty(rows, first.shape[1]), len(first)
    whole[:place] = first
    for piece in pieces:
        whole[place : place + len(piece)] = piece
        place += len(piece)
    return whole


def checked(embeddings: Embeddings, engine: Engine, graphs: Task, name: str) -> KeptEmbeddings:
    """The embeddings, if they keep the contract: one finite vector of length 1 or 0 for each entity. Those of entities
    that may not be linked are set to 0, so that nothing finds them."""
    if not isinstance(embeddings, Embeddings):
        raise PluginError(f"encoder '{name}' returned {type(embeddings).__name__}, expected emea.data.Embeddings")
    kept = (
        embeddings if isinstance(embeddings, KeptEmbeddings) else KeptEmbeddings.of(_usable(embeddings, name), engine)
    )
    sides = ("source", graphs.source), ("target", graphs.target)
    if len({form.shape[1] for form in kept.forms}) > 1:
        found = " and ".join(f"{form.shape[1]:,}" for form in kept.forms)
        raise PluginError(
            f"encoder '{name}' returned vectors of {found} numbers for source and target, expected as many"
        )
    for length, form, (which, graph) in zip(kept.lengths(), kept.forms, sides, strict=True):
        of = f"of the {which} graph's {len(graph.entities):,} entities (shared values included)"
        if len(length) != len(graph.entities):
            raise PluginError(f"encoder '{name}' returned {len(length):,} rows, expected one for each {of}")
        near = max(1e-3, torch.finfo(form.kind).eps / 2)  # halves are rounded
        odd = (~((length - 1).abs().minimum(length) < near)).nonzero()[:, 0]  # a NaN is odd
        if len(odd):
            what = f"{len(odd):,} rows, such as row {int(odd[0])} of length {float(length[odd[0]]):.3g}"
            raise PluginError(f"encoder '{name}' returned {what}, expected rows of length 1 or 0 {of}")
    linkable = [graph.linkable.to(kept.device) for _, graph in sides]
    return kept if all(bool(each.all()) for each in linkable) else kept.masked(*linkable)


def _usable(embeddings: Embeddings, name: str) -> Embeddings:
    """The embeddings as plain vectors: without the history that gradients need, and in single precision where they are
    in double; anything else is refused."""
    sides: list[Tensor] = []
    for which, side in (("source", embeddings.source), ("target", embeddings.target)):
        expected = f"for the {which} graph, expected a torch tensor of float32, [entities, dimension]"
        if not isinstance(side, Tensor):
            raise PluginError(f"encoder '{name}' returned {shown(side)} {expected}")
        if side.ndim != 2 or side.dtype not in {torch.float32, torch.float64, torch.bfloat16}:
            kind = str(side.dtype).removeprefix("torch.")
            raise PluginError(f"encoder '{name}' returned a tensor of {kind} and shape {list(side.shape)} {expected}")
        vectors = side.detach()
        sides.append(vectors.float() if vectors.dtype == torch.float64 else vectors)
    return Embeddings(*sides)


def _form(side: Tensor) -> _Form:
    return _Form(side.shape, side.dtype, side.device)


def _taken(side: Tensor, rows: Tensor) -> Tensor:
    return side[rows]


def _masked(side: Tensor, kept: Tensor) -> Tensor:
    return side if bool(kept.all()) else side * kept[:, None]


def _lengths(rows: slice, side: Tensor) -> Tensor:
    length: Tensor = torch.linalg.vector_norm(side[rows].float(), dim=1)
    return length


def cosines_of(source: Tensor, target: Tensor, *sides: Tensor) -> Tensor:
    """The cosine of each pair, [pairs], some pairs at a time."""
    blocks = ranges(len(source), at_a_time(PAIRS, source.device))
    found = [_cosines(source[some], target[some], *sides) for some in blocks]
    return torch.cat(found) if found else torch.empty(0, device=source.device)


def _cosines(source: Tensor, target: Tensor, *sides: Tensor) -> Tensor:
    return products(Pattern(source, target, (len(sides[0]), len(sides[1]))), *sides)
