"""Malformed input: the cases of scripts/fuzz.py, which breaks bytes and structure for every reader and the settings."""

from __future__ import annotations

from collections.abc import Iterator

from faults import Case, Kind
from fuzz import outcomes

FIRST = 1_000_000  # seed: others than those that people try


def cases(numbers: range) -> Iterator[Case]:
    """One case a seed."""
    for seed, subject, error in outcomes(range(FIRST + numbers.start, FIRST + numbers.stop)):
        told = [line for line in error.strip().splitlines() if not line.startswith("repeat with")]
        yield f"seed {seed}{', ' * bool(subject)}{subject}", told[-1] if told else ""


KIND = Kind(
    "malformed input, over all readers",
    "200,000 cases: no traceback, no hang (5 s of a core), no more than 1 GB",
    200_000,
    cases,
    "`tests/formats/test_fuzz.py`, `tests/formats/test_bad_files.py`; `make fuzz`",
    "A case breaks one file of one of some 200 subjects (each reader and each suffix, packed and not, strict and "
    "lenient, conversions, settings) in its bytes or in its structure: tokens, lines, fields, nesting, encodings,"
    " members of archives, columns of tables. It must be read, or refused with one line. `python scripts/fuzz.py "
    "--cases 1 --seed N` repeats one.",
)
