"""The run folder: what went in, what each round found, and the answer in files that other tools read."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import tomli_w
import torch
from torch import Tensor

from emea import __version__
from emea.checkpoint import NAME as CHECKPOINT
from emea.checkpoint import Checkpoint
from emea.data import Alignment, Counterparts, Graph, Links, Reference, Task
from emea.em import Fitting, Result, Round
from emea.evaluation import evaluate
from emea.formats._files import writing
from emea.formats.rdf import RDF
from emea.formats.sssom import SSSOM
from emea.formats.table import Table, write_columns
from emea.inputs import Inputs
from emea.kernels.segments import segment_rank
from emea.methods import Step, align
from emea.relations import relation_links, relation_mappings
from emea.rulebook import weight_names
from emea.settings import Settings

RESULTS = (
    "alignment.tsv",
    "alignment.sssom.tsv",
    "alignment.nt",
    "relations.tsv",
    "relations.sssom.tsv",
    "candidates.tsv",
    "metrics.json",
    "validation.tsv",
)
CHECKPOINT_SECONDS = 30.0  # between checkpoints within a fit
CANDIDATE_COLUMNS = ("source", "rank", "target", "similarity", "probability")


def run(
    task: Task,
    settings: Settings,
    folder: Path,
    *,
    inputs: Inputs,
    reference: Reference | None = None,
    resume: bool = False,
    observe: Callable[[Step], None] | None = None,
    watch: Callable[[Fitting], None] | None = None,
) -> tuple[Result, dict[str, Any] | None]:
    """Link the graphs, writing the run folder along the way; returns the result and, with a reference, its measures.

    Each whole round of the loop, and long training now and then, leaves a checkpoint, from which `resume` goes on; the
    results replace it. Other methods begin anew.
    """
    saved = Checkpoint.read(folder, task) if resume else None
    for name in RESULTS:
        (folder / name).unlink(missing_ok=True)  # of another run
    if saved is None:
        Checkpoint.remove(folder)
    _write_text(folder / "settings.toml", tomli_w.dumps(_description(task, settings, inputs)))
    write_columns(folder / "seeds.tsv", ("source", "target", "weight"), [*task.names(task.seeds), task.seeds.weight])
    if len(task.validation):
        write_columns(folder / "validation.tsv", ("source", "target"), [*task.names(task.validation)])
    rounds, timings = (list(saved.rounds), list(saved.timings)) if saved else ([], [])

    def record(ended: Step) -> None:
        rounds.append({"round": ended.number, **summary(ended, settings)})
        timings.append({"round": ended.number, "seconds": round(ended.seconds, 3)})
        _write_lines(folder / "rounds.jsonl", rounds)
        _write_lines(folder / "timings.jsonl", timings)
        if isinstance(ended, Round) and not ended.final:
            Checkpoint(ended.state, rounds, timings).write(folder, task)
        if observe is not None:
            observe(ended)

    saved_at = time.monotonic()

    def keep(fitting: Fitting) -> None:
        nonlocal saved_at
        if fitting.state is not None and time.monotonic() - saved_at >= CHECKPOINT_SECONDS:
            Checkpoint(fitting.state(), rounds, timings).write(folder, task)
            saved_at = time.monotonic()
        if watch is not None:
            watch(fitting)

    result = align(task, settings, record, saved.state if saved else None, keep)
    write_result(result, folder, top_k=inputs.top_k, with_seeds=inputs.with_seeds)
    measures = evaluate(result, reference) if reference is not None and len(reference) else None
    if measures is not None:
        _write_text(folder / "metrics.json", json.dumps(measures, indent=2) + "\n")
    Checkpoint.remove(folder)
    return result, measures


def finished(folder: Path) -> bool:
    """Whether a folder holds a run with all its results."""
    return (folder / "candidates.tsv").exists() and not (folder / CHECKPOINT).exists()


def write_result(result: Result, folder: Path, *, top_k: int, with_seeds: bool) -> None:
    """The alignment as TSV, SSSOM and, where names are IRIs, owl:sameAs; and each source's best candidates."""
    task, links = result.task, _on_cpu(result.alignment)
    if with_seeds:
        links = _with_seeds(links, task.seeds)
    Table().write_alignment(links, task, folder / "alignment.tsv")
    measured = "cosine" if result.last is not None else None  # other methods have no embeddings
    SSSOM(similarity=measured).write_alignment(links, task, folder / "alignment.sssom.tsv")
    source_iris, target_iris = (_are_iris(graph) for graph in (task.source, task.target))
    if bool(source_iris.any()) and bool(target_iris.any()):
        between_iris = links[source_iris[links.source] & target_iris[links.target]]  # not blank nodes
        RDF().write_alignment(between_iris, task, folder / "alignment.nt")
    relations = relation_links(result)
    write_columns(
        folder / "relations.tsv", relations.column_names, [*(column.combine_chunks() for column in relations.columns)]
    )
    SSSOM().write_relations(relation_mappings(relations), folder / "relations.sssom.tsv")
    write_candidates(result.counterparts, task, folder / "candidates.tsv", top_k)


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


def summary(ended: Step, settings: Settings) -> dict[str, Any]:
    """What a round found, without its timing."""
    if not isinstance(ended, Round):
        pairs, labels = ended.beliefs.candidates, ended.labels
        return {"candidates": len(pairs), "labels": len(labels), "changed": round(ended.changed, 6)}
    return {
        "candidates": len(ended.believed.candidates),
        "pseudo_labels": len(ended.state.labels),
        **asdict(ended.state.scale),
        "weights": dict(zip(weight_names(settings), ended.weights.tolist(), strict=True)),
        "held_out_links": len(ended.trials),
        "held_out_right": int(ended.trials[:, 1].sum()),
    }


def _description(task: Task, settings: Settings, inputs: Inputs) -> dict[str, Any]:
    """All settings, and in the table `run` all else that is needed to do it again."""
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


def _on_cpu(links: Alignment) -> Alignment:
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
