"""What an encoder, a rule, a baseline and a format must provide. A plug-in is one file with one public class.

Importing this module is cheap: torch and pyarrow are needed only for its annotations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from emea.reading import PLAIN as PLAIN  # noqa: PLC0414 - what readers are told is part of their contract
from emea.reading import Choice as Choice  # noqa: PLC0414
from emea.reading import Reading as Reading  # noqa: PLC0414

if TYPE_CHECKING:
    import pyarrow as pa
    import torch
    from torch import Tensor

    from emea.data import Alignment, Counterparts, Embeddings, Graph, Links, Reference, Task


class PluginSettings(BaseModel):
    """Base class of a plug-in's settings: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)  # built when first used: starts quickly


SettingsT = TypeVar("SettingsT", bound=PluginSettings)


@dataclass(frozen=True)
class Progress:
    """How far a fit has come."""

    turn: int  # of semi-supervised training; 0 otherwise
    epoch: int  # epochs completed
    epochs: int
    loss: float
    pairs: int  # pairs trained on
    seconds_left: float


Report = Callable[[Progress], None]


def unreported(_: Progress) -> None:
    """Discard a progress report."""


@dataclass(frozen=True)
class Size:
    """How large a task is."""

    entities: int  # of both graphs
    edges: int  # of both graphs, inverses included
    pairs: int  # seeds


class Plugin(ABC, Generic[SettingsT]):
    """What encoders, rules and baselines share: settings of their own, and preparation from the two graphs."""

    Settings: ClassVar[type[PluginSettings]] = PluginSettings

    @abstractmethod
    def __init__(self, task: Task, settings: SettingsT, device: torch.device) -> None:
        """Prepare whatever depends on the graphs alone. Where values count as evidence, they are entities here."""


class Encoder(Plugin[SettingsT]):
    """Turns pairs believed to be equal into embeddings of both graphs."""

    @classmethod
    @abstractmethod
    def features(cls, settings: SettingsT) -> int:
        """Length of the embeddings, used to estimate memory and time before a run."""

    @classmethod
    def work(cls, settings: SettingsT, size: Size, fits: int) -> float:  # noqa: ARG003 - for encoders that train
        """Floating-point operations, or their equivalent in time, of training for this many fits."""
        return 0.0

    @classmethod
    def doubts(cls, settings: SettingsT, fits: int) -> list[str]:  # noqa: ARG003 - for encoders that have any
        """Warnings about running this many fits with these settings, shown before a run."""
        return []

    @abstractmethod
    def fit(self, pairs: Links, generator: torch.Generator, report: Report = unreported) -> Embeddings:
        """Fit to weighted pairs, continuing from the last fit if there was one, and embed every entity. A long fit
        calls `report` now and then."""

    def state(self) -> dict[str, Tensor]:
        """What the next fit continues from; empty for an encoder that starts anew each time.

        An encoder that continues without saying so has already seen the seeds that are hidden from it later, and its
        confidence will be too high.
        """
        return {}

    @property
    def remembers(self) -> bool:
        """Whether the next fit continues from pairs of earlier ones: a pair it has seen can no longer be hidden."""
        return bool(self.state())

    def restore(self, state: dict[str, Tensor]) -> None:
        """Continue from a state."""
        if state:
            raise ValueError(f"{type(self).__name__} keeps no state")


@dataclass(frozen=True)
class Ground:
    """One piece of what a rule says about a pair of entities; −1 stands for no number."""

    said: float
    """Its share of the factor; those of all pieces add up to it."""
    source: int = -1
    """A neighbour of the source, or one of its values."""
    target: int = -1
    """The same of the target."""
    source_relation: int = -1
    """The relation that leads to it; the inverses follow after all relations."""
    target_relation: int = -1
    """The same of the target."""
    source_attribute: int = -1
    """The attribute whose value it is."""
    target_attribute: int = -1
    """The same of the target."""
    belief: float = 1.0
    """That the neighbours are the same, or how alike the values are."""
    relations: float = 1.0
    """That one relation is contained in the other, or how often the attributes agree."""


@dataclass(frozen=True, eq=False)
class Grounded:
    """What a rule says about a pair, piece by piece."""

    pieces: tuple[Ground, ...]
    """What its factor is made of."""
    factor: Callable[[Collection[int]], float]
    """Its factor without the pieces of these numbers."""


