"""Nearest-neighbour search in blocks, exact or on cheaper approximate vectors."""

from __future__ import annotations

import math
from functools import cache

import torch
from torch import Tensor

SMALLEST_GROUP = 4  # columns; smaller groups do not pay off
BLOCK = 2**15  # rows projected at a time
SAMPLE = 4096  # rows from which the main axes are estimated
AXES_PAY = {"cpu": 0, "cuda": 2**32}  # dot products beyond which projecting to the main axes pays off
HALVES = ("amx_bf16", "avx512_bf16")  # CPU features for fast bfloat16 products; without them it is many times slower


def nearest(queries: Tensor, keys: Tensor, count: int, block: int, generator: torch.Generator) -> Tensor:
    """Ids of the `count` keys with the largest dot products with each query, largest first, [queries, count].

    Processes a block of queries at a time. Exact ties are broken at random, not by position or name.
    """
    order = torch.randperm(len(keys), generator=generator).to(keys.device)
    keys, count = keys[order].T.contiguous(), min(count, len(keys))
    products = queries.new_empty(min(block, len(queries)), len(order))  # allocated once: page faults are costly
    found = [
        order[best_columns(torch.mm(rows, keys, out=products[: len(rows)]), count)]
        for rows in torch.split(queries, block)
    ]
    return torch.cat(found) if found else order.new_empty(0, count)


def best_columns(values: Tensor, count: int) -> Tensor:
    """Columns of the `count` largest values of each row, largest first, [rows, count].

    The largest values lie in the groups of columns with the largest maxima, which are found first, in one pass.
    bfloat16 values are compared by their bits, which is many times faster on a CPU but leaves negative values in no
    particular order.
    """
    values = values.view(torch.int16) if values.dtype == torch.bfloat16 else values
    rows, columns = values.shape
    size = math.isqrt(columns // (2 * count))  # of a group: balances the groups against the columns in the chosen ones
    if size < SMALLEST_GROUP:
        return values.topk(count, 1).indices
    groups = columns // size
    grouped = values[:, : groups * size].view(rows, size, groups)
    leading = grouped.amax(1).topk(count, 1, sorted=False).indices
    column = (leading[:, None, :] + torch.arange(0, groups * size, groups, device=values.device)[:, None]).flatten(1)
    rest = torch.arange(groups * size, columns, device=values.device).expand(rows, -1)
    column = torch.cat([column, rest], 1)
    return column.gather(1, values.gather(1, column).topk(count, 1).indices)


def roughly(first: Tensor, second: Tensor, axes: int, *, halves: bool = False) -> tuple[Tensor, Tensor]:
    """Cheaper versions of both with nearly the same products: in bfloat16 if the device multiplies it faster, or to
    save memory; and projected to their common main axes if finding these pays off."""
    fast = torch.bfloat16 if multiplies_halves(first.device) else torch.float32
    kind = torch.bfloat16 if halves else fast
    pays = len(first) * len(second) > AXES_PAY.get(first.device.type, 0)
    if not pays or first.shape[1] <= axes:
        return first.to(kind), second.to(kind)
    sample = torch.cat([side[:: -(-len(side) // SAMPLE)] for side in (first, second)])
    main = main_axes(sample.to(fast), axes).to(fast)
    return _projected(first, main, kind), _projected(second, main, kind)


def _projected(rows: Tensor, main: Tensor, kind: torch.dtype) -> Tensor:
    """The rows on these axes, a block at a time."""
    result = torch.empty(len(rows), main.shape[1], dtype=kind, device=rows.device)
    for part, out in zip(torch.split(rows, BLOCK), torch.split(result, BLOCK), strict=True):
        out.copy_(part.to(main.dtype) @ main)
    return result


def main_axes(rows: Tensor, count: int) -> Tensor:
    """Orthonormal axes that capture most of the rows' length, [features, count]: by two steps of subspace iteration,
    in a tenth of the time of a decomposition."""
    moments = (rows.T @ rows).float()
    start = torch.randn(len(moments), count, generator=torch.Generator().manual_seed(0)).to(rows.device)
    for _ in range(2):
        start = torch.linalg.qr(moments @ start).Q
    return start


@cache
def multiplies_halves(device: torch.device) -> bool:
    """Whether the device multiplies bfloat16 faster than float32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    known: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)() if device.type == "cpu" else {}
    return any(known.get(name) for name in HALVES)
