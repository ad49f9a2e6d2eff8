"""PARIS: equal neighbours along similar relations make entities equal, and equal entities make relations similar."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from pydantic import Field

from emea.baselines._settling import Settling
from emea.contracts import Baseline, PluginSettings, Report, Turn, unreported
from emea.data import Task


class PARISSystemSettings(PluginSettings):
    """What it starts from, and when it stops."""

    theta: float = Field(
        0.1, gt=0, lt=1, description="initial probability of subrelations; drop pairs less probable than this"
    )
    rounds: int = Field(60, ge=1, description="maximum number of rounds")
    settled: float = Field(0.01, ge=0, le=1, description="stop when at most this share of the best pairs is new")


class PARIS(Baseline[PARISSystemSettings]):
    """Suchanek, Abiteboul, Senellart (PVLDB 2011), eq. 13 and eq. 12 in turn until both settle:

        Pr(x ≡ x') = 1 − Π_{r(x,y), r'(x',y')} (1 − Pr(r' ⊆ r)·fun⁻¹(r)·Pr(y ≡ y'))
                                              ·(1 − Pr(r ⊆ r')·fun⁻¹(r')·Pr(y ≡ y'))

    over all pairs of entities. Only the pairs that are the best for both of their entities are passed to the next turn.
    """

    Settings = PARISSystemSettings

    def __init__(self, task: Task, settings: PARISSystemSettings, device: torch.device) -> None:
        self.settings, self.settling = settings, Settling(task, settings.theta, device)

    def turns(self, generator: torch.Generator, report: Report = unreported) -> Iterator[Turn]:  # noqa: ARG002
        """Equivalences and subrelations in turn."""
        yield from self.settling.turns(self.settings.rounds, self.settings.settled)
