"""A run that is killed, at any moment, goes on to the same bytes."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from emea.data import Links, Task
from emea.engine import Local
from emea.errors import InputError
from emea.evidence.prepared import prepare
from emea.examples import read_example
from emea.method.rounds import Step
from emea.runs.align import Observers
from emea.runs.checkpoint import Checkpoint
from emea.runs.estimate import Estimate
from emea.runs.folder import CHECKPOINT, ENGINE, finished
from emea.runs.inputs import Inputs
from emea.runs.run import run
from emea.settings import Settings, load, read_config
from interruptions import Case

KILLS = int(os.environ.get("EMEA_KILLS", "2"))  # how many moments to try; 20 for a release
RESULTS = ("alignment.tsv", "candidates.tsv", "relations.tsv", "alignment.sssom.tsv", "alignment.nt", "rounds.jsonl")
CODE = """
import signal
import sys
from emea.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # which whoever runs the tests may have told to ignore it
sys.argv = ["emea", *sys.argv[1:]]
main()
"""


class Stopped(Exception):
    """Stands for whatever ends a run between two rounds."""


@pytest.fixture(scope="module")
def task() -> Task:
    return read_example("world")[0]


def interrupted(task: Task, folder: Path, after: int) -> None:
    """A run that stops after a round."""

    def stop(ended: Step) -> None:
        if ended.number == after:
            raise Stopped

    folder.mkdir()
    settings = load(assignments=["em.rounds=2", "encoders.propagation.dimension=32", "encoders.propagation.paths=32"])
    prepared, inputs = prepare(task, settings.evidence), Inputs(example="world")
    with pytest.raises(Stopped):
        run(prepared, settings, folder, inputs=inputs, observers=Observers(stop))


@pytest.fixture
def first(task: Task, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that stopped after its first round, which tests share, in a folder of its own."""
    made = tmp_path_factory.getbasetemp() / "stopped"
    if not made.exists():
        interrupted(task, made, after=0)
    return shutil.copytree(made, tmp_path / "run")


def started(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", CODE, *arguments], cwd=folder, stderr=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two graphs and seeds."""
    folder = tmp_path_factory.mktemp("whole")
    draw = random.Random(0)
    edges = [(draw.randrange(150), draw.randrange(4), draw.randrange(150)) for _ in range(500)]
    for side in ("source", "target"):
        rows = [f"urn:{side}:e{head}\turn:{side}:r{relation}\turn:{side}:e{tail}" for head, relation, tail in edges]
        (folder / f"{side}.tsv").write_text("\n".join(rows) + "\n")
    pairs = [f"urn:source:e{number}\turn:target:e{number}" for number in sorted({head for head, _, _ in edges})]
    (folder / "seeds.tsv").write_text("\n".join(pairs[:30]) + "\n")
    return folder


def asked(files: Path, rounds: int) -> list[str]:
    graphs = [str(files / f"{side}.tsv") for side in ("source", "target")]
    seeds = str(files / "seeds.tsv")
    return ["align", *graphs, "--seeds", seeds, "--set", f"em.rounds={rounds}", "--device", "cpu", "--out", "run"]


@pytest.fixture(scope="module")
def whole(files: Path) -> tuple[dict[str, bytes], float, Path]:
    """The results of a run of many short rounds that nobody disturbs, how long these take, and its settings."""
    folder = files
    assert started(folder, *asked(files, 12), "--quiet").wait() == 0
    with (folder / "run" / "timings.jsonl").open() as file:
        seconds = sum(json.loads(line)["seconds"] for line in file)
    return {name: (folder / "run" / name).read_bytes() for name in RESULTS}, seconds, folder / "run" / "settings.toml"


@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(KILLS))
def test_killed_at_a_random_moment(attempt: int, whole: tuple[dict[str, bytes], float, Path], tmp_path: Path) -> None:
    results, seconds, settings = whole
    folder = tmp_path / "run"
    process = started(tmp_path, "align", "--config", str(settings), "--out", "run", "--quiet")
    while not (folder / "settings.toml").exists():
        time.sleep(0.01)
    time.sleep(random.Random(attempt).uniform(0.0, 1.1) * seconds)
    process.send_signal(signal.SIGKILL)
    process.wait()
    if not finished(folder):  # else it was killed too late, and its results must be whole
        assert started(tmp_path, "align", "--resume", "--out", "run", "--quiet").wait() == 0
    for name, content in results.items():
        assert (folder / name).read_bytes() == content, name
    assert not (folder / CHECKPOINT).exists()


