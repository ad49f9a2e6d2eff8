"""Data that somebody made to do harm: it must come to a clear end in bounded time and memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from faults import Case, Kind
from faults._forked import limit_memory, load, start
from faults._hostile_files import GRAPHS, PAIRS, READ

SECONDS, MEMORY = 600.0, 6 << 30  # of each case; bytes beside what is loaded before


def read(name: str, folder: Path) -> str:
    """What is wrong with the end of converting a file: it must be read, or refused with a sentence."""
    READ[name](folder / name)
    return _ended(["convert", name, "converted.nt"], folder)


def paired(name: str, folder: Path) -> str:
    """The same of known pairs."""
    (folder / "source.tsv").write_text("a\tnext\tb\nb\tnext\tc\n", encoding="utf-8")
    (folder / "target.tsv").write_text("x\tnext\ty\ny\tnext\tz\n", encoding="utf-8")
    PAIRS[name](folder / name)
    return _ended(["align", "source.tsv", "target.tsv", "--seeds", name, "--device", "cpu", "--out", "run"], folder)


def linked(name: str, folder: Path) -> str:
    """What is wrong with linking two such graphs, and with the page about it."""
    GRAPHS[name](folder)
    line = ["align", "source.nt", "target.nt", "--device", "cpu", "--out", "run"]
    if (folder / "seeds.tsv").exists():
        line += ["--seeds", "seeds.tsv"]
    wrong = _ended(line, folder)
    if wrong or not (folder / "run" / "summary.json").exists():
        return wrong
    return _ended(["report", "run"], folder, 0) or _control(folder)


def _ended(line: list[str], folder: Path, *codes: int) -> str:
    ended = start(line, folder, limit_memory(MEMORY)).wait(SECONDS)
    if wrong := ended.complaint(*(codes or (0, 2, 3))):
        return f"{line[0]}: {wrong} ({ended.seconds:.0f} s)"
    letters = {letter for letter in ended.said if ord(letter) < 32 and letter not in "\n\t\r"} & {
        "\x07",
        "\x00",
        "\x1b",
    }
    return f"{line[0]} sent control characters to the terminal: {letters}" if letters else ""


def _control(folder: Path) -> str:
    """What would break the table of links."""
    lines = (folder / "run" / "alignment.tsv").read_text(encoding="utf-8").rstrip("\n").split("\n")
    columns = lines[0].count("\t")
    return "" if all(line.count("\t") == columns for line in lines) else "alignment.tsv has rows of other lengths"


def cases(numbers: range) -> Iterator[Case]:
    """Graphs, pairs, and files; those that take long last."""
    load()
    every = [(linked, name) for name in GRAPHS] + [(paired, name) for name in PAIRS] + [(read, name) for name in READ]
    for work, name in every[numbers.start : numbers.stop]:
        with tempfile.TemporaryDirectory(prefix="emea-campaign-") as folder:
            yield f"{work.__name__} {name}", work(name, Path(folder))


KIND = Kind(
    "hostile data",
    "billion laughs, zip and gzip bombs, 1 GB lines, 10 M relations, self-loops, one hub, all names equal, NaN and "
    "infinities, control characters, right-to-left overrides: bounded time and memory, a clear end",
    len(READ) + len(PAIRS) + len(GRAPHS),
    cases,
    "`tests/formats/test_bad_files.py`, `tests/formats/test_rdf_xml.py`, `tests/test_campaign.py`",
    "A case is a file that is converted, a file of known pairs, or two graphs that are linked and reported on, "
    "within ten minutes and 6 GB; it must end well, or with one sentence. Graphs that are linked have 2,000 to 4,000 "
    "entities (20 with names of a megabyte); files have the sizes asked for. Graphs come first, what takes long last.",
)
