"""Which entities have no name that anybody would look for."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from emea.data import Graph

W3C = "http://www.w3.org/"
UNNAMED = rf"^_:|^{W3C}|[/#]genid[-/]?\w*$"


def unnamed(graph: Graph) -> np.ndarray:
    """Which entities are blank nodes or terms of W3C vocabularies, [entities] bool."""
    found: np.ndarray = pc.match_substring_regex(graph.entities, UNNAMED).to_numpy(zero_copy_only=False)
    return found
