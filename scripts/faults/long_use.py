"""Long use: hundreds of runs in one process, and a day of clicks on the review page."""

from __future__ import annotations

import gc
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "review"))

from made import name, write_run

from faults import Case, Kind
from faults._forked import load, start_call
from faults._page import Page

RUNS, TENTH, MORE = 500, 10, 1.05  # runs; the one to compare with; how much memory the last may take beside it
HOURS, EVERY = 24, 5.0  # of clicks, and seconds between two
CLICKS = int(HOURS * 3600 / EVERY)
LINKS = 20_000
SLOWER, LARGER = 3.0, 100e6  # how much slower the last answers may be; bytes that a day may add
QUEUES = ("informative", "least_sure", "conflicts", "unlinked", "random")
SOME = 500  # answers that are timed at either end


def many_runs(runs: int = RUNS) -> None:
    """Runs of the Python API in this process; fails if memory grows."""
    import pyarrow as pa

    import emea

    process, sizes = psutil.Process(), list[int]()
    for number in range(runs):
        ours = pa.table({"id": [f"a{n}" for n in range(40)], "name": [f"name {n} {number}" for n in range(40)]})
        theirs = pa.table({"id": [f"b{n}" for n in range(40)], "name": [f"name {n} {number}" for n in range(40)]})
        assert emea.link(ours, theirs).num_rows > 30
        gc.collect()
        sizes.append(process.memory_info().rss)
    last = statistics.median(sizes[-TENTH:])
    print(f"{sizes[TENTH - 1] / 1e6:.0f} MB after {TENTH} runs, {last / 1e6:.0f} MB after {runs}")
    assert last <= MORE * sizes[TENTH - 1], f"memory grew by {last / sizes[TENTH - 1] - 1:.1%}, expected 5 % at most"


def day_of_clicks(folder: Path, clicks: int = CLICKS, links: int = LINKS) -> tuple[str, str]:
    """What is wrong after so many clicks without pause: cards, decisions, undoing, the state and the estimate; and what
    was measured."""
    write_run(folder / "run", links)
    page = Page(folder)
    process, taken, decided = psutil.Process(page.process.pid), list[float](), 0
    before = 0
    for number in range(clicks):
        begun = time.perf_counter()
        if number % 50 == 49:
            status = page.post("/undo", key=f"undo {number}")[0]
            decided -= 1
        elif number % 20 == 19:
            status = page.get("/estimate" if number % 40 == 39 else "/state")[0]
        elif number % 2:
            status = page.post("/next", queue=QUEUES[number // 2 % len(QUEUES)])[0]
        else:
            ends = name("source", decided), name("target", decided)
            status = 200 if page.decide(number, *ends) else 500
            decided += 1
        taken.append(time.perf_counter() - begun)
        if status != 200:
            return f"click {number} was answered with {status}", ""
        if number == SOME:
            before = process.memory_info().rss
    grown, counted = process.memory_info().rss - before, page.get("/state")[1]["decided"]
    page.process.kill()
    page.process.wait()
    first, last = statistics.median(taken[:SOME]), statistics.median(taken[-SOME:])
    told = f"{1000 * first:.1f} ms a click at first, {1000 * last:.1f} ms at last, {grown / 1e6:+.0f} MB"
    if counted != decided:
        return f"{decided} decisions made, {counted} counted", told
    return (told if last > SLOWER * first or grown > LARGER else ""), told


NOTES: list[str] = []


def cases(numbers: range) -> Iterator[Case]:
    """The runs, and the clicks."""
    load()
    with tempfile.TemporaryDirectory(prefix="emea-campaign-") as folder:
        if 0 in numbers:
            ended = start_call(many_runs, Path(folder)).wait(3600)
            NOTES.append(f"{RUNS} runs of the Python API: {ended.said.strip().splitlines()[0]}.")
            yield f"{RUNS} runs of the Python API in one process", ended.complaint(0)
        if 1 in numbers:
            wrong, told = day_of_clicks(Path(folder))
            NOTES.append(f"{CLICKS:,} clicks on the review page: {told}.")
            yield f"{CLICKS:,} clicks on the review page", wrong


KIND = Kind(
    "long use",
    "500 runs of the Python API in one process: memory within 5 % of the tenth; the review page, 24 hours of clicks",
    2,
    cases,
    "`tests/test_campaign.py`, `tests/review/test_review_size.py`",
    f"Two cases: {RUNS} runs of `emea.link`, and as many clicks as one every five seconds of a day makes, without the "
    f"pauses, on a run of {LINKS:,} links: cards, decisions, undoing, the estimate.",
    keep=lambda: {"notes": list(NOTES)},
    alone=True,
)
