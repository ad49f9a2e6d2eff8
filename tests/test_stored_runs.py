"""Runs whose folder lies in an object store: the same files as here, resumed from what is there."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import emea
from buckets import SECRET, Bucket
from emea.errors import InputError, SettingsError
from emea.examples import read_example
from emea.runs import mirror
from emea.runs.folder import CHECKPOINT, LAST
from interruptions import Case

TIMES = "timings.jsonl"  # differ from run to run


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


def test_finished_runs_are_read_from_a_store(case: Case, there: Any, out: str, tmp_path: Path) -> None:
    case.align("--out", "whole")
    case.align("--out", out)
    for words in (["explain", "a40"], ["evaluate", "--reference", "truth.tsv"], ["merge", "--out", "merged.csv"]):
        (tmp_path / "truth.tsv").write_text("".join(f"a{number}\tb{number}\n" for number in range(30, 60)))
        told = [case.command(words[0], place, *words[1:]) for place in ("whole", out)]
        assert told[0] == told[1]
    case.command("report", out)
    assert "copies" not in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert not list((tmp_path / "copies").iterdir())
    saved = emea.load(out)
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


def test_a_result_is_saved_to_a_store(there: Any, out: str, tmp_path: Path) -> None:
    task, _ = read_example("world", seeds=50)
    settings = emea.settings.load("fast", assignments=["em.rounds=1", "encoders.propagation.dimension=32"])
    result = emea.align(task, settings)
    result.save(tmp_path / "whole")
    result.save(out)
    assert same(there(), here(tmp_path / "whole"))
    with pytest.raises(SettingsError, match="already holds a run"):
        result.save(out)
    assert len(emea.load(out)) == len(result)
