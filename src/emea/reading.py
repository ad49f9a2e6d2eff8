"""What a reader is told: choices that a file leaves open, and which links of a benchmark become seeds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


@dataclass(frozen=True)
class Choice:
    """Which links of a benchmark folder become seeds: a share of all, a fold, or a file of pairs."""

    ratio: float | None = None
    split: int = 0
    fold: int | None = None
    seeds: Path | str | None = None


class Reading(BaseModel):
    """How to read a graph where its file leaves a choice, and which of its entities may be linked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    graph: str | None = None
    """One of several named graphs."""
    table: Literal["rows", "triples"] | None = None
    """What a row of a table is: an entity or a triple; else recognised."""
    id_column: str | None = None
    """Of a table of entities; else found."""
    context: Path | None = None
    """Stands in for the remote contexts of JSON-LD."""
    query: str | None = None
    """Of a SPARQL endpoint: a CONSTRUCT query, or the class to take entities from."""
    lenient: bool = False
    """Skip statements that cannot be read, and count them."""
    type: tuple[str, ...] = ()
    """Link only entities of these types."""
    exclude_type: tuple[str, ...] = ()
    """Link no entities of these types."""
    namespace: tuple[str, ...] = ()
    """Link only entities whose names begin like this."""
    entities: Path | None = None
    """A file with the names of those to link."""

    @property
    def chosen(self) -> dict[str, Any]:
        """The choices that were made."""
        return {name: value for name, value in self.model_dump().items() if value}

    def absolute(self) -> Reading:
        """The same with absolute paths."""
        paths = {name: value.resolve() for name, value in self.chosen.items() if isinstance(value, Path)}
        return self.model_copy(update=paths)


PLAIN = Reading()  # everything as the file suggests
