"""SSSOM/TSV: pairs and alignments as a mapping set."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote, unquote
from uuid import NAMESPACE_URL, uuid5

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import yaml

from emea import __version__
from emea.contracts import AlignmentWriter, PairReader, PairWriter
from emea.data import Alignment, Task
from emea.errors import SettingsError
from emea.formats._curies import lengthen, not_recovered, shorten
from emea.formats._equality import SAME, stated
from emea.formats._files import writing
from emea.formats._labels import one_line
from emea.formats._mappings import BUILT_IN, Mappings
from emea.formats._pairs import DECISION, EQUAL, PairColumns, checked_weight, is_excluded, is_unmatched
from emea.formats._writing import Column, alignment_table, sort_by_name, write_table

UNSPECIFIED = "https://w3id.org/sssom/license/unspecified"  # whoever publishes the set decides on the terms
SET_NAMESPACE = "https://emea.example/alignment/"  # a placeholder: whoever publishes the set gives it an id
TOOL = "emea"
NO_TERM = "https://w3id.org/sssom/NoTermFound"
REVIEWERS = "https://emea.example/reviewer/"  # a placeholder, for people without an ORCID
ORCID = re.compile(r"(?:https?://orcid\.org/|orcid:)?(\d{4}-\d{4}-\d{4}-\d{3}[\dX])")
CURATED = {"semapv:ManualMappingCuration", "semapv:MappingReview"}  # justifications by which a person vouches for a row
PREFIXES = BUILT_IN | {  # known to every SSSOM reader; names in these namespaces must use them
    "orcid": "https://orcid.org/",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "linkml": "https://w3id.org/linkml/",
}
REQUIRED = ("subject_id", "predicate_id", "object_id")
SIDES = {"source": "subject_id", "target": "object_id"}
Names = dict[str, pa.Array]  # by side
Said = dict[str, Column]  # slots of all rows


class SSSOM(PairReader, PairWriter, AlignmentWriter):
    """One row per link, ids as CURIEs with percent-encoded local parts; no date, so that runs are reproducible."""

    description: ClassVar[str] = (
        "SSSOM/TSV mapping set (.sssom.tsv): owl:sameAs and the like with confidence, `Not` rows as exclusions"
    )
    pair_suffixes: ClassVar[tuple[str, ...]] = (".sssom.tsv",)

    def __init__(
        self, mapping_set_id: str | None = None, licence: str = UNSPECIFIED, similarity: str | None = "cosine"
    ) -> None:
        """Set the IRIs of the mapping set and its licence, and the name of the similarity measure, if there is one; by
        default the id is derived from the links' names."""
        # Readers mistake any other IRI for a CURIE with an undeclared prefix.
        if mapping_set_id is not None and not mapping_set_id.startswith(("http://", "https://")):
            raise SettingsError(f"found the mapping set id {mapping_set_id}, expected an http or https IRI")
        if not licence.startswith(("http://", "https://")):
            raise SettingsError(f"found the licence {licence}, expected an http or https IRI")
        self._mapping_set_id = mapping_set_id
        self._licence = licence
        self._similarity = similarity

    def read_pairs(self, path: Path) -> pa.Table:
        """The rows that state equality, with their confidence as weight; those with the modifier `Not` as excluded."""
        mappings, columns = Mappings(path), PairColumns()
        for line, row in mappings.rows(REQUIRED):
            if not all(row.get(slot) for slot in REQUIRED):
                columns.skip("no subject, predicate or object")
                continue
            subject, predicate, found = (mappings.expand(row[slot], line) for slot in REQUIRED)
            if predicate not in EQUAL:
                columns.skip(row["predicate_id"])
                continue
            where, excluded = f"{path}, line {line}", row.get("predicate_modifier") == "Not"
            source, target = (
                "" if expanded == NO_TERM else _name(row, side, mappings, line)
                for side, expanded in zip(SIDES, (subject, found), strict=True)
            )
            if DECISION in mappings.header:  # no slot of SSSOM, but people add a column where they decide
                columns.decide(row.get(DECISION, ""), where, source, target, excluded=excluded, line=line)
            else:
                # What a person reviewed is known, whatever confidence the tool had.
                weight = 1.0 if row.get("reviewer_id") else checked_weight(row.get("confidence", "1"), where)
                columns.add(source, target, weight, excluded=excluded, line=line)
        return columns.build(path, "rows with owl:sameAs or skos:exactMatch")

    def write_pairs(self, pairs: pa.Table, path: Path) -> None:
        """Write pairs of unspecified origin."""
        self._write(pairs, path, {"mapping_justification": ["semapv:UnspecifiedMatching"] * pairs.num_rows})

    def write_alignment(self, alignment: Alignment, task: Task, path: Path) -> None:
        """Write the metadata of the set and one row per link, sorted by name."""
        table = alignment_table(alignment, task)
        table = table.append_column("predicate", stated(sort_by_name(alignment), task))
        weight = np.clip(table["confidence"].to_numpy(), 0, 1)
        said: Said = {
            "mapping_justification": ["semapv:CompositeMatching"] * len(weight),
            "mapping_cardinality": table["cardinality"],
        }
        if "reason" in table.column_names:
            said["comment"] = table["reason"]
        self._write(table.append_column("weight", pa.array(weight, pa.float32())), path, said)

    def read_reviews(self, path: Path) -> Iterator[dict[str, str]]:
        """The rows that state equality or its absence, whoever did: source, target, excluded (if not empty), reviewer,
        date, comment, confidence, and curated (if a person vouches for it)."""
        mappings = Mappings(path)
        for line, row in mappings.rows(REQUIRED):
            if not all(row.get(slot) for slot in REQUIRED) or mappings.expand(row["predicate_id"], line) not in EQUAL:
                continue
            names = {
                side: "" if mappings.expand(row[slot], line) == NO_TERM else _name(row, side, mappings, line)
                for side, slot in SIDES.items()
            }
            people = (row.get(f"{role}_{slot}") for role in ("reviewer", "author") for slot in ("label", "id"))
            curated = bool(row.get("reviewer_id") or row.get("reviewer_label"))
            yield names | {
                "excluded": row.get("predicate_modifier", ""),
                "reviewer": next(filter(None, people), ""),
                "date": row.get("review_date") or row.get("mapping_date", ""),
                "comment": row.get("comment", ""),
                "confidence": row.get("confidence", ""),
                "curated": "yes" if curated or row.get("mapping_justification") in CURATED else "",
            }

    def write_reviews(self, pairs: pa.Table, path: Path) -> None:
        """Write what people decided: source, target, excluded, reviewer, date, comment, as weight the confidence that
        the tool had, null for a pair that a person found, and the predicate, owl:sameAs if there is none."""
        found = pairs["weight"].to_pylist()
        people = [(name or "").replace("|", "/") for name in pairs["reviewer"].to_pylist()]
        said: Said = {
            "mapping_justification": [
                "semapv:ManualMappingCuration" if each is None else "semapv:CompositeMatching" for each in found
            ],
            "reviewer_id": [_reviewer(name) for name in people],
            "reviewer_label": _quoted(pa.array(people, pa.large_string())),
            "review_date": pc.utf8_slice_codeunits(pairs["date"], 0, 10),
            "comment": _quoted(one_line(pairs["comment"])),
            "confidence": ["" if each is None else f"{each:.6g}" for each in found],
        }
        self._write(pairs, path, said)

    def write_relations(self, pairs: pa.Table, path: Path) -> None:
        """Write pairs of relations: source, target, weight, and the predicate that relates them; a `^` before it means
        that it holds from target to source."""
        said: Said = {"mapping_justification": ["semapv:StructuralMatching"] * pairs.num_rows}
        self._write(pairs, path, said)

    def _write(self, pairs: pa.Table, path: Path, said: Said) -> None:
        names = {side: _terms(pairs[side]) for side in SIDES}
        reviewers = [str(each) for each in said.get("reviewer_id", ())]
        known_prefixes = PREFIXES | ({"reviewer": REVIEWERS} if reviewers else {})
        subjects, prefixes = shorten(names["source"], "source", known_prefixes)
        objects, prefixes = shorten(names["target"], "target", prefixes)
        exact = _exact_names(names, {"source": subjects, "target": objects}, prefixes)
        same = pa.repeat(pa.scalar(SAME, pa.large_string()), pairs.num_rows)
        predicates = pairs["predicate"].combine_chunks() if "predicate" in pairs.column_names else same
        turned = pc.starts_with(predicates, "^")
        subjects, objects = pc.if_else(turned, objects, subjects), pc.if_else(turned, subjects, objects)
        predicates = pc.utf8_ltrim(predicates, "^")
        columns: Said = {
            "subject_id": subjects,
            **_labels(pairs, "source_label", "subject_label"),
            "predicate_id": predicates,
            "object_id": objects,
            **_labels(pairs, "target_label", "object_label"),
            **said,
        }
        columns.setdefault("confidence", pairs["weight"].to_numpy())
        if "similarity" in pairs.column_names and self._similarity is not None:
            columns["similarity_score"] = np.clip(pairs["similarity"].to_numpy(), 0, 1)
        if is_excluded(pairs).any():
            refused = is_excluded(pairs) & ~is_unmatched(pairs)
            columns["predicate_modifier"] = ["Not" if excluded else "" for excluded in refused.tolist()]
        if exact is not None:
            columns["other"] = exact
        curies = [*subjects.to_pylist(), *reviewers, *objects.to_pylist()]
        used = {curie.partition(":")[0] for curie in (*curies, *pc.unique(predicates).to_pylist())}
        used_prefixes = {prefix: prefixes[prefix] for prefix in prefixes if prefix in {*used, "owl", "semapv"}}
        metadata = self._metadata(curies, used_prefixes, measured="similarity_score" in columns)
        with writing(path) as file:
            file.write(metadata.encode())
            write_table(file, tuple(columns), list(columns.values()))

    def _metadata(self, curies: Sequence[str], prefixes: dict[str, str], *, measured: bool) -> str:
        """The comment lines before the table; values shared by all rows are given here once."""
        identifier = self._mapping_set_id or f"{SET_NAMESPACE}{uuid5(NAMESPACE_URL, ' '.join(curies))}"
        slots = {
            "curie_map": prefixes,
            "mapping_set_id": identifier,
            "license": self._licence,
            "mapping_tool": TOOL,
            "mapping_tool_version": __version__,
        }
        if measured and self._similarity is not None:
            slots["similarity_measure"] = self._similarity
        text = yaml.safe_dump(slots, sort_keys=False, allow_unicode=True, width=1 << 20)
        return "".join(f"#{line}\n" for line in text.splitlines())


