"""What stands beside the package is true: citation, security policy, workflow."""

import ast
from pathlib import Path
from typing import Any

import pytest
import yaml

import emea

REPOSITORY = Path(__file__).parents[1]
SOURCE = sorted((REPOSITORY / "src").rglob("*.py"))
UNSAFE = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
DESCRIBING = [REPOSITORY / "CITATION.cff", REPOSITORY / ".pre-commit-config.yaml"]


def loaded(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "path", [*DESCRIBING, *sorted((REPOSITORY / ".github").rglob("*.yml"))], ids=lambda path: path.name
)
def test_files_of_yaml_can_be_read(path: Path) -> None:
    assert isinstance(loaded(path), dict)


def test_the_citation_is_of_this_version() -> None:
    assert loaded(REPOSITORY / "CITATION.cff")["version"] == emea.__version__


def test_the_workflow_runs_what_the_readme_says() -> None:
    assert "\nmake test " in (REPOSITORY / "README.md").read_text(encoding="utf-8")
    jobs = loaded(REPOSITORY / ".github" / "workflows" / "ci.yml")["jobs"]
    assert "make test" in [step.get("run") for step in jobs["check"]["steps"]]


def test_nothing_that_is_read_can_run_code() -> None:
    """As SECURITY.md says: nothing is unpickled or evaluated, and YAML is read as text."""
    found = []
    for path in SOURCE:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                named = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                found += [
                    f"{path.name}: import {name}"
                    for name in named & {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
                ]
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                if called in {"eval", "exec", "torch.load", "yaml.unsafe_load", "yaml.full_load", "os.system"}:
                    found.append(f"{path.name}: {called}")
                if any(word.arg == "allow_pickle" for word in node.keywords):
                    found.append(f"{path.name}: allow_pickle")
                if called == "yaml.load" and "yaml.BaseLoader" not in ast.unparse(node):
                    found.append(f"{path.name}: yaml.load")
    assert found == []
