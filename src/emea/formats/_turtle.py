"""Cuts Turtle, TriG and N3 into statements, even where they are faulty."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

TOKEN = re.compile(
    r"""
    (?P<space>\s+|\#[^\r\n]*)
    | (?P<text>\"{3}(?:[^"\\]|\\.|"(?!""))*+\"{3} | '{3}(?:[^'\\]|\\.|'(?!''))*+'{3}
        | "(?:[^"\\\r\n]|\\.)*+" | '(?:[^'\\\r\n]|\\.)*+')
    | (?P<open>["'][^\r\n]*)  # a string that is not closed: it ends with its line
    | (?P<iri><[^<>\r\n]*>)
    | (?P<mark>[\[\](){};,])
    | (?P<word>(?:[^\s<>"'\[\](){};,\#\\]|\\.)+|.)
    """,
    re.VERBOSE | re.DOTALL,
)
DIRECTIVE = re.compile(r"@(prefix|base|version)\b|(prefix|base|version)\Z", re.IGNORECASE)
ENDS = (".", ";", ",")
Braces = Literal["graphs", "nodes"]  # what braces enclose, in TriG and in N3


@dataclass(frozen=True)
class Statement:
    """A statement or a directive, with its final dot."""

    text: str
    line: int
    graph: str | None = None  # how the graph begins that it is in, up to the brace
    directive: bool = False


@dataclass(frozen=True)
class _Token:
    text: str
    start: int
    end: int


def statements(text: str, braces: Braces | None = None) -> Iterator[Statement]:
    """The statements of a text."""
    graphs, nodes = braces == "graphs", braces == "nodes"
    tokens: list[_Token] = []
    graph: str | None = None
    line, counted, depth = 1, 0, 0
    for token in _tokens(text):
        if graphs and token.text == "{" and len(tokens) <= 3 and graph is None:
            graph = text[tokens[0].start : token.end] if tokens else "{"
            tokens = []
            continue
        ends_graph = graphs and token.text == "}"
        if not ends_graph:
            tokens.append(token)
            depth = max(0, depth + {"{": nodes, "}": -nodes}.get(token.text, 0))
        if ends_graph or (token.text == "." and not depth) or _ends_directive(tokens):
            if tokens and tokens[0].text != ".":
                line, counted = line + text.count("\n", counted, tokens[0].start), tokens[0].start
                end = "" if tokens[-1].text == "." or not ends_graph else " ."
                found = text[tokens[0].start : tokens[-1].end] + end
                yield Statement(found, line, graph, bool(DIRECTIVE.match(tokens[0].text)))
            tokens, depth = [], 0
            graph = None if ends_graph else graph
    if tokens:
        line += text.count("\n", counted, tokens[0].start)
        yield Statement(text[tokens[0].start : tokens[-1].end], line, graph)


def single_triples(text: str) -> list[tuple[str, int]]:
    """A statement as statements with one object each, and how many lines each begins after the first; none if its
    subject is not simple."""
    subject, *rest = _tokens(text)
    if subject.text in "[({" or not rest:
        return []
    found: list[tuple[str, int]] = []
    verb: list[_Token] = []
    parts: list[_Token] = []
    depth = 0
    for token in rest:
        depth += (token.text in "[({") - (token.text in "])}")
        if depth > 0 or token.text not in ENDS:
            (parts if verb else verb).append(token)
            continue
        if verb and parts:
            pieces = [subject.text, *(text[each[0].start : each[-1].end] for each in (verb, parts))]
            found.append((" ".join(pieces) + " .", text.count("\n", 0, parts[0].start)))
        parts = []
        verb = verb if token.text == "," else []
    return found


def _ends_directive(tokens: list[_Token]) -> bool:
    """Whether a directive as in SPARQL, which has no dot, is complete."""
    return bool(tokens) and tokens[0].text.lower() in ("prefix", "base") and tokens[-1].text.startswith("<")


def _tokens(text: str) -> Iterator[_Token]:
    """The tokens of a text; a dot, semicolon or comma that ends a word or an open string is a token of its own."""
    for match in TOKEN.finditer(text):
        kind, found, start = match.lastgroup, match[0], match.start()
        if kind == "space":
            continue
        bare = found.rstrip() if kind == "open" else found
        if kind in ("word", "open") and len(bare) > 1 and bare.endswith(ENDS if kind == "open" else "."):
            yield _Token(bare[:-1], start, start + len(bare) - 1)
            yield _Token(bare[-1], start + len(bare) - 1, start + len(bare))
        else:
            yield _Token(found, start, match.end())
