"""Compatibility: rule factors → conditional distribution of counterparts, and the rules' weights (paper 4.2–4.4)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import torch
from torch import Tensor

from emea.candidates.parts import Beliefs, KeptCounterparts, sum_in_order
from emea.data import Candidates, Counterparts, pair_keys
from emea.kernels.devices import one_thread
from emea.kernels.joins import lookup
from emea.kernels.limits import SMALLEST_DIVISOR
from emea.kernels.segments import LOWEST, segment_choice, segment_logsumexp, segment_softmax, segment_sum

NONE, UNDECIDED = -1, -2  # samples that are not a row
STEPS = 50  # of Newton's method, at most
SMALLEST_WEIGHT = 1e-3  # rules with a weight support pairs, never oppose them; the order they imply is kept


@dataclass(frozen=True, eq=False)
class Factors:
    """The rules' factors of each candidate pair, seen from one side."""

    entity: Tensor  # [pairs] on this side
    entities: int  # of this side's graph
    values: Tensor  # [pairs, rules]: Σ of g over the factors that contain e with y_e = e', minus that with y_e = none
    none: Tensor | float  # what the factors of a pair must exceed to beat "none", [rules] if they differ
    slack: float = 0.0  # logit of "none"; LOWEST if it is not an answer
    ratios: Tensor | float = 0.0  # [pairs]: log-likelihood ratios from rules without a weight

    def __getitem__(self, rows: Tensor) -> Factors:
        """The factors of some of the pairs."""
        ratios = self.ratios[rows] if isinstance(self.ratios, Tensor) else self.ratios
        return replace(self, entity=self.entity[rows], values=self.values[rows], ratios=ratios)

    def logits(self, weights: Tensor) -> Tensor:
        """log of the product of local functions l (eq. local_func), up to a term that e's counterparts share, [pairs].

        φ₀ appears in every factor for every counterpart and cancels; "none" has the logit 0, if it is an answer.
        """
        return (self.values - self.none) @ weights + self.ratios

    def conditional(self, weights: Tensor) -> Tensor:
        """p_Φ(y_e | Markov blanket) over e's candidates and "none" (eq. cond_p), [pairs]."""
        return segment_softmax(self.logits(weights), self.entity, self.entities, self.slack)

    def none_probability(self, weights: Tensor) -> Tensor:
        """p_Φ(y_e = none | Markov blanket), [sources]."""
        total = segment_logsumexp(self.logits(weights), self.entity, self.entities, self.slack)
        return torch.exp((self.slack - total).clamp(max=0.0)) * float(self.slack > LOWEST)


def bars(values: Tensor, none: float) -> Tensor:
    """What each rule's factors must exceed to beat "none", [rules]: `none` for the rule that supports the pairs most,
    less for others as they support them less, support beyond `none` not counted.

    With the whole bar, the weight of a rule that hardly says anything would be a free bias towards "none". A rule alone
    has the whole bar whatever it says; rules that support nothing share one.
    """
    support = values.clamp(min=0.0, max=none).sum(0)
    most = max(support.tolist(), default=0.0)
    return none * (support / most if most > 0 else torch.ones_like(support) / max(1, len(support)))


@one_thread()
def learn_weights(sides: list[tuple[Factors, Tensor]], ridge: float = 1.0) -> Tensor:
    """Φ that maximises Σ_e log p_Φ(ŷ_e | blanket) (eq. objective_phi), by Newton's method, [rules]; always positive.

    Each side comes with ŷ: the row of each entity's sample, NONE or UNDECIDED; undecided entities do not count. The
    ridge keeps Φ finite if the samples follow the rules without exception.
    """
    device, rules = sides[0][0].values.device, sides[0][0].values.shape[1]
    identity = torch.eye(rules, dtype=torch.float64, device=device)
    weights, observed, decided = identity.new_ones(rules), identity.new_zeros(rules), []
    for factors, sample in sides:
        observed = observed + (factors.values[sample[sample >= 0]] - factors.none).sum(0)
        decided.append(factors[(sample != UNDECIDED)[factors.entity]])
    for _ in range(STEPS):
        gradient, curvature = observed - ridge * weights, ridge * identity
        for factors in decided:
            expected, covariance = _moments(factors, weights)
            gradient, curvature = gradient - expected, curvature + covariance
        free = (weights > SMALLEST_WEIGHT) | (gradient > 0)  # the others stay at the lower bound
        if not bool(free.any()) or float(gradient[free].abs().max()) < 1e-6:
            break
        step = torch.linalg.solve(curvature[free][:, free], gradient[free])
        weights, before = weights.clone(), weights
        weights[free] = (weights[free] + step.clamp(-5, 5)).clamp(min=SMALLEST_WEIGHT)
        if float((weights - before).abs().max()) < 1e-9 * float(weights.max()):
            break
    return weights


