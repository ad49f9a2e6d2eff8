"""Decisions of the review page are read from its database."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import emea
from emea import InputError, Task
from emea.errors import InputWarning
from test_run import QUICK, command, table

COLUMNS = "step, kind, undoes, key, who, at, source, target, verdict, comment, sampled, shown"
Event = tuple[str, str, str]


def write_events(path: Path, steps: list[list[Event] | int]) -> Path:
    """A database like that of the page: decisions, each list of them one step, and steps that are undone."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute(f"CREATE TABLE events (id INTEGER PRIMARY KEY, {COLUMNS})")
        for number, step in enumerate(steps, 1):
            undo = (number, "undo", step, f"k{number}", "ann", "2026-01-01T00:00:00Z", *[None] * 6)
            rows = [undo] if isinstance(step, int) else [_row(number, *event) for event in step]
            database.executemany(f"INSERT INTO events ({COLUMNS}) VALUES ({', '.join('?' * 12)})", rows)
        database.commit()
    return path


def _row(step: int, source: str, target: str, verdict: str) -> tuple[object, ...]:
    return step, "decide", None, None, "ann", "2026-01-01T00:00:00Z", source, target, verdict, "", None, "{}"


@pytest.fixture
def task(tmp_path: Path) -> Task:
    for side in "ab":
        lines = (f"<urn:{side}:{number}> <urn:r> <urn:{side}:{number + 1}> .\n" for number in range(9))
        (tmp_path / f"{side}.nt").write_text("".join(lines))
    return emea.read(tmp_path / "a.nt", tmp_path / "b.nt")


def decided(folder: Path, task: Task, steps: list[list[Event] | int]) -> dict[str, list[tuple[int, int]]]:
    """Seeds, exclusions and entities without counterpart, after these steps."""
    named = [
        each if isinstance(each, int) else [(f"urn:a:{s}", f"urn:b:{t}" if t else "", v) for s, t, v in each]
        for each in steps
    ]
    (folder / "decisions.sqlite").unlink(missing_ok=True)
    write_events(folder / "decisions.sqlite", named)
    found = emea.read_decisions(folder, task)
    return {
        name: sorted(zip(links.source.tolist(), links.target.tolist(), strict=True))
        for name, links in (("seeds", found.seeds), ("wrong", found.exclusions), ("alone", found.unmatched))
    }


def test_what_stands_is_learned(tmp_path: Path, task: Task) -> None:
    steps: list[list[Event] | int] = [
        [("1", "1", "yes")],
        [("2", "2", "no")],
        [("3", "", "none")],
        [("4", "4", "unsure")],
        [("5", "5", "yes"), ("6", "6", "yes")],
        5,  # undoes both
        [("7", "7", "no")],
        [("7", "8", "yes")],  # a correction: the rejection stays
        [("1", "", "none")],  # a change of mind
        [("8", "3", "no")],
        [("8", "3", "yes")],
    ]
    found = decided(tmp_path, task, steps)
    assert found == {"seeds": [(7, 8), (8, 3)], "wrong": [(2, 2), (7, 7)], "alone": [(1, -1), (3, -1)]}
    assert decided(tmp_path, task, [*steps, 9])["seeds"] == [(1, 1), (7, 8), (8, 3)]  # back to the first answer


def test_of_two_sources_for_one_target_the_last_one_counts(tmp_path: Path, task: Task) -> None:
    steps = [[("urn:a:1", "urn:b:1", "yes")], [("urn:a:2", "urn:b:1", "yes")], [("urn:a:3", "urn:b:3", "yes")]]
    path = write_events(tmp_path / "decisions.sqlite", [*steps])
    with pytest.warns(
        InputWarning, match="skipping 1 decisions .* 'urn:a:1', then 'urn:a:2'; --cardinality many-to-one"
    ):
        assert emea.read_decisions(path, task).seeds.source.tolist() == [2, 3]
    assert emea.read_decisions(path, task, "many-to-one").seeds.source.tolist() == [1, 2, 3]
    write_events(tmp_path / "again.sqlite", [*steps, [("urn:a:1", "urn:b:1", "yes")]])
    with pytest.warns(InputWarning):
        assert emea.read_decisions(tmp_path / "again.sqlite", task).seeds.source.tolist() == [1, 3]


def test_a_database_is_read_where_nothing_may_be_written(tmp_path: Path, task: Task) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    write_events(folder / "decisions.sqlite", [[("urn:a:1", "urn:b:1", "yes")]])
    folder.chmod(0o500)
    try:
        assert len(emea.read_decisions(folder / "decisions.sqlite", task).seeds) == 1
    finally:
        folder.chmod(0o700)


def test_a_database_without_answers_is_refused(tmp_path: Path, task: Task) -> None:
    path = write_events(tmp_path / "decisions.sqlite", [[("urn:a:1", "urn:b:1", "unsure")]])
    with pytest.raises(InputError, match="found no pairs, only 1 with the verdict unsure; expected yes, no or none"):
        emea.read_decisions(path, task)
    with closing(sqlite3.connect(tmp_path / "other.sqlite")) as database:
        database.execute("CREATE TABLE things (name)")
    with pytest.raises(InputError, match="no such table: events; expected the decisions of the review page"):
        emea.read_decisions(tmp_path / "other.sqlite", task)
    (tmp_path / "text.sqlite").write_text("no database")
    with pytest.raises(InputError, match="cannot be read"):
        emea.read_decisions(tmp_path / "text.sqlite", task)


def test_a_table_may_say_none_and_unsure(tmp_path: Path, task: Task) -> None:
    rows = {"source": ["urn:a:1", "urn:a:2", "urn:a:3"], "target": ["urn:b:1", "urn:b:2", "urn:b:3"]}
    found = emea.read_decisions({**rows, "decision": ["yes", "None", "unsure"]}, task)
    assert (found.seeds.source.tolist(), found.unmatched.source.tolist(), len(found.exclusions)) == ([1], [2], 0)


def test_the_next_run_learns_from_the_page(tmp_path: Path) -> None:
    for side in "ab":
        rows = [f"{side}{i}\tname\tnumber {i} of {i * 7}\tliteral" for i in range(40)]
        (tmp_path / f"{side}.tsv").write_text("\n".join(["head\trelation\ttail\tkind", *rows]) + "\n")
    command("align", "a.tsv", "b.tsv", "--quiet", *QUICK, folder=tmp_path)
    answers = [("a1", "b1", "yes"), ("a2", "b2", "no"), ("a3", "", "none")]
    write_events(tmp_path / "run" / "decisions.sqlite", [[each] for each in answers])
    command(
        "align", "--config", "run/settings.toml", "--decisions", "run", "--out", "second", "--quiet", folder=tmp_path
    )
    second = {row["source"]: row["target"] for row in table(tmp_path / "second" / "alignment.tsv").to_pylist()}
    assert not {"a1", "a3"} & set(second)
    assert second.get("a2") != "b2"
    assert len(second) > 25
    assert table(tmp_path / "second" / "seeds.tsv")["source"].to_pylist() == ["a1"]
