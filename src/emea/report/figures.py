"""Figures of a run's measures, as Vega-Lite; picture files need the extra `plots`."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from emea.analysis.measures import Measures, spelled_out
from emea.errors import SettingsError
from emea.formats._files import write_text, writing

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
SUFFIXES = (".svg", ".png", ".pdf", ".html", ".json")
READING = {"field": "reading", "type": "nominal", "title": "counted"}
UNIT = {"domain": [0, 1]}


def reliability_plot(measures: Measures) -> dict[str, Any]:
    """Are links right as often as their confidence says, and what is gained by accepting only the surest?"""
    readings = spelled_out(measures.alignment)
    charts = [{"title": "reliability", **reliability_chart(readings)}, accepted_chart(readings)]
    return {"$schema": SCHEMA, "background": "white", "hconcat": charts}


def reliability_chart(readings: dict[str, Any]) -> dict[str, Any]:
    """The share of right links against confidence, for each reading of the known pairs."""
    x, y = _axis("confidence", "confidence"), _axis("right", "share of right links")
    exact = {
        "data": {"values": [{"confidence": 0, "right": 0}, {"confidence": 1, "right": 1}]},
        "mark": {"type": "line", "strokeDash": [4, 4], "color": "#888"},
        "encoding": {"x": x, "y": y},
    }
    found = {
        "data": {"values": _rows(readings, "reliability")},
        "mark": {"type": "line", "point": True},
        "encoding": {"x": x, "y": y, "color": READING},
    }
    return {"layer": [exact, found]}


def accepted_chart(readings: dict[str, Any]) -> dict[str, Any]:
    """Precision against recall, for each reading of the known pairs."""
    points = [{**row, "links accepted": row["links"]} for row in _rows(readings, "curve")]
    return {
        "title": "accepting the surest links",
        "data": {"values": points},
        "mark": {"type": "line"},
        "encoding": {"x": _axis("recall", "recall"), "y": _axis("precision", "precision"), "color": READING},
    }


def can_draw() -> bool:
    """Whether figures can be made into pictures here."""
    return find_spec("vl_convert") is not None


def save_plot(spec: dict[str, Any], path: Path) -> None:
    """Write a figure; the suffix names the format."""
    if path.suffix == ".json":
        write_text(path, json.dumps(spec, indent=1) + "\n")
        return
    if path.suffix not in SUFFIXES:
        raise SettingsError(f"found {path.name}, expected a figure as {', '.join(SUFFIXES)}")
    vl_convert = converter(path.suffix, ".json")
    if path.suffix in {".svg", ".html"}:
        page = path.suffix == ".html"  # which loads nothing from outside
        write_text(path, vl_convert.vegalite_to_html(spec, bundle=True) if page else vl_convert.vegalite_to_svg(spec))
        return
    picture = vl_convert.vegalite_to_pdf(spec) if path.suffix == ".pdf" else vl_convert.vegalite_to_png(spec, scale=2)
    with writing(path) as file:
        file.write(picture)


def converter(wanted: str, otherwise: str) -> ModuleType:
    """What makes pictures; without it, only the other suffix can be written."""
    try:
        import vl_convert
    except ImportError as error:
        raise SettingsError(
            f"{wanted} needs the extra: pip install 'emea[plots]'; {otherwise} works as it is"
        ) from error
    found: ModuleType = vl_convert
    return found


def _rows(readings: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [{**row, "reading": reading} for reading, one in readings.items() for row in one[name]]


def _axis(field: str, title: str) -> dict[str, Any]:
    return {"field": field, "type": "quantitative", "title": title, "scale": UNIT}
