"""What is disturbed: small commands, what they leave, and how to go on after a fault."""

from __future__ import annotations

import atexit
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from faults._forked import command
from tiny_benchmark import write_benchmark

ENTITIES, EDGES, SEEDS = 60, 200, 12
SMALL = ["--set", "encoders.propagation.dimension=32", "--set", "encoders.propagation.paths=32"]
QUICK = {  # what makes a model of `best` small: these runs are about files, not about links
    "fast": SMALL,
    "best": ["--set", "em.rounds=2", *SMALL, "--set", "encoders.rrea.epochs=2", "--set", "encoders.rrea.dimension=16"],
}
UNLIKE = {"timings.jsonl", "settings.toml", "engine.json"}  # files that hold times or paths


@dataclass(frozen=True)
class Work:
    """A command, and the files or folders it makes."""

    name: str
    arguments: list[str]
    makes: str  # a file or a folder
    resume: list[str] | None = None  # instead of the command, once it has begun
    needs: tuple[list[str], ...] = ()  # commands before it
    known: dict[str, bytes] = field(default_factory=dict)  # what it makes undisturbed
    seconds: list[float] = field(default_factory=list)  # that it takes

    @property
    def single(self) -> bool:
        """Whether it makes one file."""
        return "." in self.makes

    def made(self, folder: Path) -> dict[str, bytes]:
        """The files it has made, by name; those that always differ without their content."""
        place = folder / self.makes
        paths = [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.is_file())
        unlike = {path for path in paths if path.name in UNLIKE or path.parent.name == "cells"}
        return {str(path.relative_to(folder)): b"" if path in unlike else path.read_bytes() for path in paths}

    def learn(self) -> None:
        """Run it once undisturbed."""
        if not self.known:
            with self.prepared() as folder:
                ended = command(self.arguments, folder)
                assert ended.code == 0, ended.said
                self.known.update(self.made(folder))
                self.seconds.append(ended.seconds)

    @contextmanager
    def prepared(self) -> Iterator[Path]:
        """A folder with all that it needs, always the same."""
        with tempfile.TemporaryDirectory(prefix="emea-campaign-") as place:
            folder = Path(place) / "work"
            shutil.copytree(_template(json.dumps(self.needs)), folder)
            yield folder

    def went_on(self, folder: Path) -> str:
        """What is wrong after going on: with --resume where there is a run to resume, else by the same command."""
        begun = self.resume is not None and (folder / self.makes / "settings.toml").exists()
        ended = command(self.resume if begun and self.resume else self.arguments, folder)
        nothing = "there is nothing to resume" in ended.said
        if wrong := "" if nothing else ended.complaint(0):
            return f"going on: {wrong}"
        return self.differs(folder)

    def differs(self, folder: Path) -> str:
        """What is not as it is undisturbed."""
        found = self.made(folder)
        if missing := self.known.keys() ^ found.keys():
            return f"there, or not there, against expectation: {', '.join(sorted(missing))}"
        others = sorted(name for name in found if self.known[name] != found[name])
        return f"other bytes in {', '.join(others)}" if others else ""


@cache
def _template(needs: str) -> Path:
    """A folder with the graphs, and with what some commands make of them."""
    place = tempfile.TemporaryDirectory(prefix="emea-campaign-")
    atexit.register(place.cleanup)
    write_graphs(Path(place.name))
    write_benchmark(Path(place.name) / "openea")
    for arguments in json.loads(needs):
        ended = command(arguments, Path(place.name))
        assert ended.code == 0, ended.said
    return Path(place.name)


def write_graphs(folder: Path) -> None:
    """Two small graphs with names, and a few known pairs."""
    draw = random.Random(0)
    edges = [(draw.randrange(ENTITIES), draw.randrange(4), draw.randrange(ENTITIES)) for _ in range(EDGES)]
    for side in ("source", "target"):
        rows = [f"<urn:{side}:e{head}> <urn:{side}:r{kind}> <urn:{side}:e{tail}> .\n" for head, kind, tail in edges]
        label = "<http://www.w3.org/2000/01/rdf-schema#label>"
        names = [f'<urn:{side}:e{number}> {label} "name {number * 7919 % 1000}" .\n' for number in range(ENTITIES)]
        (folder / f"{side}.nt").write_text("".join([*rows, *names]), encoding="utf-8")
    pairs = [f"urn:source:e{number}\turn:target:e{number}\n" for number in range(ENTITIES)]
    (folder / "seeds.tsv").write_text("".join(pairs[:SEEDS]), encoding="utf-8")
    (folder / "truth.tsv").write_text("".join(pairs[SEEDS:]), encoding="utf-8")


def align(preset: str, out: str = "run", *more: str) -> list[str]:
    """The command that links the graphs."""
    inputs = ["align", "source.nt", "target.nt", "--seeds", "seeds.tsv", "--preset", preset, "--device", "cpu"]
    return [*inputs, *QUICK[preset], "--out", out, *more]


LINKED = align("fast", "run", "--quiet")
REPRODUCE = ["reproduce", "appendix-a", "--data", "openea", "--ratios", "0.3", "--splits", "0", "--preset", "fast"]
REPRODUCE += ["--set", "em.rounds=1", "--set", "encoders.rrea={dimension=16, epochs=3, more_epochs=1}"]
REPRODUCE += ["--device", "cpu", "--out", "pages"]
RESUME = ["align", "--resume", "--out", "run"]
WORKS = [
    Work("align fast", align("fast"), "run", RESUME),
    Work("align best", align("best"), "run", RESUME),
    Work("align by structure", align("fast", "run", "--evidence", "structure"), "run", RESUME),
    Work("align by paris", [*align("fast"), "--method", "paris", "--force"], "run"),
    Work(
        "align over a finished run", align("fast", "run", "--force"), "run", RESUME, (align("fast", "run", "--quiet"),)
    ),
    Work("reproduce", REPRODUCE, "pages"),
    Work("report", ["report", "run"], "report.html", None, (LINKED,)),
    Work("merge", ["merge", "run", "--out", "merged.ttl"], "merged.ttl", None, (LINKED,)),
    Work("plot", ["plot", "run", "confidence", "--out", "plot.json"], "plot.json", None, (LINKED,)),
    Work("convert", ["convert", "source.nt", "made.parquet"], "made.parquet"),
    Work("convert, packed", ["convert", "source.nt", "made.csv.gz"], "made.csv.gz"),
]
