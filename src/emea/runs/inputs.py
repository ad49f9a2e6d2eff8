"""The inputs of a run: where the graphs and known pairs come from, and what to write."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from emea.contracts import PLAIN, Choice, Reading
from emea.errors import InputError, InputWarning, SettingsError
from emea.runs.folder import USUAL_FORMATS, check_formats

if TYPE_CHECKING:
    from emea.data import Reference, Task


def usual_evidence(*, benchmark: bool) -> str:
    """What counts unless settings say otherwise: two graphs are compared in every respect, a benchmark by its
    structure."""
    return "structure" if benchmark else "all"


ONE_TO_ONE = "one-to-one"


class Inputs(BaseModel):
    """The inputs of a run, as the table `run` of its settings.toml keeps them; paths are absolute."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    source: Path | str | None = None  # a file, a folder of tables, or an address
    target: Path | str | None = None
    source_reading: Reading = PLAIN
    target_reading: Reading = PLAIN
    data: Path | None = None
    example: str | None = None
    seeds: Path | str | None = None
    decisions: tuple[Path, ...] = ()  # the earliest first
    ratio: float | None = None
    split: int = 0
    fold: int | None = None
    top_k: int = 50
    with_seeds: bool = False
    reasons: bool = False
    formats: tuple[str, ...] = USUAL_FORMATS
    strict_seeds: bool = False

    @field_validator("source", "target", "seeds")
    @classmethod
    def _located(cls, place: Path | str | None) -> Path | str | None:
        return place if place is None or "://" in str(place) else Path(place)

    @field_validator("decisions", mode="before")
    @classmethod
    def _several(cls, places: Any) -> Any:
        return (places,) if isinstance(places, str | Path) else places  # one, as earlier versions kept it

    @classmethod
    def parse(cls, table: dict[str, Any], place: Path) -> Inputs:
        """The inputs in a settings file's table `run`."""
        try:
            return cls(**table)
        except ValidationError as error:
            problem = error.errors()[0]
            raise SettingsError(f"{place}, run.{problem['loc'][0]}: {problem['msg']}") from error

    def over(self, given: dict[str, Any]) -> Inputs:
        """The same with some replaced; other graphs bring their own seeds, and decisions are added to those before."""
        other_graphs = {"source", "target", "data"} & set(given)
        written = {"top_k", "with_seeds", "reasons", "formats"}
        kept = self.model_dump(include=written) if other_graphs else self.model_dump()
        if {"seeds", "ratio", "fold"} & set(given):
            chosen_by = {"seeds", "ratio", "fold", *(["split"] if "ratio" not in given else [])}
            kept = {name: value for name, value in kept.items() if name not in chosen_by}
        if {"decisions"} <= kept.keys() & given.keys():
            given = given | {"decisions": _each_once([*kept["decisions"], *given["decisions"]])}
        return Inputs(**{**kept, **given})

    def absolute(self) -> Inputs:
        """The same with absolute paths."""
        paths = {name: getattr(self, name) for name in ("source", "target", "data", "seeds")}
        changed: dict[str, Any] = {name: path.resolve() for name, path in paths.items() if isinstance(path, Path)}
        changed |= {name: getattr(self, name).absolute() for name in ("source_reading", "target_reading")}
        return self.model_copy(update=changed | {"decisions": tuple(path.resolve() for path in self.decisions)})

    def check(self, *, split_given: bool = False) -> None:
        """Refuse what cannot be read or written, or says nothing, before anything else is loaded."""
        check_formats(self.formats)
        if split_given and self.ratio is None and self.example is None:
            raise SettingsError(
                f"found --split {self.split} without --ratio, expected both: it numbers random draws of seeds"
            )
        if self.example is not None:
            self._check_example()
            return
        if self.data is not None and self.source is not None:
            raise SettingsError("found both --data and graph files, expected one of them")
        if self.data is None:
            if self.source is None or self.target is None:
                raise SettingsError("expected two graph files, or --data FOLDER")
            if self.ratio is not None or self.fold is not None:
                raise SettingsError("--ratio and --fold require --data")
        for path in (self.source, self.target, self.data, self.seeds, *self.decisions):
            if isinstance(path, Path) and not path.exists():
                raise InputError(f"{path} does not exist; expected a {'folder' if path == self.data else 'file'}")
        if isinstance(self.source, Path) and isinstance(self.target, Path) and self.source.samefile(self.target):
            raise InputError(f"{self.source} was given as source and as target, expected two graphs")

    def _check_example(self) -> None:
        """Refuse seeds for an example, which brings its own."""
        for name in ("seeds", "ratio", "fold"):
            if (found := getattr(self, name)) is not None:
                raise SettingsError(
                    f"found --{name} {found} for the example '{self.example}', expected none: it draws its own seeds, "
                    "others with --split N"
                )

    def read(self, cardinality: str = ONE_TO_ONE) -> tuple[Task, Reference | None, str | None]:
        """The task, its sealed links if they are known, and one line on which layout a folder was found to have. Known
        pairs may repeat entities as far as the cardinality allows it."""
        self.check()
        with warnings.catch_warnings():
            if self.strict_seeds:
                warnings.filterwarnings("error", ".*skipping ", InputWarning)
            try:
                return self._read(cardinality)
            except InputWarning as skipped:
                found = str(skipped).replace("skipping ", "found ", 1)
                raise InputError(f"{found}; --strict-seeds skips none") from None

    def read_again(self, cardinality: str = ONE_TO_ONE) -> Task:
        """The task once more; what was warned of is not said again."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InputWarning)
            return self.read(cardinality)[0]

    def _read(self, cardinality: str) -> tuple[Task, Reference | None, str | None]:
        from emea.examples import read_example
        from emea.formats import read, read_decisions, read_task

        reference: Reference | None = None
        detected: str | None = None
        if self.example is not None:
            task, reference = read_example(self.example, seed=self.split)
        elif self.data is not None:
            task, reference, layout = read_task(self.data, Choice(self.ratio, self.split, self.fold, self.seeds))
            detected = f"{self.data.name}: {layout}"
        else:
            assert self.source is not None
            assert self.target is not None
            readings = self.source_reading, self.target_reading
            task = read(self.source, self.target, self.seeds, readings, cardinality)
        for path in self.decisions:
            task = read_decisions(path, task, cardinality)
        return task, reference, detected

    def table(self) -> dict[str, Any]:
        """The table `run`; passwords of servers are not kept."""
        from emea.formats import without_password

        kept = self.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
        kept |= {name: str(without_password(kept[name])) for name in ("source", "target", "seeds") if name in kept}
        return kept | {"split": self.split, "top_k": self.top_k, "with_seeds": self.with_seeds}


def _each_once(paths: list[Path]) -> tuple[Path, ...]:
    """The paths without repetition, each where it comes last."""
    return tuple(reversed(dict.fromkeys(Path(path).resolve() for path in reversed(paths))))
