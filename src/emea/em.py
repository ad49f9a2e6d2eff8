"""Algorithm 1: an encoder proposes counterparts, rules say how compatible they are, and each corrects the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import torch
from torch import Tensor

from emea import plugins
from emea.compatibility import combine, labels, learn_weights, refine, sample, widen
from emea.contracts import Encoder, Progress
from emea.data import Alignment, Counterparts, Embeddings, Links, Task
from emea.errors import InputError, PluginError
from emea.kernels.segments import segment_best
from emea.matching import Calibration, match, mutual_best
from emea.probability import Scale, clamp, counterparts, fit_scale, most_probable
from emea.rulebook import Rulebook
from emea.settings import EMSettings, ProbabilitySettings, Settings
from emea.similarity import search
from emea.values import NOTHING_SHARED, Anchors, with_values

if TYPE_CHECKING:
    import pandas

NO_PAIRS = "there are no known pairs, and structure alone needs some; with evidence.kind=all names and values count"


@dataclass(frozen=True, eq=False)
class State:
    """All that the rounds to come need to know of those before: what a checkpoint holds."""

    done: int  # rounds
    labels: Links  # pseudo-labels for the next round, seeds not included
    scale: Scale  # of the probabilities
    fold: int  # of the seeds, that the next round is not shown
    trials: Tensor  # [trials, 3]: round, confidence in the link found for a seed hidden from it, and if it is right
    random: Tensor  # state of the generator
    encoder: dict[str, Tensor]  # what the encoder goes on from


@dataclass(frozen=True, eq=False, repr=False)
class Round:
    """What one round of the loop came to."""

    number: int
    embeddings: Embeddings
    believed: Counterparts  # q_Θ: what the encoder proposes, over all candidates
    refined: Counterparts  # q*: how compatible the best of them are, by the rules alone
    agreed: Counterparts  # q_Θ · q*ˢ: what both support, the rules with their last say
    weights: Tensor  # Φ, one per rule and indicator
    state: State  # after this round
    final: bool
    seconds: float
    fitting: float  # seconds of them that the encoder took

    def __repr__(self) -> str:
        return f"Round({self.number}, {len(self.state.labels):,} pseudo-labels, {self.seconds:.1f} s)"

    @property
    def trials(self) -> Tensor:
        """Confidence and rightness of the links found for this round's hidden seeds, [trials, 2]."""
        return self.state.trials[self.state.trials[:, 0] == self.number, 1:]


@dataclass(frozen=True, eq=False)
class Fitting:
    """How far the encoder has come in a round."""

    round: int
    progress: Progress
    state: Callable[[], State] | None  # from which a run goes on in the middle of this fit, if it can


