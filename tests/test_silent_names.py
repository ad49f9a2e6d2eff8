"""Names in two scripts tell nothing of who is the same: where known pairs say so, structure decides."""

import numpy as np
import pyarrow as pa
import torch

from emea.data import LITERAL_SCHEMA, Graph, Links, Task
from emea.evidence.prepared import prepare
from emea.runs.align import align
from emea.settings import load

ENTITIES, SEEDS = 1000, 100
NAMED_ALIKE = 0.15  # of the entities: their names are the same in both graphs


def names(draw: np.random.Generator, letters: str) -> list[str]:
    return ["".join(draw.choice([*letters], 9)) for _ in range(ENTITIES)]


def two_scripts() -> Task:
    draw = np.random.default_rng(0)
    edges = np.stack([*draw.integers(ENTITIES, size=(2, 3 * ENTITIES)), draw.integers(6, size=3 * ENTITIES)], 1)
    edges = edges[:, [0, 2, 1]]
    own, other = names(draw, "aeioulmnrst"), names(draw, "bcdfghjkpqvwxyz")
    alike = draw.random(ENTITIES) < NAMED_ALIKE
    graphs = []
    for side, said in (("s", own), ("t", np.where(alike, own, other))):
        rows = [(number, 0, name, "", "") for number, name in enumerate(said)]
        table = pa.table([*zip(*rows, strict=True)], schema=LITERAL_SCHEMA)
        kept = edges[draw.random(len(edges)) < 0.8]
        ids = [f"{side}{number}" for number in range(ENTITIES)]
        graphs.append(Graph.build(ids, [*"uvwxyz"], kept, attributes=["name"], literals=table))
    known = torch.from_numpy(draw.permutation(ENTITIES)[:SEEDS])
    return Task(*graphs, Links.build(known, known))


def test_structure_links_what_names_in_another_script_do_not() -> None:
    """Judged by names and linked neighbours alone, .15 of the pairs are found."""
    task, settings = two_scripts(), load(evidence={"kind": "names"})
    found = align(prepare(task, settings.evidence), settings).alignment
    right = int((found.source == found.target).sum())
    assert right / (ENTITIES - SEEDS) > 0.9
    assert right / len(found) > 0.98