class Rule(Plugin[SettingsT]):
    """Measures how well each candidate pair agrees with what is believed about other entities (paper 4.2)."""

    indicators: ClassVar[tuple[str, ...]] = ("",)
    """Names of its functions g, if it has more than one; each gets a weight of its own."""
    learned_weight: ClassVar[bool] = True
    """Whether factors get a weight Φ, learned in each round; if not, they are log-likelihood ratios as they are."""

    @abstractmethod
    def factors(self, beliefs: Counterparts, embeddings: Embeddings) -> Tensor:
        """For each candidate pair (e, e'): the sum of g over the factors that contain e, with y_e = e', minus the same
        sum with y_e = none, for which g at e is 0; [pairs] or [pairs, indicators]. What it is given stays unchanged."""

    def grounds(self, beliefs: Counterparts) -> Callable[[int, int], Grounded] | None:  # noqa: ARG002 - by default none
        """What the rule's factor of a pair, given as source and target, is made of under these beliefs; None for a rule
        that cannot take its factor apart."""
        return None


class TwoSidedRule(Rule[SettingsT]):
    """A rule that computes its factors for both directions at once. Other rules are built twice, the second time with
    source and target swapped."""

    @abstractmethod
    def factors_both_ways(self, beliefs: Counterparts, embeddings: Embeddings) -> tuple[Tensor, Tensor]:
        """The factors seen from the source, and seen from the target."""


@dataclass(frozen=True, eq=False)
class Turn:
    """What one turn of a baseline came to."""

    beliefs: Counterparts
    labels: Links  # the pairs that the next turn starts from, seeds not included
    changed: float  # share of them that is new


class Baseline(Plugin[SettingsT]):
    """A complete system to compare the EM loop with."""

    @abstractmethod
    def turns(self, generator: torch.Generator, report: Report = unreported) -> Iterator[Turn]:
        """Each turn as it ends; the beliefs of the last one are the answer. A long turn calls `report` now and then."""


class Format(ABC):
    """A file format. Each does one or more of the kinds below."""

    description: ClassVar[str]
    """One line, for messages."""


class GraphReader(Format):
    """Reads one file into a graph."""

    suffixes: ClassVar[tuple[str, ...]]
    """Of graph files: lower case, with the dot and without .gz."""
    choices: ClassVar[tuple[str, ...]] = ()
    """What of a `Reading` it heeds, besides which entities may be linked."""

    def holds_graph(self, path: Path) -> bool:  # noqa: ARG002 - most suffixes have one reader
        """Whether a file with one of the suffixes is of this format; asked where several formats share a suffix."""
        return True

    @abstractmethod
    def read_graph(self, path: Path, reading: Reading = PLAIN) -> Graph:
        """The graph in a file."""


class GraphServer(Format):
    """Reads a graph from a server."""

    schemes: ClassVar[tuple[str, ...]]  # how its addresses begin, such as https
    choices: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def fetch_graph(self, address: str, reading: Reading = PLAIN) -> Graph:
        """The graph at an address."""


class GraphWriter(Format):
    """Writes a graph to one file."""

    suffixes: ClassVar[tuple[str, ...]]

    @abstractmethod
    def write_graph(self, graph: Graph, path: Path) -> None:
        """Write the triples and literals with their names."""


class PairReader(Format):
    """Reads a file of pairs."""

    pair_suffixes: ClassVar[tuple[str, ...]]
    """Of pair files."""

    @abstractmethod
    def read_pairs(self, path: Path) -> pa.Table:
        """Columns source, target (names) and, if known, weight (float32, otherwise 1), line (of each pair, a number),
        excluded (bool: the pair is known to be wrong) and similarity (float32)."""

    def holds_pairs(self, path: Path) -> bool:  # noqa: ARG002 - for formats that share their suffix with graphs
        """Whether a file holds pairs, if its suffix does not say so."""
        return True


class PairWriter(Format):
    """Writes a file of pairs."""

    pair_suffixes: ClassVar[tuple[str, ...]]

    @abstractmethod
    def write_pairs(self, pairs: pa.Table, path: Path) -> None:
        """Write a table like that of a pair reader, in its order."""


class TaskReader(Format):
    """Reads a benchmark folder."""

    @abstractmethod
    def detect(self, folder: Path) -> str | None:
        """One line that names the layout found in the folder, or None if the folder has another layout."""

    @abstractmethod
    def read_task(self, folder: Path, choice: Choice) -> tuple[Task, Reference | None]:
        """The task, and the sealed links that are not seeds (None if the folder has none)."""


class AlignmentWriter(Format):
    """Writes an alignment to one file."""

    @abstractmethod
    def write_alignment(self, alignment: Alignment, task: Task, path: Path) -> None:
        """Write the links with their names."""
