"""What people decided about the links of a run: a SQLite file beside it, to which events are added and nothing else."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from sys import intern
from typing import Any

from emea.errors import InputError
from emea.review.decision import Decision, answer, held_by_each
from emea.verdicts import NO, NONE, UNSURE, VERDICTS, YES, holding

DECIDE, UNDO, IMPORT = "decide", "undo", "import"
VERSION = 1  # of the table
SCHEMA = f"""
CREATE TABLE IF NOT EXISTS events (
    id INTEGER PRIMARY KEY,
    step INTEGER NOT NULL, -- the id of its first event: what one undo takes back
    kind TEXT NOT NULL CHECK (kind IN ('{DECIDE}', '{UNDO}', '{IMPORT}')),
    undoes INTEGER, -- a step
    key TEXT UNIQUE, -- of the request; only in the first event of a step
    who TEXT NOT NULL,
    at TEXT NOT NULL, -- UTC
    source TEXT,
    target TEXT, -- empty: no counterpart
    verdict TEXT CHECK (verdict IN ('{YES}', '{NO}', '{NONE}', '{UNSURE}')),
    comment TEXT,
    sampled REAL, -- the probability with which this source was drawn, if it was
    shown TEXT -- JSON
);
CREATE TRIGGER IF NOT EXISTS never_changed BEFORE UPDATE ON events
    BEGIN SELECT RAISE(ABORT, 'events are added, never changed'); END;
CREATE TRIGGER IF NOT EXISTS never_deleted BEFORE DELETE ON events
    BEGIN SELECT RAISE(ABORT, 'events are added, never deleted'); END;
