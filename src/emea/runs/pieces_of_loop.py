"""Pieces of the loop: what encoder and rules said about a pair."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

import torch

from emea import plugins
from emea.analysis.bars import CALIBRATION, ENCODER, NONE, RIVALS, Bars, LoopBars
from emea.analysis.explanation import Named, Part
from emea.contracts import Ground, Grounded, Rule
from emea.data import Links
from emea.evidence.prepared import Prepared
from emea.kernels.joins import BySource, Edges
from emea.method.grounds import Grounds
from emea.rules.paris import PARIS
from emea.runs.finding import Finder
from emea.runs.pieces import Evidence, Pieces, scaled
from emea.runs.wording import counted, either, followed
from emea.settings import Settings

NEAREST = 30  # candidates of an entity that are compared with each other
SHOWN = 5  # labelled neighbours
FURTHEST = 400  # entities within two steps that are looked at
LIKELY = 0.5  # belief from which a pair counts as labelled
ENCODED = "what only the encoder knows"


class LoopPieces(Pieces):
    """What encoder and rules said about the candidates."""

    def __init__(self, grounds: Grounds, prepared: Prepared | None, settings: Settings, finder: Finder) -> None:
        self.grounds, self.prepared, self.settings, self.finder = grounds, prepared, settings, finder

    @cached_property
    def sums(self) -> LoopBars:
        """The bars of all pairs."""
        return LoopBars(self.grounds)

    def known(self, source: int, target: int) -> bool:
        """Whether the encoder proposed the pair."""
        return self.sums.known(source, target)

    def candidates(self, entity: int, *, swapped: bool = False) -> list[int]:
        """Those that the rules looked at."""
        near = self.sums.sides[int(swapped)].near
        rows = near.rows(entity)
        best = near.other[rows[(-near.belief[rows]).argsort(kind="stable")[:NEAREST]]].tolist()
        return [other for other in best if (self.known(other, entity) if swapped else self.known(entity, other))]

    def bars(self, source: int, target: int) -> Bars:
        """Encoder, rules, none, rivals, calibration."""
        return self.sums.of(source, target)

    def log_odds(self, source: int, target: int) -> float:
        """Of the confidence."""
        return self.sums.log_odds(source, target, {})

    def told(self, group: str, log_odds: float, source: int, target: int) -> tuple[str, float, tuple[Part, ...]]:
        """In words."""
        if group in self.grounds.rules:
            grounded = self._grounded(group, source, target)
            bunches = together(grounded) if grounded else []
            parts = scaled([(self._part(each), sum(piece.said for piece in each)) for each in bunches], log_odds)
            return self._rule_text(group, parts), log_odds, parts
        texts = {
            ENCODER: "similar positions in the two graphs, as the encoder sees them",
            NONE: "how likely it is that there is no counterpart",
            RIVALS: "how the other candidates of the two entities compare",
            CALIBRATION: "how often links like this were right where it is known",
        }
        return texts[group], log_odds, ()

    def evidence(self, source: int, target: int) -> Evidence:
        """What the rules found, then the encoder; without some, the factors of the rules are computed anew."""
        grounded = self.grounded(source, target)
        ordered = strongest(grounded)
        row, other = self.sums.sides[0].near.row(source, target), self.sums.sides[1].near.row(target, source)

        def without(taken: Collection[int]) -> float:
            removed = defaultdict[str, set[Ground]](set)
            for place in taken:
                if place < len(ordered):
                    removed[ordered[place][0]] |= {*ordered[place][1]}
            changed = {}
            for name, gone in removed.items():
                each, sides = grounded[name], self.grounds.rules[name]
                whole = each.factor(())
                numbers = {number for number, piece in enumerate(each.pieces) if piece in gone}
                left = each.factor(numbers) / whole if whole else 0.0
                changed[name] = (float(sides[0][row]) * left, float(sides[1][other]) * left)
            return self.sums.log_odds(source, target, changed, silent=(ENCODER,) if len(ordered) in taken else ())

        return Evidence((*(self._part(each).text for _, each in ordered), ENCODED), without)

    def triple(self, place: int, entity: int, relation: int, neighbour: int) -> str:
        """A triple of the source graph, or of the target graph, in words."""
        assert self.finder.called is not None
        called = self.finder.called[place]
        name, back = called.relation(relation)
        return f"{called.label(entity)}: {followed(name, back=back)} → {called.label(neighbour)}"

    def illustration(self, source: int, target: int) -> tuple[str, ...]:
        """Labelled pairs of entities that are within two steps of both: what an encoder can know a pair by."""
        if self.prepared is None:
            return ()
        reached = [self._within_two(place, entity) for place, entity in enumerate((source, target))]
        found = []
        for one, steps in reached[0].items():
            for other, belief in self._labelled[one]:
                if other in reached[1]:
                    text = f"{self.finder.label(0, one)} ↔ {self.finder.label(1, other)} ({belief:.2f}), "
                    away = steps + reached[1][other]
                    found.append((away, -belief, text + _away(steps, reached[1][other])))
        return tuple(text for _, _, text in sorted(found)[:SHOWN])

    def _within_two(self, place: int, entity: int) -> dict[int, int]:
        """Entities within two steps, and how many it takes."""
        edges, found = self.edges[place], dict[int, int]()
        for near in edges.leaving(entity)[1]:
            found.setdefault(near, 1)
        for near in list(found):
            if len(found) >= FURTHEST:
                break
            for far in edges.leaving(near)[1][:FURTHEST]:
                found.setdefault(far, 2)
        found.pop(entity, None)
        return found

    @cached_property
    def edges(self) -> tuple[Edges, Edges]:
        """Of both graphs."""
        assert self.prepared is not None
        for rule in self._built.values():
            if isinstance(rule, PARIS):
                return rule.source, rule.target  # which has them already
        graphs, device = self.prepared.graphs, torch.device("cpu")
        return Edges.build(graphs.source, device), Edges.build(graphs.target, device)

    @cached_property
    def _labelled(self) -> BySource:
        """Pairs that count as labelled."""
        beliefs, confidence = self.grounds.asked, self.grounds.asked.confidence
        rows = (confidence > LIKELY).nonzero()[:, 0]
        pairs = beliefs.candidates[rows]
        return BySource(Links(pairs.source, pairs.target, confidence[rows]), self.edges[0].entities)

    @cached_property
    def _built(self) -> dict[str, Rule[Any]]:
        """The rules of the run."""
        if self.prepared is None:
            return {}
        found = {}
        for name in self.grounds.rules:
            plugin = plugins.find("rules", name, Rule) if " + " not in name else None
            if plugin is not None:
                own = self.settings.plugin_settings("rules", name)
                found[name] = plugin(self.prepared.graphs, own, torch.device("cpu"))
        return found

    @cached_property
    def _rules(self) -> dict[str, Callable[[int, int], Grounded] | None]:
        """What takes the factors of each rule apart."""
        return {name: rule.grounds(self.grounds.asked) for name, rule in self._built.items()}

    def grounded(self, source: int, target: int) -> dict[str, Grounded]:
        """The factors of a pair by rule, taken apart as far as the rules can."""
        found = {name: self._grounded(name, source, target) for name in self.grounds.rules}
        return {name: each for name, each in found.items() if each is not None}

    def _grounded(self, rule: str, source: int, target: int) -> Grounded | None:
        taken_apart = self._rules.get(rule)
        return taken_apart(source, target) if taken_apart is not None else None

    def _rule_text(self, name: str, parts: Sequence[Part]) -> str:
        if name == "paris":
            return counted(len(parts), "matching neighbour or value") if parts else "no neighbour or value matches"
        if name == "disagreement":
            return "values that differ" if parts else "no values that differ"
        return f"the rule {name}"

    def _part(self, pieces: Sequence[Ground]) -> Part:
        """Pieces about the same neighbours in words, the strongest first; their share is set later."""
        assert self.finder.called is not None
        (one, other), piece = self.finder.called, pieces[0]
        if piece.source_attribute >= 0:
            return self._differing(piece)
        (relation, back), (target_relation, target_back) = (
            side.relation(number) for side, number in ((one, piece.source_relation), (other, piece.target_relation))
        )
        ends = one.label(piece.source), other.label(piece.target)
        shown = [followed(relation, back=back), followed(target_relation, back=target_back)]
        both = either(*shown)
        values = one.is_value(piece.source)
        same = either(*ends)
        sure = "" if values and piece.belief >= 1 else f" ({piece.belief:.2f})"
        more = f", and by {counted(len(pieces) - 1, 'other pair')} of relations" if len(pieces) > 1 else ""
        return Part(
            f"in both: {both} → {same}{sure}, relations alike {piece.relations:.2f}{more}",
            0.0,
            Named(one.name(piece.source), ends[0]),
            Named(other.name(piece.target), ends[1]),
            relation,
            target_relation,
            back,
            piece.belief,
            target_inverse=target_back,
        )

    def _differing(self, piece: Ground) -> Part:
        """Values that disagree."""
        assert self.prepared is not None
        names = [
            values.attributes[number].as_py()
            for values, number in zip(
                self.prepared.values, (piece.source_attribute, piece.target_attribute), strict=True
            )
        ]
        shown = [str(name).replace("#", "/").rpartition("/")[2] for name in names]
        both = either(*shown)
        return Part(
            f"{both} differ; such values usually agree ({piece.relations:.2f})",
            0.0,
            source_attribute=shown[0],
            target_attribute=shown[1],
            similarity=piece.belief,
        )


def together(grounded: Grounded) -> list[list[Ground]]:
    """The pieces in bunches that are about the same neighbours, or the same attribute; of each, the strongest first."""
    found = defaultdict[tuple[int, int, int], list[Ground]](list)
    for piece in sorted(grounded.pieces, key=lambda each: -abs(each.said)):
        found[piece.source, piece.target, piece.source_attribute].append(piece)
    return list(found.values())


def strongest(grounded: Mapping[str, Grounded]) -> list[tuple[str, list[Ground]]]:
    """What speaks for a pair: rule and pieces about the same neighbours; the strongest first."""
    found = [(name, bunch) for name, each in grounded.items() for bunch in together(each) if bunch[0].said > 0]
    return sorted(found, key=lambda each: -sum(piece.said for piece in each[1]))


def _away(source: int, target: int) -> str:
    steps = "1 step" if source == 1 else f"{source} steps"
    return f"{steps} from both" if source == target else f"{steps} from the source, {target} from the target"
