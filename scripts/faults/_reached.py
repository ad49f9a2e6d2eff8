"""Which of the quick tests run which lines of the source, and how long each takes."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
KEPT = REPOSITORY / "build" / "reached.json"
APART = ("tests/engine", "tests/review/test_review_page.py", "tests/report/test_widget.py")  # clusters and browsers
BUDGET, MOST = 60.0, 400  # seconds, as measured while lines were counted, and tests for one line
PATIENCE = 200  # seconds after which a test counts as one that always fails
TOOK = re.compile(r"^([\d.]+)s (?:setup|call|teardown) +(\S.*)$", re.MULTILINE)
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Reached:
    """What was learned of one state of source and tests."""

    code: str
    seconds: dict[str, float]  # of each test that passes
    lines: dict[str, dict[str, list[str]]]  # module, line, tests

    def by(self, module: Path, line: int) -> list[str]:
        """The tests of a line, quick ones first; those of its whole module if the line is run as it is imported."""
        lines = self.lines.get(module.as_posix(), {})
        meant = [lines.get(str(line), [])] if _in_a_function(REPOSITORY / module, line) else lines.values()
        names = {each for some in meant for each in some if each in self.seconds}
        found = sorted(names, key=lambda each: (self.seconds[each], each))
        total = accumulate(self.seconds[each] for each in found)
        return [each for each, until in zip(found, total, strict=True) if until <= BUDGET][:MOST]


def _in_a_function(path: Path, line: int) -> bool:
    return any(first <= line <= last for first, last in _bodies(path))


@cache
def _bodies(path: Path) -> list[tuple[int, int]]:
    """The lines of all functions, without their heads, which are run as the module is imported."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, kinds)]
    return [(node.body[0].lineno, node.end_lineno or node.lineno) for node in nodes]


def code() -> str:
    """A number for source and tests."""
    digest = hashlib.sha256()
    for folder in ("src", "tests"):
        for path in sorted((REPOSITORY / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


@cache
def reached() -> Reached:
    """What was learned last; FileNotFoundError if that was of other code."""
    found = Reached(**json.loads(KEPT.read_text(encoding="utf-8")))
    if found.code != code():
        raise FileNotFoundError(f"{KEPT} is of other code")
    return found


def learn(jobs: int) -> None:
    """Run all quick tests once and keep what each of them reaches, unless that is known."""
    try:
        reached()
    except FileNotFoundError:
        KEPT.parent.mkdir(exist_ok=True)
        data = KEPT.with_name("reached.coverage")
        told = _told(jobs, data)
        seconds: dict[str, float] = {}
        for took, test in TOOK.findall(told):
            seconds[test] = round(seconds.get(test, 0.0) + float(took), 2)
        if not seconds:
            raise RuntimeError(f"no test ran: {told[-2000:]}") from None
        for test in FAILED.findall(told):
            seconds.pop(test, None)
        KEPT.write_text(json.dumps(vars(Reached(code(), seconds, _lines(data)))), encoding="utf-8")


def _told(jobs: int, data: Path) -> str:
    """What the tests say."""
    line = [sys.executable, "-m", "pytest", "-m", "not slow", "-n", str(jobs), "-p", "pytest_cov.plugin", "--cov=emea"]
    line += [
        "--cov-context=test",
        "--cov-report=",
        f"--timeout={PATIENCE}",
        "--durations=0",
        "--durations-min=0",
        "-vv",
        "--color=no",
    ]
    line += [f"--ignore={each}" for each in APART]
    environment = os.environ | {
        "COVERAGE_FILE": str(data),
        "PYTHONPATH": str(REPOSITORY / "src"),
        "COLUMNS": "500",
        "COVERAGE_CORE": "ctrace",
    }
    return subprocess.run(line, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False).stdout


def _lines(data: Path) -> dict[str, dict[str, list[str]]]:
    from coverage import CoverageData

    found = CoverageData(str(data))
    found.read()
    return {
        Path(name).relative_to(REPOSITORY).as_posix(): {
            str(line): sorted({each.partition("|")[0] for each in tests if each})
            for line, tests in found.contexts_by_lineno(name).items()
        }
        for name in sorted(found.measured_files())
    }
