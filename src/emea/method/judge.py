"""Judges links by names, values, kinds, positions and neighbours together, with "none" estimated from the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from emea.data import Candidates, Counterparts, Embeddings, Links
from emea.evidence.comparison import UNKNOWN, Comparison, Fields
from emea.evidence.descriptions import Description, describe, unnamed
from emea.evidence.joins import joined, sharing
from emea.evidence.prepared import Prepared
from emea.kernels.joins import lookup
from emea.kernels.segments import segment_rank
from emea.method.matching import Calibration, mutual_best
from emea.method.mixture import START, Estimate, Pairs, Sample, competing, estimate
from emea.method.rounds import Absence
from emea.method.support import Support
from emea.settings import EvidenceSettings

BEST, LEAST = 10, 1e-3  # pairs of an entity that the loop believes most, and at least so much, are judged
SURE = 0.8  # confidence of the loop's links from which the judge starts
RANDOM_PAIRS = 4000  # by which chance is measured
SUREST = 0.995  # no pair is surer: also those who decide what is true make mistakes
LONE = 0.96  # a pair for which nothing but one field speaks is right so often at best
LINKED = 0.5  # probability from which an entity counts as linked
FEWEST_CHECKED = 20  # decisions from which confidence is learned; a few doubtful links that were looked at say little
REMOTE = 1e-3  # share of "none" that candidates which were not judged divide


def judge(
    prepared: Prepared, believed: Counterparts, embeddings: Embeddings, settings: EvidenceSettings
) -> tuple[Counterparts, Absence]:
    """The loop's beliefs, judged anew; and how many sources have no counterpart."""
    given = prepared.given
    first, second = describe(given.source, settings), describe(given.target, settings)
    asked = _considered(first, second, believed, given.seeds)
    sample = _sample(first, second, asked, _decisions(asked.pairs, prepared))
    width = len(second.linkable)
    found = estimate(sample, np.isin(_keys(asked.pairs, width), _keys(asked.start, width)) * START)
    confidence = found.probability * np.where(found.speaking > 1, SUREST, LONE)
    structural = (sample.evidence.levels == UNKNOWN).all(1)  # what the loop knows best
    confidence[structural] = np.minimum(confidence[structural], asked.belief[structural])
    confidence = _learned(confidence, sample, found, prepared)
    undecided = np.isnan(sample.decided)
    beliefs = _beliefs(asked.pairs[undecided], confidence[undecided], believed, embeddings)
    return beliefs, _absence(sample, found, first)


def between_named(believed: Counterparts, prepared: Prepared, settings: EvidenceSettings) -> Counterparts:
    """The beliefs about pairs of which neither is a blank node or a vocabulary term, unless those are asked for."""
    given, pairs = prepared.given, believed.candidates
    if settings.anonymous:
        return believed
    sides = ((given.source, pairs.source), (given.target, pairs.target))
    named = [torch.from_numpy(~unnamed(graph)).to(column.device)[column] for graph, column in sides]
    kept = named[0] & named[1]
    return believed if bool(kept.all()) else believed[kept]


def _learned(confidence: np.ndarray, sample: Sample, found: Estimate, prepared: Prepared) -> np.ndarray:
    """Confidence as decisions teach it: those about proposed links, and the best link of each entity that was found to
    have no counterpart."""
    given, pairs = prepared.given, sample.pairs
    if len(given.checked) + len(given.unmatched) < FEWEST_CHECKED:
        return confidence
    before = competing(pairs, found.odds, sample.sizes) * np.where(found.speaking > 1, SUREST, LONE)  # as if undecided
    checked = torch.stack([given.checked.source, given.checked.target], 1).numpy()
    row = np.flatnonzero(np.isin(_keys(pairs, sample.sizes[1]), _keys(checked, sample.sizes[1])))
    trials = [np.stack([before[row], sample.decided[row]], 1)]
    for column, alone in zip(pairs.T, (given.unmatched.source, given.unmatched.target), strict=True):
        best = np.zeros(int(column.max(initial=0)) + 1)
        np.maximum.at(best, column, before)
        known = alone.numpy()[np.isin(alone, column)]
        trials.append(np.stack([best[known], np.zeros(len(known))], 1))
    calibration = Calibration(torch.from_numpy(np.concatenate(trials)))
    return calibration(torch.from_numpy(confidence)).numpy()


@dataclass(frozen=True, eq=False)
class _Asked:
    """What is judged."""

    pairs: np.ndarray  # [pairs, 2]
    belief: np.ndarray  # [pairs] of the loop
    start: np.ndarray  # [links, 2] that are believed at the start


