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
from functools import wraps
from inspect import signature
from types import FunctionType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from emea.errors import EmeaError, InputError, SettingsError, in_python, shown
from emea.settings import EMEA, Settings

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from emea.analysis.measures import Comparison, Measures
    from emea.contracts import Reading
    from emea.data import Graph, Links, Reference, Task
    from emea.examples import read_example
    from emea.formats import read, read_benchmark, read_decisions, read_graph, read_reference
    from emea.formats._frames import graph
    from emea.method.rounds import Fitting, Round, Step
    from emea.result import Result, SavedResult, load

__version__ = "0.2.0"

_LATER = {  # public name → the module that defines it
    **dict.fromkeys(("Graph", "Links", "Reference", "Task"), "emea.data"),
    **dict.fromkeys(("Fitting", "Round"), "emea.method.rounds"),
    **dict.fromkeys(("read", "read_benchmark", "read_decisions", "read_graph", "read_reference"), "emea.formats"),
    **dict.fromkeys(("Comparison", "Measures"), "emea.analysis.measures"),
    "Reading": "emea.contracts",
    **dict.fromkeys(("Result", "SavedResult", "load"), "emea.result"),
    "graph": "emea.formats._frames",
    "read_example": "emea.examples",
}

__all__ = [
    "Comparison",
    "EmeaError",
    "Fitting",
    "Graph",
    "InputError",
    "Links",
    "Measures",
    "Reading",
    "Reference",
    "Result",
    "Round",
    "SavedResult",
    "Settings",
    "SettingsError",
    "Task",
    "align",
    "compare",
    "evaluate",
    "graph",
    "link",
    "load",
    "profile",
    "read",
    "read_benchmark",
    "read_decisions",
    "read_example",
    "read_graph",
    "read_reference",
    "rounds",
]


_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


def _for_programs(function: Callable[_Given, _Found]) -> Callable[_Given, _Found]:
    """The function with errors that name parameters and settings in place of the command's options."""

    @wraps(function)
    def called(*values: _Given.args, **named: _Given.kwargs) -> _Found:
        try:
            return function(*values, **named)
        except EmeaError as error:
            error.args = (in_python(str(error), signature(function).parameters),)
            raise

    return called


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'emea' has no attribute '{name}'")
    found = getattr(importlib.import_module(_LATER[name]), name)
    globals()[name] = _for_programs(found) if isinstance(found, FunctionType) else found
    return globals()[name]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


@_for_programs
def align(
    task: Task,
    settings: Settings | None = None,
    observe: Callable[[Step], None] | None = None,
    watch: Callable[[Fitting], None] | None = None,
) -> Result:
    """Link the two graphs of a task by the method named in the settings. `observe` is called with each round as it
    ends, `watch` now and then within a long fit. Unless the settings name `evidence.kind`, values count as they do for
    the command: those of a benchmark do not, others do."""
    return _aligned(task, settings, observe, watch)


@_for_programs
def rounds(task: Task, settings: Settings | None = None) -> Iterator[Round]:
    """The rounds of the EM loop as they end, to watch it at work."""
    from emea.engine import opened
    from emea.evidence.prepared import prepare
    from emea.method import em

    chosen = _chosen(task, settings)
    if chosen.method != EMEA:
        raise SettingsError(f"found the method {chosen.method}, expected {EMEA}: only its loop has rounds")
    prepared = prepare(task, chosen.evidence)

    def watched() -> Iterator[Round]:
        with opened(chosen.engine.kind, chosen.engine.gpus) as engine:
            yield from em.rounds(prepared, chosen, engine=engine)

    return watched()


@_for_programs
def profile(task: Task, settings: Settings | None = None) -> dict[str, Any]:
    """What the two graphs offer, what a run would need, and what makes it doubtful, as `emea profile` shows it."""
    from emea.evidence.prepared import prepare
    from emea.runs.profile import profile as offered

    chosen = _chosen(task, settings)
    found = offered(prepare(task, chosen.evidence), chosen)
    return {**found, "warnings": [in_python(warning) for warning in found["warnings"]]}


@_for_programs
def link(
    source: Any,
    target: Any,
    id: str | tuple[str | None, str | None] | None = None,  # noqa: A002 - as the column is called
    seeds: Any = None,
    *,
    preset: str = "fast",
    min_confidence: float = 0.5,
) -> Any:
    """Which rows of two tables are the same: a table of the library whose table is the source, with the ids of both,
    the confidence and the labels; seeds are not included.

    Both may be anything that `emea.read` takes. `id` is the column that identifies the rows, of both or of each; the
    seeds are known pairs of ids.
    """
    import pyarrow as pa

    from emea.contracts import Reading
    from emea.formats import opened, read
    from emea.formats._frames import like
    from emea.presets import PRESETS
    from emea.runs.inputs import usual_evidence
    from emea.settings import load

    if not isinstance(preset, str):
        raise SettingsError(f"found preset={shown(preset)}, expected one of {', '.join(PRESETS)}")
    usual = {"kind": usual_evidence(benchmark=False)}
    settings = load(preset, evidence=usual, matching={"minimum": min_confidence})
    columns = (id, id) if id is None or isinstance(id, str) else id
    if not (isinstance(columns, tuple) and len(columns) == 2 and all(isinstance(each, str | None) for each in columns)):
        raise InputError(f"found id={shown(id)}, expected the name of a column, or two for source and target")
    ends = ("source", source, columns[0]), ("target", target, columns[1])
    sides = {name: opened(data, name, Reading(id_column=column)) for name, data, column in ends}
    task = read(sides["source"].graph, sides["target"].graph, seeds)
    found = _aligned(task, settings).links(labels=True)
    ids = {name: side.ids(found[name].combine_chunks()) for name, side in sides.items()}
    kept = ("confidence", "source_label", "target_label")
    return like(pa.table({**ids, **{name: found[name] for name in kept}}), source)


