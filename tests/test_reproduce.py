"""The paper's tables and figures by the command line: every page on a tiny set, and cells that are measured once."""

import csv
import json
import re
import shutil
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from statistics import mean, median, stdev
from types import SimpleNamespace
from typing import Any, get_args
from unittest.mock import patch

import pytest
from torch import Tensor

from emea.analysis.evaluation import evaluate
from emea.cli import _measuring
from emea.encoders.rrea import RREA
from emea.evidence.prepared import Prepared, prepare
from emea.formats import read_benchmark
from emea.method.rounds import Outcome, Round, Step
from emea.presets import PRESETS
from emea.reproduce import Cell, Page, Plan, _cells, _pages, _systems, item, items, reproduce
from emea.reproduce._first_fits import FirstFits
from emea.reproduce._hits import compatibility, round_hits
from emea.reproduce._pages import STATED, Verdict
from emea.runs.align import Observers, align
from emea.settings import Settings, load
from test_run import command as run_command
from tiny_benchmark import write_benchmark

QUICK = (
    "em.rounds=1",
    "encoders.propagation={dimension=32, paths=64}",
    "encoders.rrea={dimension=16, epochs=4, more_epochs=2, turns=1, turn_epochs=2}",
    "encoders.dual_amn={dimension=16, epochs=2, more_epochs=1, turns=1, turn_epochs=1, least_pairs=64}",
    "encoders.alinet={dimensions=[16, 16, 16], epochs=3, more_epochs=1, near=5}",
    "encoders.iptranse={dimension=16, epochs=3, more_epochs=1, near=5}",
    "encoders.gcn_align={dimension=16, epochs=3, more_epochs=1}",
    "encoders.mugnn={dimension=16, epochs=3, more_epochs=1, negatives=5, triples=100}",
    "encoders.rsn={dimension=16, epochs=1, more_epochs=1, hops=3, walks=1, negatives=50}",
    "encoders.mraea={dimension=16, epochs=3, more_epochs=1, turns=1, turn_epochs=1}",
    "encoders.psr={dimension=16, epochs=2, more_epochs=1, turns=1, turn_epochs=1}",
    "encoders.bootea={dimension=16, epochs=4, more_epochs=1, relabel=2, sample=10}",
    "baselines.prase={turns=1, settings={dimension=16, epochs=5, more_epochs=2}}",
)
WITH_FINDINGS = {"table1", "table2", "fig4", "fig5", "fig6", "fig7", "appendix-a"}
WITH_FIGURES = {"fig4", "fig5", "fig6", "fig7", "appendix-a"}
ONE_SPLIT = {"table2", "table3", "fig4", "fig6", "fig7", "questions"}  # of those that take long
ONE_RATIO = {"fig4", "fig6", "fig7", "questions"}  # of those that take longest

LONG = {
    "table3",
    "questions",
    "fig4",
    "fig6",
    "fig7",
}  # their pages are also made of kept runs, by `tests/test_scripts.py`
every_item = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in items()]
)

Command = Callable[..., str]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny benchmark under a name that the paper has."""
    return write_benchmark(tmp_path_factory.mktemp("data") / "zh_en")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of results that all items share."""
    return tmp_path_factory.mktemp("results")


def asked(
    data: Path, out: Path, name: str, *more: str, splits: str | None = None, draw: bool = False, code: int = 0
) -> str:
    """Run `emea reproduce`, with figures where somebody looks at them: drawing takes as long as a run. Returns what it
    said on both channels, in one line."""
    splits = splits or ("0" if name in ONE_SPLIT else "0,1")
    options = [
        *([] if "--data" in more else ["--data", str(data)]),
        *("--out", str(out), "--device", "cpu", "--preset", "fast", "--splits", splits),
        *("--ratios", "0.05" if name in ONE_RATIO else "0.05,0.3"),
        *(part for change in QUICK for part in ("--set", change)),
    ]
    with nullcontext() if draw else patch.object(_pages, "save_plot"):
        said = run_command("reproduce", name, *options, *more, folder=Path.cwd(), code=code)
    return " ".join((said.stdout + said.stderr).split())


