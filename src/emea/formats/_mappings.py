"""The parts of an SSSOM/TSV file: metadata in comment lines, and the rows of the table."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import yaml

from emea.errors import InputError
from emea.formats._files import quoted_rows
from emea.formats._text import text_lines

METADATA_SIZE = 1 << 20  # characters of metadata, which is parsed slowly and all at once
# Prefixes that every reader knows, declared or not.
BUILT_IN = {
    "owl": "http://www.w3.org/2002/07/owl#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "semapv": "https://w3id.org/semapv/vocab/",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "sssom": "https://w3id.org/sssom/",
}


class Mappings:
    """An SSSOM/TSV file that is being read."""

    def __init__(self, path: Path) -> None:
        """Read the metadata."""
        self._path = path
        self._lines = text_lines(path)
        comments: list[str] = []
        size, self._first = 0, ""
        for line in self._lines:
            if not line.startswith("#"):
                self._first = line
                break
            comments.append(line[1:].rstrip("\r\n"))
            size += len(line)
            if size > METADATA_SIZE:
                raise InputError(f"{path}: found more than {METADATA_SIZE:,} characters of metadata, expected fewer")
        self._comments = len(comments)
        self._metadata = self._parsed("\n".join(comments))
        self.prefixes = BUILT_IN | self._curie_map()
        self.header: list[str] = []  # of the table, known from its first row on

    def rows(self, required: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
        """The rows by slot, with their lines; slots in the metadata apply to every row that does not set them."""
        slots = {name: value for name, value in self._metadata.items() if isinstance(value, str)}
        for line, row in quoted_rows(self._path, chain([self._first], self._lines), "\t", self._comments):
            if not self.header:
                self.header = row
                missing = [name for name in required if name not in row]
                if missing:
                    raise InputError(
                        f"{self._path}, line {line}: found no column {missing[0]}, expected {', '.join(required)}"
                    )
                continue
            if len(row) != len(self.header):
                raise InputError(f"{self._path}, line {line}: found {len(row)} columns, expected {len(self.header)}")
            yield line, slots | {name: cell for name, cell in zip(self.header, row, strict=True) if cell}

    def expand(self, curie: str, line: int) -> str:
        """The IRI for a CURIE; an IRI is returned unchanged."""
        prefix, colon, local = curie.partition(":")
        if prefix in self.prefixes and colon:
            return self.prefixes[prefix] + local
        if local.startswith("//"):
            return curie
        raise InputError(
            f"{self._path}, line {line}: found '{curie}', expected a CURIE with a prefix from the curie_map "
            f"({', '.join(sorted(self.prefixes)[:10])})"
        )

    def _parsed(self, text: str) -> dict[str, Any]:
        try:
            # The pure Python loader: deep nesting raises an error instead of crashing, and all values remain strings.
            found = yaml.load(text, Loader=yaml.BaseLoader)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line = mark.line + 1 if mark is not None else 1
            reason = getattr(error, "problem", None) or getattr(error, "reason", None) or "invalid YAML"
            raise InputError(f"{self._path}, line {line}: {reason}; expected metadata in YAML") from error
        except RecursionError as error:
            raise InputError(f"{self._path}: found metadata nested too deeply, expected slots with values") from error
        if found is not None and not isinstance(found, dict):
            raise InputError(f"{self._path}, line 1: found metadata without slots, expected slots with values")
        return found or {}

    def _curie_map(self) -> dict[str, str]:
        declared = self._metadata.get("curie_map") or {}
        if not isinstance(declared, dict) or not all(isinstance(value, str) for value in declared.values()):
            raise InputError(f"{self._path}: found an invalid curie_map, expected prefixes with their IRIs")
        return declared
