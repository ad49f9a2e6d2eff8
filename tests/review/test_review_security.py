"""What the review page's server refuses: each rule that others learned the hard way has a test."""

import http.client
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from made import name, write_run

from emea.errors import SettingsError
from emea.review.people import People
from emea.review.security import LARGEST
from emea.review.server import Serving, _names, serve

DECISION = {"key": "k", "source": name("source", 1), "target": name("target", 1), "verdict": "yes"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = write_run(tmp_path_factory.mktemp("guarded") / "run", 40, graphs=False)
    serving = serve(folder, port=0, people=People(["anna", "ben"]))
    yield serving
    serving.stop()


class Visitor:
    """Sends requests exactly as told."""

    def __init__(self, served: Serving, who: str = "anna") -> None:
        self.served = served
        self.host = served.address.removeprefix("http://").partition("/")[0]
        self.token = served.addresses[who].partition("token=")[2]
        answer, _ = self.ask("GET", f"/?token={self.token}")
        self.cookie = (answer.getheader("set-cookie") or "").partition(";")[0]

    def ask(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[http.client.HTTPResponse, bytes]:
        connection = http.client.HTTPConnection(self.host, timeout=600)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        sent = {"Host": self.host, **{each.replace("_", "-"): value for each, value in headers.items()}}
        if body is not None:
            sent.setdefault("Content-Length", str(len(body)))
        for each, value in sent.items():
            connection.putheader(each, value)
        connection.endheaders()
        if body is not None:
            with suppress(BrokenPipeError, ConnectionResetError):  # refused before it was all sent
                connection.send(body)
        answer = connection.getresponse()
        told = answer.read()
        connection.close()
        return answer, told

    def page(self, **changed: str | None) -> dict[str, str]:
        """The headers that the page sends, some of them changed, or left out."""
        usual = {"Cookie": self.cookie, "Origin": f"http://{self.host}", "X_Emea": "review"}
        usual |= {"Content_Type": "application/json"}
        return {each: value for each, value in {**usual, **changed}.items() if value is not None}

    def post(self, path: str, body: Any, **changed: str | None) -> int:
        return self.ask("POST", path, json.dumps(body).encode(), **self.page(**changed))[0].status

    @property
    def stored(self) -> int:
        return len(self.served.desk.decisions.events())


@pytest.fixture
def visitor(served: Serving) -> Visitor:
    return Visitor(served)


def test_the_page_itself_is_let_in(visitor: Visitor) -> None:
    answer, body = visitor.ask("GET", "/", Cookie=visitor.cookie)
    assert answer.status == 200
    assert b"Review" in body
    assert visitor.post("/next", {"queue": "random"}) == 200
    before = visitor.stored
    assert visitor.post("/decisions", DECISION) == 200
    assert visitor.stored == before + 1
    assert visitor.post("/undo", {"key": "u"}) == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1.evil.example:{port}", ""]
)
def test_a_foreign_host_is_refused(visitor: Visitor, host: str) -> None:
    """DNS rebinding: a name of somebody else that leads to this machine."""
    foreign = host.format(port=visitor.host.partition(":")[2])
    for path in ("/", "/state", f"/?token={visitor.token}"):
        answer, body = visitor.ask("GET", path, Host=foreign, Cookie=visitor.cookie)
        assert answer.status in {400, 421}
        assert visitor.token.encode() not in body
    assert visitor.post("/decisions", DECISION, Host=foreign, Origin=f"http://{foreign}") in {400, 421}


def test_two_hosts_are_refused(visitor: Visitor) -> None:
    connection = http.client.HTTPConnection(visitor.host, timeout=600)
    connection.putrequest("GET", "/state", skip_host=True)
    for each in (visitor.host, "evil.example"):
        connection.putheader("Host", each)
    connection.putheader("Cookie", visitor.cookie)
    connection.endheaders()
    assert connection.getresponse().status in {400, 421}
    connection.close()


@pytest.mark.parametrize(
    "path", ["/", "/state", "/static/card.js", "/export/decisions.tsv", "/estimate", "/search?q=a"]
)
def test_nobody_is_let_in_without_a_token(visitor: Visitor, path: str) -> None:
    for cookie in ("", "emea-review=1", visitor.cookie[:-1], visitor.cookie + "x"):
        answer, body = visitor.ask("GET", path, Cookie=cookie)
        assert answer.status == 401
        assert b"Open the address" in body
    assert visitor.post("/decisions", DECISION, Cookie=None) == 401


def test_a_wrong_token_is_refused(visitor: Visitor) -> None:
    for token in ("", "wrong", visitor.token[:-1], visitor.token + "x", "%00", "%ff"):
        answer, _ = visitor.ask("GET", f"/?token={token}")
        assert answer.status in {401, 403}
        assert answer.getheader("set-cookie") is None


def test_the_token_is_exchanged_for_a_cookie_that_scripts_and_other_sites_do_not_get(visitor: Visitor) -> None:
    answer, _ = visitor.ask("GET", f"/?token={visitor.token}")
    assert (answer.status, answer.getheader("location")) == (303, "/")
    cookie = answer.getheader("set-cookie") or ""
    assert visitor.token not in cookie
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))


