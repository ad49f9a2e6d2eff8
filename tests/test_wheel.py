"""The wheel holds all that running needs, and nothing but the declared dependencies is imported."""

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
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
