"""Decisions: nothing is lost, nothing counts twice, and every state can be replayed."""

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emea.errors import InputError
from emea.formats._decided import decided_in, read_database
from emea.review.decisions import Decision, Decisions
from emea.verdicts import NO, NONE, UNSURE, VERDICTS, YES, holding


@pytest.fixture
def decisions(tmp_path: Path) -> Decisions:
    return Decisions.open(tmp_path / "decisions.sqlite")


def yes(source: str, target: str = "x") -> list[Decision]:
    return [Decision(source, target, YES)]


def test_a_decision_is_there_when_the_file_is_opened_again(decisions: Decisions, tmp_path: Path) -> None:
    shown = {"confidence": 0.5, "queue": "random", "hidden": True}
    decisions.add([Decision("a", "x", YES, "sûr", 0.25, shown)], "k1", "anna")
    (found,) = Decisions.open(tmp_path / "decisions.sqlite").standing().values()
    assert (found.target, found.verdict, found.comment, found.sampled, found.shown) == ("x", YES, "sûr", 0.25, shown)
    assert found.who == "anna"
    assert found.at.endswith("Z")


def test_a_repeated_request_is_acknowledged_and_not_stored_twice(decisions: Decisions) -> None:
    first = decisions.add(yes("a"), "k1", "anna")
    assert decisions.add(yes("a"), "k1", "anna") == first
    assert len(decisions.events()) == 1
    assert decisions.undo("anna", "k2") == first
    assert decisions.undo("anna", "k2") == first
    assert len(decisions.events()) == 2
    assert decisions.undo("anna", "k3") is None


def test_undo_takes_back_ones_own_last_step_that_stands(decisions: Decisions) -> None:
    one = decisions.add(yes("a"), "1", "anna")
    other = decisions.add(yes("a", "y"), "2", "ben")
    many = decisions.add([*yes("b"), *yes("c")], "3", "anna")
    assert decisions.undo("anna", "4") == many
    assert [each.source for each in decisions.of_step(many)] == ["b", "c"]
    assert decisions.counts()["decided"] == 1
    assert decisions.undo("anna", "5") == one
    assert decisions.standing()["a"].who == "ben"
    assert decisions.undo("anna", "6") is None
    assert decisions.undo("ben", "7") == other
    assert decisions.standing() == {}
    assert decisions.counts() == {"decided": 0, "by_verdict": dict.fromkeys(VERDICTS, 0), "people": []}


def test_events_are_added_and_neither_changed_nor_deleted(decisions: Decisions, tmp_path: Path) -> None:
    decisions.add(yes("a"), "1", "anna")
    with closing(sqlite3.connect(tmp_path / "decisions.sqlite")) as connection:
        for statement in ("UPDATE events SET verdict = 'no'", "DELETE FROM events"):
            with pytest.raises(sqlite3.IntegrityError, match="events are added"):
                connection.execute(statement)


def test_what_cannot_be_meant_is_refused() -> None:
    for source, target, verdict in (
        ("a", "x", "maybe"),
        ("a", "", YES),
        ("a", "", NO),
        ("a", "x", NONE),
        ("", "x", YES),
    ):
        with pytest.raises(InputError, match="expected"):
            Decision(source, target, verdict)


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "decisions.sqlite").write_text("no database" * 100)
    with pytest.raises(InputError, match=r"decisions\.sqlite cannot be used"):
        Decisions.open(tmp_path / "decisions.sqlite")
    with pytest.raises(InputError, match="cannot be used"):
        Decisions.open(tmp_path / "nowhere" / "decisions.sqlite")
    with closing(sqlite3.connect(tmp_path / "later.sqlite")) as later:
        later.execute("PRAGMA user_version = 7")
    with pytest.raises(InputError, match="another version"):
        Decisions.open(tmp_path / "later.sqlite")


def test_what_another_process_adds_is_seen(decisions: Decisions, tmp_path: Path) -> None:
    other = Decisions.open(tmp_path / "decisions.sqlite")
    decisions.add(yes("a"), "1", "anna")
    other.add([Decision("a", "x", NO)], "2", "ben")
    assert decisions.counts()["by_verdict"][NO] == 1
    assert other.undo("anna", "3") is not None
    assert decisions.standing() == other.standing()


