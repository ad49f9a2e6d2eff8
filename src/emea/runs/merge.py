"""Both graphs of a finished run as one: an RDF graph with one name for each linked pair, or a table side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from emea.data import LITERAL_SCHEMA, Graph, Task
from emea.errors import InputError
from emea.evidence.unnamed import W3C, row_types, unnamed
from emea.formats import read_pair_names, without_password
from emea.formats._curies import as_iris
from emea.formats._equality import stated_between
from emea.formats._files import suffix, writing
from emea.formats._labels import labels, last_part
from emea.formats._selection import TYPE, expanded
from emea.formats.rdf import RDF
from emea.runs.folder import finished
from emea.runs.inputs import Inputs
from emea.settings import load, read_config

Side = Literal["source", "target"]
QUADS, TABLES = ".nq", (".csv", ".parquet")
BLANK = r"^_:"
SEPARATOR = pa.scalar(" | ", pa.large_string())  # between the values of an entity under one attribute
DIGITS = 6  # of the confidence in a table


@dataclass(frozen=True, eq=False)
class Run:
    """What is merged."""

    task: Task
    source: np.ndarray  # [links] ids, sorted
    target: np.ndarray  # [links]
    confidence: np.ndarray  # [links]; seeds have their weight
    places: tuple[str, str]  # where the graphs come from, as IRIs

    @classmethod
    def read(cls, folder: Path) -> Run:
        """The graphs and links of a finished run; its seeds are links, too."""
        settings = folder / "settings.toml"
        if not settings.exists() or not finished(folder):
            raise InputError(f"{folder} holds no finished run, expected the folder of one")
        inputs = Inputs.parse(read_config(settings, "run"), settings)
        task = inputs.read_again(load(config=settings).matching.cardinality)
        found = read_pair_names(folder / "alignment.tsv")
        ids = [_known(graph, found[side], side) for graph, side in ((task.source, "source"), (task.target, "target"))]
        seeds = [column.numpy() for column in task.seeds.columns]
        width = len(task.target.entities)
        new = ~np.isin(ids[0] * width + ids[1], seeds[0] * width + seeds[1])
        columns = (*ids, found["weight"].to_numpy())
        source, target, confidence = (np.concatenate([old, own[new]]) for old, own in zip(seeds, columns, strict=True))
        order = np.argsort(source, kind="stable")
        files = inputs.source, inputs.target
        places = tuple(
            f"urn:emea:{side}"
            if path is None
            else path.as_uri()
            if isinstance(path, Path)
            else str(without_password(path))
            for side, path in zip(("source", "target"), files, strict=True)
        )
        return cls(task, source[order], target[order], confidence[order], (places[0], places[1]))


def merge(folder: Path, path: Path, keep: Side = "target") -> str:
    """Write both graphs of a finished run as one, a table or RDF by the suffix; returns a one-line summary."""
    known = (*RDF.suffixes, *TABLES)
    if suffix(path) not in known:
        raise InputError(
            f"{path}: found the suffix '{suffix(path)}', expected one of {', '.join(known)} (also with .gz)"
        )
    run = Run.read(folder)
    if suffix(path) in TABLES:
        table = side_by_side(run)
        _write_table(table, path)
        alone = [table.num_rows - table[side].null_count - len(run.source) for side in ("source", "target")]
        return (
            f"{len(run.source):,} linked pairs, {alone[0]:,} other sources and {alone[1]:,} other targets, "
            f"{table.num_columns:,} columns written to {path}"
        )
    parts = _united(run, keep)
    whole = _joined(parts)
    if suffix(path) == QUADS:
        RDF().write_graphs(list(zip(parts, (*run.places, None), strict=True)), path)
    else:
        RDF().write_graph(whole, path)
    return (
        f"{len(run.source):,} linked pairs, {len(whole.triples):,} triples and {whole.literals.num_rows:,} literals "
        f"written to {path}"
    )


def _known(graph: Graph, names: pa.ChunkedArray, side: str) -> np.ndarray:
    """The ids of linked entities."""
    found = graph.positions(names.combine_chunks())
    if found.null_count:
        name = names.filter(pc.is_null(found))[0].as_py()
        raise InputError(f"the {side} graph has no '{name}', which the run linked; was its file changed since?")
    ids: np.ndarray = found.to_numpy().astype(np.int64)
    return ids


def _united(run: Run, keep: Side) -> tuple[Graph, Graph, Graph]:
    """Both graphs with one name for each pair, and the names that were replaced as owl:sameAs or the like. Blank
    nodes of the two graphs stay apart, and so do names that are no IRIs, such as the ids of rows."""
    given = [(run.task.source, "source"), (run.task.target, "target")]
    own = [as_iris(pc.replace_substring_regex(graph.entities, BLANK, f"_:{side}-"), side) for graph, side in given]
    linked = [run.source, run.target]
    kept = 0 if keep == "source" else 1
    other, every = 1 - kept, pa.concat_arrays(own)
    index = np.arange(len(own[other])) + (len(own[0]) if other else 0)
    index[linked[other]] = linked[kept] + (len(own[0]) if kept else 0)
    names = list(own)
    names[other] = every.take(pa.array(index))
    graphs = [_renamed(graph, side, new) for (graph, side), new in zip(given, names, strict=True)]
    replaced, stays = own[other].take(pa.array(linked[other])), own[kept].take(pa.array(linked[kept]))
    said = pc.and_(pc.not_equal(replaced, stays), pc.invert(pc.match_substring_regex(replaced, BLANK)))
    relation = stated_between(run.source, run.target, (run.task.source, run.task.target))
    return graphs[0], graphs[1], _same(*(column.filter(said) for column in (replaced, relation, stays)))


def _renamed(graph: Graph, side: str, names: pa.Array) -> Graph:
    """A graph with other names for its entities, those that get the same one become one, and IRIs for the names of
    relations and attributes, such as those of columns."""
    entities = pc.unique(names)
    place = pc.index_in(names, entities).to_numpy()
    triples = graph.triples.numpy().copy()
    triples[:, [0, 2]] = place[triples[:, [0, 2]]]
    literals = graph.literals.set_column(0, LITERAL_SCHEMA.field(0), pa.array(place[graph.literals["entity"]], "int64"))
    relations, attributes = (as_iris(each, side) for each in (graph.relations, graph.attributes))
    return Graph.build(entities, relations, triples, attributes=attributes, literals=literals)


def _same(replaced: pa.Array, relation: pa.Array, stays: pa.Array) -> Graph:
    entities, relations = pc.unique(pa.concat_arrays([replaced, stays])), pc.unique(relation)
    head, tail = (pc.index_in(names, entities).to_numpy() for names in (replaced, stays))
    stated = pc.index_in(relation, relations).to_numpy()
    return Graph.build(entities, map(expanded, relations.to_pylist()), np.stack([head, stated, tail], 1))


def _joined(parts: tuple[Graph, ...]) -> Graph:
    """All statements of several graphs, each once; what has the same name is the same."""
    entities, relations, attributes = (
        pc.unique(pa.concat_arrays([getattr(part, name) for part in parts]))
        for name in ("entities", "relations", "attributes")
    )
    triples, literals = [], []
    for part in parts:
        entity, relation, attribute = (
            pc.index_in(own, every).to_numpy().astype(np.int64)
            for own, every in ((part.entities, entities), (part.relations, relations), (part.attributes, attributes))
        )
        head, edge, tail = part.triples.numpy().T
        triples.append(np.stack([entity[head], relation[edge], entity[tail]], 1))
        table = part.literals
        ids = [entity[table["entity"].to_numpy()], attribute[table["attribute"].to_numpy()]]
        literals.append(pa.table([*map(pa.array, ids), *table.columns[2:]], schema=LITERAL_SCHEMA))
    return Graph.build(
        entities, relations, np.concatenate(triples), attributes=attributes, literals=pa.concat_tables(literals)
    )


def side_by_side(run: Run) -> pa.Table:
    """A row for each linked pair, then for each other source and each other target that has a name, or is a blank node
    of which something is stated and to which nothing leads: the names, the confidence, and of the source and then of
    the target the values under each attribute, and under each relation the labels of what they are related to."""
    graphs = run.task.source, run.task.target
    linked = run.source, run.target
    alone = [np.setdiff1d(np.flatnonzero(_has_row(graph)), ids) for graph, ids in zip(graphs, linked, strict=True)]
    sides = (
        np.concatenate([run.source, alone[0], np.full(len(alone[1]), -1)]),
        np.concatenate([run.target, np.full(len(alone[0]), -1), alone[1]]),
    )
    columns = {
        side: graph.entities.take(_or_null(ids))
        for side, graph, ids in zip(("source", "target"), graphs, sides, strict=True)
    }
    confidence = np.full(len(sides[0]), np.nan)
    confidence[: len(run.confidence)] = np.round(run.confidence.astype(np.float64), DIGITS)
    columns["confidence"] = pa.array(confidence, from_pandas=True)
    for side, graph, ids in zip(("source", "target"), graphs, sides, strict=True):
        columns |= {f"{side}_{name}": column for name, column in _by_attribute(graph, ids).items()}
    return pa.table(columns)


def _has_row(graph: Graph) -> np.ndarray:
    """Which entities have a row of their own, [entities] bool: what is stated of other blank nodes stands in the rows
    of those that lead to them."""
    head, _, tail = graph.triples.numpy().T
    first = np.zeros(len(graph.entities), dtype=bool)
    first[head], first[graph.literals["entity"].to_numpy()] = True, True
    first[tail] = False
    return ~unnamed(graph) | (_blank(graph) & first)


def _blank(graph: Graph) -> np.ndarray:
    """Which entities are blank nodes, also those that were given an IRI to be stored, [entities] bool."""
    terms = pc.starts_with(graph.entities, W3C).to_numpy(zero_copy_only=False) | row_types(graph)
    found: np.ndarray = unnamed(graph) & ~terms
    return found


def _or_null(ids: np.ndarray) -> pa.Array:
    """Ids to take; nothing for −1."""
    return pa.array(ids, mask=ids < 0)


def _by_attribute(graph: Graph, ids: np.ndarray) -> dict[str, pa.Array]:
    """For each attribute and relation the distinct values of each of these entities, one after another; in the order of
    the columns of a table, or of their names."""
    names, stated = _stated(graph)
    distinct = stated.group_by(["attribute", "entity", "value"]).aggregate([])
    distinct = distinct.sort_by([(name, "ascending") for name in ("attribute", "entity", "value")]).combine_chunks()
    attribute, entity = (distinct[name].to_numpy() for name in ("attribute", "entity"))
    values = distinct["value"].combine_chunks() if distinct.num_rows else pa.array([], pa.large_string())
    bounds = np.searchsorted(attribute, np.arange(len(names) + 1))
    found: dict[str, pa.Array] = {}
    for name, start, end in zip(names, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        holders, first = np.unique(entity[start:end], return_index=True)
        lists = pa.ListArray.from_arrays(np.append(first, end - start).astype(np.int32), values[start:end])
        row = np.full(len(graph.entities) + 1, -1)  # the last one is for no entity
        row[holders] = np.arange(len(holders))
        column = pc.binary_join(lists, SEPARATOR).take(_or_null(row[ids]))
        if column.null_count < len(column):  # not what only blank nodes hold, or what leads to them alone
            found[name if name not in found else f"{name}_{len(found)}"] = column
    place = {name: number for number, name in enumerate(graph.columns)}
    return {name: found[name] for name in sorted(found, key=lambda name: (place.get(name, -1), name))}


def _stated(graph: Graph) -> tuple[list[str], pa.Table]:
    """What attributes and relations are called; and all that is stated under them, tails by their labels or else
    names, and what is stated of a blank node of those that lead to it, too."""
    names = pc.unique(pa.concat_arrays([graph.attributes, graph.relations]))
    places = [pc.index_in(own, names).to_numpy().astype(np.int64) for own in (graph.attributes, graph.relations)]
    head, relation, tail = graph.triples.numpy().T
    label, is_blank = labels(graph), _blank(graph)
    called = pc.coalesce(label, graph.entities).cast(pa.large_string()).take(pa.array(tail))
    related = pa.table({"attribute": places[1][relation], "entity": head, "value": called})
    related = related.filter(pc.or_(label.is_valid().take(pa.array(tail)), pa.array(~is_blank[tail])))
    held = graph.literals.select(["attribute", "entity", "value"])
    held = held.set_column(0, "attribute", pa.array(places[0][held["attribute"].to_numpy()]))
    stated, short = pa.concat_tables([held, related]), _short(names, graph.columns)
    if not is_blank.any():
        return short, stated
    leading = pa.table({"through": places[1][relation], "head": head, "entity": tail}).filter(pa.array(is_blank[tail]))
    own = stated.filter(pc.not_equal(stated["attribute"], pc.index(names, TYPE))).join(leading, "entity", None, "inner")
    both, number = np.unique(own["through"].to_numpy() * len(names) + own["attribute"].to_numpy(), return_inverse=True)
    given = pa.table({"attribute": len(names) + number, "entity": own["head"], "value": own["value"]})
    short += [f"{short[through]}_{short[attribute]}" for through, attribute in np.stack(divmod(both, len(names)), 1)]
    return short, pa.concat_tables([stated, given])


def _short(attributes: pa.Array, columns: Collection[str]) -> list[str]:
    """The last parts of the names of attributes; the whole name where two share the last part, or where it is that of
    a column."""
    names = attributes.to_pylist()
    ends = [name if name in columns else unquote(last_part(name)) for name in names]
    count = Counter(ends)
    return [end if end and count[end] == 1 else name for name, end in zip(names, ends, strict=True)]


def _write_table(table: pa.Table, path: Path) -> None:
    with writing(path) as file:
        if suffix(path) == ".csv":
            pyarrow.csv.write_csv(table, file, pyarrow.csv.WriteOptions(quoting_style="needed"))
        else:
            pq.write_table(table, file)
