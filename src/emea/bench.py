"""How fast the stages run on this machine, and how near that is to what its memory and its arithmetic allow."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from emea import __version__, plugins
from emea.compatibility import combine, learn_weights, refine
from emea.contracts import Encoder
from emea.data import Candidates, Counterparts, Embeddings, Graph, Links, Task
from emea.encoders.dual_amn import DualAMNSettings
from emea.errors import InputError
from emea.kernels.nearest import multiplies_halves
from emea.probability import Scale, clamp, counterparts, fit_scale, most_probable
from emea.rulebook import Rulebook
from emea.settings import Settings
from emea.similarity import search

Unit = Literal["flop", "byte", "pair"]
ENTITIES, TRIPLES, RELATIONS, SEEDS = 20_000, 80_000, 300, 1_000  # of the synthetic graphs, each
EPOCHS = {  # of one measurement; on a GPU the first few are not like the others
    "cpu": {"rrea": 3, "dual_amn": 1},
    "cuda": {"rrea": 300, "dual_amn": 40},
}


@dataclass(frozen=True)
class Stage:
    """Something to be measured: what it does, and the least that any machine must do for it."""

    name: str
    run: Callable[[], object]
    work: float
    unit: Unit
    count: int = 1  # how many of what its name says one call does


@dataclass(frozen=True)
class Limits:
    """What the machine can do at best, measured in the same run."""

    bytes_per_second: float  # read and written, copying
    flops_per_second: float  # of a matrix product in the shortest numbers that it multiplies fast

    def least_seconds(self, stage: Stage) -> float | None:
        """The time that the stage's work takes at best, where that is known."""
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


def bench(device: torch.device, repeats: int, task: Task | None = None) -> dict[str, Any]:
    """Measure all stages on the graphs of a task, or on synthetic ones."""
    task = task or synthetic()
    limits = measure_limits(device)
    stages = [measure(stage, limits, device, repeats) for stage in _stages(task, device)]
    return {
        "machine": machine(device),
        "versions": {"emea": __version__, "torch": torch.__version__, "python": platform.python_version()},
        "graphs": [_size(task.source), _size(task.target)],
        "startup": startup(device),
        "limits": asdict(limits),
        "stages": [asdict(stage) for stage in stages],
    }


