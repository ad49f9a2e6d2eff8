"""What differs from device to device: which kernels run there, and where random numbers are drawn."""

from __future__ import annotations

import importlib.util
from functools import cache
from types import ModuleType

import torch
from torch import Tensor

FUSED_ON = {"cuda"}


def fused(tensor: Tensor) -> ModuleType | None:
    """The kernels written for GPUs, where they can work on such a tensor; else None, and plain torch does it."""
    return _kernels() if tensor.device.type in FUSED_ON and tensor.dtype == torch.float32 else None


@cache
def _kernels() -> ModuleType | None:
    if importlib.util.find_spec("triton") is None:
        return None
    return importlib.import_module("emea.kernels.fused")


def on_device(generator: torch.Generator, device: torch.device) -> torch.Generator:
    """The generator itself on a CPU; elsewhere one that lives there, seeded by it."""
    if device.type == "cpu":
        return generator
    seed = int(torch.randint(2**62, (1,), generator=generator))
    return torch.Generator(device).manual_seed(seed)
