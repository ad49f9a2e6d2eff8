"""The wheel holds all that running needs, and nothing but the declared dependencies is imported."""

import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).parents[1]
Script = Callable[[str], ModuleType]
# By name of the distribution:
MODULES = {"scikit-learn": "sklearn", "pyyaml": "yaml", "tomli-w": "tomli_w", "py-horned-owl": "pyhornedowl"}
PROGRAM = """
import importlib.abc, sys

class Nobody(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in FORBIDDEN:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)

FORBIDDEN = set(sys.argv.pop(1).split(","))
sys.meta_path.insert(0, Nobody())
import emea
assert emea.__file__.startswith(sys.argv.pop(1)), emea.__file__
from emea.cli import main
sys.argv[0] = "emea"
main()
"""


def module_of(requirement: str) -> str:
    """The module that a requirement installs."""
    name = re.split(r"[<>=;\\[ ]", requirement, maxsplit=1)[0].lower()
    return MODULES.get(name, name.replace("-", "_"))


@pytest.mark.slow
def test_the_wheel_runs_without_extras(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*build, "--wheel-dir", str(tmp_path), str(REPOSITORY)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "installed")
    assert "emea/py.typed" in names
    assert {"emea/examples/world/cldr.ttl.gz", "emea/formats/schema_org/context.jsonld"} <= {*names}
    assert {f"emea/report/static/{name}" for name in ("card.js", "card.css", "report.js", "report.css")} <= {*names}
    assert {"emea/review/static/index.html", "emea/review/static/vendor/htm-3.1.1/htm.module.js"} <= {*names}
    assert not any(name.startswith(("tests/", "docs/")) for name in names)
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {module_of(each) for each in project["dependencies"]}
    extras = {module_of(each) for group in project["optional-dependencies"].values() for each in group} - needed
    assert {"triton", "vl_convert_python", "pytest"} <= extras
    forbidden = ",".join(sorted(extras | {"vl_convert"}))
    place = str(tmp_path / "installed")
    arguments = [sys.executable, "-c", PROGRAM, forbidden, place, "demo", "--device", "cpu", "--quiet"]
    done = subprocess.run(
        arguments, cwd=tmp_path, env={"PYTHONPATH": place}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "demo-run" / "alignment.sssom.tsv").exists()
    assert (tmp_path / "demo-run" / "report.html").exists()


@pytest.mark.slow
def test_a_release_is_the_same_bytes_each_time_and_holds_what_it_should(tmp_path: Path, script: Script) -> None:
    release = script("release")
    first, second = (release.build(tmp_path / name) for name in "ab")
    assert first == second
    assert len(first) == 2
    for path in (tmp_path / "a").iterdir():
        release.check(path)


@pytest.mark.parametrize("wrong", ["tests/test_layers.py", "docs/index.md"])
def test_a_wheel_with_something_else_in_it_is_refused(wrong: str, tmp_path: Path, script: Script) -> None:
    release = script("release")
    names = ["emea/py.typed", "emea.dist-info/licenses/LICENSE", "emea.dist-info/licenses/NOTICE"]
    for name, held in {"good": names, "more": [*names, wrong], "less": names[1:]}.items():
        with zipfile.ZipFile(tmp_path / f"{name}.whl", "w") as wheel:
            for each in held:
                wheel.writestr(each, "")
    release.check(tmp_path / "good.whl")
    for name in ("more", "less"):
        with pytest.raises(SystemExit, match=f"{name}.whl"):
            release.check(tmp_path / f"{name}.whl")


def test_every_licence_is_known(script: Script) -> None:
    licences = script("licences")
    assert {row["what"] for row in licences.shipped()} >= {"emea", "review/static/vendor/preact-11.2.0"}
    vendored = {path.name for path in (REPOSITORY / "src" / "emea" / "review" / "static" / "vendor").iterdir()}
    assert vendored <= {row["what"].rpartition("/")[2] for row in licences.shipped()}
    installed = {row["package"]: row["licence"] for row in licences.installed()}
    assert {"torch", "numpy", "pyarrow"} <= installed.keys()
    assert "not declared" not in installed.values()
    assert not [name for name, licence in installed.items() if re.search(r"\bA?GPL", licence)]
