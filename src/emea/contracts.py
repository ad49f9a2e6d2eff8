"""What an encoder, a rule and a format must be; a plug-in is one file with one public class that is one of these."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import torch
from pydantic import BaseModel, ConfigDict
from torch import Tensor

from emea.data import Alignment, Counterparts, Embeddings, Graph, Links, Reference, Task
from emea.errors import SettingsError


class PluginSettings(BaseModel):
    """Base of a plug-in's settings: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class Progress:
    """How far a fit has come."""

    turn: int  # of semi-supervised training; 0 otherwise
    epoch: int  # whole epochs
    epochs: int
    loss: float
    pairs: int  # trained on
    seconds_left: float


@dataclass(frozen=True)
class Size:
    """How large a task is."""

    entities: int  # of both graphs
    edges: int  # of both graphs, inverses included
    pairs: int  # seeds


class Encoder(ABC):
    """Turns pairs believed to be equal into embeddings of both graphs."""

    Settings: ClassVar[type[PluginSettings]] = PluginSettings
    report: Callable[[Progress], None] = staticmethod(lambda _: None)  # to be called now and then by a fit that is long

    @classmethod
    @abstractmethod
    def features(cls, settings: PluginSettings) -> int:
        """Length of the embeddings, from which memory and time are estimated before a run."""

    @classmethod
    def work(cls, settings: PluginSettings, size: Size, fits: int) -> float:  # noqa: ARG003 - for those that train
        """Floating-point operations, or what takes as long, of training in so many fits; for the estimate of time."""
        return 0.0

    @classmethod
    def doubts(cls, settings: PluginSettings, fits: int) -> list[str]:  # noqa: ARG003 - for those that have any
        """What makes so many fits with these settings doubtful, each with its consequence; told before a run."""
        return []

    @abstractmethod
    def __init__(self, task: Task, settings: PluginSettings, device: torch.device) -> None:
        """Prepare what depends on the graphs alone."""

    @abstractmethod
    def fit(self, pairs: Links, generator: torch.Generator) -> Embeddings:
        """Fit to weighted pairs, going on from the last fit where there was one, and embed every entity."""

    def state(self) -> dict[str, Tensor]:
        """What the next fit goes on from; nothing, for an encoder that starts anew each time. One that goes on and does
        not say so was shown the seeds that are hidden from it later: its confidence would be too high."""
        return {}

    @property
    def remembers(self) -> bool:
        """Whether the next fit goes on from the pairs of earlier ones: a pair that it has seen cannot be hidden."""
        return bool(self.state())

    def restore(self, state: dict[str, Tensor]) -> None:
        """Take up a state again."""
        if state:
            raise ValueError(f"{type(self).__name__} keeps no state")


class Rule(ABC):
    """Measures how well each candidate pair agrees with what is believed of other entities (paper 4.2)."""

    Settings: ClassVar[type[PluginSettings]] = PluginSettings
    indicators: ClassVar[tuple[str, ...]] = ("",)  # names of its functions g, where it has more than one
    twofold: bool = False  # one look tells what it says from either side: it is asked for both at once
    weighed: ClassVar[bool] = True  # what it says gets a weight Φ; otherwise it is the log of a ratio of likelihoods

    @abstractmethod
    def __init__(self, task: Task, settings: PluginSettings, device: torch.device) -> None:
        """Prepare what depends on the graphs alone."""

    @abstractmethod
    def factors(self, beliefs: Counterparts, embeddings: Embeddings) -> Tensor:
        """For each candidate pair (e, e'): the sum of g over the factors that contain e, with y_e = e', less the same
        sum with y_e = none, for which g at e is 0; [pairs], or [pairs, indicators]."""

    def factors_both_ways(self, beliefs: Counterparts, embeddings: Embeddings) -> tuple[Tensor, Tensor]:
        """The same from either side, of a rule that is `twofold`."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Turn:
    """What one turn of a baseline came to."""

    beliefs: Counterparts
    labels: Links  # the pairs that the next turn starts from, seeds not included
    changed: float  # share of them that is new
    number: int = 0  # counted, and
    seconds: float = 0.0  # timed, by who asks for it


class Baseline(ABC):
    """A system of its own, to compare the loop with."""

    Settings: ClassVar[type[PluginSettings]] = PluginSettings
    report: Callable[[Progress], None] = staticmethod(
        lambda _: None
    )  # to be called now and then by a turn that is long

    @abstractmethod
    def __init__(self, task: Task, settings: PluginSettings, device: torch.device) -> None:
        """Prepare what depends on the graphs alone. Values that count are entities of both, known to be equal."""

    @abstractmethod
    def turns(self, generator: torch.Generator) -> Iterator[Turn]:
        """Each turn as it ends; the beliefs of the last are the answer."""


@dataclass(frozen=True)
class Choice:
    """Which of a benchmark folder's links are given as seeds: a share of all, a fold, or a file of pairs."""

    ratio: float | None = None
    split: int = 0
    fold: int | None = None
    seeds: Path | None = None


class Format(ABC):
    """A file format. Each does one or more of the kinds below."""

    description: ClassVar[str]  # one line for `emea formats`


class GraphReader(Format):
    """Reads one file into a graph."""

    suffixes: ClassVar[tuple[str, ...]]  # of files of graphs: lower case, with the dot and without .gz

    @abstractmethod
    def read_graph(self, path: Path) -> Graph:
        """The graph in a file."""

    def named(self, graph: str) -> GraphReader:
        """The same reader for one of the named graphs in a file; refused where the format has none."""
        raise SettingsError(f"found the graph name {graph}, expected none: {', '.join(self.suffixes)} hold one graph")


class GraphWriter(Format):
    """Writes a graph to one file."""

    suffixes: ClassVar[tuple[str, ...]]

    @abstractmethod
    def write_graph(self, graph: Graph, path: Path) -> None:
        """Write the triples and literals with their names."""


class PairReader(Format):
    """Reads a file of pairs."""

    pair_suffixes: ClassVar[tuple[str, ...]]  # of files of pairs

    @abstractmethod
    def read_pairs(self, path: Path) -> pa.Table:
        """Columns source, target (names, large_string), weight (float32), and, where known, line (of each pair),
        excluded (bool: the pair is said to be none) and similarity (float32)."""

    def holds_pairs(self, path: Path) -> bool:  # noqa: ARG002 - for those that share their suffix with graphs
        """Whether a file holds pairs, where its suffix does not say."""
        return True


class PairWriter(Format):
    """Writes a file of pairs."""

    pair_suffixes: ClassVar[tuple[str, ...]]

    @abstractmethod
    def write_pairs(self, pairs: pa.Table, path: Path) -> None:
        """Write a table such as a pair reader's, in its order."""


class TaskReader(Format):
    """Reads a benchmark folder."""

    @abstractmethod
    def detect(self, folder: Path) -> str | None:
        """One line that names the layout found in the folder, or None where it is not this format's."""

    @abstractmethod
    def read_task(self, folder: Path, choice: Choice) -> tuple[Task, Reference | None]:
        """The task, and the sealed links that are not given as seeds (None where the folder has none)."""


class AlignmentWriter(Format):
    """Writes an alignment to one file."""

    @abstractmethod
    def write_alignment(self, alignment: Alignment, task: Task, path: Path) -> None:
        """Write the links with their names."""
