"""A hundred thousand links under review fit into a gigabyte, with their graphs."""

import http.client
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from made import write_run

MOST = 1_000_000  # kB


class Browser:
    """Asks the server, with a cookie."""

    def __init__(self, address: str) -> None:
        self.home, _, token = address.removeprefix("http://").partition("/?")
        self.headers: dict[str, str] = {}
        answer, _ = self._ask("GET", f"/?{token}", None)
        self.headers = {"Cookie": (answer.getheader("set-cookie") or "").partition(";")[0], "X-Emea": "review"}
        self.headers |= {"Origin": f"http://{self.home}", "Content-Type": "application/json"}

    def _ask(self, method: str, path: str, body: str | None) -> tuple[http.client.HTTPResponse, bytes]:
        connection = http.client.HTTPConnection(self.home, timeout=120)
        connection.request(method, path, body, self.headers)
        answer = connection.getresponse()
        told = answer.read()
        connection.close()
        return answer, told

    def get(self, path: str) -> Any:
        return json.loads(self._ask("GET", path, None)[1])

    def post(self, path: str, **body: Any) -> Any:
        return json.loads(self._ask("POST", path, json.dumps(body))[1])


@pytest.mark.slow
def test_a_hundred_thousand_links_fit_into_a_gigabyte(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", 100_000, 20_000, candidates=10)
    given = [sys.executable, "-m", "emea", "review", str(folder), "--no-browser", "--port", "0"]
    with subprocess.Popen(given, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        browser = Browser(process.stdout.readline().strip())
        assert browser.get("/state")["total"] == 120_000
        assert browser.post("/next", queue="informative")["source"]["label"]
        while browser.get("/state")["loading"]:
            time.sleep(0.5)
        for number in range(50):
            card = browser.post("/next", queue="informative")
            assert card["source"]["neighbours"]
            decided = {"key": str(number), "source": card["source"]["name"], "verdict": "unsure"}
            assert browser.post("/decisions", **decided)["counts"]["decided"] == number + 1
        shown = browser.post("/bulk/preview", filter={"minimum": 0.9})
        made = browser.post("/bulk", key="b", filter={"minimum": 0.9}, fingerprint=shown["fingerprint"])
        assert made["count"] == shown["count"] > 50_000
        assert len(browser.get("/search?q=called+77&side=target")) == 20
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
        process.terminate()
    assert peak <= MOST
