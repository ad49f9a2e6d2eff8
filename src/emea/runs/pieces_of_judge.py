"""Pieces of the judge: what values, neighbours and kinds said about a pair."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from emea.analysis.bars import CALIBRATION, NONE, RIVALS, Bars
from emea.analysis.explanation import Named, Part
from emea.analysis.judged_bars import JudgedBars
from emea.evidence.prepared import Prepared
from emea.method.competition import competing
from emea.method.grounds import IDENTITY, Grounds, Judged
from emea.method.support import Linked, Support
from emea.runs.compared import TYPES, ComparedValues
from emea.runs.finding import Finder
from emea.runs.pieces import Evidence, Pieces, scaled
from emea.runs.wording import counted, either, followed, readable
from emea.settings import Settings

VALUES, NEIGHBOURS, STRUCTURE = "values", "neighbours", "structure"
NEAREST = 8  # candidates of an entity that are compared with each other
LEAST = 1e-9  # log-odds that are worth a part
LITTLE = 0.5  # of what the fields say one by one, below which it is said that they count for less together
# What the sum of the fields is corrected by: how often pairs of different entities reach such a sum.
OFTEN = "different entities often agree as much"
RARELY = "different entities rarely agree as much"
RARE = "how rare the equal values are"
BESIDES = "how all this counts beside the other evidence"


class JudgedPieces(Pieces):
    """What the judge found about the pairs."""

    def __init__(
        self, grounds: Grounds, judged: Judged, prepared: Prepared | None, settings: Settings, finder: Finder
    ) -> None:
        self.judged, self.finder = judged, finder
        self.grounds, self.sums = grounds, JudgedBars(grounds, judged)
        self.values = ComparedValues(judged, prepared, settings, finder)

    def known(self, source: int, target: int) -> bool:
        """Whether the pair was judged."""
        return self.sums.row(source, target) >= 0

    def candidates(self, entity: int, *, swapped: bool = False) -> list[int]:
        """Those that were judged, the likeliest first."""
        rows = self.sums.rows(entity, int(swapped))
        best = rows[np.argsort(-self.sums.odds[rows], kind="stable")[:NEAREST]]
        others: list[int] = self.judged.pairs[best, 1 - int(swapped)].tolist()
        return others

    def bars(self, source: int, target: int) -> Bars:
        """Values, neighbours, structure, types, none, rivals, calibration; not neighbours or types that say nothing, as
        in a table."""
        found = self.sums.of(self.sums.row(source, target))
        silent = {name for name in (NEIGHBOURS, TYPES) if abs(found.groups[name]) <= LEAST}
        return replace(found, groups={name: said for name, said in found.groups.items() if name not in silent})

    def not_compared(self, source: int, target: int) -> tuple[str, ...]:
        """In words."""
        return self.values.not_compared(self.sums.row(source, target))

    def log_odds(self, source: int, target: int) -> float:
        """Of the confidence."""
        return self.sums.log_odds(self.sums.row(source, target))

    def told(self, group: str, log_odds: float, source: int, target: int) -> tuple[str, float, tuple[Part, ...]]:
        """In words."""
        row = self.sums.row(source, target)
        if group == VALUES:
            parts = self._field_parts(row, log_odds)
            return self._values_text(row, parts), log_odds, parts
        if group == NEIGHBOURS:
            parts = self._neighbour_parts(source, target, log_odds)
            return (counted(len(parts), "linked neighbour") if parts else "linked neighbours"), log_odds, parts
        if group == TYPES:
            return self.values.kinds(source, target), log_odds, ()
        texts = {
            STRUCTURE: "what encoder and rules believed, where values say little",
            NONE: f"at random, one pair in {1 + math.exp(-self.judged.said[NONE][row]):,.0f} would be right",
            RIVALS: "how the other candidates of the two entities compare",
            CALIBRATION: self._limit(row),
        }
        return texts.get(group, group), log_odds, ()

    def _limit(self, row: int) -> str:
        """What a pair's confidence does not exceed."""
        most, ceiling = float(self.judged.most[row]), float(self.judged.ceiling[row])
        if most < ceiling and not self.judged.is_structural(row):
            return f"chance makes links as good as this so often that none gets more than {most:.3f}"
        if most < ceiling:
            return f"values say so little that it gets no more than encoder and rules believed: {most:.3f}"
        if self.judged.line != IDENTITY:
            told = "how often what was decided on turned out right at such a confidence"
            return told + (", and what surer candidates leave" if self.judged.share[row] < 1 else "")
        return f"no such link is given more than {ceiling:g}, or less than .0001"

    def evidence(self, source: int, target: int) -> Evidence:
        """Fields and kinds of evidence that speak for the pair; without some, what the values say together is computed
        anew."""
        row, speaking = self.sums.row(source, target), self._speaking(source, target)

        def without(taken: Collection[int]) -> float:
            fields = frozenset(speaking[place][1] for place in taken if isinstance(speaking[place][1], int))
            changed = {str(speaking[place][1]): 0.0 for place in taken if isinstance(speaking[place][1], str)}
            if fields:
                changed[VALUES] = self.sums.values(row, frozenset(map(int, fields)))
            return self.sums.log_odds(row, changed)

        return Evidence(tuple(text for text, _, _ in speaking), without)

    def _speaking(self, source: int, target: int) -> list[tuple[str, int | str, float]]:
        """Text, field or kind of evidence, and what it says."""
        row = self.sums.row(source, target)
        fields = enumerate(self.judged.by_field[row][:-1].tolist())
        found: list[tuple[str, int | str, float]] = [
            (self._field_text(row, field), field, said) for field, said in fields if said > 0
        ]
        names = {NEIGHBOURS: "linked neighbours", STRUCTURE: "what encoder and rules believed", TYPES: "types that fit"}
        for name, text in names.items():
            said = float(self.judged.said[name][row])
            found += [(text, name, said)] if said > 0 else []
        return sorted(found, key=lambda each: -each[2])

    def _values_text(self, row: int, parts: tuple[Part, ...]) -> str:
        """How many comparisons there are, and why they may count for little."""
        if not parts:
            return "names and other values"
        rests = [part for part in parts if part.text in (f"but {OFTEN}", RARELY, BESIDES)]
        compared = len(parts) - len(rests) - sum(part.text == RARE for part in parts)
        text, said = counted(compared, "comparison"), float(self.judged.by_field[row].sum())
        little = not rests and said > 0 and self.sums.values(row) < LITTLE * said
        return f"{text}, which count for less together: {OFTEN}" if little else text

    def _field_parts(self, row: int, log_odds: float) -> tuple[Part, ...]:
        """The fields' shares; what is over or missing is that their sum counts as much as it tells matched pairs from
        others."""
        own = self.judged.by_field[row]
        said = float(own.sum())
        scale = log_odds / said if said and 0 < log_odds / said <= 1 else 1.0
        shares = enumerate((scale * own).tolist())
        parts = [self._field_part(row, field, share) for field, share in shares if abs(share) > LEAST]
        rest = log_odds - scale * said
        if parts and abs(rest) > LEAST:
            more = self.sums.values(row) - said
            text = BESIDES if rest * more <= 0 else RARELY if rest > 0 else f"but {OFTEN}"
            parts.append(Part(text, rest))
        return tuple(sorted(parts, key=lambda part: -abs(part.log_odds)))

    def _field_part(self, row: int, field: int, log_odds: float) -> Part:
        fields = len(self.judged.fields)
        if field == fields:
            return Part("how far apart the two are", log_odds)
        if field == fields + 1:
            return Part(RARE, log_odds)
        compared = self.values.most_similar(row, field)
        if compared is None:
            return Part(self._field_text(row, field), log_odds)
        return Part(
            compared.text,
            log_odds,
            source_value=compared.values[0],
            target_value=compared.values[1],
            source_attribute=compared.attributes[0],
            target_attribute=compared.attributes[1],
            similarity=compared.similarity,
            compared=compared.dates,
        )

    def _field_text(self, row: int, field: int) -> str:
        if field == len(self.judged.fields):
            return "how far apart the two are"
        compared = self.values.most_similar(row, field)
        return compared.text if compared is not None else f"field {field + 1}"

    def _neighbour_parts(self, source: int, target: int, log_odds: float) -> tuple[Part, ...]:
        if self._support is None:
            return ()
        return scaled(list(self._linked(source, target)), log_odds)

    def _linked(self, source: int, target: int) -> Iterator[tuple[Part, float]]:
        """The linked neighbours of a pair."""
        assert self._support is not None and self.values.described is not None  # noqa: PT018
        mirrored = self.judged.mirrored
        pair = np.array([target, source] if mirrored else [source, target])
        for near, other, relation, back, weight, said in self._support.pieces(pair, self._known_links):
            one, another = (other, near) if mirrored else (near, other)
            number, number_back = (back, relation) if mirrored else (relation, back)
            names = [self._relation(place, each) for place, each in enumerate((number, number_back))]
            labels = self.finder.label(0, one), self.finder.label(1, another)
            same = either(*labels)
            shown = [followed(name, back=turned) for name, turned in names]
            both = either(*shown)
            yield (
                Part(
                    f"in both: {both} → {same} ({weight:.2f})",
                    0.0,
                    Named(self.finder.name(0, one), labels[0]),
                    Named(self.finder.name(1, another), labels[1]),
                    names[0][0],
                    names[1][0],
                    names[0][1],
                    weight,
                    target_inverse=names[1][1],
                ),
                said,
            )

    def _relation(self, place: int, number: int) -> tuple[str, bool]:
        assert self.finder.called is not None and self.values.described is not None  # noqa: PT018
        backwards, own = divmod(number, self.values.described[place].relations)
        names = self.finder.called[place].graph.relations
        return (readable(str(names[own].as_py())) if own < len(names) else "narrower kind"), bool(backwards)

    @cached_property
    def _support(self) -> Support | None:
        if self.values.described is None:
            return None
        sides = self.values.described[::-1] if self.judged.mirrored else self.values.described
        return Support(*sides, self.judged.pairs[:, ::-1] if self.judged.mirrored else self.judged.pairs)

    @cached_property
    def _known_links(self) -> Linked | None:
        """What support comes from: the judged pairs that are probable."""
        assert self._support is not None
        sizes = len(self.finder.names[0]), len(self.finder.names[1])
        return self._support.linked(competing(self.judged.pairs, self.sums.odds, sizes, self.grounds.competition))
