"""The example without zones and cities: a third of its entities, so that a run by names and values takes no time."""

import gzip
from pathlib import Path

import pyoxigraph
from pyoxigraph import Literal, RdfFormat

import emea

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