@pytest.mark.slow
def test_interrupted_from_the_keyboard_says_how_to_go_on(files: Path, tmp_path: Path) -> None:
    # So many rounds that it cannot have ended before the signal arrives, however busy the machine is.
    command = [sys.executable, "-c", CODE, *asked(files, 100_000)]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "round 0" in line:
                break
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == 130, rest
    assert "emea align --resume --out run" in rest
    assert (tmp_path / "run" / CHECKPOINT).exists()


def test_the_same_command_with_resume_continues(case: Case, tmp_path: Path) -> None:
    case.align("--out", "whole")
    case.interrupt("run")
    case.monkeypatch.setattr(Local, "record", lambda _: {"kind": "elsewhere"})
    said = case.align("--resume", "--out", "run")
    assert "round 2 of at most 3" in said
    assert "round 1 of at most 3" not in said
    for name in ("alignment.tsv", "candidates.tsv", "rounds.jsonl"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    ran, rounds = ((tmp_path / "run" / name).read_text() for name in (ENGINE, "rounds.jsonl"))
    assert json.loads(ran)["rounds"] == len(rounds.splitlines()) - 2, "those of the last process"
    assert "there is nothing to resume" in case.align("--resume", "--out", "run", code=2)


@pytest.mark.skipif(sys.platform == "win32", reason="no folder is locked there")
def test_while_a_run_reads_its_inputs_its_folder_is_its_own(case: Case, tmp_path: Path) -> None:
    read, refused = Inputs.read, []

    with case.monkeypatch.context() as patched:

        def meanwhile(inputs: Inputs, cardinality: str) -> object:
            patched.setattr(Inputs, "read", read)
            refused.append(case.align("--out", "run", seeds="none.tsv", code=2))
            refused.append(case.align("--out", "run", "--force", code=2))
            raise InputError("a.tsv is damaged")

        (tmp_path / "none.tsv").write_text("")
        patched.setattr(Inputs, "read", meanwhile)
        assert "a.tsv is damaged" in case.align("--out", "run", code=2)
    assert all("run is in use by a run" in each for each in refused), "before inputs are read"
    assert not (tmp_path / "run").exists(), "nothing was written"


def test_a_run_that_ends_while_its_resumption_reads_is_kept(case: Case, tmp_path: Path) -> None:
    case.interrupt("run")
    read = Inputs.read

    with case.monkeypatch.context() as patched:
        patched.setitem(sys.modules, "fcntl", None)  # a system on which no folder can be locked

        def meanwhile(inputs: Inputs, cardinality: str) -> object:
            patched.setattr(Inputs, "read", read)
            case.command("align", "--resume", "--out", "run", "--quiet")
            return read(inputs, cardinality)

        patched.setattr(Inputs, "read", meanwhile)
        assert "there is nothing to resume" in case.align("--resume", "--out", "run", code=2)
    assert finished(tmp_path / "run")


def test_another_command_with_resume_is_told_the_difference(case: Case, tmp_path: Path) -> None:
    case.interrupt("run")
    before = (tmp_path / "run" / CHECKPOINT).read_bytes()
    said = case.align("--resume", "--out", "run", rounds=4, code=2)
    assert "the interrupted run in run has em.rounds = 3, found em.rounds = 4; expected the same options" in said
    said = case.align("--resume", "--out", "run", seeds="fewer.tsv", code=2)
    assert f"has seeds = {tmp_path}/seeds.tsv, found seeds = {tmp_path}/fewer.tsv;" in said
    said = case.align("--resume", "--out", "run", "--target-precision", "0.9", code=2)
    assert "has no matching.precision, found matching.precision = 0.9;" in said
    said = case.command("align", "--resume", "--out", "run", "--set", "em.rounds=4", code=2)
    assert "as it was begun, found other options without its graphs; expected the same command as before" in said
    assert (tmp_path / "run" / CHECKPOINT).read_bytes() == before
    case.command("align", "--resume", "--out", "run", "--quiet")
    assert finished(tmp_path / "run")


@pytest.mark.parametrize("changes", [{"bounded": 0}, {"block": 7}])
@pytest.mark.parametrize("more", [(), ("--set", "similarity.block=9")])
def test_what_was_fitted_to_the_memory_is_no_difference(
    changes: dict[str, int], more: tuple[str, ...], case: Case, tmp_path: Path
) -> None:
    def less(settings: Settings, _: Estimate) -> Settings:
        return settings.model_copy(update={"similarity": settings.similarity.model_copy(update=changes)})

    with case.monkeypatch.context() as patched:
        patched.setattr("emea.runs.estimate.fitted", less)
        case.interrupt("run", more=more)
    assert read_config(tmp_path / "run" / "settings.toml")["similarity"].items() >= changes.items()
    case.align("--resume", "--out", "run", *more)
    assert finished(tmp_path / "run")


def test_a_search_that_was_chosen_is_a_difference(case: Case) -> None:
    case.interrupt("run")
    said = case.align("--resume", "--out", "run", "--set", "similarity.bounded=0", code=2)
    assert "found similarity.bounded = 0;" in said


def test_an_interrupted_run_is_named_before_it_is_overwritten(case: Case, tmp_path: Path) -> None:
    case.interrupt("run")
    said = case.align("--out", "run", code=2)
    advice = "continue with --resume, or start over with --force"
    assert said == f"error: run holds an interrupted run (round 2 of 3); {advice}"
    (tmp_path / "run" / CHECKPOINT).unlink()
    assert "interrupted run (round 0 of 3)" in case.align("--out", "run", code=2)
    case.align("--out", "run", "--force")
    assert finished(tmp_path / "run")
    assert "already holds a run; give --force" in case.align("--out", "run", code=2)


@pytest.mark.slow
@pytest.mark.parametrize(("ended", "where"), [(1, "round 2 in scout 2 of 2"), (2, "round 2 of 3")])
def test_a_run_interrupted_in_a_loop_that_goes_ahead_is_named_so(ended: int, where: str, case: Case) -> None:
    write = Checkpoint.write

    def stop(saved: Checkpoint, folder: Path, task: Task) -> None:
        write(saved, folder, task)
        if (saved.state.scouts, saved.state.done) == (ended, 2):
            raise KeyboardInterrupt

    scouts = ("--set", "em.scouts=2")
    with case.monkeypatch.context() as patched:
        patched.setattr(Checkpoint, "write", stop)
        case.align("--out", "run", *scouts, code=130)
    assert f"interrupted run ({where})" in case.align("--out", "run", *scouts, code=2)


def test_only_the_last_round_is_kept(task: Task, tmp_path: Path) -> None:
    interrupted(task, tmp_path / "run", after=1)
    saved = Checkpoint.read(tmp_path / "run", task)
    assert saved is not None
    assert saved.state.done == 2
    assert [each["round"] for each in saved.rounds] == [0, 1]
    assert len(list((tmp_path / "run").glob("*.safetensors"))) == 1


def test_a_truncated_or_altered_checkpoint_is_noticed_and_named(task: Task, first: Path) -> None:
    path = first / CHECKPOINT
    content = path.read_bytes()
    draw = random.Random(0)
    for _ in range(40):
        place = draw.randrange(len(content))
        path.write_bytes(content[:place] + bytes([content[place] ^ (1 << draw.randrange(8))]) + content[place + 1 :])
        with pytest.raises(InputError, match=CHECKPOINT):
            Checkpoint.read(first, task)
    for size in (0, 7, 100, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:size])
        with pytest.raises(InputError, match=CHECKPOINT):
            Checkpoint.read(first, task)
    path.write_bytes(content)
    assert Checkpoint.read(first, task) is not None


