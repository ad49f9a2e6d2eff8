"""Runs whose folder lies in an object store: the same files as here, resumed from what is there."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

import emea
from buckets import SECRET, Bucket
from emea.errors import InputError, SettingsError
from emea.examples import read_example
from emea.formats import _stores
from emea.result import Result
from emea.runs import mirror
from emea.runs.checkpoint import Checkpoint
from emea.runs.claim import Writer
from emea.runs.folder import CHECKPOINT, LAST
from interruptions import Case

pytestmark = pytest.mark.slow  # a server of objects for each

TIMES = "timings.jsonl"  # differ from run to run
ELSEWHERE = Writer(process=4711, host="alpha", machine="another", since="2026-01-02 03:04 UTC")


@pytest.fixture
def there(bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], dict[str, bytes]]:
    """The files of the run of this test in the store; `out` is its address."""
    (tmp_path / "copies").mkdir()
    (tmp_path / "empty").write_text("")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "copies"))
    bucket.put(tmp_path / "empty", "made")  # the bucket
    return lambda: bucket.files(tmp_path.name)


@pytest.fixture
def out(bucket: Bucket, tmp_path: Path) -> str:
    return bucket.address(tmp_path.name)


@pytest.fixture
def mark(bucket: Bucket, tmp_path: Path) -> Callable[[Writer], None]:
    """Leaves the mark of another run in the store."""

    def left(writer: Writer) -> None:
        (tmp_path / "mark.json").write_text(json.dumps(asdict(writer)))
        bucket.put(tmp_path / "mark.json", f"{tmp_path.name}/in-use-by-another.json")

    return left


@pytest.fixture
def nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs in a store are there, but whoever fetches one fails."""

    def fail(address: str, _: Path) -> Path:
        raise AssertionError(f"{address} was fetched")

    monkeypatch.setattr(_stores, "_copied", fail)


def during(case: Case, happens: Callable[[], object]) -> pytest.MonkeyPatch:
    """Once, when the run keeps its first checkpoint, something happens; until what is returned is undone."""
    write, patched, waiting = Checkpoint.write, pytest.MonkeyPatch(), [happens]

    def kept(saved: Checkpoint, folder: Path, task: Any) -> None:
        write(saved, folder, task)
        if waiting:
            waiting.pop()()

    patched.setattr(Checkpoint, "write", kept)
    return patched


def small_result() -> Result:
    task, _ = read_example("world", seeds=50)
    return emea.align(
        task, emea.settings.load("fast", assignments=["em.rounds=1", "encoders.propagation.dimension=32"])
    )


