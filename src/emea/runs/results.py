"""The files that a finished run leaves: the links, for tools and for people, and what else was found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from emea.analysis.relations import relation_links, relation_mappings
from emea.candidates.parts import KeptCounterparts
from emea.contracts import AlignmentWriter
from emea.data import Alignment, Candidates, Counterparts, Graph, Links, Task
from emea.formats._writing import alignment_table, on_cpu, shown_labels, sort_by_name
from emea.formats.oaei import OAEI
from emea.formats.parquet import Parquet
from emea.formats.rdf import RDF
from emea.formats.sssom import SSSOM
from emea.formats.table import Table
from emea.method.matching import BEST_TWO
from emea.method.probability import most_probable
from emea.method.rounds import Outcome
from emea.runs.explaining import Explainer
from emea.runs.folder import ALIGNMENTS, REVIEW, table_to_write
from emea.runs.inputs import Inputs
from emea.runs.kept import keep
from emea.runs.tables import write_blocks
from emea.runs.unlinked import at_rows, best_rows, unlinked, unlinked_targets

CANDIDATE_SCHEMA = pa.schema(
    {
        "source": pa.large_string(),
        "rank": pa.int64(),
        "target": pa.large_string(),
        "similarity": pa.float32(),
        "probability": pa.float32(),
    }
)
BLOCK = 1 << 18  # candidates written at a time
REVIEW_COLUMNS = (  # what to look at first; ids, which are long, last
    "decision",
    "source_label",
    "target_label",
    "confidence",
    "similarity",
    "source_type",
    "target_type",
    "source",
    "target",
    "other_target_label",
    "other_target",
)


def write_result(outcome: Outcome, folder: Path, inputs: Inputs) -> None:
    """The links as a table and in some formats, the same to review, the sources without one, the relations, and each
    source's best candidates."""
    task, found = outcome.prepared.given, on_cpu(outcome.alignment)
    if inputs.reasons:
        explainer = Explainer.of(outcome)
        pairs = zip(found.source.tolist(), found.target.tolist(), strict=True)
        found = replace(found, reasons=np.array([explainer.reason(*pair) for pair in pairs], dtype=object))
    links = _with_seeds(found, task.seeds) if inputs.with_seeds else found
    Table().write_alignment(links, task, folder / "alignment.tsv")
    measured = "cosine" if outcome.last is not None else None  # baselines have no embeddings
    for name in dict.fromkeys(inputs.formats):
        _write_alignment(links, task, folder / ALIGNMENTS[name], name, measured)
    near = _near(outcome)
    write_review(found, near, task, folder / REVIEW)
    _write(unlinked(outcome, near), table_to_write(folder, "unlinked", inputs.formats))
    _write(unlinked_targets(outcome, near), table_to_write(folder, "unlinked.targets", inputs.formats))
    relations = relation_links(outcome)
    _write(relations, folder / "relations.tsv")
    SSSOM().write_relations(relation_mappings(relations), folder / "relations.sssom.tsv")
    keep(outcome, folder)
    candidates = table_to_write(folder, "candidates", inputs.formats)
    write_candidates(outcome.counterparts, task, candidates, inputs.top_k)


def _write_alignment(links: Alignment, task: Task, path: Path, name: str, measured: str | None) -> None:
    """The links in one format; as RDF only those between IRIs, and nothing if there are none."""
    if name in {"nt", "ttl"}:
        source, target = (_are_iris(graph) for graph in (task.source, task.target))
        if not (bool(source.any()) and bool(target.any())):
            return
        links = links[source[links.source] & target[links.target]]  # not blank nodes
    writers: dict[str, AlignmentWriter] = {"csv": Table(), "parquet": Parquet(), "rdf": OAEI()}
    writers |= {"sssom": SSSOM(similarity=measured), "nt": RDF(), "ttl": RDF()}
    writers[name].write_alignment(links, task, path)


def _near(outcome: Outcome) -> Counterparts:
    """The final beliefs about all pairs that could be linked, or are the next best: where entities have one
    counterpart, the best two of each."""
    settings = outcome.settings.matching
    one = settings.method == "mutual" and settings.cardinality == "one-to-one" and outcome.last is not None
    return most_probable(outcome.counterparts, BEST_TWO) if one else outcome.counterparts


