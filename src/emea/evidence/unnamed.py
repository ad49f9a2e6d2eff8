"""Which entities have no name that anybody would look for."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea.data import Graph

W3C = "http://www.w3.org/"
TYPE = f"{W3C}1999/02/22-rdf-syntax-ns#type"
HOST = r"^(?P<host>[A-Za-z][\w+.-]*://[^/?#]+)"
UNNAMED = rf"^_:|^{W3C}|[/#]genid[-/]?\w*$"


def unnamed(graph: Graph) -> np.ndarray:
    """Which entities are blank nodes, terms of W3C vocabularies or tables, [entities] bool."""
    by_name = pc.match_substring_regex(graph.entities, UNNAMED).to_numpy(zero_copy_only=False)
    found: np.ndarray = by_name | row_types(graph)
    return found


def elsewhere(graph: Graph) -> np.ndarray:
    """Which entities belong to another source, such as the page that a class was taken from, [entities] bool: one
    triple mentions them, nothing is said of them, and of none that has its IRI from the same host."""
    head, _, tail = graph.triples.numpy().T
    described = np.zeros(len(graph.entities), dtype=bool)
    described[head] = described[graph.literals["entity"].to_numpy()] = True
    host = pc.struct_field(pc.extract_regex(graph.entities, HOST), "host")
    ours = pc.unique(host.filter(pa.array(described)).drop_null())
    other = pc.and_(host.is_valid(), pc.invert(pc.is_in(host, ours))).to_numpy(zero_copy_only=False)
    found: np.ndarray = other & (np.bincount(tail, minlength=len(described)) <= 1) & ~described
    return found


def row_types(graph: Graph) -> np.ndarray:
    """Which entities stand for a table and are nothing but the type of its rows, [entities] bool."""
    found = np.zeros(len(graph.entities), dtype=bool)
    if graph.columns:
        head, relation, tail = graph.triples.numpy().T
        typing = relation == pc.index(graph.relations, TYPE).as_py()
        found[tail[typing]] = True
        for others in (head, tail[~typing], graph.literals["entity"].to_numpy()):
            found[others] = False
    return found
