"""What the report says: of graphs that can be read again and of those that cannot, of two runs, of explanations."""

import base64
import json
import random
import re
import shutil
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from made_up import explanation, rows, write_run
from typer.testing import CliRunner

import emea
from emea.cli import app
from emea.errors import InputError, SettingsError
from emea.report import page
from emea.report.difference import _reasons, compared, difference
from emea.report.explained import chosen, explainer, shortened
from emea.report.markup import html
from emea.report.page import _module, write_report
from emea.report.plots import NAMES, plotted
from emea.report.reading import FinishedRun
from emea.settings import load

PREFIXES = "@prefix v: <http://v.example/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
CITIES = [("Köln", "Cologne"), ("München", "Munich"), ("Wien", "Vienna"), ("Genf", "Geneva"), ("Basel", "Basel")]
SMALL = ["evidence.kind=all", "em.rounds=1", "encoders.propagation.dimension=64", "encoders.propagation.paths=64"]


def graph(side: str) -> str:
    """Some cities with labels in two languages, and one that only one graph has."""
    lines = [
        f'<http://{side}.example/{english}> a v:City ; rdfs:label "{english}"@en, "{german}"@de ; v:in v:Europe .'
        for german, english in [*CITIES, *([("Nirgends", "Nowhere")] if side == "a" else [])]
    ]
    return PREFIXES + "\n".join(lines)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> emea.Result:
    folder = tmp_path_factory.mktemp("graphs")
    for side in ("a", "b"):
        (folder / f"{side}.ttl").write_text(graph(side), encoding="utf-8")
    task = emea.read(folder / "a.ttl", folder / "b.ttl")
    return emea.align(task, load(assignments=SMALL))


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder beside the graphs that it was read from."""
    folder = tmp_path_factory.mktemp("linked")
    for side in ("a", "b"):
        (folder / f"{side}.ttl").write_text(graph(side), encoding="utf-8")
    command = ["align", str(folder / "a.ttl"), str(folder / "b.ttl"), "--out", str(folder / "run"), "--quiet"]
    for assignment in SMALL:
        command += ["--set", assignment]
    assert CliRunner().invoke(app, command).exit_code == 0
    return folder


def text_of(path: Path) -> str:
    """What the static part of a page says."""
    body = path.read_text(encoding="utf-8").partition("<body>")[2].partition("<script")[0]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


def report(folder: Path, *options: str) -> str:
    """What the command says in its page."""
    path = folder / "report.html"
    done = CliRunner().invoke(app, ["report", str(folder / "run"), "--out", str(path), *options])
    assert done.exit_code == 0, done.output
    assert "in a browser" in done.output
    return text_of(path)


def test_graphs_are_read_again_where_they_are(linked: Path) -> None:
    told = report(linked)
    assert "triples of an entity, median" in told
    assert re.search(r"a\.ttl types City 6 no type 2 relations", told)
    assert re.search(r"City 1 1", told), "the city without counterpart, by type"
    assert "The same again: emea align --config" in told
    assert not re.search(r"<th[^>]*></th>", (linked / "report.html").read_text(encoding="utf-8"))


def test_labels_are_in_the_language_asked_for(linked: Path) -> None:
    run = FinishedRun.read(linked / "run")
    assert "Cologne" in run.links["source_label"].to_pylist()
    from emea.report.graphs import Graphs

    found = Graphs.of(run, None)
    assert isinstance(found, Graphs)
    assert "Köln" in found.labelled(run, ["de"]).links["source_label"].to_pylist()


def test_graphs_that_are_gone_or_changed_are_said_to_be(linked: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(linked, copy)
    settings = copy / "run" / "settings.toml"
    settings.write_text(settings.read_text().replace(str(linked), str(copy)))
    with (copy / "a.ttl").open("a") as file:
        file.write("<http://a.example/new> v:in v:Europe .\n")
    assert "not shown in detail: the files have changed since the run" in report(copy)
    (copy / "b.ttl").unlink()
    told = report(copy)
    assert "b.ttl is no longer there" in told
    assert "Their types are not shown" in told


def test_known_pairs_are_measured_by(linked: Path) -> None:
    pairs = linked / "truth.tsv"
    pairs.write_text("".join(f"http://a.example/{name}\thttp://b.example/{name}\n" for _, name in CITIES))
    told = report(linked, "--reference", str(pairs))
    assert re.search(r"precision 1\.000 recall [\d.]+ F1", told)
    assert "No pairs are known that the run was not given" in report(linked)


def test_rounds_tell_how_far_encoder_and_rules_agree(tmp_path: Path, result: emea.Result) -> None:
    write_report(write_run(tmp_path / "run", rows(3)), tmp_path / "report.html")
    assert "87.5 %" in text_of(tmp_path / "report.html")
    assert "weights of rules" in text_of(tmp_path / "report.html")
    assert "paris 4.62" in text_of(tmp_path / "report.html")
    assert result.last is not None
    assert 0 < (result.last.record()["agreement"] or 0) <= 1


def test_rounds_of_loops_that_go_ahead_are_told_apart(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", rows(3))
    loops = [{"round": number, "scout": scout} for scout in (1, 2) for number in (0, 1)] + [{"round": 0}, {"round": 1}]
    for name, told in (("rounds", "pseudo_labels"), ("timings", "seconds")):
        lines = [json.dumps(each | {told: 10.5 + place}) + "\n" for place, each in enumerate(loops)]
        (folder / f"{name}.jsonl").write_text("".join(lines))
    found = FinishedRun.read(folder).rounds
    assert [each["seconds"] for each in found] == [each["pseudo_labels"] for each in found]
    assert len(found) == len(loops)
    write_report(folder, tmp_path / "report.html")
    assert re.search(r"scout 1, 0.*scout 1, 1.*scout 2, 0.*scout 2, 1.*15\.5 s", text_of(tmp_path / "report.html"))
    drawn = plotted("rounds", folder)["data"]["values"]
    assert [(each["round"], each["seconds"]) for each in drawn] == [(0, 14.5), (1, 15.5)]


def test_what_few_links_say_is_not_to_be_relied_on(tmp_path: Path) -> None:
    for count, few in ((29, True), (30, False)):
        write_report(write_run(tmp_path / "run", rows(count)), tmp_path / "report.html")
        assert ("links are too few to rely on that" in (tmp_path / "report.html").read_text(encoding="utf-8")) == few


def test_a_run_without_links_has_a_report(tmp_path: Path) -> None:
    write_report(write_run(tmp_path / "run", []), tmp_path / "report.html")
    told = text_of(tmp_path / "report.html")
    assert "No link was found." in told
    assert "Of 10 links of seeds that a round had not been shown, 9 were right." in told


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no settings\.toml"):
        write_report(tmp_path, tmp_path / "report.html")
    (tmp_path / "settings.toml").write_text("")
    with pytest.raises(InputError, match="expected a finished run"):
        write_report(tmp_path, tmp_path / "report.html")


def test_one_link_is_not_called_links(tmp_path: Path) -> None:
    write_report(write_run(tmp_path / "run", [(*rows(1)[0][:2], 0.7, *rows(1)[0][3:])]), tmp_path / "report.html")
    said = text_of(tmp_path / "report.html")
    assert "1 link was found" in said
    assert "check the 1 link below 0.8" in said
    assert not re.search(r"\b1 links", said)


def test_two_runs_are_compared(tmp_path: Path) -> None:
    links = rows(20)
    swapped = (links[0][0], links[1][1], *links[0][2:])
    before = FinishedRun.read(write_run(tmp_path / "before", [*links[:10], links[15]]))
    lost = ("http://source.example/lost", *links[3][1:])
    after = FinishedRun.read(write_run(tmp_path / "after", [swapped, *links[1:12]]))
    kinds = compared(before, after)
    assert {name: len(pairs) for name, pairs in kinds.items()} == {"gained": 2, "lost": 1, "changed": 1}
    first, second = kinds["changed"][0]
    assert first is not None
    assert second is not None
    assert (first["target"], second["target"]) == (links[0][1], links[1][1])
    again = FinishedRun.read(write_run(tmp_path / "again", links[:10]))
    with_lost = FinishedRun.read(write_run(tmp_path / "with_lost", [*links[:10], lost]))
    told = html(difference(with_lost, again, "no reason", "no reason"))
    assert "Why those lost are not linked now" in told
    assert "confidence too low" in told


def test_the_evidence_that_changed_most_comes_first(tmp_path: Path) -> None:
    links = rows(6)
    by_name = {link[0]: link for link in links}
    before = FinishedRun.read(write_run(tmp_path / "before", links[:4]))
    after = FinishedRun.read(write_run(tmp_path / "after", links))

    def earlier(source: str, _: str | None) -> dict[str, Any]:
        told = explanation(by_name[source])
        changes = {"values": -2.0, "encoder": 0.5}
        groups = [
            {**group, "log_odds": group["log_odds"] + changes.get(group["name"], 0.0)} for group in told["groups"]
        ]
        return {**told, "groups": groups}

    made = html(difference(before, after, earlier, lambda source, _: explanation(by_name[source])))
    shown = re.findall(r'<bdi dir="auto">([\w ]+)</bdi></th><td class="number">([+-][\d.]+)', made)
    assert shown[:3] == [("Names and values", "+2.00"), ("Similar structure", "-0.50"), ("Equal neighbours", "+0.00")]


def test_the_least_sure_and_some_others_are_explained() -> None:
    confidence = np.random.default_rng(0).random(5_000)
    found = chosen(confidence)
    assert len(set(found)) == 1_000
    assert set(np.argsort(confidence)[:750]) <= set(found)
    assert found == chosen(confidence)
    assert chosen(confidence[:900]) == list(range(900))


def test_many_parts_still_add_up() -> None:
    parts = [{"text": f"{number}", "log_odds": 0.1 * number} for number in range(100)]
    made = shortened({"parts": parts})["parts"]
    assert len(made) == 16
    assert made[-1]["text"] == "85 others together"
    assert sum(part["log_odds"] for part in made) == pytest.approx(495.0)


def test_explanations_are_cut_further_where_a_page_would_be_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    links, draw = rows(200), random.Random(0)
    by_name = {link[0]: link for link in links}

    def explain(source: str, _: str | None) -> dict[str, Any]:
        parts = [{"text": f"{draw.getrandbits(900):x}", "log_odds": 0.1} for _ in range(40)]
        group = {"name": "paris", "text": "", "log_odds": 4.0, "parts": parts}
        return {**explanation(by_name[source]), "groups": [group]}

    folder = write_run(tmp_path / "run", links)
    write_report(folder, tmp_path / "large.html", explain=explain)
    monkeypatch.setattr(page, "LARGEST", 300_000)
    write_report(folder, tmp_path / "small.html", explain=explain)
    large, small = ((tmp_path / name).stat().st_size for name in ("large.html", "small.html"))
    assert small < 340_000 < large


def test_links_of_a_run_are_explained(tmp_path: Path) -> None:
    for name in ("a", "b"):
        people = [f"{name}{i},{'ABCDEFGHIJ'[i % 10]}nna {'KLMNOP'[i // 10]}ern,19{30 + i}-01-01" for i in range(40)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,name,born", *people]) + "\n")
    task = emea.read(tmp_path / "a.csv", tmp_path / "b.csv")
    result = emea.align(task, load(assignments=["evidence.kind=all", "em.rounds=1"]))
    result.save(tmp_path / "run")
    explain = explainer(tmp_path / "run", [])
    assert not isinstance(explain, str)
    link = result.links().to_pylist()[0]
    told = explain(link["source"], link["target"])
    assert told["confidence"] == pytest.approx(link["confidence"], abs=1e-6)
    assert explainer(tmp_path, []) == f"{tmp_path} is not a run folder: it has no settings.toml"


def test_the_page_counts_what_is_explained(tmp_path: Path) -> None:
    links = rows(12)
    by_name = {link[0]: link for link in links[:9]}

    def explain(source: str, _: str | None) -> dict[str, Any]:
        if source not in by_name:
            raise InputError("nothing is known of it")
        return explanation(by_name[source])

    write_report(write_run(tmp_path / "run", links), tmp_path / "page.html", explain=explain, languages=["de"])
    told = text_of(tmp_path / "page.html")
    assert "All 12 links. Open one to see why it was made: 9 are explained here" in told
    assert "Labels are as the run wrote them: /nowhere/ours.ttl is no longer there ." in told


def test_modules_become_one_script() -> None:
    script = _module("card.js", "report.js")
    assert not re.search(r"^(import|export)\b", script, re.M)
    assert "function card(explanation)" in script


@pytest.mark.parametrize("name", NAMES)
def test_figures_are_drawn(name: str, linked: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "truth.tsv"
    pairs.write_text("".join(f"http://a.example/{name}\thttp://b.example/{name}\n" for _, name in CITIES))
    picture = tmp_path / "figure.pdf"
    command = ["plot", str(linked / "run"), name, "--out", str(picture), "--reference", str(pairs)]
    assert CliRunner().invoke(app, command).exit_code == 0
    assert picture.read_bytes().startswith(b"%PDF")


def test_figures_that_cannot_be_drawn(linked: Path) -> None:
    with pytest.raises(SettingsError, match="found figure 'pie', expected one of confidence, rounds"):
        plotted("pie", linked / "run")
    with pytest.raises(InputError, match="expected --reference PAIRS"):
        plotted("reliability", linked / "run")


def test_a_result_reports_itself(result: emea.Result, tmp_path: Path) -> None:
    result.report(tmp_path / "page.html")
    packed = re.search(r'"packed":"([^"]+)"', (tmp_path / "page.html").read_text(encoding="utf-8"))
    assert packed is not None
    told = json.loads(zlib.decompress(base64.b64decode(packed[1])))["explanations"]
    assert told
    assert not any(each["notes"] for each in told.values()), "the graphs are at hand: nothing is missing"
    told = text_of(tmp_path / "page.html")
    assert "emea align --config RUN/settings.toml" in told
    assert "triples of an entity, median" in told
    assert str(tmp_path) not in told


def test_a_notebook_shows_links_and_histogram(result: emea.Result) -> None:
    shown = result._repr_html_()
    assert f"{len(result)} of {len(result)} links, the surest first" in shown
    assert "Cologne" in shown
    assert shown.count("<svg") == 1


def test_reasons_of_what_was_lost_add_up_also_where_people_decided() -> None:
    listed = pa.table({"source": ["a", "x"], "why": ["no candidate", "no candidate"]})
    lost = [({"source": each, "target": each}, None) for each in "ab"]  # b is given, and not among the unlinked
    run = SimpleNamespace(unlinked=listed)
    (made,) = _reasons({"gained": [], "lost": lost}, run, run)  # type: ignore[arg-type]
    assert "given: known, or to have no counterpart" in html(made)
    (made,) = _reasons({"gained": [], "lost": lost[:1]}, run, run)  # type: ignore[arg-type]
    assert "given" not in html(made)
