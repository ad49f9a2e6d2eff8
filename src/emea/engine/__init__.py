"""Where heavy loops run: here, or on a cluster. A stage says what its blocks are, an engine where they are worked on.

Three verbs: share a value with all work, map work over blocks, and exchange pieces between blocks. Work is a function
of its module, without side effects or random draws: it may run anywhere, in any order, and again after a failure.
Blocks do not depend on the engine or its workers, so that the same bytes come out everywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Generic, TypeVar

from emea.errors import EngineError, SettingsError

T = TypeVar("T")
Work = Callable[..., T]  # of what is in a block, and of what all blocks share
Block = tuple[Any, ...]


class Kept(ABC, Generic[T]):
    """A value that stays where the engine keeps it. Work that it is given to sees the value itself."""

    @abstractmethod
    def fetch(self) -> T:
        """The value, brought here."""


class Made(ABC, Generic[T]):
    """What work made of each block, in their order, to be used once. In a block of further work it stays where it is,
    and the work sees an iterator."""

    @abstractmethod
    def __iter__(self) -> Iterator[T]:
        """Bring one after the other here."""

    @abstractmethod
    def kept(self) -> list[Kept[T]]:
        """Leave them where they are, to be used more than once."""


class Engine(ABC):
    """Runs work over blocks."""

    @abstractmethod
    def share(self, value: T) -> Kept[T]:
        """A value that every block needs, sent to each machine at most once."""

    @abstractmethod
    def map(self, work: Work[T], blocks: Iterable[Block], *shared: Kept[Any]) -> Made[T]:
        """work(*block, *shared) for each block."""

    @abstractmethod
    def exchange(
        self, work: Work[Sequence[T]], blocks: Iterable[Block], parts: int, *shared: Kept[Any]
    ) -> list[Made[T]]:
        """The same with work that returns a piece for each part: what part p gets of each block, in their order."""

    def record(self) -> dict[str, Any]:
        """What is worth telling about where the work ran; empty if it ran here."""
        return {}


class Local(Engine):
    """One process: a block is worked on when its turn comes, and what was made of it is gone once it was used."""

    def share(self, value: T) -> Kept[T]:
        """The value itself."""
        return _Here(value)

    def map(self, work: Work[T], blocks: Iterable[Block], *shared: Kept[Any]) -> Made[T]:
        """Nothing happens until someone asks."""
        return _Later(work(*map(_seen, (*block, *shared))) for block in blocks)

    def exchange(
        self, work: Work[Sequence[T]], blocks: Iterable[Block], parts: int, *shared: Kept[Any]
    ) -> list[Made[T]]:
        """All blocks, and then their pieces."""
        made = [*self.map(work, blocks, *shared)]
        return [_Later(pieces) for pieces in zip(*made, strict=True)] if made else [_Later(()) for _ in range(parts)]


LOCAL = Local()


class _Here(Kept[T]):
    def __init__(self, value: T) -> None:
        self._value = value

    def fetch(self) -> T:
        return self._value


class _Later(Made[T]):
    def __init__(self, made: Iterable[T]) -> None:
        self._made = iter(made)

    def __iter__(self) -> Iterator[T]:
        return self._made

    def kept(self) -> list[Kept[T]]:
        return [_Here(each) for each in self._made]


def _seen(given: Any) -> Any:
    """What work sees of what it is given."""
    return given.fetch() if isinstance(given, Kept) else iter(given) if isinstance(given, Made) else given


class Distributed:
    """A plug-in that gives its heavy loops to an engine. Whoever builds it sets the engine, before it is first used."""

    engine: Engine = LOCAL


def ranges(rows: int, block: int) -> list[slice]:
    """Rows in blocks, the last one shorter."""
    return [slice(first, min(first + block, rows)) for first in range(0, rows, block)]


def require(kind: str) -> None:
    """Refuse an engine that there is not; whether a cluster answers shows when it is opened."""
    if kind not in {"local", "ray", "auto"} and not kind.startswith("ray://"):
        raise SettingsError(f"found the engine '{kind}', expected local, ray, or an address such as ray://HOST:10001")
    if kind != "local" and find_spec("ray") is None:
        raise EngineError("the engine ray is not installed: pip install 'emea[ray]'")


@contextmanager
def opened(kind: str, gpus: float = 0) -> Iterator[Engine]:
    """The engine of this kind: local, ray, or the address of a Ray cluster. What it started ends with it."""
    require(kind)
    if kind == "local":
        yield LOCAL
        return
    from emea.engine.ray import connected

    with connected(kind, gpus) as engine:
        yield engine
