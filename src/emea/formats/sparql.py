"""SPARQL endpoints: all statements, those about the instances of a class, or those that a CONSTRUCT query makes."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pyarrow.compute as pc
from pyoxigraph import NamedNode

from emea import plugins
from emea.contracts import PLAIN, GraphReader, GraphServer, Reading
from emea.data import Graph
from emea.errors import InputError, SettingsError
from emea.formats._addresses import without_password
from emea.formats._pages import Pages
from emea.formats._selection import expanded
from emea.formats._web import SLOWLY, Answer, CutError, RefusedError, TooSlowError, ask

PAGE, SMALLEST = 10_000, 100  # rows asked for at a time
RESULTS, TRIPLES = "application/sparql-results+json", "application/n-triples"
ACCEPTED = {RESULTS: (RESULTS, "application/json"), TRIPLES: (TRIPLES, "text/plain")}
ORDER = "?s ?p ?o"
CONSTRUCT = re.compile(r"\bCONSTRUCT\b.*\{", re.IGNORECASE | re.DOTALL)
TEMPLATE = re.compile(r"\bCONSTRUCT\s*(?:WHERE\s*)?\{([^{}]*)\}", re.IGNORECASE)
OTHER_QUERY = re.compile(r"\b(SELECT|ASK|DESCRIBE|INSERT|DELETE|LOAD|CLEAR|DROP)\b.*[{<?*]", re.IGNORECASE | re.DOTALL)
MODIFIED = re.compile(r"\b(LIMIT|OFFSET|ORDER|GROUP|HAVING|VALUES)\b[^{}]*(\{[^{}]*\}\s*)?$", re.IGNORECASE)
IN_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')
IN_TEXT = re.compile(r'[\x00-\x1f"\\\x7f]')
IN_LABEL = re.compile(r"[^A-Za-z0-9]")
BLANK = re.compile(rb'^_:|(?<=\s)_:(?=[^\s"<]+\s*\.\s*$)')  # at the beginning or the end of a line of N-Triples
TAIL = 10_000  # bytes of an answer in which a server may say why it ends there
TOO_MANY_SORTED = "SR353"  # Virtuoso's limit, which does not hold for a query inside another
PAGED = "page"  # how blank nodes are named that are known on one page only
Lines = list[bytes]


class SPARQL(GraphServer):
    """Statements are fetched in pages, and kept for a day."""

    description: ClassVar[str] = "SPARQL endpoints (https://…)"
    schemes: ClassVar[tuple[str, ...]] = ("http", "https")
    choices: ClassVar[tuple[str, ...]] = ("query", "graph", "lenient")

    def fetch_graph(self, address: str, reading: Reading = PLAIN) -> Graph:
        """The graph at an endpoint, or the part of it that a query says."""
        shown = str(without_password(address))
        question = _question(reading.query)
        pages = Pages(shown, reading.graph or "", question.text)
        if not pages.whole.exists():
            _Fetch(address, reading.graph, question, pages).run()
        reader = plugins.find("formats", "rdf", GraphReader)()
        graph = reader.read_graph(pages.whole, Reading(lenient=reading.lenient))
        if not len(graph.entities):
            pages.whole.unlink()
            where = f"in the graph {reading.graph}" if reading.graph else "in its default graph; --graph names another"
            what = f" for {reading.query}" if reading.query else ""
            raise InputError(f"{shown}: found no statements{what}, expected some {where}")
        moment = time.strftime("%Y-%m-%d %H:%M", time.localtime(pages.whole.stat().st_mtime))
        notes = [f"{shown}: fetched {moment} and kept in {pages.folder}, which may be deleted to fetch it again"]
        blank = pc.sum(pc.starts_with(graph.entities, f"_:{PAGED}")).as_py()
        if blank:
            notes.append(f"{shown}: {blank:,} blank nodes, which the server names anew on each page of results")
        return replace(graph, notes=(*notes, *graph.notes))


@dataclass(frozen=True)
class Question:
    """A query without its limits."""

    text: str
    order: str  # the variables to sort by; empty if the query must be asked as it is
    accept: str  # the form of the answer

    def page(self, start: int, size: int, *, nested: bool) -> str:
        """The query for some of the rows."""
        if not self.order:
            return self.text
        limits = f"LIMIT {size} OFFSET {start}"
        if nested:
            return f"SELECT {ORDER} WHERE {{ {{ {self.text} ORDER BY {self.order} }} }} {limits}"
        return f"{self.text}\nORDER BY {self.order} {limits}"


def _question(query: str | None) -> Question:
    """The question for everything, for a class, or as the query says."""
    if query is None:
        return Question("SELECT ?s ?p ?o WHERE { ?s ?p ?o }", ORDER, RESULTS)
    if CONSTRUCT.search(query):
        template = TEMPLATE.search(query)
        as_it_is = template is None or MODIFIED.search(query)
        variables = [] if template is None or as_it_is else dict.fromkeys(re.findall(r"[?$]\w+", template[1]))
        return Question(query, " ".join(variables), TRIPLES)
    try:
        if OTHER_QUERY.search(query):
            raise ValueError("another kind of query")
        name = NamedNode(expanded(query.strip().removeprefix("<").removesuffix(">")))
    except ValueError as error:
        found = " ".join(query.split())[:60]
        raise SettingsError(f"found the query '{found}', expected CONSTRUCT {{…}} WHERE {{…}} or a class") from error
    return Question(f"SELECT ?s ?p ?o WHERE {{ ?s a {name} ; ?p ?o }}", ORDER, RESULTS)


class _Fetch:
    """One fetch, from where an earlier one stopped."""

    def __init__(self, address: str, graph: str | None, question: Question, pages: Pages) -> None:
        self.address, self.graph, self.question, self.pages = address, graph, question, pages
        self.size, self.nested = PAGE, False
        self.last: tuple[int, list[Any]] = 0, []  # where the last page began, and its rows
        self.stable: bool | None = None  # whether blank nodes have the same labels on every page

    def run(self) -> None:
        """Fetch the pages that are missing, and make one file of all."""
        start, complete = 0, False
        for page in self.pages:
            start, complete = page.end, page.end == page.start
            self.size = min(PAGE, max(SMALLEST, page.end - page.start))
        while not complete:
            start, complete = self._next(start)
        self.pages.join()

    def _next(self, start: int) -> tuple[int, bool]:
        """Fetch one page; returns where the next begins, and whether there is none."""
        if self.question.accept == RESULTS:
            rows = self._shrinking(start, _rows)
            self._refuse_again(start, rows)
            try:
                lines = [self._line(row, start) for row in rows]
            except (KeyError, TypeError, AttributeError) as error:
                shown = without_password(self.address)
                raise InputError(f"{shown}: found a row without type or value, expected {RESULTS}") from error
            return self.pages.add(start, start + len(rows), lines).end, not rows
        lines = self._shrinking(start, _triples)
        self._refuse_again(start, lines)
        if start == 0 and lines and self.question.order:
            lines = self._uncapped(lines)
        kept = [BLANK.sub(f"_:{PAGED}{start}-".encode(), line) for line in lines]
        self.pages.add(start, start + (self.size if lines else 0), kept)
        if lines and not self.question.order:  # the only page
            self.pages.add(start + self.size, start + self.size, [])
        return start + self.size, not lines or not self.question.order

    def _refuse_again(self, start: int, rows: list[Any]) -> None:
        """Refuse the rows of the last page, which a server would send for ever."""
        if rows and rows == self.last[1]:
            raise InputError(
                f"{without_password(self.address)}: found the same rows from {self.last[0]:,} and from {start:,}, "
                "expected OFFSET to be heeded"
            )
        self.last = start, rows

    def _uncapped(self, first: Lines) -> Lines:
        """The first page of a CONSTRUCT query, so small that the server does not cut it: it must hold as much as its
        two halves, since its rows cannot be counted."""
        while self.size >= 2 * SMALLEST:
            half = self.size // 2
            try:
                halves = self._ask(0, half, _triples), self._ask(half, self.size - half, _triples)
            except TooSlowError:
                self.size = half
                first = self._shrinking(0, _triples)
                continue
            if len(_named(halves[0]) | _named(halves[1])) <= len(_named(first)):
                break
            first, self.size = halves[0], half
        return first

    def _shrinking(self, start: int, parse: Callable[[Answer], list[Any]]) -> list[Any]:
        """A page, smaller if the server takes too long."""
        while True:
            try:
                return self._ask(start, self.size, parse)
            except TooSlowError as error:
                if not self.question.order or self.size < 2 * SMALLEST:
                    rows = f"{self.size:,} rows" if self.question.order else "the query"
                    raise InputError(
                        f"{without_password(self.address)}: found that {rows} take too long, expected an answer; "
                        "--query names a class or says which statements to take"
                    ) from error
                self.size //= 2
            except RefusedError as error:
                if self.nested or self.question.accept != RESULTS or TOO_MANY_SORTED not in str(error):
                    raise
                self.nested = True

    def _ask(self, start: int, size: int, parse: Callable[[Answer], list[Any]]) -> list[Any]:
        query = self.question.page(start, size, nested=self.nested)
        return self._answer(query, self.question.accept, parse)

    def _answer(self, query: str, accept: str, parse: Callable[[Answer], list[Any]]) -> list[Any]:
        def checked(answer: Answer) -> list[Any]:
            _check_kind(answer, accept, str(without_password(self.address)))
            return parse(answer)

        fields = [("query", query), *([("default-graph-uri", self.graph)] if self.graph else [])]
        return ask(self.address, fields, accept, checked)

    def _line(self, row: dict[str, Any], start: int) -> bytes:
        """A row of results as a statement. Blank nodes whose labels hold on one page only are told apart."""
        blank = any(row[name]["type"] == "bnode" for name in ("s", "o"))
        if blank and self.stable is None:
            self.stable = self._keeps_labels()
        prefix = f"{PAGED}{start}-" if blank and not self.stable else "b"
        return (" ".join(_term(row[name], prefix) for name in ("s", "p", "o")) + " .\n").encode()

    def _keeps_labels(self) -> bool:
        """Whether the second of two blank nodes has the same label if it is asked for alone."""
        inner = self.question.text.removesuffix("}").replace(f"SELECT {ORDER}", "SELECT DISTINCT ?o")
        query = f"{inner} . FILTER isBlank(?o) }} ORDER BY ?o"
        try:
            both = self._answer(f"{query} LIMIT 2", RESULTS, _objects)
            alone = self._answer(f"{query} LIMIT 1 OFFSET 1", RESULTS, _objects)
        except (TooSlowError, RefusedError):
            return False
        return len(both) == 2 and both[1:] == alone


def _check_kind(answer: Answer, accept: str, shown: str) -> None:
    """Refuse an answer in another form, such as a page for people."""
    if answer.kind not in ACCEPTED[accept]:
        found = "a web page" if "html" in answer.kind else answer.kind
        raise InputError(
            f"{shown}: found {found}, expected {accept}; an endpoint has its own address, and a file must be downloaded"
        )


def _rows(answer: Answer) -> list[dict[str, Any]]:
    """The rows of results, each with s, p and o."""
    try:
        found = json.loads(answer.body)["results"]["bindings"]
        return [{name: row[name] for name in ("s", "p", "o")} for row in found]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _ended_early(answer) from error


def _objects(answer: Answer) -> list[str]:
    """The column ?o."""
    try:
        return [row["o"]["value"] for row in json.loads(answer.body)["results"]["bindings"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _ended_early(answer) from error


def _triples(answer: Answer) -> Lines:
    """The statements in N-Triples, one a line."""
    lines = [line.strip() for line in answer.body.splitlines()]
    lines = [line + b"\n" for line in lines if line and not line.startswith(b"#")]
    if any(not line.endswith(b".\n") for line in lines):
        raise _ended_early(answer)
    return lines


def _named(lines: Lines) -> set[bytes]:
    """The statements without blank nodes, which have other labels in every answer."""
    return {line for line in lines if not BLANK.search(line)}


def _ended_early(answer: Answer) -> Exception:
    if SLOWLY.search(answer.body[-TAIL:]):  # some servers write their error into the answer
        return TooSlowError()
    return CutError("an answer that ends early")


def _term(value: dict[str, Any], prefix: str) -> str:
    """A value of a result in N-Triples."""
    kind, text = value["type"], value["value"]
    if kind == "uri":
        return f"<{IN_IRI.sub(_escaped, text)}>"
    if kind == "bnode":
        return f"_:{prefix}{IN_LABEL.sub(lambda found: f'-{ord(found[0]):x}-', text)}"
    if kind == "triple":
        inner = " ".join(_term(text[name], prefix) for name in ("subject", "predicate", "object"))
        return f"<<( {inner} )>>"
    quoted = f'"{IN_TEXT.sub(_escaped, text)}"'
    if language := value.get("xml:lang"):
        return f"{quoted}@{language}"
    return f"{quoted}^^<{IN_IRI.sub(_escaped, value['datatype'])}>" if value.get("datatype") else quoted


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04X}"