@pytest.fixture
def command(data: Path, results: Path) -> Command:
    """Run `emea reproduce` in the shared folder, or in another."""

    def call(name: str, *more: str, out: Path = results, **options: Any) -> str:
        return asked(data, out, name, *more, **options)

    return call


@pytest.fixture
def known(results: Path, tmp_path: Path) -> Path:
    """A folder of its own, with what was measured so far."""
    (results / "cells").mkdir(exist_ok=True)
    shutil.copytree(results / "cells", tmp_path / "cells")
    return tmp_path


@pytest.fixture(scope="module")
def measured(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fig5 on one split: the loop at 5 %, in two ways."""
    folder = tmp_path_factory.mktemp("measured")
    asked(data, folder, "fig5", splits="0")
    return folder


@pytest.fixture
def fig5(measured: Path, tmp_path: Path) -> Path:
    """A copy of what was measured for fig5."""
    return shutil.copytree(measured, tmp_path / "fig5")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """The settings of all runs that are begun."""
    begun: list[Settings] = []

    def counted(prepared: Prepared, settings: Settings, *more: Any) -> Outcome:
        begun.append(settings)
        return align(prepared, settings, *more)

    monkeypatch.setattr(_cells, "align", counted)
    return begun


def never(*_: object) -> Outcome:
    raise AssertionError("a run was begun")


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file, strict=True))


def cell_file(folder: Path, name: str) -> Path:
    """The file of a run; its name ends in what stands for the settings that were changed."""
    (path,) = (folder / "cells").glob(f"{name}-????????????.json")
    return path


def cell_of(folder: Path, name: str) -> dict[str, Any]:
    return json.loads(cell_file(folder, name).read_text())


# --- the pages ---


@pytest.mark.slow
@every_item
def test_every_page_is_made_by_one_command(name: str, command: Command, results: Path) -> None:
    said = command(name, draw=True)
    markdown = (results / f"{name}.md").read_text()
    assert markdown.startswith(f"# {item(name).title}\n")
    assert item(name).title in said

    lines = list(csv.reader((results / f"{name}.csv").read_text().splitlines(), strict=True))
    assert len(lines) > 1
    assert {len(line) for line in lines} == {len(lines[0])}
    assert all(lines[0])
    assert all(f"| {' | '.join(line)} |" in markdown for line in lines)

    figures = re.findall(r"!\[(.+)\]\((.+)\.svg\)", markdown)
    assert bool(figures) == (name in WITH_FIGURES)
    for shown, file in figures:
        assert shown == file
        assert {path.suffix for path in results.glob(f"{file}.*")} - {".md", ".csv"} in ({".svg", ".png"}, {".json"})
        for path in results.glob(f"{file}.[sj]*"):
            assert str(path) in said.replace("\n", "")
            assert not re.search(r"\bnan\b|infinity|undefined", path.read_text(), re.IGNORECASE)

    stated = [line.split(" | ") for line in markdown.partition(STATED)[2].splitlines() if line.startswith("| ")]
    assert bool(stated) == (name in WITH_FINDINGS)
    told = [cell.strip(" |") for row in stated[1:] for cell in row[1:]]
    verdicts = {re.sub(r"\*\*(.*)\*\*.*", r"\1", cell) for cell in told if cell}
    assert verdicts <= {*get_args(Verdict)}
    assert bool(verdicts - {"not measured"}) == (name in WITH_FINDINGS)
    assert not re.search(r"\bnan\b|\binf\b", markdown, re.IGNORECASE)
    for path in (results / "cells").iterdir():
        json.loads(path.read_text(), parse_constant=pytest.fail)  # neither NaN nor infinity


@pytest.mark.slow
def test_figure_4_takes_other_encoders(command: Command, known: Path) -> None:
    command("fig4", "--encoder", "gcn_align", "--encoder", "rrea", out=known)
    rows = rows_of(known / "fig4.csv")
    assert {row["panel"] for row in rows} == {"GCN-Align", "with EMEA, `letter`", "with EMEA, `paper`"}
    assert {row["what"] for row in rows if row["panel"].startswith("with")} == {"RREA", "GCN-Align"}
    assert not any("not measured" in row.values() for row in rows)
    assert "--encoder gcn_align" in (known / "fig4.md").read_text()
    assert "--encoder is for fig4" in command("table1", "--encoder", "gcn_align", code=2)
    assert "unknown encoder" in command("fig4", "--encoder", "gcn", out=known, code=2)


@pytest.mark.slow
def test_the_table_shows_the_mean_of_the_cells_beside_the_paper(command: Command, results: Path) -> None:
    command("table1")
    rows = {(row["set"], row["seeds"], row["method"]): row for row in rows_of(results / "table1.csv")}
    for method, slug, decoding, told in (
        ("EMEA sup", "emea-sup", "csls", ("0.665", "0.738", "36.8")),
        ("RREA sup", "rrea-sup", "csls", ("0.413", "0.518", "118.8")),
        ("PRASE", "prase", "probability", ("0.461", "", "")),
        ("emea fast", "emea-fast", "probability", ("", "", "")),
    ):
        row = rows["zh_en", "5%", method]
        cells = [cell_of(results, f"{slug}-zh-en-5-split-{split}") for split in (0, 1)]
        for measure, digits, reported in zip(("hit@1", "mrr", "mr"), (3, 3, 1), told, strict=True):
            values = [cell["ranking"]["test targets"][decoding][measure] for cell in cells]
            assert row[measure] == f"{mean(values):.{digits}f} ± {stdev(values):.{digits}f}"
            assert row[f"{measure}, reported"] == reported
        assert row["best published hit@1"] == "0.735"
        assert bool(row["p against RREA sup"]) == (method in {"EMEA sup", "PRASE"})
        assert bool(re.fullmatch(r"[+-]\d+\.\d ± \d+\.\d", row["gain over RREA sup"])) == (
            method in {"EMEA sup", "PRASE"}
        )
        links = mean(cell["alignment"]["known sources"]["recall"] for cell in cells)
        assert row["links"].partition(" ")[0] == (f"{links:.3f}" if method == "PRASE" else "")


@pytest.mark.slow
def test_a_cell_is_what_a_run_with_its_settings_comes_to(data: Path, command: Command, results: Path) -> None:
    command("table1")
    task, reference = read_benchmark(data, ratio=0.3, split=1)
    assert reference is not None
    assert (len(reference), len(reference.absent)) == (39, 2)  # two entities are in no triple
    settings = load("paper", assignments=QUICK, device="cpu", seed=1)
    hits: list[dict[str, float]] = []

    def observe(ended: Step) -> None:
        assert isinstance(ended, Round)
        hits.append(round_hits(ended, task, reference))

    outcome = align(prepare(task, settings.evidence), settings, Observers(observe))
    cell = cell_of(results, "emea-sup-zh-en-30-split-1")
    for pool, decodings in evaluate(outcome, reference).to_dict()["ranking"].items():
        for decoding, measures in decodings.items():
            kept = cell["ranking"][pool][decoding]
            assert kept == {name: measures[name] for name in ("hit@1", "hit@10", "mrr", "mr", "hit@1 shared")}
    assert [{key: step[key] for key in ("neural", "compatibility")} for step in cell["rounds"]] == hits
    assert len(hits) == 2
    assert cell["compatibility"] == compatibility(outcome, reference)
    assert cell["seconds"] == pytest.approx(sum(step["seconds"] for step in cell["rounds"]))
    assert all(0 < step["fitting"] < step["seconds"] for step in cell["rounds"])


def test_figures_show_the_means_of_the_cells(command: Command, results: Path) -> None:
    for name in ("fig5", "appendix-a", "times"):
        command(name)
    cells = [cell_of(results, f"emea-sup-zh-en-5-split-{split}") for split in (0, 1)]
    rows = [row for row in rows_of(results / "fig5.csv") if row["panel"] == "5%, `paper`"]
    points = {(row["part"], int(row["round"])): row["hit@1"] for row in rows}
    assert points == {
        (part, step): f"{mean(cell['rounds'][step][part] for cell in cells):.3f}"
        for part in ("neural", "compatibility")
        for step in range(2)
    }
    row = next(row for row in rows_of(results / "times.csv") if row["seeds"] == "5%" and row["method"] == "EMEA sup")
    steps = [step for cell in cells for step in cell["rounds"][1:]]
    rules = [step["seconds"] - step["fitting"] for step in steps]
    assert row["rules of a round"] == f"{median(rules):.2f}"
    assert row["neural part of a round"] == f"{median(step['fitting'] for step in steps):.2f}"
    assert row["first fit"] == f"{median(cell['rounds'][0]['fitting'] for cell in cells):.2f}"
    assert (row["first fit, reported"], row["rules of a round, reported"]) == ("249.7", "98.2")
    found = [cell_of(results, f"rrea-sup-zh-en-30-split-{split}")["compatibility"] for split in (0, 1)]
    row = next(row for row in rows_of(results / "appendix-a.csv") if row["seeds"] == "30%")
    assert row["mean compatibility"] == f"{mean(one['predicted']['mean'] for one in found):.3f}"
    assert row["of the true links"] == f"{mean(one['true']['mean'] for one in found):.3f}"
    assert row["conflicting predictions"] == f"{mean(one['conflicts'] for one in found):.3f}"


def test_where_nothing_draws_the_figure_is_written_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    figure = {"mark": "point", "data": {"values": [{"x": 1}]}}
    paths = Page("fig9", "Figure 9", "", [{"x": "1"}], figures={"fig9": figure}).write(tmp_path, "Made by hand.")
    assert sorted(paths) == sorted(tmp_path.iterdir())
    assert [path.name for path in paths] == ["fig9.md", "fig9.csv", "fig9.json"]
    assert json.loads((tmp_path / "fig9.json").read_text()) == figure
    assert (tmp_path / "fig9.md").read_text().startswith("# Figure 9\n\nMade by hand.")


def test_a_page_says_by_which_command_it_was_made(tmp_path: Path) -> None:
    plan = Plan((Path("far/zh_en"),), (0.05, 0.3), (0, 1), ("fast",), "cpu", tmp_path, ("em.rounds=1", "a.b='c'"))
    ratios = "--ratios 0.05,0.3 --splits 0,1 --preset fast"
    words = "emea reproduce fig4 --data far/zh_en " + ratios + """ --set em.rounds=1 --set 'a.b='"'"'c'"'"''"""
    assert plan.command("fig4", None) == words
    assert "--ratios 0.05 --splits" in plan.command("fig5", (0.01, 0.05))


def test_a_page_names_the_machines_of_its_own_runs(command: Command, known: Path) -> None:
    command("fig5", "appendix-a", out=known, splits="0")
    path = cell_file(known, "rrea-sup-zh-en-30-split-0")
    path.write_text(json.dumps({**json.loads(path.read_text()), "machine": "an abacus"}))
    command("fig5", "appendix-a", out=known, splits="0")
    assert "an abacus" in (known / "appendix-a.md").read_text()
    assert "an abacus" not in (known / "fig5.md").read_text()


def test_times_are_told_for_each_machine(command: Command, known: Path) -> None:
    command("times", out=known, splits="0,1")
    path = cell_file(known, "emea-sup-zh-en-5-split-1")
    path.write_text(json.dumps({**json.loads(path.read_text()), "machine": "emea 0, torch 2, an abacus"}))
    command("times", out=known, splits="0,1")
    rows = [row for row in rows_of(known / "times.csv") if row["seeds"] == "5%" and row["method"] == "EMEA sup"]
    assert len(rows) == 2
    assert rows[1]["machine"] == "an abacus"


@pytest.mark.slow
def test_one_page_shows_all_that_was_made(command: Command, results: Path) -> None:
    for name in ("fig5", "fig7", "table2"):
        command(name, draw=True)
    command("questions", "--minutes", "0")  # to which others lead
    links = re.findall(r"\]\(([^)]+)\)", (results / "overview.md").read_text())
    assert {"fig5.md", "fig5.svg", "fig7.md", "fig7-mr.svg", "fig7.svg", "table2.md"} <= {*links}
    assert {*links} == {path.name for path in results.glob("*.md")} - {"overview.md"} | {
        p.name for p in results.glob("*.svg")
    }


# --- cells are measured once ---


@every_item
def test_a_second_call_measures_nothing_and_writes_the_same_bytes(
    name: str, command: Command, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [results / f"{name}{suffix}" for suffix in (".md", ".csv")]
    if not all(path.exists() for path in paths):
        command(name)
    before = [path.read_bytes() for path in paths]
    for path in paths:
        path.unlink()
    monkeypatch.setattr(_cells, "align", never)
    command(name)
    assert [path.read_bytes() for path in paths] == before


@pytest.mark.slow
def test_an_item_measures_only_what_others_have_not(command: Command, tmp_path: Path, runs: list[Settings]) -> None:
    command("fig5", out=tmp_path, splits="0")
    assert [(one.em.rounds, one.em.encoder, one.em.labels) for one in runs] == [
        (1, "rrea", "sampled"),
        (1, "rrea", "best"),
    ]
    command("times", out=tmp_path, splits="0")  # also at 30 %, and our preset
    assert [one.em.encoder for one in runs[2:]] == ["propagation", "rrea", "propagation"]
    command("table2", out=tmp_path, splits="0")  # at 30 % also the supervised loop as written
    assert [one.em.rounds for one in runs[5:]] == [0, 1, 1, 0, 1, 1, 1]
    assert [one.encoders["rrea"].get("mode") for one in runs[5:]] == ["semi"] * 6 + [None]
    command("fig5", out=tmp_path, splits="0,2")
    assert [(one.seed, one.em.encoder) for one in runs[12:]] == [(2, "rrea")] * 2


@pytest.mark.slow
def test_items_made_together_are_those_made_one_by_one(command: Command, tmp_path: Path, runs: list[Settings]) -> None:
    command("fig5", "table2", "times", out=tmp_path / "together", splits="0")
    assert len(runs) == 12
    for name in ("fig5", "table2", "times"):
        command(name, out=tmp_path / "apart", splits="0")
    assert len(runs) == 24
    for name in ("fig5", "table2"):
        assert len({(tmp_path / way / f"{name}.csv").read_bytes() for way in ("together", "apart")}) == 1


def test_runs_with_the_same_seeds_share_the_first_fit(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[int] = []
    once = RREA._epoch

    def counted(self: RREA, *given: Any) -> Tensor:
        trained.append(self.epoch)
        return once(self, *given)

    monkeypatch.setattr(RREA, "_epoch", counted)
    command("appendix-a", "fig5", out=tmp_path, splits="0")  # RREA at 5 and 30 %, the loop at 5 %
    assert len(trained) == 3 * 4 + 2 * 2  # three first fits, of which one as written, and twice a round
    alone, loop = (cell_of(tmp_path, f"{name}-zh-en-5-split-0") for name in ("rrea-sup", "emea-sup"))
    assert loop["rounds"][0]["neural"] == alone["rounds"][0]["neural"]
    assert loop["rounds"][0]["fitting"] == alone["rounds"][0]["fitting"]  # what was shared is counted, once
    assert loop["rounds"][0]["seconds"] > loop["rounds"][0]["fitting"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("probability.balance=0", "probability.balance=5"),
        ("encoders.rrea.epochs=3", "encoders.rrea.epochs=4"),
        ("seed=0", "seed=1"),
        ("probability.fit_to=validation", "probability.fit_to=seeds"),
        ("em.encoder=rrea", "em.encoder=committee"),
    ],
)
def test_what_the_first_fit_depends_on_keeps_runs_apart(first: str, second: str) -> None:
    cell, fits = Cell(_systems.EMEA_SUP, "zh_en", 0.05, 0), FirstFits()
    one, two = (fits.of(cell, load("paper", assignments=[change], device="cpu")) for change in (first, second))
    assert one is not two
    assert fits.of(cell, load("paper", assignments=[first, "compatibility.candidates=5"], device="cpu")) is one
    other = replace(cell, system=_systems.avoiding(_systems.EMEA_SUP))  # on the same seeds
    assert fits.of(other, load("paper", assignments=[first], device="cpu")) is one
    assert fits.of(replace(cell, split=1), load("paper", assignments=[first], device="cpu")) is not one


def test_other_settings_are_measured_anew_and_kept_beside(command: Command, fig5: Path, runs: list[Settings]) -> None:
    page = (fig5 / "fig5.csv").read_bytes()
    for _ in range(2):
        command("fig5", "--set", "em.rounds=2", out=fig5, splits="0")
        assert [one.em.rounds for one in runs] == [2, 2]
        assert {row["round"] for row in rows_of(fig5 / "fig5.csv")} == {"0", "1", "2"}
    command("fig5", out=fig5, splits="0")
    assert (fig5 / "fig5.csv").read_bytes() == page
    assert len(runs) == 2


def test_a_cell_of_other_defaults_is_not_taken(
    command: Command, fig5: Path, runs: list[Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PRESETS, "paper", {**PRESETS["paper"], "matching": {"minimum": 0.1}})
    command("fig5", out=fig5, splits="0")
    command("fig5", out=fig5, splits="0")
    assert [one.matching.minimum for one in runs] == [0.1]


def test_a_cell_of_other_settings_is_not_taken(command: Command, fig5: Path, runs: list[Settings]) -> None:
    page, path = (fig5 / "fig5.csv").read_bytes(), cell_file(fig5, "emea-sup-zh-en-5-split-0")
    cell = json.loads(path.read_text())
    for step in cell["rounds"]:
        step["neural"] = 0.125
    path.write_text(json.dumps(cell))
    command("fig5", out=fig5, splits="0")
    assert b"0.125" in (fig5 / "fig5.csv").read_bytes()  # it is read where the settings are the same
    path.write_text(json.dumps(cell | {"made of": [*cell["made of"], "em.rounds=2"]}))
    assert not runs
    command("fig5", out=fig5, splits="0")
    assert len(runs) == 1
    assert (fig5 / "fig5.csv").read_bytes() == page


def test_a_cell_of_other_code_is_shown_and_measured_again(
    command: Command, fig5: Path, runs: list[Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (fig5 / "fig5.csv").read_bytes()
    monkeypatch.setattr(_cells, "code_fingerprint", lambda: "another")
    command("fig5", "--minutes", "0", out=fig5, splits="0")
    assert (fig5 / "fig5.csv").read_bytes() == page
    assert not runs
    command("fig5", out=fig5, splits="0")
    assert len(runs) == 2
    assert cell_of(fig5, "emea-sup-zh-en-5-split-0")["code"] == "another"


def test_a_run_that_has_begun_goes_on_to_its_end(
    command: Command, tmp_path: Path, runs: list[Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert "one that is begun goes on to its end" in command("fig5", "--help")
    monkeypatch.setattr(_measuring, "time", SimpleNamespace(monotonic=lambda: 60.0 * len(runs)))  # a minute each
    said = command("fig5", "--minutes", "0.5", out=tmp_path, splits="0")
    assert len(runs) == 1
    assert len([*(tmp_path / "cells").iterdir()]) == 1
    assert "1 run is not measured yet" in said


@pytest.mark.parametrize("name", items())
def test_without_any_time_no_run_is_begun_and_the_page_says_so(
    name: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_cells, "align", never)
    command(name, "--minutes", "0", out=tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {f"{name}.md", f"{name}.csv", "overview.md"}
    markdown = (tmp_path / f"{name}.md").read_text()
    assert "nothing measured" in markdown
    assert "| not measured |" in markdown
    assert not re.search(r"\*\*(agrees|disagrees|partly)|\d ± \d", markdown)


def test_what_there_was_time_for_is_shown(data: Path, tmp_path: Path) -> None:
    plan = Plan((data,), (0.05,), (0, 1), (), "cpu", tmp_path, QUICK)
    begun: list[tuple[int, int, int]] = []

    def begin(cell: Cell, number: int, count: int) -> None:
        begun.append((cell.split, number, count))

    made = reproduce(["appendix-a"], plan, begin, enough=lambda: bool(begun))
    ((page, paths),) = made.pages
    assert begun == [(0, 0, 2)]
    assert made.missing == 1
    assert page.rows[0]["hit@1"].endswith(" (1 of 2 splits)")
    assert all(path.exists() for path in paths)
    ((page, _),) = reproduce(["appendix-a"], plan, begin).pages
    assert begun[1:] == [(1, 0, 1)]
    assert "±" in page.rows[0]["hit@1"]
    assert "splits" not in page.rows[0]["hit@1"]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("table9", [], "error: unknown table or figure 'table9'; known are appendix-a, fig4,"),
        ("table1", ["--ratios", "0.05;0.3"], "error: --ratios: found '0.05;0.3', expected numbers separated by commas"),
        ("table1", ["--ratios", ""], "error: --ratios: found '', expected numbers separated by commas"),
        ("table1", ["--splits", "0,0.5"], "error: --splits: found '0,0.5', expected integers separated by commas"),
        ("table1", ["--device", "cuda:99"], "error: device 'cuda:99' cannot be used here"),
        ("fig5", ["--data", "nowhere"], "nowhere does not exist, expected a benchmark folder"),
        ("table1", ["--set", "method=paris"], "error: the table or figure defines its methods"),
        ("table1", ["--preset", "fastest"], "error: unknown preset 'fastest'"),
        ("fig5", ["--set", "em.round=2"], "error: unknown setting em.round; known here are"),
        ("times", ["--ratios", "0.05,1.5"], "error: --ratios: found 1.5, expected shares between 0 and 1"),
        ("table1", ["--ratios", "0"], "error: --ratios: found 0, expected shares between 0 and 1"),
        ("table1", ["--splits=-1"], "error: --splits: found -1, expected integers from 0"),
        ("fig5", ["--ratios", "0.3"], "error: --ratios: fig5 is about 0.01, 0.05, found 0.3"),
        ("table1", ["--data", __file__], "is a file, expected a benchmark folder"),
    ],
)
def test_bad_input_ends_with_one_sentence_and_code_2(
    name: str, options: list[str], message: str, command: Command, tmp_path: Path
) -> None:
    said = command(name, "--quiet", *options, out=tmp_path / "out", code=2)
    assert said.startswith("error: ")
    assert message in said
    assert "Traceback" not in said
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_read_or_written_is_said_before_the_first_run(
    command: Command, tmp_path: Path, runs: list[Settings]
) -> None:
    (tmp_path / "file").write_text("")
    assert "cannot be created" in command("fig5", out=tmp_path / "file" / "out", code=2)
    (tmp_path / "empty").mkdir()
    command("fig5", "--data", str(tmp_path / "empty"), out=tmp_path / "out", code=2)
    assert not runs


def test_an_interrupted_call_says_that_it_goes_on(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> Outcome:
        raise KeyboardInterrupt

    monkeypatch.setattr(_cells, "align", interrupted)
    assert "the same command continues with the others" in command("fig5", out=tmp_path, splits="0", code=130)


@pytest.mark.parametrize("text", ["", "{", "{}", "[]"])
def test_a_cell_that_is_not_whole_is_measured_again(
    text: str, command: Command, fig5: Path, runs: list[Settings]
) -> None:
    page, path = (fig5 / "fig5.csv").read_bytes(), cell_file(fig5, "emea-sup-zh-en-5-split-0")
    path.write_text(text)
    command("fig5", out=fig5, splits="0")
    assert len(runs) == 1
    assert (fig5 / "fig5.csv").read_bytes() == page


def test_tables_share_the_semi_supervised_runs() -> None:
    assert _systems.alone("RREA", "semi") == _systems.RREA_SEMI
    assert _systems.alone("RREA") == _systems.RREA_SUP
