"""Links two knowledge graphs: finds which entities are the same, with a confidence for each link.

>>> import emea
>>> task, reference = emea.read_example("world", seeds=50)
>>> task.source
Graph(1,705 entities, 15 relations, 4,228 triples, 12,351 literals)

Names are loaded when they are first used, so that `import emea` and the command start quickly.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from emea.errors import EmeaError, InputError, SettingsError
from emea.settings import Settings

if TYPE_CHECKING:
    import pandas
    import pyarrow as pa

    from emea.analysis.measures import Measures
    from emea.data import Alignment, Counterparts, Graph, Links, Reference, Task
    from emea.examples import read_example
    from emea.formats import read, read_benchmark, read_decisions, read_graph, read_reference
    from emea.method.rounds import Fitting, Outcome, Round, Step

__version__ = "0.1.0"

_LATER = {  # public name → the module that defines it
    **dict.fromkeys(("Graph", "Links", "Reference", "Task"), "emea.data"),
    **dict.fromkeys(("Fitting", "Round"), "emea.method.rounds"),
    **dict.fromkeys(("read", "read_benchmark", "read_decisions", "read_graph", "read_reference"), "emea.formats"),
    "Measures": "emea.analysis.measures",
    "read_example": "emea.examples",
}

__all__ = [
    "EmeaError",
    "Fitting",
    "Graph",
    "InputError",
    "Links",
    "Measures",
    "Reference",
    "Result",
    "Round",
    "Settings",
    "SettingsError",
    "Task",
    "align",
    "evaluate",
    "read",
    "read_benchmark",
    "read_decisions",
    "read_example",
    "read_graph",
    "read_reference",
    "rounds",
]


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module 'emea' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The links found between two graphs, and the beliefs behind them."""

    outcome: Outcome

    @property
    def task(self) -> Task:
        """The two graphs and the pairs that were given."""
        return self.outcome.prepared.given

    @property
    def settings(self) -> Settings:
        """What the run was made with."""
        return self.outcome.settings

    @property
    def alignment(self) -> Alignment:
        """The links, seeds not included."""
        return self.outcome.alignment

    @property
    def counterparts(self) -> Counterparts:
        """The final beliefs about all candidates."""
        return self.outcome.counterparts

    @property
    def last(self) -> Round | None:
        """The last round of the loop; None for a baseline."""
        return self.outcome.last

    def __repr__(self) -> str:
        return f"Result({len(self.alignment):,} links between {self.task.source!r} and {self.task.target!r})"

    def to_arrow(self) -> pa.Table:
        """The links by name: source, target, confidence, similarity; the surest first."""
        import pyarrow as pa

        found = self.alignment
        source, target = self.task.names(found)
        numbers = {"confidence": found.confidence.cpu().numpy(), "similarity": found.similarity.cpu().numpy()}
        table = pa.table({"source": source, "target": target, **numbers})
        return table.sort_by([("confidence", "descending"), ("source", "ascending")])

    def to_pandas(self) -> pandas.DataFrame:
        """The links by name as a data frame (needs pandas)."""
        return self.to_arrow().to_pandas()


def align(
    task: Task,
    settings: Settings | None = None,
    observe: Callable[[Step], None] | None = None,
    watch: Callable[[Fitting], None] | None = None,
) -> Result:
    """Link the two graphs of a task by the method named in the settings. `observe` is called with each round as it
    ends, `watch` now and then within a long fit."""
    from emea.evidence.prepared import prepare
    from emea.runs.align import Observers
    from emea.runs.align import align as link

    settings = settings or Settings()
    return Result(link(prepare(task, settings.evidence), settings, Observers(observe, watch)))


def rounds(task: Task, settings: Settings | None = None) -> Iterator[Round]:
    """The rounds of the EM loop as they end, to watch it at work."""
    from emea.evidence.prepared import prepare
    from emea.method import em

    settings = settings or Settings()
    return em.rounds(prepare(task, settings.evidence), settings)


def evaluate(result: Result, reference: Reference) -> Measures:
    """Compare the links with a reference: ranks, precision and recall, calibration."""
    from emea.analysis.evaluation import evaluate as measure

    return measure(result.outcome, reference)
