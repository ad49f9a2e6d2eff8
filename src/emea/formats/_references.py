"""Columns that hold ids of rows, and tables whose rows say nothing else: edges, and those that join two tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea.errors import InputError
from emea.formats._cells import Cells
from emea.formats._columns import STRING
from emea.formats._files import stem
from emea.formats._keys import ID_NAMES, LISTED, Declared, are_words, as_ids, is_id_name, refers
from emea.formats._property_graph import ID, NAMING, RELATED
from emea.formats._recognition import DATE, NUMBER

POINTING = 0.95  # share of a column's cells that are ids of a table, if the column refers to it
MEETING = 0.1  # share of the names of one column that the other has, too, if both are ends of edges
REPEATED = 0.5  # share of the cells of a column that repeat the id of their row, above which it refers to no rows
ENDS = (("source", "target"), ("from", "to"), ("start", "end"), ("head", "tail"), ("subject", "object"))
PAIRED, STATED = ENDS[:2], ENDS[3:]  # what ends of pairs are called, too; what nothing else is called
NO_END = re.compile(r"[\W_]|node|id$")  # what the name of an end may have beside
RELATIONS = ("predicate", *NAMING)  # columns that name the relation, the best first
EDGES, NODES = (  # words in the names of tables: no ledger, no adverts
    re.compile(rf"(?<![a-z])({words})(?![a-z])", re.IGNORECASE)
    for words in (
        "edges?|links?|relations?|relationships?|connections?|triples?",
        "nodes?|vertex|vertices|entity|entities",
    )
)
DIRECTED, UNDIRECTED = {"directed"}, {"undirected", "mutual", "both"}  # what a type may say of direction alone
FEW_NAMES = 5  # distinct names of relations that need not recur
REPEATING = 0.5  # share of distinct cells up to which a column may name relations


@dataclass(frozen=True, eq=False)
class Sheet:
    """A table and the names of its rows."""

    name: str
    ids: pa.Array  # [rows] large_string; null where a row has none
    key: str | None  # the column of the ids; None if the rows are numbered
    columns: dict[str, Cells]


References = dict[tuple[str, str], Sheet]  # the tables that columns refer to, by table and column


@dataclass(frozen=True, eq=False)
class Joined:
    """Pairs of rows that a table relates."""

    table: str
    first: str  # column of the one
    second: str  # and of the other
    head_table: str
    tail_table: str
    relation: pa.Array  # [pairs]
    head: pa.Array  # [pairs] ids
    tail: pa.Array
    left_out: list[str]  # columns


def ends_of(columns: Iterable[str], called: Sequence[tuple[str, str]] = ENDS) -> tuple[str, str] | None:
    """The columns that are called like the ends of an edge, if there are both.

    >>> ends_of(["Id", "Source", "Target"]), ends_of(["FromNodeId", "to_id"]), ends_of(["from", "name"])
    (('Source', 'Target'), ('FromNodeId', 'to_id'), None)
    """
    named = {NO_END.sub("", column.lower()): column for column in columns}
    return next(((named[first], named[second]) for first, second in called if {first, second} <= named.keys()), None)


def edge_list(sheet: Sheet, place: str | Path) -> tuple[Sheet, Joined] | None:
    """The nodes and edges of a table that stands alone, if its rows are edges: two columns are called so, or there are
    but two, and none identifies the rows. Both have things in common, unless they are called head and tail; what is
    called so and has none is a table of pairs, which are no graph."""
    named = ends_of(sheet.columns)
    pair = named or (tuple(sheet.columns) if len(sheet.columns) == 2 and sheet.key is None else None)
    if pair is None:
        return None
    first, second = (sheet.columns[each] for each in pair)
    ends = pc.unique(pa.concat_arrays([first.text, second.text]))
    if ends_of(sheet.columns, STATED) is None and not _meet(first, second):
        if ends_of(sheet.columns, PAIRED) and len(sheet.columns) == 2:
            hint = "edges between things of two kinds have the columns head and tail"
            raise InputError(f"{place} holds pairs; expected a graph (--seeds takes pairs); {hint}")
        return None
    told = {ID: Cells(np.arange(len(ends)), ends, STRING, len(ends))} if are_words(ends) else {}
    nodes = Sheet("", ends, pair[0], told)
    found = joined(sheet, {(sheet.name, each): nodes for each in pair}, None)
    if found is None:
        return None
    relation = pc.if_else(pc.equal(found.relation, sheet.name), RELATED, found.relation)
    return nodes, replace(found, relation=relation.cast(pa.large_string()))


def _meet(first: Cells, second: Cells) -> bool:
    """Whether two columns have a tenth of the names in common, besides those in the same row."""
    one, other = first.single(), second.single()
    apart = pc.fill_null(pc.not_equal(one, other), False)
    heads, tails = (pc.unique(each.filter(apart)) for each in (one, other))
    return max(_share(pc.is_in(heads, tails)), _share(pc.is_in(tails, heads))) >= MEETING


def references(sheets: list[Sheet], declared: Declared, notes: list[str], place: str | Path) -> References:
    """Which columns hold ids of which table. Cells that refer to rows by another column become ids."""
    found, by_name = {}, {sheet.name: sheet for sheet in sheets}
    ids: list[tuple[Sheet, str, Cells]] = []
    for sheet in sheets:
        ends = ends_of(sheet.columns) or ()
        for column, held in sheet.columns.items():
            other, by = declared.references.get((sheet.name, column), ("", ""))
            target = by_name.get(other)
            if target is None and (column != sheet.key or not is_id_name(column, sheet.name)):
                others = (
                    each for each in sheets if column != sheet.key or refers(column, each.name, own=each is sheet)
                )
                target = next((each for each in others if _points(column, held, each, own=each is sheet)), None)
            if target is None and column in ends:
                holding = [each for each in sheets if each is not sheet and _holds(held, each)]
                holding = [each for each in holding if EDGES.search(sheet.name) or NODES.search(each.name)]
                target = holding[0] if len(holding) == 1 else None
            if target is not None:
                found[sheet.name, column] = target
                if target.name == other and by != target.key and by in target.columns:
                    ids.append((sheet, column, as_ids(held, target.ids, target.columns[by])))
    for sheet, column, held in ids:
        sheet.columns[column] = held
    if found:
        listed = ", ".join(f"{name}.{column} → {target.name}" for (name, column), target in [*found.items()][:LISTED])
        notes.append(f"{place}: columns that hold ids are relations: {listed}")
    return found


def _points(column: str, held: Cells, other: Sheet, *, own: bool) -> bool:
    """Whether the cells of a column are ids of a table: nearly all are, and numbers only if the column's name says so,
    since any small numbers are ids of rows that are numbered. What mostly repeats the row's own id refers to none."""
    if other.key is None:
        return False
    if own and _share(pc.equal(held.text, other.ids.take(pa.array(held.row)))) > REPEATED:
        return False
    if len(distinct := pc.unique(held.text)) < 2 or not _holds(held, other):
        return False
    known = distinct.filter(pc.is_in(distinct, other.ids))
    return refers(column, other.name, own=own) or not pc.all(pc.utf8_is_digit(known)).as_py()


