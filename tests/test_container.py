"""The Dockerfile copies what there is, and what is said about containers names commands and options that exist.

It is not built here: the workflow does.
"""

import json
import re
import shlex
from fnmatch import fnmatch
from pathlib import Path

import pytest
import typer
import yaml

from emea.cli import app
from emea.review.server import PORT

REPOSITORY = Path(__file__).parents[1]
LINES = re.sub(r"\\\n", " ", (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")).splitlines()
STEPS = [tuple(line.split(maxsplit=1)) for line in LINES if line and line[0] != "#"]
PAGE = (REPOSITORY / "docs" / "how-to" / "container.md").read_text(encoding="utf-8")
WORKFLOW = yaml.safe_load((REPOSITORY / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
VERBS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
IMAGE = "emea"
WITH_VALUE = {"--user", "--volume", "--publish", "--network", "--tag"}  # of docker


def given(name: str) -> list[str]:
    return [rest for step, rest in STEPS if step == name]


def commands() -> list[str]:
    """What is run in containers, on the page and by the workflow."""
    shown = re.sub(r"\\\n", " ", "\n".join(re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL))).splitlines()
    shown += re.findall(r"`(docker run [^`]+)`", PAGE)
    done = [step["run"] for step in WORKFLOW["jobs"]["container"]["steps"] if "run" in step]
    return [line for line in (*shown, *done) if line.startswith("docker run ")]


def arguments(command: str) -> list[str]:
    """What the image is given."""
    words = shlex.split(command.replace("… ", ""))[2:]
    while words[0] != IMAGE:
        assert words[0] in {"--rm", "-it", *WITH_VALUE}, command
        words = words[2 if words[0] in WITH_VALUE else 1 :]
    return words[1:]


def ignored(name: str) -> bool:
    """By the last pattern that speaks of it, as Docker has it."""
    out = False
    for line in (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").splitlines():
        if line and line[0] != "#" and fnmatch(name, line.lstrip("!").removeprefix("**/")):
            out = line[0] != "!"
    return out


def test_what_is_copied_is_there_and_all_that_the_build_needs() -> None:
    copied = [name for line in given("COPY") for name in line.split()[:-1]]
    assert all((REPOSITORY / name).exists() and not ignored(name) for name in copied), copied
    assert {"pyproject.toml", "constraints.txt", "README.md", "LICENSE", "src"} == {*copied}
    assert ignored(".venv")
    assert ignored("tests")
    assert ignored("__pycache__")


def test_the_image_runs_the_command_and_not_as_root() -> None:
    assert given("FROM") == ["python:3.13-slim"]
    assert json.loads(given("ENTRYPOINT")[0]) == ["emea"]
    assert json.loads(given("CMD")[0]) == ["--help"]
    (user,) = given("USER")
    assert int(user) > 0
    assert f"useradd --uid {user} " in given("RUN")[-1]
    assert [step for step, _ in STEPS].index("USER") > [step for step, _ in STEPS].index("RUN")
    assert given("EXPOSE") == [str(PORT)]


def test_it_installs_the_versions_that_are_fixed() -> None:
    installs = [part for line in given("RUN") for part in line.split("&&") if "pip install" in part]
    assert len(installs) == 3
    assert all("--constraint constraints.txt" in part for part in installs)
    assert "--no-deps" in installs[0]
    assert "/whl/cpu torch" in installs[0]
    assert installs[-1].rstrip().endswith("'.[review]'")


@pytest.mark.parametrize("command", commands())
def test_what_is_run_in_containers_exists(command: str) -> None:
    words = arguments(command)
    if words:
        known = {name for each in VERBS[words[0]].params for name in each.opts}
        assert {word for word in words if word.startswith("--")} <= known


def test_the_workflow_builds_it_and_runs_the_demo() -> None:
    steps = [step.get("run") for step in WORKFLOW["jobs"]["container"]["steps"]]
    assert f"docker build --tag {IMAGE} ." in steps
    assert [arguments(step) for step in steps if step and step.startswith("docker run")][:2] == [[], ["demo"]]
    assert len(commands()) == 9


def test_the_review_page_is_published_to_this_machine_only() -> None:
    (published,) = [each for each in commands() if "--publish" in each]
    assert f"--publish 127.0.0.1:{PORT}:{PORT} " in published
    assert arguments(published) == [
        "review",
        "run",
        "--host",
        "0.0.0.0",
        "--insecure",
        "--port",
        str(PORT),
        "--no-browser",
    ]
