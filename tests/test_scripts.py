"""The scripts measure into their stores, and the pages in docs are what they make of the runs kept there."""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import emea
from emea.report.tables import markdown_table
from emea.reproduce import Plan, item
from emea.reproduce._cells import Measured
from emea.runs.store import Cell, Store
from emea.settings import load
from tiny_benchmark import write_benchmark

REPOSITORY = Path(__file__).parents[1]
DOCS = REPOSITORY / "docs"
CELLS = DOCS / "reproduce" / "cells"
Script = Callable[[str], ModuleType]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of benchmarks with one tiny set."""
    folder = tmp_path_factory.mktemp("data")
    write_benchmark(folder / "dbp15k" / "zh_en")
    return folder


def section(heading: str) -> str:
    """A section of docs/results.md."""
    text = (DOCS / "results.md").read_text(encoding="utf-8")
    start = text.index(f"\n## {heading}\n") + 1
    end = text.find("\n## ", start)
    return text[start : end if end >= 0 else len(text)].rstrip("\n") + "\n"


# --- the pages ---


def kept() -> list[dict[str, Any]]:
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(CELLS.iterdir())]


def test_every_kept_run_is_one_that_the_pages_show(script: Script) -> None:
    results, audit, review = script("results"), script("leak_audit"), script("review_gain")
    wanted = {
        CELLS: [*results.timed(), *results.others(Path(), "cpu")],
        DOCS / "review": [
            cell
            for system in (review.GAIN, review.CALIBRATION)
            for cell in review.cells(system, [*review.SEEDS, *review.WITHOUT])
        ],
        DOCS / "leaks": [cell for preset in audit.DECODING for cell in audit.cells(preset)],
    }
    for folder, cells in wanted.items():
        paths = [Store(folder).path(cell.name) for cell in cells]
        assert len({*paths}) == len(paths)
        assert {*folder.glob("*")} <= {*paths}


def test_a_figure_is_of_one_code_and_all_are_of_one_machine(script: Script) -> None:
    """The splits of a system's mean on a set; a page names all the codes that measured it."""
    store, codes, tables = Store(CELLS), {}, script("tables")
    presets = {*tables.cells()}
    alone = {*tables.ablations()} - presets
    for cell in [*script("results").timed(), *script("results").others(Path(), "cpu")]:
        record = store.read(cell.name)
        if record is not None:
            codes.setdefault((cell.system, cell.data, cell.ratio, cell in presets, cell in alone), set()).add(
                record["code"]
            )
    assert {name: found for name, found in codes.items() if len(found) > 1} == {}
    assert len({record["machine"] for record in kept()}) == 1


def test_the_runs_behind_the_figures_are_of_the_present_settings(script: Script, benchmark_data: Path) -> None:
    results, tables = script("results"), script("tables")
    measured = Measured(tables.plan(benchmark_data, "cpu"))
    cells = [*results.timed(), *results.others(benchmark_data, "cpu")]
    there = [cell for cell in cells if measured.store.path(cell.name).exists()]
    assert len(there) == len(kept())
    assert [cell.name for cell in there if not measured.load(cell)] == []


def test_the_page_on_leaks_shows_the_kept_runs(script: Script) -> None:
    assert script("leak_audit").page(DOCS / "leaks") == (DOCS / "leaks.md").read_text(encoding="utf-8")


def test_the_tables_of_the_presets_show_the_kept_runs(script: Script, benchmark_data: Path) -> None:
    tables = script("tables")
    measured = Measured(tables.plan(benchmark_data, "cpu"))
    assert tables.page(measured, benchmark_data) == section("The presets on every benchmark")
    shown = markdown_table(tables.headline(measured))
    assert f"\n{shown}\n" in (REPOSITORY / "README.md").read_text(encoding="utf-8")


def test_the_paper_s_pages_show_the_kept_runs(script: Script, benchmark_data: Path) -> None:
    for part in script("results").PARTS:
        plan = part.plan(benchmark_data, "cpu")
        measured = Measured(plan).all_of(item(part.name).cells(plan))
        text = (DOCS / "reproduce" / f"{part.name}.md").read_text(encoding="utf-8")
        page = item(part.name).page(measured).markdown("")
        assert page.partition("\n\n")[2].partition("\n\n")[2] in text, part.name  # but for how it was made


