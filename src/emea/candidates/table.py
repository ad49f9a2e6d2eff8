"""What a search found both ways → the candidates, in parts by source, with their cosines and densities."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from emea.candidates.kept import KeptEmbeddings, cosines_of
from emea.candidates.parts import PART, KeptCandidates
from emea.data import Candidates, pair_keys
from emea.engine import ranges
from emea.kernels.devices import compiled
from emea.kernels.joins import lookup, sorted_distinct
from emea.kernels.limits import MANY_ROWS
from emea.kernels.messages import Pattern
from emea.settings import SimilaritySettings


class _Plan(NamedTuple):
    """How many there are."""

    sources: int
    targets: int
    size: int  # sources of a part, and targets of a block
    parts: int
    settings: SimilaritySettings


class _Entries(NamedTuple):
    """Pairs that were found for some targets."""

    source: Tensor
    target: Tensor
    near: Tensor  # whether each is a candidate: for densities, more may be looked for


def in_parts(kept: KeptEmbeddings, forward: Tensor, backward: Tensor, settings: SimilaritySettings) -> KeptCandidates:
    """The pairs that were found either way, given the ids that were found for each source and for each target,
    [entities, found] each, −1 where fewer were found.

    What was found for targets goes to the parts of the sources, and its cosines come back for the targets' densities.
    """
    sources, targets, _ = kept.shape
    engine, size = kept.engine, PART if kept.device.type == "cpu" else max(1, sources, targets)
    ours, theirs = (ranges(count, size) or [slice(0, 0)] for count in (sources, targets))
    plan = _Plan(sources, targets, size, len(ours), settings)
    lists = [(rows.start, backward[rows]) for rows in theirs]
    sent = engine.exchange(partial(_sent, plan), lists, len(ours))
    blocks = ((rows.start, forward[rows], heard) for rows, heard in zip(ours, sent, strict=True))
    found, near, *back = engine.exchange(partial(_pairs_of_part, plan), blocks, 2 + len(theirs), *kept.sides)
    asked = ((each, heard) for (_, each), heard in zip(lists, back, strict=True))
    densities = torch.cat([*near]), torch.cat([*engine.map(partial(_density_of_targets, plan), asked)])
    parts = engine.map(_with_densities, [(part,) for part in found.kept()], *map(engine.share, densities)).kept()
    return KeptCandidates(engine, parts, [rows.start for rows in ours], *densities)


def _sent(plan: _Plan, first: int, found: Tensor) -> list[_Entries]:
    """What was found for some targets, from the first on, for each part."""
    pieces = []
    for own in _owned(plan, found):
        row, column = own.nonzero().unbind(1)
        pieces.append(_Entries(found[own].int(), (row + first).int(), column < plan.settings.candidates))
    return pieces


def _owned(plan: _Plan, found: Tensor) -> Iterator[Tensor]:
    """Which of what was found belongs to each part."""
    return ((found >= part * plan.size) & (found < (part + 1) * plan.size) for part in range(plan.parts))


def _pairs_of_part(
    plan: _Plan, first: int, found: Tensor, heard: Iterator[_Entries], *sides: Tensor
) -> list[Tensor | tuple[Tensor, Tensor, Tensor]]:
    """The pairs of some sources, from the first on: source, target and cosine; the density of the sources; and the
    cosines of what was found for each block of targets."""
    sent, targets = [*heard], plan.targets
    own = torch.arange(len(found), device=found.device)[:, None].expand_as(found)
    keys = [pair_keys(own, found.long(), targets)[found >= 0]]
    keys += [pair_keys(each.source.long() - first, each.target.long(), targets) for each in sent]
    key = sorted_distinct(torch.cat(keys))
    pairs = Pattern(key // targets, key % targets, (len(found), targets))
    del key, keys  # frees memory: there are many pairs
    source, target = pairs.row + first, pairs.column
    cosine = cosines_of(source, target, *sides)
    place = _positions(pairs, own, found)
    places = [_positions(pairs, each.source - first, each.target) for each in sent]
    density = _density(torch.where(place >= 0, cosine[place], 0.0), plan.settings)
    back = [cosine[each] for each in places]
    if plan.settings.candidates < found.shape[1]:
        near = torch.zeros(len(cosine) + 1, dtype=torch.bool, device=cosine.device)
        near[place[:, : plan.settings.candidates]] = True
        for each, entries in zip(places, sent, strict=True):
            near[each[entries.near]] = True
        source, target, cosine = (column[near[:-1]] for column in (source, target, cosine))
    return [(source, target, cosine), density, *back]


def _positions(pairs: Pattern, row: Tensor, column: Tensor) -> Tensor:
    """The place of each entry among the pairs, which are sorted, −1 if it is not one of them; same shape."""
    kernels = compiled(row) if row.numel() > MANY_ROWS else None
    if kernels is not None:
        found: Tensor = kernels.positions(pairs.start, pairs.column, (row.flatten(), column.flatten()))
        return found.view(row.shape)
    key = torch.where(row.minimum(column) >= 0, pair_keys(row.long(), column.long(), pairs.shape[1]), -1)
    return lookup(pair_keys(pairs.row, pairs.column, pairs.shape[1]), key)


def _density_of_targets(plan: _Plan, found: Tensor, heard: Iterator[Tensor]) -> Tensor:
    """The density of some targets, from the cosines that the parts sent back."""
    cosine = torch.zeros(found.shape, device=found.device)
    for own, cosines in zip(_owned(plan, found), heard, strict=True):
        cosine[own] = cosines
    return _density(cosine, plan.settings)


def _density(cosine: Tensor, settings: SimilaritySettings) -> Tensor:
    """Mean cosine of each entity to its nearest, [entities]; 0 if hubs are not corrected for."""
    if settings.measure == "cosine":
        return cosine.new_zeros(len(cosine))
    return cosine.topk(min(settings.neighbours, cosine.shape[1]), 1).values.mean(1)


def _with_densities(part: tuple[Tensor, Tensor, Tensor], *densities: Tensor) -> Candidates:
    return Candidates(*part, len(densities[0]), len(densities[1]), *densities)
