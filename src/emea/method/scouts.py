"""Loops that go ahead of the last one: what they run with, and what they hand on."""

from __future__ import annotations

from dataclasses import replace

import torch

from emea.data import Links
from emea.method.competition import Competition
from emea.method.probability import most_probable
from emea.method.rounds import Round, State
from emea.settings import CompatibilitySettings, EMSettings, Settings

BEST = 3  # counterparts of each entity that a loop hands on: together, loops agree on no others
AGREED = 0.8  # mean confidence that pairs have on which loops agree


def of_scouts(settings: Settings) -> Settings:
    """The settings of each loop that goes ahead: with the default encoder, both ways, until there are hardly more
    labels."""
    usual = EMSettings()
    own = {"encoder": usual.encoder, "rounds": usual.rounds, "growth": usual.growth, "scouts": 0}
    directions = {"directions": CompatibilitySettings().directions}
    return settings.model_copy(
        update={
            "em": settings.em.model_copy(update=own),
            "compatibility": settings.compatibility.model_copy(update=directions),
        }
    )


def after_scout(last: Round, settings: Settings) -> State:
    """The start of the next loop, once one of those that go ahead has ended. They know nothing of each other; the loop
    after all of them starts from what they agree on."""
    done, state, believed = last.state.scouts + 1, last.state, last.concluded(Competition.of(settings.matching))
    best = most_probable(believed, BEST, both_ways=True)
    pairs = Links.build(best.candidates.source, best.candidates.target, best.confidence)
    found = added_up(state.scouted.to(pairs.source.device) + pairs, best.candidates.targets)
    labels = agreed_on(found, settings.em.scouts) if done == settings.em.scouts else Links.empty()
    start = replace(state, done=0, labels=labels, fold=0, trials=state.trials[:0], encoder={})
    return replace(start, scouts=done, scouted=found)


def added_up(links: Links, targets: int) -> Links:
    """Each pair once, with the sum of its weights; `targets` is how many there are."""
    keys, pair = torch.unique(links.keys(targets), return_inverse=True)
    weight = links.weight.new_zeros(len(keys)).index_add_(0, pair, links.weight)
    return Links(keys // targets, keys % targets, weight)


def agreed_on(found: Links, loops: int) -> Links:
    """What so many loops agree on, given the sums of their confidence."""
    agreed = found[found.weight > AGREED * loops]
    return Links(agreed.source, agreed.target, agreed.weight / loops)
