"""How RDF states that two entities are the same: concepts, classes and properties have relations of their own."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea.data import Alignment, Graph, Task
from emea.formats._labels import last_part
from emea.formats._selection import TERMS, expanded, held_types

SAME = "owl:sameAs"
STATED = {  # by the types of both; owl:sameAs would make one individual of two concepts or classes
    "skos:exactMatch": TERMS["concepts"],
    "owl:equivalentClass": TERMS["classes"],  # or used as a type, whether the graph declares it a class or not
    "owl:equivalentProperty": ("owl:ObjectProperty", "owl:DatatypeProperty", "owl:AnnotationProperty", "rdf:Property"),
}


def stated(links: Alignment, task: Task) -> pa.Array:
    """The relation that states each link, as a CURIE, [links]."""
    return stated_between(links.source.cpu().numpy(), links.target.cpu().numpy(), (task.source, task.target))


def stated_between(source: np.ndarray, target: np.ndarray, graphs: tuple[Graph, Graph]) -> pa.Array:
    """The relation that states each pair of ids, as a CURIE, [pairs]; −1 is an entity that is not in its graph."""
    found, relations = np.zeros(len(source), dtype=np.int64), [SAME, *STATED]
    for number, types in reversed([*enumerate(STATED.values(), 1)]):  # the first that fits is written last
        ours, theirs = (np.append(_of(graph, types), False) for graph in graphs)  # −1 is the last
        found[ours[source] & theirs[target]] = number
    return pa.array(relations, pa.large_string()).take(pa.array(found))


def stated_by_name(pairs: pa.Table, graphs: tuple[Graph, Graph]) -> pa.Array:
    """The relation that states each pair of names in the columns source and target, as a CURIE, [pairs]."""
    source, target = (
        graph.positions(pairs[side].combine_chunks()).fill_null(-1).to_numpy()
        for side, graph in zip(("source", "target"), graphs, strict=True)
    )
    return stated_between(source, target, graphs)


def may_differ(types: Iterable[str]) -> bool:
    """Whether something of these types, the last parts of their names, may be stated by another relation than
    owl:sameAs.

    >>> may_differ(["City", "Class"]), may_differ(["City"])
    (True, False)
    """
    return not {last_part(expanded(each)) for known in STATED.values() for each in known}.isdisjoint(types)


def used_as_types(graph: Graph) -> np.ndarray:
    """Which entities are the type of others, and so are classes, [entities] bool."""
    found = np.zeros(len(graph.entities), dtype=bool)
    found[held_types(graph)[:, 1]] = True
    return found


def _of(graph: Graph, types: tuple[str, ...]) -> np.ndarray:
    """Which entities have one of these types, [entities] bool."""
    held = held_types(graph)
    wanted = pa.array([expanded(each) for each in types], pa.large_string())
    fits = pc.is_in(graph.entities.take(pa.array(held[:, 1])), wanted).to_numpy(zero_copy_only=False)
    found = used_as_types(graph) if types == TERMS["classes"] else np.zeros(len(graph.entities), dtype=bool)
    found[held[fits, 0]] = True
    return found
