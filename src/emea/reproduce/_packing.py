"""Ranks as short strings, which records keep."""

from __future__ import annotations

import base64
import zlib

import numpy as np
import torch
from torch import Tensor


def packed(ranks: Tensor) -> str:
    """Ranks, which are multiples of 1/2, as a short string."""
    return base64.b64encode(zlib.compress((2 * ranks).cpu().numpy().astype("<i4").tobytes(), 9)).decode()


def unpacked(text: str) -> Tensor:
    """The ranks in a string from `packed`.

    >>> unpacked(packed(torch.tensor([1.0, 2.5, 14000.0]))).tolist()
    [1.0, 2.5, 14000.0]
    """
    return torch.from_numpy(np.frombuffer(zlib.decompress(base64.b64decode(text)), "<i4") / 2)
