"""What a run is made of: where the graphs and the known pairs come from, and what shall be written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from emea.contracts import Choice
from emea.data import Reference, Task
from emea.errors import InputError, SettingsError
from emea.examples import read_example
from emea.formats import read, read_task


class Inputs(BaseModel):
    """The inputs of a run, as the table `run` of its settings.toml keeps them; paths are absolute."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    source: Path | None = None
    target: Path | None = None
    data: Path | None = None
    example: str | None = None
    seeds: Path | None = None
    ratio: float | None = None
    split: int = 0
    fold: int | None = None
    top_k: int = 50
    with_seeds: bool = False

    @classmethod
    def parse(cls, table: dict[str, Any], place: Path) -> Inputs:
        """The inputs in a settings file's table `run`."""
        try:
            return cls(**table)
        except ValidationError as error:
            problem = error.errors()[0]
            raise SettingsError(f"{place}, run.{problem['loc'][0]}: {problem['msg']}") from error

    def over(self, given: dict[str, Any]) -> Inputs:
        """The same with others in their place; other graphs bring their own seeds."""
        other_graphs = {"source", "target", "data"} & set(given)
        kept = {"top_k": self.top_k, "with_seeds": self.with_seeds} if other_graphs else self.model_dump()
        if {"seeds", "ratio", "fold"} & set(given):
            kept = {name: value for name, value in kept.items() if name not in {"seeds", "ratio", "fold"}}
        return Inputs(**{**kept, **given})

    def absolute(self) -> Inputs:
        """The same with absolute paths."""
        paths = {name: getattr(self, name) for name in ("source", "target", "data", "seeds")}
        return self.model_copy(update={name: path.resolve() for name, path in paths.items() if path is not None})

    def read(self) -> tuple[Task, Reference | None, str | None]:
        """The task, its sealed links where they are known, and one line on what a folder was found to be."""
        if self.example is not None:
            task, sealed = read_example(self.example)
            return task, sealed, None
        if self.data is not None:
            if self.source is not None:
                raise SettingsError("found both --data and graph files, expected one of them")
            choice = Choice(self.ratio, self.split, self.fold, self.seeds)
            task, reference, detected = read_task(self.data, choice)
            return task, reference, f"{self.data.name}: {detected}"
        if self.source is None or self.target is None:
            raise SettingsError("expected two graph files, or --data FOLDER")
        if self.ratio is not None or self.fold is not None:
            raise SettingsError("--ratio and --fold go with --data")
        if self.source.resolve() == self.target.resolve():
            raise InputError(f"{self.source} was given as source and as target, expected two graphs")
        return read(self.source, self.target, self.seeds), None, None

    def table(self) -> dict[str, Any]:
        """The table `run`."""
        return self.model_dump(mode="json", exclude_none=True)
