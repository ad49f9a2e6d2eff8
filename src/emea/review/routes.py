"""The addresses of the review page: which file or which answer lies at each."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from emea.errors import EmeaError, InputError
from emea.review.desk import ChangedError, Desk
from emea.review.people import People
from emea.review.security import Guard

KINDS = {".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css"}
SHARED = ("card.js", "card.css")  # of the report
EXPORTS = ("decisions.sssom.tsv", "decisions.tsv")
LOADING = 60.0  # seconds that an export waits for the graphs
Endpoint = Callable[[Request], Awaitable[Response]]


def application(desk: Desk, people: People, hosts: Sequence[str], cookie: str) -> ASGIApp:
    """The page and what it asks for, behind its guard."""
    posts = {"next": desk.next, "card": desk.card, "decisions": desk.decide, "undo": desk.undo}
    posts |= {"bulk/preview": desk.preview, "bulk": desk.bulk, "run": desk.run}
    gets: dict[str, Callable[[Request], Any]] = {
        "state": lambda request: desk.state(request.state.who),
        "estimate": lambda _: desk.board.estimate(),
        "run": lambda _: desk.next_run.told(),
        "search": lambda request: desk.search(*(request.query_params.get(name, "") for name in ("q", "side"))),
    }
    routes = [
        *(Route(f"/{name}", _sent(act), methods=["POST"]) for name, act in posts.items()),
        *(Route(f"/{name}", _asked(find), methods=["GET"]) for name, find in gets.items()),
        *(Route(f"/export/{name}", _exported(desk, name), methods=["GET"]) for name in EXPORTS),
        *(Route(path, _file(*found), methods=["GET"]) for path, found in static_files().items()),
    ]
    return Guard(Starlette(routes=routes), people, hosts, cookie)


def static_files() -> dict[str, tuple[bytes, str]]:
    """The files of the page by address, with their kinds: only these are served."""
    found = {}
    for room, listed in (("report", SHARED), ("review", None)):
        place = Path(str(files(f"emea.{room}") / "static"))
        for path in sorted(place.rglob("*")):
            name = path.relative_to(place).as_posix()
            if path.suffix in KINDS and (listed is None or name in listed):
                address = "/" if name == "index.html" else f"/static/{name}"
                found[address] = path.read_bytes(), KINDS[path.suffix]
    return found


def _asked(find: Callable[[Request], Any]) -> Endpoint:
    """An address that only tells: in a thread, so that nobody waits for another's card."""

    async def endpoint(request: Request) -> Response:
        try:
            return _answer(await run_in_threadpool(find, request))
        except EmeaError as error:
            return _answer({"error": str(error)}, 400)

    return endpoint


def _sent(act: Callable[[str, dict[str, Any]], Any]) -> Endpoint:
    """An address that is sent JSON."""

    async def endpoint(request: Request) -> Response:
        try:
            body = json.loads(await request.body())
        except (ValueError, RecursionError):
            return _answer({"error": "found no valid JSON, expected an object"}, 400)
        try:
            if not isinstance(body, dict):
                raise InputError("found no JSON object, expected one")
            return _answer(await run_in_threadpool(act, request.state.who, body))
        except EmeaError as error:
            return _answer({"error": str(error)}, 409 if isinstance(error, ChangedError) else 400)

    return endpoint


def _answer(found: Any, status: int = 200) -> Response:
    text = json.dumps(found, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(text.encode("utf-8", "replace"), status, media_type="application/json")


def _file(content: bytes, kind: str) -> Callable[[Request], Response]:
    return lambda _: Response(content, media_type=f"{kind}; charset=utf-8")


def _exported(desk: Desk, name: str) -> Callable[[Request], Response]:
    """Decisions as a file, written anew each time."""

    def endpoint(_: Request) -> Response:
        from emea.review.exchange import export

        if name.endswith(".sssom.tsv"):
            desk.reviewed.ready.wait(LOADING)  # the graphs say how a pair is stated
        known = desk.reviewed.entities
        graphs = None if known is None else (known[0].graph, known[1].graph)
        with TemporaryDirectory() as folder:
            export(desk.decisions, Path(folder) / name, graphs)
            content = (Path(folder) / name).read_bytes()
        told = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(content, media_type="text/tab-separated-values", headers=told)

    return endpoint
