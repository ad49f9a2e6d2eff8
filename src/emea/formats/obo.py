"""OBO: ontologies such as the Gene Ontology, read as the RDF that is usual for them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

from emea.contracts import PLAIN, GraphReader, Reading
from emea.data import Graph
from emea.formats._columns import STRING, GraphColumns
from emea.formats._files import suffix
from emea.formats._stanzas import Stanzas

PURL = "http://purl.obolibrary.org/obo/"
OIO = "http://www.geneontology.org/formats/oboInOwl#"
W3C = "http://www.w3.org/"
RDF, RDFS, OWL = f"{W3C}1999/02/22-rdf-syntax-ns#", f"{W3C}2000/01/rdf-schema#", f"{W3C}2002/07/owl#"
PREFIXES = {
    "xsd": f"{W3C}2001/XMLSchema#",
    "rdf": RDF,
    "rdfs": RDFS,
    "owl": OWL,
    "skos": f"{W3C}2004/02/skos/core#",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "oboInOwl": OIO,
}
SAFE = "!$&'()*+,-./:;=?@_~"  # besides letters and digits, what may stand in the end of an IRI
TERM, RELATION = "TermFrame", "TypedefFrame"  # kinds by name: fastobo is imported only where it is needed
PREFIXED, UNPREFIXED, URL = "PrefixedIdent", "UnprefixedIdent", "Url"
VALUES = {  # clauses with a value: where it is, and the attribute
    "name": ("name", f"{RDFS}label"),
    "def": ("definition", f"{PURL}IAO_0000115"),
    "comment": ("comment", f"{RDFS}comment"),
    "namespace": ("namespace", f"{OIO}hasOBONamespace"),
    "alt_id": ("alt_id", f"{OIO}hasAlternativeId"),
    "created_by": ("creator", f"{OIO}created_by"),
}
RELATIONS = {  # clauses with another term: the relation to it and, between relations, the one there
    "is_a": (f"{RDFS}subClassOf", f"{RDFS}subPropertyOf"),
    "equivalent_to": (f"{OWL}equivalentClass", f"{OWL}equivalentProperty"),
    "disjoint_from": (f"{OWL}disjointWith", f"{OWL}propertyDisjointWith"),
    "replaced_by": (f"{PURL}IAO_0100001", f"{PURL}IAO_0100001"),
    "consider": (f"{OIO}consider", f"{OIO}consider"),
    "inverse_of": (f"{OWL}inverseOf", f"{OWL}inverseOf"),
    "domain": (f"{RDFS}domain", f"{RDFS}domain"),
    "range": (f"{RDFS}range", f"{RDFS}range"),
    "subset": (f"{OIO}inSubset", f"{OIO}inSubset"),
}
CHARACTERISTICS = {
    "is_transitive": "TransitiveProperty",
    "is_symmetric": "SymmetricProperty",
    "is_asymmetric": "AsymmetricProperty",
    "is_reflexive": "ReflexiveProperty",
    "is_functional": "FunctionalProperty",
    "is_inverse_functional": "InverseFunctionalProperty",
}


class OBO(GraphReader):
    """Terms are classes. A relationship leads straight from term to term, without a restriction between them."""

    description: ClassVar[str] = "ontologies in OBO (.obo), with emea[obo]"
    suffixes: ClassVar[tuple[str, ...]] = (".obo",)
    choices: ClassVar[tuple[str, ...]] = ("lenient",)

    def read_graph(self, path: Path, reading: Reading = PLAIN) -> Graph:
        """The graph of the terms and relations."""
        found = Stanzas(path, reading)
        frames = [frame for frame in found.stanzas if _kind(frame) in (TERM, RELATION)]
        iris = _IRIs(path, found.header, frames)
        columns = GraphColumns()
        for frame in frames:
            _Described(columns, iris, frame).add_all()
        left_out = len(found.stanzas) - len(frames)
        notes = found.skipped.notes()
        if left_out:
            what = "instance was" if left_out == 1 else "instances were"
            notes += (f"{path}: {left_out:,} {what} left out; terms and relations are read",)
        return replace(columns.build(), notes=notes)


class _IRIs:
    """The IRIs of identifiers."""

    def __init__(self, path: Path, header: list[Any], frames: list[Any]) -> None:
        tags = {clause.raw_tag(): clause for clause in header}
        name = tags["ontology"].ontology if "ontology" in tags else path.name.lower().partition(suffix(path))[0]
        self._ontology = f"{PURL}{quote(name, SAFE)}#"
        spaces = {str(clause.prefix): str(clause.url) for clause in header if clause.raw_tag() == "idspace"}
        self._spaces = PREFIXES | spaces
        self._short = {}  # relations known by a short name, and by an identifier that all ontologies share
        for frame in frames:
            if _kind(frame) == RELATION and _kind(frame.id) == UNPREFIXED:
                shared = (str(clause.xref.id) for clause in frame if clause.raw_tag() == "xref")
                known = next((name for name in shared if re.fullmatch(r"\w+:\d+", name)), None)
                if known:
                    self._short[frame.id.unescaped] = known.replace(":", "_")

    def of(self, identifier: Any) -> str:
        """The IRI of an identifier."""
        if _kind(identifier) == URL:
            return str(identifier)
        if _kind(identifier) == UNPREFIXED:
            name = identifier.unescaped
            return PURL + self._short[name] if name in self._short else self._ontology + quote(name, SAFE)
        prefix, local = str(identifier.prefix), quote(str(identifier.local), SAFE)
        if prefix in self._spaces:
            return self._spaces[prefix] + local
        return f"{PURL}{quote(prefix, SAFE)}{'#_' if '_' in local else '_'}{local}"


def _kind(found: object) -> str:
    return type(found).__name__


def _text(identifier: Any) -> str:
    """An identifier as it is written in literals.

    >>> _text("X:1 ")
    'X:1'
    """
    if _kind(identifier) == PREFIXED:
        return f"{identifier.prefix}:{identifier.local}"
    return str(identifier.unescaped if _kind(identifier) == UNPREFIXED else identifier).strip()


class _Described:
    """The description of one term or relation."""

    def __init__(self, columns: GraphColumns, iris: _IRIs, frame: Any) -> None:
        self._columns, self._iris, self._frame = columns, iris, frame
        self._name, self._is_term = iris.of(frame.id), _kind(frame) == TERM

    def add_all(self) -> None:
        """Add all that its clauses say."""
        tags = {clause.raw_tag(): clause for clause in self._frame}
        annotates = "is_metadata_tag" in tags and tags["is_metadata_tag"].metadata_tag
        relation = "AnnotationProperty" if annotates else "ObjectProperty"
        self._relate(f"{RDF}type", OWL + ("Class" if self._is_term else relation))
        self._describe(f"{OIO}id", _text(self._frame.id))
        for clause in self._frame:
            self._add(clause)

    def _add(self, clause: Any) -> None:
        tag = clause.raw_tag()
        if tag in VALUES:
            where, attribute = VALUES[tag]
            self._describe(attribute, _text(getattr(clause, where)))
        elif tag == "creation_date":
            self._describe(f"{OIO}creation_date", clause.raw_value())
        elif tag == "synonym":
            self._describe(f"{OIO}has{clause.synonym.scope.capitalize()}Synonym", clause.synonym.desc.strip())
        elif tag == "xref":
            self._describe(f"{OIO}hasDbXref", _text(clause.xref.id))
        elif tag == "union_of" and self._is_term:
            self._columns.relate(self._iris.of(clause.term), f"{RDFS}subClassOf", self._name)
        elif tag in ("relationship", "intersection_of") and self._is_term:
            relation = f"{RDFS}subClassOf" if clause.typedef is None else self._iris.of(clause.typedef)
            self._relate(relation, self._iris.of(clause.term))
        elif tag == "property_value":
            self._add_property(clause.property_value)
        elif tag == "is_obsolete" and clause.obsolete:
            self._describe(f"{OWL}deprecated", "true", PREFIXES["xsd"] + "boolean")
        elif tag in CHARACTERISTICS and getattr(clause, tag.removeprefix("is_")):
            self._relate(f"{RDF}type", OWL + CHARACTERISTICS[tag])
        elif tag in RELATIONS:
            where = tag if tag in ("domain", "range", "subset") else "term" if self._is_term else "typedef"
            self._relate(RELATIONS[tag][not self._is_term], self._iris.of(getattr(clause, where)))

    def _add_property(self, found: Any) -> None:
        relation = self._iris.of(found.relation)
        if _kind(found) == "LiteralPropertyValue":
            self._describe(relation, found.value, self._iris.of(found.datatype))
        else:
            self._relate(relation, self._iris.of(found.value))

    def _relate(self, relation: str, other: str) -> None:
        self._columns.relate(self._name, relation, other)

    def _describe(self, attribute: str, value: str, datatype: str = STRING) -> None:
        self._columns.describe(self._name, attribute, value, datatype)
