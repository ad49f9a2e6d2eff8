"""The fewest triples that carry a link: encoder and rules are computed anew with them, and without."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
import torch

from emea.analysis.bars import LoopBars
from emea.contracts import Ground, Grounded
from emea.data import Counterparts, Links
from emea.encoders.propagation import Propagation, PropagationSettings
from emea.errors import SettingsError
from emea.kernels.joins import lookup
from emea.kernels.segments import LOWEST, segment_sum, segment_top
from emea.method.grounds import Grounds
from emea.method.probability import counterparts
from emea.runs.pieces_of_loop import LoopPieces

LIKELY = 0.8  # belief from which a pair is a label
BLOCK = 50_000  # pairs whose similarity is computed at once
Triple = tuple[int, int, int]  # 0 for an edge of the source, 1 of the target; relation, neighbour


class Recomputed:
    """A finished run whose encoder is fitted once more, without the labels of some links, so that none of these rests
    on itself. Labels and the beliefs about other pairs stay as they were."""

    def __init__(self, pieces: LoopPieces, links: Sequence[tuple[int, int]]) -> None:
        grounds, prepared, settings = pieces.grounds, pieces.prepared, pieces.settings
        chosen = settings.encoder_settings()
        if prepared is None or not isinstance(chosen, PropagationSettings):
            raise SettingsError(
                f"found a run with {settings.em.encoder}"
                + (" whose inputs cannot be read again" if prepared is None else "")
                + ", expected propagation and its inputs: only there links can be computed anew from fewer triples"
            )
        self.pieces, asked = pieces, grounds.asked
        own = Links.build(*(torch.tensor(column, dtype=torch.long) for column in zip(*links, strict=True)))
        rows = ((asked.confidence >= LIKELY) & ~asked.candidates.among(own)).nonzero()[:, 0]
        labels = Links.build(asked.candidates.source[rows], asked.candidates.target[rows], asked.confidence[rows])
        encoder = Propagation(prepared.graphs, chosen, torch.device("cpu"))
        self.spread = encoder.spread(labels, torch.Generator().manual_seed(settings.seed))
        self.bars = LoopBars(self._believed(grounds))
        self.sharpness = grounds.scale.sharpness

    def _believed(self, grounds: Grounds) -> Grounds:
        """What the run would have believed about its candidates with these labels."""
        settings, pairs = self.pieces.settings, grounds.proposed.candidates
        pairs = replace(pairs, source=pairs.source.long(), target=pairs.target.long())
        one, other = (side.embedding for side in self.spread)
        cosine = torch.cat(
            [
                (one[pairs.source[rows]] * other[pairs.target[rows]]).sum(1)
                for rows in torch.split(torch.arange(len(pairs)), BLOCK)
            ]
        )
        densities = []
        for index, size in ((pairs.source, pairs.sources), (pairs.target, pairs.targets)):
            top = segment_top(index, size, cosine, settings.similarity.neighbours)
            total, number = segment_sum(cosine * top, index, size), torch.bincount(index[top], minlength=size)
            densities.append(total / number.clamp(min=1))
        pairs = replace(pairs, cosine=cosine, source_density=densities[0], target_density=densities[1])
        believed = counterparts(pairs, grounds.scale, settings.probability, competition=grounds.competition)
        return replace(grounds, proposed=believed, considered=_renewed(grounds.considered, believed))

    def link(self, source: int, target: int) -> RecomputedLink:
        """One of the links."""
        return RecomputedLink(self, (source, target))


def _renewed(old: Counterparts, new: Counterparts) -> Counterparts:
    """Old beliefs, replaced where there are new ones."""
    row = lookup(new.candidates.keys(), old.candidates.keys())
    forward, backward = (
        torch.where(row >= 0, now[row.clamp(min=0)], before)
        for now, before in ((new.forward, old.forward), (new.backward, old.backward))
    )
    return replace(old, forward=forward, backward=backward)


class RecomputedLink:
    """A link, and whether it would be found with some of the triples of its entities."""

    def __init__(self, run: Recomputed, pair: tuple[int, int]) -> None:
        self._run, self._pair = run, pair
        self._sides = [_Side(run, place, pair) for place in (0, 1)]
        self.around = [
            (place, relation, tail)
            for place, entity in enumerate(pair)
            for relation, tail in zip(*run.pieces.edges[place].leaving(entity), strict=True)
        ]

    def found(self, kept: Collection[Triple]) -> bool:
        """Whether both are still each other's best candidate, if only these triples are left of those around them."""
        embedded = []
        for place, (entity, spread) in enumerate(zip(self._pair, self._run.spread, strict=True)):
            edges = [(relation, tail) for side, relation, tail in kept if side == place]
            relation, tail = torch.tensor(edges, dtype=torch.long).reshape(-1, 2).unbind(1)
            embedded.append(spread.embed(entity, relation, tail))
        left = set(kept)
        return all(side.best(embedded[place], embedded[1 - place], left) for place, side in enumerate(self._sides))

    def fewest(self) -> list[Triple] | None:
        """As few triples as carry the link: with them alone it is found, without them it is not. Those that suffice,
        and then more until the others do not; less those that can go. None if the link would not be found even with
        all: then it rests on its own label."""
        if not self.found(self.around):
            return None
        ranked = self._ranked()
        size = next(number for number in _sizes(len(ranked)) if self.found(ranked[:number]))
        chosen = self._less(ranked[:size], self.found)
        for each in ranked:
            if self._carry(chosen):
                break
            chosen += [each] if each not in chosen else []
        return self._less(chosen, self._carry)

    def _carry(self, these: Collection[Triple]) -> bool:
        kept = set(these)
        return self.found(these) and not self.found([each for each in self.around if each not in kept])

    @staticmethod
    def _less(chosen: list[Triple], enough: Callable[[list[Triple]], bool]) -> list[Triple]:
        """Without the triples that can go, the weakest first, until none can: without one, another may."""
        before: list[Triple] = []
        while chosen != before:
            before = chosen
            for each in reversed(before):
                fewer = [other for other in chosen if other != each]
                if enough(fewer):
                    chosen = fewer
        return chosen

    def _ranked(self) -> list[Triple]:
        """The triples around the link: those that rules name, by share; then those to neighbours that are alike."""
        ranked: list[Triple] = []
        grounded = self._run.pieces.grounded(*self._pair)
        for piece in sorted((each for one in grounded.values() for each in one.pieces), key=lambda each: -each.said):
            ranked += _ends(piece)
        one, other = ([each for each in self.around if each[0] == place] for place in (0, 1))
        if one and other:
            first, second = (
                spread.embedding[torch.tensor([tail for _, _, tail in edges])]
                for spread, edges in zip(self._run.spread, (one, other), strict=True)
            )
            order = torch.argsort((first @ second.T).flatten(), descending=True, stable=True)
            for place in order[: 4 * len(self.around)].tolist():
                ranked += [one[place // len(other)], other[place % len(other)]]
        known = set(self.around)
        return list(dict.fromkeys([*(each for each in ranked if each in known), *self.around]))


class _Side:
    """One entity of a link, and its candidates on the other side."""

    def __init__(self, run: Recomputed, place: int, pair: tuple[int, int]) -> None:
        self.place, self.sharpness = place, run.sharpness
        side, entity, other = run.bars.sides[place], pair[place], pair[1 - place]
        rows = side.near.rows(entity)
        others = side.near.other[rows]
        self.other = int(np.flatnonzero(others == other)[0])
        self.far = run.spread[1 - place].embedding[torch.from_numpy(others)]
        self.before = self.far @ run.spread[place].embedding[entity]
        self.chance = np.log(side.near.belief[rows].clip(1e-300))
        self.say, self.against = side.say, side.none if side.none > LOWEST else -np.inf
        self.rules = []
        for number, candidate in enumerate(others.tolist()):
            ends = (entity, candidate) if place == 0 else (candidate, entity)
            grounded = run.pieces.grounded(*ends)
            for name, said in side.rules.items():
                limited = (0, 1) if number == self.other else (place,)
                left = _left(grounded[name], limited) if name in grounded else (lambda _: 1.0)
                self.rules.append((number, float(said[rows[number]]), left))

    def best(self, own: torch.Tensor, counterpart: torch.Tensor, kept: set[Triple]) -> bool:
        """Whether the link's other entity has the highest belief, given both embeddings and the triples left."""
        cosine = self.far @ own
        cosine[self.other] = counterpart @ own
        moved = 2 * self.sharpness * (cosine - self.before).double().numpy()
        logit = np.zeros(len(moved))
        for number, said, left in self.rules:
            logit[number] += said * left(kept)
        score = self.chance + moved + self.say * logit - np.log1p(np.exp(self.against - logit))
        return int(score.argmax()) == self.other


def _left(grounded: Grounded, limited: Collection[int]) -> Callable[[set[Triple]], float]:
    """The share of a rule's factor that is left with some triples, of the sides that lose any."""
    whole, factor = grounded.factor(()), lru_cache(grounded.factor)
    ends = [[end for end in _ends(piece) if end[0] in limited] for piece in grounded.pieces]

    def left(kept: set[Triple]) -> float:
        gone = frozenset(number for number, each in enumerate(ends) if not all(end in kept for end in each))
        return factor(gone) / whole if gone and whole else 1.0

    return left


def _ends(piece: Ground) -> list[Triple]:
    """The triples that a piece of evidence is made of; none for values that were compared as such."""
    if piece.source_relation < 0:
        return []
    return [(0, piece.source_relation, piece.source), (1, piece.target_relation, piece.target)]


def _sizes(most: int) -> list[int]:
    """So many, ever more, up to `most`.

    >>> _sizes(12), _sizes(10), _sizes(1)
    ([1, 2, 3, 4, 6, 8, 12], [1, 2, 3, 4, 6, 8, 10], [1])
    """
    found = [1, 2, 3]
    while found[-1] < most:
        found.append(found[-2] * 2)
    return [each for each in found if each < most] + [most]
