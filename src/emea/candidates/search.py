"""Embeddings → candidates: the k nearest both ways, in blocks, ranked by cosine or CSLS."""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor

from emea.candidates.bounded import nearest_both_ways
from emea.candidates.kept import KeptEmbeddings, joined
from emea.candidates.marks import Marks, is_bounded
from emea.candidates.parts import KeptCandidates, best_both_ways
from emea.candidates.table import in_parts
from emea.data import Candidates, Embeddings
from emea.engine import ranges
from emea.kernels.messages import Pattern
from emea.kernels.nearest import axes_pay, fast_kind, main_axes, nearest, projected, shuffled
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
    return _found(embeddings, settings, generator, marks).here()


def _found(
    embeddings: Embeddings, settings: SimilaritySettings, generator: torch.Generator, marks: Marks | None
) -> KeptCandidates:
    """The same in parts."""
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
    return in_parts(kept, forward, backward, settings)


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


def search_among(
    embeddings: Embeddings,
    these: tuple[Tensor, Tensor],
    settings: SimilaritySettings,
    generator: torch.Generator,
    marks: Marks | None = None,
) -> KeptCandidates:
    """The same in parts, among some entities of each graph, [entities] bool: values, for instance, are only
    evidence."""
    if all(bool(side.all()) for side in these):
        return _found(embeddings, settings, generator, marks)
    source, target = ids = [side.nonzero()[:, 0] for side in these]
    near = None if marks is None else Marks(marks.source[source], marks.target[target], marks.known)
    found = _found(KeptEmbeddings.of(embeddings).rows(source, target), settings, generator, near)
    densities = [
        density.new_zeros(len(side)).scatter(0, rows, density)
        for side, rows, density in zip(these, ids, (found.source_density, found.target_density), strict=True)
    ]
    begins = [int(source[first]) if len(source) else 0 for first in found.begins]
    parts = found.made(_among, *map(found.engine.share, (*ids, *densities))).kept()
    return KeptCandidates(found.engine, parts, begins, *densities)


def _among(part: Candidates, source: Tensor, target: Tensor, *densities: Tensor) -> Candidates:
    """The pairs of a part, by the numbers that their entities have in the graphs."""
    sizes = len(densities[0]), len(densities[1])
    return Candidates(source[part.source], target[part.target], part.cosine, *sizes, *densities)


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


def pattern_of(candidates: Candidates) -> Pattern:
    """The candidate pairs as the entries of a sparse matrix."""
    return Pattern(candidates.source, candidates.target, (candidates.sources, candidates.targets))


def nearest_only(candidates: Candidates, count: int) -> Candidates:
    """The pairs that are among the `count` most similar of their source or of their target."""
    return best_both_ways(KeptCandidates.of(candidates), _by_similarity, count)[0]


def _by_similarity(pairs: Candidates) -> tuple[Candidates, Tensor, Tensor]:
    similarity = pairs.similarity
    return pairs, similarity, similarity


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
