"""Embeddings → candidates: the k nearest both ways, in blocks, ranked by cosine or CSLS."""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor

from emea.candidates.bounded import nearest_both_ways
from emea.candidates.kept import KeptEmbeddings, joined
from emea.candidates.marks import Marks, is_bounded
from emea.data import Candidates, Embeddings, pair_keys
from emea.engine import ranges
from emea.kernels.devices import compiled
from emea.kernels.joins import lookup, sorted_distinct
from emea.kernels.limits import MANY_ROWS
from emea.kernels.messages import Pattern
from emea.kernels.nearest import axes_pay, fast_kind, main_axes, nearest, projected, shuffled
from emea.kernels.segments import segment_top
from emea.settings import SimilaritySettings

SAMPLE = 4096  # rows from which the main axes are estimated
PROJECTED = 2**15  # rows projected at a time
QUERIES = 2**12  # entities whose nearest are found at a time
SCANNED = 0.4  # of the entities that may be scanned: who has marks scans fewer


def search(
    embeddings: Embeddings, settings: SimilaritySettings, generator: torch.Generator, marks: Marks | None = None
) -> Candidates:
    """Each entity's nearest entities of the other graph, both ways in one table.

    Among many pairs the search is approximate, and among very many, if there are marks, each entity looks at a bounded
    number of others; the cosines of the pairs found are exact.
    """
    kept = KeptEmbeddings.of(embeddings)
    sources, targets, _ = kept.shape
    count = max(settings.candidates, settings.neighbours)
    bounded = marks is not None and is_bounded(settings, sources * targets, kept.device)
    rough = bounded or sources * targets > settings.exact
    looked_at = roughly(kept, used_axes(settings, sources * targets), halves=bounded) if rough else kept
    if marks is not None and bounded:
        limits = settings.shared, settings.scanned
        forward, backward = nearest_both_ways(looked_at, marks, count=count, looked_at=limits, generator=generator)
    else:
        forward = _nearest(looked_at, count, settings, generator)
        backward = _nearest(looked_at.swap(), count, settings, generator)
    del looked_at  # frees memory
    return _table(kept, forward, backward, settings)


