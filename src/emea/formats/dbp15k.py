"""Benchmark folders of id files, as published with JAPE, BootEA, EAkit and ContEA."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea.contracts import Choice, TaskReader
from emea.data import Graph, Reference, Task
from emea.errors import InputError
from emea.formats._choice import NamePairs, choose, link_names, together, without
from emea.formats._columns import DistinctNames, assemble, release
from emea.formats._fields import field_blocks, field_columns
from emea.formats._files import fields

SEEDS, VALIDATION, REFERENCE, EAKIT = "sup_ent_ids", "val_ent_ids", "ref_ent_ids", "ill_ent_ids"


@dataclass(frozen=True)
class _Names:
    """The names of ids; several ids may have the same name."""

    file: str
    ids: pa.Array
    rows: np.ndarray  # position of each id's name among the distinct names
    distinct: pa.Array

    def positions(self, ids: pa.Array) -> tuple[np.ndarray, int | None]:
        """The positions of the ids' names, or the first row whose id is unknown."""
        found = pc.index_in(ids, self.ids)
        if found.null_count:
            return self.rows[:0], pc.index(found.is_null(), True).as_py()
        return self.rows[found.to_numpy()], None

    def aliases(self) -> pa.Array:
        """The first id of each distinct name."""
        first = np.empty(len(self.distinct), dtype=np.int64)
        first[self.rows[::-1]] = np.arange(len(self.rows))[::-1]
        return self.ids.take(first)


@dataclass(frozen=True)
class _Known:
    """The links in a folder as pairs of names."""

    seeds: NamePairs
    validation: NamePairs
    rest: NamePairs


class DBP15K(TaskReader):
    """Two graphs as triples of ids, each graph with its own ids; URIs are the names, ids the aliases."""

    description: ClassVar[str] = "id files (DBP15K, DWY100K, ContEA): ent_ids_N, triples_N, {sup,val,ref,ill}_ent_ids"

    def detect(self, folder: Path) -> str | None:
        """Name the variant of id files."""
        if not all((folder / f"{kind}_{number}").is_file() for kind in ("ent_ids", "triples") for number in (1, 2)):
            return None
        present = _present(folder)
        files = " and ".join(name for name in (REFERENCE, EAKIT) if name in present) or "no file"
        if SEEDS in present:
            middle = f", validation in {VALIDATION}" if VALIDATION in present else ""
            return f"id files: seeds in {SEEDS}{middle}, reference in {files}"
        shared = len(_known(folder, _names(folder / "ent_ids_1"), _names(folder / "ent_ids_2")).seeds[0])
        if shared:
            return f"id files, BootEA's sharing variant: {shared:,} seeds given by shared ids, reference in {files}"
        style = "EAkit's id files" if EAKIT in present else "id files"
        return f"{style}: all links in {files}, none marked as seeds" if present else "id files without links"

    def read_task(self, folder: Path, choice: Choice) -> tuple[Task, Reference | None]:
        """Read both graphs, and the links as the folder divides them or the chosen share of all."""
        if choice.fold is not None:
            raise InputError(f"{folder} holds id files, which have no folds: found --fold, expected --ratio or --seeds")
        source_names, target_names = _names(folder / "ent_ids_1"), _names(folder / "ent_ids_2")
        known = _known(folder, source_names, target_names)
        source = _graph(folder, 1, source_names)
        del source_names  # each graph has its own, sorted copy of the names
        target = _graph(folder, 2, target_names)
        del target_names
        release()
        if choice.ratio is not None or choice.seeds is not None or not len(known.seeds[0]):
            return choose(source, target, together(known.seeds, known.validation, known.rest), choice, folder)
        seeds, validation, rest = (
            link_names(pairs, source, target) for pairs in (known.seeds, known.validation, known.rest)
        )
        reference = without(rest, seeds + validation, len(target.entities))
        return Task(source, target, seeds, validation), Reference(reference)


def _names(path: Path) -> _Names:
    ids, names = (_single(column) for column in field_columns(path, 2))
    if len(pc.unique(ids)) < len(ids):
        _refuse_second_names(path)
    encoded = names.dictionary_encode()
    del names
    release()
    return _Names(path.name, ids, encoded.indices.to_numpy(), encoded.dictionary)


