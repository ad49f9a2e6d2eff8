"""XML records: elements of one name, one after the other, whose attributes and inner elements are their fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar
from xml.etree import ElementTree

import pyarrow as pa

from emea.errors import InputError
from emea.formats._cells import DEEPEST
from emea.formats._files import stem, suffix
from emea.formats._quads import holds_rdf
from emea.formats._records import Records
from emea.formats._wide import TableReader
from emea.formats._xml import open_xml

Element = ElementTree.Element
SELF = "text"  # the name of a record's own text
QUERIED, ROW, NAMED = "sparql", "result", "name"  # of the results of a query, each with the values of variables
NAMING = {"name", "tag", "code", "key"}  # attributes that may say which field an element is
SEVERAL = 2  # of such elements in a record at least, on average
RECURRING = 0.5  # share of the records that have such a value, on average


class XMLRecords(TableReader):
    """Nested elements become columns such as address.city; a repeated one is several values."""

    description: ClassVar[str] = (
        "XML records (.xml, .kml): elements of one name below the first or a part of it; results of SPARQL (.srx)"
    )
    suffixes: ClassVar[tuple[str, ...]] = (".xml", ".srx", ".kml")

    def holds_graph(self, path: Path) -> bool:
        """Whether the document is neither RDF nor an ontology."""
        return suffix(path) != ".xml" or not holds_rdf(path)

    def read_tables(self, path: Path) -> dict[str, pa.Table]:
        """The table of all records, named like the file; of records with different names, a table for each."""
        with open_xml(path) as file:
            root = ElementTree.parse(file).getroot()
        if _name(root.tag) == QUERIED:
            return {stem(path): _results(root)}
        found = _records(root)
        if not found:
            raise InputError(
                f"{path}: found '{_name(root.tag)}' without elements that repeat, expected RDF/XML, or records: "
                "elements of one name below the first"
            )
        return {stem(path) if len(found) == 1 else name: _table(records, path) for name, records in found.items()}


def _results(root: Element) -> pa.Table:
    """The results of a query: a row for each, and a column for each variable."""
    records = Records()
    for row in (each for each in root.iter() if _name(each.tag) == ROW):
        records.add([(each.get(NAMED, ""), " ".join("".join(each.itertext()).split())) for each in row])
    return records.table()


def _records(node: Element) -> dict[str, list[Element]]:
    """The records by their names: what repeats below the first element that has such, or below those of its parts
    that do not."""
    while not (found := _repeated(node)) and len(node) == 1:
        node = node[0]
    for part in node:
        for name, records in _repeated(part).items() if _name(part.tag) not in found else ():
            found.setdefault(name, []).extend(records)
    return found


def _repeated(node: Element) -> dict[str, list[Element]]:
    """The elements directly below a node whose names repeat there, and which have fields."""
    times = Counter(_name(each.tag) for each in node)
    found: dict[str, list[Element]] = {}
    for each in node:
        if times[_name(each.tag)] > 1:
            found.setdefault(_name(each.tag), []).append(each)
    return {name: records for name, records in found.items() if any(len(each) or each.attrib for each in records)}


def _naming(elements: list[Element]) -> dict[str, str]:
    """The attributes that name fields, by the elements that they stand for: several of these are in a record, all have
    something in them, and the values recur in record after record, as the tags of MARC and the names of Data in KML."""
    values: dict[tuple[str, str], list[list[str]]] = {}
    for record in elements:
        held: dict[tuple[str, str], list[str]] = {}
        for each in record.iter():
            for attribute in NAMING & each.attrib.keys() if each is not record else ():
                full = len(each) or (each.text or "").strip()
                held.setdefault((_name(each.tag), attribute), []).append(each.attrib[attribute] if full else "")
        for place, found in held.items():
            values.setdefault(place, []).append(found)
    return {tag: attribute for (tag, attribute), found in values.items() if _recur(found, len(elements))}


def _recur(found: list[list[str]], records: int) -> bool:
    """Whether values, by record, are names of fields."""
    within = Counter(value for each in found for value in {*each})
    times = Counter(value for each in found for value in each)
    covered = sum(count * within[value] for value, count in times.items()) / (records * times.total())
    return records > 1 and "" not in times and times.total() >= SEVERAL * records and covered >= RECURRING


def _table(elements: list[Element], path: Path) -> pa.Table:
    records, naming = Records(), _naming(elements)
    for number, element in enumerate(elements, 1):
        try:
            records.add(list(_values(element, "", 0, naming)))
        except ValueError as error:
            raise InputError(f"{path}, record {number}: {error}") from error
    return records.table()


def _values(element: Element, name: str, depth: int, naming: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The texts in a record with the names of their fields: attributes, then what is inside; text with marks in it is
    one value."""
    if depth > DEEPEST:
        raise ValueError(f"found elements nested more than {DEEPEST} levels deep, expected fewer")
    for attribute, value in element.items():
        said = depth and naming.get(_name(element.tag)) == attribute
        if value.strip() and not said and not attribute.startswith("{http://www.w3.org/XML/"):  # xml:lang, xml:space
            yield _joined(name, attribute), value.strip()
    mixed = any(part.strip() for part in (element.text or "", *(each.tail or "" for each in element)))
    if mixed:
        yield name or SELF, " ".join("".join(element.itertext()).split())
        return
    for each in element:
        named = each.get(naming.get(_name(each.tag), ""), "").strip() or each.tag
        yield from _values(each, _joined(name, named), depth + 1, naming)


def _joined(name: str, inner: str) -> str:
    return f"{name}.{_name(inner)}" if name else _name(inner)


def _name(tag: str) -> str:
    """The name of an element or attribute without its namespace."""
    return tag.rpartition("}")[2]
