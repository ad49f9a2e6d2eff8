"""The checkpoint: what a run needs to resume after its last complete round, in one file, written atomically."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from emea.data import Links, Task
from emea.errors import InputError
from emea.formats._files import writing
from emea.method.probability import Scale
from emea.method.rounds import State
from emea.runs.folder import CHECKPOINT

FORMAT = 4  # of what is in it
COLUMNS = ("source", "target", "weight")  # of links
ROWS = 1 << 18  # whose text is held at a time


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The state of the loop and the records of the rounds so far."""

    state: State
    rounds: list[dict[str, Any]]
    timings: list[dict[str, Any]]
    sources: dict[str, str] = field(default_factory=dict)  # fingerprints of plug-ins that are not part of this package

    def write(self, folder: Path, task: Task) -> None:
        """Put the checkpoint in place of the last one."""
        state = self.state
        tensors = {
            **_columns("labels", state.labels),
            **_columns("scouted", state.scouted),
            "trials": state.trials,
            "random": state.random,
            **{f"encoder.{name}": value for name, value in state.encoder.items()},
        }
        tensors = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
        record = {
            "done": state.done,
            "scale": asdict(state.scale),
            "fold": state.fold,
            "scouts": state.scouts,
            "rounds": self.rounds,
            "timings": self.timings,
            "sources": self.sources,
        }
        record |= {"task": fingerprint(task), "format": FORMAT}
        text = json.dumps(record)
        metadata = {"record": text, "checksum": _checksum(text, tensors)}
        with writing(folder / CHECKPOINT) as file:
            file.write(save(tensors, metadata))

    @classmethod
    def read(cls, folder: Path, task: Task) -> Checkpoint | None:
        """The checkpoint in a folder, None where there is none; an altered one, or one of other graphs, is refused."""
        path = folder / CHECKPOINT
        if not path.exists():
            return None
        try:
            with safe_open(path, framework="pt") as file:
                metadata = file.metadata() or {}
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
        except (SafetensorError, OSError) as error:
            raise InputError(f"{path} is not a complete checkpoint ({error}); delete it to start over") from error
        text = metadata.get("record", "")
        if metadata.get("checksum") != _checksum(text, tensors):
            raise InputError(f"{path} was changed after it was written; delete it to start over")
        if not all(bool(torch.isfinite(value).all()) for value in tensors.values() if value.is_floating_point()):
            raise InputError(f"{path} holds invalid numbers; delete it to start over")
        record = json.loads(text)
        if record.get("format") != FORMAT:
            raise InputError(f"{path} was written by another version of emea; delete it to start over")
        if record["task"] != fingerprint(task):
            raise InputError(f"{path} belongs to other graphs or seeds than the present ones")
        encoder = {
            name.removeprefix("encoder."): value for name, value in tensors.items() if name.startswith("encoder.")
        }
        labels, scouted = (
            Links(*(tensors[f"{name}.{column}"] for column in COLUMNS)) for name in ("labels", "scouted")
        )
        state = State(
            done=record["done"],
            labels=labels,
            scale=Scale(**record["scale"]),
            fold=record["fold"],
            scouts=record["scouts"],
            scouted=scouted,
            trials=tensors["trials"],
            random=tensors["random"],
            encoder=encoder,
        )
        return cls(state, record["rounds"], record["timings"], record.get("sources", {}))

    @staticmethod
    def remove(folder: Path) -> None:
        """Take the checkpoint away, once the results are written."""
        (folder / CHECKPOINT).unlink(missing_ok=True)


def _columns(name: str, links: Links) -> dict[str, Tensor]:
    return {f"{name}.{column}": getattr(links, column) for column in COLUMNS}


def fingerprint(task: Task) -> str:
    """A number for the two graphs and the seeds, the same only for the same ones."""
    digest = hashlib.sha256()
    for graph in (task.source, task.target):
        digest.update(graph.triples.numpy().tobytes())
        digest.update(graph.linkable.numpy().tobytes())
        for column in (pa.chunked_array([graph.entities]), *graph.literals.columns):
            for part in _lines(column):
                digest.update(part)
    for column in (*task.seeds.columns, *task.exclusions.columns, *task.unmatched.columns):
        digest.update(column.numpy().tobytes())
    return digest.hexdigest()


def _lines(column: pa.ChunkedArray) -> Iterator[bytes]:
    """The values of a column as text, one a line, in parts."""
    newline, nothing = (pa.scalar(text, pa.large_string()) for text in ("\n", ""))
    first = 1
    for start in range(0, len(column), ROWS):
        chunks = column.slice(start, ROWS).cast(pa.large_string()).fill_null("None").chunks
        for lines in (pc.binary_join_element_wise(newline, chunk, nothing) for chunk in chunks if len(chunk)):
            yield bytes(lines.buffers()[2])[first:]  # no line break before the first one
            first = 0


def _checksum(text: str, tensors: dict[str, Tensor]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].numpy().tobytes())
    return digest.hexdigest()
