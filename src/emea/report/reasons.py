"""Why sources are not linked, as unlinked.tsv says it, by what the phrases have in common."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from emea.runs.unlinked import NONE

COMMON = (  # phrases of runs/unlinked.py
    (
        r"; --cardinality \S+ links both, if they are one$",
        "the candidate fits another source nearly as well: a duplicate?",
    ),
    (rf"^{NONE}the nearest candidate is taken by ", f"{NONE}the nearest candidate is taken by another source"),
    (rf"^{NONE}[\d.]+ for none, ", f"{NONE}to have none is likelier than the candidate"),
    (r"^its link to .* is excluded$", "its link is excluded"),
    (r"^taken by .* with \.?\d+(\.\d+)?$", "the candidate is taken by another source"),
    (r"^the candidate fits .* better$", "the candidate fits another source better"),
    (r"^(confidence|probability) [\d.]+ below ", "confidence too low"),
    (r"^(confidence|probability) [\d.]+ too low for", "confidence too low for the precision asked for"),
)


def grouped(why: pa.ChunkedArray) -> list[str]:
    """Each reason without names and numbers.

    >>> grouped(pa.chunked_array([["taken by Wien with .97", "confidence .41 below .50", "no candidate"]]))
    ['the candidate is taken by another source', 'confidence too low', 'no candidate']
    """
    for pattern, common in COMMON:
        why = pc.if_else(pc.match_substring_regex(why, pattern), common, why)
    found: list[str] = why.to_pylist()
    return found
