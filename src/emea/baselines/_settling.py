"""The turns of PARIS: equivalences and subrelations from each other until they settle, with or without an encoder."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from emea.baselines._equivalences import Equivalences, Grouped, assumed, best_of_both, equivalences, observed
from emea.contracts import Turn
from emea.data import Candidates, Counterparts, Embeddings, Links, Task
from emea.kernels.messages import row_products
from emea.kernels.segments import segment_sum

SHARE = 0.2  # weight of an encoder's cosine in the probability of a pair (PRASE)


class Settling:
    """The state of PARIS between its turns."""

    def __init__(self, task: Task, theta: float, device: torch.device) -> None:
        self.theta = theta
        self.source, self.target = Grouped.build(task.source, device), Grouped.build(task.target, device)
        seeds = task.seeds.to(device)
        self.known = Links(seeds.source, seeds.target, seeds.weight.double())
        self.exclusions = task.exclusions.to(device)
        self.free = [graph.linkable.to(device) for graph in (task.source, task.target)]
        self.free[0][self.known.source] = False
        self.free[1][self.known.target] = False
        for free, alone in zip(self.free, (task.unmatched.source, task.unmatched.target), strict=True):
            free[alone[alone >= 0].to(device)] = False
        self.subrelations = assumed(self.source, self.target, theta)
        self.found = self.known[:0]  # the best pairs of the last turn

    def turns(self, rounds: int, settled: float, embeddings: Embeddings | None = None) -> Iterator[Turn]:
        """Turn by turn until few of the best pairs were absent from the last two turns (some come and go forever)."""
        seen: list[Tensor] = []
        for number in range(rounds):
            pairs = equivalences(self.source, self.target, self.known + self.found, self.subrelations, self.theta)
            pairs = pairs[self._open(pairs.links)]
            if embeddings is not None:
                pairs = _with_opinion(pairs, embeddings)
            self._carry(best_of_both(pairs, len(self.free[0]), len(self.free[1])))
            keys = self._keys(self.found)
            new = ~torch.isin(keys, torch.cat(seen[-2:])) if seen else torch.ones_like(keys, dtype=torch.bool)
            seen.append(keys)
            changed = float(new.double().mean()) if len(new) else 0.0
            yield Turn(self._beliefs(pairs.links), self.found, changed)
            if changed <= settled and number:
                return

    def hear(self, proposed: Links) -> None:
        """Start the next turn from pairs that another system proposes."""
        proposed = Links(proposed.source, proposed.target, proposed.weight.double())
        self._carry(proposed[self._open(proposed)])

    def _carry(self, found: Links) -> None:
        """Start the next turn from these pairs."""
        self.found = found
        self.subrelations = observed(self.source, self.target, self.known + found)

    def _open(self, pairs: Links) -> Tensor:
        """Whether both entities of each pair are free to be linked, and the pair is not excluded, [pairs] bool."""
        kept = self.free[0][pairs.source] & self.free[1][pairs.target]
        return kept & ~torch.isin(self._keys(pairs), self._keys(self.exclusions)) if len(self.exclusions) else kept

    def _keys(self, pairs: Links) -> Tensor:
        return pairs.keys(len(self.free[1]))

    def _beliefs(self, pairs: Links) -> Counterparts:
        """The pairs as beliefs; PARIS does not normalise them, and "none" gets what is left of 1."""
        sources, targets = (len(free) for free in self.free)
        density = [pairs.weight.new_zeros(size, dtype=torch.float32) for size in (sources, targets)]
        candidates = Candidates(pairs.source, pairs.target, pairs.weight.float(), sources, targets, *density)
        nones = (
            (1 - segment_sum(pairs.weight, index, size)).clamp(min=0.0)
            for index, size in ((pairs.source, sources), (pairs.target, targets))
        )
        return Counterparts(candidates, pairs.weight, pairs.weight, *nones)


def _with_opinion(pairs: Equivalences, embeddings: Embeddings) -> Equivalences:
    """The pairs with a weighted mean of PARIS' probability and the cosine of their embeddings."""
    links = pairs.links
    cosine = row_products(embeddings.source, embeddings.target, links.source, links.target).double()
    value = (1 - SHARE) * links.weight + SHARE * cosine.clamp(min=0.0)
    return Equivalences(Links(links.source, links.target, value), value)
