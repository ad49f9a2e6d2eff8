"""Breaks bytes and structure of files for every reader and for the settings: each case ends well or with an EmeaError.

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
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from emea.errors import InputWarning
from fuzzing import SECONDS, run_case, subjects

MEMORY = 1 << 30  # bytes that all cases together may need beside what is loaded before them
HANGS = 60  # seconds after which a case is ended; those of the processor count before, as a busy machine is no defect


def main() -> int:
    """Run the cases, print what failed and one line of summary; 0 where nothing did."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20_000, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="of the first case; the others count on from there")
    given = parser.parse_args()
    started, done, failed = time.perf_counter(), Counter[str](), list[int]()
    for seed, subject, error in outcomes(range(given.seed, given.seed + given.cases)):
        done.update([subject] if subject else [])
        if error:
            failed.append(seed)
            print(f"seed {seed}: {error}", flush=True)
    counted = f"{given.cases - len(failed):,} of {given.cases:,} cases without a foreign exception"
    where = f"over {len(done)} of {len(subjects())} subjects, in {time.perf_counter() - started:.0f} s"
    print(f"{counted}, {where}" + (f"; failed seeds: {failed[:20]}" if failed else ""))
    return 1 if failed else 0


def outcomes(seeds: range) -> Iterator[tuple[int, str, str]]:
    """What became of each case: its seed, what read it, and what went wrong. A process that ends is replaced."""
    subjects()  # before the first fork: made once
    while seeds:
        context = multiprocessing.get_context("fork")
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(seeds, sender))
        process.start()
        sender.close()
        running = seeds.start
        try:
            while True:
                case = receiver.recv()
                running = case[0] + 1
                yield case
        except EOFError:
            process.join()
        finally:
            process.kill()  # where nobody wants more cases
        if process.exitcode == 0:
            return
        yield running, "", f"the process ended with {process.exitcode} or took more than {HANGS} s"
        seeds = range(running + 1, seeds.stop)


def _run(seeds: range, sender: Connection) -> None:
    """Run cases one by one and send what became of each."""
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", InputWarning)  # which is what people are told
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    for seed in seeds:
        faulthandler.dump_traceback_later(HANGS, exit=True)
        subject, error, started = "", "", time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            try:
                subject = run_case(seed, Path(folder))
            except BaseException:  # noqa: BLE001 - whatever it is, it is what we look for
                error = traceback.format_exc()
        if time.process_time() - started > SECONDS:
            error = error or f"took {time.process_time() - started:.1f} s, expected at most {SECONDS:.0f}"
        sender.send((seed, subject, error))
    sender.close()


if __name__ == "__main__":
    sys.exit(main())
