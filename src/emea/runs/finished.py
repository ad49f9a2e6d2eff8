"""Reads finished run folders back, measures and compares them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from emea.analysis.evaluation import compare, evaluate
from emea.analysis.measures import Comparison, Measures
from emea.analysis.ranking import Answer, by_probability, by_similarity
from emea.contracts import Choice
from emea.data import Alignment, Links, Reference
from emea.errors import InputError
from emea.formats import read_pair_names, read_task
from emea.formats._columns import unique_ends
from emea.runs.folder import check_run, written_table
from emea.runs.tables import column_names, read_whole
from emea.settings import read_config

TYPES = {  # of the columns that are read
    "source": pa.large_string(),
    "target": pa.large_string(),
    **dict.fromkeys(("confidence", "similarity", "probability"), pa.float64()),
}


@dataclass(frozen=True)
class _Written:
    """What the folder of a run keeps of it."""

    described: dict[str, Any]
    alignment: pa.Table
    candidates: pa.Table
    given: list[pa.Table]

    @classmethod
    def read(cls, folder: Path) -> _Written:
        check_run(folder)
        alignment, candidates, seeds = (
            _read_table(path)
            for path in (folder / "alignment.tsv", written_table(folder, "candidates"), folder / "seeds.tsv")
        )
        given = [seeds, *(_read_table(path) for path in folder.glob("validation.tsv"))]
        return cls(read_config(folder / "settings.toml", "run"), alignment, candidates, given)

    @property
    def tables(self) -> list[pa.Table]:
        return [self.alignment, self.candidates, *self.given]

    def answer(self, source: _Ids, target: _Ids) -> Answer:
        """What the run has to say."""
        confidence, similarity = (_numbers(self.alignment[name]) for name in ("confidence", "similarity"))
        found = Alignment(source(self.alignment["source"]), target(self.alignment["target"]), confidence, similarity)
        pairs = Links.build(source(self.candidates["source"]), target(self.candidates["target"]))
        order = torch.argsort(pairs.keys(len(target.names)))
        scores = {
            "similarity": by_similarity(_numbers(self.candidates["similarity"])[order]),
            "probability": by_probability(_numbers(self.candidates["probability"])[order]),
        }
        every = torch.ones(max(len(target.names), int(self.described["targets"])), dtype=torch.bool)
        seeds, *others = (Links.build(source(table["source"]), target(table["target"])) for table in self.given)
        return Answer(found, pairs.source[order], pairs.target[order], scores, every, sum(others, seeds))


def evaluate_run(folder: Path, reference: Path, *, complete: bool = False) -> Measures:
    """The measures of a finished run against a file of pairs; targets below the written candidates share a rank, which
    says little about the mean one. The reference is complete if that is said, or if it names every source."""
    run = _Written.read(folder)
    (subject,), links = _answers([run], reference)
    whole = complete or len(torch.unique(links.source)) >= int(run.described["sources"])
    return replace(_without_mean_rank(evaluate(subject, Reference(links))), complete=whole)


def compare_runs(first: Path, second: Path, reference: Path) -> Comparison:
    """How two finished runs on the same graphs differ by a file of pairs, ranked among the written candidates."""
    runs = [_Written.read(folder) for folder in (first, second)]
    for side in ("source", "target"):
        if runs[0].described[f"{side}s"] != runs[1].described[f"{side}s"]:
            raise InputError(f"found runs on two {side} graphs, expected two runs on the same graphs")
    (one, other), links = _answers(runs, reference)
    return compare(one, other, Reference(links))


def _answers(runs: list[_Written], reference: Path) -> tuple[list[Answer], Links]:
    """What runs on the same graphs have to say, and the true pairs in a file, all by the same numbers."""
    known = _named(_counted(read_pair_names(reference)), runs[0].described)
    known = _completed(known, [table for run in runs for table in run.tables])
    tables = [*(table for run in runs for table in run.tables), known]
    source, target = (_Ids([table[side] for table in tables]) for side in ("source", "target"))
    answers, links = (
        [run.answer(source, target) for run in runs],
        Links.build(source(known["source"]), target(known["target"])),
    )
    keys = torch.unique(links.keys(len(target.names)))  # a pair that is given twice counts once
    links = Links.build(keys // len(target.names), keys % len(target.names))
    for run in runs:
        _refuse_unfit(links, source, target, run.tables, reference)
    if bool(torch.isin(keys, torch.cat([each.given.keys(len(target.names)) for each in answers])).all()):
        raise InputError(f"{reference}: all of its {len(links):,} pairs were given to the run; none is left to measure")
    return answers, links


def _without_mean_rank(measures: Measures) -> Measures:
    """The same without what mostly depends on ranks beyond the written candidates."""
    ranking = {
        pool: {name: replace(each, mr=None) for name, each in decodings.items()}
        for pool, decodings in measures.ranking.items()
    }
    return replace(measures, ranking=ranking)


def _counted(pairs: pa.Table) -> pa.Table:
    """The pairs that are said to be equal."""
    return pairs.filter(pc.invert(pairs["excluded"])) if "excluded" in pairs.column_names else pairs


def _refuse_unfit(links: Links, source: _Ids, target: _Ids, tables: list[pa.Table], path: Path) -> None:
    """Refuse a reference that is empty, or mostly names entities that the run does not know."""
    if not len(links):
        raise InputError(f"{path} holds no pair, expected true pairs")
    for side, ids, column in (("source", source, links.source), ("target", target, links.target)):
        unknown = column[~torch.isin(column, torch.cat([ids(table[side]) for table in tables]))]
        if 2 * len(unknown) > len(column):
            found = f"{len(unknown):,} of {len(column):,} {side}s that the run does not know"
            example = ids.names[int(unknown[0])]
            raise InputError(f"{path}: found {found}, such as '{example}'; expected pairs of its graphs, source first")


def _read_table(path: Path) -> pa.Table:
    if not path.exists():
        raise InputError(f"{path} does not exist; expected the files of a finished run")
    held = column_names(path)  # labels are not read
    return read_whole(path, {name: kind for name, kind in TYPES.items() if name in held})


def _named(pairs: pa.Table, described: dict[str, Any]) -> pa.Table:
    """The pairs by name, also where they are given by the numbers of the id folder that the run read."""
    numeric = pc.all(pc.utf8_is_digit(pairs["source"])).as_py() and pc.all(pc.utf8_is_digit(pairs["target"])).as_py()
    if not (numeric and pairs.num_rows and "data" in described):
        return pairs
    try:
        task, _, _ = read_task(Path(described["data"]), Choice(ratio=0.0))
    except InputError:  # a folder without links
        task, _, _ = read_task(Path(described["data"]), Choice())
    for side, graph in (("source", task.source), ("target", task.target)):
        positions = graph.positions(pairs[side].combine_chunks())
        column = pc.coalesce(graph.entities.take(positions), pairs[side].combine_chunks())
        pairs = pairs.set_column(pairs.column_names.index(side), side, column)
    return pairs


def _completed(pairs: pa.Table, tables: list[pa.Table]) -> pa.Table:
    """The pairs with table/id for an id alone, where the run has only one such name."""
    for side in ("source", "target"):
        names = pc.unique(pa.concat_arrays([table[side].combine_chunks().cast(pa.large_string()) for table in tables]))
        given = pairs[side].combine_chunks().cast(pa.large_string())
        known = pc.is_in(given, names)
        if not pc.all(known).as_py():
            meant = names.take(pc.index_in(given, unique_ends(names)))
            column = pc.if_else(known, given, pc.coalesce(meant, given))
            pairs = pairs.set_column(pairs.column_names.index(side), side, column)
    return pairs


class _Ids:
    """Numbers for the names of one side."""

    def __init__(self, columns: list[pa.ChunkedArray]) -> None:
        chunks = [chunk.cast(pa.large_string()) for column in columns for chunk in column.chunks]
        self.names = pc.unique(pa.chunked_array(chunks, pa.large_string()))

    def __call__(self, column: pa.ChunkedArray) -> Tensor:
        """The number of each name, [rows]."""
        return torch.from_numpy(pc.index_in(column, self.names).to_numpy().astype("int64"))


def _numbers(column: pa.ChunkedArray) -> Tensor:
    return torch.from_numpy(column.cast(pa.float64()).to_numpy().copy())