def test_numbers_that_are_none_are_refused(task: Task, first: Path) -> None:
    saved = Checkpoint.read(first, task)
    assert saved is not None
    saved.state.labels.weight[0] = torch.nan
    saved.write(first, task)
    with pytest.raises(InputError, match="invalid numbers"):
        Checkpoint.read(first, task)


def test_a_checkpoint_of_other_seeds_is_refused(task: Task, first: Path) -> None:
    fewer = Task(task.source, task.target, task.seeds[:10], Links.empty())
    with pytest.raises(InputError, match="other graphs or seeds"):
        Checkpoint.read(first, fewer)


def test_a_file_without_a_record_is_refused(task: Task, tmp_path: Path) -> None:
    save_file({"x": torch.zeros(1)}, tmp_path / CHECKPOINT)
    with safe_open(tmp_path / CHECKPOINT, framework="pt") as file:
        assert file.metadata() is None
    with pytest.raises(InputError, match=CHECKPOINT):
        Checkpoint.read(tmp_path, task)


def test_a_full_disk_leaves_the_last_checkpoint(task: Task, first: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = Checkpoint.read(first, task)
    assert saved is not None
    before = (first / CHECKPOINT).read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises((OSError, InputError), match="No space left"):
        saved.write(first, task)
    assert (first / CHECKPOINT).read_bytes() == before
    assert not list((first).glob(".*.part"))
