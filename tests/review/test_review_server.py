"""What the review page's server answers: cards, queues, decisions, undo, many at once, estimates, files."""

import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from made import KINDS, name, write_run
from starlette.applications import Starlette
from starlette.routing import Route

import emea
from emea.errors import InputError, SettingsError
from emea.review import server
from emea.review.people import People
from emea.review.routes import application
from emea.review.security import Guard
from emea.review.server import Serving, serve
from emea.runs.folder import held
from test_run import command

Person = Callable[..., "Client"]
LINKS, UNLINKED = 60, 10


class Client(httpx.Client):
    """A person's browser."""

    def __init__(self, serving: Serving, who: str) -> None:
        home = serving.address.partition("/?")[0]
        headers = {"Origin": home, "X-Emea": "review"}
        super().__init__(base_url=home, headers=headers, timeout=600, verify=False)  # no certificates to load
        self.get(serving.addresses[who])
        self.made = 0

    def send_json(self, path: str, code: int = 200, **body: Any) -> Any:
        answer = self.post(path, json=body)
        assert answer.status_code == code, answer.text
        return answer.json()

    def decide(self, number: int, verdict: str = "yes", target: int | None = None, code: int = 200, **more: Any) -> Any:
        self.made += 1
        other = "" if verdict == "none" else name("target", number if target is None else target)
        told = {"source": name("source", number), "target": other, "verdict": verdict, **more}
        return self.send_json("/decisions", code, **{"key": f"{id(self)} {self.made}", **told})

    def ask(self, path: str) -> Any:
        answer = self.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs are read without waiting for a page."""
    monkeypatch.setattr("emea.review.desk.HEAD_START", 0)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("made") / "run", LINKS, UNLINKED)


@pytest.fixture
def serving(made: Path, tmp_path: Path) -> Iterator[Serving]:
    shutil.copytree(made, tmp_path / "run")
    started = serve(tmp_path / "run", port=0, people=People(["anna", "ben"]))
    started.desk.reviewed.ready.wait()
    yield started
    started.stop()


@pytest.fixture
def person(serving: Serving) -> Iterator[Person]:
    clients = []

    def open_(who: str = "anna") -> Client:
        clients.append(Client(serving, who))
        return clients[-1]

    yield open_
    for each in clients:
        each.close()


def test_the_state_tells_what_there_is(person: Person) -> None:
    state = person().ask("/state")
    assert (state["run"], state["who"], state["total"], state["decided"]) == ("run", "anna", LINKS + UNLINKED, 0)
    assert state["graphs"] == ["source.tsv", "target.tsv"]
    assert {each["name"] for each in state["queues"]} == {
        *("informative", "least_sure", "conflicts", "of_type", "of_relation", "search", "unlinked", "random")
    }
    counts = {each["name"]: each["count"] for each in state["queues"]}
    assert (counts["least_sure"], counts["unlinked"], counts["random"]) == (LINKS, UNLINKED, LINKS + UNLINKED)
    assert {each["name"] for each in state["types"]} == set(KINDS)
    assert {each["name"] for each in state["relations"]} >= {"http://source.example/near"}
    assert (state["threshold"], state["can_run"], state["running"], state["loading"]) == (0.5, True, False, False)


def test_a_card_shows_both_entities(person: Person) -> None:
    card = person().send_json("/card", source=name("source", 7))
    assert card["proposed"] == name("target", 7)
    entity = card["source"]
    assert (entity["label"], entity["types"], entity["link"]) == ("the source called 7", ["Person"], name("source", 7))
    assert {"attribute": "year", "value": "1007"} in entity["values"]
    near = [each for each in entity["neighbours"] if not each["inverse"]]
    assert {each["relation"] for each in near} == {"near", "partOf", "knows"}
    joined = near[0]["name"].replace("source", "target")
    assert near[0]["counterpart"] in {joined, None}  # None if the neighbour has no link
    assert [each["target"]["name"] for each in card["candidates"]][:2] == [name("target", 7), name("target", 8)]
    assert card["decided"] is None


def test_the_score_of_a_sampled_card_is_hidden_until_it_is_decided(person: Person, serving: Serving) -> None:
    anna = person()
    sampled = next(card for card in serving.desk.board.dealer.sample if serving.desk.reviewed.linked[card])
    source = serving.desk.reviewed.source[sampled]
    card = anna.send_json("/card", source=source)
    assert card["hidden"]
    assert 0 < card["sampled"] <= 1
    assert card["explanation"] is None
    assert all(each["confidence"] is each["log_odds"] is None for each in card["candidates"])
    anna.decide(int(source[-6:]), shown={"hidden": True, "queue": "random"})
    again = anna.send_json("/card", source=source)
    assert not again["hidden"]
    assert again["decided"]["verdict"] == "yes"
    (stored,) = serving.desk.decisions.standing().values()
    assert stored.sampled == card["sampled"]
    assert stored.shown["hidden"]
    assert 0.5 <= stored.shown["confidence"] <= 1  # the tool's own is kept


@pytest.mark.parametrize("queue", ["random", "informative"])
def test_fifty_cards_give_an_interval_if_each_is_of_the_sample(queue: str, person: Person) -> None:
    """Of other queues only every fifth one is sure to be."""
    anna = person()
    for _ in range(50):
        card = anna.send_json("/next", queue=queue)
        anna.decide(int(card["source"]["name"][-6:]), "unsure" if card["proposed"] is None else "yes")
    found = anna.ask("/estimate")
    if queue == "random":
        assert (found["answered"], found["look"]) == (50, 50)
        assert found["low"] < found["precision"] <= found["high"]
    else:
        assert 10 <= found["answered"] < 50
        assert (found["look"], found["next_look"], found["precision"]) == (0, 50, None)


def test_every_source_is_dealt_once_and_nobody_gets_what_another_has_open(person: Person) -> None:
    anna, ben = person("anna"), person("ben")
    seen = []
    while True:
        cards = [each.send_json("/next", queue="random") for each in (anna, ben)]
        open_ = [card["source"]["name"] for card in cards if not card.get("done")]
        if not open_:
            break
        assert len(set(open_)) == len(open_)
        again = anna.send_json("/next", queue="random")
        assert again.get("done") or again["source"]["name"] not in open_[1:]
        for who, source in zip((anna, ben), open_, strict=False):
            who.decide(int(source[-6:]), "unsure")
            seen.append(source)
    assert sorted(seen) == [name("source", number) for number in range(LINKS + UNLINKED)]
    counts = {each["who"]: each["decided"] for each in anna.ask("/state")["people"]}
    assert sum(counts.values()) == LINKS + UNLINKED


@pytest.mark.parametrize(
    ("queue", "given"),
    [
        ("of_type", {"type": "City"}),
        ("of_relation", {"relation": "http://source.example/near"}),
        ("search", {"text": "called 12"}),
        ("unlinked", None),
        ("least_sure", None),
        ("informative", None),
    ],
)
def test_queues_deal_what_they_say(person: Person, queue: str, given: dict[str, str] | None) -> None:
    card = person().send_json("/next", queue=queue, filter=given)
    if queue == "of_type":
        assert card["source"]["types"] == ["City"]
    elif queue == "search":
        assert card["source"]["name"] == name("source", 12)
    elif queue == "unlinked":
        assert card["proposed"] is None
    else:
        assert card["source"]["name"]


def test_what_no_queue_has_is_refused(person: Person) -> None:
    anna = person()
    for body in (
        {"queue": "best"},
        {"queue": "search"},
        {"queue": "random", "filter": 7},
        {"queue": "random", "skip": "x"},
    ):
        assert "expected" in anna.send_json("/next", 400, **body)["error"]
    assert anna.send_json("/next", queue="search", filter={"text": "nobody is called so"})["done"]
    assert "expected" in anna.send_json("/card", 400, source="nobody")["error"]


def test_corrections_and_undo(person: Person, serving: Serving) -> None:
    anna, ben = person("anna"), person("ben")
    anna.decide(1, "yes", target=65)
    anna.decide(2, "none")
    ben.decide(3, "no")
    counts = anna.ask("/state")
    assert counts["by_verdict"] == {"yes": 1, "no": 1, "none": 1, "unsure": 0}
    undone = anna.send_json("/undo", key="u1")
    assert [each["source"] for each in undone["undone"]] == [name("source", 2)]
    assert anna.send_json("/undo", key="u1")["step"] == undone["step"]  # the same request again
    assert anna.send_json("/undo", key="u2")["undone"][0]["target"] == name("target", 65)
    assert anna.send_json("/undo", key="u3") == {"nothing": True}
    assert list(serving.desk.decisions.standing()) == [name("source", 3)]


def test_a_target_is_confirmed_for_one_source_only(person: Person) -> None:
    anna = person()
    anna.decide(1)
    told = anna.decide(2, "yes", target=1, code=409)["error"]
    assert name("source", 1) in told
    anna.decide(1, "none")
    anna.decide(2, "yes", target=1)
    assert "expected an entity" in anna.decide(3, "yes", target=999_999, code=400)["error"]


def test_many_links_are_accepted_as_one_step_after_a_look(person: Person, serving: Serving) -> None:
    anna, wanted = person(), {"minimum": 0.9, "type": "City"}
    anna.decide(0)
    shown = anna.send_json("/bulk/preview", filter=wanted)
    sure = serving.desk.reviewed.probability
    chosen = [n for n in range(4, LINKS, 4) if sure[serving.desk.reviewed.number[name("source", n)]] >= 0.9]
    assert shown["count"] == len(chosen) > 3
    assert shown["expected_errors"] == pytest.approx(sum(1 - each["confidence"] for each in shown["samples"]))
    anna.decide(chosen[0], "no")
    refused = anna.send_json("/bulk", 409, key="b0", filter=wanted, fingerprint=shown["fingerprint"])
    assert "look again" in refused["error"]
    shown = anna.send_json("/bulk/preview", filter=wanted)
    made = anna.send_json("/bulk", key="b1", filter=wanted, fingerprint=shown["fingerprint"])
    assert made["count"] == len(chosen) - 1
    assert anna.send_json("/bulk", key="b1", filter=wanted, fingerprint=shown["fingerprint"]) == made
    assert anna.ask("/state")["decided"] == len(chosen) + 1
    assert len(anna.send_json("/undo", key="u")["undone"]) == len(chosen) - 1
    assert anna.ask("/state")["decided"] == 2
    for odd in (None, {}, {"minimum": "x"}, {"minimum": 2}, {"minimum": 0.5, "other": 1}, {"minimum": 0.5, "type": 7}):
        assert "expected" in anna.send_json("/bulk/preview", 400, filter=odd)["error"]
    assert (
        "expected at least one"
        in anna.send_json("/bulk", 400, key="b2", filter={"minimum": 1}, fingerprint="")["error"]
    )


def test_what_was_accepted_unseen_is_still_looked_at_for_the_sample(person: Person, serving: Serving) -> None:
    anna, wanted = person(), {"minimum": 0.5}
    shown = anna.send_json("/bulk/preview", filter=wanted)
    anna.send_json("/bulk", key="b", filter=wanted, fingerprint=shown["fingerprint"])
    assert anna.ask("/estimate")["answered"] == 0
    dealt = set()
    while not (card := anna.send_json("/next", queue="random")).get("done"):
        assert card["hidden"] or card["proposed"] is None
        dealt.add(card["source"]["name"])
        anna.decide(int(card["source"]["name"][-6:]), "unsure")
    sample = {serving.desk.reviewed.source[each] for each in serving.desk.board.dealer.sample}
    assert sample <= dealt
    assert anna.ask("/estimate")["answered"] >= len(sample)


def test_precision_is_estimated_from_the_sample(person: Person, serving: Serving) -> None:
    anna = person()
    assert anna.ask("/estimate")["precision"] is None
    assert not anna.ask("/estimate")["stop"]["yes"]
    for number in range(LINKS + UNLINKED):
        anna.decide(number, "no" if number % 10 == 3 and number < LINKS else "yes" if number < LINKS else "none")
    found = anna.ask("/estimate")
    assert found["precision"] == pytest.approx(0.9)
    assert found["low"] == found["high"] == found["precision"]  # every card is answered
    assert found["stop"]["yes"]


def test_targets_are_found_by_name_and_label(person: Person) -> None:
    anna = person()
    found = anna.ask("/search?q=TARGET called 12&side=target")
    assert found[0] == {"name": name("target", 12), "label": "the target called 12"}
    assert anna.ask("/search?q=&side=target") == []
    assert anna.get("/search?q=x&side=both").status_code == 400


def test_decisions_are_downloaded(person: Person) -> None:
    anna = person()
    anna.decide(1, "yes", comment="sûr")
    for kind in ("sssom.tsv", "tsv"):
        answer = anna.get(f"/export/decisions.{kind}")
        assert "attachment" in answer.headers["content-disposition"]
        assert "sûr" in answer.text


def test_nobody_waits_for_another_ones_explanation(
    serving: Serving, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    anna, ben, go = person("anna"), person("ben"), threading.Event()
    usual = serving.desk.reviewed.card

    def slow(source: str, *more: Any) -> Any:
        if source == name("source", 1):
            go.wait()
        return usual(source, *more)

    monkeypatch.setattr(serving.desk.reviewed, "card", slow)
    waiting = threading.Thread(target=anna.send_json, args=("/card",), kwargs={"source": name("source", 1)})
    waiting.start()
    assert ben.send_json("/card", source=name("source", 2))["source"]["name"] == name("source", 2)
    ben.decide(2)
    assert waiting.is_alive()
    go.set()
    waiting.join()


def test_decisions_that_another_process_makes_are_seen(serving: Serving, person: Person) -> None:
    from emea.review.decisions import Decision, Decisions
    from emea.verdicts import DATABASE

    other = Decisions.open(serving.desk.folder / DATABASE)
    other.import_(
        [Decision(name("source", number), "", "none", who="eve") for number in range(LINKS, LINKS + UNLINKED)]
    )
    other.close()
    anna = person()
    assert anna.ask("/state")["decided"] == UNLINKED
    assert anna.send_json("/next", queue="unlinked").get("done")
    assert {"who": "eve", "decided": UNLINKED} in anna.ask("/state")["people"]


def test_a_run_without_its_graphs_is_reviewed_all_the_same(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", 20, graphs=False)
    started = serve(folder, port=0, people=People(["anna"]))
    started.desk.reviewed.ready.wait()
    with closing(Client(started, "anna")) as anna:
        assert any("no longer there" in note for note in anna.ask("/state")["notes"])
        card = anna.send_json("/card", source=name("source", 3))
        assert card["source"]["label"] == "the source called 3"
        assert {each["target"]["name"] for each in card["candidates"]} == {name("target", 3 + n) for n in range(3)}
        assert anna.ask("/search?q=called 5&side=target")[0]["name"] == name("target", 5)
    started.stop()


def test_the_next_run_is_started_and_watched(serving: Serving, person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    anna = person()
    assert anna.ask("/run") == {"state": "none", "lines": [], "out": None}
    monkeypatch.setattr("emea.review.running.sys.executable", shutil.which("echo"))
    started = anna.send_json("/run")
    assert started["out"] == f"{serving.desk.folder.resolve()}-2"
    while (told := anna.ask("/run"))["state"] == "running" or not told["lines"]:
        time.sleep(0.02)
    assert told["state"] == "done"
    assert told["lines"] == [
        f"-P -m emea align --config {serving.desk.folder.resolve()}/settings.toml "
        f"--decisions {serving.desk.folder.resolve()} --out {serving.desk.folder.resolve()}-2"
    ]


def test_mistakes_are_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"no settings\.toml"):
        serve(tmp_path)
    folder = write_run(tmp_path / "run", 5, graphs=False)
    first = serve(folder, port=0)
    with pytest.raises(SettingsError, match="expected a port that is free"):
        serve(folder, port=int(first.address.rpartition(":")[2].partition("/")[0]))
    first.stop()
    monkeypatch.setitem(__import__("sys").modules, "uvicorn", None)
    with pytest.raises(SettingsError, match=r"pip install 'emea\[review\]'"):
        serve(folder)
    for wrong, why in ((tmp_path, r"no settings\.toml"), (tmp_path / "nowhere", "does not exist")):
        with pytest.raises(InputError, match=why):  # which is wrong first, whatever is installed
            serve(wrong)
    (folder / "alignment.tsv").unlink()
    with pytest.raises(InputError, match="expected a finished run"):
        serve(folder)
    assert server.PORT == 8347


def test_the_command_explains_mistakes(tmp_path: Path) -> None:
    write_run(tmp_path / "run", 5, graphs=False)
    for given, expected in (
        (["nowhere"], "nowhere is not a run folder: it does not exist"),
        (["run", "--host", "0.0.0.0"], "found --host 0.0.0.0, where tokens and decisions would travel unencrypted"),
        (["run", "--person", "a", "--person", "a"], "found the same name twice"),
    ):
        done = command("review", *given, "--no-browser", folder=tmp_path, code=2)
        assert expected in " ".join(done.stderr.split())


def test_a_result_is_reviewed_from_python(tmp_path: Path) -> None:
    import pandas as pd

    ours = pd.DataFrame(
        {"id": [1, 2, 3], "name": ["Berlin", "Paris", "Rome"], "country": ["Germany", "France", "Italy"]}
    )
    theirs = pd.DataFrame(
        {"id": list("PRB"), "name": ["Paris", "Roma", "Berlin"], "country": ["France", "Italy", "Germany"]}
    )
    result = emea.align(emea.read(ours, theirs))
    started = result.review(tmp_path / "run", port=0, browser=False)
    started.desk.reviewed.ready.wait()
    with closing(Client(started, next(iter(started.addresses)))) as person:
        card = person.send_json("/card", source="1")
        assert {"attribute": "country", "value": "Germany"} in card["source"]["values"]
        person.send_json("/decisions", key="k", source="1", target=card["proposed"], verdict="yes")
        card = person.send_json("/card", source="1")  # decided, so that nothing is hidden
        assert card["explanation"]["groups"]
        assert card["candidates"][0]["target"]["label"] == "Berlin"
        assert card["candidates"][0]["confidence"] == pytest.approx(card["explanation"]["confidence"])
    started.stop()


def test_a_page_that_cannot_be_opened_leaves_the_run_to_others(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", 3, graphs=False)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        with pytest.raises(SettingsError, match="expected a port that is free") as refused:
            serve(folder, port=taken.getsockname()[1])
        with held(folder):  # a run may be written into it, while somebody still looks at the error
            assert refused.value.__traceback__ is not None


def test_the_reference_names_every_address_and_its_program_decides(serving: Serving, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "review.md").read_text(encoding="utf-8")
    app = application(serving.desk, People(["anna"]), ["127.0.0.1:1"], "cookie")
    assert isinstance(app, Guard)
    assert isinstance(app.app, Starlette)
    addresses = {route.path for route in app.app.routes if isinstance(route, Route)}
    for address in addresses - {"/"}:
        assert address in page or address.startswith("/static/"), address
    (program,) = re.findall(r'```python title="decide.py"\n(.*?)```', page, re.DOTALL)
    program = program.replace("casefold()", "split()[-1]")  # labels of this run end alike
    (tmp_path / "decide.py").write_text(program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, tmp_path / "decide.py", serving.addresses["anna"]], capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr
    decided = serving.desk.decisions.standing()
    assert {each.verdict for each in decided.values()} == {"yes"}
    assert len(decided) == LINKS
