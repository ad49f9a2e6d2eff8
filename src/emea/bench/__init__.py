"""How fast each stage runs on this machine, and how close that is to the limits of its memory and arithmetic."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from emea import __version__
from emea.bench._measuring import measure, measure_limits
from emea.bench._stages import stages, synthetic
from emea.data import Graph, Task
from emea.errors import InputError
from emea.kernels.devices import machine


def bench(device: torch.device, repeats: int, task: Task | None = None) -> dict[str, Any]:
    """Measure all stages on the graphs of a task, or on synthetic ones."""
    task = task or synthetic()
    limits = measure_limits(device)
    measured = [measure(stage, limits, device, repeats) for stage in stages(task, device)]
    return {
        "machine": machine(device),
        "versions": {"emea": __version__, "torch": torch.__version__, "python": platform.python_version()},
        "graphs": [_size(task.source), _size(task.target)],
        "startup": startup(device),
        "limits": asdict(limits),
        "stages": [asdict(stage) for stage in measured],
    }


def read_bench(path: Path) -> dict[str, Any]:
    """A benchmark written earlier."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        assert {"machine", "versions", "stages"} <= found.keys()
    except (OSError, ValueError, AttributeError, AssertionError) as error:
        raise InputError(f"{path} is not a result of emea bench --out") from error
    return found


def startup(device: torch.device) -> dict[str, float]:
    """Seconds until Python runs, until emea is imported, and until the device has made its first tensor."""
    first_tensor = f"import emea, torch; torch.ones(1, device='{device}') + 1"
    programs = {"python": "pass", "import": "import emea", "first tensor": first_tensor}
    seconds = {}
    for name, program in programs.items():
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", program], check=True)
        seconds[name] = time.perf_counter() - started
    return seconds


def _size(graph: Graph) -> str:
    return f"{len(graph.entities):,} entities, {len(graph.relations):,} relations, {len(graph.triples):,} triples"