def test_each_person_has_a_token_of_their_own(served: Serving) -> None:
    for who in ("anna", "ben"):
        one = Visitor(served, who)
        _, body = one.ask("GET", "/state", Cookie=one.cookie)
        assert json.loads(body)["who"] == who


@pytest.mark.parametrize("origin", [None, "null", "http://evil.example", "https://{host}", "http://127.0.0.1:1"])
def test_a_form_of_another_site_is_refused(visitor: Visitor, origin: str | None) -> None:
    before = visitor.stored
    given = origin if origin is None else origin.format(host=visitor.host)
    assert visitor.post("/decisions", DECISION, Origin=given) == 403
    assert visitor.post("/decisions", DECISION, Sec_Fetch_Site="cross-site") == 403
    assert visitor.stored == before


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", None])
def test_only_json_is_taken(visitor: Visitor, kind: str | None) -> None:
    """A browser sends the others to another site without asking it."""
    before = visitor.stored
    assert visitor.post("/decisions", DECISION, Content_Type=kind) == 415
    assert visitor.stored == before


def test_the_header_that_only_the_page_sends_is_needed(visitor: Visitor) -> None:
    before = visitor.stored
    assert visitor.post("/decisions", DECISION, X_Emea=None) == 403
    assert visitor.post("/decisions", DECISION, X_Emea="other") == 403
    assert visitor.stored == before


WRITING = ["/decisions", "/undo", "/bulk", "/bulk/preview", "/next", "/card"]


@pytest.mark.parametrize("path", WRITING)
@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_is_written_but_by_post(visitor: Visitor, path: str, method: str) -> None:
    before = visitor.stored
    query = f"?key=k&source={DECISION['source']}&verdict=none"
    answer, _ = visitor.ask(method, path + query, json.dumps(DECISION).encode(), **visitor.page())
    assert answer.status == 405
    assert answer.getheader("access-control-allow-origin") is None
    assert visitor.stored == before


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/%2e%2e/server.py",
        "/static/..%2fserver.py",
        "/static//etc/passwd",
        "/static/vendor/../../cards.py",
        "/static/",
        "/../../../../etc/passwd",
        "/export/../settings.toml",
        "/export/settings.toml",
        "/export/..%2f..%2fsettings.toml",
        "/static/%00",
        "/static\\..\\server.py",
    ],
)
def test_only_listed_files_are_served(visitor: Visitor, path: str) -> None:
    answer, body = visitor.ask("GET", path, Cookie=visitor.cookie)
    assert answer.status in {400, 404}
    assert b"import" not in body
    assert b"root:" not in body


def test_ten_megabytes_are_refused(visitor: Visitor) -> None:
    before = visitor.stored
    large = json.dumps({**DECISION, "comment": "x" * 10_000_000}).encode()
    for headers in ({}, {"Content_Length": str(LARGEST + 1)}):
        answer, _ = visitor.ask("POST", "/decisions", large, **{**visitor.page(), **headers})
        assert answer.status == 413
    parts = b"".join(b"%x\r\n%s\r\n" % (1 << 16, b"x" * (1 << 16)) for _ in range(160)) + b"0\r\n\r\n"
    connection = http.client.HTTPConnection(visitor.host, timeout=600)
    connection.putrequest("POST", "/decisions", skip_host=True)
    for each, value in {"Host": visitor.host, "Transfer-Encoding": "chunked", **visitor.page()}.items():
        connection.putheader(each.replace("_", "-"), value)
    connection.endheaders()
    with suppress(BrokenPipeError, ConnectionResetError):
        connection.send(parts)  # of a length that nobody told
    with suppress(ConnectionResetError, http.client.RemoteDisconnected):  # the server may have hung up
        assert connection.getresponse().status == 413
    connection.close()
    assert visitor.stored == before


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b'{"key": 1}',
        b"[" * 100_000,
        b'{"key": "a", "source": ["x"], "verdict": "yes"}',
        b'{"key": "\\ud800", "source": "x", "verdict": "none"}',
        b"\xff\xfe",
        json.dumps({**DECISION, "verdict": "perhaps"}).encode(),
        json.dumps({**DECISION, "source": "nobody"}).encode(),
        json.dumps({**DECISION, "key": ""}).encode(),
        json.dumps({**DECISION, "key": "x" * 101}).encode(),
        json.dumps({**DECISION, "shown": 7}).encode(),
        json.dumps({**DECISION, "comment": "\x00"}).encode(),
    ],
)
def test_what_is_no_decision_is_refused_in_a_sentence(visitor: Visitor, body: bytes) -> None:
    before = visitor.stored
    answer, told = visitor.ask("POST", "/decisions", body, **visitor.page())
    assert answer.status == 400
    assert "expected" in json.loads(told)["error"]
    assert visitor.stored == before


