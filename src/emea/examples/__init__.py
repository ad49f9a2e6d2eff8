"""Examples included in the package."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from emea.data import Reference, Task
from emea.errors import InputError, shown
from emea.formats import read_graph, read_pairs
from emea.formats._choice import split

GRAPHS = {"world": ("cldr.ttl.gz", "geonames.ttl.gz")}


def read_example(name: str = "world", seeds: int = 50, seed: int = 0) -> tuple[Task, Reference]:
    """Two real graphs about the same things, with some of their links as seeds and the rest sealed."""
    if name not in GRAPHS:
        raise InputError(f"found the example {shown(name)}, expected {' or '.join(GRAPHS)}")
    with resources.as_file(resources.files(__name__) / name) as folder:
        source, target = (read_graph(Path(folder) / file) for file in GRAPHS[name])
        links = read_pairs(Path(folder) / "links.tsv", source, target)
    known, _, others = split(source, target, links, seeds / len(links), seed, validation=0)
    return Task(source, target, known, benchmark=True), Reference(others)
