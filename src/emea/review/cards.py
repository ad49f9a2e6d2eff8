"""A run as the review page shows it: the sources that can be decided, and a card for each.

Its tables are read at once; graphs and what explains links follow, and cards are plainer until they are there.
"""

from __future__ import annotations

import ctypes
import gc
import random
import sys
import threading
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea.errors import EmeaError, InputError
from emea.report.reading import FinishedRun, read_columns
from emea.review.decision import Decision
from emea.review.tables import (
    CANDIDATES,
    Ranked,
    Texts,
    numbers,
    plain_entity,
    search,
    single,
    surest,
    texts,
    unlinked_sources,
)
from emea.runs.folder import written_table

if TYPE_CHECKING:
    from emea.data import Task
    from emea.evidence.prepared import Prepared
    from emea.review.entities import Entities
    from emea.runs.explaining import Explainer

EXPLAINED = 256  # explanations that are kept
RELEASED = 20  # cards after which what was read for them is given back
UNTYPED = "no type"
NAMES = ["source", "target", "source_label", "target_label", "source_type", "target_type"]


class Reviewed:
    """A finished run under review. A card stands for a source: first those with a link, then those without."""

    def __init__(self, run: FinishedRun, seeds: pa.Table | None) -> None:
        self.run = replace(run, links=run.links.select([]), unlinked=None)  # which are kept otherwise
        self.ready = threading.Event()
        self.notes: tuple[str, ...] = ()  # what cannot be shown, and why
        self.entities: tuple[Entities, Entities] | None = None
        self._explainer: Explainer | None = None
        self._candidates: Ranked | None = None
        self._explaining, self._shown = threading.Lock(), 0
        self._explained = lru_cache(maxsize=EXPLAINED)(self._explain)
        links, given = run.links, list[tuple[str, str]]()
        if seeds is not None and seeds.num_rows:
            links, given = links.filter(pc.invert(pc.is_in(links["source"], seeds["source"]))), _pairs(seeds)
        links = surest(links)
        both = [links] if run.unlinked is None else [links, unlinked_sources(run.unlinked)]
        self.names = pa.concat_tables([table.select(NAMES) for table in both]).combine_chunks()
        self.source: list[str] = self.names["source"].to_pylist()
        self.target, self.label, self.target_label = (Texts(single(self.names[name])) for name in NAMES[1:4])
        self.type, self._target_type = (texts(self.names[name]) for name in NAMES[4:])
        self.names = self.names.drop_columns(["source_label", "target_label"])
        self.linked = np.arange(len(self.source)) < links.num_rows  # [cards]
        self.probability = np.concatenate([numbers(table["confidence"]) for table in both]).astype(
            np.float64
        )  # [cards]
        self.number = {source: card for card, source in enumerate(self.source)}
        self._given = dict(given), {target: source for source, target in given}

    @classmethod
    def open(cls, folder: Path) -> Reviewed:
        """The tables of a finished run."""
        return cls(FinishedRun.read(folder), read_columns(folder / "seeds.tsv"))

    def __len__(self) -> int:
        return len(self.source)

    def load(self, prepared: Prepared | None = None, explainer: Explainer | None = None) -> None:
        """Read the graphs and what explains links, unless they are given: for a thread, as it may take long."""
        try:
            self._load(prepared, explainer)
        except Exception as error:  # noqa: BLE001 - cards without graphs are better than no page
            self.notes = (*self.notes, f"the graphs cannot be shown: {error}")
        self.ready.set()

    def _load(self, prepared: Prepared | None, explainer: Explainer | None) -> None:
        from emea.report.graphs import read_again
        from emea.review.entities import Entities
        from emea.runs.wording import Called

        self.target.sort()
        task = read_again(self.run) if prepared is None else prepared.given
        if explainer is None:
            try:
                explainer = _explainer(self.run, task if prepared is None else prepared)
            except (EmeaError, LookupError) as error:  # a file of an older version lacks something
                self.notes = (*self.notes, f"links are not explained: {error}")
                self._candidates = Ranked.read(written_table(self.run.folder, "candidates"), self.names["source"])
        if isinstance(task, str):
            self.notes = (*self.notes, f"neighbours and values are not shown: {task}")
        else:
            called = explainer.finder.called if explainer is not None else None
            ours, theirs = called or (Called(graph, graph, ()) for graph in (task.source, task.target))
            found = Entities(task.source, ours), Entities(task.target, theirs)
            for each in found:
                each.warm()
            self.entities = found
        self._explainer = explainer
        if explainer is not None and len(self):
            self.card(self.source[0], None, None)  # what the first card would wait for
            explainer.kept.release()

    @property
    def judged(self) -> bool:
        """Whether the run estimated who has no counterpart."""
        return self.run.summary.get("absence") is not None

    @property
    def exclusive(self) -> bool:
        """Whether a target has one source at most."""
        return str(self.run.settings.get("matching", {}).get("cardinality", "one-to-one")).startswith("one-to-")

    def proposed(self, source: str) -> tuple[str, float] | None:
        """The target that a source is linked to, and how surely."""
        card = self.number.get(source)
        return None if card is None or not self.linked[card] else (self.target[card], float(self.probability[card]))

    def head(self, card: int) -> dict[str, Any]:
        """A link in short."""
        source, target = (
            {"name": name, "label": label}
            for name, label in ((self.source[card], self.label[card]), (self.target[card], self.target_label[card]))
        )
        return {"source": source, "target": target, "confidence": float(self.probability[card])}

    def card(self, source: str, decided: Decision | None, sampled: float | None) -> dict[str, Any] | None:
        """All that the page shows of a source; None if it cannot be decided. Of a sampled one, the score is hidden
        until it is decided."""
        card = self.number.get(source)
        if card is None:
            return None
        hidden = sampled is not None and decided is None
        self._shown += 1
        if self._explainer is not None and self._shown % RELEASED == 0:
            self._explainer.kept.release()
        target, sure = (self.target[card] or None), float(self.probability[card])
        ranked = self._ranked(source, target, sure if self.linked[card] else None)
        if decided is not None and decided.target and decided.target not in {name for name, _, _ in ranked}:
            ranked.append((decided.target, None, None))
        if hidden:
            ranked = [(name, None, None) for name, _, _ in ranked]
            random.Random(source).shuffle(ranked)
        return {
            "source": self.entity(0, source),
            "proposed": target if self.linked[card] else None,
            "candidates": [
                {"target": self.entity(1, name), "confidence": confidence, "log_odds": log_odds}
                for name, confidence, log_odds in ranked
            ],
            "explanation": None if hidden else self._why(source, target),
            "hidden": hidden,
            "sampled": sampled,
            "kind": self.type[card] or UNTYPED,
            "decided": None if decided is None else _told(decided),
            "loading": not self.ready.is_set(),
        }

    def entity(self, side: int, name: str) -> dict[str, Any]:
        """What is shown of an entity of the source graph (0), or of the target graph."""
        if self.entities is not None:
            found = self.entities[side].shown(name, self._of_target_graph if side else self._of_source_graph)
            if found is not None:
                return found
        card = self._card(side, name)
        if card is None:
            return plain_entity(name)
        columns = (self.target_label, self._target_type) if side else (self.label, self.type)
        return plain_entity(name, *(column[card] for column in columns))

    def _card(self, side: int, name: str) -> int | None:
        """The first card of a source, or of a target."""
        return self.target.first(name) if side else self.number.get(name)

    def _of_source_graph(self, name: str) -> str | None:
        """The counterpart of a source, linked or given."""
        card = self.number.get(name)
        return self.target[card] if card is not None and self.linked[card] else self._given[0].get(name)

    def _of_target_graph(self, name: str) -> str | None:
        """The counterpart of a target, linked or given."""
        card = self._card(1, name)
        return self.source[card] if card is not None and self.linked[card] else self._given[1].get(name)

    def knows_target(self, name: str) -> bool:
        """Whether the target graph has an entity of this name, as far as can be told by now."""
        if self.entities is not None:
            return self.entities[1].number(name) is not None
        return not self.ready.is_set() or self._explainer is None or self._explainer.finder.number(1, name) is not None

    def search(self, text: str, side: int) -> list[dict[str, str]]:
        """Entities whose name or label has a text; among those of the links if the graphs are not known."""
        if self.entities is not None:
            return self.entities[side].search(text)
        names, labels = (self.target, self.target_label) if side else (self.source, self.label)
        return search(zip(names, labels, strict=True), text)

    def _ranked(
        self, source: str, target: str | None, sure: float | None
    ) -> list[tuple[str, float | None, float | None]]:
        """The candidates, the likeliest first, the one proposed among them."""
        found: list[tuple[str, float | None, float | None]] = []
        if self._explainer is not None:
            with self._explaining:
                found = list(self._explainer.candidates(source, CANDIDATES))
        elif self._candidates is not None:
            found = [(name, None, None) for name in self._candidates.of(self.number[source])]
        names = [name for name, _, _ in found]
        if target is None:
            return found
        if target not in names:
            return [(target, sure, None), *found[: CANDIDATES - 1]]
        if found[names.index(target)][1] is None:
            found[names.index(target)] = (target, sure, None)
        return found

    def _why(self, source: str, target: str | None) -> dict[str, Any] | None:
        return None if target is None or self._explainer is None else self._explained(source, target)

    def _explain(self, source: str, target: str) -> dict[str, Any] | None:
        from emea.report.explained import shortened

        assert self._explainer is not None
        try:
            with self._explaining:  # one at a time: it keeps what it has computed
                told = self._explainer.explain(source, target).to_dict()
        except EmeaError:
            return None
        shown: dict[str, Any] = shortened(told)
        return shown


def _explainer(run: FinishedRun, given: Task | Prepared | str) -> Explainer:
    """What explains the links of a run; values are prepared only if they can be."""
    from emea.data import Task
    from emea.evidence.prepared import prepare
    from emea.runs.explaining import Explainer
    from emea.runs.folder import GROUNDS
    from emea.settings import Settings

    if not (run.folder / GROUNDS).exists():
        raise InputError(f"it has no {GROUNDS}, which only finished runs of the method emea leave")
    if isinstance(given, Task):
        given = prepare(given, Settings(evidence=run.settings.get("evidence", {})).evidence)
    return Explainer.open(run.folder, (), given)


def give_back() -> None:
    """Give memory back to the system: reading needs much more than is kept."""
    pa.default_memory_pool().release_unused()
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc
        if trim is not None:
            trim(0)


def _pairs(table: pa.Table) -> list[tuple[str, str]]:
    return list(zip(table["source"].to_pylist(), table["target"].to_pylist(), strict=True))


def _told(decision: Decision) -> dict[str, Any]:
    return {name: getattr(decision, name) for name in ("verdict", "target", "who", "at", "comment")}
