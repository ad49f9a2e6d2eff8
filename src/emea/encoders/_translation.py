"""Triples as translations read them, shared by IPTransE and BootEA: those of both graphs, and copies through pairs."""

from __future__ import annotations

import torch
from torch import Tensor

from emea.data import Task
from emea.kernels.joins import expand


def triples_of(task: Task, device: torch.device) -> Tensor:
    """The triples of both graphs without inverses, numbered as in `Joined`, [triples, 3]."""
    after = torch.tensor([len(task.source.entities), 2 * len(task.source.relations), len(task.source.entities)])
    return torch.cat([task.source.triples, task.target.triples + after]).to(device)


def substituted(triples: Tensor, column: int, old: Tensor, new: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Copies of the triples that have an `old` entity in a column, with `new` in its place, and their weights."""
    order = torch.argsort(old, stable=True)
    old, new, weight = old[order], new[order], weight[order]
    start = torch.searchsorted(old, triples[:, column].contiguous())
    count = torch.searchsorted(old, triples[:, column].contiguous(), right=True) - start
    row, position = expand(start, count)
    copied = triples[row].clone()
    copied[:, column] = new[position]
    return copied, weight[position]
