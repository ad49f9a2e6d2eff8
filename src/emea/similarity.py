"""Embeddings → candidates: the k nearest both ways, in blocks, ranked by cosine or CSLS."""

from __future__ import annotations

import torch
from torch import Tensor

from emea.data import Candidates, Embeddings
from emea.kernels.segments import segment_rank
from emea.settings import SimilaritySettings


def search(embeddings: Embeddings, settings: SimilaritySettings, generator: torch.Generator) -> Candidates:
    """Each entity's nearest entities of the other graph, both ways in one table."""
    sources, targets = len(embeddings.source), len(embeddings.target)
    neighbours, kept = settings.neighbours, settings.candidates
    (forward, forward_rank), (backward, backward_rank) = nearest(
        embeddings, max(kept, neighbours), settings.rows(targets), generator
    )
    device = embeddings.source.device
    every_source = torch.arange(sources, device=device)[:, None]
    every_target = torch.arange(targets, device=device)[:, None]
    key = torch.cat(
        [
            (every_source * targets + forward_rank[:, :kept]).flatten(),
            (backward_rank[:, :kept] * targets + every_target).flatten(),
        ]
    )
    key, row = torch.unique(key, return_inverse=True)
    cosine = torch.empty(len(key), device=device)
    cosine[row] = torch.cat([forward[:, :kept].flatten(), backward[:, :kept].flatten()])
    return Candidates(
        source=key // targets,
        target=key % targets,
        cosine=cosine,
        sources=sources,
        targets=targets,
        source_density=forward[:, :neighbours].mean(1) if settings.measure == "csls" else forward.new_zeros(sources),
        target_density=backward[:, :neighbours].mean(1) if settings.measure == "csls" else forward.new_zeros(targets),
    )


def nearest(
    embeddings: Embeddings, count: int, block: int, generator: torch.Generator
) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Cosines and ids of the `count` nearest, [entities, count], for the sources and for the targets.

    One block of the similarity matrix at a time serves both directions. Exact ties fall as a random order of each
    graph has it: neither position nor name decides them.
    """
    source_order, target_order = (
        torch.randperm(len(side), generator=generator).to(side.device)
        for side in (embeddings.source, embeddings.target)
    )
    target = embeddings.target[target_order]
    forward_count, backward_count = min(count, len(target)), min(count, len(embeddings.source))
    cosines, ids = [], []
    best = target.new_empty(len(target), 0)
    best_id = torch.empty(len(target), 0, dtype=torch.int64, device=target.device)
    for rows in torch.split(source_order, block):
        similarity = embeddings.source[rows] @ target.T  # [block, targets]
        cosine, column = similarity.topk(forward_count, 1)
        cosines.append(cosine)
        ids.append(target_order[column])
        cosine, row = similarity.T.contiguous().topk(min(backward_count, len(rows)), 1)
        best, best_id = torch.cat([best, cosine], 1), torch.cat([best_id, rows[row]], 1)
        best, column = best.topk(min(backward_count, best.shape[1]), 1)
        best_id = best_id.gather(1, column)
    source_place, target_place = torch.argsort(source_order), torch.argsort(target_order)
    forward = torch.cat(cosines)[source_place], torch.cat(ids)[source_place]
    return forward, (best[target_place], best_id[target_place])


def nearest_only(candidates: Candidates, count: int) -> Candidates:
    """The pairs that are among the `count` most similar of their source or of their target."""
    similarity = candidates.similarity
    forward = segment_rank(candidates.source, candidates.sources, similarity)
    backward = segment_rank(candidates.target, candidates.targets, similarity)
    return candidates[(forward < count) | (backward < count)]


def nearest_alike(vectors: Tensor, count: int, rows: Tensor | None = None, block: int = 1024) -> Tensor:
    """Ids of the `count` entities of the same graph nearest to each (or to some), itself left out, [rows, count].

    The vectors have length 1. Exact ties fall as a random order has it.
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
