"""File formats, one a file, reader and writer together; the file name is the format's name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa

from emea import plugins
from emea.contracts import Choice, Format, GraphReader, PairReader, TaskReader
from emea.data import Graph, Links, Reference, Task
from emea.errors import InputError, SettingsError
from emea.formats._files import suffix
from emea.formats._pairs import to_links


def read_graph(path: Path) -> Graph:
    """The graph in a file, read by the format its suffix names."""
    readers = {ending: reader for reader in _formats() if isinstance(reader, GraphReader) for ending in reader.suffixes}
    if suffix(path) not in readers:
        raise _unknown_suffix(path, "a graph", readers)
    graph = readers[suffix(path)].read_graph(path)
    if not len(graph.entities):
        raise InputError(f"{path} is empty; expected at least one triple")
    return graph


def read_pairs(path: Path, source: Graph, target: Graph) -> Links:
    """The links of a file of pairs, given by names or by the ids of id files; each entity at most once."""
    return to_links(read_pair_names(path), path, source, target)


def read_pair_names(path: Path) -> pa.Table:
    """The pairs of a file as names: columns source, target, weight."""
    found = [reader for reader in _formats() if isinstance(reader, PairReader)]
    readers = {ending: reader for reader in found for ending in reader.pair_suffixes}
    if suffix(path) not in readers:
        raise _unknown_suffix(path, "pairs", readers)
    return readers[suffix(path)].read_pairs(path)


def read_task(folder: Path, choice: Choice) -> tuple[Task, Reference | None, str]:
    """The task in a benchmark folder, its sealed links, and one line that says which layout was found."""
    if sum(given is not None for given in (choice.ratio, choice.fold, choice.seeds)) > 1:
        raise SettingsError("found more than one of --ratio, --fold and --seeds, expected one")
    if choice.ratio is not None and not 0 <= choice.ratio <= 1:
        raise SettingsError(f"found the ratio {choice.ratio}, expected a number from 0 to 1")
    if not folder.is_dir():
        raise InputError(f"{folder} {'is a file' if folder.exists() else 'does not exist'}; expected a folder")
    readers = [reader for reader in _formats() if isinstance(reader, TaskReader)]
    for reader in readers:
        detected = reader.detect(folder)
        if detected is not None:
            return (*reader.read_task(folder, choice), detected)
    known = "; ".join(reader.description for reader in readers)
    raise InputError(f"{folder} has no layout known here; expected one of: {known}")


def read(source: str | Path, target: str | Path, seeds: str | Path | None = None) -> Task:
    """The task of linking the graphs in two files, given a file of known pairs."""
    first, second = read_graph(Path(source)), read_graph(Path(target))
    known = Links.empty() if seeds is None else read_pairs(Path(seeds), first, second)
    return Task(first, second, known, Links.empty())


def read_benchmark(
    folder: str | Path,
    *,
    ratio: float | None = None,
    split: int = 0,
    fold: int | None = None,
    seeds: str | Path | None = None,
) -> tuple[Task, Reference | None]:
    """The task in a benchmark folder and its sealed links; a share of them, a fold, or a file gives the seeds."""
    choice = Choice(ratio, split, fold, None if seeds is None else Path(seeds))
    task, reference, _ = read_task(Path(folder), choice)
    return task, reference


def read_reference(path: str | Path, task: Task) -> Reference:
    """The links of a file, sealed: for evaluation only."""
    return Reference(read_pairs(Path(path), task.source, task.target))


def _formats() -> Iterator[Format]:
    """The formats that the package brings, sorted by name."""
    return (plugins.find("formats", name, Format)() for name in plugins.names("formats"))


def _unknown_suffix(path: Path, what: str, known: Iterable[str]) -> InputError:
    listed = ", ".join(sorted(ending or "no suffix" for ending in known))
    return InputError(f"{path}: found the suffix '{suffix(path)}', expected {what} in one of {listed} (also with .gz)")
