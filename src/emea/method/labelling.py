"""Pseudo-labels: what the encoder should learn next (paper 4.5, Algorithm 1)."""

from __future__ import annotations

import torch

from emea.data import Counterparts, Links, Task
from emea.kernels.segments import segment_best
from emea.method.compatibility import labels, sample
from emea.method.competition import Competition
from emea.settings import EMSettings

# Shares of new labels below which the loop need not go on where links are judged at the end.
FEW_NEW = 0.03
SOME_NEW = 0.1  # if there are no more labels than before


def pseudo_labels(
    considered: Counterparts,
    refined: Counterparts,
    joint: Counterparts,
    settings: EMSettings,
    *,
    competition: Competition,
    draw: torch.Generator,
) -> Links:
    """Pairs agreed on, better than all they compete with and confident enough, weighted by confidence; or, for every
    source, the best of q* or a sample from it."""
    pairs = joint.candidates
    if settings.labels in {"agreed", "one-sided"}:
        best = segment_best(pairs.source, pairs.sources, joint.forward)
        rows = competition.winners(joint) if settings.labels == "agreed" else best[best >= 0]
        rows = rows[joint.confidence[rows] >= settings.minimum]
        return Links.build(
            pairs.source[rows], pairs.target[rows], joint.confidence[rows] if settings.weighted else None
        )
    rows = labels(refined, considered) if settings.labels == "best" else sample(refined, draw)
    return Links.build(pairs.source[rows], pairs.target[rows])


def without(links: Links, seeds: Links, alone: Links, wrong: Links, competition: Competition) -> Links:
    """The links that are neither seeds nor ruled out by them, have no entity without counterpart, and are not wrong."""
    taken = torch.isin(links.source, alone.source) | torch.isin(links.target, alone.target)
    if competition.source:
        taken |= torch.isin(links.source, seeds.source)
    if competition.target:
        taken |= torch.isin(links.target, seeds.target)
    out = wrong if any(competition) else wrong + seeds
    if len(out):
        targets = 1 + int(torch.cat([links.target, out.target]).max())
        taken |= torch.isin(links.keys(targets), out.keys(targets))
    return links[~taken]


def has_settled(before: Links, after: Links, graphs: Task, settings: EMSettings, *, judged: bool) -> bool:
    """Whether further rounds would hardly change the labels: few are new, or there are hardly more. Links that are
    judged at the end do not need what the last rounds polish, once there are no more of them."""
    new, more = changed(before, after, graphs), len(after) - len(before)
    grown = settings.growth == 0 or more >= max(1, settings.growth * len(before))
    polished = new < FEW_NEW or (more <= 0 and new < SOME_NEW)
    return new < settings.settled or (judged and polished) or not grown


def changed(before: Links, after: Links, graphs: Task) -> float:
    """Share of the labels that are new."""
    targets = len(graphs.target.entities)
    old, new = before.to(after.source.device).keys(targets), after.keys(targets)
    return float((~torch.isin(new, old)).double().mean()) if len(new) else 1.0