PRAGMA user_version = {VERSION};
"""
EVENT = ("id", "step", "kind", "undoes", "key", "who", "at")
COLUMNS = (*EVENT, "source", "target", "verdict", "comment", "sampled", "shown")
INSERT = f"INSERT INTO events ({', '.join(COLUMNS[1:])}) VALUES ({', '.join('?' * len(COLUMNS[1:]))})"


def now() -> str:
    """The time as events have it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Decisions:
    """The decisions on one run. Threads and processes may share the file; what a method returns is on disk."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection, self._lock, self._seen = connection, threading.RLock(), 0
        self._steps: dict[int, list[Decision]] = {}  # all that were made
        self._undoable: dict[str, list[int]] = defaultdict(list)  # steps of each person
        self._history: dict[str, list[Decision]] = {}  # of each source: what was not undone
        self._verdicts: Counter[str] = Counter()  # of the decisions that stand
        self._people: Counter[str] = Counter()
        self._confirmed: dict[str, tuple[str, ...]] = {}  # of each target: its sources
        self._changed: list[str] = []  # sources, as events touched them

    @classmethod
    def open(cls, path: Path) -> Decisions:
        """The decisions in a file, which is made if there is none."""
        with ExitStack() as failing:
            try:
                opened = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
                connection = failing.enter_context(closing(opened))
                (version,) = connection.execute("PRAGMA user_version").fetchone()
                if version not in {0, VERSION}:
                    raise InputError(f"{path} was written by another version of emea; expected version {VERSION} of it")
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")  # on disk before anything is acknowledged
                if not version:
                    connection.executescript(f"BEGIN IMMEDIATE; {SCHEMA} COMMIT;")
                made = cls(connection)
                made._catch_up()
            except sqlite3.Error as error:
                expected = "expected a file that emea wrote"
                raise InputError(f"{path} cannot be used for decisions: {error}; {expected}") from error
            failing.pop_all()  # it stays open
        return made

    @classmethod
    def read(cls, path: Path) -> Decisions:
        """The decisions in a file; none, and still no file, if there is none."""
        return cls.open(path if path.exists() else Path(":memory:"))

    def close(self) -> None:
        """Give the file back."""
        with self._lock:
            self._connection.close()

    def add(self, decisions: Sequence[Decision], key: str, who: str) -> int:
        """Store what a person decided as one step, and return it; a key that was used before adds nothing."""
        with self._writing():
            step, _ = self._known(key)
            return step if step is not None else self._insert(DECIDE, key, decisions, who)

    def undo(self, who: str, key: str) -> int | None:
        """Take back the last step of a person that stands, and return it; None if there is none."""
        with self._writing():
            step, undoes = self._known(key)
            if step is not None:
                return undoes
            if not self._undoable[who]:
                return None
            last, number = self._undoable[who][-1], self._next()
            event = (number, UNDO, last, key, who, now(), None, None, None, None, None, None)
            self._connection.execute(INSERT, event)
            return last

    def import_(self, decisions: Sequence[Decision]) -> int:
        """Add what others decided, with their names and times; returns how many of these are new."""
        with self._writing():
            known = {_said(each) for history in self._history.values() for each in held_by_each(history)}
            new = [each for each in decisions if _said(each) not in known]
            if new:
                self._insert(IMPORT, None, new, "")
            return len(new)

    def decided(self, source: str) -> Decision | None:
        """The decision on a source that stands."""
        with self._lock:
            history = self._history.get(source)
            return answer(history) if history else None

    def confirmed(self, target: str) -> list[str]:
        """The sources for which a target was confirmed."""
        with self._lock:
            return list(self._confirmed.get(target, ()))

    def standing(self) -> dict[str, Decision]:
        """The decision that stands, of each source."""
        with self._reading():
            return {source: answer(history) for source, history in self._history.items()}

    def holding(self) -> list[Decision]:
        """All that holds: the last answer for each source, and the pairs that were rejected."""
        with self._reading():
            return [each for history in self._history.values() for each in holding(history)]

    def by_person(self) -> list[Decision]:
        """What each person holds, whatever others decided since."""
        with self._reading():
            return held_by_each(each for history in self._history.values() for each in history)

    def stored(self, key: str) -> int | None:
        """The step of a request that was made before, by its key."""
        with self._lock:
            return self._known(key)[0]

    def changes(self, since: int) -> list[str]:
        """The sources that were decided or undone after the first so many changes."""
        with self._reading():
            return self._changed[since:]

    def of_step(self, step: int) -> list[Decision]:
        """What was decided in a step."""
        with self._reading():
            return list(self._steps.get(step, ()))

    def counts(self) -> dict[str, Any]:
        """How many sources are decided: all, by verdict, by person."""
        with self._reading():
            verdicts = {verdict: self._verdicts[verdict] for verdict in VERDICTS}
            people = [{"who": who, "decided": count} for who, count in sorted(self._people.items()) if count]
            return {"decided": len(self._history), "by_verdict": verdicts, "people": people}

    def events(self) -> list[dict[str, Any]]:
        """Everything that happened, in order."""
        with self._lock:
            rows = self._connection.execute(f"SELECT {', '.join(COLUMNS)} FROM events ORDER BY id").fetchall()
        return [dict(zip(COLUMNS, row, strict=True)) for row in rows]

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._lock:
            self._catch_up()
            yield

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One writer at a time, who knows all that was written before; nothing is kept if it fails."""
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                self._catch_up()
                yield
                self._connection.execute("COMMIT")
            except BaseException as error:
                if self._connection.in_transaction:  # a full disk ends it by itself
                    self._connection.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise InputError(f"the decision was not kept: {error}; expected room to write it") from error
                raise
            self._catch_up()

    def _next(self) -> int:
        (last,) = self._connection.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()
        return int(last) + 1

    def _known(self, key: str) -> tuple[int | None, int | None]:
        """The step that was stored with a key, and the one that it undid."""
        found = self._connection.execute("SELECT step, undoes FROM events WHERE key = ?", (key,)).fetchone()
        return found or (None, None)

    def _insert(self, kind: str, key: str | None, decisions: Iterable[Decision], who: str) -> int:
        """Add a step of one person, or of those who made the decisions."""
        step, time = self._next(), now()
        rows = []
        for place, each in enumerate(decisions):
            event = step, kind, None, None if place else key, who or each.who, each.at or time
            shown = json.dumps(each.shown, ensure_ascii=False)
            rows.append((*event, each.source, each.target, each.verdict, each.comment, each.sampled, shown))
        if not rows:
            raise InputError("found no decision to store, expected at least one")
        self._connection.executemany(INSERT, rows)
        return step

    def _catch_up(self) -> None:
        """Apply the events that were added since, here or by another process: there is no other way to a state."""
        columns = ", ".join(COLUMNS[:4] + COLUMNS[5:])
        found = self._connection.execute(f"SELECT {columns} FROM events WHERE id > ? ORDER BY id", (self._seen,))
        for number, step, kind, undoes, who, at, source, target, *said in found:
            self._seen = number
            if kind == UNDO:
                self._take_back(undoes, who)
                continue
            verdict, comment = map(intern, said[:2])  # kept once: few, and often the same
            shown = json.loads(said[3], object_hook=_kept_once)
            made = Decision(source, target, verdict, comment, said[2], shown, intern(who), intern(at), step)
            if step not in self._steps and kind == DECIDE:
                self._undoable[who].append(step)
            self._steps.setdefault(step, []).append(made)
            self._changed.append(source)
            self._count(source, -1)
            self._history.setdefault(source, []).append(made)
            self._count(source, 1)

    def _take_back(self, step: int, who: str) -> None:
        self._undoable[who].remove(step)
        for each in self._steps[step]:
            self._changed.append(each.source)
            self._count(each.source, -1)
            left = [other for other in self._history.pop(each.source, ()) if other.step != step]
            if left:
                self._history[each.source] = left
            self._count(each.source, 1)

    def _count(self, source: str, change: int) -> None:
        """Add the decision on a source to the counts, or take it away."""
        history = self._history.get(source)
        if not history:
            return
        last = answer(history)
        self._verdicts[last.verdict] += change
        self._people[last.who] += change
        if last.verdict == YES and change > 0:
            self._confirmed[last.target] = (*self._confirmed.get(last.target, ()), source)
        elif last.verdict == YES:
            self._confirmed[last.target] = tuple(each for each in self._confirmed[last.target] if each != source)


def _kept_once(shown: dict[str, Any]) -> dict[str, Any]:
    """The same, with names and short texts that many decisions share."""
    return {intern(name): intern(each) if isinstance(each, str) else each for name, each in shown.items()}


def _said(decision: Decision) -> tuple[str, str, str, str]:
    return decision.source, decision.target, decision.verdict, decision.who
