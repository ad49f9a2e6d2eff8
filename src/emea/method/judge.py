"""Judges links by names, values, kinds, positions and neighbours together, with "none" estimated from the data."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from emea.candidates.kept import KeptEmbeddings
from emea.data import Candidates, Counterparts, Embeddings, Task
from emea.evidence.comparison import UNKNOWN
from emea.evidence.descriptions import describe
from emea.evidence.prepared import Prepared
from emea.kernels.joins import lookup
from emea.method.competition import Competition, against_none, competing, things
from emea.method.grounds import IDENTITY, Judged, Line
from emea.method.matching import Calibration, between
from emea.method.mixture import LINKED, Estimate, estimate
from emea.method.rounds import Absence
from emea.method.sample import FEWEST, Sample, compare, consider, keys_of
from emea.settings import Settings

SUREST = 0.995  # no pair is surer: also those who decide what is true make mistakes
RELEARNED = 3  # times at most that fields are learned anew
LONE = 0.96  # a pair for which nothing but one field speaks is right so often at best
MUCH = 0.5  # share of the links that chance explains, from which it lowers confidence: near relatives explain less
FAINT = 0.1  # what is left of confidence at least
FEWEST_CHECKED = 20  # decisions from which confidence is learned; a few doubtful links that were looked at say little
PROPOSED = 0.1  # confidence of a pair from which a person might be asked about it
MIDDLE = 4  # of the levels of agreement
LEAST = 1e-12  # confidence: explanations take its logarithm
REMOTE = 1e-3  # share of "none" that candidates which were not judged divide


def judge(
    prepared: Prepared, believed: Counterparts, embeddings: Embeddings, settings: Settings
) -> tuple[Counterparts, Absence, Judged]:
    """The loop's beliefs, judged anew; how many sources have no counterpart; and what pairs were judged by."""
    competition = Competition.of(settings.matching)
    mirrored = competition.target and not competition.source  # the mixture asks each source for its one counterpart
    sample, believed = _sample(prepared, believed, settings, mirrored=mirrored)
    sample, found = _estimated(sample)
    ceiling = np.where(found.speaking > 1, SUREST, LONE)
    structural = (sample.evidence.levels == UNKNOWN).all(1)  # what the loop knows best
    enough = not len(prepared.given.seeds) and sample.start.sum() >= FEWEST  # links that began with values alone
    by_chance = 1.0 if enough and structural.all() else _by_chance(found)  # none of which agree more than others do
    few = int((found.probability >= LINKED).sum()) < FEWEST  # of so few, chance tells nothing for sure
    explained = np.where(structural, by_chance, found.by_chance) * (few or by_chance >= MUCH)
    doubt = np.maximum(1 - explained, FAINT)
    most = np.where(structural, sample.belief, 1.0) * doubt
    absence = _absence(sample, found, by_chance, (ceiling, most), int(mirrored))
    calibration = _learned(sample, found, (ceiling, doubt), prepared.given.swap() if mirrored else prepared.given)
    confidence, undecided = np.minimum(found.probability * ceiling, most), np.isnan(sample.decided)
    share = np.ones(len(confidence))
    if calibration is not None:
        confidence = calibration(torch.from_numpy(confidence)).numpy()  # of each pair, whatever its rivals have
        share = _shares(sample, confidence)
    pairs = sample.pairs[:, ::-1] if mirrored else sample.pairs
    beliefs = _beliefs(pairs[undecided], (confidence * share)[undecided], believed, embeddings)
    line = IDENTITY if calibration is None else calibration.line
    grounds = _grounds(sample, found, (ceiling, most, share), line, mirrored=mirrored)
    return beliefs, absence, grounds


def _estimated(sample: Sample) -> tuple[Sample, Estimate]:
    """The mixture's estimate; anew where what it links tells of other fields, in which more is linked: what the loop
    links at the start may be poor, and synonyms may say less than they hide."""
    best = sample, estimate(sample)
    for _ in range(RELEARNED):
        sample, found = best
        tried = [(each, estimate(each)) for each in sample.again(found.probability >= LINKED)]
        best = max([best, *tried], key=lambda pair: int((pair[1].probability >= LINKED).sum()))
        if best[0] is sample:
            break
    return best


