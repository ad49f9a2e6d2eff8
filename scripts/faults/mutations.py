"""Mutations of the source: small mistakes that tests must notice.

Each changes one operator, constant, condition or returned value of a copy of the tree. The quick tests that run the
line are run until one fails; a change that none of them notices survives.
"""

from __future__ import annotations

import ast
import atexit
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from faults import Case, Kind
from faults._reached import BUDGET, learn, reached

REPOSITORY = Path(__file__).parents[2]
FOLDERS = ("method", "rules", "evidence", "runs")
SECONDS = 400.0  # after which a mutation counts as noticed
COMPARE = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
COMPARE |= {ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}
ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult}
BROKEN: list[str] = []  # tests that fail without a change, too
ARITHMETIC |= {ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.Mod: ast.Mult, ast.Pow: ast.Mult}


def mutants(tree: ast.Module) -> list[tuple[int, str, Callable[[], None]]]:
    """All changes that could be made to a module: the line, what it is, and what makes it."""
    found: list[tuple[int, str, Callable[[], None]]] = []
    hints = {id(part) for node in ast.walk(tree) for hint in _hints(node) for part in ast.walk(hint)}
    for node in ast.walk(tree):
        if id(node) in hints:
            continue
        if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARE:
            new = COMPARE[type(node.ops[0])]
            found.append((node.lineno, f"{_name(node.ops[0])} → {new.__name__}", _setter(node.ops, 0, new())))
        elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
            new = ARITHMETIC[type(node.op)]
            found.append((node.lineno, f"{_name(node.op)} → {new.__name__}", _setter(node, "op", new())))
        elif isinstance(node, ast.BoolOp):
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            found.append((node.lineno, f"{_name(node.op)} → {_name(other)}", _setter(node, "op", other)))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.Invert):
            new_op = ast.UAdd() if isinstance(node.op, ast.USub) else None
            if new_op is not None:
                found.append((node.lineno, "− → +", _setter(node, "op", new_op)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
            value = (not node.value) if isinstance(node.value, bool) else node.value + 1
            found.append((node.lineno, f"{node.value!r} → {value!r}", _setter(node, "value", value)))
        elif isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
            found.append((node.lineno, "return None", _setter(node, "value", ast.Constant(None))))
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            turned = ast.UnaryOp(ast.Not(), node.test)
            found.append((node.lineno, "condition negated", _setter(node, "test", turned)))
    return found


def _hints(node: ast.AST) -> list[ast.AST]:
    """What in a node is not computed with: annotations, and decorators such as that of a frozen dataclass."""
    named = [getattr(node, each, None) for each in ("annotation", "returns")]
    return [each for each in (*named, *getattr(node, "decorator_list", ())) if isinstance(each, ast.AST)]


def _name(node: ast.AST) -> str:
    return type(node).__name__


def _setter(place: object, key: str | int, value: object) -> Callable[[], None]:
    def change() -> None:
        if isinstance(place, list):
            place[key] = value  # type: ignore[index]
        else:
            setattr(place, str(key), value)

    return change


@cache
def modules() -> list[Path]:
    """The files that are changed."""
    source = REPOSITORY / "src" / "emea"
    return sorted(path for folder in FOLDERS for path in (source / folder).glob("*.py") if mutants(_parsed(path)))


@cache
def sizes() -> list[int]:
    """How many changes each of them allows."""
    return [len(mutants(_parsed(each))) for each in modules()]


def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def copy() -> Path:
    """A copy of the tree, which is changed instead of this one."""
    place = tempfile.TemporaryDirectory(prefix="emea-mutations-")
    atexit.register(place.cleanup)
    for name in ("src", "tests", "scripts", "docs", "pyproject.toml", "README.md"):
        (shutil.copytree if (REPOSITORY / name).is_dir() else shutil.copy)(REPOSITORY / name, Path(place.name) / name)
    return Path(place.name)


def survived(number: int) -> tuple[str, str]:
    """A random mutation, and what is to be said if no test notices it."""
    draw = random.Random(number)
    path = draw.choices(modules(), sizes())[0]
    tree = _parsed(path)
    line, what, change = draw.choice(mutants(tree))
    change()
    place = path.relative_to(REPOSITORY)
    tests = reached().by(place, line)
    noticed = _noticed(tests, place, ast.unparse(ast.fix_missing_locations(tree)) + "\n")
    told = path.read_text(encoding="utf-8").splitlines()[line - 1].strip()
    wrong = "" if noticed else f"`{told}` ({what}) survived {len(tests)} tests"
    return f"{place.relative_to('src/emea')}, line {line}", wrong


def _noticed(tests: list[str], place: Path, text: str) -> bool:
    """Whether a test fails that does not fail without the change, or takes too long."""
    while left := [each for each in tests if each not in BROKEN]:
        (copy() / place).write_text(text, encoding="utf-8")
        try:
            failed = _failing(left)
        finally:
            shutil.copy(REPOSITORY / place, copy() / place)
        if failed is None:
            return True
        always = _failing([each for each in left if each.startswith(failed)]) if failed else ""
        if not always:
            return bool(failed)
        BROKEN.append(always)
    return False


def _failing(tests: list[str]) -> str | None:
    """The first test that fails, or its file if it cannot be read; none if all takes too long, or does not start."""
    environment = os.environ | {"PYTHONPATH": str(copy() / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    seen, named = copy() / "tests-seen", copy() / "tests-to-run"
    shutil.rmtree(seen, ignore_errors=True)
    named.write_text("\n".join(tests), encoding="utf-8")
    line = [sys.executable, "-m", "pytest", "-x", "-n0", "-m", "not slow", "-o", f"cache_dir={seen}", f"@{named}"]
    try:
        done = subprocess.run(line, cwd=copy(), env=environment, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return None
    last = seen / "v" / "cache" / "lastfailed"
    failed = list(json.loads(last.read_text(encoding="utf-8"))) if last.exists() else []
    return failed[0] if failed else "" if done.returncode in {0, 5} else None  # 5: there are no tests


def cases(numbers: range) -> Iterator[Case]:
    """Random mutations."""
    for number in numbers:
        yield survived(number)


KIND = Kind(
    "mutations of the source: method, rules, evidence, runs",
    "300 random ones, at least 92 % noticed",
    300,
    cases,
    "all of them",
    "A case changes one comparison, operator, constant, condition or returned value, and runs the quick tests that run "
    f"its line, quick ones first, for {BUDGET:g} seconds of their usual time at most; of a line that is run as its "
    "module is imported, those that run any line of the module. A survivor may be noticed by slow tests. A test that "
    "always fails does not count; taking longer than seven minutes counts as noticed.",
    least=0.92,
    before=learn,
)
