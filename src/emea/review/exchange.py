"""Decisions to and from files: SSSOM, TSV, the files of sssom-curator, and those of other reviewers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, zip_longest
from pathlib import Path

import pyarrow as pa

from emea.data import Graph
from emea.errors import InputError
from emea.formats._decided import DECISIONS as FILES
from emea.formats._decided import decided_in
from emea.formats._equality import stated_by_name
from emea.formats._files import suffix
from emea.formats._labels import one_line
from emea.formats._pairs import DECISIONS, PAIR_NAMES
from emea.formats._text_tables import separated_rows
from emea.formats._triples import usual_names
from emea.formats.excel import first_sheet
from emea.formats.sssom import SSSOM
from emea.formats.table import unquoted, write_columns
from emea.review.decision import Decision, held_by_each
from emea.review.decisions import Decisions
from emea.runs.wording import counted
from emea.verdicts import DATABASE, NO, NONE, UNSURE, VERDICTS, YES

COLUMNS = ("source", "target", "decision", "who", "at", "comment", "confidence", "sampled")
CURATOR = {"positive.sssom.tsv": YES, "negative.sssom.tsv": NO, "unsure.sssom.tsv": UNSURE}  # of sssom-curator
TABLES = (".tsv", ".csv", ".txt", ".xlsx")  # that people decide in
SUFFIXES = (".sssom.tsv", *TABLES, ".sqlite")
WORDS = {word: YES if right else NO for word, right in DECISIONS.items()} | {each: each for each in VERDICTS}


def export(decisions: Decisions, path: Path, graphs: tuple[Graph, Graph] | None = None) -> int:
    """Write all that holds, and return how many decisions these are. SSSOM has no word for unsure ones; if the graphs
    are given, it states pairs by the relation made for them."""
    held = sorted(decisions.holding(), key=lambda each: (each.source, each.target))
    own = [each.shown.get("confidence") for each in held]
    if suffix(path) == ".sssom.tsv":
        rows = [row for row, each in enumerate(held) if each.verdict != UNSURE]
        text = pa.large_string()
        columns = {
            "source": pa.array([held[row].source for row in rows], text),
            "target": pa.array([held[row].target for row in rows], text),
            "weight": pa.array([own[row] for row in rows], pa.float64()),
            "excluded": pa.array([held[row].verdict in {NO, NONE} for row in rows], pa.bool_()),
            "reviewer": pa.array([held[row].who for row in rows], text),
            "date": pa.array([held[row].at for row in rows], text),
            "comment": pa.array([held[row].comment for row in rows], text),
        }
        pairs = pa.table(columns)
        if graphs is not None:
            pairs = pairs.append_column("predicate", stated_by_name(pairs, graphs))
        SSSOM().write_reviews(pairs, path)
        return len(rows)
    if suffix(path) != ".tsv":
        raise InputError(f"{path}: found the suffix '{suffix(path)}', expected .sssom.tsv or .tsv")
    texts = [[each.source, each.target, each.verdict, each.who, each.at] for each in held]
    comments = one_line(pa.array([each.comment for each in held], pa.large_string())).to_pylist()
    numbers = [
        ["" if each is None else f"{each:.6g}" for each in (sure, made.sampled)]
        for sure, made in zip(own, held, strict=True)
    ]
    lines = [[*text, comment, *number] for text, comment, number in zip(texts, comments, numbers, strict=True)]
    write_columns(path, COLUMNS, [list(column) for column in zip(*lines, strict=True)] or [[]] * len(COLUMNS))
    return len(held)


def read(path: Path) -> list[Decision]:
    """The decisions in a file, in the folder of a run, or in a folder of sssom-curator."""
    if path.is_dir():
        curated = [path / name for name in CURATOR if (path / name).exists()]
        if curated:
            return [each for one in curated for each in _mappings(one)]
        path = decided_in(path)
    if not path.exists():
        raise InputError(f"{path} does not exist; expected a file of decisions")
    found = _found(path)
    if not found:
        raise InputError(f"{path}: found no decision, expected rows with a reviewer or a verdict")
    return found


def _found(path: Path) -> list[Decision]:
    kind = suffix(path)
    if kind == ".sssom.tsv":
        return list(_mappings(path))
    if kind in TABLES:
        return list(_rows(path))
    if kind != ".sqlite":
        raise InputError(f"{path}: found the suffix '{kind}', expected one of {', '.join(SUFFIXES)}")
    theirs = Decisions.open(path)
    found = theirs.by_person()
    theirs.close()
    return found


def of_run(folder: Path) -> Decisions:
    """The decisions on a run that the next one learns from: those of the review page, or while there are none, those of
    a file that somebody filled in."""
    held = Decisions.read(folder / DATABASE)
    files = _filled_in(folder)
    if files and not held.counts()["decided"]:
        held.close()
        held = Decisions.open(Path(":memory:"))
        held.import_(_found(files[0]))
    return held


def left_out(decisions: Decisions, folder: Path, *, exclusive: bool) -> list[str]:
    """What the files of a run decide on and these decisions do not: a sentence for what can be taken in, and one for
    what is in conflict, of each file."""
    told = []
    for path in _filled_in(folder):
        try:
            taken, found = _taken(decisions.by_person(), _found(path), exclusive=exclusive)
        except InputError as error:  # which is no reason to hide the others
            told.append(f"{path} is left out: {error}")
            continue
        if taken:
            sources = counted(len({each.source for each in taken}), "source")
            taking = f"take them in: emea decisions {folder} --import {path}"
            told.append(f"{path} holds decisions on {sources} that are not among these; {taking}")
        if found:
            told.append(f"{path}: {counted(len(found), 'conflict')}, left to decide, such as {found[0]}")
    return told


def _filled_in(folder: Path) -> list[Path]:
    """The files of a run in which people may have decided without the review page."""
    return [folder / name for name in FILES if name != DATABASE and (folder / name).exists()]


def _mappings(path: Path) -> Iterator[Decision]:
    """The rows of SSSOM for which a person vouches; all of them in a file of sssom-curator."""
    told = CURATOR.get(path.name)
    for row in SSSOM().read_reviews(path):
        if not row["source"] or not (told or row["curated"]):
            continue
        verdict = NONE if not row["target"] else NO if row["excluded"] == "Not" else told or YES
        shown = {"confidence": float(row["confidence"])} if row["confidence"] else {}
        person, said = row["reviewer"], (row["source"], row["target"], verdict, row["comment"])
        yield Decision(*said, None, shown, person or path.name, row["date"], named=bool(person))


def _rows(path: Path) -> Iterator[Decision]:
    """The rows of a table with the columns source, target and decision, where something was decided."""
    if suffix(path) == ".xlsx":
        place, (header, below) = "row", first_sheet(path)
        rows = iter(below)
    else:
        place, rows = "line", ((number, [*map(unquoted, row)]) for number, row in separated_rows(path))
        _, header = next(rows, (0, []))
    names = usual_names(header, PAIR_NAMES)
    missing = [name for name in ("source", "target", "decision") if name not in names]
    if missing:
        raise InputError(f"{path}: found no column {missing[0]}, expected source, target and decision")
    for number, row in rows:
        cells = dict(zip_longest(names, row[: len(names)], fillvalue=""))
        word = cells["decision"].strip().lower()
        if not word:
            continue
        if word not in WORDS:
            raise InputError(
                f"{path}, {place} {number}: found the decision '{word}', expected one of {', '.join(WORDS)}"
            )
        target = "" if WORDS[word] == NONE else cells["target"]
        verdict = NONE if WORDS[word] == YES and not target else WORDS[word]
        shown = {"confidence": float(cells["weight"])} if _is_number(cells.get("weight", "")) else {}
        sampled = float(cells["sampled"]) if _is_number(cells.get("sampled", "")) else None
        person, said = cells.get("who"), (cells["source"], target, verdict, cells.get("comment", ""))
        at = cells.get("at", "")
        yield Decision(*said, sampled, shown, person or path.name, at, named=bool(person))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class Conflict:
    """Two decisions that cannot both hold."""

    first: Decision
    second: Decision

    def __str__(self) -> str:
        told = [
            f"{each.who}: {each.verdict}{f' {each.target}' if each.target else ''}"
            for each in (self.first, self.second)
        ]
        if self.first.source != self.second.source:
            told = [f"{each.who}: {each.source}" for each in (self.first, self.second)]
            return f"{self.first.target} was confirmed for two sources ({'; '.join(told)})"
        return f"{self.first.source} ({'; '.join(told)})"


def conflicts(decisions: Sequence[Decision], *, exclusive: bool) -> list[Conflict]:
    """All pairs of decisions of different people that cannot both hold; where targets are exclusive, also those of two
    sources with one target, whoever made them."""
    by_source: dict[str, list[Decision]] = defaultdict(list)
    by_target: dict[str, list[Decision]] = defaultdict(list)
    for each in decisions:
        by_source[each.source].append(each)
        if each.verdict == YES and exclusive:
            by_target[each.target].append(each)
    found = [
        Conflict(one, other)
        for group in by_source.values()
        for one, other in combinations(group, 2)
        if one.who != other.who and _disagree(one, other)
    ]
    taken = (pair for group in by_target.values() for pair in combinations(group, 2))
    return found + [Conflict(one, other) for one, other in taken if one.source != other.source]


def _disagree(one: Decision, other: Decision) -> bool:
    if UNSURE in {one.verdict, other.verdict}:
        return False
    if one.target == other.target:
        return one.verdict != other.verdict
    return {one.verdict, other.verdict} in ({YES}, {YES, NONE})


def merge(decisions: Decisions, theirs: Sequence[Decision], *, exclusive: bool) -> tuple[int, list[Conflict]]:
    """Take in what others decided: how many are new, and every conflict; what is in conflict is left out, and stays
    open to be decided."""
    taken, found = _taken(decisions.by_person(), theirs, exclusive=exclusive)
    return decisions.import_(taken) if taken else 0, found


def _taken(
    ours: Sequence[Decision], theirs: Sequence[Decision], *, exclusive: bool
) -> tuple[list[Decision], list[Conflict]]:
    """What is new and in no conflict, and every conflict of what is new."""
    new = _new(ours, theirs)
    added = {id(each) for each in new}
    latest = {(each.source, each.who) for each in new}
    kept = [each for each in ours if (each.source, each.who) not in latest]
    found = [
        each for each in conflicts([*kept, *new], exclusive=exclusive) if added & {id(each.first), id(each.second)}
    ]
    refused = {id(each) for one in found for each in (one.first, one.second)}
    return [each for each in new if id(each) not in refused], found


def _new(ours: Sequence[Decision], theirs: Sequence[Decision]) -> list[Decision]:
    """What others decided after all that is known of them, and otherwise than that. Without a date, it is what is not
    known of a table where nobody is named; nothing, if anything is known of a person."""
    last: dict[tuple[str, str], str] = {}
    for each in ours:
        last[each.source, each.who] = max(each.at, last.get((each.source, each.who), ""))
    said = {(each.source, each.who, each.target, each.verdict) for each in ours}

    def is_new(each: Decision) -> bool:
        known = last.get((each.source, each.who), "")
        if (each.source, each.who, each.target, each.verdict) in said:
            return False
        return each.at > known if each.at or (known and each.named) else True

    return [each for each in held_by_each(theirs) if is_new(each)]
