"""What is found in a few made-up pairs of graphs, compared with what was found, and looked at, before: a change of the
code that changes results shows here, in numbers. If it should, `EMEA_APPROVE=1 make test` writes them anew."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import emea
from emea.settings import load
from inventories import write_inventories
from small_world import read_small_world

APPROVED = Path(__file__).parent / "approved"
CLOSE = 2e-3  # of probabilities: processors round sums differently
STRUCTURE = ["evidence.kind=structure", "encoders.propagation.dimension=64", "encoders.propagation.paths=64"]


def tables(name: str, known: int = 0) -> Callable[[Path], emea.Result]:
    """Two inventories, with some known pairs or none."""

    def linked(folder: Path) -> emea.Result:
        task = emea.read(*write_inventories(folder, name))
        there = {key[1:] for key in task.target.entities.to_pylist()}
        shared = [key for key in task.source.entities.to_pylist() if key[1:] in there][:known]
        seeds = [(key, f"b{key[1:]}") for key in shared]
        return emea.align(emea.read(*write_inventories(folder, name), seeds=seeds) if known else task)

    return linked


def world(*settings: str, seeds: int = 40) -> Callable[[Path], emea.Result]:
    """Territories, languages and currencies of the world."""
    return lambda _: emea.align(read_small_world(seeds)[0], load(assignments=[*settings]))


CASES = {
    "instruments": tables("instruments"),
    "instruments, ten known": tables("instruments", 10),
    "sites": tables("sites"),
    "records": tables("records"),
    "records, five known": tables("records", 5),
    "world by structure": world(*STRUCTURE, "em.rounds=3"),
    "world by paris": world("evidence.kind=structure", "method=paris"),
    "world": world("evidence.kind=all", seeds=0),
}


def told(result: emea.Result) -> dict[str, Any]:
    """Links and what is closest to one, with probabilities, and why the others are none."""
    links, others = result.links().to_pylist(), result.unlinked().to_pylist()
    return {
        "links": {f"{row['source']} = {row['target']}": round(row["confidence"], 5) for row in links},
        "others": {
            f"{row['source']} ≠ {row['candidate']}": [round(row["probability"] or 0.0, 5), row["why"]] for row in others
        },
    }


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_that_were_approved(name: str, tmp_path: Path) -> None:
    found, path = told(CASES[name](tmp_path)), APPROVED / f"{name}.json"
    if os.environ.get("EMEA_APPROVE"):
        APPROVED.mkdir(exist_ok=True)
        path.write_text(json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
    approved = json.loads(path.read_text(encoding="utf-8"))
    assert found["links"] == pytest.approx(approved["links"], abs=CLOSE)
    assert {pair: why for pair, (_, why) in found["others"].items()} == {
        pair: why for pair, (_, why) in approved["others"].items()
    }
    assert {pair: p for pair, (p, _) in found["others"].items()} == pytest.approx(
        {pair: p for pair, (p, _) in approved["others"].items()}, abs=CLOSE
    )
