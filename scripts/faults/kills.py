"""kill -9 at random moments: of runs, reproductions, reports, conversions and the review page."""

from __future__ import annotations

import http.client
import random
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from faults import Case, Kind
from faults._forked import start
from faults._page import Page
from faults._works import ENTITIES, LINKED, WORKS, Work

LATEST = 1.05  # moment of the latest kill, as a share of the time that a command takes
REVIEWED = Work("review", [], "run", None, (LINKED,))


def killed(work: Work, seed: int) -> str:
    """What is wrong after a command was killed and has gone on."""
    work.learn()
    with work.prepared() as folder:
        before = work.made(folder)
        process = start(work.arguments, folder)
        time.sleep(random.Random(seed).uniform(0.0, LATEST) * work.seconds[0])
        process.kill()
        if process.wait().code == 0:  # too late
            return work.differs(folder)
        if work.single and work.made(folder) not in (before, work.known):
            return f"{work.makes} is neither whole nor as before"
        return work.went_on(folder)


def killed_review(seed: int) -> str:
    """What is wrong after a page was killed while somebody decided: all that was acknowledged must be there, once."""
    with REVIEWED.prepared() as folder:
        page = Page(folder)
        moment, acknowledged = random.Random(seed).uniform(0.0, 0.4), list[str]()
        threading.Timer(moment, page.process.kill).start()
        try:
            for number in range(100_000):
                ends = (f"urn:{side}:e{number % ENTITIES}" for side in ("source", "target"))
                if page.decide(number, *ends, verdict="unsure"):
                    acknowledged.append(f"key {number}")
        except (OSError, http.client.HTTPException):
            page.process.wait()
        if wrong := _stored(folder / "run" / "decisions.sqlite", acknowledged):
            return wrong
        again = Page(folder)
        status, told = again.get("/state")
        again.process.kill()
        again.process.wait()
        return "" if status == 200 and told["decided"] <= ENTITIES else f"the page does not come back: {told}"


def _stored(path: Path, acknowledged: list[str]) -> str:
    with sqlite3.connect(path) as decisions:
        found = [key for (key,) in decisions.execute("SELECT key FROM events ORDER BY id")]
    lost = set(acknowledged) - set(found)
    if lost or len(found) > len(acknowledged) + 1 or len(set(found)) < len(found):
        return f"{len(acknowledged)} decisions acknowledged, {len(found)} stored, {len(lost)} lost"
    return ""


def cases(numbers: range) -> Iterator[Case]:
    """The commands in turn."""
    for number in numbers:
        place = number % (len(WORKS) + 1)
        if place == len(WORKS):
            yield f"review, kill {number}", killed_review(number)
        else:
            yield f"{WORKS[place].name}, kill {number}", killed(WORKS[place], number)


KIND = Kind(
    "`kill -9` at random moments: align (`fast`, `best`, a baseline), reproduce, report, merge, plot, convert, review",
    "200 kills: byte-identical after resume, or nothing half-written",
    200,
    cases,
    "`tests/test_resume.py`, `tests/review/test_nothing_lost.py`, `tests/test_campaign.py`",
    "A case is a command on two graphs of 60 entities that is killed at a random moment of its time; then it goes"
    " on, and must leave the same bytes as if undisturbed. A file of one command is never seen in part: a hidden "
    "file that ends in `.part` may stay beside it, and a run clears those of its folder away. Of the review page,"
    " every decision that was acknowledged must be stored, once.",
)
