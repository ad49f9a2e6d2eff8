"""Trained encoders from the command line: progress, interruption within a fit, modes, estimates."""

import json
import random
import sys
from pathlib import Path

import pytest

import emea.cli._progress
import emea.encoders._training
import emea.runs.run
from emea.cli import main
from emea.contracts import Encoder
from emea.data import Task
from emea.evidence.prepared import prepare
from emea.formats import read
from emea.method.rounds import Fitting
from emea.plugins import find, names
from emea.runs.align import Observers
from emea.runs.estimate import estimate
from emea.runs.inputs import Inputs
from emea.runs.run import run
from emea.settings import Settings, load

SHORT = ["encoders.rrea.epochs=12", "encoders.rrea.more_epochs=6", "encoders.rrea.dimension=16", "em.rounds=2"]
SHORT += ["em.settled=0"]
RESULTS = ("alignment.tsv", "candidates.tsv", "rounds.jsonl")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two graphs of the same shape and seeds, as files in the current folder."""
    draw = random.Random(0)
    edges = [(draw.randrange(60), draw.randrange(3), draw.randrange(60)) for _ in range(240)]
    for side in ("a", "b"):
        rows = [f"urn:{side}:{head}\turn:{side}:r{relation}\turn:{side}:{tail}" for head, relation, tail in edges]
        (tmp_path / f"{side}.tsv").write_text("\n".join(rows) + "\n")
    (tmp_path / "seeds.tsv").write_text("".join(f"urn:a:{number}\turn:b:{number}\n" for number in range(20)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def task_in(folder: Path) -> Task:
    return read(folder / "a.tsv", folder / "b.tsv", folder / "seeds.tsv")


def emea_align(monkeypatch: pytest.MonkeyPatch, *options: str) -> int:
    monkeypatch.setattr(sys, "argv", ["emea", "align", "a.tsv", "b.tsv", "--seeds", "seeds.tsv", *options])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


PLACES = [(0, 5), (1, 3), (2, 4)]  # round, and epoch of its fit


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["sup", "semi"])
def test_a_fit_that_is_interrupted_goes_on_to_the_same_bytes(
    mode: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emea.encoders._training, "REPORT", 0.0)
    monkeypatch.setattr(emea.runs.run, "CHECKPOINT_SECONDS", 0.0)
    turns = [f"encoders.rrea.mode={mode}", "encoders.rrea.turns=2", "encoders.rrea.turn_epochs=7"]
    settings = load("paper", assignments=[*SHORT, *turns])
    task = prepare(task_in(folder), settings.evidence)
    inputs = Inputs(source=folder / "a.tsv", target=folder / "b.tsv", seeds=folder / "seeds.tsv")
    whole, broken = folder / "whole", folder / "broken"
    for place in (whole, broken):
        place.mkdir()
    run(task, settings, whole, inputs=inputs)
    seen: list[int] = []
    for number, epoch in PLACES:

        def stop(fitting: Fitting, number: int = number, epoch: int = epoch) -> None:
            seen.append(fitting.progress.epoch)
            last_turn = mode == "sup" or number > 0 or fitting.progress.turn == 1  # turns are of the first fit
            if fitting.round == number and last_turn and fitting.progress.epoch == epoch:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run(task, settings, broken, inputs=inputs, resume=number > 0, observers=Observers(fit=stop))
        assert number == 0 or seen[0] != 1, "it began the fit anew"
        seen.clear()
    run(
        task,
        settings,
        broken,
        inputs=inputs,
        resume=True,
        observers=Observers(fit=lambda each: seen.append(each.progress.epoch)),
    )
    assert seen[0] != 1, "it began the fit anew"
    assert all((whole / name).read_bytes() == (broken / name).read_bytes() for name in RESULTS)


def test_training_says_how_far_it_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(emea.encoders._training, "REPORT", 0.0)
    monkeypatch.setattr(emea.cli._progress, "LINE_SECONDS", 0.0)
    turns = ["encoders.rrea.turns=1", "encoders.rrea.turn_epochs=2"]
    options = [part for setting in [*SHORT, *turns] for part in ("--set", setting)]
    assert emea_align(monkeypatch, "--encoder", "rrea", "--mode", "semi", *options) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "round 0 of at most 2, epoch 1/12: loss" in said
    assert "turn 1, loss" in said
    assert "pairs, 0 s left" in said
    assert 'mode = "semi"' in (folder / "run" / "settings.toml").read_text()


def test_a_mode_is_for_encoders_that_train(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert emea_align(monkeypatch, "--mode", "semi") == 2
    assert "encoder 'propagation' has no modes; try --encoder rrea" in " ".join(capsys.readouterr().err.split())
    assert emea_align(monkeypatch, "--encoder", "rraa") == 2
    assert "did you mean rrea" in " ".join(capsys.readouterr().err.split())


def test_weights_of_several_rules_are_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert emea_align(monkeypatch, "--quiet", "--set", "em.rules=paris,avoid_conflict", "--set", "em.rounds=1") == 0
    first = json.loads((folder / "run" / "rounds.jsonl").read_text().splitlines()[0])
    assert list(first["weights"]) == ["paris", "avoid_conflict.follow", "avoid_conflict.unique"]


@pytest.mark.parametrize("name", sorted({*names("encoders")} - {"propagation", "committee"}))
def test_the_estimate_knows_of_training(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emea.runs.estimate.matrix_rate", lambda *_: 1e10)  # whatever else the machine is doing
    plugin = find("encoders", name, Encoder)
    settings = Settings.model_validate({"em": {"encoder": name}})
    longer = Settings.model_validate({"em": {"encoder": name}, "encoders": {name: {"epochs": 100_000}}})
    task = prepare(task_in(folder), settings.evidence)
    assert estimate(task, longer).seconds > 10 * estimate(task, settings).seconds
    assert "epochs" in plugin.Settings.model_fields