def evaluate(result: Result | SavedResult, reference: Any) -> Measures:
    """Compare the links with a reference: ranks, precision and recall, calibration. The reference is what
    `read_reference` returns or takes: a file of pairs, a list of them, or a table; of a saved run, a file."""
    from emea.analysis.evaluation import evaluate as measure
    from emea.data import Reference
    from emea.formats import read_reference
    from emea.result import Result, SavedResult
    from emea.runs.finished import evaluate_run

    if isinstance(result, SavedResult):
        with _true_pairs(reference) as pairs:
            return evaluate_run(result.folder, pairs)
    if not isinstance(result, Result):
        raise InputError(f"found {shown(result)}, expected the result of emea.align, or emea.load('run')")
    sealed = reference if isinstance(reference, Reference) else read_reference(reference, result.task)
    return measure(result.outcome, sealed)


def compare(first: Result | SavedResult, second: Result | SavedResult, reference: Any) -> Comparison:
    """Whether two runs on the same graphs differ by more than chance: the differences of Hit@1 and of the mean
    reciprocal rank among the test targets, first minus second, and how likely they are if there is none. The reference
    is what `evaluate` takes; of saved runs, ranks are those among the candidates that they wrote."""
    from emea.analysis.evaluation import compare as measure
    from emea.data import Reference
    from emea.formats import read_reference
    from emea.result import Result, SavedResult
    from emea.runs.finished import compare_runs

    if isinstance(first, SavedResult) and isinstance(second, SavedResult):
        with _true_pairs(reference) as pairs:
            return compare_runs(first.folder, second.folder, pairs)
    if not (isinstance(first, Result) and isinstance(second, Result)):
        wrong = next((each for each in (first, second) if not isinstance(each, Result | SavedResult)), None)
        found = "a saved run and a result in memory" if wrong is None else shown(wrong)
        raise InputError(f"found {found}, expected two results of emea.align, or emea.load('run') of two runs")
    one, other = first.task, second.task
    for side in ("source", "target"):
        if not getattr(one, side).entities.equals(getattr(other, side).entities):
            raise InputError(f"found results for two {side} graphs, expected two results for the same graphs")
    sealed = reference if isinstance(reference, Reference) else read_reference(reference, one)
    return measure(first.outcome, second.outcome, sealed)


def _true_pairs(reference: object) -> AbstractContextManager[Path]:
    """The file of true pairs that a saved run is measured against, or a copy of it."""
    from pathlib import Path

    from emea.formats import nearby

    if not isinstance(reference, str | Path):
        found = f"found {shown(reference)}, expected a file of true pairs, such as 'truth.tsv', for a saved run"
        raise InputError(found)
    return nearby(reference)


def _aligned(
    task: Task,
    settings: Settings | None,
    observe: Callable[[Step], None] | None = None,
    watch: Callable[[Fitting], None] | None = None,
) -> Result:
    from emea.engine import opened
    from emea.evidence.prepared import prepare
    from emea.result import Result
    from emea.runs.align import Observers
    from emea.runs.align import align as link

    chosen = _chosen(task, settings)
    prepared = prepare(task, chosen.evidence)
    with opened(chosen.engine.kind, chosen.engine.gpus) as engine:
        return Result(link(prepared, chosen, Observers(observe, watch), engine=engine).here())


def _chosen(task: object, settings: object) -> Settings:
    """The settings, with what is usual for the task where they do not say what counts; anything else is refused."""
    from emea.formats import require_task
    from emea.runs.inputs import usual_evidence

    benchmark = require_task(task).benchmark
    if settings is None:
        settings = Settings()
    if not isinstance(settings, Settings):
        hint = f"; for the preset: emea.settings.load({settings!r})" if isinstance(settings, str) else ""
        raise SettingsError(f"found {shown(settings)}, expected settings, such as emea.Settings(seed=1){hint}")
    if "kind" in settings.evidence.model_fields_set:
        return settings
    evidence = settings.evidence.model_copy(update={"kind": usual_evidence(benchmark=benchmark)})
    return settings.model_copy(update={"evidence": evidence})
