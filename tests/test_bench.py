"""The benchmark measures every stage, keeps its result, and shows two of them side by side."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from emea import bench
from emea.bench import _measuring, _stages, scale
from emea.cli import app
from emea.data import Task
from emea.errors import InputError
from tiny_benchmark import write_benchmark

CPU = torch.device("cpu")
LIMITS = _measuring.Limits(bytes_per_second=1e10, flops_per_second=1e11)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Task:
    """Graphs that take no time."""
    for name, value in {"ENTITIES": 60, "TRIPLES": 200, "RELATIONS": 5, "SEEDS": 20}.items():
        monkeypatch.setattr(_stages, name, value)
    monkeypatch.setattr(bench, "measure_limits", lambda _: LIMITS)
    monkeypatch.setattr(bench, "startup", lambda _: {"python": 0.1})
    return _stages.synthetic()


def test_the_synthetic_graphs_are_the_same_every_time_and_overlap(small: Task) -> None:
    again = _stages.synthetic()
    for one, other in ((small.source, again.source), (small.target, again.target)):
        assert np.array_equal(one.triples.numpy(), other.triples.numpy())
        assert len(one.entities) == 60
    pairs = [{tuple(triple) for triple in graph.triples.tolist()} for graph in (small.source, small.target)]
    assert len(pairs[0] & pairs[1]) > 0.2 * len(pairs[0])


def test_every_stage_is_measured(small: Task) -> None:
    found = bench.bench(CPU, 2, small)
    stages = {stage["stage"]: stage for stage in found["stages"]}
    for name in ("propagation: fit", "search, both ways", "rules both ways, Markov blanket", "rrea: an epoch"):
        stage = stages[name]
        assert 0 < stage["fastest"] <= stage["seconds"] <= stage["slowest"]
        assert stage["peak_bytes"] > 1e7
        assert stage["work_per_second"] > 0
    assert stages["rules both ways, own factor"]["share_of_limit"] is None  # nobody knows the least work of a join
    assert json.loads(json.dumps(found)) == found


def test_a_stage_is_measured_after_a_warm_up_and_by_its_count(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, calls = iter(range(0, 1000, 6)), []
    monkeypatch.setattr(_measuring.time, "perf_counter", lambda: next(clock))
    stage = _measuring.Stage("nap", lambda: calls.append(1), work=3e10, unit="byte", count=3)
    found = _measuring.measure(stage, LIMITS, CPU, repeats=5)
    assert len(calls) == 6
    assert found.seconds == found.fastest == found.slowest == 2.0
    assert found.work_per_second == 1.5e10
    assert found.share_of_limit == 1.5


def test_results_are_written_and_compared(small: Task, tmp_path: Path) -> None:
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    result = CliRunner().invoke(app, ["bench", "--device", "cpu", "--repeats", "1", "--out", str(before)])
    assert result.exit_code == 0, result.output
    assert "search, both ways" in result.output
    changed = json.loads(before.read_text())
    for stage in changed["stages"]:
        for name in ("seconds", "fastest", "slowest"):
            stage[name] /= 4
    after.write_text(json.dumps(changed))
    result = CliRunner().invoke(app, ["bench", "--compare", str(before), str(after)])
    assert result.exit_code == 0, result.output
    assert result.output.count("4.00") >= len(changed["stages"])


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"machine": 1}'])
def test_other_files_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(InputError, match="is not a result of emea bench"):
        bench.read_bench(path)
    with pytest.raises(InputError):
        bench.read_bench(tmp_path / "nothing.json")


@pytest.mark.slow
def test_whole_runs_show_how_time_and_memory_grow(tmp_path: Path) -> None:
    folder, file = write_benchmark(tmp_path / "tiny"), tmp_path / "grown.json"
    given = ["--ratio", "0.2", "--device", "cpu", "--out", str(file)]
    result = CliRunner().invoke(app, ["bench", "--scale", str(folder), *given])
    assert result.exit_code == 0, result.output
    assert "tiny 397" in " ".join(result.output.split())
    found = json.loads(file.read_text())
    (run,) = found["runs"]
    assert 0 < run["rounds"] < run["seconds"]
    assert run["memory"] > 1e8
    assert run["Hit@1"] > 0.5
    assert found["growth"] == {"seconds": None, "memory": None}


def test_a_run_that_fails_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing"):
        scale.scale([tmp_path / "nothing"], None, CPU)


def test_growth_is_the_exponent() -> None:
    assert scale.growth([10, 20, 40, 80], [3 * size**1.5 for size in (10, 20, 40, 80)]) == pytest.approx(1.5)
    assert scale.growth([10, 20], [5, 5]) == 0
    assert scale.growth([10, 10], [5, 7]) is None
