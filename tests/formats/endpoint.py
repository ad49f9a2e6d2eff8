"""A SPARQL endpoint for the tests: a store behind a web server in a thread, with faults to order."""

import gzip
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from pyoxigraph import DefaultGraph, NamedNode, QueryResultsFormat, QuerySolutions, QueryTriples, RdfFormat, Store

RESULTS, TRIPLES = "application/sparql-results+json", "application/n-triples"


@dataclass(frozen=True)
class Reply:
    """What the server sends."""

    body: bytes
    kind: str = "text/plain"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    sent: int | None = None  # bytes after which the connection is cut


Fault = Callable[[str, Reply], Reply | None]  # given the query and the right reply


@dataclass
class Endpoint:
    """A store, what it was asked, and what it does wrong."""

    store: Store
    address: str = ""
    queries: list[str] = field(default_factory=list)
    requests: list[dict[str, str]] = field(default_factory=list)  # their headers
    faults: list[Fault] = field(default_factory=list)  # one for each coming request
    always: Fault | None = None
    renames: bool = False  # blank nodes, in every answer, as some servers do
    most: int = 1_000_000  # rows of an answer

    def reply(self, query: str, graph: str | None) -> Reply:
        """The right answer, or a wrong one if that is its turn."""
        self.queries.append(query)
        right = self._right(query, graph)
        fault = self.faults.pop(0) if self.faults else self.always
        return (fault(query, right) if fault else None) or right

    def _right(self, query: str, graph: str | None) -> Reply:
        capped = re.sub(r"LIMIT (\d+)", lambda found: f"LIMIT {min(self.most, int(found[1]))}", query)
        default = NamedNode(graph) if graph else DefaultGraph()
        try:
            found = self.store.query(capped, default_graph=default)
        except SyntaxError as error:
            return Reply(str(error).encode(), status=400)
        if isinstance(found, QuerySolutions):
            body = found.serialize(format=QueryResultsFormat.JSON)
            return Reply(self._renamed(body), RESULTS)
        assert isinstance(found, QueryTriples)
        return Reply(found.serialize(format=RdfFormat.N_TRIPLES), TRIPLES)

    def _renamed(self, body: bytes) -> bytes:
        if not self.renames:
            return body
        results, names = json.loads(body), dict[str, str]()
        for row in results["results"]["bindings"]:
            for cell in row.values():
                if cell["type"] == "bnode":
                    cell["value"] = names.setdefault(cell["value"], f"b{len(names)}")
        return json.dumps(results).encode()


@contextmanager
def serving(store: Store) -> Iterator[Endpoint]:
    """An endpoint on a port of this machine."""
    endpoint = Endpoint(store)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(urlsplit(self.path).query)

        def do_POST(self) -> None:
            self.answer(self.rfile.read(int(self.headers["Content-Length"])).decode())

        def answer(self, form: str) -> None:
            endpoint.requests.append(dict(self.headers))
            fields = parse_qs(form)
            reply = endpoint.reply(fields["query"][0], fields.get("default-graph-uri", [None])[0])
            body = gzip.compress(reply.body) if reply.headers.get("Content-Encoding") == "gzip" else reply.body
            self.send_response(reply.status)
            for name, value in {"Content-Type": reply.kind, "Content-Length": str(len(body)), **reply.headers}.items():
                if value:
                    self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body[: reply.sent])
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """A client may leave before it has everything."""

    server = Server(("127.0.0.1", 0), Handler)
    endpoint.address = f"http://127.0.0.1:{server.server_port}/sparql"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
