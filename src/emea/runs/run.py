"""The run folder: what went in, what each round found, and the result in files that other tools read."""

from __future__ import annotations

import json
import platform
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import tomli_w
import torch
from torch import Tensor

from emea import __version__
from emea.analysis.evaluation import evaluate
from emea.analysis.measures import Measures
from emea.analysis.relations import relation_links, relation_mappings
from emea.data import Alignment, Counterparts, Graph, Links, Reference, Task
from emea.evidence.prepared import Prepared
from emea.formats._files import writing
from emea.formats.rdf import RDF
from emea.formats.sssom import SSSOM
from emea.formats.table import Table, write_columns
from emea.kernels.segments import segment_rank
from emea.method.rounds import Fitting, Outcome, State, Step
from emea.runs.align import Observers, align
from emea.runs.checkpoint import Checkpoint
from emea.runs.folder import RESULTS
from emea.runs.inputs import Inputs
from emea.runs.promise import broken_promise
from emea.settings import Settings

CHECKPOINT_SECONDS = 30.0  # between checkpoints within a fit
CANDIDATE_COLUMNS = ("source", "rank", "target", "similarity", "probability")


def run(
    prepared: Prepared,
    settings: Settings,
    folder: Path,
    *,
    inputs: Inputs,
    reference: Reference | None = None,
    resume: bool = False,
    observers: Observers | None = None,
) -> tuple[Outcome, Measures | None]:
    """Link the graphs, writing the run folder along the way; returns the outcome and, with a reference, its measures.

    Each complete round of the loop, and long training now and then, leaves a checkpoint from which `resume` continues;
    the results replace it. Baselines start over.
    """
    task = prepared.given
    saved = Checkpoint.read(folder, task) if resume else None
    for name in (*RESULTS, "validation.tsv"):
        (folder / name).unlink(missing_ok=True)  # of another run
    if saved is None:
        Checkpoint.remove(folder)
    _write_text(folder / "settings.toml", tomli_w.dumps(_description(task, settings, inputs)))
    write_columns(folder / "seeds.tsv", ("source", "target", "weight"), [*task.names(task.seeds), task.seeds.weight])
    if len(task.validation):
        write_columns(folder / "validation.tsv", ("source", "target"), [*task.names(task.validation)])
    keeper = _Keeper(folder, task, saved, observers or Observers())
    outcome = align(prepared, settings, keeper.observers, saved.state if saved else None)
    write_result(outcome, folder, top_k=inputs.top_k, with_seeds=inputs.with_seeds)
    _write_text(folder / "summary.json", json.dumps(summary(outcome), indent=2) + "\n")
    measures = evaluate(outcome, reference) if reference is not None and len(reference) else None
    if measures is not None:
        _write_text(folder / "metrics.json", json.dumps(measures.to_dict(), indent=2) + "\n")
    Checkpoint.remove(folder)
    return outcome, measures


class _Keeper:
    """Writes down each round as it ends, and keeps a checkpoint."""

    def __init__(self, folder: Path, task: Task, saved: Checkpoint | None, observers: Observers) -> None:
        self.folder, self.task, self.others = folder, task, observers
        self.observers = Observers(self.round, self.fit, observers.judging)
        self.rounds, self.timings = (list(saved.rounds), list(saved.timings)) if saved else ([], [])
        self.saved_at = time.monotonic()

    def round(self, ended: Step) -> None:
        """Record a round; the last one needs no checkpoint."""
        self.rounds.append({"round": ended.number, **ended.record()})
        self.timings.append({"round": ended.number, "seconds": round(ended.seconds, 3)})
        _write_lines(self.folder / "rounds.jsonl", self.rounds)
        _write_lines(self.folder / "timings.jsonl", self.timings)
        if ended.resumable is not None:
            self._keep(ended.resumable)
        if self.others.round is not None:
            self.others.round(ended)

    def fit(self, fitting: Fitting) -> None:
        """Keep a checkpoint now and then within a long fit."""
        if fitting.state is not None and time.monotonic() - self.saved_at >= CHECKPOINT_SECONDS:
            self._keep(fitting.state())
            self.saved_at = time.monotonic()
        if self.others.fit is not None:
            self.others.fit(fitting)

    def _keep(self, state: State) -> None:
        Checkpoint(state, self.rounds, self.timings).write(self.folder, self.task)


