"""The files of a run folder, by name."""

from __future__ import annotations

import json
import struct
from pathlib import Path

RESULTS = {  # what a finished run leaves, and what it is
    "alignment.tsv": "the links with confidence",
    "alignment.sssom.tsv": "the same as SSSOM",
    "alignment.nt": "the same as owl:sameAs",
    "relations.tsv": "which relations are contained in which",
    "relations.sssom.tsv": "the likely ones as SSSOM",
    "candidates.tsv": "the most probable counterparts of each source",
    "summary.json": "links, expected precision, entities without counterpart",
    "metrics.json": "the measures above and more",
}
RECORDS = {  # what a run writes as it goes on
    "rounds.jsonl": "what each round found",
    "settings.toml": "everything needed to repeat the run",
}
CHECKPOINT = "checkpoint.safetensors"


def finished(folder: Path) -> bool:
    """Whether a folder holds a run with all its results."""
    return (folder / "candidates.tsv").exists() and not (folder / CHECKPOINT).exists()


def rounds_done(folder: Path) -> int:
    """How many rounds an interrupted run has completed. Read from the head of its checkpoint, without loading torch."""
    try:
        with (folder / CHECKPOINT).open("rb") as file:
            (size,) = struct.unpack("<Q", file.read(8))  # of the head, as safetensors has it
            return int(json.loads(json.loads(file.read(size))["__metadata__"]["record"])["done"])
    except (OSError, ValueError, KeyError, struct.error):
        return 0  # none yet, or a checkpoint that --resume will complain about
