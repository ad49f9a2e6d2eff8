"""A Debian release as a graph: its package indexes, fetched and read."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import re
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea.errors import InputError
from emea.order import unique_rows

INDEXES = ("binary-amd64/Packages.xz", "Contents-all.gz", "Contents-amd64.gz")  # of the section `main`
FIELDS = {
    **dict.fromkeys(("Pre-Depends", "Depends", "Recommends", "Suggests", "Enhances"), "package"),
    **dict.fromkeys(("Conflicts", "Breaks", "Replaces", "Provides"), "package"),
    "Source": "source",
    "Maintainer": "maintainer",
    "Section": "section",
    "Priority": "priority",
    "Tag": "tag",
}
CONTAINS, INSIDE, CALLED = "Contains", "Inside", "Called"
RELATIONS = (*FIELDS, CONTAINS, INSIDE, CALLED)
KINDS = (*dict.fromkeys(FIELDS.values()), "directory", "file", "name")
LEFT_OUT = r"^usr/share/doc(/|$)"  # mostly generated documentation: a third of all files
LEAST = 100  # files of the same name; files whose names are rarer can hardly be told apart
READ = 1 << 25  # bytes read at once
MERGED = r"^(bin|sbin|lib|lib32|lib64|libx32)(/|$)"  # the same directory as the one under usr
Edges = tuple[str, np.ndarray, str, str, np.ndarray]  # kind and numbers of heads, relation, kind and numbers of tails


@dataclass(frozen=True)
class Release:
    """A release as a graph; entities are numbered kind by kind."""

    keys: dict[str, pa.Array]  # of the entities of each kind: what they are called in every release
    triples: np.ndarray  # [triples, 3]: head, relation, tail

    @classmethod
    def join(cls, keys: dict[str, pa.Array], edges: list[Edges]) -> Release:
        """The graph of edges between entities that are numbered within their kinds; without edges to unknown ones."""
        first = dict(zip(keys, np.cumsum([0, *map(len, keys.values())]).tolist(), strict=False))
        found = []
        for head, heads, relation, tail, tails in edges:
            known = (heads >= 0) & (tails >= 0)
            columns = heads + first[head], np.full(len(heads), RELATIONS.index(relation)), tails + first[tail]
            found.append(np.stack(columns, 1)[known])
        triples = np.concatenate(found)
        return cls(keys, triples[unique_rows(*triples.T)])

    def __len__(self) -> int:
        return sum(map(len, self.keys.values()))


def fetch(release: str, mirror: str, folder: Path) -> str:
    """Fetch the indexes that are not there yet, compare them with the release's list, and say which release it is."""
    folder.mkdir(parents=True, exist_ok=True)
    listed = _fetched(f"{mirror}/dists/{release}/Release", folder / "Release").decode()
    for index in INDEXES:
        content = _fetched(f"{mirror}/dists/{release}/main/{index}", folder / Path(index).name)
        if f" {hashlib.sha256(content).hexdigest()} " not in listed:
            path = folder / Path(index).name
            raise InputError(f"{path} is not the file that {folder / 'Release'} lists; delete the folder and try again")
    said = dict(re.findall(r"^(Version|Date): (.*)$", listed, re.M))
    return f"{release} {said.get('Version', '')}, {said.get('Date', '')}"


def _fetched(address: str, path: Path) -> bytes:
    if not path.exists():
        with urllib.request.urlopen(address, timeout=60) as answer:
            content = answer.read()
        path.write_bytes(content)
    return path.read_bytes()


def stanzas(path: Path) -> Iterator[dict[str, str]]:
    """The fields of each package in Packages.xz."""
    found: dict[str, str] = {}
    last = ""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            text = line.rstrip("\n")
            if not text:
                yield found
                found = {}
            elif text[0] in " \t":
                found[last] += text
            else:
                last, _, value = text.partition(":")
                found[last] = value.strip()
    if found:
        yield found


def values(field: str, text: str) -> list[str]:
    """The keys of the entities that a field names.

    >>> values("Depends", "libc6 (>= 2.36), awk:any | mawk"), values("Maintainer", "A. Person <A@example.org>")
    (['libc6', 'awk', 'mawk'], ['a@example.org'])
    """
    if field == "Maintainer":
        return [text.rpartition("<")[2].rstrip(">").lower()]
    parts = re.split(r"[,|]", text)
    found = [re.split(r"[\s(\[]", part.strip())[0] for part in parts]
    return [each.partition(":")[0] if FIELDS[field] == "package" else each for each in found if each]


