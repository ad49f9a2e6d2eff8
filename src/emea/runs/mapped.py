"""Tensors that stay in their file: only what is looked at is read, and can be given back."""

from __future__ import annotations

import json
import math
import mmap
import struct
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor

TYPES = {  # by their names in safetensors
    "F64": torch.float64,
    "F32": torch.float32,
    "I64": torch.int64,
    "I32": torch.int32,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}


class Mapped:
    """A safetensors file. The tensors that safetensors maps itself would stay in memory, once looked at."""

    def __init__(self, path: Path) -> None:
        with safe_open(path, framework="pt"):
            pass  # it refuses what is not complete
        with path.open("rb") as file:
            self._file = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)  # torch wants what it could write to
        (size,) = struct.unpack("<Q", self._file[:8])
        head = json.loads(self._file[8 : 8 + size])
        self.about: dict[str, str] = head.pop("__metadata__", {})
        self.tensors = {
            name: self._tensor(TYPES[each["dtype"]], each["shape"], 8 + size + each["data_offsets"][0])
            for name, each in head.items()
        }

    def _tensor(self, dtype: torch.dtype, shape: Sequence[int], offset: int) -> Tensor:
        count = math.prod(shape)
        if not count:
            return torch.empty(shape, dtype=dtype)  # which would not be read
        return torch.frombuffer(self._file, dtype=dtype, count=count, offset=offset).reshape(shape)

    def release(self) -> None:
        """Give back the memory of what was read; whatever is looked at again is read again."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._file.madvise(mmap.MADV_DONTNEED)
