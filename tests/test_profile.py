"""The profile counts what two graphs have to offer, and warns where that is nothing."""

import json
import random
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from emea.cli import app
from emea.data import Links, Task
from emea.evidence.prepared import prepare
from emea.runs.profile import profile
from emea.settings import load
from test_values import graph, people, task

ALL = load(assignments=["evidence.kind=all"])


def test_the_profile_counts_by_hand() -> None:
    source = graph(["a", "b", "c", "d"], [[0, 0, 1], [0, 0, 2]], [(0, 0, "x1", None), (1, 0, "12", None)])
    target = graph(["x", "y"], [[0, 0, 1]], [(1, 1, "X1", None)])
    found = profile(prepare(Task(source, target, Links.empty()), ALL.evidence), ALL)
    assert found["shared values"] == 1
    assert found["seeds"] == 0
    assert found["source"]["entities"] == 4
    assert found["source"]["highest_degree"] == 2
    assert found["source"]["without_triple"] == 0.25
    assert found["source"]["with_shared_value"] == 0.25
    assert found["source"]["reached"] == 0.75
    assert found["target"]["reached"] == 1.0
    assert found["target"]["with_shared_value"] == 0.5
    assert json.loads(json.dumps(found)) == found


def test_seeds_reach_too() -> None:
    given, _ = people(20, random.Random(3))
    seeded = Task(given.source, given.target, Links.build(torch.tensor([0]), torch.tensor([0])))
    assert profile(prepare(seeded, ALL.evidence), ALL)["source"]["reached"] == 1.0


def test_nothing_in_common_is_said() -> None:
    given = task([(0, 0, "one thing", None)], [(0, 0, "5", None)])
    found = profile(prepare(given, ALL.evidence), ALL)
    assert found["source"]["reached"] == 0.0
    assert any("share no value" in warning for warning in found["warnings"])


@pytest.mark.parametrize(
    ("assignments", "seeds", "warned"),
    [
        ([], 0, False),
        (["matching.judge=false"], 0, True),
        (["matching.judge=false"], 1, False),
        (["method=paris"], 0, True),
    ],
)
def test_confidence_that_rests_on_nothing_is_warned_of(assignments: list[str], seeds: int, warned: bool) -> None:
    given, _ = people(20, random.Random(3))
    known = Links.build(torch.arange(seeds), torch.arange(seeds))
    chosen = load(assignments=["evidence.kind=all", *assignments])
    found = profile(prepare(Task(given.source, given.target, known), chosen.evidence), chosen)
    assert any("confidence may be too high or too low" in warning for warning in found["warnings"]) == warned


@pytest.mark.parametrize("as_json", [False, True])
def test_the_command(tmp_path: Path, as_json: bool) -> None:
    for name, label in (("a.ttl", "Köln"), ("b.ttl", "koln")):
        (tmp_path / name).write_text(f'<x:{name}1> <x:label> "{label}" ; <x:near> <x:{name}2> .', encoding="utf-8")
    paths = [str(tmp_path / name) for name in ("a.ttl", "b.ttl")]
    result = CliRunner().invoke(app, ["profile", *paths, *(["--json"] if as_json else [])])
    assert result.exit_code == 0, result.output
    if as_json:
        assert json.loads(result.output)["shared values"] == 1
    else:
        assert "1 shared values" in result.output
