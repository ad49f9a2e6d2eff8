"""Time and memory of a stage, compared with the limits of the machine."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil
import torch
from torch import Tensor

from emea.kernels.devices import peak_memory
from emea.kernels.nearest import multiplies_halves

Unit = Literal["flop", "byte", "pair"]
RESET = Path("/proc/self/clear_refs")  # on Linux, where a process can make its peak begin anew


@dataclass(frozen=True)
class Stage:
    """A stage to measure: what it runs, and the least work that any machine must do for it."""

    name: str
    run: Callable[[], object]
    work: float
    unit: Unit
    count: int = 1  # how many of what its name says (epochs, batches) one call runs


@dataclass(frozen=True)
class Limits:
    """The best that the machine can do, measured in the same run."""

    bytes_per_second: float  # read and written by a copy
    flops_per_second: float  # of a matrix product in the shortest number format that it multiplies fast

    def least_seconds(self, stage: Stage) -> float | None:
        """The least time that the stage's work can take, if known."""
        rates = {"byte": self.bytes_per_second, "flop": self.flops_per_second}
        return stage.work / rates[stage.unit] if stage.unit in rates else None


@dataclass(frozen=True)
class Measurement:
    """A stage's time and memory."""

    stage: str
    seconds: float  # median
    fastest: float
    slowest: float
    peak_bytes: float  # the most memory held during the stage, by the process or on the GPU
    work_per_second: float
    unit: Unit
    share_of_limit: float | None


def measure(stage: Stage, limits: Limits, device: torch.device, repeats: int) -> Measurement:
    """Run a stage several times, after one run to warm up."""
    stage.run()
    seconds = []
    _reset_peak(device)
    for _ in range(repeats):
        _wait(device)
        started = time.perf_counter()
        stage.run()
        _wait(device)
        seconds.append((time.perf_counter() - started) / stage.count)
    median, least = statistics.median(seconds), limits.least_seconds(stage)
    share = None if least is None else least / median
    rate = stage.work / median
    return Measurement(stage.name, median, min(seconds), max(seconds), _peak(device), rate, stage.unit, share)


def measure_limits(device: torch.device) -> Limits:
    """Bandwidth of a copy too large for any cache, and the rate of a large matrix product."""
    block = torch.ones(2**27, device=device)
    copy = torch.empty_like(block)
    seconds = _best(lambda: copy.copy_(block), device)
    kind = torch.bfloat16 if multiplies_halves(device) else torch.float32
    left, right = (torch.ones(shape, dtype=kind, device=device) for shape in ((2048, 2048), (2048, 8192)))
    product = torch.empty(2048, 8192, dtype=kind, device=device)
    multiply = _best(lambda: torch.mm(left, right, out=product), device)
    return Limits(2 * 4 * 2**27 / seconds, 2 * 2048 * 2048 * 8192 / multiply)


def _best(run: Callable[[], Tensor], device: torch.device, repeats: int = 7) -> float:
    run()
    seconds = []
    for _ in range(repeats):
        _wait(device)
        started = time.perf_counter()
        run()
        _wait(device)
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _reset_peak(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    elif RESET.exists():
        RESET.write_bytes(b"5")


def _peak(device: torch.device) -> float:
    """Most bytes held since the last reset; outside Linux, what the process holds now."""
    if device.type == "cuda":
        return float(torch.cuda.max_memory_allocated(device))
    return peak_memory() if RESET.exists() else float(psutil.Process().memory_info().rss)
