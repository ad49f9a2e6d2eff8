"""The files of a run folder, by name."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from emea.errors import InputError, SettingsError

ALIGNMENTS = {  # by format; alignment.tsv is always written
    "sssom": "alignment.sssom.tsv",
    "nt": "alignment.nt",
    "ttl": "alignment.ttl",
    "rdf": "alignment.rdf",
    "csv": "alignment.csv",
    "parquet": "alignment.parquet",
}
USUAL_FORMATS = ("sssom", "nt")
REVIEW = "alignment.review.tsv"
GROUNDS = "grounds.safetensors"
REPORT = "report.html"
ENGINE = "engine.json"
RESULTS = {  # what a finished run leaves, and what it is
    "alignment.tsv": "the links with confidence",
    "alignment.sssom.tsv": "the same as SSSOM",
    "alignment.nt": "the same as RDF: owl:sameAs and the like",
    "alignment.ttl": "the same as RDF in Turtle",
    "alignment.rdf": "the same as an OAEI alignment",
    "alignment.csv": "the same as CSV",
    "alignment.parquet": "the same as Parquet",
    REVIEW: "the same to decide on, the most doubtful first",
    "unlinked.tsv": "the sources without a link, and why",
    "unlinked.parquet": "the sources without a link, and why",
    "unlinked.targets.tsv": "the targets without a link",
    "unlinked.targets.parquet": "the targets without a link",
    "relations.tsv": "which relations are contained in which",
    "relations.sssom.tsv": "the likely ones as SSSOM",
    "candidates.tsv": "the most probable counterparts of each source",
    "candidates.parquet": "the most probable counterparts of each source",
    GROUNDS: "what confidence was computed from, for `emea explain`",
    "summary.json": "links, expected precision, for how many nothing was found",
    "metrics.json": "the measures above and more",
    ENGINE: "where the work of a run on a cluster was done",
    REPORT: "a page about all of this, to open in a browser",
}
RECORDS = {  # what a run writes as it goes on
    "rounds.jsonl": "what each round found",
    "settings.toml": "everything needed to repeat the run",
}
CHECKPOINT = "checkpoint.safetensors"
KEPT = (*RESULTS, *RECORDS, "timings.jsonl", "seeds.tsv", "validation.tsv", CHECKPOINT)  # all that a run may write
LAST = "summary.json"  # of the results
BEING_WRITTEN = "a run is being written into {}; expected it to end first"
IN_USE = "{} is in use by a run, a report or a review page; expected that to end first, or another --out"


def table_to_write(folder: Path, name: str, formats: Iterable[str]) -> Path:
    """Where a run with these formats writes its candidates or what is unlinked: as Parquet if that is among them."""
    return folder / f"{name}.{'parquet' if 'parquet' in formats else 'tsv'}"


def written_table(folder: Path, name: str) -> Path:
    """Where a run has written its candidates or what is unlinked."""
    packed = folder / f"{name}.parquet"
    return packed if packed.exists() else folder / f"{name}.tsv"


def finished(folder: Path) -> bool:
    """Whether a folder holds a run with all its results."""
    results = (written_table(folder, "candidates"), folder / LAST)
    return all(path.exists() for path in results) and not (folder / CHECKPOINT).exists()


@contextmanager
def held(folder: Path, *, shared: bool = False) -> Iterator[None]:
    """Keep a folder from other processes: whoever writes it is alone, whoever reads it is not disturbed by a run.
    Where the system cannot keep it (Windows, some networks), it is everybody's."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    place = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(place, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(BEING_WRITTEN.format(folder) if shared else IN_USE.format(folder)) from error
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(place)  # which gives it free, as the end of the process does


def clear(folder: Path) -> None:
    """Take away what another run left: results, the last one first, and files that it could not complete."""
    for name in (LAST, *RESULTS, "validation.tsv"):
        (folder / name).unlink(missing_ok=True)
    for path in folder.glob(".*.part"):
        if path.name[1:].rpartition(".part")[0].rpartition(".")[0] in KEPT:
            path.unlink(missing_ok=True)


def take_away(folder: Path) -> None:
    """Take away what a run has written before its first round ended: there is nothing to go on from."""
    if (folder / "rounds.jsonl").exists() or (folder / CHECKPOINT).exists():
        return
    clear(folder)
    for name in KEPT:
        (folder / name).unlink(missing_ok=True)


def check_run(folder: Path) -> None:
    """Refuse what is not the folder of a run."""
    if not (folder / "settings.toml").exists():
        if not folder.exists() and folder.parts and folder.parts[0].endswith(":"):
            raise InputError(f"found an address ({folder.parts[0]}//…), expected a folder here; copy the run first")
        why = "it has no settings.toml" if folder.exists() else "it does not exist"
        raise InputError(f"{folder} is not a run folder: {why}")


def check_formats(formats: Iterable[str]) -> None:
    """Refuse a format in which no alignment is written."""
    for name in formats:
        if name not in ALIGNMENTS:
            raise SettingsError(f"--format: found '{name}', expected one of {', '.join(ALIGNMENTS)}")


def refuse_losing_decisions(folder: Path) -> None:
    """Refuse a folder in which somebody has begun to decide on links: a run would write over that."""
    path = folder / REVIEW
    if path.exists():
        header, *rows = path.read_text(encoding="utf-8", errors="replace").splitlines() or [""]
        columns = header.strip("\ufeff").split("\t")
        place = columns.index("decision") if "decision" in columns else len(columns)
        if any(cell.strip() for row in rows for cell in row.split("\t")[place : place + 1]):
            raise InputError(f"{path} holds decisions that would be lost; move it away first, or give another --out")


def rounds_done(folder: Path) -> tuple[int, int]:
    """How many loops that go ahead an interrupted run has completed, and how many rounds of the loop that it is in.
    Read from the head of its checkpoint, without loading torch."""
    try:
        with (folder / CHECKPOINT).open("rb") as file:
            (size,) = struct.unpack("<Q", file.read(8))  # of the head, as safetensors has it
            record = json.loads(json.loads(file.read(size))["__metadata__"]["record"])
            return int(record["scouts"]), int(record["done"])
    except (OSError, ValueError, KeyError, struct.error):
        return 0, 0  # none yet, or a checkpoint that --resume will complain about
