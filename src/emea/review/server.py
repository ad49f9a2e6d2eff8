"""Serves the review page: at which host and port, and to whom."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from emea.errors import SettingsError
from emea.report.reading import check_finished
from emea.review.desk import Desk
from emea.review.people import People
from emea.runs.folder import held

if TYPE_CHECKING:
    import uvicorn

    from emea.evidence.prepared import Prepared
    from emea.runs.explaining import Explainer

PORT = 8347  # if it is free: what a browser keeps for a page, it keeps by port
LOCAL = "127.0.0.1"
EVERYWHERE = {"0.0.0.0", "::", ""}
INSTALL = "the review page needs Starlette and uvicorn: pip install 'emea[review]'"


class Serving:
    """A review page that is being served, in a thread of its own."""

    def __init__(
        self, desk: Desk, server: uvicorn.Server, place: socket.socket, addresses: dict[str, str], kept: ExitStack
    ) -> None:
        self.desk, self.addresses = desk, addresses  # of each person, with their token
        self._kept = kept  # what is given back at the end
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
        self._kept.close()


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
    check_finished(folder)  # first: to install something would not help
    try:
        import uvicorn

        from emea.review.routes import application
    except ModuleNotFoundError as error:
        raise SettingsError(INSTALL) from error
    if not insecure and host not in {LOCAL, "localhost"}:
        fix = "expected 127.0.0.1, or --insecure on a network where you trust everybody"
        raise SettingsError(f"found --host {host}, where tokens and decisions would travel unencrypted; {fix}")
    people = people or People()
    with ExitStack() as kept:  # given back at once if the page cannot be opened
        kept.enter_context(held(folder, shared=True))
        desk = Desk(folder, list(people.tokens))
        kept.callback(desk.close)
        place = _bound(host, port)
        kept.callback(place.close)
        number = place.getsockname()[1]
        hosts = [f"{name}:{number}" for name in _names(host)]
        app = application(desk, people, hosts, f"emea-review-{number}")
        quiet = {"log_level": "warning", "access_log": False, "server_header": False}
        config = uvicorn.Config(app, **quiet, proxy_headers=False, lifespan="off", ws="none")  # type: ignore[arg-type]
        desk.load(prepared, explainer)
        addresses = {name: f"http://{hosts[0]}/?token={token}" for name, token in people.tokens.items()}
        return Serving(desk, uvicorn.Server(config), place, addresses, kept.pop_all())


def _bound(host: str, port: int | None) -> socket.socket:
    """A socket at this port; at the usual one, or any other that is free, if none is given."""
    for number in (PORT, 0) if port is None else (port,):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        place = socket.socket(family, proto=socket.IPPROTO_TCP)  # named, or asyncio waits 40 ms to fill packets
        place.setsockopt(socket.SOL_SOCKET, _ours_alone(), 1)
        try:
            place.bind((host, number))
        except OSError as error:
            place.close()
            failure = error
        else:
            return place
    raise SettingsError(f"{host}, port {port}: {failure.strerror}; expected a port that is free (--port)")


def _ours_alone() -> int:
    """The option by which a port that others have is refused, and one that was left a moment ago is not: on Windows,
    the usual one would share a port with any other program."""
    return getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)


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
