"""Small answers to evaluate, written down by hand."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from emea.analysis.ranking import Answer, by_similarity
from emea.data import Alignment, Links

Pair = tuple[int, int]


def column(values: Sequence[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def links_of(pairs: Sequence[Pair]) -> Links:
    return Links.build(
        torch.tensor([pair[0] for pair in pairs], dtype=torch.int64),
        torch.tensor([pair[1] for pair in pairs], dtype=torch.int64),
    )


def alignment_of(links: Mapping[Pair, float]) -> Alignment:
    pairs = list(links)
    columns = links_of(pairs)
    return Alignment(columns.source, columns.target, column(list(links.values())), torch.zeros(len(pairs)))


def answer_of(
    scores: Mapping[Pair, float],
    targets: int,
    given_pairs: Sequence[Pair] = (),
    links: Mapping[Pair, float] | None = None,
) -> Answer:
    pairs = sorted(scores)
    columns = links_of(pairs)
    return Answer(
        links=alignment_of(links or {}),
        source=columns.source,
        target=columns.target,
        scores={"score": by_similarity(column([scores[pair] for pair in pairs]))},
        linkable=torch.ones(targets, dtype=torch.bool),
        given=links_of(given_pairs),
    )


def pool_of(inside: Sequence[int], targets: int) -> Tensor:
    pool = torch.zeros(targets, dtype=torch.bool)
    pool[list(inside)] = True
    return pool