def _refuse_second_names(path: Path) -> None:
    names: dict[str, str] = {}
    for number, (identifier, name) in fields(path, 2):
        if names.setdefault(identifier, name) != name:
            raise InputError(f"{path}, line {number}: found a second name for the id {identifier}, expected only one")


def _strings(values: list[str]) -> pa.Array:
    return pa.array(values, pa.large_string())


def _single(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks)


def _positions(path: Path, names: Sequence[_Names]) -> list[np.ndarray]:
    """The positions of the names of the ids in a file, in parts [columns, rows]; every id must be known."""
    columns = [DistinctNames() for _ in names]
    for block in field_blocks(path, len(names)):
        for column, texts in zip(columns, block, strict=True):
            column.add(texts.dictionary_encode())
    parts: list[list[np.ndarray]] = []
    for column, each in zip(columns, names, strict=True):
        ids, codes = column.finish()
        found, unknown = each.positions(ids)
        if unknown is not None:
            raise _unknown(path, names)
        parts.append([found[part] for part in codes])
    release()
    return [np.stack(part) for part in zip(*parts, strict=True)]


def _unknown(path: Path, names: Sequence[_Names]) -> InputError:
    """The error for the first unknown id in a file."""
    known = [{*each.ids.to_pylist()} for each in names]
    for line, row in fields(path, len(names)):
        for found, ids, each in zip(row, known, names, strict=True):
            if found not in ids:
                return InputError(f"{path}, line {line}: found the id {found}, expected one listed in {each.file}")
    raise AssertionError("the caller has found one")


def _graph(folder: Path, number: int, entities: _Names) -> Graph:
    path, relation_path = folder / f"triples_{number}", folder / f"rel_ids_{number}"
    relations = _names(relation_path) if relation_path.is_file() else _unnamed_relations(path)
    triples = _positions(path, [entities, relations, entities])
    return assemble(entities.distinct, relations.distinct, triples, aliases=entities.aliases())


def _unnamed_relations(path: Path) -> _Names:
    """Relations without a rel_ids file: the id is the name."""
    found = [pc.unique(relations) for _, relations, _ in field_blocks(path, 3)] or [_strings([])]
    ids = pc.unique(pa.concat_arrays(found))
    return _Names(path.name, ids, np.arange(len(ids)), ids)


def _present(folder: Path) -> list[str]:
    return [name for name in (SEEDS, VALIDATION, REFERENCE, EAKIT) if (folder / name).is_file()]


def _known(folder: Path, source_names: _Names, target_names: _Names) -> _Known:
    """The links in the folder; if no file lists the seeds, they are the pairs that share an id, if any."""
    pairs = {name: _pairs(folder / name, source_names, target_names) for name in _present(folder)}
    nothing = _strings([]), _strings([])
    if SEEDS not in pairs:
        shared = _shared_ids(folder, source_names, target_names)
        positions = [each.positions(shared)[0] for each in (source_names, target_names)]
        pairs[SEEDS] = source_names.distinct.take(positions[0]), target_names.distinct.take(positions[1])
    seeds, validation, reference, eakit = (pairs.get(name, nothing) for name in (SEEDS, VALIDATION, REFERENCE, EAKIT))
    return _Known(seeds, validation, together(reference, eakit))


def _pairs(path: Path, source_names: _Names, target_names: _Names) -> NamePairs:
    names = [source_names, target_names]
    source, target = np.concatenate([np.empty((2, 0), dtype=np.int64), *_positions(path, names)], axis=1)
    return source_names.distinct.take(source), target_names.distinct.take(target)


def _shared_ids(folder: Path, source_names: _Names, target_names: _Names) -> pa.Array:
    """Ids that stand for the same entity in both graphs, if the folder uses them that way.

    Two graphs that both merely count from the same number share ids too, but then nearly all ids of the smaller one. In
    the sharing variant most entities of both graphs have ids of their own.
    """
    shared = source_names.ids.filter(pc.is_in(source_names.ids, target_names.ids))
    merely_counted = 2 * len(shared) > min(len(source_names.ids), len(target_names.ids))
    return _strings([]) if merely_counted or not _present(folder) else shared
