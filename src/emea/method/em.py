"""Algorithm 1: an encoder proposes counterparts, rules measure how compatible they are, and each corrects the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from emea import plugins
from emea.candidates.kept import KeptEmbeddings, checked
from emea.candidates.marks import marking
from emea.candidates.search import search_among
from emea.contracts import Encoder, Progress, Report
from emea.data import Candidates, Counterparts, Links
from emea.engine import LOCAL, Distributed, Engine
from emea.errors import PluginError, shown
from emea.evidence.prepared import Prepared
from emea.evidence.unnamed import unnamed
from emea.method.compatibility import combine, learn_weights, refine
from emea.method.competition import Competition
from emea.method.folds import Folds, hide_labels
from emea.method.judge import judge, taught
from emea.method.labelling import has_settled, pseudo_labels, without
from emea.method.matching import Calibration, between, match
from emea.method.opening import Opening
from emea.method.probability import Scale, clamp, counterparts_of, fit_scale, most_probable
from emea.method.rounds import Fitting, Outcome, Round, State, grounds_of, self_taught
from emea.method.rulebook import Rulebook, Said
from emea.method.scouts import after_scout, of_scouts
from emea.settings import Settings

Watch = Callable[[Fitting], None]


def rounds(
    prepared: Prepared,
    settings: Settings,
    state: State | None = None,
    watch: Watch | None = None,
    engine: Engine = LOCAL,
) -> Iterator[Round]:
    """The method: yield each round as it ends; those of scouts first, if there are any. A state resumes a run."""
    while (number := 1 + (state.scouts if state else 0)) <= settings.em.scouts:
        for ended in _rounds(prepared, of_scouts(settings), state, watch, engine):
            state = after_scout(ended, settings) if ended.final else ended.state
            yield replace(ended, scout=number, state=state, final=False)
            del ended  # frees memory before the next fit
    yield from _rounds(prepared, settings, state, watch, engine)


def _rounds(
    prepared: Prepared, settings: Settings, state: State | None, watch: Watch | None, engine: Engine
) -> Iterator[Round]:
    """Algorithm 1. Round 0 fits the encoder to the seeds and, if there were scouts, to what they agree on."""
    loop = _Loop(prepared, settings, engine)
    state = loop.begin(state)
    for number in range(state.done, settings.em.rounds + 1):
        started = time.perf_counter()
        lesson = loop.prepare_lesson(state)  # the pairs to learn from, and those hidden to judge by
        proposal = loop.propose(lesson, state, watch)  # q_Θ: what the encoder proposes (4.1)
        verdict = loop.judge(proposal, lesson)  # Φ and q*: how compatible that is (4.2–4.4)
        state, final = loop.learn(verdict, proposal, lesson, state)  # pseudo-labels for the next round
        yield Round(
            number=number,
            seconds=time.perf_counter() - started,
            embeddings=proposal.embeddings,
            believed=proposal.believed,
            refined=verdict.refined,
            agreed=verdict.agreed,
            weights=verdict.weights,
            considered=verdict.considered,
            asked=verdict.asked,
            said=verdict.said,
            labels=state.labels,
            state=state,
            final=final,
            fitting=proposal.seconds,
        )
        if final:
            return
        del proposal, verdict  # frees memory before the next fit


def conclude(last: Round, prepared: Prepared, settings: Settings) -> Outcome:
    """The alignment that the last round leads to: judged anew where there are values to judge by; otherwise with
    confidence as decisions teach it, or calibrated on the seeds hidden in recent rounds."""
    absence, calibration, competition = None, Calibration.none(), Competition.of(settings.matching)
    believed, grounds = last.concluded(competition), grounds_of(last, settings)
    if not settings.evidence.anonymous:
        believed = between(believed, ~unnamed(prepared.given.source), ~unnamed(prepared.given.target))
    if prepared.judged_by(settings):
        believed, absence, judged = judge(prepared, believed, last.embeddings, settings)
        grounds = replace(grounds, judged=judged)
    elif prepared.valued and (found := taught(prepared, believed, last.embeddings, settings)) is not None:
        believed, said = found
        grounds = replace(grounds, taught=said)
    else:
        tried, first = last.state.trials, max(1, last.number - settings.probability.folds)  # round 0 says little
        own, scouted = self_taught(last, prepared, settings), settings.em.scouts > 0
        calibration = Calibration(tried[tried[:, 0] >= first, 1:], self_taught=own, scouted=scouted)
        grounds = replace(grounds, line=calibration.line)
    alignment = match(believed, calibration, settings.matching)
    return Outcome(prepared, settings, alignment, believed, last, absence, grounds)


@dataclass(frozen=True, eq=False)
class _Lesson:
    """The pairs of a round."""

    fold: int
    closing: bool  # the last round, which hides nothing
    known: Links  # seeds that the encoder is shown
    hidden: Links  # seeds that it is not shown
    held_out: Links  # pairs by which its links are judged
    fitted_to: Links  # pairs to which probabilities are fitted
    labels: Links  # pseudo-labels that the encoder is shown
    wrong: Links  # exclusions that are open all the same, to see whether they would be linked
    alone: Links  # entities without counterpart that are open all the same


@dataclass(frozen=True, eq=False)
class _Proposal:
    """What the encoder proposes."""

    embeddings: KeptEmbeddings
    rivals: Candidates  # the nearest that were found for the entities of known pairs
    believed: Counterparts  # q_Θ over those that are open
    scale: Scale
    seconds: float  # that the fit took


@dataclass(frozen=True, eq=False)
class _Verdict:
    """What the rules make of a proposal."""

    considered: Counterparts  # q_Θ over the best of each entity
    refined: Counterparts  # q*
    joint: Counterparts  # q_Θ · q*
    agreed: Counterparts  # q_Θ · q*ˢ
    weights: dict[str, float]  # Φ
    asked: Counterparts  # what the rules were asked with in the last sweep
    said: Said  # what they answered


class _Loop:
    """What stays the same from round to round, and the steps of a round."""

    def __init__(self, prepared: Prepared, settings: Settings, engine: Engine) -> None:
        prepared.require_known()
        self.engine = engine
        self.settings, self.graphs, self.competition = settings, prepared.graphs, Competition.of(settings.matching)
        self.training = torch.device(settings.device)
        # The rules compute in float64, which mps does not have.
        elsewhere = self.training.type == "mps" or engine is not LOCAL  # whose tasks return to the CPU
        self.device = torch.device("cpu") if elsewhere else self.training
        self.generator = torch.Generator().manual_seed(settings.seed)
        self.anchors, given = prepared.anchors.to(self.device), prepared.given
        self.seeds, self.validation, self.exclusions = (
            links.to(self.device) for links in (given.seeds, given.validation, given.exclusions)
        )
        self.unmatched = given.unmatched.to(self.device)
        self.linkable = self.graphs.source.linkable.to(self.device), self.graphs.target.linkable.to(self.device)
        plugin = plugins.find("encoders", settings.em.encoder, Encoder)
        self.rules = Rulebook(self.graphs, settings, self.device)
        self.encoder = plugin(self.graphs, settings.encoder_settings(), self.training)
        for each in (self.encoder, *self.rules.forward.values(), *self.rules.backward.values()):
            if isinstance(each, Distributed):
                each.engine = engine
        self.marks = marking(self.graphs, settings.similarity, self.device)
        whole = Folds(self.seeds, ())  # the judge does not need hidden seeds
        self.judged, self.fit_to = prepared.judged_by(settings), settings.probability.fit_to
        self.once = self.judged and not prepared.connected  # no link tells of another, and all are judged at the end
        self.folds = whole if self.judged else Folds.cut(self.seeds, settings.probability, self.generator)

    def begin(self, state: State | None) -> State:
        """Start from the state, or from the beginning."""
        state = state or State.start(self.settings.probability, self.generator)
        self.generator.set_state(state.random)
        self.encoder.restore(state.encoder)
        return state

    def prepare_lesson(self, state: State) -> _Lesson:
        """Hide a fold of the seeds; without any seed, or if links are judged at the end, of the pseudo-labels."""
        last = state.done == self.settings.em.rounds
        closing = last or self.folds.closes(state.fold)
        fold = self.folds.nothing if closing else state.fold
        hidden, pseudo = self.folds.hidden(fold), state.labels.to(self.device)
        held_out = self.validation if self.fit_to == "validation" else hidden
        fitted_to = self.seeds if self.fit_to == "known" else held_out
        if (self.judged or not len(self.seeds)) and not len(fitted_to) and not last:
            fitted_to, pseudo = hide_labels(pseudo, self.settings.probability, self.generator)
        wrong, alone = (self.folds.tried(mistakes, fold) for mistakes in (self.exclusions, self.unmatched))
        return _Lesson(fold, closing, self.folds.shown(fold), hidden, held_out, fitted_to, pseudo, wrong, alone)

    def propose(self, lesson: _Lesson, state: State, watch: Watch | None) -> _Proposal:
        """q_Θ: fit the encoder, find candidates, and turn similarities into probabilities (section 4.1)."""
        settings, started = self.settings, time.perf_counter()
        pairs = (lesson.known + self.anchors.labels + lesson.labels).to(self.training)
        report, name = _reporter(watch, state, self.encoder), settings.em.encoder
        found = checked(self.encoder.fit(pairs, self.generator, report), self.engine, self.graphs, name)
        embeddings = found.to(self.device)
        del found  # frees memory where there are two devices
        seconds = time.perf_counter() - started
        marks = self.marks(pairs.to(self.device)) if self.marks else None
        nearest = search_among(embeddings, self.linkable, settings.similarity, self.generator, marks)
        given = self.anchors.links, self.exclusions, lesson.wrong, self.unmatched, lesson.alone
        opening = Opening(lesson.known, *given, self.competition)
        candidates, rivals = opening.opened(nearest), opening.rivals(nearest, settings.considered)
        near, scale = nearest if self.fit_to == "known" else candidates, state.scale
        del nearest  # frees memory: there are many pairs
        if len(lesson.fitted_to):
            fitted_to, chosen, both_ways = lesson.fitted_to, settings.probability, self.rules.both_ways
            scale = fit_scale(near, fitted_to, scale, chosen, self.competition, both_ways=both_ways)
        believed = counterparts_of(candidates, scale, settings.probability, self.competition)
        return _Proposal(embeddings, rivals, believed, scale, seconds)

    def judge(self, proposal: _Proposal, lesson: _Lesson) -> _Verdict:
        """Φ and q*: weigh the rules, and ask how compatible each entity's best counterparts are (sections 4.2–4.4)."""
        settings, certain = self.settings, lesson.known + self.anchors.links
        considered = most_probable(proposal.believed, settings.considered, both_ways=self.rules.both_ways)
        cosine = proposal.embeddings.cosines(certain.source, certain.target)
        considered = joint = clamp(considered, certain, cosine, self.competition)
        for _ in range(settings.compatibility.sweeps):
            seen = self.competition.seen(joint)
            said, lessons = self.rules.factors(seen, proposal.embeddings, proposal.rivals, lesson.known)
            weights = learn_weights(lessons)  # M-step: Φ
            refined = refine(considered, *said, weights)  # E-step: q*
            joint = combine(considered, refined)  # q_Θ · q*, where the next sweep starts
        agreed = combine(considered, refined, settings.compatibility.last_say)
        return _Verdict(considered, refined, joint, agreed, self.rules.named(weights), seen, said)

    def learn(self, verdict: _Verdict, proposal: _Proposal, lesson: _Lesson, state: State) -> tuple[State, bool]:
        """The state for the next round, with the pseudo-labels that follow from this one; and whether this was the
        last round."""
        considered, refined, joint = verdict.considered, verdict.refined, self.competition.seen(verdict.joint)
        chosen = pseudo_labels(
            considered, refined, joint, self.settings.em, competition=self.competition, draw=self.generator
        )
        known = self.seeds + self.anchors.links
        found = without(chosen, known, self.unmatched, self.exclusions, self.competition)
        settled = self.once or (
            state.done > 0 and has_settled(state.labels, found, self.graphs, self.settings.em, judged=self.judged)
        )
        after = State(
            done=state.done + 1,
            labels=found,
            scale=proposal.scale,
            fold=self.folds.after(lesson.fold, settled=settled, remembers=self.encoder.remembers),
            trials=torch.cat([state.trials, _trials(verdict.agreed, lesson, state.done, self.competition)]),
            random=self.generator.get_state(),
            encoder=_stated(self.encoder, self.settings.em.encoder),
            scouts=state.scouts,
            scouted=state.scouted,
        )
        return after, lesson.closing or (settled and not len(lesson.hidden))


