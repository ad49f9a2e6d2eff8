"""The campaign of faults: a few cases of each kind, and what was mended because of it."""

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from emea.cli import _is_out_of_memory
from emea.errors import InputError
from emea.review.decision import Decision
from emea.review.decisions import Decisions
from emea.runs.folder import CHECKPOINT, LAST, clear, finished, held
from emea.verdicts import YES

REPOSITORY = Path(__file__).parents[1]
SCRIPT = REPOSITORY / "scripts" / "campaign.py"
FEW = {"writes": 16, "kills": 9, "malformed": 300, "memory": 6, "hostile": 2, "together": 9}
HOLDER = """
import sys, time
from pathlib import Path
from emea.runs.folder import held
with held(Path(sys.argv[1]), shared=sys.argv[2] == "shared"):
    print("held", flush=True)
    time.sleep(600)
"""

Script = Callable[[str], ModuleType]


@pytest.mark.slow
@pytest.mark.parametrize("name", FEW)
def test_a_few_cases_of_each_kind_end_well(name: str, tmp_path: Path) -> None:
    line = [sys.executable, str(SCRIPT), "--only", name, "--amount", str(FEW[name]), "--store", str(tmp_path)]
    line += ["--jobs", "2"] if name == "malformed" else []
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY / "src")}
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
    assert (record["cases"], record["failures"]) == (FEW[name], [])


@pytest.mark.slow
def test_many_runs_in_one_process_need_no_more_memory(script: Script) -> None:
    script("faults.long_use").many_runs(60)


