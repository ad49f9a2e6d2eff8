"""Which entity an unknown name may stand for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from difflib import get_close_matches
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.compute as pc

from emea.formats._labels import last_parts
from emea.formats._selection import expanded

NEIGHBOURS = 500  # names to compare on each side of where an unknown name would be
MANY = 1000  # names with the same last part, beyond which it says nothing


def meant(name: str, entities: pa.Array) -> str | None:
    """The entity whose name differs least: in scheme, slash, encoding or brackets; in its prefix; or in spelling."""
    spellings = pa.array(dict.fromkeys(_spellings(name)), pa.large_string())
    known = spellings.filter(pc.is_in(spellings, entities))
    if len(known):
        return str(known[0])
    return _same_last_part(name, entities) or _close(name, entities)


def _spellings(name: str) -> Iterator[str]:
    """Other ways to write the same name."""
    bare = expanded(name.strip().strip("<>\"'"))
    for scheme, other in (("", ""), ("http://", "https://"), ("https://", "http://")):
        if bare.startswith(scheme):
            same = other + bare.removeprefix(scheme)
            for end in (same, same.rstrip("/"), f"{same}/", same.rstrip("#"), f"{same}#"):
                yield from (end, unquote(end), quote(end, safe="/:#?=&,;()!$*+@'~%"), end.replace(" ", "_"))


def _same_last_part(name: str, entities: pa.Array) -> str | None:
    """The entity with the same last part, as dbr:Berlin for http://dbpedia.org/resource/Berlin: of several the one that
    begins most like the name, then the shortest."""
    (part,) = last_parts(pa.array([name.strip("<>/#")], pa.large_string())).to_pylist()
    ending = entities.filter(pc.ends_with(entities, part)) if part else entities.slice(0, 0)
    same = ending.filter(pc.equal(last_parts(ending), part))
    if not 0 < len(same) <= MANY:
        return None
    names: list[str] = same.to_pylist()
    return min(names, key=lambda other: (-_shared(name, other), len(other), other))


def _shared(name: str, other: str) -> int:
    """How many characters two names begin with in common."""
    return next((place for place, (a, b) in enumerate(zip(name, other, strict=False)) if a != b), len(name))


def _close(name: str, entities: pa.Array) -> str | None:
    """The entity with the most similar name among those that begin like it."""
    # Names are sorted by their bytes, so the neighbours of the unknown one share the longest prefixes with it.
    middle = bisect_left(range(len(entities)), name.encode(), key=lambda row: entities[row].as_py().encode())
    sample = entities.slice(max(0, middle - NEIGHBOURS), 2 * NEIGHBOURS).to_pylist()
    return next(iter(get_close_matches(name, sample, 1)), None)
