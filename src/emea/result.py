"""The result of a run: the links, and what can be done with them."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import finalize

from emea.analysis.explanation import Explanation
from emea.errors import InputError, SettingsError

if TYPE_CHECKING:
    import pandas
    import pyarrow as pa

    from emea.data import Alignment, Counterparts, Task
    from emea.method.rounds import Outcome, Round
    from emea.review.server import Serving
    from emea.runs.explaining import Explainer
    from emea.settings import Settings


@dataclass(frozen=True)
class ShownExplanation(Explanation):
    """An explanation that a notebook shows as bars, or as the card of the review page where anywidget is installed;
    `print` shows what `emea explain` does."""

    def __str__(self) -> str:
        from emea.cli._explaining import plain

        return plain(self)

    def _repr_html_(self) -> str:
        from emea.report.bars import drawn

        return drawn(self)

    def _repr_mimebundle_(self, **kinds: Any) -> Any:
        from emea.report.notebook import card_widget

        widget = card_widget(self.to_dict())
        return None if widget is None else widget._repr_mimebundle_(**kinds)


class _Linked(ABC):
    """What can be asked of links, in memory or on disk."""

    @abstractmethod
    def links(self, *, labels: bool = False) -> pa.Table:
        """The links by name: source, target, confidence, similarity and, if asked for, the labels of both; the surest
        first."""

    @abstractmethod
    def candidates(self) -> pa.Table:
        """The most probable counterparts of each source: source, rank, target, similarity, probability."""

    @abstractmethod
    def unlinked(self) -> pa.Table:
        """The sources that may be linked and are not, the closest to a link first: source, source_label, candidate,
        candidate_label, probability, why."""

    @abstractmethod
    def _explainer(self, language: str) -> Explainer: ...

    def __len__(self) -> int:
        """How many links were found."""
        return len(self.links()["source"])

    def to_arrow(self) -> pa.Table:
        """The links by name as an Arrow table."""
        return self.links()

    def to_pandas(self) -> pandas.DataFrame:
        """The links by name as a data frame (needs pandas)."""
        return self.links().to_pandas()

    def explain(
        self, source: str | int, target: str | int | None = None, *, language: str = "", fewest: bool = False
    ) -> ShownExplanation:
        """Why a source is linked as it is, or why not to a target, given by name, last part of the name, id, or label.
        `language` says in which languages labels are preferred: "de,en"; `fewest` asks for the fewest triples, too."""
        ends = str(source), None if target is None else str(target)  # ids of tables may be numbers
        return ShownExplanation(**vars(self._explainer(language).explain(*ends, fewest=fewest)))

    def _repr_html_(self) -> str:
        """For notebooks: the ten surest links, and how sure all are."""
        from emea.report.notebook import shown

        return shown(repr(self), self.links(labels=True))


@dataclass(frozen=True, eq=False, repr=False)
class SavedResult(_Linked):
    """A finished run as its folder keeps it; links are explained in full where its inputs can be read again."""

    folder: Path

    @cached_property
    def settings(self) -> Settings:
        """What the run was made with."""
        from emea.settings import Settings, read_config

        return Settings(**read_config(self.folder / "settings.toml"))

    def links(self, *, labels: bool = False) -> pa.Table:
        """The links by name, as the run wrote them: source, target, confidence, similarity and, if asked for, the
        labels of both; the surest first."""
        import pyarrow.compute as pc

        from emea.report.reading import FinishedRun

        names = ("source_label", "target_label") if labels else ()
        found = FinishedRun.read(self.folder).links.select(["source", "target", "confidence", "similarity", *names])
        for name in names:
            label = pc.if_else(pc.equal(found[name], ""), None, found[name])
            found = found.set_column(found.column_names.index(name), name, label)
        return found.sort_by([("confidence", "descending"), ("source", "ascending")])

    def candidates(self) -> pa.Table:
        """The most probable counterparts of each source: source, rank, target, similarity, probability."""
        from emea.runs.folder import written_table
        from emea.runs.results import CANDIDATE_SCHEMA
        from emea.runs.tables import read_whole

        return read_whole(
            written_table(self.folder, "candidates"), {field.name: field.type for field in CANDIDATE_SCHEMA}
        )

    def unlinked(self) -> pa.Table:
        """The sources that may be linked and are not, as the run wrote them, the closest to a link first."""
        from emea.runs.folder import written_table
        from emea.runs.tables import read_whole
        from emea.runs.unlinked import UNLINKED_SCHEMA

        return read_whole(written_table(self.folder, "unlinked"), {field.name: field.type for field in UNLINKED_SCHEMA})

    @lru_cache(maxsize=4)  # noqa: B019 - a result is kept as long as it is explained
    def _explainer(self, language: str) -> Explainer:
        from emea.runs.explaining import Explainer
        from emea.runs.wording import languages_of

        return Explainer.open(self.folder, languages_of(language))

    def __repr__(self) -> str:
        return f"SavedResult({len(self):,} links in {self.folder})"


def load(folder: str | Path) -> SavedResult:
    """A finished run again, from the folder that `emea align` or `Result.save` wrote; from an address in a store, a
    copy that is kept as long as the result is."""
    from emea.formats import nearby
    from emea.report.reading import check_finished

    with ExitStack() as copied:
        here = copied.enter_context(nearby(folder))
        check_finished(here)
        saved = SavedResult(here)
        finalize(saved, copied.pop_all().close)
    return saved


@dataclass(frozen=True, eq=False, repr=False)
class Result(_Linked):
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

    def __len__(self) -> int:
        """How many links were found."""
        return len(self.alignment)

    def __repr__(self) -> str:
        return f"Result({len(self):,} links between {self.task.source!r} and {self.task.target!r})"

    def links(self, *, labels: bool = False) -> pa.Table:
        """The links by name: source, target, confidence, similarity and, if asked for, the labels of both; the surest
        first."""
        import pyarrow as pa

        from emea.formats._writing import shown_labels

        found, task = self.alignment, self.task
        source, target = task.names(found)
        numbers = {"confidence": found.confidence.cpu().numpy(), "similarity": found.similarity.cpu().numpy()}
        columns = {"source": source, "target": target, **numbers}
        if labels:
            columns["source_label"] = shown_labels(task.source, found.source.cpu().numpy())
            columns["target_label"] = shown_labels(task.target, found.target.cpu().numpy())
        return pa.table(columns).sort_by([("confidence", "descending"), ("source", "ascending")])

    def candidates(self) -> pa.Table:
        """The most probable counterparts of each source: source, rank, target, similarity, probability."""
        from emea.runs.inputs import Inputs
        from emea.runs.results import candidate_table

        return candidate_table(self.counterparts, self.task, Inputs().top_k)

    def unlinked(self) -> pa.Table:
        """The sources that may be linked and are not, the closest to a link first, and why."""
        from emea.runs.unlinked import unlinked

        return unlinked(self.outcome)

    @lru_cache(maxsize=4)  # noqa: B019 - a result is kept as long as it is explained
    def _explainer(self, language: str) -> Explainer:
        from emea.runs.explaining import Explainer
        from emea.runs.wording import languages_of

        return Explainer.of(self.outcome, languages_of(language))

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Write the files of a run folder, or to its address in a store, less the records that are kept while a run
        goes on; `force` overwrites a run in it, unless somebody has begun to decide on its links."""
        from emea.runs.workplace import workplace

        with workplace(folder, force=force) as place:
            self._save(place.folder, force=force)
            place.put()

    def _save(self, folder: Path, *, force: bool) -> None:
        from emea.formats._files import write_text
        from emea.runs.folder import CHECKPOINT, LAST, RECORDS, clear, held, refuse_losing_decisions
        from emea.runs.inputs import Inputs
        from emea.runs.results import write_result
        from emea.runs.run import summary, write_given

        inputs = Inputs()
        if (folder / "settings.toml").exists() and not force:
            raise SettingsError(f"{folder} already holds a run; expected another folder, or force=True to overwrite it")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"the folder {folder} cannot be created: {error.strerror}") from error
        with held(folder):
            refuse_losing_decisions(folder)
            clear(folder)
            for name in (*RECORDS, "timings.jsonl", CHECKPOINT):
                (folder / name).unlink(missing_ok=True)  # of another run
            write_given(self.task, self.settings, inputs, folder)
            write_result(self.outcome, folder, inputs)
            write_text(folder / LAST, json.dumps(summary(self.outcome), indent=2) + "\n")

    def report(self, path: str | Path) -> None:
        """Write a page about the links, their confidence and the graphs: one HTML file that needs nothing else."""
        from tempfile import TemporaryDirectory

        from emea.report.page import write_report

        with TemporaryDirectory() as folder:
            self.save(folder)
            explain = None if self.outcome.grounds is None else lambda *pair: self.explain(*pair).to_dict()
            write_report(Path(folder), Path(path), prepared=self.outcome.prepared, explain=explain, called="RUN")

    def review(self, folder: str | Path, *, port: int | None = None, browser: bool = True) -> Serving:
        """Open a page on which to decide on the links: they are saved to a folder, where decisions are kept. It is
        served until its `stop()` is called or the program ends."""
        from emea.review.server import serve
        from emea.verdicts import DATABASE

        if (Path(folder) / DATABASE).exists():
            raise SettingsError(f"{folder} holds decisions on a run; expected another folder, or emea review {folder}")
        self.save(folder)
        explainer = None if self.outcome.grounds is None else self._explainer("")
        serving = serve(Path(folder), port=port, prepared=self.outcome.prepared, explainer=explainer)
        if browser:
            import webbrowser

            webbrowser.open(serving.address)
        return serving