def _grounds(
    sample: Sample, found: Estimate, limits: tuple[np.ndarray, np.ndarray, np.ndarray], line: Line, *, mirrored: bool
) -> Judged:
    """What the pairs were judged by, from the source to the target."""
    pairs, fields, thing = sample.pairs, sample.fields, np.empty(0, dtype=np.int64)
    if not any(sample.competition):  # and so never mirrored
        thing = things(pairs, np.log(against_none(found.odds).clip(1e-300)), sample.sizes)
    if mirrored:
        pairs, fields = pairs[:, ::-1], fields.swap()
    by_field, steps = found.values.by_field, found.values.steps
    return Judged(pairs, found.said, by_field, steps, fields, *limits, line, thing, sample.sizes[mirrored], mirrored)


def taught(
    prepared: Prepared, believed: Counterparts, embeddings: Embeddings, settings: Settings
) -> tuple[Counterparts, dict[tuple[int, int], float]] | None:
    """The loop's beliefs, none surer than decisions teach: a logistic regression on how well values and neighbours of
    the decided pairs agree; and what it says of each pair. None if there are too few decisions, or all are alike."""
    if not teaches(prepared.given):
        return None
    from sklearn.linear_model import LogisticRegression  # here: it loads slowly, and few runs have decisions

    sample, believed = _sample(prepared, believed, settings)
    undecided = np.isnan(sample.decided)
    support = sample.support.levels(np.where(undecided, sample.belief, sample.decided))[: len(sample.pairs), None]
    level = np.concatenate([sample.evidence.levels, support], 1)
    features = np.concatenate([np.where(level == UNKNOWN, 0.0, level / MIDDLE - 1), level == UNKNOWN], 1)
    sure = -np.where(level == UNKNOWN, MIDDLE, level).mean(1)
    for _ in range(2):  # the second time the surest pair of an entity without counterpart is what was learned
        row, right = _trials(sample, sure, prepared.given)
        if len(np.unique(right)) < 2:
            return None
        sure = LogisticRegression(max_iter=1000).fit(features[row], right).predict_proba(features)[:, 1]
    confidence = np.minimum(sure, sample.belief)
    share = _shares(sample, confidence)
    confidence *= share
    sure = np.where(share < 1, np.maximum(confidence, LEAST), sure)
    beliefs = _beliefs(sample.pairs[undecided], confidence[undecided], believed, embeddings)
    said = zip(map(tuple, sample.pairs[undecided].tolist()), sure[undecided].tolist(), strict=True)
    return beliefs, dict(said)


def _sample(
    prepared: Prepared, believed: Counterparts, settings: Settings, *, mirrored: bool = False
) -> tuple[Sample, Counterparts]:
    """What there is to judge, if mirrored seen from the target; and the beliefs about entities that may be linked."""
    sides = zip((prepared.given.source, prepared.given.target), prepared.values, strict=True)
    first, second = (describe(graph, values, settings.evidence) for graph, values in sides)
    believed, competition = between(believed, first.linkable, second.linkable), Competition.of(settings.matching)
    if mirrored:
        asked = consider(second, first, believed.swap(), prepared.given.swap(), competition.swap())
        return compare(second, first, asked, competition.swap()), believed
    asked = consider(first, second, believed, prepared.given, competition)
    return compare(first, second, asked, competition), believed


def _shares(sample: Sample, confidence: np.ndarray) -> np.ndarray:
    """What competition leaves of confidence that was learned for each pair alone, [pairs]; decided ones keep out."""
    undecided = np.isnan(sample.decided)
    share = np.ones(len(confidence))
    share[undecided] = sample.competition.shares(sample.pairs[undecided], confidence[undecided], sample.sizes)
    return share


def _learned(sample: Sample, found: Estimate, limits: tuple[np.ndarray, np.ndarray], given: Task) -> Calibration | None:
    """Confidence as decisions teach it, if there are enough; `limits` are the ceiling and what chance leaves."""
    if not teaches(given):
        return None
    is_open = np.isnan(sample.decided)
    odds = found.odds - np.where(is_open, 0.0, found.said["structure"])  # the loop is not asked about what is decided
    sure = np.minimum(competing(sample.pairs, odds, sample.sizes, sample.competition) * limits[0], limits[1])
    row, right = _proposed(sample, sure, given)
    links = sure[_surest(sample.pairs[:, 0], np.where(is_open, sure, -1.0))[1]]
    trials = np.stack([sure[row], right], 1)
    return Calibration(torch.from_numpy(trials), torch.from_numpy(links[links >= LINKED]))


