"""The most probable candidate of an entity without a link: the one that a run lists as unlinked."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea.method.rounds import Outcome
from emea.runs.folder import written_table
from emea.runs.tables import read_blocks
from emea.runs.unlinked import best_rows

Closest = Callable[[int, str, int], str | int | None]  # side, name and number of an entity; name or number of the other
LISTED = (("unlinked", "source"), ("unlinked.targets", "target"))


def in_folder(folder: Path) -> Closest:
    """By the tables of a finished run, read when they are asked for."""

    def closest(side: int, name: str, _: int) -> str | None:
        table, column = LISTED[side]
        path = written_table(folder, table)
        if not path.exists():
            return None
        for block in read_blocks(path, {column: pa.large_string(), "candidate": pa.large_string()}):
            found = block["candidate"].filter(pc.equal(block[column], name))
            if len(found):
                return found[0].as_py() or None
        return None

    return closest


def in_memory(outcome: Outcome) -> Closest:
    """The same of a run that was not written."""

    @cache
    def best(side: int) -> tuple[np.ndarray, np.ndarray]:
        beliefs = outcome.counterparts.swap() if side else outcome.counterparts
        return best_rows(beliefs), beliefs.candidates.target.cpu().numpy()

    def closest(side: int, _: str, entity: int) -> int | None:
        rows, others = best(side)
        return int(others[rows[entity]]) if rows[entity] >= 0 else None

    return closest