def test_rejected_pairs_add_up_until_one_is_taken_up_again() -> None:
    def held(*said: tuple[str, str]) -> set[tuple[str, str]]:
        return {(each.target, each.verdict) for each in holding([Decision("a", *one) for one in said])}

    assert held(("x", NO), ("y", NO)) == {("x", NO), ("y", NO)}
    assert held(("x", NO), ("y", NO), ("y", YES)) == {("x", NO), ("y", YES)}
    assert held(("x", YES), ("y", YES)) == {("y", YES)}
    assert held(("x", YES), ("", NONE)) == {("", NONE)}
    assert held(("", NONE), ("x", NO)) == {("", NONE), ("x", NO)}
    assert held(("x", NO), ("x", UNSURE)) == {("x", UNSURE)}


def test_imported_decisions_keep_their_makers_and_are_imported_once(decisions: Decisions) -> None:
    theirs = [Decision("a", "x", YES, who="ben", at="2020-01-01"), Decision("b", "", NONE, who="eve", at="2020-01-02")]
    assert decisions.import_(theirs) == 2
    assert decisions.import_(theirs) == 0
    assert {each.who: each.at for each in decisions.standing().values()} == {"ben": "2020-01-01", "eve": "2020-01-02"}
    assert decisions.undo("ben", "1") is None  # he decided elsewhere


ACTS = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from("xy"), st.sampled_from([YES, NO, UNSURE, "undo"])), max_size=12
)


@settings(max_examples=25)
@given(ACTS)
def test_a_state_is_what_a_replay_gives(
    tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[str, str, str]]
) -> None:
    path = tmp_path_factory.mktemp("replay") / "decisions.sqlite"
    live, stack = Decisions.open(path), list[Decision]()
    for number, (source, target, verdict) in enumerate(acts):
        if verdict == "undo":
            assert (live.undo("anna", str(number)) is None) == (not stack)
            stack = stack[:-1]
        else:
            stack.append(Decision(source, source + target, verdict))
            live.add(stack[-1:], str(number), "anna")
    straight = Decisions.open(path.with_name("straight.sqlite"))  # what was undone never happened
    for number, each in enumerate(stack):
        straight.add([each], str(number), "anna")
    assert _told(live) == _told(straight)
    again = Decisions.open(path)
    held = again.holding()
    assert (again.standing(), again.holding(), again.counts()) == (live.standing(), live.holding(), live.counts())
    for each in (live, again, straight):
        each.close()
    known = {(each.source, each.target, each.verdict == NO) for each in held if each.verdict != UNSURE}
    if known:  # the next run learns from the same
        rows = read_database(path, "one-to-one").to_pylist()
        assert {(row["source"], row["target"], row["excluded"]) for row in rows} == known


def _told(decisions: Decisions) -> object:
    pairs = [(each.source, each.target, each.verdict) for each in decisions.holding()]
    standing = {source: (each.target, each.verdict) for source, each in decisions.standing().items()}
    return sorted(pairs), standing, decisions.counts()


def test_threads_may_decide_at_once(decisions: Decisions) -> None:
    def work(who: str) -> None:
        for number in range(20):
            decisions.add(yes(f"{who}{number}"), f"{who} {number}", who)
            if number % 5 == 4:
                decisions.undo(who, f"{who} {number} undo")

    threads = [threading.Thread(target=work, args=(f"p{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert decisions.counts()["decided"] == 8 * 16
    assert len(decisions.events()) == 8 * 24


def test_a_page_on_which_nothing_was_decided_does_not_hide_a_file_of_decisions(tmp_path: Path) -> None:
    kept = Decisions.open(tmp_path / "decisions.sqlite")
    assert decided_in(tmp_path).name == "decisions.sqlite"
    (tmp_path / "alignment.review.tsv").write_text("source\ttarget\tdecision\na\tb\tyes\n")
    assert decided_in(tmp_path).name == "alignment.review.tsv"
    kept.add([Decision("a", "b", YES)], "a key", "Ada")
    assert decided_in(tmp_path).name == "decisions.sqlite"
