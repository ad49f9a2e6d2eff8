"""Benchmark folders of id files, as JAPE, BootEA, EAkit and ContEA ship them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from emea.contracts import Choice, TaskReader
from emea.data import Graph, Reference, Task
from emea.errors import InputError
from emea.formats._choice import NamePairs, choose, link_names, without
from emea.formats._files import fields

SEEDS, VALIDATION, REFERENCE, EAKIT = "sup_ent_ids", "val_ent_ids", "ref_ent_ids", "ill_ent_ids"
Names = dict[str, str]  # the name of each id


@dataclass(frozen=True)
class _Known:
    """The links of a folder as pairs of names."""

    seeds: NamePairs
    validation: NamePairs
    rest: NamePairs


class DBP15K(TaskReader):
    """Two graphs as triples of ids, each graph with ids of its own; names are the URIs, aliases the ids."""

    description: ClassVar[str] = "id files (DBP15K, DWY100K, ContEA): ent_ids_N, triples_N, {sup,val,ref,ill}_ent_ids"

    def detect(self, folder: Path) -> str | None:
        """Say which variant of the id files it is."""
        if not all((folder / f"{kind}_{number}").is_file() for kind in ("ent_ids", "triples") for number in (1, 2)):
            return None
        present = _present(folder)
        files = " and ".join(name for name in (REFERENCE, EAKIT) if name in present) or "no file"
        if SEEDS in present:
            middle = f", validation in {VALIDATION}" if VALIDATION in present else ""
            return f"id files: seeds in {SEEDS}{middle}, reference in {files}"
        shared = _known(folder, _names(folder / "ent_ids_1"), _names(folder / "ent_ids_2")).seeds
        if shared:
            return f"id files, BootEA's sharing variant: {len(shared):,} seeds share one id, reference in {files}"
        style = "EAkit's id files" if EAKIT in present else "id files"
        return f"{style}: all links in {files}, none marked as seeds" if present else "id files without links"

    def read_task(self, folder: Path, choice: Choice) -> tuple[Task, Reference | None]:
        """Read both graphs; the links as the folder divides them, or the chosen share of all."""
        if choice.fold is not None:
            raise InputError(f"{folder} holds id files, which have no folds: found --fold, expected --ratio or --seeds")
        source_names, target_names = _names(folder / "ent_ids_1"), _names(folder / "ent_ids_2")
        known = _known(folder, source_names, target_names)
        source, target = _graph(folder, 1, source_names), _graph(folder, 2, target_names)
        if choice.ratio is not None or choice.seeds is not None or not known.seeds:
            every = link_names([*known.seeds, *known.validation, *known.rest], source, target)
            return choose(source, target, every, choice, folder)
        seeds, validation, rest = (
            link_names(pairs, source, target) for pairs in (known.seeds, known.validation, known.rest)
        )
        reference = without(rest, seeds + validation, len(target.entities))
        return Task(source, target, seeds, validation), Reference(reference)


def _names(path: Path) -> Names:
    names: Names = {}
    for number, (identifier, name) in fields(path, 2):
        if names.setdefault(identifier, name) != name:
            raise InputError(f"{path}, line {number}: found a second name for the id {identifier}, expected one")
    return names


def _graph(folder: Path, number: int, entity_names: Names) -> Graph:
    path = folder / f"triples_{number}"
    relation_path = folder / f"rel_ids_{number}"
    entities = _positions(entity_names)
    relation_names = _names(relation_path) if relation_path.is_file() else _unnamed_relations(path)
    relations = _positions(relation_names)
    triples = []
    for line, (head, relation, tail) in fields(path, 3):
        try:
            triples.append((entities[head], relations[relation], entities[tail]))
        except KeyError as error:
            place = f"rel_ids_{number}" if error.args[0] == relation else f"ent_ids_{number}"
            raise InputError(f"{path}, line {line}: found the id {error.args[0]}, expected one of {place}") from error
    aliases = {name: identifier for identifier, name in reversed(entity_names.items())}
    distinct = list(dict.fromkeys(entity_names.values()))
    return Graph.build(
        entities=distinct,
        relations=list(dict.fromkeys(relation_names.values())),
        triples=np.array(triples, dtype=np.int64),
        aliases=[aliases[name] for name in distinct],
    )


def _positions(names: Names) -> dict[str, int]:
    """For each id the position of its name among the distinct names."""
    position = {name: row for row, name in enumerate(dict.fromkeys(names.values()))}
    return {identifier: position[name] for identifier, name in names.items()}


def _unnamed_relations(path: Path) -> Names:
    """Without rel_ids a relation's id is its name."""
    return {relation: relation for _, (_, relation, _) in fields(path, 3)}


def _present(folder: Path) -> list[str]:
    return [name for name in (SEEDS, VALIDATION, REFERENCE, EAKIT) if (folder / name).is_file()]


def _known(folder: Path, source_names: Names, target_names: Names) -> _Known:
    """The links the folder holds; where no file has the seeds, they are those that share an id, if any do."""
    ids = {name: _id_pairs(folder / name, source_names, target_names) for name in _present(folder)}
    if SEEDS not in ids:
        shared = _shared_ids(source_names, target_names, [pair for pairs in ids.values() for pair in pairs])
        ids[SEEDS] = [(identifier, identifier) for identifier in shared]
    seeds, validation, reference, eakit = (
        [(source_names[source], target_names[target]) for source, target in ids.get(name, [])]
        for name in (SEEDS, VALIDATION, REFERENCE, EAKIT)
    )
    return _Known(seeds, validation, [*reference, *eakit])


def _id_pairs(path: Path, source_names: Names, target_names: Names) -> list[tuple[str, str]]:
    pairs = []
    for number, (source, target) in fields(path, 2):
        for identifier, names, place in ((source, source_names, "ent_ids_1"), (target, target_names, "ent_ids_2")):
            if identifier not in names:
                raise InputError(f"{path}, line {number}: found the id {identifier}, expected one of {place}")
        pairs.append((source, target))
    return pairs


def _shared_ids(source_names: Names, target_names: Names, pairs: list[tuple[str, str]]) -> list[str]:
    """Ids that mean the same entity in both graphs, where the folder uses them so.

    Two graphs that merely both count from 0 share ids too. Then their links name shared ids; in the sharing variant
    the links are what is left to find, and none of them does.
    """
    shared = source_names.keys() & target_names.keys()
    used = {identifier for pair in pairs for identifier in pair}
    return [] if not pairs or shared & used else sorted(shared)
