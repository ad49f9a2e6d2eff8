"""Examples included in the package."""

from __future__ import annotations

from pathlib import Path

from emea.data import Reference, Task
from emea.errors import InputError, shown
from emea.formats import read_graph, read_pairs
from emea.formats._choice import split

GRAPHS = {"world": ("cldr.ttl.gz", "geonames.ttl.gz")}


def example_files(name: str = "world") -> tuple[Path, Path, Path]:
    """The files of an example: source, target, and the true links."""
    if name not in GRAPHS:
        raise InputError(f"found the example {shown(name)}, expected {' or '.join(GRAPHS)}")
    source, target = GRAPHS[name]
    folder = Path(__file__).parent / name
    return folder / source, folder / target, folder / "links.tsv"


def read_example(name: str = "world", seeds: int = 50, seed: int = 0) -> tuple[Task, Reference]:
    """Two real graphs about the same things, with some of their links as seeds and the rest sealed."""
    *graphs, truth = example_files(name)
    source, target = (read_graph(path) for path in graphs)
    links = read_pairs(truth, source, target)
    known, _, others = split(links, seeds / len(links), seed, validation=0)
    return Task(source, target, known, benchmark=True), Reference(others)
