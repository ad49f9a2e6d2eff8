"""What depends on the device: kernels, random numbers, memory, and the machine's name."""

from __future__ import annotations

import ctypes
import importlib.util
import math
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from types import ModuleType

import psutil
import torch
from torch import Tensor

from emea.kernels.limits import A_BLOCK, ON_A_GPU

FUSED_ON = {"cuda"}
SMALL = 2**21  # pairs of entities up to which a second thread does not pay
LARGE_ARRAY = 2**22  # bytes
PROCESSES = Path("/proc")  # on Linux


def fused(tensor: Tensor, *, halves: bool = False) -> ModuleType | None:
    """The GPU kernels, if they support this tensor, which may be of halves; None means plain torch."""
    known = {torch.float32, torch.bfloat16} if halves else {torch.float32}
    return _kernels() if tensor.device.type in FUSED_ON and tensor.dtype in known else None


def compiled(tensor: Tensor, kind: torch.dtype | None = None) -> ModuleType | None:
    """The CPU kernels, if the tensor is on a CPU, and of this kind; None means plain torch."""
    return _compiled() if tensor.device.type == "cpu" and kind in {None, tensor.dtype} else None


@cache
def _compiled() -> ModuleType | None:
    try:
        return importlib.import_module("emea.kernels.compiled")
    except ImportError:  # numba is missing, or not made for this numpy
        return None


@cache
def _kernels() -> ModuleType | None:
    if importlib.util.find_spec("triton") is None:
        return None
    return importlib.import_module("emea.kernels.fused")


def on_device(generator: torch.Generator, device: torch.device) -> torch.Generator:
    """The generator itself on a CPU; on other devices a new generator there, seeded from it."""
    if device.type == "cpu":
        return generator
    seed = int(torch.randint(2**62, (1,), generator=generator))
    return torch.Generator(device).manual_seed(seed)


@contextmanager
def threads_that_pay(pairs: int) -> Iterator[None]:
    """One thread while little is computed: several would mostly wait for each other, for long where cores are busy."""
    with one_thread() if pairs <= SMALL else nullcontext():
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Nothing is shared among threads, whose number could change the last digits."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def at_a_time(block: int, device: torch.device) -> int:
    """How much of a loop to process at a time, if a CPU, whose caches it should fit, takes `block`."""
    if device.type != "cuda":
        return block
    return block * min(ON_A_GPU, max(1, int(torch.cuda.get_device_properties(device).total_memory // A_BLOCK)))


def free_memory(device: torch.device) -> float:
    """Bytes still available on a GPU; on a CPU those that this process may hold, with what it holds already, also if a
    control group or a limit of its address space leaves less than there is."""
    if device.type == "cuda":
        return float(torch.cuda.mem_get_info(device)[0])
    held, available = psutil.Process().memory_info(), float(psutil.virtual_memory().available)
    limit, used = (Path(f"/sys/fs/cgroup/memory.{name}") for name in ("max", "current"))  # psutil ignores these
    if limit.exists() and used.exists() and limit.read_text(encoding="ascii").strip() != "max":
        available = min(available, float(limit.read_text(encoding="ascii")) - float(used.read_text(encoding="ascii")))
    return held.rss + max(0.0, min(available, _address_space() - held.vms))


def _address_space() -> float:
    """Bytes of addresses that the system lets this process have, as by `ulimit -v`."""
    if sys.platform == "win32":
        return math.inf
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return math.inf if limit == resource.RLIM_INFINITY else float(limit)


def peak_memory(process: int | None = None) -> float:
    """The most bytes that a process, this one by default, has held so far; where a system does not say, what it holds
    now."""
    status = PROCESSES / ("self" if process is None else str(process)) / "status"
    if status.exists():  # psutil reports no peak there
        lines = status.read_text(encoding="utf-8", errors="replace").splitlines()
        return sum(1024 * float(line.split()[1]) for line in lines if line.startswith("VmHWM"))  # 0: it has just ended
    if process is None and sys.platform == "darwin":
        import resource  # which Windows has not

        return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)  # in bytes there, in KiB on Linux
    held = psutil.Process(process).memory_info()
    return float(getattr(held, "peak_wset", held.rss))  # Windows counts it


def return_large_arrays() -> None:
    """Give large arrays back to the system as soon as they are freed, from now on. By itself glibc keeps
    pieces of up to 32 MB, of which many turn out too small for the next stage."""
    set_option = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if set_option is not None:  # it is missing from other C libraries
        set_option(-3, LARGE_ARRAY)  # M_MMAP_THRESHOLD


def machine(device: torch.device) -> str:
    """A readable name for the machine."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()  # not on macOS
    return f"{models[0] if models else platform.machine()}, {cores} cores"