def roughly(kept: KeptEmbeddings, axes: int, *, halves: bool = False) -> KeptEmbeddings:
    """Cheaper versions of both sides with nearly the same products: in bfloat16 if the device multiplies it faster, or
    to save memory; and projected to their common main axes if finding these pays off."""
    engine, (sources, targets, features), main = kept.engine, kept.shape, None
    fast = fast_kind(kept.device)
    kind = torch.bfloat16 if halves else fast
    if axes_pay(sources * targets, kept.device) and features > axes:
        steps = zip(kept.sides, (-(-size // SAMPLE) for size in (sources, targets)), strict=True)
        main = main_axes(torch.cat([*engine.map(_every, steps)]).to(fast), axes).to(fast)
    elif all(form.kind == kind for form in kept.forms):
        return kept
    shared, sides = engine.share(main), []
    for side, rows in zip(kept.sides, (sources, targets), strict=True):
        blocks = engine.map(partial(_projected, kind), ((some,) for some in ranges(rows, PROJECTED)), side, shared)
        sides += engine.map(partial(joined, rows), [(blocks,)]).kept()
    return KeptEmbeddings(engine, *sides)


def _every(side: Tensor, step: int) -> Tensor:
    return side[::step]


def _projected(kind: torch.dtype, rows: slice, side: Tensor, main: Tensor | None) -> Tensor:
    return projected(side[rows], main, kind)


def _nearest(kept: KeptEmbeddings, count: int, settings: SimilaritySettings, generator: torch.Generator) -> Tensor:
    """Ids of the nearest targets of each source, [sources, count]: of all, a block of sources at a time."""
    engine, (queries, keys), (sources, targets, _) = kept.engine, kept.sides, kept.shape
    block = rows_at_a_time(settings, targets, kept.device)
    order = engine.share(torch.randperm(targets, generator=generator).to(kept.device))
    keys = engine.map(shuffled, [(keys, order)]).kept()[0]
    blocks = ((rows,) for rows in ranges(sources, max(1, QUERIES // block) * block))
    found = [*engine.map(partial(_nearest_of, count, block), blocks, queries, keys, order)]
    return torch.cat(found) if found else torch.empty(0, min(count, targets), dtype=torch.int64, device=kept.device)


def _nearest_of(count: int, block: int, rows: slice, queries: Tensor, *shuffled: Tensor) -> Tensor:
    keys, order = shuffled
    return nearest(queries[rows], keys, order, count, block)


def _table(kept: KeptEmbeddings, forward: Tensor, backward: Tensor, settings: SimilaritySettings) -> Candidates:
    """The pairs that were found either way, [entities, found] each, −1 where fewer were found."""
    sources, targets, _ = kept.shape
    count = max(settings.candidates, settings.neighbours)
    ours, theirs = (torch.arange(size, device=forward.device)[:, None] for size in (sources, targets))
    both = [(ours.expand_as(forward), forward), (backward, theirs.expand_as(backward))]
    keys = [
        torch.where(here.minimum(there) >= 0, pair_keys(here.long(), there.long(), targets), -1) for here, there in both
    ]
    key = sorted_distinct(torch.cat([each.flatten() for each in keys]))
    key = key[int((key[:1] < 0).sum()) :]
    pairs = Pattern(key // targets, key % targets, (sources, targets))
    del key, keys  # frees memory
    cosine = kept.cosines(pairs.row, pairs.column)
    places = [_positions(pairs, *each) for each in both]
    lists = [torch.where(each >= 0, cosine[each], 0.0) for each in places]
    densities = [_density(each, settings) for each in lists]
    found = Candidates(pairs.row, pairs.column, cosine, sources, targets, *densities)
    if settings.candidates >= count:
        return found
    near = torch.zeros(len(cosine) + 1, dtype=torch.bool, device=cosine.device)
    for each in places:
        near[each[:, : settings.candidates]] = True
    return found[near[:-1]]


def _positions(pairs: Pattern, row: Tensor, column: Tensor) -> Tensor:
    """The place of each entry among the pairs, which are sorted, −1 if it is not one of them; same shape."""
    kernels = compiled(row) if row.numel() > MANY_ROWS else None
    if kernels is not None:
        found: Tensor = kernels.positions(pairs.start, pairs.column, (row.flatten(), column.flatten()))
        return found.view(row.shape)
    key = torch.where(row.minimum(column) >= 0, pair_keys(row.long(), column.long(), pairs.shape[1]), -1)
    return lookup(pair_keys(pairs.row, pairs.column, pairs.shape[1]), key)


def search_among(
    embeddings: Embeddings,
    these: tuple[Tensor, Tensor],
    settings: SimilaritySettings,
    generator: torch.Generator,
    marks: Marks | None = None,
) -> Candidates:
    """The same among some entities of each graph, [entities] bool: values, for instance, are only evidence."""
    if all(bool(side.all()) for side in these):
        return search(embeddings, settings, generator, marks)
    source, target = (side.nonzero()[:, 0] for side in these)
    near = None if marks is None else Marks(marks.source[source], marks.target[target], marks.known)
    found = search(KeptEmbeddings.of(embeddings).rows(source, target), settings, generator, near)
    sources, targets = len(these[0]), len(these[1])
    densities = (
        found.cosine.new_zeros(size).scatter(0, rows, density)
        for size, rows, density in ((sources, source, found.source_density), (targets, target, found.target_density))
    )
    return Candidates(source[found.source], target[found.target], found.cosine, sources, targets, *densities)


def compared(settings: SimilaritySettings, sources: int, targets: int, device: torch.device) -> int:
    """About how many pairs of vectors the search compares, both ways; those that share marks are not counted."""
    if not is_bounded(settings, sources * targets, device):
        return 2 * sources * targets
    return (sources + targets) * (int(SCANNED * settings.scanned) + math.isqrt(max(sources, targets)))


def used_axes(settings: SimilaritySettings, pairs: int) -> int:
    """Main axes used by the approximate search among this many pairs."""
    return settings.axes if pairs <= settings.large else -(-3 * settings.axes // 4)


def rows_at_a_time(settings: SimilaritySettings, width: int, device: torch.device) -> int:
    """Rows of a similarity matrix of this width to hold at a time: about 500 MB, and on a CPU what its caches hold."""
    return settings.block or max(16, min(1024 if device.type == "cpu" else 2**14, 2**28 // max(width, 1)))


def _density(cosine: Tensor, settings: SimilaritySettings) -> Tensor:
    """Mean cosine of each entity to its nearest, [entities]; 0 if hubs are not corrected for."""
    if settings.measure == "cosine":
        return cosine.new_zeros(len(cosine))
    return cosine.topk(min(settings.neighbours, cosine.shape[1]), 1).values.mean(1)


def pattern_of(candidates: Candidates) -> Pattern:
    """The candidate pairs as the entries of a sparse matrix."""
    return Pattern(candidates.source, candidates.target, (candidates.sources, candidates.targets))


def nearest_only(candidates: Candidates, count: int) -> Candidates:
    """The pairs that are among the `count` most similar of their source or of their target."""
    similarity = candidates.similarity
    forward = segment_top(candidates.source, candidates.sources, similarity, count)
    backward = segment_top(candidates.target, candidates.targets, similarity, count)
    return candidates[forward | backward]


def nearest_alike(vectors: Tensor, count: int, rows: Tensor | None = None, block: int = 1024) -> Tensor:
    """Ids of the `count` entities of the same graph nearest to each (or to those in `rows`), itself excluded,
    [rows, count].

    The vectors have length 1. Exact ties are broken at random.
    """
    rows = torch.arange(len(vectors), device=vectors.device) if rows is None else rows
    order = torch.randperm(len(vectors), generator=torch.Generator().manual_seed(0)).to(vectors.device)
    place = torch.argsort(order)
    shuffled = vectors[order].T.contiguous()
    found = []
    for part in torch.split(rows, block):
        similarity = vectors[part] @ shuffled  # [block, entities]
        similarity.scatter_(1, place[part][:, None], -torch.inf)
        found.append(order[similarity.topk(min(count, len(vectors) - 1), 1).indices])
    return torch.cat(found) if found else rows.new_empty(0, min(count, len(vectors) - 1))
