"""Algorithm 1: an encoder proposes counterparts, rules say how compatible they are, and each corrects the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import torch
from torch import Tensor

from emea import plugins
from emea.compatibility import NONE, UNDECIDED, Factors, combine, learn_weights, refine, widen
from emea.contracts import Encoder, Rule
from emea.data import Alignment, Counterparts, Embeddings, Links, Task
from emea.errors import PluginError
from emea.kernels.segments import segment_best, segment_max
from emea.matching import Calibration, match, mutual_best
from emea.probability import clamp, counterparts, fit_sharpness, most_probable
from emea.settings import EMSettings, Settings
from emea.similarity import search

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False)
class State:
    """All that the rounds to come need to know of those before: what a checkpoint holds."""

    done: int  # rounds
    labels: Links  # pseudo-labels for the next round, seeds not included
    sharpness: float  # of the probabilities
    trials: Tensor  # [trials, 3]: round, confidence in the link found for a seed hidden from it, and if it is right
    random: Tensor  # state of the generator
    encoder: dict[str, Tensor]  # what the encoder goes on from


@dataclass(frozen=True, eq=False)
class Round:
    """What one round of the loop came to."""

    number: int
    embeddings: Embeddings
    believed: Counterparts  # q_Θ: what the encoder proposes, over all candidates
    refined: Counterparts  # q*: how compatible the best of them are, by the rules alone
    agreed: Counterparts  # q_Θ · q*: what both support
    weights: Tensor  # Φ, one per rule
    state: State  # after this round
    seconds: float

    @property
    def trials(self) -> Tensor:
        """Confidence and rightness of the links found for this round's hidden seeds, [trials, 2]."""
        return self.state.trials[self.state.trials[:, 0] == self.number, 1:]


def rounds(task: Task, settings: Settings, state: State | None = None) -> Iterator[Round]:
    """The method: yields each round as it ends; round 0 is the fit to the seeds alone; a state lets it go on."""
    device, generator = torch.device(settings.device), torch.Generator().manual_seed(settings.seed)
    graphs = Task(task.source, task.target, Links.empty())  # all that encoders and rules may know
    encoder = _encoder(graphs, settings, device)
    rules, backward_rules = _rules(graphs, settings, device), _rules(graphs.swap(), settings, device)
    seeds, exclusions = task.seeds.to(device), task.exclusions.to(device)
    folds = _folds(seeds, settings.probability.folds, generator)
    pseudo, sharpness, tried = seeds[:0], settings.probability.typical_sharpness, torch.zeros(0, 3, dtype=torch.float64)
    if state is not None:
        pseudo, sharpness, tried = state.labels.to(device), state.sharpness, state.trials
        generator.set_state(state.random)
        encoder.restore(state.encoder)
    for number in range(0 if state is None else state.done, settings.em.rounds + 1):
        started = time.perf_counter()
        held_out = seeds[:0] if number == settings.em.rounds else folds[number % len(folds)]
        known = seeds[~torch.isin(seeds.source, held_out.source)]

        embeddings = _kept_contract(encoder.fit(known + pseudo, generator), task, settings.em.encoder)
        candidates = search(embeddings, settings.similarity, generator)
        candidates = candidates[~(candidates.touches(known) | candidates.among(exclusions))]
        sharpness = fit_sharpness(candidates, held_out, settings.probability) if len(held_out) else sharpness
        believed = counterparts(candidates, sharpness, settings.probability)  # q_Θ

        considered = clamp(most_probable(believed, settings.compatibility.candidates), known)
        forward = _factors(rules, considered, settings)
        backward = _factors(backward_rules, considered.swap(), settings)
        weights = learn_weights([(forward, _sample(considered)), (backward, _sample(considered.swap()))])  # M-step: Φ
        refined = refine(considered, forward, backward, weights)  # E-step: q*
        agreed = combine(considered, refined)
        pseudo = pseudo_labels(agreed, seeds, settings.em)

        tried = torch.cat([tried, _trials(agreed, held_out, number)])
        state = State(number + 1, pseudo, sharpness, tried, generator.get_state(), encoder.state())
        yield Round(number, embeddings, believed, refined, agreed, weights, state, time.perf_counter() - started)


@dataclass(frozen=True, eq=False)
class Result:
    """What the loop came to: the alignment, the beliefs behind it, and the last round."""

    task: Task
    settings: Settings
    alignment: Alignment  # seeds not included
    counterparts: Counterparts  # final beliefs about all candidates
    last: Round

    def to_arrow(self) -> pa.Table:
        """The alignment with names: source, target, confidence, similarity; the surest first."""
        found = self.alignment
        table = pa.table(
            {
                "source": self.task.source.entities.take(found.source.cpu().numpy()),
                "target": self.task.target.entities.take(found.target.cpu().numpy()),
                "confidence": found.confidence.cpu().numpy(),
                "similarity": found.similarity.cpu().numpy(),
            }
        )
        return table.sort_by([("confidence", "descending"), ("source", "ascending")])

    def to_pandas(self) -> pandas.DataFrame:
        """The alignment with names, as a data frame (needs pandas)."""
        return self.to_arrow().to_pandas()


