"""What passes from round to round of the loop, and what the loop returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from emea.candidates.kept import KeptEmbeddings
from emea.candidates.parts import here
from emea.contracts import Progress
from emea.data import Alignment, Counterparts, Embeddings, Links
from emea.evidence.prepared import Prepared
from emea.kernels.segments import segment_best
from emea.method.compatibility import labels, widen
from emea.method.competition import Competition
from emea.method.grounds import Grounds, logit_of_none, logits_by_rule
from emea.method.probability import Scale
from emea.method.rulebook import Said
from emea.settings import ProbabilitySettings, Settings


@dataclass(frozen=True, eq=False, kw_only=True)
class State:
    """All that later rounds need to know about earlier ones: what a checkpoint holds."""

    done: int  # rounds
    labels: Links  # pseudo-labels for the next round, seeds not included
    scale: Scale  # of the probabilities
    fold: int  # of the seeds, hidden from the next round
    trials: Tensor  # [trials, 3]: round, confidence of the link found for a hidden seed, and whether it is right
    random: Tensor  # state of the generator
    encoder: dict[str, Tensor]  # what the encoder continues from
    scouts: int = 0  # loops that went ahead and have ended
    scouted: Links = field(default_factory=Links.empty)  # their best pairs, with the sums of their confidence

    @classmethod
    def start(cls, settings: ProbabilitySettings, generator: torch.Generator) -> State:
        """Before the first round."""
        return cls(
            done=0,
            labels=Links.empty(),
            scale=Scale.typical(settings),
            fold=0,
            trials=torch.zeros(0, 3, dtype=torch.float64),
            random=generator.get_state(),
            encoder={},
        )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Step(ABC):
    """One round of a method: of the EM loop, or of a baseline."""

    number: int
    seconds: float

    @property
    def resumable(self) -> State | None:
        """The state from which a run can resume after this step, if it can and has to."""
        return None

    @abstractmethod
    def record(self) -> dict[str, Any]:
        """What the step found, for rounds.jsonl."""

    @abstractmethod
    def headline(self) -> str:
        """What the step found, in a few words for the terminal."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Round(Step):
    """What one round of the loop found."""

    embeddings: Embeddings
    believed: Counterparts  # q_Θ: what the encoder proposes, over all candidates
    refined: Counterparts  # q*: how compatible the best of them are, according to the rules alone
    agreed: Counterparts  # q_Θ · q*ˢ: what both support, with the rules' exponent s = last_say
    weights: dict[str, float]  # Φ, by rule and indicator
    considered: Counterparts  # q_Θ over the best of each entity, with the seeds fixed
    asked: Counterparts  # the beliefs that the rules were asked with last, over the same pairs
    said: Said  # what they answered
    labels: Links  # pseudo-labels that follow from it
    state: State  # after this round
    final: bool
    fitting: float  # seconds that the encoder took
    scout: int = 0  # number of the loop, if it is one that goes ahead

    def __repr__(self) -> str:
        return f"Round({self.number}, {len(self.labels):,} pseudo-labels, {self.seconds:.1f} s)"

    @property
    def trials(self) -> Tensor:
        """Confidence and correctness of the links found for this round's hidden seeds, [trials, 2]."""
        return self.state.trials[self.state.trials[:, 0] == self.number, 1:]

    def concluded(self, competition: Competition) -> Counterparts:
        """What the loop believes of all candidates, if this is its last round."""
        return competition.seen(widen(self.agreed, self.believed))

    @property
    def agreement(self) -> float | None:
        """Share of the sources with a compatible counterpart for which the encoder's best is the same one."""
        pairs, rows = self.considered.candidates, labels(self.refined, self.considered)
        best = segment_best(pairs.source, pairs.sources, self.considered.forward)
        return float((best[pairs.source[rows]] == rows).double().mean()) if len(rows) else None

    @property
    def resumable(self) -> State | None:
        """The state after this round, unless it was the last."""
        return None if self.final else self.state

    def record(self) -> dict[str, Any]:
        """What the round found, for rounds.jsonl."""
        return {
            **({"scout": self.scout} if self.scout else {}),
            "candidates": len(self.believed.candidates),
            "pseudo_labels": len(self.labels),
            **asdict(self.state.scale),
            "weights": self.weights,
            "agreement": self.agreement,
            "held_out_links": len(self.trials),
            "held_out_right": int(self.trials[:, 1].sum()),
        }

    def headline(self) -> str:
        """How many pairs were labelled, and how hidden seeds fared."""
        found = (f"scout {self.scout}, " if self.scout else "") + f"{len(self.labels):,} pairs labelled"
        if len(self.trials):
            found += f", {int(self.trials[:, 1].sum())} of {len(self.trials)} links of held-out pairs right"
        return found


@dataclass(frozen=True, eq=False)
class Fitting:
    """How far the encoder has come in a round."""

    round: int
    progress: Progress
    state: Callable[[], State] | None  # from which a run can resume in the middle of this fit, if it can


@dataclass(frozen=True)
class Absence:
    """How many sources have no counterpart at most, as found without known pairs."""

    share: float  # π₀: of the sources; an upper bound that counts all for which nothing was found
    linked: float  # F₀: of those, how many would be linked all the same
    by_chance: float  # share of the links that entities without counterpart would have by chance
    sources: int  # that may be linked


@dataclass(frozen=True, eq=False, repr=False)
class Outcome:
    """What a method found: the alignment, the beliefs behind it, and the last round of the loop."""

    prepared: Prepared
    settings: Settings
    alignment: Alignment  # seeds not included
    counterparts: Counterparts  # final beliefs about all candidates
    last: Round | None  # None for a baseline
    absence: Absence | None = None  # how many sources have no counterpart at most, where that was found
    grounds: Grounds | None = None  # what the confidence was computed from; None for a baseline

    def here(self) -> Outcome:
        """The same with embeddings and beliefs that no engine keeps."""
        if self.last is None or self.grounds is None:
            return self
        embeddings, believed = KeptEmbeddings.of(self.last.embeddings).here(), here(self.last.believed)
        return replace(
            self,
            counterparts=here(self.counterparts),
            last=replace(self.last, embeddings=embeddings, believed=believed),
            grounds=replace(self.grounds, proposed=believed),
        )


def grounds_of(last: Round, settings: Settings) -> Grounds:
    """What the beliefs of a round were computed from."""
    sides, weights = (last.said.forward, last.said.backward), last.weights
    return Grounds(
        proposed=last.believed,
        scale=last.state.scale,
        considered=last.considered,
        asked=last.asked,
        rules=logits_by_rule(sides, weights, settings.rule_names),
        none=(logit_of_none(sides[0], weights.values()), logit_of_none(sides[1], weights.values())),
        say=settings.compatibility.last_say,
        competition=Competition.of(settings.matching),
    )


def self_taught(last: Round, prepared: Prepared, settings: Settings) -> float:
    """The labels that follow from the last round, as a share of these and of what is known; 0 unless they were found by
    rounds that knew the seeds to calibrate by."""
    if not settings.probability.discount or last.number == 0 or settings.probability.fit_to != "seeds":
        return 0.0
    return len(last.state.labels) / max(1, len(last.state.labels) + len(prepared.known))
