"""What a plan computes follows from what was measured, and the report says where a run was computed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from emea.bench.plan import BANDWIDTH, CORES, Measured, plan
from emea.cli import main
from emea.errors import InputError
from emea.report.cluster import cluster, size
from emea.report.reading import FinishedRun

WORK = {
    "views": {"tasks": 4, "seconds": 8.0, "bytes": 100.0},
    "scan": {"tasks": 40, "seconds": 40.0, "bytes": 300.0},
}  # of two rounds


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a run on two cores."""
    ran = {"kind": "ray", "nodes": 2, "cpus": 2, "memory here": 10**9, "shared bytes": 600, "rounds": 2, "work": WORK}
    (tmp_path / "engine.json").write_text(json.dumps(ran))
    (tmp_path / "timings.jsonl").write_text('{"round": 0, "seconds": 20}\n{"round": 1, "seconds": 10}\n')
    (tmp_path / "settings.toml").write_text("[run]\nsources = 400\ntargets = 600\n")
    return tmp_path


def test_the_same_cluster_takes_the_same(folder: Path) -> None:
    measured = Measured.read(folder)
    assert measured.here == 30 - (8 + 40) / 2
    again = measured.on(1, 2)
    assert again["seconds"] * 2 == pytest.approx(30)
    assert again["bytes into a machine"] == 0


def test_more_cores_help_what_has_enough_tasks(folder: Path) -> None:
    found = Measured.read(folder).on(4, 16)
    views, scan, here, moved = 8 / 2 / 2, 40 / 20 / 2, 6 / 2, 1000 / 2 * 3 / 4
    assert found["seconds"] == pytest.approx(views + scan + here + moved / BANDWIDTH)


def test_larger_graphs_take_more_of_all(folder: Path) -> None:
    small, large = (Measured.read(folder).on(1, 1, entities) for entities in (1000, 4000))
    for what in ("seconds", "driver seconds", "bytes made", "driver bytes"):
        assert large[what] == pytest.approx(4 * small[what])


def test_the_command_shows_it(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def said(*more: str) -> str:
        monkeypatch.setattr("sys.argv", ["emea", "bench", "--plan", str(folder), *more])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code in {0, None}
        return capsys.readouterr().out

    assert json.loads(said("--json")) == plan(folder)
    shown = said()
    assert "nothing below was measured" in shown
    assert f"{CORES} cores" in shown
    assert "100,000,000" in shown


def test_a_run_without_a_cluster_has_no_plan(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not the folder of a run with --engine ray"):
        Measured.read(tmp_path)


def test_the_report_says_where(folder: Path) -> None:
    class Run:
        engine: dict[str, Any] | None = json.loads((folder / "engine.json").read_text())

    run: FinishedRun = Run()  # type: ignore[assignment]
    shown = cluster(run)
    assert shown is not None
    text = " ".join(shown.itertext())
    assert "2 machines with 2 cores" in text
    assert "48 seconds of one core" in text
    assert text.index("scan") < text.index("views")  # the longest first
    Run.engine = None
    assert cluster(run) is None
    assert [size(count) for count in (12, 3400, 5.6e6, 7.8e9)] == ["12 bytes", "3.4 kB", "5.6 MB", "7.8 GB"]
