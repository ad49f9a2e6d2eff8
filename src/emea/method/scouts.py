"""Loops that go ahead of the last one: what they run with, and what they hand on."""

from __future__ import annotations

from dataclasses import replace

import torch

from emea.data import Links
from emea.method.rounds import Round, State
from emea.settings import EMSettings, Settings

AGREED = 0.5  # mean weight that labels of several loops exceed: no two of them compete


def of_scouts(settings: Settings) -> Settings:
    """The settings of each loop that goes ahead: with the default encoder, until there are hardly more labels."""
    usual = EMSettings()
    own = {"encoder": usual.encoder, "rounds": usual.rounds, "growth": usual.growth, "scouts": 0}
    return settings.model_copy(update={"em": settings.em.model_copy(update=own)})


def after_scout(last: Round, scouts: int) -> State:
    """The start of the next loop, once one of those that go ahead has ended. They know nothing of each other; the loop
    after all of them starts from what they agree on."""
    done, state, targets = last.state.scouts + 1, last.state, last.believed.candidates.targets
    found = added_up(state.scouted.to(state.labels.source.device) + state.labels, targets)
    labels = agreed_on(found, scouts) if done == scouts else Links.empty()
    start = replace(state, done=0, labels=labels, fold=0, trials=state.trials[:0], encoder={})
    return replace(start, scouts=done, scouted=found)


def added_up(links: Links, targets: int) -> Links:
    """Each pair once, with the sum of its weights; `targets` is how many there are."""
    keys, pair = torch.unique(links.keys(targets), return_inverse=True)
    weight = links.weight.new_zeros(len(keys)).index_add_(0, pair, links.weight)
    return Links(keys // targets, keys % targets, weight)


def agreed_on(found: Links, loops: int) -> Links:
    """What so many loops agree on, given the sums of the weights of their labels."""
    agreed = found[found.weight > AGREED * loops]
    return Links(agreed.source, agreed.target, agreed.weight / loops)
