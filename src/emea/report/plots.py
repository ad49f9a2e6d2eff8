"""The figures of a finished run by name, as Vega-Lite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from emea.errors import InputError, SettingsError
from emea.report.figures import SCHEMA, accepted_chart, reliability_chart
from emea.report.reading import FinishedRun
from emea.runs.finished import evaluate_run

NAMES = ("confidence", "rounds", "reliability", "precision-recall")


def plotted(name: str, folder: Path, reference: Path | None = None, *, complete: bool = False) -> dict[str, Any]:
    """A figure; those about right and wrong links need known pairs, or a run that had some."""
    if name not in NAMES:
        raise SettingsError(f"found figure '{name}', expected one of {', '.join(NAMES)}")
    run = FinishedRun.read(folder)
    if name == "confidence":
        return _figure(_confidence(run))
    if name == "rounds":
        return _figure(_rounds(run))
    measures = run.measures
    if reference is not None:
        measures = evaluate_run(folder, reference, complete=complete).to_dict()
    if measures is None:
        raise InputError(f"{folder} knows no true pairs; expected --reference PAIRS")
    reading = "strict" if complete else "known sources"
    told = {reading: measures["alignment"][reading]}
    return _figure((reliability_chart if name == "reliability" else accepted_chart)(told))


def _figure(chart: dict[str, Any]) -> dict[str, Any]:
    return {"$schema": SCHEMA, "background": "white", **chart}


def _confidence(run: FinishedRun) -> dict[str, Any]:
    """How many links there are at each confidence."""
    return {
        "data": {"values": [{"confidence": value} for value in run.confidence.tolist()]},
        "mark": "bar",
        "encoding": {
            "x": {"field": "confidence", "type": "quantitative", "bin": {"step": 0.05}, "title": "confidence"},
            "y": {"aggregate": "count", "title": "links"},
        },
    }


def _rounds(run: FinishedRun) -> dict[str, Any]:
    """How many pairs each round labelled, and how long it took; loops that went ahead are left out, as their rounds
    have the same numbers."""
    if not run.rounds:
        raise InputError(f"{run.folder} keeps no record of rounds; expected rounds.jsonl")
    main = [record for record in run.rounds if not record.get("scout")]
    x = {"field": "round", "type": "ordinal", "title": "round", "axis": {"labelAngle": 0}}
    shown = (("pseudo_labels", "pairs labelled"), ("seconds", "seconds"))
    return {
        "data": {"values": main},
        "hconcat": [
            {
                "width": 240,
                "mark": {"type": "line", "point": True},
                "encoding": {"x": x, "y": {"field": field, "type": "quantitative", "title": title}},
            }
            for field, title in shown
        ],
    }