def _stated(encoder: Encoder[Any], name: str) -> dict[str, Tensor]:
    """What an encoder continues from, as a checkpoint can keep it."""
    state = encoder.state()
    for each in state.values() if isinstance(state, dict) else [state]:
        if not isinstance(each, Tensor):
            raise PluginError(f"encoder '{name}': state() has {shown(each)}, expected a dict of torch tensors by name")
    return state


def _reporter(watch: Watch | None, before: State, encoder: Encoder[Any]) -> Report:
    """Pass the encoder's reports on, each with the state from which to resume."""

    def report(progress: Progress) -> None:
        if watch is not None:
            watch(Fitting(before.done, progress, lambda: replace(before, encoder=encoder.state())))

    return report


def _trials(agreed: Counterparts, lesson: _Lesson, number: int, competition: Competition) -> Tensor:
    """How held-out seeds and known mistakes fared: the round, and for each link found for one of their entities its
    confidence and whether it is right, [trials, 3]. Other links of an entity that may have several are no mistakes."""
    pairs, agreed = agreed.candidates, competition.seen(agreed)
    rows = competition.winners(agreed)
    tried = pairs.touches(lesson.held_out, *competition) | pairs.among(lesson.wrong) | pairs.touches(lesson.alone)
    rows = rows[tried[rows]]
    right, confidence = pairs.among(lesson.held_out)[rows].double(), agreed.confidence[rows].double()
    return torch.stack([torch.full_like(right, number), confidence, right], 1).cpu()
