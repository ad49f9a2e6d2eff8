"""The examples of docs/own-models.md, as they stand there, in the loop."""

import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import emea
from emea import plugins
from emea.cli import main
from emea.contracts import Encoder, Progress

pytestmark = pytest.mark.slow  # whole runs

PAGE = Path(__file__).parents[1] / "docs" / "own-models.md"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two graphs of the same shape, seeds, the page's files, and vectors in which counterparts are near."""
    draw = np.random.default_rng(0)
    edges = [(head, int(draw.integers(3)), int(draw.integers(80))) for head in range(80) for _ in range(4)]
    vectors = draw.normal(size=(80, 64)).astype(np.float32)
    for side in ("a", "b"):
        rows = [f"urn:{side}:{head:02}\turn:{side}:r{relation}\turn:{side}:{tail:02}" for head, relation, tail in edges]
        (tmp_path / f"{side}.tsv").write_text("\n".join(rows) + "\n")
        names = np.array([f"urn:{side}:{number:02}" for number in range(79)])  # the last is not in the file
        near = vectors[:79] + 0.2 * draw.normal(size=(79, 64)).astype(np.float32)
        np.savez(tmp_path / ("source.npz" if side == "a" else "target.npz"), names=names, vectors=near)
    (tmp_path / "seeds.tsv").write_text("".join(f"urn:a:{number:02}\turn:b:{number:02}\n" for number in range(25)))
    (tmp_path / "truth.tsv").write_text("".join(f"urn:a:{number:02}\turn:b:{number:02}\n" for number in range(80)))
    for name, text in re.findall(r"```python\n# (\w+)\.py\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


@pytest.mark.parametrize("encoder", ["mixer:Mixed", "stored:Stored"])
@pytest.mark.parametrize("preset", ["fast", "paper"])
def test_the_example_links_the_graphs(
    encoder: str, preset: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--seeds", "seeds.tsv", "--encoder", encoder, "--preset", preset, "--set", "em.rounds=2", "--quiet"]
    monkeypatch.setattr(sys, "argv", ["emea", "align", "a.tsv", "b.tsv", *options])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code, capsys.readouterr().err
    found = [line.split("\t")[:2] for line in (folder / "run" / "alignment.tsv").read_text().splitlines()[1:]]
    right = sum(source.rpartition(":")[2] == target.rpartition(":")[2] for source, target in found)
    assert right > 40
    assert right > 0.9 * len(found)


def test_the_model_that_continues_from_its_last_fit_says_so_and_reports(folder: Path) -> None:
    sys.path.insert(0, str(folder))
    task = emea.read("a.tsv", "b.tsv", "seeds.tsv")
    kind, generator = plugins.find("encoders", "mixer:Mixed", Encoder), torch.Generator().manual_seed(0)
    first, second = (kind(task, kind.Settings(epochs=2), torch.device("cpu")) for _ in range(2))
    reports: list[Progress] = []
    assert not first.remembers
    first.fit(task.seeds, generator, reports.append)
    assert first.remembers
    assert [(each.epoch, each.epochs, each.pairs) for each in reports] == [(1, 2, 25), (2, 2, 25)]
    second.restore(first.state())
    on, again = (each.fit(task.seeds, torch.Generator().manual_seed(1)) for each in (first, second))
    assert torch.equal(on.source, again.source)


def test_the_comparison_of_two_results_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sys.path.insert(0, str(folder))
    importlib.import_module("fair")
    said = re.fullmatch(r"(\d+) pairs: Hit@1 \+(0.\d+), MRR \+(0.\d+), p = (\S+)\n", capsys.readouterr().out)
    assert said, "the loop is better than the encoder alone"
    assert int(said[1]) > 900
    assert float(said[4]) < 0.01
