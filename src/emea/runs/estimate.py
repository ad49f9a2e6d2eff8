"""Memory and time of a run, estimated before it starts."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import torch

from emea import plugins
from emea.candidates.marks import is_bounded
from emea.candidates.search import compared, rows_at_a_time, used_axes
from emea.contracts import Encoder, Size
from emea.errors import NotEnoughMemoryError
from emea.evidence.prepared import Prepared
from emea.kernels.devices import free_memory
from emea.kernels.nearest import multiplies_halves
from emea.method.scouts import of_scouts
from emea.settings import Settings

# Measured on zh_en and contea/fr_en (docs/log.md); an estimate that should be right within a third, and within a
# factor of two where links are judged by values.
INTERPRETER = 0.55e9  # bytes: Python, torch, arrow, numba
COPIES = 2.0  # of the embeddings in memory at once: themselves, and what an approximate search or the next fit makes
TRAINED = 4.0  # copies more while an encoder is trained: layers, their slopes, and what the optimiser keeps
MANY = 2**28  # numbers of embeddings beyond which what is not trained is kept as halves
PAIR = {"cpu": 65, "cuda": 175}  # bytes for each candidate pair: ids, beliefs, and temporary columns
SMALLEST_BLOCK = 16  # rows; with fewer the search takes too long
SEARCH = 1.5  # time of the search over that of its matrix products
PAIR_SECONDS = {"cpu": 4.5e-6, "cuda": 4e-8}  # of a round, for each candidate pair, on one core or one GPU
ROUND_SECONDS = 0.1  # of a round, whatever the size
GATHERED = 8e9  # bytes a second and core, of vectors that lie here and there in memory; a GPU's do not count
# Judging links by values takes so long, with what is loaded and written for it, whatever the size; and so much more for
# each entity that may be linked: .2e-3 to .7e-3 on 15 real pairs.
JUDGE_SECONDS = (3.5, 4e-4)
ROUNDS = (3.9, 1.9)  # of a loop, and how many more for each factor of e by which fewer pairs are known
JUDGED_ROUNDS = 2  # where links are judged at the end: 1 or 2 on these pairs
TRIAL = (64, 2048)  # rows and columns of the product by which the machine is timed: a tenth of a second on a slow core


@dataclass(frozen=True)
class Estimate:
    """What a run will need."""

    pairs: int  # candidate pairs, at most
    features: int  # length of the embeddings
    width: int  # columns of the similarity matrix, seen from either side
    memory: float  # bytes
    least: float  # bytes if each entity looks at a bounded number of others
    blocks: float  # bytes of it for rows of the similarity matrix, which can be fewer
    free: float  # bytes, or those that the run may use
    seconds: float


def estimate(prepared: Prepared, settings: Settings, limit: float | None = None) -> Estimate:
    """What a run will need on this machine, from the sizes and a short trial of its matrix rate; with a limit, no more
    than this counts as free."""
    graphs = prepared.graphs
    sources, targets = len(graphs.source.entities), len(graphs.target.entities)
    encoder = plugins.find("encoders", settings.em.encoder, Encoder)
    features = encoder.features(settings.encoder_settings())
    pairs = (sources + targets) * settings.similarity.candidates
    edges = 2 * (len(graphs.source.triples) + len(graphs.target.triples))
    device, width = torch.device(settings.device), max(sources, targets)
    fits = 1 + _rounds(prepared, settings)
    training = encoder.work(
        settings.encoder_settings(), Size(sources + targets, edges, len(prepared.given.seeds)), fits
    )
    numbers, bounded = features * (sources + targets), is_bounded(settings.similarity, sources * targets, device)
    fixed = INTERPRETER + PAIR.get(device.type, PAIR["cuda"]) * pairs + (numbers * 4 * TRAINED if training else 0)
    least = fixed + numbers * (3 if numbers > MANY and not training else 5)  # axes as halves
    blocks = 0.0 if bounded else _block(settings, width)
    memory = least if bounded else fixed + numbers * 4 * COPIES + blocks
    seconds = _seconds(prepared, settings, features, fits, training) + _scouting(prepared, settings)
    free = min(free_memory(device), math.inf if limit is None else limit)
    return Estimate(pairs, features, width, memory, least, blocks, free, seconds)


def _scouting(prepared: Prepared, settings: Settings) -> float:
    """How long the loops that go ahead take, if their encoder is not trained."""
    if not settings.em.scouts:
        return 0.0
    own = of_scouts(settings)
    features = plugins.find("encoders", own.em.encoder, Encoder).features(own.encoder_settings())
    return settings.em.scouts * _seconds(prepared, own, features, 1 + _rounds(prepared, own), 0.0)


def _seconds(prepared: Prepared, settings: Settings, features: int, fits: int, training: float) -> float:
    """How long the fits, with a search and the rules after each, and the judge take; values are not searched for."""
    graphs, device = (prepared.graphs.source, prepared.graphs.target), torch.device(settings.device)
    sources, targets = (
        int(graph.linkable.sum()) if settings.evidence.counts_values else len(graph.entities) for graph in graphs
    )
    numbers, bounded = features * (sources + targets), is_bounded(settings.similarity, sources * targets, device)
    rough = bounded or sources * targets > settings.similarity.exact
    looked_at = min(features, used_axes(settings.similarity, sources * targets)) if rough else features
    kind = torch.bfloat16 if rough and multiplies_halves(device) else torch.float32
    work = 2 * (compared(settings.similarity, sources, targets, device) * looked_at + numbers * looked_at * bounded)
    rate = matrix_rate(looked_at, device, kind)
    search = SEARCH * work / rate
    cores = torch.get_num_threads() if device.type == "cpu" else 1
    if bounded and device.type == "cpu":
        search += (sources + targets) * settings.similarity.shared * looked_at * 2 / (GATHERED * cores)
    pairs = (sources + targets) * settings.similarity.candidates
    a_round = search + PAIR_SECONDS.get(device.type, PAIR_SECONDS["cpu"]) * pairs / cores + ROUND_SECONDS
    seconds = fits * a_round
    if training:
        seconds += training / (matrix_rate(features, device) if rough else rate)
    if prepared.judged_by(settings):
        always, each = JUDGE_SECONDS
        seconds += always + each * (sources + targets)
    return seconds


def _rounds(prepared: Prepared, settings: Settings) -> int:
    """Rounds until there are hardly more labels: the more, the fewer pairs are known."""
    if settings.em.growth == 0:
        return settings.em.rounds
    if prepared.judged_by(settings):
        return min(settings.em.rounds, JUDGED_ROUNDS)
    graphs = prepared.graphs
    share = len(prepared.known) / max(1, min(len(graphs.source.entities), len(graphs.target.entities)))
    few, more = ROUNDS
    return min(settings.em.rounds, max(1, round(few - more * math.log(max(share, 1e-4)))))


def fitted(settings: Settings, needed: Estimate) -> Settings:
    """The settings with blocks small enough for the free memory, or with a bounded search; refused if nothing fits."""
    if needed.memory <= needed.free:
        return settings
    block = int((needed.free - needed.memory + needed.blocks) / (4 * needed.width))
    if block >= SMALLEST_BLOCK:
        return _with(settings, block=block)
    if needed.blocks and needed.least <= needed.free:
        return _with(settings, bounded=0)
    candidates = max(10, int(settings.similarity.candidates * needed.free / needed.least / 2))
    least, free = told_apart(needed.least, needed.free)
    raise NotEnoughMemoryError(
        f"this run needs about {least} GB and {free} GB are free; "
        f"--set similarity.candidates={candidates} with a smaller embedding needs less (see emea encoders)"
    )


def told_apart(one: float, other: float) -> tuple[str, str]:
    """Two numbers of bytes as gigabytes, with more than one decimal if they would read alike.

    >>> told_apart(7e9, 2e9), told_apart(6.41e8, 5.96e8), told_apart(1e9, 1e9)
    (('7.0', '2.0'), ('0.64', '0.60'), ('1.0', '1.0'))
    """
    for digits in range(1, 10):  # up to single bytes
        shown = f"{one / 1e9:.{digits}f}", f"{other / 1e9:.{digits}f}"
        if shown[0] != shown[1]:
            return shown
    return f"{one / 1e9:.1f}", f"{other / 1e9:.1f}"


def _with(settings: Settings, **changes: int) -> Settings:
    """The settings with another search."""
    return settings.model_copy(update={"similarity": settings.similarity.model_copy(update=changes)})


def _block(settings: Settings, width: int) -> float:
    """Bytes of the rows of the similarity matrix that are held at a time."""
    return 4.0 * rows_at_a_time(settings.similarity, width, torch.device(settings.device)) * width


def matrix_rate(features: int, device: torch.device, kind: torch.dtype = torch.float32) -> float:
    """Floating-point operations per second of a matrix product like those of the search."""
    rows, columns = TRIAL
    left, right = (torch.ones(shape, dtype=kind, device=device) for shape in ((rows, features), (features, columns)))
    product = torch.empty(rows, columns, dtype=kind, device=device)
    torch.mm(left, right, out=product)
    repeats, started = 5, time.perf_counter()
    for _ in range(repeats):
        torch.mm(left, right, out=product)
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return repeats * 2 * rows * columns * features / (time.perf_counter() - started)
