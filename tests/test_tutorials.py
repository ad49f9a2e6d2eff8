"""Tutorials are true: their files are written, their commands run, and what they print is what the page shows."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from test_run import command as emea

DOCS = Path(__file__).parents[1] / "docs"
PAGES = [*sorted((DOCS / "tutorials").glob("*.md")), *(DOCS / "how-to" / f"{name}.md" for name in ("rule", "format"))]
WITH_DATA = {"table1"}  # which readers have, and the package has not
ONE_AT_A_TIME = pytest.mark.xdist_group("ray")  # as the campaign of faults on a cluster
HERE = {"tables", "thesauri", "format"}  # run in this process
MARKS = {"tables": (), "thesauri": (), "cluster": (pytest.mark.slow, ONE_AT_A_TIME)}  # the others take minutes together
TUTORIALS = [pytest.param(page, marks=MARKS.get(page.stem, pytest.mark.slow), id=page.stem) for page in PAGES]
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def shows(expected: str, said: str) -> bool:
    """Whether they are equal but for white space; `...` stands for anything."""
    parts = (re.escape(" ".join(part.split())) for part in expected.split("..."))
    return re.fullmatch(r"\s*.*\s*".join(parts), " ".join(said.split()), re.DOTALL) is not None


def test_what_is_shown_has_to_be_said() -> None:
    assert shows("... 8 links\n...\nend\n", "8 links  found\nend")
    assert shows("", "\n")
    assert not shows("8 links", "8 links found")
    assert not shows("...9 links...", "8 links found")
    assert not shows("a...b", "b a")


def ran(command: str, folder: Path, *, here: bool) -> subprocess.CompletedProcess[str]:
    """A line of a shell; in this process, which has loaded all it needs, if it is our command and needs no shell."""
    words = shlex.split(command)
    if here and words[0] == "emea" and not set(command) & {*"|<>$;&*"}:
        return emea(*words[1:], folder=folder)
    return subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.skipif(sys.platform == "win32", reason="tutorials are for a POSIX shell")
@pytest.mark.parametrize("page", TUTORIALS)
def test_what_a_tutorial_shows_happens(
    page: Path, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if page.stem in WITH_DATA:
        (tmp_path / "dbp15k").symlink_to(request.getfixturevalue("benchmark_data").resolve() / "dbp15k")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for name, value in {"PATH": path, "COLUMNS": "80"}.items():
        monkeypatch.setenv(name, value)
    commands = 0
    for kind, title, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if title:
            (tmp_path / title).write_text(text, encoding="utf-8")
        if kind != "console":
            continue
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
            done = ran(command, tmp_path, here=page.stem in HERE)
            assert done.returncode == 0, f"{command}\n{done.stderr}"
            assert shows(expected, done.stdout), f"{command}\n{done.stdout}"
            commands += 1
    assert commands
