"""A reflection layer and its gradient: the GPU version of `reflections.plain_reflected_sum`.

A message is a pair (j, r̂). Its projection p = h_j·r̂ and its logit are computed once; the edges that carry it look
them up. Rows are split into parts, so that no program has to process an entity with thousands of edges by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl
from torch import Tensor

from emea.kernels.messages import LONGEST

if TYPE_CHECKING:
    from emea.kernels.reflections import Reflections

ENTRIES, ENTRY_WARPS = 16, 4  # messages per program, and its warps
TILE, WARPS = 4, 1  # edges of a part processed at a time, and warps per program
PARTS = 16  # parts of an entity combined at a time


def reflected_sum(
    places: Reflections, features: Tensor, directions: Tensor, on_message: Tensor, on_relation: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The sums, [entities, dimension], and what their gradient needs: p and logit of each message, [messages], and the
    log-sum-exp of each entity's logits, [entities]."""
    width, parts, messages = features.shape[1], places.edges.parts, len(places.message)
    block = triton.next_power_of_2(width)
    projection, logit = (features.new_empty(len(places.reflected.row)) for _ in range(2))
    result, log_sum = torch.zeros_like(features), features.new_zeros(len(features))
    if not messages:
        return result, projection, logit, log_sum
    _messages[(triton.cdiv(len(projection), ENTRIES),)](
        places.reflected.row, places.reflected.column, features, directions, on_message, on_relation,
        projection, logit, len(projection), width, ENTRIES, block, num_warps=ENTRY_WARPS,
    )  # fmt: skip
    pieces = features.new_empty(len(parts.row), width), features.new_empty(len(parts.row))  # of entities split in parts
    _gather[(len(parts.row),)](
        *parts.columns, places.edges.column, places.turned.column, places.message, projection, logit,
        features, directions, result, log_sum, *pieces, width, LONGEST, TILE, block, num_warps=WARPS,
    )  # fmt: skip
    if len(parts.split):
        _join[(len(parts.split),)](parts.split, parts.start, *pieces, result, log_sum, width, PARTS, block)
    return result, projection, logit, log_sum


