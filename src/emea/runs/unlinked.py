"""The entities without a link: what each would most probably be linked to, and, of sources, why it is not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from emea.candidates.kept import KeptEmbeddings
from emea.data import Candidates, Counterparts, Graph
from emea.evidence.descriptions import linkable_of
from emea.evidence.unnamed import unnamed
from emea.formats._labels import labels
from emea.formats._writing import shown_labels
from emea.kernels.limits import TIED_PROBABILITY
from emea.method.competition import Competition
from emea.method.rounds import Outcome

HUNDREDTHS = pa.array([f"{number / 100:.2f}".removeprefix("0") for number in range(101)], pa.large_string())
SMALLEST = 1e-4  # doubt that calibration sees
LEAST_SPREAD = 0.1  # of the links' logits, to draw a line through them
NEGLIGIBLE = 0.01  # probability of a candidate that is not worth a look
NEARLY = 0.2  # a source with such a share of the probability of the target's other sources may be their twin
CLOSEST = ("candidate", "candidate_label", "probability")
UNLINKED_SCHEMA = pa.schema(
    {name: pa.large_string() for name in ("source", "source_label", *CLOSEST)} | {"why": pa.large_string()}
).set(4, pa.field("probability", pa.float64()))
NONE = "no counterpart found: "
Text: TypeAlias = str | pa.Array
Case = tuple[np.ndarray, Sequence[Text]]  # where it holds, [rows] bool; and the parts of what to say then


def unlinked(outcome: Outcome, near: Counterparts | None = None) -> pa.Table:
    """The sources that may be linked and are not, those first that came closest: source, its label, the most probable
    candidate, its label, its probability, and why it is not linked. `near` are the final beliefs as far as they matter,
    if these are fewer."""
    beliefs = outcome.counterparts if near is None else near
    task, source = outcome.prepared.given, np.flatnonzero(_open(outcome, 0))
    found, row = _closest(beliefs, (task.source, task.target), source)
    told = {
        "source": found[0],
        "source_label": found[1],
        **dict(zip(CLOSEST, found[2:], strict=True)),
        "why": _Reasons(outcome, beliefs).of(source, row),
    }
    return pa.table(told).sort_by([("probability", "descending"), ("source", "ascending")])


def unlinked_targets(outcome: Outcome, near: Counterparts | None = None) -> pa.Table:
    """The same of the targets, without why: which source each most probably is."""
    beliefs = outcome.counterparts if near is None else near
    task, target = outcome.prepared.given, np.flatnonzero(_open(outcome, 1))
    found, _ = _closest(beliefs.swap(), (task.target, task.source), target)
    told = {"target": found[0], "target_label": found[1], **dict(zip(CLOSEST, found[2:], strict=True))}
    return pa.table(told).sort_by([("probability", "descending"), ("target", "ascending")])


def best_rows(beliefs: Counterparts, besides: np.ndarray | None = None) -> np.ndarray:
    """Row of the most probable candidate of each source, [sources], −1 if it has none; of equals, the most similar one
    is shown. Pairs for which `besides` holds, [pairs] bool, are left out."""
    pairs = beliefs.candidates
    source, probability, cosine = (each.cpu().numpy() for each in (pairs.source, beliefs.forward, pairs.cosine))
    if besides is not None:
        probability = np.where(besides, np.float32(-1), probability)
    top = _highest(source, probability, pairs.sources)
    rows = np.flatnonzero((probability == top[source]) & (probability >= 0))
    rows = rows[np.lexsort((rows, -cosine[rows], source[rows]))]
    having, first = np.unique(source[rows], return_index=True)
    best = np.full(pairs.sources, -1)
    best[having] = rows[first]
    return best


def _closest(
    beliefs: Counterparts, graphs: tuple[Graph, Graph], entities: np.ndarray
) -> tuple[list[pa.Array], np.ndarray]:
    """Name and label of each entity of the first graph, of its most probable candidate in the second, and the
    probability; and the candidates' rows."""
    row = best_rows(beliefs)[entities]
    found, (own, other) = row >= 0, graphs
    candidate, probability = (
        at_rows(column.cpu().numpy(), row) for column in (beliefs.candidates.target, beliefs.forward)
    )
    told = [
        own.entities.take(pa.array(entities)),
        shown_labels(own, entities),
        other.entities.take(pa.array(candidate, mask=~found)),
        pc.if_else(pa.array(found), shown_labels(other, candidate), None),
        pa.array(probability.astype(np.float64), mask=~found),
    ]
    return told, row


def at_rows(column: np.ndarray, row: np.ndarray) -> np.ndarray:
    """The values in these rows; 0 for row −1."""
    return np.where(row >= 0, column[row], 0) if len(column) else np.zeros(len(row), dtype=column.dtype)


