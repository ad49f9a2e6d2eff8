"""Losses of RREA and Dual-AMN: GPU versions of `margin.plain_margin_loss` and `hardest.plain_hardest_first`."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from emea.kernels.hardest import SMALLEST_LOG

REPEATS = 4  # rows of the margin loss per program: they share a pair
CHUNK = 2048  # columns of a row processed at a time


def margin_loss(
    output: Tensor, pairs: Tensor, negatives: Tensor, weight: Tensor, margin: float
) -> tuple[Tensor, Tensor]:
    """The loss and its gradient, as in `margin.plain_margin_loss`."""
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


def hardest_first(losses: Tensor, own: Tensor, scale: float, shift: float) -> tuple[Tensor, Tensor]:
    """The same as `hardest.plain_hardest_first`."""
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
    highest = tl.full([CHUNK], 0.0, tl.float32)  # the pair's own columns have loss 0
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
