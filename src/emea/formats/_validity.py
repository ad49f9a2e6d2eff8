"""Checks IRIs and language tags that a parser was told not to check."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NoReturn

from pyoxigraph import Literal, NamedNode, Quad, Triple

from emea.errors import InputError

HINT = "--lenient skips it"  # ends the message of an `UnreadableError`
TRIPLE_AS_NODE = "a triple is used as a node"


class UnreadableError(InputError):
    """A statement that cannot be read; the others could be."""


def refuse(path: Path) -> Callable[[str, str], NoReturn]:
    """Raises the reason why a statement of a file is invalid."""

    def fail(reason: str, _text: str) -> NoReturn:
        raise UnreadableError(f"{path}: {reason}")

    return fail


def valid(quads: Iterable[Quad], fault: Callable[[str, str], object]) -> Iterator[Quad]:
    """The valid statements, their languages in lower case; the reason why another is not, and the text that is not, go
    to `fault`."""
    for quad in quads:
        found = next(filter(None, map(_fault_of, quad)), None)
        if found is not None:
            fault(*found)
        elif isinstance(quad.object, Literal) and quad.object.language:
            said = Literal(quad.object.value, language=quad.object.language)
            yield Quad(quad.subject, quad.predicate, said, quad.graph_name)
        else:
            yield quad


def _fault_of(term: object) -> tuple[str, str] | None:
    """Why a term is invalid, and the text that is."""
    if isinstance(term, Triple):
        return TRIPLE_AS_NODE, str(term)
    if isinstance(term, Literal) and term.language:
        text, reason = term.language, _language_fault(term.language)
    elif isinstance(term, Literal | NamedNode):
        text = term.value if isinstance(term, NamedNode) else term.datatype.value
        reason = _iri_fault(text)
    else:
        return None
    return (reason, text) if reason else None


@lru_cache(1 << 16)
def _iri_fault(value: str) -> str | None:
    try:
        NamedNode(value)
    except ValueError as error:
        return f"found the IRI '{value}', expected a valid one ({error})"
    return None


@lru_cache(1 << 10)
def _language_fault(tag: str) -> str | None:
    try:
        Literal("", language=tag)
    except ValueError as error:
        return f"found the language '{tag}', expected a valid one ({error})"
    return None


def is_panic(error: BaseException) -> bool:
    """Whether a library written in Rust failed, which is no Exception."""
    return type(error).__name__ == "PanicException"
