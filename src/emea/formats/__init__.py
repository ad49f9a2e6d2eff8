"""File formats: one per file, reader and writer together. The file's name is the format's name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeVar

import pyarrow as pa
import torch

from emea import plugins
from emea.contracts import Choice, Format, GraphReader, GraphWriter, PairReader, PairWriter, TaskReader
from emea.data import Graph, Links, Reference, Task
from emea.errors import InputError, SettingsError
from emea.formats._files import suffix
from emea.formats._pairs import SKIPPED, is_excluded, recognised, to_exclusions, to_links, to_unmatched

GraphFormat = TypeVar("GraphFormat", GraphReader, GraphWriter)
PairFormat = TypeVar("PairFormat", PairReader, PairWriter)
DECISIONS = ("decisions.sssom.tsv", "decisions.tsv", "alignment.review.tsv")  # in the folder of a run


def read_graph(path: Path, graph: str | None = None) -> Graph:
    """The graph in a file, in the format given by its suffix; if it holds several, `graph` or else the unnamed one."""
    reader = _graph_format(path, GraphReader)
    found = (reader if graph is None else reader.named(graph)).read_graph(path)
    if not len(found.entities):
        raise InputError(f"{path} is empty; expected at least one triple")
    return found


def read_pairs(path: Path, source: Graph, target: Graph, *, one_to_one: bool = True) -> Links:
    """The links in a file of pairs of names, or of ids for id files. Unless they need not be one-to-one, as those of a
    reference, an entity with two counterparts is refused."""
    return to_links(read_pair_names(path), path, source, target, one_to_one=one_to_one)


def read_known(path: Path, source: Graph, target: Graph) -> Task:
    """A task with what a file of pairs says: known pairs, pairs that are wrong, and entities without counterpart. A few
    pairs with unknown names are skipped with a warning."""
    pairs = recognised(read_pair_names(path), path, source, target)
    said = pairs, path, source, target
    return Task(source, target, to_links(*said), exclusions=to_exclusions(*said), unmatched=to_unmatched(*said))


def read_decisions(path: str | Path, task: Task) -> Task:
    """The task with decisions about proposed links, from a file of pairs or from the folder of a run: right ones become
    seeds, and all of them teach how far to trust confidence. A decision takes precedence over a seed."""
    path = _decided_in(Path(path))
    known = read_known(path, task.source, task.target)
    width, right, wrong, alone = len(task.target.entities), known.seeds, known.exclusions, known.unmatched
    kept = ~(torch.isin(task.seeds.source, right.source) | torch.isin(task.seeds.target, right.target))
    kept &= ~torch.isin(task.seeds.keys(width), wrong.keys(width))
    kept &= ~(torch.isin(task.seeds.source, alone.source) | torch.isin(task.seeds.target, alone.target))
    return replace(
        task,
        seeds=task.seeds[kept] + right,
        exclusions=task.exclusions + wrong,
        unmatched=task.unmatched + alone,
        checked=Links.build(right.source, right.target) + Links(wrong.source, wrong.target, torch.zeros(len(wrong))),
    )


def _decided_in(path: Path) -> Path:
    """The file of decisions: the path itself, or the one in the folder of a run."""
    if not path.is_dir():
        return path
    for name in DECISIONS:
        if (path / name).exists():
            return path / name
    raise InputError(f"{path} holds no decisions; expected a file {' or '.join(DECISIONS)} in it")


def read_pair_names(path: Path) -> pa.Table:
    """The pairs in a file as names: columns source, target, weight and, if known, line and excluded."""
    return _pair_format(path, PairReader).read_pairs(path)


def convert(
    source: Path, target: Path, *, kind: Literal["graph", "pairs"] | None = None, graph: str | None = None
) -> str:
    """Convert a file to the format given by the target's suffix; returns a one-line summary.

    Without `kind`, the source's suffix tells graphs from pairs; if they share the suffix, the content does.
    """
    if source.exists() and target.exists() and source.samefile(target):
        raise InputError(f"{target} is the file to read, expected another one to write")
    if (kind or ("pairs" if graph is None and _holds_pairs(source) else "graph")) == "graph":
        writer = _graph_format(target, GraphWriter)
        found = read_graph(source, graph)
        writer.write_graph(found, target)
        return f"{len(found.triples):,} triples and {found.literals.num_rows:,} literals written to {target}"
    if graph is not None:
        raise SettingsError(f"found the graph name {graph} for pairs, expected none: only graphs have names")
    pair_writer = _pair_format(target, PairWriter)
    pairs = read_pair_names(source)
    pair_writer.write_pairs(pairs, target)
    excluded = int(is_excluded(pairs).sum())
    skipped = (pairs.schema.metadata or {}).get(SKIPPED, b"").decode()
    summary = f"{pairs.num_rows:,} pairs written to {target}"
    return (
        summary
        + (f", {excluded:,} of them exclusions" if excluded else "")
        + (f"; skipped: {skipped}" if skipped else "")
    )


def _holds_pairs(path: Path) -> bool:
    """Whether a file holds pairs."""
    formats = list(_formats())
    of_pairs = any(suffix(path) in each.pair_suffixes for each in formats if isinstance(each, PairReader))
    of_graphs = any(suffix(path) in each.suffixes for each in formats if isinstance(each, GraphReader))
    return of_pairs and (not of_graphs or _pair_format(path, PairReader).holds_pairs(path))


def read_task(folder: Path, choice: Choice) -> tuple[Task, Reference | None, str]:
    """The task in a benchmark folder, its sealed links, and one line that names the layout found."""
    if sum(given is not None for given in (choice.ratio, choice.fold, choice.seeds)) > 1:
        raise SettingsError("found more than one of --ratio, --fold and --seeds, expected at most one")
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
    raise InputError(f"{folder}: found no known layout, expected one of: {known}")


def read(source: str | Path, target: str | Path, seeds: str | Path | None = None) -> Task:
    """The task of linking the graphs in two files, with the pairs in a third file, if given, as seeds."""
    first, second = read_graph(Path(source)), read_graph(Path(target))
    if seeds is None:
        return Task(first, second, Links.empty())
    return read_known(Path(seeds), first, second)


def read_benchmark(
    folder: str | Path,
    *,
    ratio: float | None = None,
    split: int = 0,
    fold: int | None = None,
    seeds: str | Path | None = None,
) -> tuple[Task, Reference | None]:
    """The task in a benchmark folder and its sealed links; the seeds are a share of all links, a fold or a file."""
    choice = Choice(ratio, split, fold, None if seeds is None else Path(seeds))
    task, reference, _ = read_task(Path(folder), choice)
    return task, reference


def read_reference(path: str | Path, task: Task) -> Reference:
    """The links in a file, sealed: for evaluation only."""
    return Reference(read_pairs(Path(path), task.source, task.target, one_to_one=False))


def _formats() -> Iterator[Format]:
    """The built-in formats, sorted by name."""
    return (plugins.find("formats", name, Format)() for name in plugins.names("formats"))


def _graph_format(path: Path, contract: type[GraphFormat]) -> GraphFormat:
    """The format that reads or writes graphs in files with this suffix."""
    known = {ending: each for each in _formats() if isinstance(each, contract) for ending in each.suffixes}
    if suffix(path) not in known:
        raise _unknown_suffix(path, "a graph", known)
    return known[suffix(path)]


def _pair_format(path: Path, contract: type[PairFormat]) -> PairFormat:
    """The format that reads or writes pairs in files with this suffix."""
    known = {ending: each for each in _formats() if isinstance(each, contract) for ending in each.pair_suffixes}
    if suffix(path) not in known:
        raise _unknown_suffix(path, "pairs", known)
    return known[suffix(path)]


def _unknown_suffix(path: Path, what: str, known: Iterable[str]) -> InputError:
    listed = ", ".join(sorted(ending or "no suffix" for ending in known))
    return InputError(f"{path}: found the suffix '{suffix(path)}', expected one for {what}: {listed} (also with .gz)")
