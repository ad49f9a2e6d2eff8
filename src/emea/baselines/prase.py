"""PRASE: PARIS and an encoder in turn, each starting from what the other found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from pydantic import Field, field_serializer, model_validator

from emea import plugins
from emea.baselines._settling import Settling
from emea.candidates.search import search
from emea.contracts import Baseline, Encoder, PluginSettings, Report, Turn, unreported
from emea.data import Embeddings, Links, Task
from emea.kernels.segments import mutual_rows
from emea.plugins import plugin_settings
from emea.settings import SimilaritySettings


class PRASESettings(PluginSettings):
    """The encoder, and how often it and PARIS take turns."""

    encoder: str = Field("rrea", description="a name that `emea encoders` lists, or module:Class")
    settings: dict[str, Any] = Field(default_factory=dict, description="settings of the encoder")
    turns: int = Field(2, ge=0, description="turns of the encoder, each followed by one of PARIS")
    theta: float = Field(
        0.1, gt=0, lt=1, description="θ of PARIS; the encoder learns from pairs at least this probable"
    )
    rounds: int = Field(60, ge=1, description="maximum number of rounds in a turn of PARIS")
    settled: float = Field(
        0.01, ge=0, le=1, description="a turn of PARIS stops when at most this share of the best pairs is new"
    )

    @model_validator(mode="after")
    def _known(self) -> PRASESettings:
        self.own()
        return self

    @field_serializer("settings")
    def _whole(self, _: dict[str, Any]) -> dict[str, Any]:
        """The encoder's settings, defaults included, so that a saved configuration is complete."""
        return self.own().model_dump(mode="json", exclude_none=True)

    def own(self) -> PluginSettings:
        """The encoder's settings."""
        encoder = plugins.find("encoders", self.encoder, Encoder)
        return plugin_settings("baselines.prase.settings", encoder, self.settings)


class PRASE(Baseline[PRASESettings]):
    """Qi et al. (IJCAI 2021). PARIS' best pairs are the encoder's seeds. The encoder's mutually nearest pairs go back
    to PARIS, with their cosine as probability, and PARIS then scores each pair by 0.8·Pr + 0.2·cos."""

    Settings = PRASESettings

    def __init__(self, task: Task, settings: PRASESettings, device: torch.device) -> None:
        self.settings, self.settling = settings, Settling(task, settings.theta, device)
        self.encoder = plugins.find("encoders", settings.encoder, Encoder)(task, settings.own(), device)

    def turns(self, generator: torch.Generator, report: Report = unreported) -> Iterator[Turn]:
        """PARIS first; then the encoder and PARIS in turn."""
        limits = self.settings.rounds, self.settings.settled
        yield from self.settling.turns(*limits)
        for _ in range(self.settings.turns):
            found = self.settling.found
            likely = found[found.weight >= self.settings.theta]
            pairs = Links.build(*(self.settling.known + likely).columns[:2])
            embeddings = self.encoder.fit(pairs, generator, report)
            self.settling.hear(nearest_to_each_other(embeddings, generator))
            yield from self.settling.turns(*limits, embeddings)


def nearest_to_each_other(embeddings: Embeddings, generator: torch.Generator) -> Links:
    """Mutually nearest pairs, weighted by their cosine; ties are left out."""
    near = search(embeddings, SimilaritySettings(candidates=1), generator)
    rows = mutual_rows(near.source, near.target, near.cosine, near.cosine)
    return Links(near.source[rows], near.target[rows], near.cosine[rows].clamp(min=0.0))
