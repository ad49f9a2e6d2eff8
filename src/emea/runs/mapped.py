"""Tensors in a file: written one by one, and read only as far as they are looked at."""

from __future__ import annotations

import json
import math
import mmap
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

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


class Column(NamedTuple):
    """A long tensor of one dimension, in pieces that are made when their turn comes."""

    dtype: torch.dtype
    length: int
    pieces: Callable[[], Iterable[Tensor]]

    @classmethod
    def of(cls, tensor: Tensor | Column) -> Column:
        """A tensor in one piece."""
        return tensor if isinstance(tensor, Column) else cls(tensor.dtype, tensor.numel(), lambda: [tensor])


def write_tensors(file: BinaryIO, tensors: Mapping[str, Tensor | Column], about: Mapping[str, str]) -> None:
    """Write a safetensors file, one tensor after the other: safetensors itself would hold all of it in memory twice."""
    columns = {name: Column.of(each) for name, each in tensors.items()}
    names = sorted(columns, key=lambda name: (-columns[name].dtype.itemsize, name))  # each then begins where it may
    kinds, end = {kind: name for name, kind in TYPES.items()}, 0
    head: dict[str, Any] = {"__metadata__": dict(about)}
    for name in names:
        dtype, length, _ = columns[name]
        begin, end = end, end + length * dtype.itemsize
        shape = list(getattr(tensors[name], "shape", [length]))
        head[name] = {"dtype": kinds[dtype], "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file.write(struct.pack("<Q", len(text)) + text)
    for name in names:
        for piece in columns[name].pieces():
            file.write(piece.detach().cpu().contiguous().numpy().data)


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