def _holds(held: Cells, other: Sheet) -> bool:
    """Whether nearly all cells are ids of a table."""
    return other.key is not None and _share(pc.is_in(pc.unique(held.text), other.ids)) >= POINTING


def _share(true: pa.Array) -> float:
    """Which share of values is true."""
    return float(pc.mean(true.cast(pa.float64())).as_py() or 0.0)


def joined(sheet: Sheet, found: References, wanted: str | None) -> Joined | None:
    """What the rows of a table relate, if that is all they do: two columns refer to rows, none identifies its own but
    for one that counts them, and besides there is hardly more than the name of the relation. A table of edges may have
    more. If the id column that is wanted is there, the rows are entities."""
    referring, ends = [column for table, column in found if table == sheet.name], ends_of(sheet.columns)
    pair = ends if ends is not None and {*ends} <= {*referring} else tuple(referring)
    referred = any(target is sheet for target in found.values())
    if (
        len(pair) != 2
        or referred
        or wanted in {sheet.key, *sheet.columns} - {None}
        or not (_counted(sheet) or sheet.key in (None, *pair))
    ):
        return None
    others = {each: held for each, held in sheet.columns.items() if len(held.row) and each not in {*pair, sheet.key}}
    by_name = {each.strip().lower(): each for each in others}
    directed = next((by_name[name] for name in RELATIONS if name in by_name and _directs(others[by_name[name]])), None)
    naming = next((by_name[name] for name in RELATIONS if name in by_name and _names(others[by_name[name]])), None)
    beside = [each for each in others if each not in {naming, directed}]
    edges = ends is not None and EDGES.search(sheet.name) is not None
    if not edges and (len(beside) > (sheet.key is None) or not all(_is_plain(others[each]) for each in beside)):
        return None
    if not edges and any(is_id_name(each, sheet.name) for each in beside):
        return None
    first, second = (sheet.columns[each] for each in pair)
    if any((np.diff(each.row) == 0).any() for each in (first, second)):
        return None
    rows, of_first, of_second = np.intersect1d(first.row, second.row, assume_unique=True, return_indices=True)
    said = others[naming].single() if naming is not None else pa.nulls(first.rows, pa.large_string())
    relation = said.take(pa.array(rows)).fill_null(sheet.name)
    head, tail = first.text.take(pa.array(of_first)), second.text.take(pa.array(of_second))
    if directed is not None:
        ways = pc.utf8_lower(others[directed].single().take(pa.array(rows)).fill_null(""))
        back = pc.is_in(ways, pa.array([*UNDIRECTED], pa.large_string()))
        relation, head, tail = (
            pa.concat_arrays([one, other.filter(back)])
            for one, other in ((relation, relation), (head, tail), (tail, head))
        )
    tables = found[sheet.name, pair[0]].name, found[sheet.name, pair[1]].name
    return Joined(sheet.name, *pair, *tables, relation, head, tail, beside)


def _counted(sheet: Sheet) -> bool:
    """Whether the rows are identified by numbers that count them."""
    key = sheet.key or ""
    return key.strip().lower() in ID_NAMES and pc.all(pc.utf8_is_digit(sheet.ids.drop_null())).as_py() is True


def _directs(held: Cells) -> bool:
    """Whether cells only say if edges have a direction."""
    return {each.strip().lower() for each in pc.unique(held.text).to_pylist()} <= DIRECTED | UNDIRECTED


def _names(held: Cells) -> bool:
    """Whether cells may name relations: they recur, or are few."""
    distinct = len(pc.unique(held.text))
    return not _directs(held) and (distinct <= REPEATING * len(held.text) or distinct < FEW_NAMES)


def _is_plain(held: Cells) -> bool:
    """Whether cells are numbers or dates."""
    plain = (pc.match_substring_regex(held.text, each) for each in (NUMBER, DATE))
    return _share(pc.or_(*plain)) >= POINTING


def told(found: Iterable[Joined], place: str | Path) -> list[str]:
    """What is said of them."""
    return [
        (f"{place}, table {each.table}: " if stem(Path(str(place))) != each.table else f"{place}: ")
        + f"its rows are no entities but relations, from '{each.first}' to '{each.second}'"
        + (f"; left out: {', '.join(each.left_out)}" if each.left_out else "")
        + "; --id-column names what identifies them if they are entities"
        for each in found
    ]
