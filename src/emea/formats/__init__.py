"""File formats: one per file, reader and writer together. The file's name is the format's name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import torch

from emea.contracts import (
    PLAIN,
    Choice,
    GraphReader,
    GraphServer,
    GraphWriter,
    PairReader,
    PairWriter,
    Reading,
    TaskReader,
)
from emea.data import Graph, Links, Reference, Task
from emea.errors import InputError, PluginError, SettingsError, shown
from emea.formats._addresses import STORES, Address, check_no_address, unknown_scheme
from emea.formats._addresses import without_password as without_password  # also for runs
from emea.formats._decided import decided_in, read_database, tell_uncounted
from emea.formats._files import IN_PARTS, TornError, in_parts, is_folder, read_by, suffix
from emea.formats._folder import Folder
from emea.formats._frames import Held, held, pair_names
from emea.formats._lookup import every_format, first_with, graph_format, pair_format, reader_of
from emea.formats._lookup import read_pair_names as read_pair_names  # also for runs
from emea.formats._pairs import (
    MANY_TO_MANY,
    ONE_TO_ONE,
    SKIPPED,
    is_excluded,
    recognised,
    to_exclusions,
    to_links,
    to_unmatched,
)
from emea.formats._selection import SELECTING, select
from emea.formats._stores import check_there, is_stored, name_of, named
from emea.formats._stores import nearby as nearby  # also for the folders of runs
from emea.verdicts import DATABASE

BOTH = (PLAIN, PLAIN)  # graphs as their files suggest


def read_graph(place: str | Path, reading: Reading = PLAIN) -> Graph:
    """The graph in a file or a folder of tables, in the format given by its suffix, or at an address."""
    place = location(place)
    if is_stored(place):
        with nearby(place) as path:
            found = read_graph(path, reading)
            return replace(found, notes=tuple(named(note, path, place) for note in found.notes))
    shown = without_password(place)
    source = graph_source(place)
    _refuse_idle(reading, source, shown)
    if isinstance(source, GraphServer):
        found = source.fetch_graph(str(place), reading)
    else:
        try:
            with read_by(source, shown):
                found = source.read_graph(Path(place), reading)
        except TornError as error:
            hint = "; --lenient reads what comes before" if "lenient" in source.choices and not reading.lenient else ""
            raise InputError(f"{error}{hint}") from error
    if not isinstance(found, Graph):
        raise PluginError(f"format {type(source).__name__} returned {type(found).__name__}, expected a Graph")
    if not len(found.entities):
        what = "has a header and no rows" if found.columns else "is empty"
        raise InputError(f"{shown} {what}; expected at least one triple, or a row below a header")
    return select(found, reading, shown)


def location(place: object) -> str | Path:
    """A path, or an address as it is.

    >>> location("https://example.org/sparql"), location("a.ttl").name
    ('https://example.org/sparql', 'a.ttl')
    """
    if not isinstance(place, str | Path):
        raise InputError(f"found {shown(place)}, expected a file or an address; emea.graph takes tables and graphs")
    check_no_address(place)
    return place if isinstance(place, str) and "://" in place else Path(place)


def graph_source(place: str | Path) -> GraphReader | GraphServer:
    """The format of what lies at a place."""
    if isinstance(place, Path):
        if is_folder(place) and not in_parts(place):
            return Folder()
        return reader_of(IN_PARTS if in_parts(place) else place)
    if is_stored(place):  # a folder, if its name does not say otherwise
        found, _ = first_with(GraphReader, lambda each: each.suffixes, suffix(name_of(place)))
        return found or Folder()
    server, known = first_with(GraphServer, lambda each: each.schemes, Address.parse(place).scheme)
    if server is None:
        raise unknown_scheme(place, (*known, *STORES))
    return server


def _refuse_idle(reading: Reading, source: GraphReader | GraphServer, place: str | Path) -> None:
    """Refuse choices that have no effect on this format."""
    for name in reading.chosen:
        if name not in source.choices and name not in SELECTING:
            option = f"--{name.replace('_', '-')}"
            raise SettingsError(f"found {option} for {place}, expected none: {source.description} have no such choice")


def read_pairs(path: Path, source: Graph, target: Graph, cardinality: str = ONE_TO_ONE) -> Links:
    """The links in a file of pairs of names, or of ids for id files; an entity with more counterparts than the
    cardinality allows is refused."""
    return to_links(read_pair_names(path), path, source, target, cardinality)


def read_known(place: str | Path, source: Graph, target: Graph, cardinality: str = ONE_TO_ONE) -> Task:
    """A task with what a file of pairs says: known pairs, pairs that are wrong, and entities without counterpart. A few
    pairs with unknown names are skipped with a warning."""
    return _known(*_pairs(place, "seeds"), source, target, cardinality)


def _known(pairs: pa.Table, path: str | Path, source: Graph, target: Graph, cardinality: str) -> Task:
    pairs = recognised(pairs, path, source, target)
    said = pairs, path, source, target
    return Task(
        source, target, to_links(*said, cardinality), exclusions=to_exclusions(*said), unmatched=to_unmatched(*said)
    )


def require_task(task: object) -> Task:
    """Refuse anything but a task."""
    if not isinstance(task, Task):
        hint = "; the task is the first of the two" if isinstance(task, tuple) else ""
        raise InputError(f"found {shown(task)}, expected a task, such as emea.read('a.ttl', 'b.ttl'){hint}")
    return task


def read_decisions(decisions: Any, task: Task, cardinality: str = ONE_TO_ONE) -> Task:
    """The task with decisions about proposed links: right ones become seeds, and all of them teach how far to trust
    confidence. They are a file of pairs, the folder of a run, a list of pairs that are right, or a table with the
    columns source, target and decision (yes, no or nothing). A decision takes precedence over a seed and over what was
    decided before."""
    task = require_task(task)
    known = _known(*_decided(decisions, cardinality), task.source, task.target, cardinality)
    width, right, wrong, alone = len(task.target.entities), known.seeds, known.exclusions, known.unmatched
    checked = Links.build(right.source, right.target) + Links(wrong.source, wrong.target, torch.zeros(len(wrong)))
    seeds = task.seeds[_unopposed(task.seeds, known, cardinality)]
    exclusions = task.exclusions[~torch.isin(task.exclusions.keys(width), checked.keys(width))]
    said = right + alone
    again = torch.isin(task.unmatched.source, said.source[said.source >= 0])
    again |= torch.isin(task.unmatched.target, said.target[said.target >= 0])
    unmatched = task.unmatched[~again]
    before = task.checked[~torch.isin(task.checked.keys(width), checked.keys(width))]
    before = before[(before.weight == 0) | torch.isin(before.keys(width), seeds.keys(width))]
    return replace(
        task, seeds=seeds + right, exclusions=exclusions + wrong, unmatched=unmatched + alone, checked=before + checked
    )


def _unopposed(seeds: Links, decided: Task, cardinality: str) -> torch.Tensor:
    """Which seeds stand beside what was decided, [seeds] bool."""
    width, right, wrong, alone = len(decided.target.entities), decided.seeds, decided.exclusions, decided.unmatched
    kept = ~torch.isin(seeds.keys(width), torch.cat([right.keys(width), wrong.keys(width)]))
    if cardinality.endswith("-to-one"):
        kept &= ~torch.isin(seeds.source, right.source)
    if cardinality.startswith("one-to-"):
        kept &= ~torch.isin(seeds.target, right.target)
    return kept & ~(torch.isin(seeds.source, alone.source) | torch.isin(seeds.target, alone.target))


def _decided(decisions: Any, cardinality: str) -> tuple[pa.Table, str | Path]:
    """The pairs that were decided on, and what messages call them."""
    if not isinstance(decisions, str | Path) or is_stored(decisions):
        return _pairs(decisions, "decisions")
    path = decided_in(Path(location(decisions)))
    in_database = suffix(path) == suffix(Path(DATABASE))
    pairs = read_database(path, cardinality) if in_database else read_pair_names(path)
    if Path(decisions).is_dir():
        tell_uncounted(pairs, path)
    return pairs, path


def convert(
    source: str | Path, target: Path, *, kind: Literal["graph", "pairs"] | None = None, reading: Reading = PLAIN
) -> str:
    """Convert a file, or what lies at an address, to the format given by the target's suffix; returns a one-line
    summary, after lines on how the file was read.

    Without `kind`, the source's suffix tells graphs from pairs; if they share the suffix, the content does.
    """
    place = location(source)
    if is_stored(place):
        with nearby(place) as copy:
            return named(convert(copy, target, kind=kind, reading=reading), copy, place)
    if isinstance(place, Path) and place.exists() and target.exists() and place.samefile(target):
        raise InputError(f"{target} is the file to read, expected another one to write")
    path = place if isinstance(place, Path) and not is_folder(place) else None
    if path is None or (kind or ("graph" if reading.chosen or not _holds_pairs(path) else "pairs")) == "graph":
        writer = graph_format(target, GraphWriter)
        found = read_graph(place, reading)
        writer.write_graph(found, target)
        summary = f"{len(found.triples):,} triples and {found.literals.num_rows:,} literals written to {target}"
        return "\n".join([*found.notes, summary])
    if reading.chosen:
        raise SettingsError(f"found --{next(iter(reading.chosen)).replace('_', '-')} for pairs, expected a graph")
    pair_writer = pair_format(target, PairWriter)
    pairs = read_pair_names(path)
    pair_writer.write_pairs(pairs, target)
    excluded = int(is_excluded(pairs).sum())
    skipped = (pairs.schema.metadata or {}).get(SKIPPED, b"").decode()
    summary = f"{pairs.num_rows:,} pairs written to {target}"
    summary += f", {excluded:,} of them exclusions" if excluded else ""
    return summary + (f"; skipped: {skipped}" if skipped else "")


def _holds_pairs(path: Path) -> bool:
    """Whether a file holds pairs."""
    of_pairs, _ = first_with(PairReader, lambda each: each.pair_suffixes, suffix(path))
    of_graphs, _ = first_with(GraphReader, lambda each: each.suffixes, suffix(path))
    return of_pairs is not None and (of_graphs is None or of_pairs.holds_pairs(path))


def read_task(folder: Path, choice: Choice) -> tuple[Task, Reference | None, str]:
    """The task in a benchmark folder, its sealed links, and one line that names the layout found."""
    if sum(given is not None for given in (choice.ratio, choice.fold, choice.seeds)) > 1:
        raise SettingsError("found more than one of --ratio, --fold and --seeds, expected at most one")
    if choice.ratio is not None and not 0 <= choice.ratio <= 1:
        raise SettingsError(f"found the ratio {choice.ratio}, expected a number from 0 to 1")
    if not folder.is_dir():
        raise InputError(f"{folder} {'is a file' if folder.exists() else 'does not exist'}; expected a folder")
    known: list[str] = []
    for reader in every_format():
        if isinstance(reader, TaskReader):
            known.append(reader.description)
            detected = reader.detect(folder)
            if detected is not None:
                task, reference = reader.read_task(folder, choice)
                return replace(task, benchmark=True), reference, detected
    raise InputError(f"{folder}: found no known layout, expected one of: {'; '.join(known)}")


def read(
    source: Any,
    target: Any,
    seeds: Any = None,
    readings: tuple[Reading, Reading] = BOTH,
    cardinality: str = ONE_TO_ONE,
) -> Task:
    """The task of linking two graphs: files, addresses, or what `emea.graph` takes. The seeds, if given, are a file of
    pairs, a list of them, or a table with the columns source and target."""
    check_there(source, target, seeds)  # before anything is fetched
    for place in (source, target):
        if isinstance(place, str | Path):
            graph_source(location(place))
    sides = zip((source, target), ("source", "target"), readings, strict=True)
    first, second = (opened(*side).graph for side in sides)
    if seeds is None or (isinstance(seeds, list | tuple) and not seeds):
        return Task(first, second, Links.empty())
    return _known(*_pairs(seeds, "seeds"), first, second, cardinality)


def opened(data: Any, name: str, reading: Reading = PLAIN) -> Held:
    """The graph in a file or at an address, or in data that a program holds, which messages then call by a name."""
    return Held(read_graph(data, reading)) if isinstance(data, str | Path) else held(data, name, reading)


def read_benchmark(
    folder: str | Path,
    *,
    ratio: float | None = None,
    split: int = 0,
    fold: int | None = None,
    seeds: str | Path | None = None,
) -> tuple[Task, Reference | None]:
    """The task in a benchmark folder and its sealed links; the seeds are a share of all links, a fold or a file."""
    choice = Choice(ratio, split, fold, None if seeds is None else location(seeds))
    task, reference, _ = read_task(Path(location(folder)), choice)
    return task, reference


def read_reference(pairs: Any, task: Task) -> Reference:
    """True links, sealed: for evaluation only. They are a file of pairs, a list of them, or a table with the columns
    source and target."""
    task, (names, path) = require_task(task), _pairs(pairs, "reference")
    if not names.num_rows:
        raise InputError(f"{path} holds no pairs; expected at least one to compare with")
    return Reference(to_links(names, path, task.source, task.target, MANY_TO_MANY))


def _pairs(given: Any, name: str) -> tuple[pa.Table, str | Path]:
    """The pairs in a file, or those that a program holds; and what messages call them."""
    if isinstance(given, str | Path):
        with nearby(given) as path:
            return read_pair_names(path), without_password(location(given))
    return pair_names(given, name), Path(name)
