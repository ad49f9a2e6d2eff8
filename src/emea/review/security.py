"""What is let in: requests to the right host, by people with a cookie, which change something only if the page sent it.

Whatever passes is answered with a policy that lets the page load from this server and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from emea.review.people import People

LARGEST = 1 << 18  # bytes of a request
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
TOO_LARGE = f"found a request of more than {LARGEST:,} bytes, expected a decision"
CLOSED = "Open the address that `emea review` printed: it holds a token for each person."


class Guard:
    """Stands before the application; hosts are those by which the server may be called, with the port."""

    def __init__(self, app: ASGIApp, people: People, hosts: Collection[str], cookie: str) -> None:
        self.app, self.people, self.cookie = app, people, cookie
        self.hosts = frozenset(host.encode() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer it here."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._handle(scope, receive, send)

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        refused = self._refused(scope["method"], headers)
        if refused is not None:
            await _answer(send, *refused)
            return
        token = parse_qs(scope["query_string"].decode("latin-1")).get("token") if scope["path"] == "/" else None
        if token is not None:
            session = self.people.session(token[0])
            if session is None:
                await _answer(send, 403, f"The token is wrong. {CLOSED}")
            else:
                kept = f"{self.cookie}={session}; HttpOnly; SameSite=Strict; Path=/"
                await _answer(send, 303, "", [(b"location", b"/"), (b"set-cookie", kept.encode())])
            return
        who = self.people.who(_cookie(headers, self.cookie))
        if who is None:
            await _answer(send, 401, CLOSED)
            return
        scope["state"] = {**scope.get("state", {}), "who": who}
        await self.app(scope, _limited(receive), _hardened(send))

    def _refused(self, method: str, headers: list[tuple[bytes, bytes]]) -> tuple[int, str] | None:
        """Why a request is not even looked at."""
        values: dict[bytes, list[bytes]] = {}
        for name, value in headers:
            values.setdefault(name.lower(), []).append(value)
        if len(values.get(b"host", ())) != 1 or values[b"host"][0] not in self.hosts:
            return 421, "found another Host, expected the address that `emea review` printed"
        if method in {"GET", "HEAD"}:
            return None
        if method != "POST":
            return 405, f"found the method {method}, expected GET or POST"
        if values.get(b"origin") != [b"http://" + values[b"host"][0]]:
            return 403, "found another Origin, expected a request of the page itself"
        if values.get(b"sec-fetch-site", [b"same-origin"]) != [b"same-origin"]:
            return 403, "found a request from another site, expected one of the page itself"
        if values.get(b"x-emea") != [b"review"]:
            return 403, "found no header X-Emea: review, expected it"
        kind = values.get(b"content-type", [b""])[0].split(b";")[0].strip().lower()
        if kind != b"application/json":
            return 415, "found another content type, expected application/json"
        length = values.get(b"content-length", [b"0"])[0]
        if not length.isdigit() or int(length) > LARGEST:
            return 413, TOO_LARGE
        return None


def _cookie(headers: list[tuple[bytes, bytes]], name: str) -> str:
    found: SimpleCookie = SimpleCookie()
    for key, value in headers:
        if key.lower() == b"cookie":
            try:
                found.load(value.decode("latin-1"))
            except CookieError:
                continue
    return found[name].value if name in found else ""


def _limited(receive: Receive) -> Receive:
    """The body of a request, as far as it is not too large: its length may not have been told, or not truly."""
    seen = 0

    async def limited() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > LARGEST:
            raise HTTPException(413, TOO_LARGE)
        return message

    return limited


def _hardened(send: Send) -> Send:
    """Answers with our headers."""

    async def hardened(message: Message) -> None:
        if message["type"] == "http.response.start":
            added = ((name.encode(), value.encode()) for name, value in HEADERS.items())
            kept = [each for each in message["headers"] if each[0].decode().lower() not in HEADERS]
            message = {**message, "headers": [*kept, *added]}
        await send(message)

    return hardened


async def _answer(send: Send, status: int, text: str, more: list[tuple[bytes, bytes]] | None = None) -> None:
    """A short answer, which closes the connection: what else was sent is not read."""
    body = json.dumps({"error": text}).encode() if text else b""
    size = str(len(body)).encode()
    own = [(b"content-type", b"application/json"), (b"content-length", size), (b"connection", b"close")]
    start: Message = {"type": "http.response.start", "status": status, "headers": [*own, *(more or [])]}
    await _hardened(send)(start)
    await send({"type": "http.response.body", "body": body})
