"""The doctor says what is installed, what is missing and how to get it, and whether the example reads."""

import json
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from emea.cli import app
from emea.errors import InputError
from emea.runs import doctor


def test_what_is_found_is_shown() -> None:
    done = CliRunner().invoke(app, ["doctor"])
    assert done.exit_code == 0, done.output
    assert f"torch {torch.__version__}" in done.stdout
    assert "1,705 and 3,132 entities, 989 true links" in done.stdout
    used = "cuda" if torch.cuda.is_available() else f"cpu with {torch.get_num_threads()} threads"
    assert f"a run      uses {used}" in done.stdout


def test_the_same_as_json() -> None:
    found = json.loads(CliRunner().invoke(app, ["doctor", "--json"]).stdout)
    assert found["readable"]
    assert found["cores"] >= 1
    assert found["free_memory"] > 0
    assert {"pandas", "plots", "sentences"} <= set(found["extras"])
    assert "dev" not in found["extras"]


def test_what_is_missing_comes_with_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    have = doctor.version

    def version(name: str) -> str:
        if name in {"scipy", "vl-convert-python"}:
            raise PackageNotFoundError(name)
        return have(name)

    monkeypatch.setattr(doctor, "version", version)
    done = CliRunner().invoke(app, ["doctor"])
    assert done.exit_code == 0
    assert "scipy MISSING" in done.stdout
    assert "plots: vl-convert-python not installed" in done.stdout
    assert "pip install scipy\n" in done.stdout
    assert "pip install 'emea[plots]'" in done.stdout


def test_an_example_that_cannot_be_read_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged() -> None:
        raise InputError("cldr.ttl.gz is damaged")

    monkeypatch.setattr(doctor, "read_example", damaged)
    done = CliRunner().invoke(app, ["doctor"])
    assert done.exit_code == 0
    assert "cannot be read: cldr.ttl.gz is damaged" in done.stdout
    assert not doctor._example()[1]


def test_sources_that_were_not_installed_are_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def distribution(name: str) -> Path:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(doctor, "distribution", distribution)
    assert doctor.examine().packages == {"torch": torch.__version__}