def _open(outcome: Outcome, side: int) -> np.ndarray:
    """Which sources (side 0) or targets (1) may be linked and are not, [entities] bool."""
    prepared, evidence = outcome.prepared, outcome.settings.evidence
    task, column = prepared.given, ("source", "target")[side]
    graph = (task.source, task.target)[side]
    if outcome.absence is not None:  # judged by values
        found, _ = linkable_of(graph, prepared.values[side], evidence)
    else:
        found = graph.linkable.numpy() & (evidence.anonymous | ~unnamed(graph))
    alone = getattr(task.unmatched, column)
    for linked in (getattr(outcome.alignment, column), getattr(task.seeds, column), alone[alone >= 0]):
        found[linked.cpu().numpy()] = False
    return found


class _Reasons:
    """Why sources are not linked, as far as the results of a run tell."""

    def __init__(self, outcome: Outcome, beliefs: Counterparts) -> None:
        self.task, self.settings = outcome.prepared.given, outcome.settings.matching
        self.competition = Competition.of(self.settings)
        self.baseline = outcome.settings.method if outcome.last is None else None
        self.valued = self.baseline is None and outcome.settings.evidence.counts_values
        links, pairs = outcome.alignment, beliefs.candidates
        self.beliefs = beliefs
        believed = beliefs.source_none, beliefs.forward, beliefs.backward, beliefs.confidence
        self.source, self.target, self.none, self.forward, self.backward, self.raw = (
            column.cpu().numpy() for column in (pairs.source, pairs.target, *believed)
        )
        source, target = links.source.cpu().numpy(), links.target.cpu().numpy()
        self.partner, self.sure = np.full(pairs.targets, -1), np.zeros(pairs.targets)
        self.partner[target], self.sure[target] = source, links.confidence.double().cpu().numpy()
        linked = np.flatnonzero(self.partner[self.target] == self.source)
        self.linked = self.raw[linked].astype(np.float64), self.sure[self.target[linked]]
        self.taken = (self.partner >= 0) & self.competition.target  # no other source can have them
        self.excluded = _excluded(outcome, pairs)

    def of(self, source: np.ndarray, row: np.ndarray) -> pa.Array:
        """A phrase for each of these sources, given the rows of their most probable candidates."""
        target, probability = at_rows(self.target, row), at_rows(self.forward, row).astype(np.float64)
        twins = self._twins(target, row)
        taken = [
            *("taken by ", _called(self.task.source, self.partner[target])),
            *(" with ", _shown(self.sure[target]), twins),
        ]
        rivalry = self._by_method(source, target, row, twins) if self.baseline is None else []
        cases: list[Case] = [
            (row < 0, ["no candidate"]),
            *self._without(source, target, probability, taken, rivalry),
            (self.taken[target], taken),
            *rivalry,
        ]
        least, name = self.settings.minimum, "probability" if self.baseline else "confidence"
        sure = probability if self.baseline else _calibrated(at_rows(self.raw, row).astype(np.float64), *self.linked)
        cases.append((sure < least, [f"{name} ", _shown(sure), f" below {_short(least)}"]))
        if self.settings.precision is not None:
            needed = f" too low for a precision of {_short(self.settings.precision)}"
            cases.append((sure < 1, [f"{name} ", _shown(sure), needed]))
        cases.append((row >= 0, [f"left out by {self.baseline or self.settings.method}"]))
        return _first_that_holds(cases)

    def _without(
        self, source: np.ndarray, target: np.ndarray, probability: np.ndarray, taken: list[Text], rivalry: list[Case]
    ) -> list[Case]:
        """What is known of sources to which "none" fits at least as well as any candidate."""
        none, excluded = self.none[source], self.excluded[source]
        likelier, close = probability <= none, probability >= NEGLIGIBLE
        shares = [NONE, _rounded(none), " for none, ", _rounded(probability), " for the candidate"]
        return [
            (likelier & (excluded >= 0), ["its link to ", _called(self.task.target, excluded), " is excluded"]),
            (likelier & self.taken[target], [NONE, "the nearest candidate is ", *taken]),
            (likelier & ~close, [f"{NONE}every candidate is below {_short(NEGLIGIBLE)}"]),
            *((likelier & holds, [*shares, "; ", *said]) for holds, said in rivalry),
            (likelier, shares),
        ]

    def _twins(self, target: np.ndarray, row: np.ndarray) -> pa.Array:
        """What helps where the candidate fits the source, and others nearly as well: these may be one thing. By
        structure alone, many look alike that are not."""
        own = at_rows(self.backward, row).astype(np.float64)
        none = self.beliefs.target_none.cpu().numpy()[target]
        is_twin = (own >= none) & (own >= NEARLY * (1 - none - own))
        option = {"one-to-one": "many-to-one", "one-to-many": "many-to-many"}.get(self.settings.cardinality)
        hint = f"; --cardinality {option} links both, if they are one" if option and self.valued else ""
        return pc.if_else(pa.array(is_twin), hint, "")

    def _by_method(self, source: np.ndarray, target: np.ndarray, row: np.ndarray, twins: pa.Array) -> list[Case]:
        """Why pairs are not the best of those that they compete with, where that is required."""
        source_once, target_once = self.competition
        if self.settings.method != "mutual" and source_once and target_once:
            return []
        pairs = self.beliefs.candidates
        ours, theirs = _touching(self.source, source, pairs.sources), _touching(self.target, target, pairs.targets)
        ends = (
            (self.source[ours], self.forward[ours], pairs.sources),
            (self.target[theirs], self.backward[theirs], pairs.targets),
        )
        tops = [_highest(*end) - TIED_PROBABILITY for end in ends]
        ties = [
            np.bincount(end[score >= top[end]], minlength=count) > 1
            for (end, score, count), top in zip(ends, tops, strict=True)
        ]
        rivals = best_rows(self.beliefs[torch.from_numpy(theirs).to(pairs.source.device)].swap())
        rival = at_rows(self.source[theirs], rivals[target])
        worse = at_rows(self.backward, row) < tops[1][target]
        return [
            (ties[0][source] & source_once, ["another candidate is as probable"]),
            (worse & target_once, ["the candidate fits ", _called(self.task.source, rival), " better", twins]),
            (ties[1][target] & target_once, ["the candidate fits another source as well", twins]),
        ]


