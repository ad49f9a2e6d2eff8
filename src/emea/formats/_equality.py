"""How RDF states that two entities are the same: concepts, classes and properties have relations of their own."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea.data import Alignment, Graph, Task
from emea.formats._selection import TERMS, expanded, held_types

SAME = "owl:sameAs"
STATED = {  # by the types of both; owl:sameAs would make one individual of two concepts or classes
    "skos:exactMatch": TERMS["concepts"],
    "owl:equivalentClass": TERMS["classes"],
    "owl:equivalentProperty": ("owl:ObjectProperty", "owl:DatatypeProperty", "owl:AnnotationProperty", "rdf:Property"),
}


def stated(links: Alignment, task: Task) -> pa.Array:
    """The relation that states each link, as a CURIE, [links]."""
    source, target = links.source.cpu().numpy(), links.target.cpu().numpy()
    found, relations = np.zeros(len(source), dtype=np.int64), [SAME, *STATED]
    for number, types in reversed([*enumerate(STATED.values(), 1)]):  # the first that fits is written last
        ours, theirs = (_of(graph, types) for graph in (task.source, task.target))
        found[ours[source] & theirs[target]] = number
    return pa.array(relations, pa.large_string()).take(pa.array(found))


def _of(graph: Graph, types: tuple[str, ...]) -> np.ndarray:
    """Which entities have one of these types, [entities] bool."""
    held = held_types(graph)
    wanted = pa.array([expanded(each) for each in types], pa.large_string())
    fits = pc.is_in(graph.entities.take(pa.array(held[:, 1])), wanted).to_numpy(zero_copy_only=False)
    found = np.zeros(len(graph.entities), dtype=bool)
    found[held[fits, 0]] = True
    return found
