"""Figures: made of the measures, in the format that the suffix names."""

import json
import sys
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from emea.analysis.calibration import calibration_error, curve, reliability
from emea.analysis.measures import Alignments, LinkMeasures, Measures
from emea.cli import app
from emea.errors import SettingsError
from emea.report.figures import reliability_plot, save_plot

CONFIDENCE = torch.tensor([0.9, 0.8, 0.7, 0.6]).repeat_interleave(30)
RIGHT = torch.tensor([True, True, False, True]).repeat_interleave(30)
BINS, POINTS = reliability(CONFIDENCE, RIGHT), curve(CONFIDENCE, RIGHT, 150)
LINKS = LinkMeasures(120, 3 / 4, 3 / 5, 2 / 3, calibration_error(BINS), BINS, POINTS)
MEASURES = Measures(5, {}, Alignments(known_sources=LINKS, strict=LINKS))
SPEC = reliability_plot(MEASURES)


def test_a_figure_holds_the_measures() -> None:
    shown, accepted = SPEC["hconcat"]
    bins = shown["layer"][1]["data"]["values"]
    assert [row["right"] for row in bins if row["reading"] == "strict"] == [1.0, 0.0, 1.0, 1.0]
    assert len(accepted["data"]["values"]) == 8


@pytest.mark.slow
@pytest.mark.parametrize(("suffix", "start"), [(".svg", b"<svg"), (".png", b"\x89PNG"), (".html", b"<!DOCTYPE html>")])
def test_figures_are_written(suffix: str, start: bytes, tmp_path: Path) -> None:
    save_plot(SPEC, tmp_path / f"figure{suffix}")
    found = (tmp_path / f"figure{suffix}").read_bytes()
    assert found.lstrip().startswith(start)
    assert b"<script src=" not in found  # nothing is loaded from outside


def test_without_the_extra_there_is_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    save_plot(SPEC, tmp_path / "figure.json")
    assert json.loads((tmp_path / "figure.json").read_text()) == SPEC
    with pytest.raises(SettingsError, match="emea\\[plots\\]"):
        save_plot(SPEC, tmp_path / "figure.svg")
    with pytest.raises(SettingsError, match="expected a figure as"):
        save_plot(SPEC, tmp_path / "figure.gif")


def test_the_measures_are_shown_before_a_figure_that_cannot_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    monkeypatch.setattr("emea.runs.finished.evaluate_run", lambda *_, **__: MEASURES)
    done = CliRunner().invoke(app, ["evaluate", "run", "--reference", "truth.tsv", "--plot", "r.svg", "--json"])
    assert json.loads(done.stdout) == json.loads(json.dumps(MEASURES.to_dict()))
    assert isinstance(done.exception, SettingsError)
