"""Why a pair has its confidence: what speaks for it and against it, and what it would take to lose the link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from emea.analysis.bars import CALIBRATION, ENCODER, HIGHEST, NONE, RIVALS, Bars
from emea.analysis.explanation import Candidate, Explanation, FewestTriples, Group, SmallestSet
from emea.data import Links
from emea.errors import EmeaError
from emea.evidence.prepared import Prepared, prepare
from emea.method.rounds import Outcome
from emea.runs.closest import Closest, in_folder, in_memory
from emea.runs.finding import Finder
from emea.runs.folder import check_run
from emea.runs.inputs import Inputs
from emea.runs.kept import Kept
from emea.runs.pieces import Pieces
from emea.runs.pieces_of_judge import JudgedPieces
from emea.runs.pieces_of_loop import LoopPieces
from emea.runs.recomputed import Recomputed
from emea.settings import Settings, read_config

SEED, EXCLUDED, ALONE = "seed", "excluded", "no counterpart"


class Explainer:
    """Explains the pairs of one run."""

    def __init__(
        self,
        kept: Kept,
        prepared: Prepared | None,
        settings: Settings,
        languages: Sequence[str],
        notes: Sequence[str],
        *,
        closest: Closest,
    ) -> None:
        self.kept, self.settings, self.notes, self.closest = kept, settings, tuple(notes), closest
        self.finder = Finder(kept, prepared, languages)
        self.loop = LoopPieces(kept.grounds, prepared, settings, self.finder)
        judged = kept.grounds.judged
        self.judged = JudgedPieces(kept.grounds, judged, prepared, settings, self.finder) if judged else None

    @classmethod
    def open(cls, folder: Path, languages: Sequence[str] = (), prepared: Prepared | str | None = None) -> Explainer:
        """For a finished run folder. Its inputs are read again, unless they are given, or why they cannot be; where
        they have changed or are gone, only sums are told."""
        check_run(folder)
        kept = Kept.read(folder)
        inputs = Inputs.parse(read_config(folder / "settings.toml", "run"), folder / "settings.toml")
        settings = Settings(**read_config(folder / "settings.toml"))
        if prepared is None:
            try:
                prepared = prepare(inputs.read_again(settings.matching.cardinality), settings.evidence)
            except EmeaError as error:
                prepared = str(error)
        if isinstance(prepared, str):
            why = f"the inputs cannot be read again: {prepared}"
            return cls(kept, None, settings, languages, [why], closest=in_folder(folder))
        if not kept.belongs_to(prepared.given):
            note = "the inputs have changed since the run: neighbours and values are not shown"
            return cls(kept, None, settings, languages, [note], closest=in_folder(folder))
        return cls(kept, prepared, settings, languages, [], closest=in_folder(folder))

    @classmethod
    def of(cls, outcome: Outcome, languages: Sequence[str] = ()) -> Explainer:
        """For a run that is in memory."""
        return cls(Kept.of(outcome), outcome.prepared, outcome.settings, languages, [], closest=in_memory(outcome))

    def explain(self, source: str, target: str | None = None, *, fewest: bool = False) -> Explanation:
        """Why a source, or a target, is linked as it is, or why it is not linked to a target. Entities are given by
        their names, by the last parts of these, or by labels. The fewest triples that carry a link take a fit of
        the encoder."""
        one, other = self.finder.pair(source, target)
        if one is not None and other is None:
            other = self._chosen(one)
        elif one is None and other is not None:
            one = self._chosen(other, swapped=True)
        if one is None or other is None:
            name, side = (source, 0) if one is not None else (source, 1)
            entity = one if one is not None else other
            label = self.finder.label(side, entity) if entity is not None else name
            status = ALONE if self._known_alone(side, entity) else "not a candidate"
            return Explanation(name, None, label, "", status, 0.0, notes=(*self.notes, f"{label} has no candidate"))
        found = self._explained(one, other)
        return self._with_fewest(found, one, other) if fewest else found

    def candidates(self, source: str, most: int) -> list[tuple[str, float, float]]:
        """The best candidates of a source, by name: each with its confidence and log-odds."""
        one = self.finder.number(0, source)
        if one is None:
            return []
        found = []
        for log_odds, other in self._ranked(one)[:most]:
            sure = self.kept.confidence.get((one, other), 1 / (1 + float(np.exp(-log_odds))))
            found.append((self.finder.name(1, other), sure, log_odds))
        return found

    def reason(self, source: int, target: int) -> str:
        """The two strongest pieces that speak for a pair, in one line."""
        pieces = self._pieces(source, target)
        if pieces is None:
            return ""
        found = []
        for name, log_odds in pieces.bars(source, target).groups.items():
            if log_odds > 0 and name not in {NONE, RIVALS, CALIBRATION}:
                text, _, parts = pieces.told(name, log_odds, source, target)
                found += [(part.log_odds, part.text) for part in parts] or [(log_odds, text)]
        return "; ".join(text for _, text in sorted(found, reverse=True)[:2])

    def _explained(self, source: int, target: int) -> Explanation:
        names = self.finder.name(0, source), self.finder.name(1, target)
        labels = self.finder.label(0, source), self.finder.label(1, target)
        told = Explanation(*names, *labels, "candidate", 0.0)
        status = self._status(source, target)
        pieces = self._pieces(source, target)
        if status == SEED:
            return replace(told, status=SEED, confidence=1.0, notes=(*self.notes, "this pair was given as known"))
        if pieces is None:
            why = "the pair was given as wrong" if status == EXCLUDED else "nothing proposed this pair"
            return replace(told, status=status, notes=(*self.notes, why))
        bars, notes = pieces.bars(source, target), self.notes
        if self.judged is not None and pieces is self.loop:
            bars, notes = bars.limited(-HIGHEST), (*notes, "the pair was too improbable to be judged by values")
        return replace(
            told,
            status=status,
            confidence=self.kept.confidence.get((source, target), bars.confidence),
            log_odds=bars.log_odds,
            saturated=bars.saturated,
            base=bars.base,
            groups=_groups(bars, pieces, source, target),
            not_compared=pieces.not_compared(source, target),
            illustration=self.loop.illustration(source, target) if ENCODER in bars.groups else (),
            runner_up=self._runner_up(source, target),
            smallest_set=self._smallest_set(source, target, bars, pieces),
            notes=notes,
        )

    def _with_fewest(self, found: Explanation, source: int, target: int) -> Explanation:
        if found.status != "link" or self._pieces(source, target) is not self.loop:
            why = "the fewest triples that carry a link are found where it is made by structure only"
            return replace(found, notes=(*found.notes, why))
        link = Recomputed(self.loop, [(source, target)]).link(source, target)
        fewest = link.fewest()
        if fewest is None:
            why = "no triples of the two carry the link: without the label that it got, it would not be found"
            return replace(found, notes=(*found.notes, why))
        told = tuple(self.loop.triple(place, (source, target)[place], *each) for place, *each in sorted(fewest))
        return replace(found, fewest_triples=FewestTriples(told, len(link.around)))

    def _pieces(self, source: int, target: int) -> Pieces | None:
        """What the confidence of a pair comes from; None if it is no candidate."""
        for each in (self.judged, self.loop):
            if each is not None and each.known(source, target):
                return each
        return None

    def _status(self, source: int, target: int) -> str:
        if (source, target) in self.kept.confidence:
            return "link"
        for name, links in ((SEED, self.finder.given("seeds")), (EXCLUDED, self.finder.given("exclusions"))):
            if _among(links, source, target):
                return name
        return "candidate" if self._pieces(source, target) is not None else "not a candidate"

    def _known_alone(self, side: int, entity: int | None) -> bool:
        alone = self.finder.given("unmatched")
        return entity is not None and entity in (alone.source, alone.target)[side].tolist()

    def _chosen(self, entity: int, *, swapped: bool = False) -> int | None:
        """The counterpart that an entity was linked to or given, else the most probable candidate as the run lists it,
        else the one with the highest confidence."""
        known = self._counterparts[int(swapped)].get(entity)
        if known is None:
            known = self._closest(entity, int(swapped))
        if known is not None:
            return known
        ranked = self._ranked(entity, swapped=swapped)
        return ranked[0][1] if ranked else None

    def _closest(self, entity: int, side: int) -> int | None:
        """The most probable candidate, if the run knows how it came about."""
        found = self.closest(side, self.finder.name(side, entity), entity)
        other = self.finder.number(1 - side, found) if isinstance(found, str) else found
        if other is None:
            return None
        return other if self._pieces(*((other, entity) if side else (entity, other))) is not None else None

    @cached_property
    def _counterparts(self) -> tuple[dict[int, int], dict[int, int]]:
        """Of the sources, and of the targets, that are linked or given: seeds first, then the links in their order."""
        seeds, found = self.finder.given("seeds"), (dict[int, int](), dict[int, int]())
        for source, target in (*zip(seeds.source.tolist(), seeds.target.tolist(), strict=True), *self.kept.confidence):
            found[0].setdefault(source, target)
            found[1].setdefault(target, source)
        return found

    def _ranked(self, entity: int, *, swapped: bool = False) -> list[tuple[float, int]]:
        """The candidates of an entity by log-odds, the best first."""
        found = []
        for each in (self.judged, self.loop):
            if each is None:
                continue
            for other in each.candidates(entity, swapped=swapped):
                pair = (other, entity) if swapped else (entity, other)
                found.append((each.log_odds(*pair), other))
            if found:
                break
        return sorted(found, reverse=True)

    def _runner_up(self, source: int, target: int) -> Candidate | None:
        """The next best candidate, bar by bar; who wants its parts asks for that pair."""
        others = [other for _, other in self._ranked(source) if other != target]
        if not others:
            return None
        pieces = self._pieces(source, others[0])
        assert pieces is not None
        bars, other = pieces.bars(source, others[0]), others[0]
        groups = tuple(Group(name, "", log_odds) for name, log_odds in bars.groups.items())
        names = self.finder.name(1, other), self.finder.label(1, other)
        return Candidate(*names, bars.confidence, bars.log_odds, bars.base, groups)

    def _smallest_set(self, source: int, target: int, bars: Bars, pieces: Pieces) -> SmallestSet | None:
        """Take evidence away, the strongest first, until the link is lost; then give back what need not be taken."""
        threshold = self.settings.matching.minimum
        limit = float(np.log(threshold) - np.log1p(-threshold)) if 0 < threshold < 1 else None
        if limit is None or bars.log_odds < limit:
            return None
        evidence = pieces.evidence(source, target)
        taken: list[int] = []
        for number in range(len(evidence.texts)):
            taken.append(number)
            if evidence.without(taken) < limit:
                break
        else:
            return None
        for number in taken[:-1]:
            fewer = [each for each in taken if each != number]
            if evidence.without(fewer) < limit:
                taken = fewer
        left = evidence.without(taken)
        return SmallestSet(tuple(evidence.texts[each] for each in taken), threshold, float(1 / (1 + np.exp(-left))))


def _groups(bars: Bars, pieces: Pieces, source: int, target: int) -> tuple[Group, ...]:
    return tuple(Group(name, *pieces.told(name, log_odds, source, target)) for name, log_odds in bars.groups.items())


def _among(links: Links, source: int, target: int) -> bool:
    return bool(((links.source == source) & (links.target == target)).any())
