"""What became of the links of another run: gained, lost, changed, and the reasons that changed most."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import chain
from typing import Any
from xml.etree.ElementTree import Element

from emea.errors import EmeaError
from emea.report.explained import Explain
from emea.report.markup import Content, h, label, named, table
from emea.report.reading import FinishedRun
from emea.report.reasons import grouped
from emea.report.sections import section

SHOWN = 50  # links of each kind
COMPARED = 200  # links whose explanations are compared
Link = dict[str, Any]  # a row of alignment.tsv
Pair = tuple[Link | None, Link | None]  # what a source is linked to in the other run, and in this one


def difference(before: FinishedRun, run: FinishedRun, old: Explain | str, new: Explain | str) -> Element:
    """How the links of a run differ from those of an earlier one, given what explains the links of each."""
    kinds = compared(before, run)
    counts: list[tuple[Content, ...]] = [(title, f"{len(pairs):,}") for title, pairs in kinds.items()]
    kept = len(run.confidence) - len(kinds["gained"]) - len(kinds["changed"])
    parts: list[Content] = [
        h("p", "Compared with ", label(str(before.folder)), ", whose links are the earlier ones."),
        table(("links", "count"), [*counts, ("kept", f"{kept:,}")], "Links gained, lost and changed", numbers=1),
        *_reasons(kinds, before, run),
        _evidence(kinds, old, new),
        _settings(before, run),
    ]
    parts += [_listed(title, pairs) for title, pairs in kinds.items() if pairs]
    return section("difference", "Compared with another run", *parts)


def compared(before: FinishedRun, after: FinishedRun) -> dict[str, list[Pair]]:
    """The sources whose links differ, by how they differ: what they were linked to, and what they are linked to."""
    links = [_by_source(run) for run in (before, after)]
    found: dict[str, list[Pair]] = {"gained": [], "lost": [], "changed": []}
    for source in dict.fromkeys(chain(*links)):
        old, new = (side.get(source, {}) for side in links)
        gone, come = ([one[each] for each in one if each not in two] for one, two in ((old, new), (new, old)))
        found["changed"] += zip(gone, come, strict=False)
        both = min(len(gone), len(come))
        found["lost"] += [(link, None) for link in gone[both:]]
        found["gained"] += [(None, link) for link in come[both:]]
    return found


def _by_source(run: FinishedRun) -> dict[str, dict[str, Link]]:
    found = defaultdict[str, dict[str, Link]](dict)
    for link in run.links.to_pylist():
        found[link["source"]][link["target"]] = link
    return found


def _listed(title: str, pairs: list[Pair]) -> Element:
    """Some of the links that differ, the surest first."""
    order = sorted(pairs, key=lambda pair: -max(link["confidence"] for link in pair if link is not None))[:SHOWN]
    rows: list[tuple[Content, ...]] = []
    for pair in order:
        source = next(link for link in pair if link is not None)
        cells = [named(source["source"], source["source_label"] or None)]
        rows.append((*cells, *(_target(link) for link in pair), *(_confidence(link) for link in pair)))
    more = f", the surest {SHOWN}" if len(pairs) > SHOWN else ""
    head = ("source", "earlier target", "target now", "earlier confidence", "confidence now")
    return h(
        "details",
        h("summary", f"{len(pairs):,} {title}{more}"),
        table(head, rows, f"Links {title}", numbers=2),
    )


def _target(link: Link | None) -> Content:
    return "–" if link is None else named(link["target"], link["target_label"] or None)


def _confidence(link: Link | None) -> str:
    return "–" if link is None else f"{link['confidence']:.3f}"


def _reasons(kinds: dict[str, list[Pair]], before: FinishedRun, after: FinishedRun) -> list[Content]:
    """Why what was gained was not linked before, and why what was lost is not linked now."""
    made: list[Content] = []
    for title, run, caption in (
        ("gained", before, "Why those gained had not been linked"),
        ("lost", after, "Why those lost are not linked now"),
    ):
        if run.unlinked is None or not kinds[title]:
            continue
        sources = {(link or {})["source"] for pair in kinds[title] for link in pair if link is not None}
        why = zip(run.unlinked["source"].to_pylist(), grouped(run.unlinked["why"]), strict=True)
        counts = Counter(reason for source, reason in why if source in sources)
        if unlisted := len(sources) - counts.total():
            counts["given: known, or to have no counterpart"] = unlisted
        rows: list[tuple[Content, ...]] = [(label(reason), f"{count:,}") for reason, count in counts.most_common()]
        if rows:
            made.append(table((caption, "links"), rows, caption, numbers=1))
    return made


def _evidence(kinds: dict[str, list[Pair]], old: Explain | str, new: Explain | str) -> Element:
    """By how much each group of evidence speaks otherwise now for the links that differ, the most changed first."""
    missing = next((each for each in (old, new) if isinstance(each, str)), None)
    if isinstance(old, str) or isinstance(new, str):
        return h("p", "How the evidence changed is not shown: ", label(missing or ""), ".", class_="missing")
    change, links = defaultdict[str, float](float), 0
    for pair in [pair for pairs in kinds.values() for pair in pairs][:COMPARED]:
        link = pair[1] or pair[0]
        assert link is not None, "one of both runs has it"
        try:
            was, now = (explain(link["source"], link["target"]) for explain in (old, new))
        except EmeaError:
            continue
        links += 1
        for sign, told in ((-1, was), (1, now)):
            for group in told["groups"]:
                change[group["title"]] += sign * group["log_odds"]
    order = sorted(change, key=lambda title: -abs(change[title]))
    rows: list[tuple[Content, ...]] = [(label(title), f"{change[title] / max(links, 1):+.2f}") for title in order]
    caption = f"Mean change of the log-odds, over {links:,} of the links that differ"
    return h("div", h("h3", caption), table(("evidence", "change"), rows, caption, numbers=1))


def _settings(before: FinishedRun, after: FinishedRun) -> Element:
    """The settings that differ."""
    old, new = (_flat({**run.settings, "run": run.about}) for run in (before, after))
    names = [name for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)]
    if not names:
        return h("p", "Both runs have the same settings.")
    rows: list[tuple[Content, ...]] = [
        (name, *(label(str(side[name])) if name in side else "–" for side in (old, new))) for name in names
    ]
    caption = "Settings that differ"
    return h("div", h("h3", caption), table(("setting", "earlier", "now"), rows, caption))


def _flat(settings: dict[str, Any], before: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in settings.items():
        found |= _flat(value, f"{before}{name}.") if isinstance(value, dict) else {f"{before}{name}": value}
    return found
