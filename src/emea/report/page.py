"""The report of a run: one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
import shlex
import zlib
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea import __version__
from emea.evidence.prepared import Prepared
from emea.formats import read_pair_names
from emea.formats._files import writing
from emea.report import sections
from emea.report.cluster import cluster
from emea.report.difference import difference
from emea.report.explained import LONGEST, MOST_PARTS, Explain, explainer, explanations, shortened
from emea.report.graphs import Graphs
from emea.report.markup import Content, h, html, label
from emea.report.reading import FinishedRun
from emea.runs.finished import evaluate_run

Explained = dict[int, dict[str, Any]]  # by row of the link
LARGEST = 4_800_000  # letters of packed data: the whole page should stay below 5 MB
DIGITS = 10_000  # a confidence is kept as a number of ten-thousandths
READINGS = {True: "strict: all links", False: "known sources: links whose source occurs in the known pairs"}


def write_report(
    folder: Path,
    path: Path,
    *,
    reference: Path | None = None,
    complete: bool = False,
    against: Path | None = None,
    languages: Sequence[str] = (),
    prepared: Prepared | None = None,
    explain: Explain | None = None,
    called: str | None = None,
) -> None:
    """Write the report of a finished run; unless given, its graphs and what explains links are read from its folder,
    which the page calls by another name if there is one."""
    run = FinishedRun.read(folder)
    run = run if called is None else replace(run, folder=Path(called))
    measures = run.measures
    if reference is not None:
        measures = evaluate_run(folder, reference, complete=complete).to_dict()
    reading = measures and measures["alignment"]["strict" if complete else "known sources"]
    graphs = Graphs.of(run, prepared)
    if languages and isinstance(graphs, Graphs):
        run = graphs.labelled(run, languages)
    explaining = explain or explainer(folder, languages, graphs)
    found = explaining if isinstance(explaining, str) else dict(explanations(explaining, run.links, run.confidence))
    unlabelled = graphs if languages and isinstance(graphs, str) else None
    shown = [
        sections.graphs(run, graphs),
        sections.rounds(run),
        sections.confidence(run, reading),
        sections.measured(run, READINGS[complete], reading),
        sections.relations(run),
        sections.unlinked(run, graphs),
        None
        if against is None
        else difference(FinishedRun.read(against), run, explainer(against, languages), explaining),
        _links(run, found, unlabelled),
        cluster(run),
        sections.settings(run),
    ]
    verdict = None if reference is None else _verdicts(run.links, reference, complete=complete)
    packed = {
        "folder": shlex.quote(str(run.folder)),
        "packed": _packed(run, {} if isinstance(found, str) else found, verdict),
    }
    top = sections.summary(run, reading)
    with writing(path) as file:
        file.write(_document(run, [top, sections.warnings(run)], [each for each in shown if each is not None], packed))


def _links(run: FinishedRun, found: Explained | str, unlabelled: str | None) -> Element:
    """The place of the table, and what it holds: what explains links or why nothing does, and why labels are not in the
    languages asked for."""
    count = len(run.confidence)
    told: list[Content] = ["The only link. " if count == 1 else f"All {count:,} links. "]
    if isinstance(found, str):
        told += ["None is explained here: ", label(found), "."]
    elif len(found) == count:
        told += ["Open one to see why it was made."]
    else:
        told += [
            f"Open one to see why it was made: {len(found):,} are explained here, the least sure ones and a random "
            "sample of the others. For any other link, ask ",
            h("code", f"emea explain {shlex.quote(str(run.folder))} SOURCE"),
            ".",
        ]
    if unlabelled is not None:
        told += [" Labels are as the run wrote them: ", label(unlabelled), "."]
    absent = h("noscript", h("p", "The table needs JavaScript; the same links are in alignment.tsv."))
    return sections.section("links", "Links", h("p", *told), absent, h("div", id="links-app"))


def _packed(run: FinishedRun, found: Explained, verdict: str | None) -> str:
    """The links and their explanations, as compressed JSON in letters that mean nothing to HTML; explanations are cut
    further where the page would become too large."""
    links = run.links
    names = {side: links[side].to_pylist() for side in ("source", "target")}
    labels = zip(*(links[f"{side}_label"].to_pylist() for side in names), strict=True)
    kinds = _types(links)
    data: dict[str, Any] = {name: [_cut(text) for text in column] for name, column in names.items()}
    data["labels"] = [_cut(text) for both in labels for text in both]  # those of a link are often alike: side by side
    data["confidence"] = np.floor(run.confidence * DIGITS + 1e-6).astype(int).tolist()
    data["types"] = sorted(set(kinds))
    place = {kind: number for number, kind in enumerate(data["types"])}
    data["type"] = [place[kind] for kind in kinds]
    data["verdict"] = verdict
    for most in MOST_PARTS:
        data["explanations"] = {row: shortened(each, most) for row, each in found.items()}
        packed = _compressed(data)
        if len(packed) <= LARGEST:
            break
    return packed


def _compressed(data: dict[str, Any]) -> str:
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def _types(links: pa.Table) -> list[str]:
    """The types of each link: those of both entities, once if they are the same."""
    sides = (links[name].to_pylist() for name in ("source_type", "target_type"))
    return [" ↔ ".join(dict.fromkeys(filter(None, both))) for both in zip(*sides, strict=True)]


def _verdicts(links: pa.Table, reference: Path, *, complete: bool) -> str:
    """What known pairs say of each link: right, wrong, or nothing about its source; a letter for each."""
    pairs = read_pair_names(reference)
    if "excluded" in pairs.column_names:
        pairs = pairs.filter(pc.invert(pairs["excluded"]))
    known, found = (
        list(zip(table["source"].to_pylist(), table["target"].to_pylist(), strict=True)) for table in (pairs, links)
    )
    right, told = set(known), {source for source, _ in known}
    return "".join("r" if pair in right else "w" if complete or pair[0] in told else "?" for pair in found)


def _document(run: FinishedRun, top: list[Element | None], shown: list[Element], data: dict[str, Any]) -> bytes:
    """The page, with a policy that allows its own script and style, and nothing else."""
    style, script = _static("card.css") + _static("report.css"), _module("card.js", "report.js")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    source, target = run.graphs
    headings = [(each.get("aria-labelledby"), each[0].text) for each in shown]
    contents = h("ul", *(h("li", h("a", title, href=f"#{name}")) for name, title in headings))
    button = h("button", "Dark", id="theme", type="button", hidden="", aria_pressed="false")
    page = h(
        "html",
        h(
            "head",
            h("meta", charset="utf-8"),
            h("meta", http_equiv="Content-Security-Policy", content=policy),
            h("meta", name="viewport", content="width=device-width, initial-scale=1"),
            h("title", f"{source} ↔ {target}: links"),
            h("style", style),
        ),
        h(
            "body",
            h(
                "header",
                h("div", h("h1", label(source), " ↔ ", label(target)), button, class_="head"),
                *top,
                h("nav", contents, class_="contents", aria_label="Contents"),
            ),
            h("main", *shown),
            h("footer", f"Made by emea {__version__} from the folder {run.folder.name}."),
            h("script", _as_json(data), type="application/json", id="report-data"),
            h("script", script, type="module"),
        ),
        lang="en",
    )
    return f"<!DOCTYPE html>\n{html(page)}\n".encode()


def _as_json(value: Any) -> str:
    """JSON that may stand inside a page."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _module(*names: str) -> str:
    """Modules as one: a page without requests cannot import."""
    lines = (line for name in names for line in _static(name).splitlines() if not line.startswith("import "))
    return "\n".join(line.removeprefix("export ") for line in lines)


def _static(name: str) -> str:
    return (files("emea.report") / "static" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