def test_sections_replace_those_of_the_same_heading(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = script("_records")
    monkeypatch.setattr(records, "REPOSITORY", tmp_path)
    page = tmp_path / "docs" / "results.md"
    page.parent.mkdir()
    page.write_text("# Results\n\nStart.\n\n## One\n\n1\n\n## Two\n\n2\n")
    records.write_sections("## Two\n\nsecond\n")
    records.write_sections("## Three\n\n3\n")
    assert page.read_text() == "# Results\n\nStart.\n\n## One\n\n1\n\n## Two\n\nsecond\n\n## Three\n\n3\n"
    records.write_sections("# Results\n\nAnew.\n\n## One\n\nfirst\n")
    assert page.read_text() == "# Results\n\nAnew.\n\n## One\n\nfirst\n\n## Two\n\nsecond\n\n## Three\n\n3\n"
    page.write_text("a\n<!-- here -->\nold\n<!-- end of here -->\nb\n")
    records.write_block(page, "here", "new")
    assert page.read_text() == "a\n<!-- here -->\nnew\n<!-- end of here -->\nb\n"


# --- measuring ---


def chosen(minutes: float = 60.0) -> argparse.Namespace:
    return argparse.Namespace(device="cpu", minutes=minutes)


def quick(cell: Cell) -> Cell:
    """The same run with a small encoder and one round."""
    small = ("em.rounds=1", "encoders.propagation={dimension=32, paths=64}")
    return replace(cell, system=replace(cell.system, changes=(*cell.system.changes, *small)))


def test_runs_are_measured_once_as_long_as_there_is_time(script: Script, data: Path, tmp_path: Path) -> None:
    results, tables = script("results"), script("tables")
    plan = Plan((data / "dbp15k" / "zh_en",), (0.05, 0.3), (0,), (), "cpu", tmp_path)
    cells = [quick(Cell(tables.FAST, "zh_en", ratio, 0)) for ratio in (0.05, 0.3)]
    now = time.monotonic()
    assert results.measure(cells, Measured(plan), now - 1) == 2
    assert results.measure(cells[:1], Measured(plan), now + 600) == 0
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()}
    assert results.measure(cells, Measured(plan), now + 600) == 0
    assert len(before) == 1
    assert all(path.stat().st_mtime_ns == when for path, when in before.items())
    assert len([*(tmp_path / "cells").iterdir()]) == 2


def test_a_run_with_every_leak_is_measured(script: Script, data: Path, tmp_path: Path) -> None:
    audit, records = script("leak_audit"), script("_records")
    every = {quick(cell): known for cell, known in audit.cells("fast").items() if cell.ratio == 0.3}
    assert [*every.values()] == [*audit.LEAKS]
    records.measure_missing(every, lambda cell: audit.measure(cell, every[cell], data, "cpu"), tmp_path, chosen())
    found = records.read_records(every, tmp_path)
    assert {*found} == {*every}
    for record in found.values():
        assert 0 < record["hits"]["all targets"] <= record["hits"]["test targets"] <= 1
    blind = next(iter(found.values()))["hits"]["test targets"]
    row = audit.table(records.read_records(audit.cells("fast"), tmp_path), "fast")[0]  # by name alone
    assert row == {
        "also known": "nothing",
        "1%": "not measured",
        "5%": "not measured",
        "30%": f"{blind:.3f}",
    }


