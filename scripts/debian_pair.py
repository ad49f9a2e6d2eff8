"""Make a large pair of real graphs: two releases of Debian as their package indexes describe them.

    python scripts/debian_pair.py OUT --releases bookworm trixie [--mirror URL] [--indexes FOLDER] [--names]

Fetches `Packages.xz` (amd64) and `Contents` (all and amd64) of the section `main`, and writes a folder of id files as
DBP15K has them. Each release is a graph of

- packages, also those that are not there but that two others mention; their sources, maintainers, sections, priorities
  and tags;
- files, the directories they are in, up to the root, and the names that at least two of these have. Files under
  usr/share/doc, and those whose name fewer than 100 files have, are left out: with all files a graph would have eight
  million entities, most of which nothing could tell apart.

Relations are the fields of Packages, "Contains" (package, file), "Inside" (file or directory, directory) and "Called"
(file or directory, name). Truth is by name: entities of the same kind with the same name, path or address are the same.
What was renamed between the releases counts as having no counterpart. Directories like bin and usr/bin are one.

Ids are shuffled, for each graph on its own, and so are the lines of each file; the URI of an entity is made of its id
and tells nothing. With `--names` its last part is what people call the entity (`emea align --data OUT --local-names`):
for files and directories the last part of the path. `kinds_1` and `kinds_2` say of what kind each id is; emea does
not read them. `scripts/ceiling.py OUT` says how many of the links the structure can settle at best.

Point releases change the indexes; which ones were used is printed and kept in OUT/releases.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from _debian import RELATIONS, Release, fetch, read_release
from _id_files import SIDES, addresses, shuffled, write_lines

IDS, LINES, PAIRS = range(3)  # what numbers are drawn for
RESERVED = {"%": "%25", "/": "%2F", "#": "%23", ":": "%3A", " ": "%20", "\t": "%09"}


def same(source: Release, target: Release) -> np.ndarray:
    """The entities of both releases that have the same kind and key, [links, 2]."""
    found, first = [], np.zeros(2, dtype=np.int64)
    for kind, keys in source.keys.items():
        there = pc.index_in(keys, target.keys[kind]).fill_null(-1).to_numpy().astype(np.int64)
        known = np.flatnonzero(there >= 0)
        found.append(np.stack([known, there[known]], 1) + first)
        first += len(keys), len(target.keys[kind])
    return np.concatenate(found)


def called(release: Release) -> pa.Array:
    """What people call each entity, as it can be the last part of a URI."""
    names = pc.replace_substring_regex(pa.concat_arrays(list(release.keys.values())), r"^.*/", "")
    for character, written in RESERVED.items():
        names = pc.replace_substring(names, character, written)
    return names


def write_pair(releases: tuple[Release, Release], out: Path, seed: int, *, named: bool) -> dict[str, int]:
    """Write both graphs and their links, and count the lines of each file."""
    out.mkdir(parents=True, exist_ok=True)
    before = [0, len(releases[0])]  # ids and relations of the target come after those of the source
    written: dict[str, int] = {}
    ids = [
        before[side] + shuffled(np.arange(len(release)), len(release), seed, IDS, side)
        for side, release in enumerate(releases)
    ]
    for side, (release, own) in enumerate(zip(releases, ids, strict=True)):
        number, names = side + 1, called(release) if named else None
        kinds = pa.array(np.repeat(list(release.keys), [len(keys) for keys in release.keys.values()]))
        head, relation, tail = release.triples.T
        relations = range(side * len(RELATIONS), (side + 1) * len(RELATIONS))
        listed = zip(relations, RELATIONS, strict=True)
        rows = "".join(f"{place}\thttp://{SIDES[side]}.example/relation/{name}\n" for place, name in listed)
        (out / f"rel_ids_{number}").write_text(rows)
        uris = addresses(SIDES[side], own, names)
        columns = {
            "ent_ids": [pa.array(own), uris],
            "kinds": [pa.array(own), kinds],
            "triples": [pa.array(own[head]), pa.array(relation + relations[0]), pa.array(own[tail])],
        }
        written |= {f"{name}_{number}": _write(out / f"{name}_{number}", made, seed) for name, made in columns.items()}
    links = same(*releases)
    pairs = [pa.array(own[end]) for own, end in zip(ids, links.T, strict=True)]
    return written | {"ref_ent_ids": _write(out / "ref_ent_ids", pairs, seed)}


def _write(path: Path, columns: list[pa.Array], seed: int) -> int:
    keys = (seed, LINES, *path.name.encode())
    return write_lines(path, len(columns[0]), keys, lambda rows: [column.take(pa.array(rows)) for column in columns])


def main() -> None:
    """Write the pair."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="The folder to write.")
    parser.add_argument("--releases", nargs=2, default=["bookworm", "trixie"], help="Source and target.")
    parser.add_argument("--mirror", default="http://deb.debian.org/debian", help="Where the indexes are.")
    parser.add_argument("--indexes", type=Path, help="Where they are kept (default: OUT/indexes).")
    parser.add_argument("--seed", type=int, default=0, help="What the order of ids and lines is drawn from.")
    parser.add_argument("--names", action="store_true", help="Write names into the URIs.")
    chosen, started = parser.parse_args(), time.perf_counter()
    folders = [(chosen.indexes or chosen.out / "indexes") / release for release in chosen.releases]
    versions = [fetch(name, chosen.mirror, folder) for name, folder in zip(chosen.releases, folders, strict=True)]
    source, target = (read_release(folder) for folder in folders)
    for name, count in write_pair((source, target), chosen.out, chosen.seed, named=chosen.names).items():
        print(f"{count:>12,} {name}")
    (chosen.out / "releases").write_text("".join(f"{version}\n" for version in versions))
    print("\n".join(versions), f"\n{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
