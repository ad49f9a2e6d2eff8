"""Counterparts → one-to-one alignment, with "no counterpart" as a real answer."""

from __future__ import annotations

import numpy as np
import torch
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import min_weight_full_bipartite_matching
from torch import Tensor

from emea.data import Alignment, Counterparts
from emea.kernels.segments import segment_best
from emea.kernels.sinkhorn import sinkhorn
from emea.settings import MatchingSettings

TIED = 1e-4  # a probability ahead by less is ahead by rounding only
LARGEST_ASSIGNMENT = 50_000  # sources; beyond, the exact assignment takes too long and pairs are taken greedily


def match(beliefs: Counterparts, calibration: Calibration, settings: MatchingSettings) -> Alignment:
    """The links, at most one for each entity, with calibrated confidence; doubtful ones are left as "none"."""
    confidence = calibration(beliefs.confidence)
    if settings.method == "mutual":
        rows = mutual_best(beliefs)
    elif settings.method == "transport":
        rows = mutual_best(_transported(beliefs, settings))
    else:
        rows = one_to_one(beliefs, confidence, settings.minimum)
    rows = rows[confidence[rows] >= settings.minimum]
    pairs = beliefs.candidates
    return Alignment(pairs.source[rows], pairs.target[rows], confidence[rows], pairs.cosine[rows])


def mutual_best(beliefs: Counterparts) -> Tensor:
    """Rows of the pairs that are the most probable of both their source and their target; ties are left out."""
    pairs = beliefs.candidates
    forward = segment_best(pairs.source, pairs.sources, beliefs.forward, tolerance=TIED)
    backward = segment_best(pairs.target, pairs.targets, beliefs.backward, tolerance=TIED)
    rows = forward[forward >= 0]
    rows = rows[backward[pairs.target[rows]] == rows]
    return rows[beliefs.agreement[rows] > 0]


def one_to_one(beliefs: Counterparts, confidence: Tensor, minimum: float) -> Tensor:
    """Rows of the set of pairs with the largest total confidence above the minimum, no entity used twice."""
    rows = (confidence > minimum).nonzero()[:, 0]
    pairs = beliefs.candidates[rows]
    gain = (confidence[rows] - minimum).double().cpu().numpy()
    source, target = (np.unique(side.cpu().numpy(), return_inverse=True)[1] for side in (pairs.source, pairs.target))
    if len(rows) == 0:
        return rows
    sources, targets = source.max() + 1, target.max() + 1
    if sources > LARGEST_ASSIGNMENT:
        return rows[torch.from_numpy(_greedy(source, target, gain)).to(rows.device)]
    # every source may also take a column of its own that stands for "none", at no gain
    own = np.arange(sources)
    cost = csr_matrix(
        (
            np.concatenate([2 - gain, np.full(sources, 2.0)]),
            (np.concatenate([source, own]), np.concatenate([target, targets + own])),
        )
    )
    taken_source, taken_target = min_weight_full_bipartite_matching(cost)
    keys = taken_source[taken_target < targets] * targets + taken_target[taken_target < targets]
    return rows[torch.from_numpy(np.isin(source * targets + target, keys)).to(rows.device)]


def _greedy(source: np.ndarray, target: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """Positions of the pairs taken when the surest goes first."""
    used_source, used_target = np.zeros(source.max() + 1, bool), np.zeros(target.max() + 1, bool)
    taken = []
    for position in np.argsort(-gain, kind="stable"):
        if not (used_source[source[position]] or used_target[target[position]]):
            used_source[source[position]] = used_target[target[position]] = True
            taken.append(position)
    return np.sort(np.array(taken, dtype=np.int64))


def _transported(beliefs: Counterparts, settings: MatchingSettings) -> Counterparts:
    """The beliefs after transport: each entity's mass is shared out once, "none" takes what no pair deserves."""
    logits = torch.log(beliefs.confidence.clamp(min=1e-30))
    plan = torch.exp(
        sinkhorn(beliefs.candidates, logits, settings.iterations, slack=float(np.log(max(settings.minimum, 1e-30))))
    )
    return Counterparts(beliefs.candidates, plan, plan, beliefs.source_none, beliefs.target_none)


class Calibration:
    """Confidence → the share of such links that are right, learned from seeds that were held out.

    logit(calibrated) = offset + slope · logit(confidence); a few trials leave it near the identity.
    """

    def __init__(self, trials: Tensor) -> None:
        """Fit to trials, [trials, 2]: confidence, right."""
        features = torch.stack([torch.ones(len(trials), device=trials.device), _logit(trials[:, 0])], 1).double()
        prior = torch.tensor([0.0, 1.0], dtype=torch.float64, device=trials.device)
        strength = torch.diag(torch.tensor([1.0, 4.0], dtype=torch.float64, device=trials.device))
        self.parameters = prior
        for _ in range(30):
            probability = torch.sigmoid(features @ self.parameters)
            gradient = features.T @ (trials[:, 1] - probability) - strength @ (self.parameters - prior)
            curvature = (features.T * (probability * (1 - probability))) @ features + strength
            self.parameters = self.parameters + torch.linalg.solve(curvature, gradient).clamp(-1, 1)

    def __call__(self, confidence: Tensor) -> Tensor:
        """Calibrated confidence, same shape; the slope is never negative, so order is kept."""
        offset, slope = self.parameters
        return torch.sigmoid(offset + slope.clamp(min=0.05) * _logit(confidence))


def _logit(probability: Tensor) -> Tensor:
    return torch.logit(probability.double(), eps=1e-4)