def rounds(
    task: Task,
    settings: Settings,
    state: State | None = None,
    watch: Callable[[Fitting], None] | None = None,
) -> Iterator[Round]:
    """The method: yields each round as it ends; round 0 is the fit to the seeds alone; a state lets it go on."""
    training, generator = torch.device(settings.device), torch.Generator().manual_seed(settings.seed)
    device = torch.device("cpu") if training.type == "mps" else training  # rules count in float64, which mps has not
    graphs, anchors = _with_values(task, settings, device)
    encoder, rules = _encoder(graphs, settings, training), Rulebook(graphs, settings, device)
    seeds, exclusions, validation = (links.to(device) for links in (task.seeds, task.exclusions, task.validation))
    folds = _folds(seeds, settings.probability, generator)
    state = state or _start(seeds, settings, generator)
    pseudo, scale, fold, tried = state.labels.to(device), state.scale, state.fold, state.trials
    generator.set_state(state.random)
    encoder.restore(state.encoder)
    for number in range(state.done, settings.em.rounds + 1):
        started = time.perf_counter()
        closing = number == settings.em.rounds or 0 < fold == len(folds) - 1  # with all seeds
        hidden = folds[-1 if closing else fold]
        known = seeds[~torch.isin(seeds.source, hidden.source)]
        held_out = validation if settings.probability.fit_to == "validation" else hidden
        before = State(number, pseudo, scale, fold, tried, generator.get_state(), {})
        encoder.report = _reporter(watch, before, encoder)
        fitted_to, shown = held_out, pseudo
        if not len(seeds) and not len(held_out) and number < settings.em.rounds:
            fitted_to, shown = _hidden_labels(pseudo, settings.probability, generator)

        embeddings = encoder.fit((known + anchors.labels + shown).to(training), generator)
        embeddings = _checked(embeddings, graphs, settings.em.encoder).to(device)
        fitting = time.perf_counter() - started
        nearest = search(embeddings, settings.similarity, generator)
        certain = known + anchors.links
        candidates = nearest[~(nearest.touches(certain) | nearest.among(exclusions))]
        if len(fitted_to):
            scale = fit_scale(candidates, fitted_to, scale, settings.probability, both_ways=rules.both_ways)
        believed = counterparts(candidates, scale, settings.probability)  # q_Θ

        considered = most_probable(believed, settings.considered, both_ways=rules.both_ways)
        considered = clamp(considered, certain, _cosine(embeddings, certain))
        joint = considered
        for _ in range(settings.compatibility.sweeps):
            factors = rules.factors(joint, embeddings, nearest, known)
            weights = learn_weights(factors.learning)  # M-step: Φ
            refined = refine(considered, factors.forward, factors.backward, weights)  # E-step: q*
            joint = combine(considered, refined)  # q_Θ · q*, from which the next sweep starts
        found = pseudo_labels(considered, refined, joint, settings.em, generator)
        agreed = combine(considered, refined, settings.compatibility.last_say)
        last, pseudo = pseudo, _without(found, seeds + anchors.links)

        tried = torch.cat([tried, _trials(agreed, held_out, number)])
        settled = _changed(last, pseudo, task) < settings.em.settled
        final = closing or (settled and not len(hidden))
        fold = _next_fold(fold, len(folds) - 1, settled=settled, remembers=encoder.remembers)
        state = State(number + 1, pseudo, scale, fold, tried, generator.get_state(), encoder.state())
        took = (time.perf_counter() - started, fitting)
        yield Round(number, embeddings, believed, refined, agreed, weights, state, final, *took)
        if final:
            return
        del embeddings, nearest, candidates, believed, considered, factors, refined, joint, agreed  # room


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What a method came to: the alignment, the beliefs behind it, and the last round of the loop."""

    task: Task
    settings: Settings
    alignment: Alignment  # seeds not included
    counterparts: Counterparts  # final beliefs about all candidates
    last: Round | None  # none where another method was at work

    def __repr__(self) -> str:
        return f"Result({len(self.alignment):,} links between {self.task.source!r} and {self.task.target!r})"

    def to_arrow(self) -> pa.Table:
        """The alignment with names: source, target, confidence, similarity; the surest first."""
        found = self.alignment
        source, target = self.task.names(found)
        table = pa.table(
            {
                "source": source,
                "target": target,
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
    watch: Callable[[Fitting], None] | None = None,
) -> Result:
    """Link the two graphs of a task; `observe` is shown each round as it ends, `watch` the training in between;
    `state` goes on where a run stopped."""
    settings = settings or Settings()
    for last in rounds(task, settings, state, watch):
        if observe is not None:
            observe(last)
        if not last.final:
            del last  # before the next needs the room
    tried = last.state.trials
    recent = tried[
        tried[:, 0] >= max(1, last.number - settings.probability.folds), 1:
    ]  # round 0 says little of the end
    believed = widen(last.agreed, last.believed)
    return Result(task, settings, match(believed, Calibration(recent), settings.matching), believed, last)


def _start(seeds: Links, settings: Settings, generator: torch.Generator) -> State:
    untried = torch.zeros(0, 3, dtype=torch.float64)
    return State(0, seeds[:0], Scale.typical(settings.probability), 0, untried, generator.get_state(), {})


def _with_values(task: Task, settings: Settings, device: torch.device) -> tuple[Task, Anchors]:
    """The graphs with the values that count, and what is known of these; refused where nothing is known at all."""
    graphs, anchors = with_values(Task(task.source, task.target, Links.empty()), settings.evidence)
    if not len(task.seeds) and not len(anchors.links):
        raise InputError(NOTHING_SHARED if settings.evidence.counts_values else NO_PAIRS)
    return graphs, anchors.to(device)


def _encoder(task: Task, settings: Settings, device: torch.device) -> Encoder:
    plugin = plugins.find("encoders", settings.em.encoder, Encoder)
    return plugin(task, settings.encoder_settings(), device)


def _reporter(watch: Callable[[Fitting], None] | None, before: State, encoder: Encoder) -> Callable[[Progress], None]:
    """Passes the encoder's reports on, each with the state to go on from."""

    def report(progress: Progress) -> None:
        if watch is not None:
            watch(Fitting(before.done, progress, lambda: replace(before, encoder=encoder.state())))

    return report


def _cosine(embeddings: Embeddings, links: Links) -> Tensor:
    return (embeddings.source[links.source] * embeddings.target[links.target]).sum(1)


