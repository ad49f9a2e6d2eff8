"""Embeddings → candidates: the k nearest both ways, in blocks, ranked by cosine or CSLS."""

from __future__ import annotations

import torch
from torch import Tensor

from emea.data import Candidates, Embeddings, pair_keys
from emea.kernels.messages import Pattern, products
from emea.kernels.nearest import nearest, roughly
from emea.kernels.segments import segment_rank
from emea.settings import SimilaritySettings


def search(embeddings: Embeddings, settings: SimilaritySettings, generator: torch.Generator) -> Candidates:
    """Each entity's nearest entities of the other graph, both ways in one table.

    Among many pairs the search is approximate; the cosines of the pairs found are exact.
    """
    source, target = embeddings.source, embeddings.target
    sources, targets = len(source), len(target)
    count = max(settings.candidates, settings.neighbours)
    rough = sources * targets > settings.exact
    looked_at = roughly(source, target, used_axes(settings, sources * targets)) if rough else (source, target)
    forward = nearest(*looked_at, count, rows_at_a_time(settings, targets, source.device), generator)
    backward = nearest(*looked_at[::-1], count, rows_at_a_time(settings, sources, source.device), generator)
    del looked_at
    forward_key = pair_keys(torch.arange(sources, device=source.device)[:, None], forward, targets)
    backward_key = pair_keys(backward, torch.arange(targets, device=source.device)[:, None], targets)
    key, row = torch.unique(torch.cat([forward_key.flatten(), backward_key.flatten()]), return_inverse=True)
    pairs = Pattern(key // targets, key % targets, (sources, targets))
    cosine = products(pairs, source, target)
    found = Candidates(
        source=pairs.row,
        target=pairs.column,
        cosine=cosine,
        sources=sources,
        targets=targets,
        source_density=_density(cosine[row[: forward.numel()]].reshape(forward.shape), settings),
        target_density=_density(cosine[row[forward.numel() :]].reshape(backward.shape), settings),
    )
    if settings.candidates >= count:
        return found
    kept = torch.zeros(len(key), dtype=torch.bool, device=key.device)
    for part, shape in ((row[: forward.numel()], forward.shape), (row[forward.numel() :], backward.shape)):
        kept[part.reshape(shape)[:, : settings.candidates].flatten()] = True
    return found[kept]


def search_among(
    embeddings: Embeddings, these: tuple[Tensor, Tensor], settings: SimilaritySettings, generator: torch.Generator
) -> Candidates:
    """The same among some entities of each graph, [entities] bool: values, for instance, are only evidence."""
    if all(bool(side.all()) for side in these):
        return search(embeddings, settings, generator)
    source, target = (side.nonzero()[:, 0] for side in these)
    found = search(Embeddings(embeddings.source[source], embeddings.target[target]), settings, generator)
    sources, targets = len(these[0]), len(these[1])
    densities = (
        found.cosine.new_zeros(size).scatter(0, rows, density)
        for size, rows, density in ((sources, source, found.source_density), (targets, target, found.target_density))
    )
    return Candidates(source[found.source], target[found.target], found.cosine, sources, targets, *densities)


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
    forward = segment_rank(candidates.source, candidates.sources, similarity)
    backward = segment_rank(candidates.target, candidates.targets, similarity)
    return candidates[(forward < count) | (backward < count)]


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
