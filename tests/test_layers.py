"""Imports point down only, neighbours do not import each other, files stay short, and the reference stays sealed."""

import ast
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "emea"
GROUND = (
    "settings",
    "presets",
    "plugins",
    "contracts",
    "reading",
    "data",
    "order",
    "verdicts",
    "errors",
)  # the only files beside folders, highest first
FLOORS = [  # of folders, from the top
    {"cli"},
    {"review", "reproduce", "bench"},
    {"report"},
    {"runs"},
    {"analysis", "baselines"},
    {"method"},
    {"encoders", "rules"},
    {"candidates", "evidence"},
    {"formats", "engine", "kernels"},
]
APART = {"examples"}  # stands on formats and is read by cli and runs
FRONT = {"", "__main__", "result"}  # above all floors
RANK = {room: rank for rank, floor in enumerate(FLOORS) for room in floor}
RANK |= {room: len(FLOORS) + rank for rank, room in enumerate(GROUND)}
RANK |= {"examples": RANK["formats"] - 0.5, "result": -1}
LONGEST_FILE, LONGEST_FUNCTION = 300, 50  # lines
PLUGINS = {"encoders", "rules", "baselines", "formats", "reproduce"}  # one a file, which do not import each other


@cache
def modules() -> dict[str, Path]:
    """Dotted name below `emea` → file."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = path
    return found


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def imported(path: Path) -> set[str]:
    """The modules of the package that a file names in its imports, wherever they stand."""
    known = modules()
    names = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add(node.module or "")
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    inside = {name.removeprefix("emea").removeprefix(".") for name in names if name.split(".")[0] == "emea"}
    return {name for name in inside if name in known} - {""}


def room(module: str) -> str:
    return module.split(".", maxsplit=1)[0]


def test_the_package_shows_the_architecture() -> None:
    files = {path.name for path in PACKAGE.iterdir() if path.is_file()}
    assert files == {"__init__.py", "__main__.py", "result.py", "py.typed", *(f"{name}.py" for name in GROUND)}
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders <= set().union(*FLOORS) | APART
    assert all(any(folder.glob("*.py")) for folder in map(PACKAGE.joinpath, folders)), "a room that is empty"


@pytest.mark.parametrize("module", [name for name in modules() if name not in FRONT])
def test_imports_point_down(module: str) -> None:
    for other in imported(modules()[module]):
        if room(other) != room(module):
            assert RANK[room(module)] < RANK[room(other)], f"{module} imports {other}, which stands above or beside it"
        elif room(module) in PLUGINS:
            private = other.rpartition(".")[2].startswith("_") or other == room(module)
            assert private, f"{module} imports its neighbour {other}"


@pytest.mark.parametrize("folder", sorted({room(name) for name in modules() if "." in name}))
def test_no_circle_within_a_folder(folder: str) -> None:
    inside = {name: imported(path) for name, path in modules().items() if room(name) == folder}
    left = {name: {other for other in others if other in inside and other != folder} for name, others in inside.items()}
    while ready := [name for name, others in left.items() if not others & left.keys()]:
        for name in ready:
            del left[name]
    assert not left, f"imports in a circle: {sorted(left)}"


@pytest.mark.parametrize("module", modules())
def test_files_and_functions_are_short(module: str) -> None:
    path = modules()[module]
    assert len(path.read_text(encoding="utf-8").splitlines()) < LONGEST_FILE, path
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            assert lines <= LONGEST_FUNCTION, f"{path}:{node.lineno} {node.name} has {lines} lines"


def closure(module: str) -> set[str]:
    """All modules that importing one brings in, plug-ins included."""
    reached, open_ends = set(), {module, *(name for name in modules() if room(name) in {"encoders", "rules"})}
    while open_ends:
        name = open_ends.pop()
        reached.add(name)
        open_ends |= imported(modules()[name]) - reached
    return reached


def identifiers(path: Path) -> set[str]:
    """All names and attributes used in a file, texts and comments aside."""
    names = {node.id for node in nodes(path) if isinstance(node, ast.Name)}
    names |= {alias.name for node in nodes(path) if isinstance(node, ast.ImportFrom) for alias in node.names}
    return names | {node.attr for node in nodes(path) if isinstance(node, ast.Attribute)}


def test_nothing_that_the_loop_imports_names_the_reference() -> None:
    naming = {name for name in closure("method.em") if "Reference" in identifiers(modules()[name])}
    assert naming == {"contracts"}, "only the signature of folder formats may name it"


def test_only_evaluation_opens_a_reference() -> None:
    openers = set()
    for name, path in modules().items():
        for node in nodes(path):
            is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "open"
            if is_call and not node.args and not node.keywords:  # files are opened with a mode
                openers.add(name)
    assert openers == {"analysis.evaluation"}


def test_the_loop_does_not_touch_the_disk() -> None:
    may_touch = {*GROUND, "kernels.devices"}  # which asks the machine how much memory it has
    for name in closure("method.em") - may_touch:
        assert not {"open", "Path", "read_text", "write_text"} & identifiers(modules()[name]), name
