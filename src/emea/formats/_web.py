"""Questions to web servers: over http and https only, with answers of bounded size, patiently repeated."""

from __future__ import annotations

import base64
import gzip
import http.client
import io
import re
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import IO, TypeVar
from urllib.parse import urlencode, urlsplit

from emea import __version__
from emea.errors import InputError
from emea.formats._addresses import Address
from emea.formats._files import one_line

Parsed = TypeVar("Parsed")
TRIES = 6
PAUSE = 1.0  # seconds before the second try, then twice as long each time
LONGEST_PAUSE = 300.0  # seconds that a server may ask to wait
PATIENCE = 120.0  # seconds without a byte
DEADLINE = 900.0  # seconds for a whole answer
LARGEST = 1 << 28  # bytes of an answer
PIECE = 1 << 16
LONGEST_GET = 1800  # characters of an address that every server takes
SCHEMES = ("http", "https")
BUSY = (429, 500, 502, 503)
SLOW = (408, 504)
SLOWLY = re.compile(rb"time[sd]?[ -]?out|time limit|timeoutexception", re.IGNORECASE)
SAID = 10_000  # bytes of an error's text
BROKEN = (ConnectionError, http.client.HTTPException, EOFError, zlib.error, gzip.BadGzipFile)


class TooSlowError(Exception):
    """The server takes too long; it may be able to answer a smaller question."""


class RefusedError(InputError):
    """The server will not answer this question."""


class CutError(Exception):
    """An answer is incomplete, or the server is busy: the same question may be answered later."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait  # seconds, if the server said so


@dataclass(frozen=True)
class Answer:
    """What a server sent."""

    body: bytes
    kind: str  # the media type


def ask(address: str, fields: list[tuple[str, str]], accept: str, parse: Callable[[Answer], Parsed]) -> Parsed:
    """The parsed answer to a form with these fields; `parse` raises CutError if the answer ends too early."""
    place = Address.parse(address)
    shown = place.text(secret=False)
    request = _request(place, fields, accept)
    for number in range(1, TRIES + 1):
        try:
            return parse(_answer(request, shown))
        except CutError as error:
            if number == TRIES:
                raise RefusedError(
                    f"{shown}: found {error} {TRIES} times, expected an answer; what was fetched is kept, so the same "
                    "command continues later"
                ) from error
            time.sleep(min(error.wait if error.wait is not None else PAUSE * 2 ** (number - 1), LONGEST_PAUSE))
    raise AssertionError("unreachable")


def _request(place: Address, fields: list[tuple[str, str]], accept: str) -> urllib.request.Request:
    target = replace(place, user="", password=None).text(secret=True)
    form = urlencode(fields)
    headers = {"Accept": accept, "Accept-Encoding": "gzip", "User-Agent": f"emea/{__version__}"}
    if len(target) + len(form) < LONGEST_GET:
        request = urllib.request.Request(f"{target}{'&' if place.parameters else '?'}{form}", headers=headers)
    else:
        request = urllib.request.Request(target, form.encode(), headers)
    if place.password is not None:  # not sent on to where a redirect leads
        login = base64.b64encode(f"{place.user}:{place.password}".encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {login}")
    return request


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows to web addresses only, and not from https back to http."""

    def redirect_request(  # noqa: PLR0917 - as the library calls it
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        scheme = urlsplit(newurl).scheme.lower()
        if scheme not in SCHEMES or (req.type == "https" and scheme == "http"):
            fp.close()
            found = f"a redirect to {newurl[:100]}"
            raise RefusedError(f"{req.type}://{req.host}: found {found}, expected one within http or to https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> urllib.request.OpenerDirector:
    """Opens web addresses and nothing else: no files, no FTP."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        _Redirects(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


def _answer(request: urllib.request.Request, shown: str) -> Answer:
    try:
        with _opener().open(request, timeout=PATIENCE) as response:
            if response.headers.get("X-SQL-State"):  # Virtuoso has stopped early and sends what it has
                raise TooSlowError
            return Answer(_body(response, shown), response.headers.get_content_type())
    except urllib.error.HTTPError as error:
        with error:
            raise _failure(error, shown) from error
    except TimeoutError as error:
        raise TooSlowError from error
    except urllib.error.URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise TooSlowError from error
        if isinstance(error.reason, ConnectionError) and not isinstance(error.reason, ConnectionRefusedError):
            raise CutError("a cut connection") from error
        raise RefusedError(f"{shown} cannot be reached: {one_line(str(error.reason))}") from error
    except http.client.InvalidURL as error:
        raise RefusedError(f"{shown} cannot be reached: {one_line(str(error))}") from error
    except BROKEN as error:
        raise CutError("a cut connection") from error
    except (OSError, ValueError) as error:
        raise RefusedError(f"{shown} cannot be reached: {one_line(str(error))}") from error


def _body(response: http.client.HTTPResponse, shown: str) -> bytes:
    """The bytes of an answer, decompressed, and not more than are allowed."""
    end, pieces, size = time.monotonic() + DEADLINE, [], 0
    while piece := response.read(PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > LARGEST:
            raise RefusedError(f"{shown}: found an answer of more than {LARGEST:,} bytes, expected less at a time")
        if time.monotonic() > end:
            raise TooSlowError
    stated = response.headers.get("Content-Length")
    if stated is not None and stated.isdigit() and size < int(stated):
        raise CutError("a cut connection")
    whole = b"".join(pieces)
    if response.headers.get("Content-Encoding", "").lower() != "gzip":
        return whole
    with gzip.GzipFile(fileobj=io.BytesIO(whole)) as packed:
        expanded = packed.read(LARGEST + 1)
    if len(expanded) > LARGEST:
        raise RefusedError(f"{shown}: found an answer of more than {LARGEST:,} bytes, expected less at a time")
    return expanded


def _failure(error: urllib.error.HTTPError, shown: str) -> Exception:
    """What an error of the server means."""
    try:
        said = error.read(SAID)
    except (OSError, http.client.HTTPException):
        said = b""
    if error.code in SLOW or (error.code in BUSY and SLOWLY.search(said)):
        return TooSlowError()
    is_page = b"<html" in said[:1000].lower() or not said.strip()
    reason = error.reason if is_page else one_line(said.decode(errors="replace"))
    if error.code in BUSY and not reason.startswith("Virtuoso 22023"):  # which is about the question
        wait = error.headers.get("Retry-After", "")
        return CutError(f"HTTP {error.code} ({reason})", float(wait) if wait.isdigit() else None)
    hint = "; a user and a password can stand in the address: https://user:password@…" if error.code == 401 else ""
    return RefusedError(f"{shown}: found HTTP {error.code} ({reason}), expected an answer{hint}")
