"""The server of the review page: which address does what, and how it is started."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from emea.errors import EmeaError, InputError, SettingsError
from emea.review.desk import ChangedError, Desk
from emea.review.people import People

if TYPE_CHECKING:
    import uvicorn
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp

    from emea.evidence.prepared import Prepared
    from emea.runs.explaining import Explainer

PORT = 8347  # if it is free: what a browser keeps for a page, it keeps by port
LOCAL = "127.0.0.1"
EVERYWHERE = {"0.0.0.0", "::", ""}
KINDS = {".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css"}
SHARED = ("card.js", "card.css")  # of the report
EXPORTS = ("decisions.sssom.tsv", "decisions.tsv")
INSTALL = "the review page needs Starlette and uvicorn: pip install 'emea[review]'"


def application(desk: Desk, people: People, hosts: Sequence[str], cookie: str) -> ASGIApp:
    """The page and what it asks for, behind its guard."""
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.responses import Response
    from starlette.routing import Route

    from emea.review.security import Guard

    def answer(found: Any, status: int = 200) -> Response:
        text = json.dumps(found, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return Response(text.encode("utf-8", "replace"), status, media_type="application/json")

    def asked(find: Callable[[Request], Any]) -> Callable[[Request], Any]:
        """An address that only tells: in a thread, so that nobody waits for another's card."""

        async def endpoint(request: Request) -> Response:
            try:
                return answer(await run_in_threadpool(find, request))
            except EmeaError as error:
                return answer({"error": str(error)}, 400)

        return endpoint

    def sent(act: Callable[[str, dict[str, Any]], Any]) -> Callable[[Request], Any]:
        """An address that is sent JSON."""

        async def endpoint(request: Request) -> Response:
            try:
                body = json.loads(await request.body())
                if not isinstance(body, dict):
                    raise InputError("found no JSON object, expected one")
                return answer(await run_in_threadpool(act, request.state.who, body))
            except (ValueError, RecursionError):
                return answer({"error": "found no valid JSON, expected an object"}, 400)
            except EmeaError as error:
                return answer({"error": str(error)}, 409 if isinstance(error, ChangedError) else 400)

        return endpoint

    def file(content: bytes, kind: str) -> Callable[[Request], Response]:
        return lambda _: Response(content, media_type=f"{kind}; charset=utf-8")

    def exported(name: str) -> Callable[[Request], Response]:
        told = {"content-disposition": f'attachment; filename="{name}"'}
        return lambda _: Response(_export(desk, name), media_type="text/tab-separated-values", headers=told)

    posts = {"next": desk.next, "card": desk.card, "decisions": desk.decide, "undo": desk.undo}
    posts |= {"bulk/preview": desk.preview, "bulk": desk.bulk, "run": desk.run}
    gets: dict[str, Callable[[Request], Any]] = {
        "state": lambda request: desk.state(request.state.who),
        "estimate": lambda _: desk.board.estimate(),
        "run": lambda _: desk.next_run.told(),
        "search": lambda request: desk.search(*(request.query_params.get(name, "") for name in ("q", "side"))),
    }
    routes = [
        *(Route(f"/{name}", sent(act), methods=["POST"]) for name, act in posts.items()),
        *(Route(f"/{name}", asked(find), methods=["GET"]) for name, find in gets.items()),
        *(Route(f"/export/{name}", exported(name), methods=["GET"]) for name in EXPORTS),
        *(Route(path, file(*found), methods=["GET"]) for path, found in static_files().items()),
    ]
    return Guard(Starlette(routes=routes), people, hosts, cookie)


def static_files() -> dict[str, tuple[bytes, str]]:
    """The files of the page by address, with their kinds: only these are served."""
    found = {}
    for room, folder in (("report", SHARED), ("review", None)):
        place = Path(str(files(f"emea.{room}") / "static"))
        for path in sorted(place.rglob("*")):
            name = path.relative_to(place).as_posix()
            if path.suffix in KINDS and (folder is None or name in folder):
                address = "/" if name == "index.html" else f"/static/{name}"
                found[address] = path.read_bytes(), KINDS[path.suffix]
    return found


def _export(desk: Desk, name: str) -> bytes:
    from emea.review.exchange import export

    with TemporaryDirectory() as folder:
        export(desk.decisions, Path(folder) / name)
        return (Path(folder) / name).read_bytes()


class Serving:
    """A review page that is being served, in a thread of its own."""

    def __init__(self, desk: Desk, server: uvicorn.Server, place: socket.socket, addresses: dict[str, str]) -> None:
        self.desk, self.addresses = desk, addresses  # of each person, with their token
        self._server = server
        self._thread = threading.Thread(target=server.run, kwargs={"sockets": [place]}, daemon=True)
        self._thread.start()
        while not server.started and self._thread.is_alive():
            time.sleep(0.005)

    @property
    def address(self) -> str:
        """That of the first person."""
        return next(iter(self.addresses.values()))

    def __repr__(self) -> str:
        return f"Serving({self.address})"

    def wait(self) -> None:
        """Until it is interrupted."""
        while self._thread.is_alive():
            self._thread.join(0.5)

    def stop(self) -> None:
        """Serve no longer."""
        self._server.should_exit = True
        self._thread.join()
        self.desk.close()


def serve(
    folder: Path,
    *,
    host: str = LOCAL,
    port: int | None = None,
    insecure: bool = False,
    people: People | None = None,
    prepared: Prepared | None = None,
    explainer: Explainer | None = None,
) -> Serving:
    """Start to serve the review page of a finished run; beyond this machine only if that is said to be insecure."""
    try:
        import uvicorn
    except ModuleNotFoundError as error:
        raise SettingsError(INSTALL) from error
    if not insecure and host not in {LOCAL, "localhost"}:
        fix = "expected 127.0.0.1, or --insecure on a network where you trust everybody"
        raise SettingsError(f"found --host {host}, where tokens and decisions would travel unencrypted; {fix}")
    people = people or People()
    desk = Desk(folder, list(people.tokens))
    place = _bound(host, port)
    number = place.getsockname()[1]
    hosts = [f"{name}:{number}" for name in _names(host)]
    app = application(desk, people, hosts, f"emea-review-{number}")
    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, lifespan="off", ws="none")
    desk.load(prepared, explainer)
    addresses = {name: f"http://{hosts[0]}/?token={token}" for name, token in people.tokens.items()}
    return Serving(desk, uvicorn.Server(config), place, addresses)


def _bound(host: str, port: int | None) -> socket.socket:
    """A socket at this port; at the usual one, or any other that is free, if none is given."""
    for number in (PORT, 0) if port is None else (port,):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        place = socket.socket(family, proto=socket.IPPROTO_TCP)  # named, or asyncio waits 40 ms to fill packets
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            place.bind((host, number))
        except OSError as error:
            place.close()
            failure = error
        else:
            return place
    raise SettingsError(f"{host}, port {port}: {failure.strerror}; expected a port that is free (--port)")


def _names(host: str) -> list[str]:
    """By which names a server at a host may be called, the best first."""
    if host in {LOCAL, "localhost"}:
        return [LOCAL, "localhost"]
    if host not in EVERYWHERE:
        return [f"[{host}]" if ":" in host else host]
    import psutil

    found = [each.address for known in psutil.net_if_addrs().values() for each in known]
    usual = [each for each in found if each.count(".") == 3 and not each.startswith("127.")]
    return list(dict.fromkeys([*usual, socket.gethostname(), socket.getfqdn(), LOCAL, "localhost"]))
