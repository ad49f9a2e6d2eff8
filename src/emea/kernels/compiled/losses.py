"""Compiled loops over pairs and their negatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor

from emea.kernels.compiled.run import ANY_ORDER, in_parts, places

ROWS = 2**10  # whose distances a thread finds at a time


def margin_loss(
    output: Tensor, pairs: Tensor, negatives: Tensor, weight: Tensor, margin: float
) -> tuple[Tensor, Tensor]:
    """The same as `margin.plain_margin_loss`. Each thread adds up some of the features of the gradient, in the order of
    the rows."""
    count, features = negatives.shape[1], output.shape[1]
    loss, share = torch.empty(count), torch.empty(count, 2)
    given = output.contiguous(), places(pairs), places(negatives)
    in_parts(_distances, ROWS, count, *given, weight, torch.tensor([margin]), loss, share)
    gradient = torch.zeros_like(given[0])
    in_parts(_pulls, max(1, -(-features // torch.get_num_threads())), features, *given, share, gradient)
    return loss.sum(), gradient


@njit(nogil=True, fastmath=ANY_ORDER)
def _distance(one: Any, other: Any) -> Any:
    total = np.float32(0)
    for feature in range(one.shape[0]):
        total += abs(one[feature] - other[feature])
    return total


def _distances(
    first: int, last: int, output: Any, pairs: Any, negatives: Any, weight: Any, margin: Any, loss: Any, share: Any
) -> None:
    for row in range(first, last):
        pair = row % pairs.shape[1]
        left, right = output[pairs[0, pair]], output[pairs[1, pair]]
        reach, given = margin[0] + _distance(left, right), weight[pair]
        to_right = reach - _distance(left, output[negatives[1, row]])
        to_left = reach - _distance(output[negatives[0, row]], right)
        share[row, 0] = given if to_right > 0 else np.float32(0)
        share[row, 1] = given if to_left > 0 else np.float32(0)
        loss[row] = share[row, 0] * to_right + share[row, 1] * to_left


@njit(nogil=True)
def _push(one: Any, other: Any, share: Any, on_one: Any, on_other: Any) -> None:
    """Add the share of the slopes of ‖one − other‖₁ to both gradients."""
    for feature in range(len(one)):
        apart = one[feature] - other[feature]
        slope = share * (np.float32(apart > 0) - np.float32(apart < 0))
        on_one[feature] += slope
        on_other[feature] -= slope


def _pulls(first: int, last: int, output: Any, pairs: Any, negatives: Any, share: Any, gradient: Any) -> None:
    for row in range(negatives.shape[1]):
        pair = row % pairs.shape[1]
        ends = pairs[0, pair], pairs[1, pair], negatives[0, row], negatives[1, row]
        left, right, other_left, other_right = (
            output[ends[0], first:last],
            output[ends[1], first:last],
            output[ends[2], first:last],
            output[ends[3], first:last],
        )
        on_right, on_left = share[row, 0], share[row, 1]
        if on_right + on_left > 0:
            _push(left, right, on_right + on_left, gradient[ends[0], first:last], gradient[ends[1], first:last])
        if on_right > 0:
            _push(left, other_right, -on_right, gradient[ends[0], first:last], gradient[ends[3], first:last])
        if on_left > 0:
            _push(other_left, right, -on_left, gradient[ends[2], first:last], gradient[ends[1], first:last])
