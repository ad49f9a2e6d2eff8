"""Pairs and beliefs in parts that stay where an engine keeps them: there may be more than one machine holds beside
everything else. A part has all pairs of some consecutive sources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial, reduce
from itertools import accumulate
from typing import Any, TypeVar

import torch
from torch import Tensor

from emea.data import Candidates, Counterparts
from emea.engine import LOCAL, Engine, Kept, Made, Work
from emea.kernels.segments import segment_highest, segment_top

PART = 2**15  # sources of a part, on a CPU
T = TypeVar("T")
Beliefs = tuple[Tensor, Tensor]  # p(target | source) and p(source | target) of the pairs of a part
Scored = Callable[..., tuple[Candidates, Tensor, Tensor]]  # from a part to its pairs, and their scores both ways


class KeptCandidates(Candidates):
    """Candidates as work on an engine sees them. Who asks for the columns themselves has them brought here."""

    engine: Engine
    parts: list[Kept[Candidates]]
    begins: list[int]  # the first source of each part

    def __init__(self, engine: Engine, parts: list[Kept[Candidates]], begins: list[int], *densities: Tensor) -> None:
        """From the parts, and the densities of all sources and targets."""
        vars(self).update(engine=engine, parts=parts, begins=begins, sources=len(densities[0]))
        vars(self).update(targets=len(densities[1]), source_density=densities[0], target_density=densities[1])

    @classmethod
    def of(cls, candidates: Candidates) -> KeptCandidates:
        """The same candidates, as one part unless they are in parts already."""
        if isinstance(candidates, KeptCandidates):
            return candidates
        return cls(LOCAL, [LOCAL.share(candidates)], [0], candidates.source_density, candidates.target_density)

    @property
    def source(self) -> Tensor:
        """Of each pair, [pairs] int64."""
        return self.here().source

    @property
    def target(self) -> Tensor:
        """Of each pair, [pairs] int64."""
        return self.here().target

    @property
    def cosine(self) -> Tensor:
        """Of each pair, [pairs] float32."""
        return self.here().cosine

    @cached_property
    def rows(self) -> list[int]:
        """How many pairs each part has."""
        return [*self.made(len)]

    def __len__(self) -> int:
        return sum(self.rows)

    def __getitem__(self, rows: Tensor) -> Candidates:
        return self.here()[rows]

    def map(self, work: Work[Candidates], *shared: Kept[Any]) -> KeptCandidates:
        """What work makes of each part, where it is."""
        made = self.made(work, *shared).kept()
        return KeptCandidates(self.engine, made, self.begins, self.source_density, self.target_density)

    def made(self, work: Work[T], *shared: Kept[Any]) -> Made[T]:
        """The same, to be used once."""
        return self.engine.map(work, [(part,) for part in self.parts], *shared)

    def here(self) -> Candidates:
        """The same candidates as one table that no engine keeps; from now on their parts are parts of it."""
        return self._whole

    @cached_property
    def _whole(self) -> Candidates:
        if self.engine is LOCAL and len(self.parts) == 1:
            return self.parts[0].fetch()
        rows = self.rows
        columns = _brought(self.engine, self.parts, rows, _columns)
        vars(self).update(engine=LOCAL, parts=[])
        for some in _slices(rows):
            self.parts.append(LOCAL.share(_table([column[some] for column in columns], self)))
        return _table(columns, self)


class KeptCounterparts(Counterparts):
    """Beliefs about candidates in parts, as work on an engine sees them; what "none" has is here. Who asks for the
    columns themselves has them brought here."""

    pairs: KeptCandidates
    parts: list[Kept[Beliefs]]

    def __init__(self, pairs: KeptCandidates, parts: list[Kept[Beliefs]], *nones: Tensor) -> None:
        vars(self).update(pairs=pairs, parts=parts, source_none=nones[0], target_none=nones[1], _engine=pairs.engine)

    @classmethod
    def of(cls, beliefs: Counterparts) -> KeptCounterparts:
        """The same beliefs, as one part unless they are in parts already."""
        if isinstance(beliefs, KeptCounterparts):
            return beliefs
        part = LOCAL.share((beliefs.forward, beliefs.backward))
        return cls(KeptCandidates.of(beliefs.candidates), [part], beliefs.source_none, beliefs.target_none)

    @property
    def candidates(self) -> Candidates:
        """The pairs."""
        return self.pairs

    @property
    def forward(self) -> Tensor:
        """p(target | source), [pairs]."""
        return self._here[0]

    @property
    def backward(self) -> Tensor:
        """p(source | target), [pairs]."""
        return self._here[1]

    def __getitem__(self, rows: Tensor) -> Counterparts:
        return here(self)[rows]

    @property
    def engine(self) -> Engine:
        """Where pairs and beliefs are both kept."""
        return vars(self)["_engine"] if self.pairs.engine is not LOCAL else LOCAL

    @property
    def blocks(self) -> list[tuple[Kept[Candidates], Kept[Beliefs]]]:
        """Each part: its pairs, and the beliefs about them."""
        return [*zip(self.pairs.parts, self.parts, strict=True)]

    def made(self, work: Work[T], *shared: Kept[Any]) -> Made[T]:
        """What work makes of the pairs and the beliefs of each part, to be used once."""
        return self.engine.map(work, self.blocks, *shared)

    def __iter__(self) -> Iterator[Counterparts]:
        """The parts, brought here one after the other."""
        for pairs, beliefs in self.blocks:
            yield Counterparts(pairs.fetch(), *beliefs.fetch(), self.source_none, self.target_none)

    @cached_property
    def _here(self) -> Beliefs:
        rows = self.pairs.rows
        forward, backward = _brought(vars(self)["_engine"], self.parts, rows, lambda part: part)
        vars(self).update(_engine=LOCAL, parts=[LOCAL.share((forward[some], backward[some])) for some in _slices(rows)])
        return forward, backward


def _columns(pairs: Candidates) -> Sequence[Tensor]:
    return pairs.source, pairs.target, pairs.cosine


def _table(columns: Sequence[Tensor], form: Candidates) -> Candidates:
    """Candidates of these columns, between the same entities as others."""
    source, target, cosine = columns
    return Candidates(source, target, cosine, form.sources, form.targets, form.source_density, form.target_density)


def here(beliefs: Counterparts) -> Counterparts:
    """The same beliefs as one table that no engine keeps."""
    pairs, nones = KeptCandidates.of(beliefs.candidates).here(), (beliefs.source_none, beliefs.target_none)
    return Counterparts(pairs, beliefs.forward, beliefs.backward, *nones)


def _brought(
    engine: Engine, parts: list[Kept[T]], rows: list[int], columns: Callable[[T], Sequence[Tensor]]
) -> Sequence[Tensor]:
    """The columns of all parts, each part freed once it is here: copied, as an engine's memory may be gone with it."""
    if engine is LOCAL and len(parts) == 1:
        return columns(parts[0].fetch())
    left, whole = list(parts), list[Tensor]()
    parts.clear()
    for some in _slices(rows):
        own = columns(left.pop(0).fetch())
        whole = whole or [column.new_empty(sum(rows)) for column in own]
        for all_rows, column in zip(whole, own, strict=True):
            all_rows[some] = column
    return whole