def _considered(first: Description, second: Description, believed: Counterparts, seeds: Links) -> _Asked:
    """The pairs that the loop believes most, that share a rare value or rare words, and the seeds. The start are the
    loop's surest links, pairs that alone share some value, and the seeds."""
    table, width = believed.candidates, len(second.linkable)
    confident = believed.confidence.double().cpu().numpy()
    near = segment_rank(table.source, table.sources, believed.forward) < BEST
    near |= segment_rank(table.target, table.targets, believed.backward) < BEST
    near &= torch.maximum(believed.forward, believed.backward) > LEAST
    every = np.stack([table.source.cpu().numpy(), table.target.cpu().numpy()], 1)
    linked = mutual_best(believed).cpu().numpy()
    linked = linked[confident[linked] >= SURE]
    known = torch.stack([seeds.source, seeds.target], 1).numpy()
    sizes = len(first.linkable), width
    parts = [every[near.cpu().numpy()], joined(first.values, second.values, sizes), known]
    pairs = np.unique(_linkable(np.concatenate(parts), first, second), axis=0)
    belief = np.zeros(len(pairs))
    place = np.searchsorted(_keys(pairs, width), _keys(every, width)).clip(max=max(0, len(pairs) - 1))
    same = _keys(pairs, width)[place] == _keys(every, width) if len(pairs) else np.zeros(len(every), dtype=bool)
    belief[place[same]] = confident[same]
    start = np.concatenate([every[linked], sharing(first.values, second.values, 1), known])
    return _Asked(pairs, belief, np.unique(_linkable(start, first, second), axis=0))


def _keys(pairs: np.ndarray, width: int) -> np.ndarray:
    keys: np.ndarray = pairs[:, 0] * width + pairs[:, 1]
    return keys


def _linkable(pairs: np.ndarray, first: Description, second: Description) -> np.ndarray:
    """The pairs whose entities may be linked."""
    inside = (pairs[:, 0] < len(first.linkable)) & (pairs[:, 1] < len(second.linkable))  # not values
    pairs = pairs[inside]
    kept: np.ndarray = pairs[first.linkable[pairs[:, 0]] & second.linkable[pairs[:, 1]]]
    return kept


def _decisions(pairs: np.ndarray, prepared: Prepared) -> np.ndarray:
    """What is known about each pair, [pairs]: 1 for seeds, 0 for pairs that are ruled out, NaN for others."""
    given, width = prepared.given, len(prepared.given.target.entities)
    decided = np.full(len(pairs), np.nan)
    decided[np.isin(pairs[:, 0], given.unmatched.source) | np.isin(pairs[:, 1], given.unmatched.target)] = 0.0
    seeds, out = (torch.stack([links.source, links.target], 1).numpy() for links in (given.seeds, given.exclusions))
    decided[np.isin(pairs[:, 0], seeds[:, 0]) | np.isin(pairs[:, 1], seeds[:, 1])] = 0.0
    decided[np.isin(_keys(pairs, width), _keys(out, width))] = 0.0
    decided[np.isin(_keys(pairs, width), _keys(seeds, width))] = 1.0
    return decided


def _sample(first: Description, second: Description, asked: _Asked, decided: np.ndarray) -> Sample:
    """Compare the pairs, pairs at random, and pairs within each graph."""
    draw, width, pairs = np.random.default_rng(0), len(second.linkable), asked.pairs
    compare = Comparison(first, second)
    fields = compare.fields(asked.start, draw)
    named = first.naming_kinds, second.naming_kinds
    if min(named) >= 0 and fields.source[named[0]] == fields.target[named[1]] >= 0:  # compared as values already
        first, second = first.without_kinds(), second.without_kinds()
    own = [np.flatnonzero(side.linkable) for side in (first, second)]
    at_random = np.stack([draw.choice(side, RANDOM_PAIRS if len(side) else 0) for side in own], 1)
    at_random = at_random[~np.isin(_keys(at_random, width), _keys(pairs, width))]
    levels, frequent = compare.levels(pairs, fields)
    within = _joint(
        _within(first, fields.within(0), draw),
        _within(second, fields.within(1), draw),
        _alike(first, second, asked.start),
    )
    return Sample(
        pairs=pairs,
        evidence=Pairs(levels, frequent, first.kind[pairs[:, 0]] + 1, np.ones(len(pairs))),
        target_kind=second.kind[pairs[:, 1]] + 1,
        belief=asked.belief,
        decided=decided,
        random_kind=first.kind[at_random[:, 0]] + 1,
        within=within,
        support=Support(first, second, np.concatenate([pairs, at_random])),
        sources=np.bincount(first.kind[first.linkable] + 1, minlength=first.kinds + 1),
        targets=np.bincount(second.kind[second.linkable] + 1, minlength=second.kinds + 1),
        sizes=(len(first.linkable), width),
    )


