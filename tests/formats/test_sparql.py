"""SPARQL endpoints: pages, faults, caching and queries against a real store behind a web server."""

import http.client
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from endpoint import Endpoint, Reply, serving
from generated import as_ntriples, assert_same, places
from pyoxigraph import RdfFormat, Store
from small_graphs import literal_names, triple_names

from emea import __version__
from emea.contracts import Reading
from emea.errors import InputError, SettingsError
from emea.formats import _pages, _web, read_graph, sparql

A = "http://example.org/"
PEOPLE = """
@prefix : <http://example.org/> .
:ann a :Person ; :name "Ann"@en-GB , "a \\\\ \\"q\\"\\n\\u0001 天" ; :knows :bob ; :at [ :city "Bern" ; :of :ann ] .
:bob a :Person ; :age 33 ; :at [ :city "Paris" ] .
:rex a :Dog ; :name "Rex" .
"""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_web, "PAUSE", 0.0)
    monkeypatch.setenv("EMEA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def people() -> Iterator[Endpoint]:
    store = Store()
    store.load(PEOPLE.encode(), RdfFormat.TURTLE)
    with serving(store) as endpoint:
        yield endpoint


@pytest.fixture
def numbers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    """A thousand statements, asked for in pages of 250 or less."""
    monkeypatch.setattr(sparql, "PAGE", 250)
    monkeypatch.setattr(sparql, "SMALLEST", 20)
    store = Store()
    lines = (f"<{A}{n}> <{A}next> <{A}{n * 7 % 1000}> ." for n in range(1000))
    store.load("\n".join(lines).encode(), RdfFormat.N_TRIPLES)
    with serving(store) as endpoint:
        yield endpoint


def offsets(endpoint: Endpoint) -> list[tuple[int, int]]:
    """The limit and offset of each query."""
    return [(int(a), int(b)) for query in endpoint.queries for a, b in re.findall(r"LIMIT (\d+) OFFSET (\d+)", query)]


def status(code: int, body: bytes = b"", **headers: str) -> Reply:
    return Reply(body, status=code, headers=headers)


@pytest.mark.parametrize("count", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_many_statements_are_the_graph_of_their_n_triples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(sparql, "PAGE", count)
    expected = as_ntriples(tmp_path, places(count), dates=True)
    store = Store()
    store.bulk_load(path=str(tmp_path / "expected.nt"), format=RdfFormat.N_TRIPLES)
    with serving(store) as endpoint:
        assert_same(read_graph(endpoint.address), expected)
        assert len(endpoint.queries) == -(-len(store) // count) + 1


def test_every_kind_of_statement(people: Endpoint, tmp_path: Path) -> None:
    graph = read_graph(people.address)
    (tmp_path / "people.ttl").write_text(PEOPLE)
    expected = read_graph(tmp_path / "people.ttl")
    assert {row[1:] for row in literal_names(graph)} == {row[1:] for row in literal_names(expected)}
    assert len(triple_names(graph)) == len(triple_names(expected)) == 7
    assert people.requests[0]["User-Agent"] == f"emea/{__version__}"
    assert any(note.startswith(f"{people.address}: fetched 20") for note in graph.notes)


def test_a_class_and_a_named_graph(people: Endpoint) -> None:
    dogs = read_graph(people.address, Reading(query=f"<{A}Dog>"))
    assert dogs.entities.to_pylist() == [f"{A}Dog", f"{A}rex"]
    people.store.load(b"<a:a> <a:p> <a:b> .", RdfFormat.N_TRIPLES, to_graph=sparql.NamedNode("a:g"))
    assert read_graph(people.address, Reading(graph="a:g")).entities.to_pylist() == ["a:a", "a:b"]
    with pytest.raises(InputError, match=r"found no statements for owl:Class, expected some in its default graph"):
        read_graph(people.address, Reading(query="owl:Class"))


@pytest.mark.parametrize("query", ["SELECT * WHERE { ?s ?p ?o }", "DESCRIBE <a:b>", "City", "a b", "DROP ALL {}"])
def test_other_queries_are_refused(query: str) -> None:
    with pytest.raises(SettingsError, match=r"found the query '.*', expected CONSTRUCT .* or a class$"):
        read_graph("http://127.0.0.1:1/sparql", Reading(query=query))


# --- pages and faults ---


def test_pages_follow_each_other(numbers: Endpoint) -> None:
    assert len(read_graph(numbers.address).triples) == 1000
    assert offsets(numbers) == [(250, 0), (250, 250), (250, 500), (250, 750), (250, 1000)]
    assert all("ORDER BY ?s ?p ?o" in query for query in numbers.queries)


def test_a_server_may_send_fewer_rows_than_asked_for(numbers: Endpoint) -> None:
    numbers.most = 99
    assert len(read_graph(numbers.address).triples) == 1000
    assert [start for _, start in offsets(numbers)] == [*range(0, 1000, 99), 1000]


def test_a_busy_server_is_asked_again(numbers: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(_web, "PAUSE", 1.0)
    monkeypatch.setattr(_web.time, "sleep", pauses.append)
    numbers.faults = [
        lambda query, reply: status(503, b"busy"),
        lambda query, reply: status(429, **{"Retry-After": "7"}),
        lambda query, reply: status(500, b"<html>oh</html>"),
        lambda query, reply: None,
        lambda query, reply: Reply(reply.body, reply.kind, sent=len(reply.body) // 2),
        lambda query, reply: Reply(reply.body, reply.kind, headers={"Content-Length": ""}, sent=len(reply.body) // 2),
        lambda query, reply: Reply(reply.body, reply.kind, headers={"Content-Encoding": "gzip"}),
    ]
    assert len(read_graph(numbers.address).triples) == 1000
    assert pauses == [1.0, 7.0, 4.0, 1.0, 2.0]
    assert sorted({*offsets(numbers)}) == [(250, start) for start in range(0, 1001, 250)]


@pytest.mark.parametrize(
    "slow",
    [
        lambda query, reply: status(504),
        lambda query, reply: status(500, b"Virtuoso S1T00 Error SR171: Transaction timed out"),
        lambda query, reply: Reply(reply.body, reply.kind, headers={"X-SQL-State": "S1TAT"}),
        lambda query, reply: Reply(reply.body[:-9] + b"\njava.util.concurrent.TimeoutException", reply.kind),
    ],
)
def test_pages_are_halved_when_the_server_is_slow(numbers: Endpoint, slow: object) -> None:
    numbers.always = lambda query, reply: slow(query, reply) if int(re.findall(r"LIMIT (\d+)", query)[0]) > 70 else None  # type: ignore[operator]
    assert len(read_graph(numbers.address).triples) == 1000
    assert [size for size, _ in offsets(numbers)][:3] == [250, 125, 62]
    assert {size for size, _ in offsets(numbers)[3:]} == {62}


def test_a_server_that_never_answers_in_time_is_one_sentence(numbers: Endpoint) -> None:
    numbers.always = lambda query, reply: status(504)
    with pytest.raises(
        InputError, match=r"found that 31 rows take too long, expected an answer; --query names a class"
    ):
        read_graph(numbers.address)


def test_silence_counts_as_too_slow(numbers: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise TimeoutError("timed out")

    monkeypatch.setattr(http.client.HTTPResponse, "begin", refuse)
    with pytest.raises(InputError, match="take too long"):
        read_graph(numbers.address)


def test_a_server_that_ignores_the_offset_is_one_sentence(numbers: Endpoint) -> None:
    first = numbers.reply("SELECT ?s ?p ?o WHERE { ?s ?p ?o } LIMIT 250", None)
    numbers.always = lambda query, reply: first
    with pytest.raises(InputError, match=r"found the same rows from 0 and from 250, expected OFFSET to be heeded$"):
        read_graph(numbers.address)


def test_an_interrupted_fetch_continues(numbers: Endpoint) -> None:
    numbers.always = lambda query, reply: status(503, b"closed") if "OFFSET 500" in query else None
    with pytest.raises(InputError, match=r"found HTTP 503 \(closed\) 6 times, .* the same command continues later$"):
        read_graph(numbers.address)
    numbers.always = None
    numbers.queries.clear()
    assert len(read_graph(numbers.address).triples) == 1000
    assert offsets(numbers) == [(250, 500), (250, 750), (250, 1000)]


def test_what_was_fetched_is_kept_for_a_day(numbers: Endpoint, tmp_path: Path) -> None:
    read_graph(numbers.address)
    numbers.queries.clear()
    read_graph(numbers.address)
    assert numbers.queries == []
    (folder,) = (tmp_path / "cache").iterdir()
    (kept,) = folder.iterdir()
    old = kept.stat().st_mtime - _pages.FRESH - 60
    os.utime(kept, (old, old))
    read_graph(numbers.address)
    assert len(numbers.queries) == 5


def test_a_limit_on_sorted_rows_is_worked_around(numbers: Endpoint) -> None:
    refused = b"Virtuoso 22023 Error SR353: Sorted TOP clause specifies more then 600 rows to sort."
    numbers.always = lambda query, reply: (
        status(500, refused) if not query.startswith("SELECT ?s ?p ?o WHERE { {") and "OFFSET 500" in query else None
    )
    assert len(read_graph(numbers.address).triples) == 1000
    assert offsets(numbers)[2:4] == [(250, 500), (250, 500)]


# --- blank nodes ---


@pytest.mark.parametrize("renames", [False, True])
def test_blank_nodes_of_different_pages(people: Endpoint, monkeypatch: pytest.MonkeyPatch, renames: bool) -> None:
    monkeypatch.setattr(sparql, "PAGE", 4)
    people.renames = renames
    graph = read_graph(people.address)
    blank = {name for name in graph.entities.to_pylist() if name.startswith("_:")}
    cities = {row[0]: row[2] for row in literal_names(graph) if row[1] == f"{A}city"}
    homes = {head: tail for head, relation, tail in triple_names(graph) if relation == f"{A}at"}
    assert set(cities.values()) == {"Bern", "Paris"}
    if renames:  # known on one page only: told apart rather than mixed up
        assert len(blank) > 2
        assert any("blank nodes, which the server names anew on each page" in note for note in graph.notes)
    else:
        assert len(blank) == 2
        assert {cities[homes[f"{A}{name}"]] for name in ("ann", "bob")} == {"Bern", "Paris"}
    assert all(cities.get(homes[f"{A}{name}"], city) == city for name, city in (("ann", "Bern"), ("bob", "Paris")))


# --- CONSTRUCT ---

NEXT = f"CONSTRUCT {{ ?a <{A}before> ?b }} WHERE {{ ?b <{A}next> ?a }}"


@pytest.mark.parametrize("most", [1_000_000, 70])
def test_a_construct_query_is_asked_in_pages(numbers: Endpoint, most: int) -> None:
    numbers.most = most
    graph = read_graph(numbers.address, Reading(query=NEXT))
    assert len(graph.triples) == 1000
    assert graph.relations.to_pylist() == [f"{A}before"]
    assert all("ORDER BY ?a ?b LIMIT" in query for query in numbers.queries)


def test_a_construct_query_with_limits_is_asked_as_it_is(numbers: Endpoint) -> None:
    graph = read_graph(numbers.address, Reading(query=f"{NEXT} ORDER BY ?a LIMIT 10"))
    assert len(graph.triples) == 10
    assert numbers.queries == [f"{NEXT} ORDER BY ?a LIMIT 10"]


def test_a_long_query_is_posted(numbers: Endpoint) -> None:
    query = NEXT + "".join(f"\n# {n}" for n in range(1000))
    assert len(read_graph(numbers.address, Reading(query=query)).triples) == 1000


def test_blank_nodes_of_a_construct_query(people: Endpoint) -> None:
    query = f'CONSTRUCT {{ ?s <{A}x> [ <{A}y> ?o , "_:z <a" ] }} WHERE {{ ?s <{A}name> ?o }}'
    graph = read_graph(people.address, Reading(query=query))
    assert len({name for name in graph.entities.to_pylist() if name.startswith("_:page0-")}) == 3
    assert "_:z <a" in graph.literals["value"].to_pylist()


# --- what is no endpoint ---


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (
            Reply(b"<html>", "text/html"),
            r"found a web page, expected application/sparql-results\+json; an endpoint has",
        ),
        (Reply(b"<a:a> <a:b> <a:c> .", "text/turtle"), r"found text/turtle, expected application/sparql-results"),
        (status(404, b"<html>no</html>"), r"found HTTP 404 \(Not Found\), expected an answer$"),
        (status(400, b"parse\nerror"), r"found HTTP 400 \(parse error\), expected an answer$"),
        (status(401), r"found HTTP 401 \(Unauthorized\), .*https://user:password@…$"),
        (
            status(302, Location="ftp://example.org/x"),
            r"found a redirect to ftp://example\.org/x, expected one within http",
        ),
        (
            status(302, Location="file:///etc/passwd"),
            r"found HTTP 302 \(.*'file:///etc/passwd' is not allowed\), expected an answer$",
        ),
        (Reply(b'{"results": {}}', "application/sparql-results+json"), r"found an answer that ends early 6 times"),
        (Reply(b"[" * 100_000, "application/sparql-results+json"), r"found an answer that ends early 6 times"),
    ],
)
def test_what_is_no_answer_is_one_sentence(people: Endpoint, reply: Reply, message: str) -> None:
    people.always = lambda *_: reply
    with pytest.raises(InputError, match=message) as caught:
        read_graph(people.address)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("headers", [{}, {"Content-Encoding": "gzip"}])
def test_a_page_that_is_too_large_is_refused(
    people: Endpoint, monkeypatch: pytest.MonkeyPatch, headers: dict[str, str]
) -> None:
    monkeypatch.setattr(_web, "LARGEST", 10_000)
    people.always = lambda *_: Reply(b" " * 1_000_000, "application/sparql-results+json", headers=headers)
    with pytest.raises(InputError, match=r"found an answer of more than 10,000 bytes, expected less at a time$"):
        read_graph(people.address)


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:1/sparql", "https://me:hush@host.invalid/sparql", "http://127.0.0.1:port/sparql"]
)
def test_a_server_that_is_not_there_is_one_sentence(address: str) -> None:
    with pytest.raises(InputError, match=r"^https?://\S+ cannot be reached: ") as caught:
        read_graph(address)
    assert "hush" not in str(caught.value)


def test_a_password_is_sent_to_the_server_and_not_shown(people: Endpoint, tmp_path: Path) -> None:
    graph = read_graph(people.address.replace("http://", "http://me:hush@"))
    assert people.requests[0]["Authorization"] == "Basic bWU6aHVzaA=="
    assert "hush" not in "".join(graph.notes)


def test_a_password_is_not_sent_on(people: Endpoint) -> None:
    with serving(people.store) as other:
        people.always = lambda query, _: status(302, Location=f"{other.address}?query={quote(query)}")
        read_graph(people.address.replace("http://", "http://me:hush@"))
        assert other.requests
        assert all("Authorization" not in each for each in other.requests)


def bindings(*subjects: object) -> Reply:
    """Results with these subjects."""
    end = {"p": {"type": "uri", "value": "a:p"}, "o": {"type": "literal", "value": "x"}}
    return Reply(
        json.dumps({"results": {"bindings": [{"s": each, **end} for each in subjects]}}).encode(), sparql.RESULTS
    )


def test_a_statement_that_is_not_valid_is_one_sentence_or_skipped(people: Endpoint) -> None:
    people.faults = [lambda *_: bindings({"type": "uri", "value": "a b"}, {"type": "uri", "value": "a:b"})]
    people.always = lambda *_: bindings()
    with pytest.raises(InputError, match=r"graph\.nt\.gz, line 1: "):
        read_graph(people.address)
    graph = read_graph(people.address, Reading(lenient=True))
    assert graph.entities.to_pylist() == ["a:b"]
    assert any("1 " in note and "skipped" in note for note in graph.notes)


@pytest.mark.parametrize(
    "subject", [None, 7, {}, {"type": "uri"}, {"type": "uri", "value": 7}, {"type": [], "value": []}]
)
def test_rows_that_are_no_statements_are_one_sentence(people: Endpoint, subject: object) -> None:
    people.always = lambda *_: bindings(subject)
    with pytest.raises(
        InputError, match=r"found a row without type or value, expected application/sparql-results\+json$"
    ):
        read_graph(people.address)


def test_a_cache_that_cannot_be_written_is_one_sentence(
    people: Endpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EMEA_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match=r"cannot be used: .*; \$EMEA_CACHE names another folder$"):
        read_graph(people.address)
