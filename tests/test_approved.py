"""What is found in a few made-up pairs of tables, compared with what was found before: a change of the code that
changes results shows here, in numbers. If it should, look at them, and keep them:

    EMEA_APPROVE=1 pytest tests/test_approved.py

By structure alone nothing is compared so: what processors round differently is enough to change many numbers there.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import emea
from inventories import write_inventories

APPROVED = Path(__file__).parent / "approved"
SHARE = re.compile(r"\.\d\d\b")  # whose last digit may differ
CLOSE, LEAST = 2e-3, 1e-3  # of probabilities: processors round sums differently


def tables(name: str, known: int = 0, gaps: float = 0.08) -> Callable[[Path], emea.Result]:
    """Two inventories, with some known pairs or none."""

    def linked(folder: Path) -> emea.Result:
        paths = write_inventories(folder, name, gaps)
        task = emea.read(*paths)
        there = {key[1:] for key in task.target.entities.to_pylist()}
        shared = [key for key in task.source.entities.to_pylist() if key[1:] in there][:known]
        return emea.align(emea.read(*paths, [(key, f"b{key[1:]}") for key in shared]) if known else task)

    return linked


CASES = {
    "instruments": tables("instruments"),
    "instruments, ten known": tables("instruments", 10),
    "instruments, half empty": tables("instruments", gaps=0.5),
    "sites": tables("sites"),
    "sites, half empty": tables("sites", gaps=0.5),
    "records": tables("records", gaps=0.3),
    "records, five known": tables("records", 5, gaps=0.5),
}


def told(result: emea.Result) -> dict[str, Any]:
    """What is likely at all, what is linked, and why the others are not."""
    likely = [row for row in result.candidates().to_pylist() if row["probability"] >= LEAST and row["rank"] <= 3]
    return {
        "likely": {f"{row['source']} = {row['target']}": round(row["probability"], 4) for row in likely},
        "linked": {row["source"]: round(row["confidence"], 4) for row in result.links().to_pylist()},
        "why not": {row["source"]: SHARE.sub(".…", row["why"]) for row in result.unlinked().to_pylist()},
    }


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_that_were_approved(name: str, tmp_path: Path) -> None:
    found, path = told(CASES[name](tmp_path)), APPROVED / f"{name}.json"
    if os.environ.get("EMEA_APPROVE"):
        APPROVED.mkdir(exist_ok=True)
        path.write_text(json.dumps(found, indent=0, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
    approved = json.loads(path.read_text(encoding="utf-8"))
    for what in ("likely", "linked"):
        every = found[what].keys() | approved[what].keys()  # what is hardly likely may be on either side of the least
        before, now = ({one: of[what].get(one, 0.0) for one in every} for of in (approved, found))
        assert now == pytest.approx(before, abs=CLOSE)
    assert found["why not"] == approved["why not"]