def write_review(links: Alignment, beliefs: Counterparts, task: Task, path: Path) -> None:
    """The links to decide on, the most doubtful first, each with the next best candidate of its source."""
    table, ids = alignment_table(links, task), sort_by_name(links).source.numpy()
    row = best_rows(beliefs, besides=_among(beliefs.candidates, links))[ids]
    target, has_other = at_rows(beliefs.candidates.target.cpu().numpy(), row), pa.array(row >= 0)
    columns = {
        "decision": pa.repeat(pa.scalar("", pa.large_string()), len(links)),
        "other_target_label": pc.if_else(has_other, shown_labels(task.target, target), None),
        "other_target": pc.if_else(has_other, task.target.entities.take(pa.array(target)), None),
    }
    for name, column in columns.items():
        table = table.append_column(name, column)
    order = [("confidence", "ascending"), ("source", "ascending"), ("target", "ascending")]
    _write(table.select(REVIEW_COLUMNS).sort_by(order), path)


def _among(pairs: Candidates, links: Alignment) -> np.ndarray:
    """Which of the candidates are links, [pairs] bool."""
    keys, linked = pairs.keys().cpu().numpy(), (links.source * pairs.targets + links.target).numpy()
    if not (keys[1:] > keys[:-1]).all():
        return np.isin(keys, linked)
    linked = linked[linked <= keys.max(initial=-1)]
    places = np.searchsorted(keys, linked)  # of few in many that are sorted, which is quicker
    found = np.zeros(len(keys), dtype=bool)
    found[places[keys[places] == linked]] = True
    return found


def write_candidates(counterparts: Counterparts, task: Task, path: Path, top_k: int) -> None:
    """The most probable counterparts of each source with similarity and probability; ties share a rank."""
    write_blocks(path, CANDIDATE_SCHEMA, _candidate_blocks(counterparts, task, top_k))


def candidate_table(counterparts: Counterparts, task: Task, top_k: int) -> pa.Table:
    """The same as one table."""
    return pa.concat_tables([CANDIDATE_SCHEMA.empty_table(), *_candidate_blocks(counterparts, task, top_k)])


def _candidate_blocks(counterparts: Counterparts, task: Task, top_k: int) -> Iterator[pa.Table]:
    """Tables of some sources each, with all their candidates that are kept."""
    for part in KeptCounterparts.of(counterparts):
        pairs = part.candidates
        columns = (pairs.source, pairs.target, part.forward.float(), pairs.cosine)
        every = [column.cpu().contiguous() for column in columns]
        if not bool((every[0].diff() >= 0).all()):
            order = torch.argsort(every[0], stable=True)
            every = [column[order] for column in every]
        cuts = every[0][BLOCK::BLOCK].contiguous()  # a block ends where a source does
        ends = [*torch.unique(torch.searchsorted(every[0], cuts)).tolist(), len(pairs)]
        for start, end in pairwise([0, *ends]):
            source, target, probability, cosine = (column[start:end].numpy() for column in every)
            rows, rank = _ranked(source, probability)
            kept = rank <= top_k  # a tie is kept or cut as a whole
            rows, place = rows[kept], rank[kept]
            names = task.names(Links.build(torch.from_numpy(source[rows]), torch.from_numpy(target[rows])))
            yield pa.table([names[0], place, names[1], cosine[rows], probability[rows]], schema=CANDIDATE_SCHEMA)


def _ranked(source: np.ndarray, probability: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows by source, the most probable first, and the rank of each in this order; equals share a rank, and stay in
    their order. One sort for both: `segment_rank` takes two. Probabilities are not negative, so their bits are in
    their order."""
    falling = np.int64(0x7FFFFFFF) - (probability + np.float32(0)).view(np.int32)
    key = (source << 32) + falling
    order = np.argsort(key, kind="stable")
    key, source = key[order], source[order]
    place = np.arange(len(order))
    first, equal = (np.maximum.accumulate(np.where(np.diff(each, prepend=-1) != 0, place, 0)) for each in (source, key))
    return order, equal - first + 1


def _with_seeds(links: Alignment, seeds: Links) -> Alignment:
    one = torch.ones(len(seeds), dtype=links.similarity.dtype)
    return Alignment(
        torch.cat([links.source, seeds.source]),
        torch.cat([links.target, seeds.target]),
        torch.cat([links.confidence, seeds.weight.to(links.confidence.dtype)]),
        torch.cat([links.similarity, one]),
        None if links.reasons is None else np.append(links.reasons, ["given as known"] * len(seeds)),
    )


def _are_iris(graph: Graph) -> Tensor:
    """Which entities have names that can stand in RDF, [entities] bool."""
    pattern = r"^[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]*$"
    return torch.from_numpy(pc.match_substring_regex(graph.entities, pattern).to_numpy(zero_copy_only=False))


def _write(table: pa.Table, path: Path) -> None:
    write_blocks(path, table.schema, [table])
