"""What the tables of a run folder tell of its entities, before its graphs are read or where they are gone."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

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


def unlinked_sources(table: pa.Table | None) -> pa.Table:
    """The sources without link, under the names that links have; the likeliest candidate as target."""
    text = pa.large_string()
    names = ("source", "target", "source_label", "target_label", "source_type")
    if table is None:
        nothing = {name: pa.array([], text) for name in names}
        return pa.table({**nothing, "confidence": pa.array([], pa.float64())})
    found = {name: table[name].fill_null("") for name in ("source", "source_label")}
    found |= {"target": table["candidate"].fill_null(""), "target_label": table["candidate_label"].fill_null("")}
    found |= {"source_type": pa.repeat(pa.scalar("", text), table.num_rows)}
    return pa.table({**found, "confidence": table["probability"].fill_null(0.0)})


class Ranked:
    """The best candidates of each source, as candidates.tsv has them."""

    def __init__(self, starts: dict[str, int], codes: np.ndarray, targets: pa.ChunkedArray) -> None:
        self._starts, self._codes, self._targets = starts, codes, targets

    @classmethod
    def read(cls, path: Path) -> Ranked | None:
        """Block by block, as the file may be large; None if there is none."""
        if not path.exists():
            return None
        types = {"source": pa.large_string(), "rank": pa.int64(), "target": pa.large_string()}
        with pyarrow.csv.open_csv(
            path,
            parse_options=pyarrow.csv.ParseOptions(delimiter="\t", quote_char=False),
            convert_options=pyarrow.csv.ConvertOptions(column_types=types, include_columns=list(types)),
        ) as blocks:
            kept = [block.filter(pc.less_equal(block["rank"], CANDIDATES)) for block in blocks]
            table = pa.Table.from_batches(kept, blocks.schema)
        encoded = pc.dictionary_encode(table["source"]).combine_chunks()
        codes, names = encoded.indices.to_numpy(), encoded.dictionary.to_pylist()
        first = np.searchsorted(codes, np.arange(len(names)))  # numbered as they come, and sources stand together
        return cls(dict(zip(names, first.tolist(), strict=True)), codes, table["target"])

    def of(self, source: str) -> list[str]:
        """The targets, the most probable first."""
        start = self._starts.get(source)
        if start is None:
            return []
        found: list[str] = self._targets[start : start + CANDIDATES].to_pylist()
        return found[: int((self._codes[start : start + CANDIDATES] == self._codes[start]).sum())]
