"""Which format reads or writes a file: built-in ones first, then those that other packages announce."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from emea import plugins
from emea.contracts import Format, GraphReader, GraphWriter, PairReader, PairWriter
from emea.errors import InputError
from emea.formats._files import suffix

FormatT = TypeVar("FormatT", bound=Format)
GraphFormat = TypeVar("GraphFormat", GraphReader, GraphWriter)
PairFormat = TypeVar("PairFormat", PairReader, PairWriter)


def every_format() -> Iterator[Format]:
    """The formats, built-in ones first: those of other packages are not loaded before they are needed."""
    return (plugins.find("formats", name, Format)() for name in plugins.names("formats"))


def first_with(
    contract: type[FormatT], keys: Callable[[FormatT], Iterable[str]], wanted: str
) -> tuple[FormatT | None, list[str]]:
    """The first format of a kind that has a key, such as a suffix; if none has, all keys."""
    known: list[str] = []
    for each in every_format():
        if isinstance(each, contract):
            known += keys(each)
            if wanted in known:
                return each, known
    return None, known


def graph_format(path: Path, contract: type[GraphFormat]) -> GraphFormat:
    """The format that reads or writes graphs in files with this suffix."""
    found, known = first_with(contract, lambda each: each.suffixes, suffix(path))
    return _known_suffix(found, path, "a graph", known)


def pair_format(path: Path, contract: type[PairFormat]) -> PairFormat:
    """The format that reads or writes pairs in files with this suffix."""
    found, known = first_with(contract, lambda each: each.pair_suffixes, suffix(path))
    return _known_suffix(found, path, "pairs", known)


def _known_suffix(found: FormatT | None, path: Path, what: str, known: Iterable[str]) -> FormatT:
    if found is None:
        listed = ", ".join(sorted(ending or "no suffix" for ending in known))
        expected = f"expected one for {what}: {listed} (also with .gz)"
        raise InputError(f"{path}: found the suffix '{suffix(path)}', {expected}")
    return found


def read_pair_names(path: Path) -> pa.Table:
    """The pairs in a file as names: columns source, target, weight and, if known, line and excluded."""
    return pair_format(path, PairReader).read_pairs(path)
