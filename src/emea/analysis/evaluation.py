"""Measures a run against true links; the only place that opens a `Reference`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from emea.analysis.calibration import calibration_error, curve, reliability
from emea.analysis.measures import Alignments, Comparison, LinkMeasures, Measures, Ranking
from emea.analysis.ranking import (
    CSLS,
    Answer,
    beyond_candidates,
    by_odds,
    by_probability,
    by_similarity,
    count_beyond,
    ranking,
    ranks,
)
from emea.analysis.sampling import draw, weighted_ranks
from emea.data import Candidates, Counterparts, Links, Reference
from emea.kernels.joins import lookup
from emea.method.rounds import Outcome


def evaluate(subject: Outcome | Answer, reference: Reference) -> Measures:
    """All measures of a run: ranks for both pools and each decoding, and the links in both readings."""
    if isinstance(subject, Outcome):
        subject = answer(subject)
    known = tested_links(reference, subject.given)
    pools, weight = target_pools(subject, known), draw(subject, known)
    drawn = None if weight is None else weight.nonzero()[:, 0]
    outside = beyond_candidates(subject, known, torch.stack(list(pools.values())), drawn)
    ranked: dict[str, dict[str, Ranking]] = {}
    for row, (pool, inside) in enumerate(pools.items()):
        lowest, beyond = _lowest(inside, reference), None if outside is None else outside[row]
        found = {
            name: weighted_ranks(subject, known, inside, name, outside=beyond, weight=weight) for name in subject.scores
        }
        ends = (lowest, lowest, torch.ones_like(lowest))
        ranked[pool] = {
            name: ranking(*(torch.cat(both) for both in zip(columns, ends, strict=True)))
            for name, columns in found.items()
        }
    readings = (link_measures(subject, known, strict=strict, absent=reference.absent) for strict in (False, True))
    count = len(known) + len(reference.absent)
    return Measures(count, ranked, Alignments(*readings), sampled=None if drawn is None else len(drawn))


def answer(outcome: Outcome) -> Answer:
    """What a run in memory has to say. Decodings: `csls` is the encoder alone, `transport` its probabilities,
    `probability` the final beliefs, which are all that a baseline has."""
    pairs, task, last = outcome.counterparts.candidates, outcome.prepared.given, outcome.last
    if last is None:
        scores = {"probability": by_odds(outcome.counterparts.forward)}
    else:
        scores = {
            CSLS: by_similarity(pairs.similarity),
            "transport": by_probability(_at(pairs, last.believed)),
            "probability": by_probability(outcome.counterparts.forward),
        }
    device = pairs.source.device
    given = (task.seeds + task.validation).to(device)
    linkable = outcome.prepared.graphs.target.linkable.to(device)
    tail = None if last is None else count_beyond(last.embeddings, pairs)
    return Answer(outcome.alignment, pairs.source, pairs.target, scores, linkable, given, tail)


def _at(pairs: Candidates, believed: Counterparts) -> Tensor:
    """What the encoder believes about the pairs, [pairs]; nothing about those that it did not propose."""
    if len(believed.candidates) == len(pairs):
        return believed.forward
    keys, order = torch.sort(believed.candidates.keys())
    row = lookup(keys, pairs.keys())
    return torch.where(row >= 0, believed.forward[order[row.clamp(min=0)]], 0.0)


def realistic_ranks(subject: Answer, reference: Reference, pool: str, decoding: str) -> Tensor:
    """Rank of each known pair, for comparing two runs pair by pair, [known]; last come those of which a graph lacks an
    entity."""
    known = tested_links(reference, subject.given)
    inside = target_pools(subject, known)[pool]
    best, worst = ranks(subject, known, inside, decoding)
    return torch.cat([(best + worst) / 2, _lowest(inside, reference)])


def compare(first: Outcome | Answer, second: Outcome | Answer, reference: Reference) -> Comparison:
    """How two runs on the same graphs differ, pair by pair, leaving out sources that either was given."""
    from emea.analysis.significance import paired_t_test  # here: it loads slowly

    both = [answer(each) if isinstance(each, Outcome) else each for each in (first, second)]
    given = [each.given.to(torch.device("cpu")) for each in both]
    shared = given[0] + given[1]
    ranked = [
        realistic_ranks(
            replace(each, given=shared.to(each.given.source.device)), reference, "test targets", "probability"
        ).cpu()
        for each in both
    ]
    if not len(ranked[0]):
        return Comparison(0, 0.0, 0.0, 1.0)
    one, other = ranked
    hits = float((one <= 1).double().mean() - (other <= 1).double().mean())
    return Comparison(len(one), hits, *paired_t_test(1 / one, 1 / other))


def _lowest(pool: Tensor, reference: Reference) -> Tensor:
    """The ranks of the links of which a graph lacks an entity: behind all targets of the pool, [absent]."""
    return torch.full((len(reference.absent),), float(pool.sum()) + 1, dtype=torch.float64, device=pool.device)


def emitted(subject: Answer, reference: Reference) -> Tensor:
    """1 for each known pair that is among the links, else 0, [known]; last come those that lack an entity."""
    known = tested_links(reference, subject.given)
    links = Links.build(subject.links.source, subject.links.target)
    found = torch.isin(known.keys(subject.targets), links.keys(subject.targets)).double()
    return torch.cat([found, found.new_zeros(len(reference.absent))])


def tested_links(reference: Reference, given: Links) -> Links:
    """The links of the reference whose sources the run was not given."""
    known = reference.open().to(given.source.device)
    return known[~torch.isin(known.source, given.source)]


def target_pools(subject: Answer, known: Links) -> dict[str, Tensor]:
    """The targets in each pool, [targets] bool."""
    every = subject.linkable.clone()
    every[subject.given.target] = False
    every[known.target] = True
    tested = torch.zeros_like(every)
    tested[known.target] = True
    return {"test targets": tested, "all targets": every}


def link_measures(subject: Answer, known: Links, *, strict: bool, absent: Sequence[int] = ()) -> LinkMeasures:
    """Precision, recall, F1 and calibration of the links, leaving out pairs the run was given.

    Strict: a link from a source that the reference does not contain is wrong; otherwise such links do not count.
    """
    links = subject.links
    counted = ~torch.isin(links.source, subject.given.source)
    if not strict:
        counted &= torch.isin(links.source, torch.cat([known.source, known.source.new_tensor(absent)]))
    found = Links.build(links.source, links.target).keys(subject.targets)
    right = torch.isin(found, known.keys(subject.targets))[counted]
    confidence = links.confidence[counted].double()
    precision = float(right.double().mean()) if len(right) else 0.0
    count = len(known) + len(absent)
    recall = int(right.sum()) / max(count, 1)
    bins = reliability(confidence, right)
    return LinkMeasures(
        links=len(right),
        precision=precision,
        recall=recall,
        f1=2 * precision * recall / (precision + recall) if precision + recall else 0.0,
        calibration_error=calibration_error(bins),
        reliability=bins,
        curve=curve(confidence, right, count),
    )
