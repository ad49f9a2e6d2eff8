"""The README is true: its figures are those that the demo prints, and its tree is the tree."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
ROW = re.compile(r"^ ?([\d,]+) +(0\.\d{3}) +(0\.\d{3}) +(0\.\d{3}) +(0\.\d{3}) +(known sources|strict)", re.M)
RANKED = re.compile(r"^ ?(test|all) targets +(\w+) +(0\.\d{3}) +(0\.\d{3}) +(0\.\d{3})", re.M)


def figures(text: str) -> tuple[dict[str, list[float]], dict[tuple[str, str], list[float]]]:
    """Links, precision, recall, F1 and calibration error by reading; Hit@1, Hit@10 and MRR by pool and decoding."""
    readings = {row[5]: [float(cell.replace(",", "")) for cell in row[:5]] for row in ROW.findall(text)}
    ranks = {(row[0], row[1]): [float(cell) for cell in row[2:]] for row in RANKED.findall(text)}
    return readings, ranks


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What `emea demo` prints."""
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-m", "emea", "demo", "--device", "cpu"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_the_figures_are_those_of_the_demo(printed: str) -> None:
    told, shown = figures(README), figures(printed)
    assert set(told[0]) == {"known sources", "strict"}
    assert len(told[1]) == 6
    for reading, values in told[0].items():
        assert shown[0][reading][0] == pytest.approx(values[0], rel=0.05)  # processors round differently
        assert shown[0][reading][1:] == pytest.approx(values[1:], abs=0.02)
    for decoding, ranks in told[1].items():
        assert shown[1][decoding] == pytest.approx(ranks, abs=0.02)


@pytest.mark.slow
def test_the_words_are_those_of_the_demo(printed: str) -> None:
    block = README.partition("and prints how well it does on the other 939:")[2].split("```")[1]
    told, shown = (re.sub(r"[\d.,]+", "#", " ".join(text.split())) for text in (block, printed))
    assert told == shown


@pytest.mark.slow
def test_the_files_are_those_of_the_demo(printed: str) -> None:
    listed = re.findall(r"^  ([\w.]+) +\S", printed.partition("files in")[2], re.M)
    assert len(listed) > 5
    assert listed == re.findall(r"^  ([\w.]+) +\S", README.partition("files in demo-run:")[2].partition("```")[0], re.M)


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
