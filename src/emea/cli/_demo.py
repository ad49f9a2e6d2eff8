"""The demo: two real graphs linked without any known pair, and a few of the links in words."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from emea.cli._console import out
from emea.cli._linking import Job, link, tell
from emea.cli._options import Device, Json, MethodOptions, Out, OutputOptions, Quiet, chosen_settings
from emea.cli._resuming import refuse_overwriting
from emea.runs.inputs import Inputs
from emea.runs.workplace import Workplace, workplace

if TYPE_CHECKING:
    from emea.analysis.measures import Measures
    from emea.data import Graph
    from emea.method.rounds import Outcome

DEMO = "demo-run"  # is overwritten without asking
ROUNDS = "em.rounds=2"  # as good as the default on these graphs, and sooner
SHOWN, DOUBTFUL = 10, 3  # links
SURE = 0.9  # confidence of the links shown as examples
LONGEST = 28  # characters of a name shown as an example
LANGUAGES = ("de", "", "en")  # in which names are shown, if there are any; CLDR has German ones, GeoNames has not
LEAST_RIVAL = 0.05  # confidence from which a rival is named
Link = tuple[int, int, float]  # source, target, confidence


def demo(
    folder: Out = DEMO,
    structure: Annotated[
        bool, typer.Option("--structure", help="Use structure and 50 known pairs alone, neither names nor values.")
    ] = False,
    device: Device = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Link two real graphs of the world, Unicode CLDR and GeoNames, without any known pair."""
    output = OutputOptions(folder=folder, force=folder == DEMO, quiet=quiet, as_json=as_json)
    with workplace(folder, force=output.force) as place:
        refuse_overwriting(place.folder, force=output.force)
        _linked(output, place, structure=structure, device=device)


def _linked(output: OutputOptions, place: Workplace, *, structure: bool, device: str | None) -> None:
    """Link the two, tell what was found, and write a page about it."""
    from emea.examples import example_files

    source, target, truth = example_files("world")
    job, method = Job(Inputs(source=source, target=target), output, place, truth=truth), [ROUNDS]
    if structure:
        job, method = Job(Inputs(example="world"), output, place), []
    done = link(job, chosen_settings(MethodOptions(device=device, assignments=method), job.inputs))
    assert done is not None, "only a dry run finds nothing"
    outcome, measures = done
    if structure or measures is None or not job.talks:
        tell(job, outcome, measures)
    else:
        for line in story(outcome, measures, place.name):
            out.print(line, markup=False, highlight=False, soft_wrap=True)
    _report(job, outcome, truth)


def _report(job: Job, outcome: Outcome, truth: Path) -> None:
    """Write the page about the run, and say where it is."""
    from emea.report.page import write_report
    from emea.runs.explaining import Explainer
    from emea.runs.folder import REPORT

    page, told = job.place.folder / REPORT, Explainer.of(outcome)
    write_report(
        job.place.folder, page, reference=truth, complete=True, prepared=outcome.prepared,
        explain=lambda source, target: told.explain(source, target).to_dict(),
    )  # fmt: skip
    job.place.put()
    if job.talks:
        out.print(
            f"report: {job.place.name}/{REPORT}, to open in a browser", markup=False, highlight=False, soft_wrap=True
        )


def story(outcome: Outcome, measures: Measures, folder: str) -> Iterator[str]:
    """Some links that are instructive, those in doubt with reasons, and how many are right, missing, and left out."""
    found, given = outcome.alignment, outcome.prepared.given
    links = sorted(zip(found.source.tolist(), found.target.tolist(), found.confidence.tolist(), strict=True))
    source, target = _Described(given.source, "CLDR"), _Described(given.target, "GeoNames")
    examples, doubtful = _instructive(links, source, target), sorted(links, key=lambda each: each[2])[:DOUBTFUL]
    width = max(len(source.kinds[one]) for one, _, _ in (*examples, *doubtful))

    def line(each: Link) -> str:
        one, other, confidence = each
        return f"  {source.kinds[one]:<{width}}  {source.name(one)} ↔ {target.name(other)}  {_short(confidence)}"

    yield f"\n{len(links):,} links found between CLDR and GeoNames without any known pair; ten of them:"
    yield from map(line, examples)
    yield "the three most doubtful:"
    for each in doubtful:
        yield line(each)
        yield f"  {'':<{width}}  " + "; ".join(_reasons(outcome, source, target, *each[:2]))
    right = round(measures.strict.precision * measures.strict.links)
    yield f"right: {right:,} of {measures.strict.links:,}"
    sizes = [len(graph.entities) for graph in (given.source, given.target)]
    yield (
        f"unlinked: {sizes[0] - len(links):,} of {sizes[0]:,} in CLDR and {sizes[1] - len(links):,} of {sizes[1]:,} in "
        f"GeoNames; {measures.reference - right:,} true links were missed"
    )
    yield f"files: {folder}/alignment.tsv and others beside it"