def _excluded(outcome: Outcome, pairs: Candidates) -> np.ndarray:
    """The target that each source must not be linked to, [sources], or −1; of several, the most similar one: what is
    excluded has no probability."""
    wrong, found = outcome.prepared.given.exclusions.to(pairs.source.device), np.full(pairs.sources, -1)
    if outcome.last is not None and len(wrong):
        near = KeptEmbeddings.of(outcome.last.embeddings).cosines(wrong.source, wrong.target)
        wrong = wrong[torch.argsort(near, stable=True)]  # the last counts
    found[wrong.source.cpu().numpy()] = wrong.target.cpu().numpy()
    return found


def _touching(end: np.ndarray, asked: np.ndarray, size: int) -> np.ndarray:
    """The rows of pairs with one of the entities asked for, which are few of all."""
    wanted = np.zeros(size, dtype=bool)
    wanted[asked] = True
    return np.flatnonzero(wanted[end])


def _called(graph: Graph, entity: np.ndarray) -> pa.Array:
    """The labels of entities, or else their names; of any where there is none."""
    some = np.maximum(entity, 0)
    return pc.coalesce(labels(graph, some), graph.entities.take(pa.array(some)))


def _calibrated(raw: np.ndarray, linked: np.ndarray, confidence: np.ndarray) -> np.ndarray:
    """The confidence that pairs would be given, [pairs]: calibration is a line between logits, which two links tell."""
    logit, before, after = _logit(raw), _logit(linked), _logit(confidence)
    if not len(before) or np.ptp(before) < LEAST_SPREAD:
        return raw
    apart = before - before.mean()
    slope = (apart * after).sum() / (apart * apart).sum()
    calibrated: np.ndarray = 1 / (1 + np.exp(-(after.mean() + slope * (logit - before.mean()))))
    return calibrated


def _logit(probability: np.ndarray) -> np.ndarray:
    bounded = np.clip(probability, SMALLEST, 1 - SMALLEST)
    return np.asarray(np.log(bounded / (1 - bounded)))


def _highest(index: np.ndarray, score: np.ndarray, size: int) -> np.ndarray:
    """Largest score of each index, [size]; −1 if it has none."""
    top = np.full(size, -1, dtype=score.dtype)
    if len(index) and (index[1:] >= index[:-1]).all():  # which is the rule, and quicker
        first = np.flatnonzero(np.diff(index, prepend=-1))
        top[index[first]] = np.maximum.reduceat(score, first)
    else:
        np.maximum.at(top, index, score)
    return top


def _shown(share: np.ndarray) -> pa.Array:
    """With two digits, rounded down: .97."""
    return HUNDREDTHS.take(pa.array((100 * share + 1e-4).astype(np.int64)))  # .7 is no less in single precision


def _rounded(share: np.ndarray) -> pa.Array:
    """To two digits: .98; what is not certain does not become 1.00."""
    return HUNDREDTHS.take(pa.array(np.rint(100 * share).clip(max=99).astype(np.int64)))


def _short(share: float) -> str:
    """As few digits as it takes, at least two: .50."""
    return max(f"{share:.2f}", f"{share:g}", key=len).removeprefix("0")


def _first_that_holds(cases: Sequence[Case]) -> pa.Array:
    """For each row the text of the first case that holds, as one does."""
    chosen = np.select([holds for holds, _ in cases], range(len(cases)))
    texts, order = [], []
    for number, (_, parts) in enumerate(cases):
        rows = np.flatnonzero(chosen == number)
        order.append(rows)
        texts.append(_joined(parts, rows))
    return pa.concat_arrays(texts).take(pa.array(np.argsort(np.concatenate(order), kind="stable")))


def _joined(parts: Sequence[Text], rows: np.ndarray) -> pa.Array:
    """The parts put together, for some rows."""
    text = pa.large_string()
    columns = [
        pa.repeat(pa.scalar(part, text), len(rows)) if isinstance(part, str) else part.take(pa.array(rows)).cast(text)
        for part in parts
    ]
    return pc.binary_join_element_wise(*columns, pa.scalar("", text))
