"""Counterparts → alignment, with "no counterpart" as a real answer."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import min_weight_full_bipartite_matching
from torch import Tensor

from emea.candidates.search import pattern_of
from emea.data import Alignment, Counterparts
from emea.kernels.greedy import greedy
from emea.kernels.sinkhorn import plan
from emea.method.competition import Competition
from emea.method.grounds import ANY_LOGIT, Line
from emea.method.probability import most_probable
from emea.settings import MatchingSettings

SMALLEST_SLOPE = 0.05
SMALLEST_KNOWN = 0.003  # share of the encoder's pairs; with fewer, confidence is not discounted further
SCOUTED = 0.72  # slope at least, of a loop that began with what others agree on
SMALLEST_CHANCE = 1e-4  # nothing is surer, or less sure, than by this much
BEST_TWO = 2  # of each entity: all that tells who is mutually best
LARGEST_ASSIGNMENT = 50_000  # sources; beyond this, exact assignment takes too long and pairs are chosen greedily


def match(beliefs: Counterparts, calibration: Calibration, settings: MatchingSettings) -> Alignment:
    """The links, as many for each entity as the cardinality allows, with calibrated confidence; doubtful ones become
    "none"."""
    competition = Competition.of(settings)
    if settings.method == "mutual" and all(competition):
        beliefs = most_probable(beliefs, BEST_TWO)
    if settings.method == "mutual" or not all(competition):
        rows = competition.winners(beliefs)
    elif settings.method == "transport":
        rows = competition.winners(_transported(beliefs, calibration(beliefs.confidence), settings))
    else:
        rows = one_to_one(beliefs, calibration(beliefs.confidence), settings.minimum)
    chosen = beliefs[rows]
    pairs, confidence = chosen.candidates, calibration(chosen.confidence)
    found = Alignment(pairs.source, pairs.target, confidence, pairs.cosine)
    found = found[confidence >= settings.minimum]
    return found if settings.precision is None else found[surest(found.confidence, settings.precision)]


def between(believed: Counterparts, source: np.ndarray, target: np.ndarray) -> Counterparts:
    """The beliefs about pairs of these entities, each [entities] bool."""
    if source.all() and target.all():
        return believed
    pairs, device = believed.candidates, believed.forward.device
    kept = torch.from_numpy(source).to(device)[pairs.source] & torch.from_numpy(target).to(device)[pairs.target]
    return believed if bool(kept.all()) else believed[kept]


def surest(confidence: Tensor, precision: float) -> Tensor:
    """Whether each link is in the largest set of the surest links with mean confidence ≥ `precision`, [links] bool.

    >>> surest(torch.tensor([0.5, 0.9, 0.8, 1.0]), 0.9).tolist()
    [False, True, True, True]
    """
    ordered = confidence.double().sort(descending=True).values
    means = torch.cumsum(ordered, 0) / torch.arange(1, len(ordered) + 1, device=ordered.device)
    kept = int((means >= precision - 1e-6).sum())  # the means decrease
    return confidence >= ordered[kept - 1] if kept else torch.zeros_like(confidence, dtype=torch.bool)


def one_to_one(beliefs: Counterparts, confidence: Tensor, minimum: float) -> Tensor:
    """Rows of the one-to-one set of pairs with the largest total confidence above the minimum."""
    rows = ((confidence >= minimum) & (beliefs.agreement > 0)).nonzero()[:, 0]
    if len(rows) == 0:
        return rows
    pairs, gain = beliefs.candidates[rows], (confidence[rows] - minimum).double()
    draw = np.random.default_rng(0)  # random numbering, so that position does not break ties
    source, target = (_renumbered(side, draw) for side in (pairs.source, pairs.target))
    if int(source.max()) >= LARGEST_ASSIGNMENT:
        return rows[greedy(source, target, gain)]
    taken = _assigned(*(side.cpu().numpy() for side in (source, target, gain)))
    return rows[torch.from_numpy(taken).to(rows.device)]


def _assigned(source: np.ndarray, target: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """Whether each pair is in the one-to-one set with the largest total gain, [pairs] bool."""
    sources, targets = source.max() + 1, target.max() + 1
    # each source also has a column of its own that stands for "none", at no gain
    own = np.arange(sources)
    cost = csr_matrix(
        (
            np.concatenate([2 - gain, np.full(sources, 2.0)]),
            (np.concatenate([source, own]), np.concatenate([target, targets + own])),
        )
    )
    taken_source, taken_target = min_weight_full_bipartite_matching(cost)
    keys = taken_source[taken_target < targets] * targets + taken_target[taken_target < targets]
    return np.isin(source * targets + target, keys)


def _renumbered(ids: Tensor, draw: np.random.Generator) -> Tensor:
    """The ids renumbered from 0 in random order."""
    names, number = torch.unique(ids, return_inverse=True)
    return torch.from_numpy(draw.permutation(len(names))).to(ids.device)[number]


def _transported(beliefs: Counterparts, confidence: Tensor, settings: MatchingSettings) -> Counterparts:
    """The beliefs after optimal transport: each entity has a mass of 1 to divide among its pairs and "none"."""
    logits = torch.log(confidence.clamp(min=1e-30))
    slack = float(np.log(max(settings.minimum, 1e-30)))
    shares = plan(pattern_of(beliefs.candidates), logits, settings.iterations, slack)
    return Counterparts(beliefs.candidates, shares, shares, beliefs.source_none, beliefs.target_none)


class Prior(NamedTuple):
    """How many trials it takes to leave the identity: variances of the line's height at a centre, and of its slope, are
    one over these."""

    centre: float
    height: float
    slope: float


ANYWHERE = Prior(0.0, 1.0, 4.0)
STEADY = Prior(0.0, 5.0, 50.0)  # where a loop taught itself: few trials say too much
USUAL = 4.0, 1.0  # confidence that is not fitted to anything errs by about 1 / √4 in its logit


class Calibration:
    """Confidence → the share of such links that are right, learned from held-out seeds.

    logit(calibrated) = offset + slope · logit(confidence); with few trials it stays near the identity, and the slope is
    never below SMALLEST_SLOPE, so that the order is kept. Where somebody chose the trials, the slope is 1 below them:
    that sure links are right says nothing about pairs that nobody would link.
    """

    def __init__(
        self, trials: Tensor, links: Tensor | None = None, *, self_taught: float = 0.0, scouted: bool = False
    ) -> None:
        """Fit to trials, [trials, 2]: confidence, right. If the confidence of the links is given, [links], trials are
        not drawn at random from them: those of doubtful links then hardly move what is usual. `self_taught` is the
        share of the encoder's pairs that are the loop's own labels, `scouted` whether others went ahead of it."""
        evidence, right = _logit(trials[:, 0]), trials[:, 1].double()
        prior = STEADY if self_taught else ANYWHERE
        if links is not None and len(links):
            prior = Prior(float(_logit(links).mean()), *USUAL)
        self.parameters = _fit_line(evidence, right, prior, slope=None)  # offset, slope
        if float(self.parameters[1]) < SMALLEST_SLOPE:
            self.parameters = _fit_line(evidence, right, prior, slope=SMALLEST_SLOPE)
        offset, slope = _discount(self_taught, scouted=scouted)
        self.parameters = slope * self.parameters + offset * self.parameters.new_tensor([1.0, 0.0])
        self.lowest = float(evidence.min()) if links is not None and len(evidence) else ANY_LOGIT

    @classmethod
    def none(cls) -> Calibration:
        """Confidence as it is."""
        return cls(torch.zeros(0, 2))

    @property
    def line(self) -> Line:
        """From logits of confidence to calibrated ones."""
        offset, slope = self.parameters.tolist()
        return Line(offset, slope, self.lowest)

    def __call__(self, confidence: Tensor) -> Tensor:
        """Calibrated confidence, same shape."""
        return torch.sigmoid(self.line(_logit(confidence)))


def _discount(self_taught: float, *, scouted: bool) -> tuple[float, float]:
    """Offset and slope of what is taken from confidence in links that a loop taught itself.

    A hidden seed fares better than other entities: the labels around it were found in rounds that knew it. And a link
    confirms itself: what it labelled returns to it. How much this matters was learned from development splits, where
    the share is .7 to .99 (docs/log.md, "How sure is a loop that teaches itself?"). What several loops agree on
    confirms itself less ("Loops that go ahead").
    """
    known = max(1 - self_taught, SMALLEST_KNOWN)
    slope = 1 - 0.48 * self_taught
    return self_taught * (0.54 + 0.17 * math.log(known)), max(slope, SCOUTED) if scouted and self_taught else slope


def _fit_line(evidence: Tensor, right: Tensor, prior: Prior, slope: float | None) -> Tensor:
    """Offset and slope of a logistic regression, both shrunk towards the identity; the slope may be fixed."""
    features = torch.stack([torch.ones_like(evidence), evidence - prior.centre], 1)
    identity = torch.tensor([prior.centre, 1.0], dtype=torch.float64, device=evidence.device)
    strength = torch.diag(torch.tensor([prior.height, prior.slope], dtype=torch.float64, device=evidence.device))
    parameters = identity.clone()
    free = slice(0, 2)
    if slope is not None:
        parameters[1], free = slope, slice(0, 1)
    for _ in range(30):
        probability = torch.sigmoid(features @ parameters)
        gradient = features.T @ (right - probability) - strength @ (parameters - identity)
        curvature = (features.T * (probability * (1 - probability))) @ features + strength
        parameters[free] += torch.linalg.solve(curvature[free, free], gradient[free]).clamp(-1, 1)
    height, steepness = parameters
    return torch.stack([height - steepness * prior.centre, steepness])


def _logit(probability: Tensor) -> Tensor:
    return torch.logit(probability.double(), eps=SMALLEST_CHANCE)
