"""JSON-LD: contexts from elsewhere, of which schema.org's comes with the package, and keys that no context explains."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NoReturn

from pyoxigraph import Quad

from emea.errors import InputError
from emea.formats._files import open_bytes

SCHEMA_ORG = re.compile(
    r"https?://(www\.)?schema\.org(/|/docs/jsonldcontext\.json(ld)?|/version/[\w.]+/schemaorgcontext\.jsonld)?"
)
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
DEPTH = 200  # levels of nested values, and of terms that depend on each other: the parser's stack is limited
LISTED = 5  # keys that a note lists


def json_ld_document(path: Path, context: Path | None) -> bytes:
    """The document in a file, with contexts from elsewhere put in their places."""
    return json.dumps(_gathered(_Contexts(path, context).placed(_loaded(path)))).encode()


def mapped(quads: Iterable[Quad], path: Path, notes: list[str]) -> Iterator[Quad]:
    """The statements whose relations are IRIs. Values of other keys are left out, as JSON-LD asks; a note says so."""
    unknown = Counter[str]()
    for quad in quads:
        if SCHEME.match(quad.predicate.value):
            yield quad
        else:
            unknown[quad.predicate.value] += 1
    if unknown:
        listed = ", ".join(key for key, _ in unknown.most_common(LISTED))
        more = " and more" if len(unknown) > LISTED else ""
        what = "value was" if unknown.total() == 1 else "values were"
        notes.append(f"{path}: {unknown.total():,} {what} left out, of keys that no context explains: {listed}{more}")


def _gathered(document: Any) -> Any:
    """A list of nodes that share one context, such as pages of one site, as one graph whose context is read once."""
    if not isinstance(document, list) or not all(isinstance(node, dict) and "@context" in node for node in document):
        return document
    context = document[0]["@context"] if document else None
    if any(node["@context"] != context for node in document):
        return document
    nodes: list[Any] = []
    for node in document:
        if node.keys() == {"@context", "@graph"} and isinstance(node["@graph"], list):
            nodes += node["@graph"]
        elif "@graph" in node:
            return document
        else:
            nodes.append({key: part for key, part in node.items() if key != "@context"})
    return {"@context": context, "@graph": nodes}


class _Contexts:
    """Replaces the addresses of contexts by the contexts."""

    def __init__(self, path: Path, given: Path | None) -> None:
        self._path, self._given = path, given
        self._known: dict[str, Any] = {}

    def placed(self, value: Any, depth: int = 0) -> Any:
        """A value with the contexts in it."""
        self._check(depth, "levels of nested values")
        if isinstance(value, list):
            return [self.placed(each, depth + 1) for each in value]
        if not isinstance(value, dict):
            return value
        return {key: self._part(key, part, depth + 1) for key, part in value.items()}

    def _part(self, key: str, part: Any, depth: int) -> Any:
        if key == "@context":
            return self._context(part, depth)
        return part if key == "@value" else self.placed(part, depth)

    def _context(self, value: Any, depth: int) -> Any:
        """A context, and those it refers to. Contexts are not nested, so that of several one list is made."""
        self._check(depth, "contexts inside contexts")
        if isinstance(value, str):
            if value not in self._known:
                self._known[value] = self._context(self._found(value), depth + 1)
            return self._known[value]
        if isinstance(value, list):
            each = [self._context(one, depth + 1) for one in value]
            return [context for one in each for context in (one if isinstance(one, list) else [one])]
        if not isinstance(value, dict):
            return value
        own = {key: self._part(key, part, depth + 1) for key, part in value.items()}
        if isinstance(imported := own.pop("@import", None), str):
            base = self._context(imported, depth + 1)
            if not isinstance(base, dict):
                raise InputError(f"{self._path}: found the import of {imported}, expected one context in it")
            own = {**base, **own}
        self._check(_longest_chain(own), "terms that depend on each other")
        return own

    def _found(self, address: str) -> Any:
        """The context at an address."""
        if SCHEMA_ORG.fullmatch(address):
            return _schema_org()
        if self._given is None:
            raise InputError(
                f"{self._path}: found the context {address}, which is not downloaded; "
                "expected a file that stands in for it (--context FILE)"
            )
        document = _loaded(self._given)
        return document.get("@context", document) if isinstance(document, dict) else document

    def _check(self, found: int, what: str) -> None:
        if found > DEPTH:
            raise InputError(f"{self._path}: found more than {DEPTH} {what}, expected fewer")


@cache
def _schema_org() -> Any:
    """The context of schema.org, without what it says twice."""
    return json.loads(files("emea.formats").joinpath("schema_org", "context.jsonld").read_bytes())["@context"]


def _longest_chain(context: dict[str, Any]) -> int:
    """How many terms are needed at most to expand one, each abbreviated by the next.

    >>> _longest_chain({"name": "label", "label": {"@id": "rdfs:label"}, "rdfs": "http://www.w3.org/2000/01/rdf-schema#"})
    3
    """
    needs = {term: [each for each in _needed(term, part) if each in context] for term, part in context.items()}
    users: dict[str, list[str]] = {term: [] for term in context}
    for term, needed in needs.items():
        for each in needed:
            users[each].append(term)
    waiting = {term: len(needed) for term, needed in needs.items()}
    known = [term for term in context if not waiting[term]]
    lengths = dict.fromkeys(context, 1)
    for term in known:  # grows as terms become known
        for user in users[term]:
            lengths[user] = max(lengths[user], lengths[term] + 1)
            waiting[user] -= 1
            if not waiting[user]:
                known.append(user)
    return max(lengths.values(), default=0) if len(known) == len(context) else DEPTH + 1  # a circle never ends


def _needed(term: str, definition: Any) -> set[str]:
    """The terms that the definition of a term may abbreviate with."""
    parts = definition if isinstance(definition, dict) else {"@id": definition}
    names = [term, *(parts.get(key) for key in ("@id", "@type", "@reverse", "@index"))]
    return {name.partition(":")[0] for name in names if isinstance(name, str)} - {term}


def _loaded(path: Path) -> Any:
    """The JSON in a file."""
    with open_bytes(path) as file:
        data = file.read()
    try:
        return json.loads(data.decode(), parse_constant=_refused)
    except json.JSONDecodeError as error:
        raise InputError(f"{path}, line {error.lineno}: {error.msg}; expected JSON") from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}, line {line}: found byte 0x{data[error.start]:02x}, expected text in UTF-8"
        ) from error
    except RecursionError as error:
        raise InputError(f"{path}: found more than {DEPTH} levels of nested values, expected fewer") from error
    except ValueError as error:
        raise InputError(f"{path}: {error}; expected JSON") from error


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"found the number {constant}")
