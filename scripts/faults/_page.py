"""A person at the review page: starts it, and sends what a browser would."""

from __future__ import annotations

import http.client
import json
import re
import socket
import time
from pathlib import Path
from typing import Any

from faults._forked import Started, start

ADDRESS = re.compile(r"http://(127\.0\.0\.1:\d+)/\?token=(\S+)")


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        number: int = place.getsockname()[1]
        return number


class Page:
    """The review page of a run, served by a process of its own."""

    def __init__(self, folder: Path, run: str = "run") -> None:
        self.process: Started = start(["review", run, "--no-browser", "--port", str(free_port())], folder)
        until = time.monotonic() + 60
        while (found := ADDRESS.search(self.process.said())) is None:
            if time.monotonic() > until or self.process.ended():
                raise ConnectionError(self.process.said())
            time.sleep(0.02)
        self.home, token = found.groups()
        entry = http.client.HTTPConnection(self.home, timeout=60)
        entry.request("GET", f"/?token={token}")
        self.cookie = (entry.getresponse().getheader("set-cookie") or "").partition(";")[0]
        entry.close()
        self.connection = http.client.HTTPConnection(self.home, timeout=60)

    def post(self, path: str, **body: Any) -> tuple[int, Any]:
        """The status and the answer to what is sent."""
        headers = {"Origin": f"http://{self.home}", "X-Emea": "review", "Content-Type": "application/json"}
        return self._asked("POST", path, json.dumps(body), headers)

    def get(self, path: str) -> tuple[int, Any]:
        """The status and the answer to a question."""
        return self._asked("GET", path, None, {})

    def _asked(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> tuple[int, Any]:
        self.connection.request(method, path, body, {**headers, "Cookie": self.cookie})
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read())

    def decide(self, number: int, source: str, target: str, verdict: str = "yes") -> bool:
        """Whether a decision was acknowledged."""
        status, _ = self.post("/decisions", key=f"key {number}", source=source, target=target, verdict=verdict)
        return status == 200