def teaches(given: Task) -> bool:
    """Whether there are enough decisions to learn confidence from."""
    return len(given.checked) + len(given.unmatched) >= FEWEST_CHECKED


def _proposed(sample: Sample, sure: np.ndarray, given: Task) -> tuple[np.ndarray, np.ndarray]:
    """What would be proposed for entities that were decided, and whether it is right: the surest pair of each that has
    an answer, and pairs that were rejected if there is no other answer. A right pair that nobody would propose, which
    somebody found by hand, says nothing about how often proposals are right."""
    width = sample.sizes[1]
    right, wrong = (given.checked[given.checked.weight == weight] for weight in (1, 0))
    answered = torch.cat([right.source, given.unmatched.source])
    left = wrong[~torch.isin(wrong.source, answered)]
    rows = [np.flatnonzero(np.isin(keys_of(sample.pairs, width), left.keys(width)))]
    for column, known in zip(sample.pairs.T, (answered, given.unmatched.target), strict=True):
        entity, surest = _surest(column, sure)
        rows.append(surest[np.isin(entity, known)])
    row = np.concatenate(rows)
    row = row[(sure[row] >= PROPOSED) & ~np.isnan(sample.decided[row])]  # NaN: one of several counterparts, perhaps
    return row, sample.decided[row]


def _surest(entities: np.ndarray, sure: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The entities of pairs, each once, and the row of its surest pair."""
    order = np.argsort(-sure, kind="stable")
    entity, first = np.unique(entities[order], return_index=True)
    return entity, order[first]


def _trials(sample: Sample, sure: np.ndarray, given: Task) -> tuple[np.ndarray, np.ndarray]:
    """Pairs to learn from, and whether they are right: those that were looked at, and the surest pair of each entity
    that was found to have no counterpart."""
    checked = np.isin(keys_of(sample.pairs, sample.sizes[1]), given.checked.keys(sample.sizes[1]))
    rows = [np.flatnonzero(checked)]
    for column, alone in zip(sample.pairs.T, (given.unmatched.source, given.unmatched.target), strict=True):
        entity, surest = _surest(column, sure)
        rows.append(surest[np.isin(entity, alone)])
    row = np.concatenate(rows)
    return row, sample.decided[row]


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
    found[missing] = KeptEmbeddings.of(embeddings).cosines(source[missing], target[missing]).to(found.dtype)
    return found


def _by_chance(found: Estimate) -> float:
    """The share of what would be linked that chance explains."""
    linked = found.probability >= LINKED
    return float(found.by_chance[linked].mean()) if linked.any() else 0.0


def _absence(
    sample: Sample, found: Estimate, by_chance: float, limits: tuple[np.ndarray, np.ndarray], side: int
) -> Absence:
    """How many sources, which are on the given side of the sample, have no counterpart. What happens to those is seen
    by taking the counterparts away from sources that have some: U of the sources are not linked, F₀ of those without a
    counterpart are all the same, so that at most π₀ = U / (1 − F₀) have none. F₀ is no less than confidence expects if
    those that are linked wrongly have none. `limits` are by what probability is multiplied, and what confidence is
    at most: sources are linked if confidence says so."""
    source, confidence = sample.pairs[:, side], np.minimum(found.probability * limits[0], limits[1])
    size, linked = sample.sizes[side], confidence >= LINKED
    has_one = np.bincount(source[linked], minlength=size) > 0
    without = has_one[source] & ~linked
    z = against_none(found.odds)
    total = sample.competition.totals(sample.pairs, z, sample.sizes)  # the targets' other sources stay
    left = sample.competition.totals(sample.pairs, np.where(without, z, 0.0), sample.sizes)
    sums = (total[0], left[1]) if side else (left[0], total[1])
    again = np.minimum(sample.competition.probability(z, *sums) * limits[0], limits[1])
    best = np.zeros(size)
    np.maximum.at(best, source, np.where(without, again, 0.0))
    tried = np.flatnonzero(has_one)
    sources = int((sample.targets if side else sample.sources).sum())
    if not len(tried):
        return Absence(1.0, 0.0, by_chance, sources)
    wrong, alone = float((1 - confidence[linked]).sum()), sources - len(tried)
    still, unlinked = float((best[tried] >= LINKED).mean()), alone / max(1, sources)
    share = min(1.0, unlinked / max(1e-9, 1 - still))
    return Absence(share, max(still, wrong / max(1e-9, alone + wrong)), by_chance, sources)
