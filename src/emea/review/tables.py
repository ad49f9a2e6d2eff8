"""What the tables of a run folder tell of its entities, before its graphs are read or where they are gone."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea.runs.tables import read_blocks

CANDIDATES = 6  # of a source that are shown
FOUND = 20  # entities that a search shows
WEB = re.compile(r"https?://[^\s<>\"'`{}|\\^\x00-\x1f]+", re.IGNORECASE)


def page_of(name: str) -> str | None:
    """The address of an entity's own page, if its name is one.

    >>> page_of("http://ex.org/a"), page_of("javascript:alert(1)"), page_of("urn:a")
    ('http://ex.org/a', None, None)
    """
    return name if WEB.fullmatch(name) else None


def plain_entity(name: str, label: str = "", types: str = "") -> dict[str, Any]:
    """An entity without its graph; types are joined by |."""
    shown = {"name": name, "label": label, "types": [each for each in types.split("|") if each]}
    return {**shown, "values": [], "neighbours": [], "link": page_of(name)}


def search(entities: Iterable[tuple[str, str]], text: str) -> list[dict[str, str]]:
    """Those of some names and labels that have a text, upper and lower case alike."""
    wanted, found = text.strip().lower(), dict[str, str]()
    for name, label in entities if wanted else ():
        if name and (wanted in label.lower() or wanted in name.lower()):
            found[name] = label
            if len(found) == FOUND:
                break
    return [{"name": name, "label": label} for name, label in found.items()]


def numbers(column: pa.ChunkedArray | pa.Array) -> np.ndarray:
    """The numbers of a column, 0 for null. Arrow's own way loads pandas, which takes longer than all the rest."""
    return np.array([each or 0 for each in column.to_pylist()])


def single(column: pa.ChunkedArray) -> pa.Array:
    """The same in one piece."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def texts(column: pa.ChunkedArray) -> list[str]:
    """The texts of a column, equal ones kept once."""
    encoded = pc.dictionary_encode(column).combine_chunks()
    known = encoded.dictionary.to_pylist()
    return [known[number] for number in encoded.indices.to_pylist()]


def surest(links: pa.Table) -> pa.Table:
    """The links less those of sources that have a surer one."""
    if pc.count_distinct(links["source"]).as_py() == links.num_rows:
        return links
    source = pc.dictionary_encode(links["source"]).combine_chunks().indices.to_numpy()
    order = np.argsort(-links["confidence"].to_numpy(), kind="stable")
    _, first = np.unique(source[order], return_index=True)
    return links.take(pa.array(np.sort(order[first])))


def unlinked_sources(table: pa.Table) -> pa.Table:
    """The sources without link under the names that links have, their likeliest candidates as targets."""
    names = {"candidate": "target", "candidate_label": "target_label", "probability": "confidence"}
    found = table.rename_columns([names.get(name, name) for name in table.column_names])
    nothing = pc.utf8_slice_codeunits(found["source"], 0, 0)
    return found.append_column("source_type", nothing).append_column("target_type", nothing)


class Texts(Sequence[str]):
    """The texts of a column, each the first time it is asked for: as Python's own they take several times as much."""

    def __init__(self, column: pa.Array) -> None:
        self._column, self._order = column, np.zeros(0, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._column)

    def __iter__(self) -> Iterator[str]:
        return iter(self._column.to_pylist())

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        found: str | list[str] = self._column[row].to_pylist() if isinstance(row, slice) else self._column[row].as_py()
        return found

    def sort(self) -> None:
        """From now on, rows are found without looking through all of them."""
        self._order = pc.sort_indices(self._column).to_numpy()

    def first(self, text: str) -> int | None:
        """The first row that has a text."""
        order = self._order
        if not len(order):
            row = pc.index(self._column, text).as_py()
            return None if row < 0 else int(row)
        place = bisect_left(order, text, key=lambda row: self._column[int(row)].as_py())
        found = place < len(order) and self[int(order[place])] == text
        return int(order[place]) if found else None


class Ranked:
    """The best candidates of each card, as the run's table of candidates has them."""

    def __init__(self, start: np.ndarray, count: np.ndarray, targets: pa.Array) -> None:
        self._start, self._count, self._targets = start, count, targets

    @classmethod
    def read(cls, path: Path, sources: pa.ChunkedArray) -> Ranked | None:
        """Block by block, as the file may be large; None if there is none. Sources are those of the cards."""
        if not path.exists():
            return None
        types = {"source": pa.large_string(), "rank": pa.int64(), "target": pa.large_string()}
        cards, targets = [], []
        for block in read_blocks(path, types):
            kept = block.filter(pc.less_equal(block["rank"], CANDIDATES))
            cards.append(pc.index_in(kept["source"], sources).fill_null(len(sources)).to_numpy())
            targets.append(kept["target"])
        card = np.concatenate([np.zeros(0, dtype=np.int32), *cards])
        start, count = np.zeros(len(sources) + 1, dtype=np.int64), np.bincount(card, minlength=len(sources) + 1)
        first = np.flatnonzero(np.diff(card, prepend=-1))  # those of a source stand together
        start[card[first]] = first
        return cls(start, count, pa.concat_arrays([pa.array([], pa.large_string()), *targets]))

    def of(self, card: int) -> list[str]:
        """The targets of a card's source, the most probable first."""
        start = self._start[card]
        found: list[str] = self._targets[start : start + min(CANDIDATES, self._count[card])].to_pylist()
        return found
