"""Sizes of memory, as people write them."""

from __future__ import annotations

import math
import re

from emea.errors import SettingsError


def size_of(text: str) -> float:
    """Bytes of a size such as 8GB, 500 MB or 1.5g; without a unit bytes.

    >>> size_of("1.5 GB")
    1500000000.0
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", text.lower())
    if found is None or not float(found[1]):
        raise SettingsError(f"found the size '{text}', expected a number and a unit, such as 8GB or 500MB")
    return float(found[1]) * math.pow(1024 if found[3] else 1000, " kmgt".index(found[2] or " "))