def test_what_decisions_are_worth_is_measured(
    script: Script, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    review, records = script("review_gain"), script("_records")
    monkeypatch.setattr(review, "FEW", 20)
    monkeypatch.setattr(review, "MANY", 40)
    cell = review.cells(review.GAIN, ["zh_en"], (0,))[0]
    small = replace(quick(cell), ratio=0.05)
    records.measure_missing([small], lambda each: review.measure_gain(each, data, "cpu"), tmp_path, chosen())
    found = records.read_records([small], tmp_path)[small]
    assert [*found["f1"]] == ["before", *review.ARMS]
    assert all(0 < value <= 1 for value in found["f1"].values())
    assert found["tested"] >= 190 - 20 - 40  # nobody is tested on what was asked
    counts = [sum(said.values()) for said in found["answers"].values()]
    assert counts == [20, 20, 40]
    row = review.gain_rows({cell: found})[0]
    assert (row["set"], row["seeds"], row["runs"]) == ("zh_en", "1%", "1")
    assert row["before"] == f"{found['f1']['before']:.3f}"


def test_what_runs_cost_is_shown(script: Script, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    benchmark, tables = script("benchmark"), script("tables")
    task, reference = emea.read_benchmark(data / "dbp15k" / "zh_en", ratio=0.3, split=0)
    assert reference is not None
    settings = load(assignments=quick(Cell(tables.FAST, "zh_en", 0.3, 0)).system.changes)
    measures = emea.evaluate(emea.align(task, settings), reference).to_dict()
    printed = {"links": 12, "measures": measures, "rates": [1e5, 2e5]}

    def measure(*command: str) -> Any:
        found = printed | {"measures": [measures] * 3} if benchmark.WORLD in command else printed
        return benchmark.Process("emea align", found, 3.0, 1.5)

    monkeypatch.setattr(benchmark, "measure", measure)
    monkeypatch.setattr(benchmark, "write_triples", lambda _: None)
    text = "".join(section(data, tmp_path, "cpu") for section in benchmark.SECTIONS.values())
    hit = measures["ranking"]["test targets"]["csls"]["hit@1"]
    assert f"| test targets | csls | {hit:.3f} | " in text
    strict = measures["alignment"]["strict"]
    assert f"| strict | {strict['precision']:.3f} | {strict['recall']:.3f} | {strict['f1']:.3f} |" in text
    assert f"| propagation alone | strict | {strict['precision']:.3f} ± 0.000 |" in text
    assert "`emea align`: 3 s, 1.50 GB, 12 links" in text
    assert "100,000, 200,000 triples/s" in text
    headings = {line for line in text.splitlines() if line.startswith("## ")}
    assert len(headings) == len(benchmark.SECTIONS)
    assert headings <= set((DOCS / "results.md").read_text().splitlines())
    assert benchmark.shown("/somewhere/dbp15k/zh_en") == "dbp15k/zh_en"
    assert [benchmark.shown(part) for part in ("/bin/emea", "--data")] == ["emea", "--data"]


def test_links_without_seeds_are_counted_by_class(script: Script, tmp_path: Path) -> None:
    no_seeds = script("no_seeds")
    case = no_seeds.registers(tmp_path)
    assert len(case.truth) == 317
    some = {pair for number, pair in enumerate(sorted(case.truth)) if number % 2}
    wrong = {(source, "b:nobody") for source in case.classes if source not in {known for known, _ in case.truth}}
    links = dict.fromkeys(some, 0.99) | dict.fromkeys(wrong, 0.75)
    found = no_seeds.row("both", case, links, {"person", "firm"}, "1 s")
    assert found["known sources"] == f"1.000 / {len(some) / 317:.3f} / {2 * len(some) / (len(some) + 317):.3f}"
    assert found["strict"].startswith(f"{len(some) / (len(some) + len(wrong)):.3f} / ")
    assert found["wrong"] == str(len(wrong))
    assert no_seeds.expected_wrong(np.full(100, 0.9)) == (5, 16)
    shown = ["set", "true links", "strict", "calibration error", "wrong", "expected", "at .95", "known sources", "time"]
    assert list(found) == shown
    assert markdown_table([found]).splitlines()[0] in section("Without seeds")


def test_large_pairs_are_shown_as_they_were_measured(script: Script) -> None:
    scale = script("scale")
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(scale.STORE.glob("*.json"))]
    assert scale.section(found) == section("Large pairs")


def test_intervals_of_reviews_hold_the_truth_and_are_narrow(script: Script) -> None:
    intervals = script("review_intervals")
    records = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(intervals.STORE.glob("*.json"))]
    assert intervals.section(records) == section("Intervals while reviewing")
    found = [row for record in records for row in record["rows"]]
    assert len({row["run"] for row in found if "unsure" not in row["run"]}) >= 3
    for row in found:
        assert min(float(row[f"{name}: held"]) for name in ("precision", "recall")) >= 0.93, row
        assert float(row["precision: half-width"]) <= 0.04 or "unsure" in row["run"], row


def test_a_simulated_review_knows_what_the_reference_knows(script: Script) -> None:
    intervals, draw = script("review_intervals"), np.random.default_rng(0)
    links, others = draw.choice([0, 0, 0, 1, 3, 4], 600), draw.choice([1, 3, 4], 300)
    truth = intervals.Truth(0.5 + draw.random(600) / 2, draw.random(300) / 2, np.concatenate([links, others]))
    known = truth.known()
    assert truth.figures() == known.figures() != (0, 0)
    assert len(known.confidence) + len(known.counterpart) == (truth.answers != 4).sum() == len(known.answers)
    assert np.median(truth.overconfident().confidence) > np.median(truth.confidence)
    found = intervals.rows("made up", truth, 3)
    assert [row["run"] for row in found] == ["made up", "made up", "made up, some unsure", "made up, some unsure"]
    assert [bool(row["recall: usual"]) for row in found] == [True, True, False, False]


def test_made_people_are_always_the_same_and_the_truth_names_their_rows(script: Script, tmp_path: Path) -> None:
    people = script("made_people")
    for folder in ("once", "again"):
        people.make(tmp_path / folder, rows=200, overlap=0.6, seed=3)
    once, again = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("once", "again"))
    assert once == again
    task = emea.read(tmp_path / "once" / "source.csv", tmp_path / "once" / "target.csv")
    truth = [line.split("\t") for line in once["truth.tsv"].decode().splitlines()]
    assert len(truth) == 120
    assert {pair[0] for pair in truth} <= {*task.source.entities.to_pylist()}
    assert {pair[1] for pair in truth} <= {*task.target.entities.to_pylist()}