@pytest.mark.slow
def test_many_clicks_are_answered(script: Script, tmp_path: Path) -> None:
    line = "from faults.long_use import day_of_clicks; from pathlib import Path; import sys; "
    line += "print(day_of_clicks(Path(sys.argv[1]), 1200, 2000)[0] or 'well')"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(str(REPOSITORY / each) for each in ("src", "scripts"))}
    command = [sys.executable, "-c", line, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "well"


def test_the_page_shows_what_is_kept(script: Script) -> None:
    campaign = script("campaign")
    page = campaign.PAGE.read_text(encoding="utf-8")
    assert campaign.table() in page
    assert campaign.sections() in page
    for name in script("faults").NAMES:
        for test in re.findall(r"`(tests/[^`]+)`", script("faults").kind(name).tests):
            assert (REPOSITORY / test).exists(), test


def test_no_cases_at_a_time_are_refused_in_a_sentence(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["campaign.py", "--only", "malformed", "--amount", "1", "--jobs", "0", "--store", str(tmp_path)]
    monkeypatch.setattr("sys.argv", line)
    with pytest.raises(SystemExit):
        script("campaign").main()
    assert "--jobs: found '0', expected a whole number from 1 on" in capsys.readouterr().err


def test_mutations_change_what_is_computed_and_nothing_else(script: Script) -> None:
    mutations = script("faults.mutations")
    text = "@kept(most=True)\ndef f(a: int, b: 'list[1]') -> int:\n"
    text += "    if a < 1 and b:\n        return a + 2\n    return -a\n"
    found = {what for _, what, _ in mutations.mutants(ast.parse(text))}
    assert found == {
        *("Lt → LtE", "And → Or", "condition negated", "1 → 2", "2 → 3", "Add → Sub", "return None", "− → +"),
        "1 → 2",
    }
    for place in range(len(mutations.mutants(ast.parse(text)))):
        tree = ast.parse(text)
        mutations.mutants(tree)[place][2]()
        assert ast.unparse(ast.fix_missing_locations(tree)) != ast.unparse(ast.parse(text))


def test_a_mutation_is_shown_to_the_tests_that_run_its_line_quick_ones_first(script: Script) -> None:
    module = Path("src/emea/runs/promise.py")
    lines = script("faults.mutations").REPOSITORY.joinpath(module).read_text(encoding="utf-8").splitlines()
    inside = 1 + next(place for place, line in enumerate(lines) if line.startswith("    return "))
    head = 1 + next(place for place, line in enumerate(lines) if line.startswith("def "))
    seconds = {"slow": 50.0, "quick": 0.1, "other": 20.0, "last": 0.2}
    known = {str(module): {str(inside): ["slow", "quick", "broken"], str(head): ["slow"], "9999": ["other", "last"]}}
    found = script("faults._reached").Reached("", seconds, known)
    assert found.by(module, inside) == ["quick", "slow"]  # what fails without a mutation has no time
    assert found.by(module, inside - 1 if inside - 1 > head else 9998) == []
    assert found.by(module, head) == [
        "quick",
        "last",
        "other",
    ]  # run as the module is read: any of its tests, for a while
    assert found.by(Path("src/emea/runs/doctor.py"), 9999) == []


@pytest.mark.parametrize(
    ("first", "second", "refused"),
    [("alone", "alone", True), ("alone", "shared", True), ("shared", "alone", True), ("shared", "shared", False)],
)
def test_a_folder_belongs_to_one_run_or_to_readers(first: str, second: str, refused: bool, tmp_path: Path) -> None:
    line = [sys.executable, "-c", HOLDER, str(tmp_path), first]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        if refused:
            with (
                pytest.raises(InputError, match=r"expected (it|that) to end first"),
                held(tmp_path, shared=second == "shared"),
            ):
                pass
        else:
            with held(tmp_path, shared=True):
                pass
        process.kill()
    with held(tmp_path):  # what is killed holds nothing
        pass


def test_only_a_run_with_its_last_file_is_finished(tmp_path: Path) -> None:
    for name in ("alignment.tsv", "candidates.tsv", LAST):
        assert not finished(tmp_path)
        (tmp_path / name).write_text("")
    assert finished(tmp_path)
    (tmp_path / CHECKPOINT).write_text("")
    assert not finished(tmp_path)


def test_what_a_killed_run_left_is_cleared_away_and_nothing_else(tmp_path: Path) -> None:
    others = (".mine.tsv.123.part", "notes.txt", "decisions.sqlite", "settings.toml", CHECKPOINT)
    for name in (".alignment.tsv.123.part", f".{CHECKPOINT}.7.part", "alignment.tsv", LAST, *others):
        (tmp_path / name).write_text("")
    clear(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(others)


@pytest.mark.parametrize(
    ("error", "spent"),
    [
        (MemoryError(), True),
        (OSError(12, "Cannot allocate memory"), True),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: not enough memory: you tried to allocate 8 bytes"), True),
        (RuntimeError("CUDA out of memory. Tried to allocate"), True),
        (RuntimeError("found other sizes"), False),
        (OSError(28, "No space left on device"), False),
    ],
)
def test_too_little_memory_is_known_by_all_its_names(error: Exception, spent: bool) -> None:
    assert _is_out_of_memory(error) is spent


def test_a_library_for_which_there_is_no_room_is_too_little_memory() -> None:
    """As llvmlite loads its own."""
    for found, spent in (("failed to map segment from shared object", True), ("invalid ELF header", False)):
        error = OSError("Could not find/load shared object file 'libllvmlite.so'")
        error.__context__ = OSError(f"libllvmlite.so: {found}")
        assert _is_out_of_memory(error) is spent


def test_a_decision_for_which_there_is_no_room_is_refused_and_the_others_stay(tmp_path: Path) -> None:
    decisions = Decisions.open(tmp_path / "decisions.sqlite")
    decisions.add([Decision("a", "x", YES)], "first", "anna")
    (pages,) = decisions._connection.execute("PRAGMA page_count").fetchone()
    decisions._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(InputError, match="the decision was not kept: database or disk is full"):
        decisions.add([Decision("b", "y", YES, "x" * 100_000)], "second", "anna")
    decisions._connection.execute("PRAGMA max_page_count = 10000")
    decisions.add([Decision("c", "z", YES)], "third", "anna")
    assert decisions.counts()["decided"] == 2
