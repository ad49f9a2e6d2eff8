"""Which of the candidates that a round found are open, and which are rivals of what is known."""

from __future__ import annotations

from typing import NamedTuple

from emea.candidates.parts import KeptCandidates
from emea.candidates.search import nearest_only
from emea.data import Candidates, Links
from emea.method.competition import Competition


class Opening(NamedTuple):
    """What is known in a round about pairs and entities."""

    known: Links  # seeds that the encoder is shown
    anchors: Links
    exclusions: Links
    wrong: Links  # exclusions that are open all the same
    unmatched: Links  # entities without counterpart
    alone: Links  # those that are open all the same
    competition: Competition

    def opened(self, nearest: KeptCandidates) -> KeptCandidates:
        """The candidates that nothing known rules out."""
        return nearest.map(_opened, nearest.engine.share(self))

    def rivals(self, nearest: KeptCandidates, count: int) -> Candidates:
        """The nearest of the candidates that share an entity with a known pair, so many of each entity."""
        return nearest_only(nearest.map(_rivals, nearest.engine.share(self)), count)


def _opened(nearest: Candidates, given: Opening) -> Candidates:
    out = nearest.among(given.exclusions) & ~nearest.among(given.wrong)
    out |= nearest.touches(given.unmatched) & ~nearest.touches(given.alone)
    out |= nearest.touches(given.anchors) | given.competition.taken(nearest, given.known)
    return nearest[~out]


def _rivals(nearest: Candidates, given: Opening) -> Candidates:
    return nearest[nearest.touches(given.known, *given.competition)]
