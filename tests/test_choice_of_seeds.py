"""Which seeds a run gets: what chooses them has an effect, or is refused."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from emea.cli import main
from emea.examples import read_example
from emea.runs.inputs import Inputs

EXAMPLE = '[run]\nexample = "world"\n'


@pytest.fixture
def refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str, list[str]], str]:
    """What is said of a run with these inputs and options, which writes nothing."""

    def said(run: str, options: list[str]) -> str:
        monkeypatch.chdir(tmp_path)
        for name in ("a.tsv", "b.tsv"):
            (tmp_path / name).write_text("a\tr\tb\n")
        (tmp_path / "settings.toml").write_text(run)
        monkeypatch.setattr(sys, "argv", ["emea", "align", "--config", "settings.toml", *options, "--out", "run"])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 2
        assert not (tmp_path / "run").exists()
        return " ".join(capsys.readouterr().err.split())

    return said


@pytest.mark.parametrize(
    ("run", "options", "message"),
    [
        (EXAMPLE, ["--ratio", "0.2"], "found --ratio 0.2 for the example 'world', expected none: it draws its own"),
        (EXAMPLE, ["--seeds", "mine.tsv"], "found --seeds mine.tsv for the example 'world', expected none"),
        (EXAMPLE, ["--fold", "1"], "found --fold 1 for the example 'world', expected none"),
        (
            '[run]\nsource = "a.tsv"\ntarget = "b.tsv"\n',
            ["--split", "1"],
            "found --split 1 without --ratio, expected both",
        ),
        ('[run]\nsource = "a.tsv"\ntarget = "b.tsv"\n', ["--ratio", "0.2"], "--ratio and --fold require --data"),
        (
            '[run]\ndata = "."\nratio = 0.3\nsplit = 2\n',
            ["--fold", "1", "--split", "3"],
            "found --split 3 without --ratio",
        ),
    ],
)
def test_what_would_choose_nothing_is_refused(
    run: str, options: list[str], message: str, refused: Callable[[str, list[str]], str]
) -> None:
    assert message in refused(run, options)


def test_a_split_of_the_example_draws_other_seeds() -> None:
    first, second = (Inputs(example="world").over({"split": split}).read()[0].seeds for split in (0, 1))
    assert first.source.tolist() != second.source.tolist()
    assert second.source.tolist() == read_example("world", seed=1)[0].seeds.source.tolist()


def test_another_choice_of_seeds_forgets_the_split() -> None:
    drawn = Inputs(data=Path(), ratio=0.3, split=4)
    assert (drawn.over({"fold": 1}).split, drawn.over({"ratio": 0.2}).split) == (0, 4)