def _within(side: Description, fields: Fields, draw: np.random.Generator) -> Pairs:
    """Pairs of different entities of a graph: all that share rare values or words, and some at random, which stand for
    all others."""
    size, own = len(side.linkable), np.flatnonzero(side.linkable)
    near = joined(side.values, side.values, (size, size))
    near = near[near[:, 0] < near[:, 1]]
    other = np.sort(draw.choice(own, (RANDOM_PAIRS if len(own) else 0, 2)), 1)
    other = other[(other[:, 0] < other[:, 1]) & ~np.isin(_keys(other, size), _keys(near, size))]
    rest = max(0.0, len(own) * (len(own) - 1) / 2 - len(near))
    weight = np.concatenate([np.ones(len(near)), np.full(len(other), rest / max(1, len(other)))])
    pairs = np.concatenate([near, other])
    levels, frequent = Comparison(side, side).levels(pairs, fields)
    return Pairs(levels, frequent, side.kind[pairs[:, 0]] + 1, weight)


def _alike(first: Description, second: Description, links: np.ndarray) -> np.ndarray:
    """The kind of source that each kind of target is linked to most often, [kinds]; 0 if to none."""
    count = np.zeros((second.kinds + 1, first.kinds + 1))
    np.add.at(count, (second.kind[links[:, 1]] + 1, first.kind[links[:, 0]] + 1), 1)
    return np.where(count.any(1), count.argmax(1), 0)


def _joint(source: Pairs, target: Pairs, alike: np.ndarray) -> Pairs:
    """Pairs within either graph; the kinds of targets replaced by those of the sources that they are like."""
    both = ((source.levels, target.levels), (source.frequent, target.frequent), (source.kind, alike[target.kind]))
    weights = source.weight, target.weight
    return Pairs(*(np.concatenate(columns) for columns in (*both, weights)))


def _beliefs(pairs: np.ndarray, confidence: np.ndarray, believed: Counterparts, embeddings: Embeddings) -> Counterparts:
    """Beliefs about the judged pairs and, far below them, the loop's other candidates in their order."""
    old, device = believed.candidates, believed.forward.device
    source, target = (torch.from_numpy(np.ascontiguousarray(column)).to(device) for column in pairs.T)
    keys, index = torch.unique(torch.cat([source * old.targets + target, old.keys()]), return_inverse=True)
    judged = torch.zeros(len(keys), dtype=torch.float64, device=device)
    judged[index[: len(pairs)]] = torch.from_numpy(confidence).to(device)
    is_judged = torch.zeros(len(keys), dtype=torch.bool, device=device)
    is_judged[index[: len(pairs)]] = True
    new = Candidates(
        keys // old.targets,
        keys % old.targets,
        _cosine(embeddings, keys // old.targets, keys % old.targets, believed, keys),
        old.sources,
        old.targets,
        old.source_density,
        old.target_density,
    )
    sides = []
    for column, own, size in (
        (new.source, believed.forward, old.sources),
        (new.target, believed.backward, old.targets),
    ):
        none = (1 - torch.zeros(size, dtype=torch.float64, device=device).index_add_(0, column, judged)).clamp(min=0)
        before = torch.zeros_like(judged)
        before[index[len(pairs) :]] = own.double()
        sides.append((torch.where(is_judged, judged, REMOTE * before * none[column]), none))
    return Counterparts(new, sides[0][0], sides[1][0], sides[0][1], sides[1][1])


def _cosine(embeddings: Embeddings, source: Tensor, target: Tensor, believed: Counterparts, keys: Tensor) -> Tensor:
    """Of each pair, [pairs]; those of the loop's candidates as they were."""
    old = believed.candidates
    order = torch.argsort(old.keys())
    row = lookup(old.keys()[order], keys)
    found = torch.empty(len(keys), dtype=old.cosine.dtype, device=keys.device)
    found[row >= 0] = old.cosine[order][row[row >= 0]]
    missing = row < 0
    found[missing] = (embeddings.source[source[missing]] * embeddings.target[target[missing]]).sum(1).to(found.dtype)
    return found


def _absence(sample: Sample, found: Estimate, first: Description) -> Absence:
    """How many sources have no counterpart. What happens to those is seen by taking the counterpart away from sources
    that have one: U of the sources are not linked, F₀ of those without a counterpart are all the same, so that at most
    π₀ = U / (1 − F₀) have none."""
    source, target = sample.pairs.T
    sizes, linked = sample.sizes, found.probability >= LINKED
    partner = np.full(sizes[0], -1)
    partner[source[linked]] = target[linked]
    without = (partner[source] >= 0) & (partner[source] != target)
    z = np.exp(found.odds.clip(-50, 30))
    taken = np.bincount(target, z, sizes[1])[target]  # the target's other sources stay
    own = np.bincount(source[without], z[without], sizes[0])[source]
    again = np.where(without, z / (1 + own + taken - z), 0.0)
    best = np.zeros(sizes[0])
    np.maximum.at(best, source, again)
    tried = np.flatnonzero(partner >= 0)
    sources = int(first.linkable.sum())
    if not len(tried):
        return Absence(1.0, 0.0, sources)
    still = float((best[tried] >= LINKED).mean())
    unlinked = 1 - len(tried) / max(1, sources)
    return Absence(min(1.0, unlinked / max(1e-9, 1 - still)), still, sources)
