"""Sizes of memory, as people write them."""

from __future__ import annotations

import math
import re

from emea.errors import SettingsError

LEAST = 1e6  # bytes: who gives less has left out the unit


def size_of(text: str) -> float:
    """Bytes of a size such as 8GB, 500 MB or 1.5g; without a unit bytes, of which a run needs a million at least.

    >>> size_of("1.5 GB")
    1500000000.0
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", text.lower())
    size = 0.0 if found is None else float(found[1]) * math.pow(1024 if found[3] else 1000, _power(found[2]))
    if size < LEAST:
        raise SettingsError(f"found the size '{text}', expected a number and a unit, such as 8GB or 500MB")
    return size


def _power(unit: str) -> int:
    return " kmgt".index(unit or " ")