@pytest.mark.parametrize("path", ["/", "/state", "/static/card.js", "/nowhere", "/export/decisions.tsv"])
def test_every_answer_has_the_policy(visitor: Visitor, path: str) -> None:
    for cookie in (visitor.cookie, ""):
        answer, _ = visitor.ask("GET", path, Cookie=cookie)
        policy = answer.getheader("content-security-policy") or ""
        assert "unsafe" not in policy
        rules = dict(each.strip().split(" ", 1) for each in policy.split(";"))
        assert rules["default-src"] == rules["frame-ancestors"] == rules["base-uri"] == rules["form-action"] == "'none'"
        assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
        assert rules["img-src"] == "'self' data:"
        assert answer.getheader("x-content-type-options") == "nosniff"
        assert answer.getheader("referrer-policy") == "no-referrer"
        assert answer.getheader("cache-control") == "no-store"
        assert answer.getheader("server") is None
        assert answer.getheader("access-control-allow-origin") is None


def test_the_page_holds_no_script_of_its_own_and_nothing_from_elsewhere() -> None:
    from emea.review.routes import static_files

    page = static_files()["/"][0].decode()
    assert not re.search(r"<script(?![^>]*\bsrc=)", page)
    assert not re.search(r"(?:src|href)=[\"'](?!/static/|data:)", page)
    assert not re.search(r"\son\w+=|\sstyle=", page)


HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "\u202egnp.exe",
    "javascript:alert(1)",
    '"><svg onload=alert(1)>',
    "{{7*7}}",
    "../../etc/passwd",
]


def test_hostile_labels_are_text(tmp_path: Path) -> None:
    """They travel as JSON, which the page makes text nodes of; links lead to http(s) only."""
    folder = write_run(tmp_path / "run", 8, graphs=False)
    lines = (folder / "alignment.tsv").read_text(encoding="utf-8").splitlines()
    for number, text in enumerate(HOSTILE, 1):
        cells = lines[number].split("\t")
        cells[0], cells[4], cells[5], cells[6] = text, text, text, text
        lines[number] = "\t".join(cells)
    (folder / "alignment.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    serving = serve(folder, port=0)
    visitor = Visitor(serving, next(iter(serving.addresses)))
    for text in HOSTILE:
        answer, body = visitor.ask("POST", "/card", json.dumps({"source": text}).encode(), **visitor.page())
        card = json.loads(body)
        assert answer.getheader("content-type") == "application/json"
        assert (card["source"]["name"], card["source"]["label"], card["source"]["link"]) == (text, text, None)
        decided = {"key": text, "source": text, "target": card["proposed"], "verdict": "yes", "comment": text}
        assert visitor.post("/decisions", decided) == 200
    _, exported = visitor.ask("GET", "/export/decisions.tsv", Cookie=visitor.cookie)
    assert all(text in exported.decode() for text in HOSTILE)
    serving.stop()


def test_other_machines_are_served_only_if_that_is_said_to_be_insecure(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", 5, graphs=False)
    for host in ("0.0.0.0", "192.168.1.5", "::"):
        with pytest.raises(SettingsError, match="--insecure"):
            serve(folder, host=host, port=0)
    serving = serve(folder, host="0.0.0.0", port=0, insecure=True)
    assert "127.0.0.1" in _names("0.0.0.0")
    assert _names("192.168.1.5") == ["192.168.1.5"]
    serving.stop()


def test_names_of_people_are_checked() -> None:
    for names in (["anna", "anna"], [""], ["a|b"], ["x" * 81], ["a\nb"]):
        with pytest.raises(SettingsError, match="--person"):
            People(names)
    tokens = People(["anna", "ben"]).tokens
    assert len({*tokens.values()}) == 2
    assert all(len(token) >= 40 for token in tokens.values())
