"""Sums, products and softmax over edges: GPU versions of what `messages` does in plain torch."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from emea.kernels.messages import Parts

ENTRIES = 16  # products per program
ROWS, LANES = 8, 16  # entities per program, and edges of each processed at a time
FEATURES = 128  # features of a row summed at a time
TILE, WARPS = 4, 1  # entries of a part processed at a time, and warps per program


def product(row: Tensor, column: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """left[row] · right[column], [entries] float32, as in `messages.plain_product`; the factors may be halves."""
    result = left.new_empty(len(row), dtype=torch.float32)
    if len(row):
        block = min(128, triton.next_power_of_2(left.shape[1]))
        grid = (triton.cdiv(len(row), ENTRIES),)
        _product[grid](
            row, column, left.contiguous(), right.contiguous(), result, len(row), left.shape[1], ENTRIES, block
        )
    return result


@triton.jit
def _product(row, column, left, right, result, count, width: tl.constexpr, ENTRIES: tl.constexpr, BLOCK: tl.constexpr):
    entry = tl.program_id(0) * ENTRIES + tl.arange(0, ENTRIES)
    real = entry < count
    first = tl.load(row + entry, mask=real, other=0)[:, None] * width
    second = tl.load(column + entry, mask=real, other=0)[:, None] * width
    total = tl.zeros([ENTRIES], tl.float32)
    for start in range(0, width, BLOCK):
        lane = start + tl.arange(0, BLOCK)[None, :]
        inside = real[:, None] & (lane < width)
        x = tl.load(left + first + lane, mask=inside, other=0.0).to(tl.float32)
        y = tl.load(right + second + lane, mask=inside, other=0.0).to(tl.float32)
        total += tl.sum(x * y, 1)
    tl.store(result + entry, total, mask=real)


def softmax(start: Tensor, logits: Tensor) -> Tensor:
    """Softmax over each row, [entries], as in `messages.edge_softmax`; the rows begin at `start`."""
    result, rows = torch.empty_like(logits), len(start) - 1
    _softmax[(triton.cdiv(rows, ROWS),)](start, logits.contiguous(), result, rows, ROWS, LANES, num_warps=1)
    return result


@triton.jit
def _softmax(start, logits, result, rows, ROWS: tl.constexpr, LANES: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    first = tl.load(start + row, mask=row < rows, other=0)[:, None]
    last = tl.load(start + row + 1, mask=row < rows, other=0)[:, None]
    longest = tl.max(last - first)
    peak = tl.full([ROWS, 1], -1e30, tl.float32)
    total = tl.zeros([ROWS, 1], tl.float32)
    for begin in range(0, longest, LANES):
        entry = first + begin + tl.arange(0, LANES)[None, :]
        value = tl.load(logits + entry, mask=entry < last, other=-1e30)
        higher = tl.maximum(peak, tl.max(value, 1)[:, None])
        total = total * tl.exp(peak - higher) + tl.sum(tl.exp(value - higher), 1)[:, None]
        peak = higher
    for begin in range(0, longest, LANES):
        entry = first + begin + tl.arange(0, LANES)[None, :]
        value = tl.load(logits + entry, mask=entry < last, other=-1e30)
        tl.store(result + entry, tl.exp(value - peak) / total, mask=entry < last)


def softmax_gradient(start: Tensor, share: Tensor, gradient: Tensor) -> Tensor:
    """The gradient with respect to the logits, given that with respect to the shares, [entries]."""
    result, rows = torch.empty_like(share), len(start) - 1
    grid = (triton.cdiv(rows, ROWS),)
    _softmax_gradient[grid](start, share, gradient.contiguous(), result, rows, ROWS, LANES, num_warps=1)
    return result


@triton.jit
def _softmax_gradient(start, share, gradient, result, rows, ROWS: tl.constexpr, LANES: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    first = tl.load(start + row, mask=row < rows, other=0)[:, None]
    last = tl.load(start + row + 1, mask=row < rows, other=0)[:, None]
    longest = tl.max(last - first)
    mean = tl.zeros([ROWS, 1], tl.float32)
    for begin in range(0, longest, LANES):
        entry = first + begin + tl.arange(0, LANES)[None, :]
        alpha = tl.load(share + entry, mask=entry < last, other=0.0)
        mean += tl.sum(alpha * tl.load(gradient + entry, mask=entry < last, other=0.0), 1)[:, None]
    for begin in range(0, longest, LANES):
        entry = first + begin + tl.arange(0, LANES)[None, :]
        alpha = tl.load(share + entry, mask=entry < last, other=0.0)
        slope = tl.load(gradient + entry, mask=entry < last, other=0.0)
        tl.store(result + entry, alpha * (slope - mean), mask=entry < last)


def weighted_sum(parts: Parts, index: Tensor, column: Tensor, values: Tensor, features: Tensor) -> Tensor:
    """The same as `messages.plain_sum`; `index` and `column` hold, for each entry in sorted order, its position in
    `values` and its column."""
    width = features.shape[1]
    result = features.new_zeros(parts.rows, width)
    if len(parts.row):
        block = min(FEATURES, triton.next_power_of_2(width))
        grid = (len(parts.row), triton.cdiv(width, block))
        _weighted_sum[grid](
            parts.row, parts.begin, parts.end, parts.whole, index, column, values.contiguous(), features.contiguous(),
            result, width, TILE, block, num_warps=WARPS,
        )  # fmt: skip
    return result


@triton.jit
def _weighted_sum(
    rows, begins, ends, wholes, index, column, values, features, result,
    width: tl.constexpr, TILE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    part = tl.program_id(0)
    begin, end = tl.load(begins + part), tl.load(ends + part)
    lane = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = lane < width
    total = tl.zeros([BLOCK], tl.float32)
    for first in range(begin, end, TILE):
        entry = first + tl.arange(0, TILE)
        real = entry < end
        value = tl.load(values + tl.load(index + entry, mask=real, other=0), mask=real, other=0.0)
        place = tl.load(column + entry, mask=real, other=0)[:, None] * width + lane[None, :]
        each = tl.load(features + place, mask=real[:, None] & inside[None, :], other=0.0)
        total += tl.sum(value[:, None] * each, 0)
    place = result + tl.load(rows + part) * width + lane
    if tl.load(wholes + part):
        tl.store(place, total, mask=inside)
    else:
        tl.atomic_add(place, total, mask=inside)
