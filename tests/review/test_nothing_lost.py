"""Nothing is lost and nothing counts twice when the server dies in the middle."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from made import name, write_run

from emea.review.decisions import Decisions
from emea.verdicts import DATABASE

WRITER = """
import sys
from pathlib import Path
from emea.review.decisions import Decision, Decisions
from emea.verdicts import YES
decisions = Decisions.open(Path(sys.argv[1]))
for number in range(1_000_000):
    decisions.add([Decision(f"s{number}", "t", YES)], str(number), "anna")
    print(number, flush=True)
    if number % 10 == 9:
        decisions.undo("anna", f"undo {number}")
        print(f"undo {number}", flush=True)
"""


def test_what_a_killed_writer_acknowledged_is_there_once(tmp_path: Path) -> None:
    path = tmp_path / DATABASE
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = [process.stdout.readline().strip() for _ in range(25)]
        process.kill()
        said += process.stdout.read().split("\n")[:-1]
    decisions = Decisions.open(path)
    keys = Counter(each["key"] for each in decisions.events())
    assert max(keys.values()) == 1
    assert {each.strip() for each in said} <= set(keys)
    assert decisions.counts()["decided"] == sum(1 if not key.startswith("undo") else -1 for key in keys)


class Server:
    """The command, which is killed and started again on the same port."""

    def __init__(self, folder: Path, people: int) -> None:
        with socket.socket() as place:
            place.bind(("127.0.0.1", 0))
            self.port = place.getsockname()[1]
        persons = [each for number in range(people) for each in ("--person", f"p{number}")]
        given = ["review", str(folder), "--no-browser", "--port", str(self.port), *persons]
        self.command, self.people, self.tokens = [sys.executable, "-m", "emea", *given], people, dict[str, str]()

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        lines = [self.process.stdout.readline() for _ in range(self.people)]
        self.tokens = {line.partition(":")[0]: line.strip().partition("token=")[2] for line in lines}

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


class Client(threading.Thread):
    """A person whose page sends a decision until it is acknowledged, with the same key, and then the next one."""

    def __init__(self, server: Server, number: int, count: int, dead: threading.Event) -> None:
        super().__init__()
        self.server, self.number, self.count, self.dead = server, number, count, dead
        self.acknowledged: list[str] = []
        self.connection: http.client.HTTPConnection | None = None

    def run(self) -> None:
        for turn in range(self.count):
            place = self.number * self.count + turn
            body = {"source": name("source", place), "target": name("target", place), "verdict": "yes"}
            while not self.dead.is_set():
                with suppress(OSError, http.client.HTTPException, ValueError):
                    if self._post("/decisions", {"key": f"{self.number} {turn}", **body}):
                        self.acknowledged.append(f"{self.number} {turn}")
                        break
                self.connection = None
                time.sleep(0.05)

    def _post(self, path: str, body: dict[str, str]) -> bool:
        home = f"127.0.0.1:{self.server.port}"
        if self.connection is None:
            entry = http.client.HTTPConnection(home, timeout=30)
            entry.request("GET", f"/?token={self.server.tokens[f'p{self.number}']}")
            self.cookie = (entry.getresponse().getheader("set-cookie") or "").partition(";")[0]
            entry.close()
            self.connection = http.client.HTTPConnection(home, timeout=30)
        headers = {"Origin": f"http://{home}", "X-Emea": "review", "Content-Type": "application/json"}
        self.connection.request("POST", path, json.dumps(body), {**headers, "Cookie": self.cookie})
        answer = self.connection.getresponse()
        json.loads(answer.read())
        return answer.status == 200


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_fifty_clients_and_a_server_that_is_killed_five_times(tmp_path: Path) -> None:
    clients, each, kills = 50, 200, 5
    folder = write_run(tmp_path / "run", clients * each, graphs=False)
    server, dead = Server(folder, clients), threading.Event()
    server.start()
    threads = [Client(server, number, each, dead) for number in range(clients)]
    for thread in threads:
        thread.start()
    for kill in range(1, kills + 1):
        while sum(len(thread.acknowledged) for thread in threads) < kill * clients * each // (kills + 1):
            assert any(thread.is_alive() for thread in threads)
            time.sleep(0.01)
        server.kill()
        known = {key for thread in threads for key in thread.acknowledged}
        decisions = Decisions.open(folder / DATABASE)
        assert known <= {event["key"] for event in decisions.events()}
        decisions.close()
        server.start()
    for thread in threads:
        thread.join()
    decisions = Decisions.open(folder / DATABASE)
    events, acknowledged = decisions.events(), [key for thread in threads for key in thread.acknowledged]
    assert len(acknowledged) == clients * each
    assert Counter(event["key"] for event in events) == Counter(acknowledged)  # every one is there, none twice
    assert len({event["source"] for event in events}) == clients * each
    before = decisions.standing()
    steps = [(f"p{number}", decisions.undo(f"p{number}", f"undo {number}")) for number in range(clients)]
    assert all(step is not None for _, step in steps)
    again = Decisions.open(folder / DATABASE)  # a replay
    assert (again.standing(), again.counts()) == (decisions.standing(), decisions.counts())
    assert len(again.standing()) == len(before) - clients
    server.kill()
