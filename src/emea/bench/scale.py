"""Whole runs on pairs of several sizes, from files to files: how time and memory grow."""

from __future__ import annotations

import json
import math
import platform
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
import torch

from emea import __version__
from emea.errors import InputError
from emea.kernels.devices import free_memory, machine, peak_memory

EVERY = 0.2  # seconds between looks at a GPU's memory


def scale(folders: Sequence[Path], ratio: float | None, device: torch.device) -> dict[str, Any]:
    """Measure a run on each benchmark folder, in a process of its own, and how what it takes grows."""
    runs = [_measured(folder, ratio, device) for folder in folders]
    sizes = [each["sources"] + each["targets"] for each in runs]
    grow = {name: growth(sizes, [each[name] for each in runs]) for name in ("seconds", "memory")}
    return {
        "machine": machine(device),
        "versions": {"emea": __version__, "torch": torch.__version__, "python": platform.python_version()},
        "runs": runs,
        "growth": grow,
    }


def growth(sizes: Sequence[float], values: Sequence[float]) -> float | None:
    """The exponent with which the values grow with the sizes: the slope of the line through their logarithms that fits
    best.

    >>> growth([10, 100, 1000], [1, 100, 10000])
    2.0
    """
    if len(set(sizes)) <= 1:
        return None
    x, y = ([math.log(each) for each in column] for column in (sizes, values))
    middle = sum(x) / len(x), sum(y) / len(y)
    across = sum((one - middle[0]) ** 2 for one in x)
    return round(sum((one - middle[0]) * (other - middle[1]) for one, other in zip(x, y, strict=True)) / across, 6)


def _measured(folder: Path, ratio: float | None, device: torch.device) -> dict[str, Any]:
    """One run: seconds, bytes, what an estimate said before, and what came out."""
    given = ["--data", str(folder), "--device", str(device), *([] if ratio is None else ["--ratio", str(ratio)])]
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "emea", "align", *given, "--out", out, "--force", "--json"]
        expected = json.loads(_finished(folder, *command, "--dry-run")[0])
        started = time.perf_counter()
        _, memory, on_device = _finished(folder, *command, device=device)
        seconds = time.perf_counter() - started
        rounds = [json.loads(line)["seconds"] for line in (Path(out) / "timings.jsonl").read_text("utf-8").splitlines()]
        size = tomllib.loads((Path(out) / "settings.toml").read_text(encoding="utf-8"))["run"]
        metrics = Path(out) / "metrics.json"
        ranking = json.loads(metrics.read_text(encoding="utf-8"))["ranking"] if metrics.exists() else None
    return {
        "folder": folder.resolve().name,
        "ratio": ratio,
        "sources": size["sources"],
        "targets": size["targets"],
        "seconds": round(seconds, 3),
        "rounds": round(sum(rounds), 3),
        "memory": memory,
        "device memory": on_device,
        "expected": {name: expected[name] for name in ("seconds", "memory")},
        "Hit@1": ranking and ranking["all targets"]["probability"]["hit@1"],
    }


def _finished(folder: Path, *command: str, device: torch.device | None = None) -> tuple[str, float, float | None]:
    """What a command printed, the most memory that it had, in bytes, and the most that was taken on its GPU."""
    on_gpu = device is not None and device.type == "cuda"
    before, least = (free_memory(device), math.inf) if device is not None and on_gpu else (0.0, 0.0)
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as printed,
        tempfile.TemporaryFile("w+", encoding="utf-8") as said,
    ):
        process = subprocess.Popen(command, stdout=printed, stderr=said, text=True)
        peak = 0.0
        while process.poll() is None:
            peak = max(peak, _peak(process.pid))
            least = min(least, free_memory(device)) if device is not None and on_gpu else least
            time.sleep(EVERY)
        printed.seek(0)
        said.seek(0)
        if process.returncode:
            raise InputError(f"the run on {folder} failed: {said.read().strip().removeprefix('error: ')}")
        return printed.read(), peak, before - least if on_gpu else None


def _peak(process: int) -> float:
    """The most memory that a process has had so far, in bytes; 0 if it has ended."""
    try:
        return peak_memory(process)
    except (OSError, psutil.Error):  # it has just ended
        return 0.0
