"""Chooses which links of a benchmark become seeds and which are sealed."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from emea.contracts import Choice
from emea.data import Graph, Links, Reference, Task
from emea.errors import InputError
from emea.formats import read_known
from emea.formats._columns import release

NamePairs = tuple[pa.Array, pa.Array]  # source and target names


def link_names(pairs: NamePairs, source: Graph, target: Graph) -> Links:
    """Links between named entities of the graphs; without duplicates, sorted by id."""
    found = [pc.index_in(names, graph.entities) for names, graph in zip(pairs, (source, target), strict=True)]
    columns = [column.fill_null(-1).to_numpy() for column in found]
    release()
    unique = np.unique(np.stack(columns, axis=1).astype(np.int64), axis=0)
    unique = unique[(unique >= 0).all(1)]
    return Links.build(torch.from_numpy(unique[:, 0].copy()), torch.from_numpy(unique[:, 1].copy()))


def absent(pairs: NamePairs, source: Graph, target: Graph) -> list[int]:
    """The sources of the pairs of which a graph lacks an entity; −1 where it is the source."""
    sides = zip(pairs, (source, target), strict=True)
    columns = [pc.index_in(names, graph.entities).fill_null(-1) for names, graph in sides]
    lacking = pc.or_(*(pc.less(column, 0) for column in columns))
    rows = zip(*(column.filter(lacking).to_pylist() for column in (*columns, *pairs)), strict=True)
    return [row[0] for row in sorted({*rows})]


def together(*pairs: NamePairs) -> NamePairs:
    """All pairs, concatenated."""
    source, target = (pa.concat_arrays(side) for side in zip(*pairs, strict=True))
    return source, target


def without(links: Links, removed: Links, targets: int) -> Links:
    """The links that are not in `removed`; `targets` is the number of target entities."""
    return links[~torch.isin(links.keys(targets), removed.keys(targets))]


def choose(
    source: Graph, target: Graph, pairs: NamePairs, choice: Choice, folder: Path
) -> tuple[Task, Reference | None]:
    """The task whose seeds are a share of the known links, a file of pairs, or none; and its sealed links, if any."""
    known = link_names(pairs, source, target)
    lacking = absent(pairs, source, target)
    if choice.seeds is not None or not len(known):
        if choice.ratio is not None:
            raise InputError(f"{folder} has no links to split by --ratio {choice.ratio}; expected --seeds or neither")
        task = Task(source, target, Links.empty())
        if choice.seeds is not None:
            task = read_known(choice.seeds, source, target)
        rest = Reference(without(known, task.seeds, len(target.entities)), lacking) if len(known) else None
        return task, rest
    if choice.ratio is None:
        raise InputError(f"{folder} does not say which of its {len(known):,} links are seeds: give --ratio or --seeds")
    seeds, validation, others = split(known, choice.ratio, choice.split)
    return Task(source, target, seeds, validation), Reference(others, lacking)


def split(links: Links, ratio: float, seed: int, *, validation: int = 100) -> tuple[Links, Links, Links]:
    """Seeds, validation and the rest, which is to be sealed: sort the links by name and shuffle them with `seed`. The
    first share `ratio` becomes the seeds, and the next `validation` links are for validation."""
    order = np.lexsort((links.target.numpy(), links.source.numpy())).tolist()  # ids are in the order of names
    random.Random(seed).shuffle(order)
    rows, seeds = torch.tensor(order, dtype=torch.int64), round(ratio * len(links))
    held = seeds + validation
    return links[rows[:seeds]], links[rows[seeds:held]], links[rows[held:]]