@dataclass(frozen=True, eq=False)
class _Described:
    """The names, kinds and neighbours of the entities of one graph."""

    graph: Graph
    title: str

    @cached_property
    def said(self) -> dict[str, dict[int, dict[str, str]]]:
        """What each attribute says of each entity in each language, by the last part of the attribute's name."""
        table, found = self.graph.literals, defaultdict[str, dict[int, dict[str, str]]](lambda: defaultdict(dict))
        attributes = [name.replace("#", "/").rpartition("/")[2] for name in self.graph.attributes.to_pylist()]
        columns = (table[name].to_pylist() for name in ("entity", "attribute", "language", "value"))
        for entity, attribute, language, value in zip(*columns, strict=True):
            found[attributes[attribute]][entity].setdefault(language, value)
        return found

    @cached_property
    def neighbours(self) -> dict[int, set[int]]:
        """The entities that a relation leads to or comes from."""
        found = defaultdict[int, set[int]](set)
        for head, _, tail in self.graph.triples.tolist():
            found[head].add(tail)
            found[tail].add(head)
        return found

    @cached_property
    def kinds(self) -> dict[int, str]:
        """The kind of each entity."""
        return {entity: next(iter(values.values())) for entity, values in self.said["kind"].items()}

    @cached_property
    def common(self) -> Counter[str]:
        """How many entities there are of each kind."""
        return Counter(self.kinds.values())

    def own_name(self, entity: int) -> str | None:
        """A label, in German if there is one, or else a description or any label."""
        labels, described = (self.said[name].get(entity, {}) for name in ("label", "description"))
        preferred = (labels.get(language) for language in LANGUAGES)
        return next(filter(None, chain(preferred, described.values(), labels.values())), None)

    def name(self, entity: int) -> str:
        """Its own name, or else its kind and a neighbour."""
        own = self.own_name(entity)
        if own is not None:
            return own
        named = {each: name for each in self.neighbours[entity] if (name := self.own_name(each)) is not None}
        if not named:
            return f"a {self.kinds[entity]} without name"
        # Of the commonest kind, the best connected: a time zone is known by its capital, not by its country.
        known = max(named, key=lambda each: (self.common[self.kinds[each]], len(self.neighbours[each]), named[each]))
        others = f" and {len(named) - 1} others" if len(named) > 2 else ""
        return f"{self.kinds[entity]} of {named[known]}{others}"


def _instructive(links: list[Link], source: _Described, target: _Described) -> list[Link]:
    """Sure links between different names, those of the best connected entities first, of each kind in turn."""

    def appeal(each: Link) -> tuple[bool, int]:
        names = source.name(each[0]), target.name(each[1])
        return names[0].casefold() != names[1].casefold(), len(source.neighbours[each[0]])

    by_kind = defaultdict[str, list[Link]](list)
    for each in sorted((each for each in links if each[2] >= SURE), key=appeal, reverse=True):
        if max(len(source.name(each[0])), len(target.name(each[1]))) <= LONGEST:
            by_kind[source.kinds[each[0]]].append(each)
    kinds = sorted(by_kind, key=lambda kind: -len(by_kind[kind]))
    in_turn = [each for turn in zip_longest(*(by_kind[kind] for kind in kinds)) for each in turn if each is not None]
    return sorted(in_turn[:SHOWN], key=lambda each: kinds.index(source.kinds[each[0]]))


def _reasons(outcome: Outcome, source: _Described, target: _Described, one: int, other: int) -> Iterator[str]:
    """What speaks for a link and what against it: names, neighbours, the nearest rival."""
    unnamed = [side.title for side, entity in ((source, one), (target, other)) if side.own_name(entity) is None]
    yield f"no name in {' or '.join(unnamed)}" if unnamed else _shared(outcome, one, other)
    partner = dict(zip(outcome.alignment.source.tolist(), outcome.alignment.target.tolist(), strict=True))
    linked = [each for each in source.neighbours[one] if each in partner]
    agreeing = [each for each in linked if partner[each] in target.neighbours[other]]
    if len(agreeing) == 1:
        yield f"only its neighbour {source.name(agreeing[0])} agrees"
    else:
        yield f"{len(agreeing)} of {len(linked)} linked neighbours agree" if linked else "no neighbour is linked"
    beliefs = outcome.counterparts
    pairs = beliefs.candidates
    rows = (((pairs.source == one) != (pairs.target == other)) & (beliefs.confidence >= LEAST_RIVAL)).nonzero()[:, 0]
    if not len(rows):
        yield "no rival"
        return
    row = rows[beliefs.confidence[rows].argmax()]
    rival = target.name(int(pairs.target[row])) if pairs.source[row] == one else source.name(int(pairs.source[row]))
    yield f"nearest rival: {rival} {_short(float(beliefs.confidence[row]))}"


def _shared(outcome: Outcome, one: int, other: int) -> str:
    """The rarest value that two entities have in common, or nearly."""
    from emea.evidence.prepared import claims_of

    prepared, held = outcome.prepared, []
    for values, graph, entity in zip(
        prepared.values, (prepared.graphs.source, prepared.graphs.target), (one, other), strict=True
    ):
        claims, rows = claims_of(graph), (values.entity == entity).nonzero()[0]
        numbers, forms = claims.value[rows].tolist(), values.value[rows].tolist()
        found = zip(values.holders[forms].tolist(), claims.likeness[rows].tolist(), forms, strict=True)
        held.append(dict(zip(numbers, found, strict=True)))
    both = sorted(held[0].keys() & held[1].keys() - {-1}, key=lambda number: (held[0][number][0], -held[0][number][1]))
    if not both:
        return "no name or value in common"
    (_, likeness, first), (_, _, second) = (side[both[0]] for side in held)
    texts = [values.forms[form][2:] for values, form in zip(prepared.values, (first, second), strict=True)]
    return f"both have “{texts[0]}”" if likeness == 1 else f"“{texts[0]}” is only similar to “{texts[1]}”"


def _short(confidence: float) -> str:
    """Two digits, rounded down: nothing is certain."""
    return f"{math.floor(100 * confidence) / 100:.2f}".removeprefix("0")
