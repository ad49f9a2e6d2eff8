"""Which format reads or writes a file: built-in ones first, then those that other packages announce."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from emea import plugins
from emea.contracts import Format, GraphReader, GraphServer, GraphWriter, PairReader, PairWriter
from emea.errors import EmeaError, InputError, InputWarning, PluginError
from emea.formats._files import is_file, read_by, suffix
from emea.formats._packing import PACKED

FormatT = TypeVar("FormatT", bound=Format)
GraphFormat = TypeVar("GraphFormat", GraphReader, GraphWriter)
KEYS: dict[type[Format], str] = {
    GraphReader: "suffixes",
    GraphWriter: "suffixes",
    GraphServer: "schemes",
    PairReader: "pair_suffixes",
    PairWriter: "pair_suffixes",
}
HINTS = {  # what to do with files that no format reads
    (".zip", ".7z", ".rar", ".tar", ".tgz", ".zst"): "unpack it first; a folder of tables is read as one graph",
    (".xls", ".ods", ".xlsb", ".numbers"): "save it as .xlsx or .csv",
    (
        ".mdb",
        ".accdb",
        ".dbf",
        ".sql",
        ".sas7bdat",
        ".dta",
        ".sav",
        ".rds",
    ): "export its tables as CSV, into one folder",
    (
        ".vcf",
        ".bib",
        ".ris",
        ".yaml",
        ".yml",
        ".mrc",
        ".html",
        ".htm",
        ".shp",
    ): "export or convert it to CSV, JSON or XML",
    (".hdt", ".hext", ".rj", ".trix"): "convert it to N-Triples",
    (".edgelist", ".edges", ".dat", ".data", ".tab", ".psv"): "if it is a table, call it .txt or .csv",
}
PairFormat = TypeVar("PairFormat", PairReader, PairWriter)


def every_format() -> Iterator[Format]:
    """The formats, built-in ones first: those of other packages are not loaded before they are needed."""
    return (found for _, found in _named())


def _named() -> Iterator[tuple[str, Format]]:
    """The formats with their names. One of another package that cannot be used is left out, with a warning: a file of
    another format does not need it."""
    for name in plugins.names("formats"):
        try:
            found = plugins.find("formats", name, Format)()
        except Exception as error:
            if name in plugins.built_in("formats"):
                raise
            whose = plugins.origin(plugins.announced("formats")[name])
            why = str(error) if isinstance(error, EmeaError) else f"'{name}': {type(error).__name__}: {error}"
            warnings.warn(f"a format of {whose} is left out: {why}", InputWarning, stacklevel=3)
            continue
        yield name, found


def overruled() -> list[tuple[str, str, str]]:
    """What announced formats would read or write, but others do: name, suffix or scheme, and who has it."""
    return [*dict.fromkeys(each for contract in KEYS for each in _overruled(contract))]


def _overruled(contract: type[Format]) -> Iterator[tuple[str, str, str]]:
    taken: dict[str, str] = {}
    for name, each in _named():
        for key in getattr(each, KEYS[contract]) if isinstance(each, contract) else ():
            if taken.setdefault(key, name) != name and name in plugins.announced("formats"):
                yield name, key, taken[key]


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


def reader_of(path: Path) -> GraphReader:
    """The format of a file with a graph: of those that read its suffix, the first that finds its own in it."""
    wanted, first = suffix(path), None
    for each in every_format():
        if isinstance(each, GraphReader) and wanted in each.suffixes:
            if not is_file(path) or each.holds_graph(path):
                return each
            first = first or each
    return first or graph_format(path, GraphReader)


def pair_format(path: Path, contract: type[PairFormat]) -> PairFormat:
    """The format that reads or writes pairs in files with this suffix."""
    found, known = first_with(contract, lambda each: each.pair_suffixes, suffix(path))
    return _known_suffix(found, path, "pairs", known)


def _known_suffix(found: FormatT | None, path: Path, what: str, known: Iterable[str]) -> FormatT:
    if found is None:
        listed = ", ".join(sorted({ending or "no suffix" for ending in known}))
        expected = f"expected one for {what}: {listed} (also with {', '.join(PACKED)})"
        hint = next((hint for endings, hint in HINTS.items() if suffix(path) in endings), None)
        expected = expected if hint is None else f"expected a file that 'emea formats' lists; {hint}"
        raise InputError(f"{path}: found the suffix '{suffix(path)}', {expected}")
    return found


def read_pair_names(path: Path) -> pa.Table:
    """The pairs in a file as names: columns source, target, weight and, if known, line and excluded."""
    reader = pair_format(path, PairReader)
    with read_by(reader, path):
        return _checked(reader.read_pairs(path), type(reader).__name__)


def _checked(pairs: object, name: str) -> pa.Table:
    """What a format returned for pairs, which weigh 1 unless it says otherwise."""
    if not isinstance(pairs, pa.Table):
        raise PluginError(f"format {name} returned {type(pairs).__name__}, expected a table (Arrow)")
    missing = [column for column in ("source", "target") if column not in pairs.column_names]
    if missing:
        raise PluginError(f"format {name} returned a table without {missing[0]}, expected source, target and weight")
    if "weight" not in pairs.column_names:
        return pairs.append_column("weight", pa.repeat(pa.scalar(1.0, pa.float32()), len(pairs)))
    return pairs