def write_result(outcome: Outcome, folder: Path, *, top_k: int, with_seeds: bool) -> None:
    """The alignment as TSV, SSSOM and, where names are IRIs, owl:sameAs; and each source's best candidates."""
    task, links = outcome.prepared.given, on_cpu(outcome.alignment)
    if with_seeds:
        links = _with_seeds(links, task.seeds)
    Table().write_alignment(links, task, folder / "alignment.tsv")
    measured = "cosine" if outcome.last is not None else None  # baselines have no embeddings
    SSSOM(similarity=measured).write_alignment(links, task, folder / "alignment.sssom.tsv")
    source_iris, target_iris = (_are_iris(graph) for graph in (task.source, task.target))
    if bool(source_iris.any()) and bool(target_iris.any()):
        between_iris = links[source_iris[links.source] & target_iris[links.target]]  # not blank nodes
        RDF().write_alignment(between_iris, task, folder / "alignment.nt")
    relations = relation_links(outcome)
    write_columns(
        folder / "relations.tsv", relations.column_names, [*(column.combine_chunks() for column in relations.columns)]
    )
    SSSOM().write_relations(relation_mappings(relations), folder / "relations.sssom.tsv")
    write_candidates(outcome.counterparts, task, folder / "candidates.tsv", top_k)


def summary(outcome: Outcome) -> dict[str, Any]:
    """How many links there are, how many of them should be right, and how many sources have no counterpart."""
    confidence = outcome.alignment.confidence
    return {
        "links": len(confidence),
        "expected precision": round(float(confidence.mean()), 6) if len(confidence) else None,
        "absence": outcome.absence and asdict(outcome.absence),
        "doubt": broken_promise(outcome),
    }


def write_candidates(counterparts: Counterparts, task: Task, path: Path, top_k: int) -> None:
    """The most probable counterparts of each source with similarity and probability; ties share a rank."""
    pairs = counterparts.candidates
    source, target, probability, cosine = (
        column.cpu() for column in (pairs.source, pairs.target, counterparts.forward.float(), pairs.cosine)
    )
    rank = segment_rank(source, pairs.sources, probability) + 1
    kept = torch.nonzero(rank <= top_k)[:, 0]  # a tie is kept or cut as a whole
    kept = kept[torch.argsort(rank[kept], stable=True)]
    kept = kept[torch.argsort(source[kept], stable=True)]
    source_names, target_names = task.names(Links.build(source[kept], target[kept]))
    columns = [source_names, rank[kept], target_names, cosine[kept], probability[kept]]
    write_columns(path, CANDIDATE_COLUMNS, columns)


def _description(task: Task, settings: Settings, inputs: Inputs) -> dict[str, Any]:
    """All settings, and in the table `run` everything else that is needed to repeat the run."""
    about = {
        **inputs.table(),
        "sources": len(task.source.entities),
        "targets": len(task.target.entities),
        "threads": torch.get_num_threads(),
        "versions": {"emea": __version__, "python": platform.python_version(), "torch": torch.__version__},
    }
    return {**settings.resolved(), "run": about}


def _with_seeds(links: Alignment, seeds: Links) -> Alignment:
    one = torch.ones(len(seeds), dtype=links.similarity.dtype)
    return Alignment(
        torch.cat([links.source, seeds.source]),
        torch.cat([links.target, seeds.target]),
        torch.cat([links.confidence, seeds.weight.to(links.confidence.dtype)]),
        torch.cat([links.similarity, one]),
    )


def on_cpu(links: Alignment) -> Alignment:
    """The same links, ready to be written."""
    return Alignment(*(column.cpu() for column in (links.source, links.target, links.confidence, links.similarity)))


def _are_iris(graph: Graph) -> Tensor:
    """Which entities have names that can stand in RDF, [entities] bool."""
    pattern = r"^[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]*$"
    return torch.from_numpy(pc.match_substring_regex(graph.entities, pattern).to_numpy(zero_copy_only=False))


def _write_lines(path: Path, records: list[dict[str, Any]]) -> None:
    _write_text(path, "".join(json.dumps(record) + "\n" for record in records))


def _write_text(path: Path, text: str) -> None:
    with writing(path) as file:
        file.write(text.encode())
