"""Which of a benchmark folder's links are given, and which are sealed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from emea.contracts import Choice
from emea.data import Graph, Links, Reference, Task, split
from emea.errors import InputError
from emea.formats import read_pairs

NamePairs = Sequence[tuple[str, str]]


def link_names(pairs: NamePairs, source: Graph, target: Graph) -> Links:
    """Links between entities that both graphs know, each once, sorted by id."""
    columns = [
        pc.index_in(pa.array([pair[side] for pair in pairs], pa.large_string()), graph.entities).to_numpy()
        for side, graph in enumerate((source, target))
    ]
    unique = np.unique(np.stack(columns, axis=1).astype(np.int64), axis=0)
    return Links.build(torch.from_numpy(unique[:, 0].copy()), torch.from_numpy(unique[:, 1].copy()))


def without(links: Links, removed: Links, targets: int) -> Links:
    """The links that are not among those removed; `targets` is the number of target entities."""
    keys, removed_keys = (each.source * targets + each.target for each in (links, removed))
    return links[~torch.isin(keys, removed_keys)]


def choose(source: Graph, target: Graph, known: Links, choice: Choice, folder: Path) -> tuple[Task, Reference | None]:
    """The task when a share of the known links, a file of pairs, or nothing is given as seeds."""
    if choice.seeds is not None or not len(known):
        if choice.ratio is not None:
            raise InputError(f"{folder} has no links to take the share {choice.ratio} of; expected --seeds or none")
        seeds = Links.empty() if choice.seeds is None else read_pairs(choice.seeds, source, target)
        rest = Reference(without(known, seeds, len(target.entities))) if len(known) else None
        return Task(source, target, seeds, Links.empty()), rest
    if choice.ratio is None:
        raise InputError(f"{folder} does not say which of its {len(known):,} links are seeds: give --ratio or --seeds")
    seeds, validation, reference = split(source, target, known, choice.ratio, choice.split)
    return Task(source, target, seeds, validation), reference
