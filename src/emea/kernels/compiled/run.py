"""Runs compiled loops, each over a range of its work, in as many threads as torch has."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import torch
from numba import njit
from torch import Tensor

ANY_ORDER = {"reassoc", "contract", "nsz"}  # of the terms of a sum, so that it is vectorised


def in_parts(loop: Callable[..., None], block: int, count: int, *arguments: Tensor) -> None:
    """Run a loop over `count` pieces of work, a block of them at a time in each thread."""
    run, arrays = _compiled(loop), [each.numpy() for each in arguments]
    if count <= block:
        run(0, count, *arrays)
        return
    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        list(pool.map(lambda first: run(first, min(first + block, count), *arrays), range(0, count, block)))


def places(index: Tensor) -> Tensor:
    """Without a sign, so that a loop need not ask whether a place is counted from the end: that halves its time."""
    return index.contiguous().view(torch.uint64 if index.dtype == torch.int64 else torch.uint32)


@cache
def _compiled(loop: Callable[..., None]) -> Callable[..., None]:
    """The loop, kept compiled for later runs where there is a folder for it."""
    run: Callable[..., None]
    try:
        run = njit(loop, cache=True, nogil=True, fastmath=ANY_ORDER)
    except RuntimeError:  # numba found no folder
        run = njit(loop, nogil=True, fastmath=ANY_ORDER)
    return run
