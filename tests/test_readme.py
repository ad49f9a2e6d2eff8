"""The README is true: it shows what the demo prints, and its tree is the tree."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from emea.cli import app

REPOSITORY = Path(__file__).parents[1]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
DEMO = next(block for block in README.split("```") if "links found between CLDR and GeoNames" in block)
LINK = re.compile(r"^  [\w ]+?  +(.+) ↔ (.+)  (\.\d\d)$", re.M)


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What `emea demo` prints."""
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-m", "emea", "demo", "--device", "cpu"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def sentences(text: str) -> str:
    """The lines that are not about single links, without figures."""
    return re.sub(r"[\d.,]+", "#", "\n".join(line for line in text.splitlines() if line and line[0] != " "))


@pytest.mark.slow
def test_the_words_are_those_of_the_demo(printed: str) -> None:
    assert sentences(DEMO) == sentences(printed)


@pytest.mark.slow
def test_the_links_are_those_of_the_demo(printed: str) -> None:
    """But for a few: processors round differently, which decides who is most doubtful, and who is shown of equals."""
    told, shown = ([(link[:2], float(link[2])) for link in LINK.findall(text)] for text in (DEMO, printed))
    assert len(told) == len(shown) == 13
    sure = [dict(links[:10]) for links in (told, shown)]
    both = sure[0].keys() & sure[1].keys()
    assert len(both) >= 7
    assert [sure[0][link] for link in both] == pytest.approx([sure[1][link] for link in both], abs=0.02)
    assert all(min(one.values()) >= 0.85 for one in sure)
    assert all(0.5 <= confidence < 0.6 for links in (told, shown) for _, confidence in links[10:])


@pytest.mark.slow
def test_the_figures_are_those_of_the_demo(printed: str) -> None:
    told, shown = (
        [int(number.replace(",", "")) for number in re.findall(r"[\d,]*\d", text.partition("right:")[2])]
        for text in (DEMO, printed)
    )
    assert len(told) == 7
    assert shown == pytest.approx(told, rel=0.02, abs=10)


def test_the_tree_is_the_tree() -> None:
    tree = README.partition("src/emea/\n")[2].partition("```")[0]
    folders = {path.name for path in (REPOSITORY / "src" / "emea").iterdir() if (path / "__init__.py").exists()}
    assert set(re.findall(r"^  (\w+)/", tree, re.M)) == folders
    assert {"tests/", "scripts/", "docs/"} <= set(re.findall(r"^(\w+/)", tree, re.M))
    named = set(re.findall(r"\b(\w+\.py)\b", tree))
    ground = {path.name for path in (REPOSITORY / "src" / "emea").glob("[a-z]*.py")}
    assert {"em.py"} | ground == named - {"evaluation.py"}


@pytest.mark.parametrize("kind", ["encoders", "rules", "formats", "baselines"])
def test_every_plugin_is_in_the_tree(kind: str) -> None:
    line = re.search(rf"^  {kind}/ .*(?:\n {{10,}}.*)*", README, re.M)
    assert line is not None
    found = {path.stem for path in (REPOSITORY / "src" / "emea" / kind).glob("[a-z]*.py")}
    assert found <= set(re.findall(r"\w+", line[0]))


def test_pages_that_are_named_exist() -> None:
    for name in re.findall(r"\((docs/[\w/.-]+)\)|`(docs/[\w/.-]+)`", README):
        assert (REPOSITORY / (name[0] or name[1])).exists(), name


def test_every_option_is_explained_and_exists() -> None:
    page = (REPOSITORY / "docs" / "options.md").read_text(encoding="utf-8")
    verbs = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    known = {
        verb: {name for each in command.params for name in each.opts if name[0] == "-"}
        for verb, command in verbs.items()
    }
    explained = set(re.findall(r"--[a-z-]+", page))
    paired = {name for name in known["align"] if name.startswith(("--source-", "--target-"))} - {"--target-precision"}
    assert known["align"] - paired - {"--out", "-q"} <= explained
    assert explained | set(re.findall(r"`(?:emea [^`]*)?(--[a-z-]+)", README)) <= {"--help"}.union(*known.values())
