"""Nearest-neighbour search in blocks, exact or on cheaper approximate vectors."""

from __future__ import annotations

import math
from functools import cache

import torch
from torch import Tensor

from emea.kernels.devices import one_thread

MOMENTS = 256  # rows whose products are summed at a time: of more, a library sums in an order that depends on threads
SMALLEST_GROUP = 4  # columns; smaller groups do not pay off
AXES_PAY = {"cpu": 0, "cuda": 2**32}  # dot products beyond which projecting to the main axes pays off
HALVES = ("amx_bf16", "avx512_bf16")  # CPU features for fast bfloat16 products; without them it is many times slower


def shuffled(keys: Tensor, order: Tensor) -> Tensor:
    """Keys as `nearest` looks through them, [features, keys]: in random order, since exact ties go to the first."""
    return keys[order].T.contiguous()


def nearest(queries: Tensor, keys: Tensor, order: Tensor, count: int, block: int) -> Tensor:
    """Ids of the `count` keys with the largest dot products with each query, largest first, [queries, count].

    Processes a block of queries at a time. The keys are `shuffled` by the order, [keys].
    """
    count = min(count, len(order))
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


def projected(rows: Tensor, main: Tensor | None, kind: torch.dtype) -> Tensor:
    """The rows on these axes, if any, in this precision: cheaper vectors with nearly the same products."""
    return rows.to(kind) if main is None else (rows.to(main.dtype) @ main).to(kind)


def axes_pay(pairs: int, device: torch.device) -> bool:
    """Whether projecting to the main axes pays off among this many pairs."""
    return pairs > AXES_PAY.get(device.type, 0)


def fast_kind(device: torch.device) -> torch.dtype:
    """The precision in which the device multiplies fastest."""
    return torch.bfloat16 if multiplies_halves(device) else torch.float32


def main_axes(rows: Tensor, count: int) -> Tensor:
    """Orthonormal axes that capture most of the rows' length, [features, count]: by two steps of subspace iteration,
    in a tenth of the time of a decomposition."""
    moments = torch.zeros(rows.shape[1], rows.shape[1], device=rows.device)
    for part in torch.split(rows, MOMENTS):
        moments += (part.T @ part).float()
    start = torch.randn(len(moments), count, generator=torch.Generator().manual_seed(0)).to(rows.device)
    for _ in range(2):
        with one_thread():  # a library divides this by threads, and the result is another one
            start = torch.linalg.qr(moments @ start).Q
    return start.contiguous()  # products with it depend on how it lies in memory


@cache
def multiplies_halves(device: torch.device) -> bool:
    """Whether the device multiplies bfloat16 faster than float32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    known: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)() if device.type == "cpu" else {}
    return any(known.get(name) for name in HALVES)