def align(
    task: Task,
    settings: Settings | None = None,
    observe: Callable[[Round], None] | None = None,
    state: State | None = None,
) -> Result:
    """Link the two graphs of a task; `observe` is shown each round as it ends, `state` goes on where a run stopped."""
    settings = settings or Settings()
    for last in rounds(task, settings, state):
        if observe is not None:
            observe(last)
    tried = last.state.trials
    recent = tried[
        tried[:, 0] >= max(1, last.number - settings.probability.folds), 1:
    ]  # round 0 says little of the end
    believed = widen(last.agreed, last.believed)
    return Result(task, settings, match(believed, Calibration(recent), settings.matching), believed, last)


def _encoder(task: Task, settings: Settings, device: torch.device) -> Encoder:
    plugin = plugins.find("encoders", settings.em.encoder, Encoder)
    return plugin(task, settings.encoder_settings(), device)


def _rules(task: Task, settings: Settings, device: torch.device) -> list[Rule]:
    return [plugins.find("rules", name, Rule)(task, settings.rule_settings(name), device) for name in settings.em.rules]


def _kept_contract(embeddings: Embeddings, task: Task, name: str) -> Embeddings:
    """The embeddings, if they are what the contract says: one finite vector of length 1 or 0 for each entity."""
    for side, graph in ((embeddings.source, task.source), (embeddings.target, task.target)):
        length = torch.linalg.vector_norm(side, dim=1)
        sound = bool(((length - 1).abs().minimum(length) < 1e-3).all())  # a NaN is not
        if len(side) != len(graph.entities) or not sound:
            expected = f"expected [{len(graph.entities)}, features] with rows of length 1 or 0"
            raise PluginError(f"encoder '{name}' gave {list(side.shape)} embeddings, {expected}")
    return embeddings


def _folds(seeds: Links, count: int, generator: torch.Generator) -> list[Links]:
    """The seeds cut into folds at random; a single empty one where they are too few to spare any."""
    if count < 2 or len(seeds) < 2 * count:
        return [seeds[:0]]
    order = torch.randperm(len(seeds), generator=generator).to(seeds.source.device)
    return [seeds[part] for part in order.tensor_split(count)]


def _factors(rules: list[Rule], beliefs: Counterparts, settings: Settings) -> Factors:
    columns = [rule.factors(beliefs).double() for rule in rules]
    for name, column in zip(settings.em.rules, columns, strict=True):
        if column.shape != beliefs.forward.shape or not bool(torch.isfinite(column).all()):
            raise PluginError(
                f"rule '{name}' gave {list(column.shape)} factors, expected {len(beliefs.forward)} numbers"
            )
    values = torch.stack(columns, 1)  # [pairs, rules]
    return Factors(beliefs.candidates, values, settings.compatibility.none)


def _sample(beliefs: Counterparts) -> Tensor:
    """ŷ_e = argmax q_Θ(y_e) (paper 4.5): the row of each entity's sample, NONE, or UNDECIDED for a tie, [sources]."""
    pairs = beliefs.candidates
    best = segment_best(pairs.source, pairs.sources, beliefs.forward)
    highest = segment_max(beliefs.forward, pairs.source, pairs.sources)
    sample = torch.where(best >= 0, best, UNDECIDED)
    return torch.where(highest > beliefs.source_none, sample, NONE)


def _trials(agreed: Counterparts, held_out: Links, number: int) -> Tensor:
    """How held-out seeds fared: the round, and for each link found for one of their entities its confidence and if it
    is right, [trials, 3]."""
    pairs, rows = agreed.candidates, mutual_best(agreed)
    rows = rows[pairs.touches(held_out)[rows]]
    right, confidence = pairs.among(held_out)[rows].double(), agreed.confidence[rows].double()
    return torch.stack([torch.full_like(right, number), confidence, right], 1).cpu()


def pseudo_labels(agreed: Counterparts, seeds: Links, settings: EMSettings) -> Links:
    """Pairs that are the best of each other and sure enough, seeds aside, weighted by how sure they are."""
    rows = mutual_best(agreed)
    confidence = agreed.confidence[rows]
    sure = (confidence >= settings.minimum) & ~agreed.candidates.touches(seeds)[rows]
    rows = rows[sure]
    return Links.build(agreed.candidates.source[rows], agreed.candidates.target[rows], confidence[sure])
