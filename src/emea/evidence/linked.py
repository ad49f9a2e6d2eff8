"""Names of linked things as values: a book in RDF leads to its author, of whom a table has just the name."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa

from emea.data import Graph, Task
from emea.evidence.descriptions import TYPE
from emea.kernels.ranges import spread

NAMING = re.compile(r"(?i)(name|label|title)[^/#]*$")  # attributes that hold names
MOST_NAMES = 8  # of one thing


def with_names(task: Task) -> Task:
    """The task, with the names of what an entity is linked to as its values, where the other graph has nothing but
    values: where both have links, these tell more."""
    if bool(len(task.source.triples)) == bool(len(task.target.triples)):
        return task
    return replace(task, source=_with_names(task.source), target=_with_names(task.target))


def _with_names(graph: Graph) -> Graph:
    """The graph, with a literal for each name of what a triple leads to, under an attribute called as its relation."""
    table = graph.literals.combine_chunks()
    naming = np.array([NAMING.search(name) is not None for name in graph.attributes.to_pylist()], dtype=bool)
    rows = np.flatnonzero(naming[table["attribute"].to_numpy()])
    rows = rows[np.argsort(table["entity"].to_numpy()[rows], kind="stable")]
    count = np.bincount(table["entity"].to_numpy()[rows], minlength=len(graph.entities))
    first = np.cumsum(count) - count
    relations = graph.relations.to_pylist()
    head, relation, tail = graph.triples.numpy().T
    led = np.array([name != TYPE for name in relations], dtype=bool)[relation] & (count[tail] <= MOST_NAMES)
    head, relation, tail = head[led], relation[led], tail[led]
    triple, place = spread(first[tail], count[tail])
    if not len(triple):
        return graph
    names = list(dict.fromkeys([*graph.attributes.to_pylist(), *relations]))
    number = np.array([names.index(name) for name in relations], dtype=np.int64)
    more = table.take(pa.array(rows[place]))
    for name, values in (("entity", head[triple]), ("attribute", number[relation[triple]])):
        index = more.schema.get_field_index(name)
        more = more.set_column(index, name, pa.array(values).cast(more.schema.field(name).type))
    columns = table.schema.names
    every = pa.concat_tables([table, more]).group_by(columns).aggregate([]).select(columns)
    every = every.sort_by([(name, "ascending") for name in columns]).cast(graph.literals.schema)
    return replace(graph, attributes=pa.array(names, graph.attributes.type), literals=every)