def _moments(factors: Factors, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Σ over the entities of E[g] under the conditional, [rules], and of Cov[g], [rules, rules]."""
    values = factors.values - factors.none
    shares = factors.conditional(weights)[:, None] * values
    mean = values.new_zeros(factors.entities, values.shape[1]).index_add_(0, factors.entity, shares)
    return mean.sum(0), shares.T @ values - mean.T @ mean


def refine(beliefs: Counterparts, forward: Factors, backward: Factors, weights: Tensor) -> Counterparts:
    """q*: the conditional given the current beliefs, both ways (eq. q_star, one sweep over all entities)."""
    return replace(
        beliefs,
        forward=forward.conditional(weights),
        backward=backward.conditional(weights),
        source_none=forward.none_probability(weights),
        target_none=backward.none_probability(weights),
    )


def labels(refined: Counterparts, believed: Counterparts) -> Tensor:
    """Row of each source's most compatible counterpart: the best of q*, with ties broken by q_Θ. Sources that are tied
    in both, or for which "none" is better, have no row.

    The weight of a single rule scales all logits alike, so Φ changes the confidence of a label, but never the label.
    """
    pairs = refined.candidates
    return segment_choice(pairs.source, pairs.sources, refined.source_none, refined.forward, believed.forward)


def sample(refined: Counterparts, generator: torch.Generator) -> Tensor:
    """Row of one counterpart for each source, ŷ ~ q* (Algorithm 1); sources that draw "none" have no row."""
    pairs = refined.candidates

    def perturbed(probability: Tensor) -> Tensor:  # the maximum of log p plus Gumbel noise is a draw from p
        noise = torch.rand(len(probability), dtype=torch.float64, generator=generator).to(probability.device)
        return torch.log(probability.double()) - torch.log(-torch.log(noise.clamp(1e-300, 1 - 1e-16)))

    score, none = perturbed(refined.forward), perturbed(refined.source_none)
    return segment_choice(pairs.source, pairs.sources, none, score)


def combine(believed: Counterparts, refined: Counterparts, say: float = 1.0) -> Counterparts:
    """What the encoder proposes and the rules support, both ways: q_Θ · q*ˢ, normalised over an entity's candidates,
    times the probability that the pair rather than "none" is compatible; "none" gets what is left. The smaller the
    exponent s = `say`, the less it matters by how much one pair is more compatible than another."""
    pairs = believed.candidates

    def product(proposal: Tensor, support: Tensor, none: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        both = proposal * support**say
        both = both / segment_sum(both, index, len(none)).clamp(min=SMALLEST_DIVISOR)[index]
        both = both * support / (support + none[index]).clamp(min=SMALLEST_DIVISOR)
        return both, (1 - segment_sum(both, index, len(none))).clamp(min=0.0)

    forward, source_none = product(believed.forward, refined.forward, refined.source_none, pairs.source)
    backward, target_none = product(believed.backward, refined.backward, refined.target_none, pairs.target)
    return Counterparts(pairs, forward, backward, source_none, target_none)


def widen(agreed: Counterparts, believed: Counterparts) -> KeptCounterparts:
    """The agreed beliefs about the pairs considered, and the encoder's about all other candidates.

    The total probability that the encoder gives to the pairs considered is divided among them and "none" as agreed;
    what it gives to "none" stays there.
    """
    kept = KeptCounterparts.of(believed)
    engine, pairs = kept.engine, agreed.candidates
    ends = torch.searchsorted(pairs.source, pairs.source.new_tensor(kept.pairs.begins[1:])).tolist()
    own = [slice(*each) for each in pairwise([0, *ends, len(pairs)])]
    columns = pairs.source, pairs.target, agreed.forward, agreed.backward
    blocks = [(*block, *(column[some] for column in columns)) for block, some in zip(kept.blocks, own, strict=True)]
    given = [sum_in_order(each) for each in zip(*engine.map(_given, blocks), strict=True)]
    parts = engine.map(_shared_out, blocks, *map(engine.share, given)).kept()
    sides = zip((agreed.source_none, agreed.target_none), given, (kept.source_none, kept.target_none), strict=True)
    return KeptCounterparts(kept.pairs, parts, *((none * total + own).clamp_(max=1.0) for none, total, own in sides))


def _given(pairs: Candidates, beliefs: Beliefs, source: Tensor, target: Tensor, *_: Tensor) -> tuple[Tensor, Tensor]:
    """What the encoder gives to the pairs considered of each source, and of each target, in a part."""
    row = lookup(pairs.keys(), pair_keys(source, target, pairs.targets))
    row = row[row >= 0]
    sides = (pairs.source, pairs.sources), (pairs.target, pairs.targets)
    ahead, back = (segment_sum(own[row], index[row], size) for own, (index, size) in zip(beliefs, sides, strict=True))
    return ahead, back


def _shared_out(
    pairs: Candidates, beliefs: Beliefs, source: Tensor, target: Tensor, *agreed_and_given: Tensor
) -> Beliefs:
    """That, divided as agreed among the pairs considered of a part."""
    row = lookup(pairs.keys(), pair_keys(source, target, pairs.targets))
    considered = row >= 0
    row = row[considered]
    (forward, backward), (agreed, agreed_back, given, given_back) = beliefs, agreed_and_given
    return (
        forward.index_copy(0, row, agreed[considered] * given[pairs.source[row]]),
        backward.index_copy(0, row, agreed_back[considered] * given_back[pairs.target[row]]),
    )
