"""What is installed here, what the machine offers, and what a run would use of it."""

from __future__ import annotations

import os
import platform
import re
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution, version

import torch

from emea import __version__
from emea.errors import EmeaError
from emea.examples import example_files, read_example
from emea.kernels.devices import free_memory

PACKAGE = "emea"
INTERNAL = {"dev"}  # extras that only those who change emea need
REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
EXTRA = re.compile(r"extra\s*==\s*[\"']([^\"']+)[\"']")


@dataclass(frozen=True)
class Findings:
    """The state of an installation."""

    python: str
    emea: str
    packages: dict[str, str | None]  # that running needs, with their versions; None if missing
    extras: dict[str, dict[str, str | None]]  # the same for each extra
    torch_build: str  # cpu, CUDA 12.8, ROCm 6.4
    gpus: list[str]
    cores: int
    free_memory: float  # bytes
    device: str  # that a run would use
    threads: int  # that a run would use
    example: str  # what the example's graphs hold, or why they cannot be read
    readable: bool  # whether they can

    @property
    def missing(self) -> list[str]:
        """Commands that install what is missing, the extras by name."""
        needed = [name for name, found in self.packages.items() if found is None]
        extras = [name for name, packages in self.extras.items() if None in packages.values()]
        return [
            *([f"pip install {' '.join(needed)}"] if needed else []),
            *(f"pip install '{PACKAGE}[{name}]'" for name in extras),
        ]


def examine() -> Findings:
    """Look at everything; nothing that is wrong raises an error."""
    packages, extras = _requirements()
    has_gpu = torch.cuda.is_available()
    device = torch.device("cuda" if has_gpu else "cpu")
    example, readable = _example()
    return Findings(
        python=platform.python_version(),
        emea=__version__,
        packages=packages,
        extras=extras,
        torch_build=_build(),
        gpus=[torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())] if has_gpu else [],
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        free_memory=free_memory(device),
        device=str(device),
        threads=torch.get_num_threads(),
        example=example,
        readable=readable,
    )


def _build() -> str:
    """What torch was compiled for."""
    if torch.version.cuda is not None:
        return f"CUDA {torch.version.cuda}"
    return f"ROCm {torch.version.hip}" if torch.version.hip is not None else "CPU"


def _requirements() -> tuple[dict[str, str | None], dict[str, dict[str, str | None]]]:
    """The packages that the installed package asks for, always and for each extra, with their versions here."""
    try:
        listed = distribution(PACKAGE).requires or []
    except PackageNotFoundError:  # run from its source alone
        return {"torch": torch.__version__}, {}
    needed: dict[str, str | None] = {}
    extras: dict[str, dict[str, str | None]] = {}
    for requirement in listed:
        found = REQUIREMENT.match(requirement)
        assert found is not None, requirement
        extra = EXTRA.search(requirement)
        if extra is None:
            needed[found[0]] = _version(found[0])
        elif extra[1] not in INTERNAL:
            extras.setdefault(extra[1], {})[found[0]] = _version(found[0])
    return needed, extras


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _example() -> tuple[str, bool]:
    """What the example holds, and whether it could be read."""
    started = time.perf_counter()
    try:
        task, reference = read_example()
    except (EmeaError, OSError) as error:
        return f"{example_files()[0].parent} cannot be read: {error}", False
    sizes = f"{len(task.source.entities):,} and {len(task.target.entities):,} entities"
    links = len(task.seeds) + len(reference)
    return f"{sizes}, {links:,} true links, read in {time.perf_counter() - started:.1f} s", True
