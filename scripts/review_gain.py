"""Measures what a person's decisions do for the next run, and writes its sections of docs/results.md.

    python scripts/review_gain.py [DATA] [--device cuda] [--minutes 10] [--sets world zh_en ...]    # measure
    python scripts/review_gain.py --page                                                            # write the sections

The reviewer is simulated: asked about a source, it answers with the target that the reference has, or "unsure" where
the reference is silent. Nothing else sees the reference but the evaluation. Each run is kept in docs/review as soon as
it is measured; repeating the command continues with the missing ones.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pyarrow as pa
import torch

import emea
from _records import REPOSITORY, Records, measure_missing, measuring, read_records, write_sections
from emea.data import Links, Reference, Task
from emea.formats._writing import alignment_table
from emea.report.tables import Rows, markdown_table
from emea.result import Result
from emea.review import queues
from emea.review.dealer import Dealer
from emea.review.queues import Cards, Reach
from emea.runs.store import Cell, System
from emea.runs.unlinked import unlinked
from emea.settings import Settings, load

STORE = REPOSITORY / "docs" / "review"
SPLITS = (0, 1, 2)
TUNING = (10, 11, 12)  # splits of zh_en on which the queue may be tuned
FEW, MANY = 200, 400  # decisions
GAIN, CALIBRATED = System("gain"), System("calibration")


def gains(splits: Iterable[int] = SPLITS) -> list[Cell]:
    """The runs that show what decisions are worth: zh_en with 1 % of its links, world without any, contea."""
    of = {"zh_en": 0.01, "world": 0.0, "contea": None}
    return [Cell(GAIN, data, ratio, split) for data, ratio in of.items() for split in splits]
