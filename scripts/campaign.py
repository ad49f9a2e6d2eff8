"""Puts `emea` through faults of many kinds, keeps what came of it, and writes docs/campaign.md.

    python scripts/campaign.py                              # every kind in full: many hours
    python scripts/campaign.py --only kills --amount 40     # a sample of one kind
    python scripts/campaign.py --minutes 30                 # of each kind as much as this allows
    python scripts/campaign.py --jobs 8                     # eight cases at a time
    python scripts/campaign.py --page                       # write the page from what is kept

A kind goes on where it was left as long as the code is the same; --again starts it over. What is kept is in
docs/bench/campaign.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from _records import REPOSITORY, commit, write_block
from emea import __version__
from emea.report.tables import markdown_table
from faults import NAMES, Case, Kind, kind

STORE = REPOSITORY / "docs" / "bench" / "campaign"
PAGE = REPOSITORY / "docs" / "campaign.md"
OFTEN = 30.0  # seconds between two times that what was found is kept
BLOCKS = 10_000  # into which the cases of a kind are cut, to be dealt out


def code() -> str:
    """A number for all that is tested."""
    digest = hashlib.sha256()
    for path in sorted((REPOSITORY / "src").rglob("*.*")):
        if path.suffix in {".py", ".js", ".html"}:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def read(name: str, store: Path = STORE) -> dict[str, Any]:
    """What is kept of a kind; nothing if it was never run."""
    path = store / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def keep(name: str, record: dict[str, Any], store: Path) -> None:
    """Keep what was found so far."""
    store.mkdir(parents=True, exist_ok=True)
    (store / f"{name}.json").write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def cases(name: str, numbers: range, jobs: int) -> Iterator[Case]:
    """The cases with these numbers, in order, several at a time."""
    if jobs == 1 or kind(name).alone:
        yield from kind(name).cases(numbers)
        return
    size = max(1, min(len(numbers), kind(name).full) // BLOCKS)
    blocks = [numbers[place : place + size] for place in range(0, len(numbers), size)]
    pool = ProcessPoolExecutor(jobs, get_context("spawn"))
    try:
        for block, found in zip(blocks, pool.map(_block, repeat(name), blocks), strict=True):
            yield from found
            if len(found) < len(block):
                return  # there are no more
    finally:
        pool.shutdown(cancel_futures=True)


def _block(name: str, numbers: range) -> list[Case]:
    return list(kind(name).cases(numbers))


def put_through(name: str, given: argparse.Namespace) -> dict[str, Any]:
    """Run the cases of a kind that are not yet done, and keep what came of them."""
    chosen, known, store = kind(name), read(name, given.store), given.store
    if given.again or known.get("code") != code():
        known = {}
    record = {"cases": 0, "failures": [], "seconds": 0.0, "complete": False} | known
    end = min(given.amount or chosen.full, chosen.full)
    if record["complete"] or record["cases"] >= end:
        print(f"{name}: {record['cases']:,} cases are done already")
        return record
    about = {"code": code(), "commit": commit(), "version": __version__, "machine": platform.machine()}
    if chosen.before:
        chosen.before(given.jobs)
    before, begun, kept = record["seconds"], time.monotonic(), time.monotonic()
    stopped = False
    for what, wrong in cases(name, range(record["cases"], end), given.jobs):
        record["cases"] += 1
        if wrong:
            record["failures"].append(f"{what}: {wrong}")
            print(f"{name}: {what}: {wrong}", flush=True)
        now = time.monotonic()
        stopped = now - begun > 60 * given.minutes
        record |= about | {"seconds": round(before + now - begun, 1), "date": datetime.now(UTC).date().isoformat()}
        if now - kept > OFTEN or stopped:
            keep(name, record, store)
            kept = now
        if stopped:
            break
    record |= {"complete": not stopped and (record["cases"] < end or end == chosen.full), **chosen.keep()}
    keep(name, record, store)
    print(f"{name}: {record['cases']:,} cases, {len(record['failures'])} failures, {record['seconds']:,.0f} s")
    return record


def table() -> str:
    """All kinds: what is asked, what was run, and what came of it."""
    rows = []
    for name in NAMES:
        chosen, record = kind(name), read(name)
        rows.append({"kind": f"[{name}](#{name.replace('_', '-')})", "fault": chosen.what, "asked": chosen.asked})
        rows[-1] |= _run(chosen, record)
    return markdown_table(rows)


def _run(chosen: Kind, record: dict[str, Any]) -> dict[str, str]:
    """What was run, in words."""
    if not record.get("cases"):
        return {"run": "not yet", "ended wrongly": "", "time": "", "date": "", "version": ""}
    share = "all" if record["complete"] else f"a sample of {record.get('of', chosen.full):,}"
    return {
        "run": f"{record['cases']:,} ({share})",
        "ended wrongly": f"{len(record['failures']):,}",
        "time": f"{record['seconds'] / 60:,.1f} min",
        "date": record["date"],
        "version": f"{record['version']}, {record['commit']}",
    }


def sections() -> str:
    """Each kind: what a case is, the tests in the suites, and what failed."""
    parts = []
    for name in NAMES:
        chosen, record = kind(name), read(name)
        parts.append(f"## {name.replace('_', ' ')}\n\n{chosen.about}\n\nIn the suites: {chosen.tests}.")
        parts += [str(line) for line in record.get("notes", [])]
        if record.get("failures"):
            told = "\n".join(f"- {_inert(each)}" for each in record["failures"])
            parts.append(f"What ended wrongly:\n\n{told}")
    return "\n\n".join(parts)


def _inert(text: str) -> str:
    """One line of text for a page, as it stands."""
    return f"`{' '.join(text.split())[:300].replace('`', chr(39))}`"


def write_page() -> None:
    """Write what is kept into the page."""
    write_block(PAGE, "table of the campaign", table())
    write_block(PAGE, "kinds of faults", sections())


def positive(text: str) -> int:
    """A number from 1 on, as an argument."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"found '{text}', expected a whole number from 1 on")
    return int(text)


def main() -> int:
    """Run what is asked for, or write the page; 1 if more ended wrongly than a kind allows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=NAMES, action="append", help="kind of fault; repeatable")
    parser.add_argument("--amount", type=positive, help="cases of each kind; in full if not given")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="for each kind")
    parser.add_argument("--jobs", type=positive, default=1, help="cases at a time")
    parser.add_argument("--again", action="store_true", help="start over what is done already")
    parser.add_argument(
        "--store", type=Path, default=STORE, help="folder to keep it in; another one leaves the page alone"
    )
    parser.add_argument("--page", action="store_true", help="write the page, and run nothing")
    given = parser.parse_args()
    names = [] if given.page else given.only or NAMES
    found = {name: put_through(name, given) for name in names}
    if given.store == STORE:
        write_page()
    return int(any(len(each["failures"]) > (1 - kind(name).least) * each["cases"] for name, each in found.items()))


if __name__ == "__main__":
    sys.exit(main())
