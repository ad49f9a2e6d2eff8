"""Which seeds are hidden from the encoder in which round, so that there are known pairs to judge it by."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from emea.data import Links
from emea.settings import ProbabilitySettings


@dataclass(frozen=True, eq=False)
class Folds:
    """The seeds cut into folds. Each round hides one of them; the round that closes the loop hides none."""

    seeds: Links
    parts: tuple[Links, ...]  # empty if nothing is ever hidden

    @classmethod
    def cut(cls, seeds: Links, settings: ProbabilitySettings, generator: torch.Generator) -> Folds:
        """Cut the seeds at random, if some have to be hidden and there are enough."""
        if settings.fit_to != "seeds" or settings.folds < 2 or len(seeds) < 2 * settings.folds:
            return cls(seeds, ())
        order = torch.randperm(len(seeds), generator=generator).to(seeds.source.device)
        return cls(seeds, tuple(seeds[part] for part in order.tensor_split(settings.folds)))

    @property
    def nothing(self) -> int:
        """The number of the fold that hides no seed."""
        return len(self.parts)

    def hidden(self, fold: int) -> Links:
        """The seeds that a fold hides."""
        return self.parts[fold] if fold < len(self.parts) else self.seeds[:0]

    def shown(self, fold: int) -> Links:
        """The seeds that a fold does not hide."""
        return self.seeds[~torch.isin(self.seeds.source, self.hidden(fold).source)]

    def tried(self, mistakes: Links, fold: int) -> Links:
        """The known mistakes that a fold leaves open."""
        if fold >= len(self.parts):
            return mistakes[:0]
        return mistakes[torch.arange(len(mistakes), device=mistakes.source.device) % len(self.parts) == fold]

    def closes(self, fold: int) -> bool:
        """Whether a round with this fold is the last: it hides nothing, although earlier rounds hid some seeds."""
        return fold == self.nothing > 0

    def after(self, fold: int, *, settled: bool, remembers: bool) -> int:
        """The next fold: each in turn, or always the same for an encoder that would remember the others; nothing once
        the loop has settled."""
        if settled or not self.parts:
            return self.nothing
        return fold if remembers else (fold + 1) % len(self.parts)


def hide_labels(labels: Links, settings: ProbabilitySettings, generator: torch.Generator) -> tuple[Links, Links]:
    """A random fold of the last round's labels to judge by, and the others: for where no seeds are hidden, as there are
    none, or as links are judged at the end."""
    if settings.folds < 2:
        return labels[:0], labels
    hidden = torch.rand(len(labels), generator=generator).to(labels.source.device) * settings.folds < 1
    return labels[hidden], labels[~hidden]