def here(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def same(one: dict[str, bytes], other: dict[str, bytes]) -> bool:
    assert one.keys() == other.keys()
    return all(content == other[name] for name, content in one.items() if name != TIMES)


def test_a_run_in_a_store_has_the_files_of_one_here(case: Case, there: Any, out: str, tmp_path: Path) -> None:
    case.align("--out", "whole")
    said = case.align("--out", out)
    assert f"files in s3://graphs/{tmp_path.name}?" in said
    assert SECRET not in said
    assert same(there(), here(tmp_path / "whole"))
    assert not list((tmp_path / "copies").iterdir())
    assert not (tmp_path / "s3:").exists()


def test_a_lost_run_goes_on_with_what_the_store_has(case: Case, there: Any, out: str, tmp_path: Path) -> None:
    case.align("--out", "whole")
    shown = f"s3://graphs/{tmp_path.name}"
    case.interrupt(out, shown=shown)
    assert {CHECKPOINT, "settings.toml", "rounds.jsonl"} <= there().keys()
    assert LAST not in there()
    assert "holds an interrupted run (round 1 of 3); continue with --resume" in case.align("--out", out, code=2)
    before = there()
    case.command("align", "--resume", "--dry-run", "--out", out)
    assert there() == before
    said = case.command("align", "--resume", "--out", out)
    assert "round 2 of at most 3" in said
    assert "round 0 of at most 3" not in said
    assert same(there(), here(tmp_path / "whole"))
    said = case.align("--resume", "--out", out, code=2)
    assert f"the run in {shown}?" in said
    assert "is finished; there is nothing to resume" in said
    assert "emea-" not in said


@pytest.mark.parametrize("lost", ["candidates.tsv", LAST])
def test_a_store_that_is_lost_at_the_end_has_no_finished_run(
    lost: str, case: Case, there: Any, out: str, tmp_path: Path
) -> None:
    case.align("--out", "whole")
    copy = mirror.copy_files

    def fail(source: str, target: str, *systems: Any) -> None:
        if target.endswith(f"/{tmp_path.name}/{lost}"):
            raise OSError("the network is down")
        copy(source, target, *systems)

    with case.monkeypatch.context() as patched:
        patched.setattr(mirror, "copy_files", fail)
        said = case.align("--out", out, code=2)
    assert "cannot be written: the network is down" in said
    assert CHECKPOINT in there()
    assert LAST not in there()
    assert "holds an interrupted run" in case.align("--out", out, code=2)
    case.command("align", "--resume", "--out", out)
    assert same(there(), here(tmp_path / "whole"))


def test_a_finished_run_is_overwritten_only_by_force(case: Case, there: Any, out: str, tmp_path: Path) -> None:
    case.align("--out", out, "--format", "csv")
    before = there()
    said = case.align("--out", out, code=2)
    assert "already holds a run; give --force to overwrite it" in said
    assert SECRET not in said
    assert there() == before
    case.align("--out", out, "--force", seeds="fewer.tsv")
    case.align("--out", "whole", seeds="fewer.tsv")
    assert same(there(), here(tmp_path / "whole")), "nothing of the first run is left"


def test_decisions_in_a_store_are_not_lost(case: Case, there: Any, out: str, bucket: Bucket, tmp_path: Path) -> None:
    case.align("--out", out)
    header, first, *rows = there()["alignment.review.tsv"].decode().splitlines(keepends=True)
    (tmp_path / "review.tsv").write_text("".join([header, "right" + first, *rows]))
    bucket.put(tmp_path / "review.tsv", f"{tmp_path.name}/alignment.review.tsv")
    assert "holds decisions that would be lost" in case.align("--out", out, "--force", code=2)


def test_where_nothing_can_be_written_is_said_in_a_sentence(case: Case, bucket: Bucket, out: str) -> None:
    for place in (out.replace("@graphs", "@nowhere"), f"s3://reader:{SECRET}@graphs/run?endpoint_override=127.0.0.1:1"):
        said = case.align("--out", place, "--quiet", code=2)
        assert said.startswith("error: s3://")
        assert SECRET not in said
        assert "cannot be" in said
    assert "found the scheme 'ftp'" in case.align("--out", "ftp://example.org/run", code=2)


def test_the_address_of_a_folder_here_is_that_folder(case: Case, tmp_path: Path) -> None:
    case.align("--out", "whole")
    case.align("--out", (tmp_path / "run").as_uri())
    assert same(here(tmp_path / "run"), here(tmp_path / "whole"))
    assert "already holds a run" in case.align("--out", (tmp_path / "run").as_uri(), code=2)


def test_finished_runs_are_read_from_a_store(case: Case, there: Any, out: str, bucket: Bucket, tmp_path: Path) -> None:
    case.align("--out", "whole")
    case.align("--out", out)
    for words in (["explain", "a40"], ["evaluate", "--reference", "truth.tsv"], ["merge", "--out", "merged.csv"]):
        (tmp_path / "truth.tsv").write_text("".join(f"a{number}\tb{number}\n" for number in range(30, 60)))
        told = [case.command(words[0], place, *words[1:]) for place in ("whole", out)]
        assert told[0] == told[1]
    for words in (["confidence"], ["reliability", "--reference", "truth.tsv"]):
        for place, file in (("whole", "here.json"), (out, "there.json")):
            case.command("plot", place, *words, "--out", file)
        assert (tmp_path / "there.json").read_bytes() == (tmp_path / "here.json").read_bytes()
    said = case.command("plot", out, "reliability", "--out", "there.json", code=2)
    assert f"error: s3://graphs/{tmp_path.name}?" in said
    assert "knows no true pairs" in said
    case.command("report", out)
    assert "copies" not in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert not list((tmp_path / "copies").iterdir())
    saved, truth = emea.load(out), bucket.put(tmp_path / "truth.tsv", "truth.tsv")
    assert emea.evaluate(saved, truth) == emea.evaluate(saved, tmp_path / "truth.tsv")
    assert saved.links().equals(emea.load(tmp_path / "whole").links())
    assert saved.explain("a40").source == "a40"
    copy = saved.folder
    assert copy.is_relative_to(tmp_path / "copies")
    del saved
    with pytest.raises(InputError, match=r"^s3://graphs/none\S* does not exist") as missing:
        emea.load(out.replace(tmp_path.name, "none"))
    assert SECRET not in str(missing.value)
    said = case.command("decisions", out, code=2)
    assert "found an address (s3://…), expected a folder here; copy the run first" in said


def test_a_result_is_saved_to_a_store(there: Any, out: str, mark: Any, tmp_path: Path) -> None:
    result = small_result()
    result.save(tmp_path / "whole")
    result.save(out)
    assert same(there(), here(tmp_path / "whole"))
    with pytest.raises(SettingsError, match="already holds a run"):
        result.save(out)
    assert len(emea.load(out)) == len(result)
    mark(ELSEWHERE)
    with pytest.raises(InputError, match=r"is being written by process 4711 on alpha"):
        result.save(out)
    result.save(out, force=True)
    assert same(there(), here(tmp_path / "whole"))
    with pytest.raises(InputError, match=r"found the address s3://graphs/run as a Path"):
        result.save(Path("s3://graphs/run"))
    assert not Path("s3:").exists()


def test_of_two_runs_that_meet_the_second_is_refused(case: Case, there: Any, out: str, tmp_path: Path) -> None:
    case.align("--out", "whole")
    refused = []
    meeting = during(case, lambda: refused.append(case.align("--out", out, "--quiet", seeds="fewer.tsv", code=2)))
    case.align("--out", out)
    meeting.undo()
    assert f"s3://graphs/{tmp_path.name}" in refused[0]
    assert "is being written by process" in refused[0]
    assert "--force writes there nevertheless" in refused[0]
    assert SECRET not in refused[0]
    assert same(there(), here(tmp_path / "whole"))


def test_of_two_runs_that_meet_the_first_ends_if_the_second_is_forced(
    case: Case, there: Any, out: str, tmp_path: Path
) -> None:
    case.align("--out", "whole", seeds="fewer.tsv")
    meeting = during(case, lambda: case.align("--out", out, "--quiet", "--force", seeds="fewer.tsv"))
    said = case.align("--out", out, "--format", "csv", code=2)
    meeting.undo()
    assert "was taken over with --force, by a run that has ended" in said
    assert same(there(), here(tmp_path / "whole"))


def test_a_file_that_an_overridden_run_was_just_writing_does_not_stay(
    case: Case, there: Any, out: str, bucket: Bucket, tmp_path: Path
) -> None:
    case.align("--out", "whole")
    late = during(
        case,
        lambda: [bucket.put(tmp_path / "a.tsv", f"{tmp_path.name}/{name}") for name in ("alignment.csv", "seeds.tsv")],
    )
    case.align("--out", out)
    late.undo()
    assert same(there(), here(tmp_path / "whole"))


def test_the_mark_of_a_run_that_may_be_alive_is_overridden_by_force(
    case: Case, there: Any, out: str, mark: Any, tmp_path: Path
) -> None:
    case.align("--out", "whole")
    case.interrupt(out, shown=f"s3://graphs/{tmp_path.name}")
    mark(ELSEWHERE)
    before = there()
    assert "em.rounds: found 'x'" in case.align("--out", out, "--force", "--set", "em.rounds=x", code=2)
    said = case.command("align", "--resume", "--out", out, code=2)
    assert "is being written by process 4711 on alpha, since 2026-01-02 03:04 UTC" in said
    assert there() == before
    case.command("align", "--resume", "--dry-run", "--out", out)
    assert there() == before
    case.command("align", "--resume", "--force", "--out", out)
    assert same(there(), here(tmp_path / "whole"))


@pytest.mark.skipif(not Writer.here().machine, reason="the system does not tell its starts apart")
def test_the_mark_of_a_run_that_was_killed_here_is_nothing(case: Case, there: Any, out: str, mark: Any) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    mark(replace(Writer.here(), process=ended.pid))
    assert "is being written by process" in case.align("--out", out, code=2), "a child that nobody waited for"
    ended.wait()
    case.align("--out", out)
    assert not [name for name in there() if name.startswith("in-use-by-")]


def test_a_mark_that_says_nothing_is_one(case: Case, out: str, bucket: Bucket, tmp_path: Path, there: Any) -> None:
    bucket.put(tmp_path / "empty", f"{tmp_path.name}/in-use-by-somebody.json")
    assert "by process 0 on an unknown machine" in case.align("--out", out, code=2)
    assert there().keys() == {"in-use-by-somebody.json"}


@pytest.mark.usefixtures("nothing_is_fetched")
def test_what_can_be_refused_is_refused_before_inputs_are_fetched(
    case: Case, there: Any, out: str, bucket: Bucket, tmp_path: Path
) -> None:
    stored = {name: bucket.put(tmp_path / name, f"inputs/{name}") for name in ("a.tsv", "b.tsv", "seeds.tsv")}
    source, target, seeds = stored.values()

    def refused(*words: str, target: str = target, seeds: str = seeds) -> str:
        return case.command("align", source, target, "--seeds", seeds, *words, code=2)

    assert "cannot be written" in refused("--out", out.replace("@graphs", "@nowhere"))
    (tmp_path / "taken").write_text("")
    assert "is a file, expected a folder" in refused("--out", "taken")
    assert "cannot be created" in refused("--out", "taken/run")
    assert "--memory works with the method emea only" in refused("--method", "paris", "--memory", "1GB")
    assert "--dry-run works with the method emea only" in refused("--method", "paris", "--dry-run")
    assert "em.rounds: found 'x'" in refused("--set", "em.rounds=x")
    assert "none.tsv?" in refused(target=target.replace("b.tsv", "none.tsv"))
    assert "none.tsv?" in refused(seeds=seeds.replace("seeds.tsv", "none.tsv"))
    (tmp_path / "b.doc").write_text("")
    assert "found the suffix '.doc'" in refused(target="b.doc")
    case.align("--out", out)
    assert "already holds a run" in refused("--out", out)
    assert not (tmp_path / "run").exists()


def test_an_address_in_a_path_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("id,name\n1,a\n")
    place = Path(f"s3://key:{SECRET}@bucket/b.csv")
    message = r"^found the address s3://bucket/b.csv as a Path, which drops a slash; expected it as text$"
    for call in (
        lambda: emea.link("a.csv", place),
        lambda: emea.read(place, "a.csv"),
        lambda: emea.read("a.csv", "a.csv", place),
        lambda: emea.load(place),
    ):
        with pytest.raises(InputError, match=message):
            call()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.csv"]
