"""The example without zones and cities: a third of its entities, so that a run by names and values takes no time."""

import gzip
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pyoxigraph
from pyoxigraph import Literal, RdfFormat

import emea
from emea.data import Graph, Links, Reference, Task
from emea.formats import read_graph, read_pairs
from emea.formats._choice import split

WORLD = Path(emea.__file__).parent / "examples" / "world"
LEFT_OUT = {"zone", "Windows zone", "time zone", "city"}


def write_small_world(folder: Path) -> list[str]:
    """Both graphs as N-Triples; returns their paths, the source first."""
    paths = []
    for name in ("cldr", "geonames"):
        rows = list(pyoxigraph.parse(gzip.decompress((WORLD / f"{name}.ttl.gz").read_bytes()), RdfFormat.TURTLE))
        left_out = {
            row.subject
            for row in rows
            if row.predicate.value.endswith("/kind")
            and isinstance(row.object, Literal)
            and row.object.value in LEFT_OUT
        }
        kept = [row.triple for row in rows if not {row.subject, row.object} & left_out]
        paths.append(str(folder / f"{name}.nt"))
        pyoxigraph.serialize(kept, paths[-1], RdfFormat.N_TRIPLES)
    return paths


def read_small_world(seeds: int) -> tuple[Task, Reference]:
    """Both graphs with so many of their links as seeds, and the others."""
    source, target, links = _graphs_and_links()
    known, _, others = split(links, seeds / len(links), 0, validation=0)
    return Task(source, target, known, benchmark=True), Reference(others)


@cache
def _graphs_and_links() -> tuple[Graph, Graph, Links]:
    with TemporaryDirectory() as folder:
        source, target = (read_graph(Path(path)) for path in write_small_world(Path(folder)))
        rows = [line.split("\t") for line in (WORLD / "links.tsv").read_text(encoding="utf-8").splitlines()]
        names = [{*graph.entities.to_pylist()} for graph in (source, target)]
        kept = [row for row in rows if row[0] in names[0] and row[1] in names[1]]
        path = Path(folder) / "links.tsv"
        path.write_text("".join("\t".join(row) + "\n" for row in kept), encoding="utf-8")
        return source, target, read_pairs(path, source, target)
