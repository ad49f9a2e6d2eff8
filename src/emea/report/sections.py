"""The parts of a report that are read from top to bottom: each makes a section of a finished run."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
import tomli_w

from emea.report.charts import histogram, unit_lines
from emea.report.graphs import UNTYPED, Graphs, described
from emea.report.markup import Content, h, label, named, table
from emea.report.reading import FinishedRun
from emea.report.reasons import grouped
from emea.runs.folder import written_table
from emea.runs.promise import caution
from emea.runs.wording import counted

CUTS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
DOUBTFUL = 0.8  # confidence below which a link should be looked at
SHOWN = 40  # relations
KINDS = {"structure": "structure", "names": "structure and names", "literals": "structure, names and values"}


def section(name: str, title: str, *content: Content) -> Element:
    """A part of the page with a heading."""
    return h("section", h("h2", title, id=name), *content, aria_labelledby=name)


def summary(run: FinishedRun, measures: dict[str, Any] | None) -> Element:
    """Three sentences: what was linked with what, how many links of which quality, and what to do next."""
    source, target = run.graphs
    sizes = [f"{run.about.get(side, 0):,}" for side in ("sources", "targets")]
    kind = KINDS.get(run.settings.get("evidence", {}).get("kind"), "structure, names and values")
    first = h(
        "p", f"{sizes[0]} entities of ", label(source), f" were compared with {sizes[1]} of ", label(target),
        f" by {kind}.",
    )  # fmt: skip
    return h("div", first, h("p", _found(run, measures)), h("p", *_next(run)), class_="summary")


def _found(run: FinishedRun, measures: dict[str, Any] | None) -> str:
    count = len(run.confidence)
    if not count:
        return "No link was found."
    mean = float(run.confidence.mean())
    found = f"{counted(count, 'link')} {'was' if count == 1 else 'were'} found"
    told = f"{found}, of which {_percent(mean)} (about {round(mean * count):,}) should be right"
    told += caution(count)
    if measures is None:
        return f"{told}."
    return (
        f"{told}; of the {measures['links']:,} that known pairs can tell about, {_percent(measures['precision'])} are."
    )


def _next(run: FinishedRun) -> list[Content]:
    folder = shlex.quote(str(run.folder))
    if not len(run.confidence):
        return ["Next, see what the graphs have in common: ", h("code", "emea profile SOURCE TARGET"), "."]
    doubtful = int((run.confidence < DOUBTFUL).sum())
    again = f"emea align --config {folder}/settings.toml --decisions {folder} --out NEW"
    what = f"the {counted(doubtful, 'link')} below {DOUBTFUL}" if doubtful else "some links"
    return [
        f"Next, check {what}: ", h("code", f"emea review {folder}"), " asks about one at a time, or write yes or no ",
        "into ", h("code", "alignment.review.tsv"), "; then run ", h("code", again), ".",
    ]  # fmt: skip


def warnings(run: FinishedRun) -> Element | None:
    """What the run said against itself."""
    doubt = run.summary.get("doubt")
    return h("p", h("strong", "Warning: "), label(str(doubt)), class_="warning", role="note") if doubt else None


def graphs(run: FinishedRun, found: Graphs | str) -> Element:
    """Both graphs side by side, and what they have in common."""
    if isinstance(found, str):
        named_sizes = zip(run.graphs, ("sources", "targets"), strict=True)
        sizes = [(label(name), f"{run.about.get(side, 0):,}") for name, side in named_sizes]
        note = h("p", "The graphs are not shown in detail: ", label(found), ".", class_="missing")
        return section("graphs", "Graphs", note, table(("graph", "entities"), sizes, "Size of the graphs", numbers=1))
    sides = (found.offers.source, found.offers.target)
    rows: list[tuple[Content, ...]] = [
        ("entities", *(f"{side.entities:,}" for side in sides)),
        ("relations", *(f"{side.relations:,}" for side in sides)),
        ("triples", *(f"{side.triples:,}" for side in sides)),
        ("values", *(f"{side.literals:,}" for side in sides)),
        ("triples of an entity, median", *(f"{side.typical_degree:g}" for side in sides)),
        ("triples of an entity, most", *(f"{side.highest_degree:,}" for side in sides)),
        ("without any triple", *(_percent(side.without_triple) for side in sides)),
        ("have a value that the other graph has", *(_percent(side.with_shared_value) for side in sides)),
        ("within reach of a seed or shared value", *(_percent(side.reached) for side in sides)),
    ]
    common = (
        f"In common: {found.offers.seeds:,} seeds, {found.offers.shared_values:,} equal values, "
        f"{found.offers.similar_values:,} similar ones."
    )
    detail = [described(graph) for graph in (found.task.source, found.task.target)]
    titles = [h("h3", label(name)) for name in run.graphs]
    columns = [
        h("div", title, _bars("types", told["types"]), _bars("relations", told["relations"]),
          _bars("triples of an entity", told["degrees"]))
        for title, told in zip(titles, detail, strict=True)
    ]  # fmt: skip
    return section(
        "graphs", "Graphs", table(("", *run.graphs), rows, "Both graphs side by side", numbers=2), h("p", common),
        h("div", *columns, class_="pair"),
    )  # fmt: skip


def _bars(title: str, counts: list[tuple[str, int]]) -> Element:
    """A short list of counts as bars."""
    most = max((count for _, count in counts), default=0) or 1
    rows = []
    for name, count in counts:
        bar = h("svg", h("rect", width=f"{100 * count / most:.1f}%", height="100%", class_="bar"), aria_hidden="true")
        rows.append(h("li", label(name, class_="name"), bar, h("span", f"{count:,}", class_="number")))
    return h("div", h("h4", title), h("ul", *rows, class_="bars") if rows else h("p", "none"))


def rounds(run: FinishedRun) -> Element:
    """What each round of the loop found, how links of hidden seeds fared, and how long it took."""
    if not run.rounds:
        return section("rounds", "Rounds", h("p", "The folder keeps no record of rounds.", class_="missing"))
    rows: list[tuple[Content, ...]] = []
    for record in run.rounds:
        tried, right = record.get("held_out_links", 0), record.get("held_out_right", 0)
        labelled, agreement = record.get("pseudo_labels"), record.get("agreement")
        rows.append(
            (
                f"scout {record['scout']}, {record['round']}" if record.get("scout") else f"{record['round']}",
                ", ".join(f"{name} {weight:.2f}" for name, weight in record.get("weights", {}).items()) or "–",
                "–" if labelled is None else f"{labelled:,}",
                f"{record['candidates']:,}" if "candidates" in record else "–",
                "–" if agreement is None else _percent(agreement),
                f"{right:,} of {tried:,}" if tried else "–",
                f"{record['seconds']:.1f} s" if "seconds" in record else "–",
            )
        )
    counted = ("pairs labelled", "candidate pairs", "encoder and rules agree", "held-out links right", "time")
    head = ("round", "weights of rules", *counted)
    return section("rounds", "Rounds", table(head, rows, "What each round found", numbers=len(counted)))


def confidence(run: FinishedRun, measures: dict[str, Any] | None) -> Element:
    """How sure the links are, and what is gained by keeping only the surest."""
    sure, rows = run.confidence, []
    for cut in CUTS:
        kept = sure[sure >= cut]
        mean = float(kept.mean()) if len(kept) else None
        wrong = "–" if mean is None else f"{(1 - mean) * len(kept):,.0f}"
        row = [f"{cut:g}", f"{len(kept):,}", "–" if mean is None else _percent(mean), wrong]
        rows.append((*row, _measured(measures, cut)) if measures else tuple(row))
    head = (
        "keep from",
        "links",
        "expected precision",
        "expected wrong",
        *(("measured precision",) if measures else ()),
    )
    cuts = table(head, rows, "What is left at each cut", numbers=len(head) - 1)
    return section("confidence", "Confidence", h("div", h("figure", histogram(sure)), cuts, class_="pair"))


def _measured(measures: dict[str, Any] | None, cut: float) -> str:
    points = [point for point in (measures or {}).get("curve", ()) if point["confidence"] >= cut]
    return _percent(points[-1]["precision"]) if points else "–"


def measured(run: FinishedRun, reading: str, measures: dict[str, Any] | None) -> Element:
    """Whether links are right as often as they say, and precision against recall, where pairs are known."""
    if measures is None:
        told = "No pairs are known that the run was not given. With some, use --reference PAIRS."
        tried, right = (sum(one.get(f"held_out_{name}", 0) for one in run.rounds) for name in ("links", "right"))
        hidden = f"Of {tried:,} links of seeds that a round had not been shown, {right:,} were right."
        return section("measured", "Measured", h("p", hidden) if tried else None, h("p", told, class_="missing"))
    known = counted(measures["links"], "link")
    bins = [(each["confidence"], each["right"]) for each in measures["reliability"]]
    points = [(each["recall"], each["precision"]) for each in measures["curve"]]
    reliable = unit_lines(
        [("links", bins)], "confidence", "share right", "Share of right links at each confidence", diagonal=True
    )
    curve = unit_lines(
        [("links", points)], "recall", "precision", "Precision against recall, the surest links first", diagonal=False
    )
    figures = [
        ("precision", "precision"),
        ("recall", "recall"),
        ("F1", "f1"),
        ("calibration error", "calibration error"),
    ]
    rows: list[tuple[Content, ...]] = [(title, f"{measures[name]:.3f}") for title, name in figures]
    return section(
        "measured", "Measured",
        h("p", f"Against known pairs that the run was not given ({reading}); {known} counted."),
        h("div", h("figure", reliable, h("figcaption", "On the dotted line, links are right as often as they say.")),
          h("figure", curve, h("figcaption", "What is gained and lost by keeping only the surest links.")),
          class_="pair"),
        table(("measure", "value"), rows, "Measures", numbers=1),
    )  # fmt: skip


def relations(run: FinishedRun) -> Element:
    """Which relations were found to mean the same."""
    found = run.relations
    if found is None or not found.num_rows:
        told = "No relations were found to be alike." if found is not None else "The folder has no relations.tsv."
        return section("relations", "Relations", h("p", told, class_="missing"))
    rows: list[tuple[Content, ...]] = [
        (_relation(row["source"]), _relation(row["target"]), f"{row['source_in_target']:.2f}",
         f"{row['target_in_source']:.2f}", f"{row['triples']:,.0f}")
        for row in found.slice(0, SHOWN).to_pylist()
    ]  # fmt: skip
    head = ("source relation", "target relation", "source in target", "target in source", "triples")
    more = (
        f"The {SHOWN} best supported of {found.num_rows:,}; all are in relations.tsv. "
        if len(rows) < found.num_rows
        else ""
    )
    note = more + "The numbers are the probabilities that one is contained in the other; ^ marks an inverse."
    return section("relations", "Relations", h("p", note), table(head, rows, "Relations that are alike", numbers=3))


def _relation(name: str) -> Element:
    """A relation by the last part of its name."""
    plain = name.removeprefix("^")
    short = plain.rstrip("/#").replace("#", "/").rpartition("/")[2]
    inside = named(plain, short or plain)
    return h("span", "^", inside) if name.startswith("^") else inside


def unlinked(run: FinishedRun, found: Graphs | str) -> Element:
    """What was left without a counterpart and why, by type."""
    told = run.unlinked
    if told is None:
        return section("unlinked", "Left without a link", h("p", "The folder has no table of them.", class_="missing"))
    reasons, file = grouped(told["why"]), written_table(run.folder, "unlinked").name
    counts = Counter(reasons).most_common()
    known = zip(told["source"].to_pylist(), told["source_label"].to_pylist(), strict=True)
    examples = dict(reversed(list(zip(reasons, known, strict=True))))
    rows: list[tuple[Content, ...]] = []
    for reason, count in counts:
        name, text = examples[reason]
        rows.append((label(reason), named(name, text or None), f"{count:,}"))
    parts: list[Content] = [
        h(
            "p",
            f"{told.num_rows:,} sources that may be linked are not; each is in {file} with its best candidate.",
        ),
        table(("why", "for example", "sources"), rows, "Why sources have no link", numbers=1),
    ]
    if isinstance(found, str):
        parts.append(h("p", "Their types are not shown: ", label(found), ".", class_="missing"))
    else:
        parts.append(_by_type(found.types_of(told["source"]), reasons, [reason for reason, _ in counts]))
    return section("unlinked", "Left without a link", *parts)


def _by_type(kinds: list[str], reasons: list[str], order: list[str]) -> Element:
    """How many sources of each type were left, for each reason."""
    if set(kinds) <= {UNTYPED}:
        return h("p", "The source graph gives none of them a type.", class_="missing")
    both, each = Counter(zip(kinds, reasons, strict=True)), Counter(kinds)
    rows: list[tuple[Content, ...]] = [
        (label(kind), *(f"{both[kind, reason]:,}" for reason in order), f"{count:,}")
        for kind, count in each.most_common(12)
    ]
    return table(("type", *order, "all"), rows, "By type", numbers=len(order) + 1)


def settings(run: FinishedRun) -> Element:
    """What the run was made with, and the command that repeats it."""
    again = f"emea align --config {shlex.quote(str(run.folder / 'settings.toml'))} --out again"
    text = tomli_w.dumps({**run.settings, "run": run.about})
    return section(
        "settings", "Settings", h("p", "The same again: ", h("code", again)),
        h("details", h("summary", "All settings"), h("pre", label(text), tabindex=0)),
    )  # fmt: skip


def _percent(share: float) -> str:
    """With one digit, rounded down: nothing is certain."""
    return f"{np.floor(1000 * share + 1e-9) / 10:g} %"