def read_bench(path: Path) -> dict[str, Any]:
    """A benchmark written before."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        assert {"machine", "versions", "stages"} <= found.keys()
    except (OSError, ValueError, AttributeError, AssertionError) as error:
        raise InputError(f"{path} is no result of emea bench --out") from error
    return found


def measure(stage: Stage, limits: Limits, device: torch.device, repeats: int) -> Measurement:
    """Run a stage several times, after once to warm up."""
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


def _stages(task: Task, device: torch.device) -> Iterator[Stage]:
    """The stages of a round, each on what the one before it made, and the training of encoders."""
    settings, draw = Settings(device=device.type), torch.Generator().manual_seed(0)
    graphs, seeds = Task(task.source, task.target, Links.empty()), task.seeds.to(device)
    hidden, known = seeds[: len(seeds) // 10], seeds[len(seeds) // 10 :]
    sources, targets = len(task.source.entities), len(task.target.entities)
    triples = len(task.source.triples) + len(task.target.triples)

    encoder = _encoder("propagation", graphs, device)
    features = encoder.features(encoder.Settings())
    every = 4.0 * features * (sources + targets)  # bytes of all embeddings
    edges = 2.0 * triples * 4 * features  # bytes of the features at the ends of all edges
    yield Stage("propagation: fit", lambda: encoder.fit(known, draw), edges + every, "byte")

    embeddings: Embeddings = encoder.fit(known, draw)
    axes = min(features, settings.similarity.used_axes(sources * targets)) if device.type == "cpu" else features
    yield Stage(
        "search, both ways",
        lambda: search(embeddings, settings.similarity, draw),
        4.0 * sources * targets * axes,
        "flop",
    )

    nearest: Candidates = search(embeddings, settings.similarity, draw)
    candidates, scale = nearest[~nearest.touches(known)], Scale.typical(settings.probability)
    yield Stage(
        "fit of the scale",
        lambda: fit_scale(candidates, hidden, scale, settings.probability),
        len(candidates),
        "pair",
    )
    balanced = 2.0 * 2 * 16 * len(candidates) * settings.probability.balance  # value and column of each pair, twice
    yield Stage(
        "probabilities (Sinkhorn)", lambda: counterparts(candidates, scale, settings.probability), balanced / 2, "byte"
    )

    believed: Counterparts = counterparts(candidates, scale, settings.probability)
    yield Stage(
        "choice of candidates for the rules", lambda: _considered(believed, known, settings), len(candidates), "pair"
    )

    considered = _considered(believed, known, settings)
    for scope, meaning in (("own", "own factor"), ("blanket", "Markov blanket")):
        rules = Rulebook(graphs, settings.model_copy(update={"rules": {"paris": {"scope": scope}}}), device)
        judged = partial(rules.factors, considered, embeddings, nearest, known)
        yield Stage(f"rules both ways, {meaning}", judged, len(considered.forward), "pair")
    forward, backward, learning = rules.factors(considered, embeddings, nearest, known)

    def judge() -> Counterparts:
        return combine(considered, refine(considered, forward, backward, learn_weights(learning)))

    yield Stage("weights and beliefs", judge, len(considered.forward), "pair")
    for name, epochs in EPOCHS.get(device.type, EPOCHS["cpu"]).items():
        yield _training(name, graphs, seeds, epochs, device)


def _training(name: str, graphs: Task, seeds: Links, epochs: int, device: torch.device) -> Stage:
    """Epochs of a trained encoder. The least to do: of Dual-AMN three products of matrices for each side of a batch's
    pairs, of others to read and write the output, forth and back."""
    encoder = _encoder(name, graphs, device, epochs=epochs, more_epochs=epochs)
    entities = len(graphs.source.entities) + len(graphs.target.entities)
    size = entities * encoder.features(encoder.Settings())

    def run() -> Embeddings:
        return encoder.fit(seeds, torch.Generator().manual_seed(0))

    settings = encoder.Settings()
    if isinstance(settings, DualAMNSettings):
        pairs = max(settings.least_pairs, len(seeds))
        steps = -(-pairs // settings.batch)
        return Stage(f"{name}: a batch", run, 3 * 2 * 2 * min(pairs, settings.batch) * size, "flop", epochs * steps)
    return Stage(f"{name}: an epoch", run, 4.0 * 4 * size, "byte", epochs)


def _encoder(name: str, graphs: Task, device: torch.device, **settings: int) -> Encoder:
    plugin = plugins.find("encoders", name, Encoder)
    return plugin(graphs, plugin.Settings(**settings), device)


def _considered(believed: Counterparts, known: Links, settings: Settings) -> Counterparts:
    return clamp(most_probable(believed, settings.considered), known)


def synthetic(seed: int = 0) -> Task:
    """Two noisy halves of one random graph with hubs: the same on every machine."""
    draw = np.random.default_rng(seed)
    popular = draw.zipf(1.6, 4 * TRIPLES) % ENTITIES
    tails = np.where(draw.random(4 * TRIPLES) < 0.5, popular, draw.integers(ENTITIES, size=4 * TRIPLES))
    relations = draw.zipf(1.4, 4 * TRIPLES) % RELATIONS
    triples = np.stack([draw.integers(ENTITIES, size=4 * TRIPLES), relations, tails], 1)[: 2 * TRIPLES]
    graphs = []
    for side in range(2):
        kept = triples[draw.random(len(triples)) < 0.5]
        names = [f"{side}:{number:06d}" for number in range(ENTITIES)]
        graphs.append(Graph.build(names, [f"{side}:r{number:03d}" for number in range(RELATIONS)], kept))
    chosen = torch.from_numpy(draw.permutation(ENTITIES)[:SEEDS])
    return Task(graphs[0], graphs[1], Links.build(chosen, chosen))


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


def machine(device: torch.device) -> str:
    """The kind of machine, in words."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()  # no such on macOS
    return f"{models[0] if models else platform.machine()}, {cores} cores"


def _size(graph: Graph) -> str:
    return f"{len(graph.entities):,} entities, {len(graph.relations):,} relations, {len(graph.triples):,} triples"


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _reset_peak(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    elif Path("/proc/self/clear_refs").exists():
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _peak(device: torch.device) -> float:
    if device.type == "cuda":
        return float(torch.cuda.max_memory_allocated(device))
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text(encoding="ascii").splitlines())
        return 1024 * float(lines["VmHWM"].split()[0])
    import resource  # not everywhere

    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)  # of the whole process, where nobody says more