def reflected_sum_gradient(
    places: Reflections, features: Tensor, directions: Tensor, on_message: Tensor, on_relation: Tensor,
    result: Tensor, projection: Tensor, logit: Tensor, log_sum: Tensor, gradient: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """The gradients with respect to features, directions, on_message and on_relation, given that of the sums.

    With o_i the sum of entity i, G_i its gradient, and t = v·r̂ where v is on_message, each edge has

        ∂logit = α (G_i·M_r h_j − G_i·o_i),   ∂p = −2 α G_i·r̂ − 2 t ∂logit.
    """
    width, tails, bundles = features.shape[1], places.edges.transposed, places.turned.transposed
    block = triton.next_power_of_2(width)
    of_features, of_directions = torch.zeros_like(features), torch.zeros_like(directions)
    by_tail, by_bundle = features.new_zeros(len(features)), directions.new_zeros(2, len(directions))
    if len(places.message):
        share, of_logit, of_projection = features.new_empty(3, len(places.message))
        parts = places.edges.parts
        _edge_gradient[(len(parts.row),)](
            *parts.columns[:3], places.edges.column, places.turned.column, places.message, projection, logit, log_sum,
            features, directions, on_message, result, gradient, share, of_logit, of_projection,
            width, TILE, block, num_warps=WARPS,
        )  # fmt: skip
        _feature_gradient[(len(tails.parts.row),)](
            *tails.parts.columns, tails.order, tails.sorted_column, places.bundle_by_tail, share, of_logit,
            of_projection, directions, gradient, on_message, of_features, by_tail, width, TILE, block, num_warps=WARPS,
        )  # fmt: skip
        _direction_gradient[(len(bundles.parts.row),)](
            *bundles.parts.columns, bundles.order, bundles.sorted_column, places.tail_by_bundle,
            places.message_by_bundle, share, of_logit, of_projection, projection, features, gradient, on_message,
            on_relation, of_directions, by_bundle, len(directions), width, TILE, block, num_warps=WARPS,
        )  # fmt: skip
    of_on_message = by_tail @ features - 2 * by_bundle[1] @ directions
    return of_features, of_directions, of_on_message, by_bundle[0] @ directions


@triton.jit
def _messages(
    tails, bundles, features, directions, on_message, on_relation, projection, logit, count,
    width: tl.constexpr, ENTRIES: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    entry = tl.program_id(0) * ENTRIES + tl.arange(0, ENTRIES)
    real = entry < count
    lane = tl.arange(0, BLOCK)
    inside = real[:, None] & (lane < width)[None, :]
    tail = tl.load(tails + entry, mask=real, other=0)[:, None] * width
    bundle = tl.load(bundles + entry, mask=real, other=0)[:, None] * width
    h = tl.load(features + tail + lane[None, :], mask=inside, other=0.0)
    r = tl.load(directions + bundle + lane[None, :], mask=inside, other=0.0)
    v = tl.load(on_message + lane, mask=lane < width, other=0.0)[None, :]
    w = tl.load(on_relation + lane, mask=lane < width, other=0.0)[None, :]
    p = tl.sum(h * r, 1)
    tl.store(projection + entry, p, mask=real)
    # v·M_r h_j + w·r̂ = v·h_j − 2 p (v·r̂) + w·r̂
    tl.store(logit + entry, tl.sum(h * v + r * w, 1) - 2 * p * tl.sum(r * v, 1), mask=real)


@triton.jit
def _gather(
    rows, begins, ends, wholes, tails, bundles, messages, projection, logit, features, directions,
    result, log_sum, pieces, piece_sums,
    width: tl.constexpr, LONGEST: tl.constexpr, TILE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    part = tl.program_id(0).to(tl.int64)
    begin, end = tl.load(begins + part), tl.load(ends + part)
    lane = tl.arange(0, BLOCK)
    every = begin + tl.arange(0, LONGEST)
    logits = tl.load(logit + tl.load(messages + every, mask=every < end, other=0), mask=every < end, other=-1e30)
    peak = tl.max(logits)
    log_total = peak + tl.log(tl.sum(tl.exp(logits - peak)))
    total = tl.zeros([BLOCK], tl.float32)
    for first in range(begin, end, TILE):
        edge = first + tl.arange(0, TILE)
        real = edge < end
        inside = real[:, None] & (lane < width)[None, :]
        message = tl.load(messages + edge, mask=real, other=0)
        share = tl.where(real, tl.exp(tl.load(logit + message, mask=real, other=-1e30) - log_total), 0.0)
        turned = -2 * share * tl.load(projection + message, mask=real, other=0.0)
        tail = tl.load(tails + edge, mask=real, other=0)[:, None] * width
        bundle = tl.load(bundles + edge, mask=real, other=0)[:, None] * width
        h = tl.load(features + tail + lane[None, :], mask=inside, other=0.0)
        r = tl.load(directions + bundle + lane[None, :], mask=inside, other=0.0)
        total += tl.sum(share[:, None] * h + turned[:, None] * r, 0)
    row = tl.load(rows + part)
    if tl.load(wholes + part):
        tl.store(result + row * width + lane, total, mask=lane < width)
        tl.store(log_sum + row, log_total)
    else:
        tl.store(pieces + part * width + lane, total, mask=lane < width)
        tl.store(piece_sums + part, log_total)


@triton.jit
def _join(
    split, starts, pieces, piece_sums, result, log_sum, width: tl.constexpr, PARTS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.load(split + tl.program_id(0))
    begin, end = tl.load(starts + row), tl.load(starts + row + 1)
    lane = tl.arange(0, BLOCK)
    peak = -1e30
    scale = 0.0
    total = tl.zeros([BLOCK], tl.float32)
    for first in range(begin, end, PARTS):
        part = first + tl.arange(0, PARTS)
        real = part < end
        sums = tl.load(piece_sums + part, mask=real, other=-1e30)
        higher = tl.maximum(peak, tl.max(sums))
        shares = tl.where(real, tl.exp(sums - higher), 0.0)
        place = part[:, None] * width + lane[None, :]
        each = tl.load(pieces + place, mask=real[:, None] & (lane < width)[None, :], other=0.0)
        total = total * tl.exp(peak - higher) + tl.sum(shares[:, None] * each, 0)
        scale = scale * tl.exp(peak - higher) + tl.sum(shares)
        peak = higher
    tl.store(result + row * width + lane, total / scale, mask=lane < width)
    tl.store(log_sum + row, peak + tl.log(scale))


@triton.jit
def _edge_gradient(
    rows, begins, ends, tails, bundles, messages, projection, logit, log_sum, features, directions, on_message,
    result, gradient, share, of_logit, of_projection, width: tl.constexpr, TILE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    part = tl.program_id(0)
    begin, end, row = tl.load(begins + part), tl.load(ends + part), tl.load(rows + part)
    lane = tl.arange(0, BLOCK)
    g = tl.load(gradient + row * width + lane, mask=lane < width, other=0.0)
    v = tl.load(on_message + lane, mask=lane < width, other=0.0)
    mean = tl.sum(g * tl.load(result + row * width + lane, mask=lane < width, other=0.0))
    log_total = tl.load(log_sum + row)
    for first in range(begin, end, TILE):
        edge = first + tl.arange(0, TILE)
        real = edge < end
        inside = real[:, None] & (lane < width)[None, :]
        message = tl.load(messages + edge, mask=real, other=0)
        p = tl.load(projection + message, mask=real, other=0.0)
        alpha = tl.exp(tl.load(logit + message, mask=real, other=-1e30) - log_total)
        tail = tl.load(tails + edge, mask=real, other=0)[:, None] * width
        bundle = tl.load(bundles + edge, mask=real, other=0)[:, None] * width
        h = tl.load(features + tail + lane[None, :], mask=inside, other=0.0)
        r = tl.load(directions + bundle + lane[None, :], mask=inside, other=0.0)
        across = tl.sum(r * g[None, :], 1)
        slope = alpha * (tl.sum(h * g[None, :], 1) - 2 * p * across - mean)
        tl.store(share + edge, alpha, mask=real)
        tl.store(of_logit + edge, slope, mask=real)
        tl.store(of_projection + edge, -2 * (alpha * across + slope * tl.sum(r * v[None, :], 1)), mask=real)


@triton.jit
def _feature_gradient(
    rows, begins, ends, wholes, index, heads, bundles, share, of_logit, of_projection, directions, gradient, on_message,
    of_features, by_tail, width: tl.constexpr, TILE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    part = tl.program_id(0)
    begin, end, row = tl.load(begins + part), tl.load(ends + part), tl.load(rows + part)
    lane = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    slopes = tl.zeros([TILE], tl.float32)
    for first in range(begin, end, TILE):
        entry = first + tl.arange(0, TILE)
        real = entry < end
        inside = real[:, None] & (lane < width)[None, :]
        edge = tl.load(index + entry, mask=real, other=0)
        head = tl.load(heads + entry, mask=real, other=0)[:, None] * width
        bundle = tl.load(bundles + entry, mask=real, other=0)[:, None] * width
        g = tl.load(gradient + head + lane[None, :], mask=inside, other=0.0)
        r = tl.load(directions + bundle + lane[None, :], mask=inside, other=0.0)
        alpha = tl.load(share + edge, mask=real, other=0.0)
        along = tl.load(of_projection + edge, mask=real, other=0.0)
        total += tl.sum(alpha[:, None] * g + along[:, None] * r, 0)
        slopes += tl.load(of_logit + edge, mask=real, other=0.0)
    slope = tl.sum(slopes)
    total += slope * tl.load(on_message + lane, mask=lane < width, other=0.0)
    place = of_features + row * width + lane
    if tl.load(wholes + part):
        tl.store(place, total, mask=lane < width)
        tl.store(by_tail + row, slope)
    else:
        tl.atomic_add(place, total, mask=lane < width)
        tl.atomic_add(by_tail + row, slope)


@triton.jit
def _direction_gradient(
    rows, begins, ends, wholes, index, heads, tails, messages, share, of_logit, of_projection, projection, features,
    gradient, on_message, on_relation, of_directions, by_bundle, count,
    width: tl.constexpr, TILE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    part = tl.program_id(0)
    begin, end, row = tl.load(begins + part), tl.load(ends + part), tl.load(rows + part)
    lane = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    slopes = tl.zeros([TILE], tl.float32)
    projected = tl.zeros([TILE], tl.float32)
    for first in range(begin, end, TILE):
        entry = first + tl.arange(0, TILE)
        real = entry < end
        inside = real[:, None] & (lane < width)[None, :]
        edge = tl.load(index + entry, mask=real, other=0)
        head = tl.load(heads + entry, mask=real, other=0)[:, None] * width
        tail = tl.load(tails + entry, mask=real, other=0)[:, None] * width
        p = tl.load(projection + tl.load(messages + entry, mask=real, other=0), mask=real, other=0.0)
        g = tl.load(gradient + head + lane[None, :], mask=inside, other=0.0)
        h = tl.load(features + tail + lane[None, :], mask=inside, other=0.0)
        turned = -2 * p * tl.load(share + edge, mask=real, other=0.0)
        along = tl.load(of_projection + edge, mask=real, other=0.0)
        total += tl.sum(turned[:, None] * g + along[:, None] * h, 0)
        slope = tl.load(of_logit + edge, mask=real, other=0.0)
        slopes += slope
        projected += slope * p
    slope = tl.sum(slopes)
    folded = tl.sum(projected)
    total += slope * tl.load(on_relation + lane, mask=lane < width, other=0.0)
    total -= 2 * folded * tl.load(on_message + lane, mask=lane < width, other=0.0)
    place = of_directions + row * width + lane
    if tl.load(wholes + part):
        tl.store(place, total, mask=lane < width)
        tl.store(by_bundle + row, slope)
        tl.store(by_bundle + count + row, folded)
    else:
        tl.atomic_add(place, total, mask=lane < width)
        tl.atomic_add(by_bundle + row, slope)
        tl.atomic_add(by_bundle + count + row, folded)
