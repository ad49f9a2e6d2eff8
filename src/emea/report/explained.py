"""Which links of a report are explained, and by whom."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from emea.errors import EmeaError
from emea.report.graphs import Graphs

Explain = Callable[[str, str | None], dict[str, Any]]  # names of a source and a target → an explanation as JSON
LEAST_SURE, SAMPLED = 750, 250  # links that are explained; all of them if there are no more
LONGEST = 300  # characters of any text
MOST_PARTS = (16, 6, 2)  # of a group of evidence, the fewer the larger a page would be; the others are added up


def explainer(folder: Path, languages: Sequence[str], graphs: Graphs | str | None = None) -> Explain | str:
    """What explains the links of a run, or why nothing does: the one place where explanations are plugged in. Unless
    its graphs are given, they are read again."""
    from emea.runs.explaining import Explainer  # here: it loads slowly

    try:
        opened = Explainer.open(folder, languages, graphs.prepared if isinstance(graphs, Graphs) else graphs)
    except EmeaError as error:
        return str(error)
    return lambda source, target: opened.explain(source, target).to_dict()


def chosen(confidence: np.ndarray) -> list[int]:
    """The rows of the links to explain: the least sure ones, and a random sample of the others, the same each time."""
    order = np.argsort(confidence, kind="stable").tolist()
    least, others = order[:LEAST_SURE], order[LEAST_SURE:]
    return sorted(least + random.Random(0).sample(others, min(SAMPLED, len(others))))


def explanations(explain: Explain, links: pa.Table, confidence: np.ndarray) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows of links and their explanations: of those chosen, as far as there is one."""
    sources, targets = links["source"].to_pylist(), links["target"].to_pylist()
    for row in chosen(confidence):
        try:
            yield row, explain(sources[row], targets[row])
        except EmeaError:
            continue


def shortened(value: Any, most: int = MOST_PARTS[0]) -> Any:
    """The same with long texts cut and numbers rounded; of many parts, what the last ones contribute is added up.

    >>> shortened({"parts": [{"text": "a" * 1000, "log_odds": 0.123456}]})["parts"][0]["log_odds"]
    0.1235
    """
    if isinstance(value, str):
        return value if len(value) <= LONGEST else value[: LONGEST - 1] + "…"
    if isinstance(value, float):
        return round(value, 4) if math.isfinite(value) else None  # JSON knows no others
    if isinstance(value, list):
        return [shortened(each, most) for each in value]
    if isinstance(value, dict):
        made = {key: _parts(each, most) if key == "parts" else shortened(each, most) for key, each in value.items()}
        # Shown rounded down, as in the table: not to be rounded up before.
        return {**made, "confidence": value["confidence"]} if value.get("confidence") is not None else made
    return value


def _parts(parts: list[Any], most: int) -> list[Any]:
    if len(parts) <= most or not isinstance(parts[0], dict):
        return [shortened(each) for each in parts[:most]]
    order = sorted(parts, key=lambda part: -abs(part["log_odds"]))
    others = order[most - 1 :]
    rest = {"text": f"{len(others):,} others together", "log_odds": round(sum(part["log_odds"] for part in others), 4)}
    return [*(shortened(each) for each in order[: most - 1]), rest]