def _labels(pairs: pa.Table, column: str, slot: str) -> Said:
    """The labels of one side, quoted where they contain quotes; nothing if no entity has one."""
    if column not in pairs.column_names or pairs[column].null_count == pairs.num_rows:
        return {}
    return {slot: _quoted(pairs[column].fill_null(""))}


def _quoted(texts: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Texts, in quotes where they contain some."""
    quote_mark, nothing = (pa.scalar(text, pa.large_string()) for text in ('"', ""))
    doubled = pc.replace_substring(texts, '"', '""')
    quoted = pc.binary_join_element_wise(quote_mark, doubled, quote_mark, nothing)
    return pc.if_else(pc.match_substring(texts, '"'), quoted, texts)


def _reviewer(name: str) -> str:
    """A person as a CURIE."""
    found = ORCID.fullmatch(name)
    return f"orcid:{found[1]}" if found else f"reviewer:{quote(name, safe='')}"


def _name(row: dict[str, str], side: str, mappings: Mappings, line: int) -> str:
    """The name of an entity: decoded if we wrote the file, or else as it stands."""
    for note in row.get("other", "").split("|"):
        key, _, name = note.partition("=")
        if key == f"{TOOL}_{side}":
            return unquote(name)
    expanded = mappings.expand(row[SIDES[side]], line)
    ours = row.get("mapping_tool") == TOOL and row[SIDES[side]] != expanded
    return lengthen(row[SIDES[side]], side, mappings.prefixes) if ours else expanded


def _terms(names: pa.ChunkedArray) -> pa.Array:
    """Names, with what stands for none where there is none."""
    filled = pa.concat_arrays(names.cast(pa.large_string()).fill_null("").chunks or [pa.array([], pa.large_string())])
    return pc.if_else(pc.equal(filled, ""), NO_TERM, filled)


def _exact_names(names: Names, curies: Names, prefixes: dict[str, str]) -> list[str] | None:
    """For each row, the names that cannot be recovered from their CURIEs; None if there are none."""
    rows = {side: not_recovered(names[side], curies[side], side, prefixes) for side in SIDES}
    if not any(rows.values()):
        return None
    notes: list[list[str]] = [[] for _ in range(len(names["source"]))]
    for side, lost in rows.items():
        for row, name in zip(lost, names[side].take(pa.array(lost, pa.int64())).to_pylist(), strict=True):
            notes[row].append(f"{TOOL}_{side}={quote(name, safe='/:')}")
    return ["|".join(note) for note in notes]
