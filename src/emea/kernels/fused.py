"""Kernels for GPUs, in Triton: what takes several passes over memory with torch alone, in one.

Each has a twin in plain torch that every other device uses: `plain_product` and `edge_softmax` in `messages`,
`plain_margin_loss` in `margin`, `plain_hardest_first` in `hardest`. Imported only where `usable` says so.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from emea.kernels.hardest import SMALLEST_LOG

REPEATS = 4  # rows of the margin loss that one program takes: they share a pair
ENTRIES = 16  # products that one program makes
ROWS, LANES = 8, 16  # entities that one program takes, and edges of each looked at together
CHUNK = 2048  # columns of a row looked at together


def margin_loss(
    output: Tensor, pairs: Tensor, negatives: Tensor, weight: Tensor, margin: float
) -> tuple[Tensor, Tensor]:
    """What `margin.plain_margin_loss` computes: the loss and its gradient."""
    rows, width = negatives.shape[1], output.shape[1]
    gradient, loss = torch.zeros_like(output), output.new_zeros(1)
    count = pairs.shape[1]
    grid = (count, triton.cdiv(triton.cdiv(rows, count), REPEATS))
    block = triton.next_power_of_2(width)
    _margin_loss[grid](
        output.contiguous(), pairs, negatives, weight, gradient, loss, count, rows, margin, width, REPEATS, block
    )
    return loss[0], gradient


@triton.jit
def _margin_loss(
    output, pairs, negatives, weight, gradient, loss, count, rows, margin,
    width: tl.constexpr, REPEATS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    pair, chunk = tl.program_id(0), tl.program_id(1)
    lane = tl.arange(0, BLOCK)
    inside = lane < width
    left, right = tl.load(pairs + pair), tl.load(pairs + count + pair)
    share = tl.load(weight + pair)
    x = tl.load(output + left * width + lane, mask=inside, other=0.0)
    y = tl.load(output + right * width + lane, mask=inside, other=0.0)
    near = x - y
    reach = margin + tl.sum(tl.abs(near))
    near_sign = (near > 0).to(tl.float32) - (near < 0).to(tl.float32)
    of_x = tl.zeros([BLOCK], tl.float32)
    of_y = tl.zeros([BLOCK], tl.float32)
    total = 0.0
    for step in range(REPEATS):
        row = pair + (chunk * REPEATS + step) * count
        real = row < rows
        other_left = tl.load(negatives + row, mask=real, other=0)
        other_right = tl.load(negatives + rows + row, mask=real, other=0)
        to_right = x - tl.load(output + other_right * width + lane, mask=inside, other=0.0)
        to_left = tl.load(output + other_left * width + lane, mask=inside, other=0.0) - y
        first = reach - tl.sum(tl.abs(to_right))
        second = reach - tl.sum(tl.abs(to_left))
        present = tl.where(real, share, 0.0)
        first_share = tl.where(first > 0, present, 0.0)
        second_share = tl.where(second > 0, present, 0.0)
        total += first_share * first + second_share * second
        right_slope = first_share * ((to_right > 0).to(tl.float32) - (to_right < 0).to(tl.float32))
        left_slope = second_share * ((to_left > 0).to(tl.float32) - (to_left < 0).to(tl.float32))
        near_slope = (first_share + second_share) * near_sign
        of_x += near_slope - right_slope
        of_y += left_slope - near_slope
        tl.atomic_add(gradient + other_right * width + lane, right_slope, mask=inside & (right_slope != 0))
        tl.atomic_add(gradient + other_left * width + lane, -left_slope, mask=inside & (left_slope != 0))
    tl.atomic_add(gradient + left * width + lane, of_x, mask=inside)
    tl.atomic_add(gradient + right * width + lane, of_y, mask=inside)
    tl.atomic_add(loss, total)


def product(row: Tensor, column: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """What `messages.plain_product` computes: left[row] · right[column], [entries]."""
    result = left.new_empty(len(row))
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
        x = tl.load(left + first + lane, mask=inside, other=0.0)
        y = tl.load(right + second + lane, mask=inside, other=0.0)
        total += tl.sum(x * y, 1)
    tl.store(result + entry, total, mask=real)


def softmax(start: Tensor, logits: Tensor) -> Tensor:
    """exp(logit) over the sum of its row, [entries]; the rows begin at `start`."""
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
    """The gradient in the logits, from that in the shares, [entries]."""
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


def hardest_first(losses: Tensor, own: Tensor, scale: float, shift: float) -> tuple[Tensor, Tensor]:
    """What `hardest.plain_hardest_first` computes."""
    rows, columns = losses.shape
    total = losses.new_empty(rows)
    _hardest_first[(rows,)](losses, own.contiguous(), total, columns, scale, shift, SMALLEST_LOG, CHUNK, num_warps=8)
    return total, losses


@triton.jit
def _hardest_first(losses, own, total, columns, scale, shift, smallest, CHUNK: tl.constexpr):
    row = tl.program_id(0)
    start = losses + row.to(tl.int64) * columns
    first, second = tl.load(own + 2 * row), tl.load(own + 2 * row + 1)
    kept = tl.zeros([CHUNK], tl.float32)
    for begin in range(0, columns, CHUNK):
        column = begin + tl.arange(0, CHUNK)
        counts = (column < columns) & (column != first) & (column != second)
        kept += tl.load(start + column, mask=counts, other=0.0)
    mean = tl.sum(kept) / columns
    kept = tl.zeros([CHUNK], tl.float32)
    highest = tl.full([CHUNK], 0.0, tl.float32)  # the own columns have loss 0
    for begin in range(0, columns, CHUNK):
        column = begin + tl.arange(0, CHUNK)
        counts = (column < columns) & (column != first) & (column != second)
        value = tl.load(start + column, mask=counts, other=0.0)
        highest = tl.maximum(highest, value)
        kept += tl.where(column < columns, (value - mean) * (value - mean), 0.0)
    steepness = scale / tl.sqrt(tl.maximum(tl.sum(kept) / columns, 1e-12))
    peak = tl.max(highest)
    kept = tl.zeros([CHUNK], tl.float32)
    for begin in range(0, columns, CHUNK):
        column = begin + tl.arange(0, CHUNK)
        counts = (column < columns) & (column != first) & (column != second)
        value = tl.load(start + column, mask=counts, other=0.0)
        kept += tl.where(column < columns, tl.exp(steepness * (value - peak)), 0.0)
    log_sum = tl.log(tl.sum(kept)) + steepness * peak
    for begin in range(0, columns, CHUNK):
        column = begin + tl.arange(0, CHUNK)
        counts = (column < columns) & (column != first) & (column != second)
        logarithm = steepness * tl.load(start + column, mask=counts, other=0.0) - log_sum
        share = tl.where(counts & (logarithm >= smallest), tl.exp(logarithm), 0.0)
        tl.store(start + column, share * steepness, mask=column < columns)
    tl.store(total + row, log_sum - steepness * mean + shift)
