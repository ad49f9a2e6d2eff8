"""Breaks the bytes of files for every reader and for the settings: each case must end well or with an EmeaError.

python scripts/fuzz.py --cases 20000 --seed 0

Cases run in a process of their own with bounded memory and time, so that even a crash names the seed of its case.
"""

from __future__ import annotations

import argparse
import faulthandler
import multiprocessing
import resource
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fuzzing import SECONDS, run_case, subjects

MEMORY = 2 << 30  # bytes that all cases together may need beside what is loaded before them
HANGS = 60  # seconds after which a case is ended


def main() -> int:
    """Run the cases, print what failed and one line of summary; 0 where nothing did."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20_000, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="of the first case; the others count on from there")
    given = parser.parse_args()
    started, done, failed = time.perf_counter(), Counter[str](), list[int]()
    first, end = given.seed, given.seed + given.cases
    while first < end:
        first = _run_until_crash(range(first, end), done, failed)
    counted = f"{given.cases - len(failed):,} of {given.cases:,} cases without a foreign exception"
    where = f"over {len(done)} of {len(subjects())} subjects, in {time.perf_counter() - started:.0f} s"
    print(f"{counted}, {where}" + (f"; failed seeds: {failed[:20]}" if failed else ""))
    return 1 if failed else 0


def _run_until_crash(seeds: range, done: Counter[str], failed: list[int]) -> int:
    """Run cases in another process: the seed to go on with, which is behind the last or behind a crash."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(seeds, sender))
    process.start()
    sender.close()
    running = seeds.start
    try:
        while True:
            running, subject, error = receiver.recv()
            done.update([subject] if subject else [])
            if error:
                failed.append(running)
                print(f"seed {running}: {error}", flush=True)
            running += 1
    except EOFError:
        process.join()
    if process.exitcode == 0:
        return seeds.stop
    failed.append(running)
    print(f"seed {running}: the process ended with {process.exitcode} or took more than {HANGS} s", flush=True)
    return running + 1


def _run(seeds: range, sender: Connection) -> None:
    """Run cases one by one and send what became of each."""
    warnings.simplefilter("error")
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    for seed in seeds:
        faulthandler.dump_traceback_later(HANGS, exit=True)
        subject, error, started = "", "", time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            try:
                subject = run_case(seed, Path(folder))
            except BaseException:  # noqa: BLE001 - whatever it is, it is what we look for
                error = traceback.format_exc()
        if time.perf_counter() - started > SECONDS:
            error = error or f"took {time.perf_counter() - started:.1f} s, expected at most {SECONDS:.0f}"
        sender.send((seed, subject, error))
    sender.close()


if __name__ == "__main__":
    sys.exit(main())
