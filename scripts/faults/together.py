"""Several at once: two runs into one folder, a run and a review, reports while running."""

from __future__ import annotations

import http.client
import random
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from faults import Case, Kind
from faults._forked import Ended, command, start
from faults._page import Page
from faults._works import ENTITIES, LINKED, RESUME, WORKS, Work, align

RUN, OVER = WORKS[0], next(work for work in WORKS if work.name == "align over a finished run")
READERS = (
    ["report", "run", "--out", "page.html"],
    ["explain", "run", "urn:source:e20"],
    ["evaluate", "run", "--reference", "truth.tsv"],
    ["merge", "run", "--out", "merged.ttl"],
    ["plot", "run", "confidence", "--out", "plot.json"],
    ["decisions", "run"],
)


def _refused(ended: Ended) -> str:
    return ended.complaint(0, 2)


def two_runs(draw: random.Random, work: Work, second: list[str]) -> str:
    """Two runs into one folder, the second some time after the first."""
    work.learn()
    with work.prepared() as folder:
        one = start(work.arguments, folder)
        time.sleep(draw.uniform(0, 1.1) * work.seconds[0])
        two = start(second, folder)
        ends = [one.wait(), two.wait()]
        wrong = next(filter(None, map(_refused, ends)), "")
        if not wrong and not any(end.code == 0 for end in ends):
            wrong = f"both refused: {ends[0].said[-150:]} / {ends[1].said[-150:]}"
        return wrong or work.differs(folder)


def read_while_written(draw: random.Random, reader: list[str], work: Work) -> str:
    """What reads a run folder while a run writes it: refused, or the same as of the finished run."""
    work.learn()
    made = reader[-1]
    with work.prepared() as folder:
        one = start(work.arguments, folder)
        time.sleep(draw.uniform(0, 1.1) * work.seconds[0])
        ended = command(reader, folder)
        found = _content(folder / made)
        run = one.wait()
        if wrong := run.complaint(0, 2) or _refused(ended):
            return wrong
        if run.code:  # the reader was first
            again = command(work.arguments, folder)
            if wrong := again.complaint(0):
                return wrong
        if wrong := work.differs(folder):
            return wrong
        after = command(reader, folder)
        if wrong := after.complaint(0):
            return wrong
        same = ended.code or (ended.said, found) == (after.said, _content(folder / made))
        return "" if same or reader[0] == "report" else f"{reader[0]} told something else while the run went on"


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def reviewed_and_run(draw: random.Random, *, early: bool) -> str:
    """A page on which somebody decides, and a run over the run that it shows, or one that is not yet finished."""
    with OVER.prepared() as folder:
        OVER.learn()
        if early:
            one = start(align("fast", "new"), folder)
            time.sleep(draw.uniform(0, 1.0) * OVER.seconds[0])
            told = start(["review", "new", "--no-browser", "--port", "0"], folder)
            wrong = one.wait().complaint(0, 2)
            told.kill()
            end = told.wait()
            return wrong or ("" if end.code == -9 else end.complaint(2))
        page, kept = Page(folder), 0
        for number in range(draw.randrange(1, 20)):
            kept += page.decide(number, f"urn:source:e{number + 20}", f"urn:target:e{number + 20}")
        ended = command(OVER.arguments, folder)
        try:
            status, told_now = page.get("/state")
        except (OSError, http.client.HTTPException) as error:
            return f"the page is gone: {error}"
        page.process.kill()
        page.process.wait()
        with sqlite3.connect(folder / "run" / "decisions.sqlite") as decisions:
            (stored,) = decisions.execute("SELECT count(*) FROM events").fetchone()
        if (status, told_now["decided"], stored) != (200, kept, kept):
            return f"{kept} decisions made, {told_now['decided']} shown, {stored} stored"
        return ended.complaint(2)


def two_pages(draw: random.Random) -> str:
    """Two pages of one run, on which people decide in turns."""
    with Work("two pages", [], "run", None, (LINKED,)).prepared() as folder:
        pages, acknowledged = [Page(folder), Page(folder)], 0
        for number in range(60):
            ends = (f"urn:{side}:e{draw.randrange(ENTITIES)}" for side in ("source", "target"))
            acknowledged += draw.choice(pages).decide(number, *ends, verdict="no")
        told = [page.get("/state")[1]["decided"] for page in pages]
        for page in pages:
            page.process.kill()
            page.process.wait()
        with sqlite3.connect(folder / "run" / "decisions.sqlite") as decisions:
            (stored,) = decisions.execute("SELECT count(*) FROM events").fetchone()
        if stored != acknowledged or told[0] != told[1]:
            return f"{acknowledged} decisions acknowledged, {stored} stored; the pages count {told}"
        return ""


def cases(numbers: range) -> Iterator[Case]:
    """The ways in turn, at random moments."""
    for number in numbers:
        draw = random.Random(number)
        ways = {
            "two runs into one folder": lambda draw=draw: two_runs(draw, RUN, RUN.arguments),
            "a run, and --resume of it": lambda draw=draw: two_runs(draw, RUN, RESUME),
            "two runs over a finished one": lambda draw=draw: two_runs(draw, OVER, OVER.arguments),
            "a review and a run over it": lambda draw=draw: reviewed_and_run(draw, early=False),
            "a review of a run that goes on": lambda draw=draw: reviewed_and_run(draw, early=True),
            "two review pages": lambda draw=draw: two_pages(draw),
        }
        for reader in READERS:
            for work in (RUN, OVER):
                name = f"{reader[0]} during {work.name}"
                ways[name] = lambda draw=draw, reader=reader, work=work: read_while_written(draw, reader, work)
        name = list(ways)[number % len(ways)]
        yield f"{name} ({number})", ways[name]()


KIND = Kind(
    "use by several at once: two runs into one folder, a run and a review, report, explain, merge while running",
    "refused or right, never a mixture",
    180,
    cases,
    "`tests/test_campaign.py`, `tests/review/test_nothing_lost.py`",
    "A case starts the second command at a random moment of the first. Each must end with 0, or with 2 and one "
    "sentence; what is left must be the bytes of one run alone, and no decision may be lost.",
)
