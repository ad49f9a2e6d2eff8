"""The two graphs of a run side by side: from what is given, or read again where their files still are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from emea.data import Graph, Task
from emea.errors import EmeaError
from emea.evidence.prepared import Prepared, prepare
from emea.formats._labels import labels, last_parts, types
from emea.report.reading import FinishedRun
from emea.runs.inputs import Inputs
from emea.runs.profile import Offers, offers
from emea.settings import Settings

UNTYPED = "no type"
SHOWN = 8  # types and relations of each graph
DEGREES = (0, 1, 2, 5, 10, 50, 200)  # where the classes of degrees begin


@dataclass(frozen=True, eq=False)
class Graphs:
    """Both graphs, and what can be said of them."""

    prepared: Prepared
    offers: Offers

    @property
    def task(self) -> Task:
        """As the run was given it."""
        return self.prepared.given

    @classmethod
    def of(cls, run: FinishedRun, prepared: Prepared | None) -> Graphs | str:
        """The graphs of a run, or why they cannot be shown."""
        if prepared is None:
            task = read_again(run)
            if isinstance(task, str):
                return task
            prepared = prepare(task, Settings(evidence=run.settings.get("evidence", {})).evidence)
        return cls(prepared, offers(prepared))

    def labelled(self, run: FinishedRun, languages: Sequence[str]) -> FinishedRun:
        """The run with the labels of its links in these languages, where there are some."""
        found = []
        for graph, side in ((self.task.source, "source"), (self.task.target, "target")):
            place = graph.positions(run.links[side].combine_chunks())
            known = place.fill_null(0).to_numpy(zero_copy_only=False)
            texts = labels(graph, known, (*languages, *(each for each in ("en", "") if each not in languages)))
            found.append(
                [None if at is None else text.as_py() for at, text in zip(place.to_pylist(), texts, strict=True)]
            )
        return run.labelled(*found)

    def types_of(self, sources: pa.ChunkedArray) -> list[str]:
        """The types of some sources by name, joined by |."""
        place = self.task.source.positions(sources.combine_chunks())
        known = types(self.task.source, place.fill_null(0).to_numpy(zero_copy_only=False)).to_pylist()
        return [text or UNTYPED for text in known]


def read_again(run: FinishedRun) -> Task | str:
    """The task of a run, from the files it was read from; or why not. No server is asked again."""
    inputs = Inputs.parse(run.about, run.folder / "settings.toml")
    places = [place for place in (inputs.source, inputs.target, inputs.data, inputs.seeds) if place is not None]
    if not places and inputs.example is None:
        return "the run was given graphs from memory, which its folder does not keep"
    for place in places:
        if "://" in str(place):
            if str(place).startswith("file:"):
                continue
            return f"{place} is not asked again"
        if not Path(place).exists():
            return f"{place} is no longer there"
    try:
        task = inputs.read_again(run.settings.get("matching", {}).get("cardinality", "one-to-one"))
    except EmeaError as error:
        return str(error)
    sizes = len(task.source.entities), len(task.target.entities)
    if sizes != (run.about.get("sources"), run.about.get("targets")):
        return "the files have changed since the run"
    return task


def described(graph: Graph) -> dict[str, Any]:
    """The most frequent types and relations, and how many entities have how many triples."""
    degree = torch.bincount(graph.triples[:, [0, 2]].flatten(), minlength=len(graph.entities)).numpy()
    edges = [*DEGREES, np.inf]
    counts, _ = np.histogram(degree, edges)
    names = [*(f"{low}" if high == low + 1 else f"{low}–{high - 1}" for low, high in pairwise(DEGREES))]
    used = np.bincount(graph.triples[:, 1].numpy(), minlength=len(graph.relations))
    most = np.argsort(-used, kind="stable")[:SHOWN]
    relations = last_parts(graph.relations.take(pa.array(most))).to_pylist()
    of_type = Counter(one for text in types(graph).to_pylist() for one in (text.split("|") if text else [UNTYPED]))
    named = of_type.keys() - {UNTYPED}
    return {
        "types": of_type.most_common(SHOWN) if named else [],
        "relations": list(zip(relations, used[most].tolist(), strict=True)),
        "degrees": list(zip([*names, f"{DEGREES[-1]} or more"], counts.tolist(), strict=True)),
    }
