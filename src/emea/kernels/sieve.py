"""A filter that rejects most keys which are absent, cheaper than looking them up."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

ROOM = 16  # slots for each key: one absent key in sixteen passes


@dataclass(frozen=True, eq=False)
class Sieve:
    """Whether any key has a hash, [a power of 2] bool."""

    table: Tensor

    @classmethod
    def build(cls, keys: Tensor) -> Sieve:
        """Let these keys pass."""
        table = torch.zeros(2 ** (ROOM * max(1, len(keys)) - 1).bit_length(), dtype=torch.bool, device=keys.device)
        table[_hashed(keys, len(table))] = True
        return cls(table)

    def passing(self, keys: Tensor) -> Tensor:
        """Rows of the keys that may be among those, [rows]."""
        return self.table[_hashed(keys, len(self.table))].nonzero()[:, 0]


def _hashed(key: Tensor, size: int) -> Tensor:
    """A hash below `size`, a power of 2, of each key: middle bits of its product with a large odd number."""
    return ((key * 0x1E3779B97F4A7C15) >> 24) & (size - 1)
