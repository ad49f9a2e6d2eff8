"""SSSOM/TSV: alignments as a mapping set."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import ClassVar
from uuid import NAMESPACE_URL, uuid5

from pydantic import ValidationError

from emea.contracts import AlignmentWriter
from emea.data import Alignment, Task
from emea.errors import SettingsError
from emea.formats._curies import shorten
from emea.formats._files import writing
from emea.formats._writing import names, sort_by_name, write_table

PUBLIC_DOMAIN = "https://creativecommons.org/publicdomain/zero/1.0/"
SET_NAMESPACE = "https://emea.example/alignment/"  # a placeholder: who publishes the set gives it an id of theirs
HEADER = (
    "subject_id",
    "predicate_id",
    "object_id",
    "mapping_justification",
    "mapping_cardinality",
    "confidence",
    "similarity_score",
)


class SSSOM(AlignmentWriter):
    """One row a link, ids as CURIEs with percent-encoded local parts; no date, so that a run can be repeated."""

    description: ClassVar[str] = "SSSOM/TSV mapping set, owl:sameAs with confidence and cosine similarity"

    def __init__(self, mapping_set_id: str | None = None, licence: str = PUBLIC_DOMAIN) -> None:
        """Take the IRIs of the mapping set and its licence; by default the id is made of the links' names."""
        # Readers take any other IRI for a CURIE and miss its prefix.
        if mapping_set_id is not None and not mapping_set_id.startswith(("http://", "https://")):
            raise SettingsError(f"found the mapping set id {mapping_set_id}, expected an IRI with http or https")
        self._mapping_set_id = mapping_set_id
        self._licence = licence

    def write_alignment(self, alignment: Alignment, task: Task, path: Path) -> None:
        """Write the metadata of the set and one row for each link, sorted by name."""
        alignment = sort_by_name(alignment)
        sources, targets = (column.to_pylist() for column in names(alignment, task))
        subjects, prefixes = shorten(sources, "source", _vocabularies())
        objects, prefixes = shorten(targets, "target", prefixes)
        count = len(alignment)
        columns = [
            subjects,
            ["owl:sameAs"] * count,
            objects,
            ["semapv:CompositeMatching"] * count,
            ["1:1"] * count,
            alignment.confidence.clamp(0, 1),
            alignment.similarity.clamp(0, 1),
        ]
        metadata = self._metadata(subjects, objects, prefixes)
        with writing(path) as file:
            file.write(metadata.encode())
            write_table(file, HEADER, columns)

    def _metadata(self, subjects: Sequence[str], objects: Sequence[str], prefixes: dict[str, str]) -> str:
        """The comment lines before the table; what is the same for all rows is said here once."""
        # Imported here: every command loads all formats, few write this one, and these packages load slowly.
        from sssom_pydantic import MappingSetRecord
        from sssom_pydantic.io import write_metadata

        used = {curie.partition(":")[0] for curie in (*subjects, *objects)} | {"owl", "semapv"}
        identifier = self._mapping_set_id or f"{SET_NAMESPACE}{uuid5(NAMESPACE_URL, ' '.join([*subjects, *objects]))}"
        slots = {
            "mapping_set_id": identifier,
            "license": self._licence,
            "curie_map": {prefix: namespace for prefix, namespace in prefixes.items() if prefix in used},
            "mapping_tool": "emea",
            "mapping_tool_version": version("emea"),
            "similarity_measure": "cosine",
        }
        try:
            record = MappingSetRecord.model_validate(slots)
        except ValidationError as error:
            reason = error.errors()[0]["msg"]
            raise SettingsError(f"found the licence {self._licence}, expected an IRI: {reason}") from error
        text = StringIO()
        write_metadata(record, text)
        return text.getvalue()


def _vocabularies() -> dict[str, str]:
    """The prefixes that every reader of SSSOM knows; names in their namespaces must use them."""
    from sssom_pydantic.constants import DEFAULT_PREFIX_MAP

    return dict(DEFAULT_PREFIX_MAP)
