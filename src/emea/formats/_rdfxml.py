"""Writes RDF/XML, because pyoxigraph writes invalid XML if an IRI does not end in a name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import BinaryIO
from xml.sax.saxutils import escape, quoteattr

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from emea.formats._columns import STRING
from emea.formats._xml import FORBIDDEN

RDF_NAMESPACE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
START = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
INSIDE = f"{START}0-9.\u00b7\u0300-\u036f\u203f\u2040-"
NAME = re.compile(f"[{START}][{INSIDE}]*\\Z")
REVERSED = re.compile(f"[{INSIDE}]*[{START}]")  # a name from its end: searched for forwards, a long IRI takes forever
RESERVED = {
    RDF_NAMESPACE + term
    for term in ("RDF", "ID", "about", "parseType", "resource", "nodeID", "datatype", "Description", "li", "bagID")
} | {RDF_NAMESPACE + "aboutEach", RDF_NAMESPACE + "aboutEachPrefix"}
ESCAPED_LABEL = "b_"  # put before blank node labels that are not XML names, and before those that begin with it


def write_rdf_xml(file: BinaryIO, triples: Iterable[Triple]) -> None:
    """Write triples, grouping consecutive ones with the same head; raise ValueError for anything XML cannot hold."""
    file.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<rdf:RDF xmlns:rdf="{RDF_NAMESPACE}">\n'.encode())
    described: NamedNode | BlankNode | Triple | None = None
    for triple in triples:
        if triple.subject != described:
            end = "</rdf:Description>\n" if described is not None else ""
            described = triple.subject
            file.write(f"{end}<rdf:Description{_reference(described, 'about')}>\n".encode())
        file.write(_property(triple.predicate.value, triple.object).encode())
    end = "</rdf:Description>\n" if described is not None else ""
    file.write(f"{end}</rdf:RDF>\n".encode())


def _property(iri: str, tail: object) -> str:
    name = REVERSED.match(iri[::-1])
    if name is None or iri in RESERVED:
        raise ValueError(
            f"the relation '{iri}', expected an IRI that ends in an XML name and is not reserved by RDF/XML"
        )
    start = len(iri) - name.end()
    element, namespace = f"n:{iri[start:]}", f" xmlns:n={quoteattr(iri[:start])}"
    if not isinstance(tail, Literal):
        return f"<{element}{namespace}{_reference(tail, 'resource')}/>\n"
    kind = ""
    if tail.language:
        kind = f" xml:lang={quoteattr(tail.language)}"
    elif tail.datatype.value != STRING:
        kind = f" rdf:datatype={quoteattr(tail.datatype.value)}"
    found = FORBIDDEN.search(tail.value)
    if found:
        raise ValueError(f"the character U+{ord(found[0]):04X} in a literal, expected characters that XML allows")
    return f"<{element}{namespace}{kind}>{escape(tail.value, {chr(13): '&#13;'})}</{element}>\n"


def _reference(node: object, attribute: str) -> str:
    if isinstance(node, NamedNode):
        return f" rdf:{attribute}={quoteattr(node.value)}"
    if not isinstance(node, BlankNode):
        raise ValueError(f"the triple {node} used as a node, expected an IRI")
    label = node.value
    if label.startswith(ESCAPED_LABEL) or not NAME.match(label):
        label = ESCAPED_LABEL + label
    if not NAME.match(label):
        raise ValueError(f"the blank node '{node.value}', expected a label of letters and digits")
    return f" rdf:nodeID={quoteattr(label)}"
