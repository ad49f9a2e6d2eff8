"""Decisions of people: in the files of a run folder, or in the database that the review page adds to."""

from __future__ import annotations

import sqlite3
import warnings
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from emea.errors import InputError, InputWarning
from emea.formats._files import one_line
from emea.formats._lookup import read_pair_names
from emea.formats._pairs import PairColumns, is_excluded
from emea.verdicts import DATABASE, YES, holding

DECISIONS = (DATABASE, "decisions.sssom.tsv", "decisions.tsv", "alignment.review.tsv")  # in the folder of a run
EVENTS = """
    SELECT source, coalesce(target, ''), verdict FROM events
    WHERE kind <> 'undo' AND step NOT IN (SELECT undoes FROM events WHERE undoes IS NOT NULL) ORDER BY id
"""


class Event(NamedTuple):
    """A decision as the database has it."""

    source: str
    target: str  # empty if there is none
    verdict: str


def decided_in(path: Path) -> Path:
    """The file of decisions: the path itself, or the one in the folder of a run; a database without any decision stands
    back behind files."""
    if not path.is_dir():
        return path
    found = [path / name for name in DECISIONS if (path / name).exists()]
    if len(found) > 1 and found[0].name == DATABASE and not _events(found[0]):
        return found[1]
    if found:
        return found[0]
    raise InputError(f"{path} holds no decisions; expected a file {' or '.join(DECISIONS)} in it")


def read_database(path: Path, cardinality: str) -> pa.Table:
    """What stands in a database of decisions, as a table of pairs. Where a target has one source at most, the last
    answer counts, with a warning: what was decided before cannot be edited."""
    said: dict[str, list[Event]] = {}
    for each in _events(path):
        said[each.source] = [
            *said.pop(each.source, ()),
            each,
        ]  # so that sources stay in the order of their last answers
    held, owner = [each for history in said.values() for each in holding(history)], {}
    if cardinality.startswith("one-to-"):
        owner = {target: source for source, target, verdict in held if verdict == YES}
    columns, lost = PairColumns(), []
    for source, target, verdict in held:
        if verdict == YES and owner.get(target, source) != source:
            lost.append(f"'{target}' was first said to be '{source}', then '{owner[target]}'")
        else:
            columns.decide(verdict, str(path), source, target)
    if lost:
        several = f"skipping {len(lost):,} decisions on targets that were given to several sources"
        hint = "--cardinality many-to-one keeps them"
        warnings.warn(InputWarning(f"{path}: {several}; {lost[0]}; {hint}"), stacklevel=4)
    return columns.build(path, "decisions")


def tell_uncounted(counted: pa.Table, path: Path) -> None:
    """Warn of other files in the folder of a run that decide otherwise than the one that counts."""
    known = _stated(counted)
    for name in DECISIONS[1:]:
        other = path.parent / name
        if other == path or not other.exists():
            continue
        try:
            missing = {source or target for source, target, _ in _stated(read_pair_names(other)) - known}
        except InputError:  # a table in which nothing is decided yet, or which `emea decisions` complains about
            continue
        if missing:
            said = f"{other} says otherwise about {len(missing):,}, such as '{min(missing)}', and does not count"
            warnings.warn(
                InputWarning(f"{path} counts; {said}; emea decisions {path.parent} shows how to take it in"),
                stacklevel=4,
            )


def _stated(pairs: pa.Table) -> set[tuple[str, str, bool]]:
    """Source, target and whether they are different, of each pair."""
    return {*zip(pairs["source"].to_pylist(), pairs["target"].to_pylist(), is_excluded(pairs).tolist(), strict=True)}


def _events(path: Path) -> list[Event]:
    """Source, target and verdict of each decision that was not undone, the first first."""
    address = path.resolve().as_uri()
    try:
        try:
            return _selected(f"{address}?mode=ro")
        except sqlite3.OperationalError:
            return _selected(f"{address}?immutable=1")  # in a folder where nothing may be written
    except (sqlite3.Error, UnicodeError) as error:
        expected = "expected the decisions of the review page"
        raise InputError(f"{path} cannot be read: {one_line(str(error))}; {expected}") from error


def _selected(address: str) -> list[Event]:
    with closing(sqlite3.connect(address, uri=True)) as database:
        database.execute("PRAGMA trusted_schema = OFF")  # a file must not run functions
        return [Event(*row) for row in database.execute(EVENTS)]
