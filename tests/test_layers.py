"""Imports point down only, neighbours do not import each other, and the reference stays sealed."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "emea"
LAYERS = [
    {"__main__"},
    {"cli"},
    {"terminal"},
    {"reproduce"},
    {"plots"},
    {"run", "finished", "bench", "profile"},
    {"checkpoint", "estimate", "inputs"},
    {"examples"},
    {"evaluation", "checks", "relations", "methods"},
    {"em", "baselines"},
    {"rulebook"},
    {"compatibility", "probability", "matching"},
    {"encoders", "rules"},
    {"training"},
    {"similarity", "values"},
    {"names"},
    {"formats", "kernels"},
    {"settings"},
    {"plugins"},
    {"contracts"},
    {"data", "errors"},
    {"_threads"},
]
RANK = {room: rank for rank, layer in enumerate(LAYERS) for room in layer}


def modules() -> dict[str, Path]:
    """Dotted name below `emea` → file."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = path
    return found


def imported(path: Path) -> set[str]:
    """The modules of the package that a file names in its imports, wherever they stand."""
    known = modules()
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
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


@pytest.mark.parametrize("module", [name for name in modules() if name])
def test_imports_point_down(module: str) -> None:
    for other in imported(modules()[module]):
        if room(other) == room(module):
            private = other.rpartition(".")[2].startswith("_") or other == room(module)
            assert private or room(module) == "kernels", f"{module} imports its neighbour {other}"
        else:
            assert RANK[room(module)] < RANK[room(other)], f"{module} imports {other}, which stands above or beside it"


def test_every_room_has_its_layer() -> None:
    assert {room(name) for name in modules() if name} == set(RANK)


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
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    return names | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def test_nothing_that_the_loop_imports_names_the_reference() -> None:
    naming = {name for name in closure("em") if "Reference" in identifiers(modules()[name])}
    assert naming == {"data", "contracts"}, "only its definition and the signature of folder formats may name it"


def test_only_evaluation_opens_a_reference() -> None:
    openers = set()
    for name, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "open"
            if is_call and not node.args and not node.keywords:  # files are opened with a mode
                openers.add(name)
    assert openers == {"evaluation"}


def test_the_loop_does_not_touch_the_disk() -> None:
    may_touch = {"data", "settings", "contracts", "plugins", "errors"}
    for name in closure("em") - may_touch:
        assert not {"open", "Path", "read_text", "write_text"} & identifiers(modules()[name]), name
