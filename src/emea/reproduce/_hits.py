"""Additional measures for Fig. 5 and Appendix A: both parts after each round, and compatibility."""

from __future__ import annotations

from typing import Any

import torch

from emea.analysis.evaluation import realistic_ranks, tested_links
from emea.analysis.ranking import CSLS, Answer, average, by_probability, by_similarity, count_beyond
from emea.data import Alignment, Candidates, Counterparts, Links, Reference, Task
from emea.kernels.joins import lookup
from emea.kernels.segments import segment_best
from emea.method.rounds import Outcome, Round
from emea.rules.paris import PARIS, PARISSettings

POOL = "test targets"  # as in published tables
STRIPES = 20  # bins of a histogram


def round_hits(ended: Round, task: Task, reference: Reference) -> dict[str, float]:
    """Hit@1 of both parts after a round, among the test targets: the encoder by CSLS, and q* (Fig. 5)."""
    pairs = ended.believed.candidates
    row = lookup(ended.refined.candidates.keys(), pairs.keys())
    refined = torch.where(row >= 0, ended.refined.forward[row.clamp(min=0)].double(), 0.0)
    scores = {CSLS: by_similarity(pairs.similarity), "compatibility": by_probability(refined)}
    given = (task.seeds + task.validation).to(pairs.source.device)
    links = Alignment(pairs.source[:0], pairs.target[:0], pairs.cosine[:0], pairs.cosine[:0])
    every = torch.ones(pairs.targets, dtype=torch.bool, device=pairs.source.device)
    tail = count_beyond(ended.embeddings, pairs)
    subject = Answer(links, pairs.source, pairs.target, scores, every, given, tail)
    names = {"neural": CSLS, "compatibility": "compatibility"}
    return {name: average(realistic_ranks(subject, reference, POOL, score) <= 1) for name, score in names.items()}


def compatibility(outcome: Outcome, reference: Reference) -> dict[str, Any]:
    """How compatible the encoder's predictions for the test sources are, and how compatible the true links are
    (Appendix A): g of the PARIS rule at each source if all other predictions were true, as a mean and as a histogram
    from 0 to 1; and the share of predictions whose target is also claimed by another source."""
    assert outcome.last is not None
    pairs, task = outcome.last.believed.candidates, outcome.prepared.given
    device = pairs.source.device
    given = (task.seeds + task.validation).to(device)
    known = tested_links(reference, given)
    best = segment_best(pairs.source, pairs.sources, pairs.similarity)
    rows = best[best >= 0]
    predicted = Links.build(pairs.source[rows], pairs.target[rows])
    predicted = predicted[~torch.isin(predicted.source, given.source)]
    rule = PARIS(task, PARISSettings(evidence="best"), device)
    found: dict[str, Any] = {}
    for name, links in (("predicted", predicted), ("true", known)):
        every = links + Links.build(given.source, given.target)
        beliefs = _taken_for_true(every, pairs)
        value = rule.factors(beliefs, outcome.last.embeddings)[torch.isin(every.source, known.source)]
        shares = torch.histc(value.float(), STRIPES, 0, 1) / max(len(value), 1)
        found[name] = {"mean": average(value), "shares": shares.tolist()}
    claims = torch.bincount((predicted + given).target, minlength=pairs.targets)
    tested = predicted[torch.isin(predicted.source, known.source)]
    return {**found, "conflicts": average(claims[tested.target] > 1)}


def _taken_for_true(links: Links, pairs: Candidates) -> Counterparts:
    """Beliefs in which the links are certain, in the same order."""
    one, none = links.weight.new_ones(len(links), dtype=torch.float64), links.weight.new_zeros
    form = pairs.sources, pairs.targets, pairs.source_density, pairs.target_density
    candidates = Candidates(links.source, links.target, links.weight, *form)
    return Counterparts(candidates, one, one, none(pairs.sources), none(pairs.targets))
