"""Links two knowledge graphs: which entities are the same, with a confidence one can trust.

>>> import emea
>>> task, reference = emea.read_example("world", seeds=50)
>>> task.source
Graph(1,705 entities, 15 relations, 4,228 triples, 12,351 literals)
"""

from __future__ import annotations

from emea import _threads  # noqa: F401 - before torch is imported
from emea.data import Graph, Links, Reference, Task
from emea.em import Fitting, Result, Round, rounds
from emea.errors import EmeaError, InputError, SettingsError
from emea.evaluation import evaluate
from emea.examples import read_example
from emea.formats import read, read_benchmark, read_graph, read_reference
from emea.methods import align
from emea.settings import Settings

__version__ = "0.1.0"

__all__ = [
    "EmeaError",
    "Fitting",
    "Graph",
    "InputError",
    "Links",
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
    "read_example",
    "read_graph",
    "read_reference",
    "rounds",
]
