"""Runs that get less memory than they are estimated to need: by --memory, and by a limit of the system."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import psutil

from faults import Case, Kind
from faults._forked import Ended, command, limit_memory, load

SHARES = (0.6, 0.8, 0.95)  # of the estimate
SIZES = (500, 3_000, 10_000)  # entities of each graph
EVIDENCE = ("structure", "all")
WAYS = ("--memory", "the system")
ROUNDS = ["--set", "em.rounds=2"]
CASES = list(product(SIZES, EVIDENCE, SHARES, WAYS))


def write_graphs(folder: Path, entities: int) -> None:
    """Two graphs of the same structure, with names."""
    draw = random.Random(0)
    edges = [(draw.randrange(entities), draw.randrange(9), draw.randrange(entities)) for _ in range(4 * entities)]
    for side in ("source", "target"):
        rows = [f"<urn:{side}:e{head}> <urn:{side}:r{kind}> <urn:{side}:e{tail}> .\n" for head, kind, tail in edges]
        names = [f'<urn:{side}:e{number}> <urn:{side}:name> "name {number}" .\n' for number in range(entities)]
        (folder / f"{side}.nt").write_text("".join([*rows, *names]), encoding="utf-8")
    pairs = [f"urn:source:e{number}\turn:target:e{number}\n" for number in range(entities // 10)]
    (folder / "seeds.tsv").write_text("".join(pairs), encoding="utf-8")


def limited(folder: Path, evidence: str, share: float, way: str) -> str:
    """What is wrong with the end of a run in a share of the memory that it is estimated to need."""
    line = ["align", "source.nt", "target.nt", "--seeds", "seeds.tsv", "--evidence", evidence, "--device", "cpu"]
    line += [*ROUNDS, "--out", "run", "--force"]
    told = command([*line, "--dry-run", "--json"], folder)
    if wrong := told.complaint(0):
        return wrong
    needed = float(json.loads(told.said[told.said.index("{") :])["memory"])
    if way == "--memory":
        return _ended(command([*line, "--memory", f"{share * needed / 1e9:.3f}GB"], folder))
    free = max(0.0, share * needed - psutil.Process().memory_info().rss)
    return _ended(command(line, folder, limit_memory(free)))


def _ended(ended: Ended) -> str:
    """Wrong is whatever neither finishes nor says what is needed."""
    if wrong := ended.complaint(0, 3):
        return wrong
    return "" if ended.code == 0 or "needs" in ended.said else f"does not say what would fit: {ended.said[-200:]}"


def cases(numbers: range) -> Iterator[Case]:
    """Every size, kind of evidence, share and way."""
    load()
    for size, evidence, share, way in CASES[numbers.start : numbers.stop]:
        with tempfile.TemporaryDirectory(prefix="emea-campaign-") as folder:
            write_graphs(Path(folder), size)
            name = f"{size:,} + {size:,} entities, {evidence}, {share:.0%} by {way}"
            yield name, limited(Path(folder), evidence, share, way)


KIND = Kind(
    "less memory than needed",
    "runs under a limit of 60 %, 80 %, 95 % of the estimate: exit 3 with what would fit, or finishes",
    len(CASES),
    cases,
    "`tests/test_checks.py`, `tests/test_campaign.py`",
    "A case is a run on graphs of 500, 3,000 or 10,000 entities each, by structure or all evidence, where "
    "`--memory` or a limit of the system (address space) gives it a share of what `--dry-run` estimates. It must "
    "finish, or end with 3 and a sentence that says what is needed, or how to learn it; a traceback or a signal is "
    "wrong.",
)
