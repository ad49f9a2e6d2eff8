"""What trained encoders share: epochs, the optimiser, warm starts, semi-supervised turns, progress and state."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import ClassVar, Literal, TypeVar

import torch
from pydantic import Field
from torch import Tensor
from torch.optim import Optimizer

from emea.candidates.search import search
from emea.contracts import Encoder, PluginSettings, Progress, Report, Size, unreported
from emea.data import Embeddings, Links, Task
from emea.kernels.segments import mutual_rows
from emea.settings import SimilaritySettings

WARM_UP = 3  # epochs before one is recorded as a CUDA graph
REPORT = 0.25  # seconds between reports: reading the loss has to wait for the device


class TrainingSettings(PluginSettings):
    """How long to train, and on which pairs."""

    mode: Literal["sup", "semi"] = Field(
        "sup",
        description="sup: train on the given pairs; semi: the first fit also adds mutually nearest pairs, in turns",
    )
    epochs: int = Field(1200, ge=1, description="epochs of the first fit")
    more_epochs: int = Field(200, ge=1, description="epochs of each later fit, which continues from the previous one")
    turns: int = Field(5, ge=0, description="semi: how often mutually nearest pairs are added")
    turn_epochs: int = Field(1000, ge=1, description="semi: epochs after each addition")
    learning_rate: float = Field(0.005, gt=0, description="learning rate of the optimiser")
    average: float = Field(
        0.5, ge=0, le=1, description="average the parameters over this last share of the epochs of a fit or turn"
    )


TrainingT = TypeVar("TrainingT", bound=TrainingSettings)


class TrainedEncoder(Encoder[TrainingT]):
    """An encoder with parameters. A model defines their initial values, the losses of an epoch, and the embeddings.

    Each fit continues from the parameters and the optimiser state of the previous one. All randomness of an epoch comes
    from the fit's seed and the epoch's number, so a fit that is interrupted and resumed ends with the same numbers.

    Departures from the publications, common to all models: the parameters are averaged over the last epochs
    (`average`); and semi-supervised turns look for pairs among all unlabelled entities, whereas the released codes look
    only among the test entities, all of which have a counterpart (docs/log.md).
    """

    alike: ClassVar[bool] = False  # epochs repeat the same operations on the same tensors: a GPU may record and replay

    def __init__(self, task: Task, settings: TrainingT, device: torch.device) -> None:
        self.settings, self.device = settings, device
        self.sources, self.targets = len(task.source.entities), len(task.target.entities)
        self.parameters: dict[str, Tensor] = {}  # empty before the first fit
        self.optimiser: Optimizer | None = None
        self.warm = 0  # epochs since the start, or since a state was restored
        self.fits, self.turn, self.epoch = 0, 0, 0  # completed fits; turn and epoch of the current one
        self.found = Links.empty().to(device)  # pairs added in the current fit
        self.buffers: dict[str, Tensor] = {}  # what else an epoch passes on to the next
        self.averages: dict[str, Tensor] = {}  # of the parameters, over the last epochs of the current turn

    @classmethod
    @abstractmethod
    def epoch_work(cls, settings: TrainingT, size: Size) -> float:
        """Floating-point operations, or their equivalent in time, of one epoch."""

    @classmethod
    def work(cls, settings: TrainingT, size: Size, fits: int) -> float:
        """The work of all epochs."""
        epochs = settings.epochs + (fits - 1) * settings.more_epochs
        if settings.mode == "semi":
            epochs += settings.turns * settings.turn_epochs
        return epochs * cls.epoch_work(settings, size)

    @abstractmethod
    def initial(self, generator: torch.Generator) -> dict[str, Tensor]:
        """The parameters' initial values, drawn on the CPU."""

    @abstractmethod
    def build_optimiser(self, parameters: list[Tensor]) -> Optimizer:
        """The optimiser for these parameters."""

    @abstractmethod
    def losses(self, pairs: Links, generator: torch.Generator) -> Iterator[Tensor]:
        """The loss of each batch of one epoch; a step follows each. The generator is on the device."""

    @abstractmethod
    def embed(self) -> Embeddings:
        """Embeddings of all entities under the current parameters."""

    def prepare(self, pairs: Links) -> None:
        """Prepare whatever depends on the pairs, before a turn's first epoch."""

    def look_around(self, pairs: Links) -> None:
        """Update whatever changes between epochs, such as the nearest negatives; called before each epoch. If epochs
        are `alike`, it must write into the same tensors, since a recorded epoch reads those."""

    def reliability(self, distance: Tensor) -> Tensor:
        """Weight of pairs found nearest, given the distance of their embeddings, [pairs]; 1 unless overridden."""
        return torch.ones_like(distance)

    def fit(self, pairs: Links, generator: torch.Generator, report: Report = unreported) -> Embeddings:
        """Train on the pairs, in semi-supervised mode also on mutually nearest ones, and embed every entity."""
        seed = int(torch.randint(2**62, (1,), generator=generator))
        if not self.parameters:
            self._begin(self.initial(torch.Generator().manual_seed(seed)))
        plan = [self.settings.epochs if self.fits == 0 else self.settings.more_epochs]
        if self.settings.mode == "semi" and self.fits == 0:  # in later fits the EM loop proposes pairs
            plan += [self.settings.turn_epochs] * self.settings.turns
        while self.turn < len(plan):
            if self.turn and not self.epoch:
                draw = torch.Generator().manual_seed(_mixed(seed, self.turn))
                self.found = self.found + self._mutually_nearest(pairs + self.found, draw)
            self._train(pairs + self.found, plan[self.turn], _mixed(seed, self.turn), report)
            self.turn, self.epoch = self.turn + 1, 0
        self.fits, self.turn, self.found = self.fits + 1, 0, self.found[:0]
        with torch.no_grad():
            return self.embed()

    def _begin(self, values: dict[str, Tensor]) -> None:
        self.warm = 0
        self.parameters = {name: value.to(self.device).requires_grad_() for name, value in values.items()}
        self.optimiser = self.build_optimiser(list(self.parameters.values()))

    def _train(self, pairs: Links, epochs: int, seed: int, report: Report) -> None:
        self.prepare(pairs)
        draw = torch.Generator(self.device)
        first, started, reported = self.epoch, time.perf_counter(), -torch.inf
        replay: Callable[[], Tensor] | None = None
        for epoch in range(self.epoch, epochs):
            draw.manual_seed(_mixed(seed, epoch))
            self.look_around(pairs)
            if replay is None and self.alike and self.device.type == "cuda" and self.warm >= WARM_UP:
                replay = self._recorded(pairs, draw)
            total = replay() if replay is not None else self._epoch(pairs, draw)
            self.warm += 1
            self.epoch = epoch + 1
            self._average(self.epoch - epochs + max(1, round(self.settings.average * epochs)))
            if self.epoch == epochs:
                self._settle()
            now = time.perf_counter()
            if now - reported >= REPORT or self.epoch == epochs:
                reported = now
                left = (now - started) / (self.epoch - first) * (epochs - self.epoch)
                report(Progress(self.turn, self.epoch, epochs, float(total), len(pairs), left))

    def _settle(self) -> None:
        """Replace the parameters with their averages."""
        with torch.no_grad():
            for name, value in self.averages.items():
                self.parameters[name].copy_(value)
        self.averages = {}

    def _average(self, count: int) -> None:
        """Add this epoch's parameters to the averages as number `count`; below 1 they do not count yet."""
        if count == 1:
            self.averages = {name: value.detach().clone() for name, value in self.parameters.items()}
        elif count > 1:
            for name, value in self.averages.items():
                value.lerp_(self.parameters[name].detach(), 1 / count)

    def _epoch(self, pairs: Links, draw: torch.Generator) -> Tensor:
        """Take a step for each batch; returns the sum of the losses."""
        assert self.optimiser is not None
        total = torch.zeros((), device=self.device)
        precision = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("high")  # enough for gradients; `embed` is not affected
        try:
            for loss in self.losses(pairs, draw):
                self.optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                self.optimiser.step()
                total = total + loss.detach()
        finally:
            torch.set_float32_matmul_precision(precision)
        return total

    def _recorded(self, pairs: Links, draw: torch.Generator) -> Callable[[], Tensor]:
        """An epoch recorded as a CUDA graph: replaying it avoids launching its hundreds of small kernels one by one."""
        assert self.optimiser is not None
        graph = torch.cuda.CUDAGraph()
        graph.register_generator_state(draw)
        self.optimiser.zero_grad()
        with torch.cuda.graph(graph):
            total = self._epoch(pairs, draw)

        def replay() -> Tensor:
            graph.replay()
            return total

        return replay

    def _mutually_nearest(self, known: Links, generator: torch.Generator) -> Links:
        """Pairs of unlabelled entities that are mutually nearest by CSLS, with densities taken over all entities."""
        with torch.no_grad():
            embeddings = self.embed()
        sources = _others(self.sources, known.source)
        targets = _others(self.targets, known.target)
        if not len(sources) or not len(targets):
            return known[:0]
        every = search(embeddings, SimilaritySettings(candidates=1), generator)
        free = Embeddings(embeddings.source[sources], embeddings.target[targets])
        candidates = replace(
            search(free, SimilaritySettings(candidates=10), generator),
            source_density=every.source_density[sources],
            target_density=every.target_density[targets],
        )
        rows = mutual_rows(candidates.source, candidates.target, candidates.similarity, candidates.similarity)
        distance = (2 - 2 * candidates.cosine[rows]).clamp(min=0).sqrt()
        found = sources[candidates.source[rows]], targets[candidates.target[rows]]
        return Links.build(*found, self.reliability(distance))

    def state(self) -> dict[str, Tensor]:
        """Parameters, the optimiser's state, and how far the current fit has come."""
        if self.optimiser is None:
            return {}
        values = {f"parameter.{name}": value.detach().clone() for name, value in self.parameters.items()}
        for name, parameter in self.parameters.items():
            for key, value in self.optimiser.state[parameter].items():
                values[f"optimiser.{name}.{key}"] = torch.as_tensor(value).detach().clone()
        values |= {f"buffer.{name}": value.clone() for name, value in self.buffers.items()}
        values |= {f"average.{name}": value.clone() for name, value in self.averages.items()}
        values["place"] = torch.tensor([self.fits, self.turn, self.epoch])
        columns = zip(("source", "target", "weight"), self.found.columns, strict=True)
        return values | {f"found.{name}": column.clone() for name, column in columns}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Continue from a state, which `state` may have returned in the middle of a fit."""
        if not state:
            return
        self._begin({name: value.clone() for name, value in _under("parameter.", state).items()})
        assert self.optimiser is not None
        on_device = self.optimiser.param_groups[0].get("capturable", False)  # whether steps are counted on the GPU
        for name, parameter in self.parameters.items():
            self.optimiser.state[parameter] = {
                key: value.to("cpu" if key == "step" and not on_device else self.device).clone()
                for key, value in _under(f"optimiser.{name}.", state).items()
            }
        self.buffers = {name: value.to(self.device).clone() for name, value in _under("buffer.", state).items()}
        self.averages = {name: value.to(self.device).clone() for name, value in _under("average.", state).items()}
        self.fits, self.turn, self.epoch = state["place"].tolist()
        self.found = Links(*(state[f"found.{column}"] for column in ("source", "target", "weight"))).to(self.device)


def _under(prefix: str, state: dict[str, Tensor]) -> dict[str, Tensor]:
    """The values whose names start with a prefix, by the rest of the name."""
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}


def _others(count: int, known: Tensor) -> Tensor:
    """The ids below `count` that are not known."""
    free = torch.ones(count, dtype=torch.bool, device=known.device)
    free[known] = False
    return free.nonzero()[:, 0]


def rmsprop(parameters: list[Tensor], learning_rate: float, damping: float = 1e-7) -> Optimizer:
    """RMSprop with decay 0.9; torch's default of 0.99 loses two points. The damping is its ε: gradients much smaller
    than that hardly move a parameter. On a GPU its entire state stays there."""
    on_gpu = parameters[0].device.type == "cuda"
    optimiser: Optimizer = torch.optim.RMSprop(parameters, lr=learning_rate, alpha=0.9, eps=damping, capturable=on_gpu)
    return optimiser


def dropped(features: Tensor, rate: float, generator: torch.Generator) -> Tensor:
    """Dropout that draws from a generator: zeroes each number with probability `rate` and scales up the others."""
    if rate == 0:
        return features
    if features.device.type not in {"cpu", "cuda"}:
        return features * torch.empty_like(features).bernoulli_(1 - rate, generator=generator) / (1 - rate)
    # eight draws per random word take a tenth of the time of bernoulli_ on a CPU; the rate is rounded to 1/256
    limit, count = min(255, round(256 * rate)), features.numel()
    words = torch.empty(-(-count // 8), dtype=torch.int64, device=features.device)
    words.random_(-(2**63), None, generator=generator)
    kept = words.view(torch.uint8)[:count].reshape(features.shape) >= limit
    return features * (kept * (256 / (256 - limit)))


def uniform(shape: tuple[int, ...], generator: torch.Generator, bound: float | None = None) -> Tensor:
    """Uniform within ± a bound; by default Glorot initialisation of a matrix [a, b]: within ±√(6 / (a + b))."""
    bound = bound or math.sqrt(6 / sum(shape))
    return (torch.rand(shape, generator=generator) * 2 - 1) * bound


def _mixed(seed: int, number: int) -> int:
    """A different seed for each number."""
    return (seed * 6364136223846793005 + number * 1442695040888963407 + 1) % 2**63