def _checked(embeddings: Embeddings, graphs: Task, name: str) -> Embeddings:
    """The embeddings, if they are what the contract says: one finite vector of length 1 or 0 for each entity; those of
    literal values are 0, so that nobody finds them."""
    if not isinstance(embeddings, Embeddings):
        raise PluginError(f"encoder '{name}' gave {type(embeddings).__name__}, expected emea.data.Embeddings")
    sides = []
    for side, which, graph in (
        (embeddings.source, "source", graphs.source),
        (embeddings.target, "target", graphs.target),
    ):
        of = f"of the {which} graph's {len(graph.entities):,} entities" + (
            f", values among them ({graph.values:,})" if graph.values else ""
        )
        length = torch.linalg.vector_norm(side, dim=1)
        if len(side) != len(graph.entities):
            raise PluginError(f"encoder '{name}' gave {len(side):,} rows, expected one for each {of}")
        odd = (~((length - 1).abs().minimum(length) < 1e-3)).nonzero()[:, 0]  # a NaN is odd
        if len(odd):
            what = f"{len(odd):,} rows, such as row {int(odd[0])} of length {float(length[odd[0]]):.3g}"
            raise PluginError(f"encoder '{name}' gave {what}, expected rows of length 1 or 0 {of}")
        real = torch.arange(len(side), device=side.device) < len(side) - graph.values
        sides.append(side * real[:, None] if graph.values else side)
    return Embeddings(*sides)


def _folds(seeds: Links, settings: ProbabilitySettings, generator: torch.Generator) -> list[Links]:
    """The seeds cut into folds at random, where some have to be hidden and there are enough; and an empty one, last."""
    count, nothing = settings.folds, seeds[:0]
    if settings.fit_to == "validation" or count < 2 or len(seeds) < 2 * count:
        return [nothing]
    order = torch.randperm(len(seeds), generator=generator).to(seeds.source.device)
    return [*(seeds[part] for part in order.tensor_split(count)), nothing]


def _next_fold(fold: int, nothing: int, *, settled: bool, remembers: bool) -> int:
    """The fold to hide next: each in turn, or always the same from an encoder that would remember the others; nothing,
    in the round that closes a loop that has settled."""
    if settled:
        return nothing
    return fold if remembers or not nothing else (fold + 1) % nothing


def _hidden_labels(labels: Links, settings: ProbabilitySettings, generator: torch.Generator) -> tuple[Links, Links]:
    """Where no pair is known nobody knows better than the last round: a fold of its labels, and the others."""
    if settings.folds < 2:
        return labels[:0], labels
    hidden = torch.rand(len(labels), generator=generator).to(labels.source.device) * settings.folds < 1
    return labels[hidden], labels[~hidden]


def _trials(agreed: Counterparts, held_out: Links, number: int) -> Tensor:
    """How held-out seeds fared: the round, and for each link found for one of their entities its confidence and if it
    is right, [trials, 3]."""
    pairs, rows = agreed.candidates, mutual_best(agreed)
    rows = rows[pairs.touches(held_out)[rows]]
    right, confidence = pairs.among(held_out)[rows].double(), agreed.confidence[rows].double()
    return torch.stack([torch.full_like(right, number), confidence, right], 1).cpu()


def pseudo_labels(
    considered: Counterparts, refined: Counterparts, agreed: Counterparts, settings: EMSettings, draw: torch.Generator
) -> Links:
    """What the encoder shall learn next: pairs agreed on, the best of each other and sure enough, weighted by how sure
    they are; or, for every source, the best of q* or a sample from it."""
    pairs = agreed.candidates
    if settings.labels in {"agreed", "one-sided"}:
        best = segment_best(pairs.source, pairs.sources, agreed.forward)
        rows = mutual_best(agreed) if settings.labels == "agreed" else best[best >= 0]
        rows = rows[agreed.confidence[rows] >= settings.minimum]
        found = Links.build(pairs.source[rows], pairs.target[rows], agreed.confidence[rows])
        return found if settings.weighted else found.certain()
    rows = labels(refined, considered) if settings.labels == "best" else sample(refined, draw)
    return Links.build(pairs.source[rows], pairs.target[rows])


def _without(links: Links, seeds: Links) -> Links:
    """The links that have no entity of the seeds."""
    taken = torch.isin(links.source, seeds.source) | torch.isin(links.target, seeds.target)
    return links[~taken]


def _changed(before: Links, after: Links, task: Task) -> float:
    """Share of the labels that are new."""
    old, new = (links.source * len(task.target.entities) + links.target for links in (before, after))
    return float((~torch.isin(new, old)).double().mean()) if len(new) else 1.0
