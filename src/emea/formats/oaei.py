"""OAEI Alignment RDF: pairs and alignments in the format of the Alignment API."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

import pyarrow as pa

from emea.contracts import AlignmentWriter, PairReader, PairWriter
from emea.data import Alignment, Task
from emea.errors import InputError
from emea.formats._files import writing
from emea.formats._pairs import PairColumns, checked_weight, is_excluded, is_unmatched
from emea.formats._writing import alignment_pairs, six_digits
from emea.formats._xml import FORBIDDEN, PIECE, open_xml

NAMESPACE = "http://knowledgeweb.semanticweb.org/heterogeneity/alignment"  # also read with a trailing #
RDF_NAMESPACE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
FLOAT = "http://www.w3.org/2001/XMLSchema#float"
EQUAL_SIGN, INCOMPATIBLE = "=", "%"
CLASSES = {"EquivRelation": EQUAL_SIGN, "IncompatRelation": INCOMPATIBLE}  # of the Alignment API, used in some files
HEAD = f"""<?xml version="1.0" encoding="UTF-8"?>
<rdf:RDF xmlns="{NAMESPACE}" xmlns:rdf="{RDF_NAMESPACE}">
<Alignment>
  <xml>yes</xml>
  <level>0</level>
  <type>??</type>
"""
CELL = """  <map><Cell>
    <entity1 rdf:resource={source}/>
    <entity2 rdf:resource={target}/>
    <relation>{relation}</relation>
    <measure rdf:datatype="{datatype}">{measure}</measure>
  </Cell></map>
"""
TAIL = "</Alignment>\n</rdf:RDF>\n"


class OAEI(PairReader, PairWriter, AlignmentWriter):
    """One cell per pair: relation = links it, % excludes it, and cells with other relations are skipped."""

    description: ClassVar[str] = "OAEI Alignment RDF (.rdf, .xml): pairs with relation = and measure"
    pair_suffixes: ClassVar[tuple[str, ...]] = (".rdf", ".xml")

    def holds_pairs(self, path: Path) -> bool:
        """Whether the document holds an alignment."""
        return _Cells(path).parse(only_look=True)

    def read_pairs(self, path: Path) -> pa.Table:
        """The cells with relation =, with their measure as weight; those with relation % as excluded."""
        cells = _Cells(path)
        if not cells.parse():
            raise InputError(f"{path}: found no Alignment element, expected OAEI Alignment RDF")
        return cells.columns.build(path, "cells with the relation =")

    def write_pairs(self, pairs: pa.Table, path: Path) -> None:
        """Write one cell per pair; entities without counterpart cannot be written."""
        pairs = pairs.filter(pa.array(~is_unmatched(pairs)))
        names = zip(pairs["source"].to_pylist(), pairs["target"].to_pylist(), strict=True)
        numbers = zip(is_excluded(pairs).tolist(), six_digits(pairs["weight"].to_numpy()).tolist(), strict=True)
        with writing(path) as file:
            file.write(HEAD.encode())
            for (source, target), (excluded, weight) in zip(names, numbers, strict=True):
                cell = CELL.format(
                    source=_resource(source, path),
                    target=_resource(target, path),
                    relation=INCOMPATIBLE if excluded else EQUAL_SIGN,
                    datatype=FLOAT,
                    measure=weight,
                )
                file.write(cell.encode())
            file.write(TAIL.encode())

    def write_alignment(self, alignment: Alignment, task: Task, path: Path) -> None:
        """Write one cell per link, sorted by name, with its confidence as measure."""
        self.write_pairs(alignment_pairs(alignment, task), path)


class _Cells:
    """Collects the cells of a document while it is parsed."""

    def __init__(self, path: Path) -> None:
        self.columns = PairColumns()
        self._path, self._found = path, False
        self._entities: dict[str, str] = {}
        self._texts: dict[str, str] = {}
        self._open = ""  # the element whose text is being read
        self._parser = expat.ParserCreate("UTF-8", " ")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text

    def parse(self, *, only_look: bool = False) -> bool:
        """Read the file, or only as far as needed to tell whether it holds an alignment; return whether it does."""
        with open_xml(self._path) as file:
            while piece := file.read(PIECE):
                self._parser.Parse(piece, False)
                if only_look and self._found:
                    break
        return self._found

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._open = element = _local(name)
        if element == "Alignment":
            self._found = True
        elif element == "Cell":
            self._entities, self._texts = {}, {}
        elif element in ("entity1", "entity2"):
            self._entities[element] = attributes.get(f"{RDF_NAMESPACE} resource", "")
        elif attributes.get(f"{RDF_NAMESPACE} about") and "entity1" in self._entities:
            # An entity may also be described inside entity1 or entity2.
            last = "entity2" if "entity2" in self._entities else "entity1"
            self._entities[last] = self._entities[last] or attributes[f"{RDF_NAMESPACE} about"]

    def _text(self, text: str) -> None:
        if self._open in ("relation", "measure"):
            self._texts[self._open] = self._texts.get(self._open, "") + text

    def _end(self, name: str) -> None:
        self._open = ""
        if _local(name) != "Cell":
            return
        line = self._parser.CurrentLineNumber
        relation = self._texts.get("relation", EQUAL_SIGN).strip()
        relation = CLASSES.get(relation.rpartition(".")[2], relation)
        source, target = self._entities.get("entity1"), self._entities.get("entity2")
        if not source or not target:
            raise InputError(f"{self._path}, line {line}: found a cell without entity1 or entity2, expected both")
        if relation not in (EQUAL_SIGN, INCOMPATIBLE):
            self.columns.skip(f"the relation {relation}")
            return
        weight = checked_weight(self._texts.get("measure", "1").strip(), f"{self._path}, line {line}")
        self.columns.add(source, target, weight, excluded=relation == INCOMPATIBLE, line=line)


def _local(name: str) -> str:
    """The local name of an element in the format's namespace; empty for any other element."""
    namespace, _, local = name.rpartition(" ")
    return local if namespace.rstrip("#") == NAMESPACE else ""


def _resource(name: str, path: Path) -> str:
    if found := FORBIDDEN.search(name):
        code = ord(found[0])
        raise InputError(
            f"{path} cannot be written: found the character U+{code:04X} in a name, expected characters that XML allows"
        )
    return quoteattr(name)
