"""Which entities of a graph may be linked: by type, by namespace, or as listed in a file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from emea.contracts import Reading
from emea.data import Graph
from emea.errors import InputError
from emea.formats._files import numbered_lines

SELECTING = ("type", "exclude_type", "namespace", "entities")  # the choices of a `Reading` that are made here
W3C = "http://www.w3.org/"
TYPE = f"{W3C}1999/02/22-rdf-syntax-ns#type"
PREFIXES = {
    "rdf": f"{W3C}1999/02/22-rdf-syntax-ns#",
    "rdfs": f"{W3C}2000/01/rdf-schema#",
    "owl": f"{W3C}2002/07/owl#",
    "skos": f"{W3C}2004/02/skos/core#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "schema": "http://schema.org/",
    "dbo": "http://dbpedia.org/ontology/",
    "dcterms": "http://purl.org/dc/terms/",
    "obo": "http://purl.obolibrary.org/obo/",
    "wd": "http://www.wikidata.org/entity/",
}
TERMS = {  # what a vocabulary is about, by the types of its terms
    "concepts": (f"{W3C}2004/02/skos/core#Concept",),
    "classes": (f"{W3C}2002/07/owl#Class", f"{W3C}2000/01/rdf-schema#Class"),
}
LISTED = 5  # types that a message lists
ONE_SIDE = "--source-type or --target-type chooses by type in one graph alone"


def select(graph: Graph, reading: Reading, place: str | Path) -> Graph:
    """The graph, with only some of its entities to be linked: those that were chosen, or the concepts or classes of a
    vocabulary."""
    chosen = np.ones(len(graph.entities), dtype=bool)
    held = held_types(graph)
    if reading.type:
        chosen &= _of_types(graph, held, reading.type, place)
    if reading.exclude_type:
        chosen &= ~_of_types(graph, held, reading.exclude_type, place)
    if reading.namespace:
        within = [pc.starts_with(graph.entities, expanded(name)) for name in reading.namespace]
        chosen &= np.any([column.to_numpy(zero_copy_only=False) for column in within], axis=0)
    if reading.entities is not None:
        chosen &= _listed(graph, reading.entities)
    if not any(getattr(reading, name) for name in SELECTING):
        return _vocabulary(graph, held, place)
    if not chosen.any():
        options = ", ".join(f"--{name.replace('_', '-')}" for name in SELECTING if getattr(reading, name))
        raise InputError(f"{place}: no entity is left by {options}, expected at least one")
    return _selected(
        graph, chosen, f"{place}: {int(chosen.sum()):,} of {len(chosen):,} entities were chosen to be linked"
    )


def expanded(name: str) -> str:
    """A prefixed name in full, if the prefix is a common one.

    >>> expanded("owl:Class")
    'http://www.w3.org/2002/07/owl#Class'
    """
    prefix, colon, rest = name.partition(":")
    return PREFIXES[prefix] + rest if colon and prefix in PREFIXES and not rest.startswith("//") else name


def held_types(graph: Graph) -> np.ndarray:
    """Entities and their types, [rows, 2]."""
    relation = pc.index(graph.relations, TYPE).as_py()
    triples = graph.triples.numpy()
    found: np.ndarray = triples[triples[:, 1] == relation][:, [0, 2]]
    return found


def _of_types(graph: Graph, held: np.ndarray, wanted: Iterable[str], place: str | Path) -> np.ndarray:
    """Which entities have one of these types, given in full, by prefix, or by the last part of their names."""
    types = np.unique(held[:, 1])
    names = graph.entities.take(types).to_pylist()
    ends = [last_part(name) for name in names]
    found = np.zeros(len(graph.entities), dtype=bool)
    for each in wanted:
        own = [
            number
            for number, name, end in zip(types, names, ends, strict=True)
            if each in (name, end) or expanded(each) == name
        ]
        if not own:
            close = get_close_matches(each, [*names, *ends], 1)
            shown = f"did you mean {close[0]}?" if close else ONE_SIDE
            common = f"found the types {', '.join(ends[:LISTED])}" if ends else "its entities have no types"
            raise InputError(f"{place} has no entity of the type '{each}'; {common}; {shown}")
        found[held[np.isin(held[:, 1], own), 0]] = True
    return found


def last_part(name: str) -> str:
    """What follows the last slash, hash or colon of a name.

    >>> last_part("http://www.w3.org/2002/07/owl#Class"), last_part("city")
    ('Class', 'city')
    """
    return name.rstrip("/#").replace("#", "/").replace(":", "/").rpartition("/")[2]


def _listed(graph: Graph, path: Path) -> np.ndarray:
    """Which entities a file names, one a line; further columns are ignored."""
    names = [line.split("\t")[0].strip() for _, line in numbered_lines(path)]
    positions = graph.positions(pa.array([expanded(name) for name in names], pa.large_string()))
    known = positions.drop_null().to_numpy()
    if not len(known):
        shown = f"'{names[0]}'" if names else "nothing"
        raise InputError(f"{path}: found {shown}, expected names of entities of the graph, one a line")
    found = np.zeros(len(graph.entities), dtype=bool)
    found[known] = True
    return found


def _vocabulary(graph: Graph, held: np.ndarray, place: str | Path) -> Graph:
    """A vocabulary is linked by its concepts or classes: not by schemes, properties and the like."""
    blank = pc.starts_with(graph.entities, "_:").to_numpy(zero_copy_only=False)
    held = held[~blank[held[:, 0]]]
    typed = len(np.unique(held[:, 0]))
    for what, types in TERMS.items():
        positions = graph.positions(pa.array(types, pa.large_string())).drop_null().to_numpy()
        chosen = np.zeros(len(graph.entities), dtype=bool)
        chosen[held[np.isin(held[:, 1], positions), 0]] = True
        if 2 * int(chosen.sum()) > typed > 0:
            return _selected(
                graph, chosen, f"{place}: the {int(chosen.sum()):,} {what} may be linked; --type chooses others"
            )
    return graph


def _selected(graph: Graph, chosen: np.ndarray, note: str) -> Graph:
    return replace(graph, selected=torch.from_numpy(chosen), notes=(*graph.notes, note))