def _slices(rows: list[int]) -> Iterator[slice]:
    """Where parts with so many rows lie in their table."""
    return (slice(end - size, end) for end, size in zip(accumulate(rows), rows, strict=True))


def best_both_ways(
    kept: KeptCandidates | KeptCounterparts, scored: Scored, count: int, *, both_ways: bool = True
) -> tuple[Candidates, Tensor, Tensor]:
    """The pairs that are among the `count` best of their source or, both ways, of their target, and their scores."""
    least = None
    if both_ways and len(kept.parts) > 1:
        highest = torch.empty(0)
        for table in kept.made(partial(_highest, scored, count)):
            highest = torch.cat([highest, table], 1).topk(count, 1).values if len(highest) else table
        least = highest[:, -1].clone()
    found: list[tuple[Candidates, Tensor, Tensor]]
    found = [*kept.made(partial(_best, scored, count, both_ways), kept.engine.share(least))]
    *columns, forward, backward = (
        torch.cat(column) for column in zip(*((*_columns(pairs), *scores) for pairs, *scores in found), strict=True)
    )
    return _table(columns, found[0][0]), forward, backward


def _highest(scored: Scored, count: int, *part: Any) -> Tensor:
    """The highest scores of each target in a part."""
    pairs, _, backward = scored(*part)
    return segment_highest(pairs.target, pairs.targets, backward, count)


def _best(scored: Scored, count: int, both_ways: bool, *given: Any) -> tuple[Candidates, Tensor, Tensor]:
    """The best pairs of a part; what the least of each target has is given if there are other parts."""
    *part, least = given
    pairs, forward, backward = scored(*part)
    kept = segment_top(pairs.source, pairs.sources, forward, count)
    if both_ways:
        alone = least is None
        kept |= segment_top(pairs.target, pairs.targets, backward, count) if alone else _reach(backward, least, pairs)
    return pairs[kept], forward[kept], backward[kept]


def _reach(score: Tensor, least: Tensor, pairs: Candidates) -> Tensor:
    return score.float() >= least[pairs.target]


def sum_in_order(parts: Iterable[Tensor]) -> Tensor:
    """The sum of what all parts have, in their order."""
    return reduce(torch.add, parts)
