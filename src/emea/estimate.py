"""Memory and time of a run, told before it starts."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import torch

from emea import plugins
from emea.contracts import Encoder, Size
from emea.data import Task
from emea.errors import EmeaError
from emea.settings import Settings

# Measured on zh_en and contea/fr_en (docs/log.md); a guess that should be right within a third.
INTERPRETER = 0.5e9  # bytes: Python, torch, arrow
COPIES = 4.5  # of the embeddings alive at once: views, their concatenation, this round's and the last one's
PAIR = 190  # bytes for each candidate pair: ids, beliefs, and the temporary columns of Sinkhorn and sorting
BLOCKS = 3  # of the similarity matrix: itself, its transpose, what top-k needs
SMALLEST_BLOCK = 16  # rows; with fewer the search takes too long
SEARCH = 2.2  # time of the search over that of its matrix product
PAIR_WORK, EDGE_WORK = 500_000, 1500  # floating-point operations worth the time of one pair, of one edge × feature


class NotEnoughMemoryError(EmeaError):
    """The run would not fit; the message says what would."""

    exit_code = 3


@dataclass(frozen=True)
class Estimate:
    """What a run will take."""

    pairs: int  # candidate pairs, at most
    features: int  # length of the embeddings
    memory: float  # bytes
    free: float  # bytes
    seconds: float


def estimate(task: Task, settings: Settings) -> Estimate:
    """What a run will take on this machine, from the sizes and a short trial of its matrix rate."""
    sources, targets = len(task.source.entities), len(task.target.entities)
    encoder = plugins.find("encoders", settings.em.encoder, Encoder)
    features = encoder.features(settings.encoder_settings())
    pairs = (sources + targets) * settings.similarity.candidates
    edges = 2 * (len(task.source.triples) + len(task.target.triples))
    block = settings.similarity.rows(targets, torch.device(settings.device).type)
    memory = INTERPRETER + 4 * COPIES * features * (sources + targets) + PAIR * pairs + 4 * BLOCKS * block * targets
    work = SEARCH * 2 * sources * targets * features + PAIR_WORK * pairs + EDGE_WORK * edges * features
    device = torch.device(settings.device)
    fits = settings.em.rounds + 1
    size = Size(sources + targets, edges, len(task.seeds))
    training = encoder.work(settings.encoder_settings(), size, fits)
    seconds = (fits * work + training) / matrix_rate(features, device)
    return Estimate(pairs, features, memory, free_memory(device), seconds)


def fitted(task: Task, settings: Settings, needed: Estimate) -> Settings:
    """The settings with blocks as small as the free memory asks for; a run that fits with none is refused."""
    if needed.memory <= needed.free:
        return settings
    targets = len(task.target.entities)
    spare = needed.free - (
        needed.memory - 4 * BLOCKS * settings.similarity.rows(targets, torch.device(settings.device).type) * targets
    )
    block = int(spare / (4 * BLOCKS * targets))
    if block >= SMALLEST_BLOCK:
        similarity = settings.similarity.model_copy(update={"block": block})
        return settings.model_copy(update={"similarity": similarity})
    share = needed.free / needed.memory
    candidates = max(10, int(settings.similarity.candidates * share / 2))
    raise NotEnoughMemoryError(
        f"this run needs about {needed.memory / 1e9:.1f} GB and {needed.free / 1e9:.1f} GB are free; "
        f"--set similarity.candidates={candidates} with a smaller embedding needs less (see emea encoders)"
    )


def free_memory(device: torch.device) -> float:
    """Bytes that can still be had on the device; without limit where nobody says."""
    if device.type == "cuda":
        return float(torch.cuda.mem_get_info(device)[0])
    limits = []
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        lines = dict(line.split(":", 1) for line in meminfo.read_text(encoding="ascii").splitlines())
        limits.append(1024 * float(lines["MemAvailable"].split()[0]))
    limit, used = (Path(f"/sys/fs/cgroup/memory.{name}") for name in ("max", "current"))
    if limit.exists() and used.exists() and limit.read_text(encoding="ascii").strip() != "max":
        limits.append(float(limit.read_text(encoding="ascii")) - float(used.read_text(encoding="ascii")))
    return min(limits, default=float("inf"))


def matrix_rate(features: int, device: torch.device) -> float:
    """Floating-point operations a second of a matrix product of the kind the search makes."""
    left, right = torch.ones(512, features, device=device), torch.ones(features, 2048, device=device)
    _ = left @ right
    repeats, started = 5, time.perf_counter()
    for _ in range(repeats):
        _ = left @ right
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return repeats * 2 * 512 * 2048 * features / (time.perf_counter() - started)