def described(path: Path) -> tuple[dict[str, pa.Array], list[Edges]]:
    """The entities in Packages.xz, and the edges between them."""
    known: dict[str, dict[str, int]] = {kind: {} for kind in FIELDS.values()}
    said: dict[str, list[tuple[int, int]]] = {field: [] for field in FIELDS}
    for stanza in stanzas(path):
        package = known["package"].setdefault(stanza["Package"], len(known["package"]))
        stanza.setdefault("Source", stanza["Package"])
        for field in (each for each in FIELDS if each in stanza):  # in an order that is always the same
            own = known[FIELDS[field]]
            said[field] += [(package, own.setdefault(key, len(own))) for key in values(field, stanza[field])]
    ends = {field: np.array(pairs, dtype=np.int64).reshape(-1, 2).T for field, pairs in said.items()}
    number = _kept(ends, len(known["package"]))
    edges: list[Edges] = []
    for field, (heads, tails) in ends.items():
        kind = FIELDS[field]
        edges.append(("package", number[heads], field, kind, number[tails] if kind == "package" else tails))
    keys = {kind: pa.array(list(own), pa.string()) for kind, own in known.items()}
    return keys | {"package": keys["package"].filter(pa.array(number >= 0))}, edges


def _kept(ends: dict[str, np.ndarray], packages: int) -> np.ndarray:
    """New numbers of the packages that are there, or that at least two of these mention; −1 for the others."""
    mentions = np.concatenate([pairs for field, pairs in ends.items() if FIELDS[field] == "package"], axis=1)
    distinct = np.unique(mentions[0] * packages + mentions[1]) % packages
    kept = np.bincount(distinct, minlength=packages) > 1
    kept[ends["Source"][0]] = True  # every package that is there has one
    return np.where(kept, np.cumsum(kept) - 1, -1)


def listed(folder: Path) -> tuple[pa.Array, pa.Array]:
    """Paths of the files whose names are frequent, and the packages of each, separated by commas."""
    found: list[list[pa.Array]] = [[], [], []]
    for rows in (rows for index in INDEXES[1:] for rows in _rows(folder / index)):
        parts = pc.split_pattern(rows, " ", max_splits=1, reverse=True)
        path = pc.utf8_rtrim_whitespace(pc.list_element(parts, 0))
        told = pc.invert(pc.match_substring_regex(path, LEFT_OUT))
        path, packages = path.filter(told), pc.list_element(parts, 1).filter(told)
        path = pc.replace_substring_regex(path, MERGED, r"usr/\1\2")
        for column, encoded in zip((_parent(path), _last(path), packages), found, strict=True):
            encoded.append(column.dictionary_encode())
    directory, name, by = (pa.chunked_array(each).unify_dictionaries().combine_chunks() for each in found)
    label = name.indices.to_numpy()
    rows = pa.array(np.flatnonzero(np.bincount(label)[label] >= LEAST))
    directory, name, by = (column.take(rows).cast(pa.string()) for column in (directory, name, by))
    return pc.replace_substring_regex(pc.binary_join_element_wise(directory, name, "/"), "^/", ""), by


def _rows(path: Path) -> Iterator[pa.Array]:
    with gzip.open(path) as file:
        rest = b""
        while block := file.read(READ):
            whole, end, rest = (rest + block).rpartition(b"\n")
            if end:
                yield pa.array(whole.decode("utf-8", "replace").split("\n"), pa.string())
    if rest:
        yield pa.array([rest.decode("utf-8", "replace")], pa.string())


def _last(paths: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(paths, r"^.*/", "")


def _parent(paths: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(paths, r"/?[^/]*$", "")


def _numbers(keys: pa.Array, known: pa.Array) -> np.ndarray:
    """The numbers of keys, −1 for those that are unknown."""
    found: np.ndarray = pc.index_in(keys, known).fill_null(-1).to_numpy().astype(np.int64)
    return found


def _missing(keys: pa.Array, known: pa.Array) -> pa.Array:
    return keys.filter(pc.invert(pc.is_in(keys, known)))


def stored(paths: pa.Array, packages: pa.Array, known: pa.Array) -> tuple[dict[str, pa.Array], list[Edges]]:
    """Files, the directories they are in, and names that several of these have; and the edges between them."""
    files = pc.unique(paths)
    directories = pc.unique(_parent(files))
    while len(new := _missing(pc.unique(_parent(directories)), directories)):
        directories = pa.concat_arrays([directories, new])
    called = [_last(files), _last(directories)]
    counts = pc.value_counts(pa.concat_arrays(called))
    names = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
    single = pc.list_flatten(pc.split_pattern(packages, ","))
    owned = pc.list_parent_indices(pc.split_pattern(packages, ","))
    numbers = np.arange(len(files)), np.arange(len(directories))
    inside = [_numbers(_parent(each), directories) for each in (files, directories)]
    inside[1][_numbers(pa.array([""]), directories)] = -1  # nothing holds the root
    edges: list[Edges] = [
        ("package", _numbers(_last(single), known), CONTAINS, "file", _numbers(paths, files)[owned.to_numpy()]),
        ("file", numbers[0], INSIDE, "directory", inside[0]),
        ("directory", numbers[1], INSIDE, "directory", inside[1]),
        ("file", numbers[0], CALLED, "name", _numbers(called[0], names)),
        ("directory", numbers[1], CALLED, "name", _numbers(called[1], names)),
    ]
    return {"directory": directories, "file": files, "name": names}, edges


def read_release(folder: Path) -> Release:
    """The graph of a release whose indexes are in a folder."""
    keys, edges = described(folder / "Packages.xz")
    more, others = stored(*listed(folder), keys["package"])
    return Release.join(keys | more, edges + others)
