"""A mixture of matched and unmatched pairs (Fellegi and Sunter 1969), estimated without any known pair.

How evidence is distributed over unmatched pairs is read off the graphs: two entities of one graph are different ones,
unless it may have duplicates. How it is distributed over matched pairs, and how many there are, follows by EM under
"one counterpart or none", for those who may not have several.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import logit

from emea.evidence.comparison import LEVELS, UNKNOWN
from emea.evidence.places import KILOMETRES
from emea.method.chance import by_chance, density_ratio, raised, would_link
from emea.method.coincidences import START, Coincidences, crowded
from emea.method.competition import competing, things
from emea.method.grounds import ALIKE, Steps
from emea.method.profiles import Profiles, Rivals, by_level, falling
from emea.method.sample import Sample
from emea.method.support import SUPPORT, Told

ITERATIONS = 20  # at most
SETTLED = 1e-3  # probabilities that move by less have settled
EVERY = 3  # iterations after which support by neighbours is counted anew
DAMPING = 0.3
BELIEF = np.array([0.01, 0.05, 0.2, 0.5, 0.8, 0.95])  # of the loop, from which a pair has a better level
SEEN = 0.1  # weight of the loop's belief where a single field speaks
FEW_SEEDS = 10  # that count as much as what they show
SMOOTHING = 50.0  # pairs for which the levels of a kind of entity are those of all kinds
RARE = 2.0  # unmatched pairs of a kind on a level for which its share is that of all kinds, however rare it is
LINKED = 0.5  # probability from which an entity counts as linked
ONE_MORE = 1.0  # link that chance may always make
MATCHED_PRIOR, UNMATCHED_PRIOR = 1.5, 0.5  # pairs spread evenly over the levels
FREQUENCY = 0.9  # exponent of the frequency of equal values
SLOPE = 1e-6  # of the steps of that ratio, where pairs on a step have to be told apart
SHARE_RANGE = (0.01, 0.98)  # of the entities that have a counterpart


@dataclass(frozen=True, eq=False)
class Estimate:
    """What the mixture says."""

    probability: np.ndarray  # [pairs] that the pair is the same entity
    odds: np.ndarray  # [pairs] logarithm of the odds against "none", before entities compete
    speaking: np.ndarray  # [pairs] in how many ways the evidence speaks for the pair
    said: dict[str, np.ndarray]  # what adds up to the odds, by kind of evidence
    values: ValuesSaid
    by_chance: np.ndarray  # [pairs] share of the links with such values that chance explains


class ValuesSaid(NamedTuple):
    """What the values say."""

    together: np.ndarray  # [pairs]
    by_field: np.ndarray  # [pairs, fields + 2]: of each field, of the position, of how frequent equal values are
    steps: Steps  # from the sum of these to what they say together


def estimate(sample: Sample) -> Estimate:
    """The probability of each pair."""
    mixture = _Mixture(sample)
    probability = mixture.fixed(sample.start * START)
    odds = logit(probability)
    for iteration in range(ITERATIONS):
        if not any(sample.competition):
            mixture.tell_apart(odds)
        if iteration % EVERY == 0:
            support = sample.support.levels(probability, mixture.told)
            mixture.weigh(probability)
        said, speaking = mixture.said(probability, support)
        odds = np.sum(list(said.values()), axis=0)
        found = mixture.fixed(competing(sample.pairs, odds, sample.sizes, sample.competition))
        moved = np.abs(found - probability).max(initial=0.0)
        probability = DAMPING * probability + (1 - DAMPING) * found
        if moved < SETTLED and iteration > EVERY:
            break
    return Estimate(
        found, odds, speaking, said, mixture.values(said["values"]), mixture.by_chance(found, said["neighbours"])
    )


class _Mixture:
    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self.told: Told | None = None  # what was said last, if anything
        self.apart: np.ndarray | None = None  # odds of the pairs without their neighbours, as said last
        self.kinds = len(sample.sources)
        self.evidence, self.within = (
            Profiles.build(pairs.levels, pairs.kind, pairs.frequent, pairs.less)
            for pairs in (sample.evidence, sample.within)
        )
        self.rivals = [Rivals(column) for column in sample.pairs.T]
        self.coincidences = Coincidences(sample.pairs, sample.within.ends, sample.sizes, sample.competition)
        fields = sample.evidence.levels.shape[1]
        self.depth = [len(LEVELS) + 1] * (fields - 1) + [len(KILOMETRES) + 1]
        self._read_within(sample.within.weight)
        self.fields = (self.evidence.levels != UNKNOWN).sum(1)[self.evidence.of]  # that both entities have values in
        # pairs that are not listed: how many of each kind, and how many a random pair stands for
        listed = np.bincount(sample.evidence.kind, minlength=self.kinds)
        drawn = np.maximum(1, np.bincount(sample.random_kind, minlength=self.kinds))
        self.unlisted = (np.maximum(0, sample.sources * sample.targets.sum() - listed) / drawn)[sample.random_kind]

    def _read_within(self, weight: np.ndarray) -> None:
        """How unmatched pairs are spread over the levels of each field, if pairs within a graph have these weights."""
        within, self.each, self.weight = self.within, weight, self.within.sums(weight)
        self.unmatched = self._unmatched(within.kind)

    def _unmatched(self, kind: np.ndarray) -> list[np.ndarray]:
        """Shares of the levels of each field among pairs within a graph, if these are of such kinds."""
        columns = zip(self.within.levels.T, self.depth, strict=True)
        return [self._shares(level, self.weight, kind, depth, matched=False) for level, depth in columns]

    def tell_apart(self, odds: np.ndarray) -> None:
        """Where both graphs may have duplicates, read what unmatched pairs are like off pairs within a graph that are
        linked to different things; those who are not linked might be anybody's duplicates."""
        sample, within = self.sample, self.sample.within
        known = np.where(np.isnan(sample.decided), odds, logit(sample.decided))
        thing = things(sample.pairs, known, sample.sizes)
        linked, (one, other) = np.bincount(thing)[thing] > 1, within.ends.T
        weight = within.weight * (linked[one] & linked[other] & (thing[one] != thing[other]))
        self._read_within(weight if weight.any() else within.weight)

    def weigh(self, probability: np.ndarray) -> None:
        """Count anew how many unmatched pairs each of the places in `_places` stands for. Pairs within a graph whose
        kinds would hardly be linked count the less: types tell such pairs apart already."""
        own, kinds = self.sample.within, (self.evidence.kind, self.within.kind)
        if any(self.sample.competition):
            linked = self.sample.by_kinds(probability)[own.kind, own.target_kind]
            self._read_within(own.weight * np.exp(np.minimum(0.0, linked)))
        by_field = self._by_field(self.evidence.sums(probability), self.unmatched, kinds)
        self.against = self._weights(probability, *self._places(*by_field))

    def fixed(self, probability: np.ndarray) -> np.ndarray:
        """The probabilities, where a decision is known the decision."""
        decided = self.sample.decided
        return np.where(np.isnan(decided), probability, decided)

    def said(self, probability: np.ndarray, support: np.ndarray) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """What adds up to the logarithm of the odds of each pair against "none", given the probabilities so far; and in
        how many ways the evidence speaks for the pair."""
        sample, count = self.sample, len(self.sample.pairs)
        values = self._values(probability)
        rival = sample.competition.unmatched(probability, *(side.highest(probability) for side in self.rivals))
        ratio = self._ratio(support[:count], support[count:], self._apart(probability), rival, len(SUPPORT) + 1)
        neighbours = by_level(ratio, sample.evidence.kind, support[:count])
        self.told = Told(ratio, sample.evidence.kind, values)
        believed = len(BELIEF) - np.searchsorted(BELIEF, sample.belief, side="right")
        belief = self._belief(believed, values, probability, rival)
        by_values = (self.by_profile > 0).sum(1)[self.evidence.of]
        speaking = by_values + (neighbours > 0) + ((belief > 0) & (self.fields == 0))
        said = {"values": values, ALIKE: self._alike(), "neighbours": neighbours, "structure": belief}
        said |= {"types": sample.types(probability), "none": self._prior(probability)}
        self.apart = np.sum([each for name, each in said.items() if name != "neighbours"], axis=0)
        return said, speaking

    def values(self, together: np.ndarray) -> ValuesSaid:
        """What the values said last, if it is this together."""
        frequent = -FREQUENCY * self.sample.evidence.frequent
        return ValuesSaid(together, np.c_[self.by_profile[self.evidence.of], frequent], self.steps)

    def _apart(self, probability: np.ndarray) -> np.ndarray:
        """How probable the pairs are without their neighbours, from which it is learned what these say: a pair that was
        given up for lack of support would prove that matched pairs have it."""
        pairs, sizes, competition = self.sample.pairs, self.sample.sizes, self.sample.competition
        return probability if self.apart is None else self.fixed(competing(pairs, self.apart, sizes, competition))

    def _alike(self) -> np.ndarray:
        """Of several pairs of an entity whose values agree as well, each has a share of what these say, [pairs]."""
        score = (self.by_profile.sum(1) - FREQUENCY * self.evidence.frequent)[self.evidence.of]
        return np.asarray(-np.log(crowded(self.coincidences.rivals, score)))

    def by_chance(self, probability: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
        """Of the links with such values, the share that entities without a counterpart would have by chance, [pairs]: 0
        where both graphs may have duplicates, no value speaks, or neighbours do, too. What values say is told by all
        kinds together; what was learned of each fits to its coincidences."""
        sample, known, found = self.sample, (self.fields > 0) & (neighbours <= 0), np.zeros(len(probability))
        linked = known & (probability >= LINKED)
        if not any(sample.competition) or not linked.any():
            return found
        kinds = np.zeros_like(self.evidence.kind), np.zeros_like(self.within.kind)
        said = self._by_field(self.evidence.sums(probability), self._unmatched(kinds[1]), kinds)
        score, places = self._places(*said)
        weight, against = self._weights(probability, score, places), np.concatenate(places)
        score, sources = score[self.evidence.of], float(sample.sources.sum())
        lonely = 1 - len(np.unique(sample.pairs[probability >= LINKED, 0])) / max(1.0, sources)
        each = lonely * sources * float(sample.targets.sum()) / max(1.0, float(weight.sum()))
        made = would_link(score[known], linked[known], against, each * weight)
        found[known] = by_chance(score[known], linked[known], against, made, lonely * ONE_MORE)
        return found

    def _values(self, probability: np.ndarray) -> np.ndarray:
        """What the values say: as if fields were independent, then corrected for what pairs within a graph show."""
        matched_in = self.evidence.sums(probability)
        self.by_profile, against = self._by_field(matched_in, self.unmatched, (self.evidence.kind, self.within.kind))
        said, places = self._places(self.by_profile, against)
        slope = 0.0 if any(self.sample.competition) else SLOPE  # where what is surest must be told
        self.steps = density_ratio(said, matched_in, np.concatenate(places), self.against, slope)
        together: np.ndarray = self.steps(said)[self.evidence.of]
        return together

    def _by_field(
        self, matched_in: np.ndarray, unmatched: list[np.ndarray], kinds: tuple[np.ndarray, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """What each field says of profiles between the graphs, and of those within a graph, if these are of such
        kinds, [profiles, fields] each."""
        found = [np.zeros(side.levels.shape) for side in (self.evidence, self.within)]
        for field, depth in enumerate(self.depth):
            matched = self._shares(self.evidence.levels[:, field], matched_in, kinds[0], depth, matched=True)
            ratio = falling(matched, unmatched[field])
            if field < len(self.sample.fields) and self.sample.fields.texts[field]:
                ratio[:, -1] = ratio[:, -1].clip(min=0.0)  # texts that differ say nothing
            for said, side, kind in zip(found, (self.evidence, self.within), kinds, strict=True):
                said[:, field] = by_level(ratio, kind, side.levels[:, field])
        return found[0], found[1]

    def _places(self, by_field: np.ndarray, against: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """What the fields say together if they are independent, [profiles]; and what they say of unmatched pairs: of
        those within a graph, if both count as having a value or only one does, of those between the graphs, and of all
        that are not listed. In the other graph as many have an entity's value as within its own, but for the entity
        itself, unless it has a counterpart there."""
        said, within = by_field.sum(1) - FREQUENCY * self.evidence.frequent, self.within
        other = [
            raised(against.sum(1) - FREQUENCY * frequent, said)
            for frequent in (within.frequent, within.frequent - within.less)
        ]
        lowest = min((each.min() for each in (said, *other) if len(each)), default=0.0)
        return said, [*other, said, np.array([lowest])]

    def _weights(self, probability: np.ndarray, said: np.ndarray, places: list[np.ndarray]) -> np.ndarray:
        """How many unmatched pairs are at each of the places."""
        sample, within = self.sample, self.within
        if not any(sample.competition):  # who is linked to what tells nothing of others
            return np.concatenate([self.weight, *(np.zeros(len(place)) for place in places[1:])])
        alone = max(0.0, 1 - 2 * float(probability.sum()) / max(1, int(sample.sources.sum() + sample.targets.sum())))
        scores = [place[within.of] for place in places[:2]]
        own, between, rest = self.coincidences.weights(self.each, probability, said[self.evidence.of], scores)
        counted = [share * within.sums(each) for share, each in zip((1 - alone, alone), own, strict=True)]
        return np.concatenate([*counted, self.evidence.sums(between), [rest]])

    def _belief(self, level: np.ndarray, values: np.ndarray, probability: np.ndarray, rival: np.ndarray) -> np.ndarray:
        """What the loop's belief says, [pairs]: all that structure can where no value is known, a little where only one
        field is, which the loop has seen, too; nothing where several fields check each other. Where values do not speak
        for a pair, as much as known pairs are like that: names in two scripts tell nothing of who is the same."""
        drawn, kind, depth = len(self.sample.random_kind), self.sample.evidence.kind, len(BELIEF) + 1
        silent, seeds = (self.fields > 0) & (values <= 0), self.sample.decided == 1
        share = float((seeds & silent).sum() / (seeds.sum() + FEW_SEEDS))
        cases = (self.fields == 0, len(BELIEF), 1.0), (self.fields == 1, UNKNOWN, SEEN), (silent, len(BELIEF), share)
        said = np.zeros(len(level))
        for case, at_random, weight in cases:
            own = np.where(case, level, UNKNOWN)
            said += weight * by_level(self._ratio(own, np.full(drawn, at_random), probability, rival, depth), kind, own)
        return said

    def _ratio(
        self, level: np.ndarray, at_random: np.ndarray, probability: np.ndarray, rival: np.ndarray, depth: int
    ) -> np.ndarray:
        """Log-likelihood ratio of each level, [kinds, depth]. Unmatched are pairs as far as they are not believed, or
        their entities have another counterpart, and pairs at random."""
        kind = self.sample.evidence.kind
        matched = self._shares(level, probability, kind, depth, matched=True)
        unmatched = self._shares(
            np.concatenate([level, at_random]),
            np.concatenate([np.maximum(rival, 1 - probability), self.unlisted]),
            np.concatenate([kind, self.sample.random_kind]),
            depth,
            matched=False,
        )
        return falling(matched, unmatched)

    def _shares(
        self, level: np.ndarray, weight: np.ndarray, kind: np.ndarray, depth: int, *, matched: bool
    ) -> np.ndarray:
        """Share of each level among the pairs of a kind, near that among all if there are few, [kinds, depth]."""
        known = level != UNKNOWN
        count = np.bincount(kind[known] * depth + level[known], weight[known], self.kinds * depth)
        found = count.reshape(self.kinds, depth)
        whole = found.sum(0) + (MATCHED_PRIOR if matched else UNMATCHED_PRIOR) / depth
        general = whole / whole.sum()
        smooth = found + SMOOTHING * general
        if not matched:  # a level that is rare in all kinds is not rarer in those where nobody has it
            smooth = (found + RARE) / (found.sum(1, keepdims=True) + RARE / general)
        shares: np.ndarray = smooth / smooth.sum(1, keepdims=True)
        return shares

    def _prior(self, probability: np.ndarray) -> np.ndarray:
        """Logarithm of the odds that a random target is a source's counterpart, against "none", [pairs]."""
        sample = self.sample
        links = share = sample.per_source(probability).clip(*SHARE_RANGE)
        if not any(sample.competition):  # a source may have several counterparts
            links = sample.per_source(probability).clip(min=SHARE_RANGE[0])
            surest = probability > self.rivals[0].highest(probability)
            share = sample.per_source(probability * surest).clip(*SHARE_RANGE)
        prior: np.ndarray = np.log(links / ((1 - share) * max(1, sample.targets.sum())))[sample.evidence.kind]
        return prior
