"""Candidates and beliefs in parts are those of one table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest
import torch
from torch import Tensor

from emea.candidates import table
from emea.candidates.parts import KeptCandidates, KeptCounterparts, here
from emea.candidates.search import nearest_only, search_among
from emea.data import Candidates, Counterparts, Embeddings, Links
from emea.engine import LOCAL
from emea.kernels.segments import segment_highest
from emea.method.compatibility import widen
from emea.method.competition import ONE_TO_ONE
from emea.method.grounds import Grounds
from emea.method.opening import Opening
from emea.method.probability import Scale, counterparts, counterparts_of, most_probable
from emea.method.rounds import Outcome, Round
from emea.settings import ProbabilitySettings, SimilaritySettings

SIZES = 23, 31
SCALE, BALANCED = Scale(9.0, 0.2), ProbabilitySettings(balance=6)
Parts = Callable[[], None]


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> Parts:
    return lambda: monkeypatch.setattr(table, "PART", 5)  # the last is shorter


def embeddings() -> Embeddings:
    drawn = torch.Generator().manual_seed(3)
    sides = (torch.nn.functional.normalize(torch.randn(size, 8, generator=drawn)) for size in SIZES)
    return Embeddings(*sides)


def found(settings: SimilaritySettings, these: tuple[Tensor, Tensor] | None = None) -> KeptCandidates:
    every = torch.ones(SIZES[0], dtype=torch.bool), torch.ones(SIZES[1], dtype=torch.bool)
    return search_among(embeddings(), these or every, settings, torch.Generator().manual_seed(0))


def same(one: Candidates | Counterparts, other: Candidates | Counterparts) -> bool:
    """Whether two tables have the same columns."""
    for field in fields(Counterparts if isinstance(one, Counterparts) else Candidates):
        left, right = getattr(one, field.name), getattr(other, field.name)
        if isinstance(left, Candidates):
            if not same(left, right):
                return False
        elif isinstance(left, Tensor):
            if not torch.equal(left, right):
                return False
        elif left != right:
            return False
    return True


def split(beliefs: Counterparts, begins: list[int]) -> KeptCounterparts:
    """Beliefs in parts that begin with these sources."""
    pairs = beliefs.candidates
    part = torch.bucketize(pairs.source, torch.tensor(begins[1:]), right=True)
    rows = [(part == number).nonzero()[:, 0] for number in range(len(begins))]
    tables = [LOCAL.share(pairs[some]) for some in rows]
    kept = KeptCandidates(LOCAL, tables, begins, pairs.source_density, pairs.target_density)
    parts = [LOCAL.share((beliefs.forward[some], beliefs.backward[some])) for some in rows]
    return KeptCounterparts(kept, parts, beliefs.source_none, beliefs.target_none)


@pytest.mark.parametrize("settings", [{}, {"candidates": 3, "neighbours": 6}, {"measure": "cosine"}])
@pytest.mark.parametrize("some", [False, True])
def test_what_is_found_does_not_depend_on_parts(settings: dict[str, object], *, some: bool, in_parts: Parts) -> None:
    chosen = SimilaritySettings(**{"candidates": 6, "neighbours": 4, **settings})  # type: ignore[arg-type]
    these = tuple(torch.arange(size) % 4 != 1 for size in SIZES) if some else None
    whole = found(chosen, these)  # type: ignore[arg-type]
    assert len(whole.parts) == 1
    in_parts()
    parts = found(chosen, these)  # type: ignore[arg-type]
    assert len(parts.parts) == (4 if some else 5)
    assert len(parts) == len(whole) > 0
    for begin, end, part in zip(parts.begins, [*parts.begins[1:], SIZES[0]], parts.parts, strict=True):
        assert begin <= int(part.fetch().source.min()) <= int(part.fetch().source.max()) < end
    assert same(whole, parts)
    assert same(parts, found(chosen, these)), "parts of the table that was brought here are the same"  # type: ignore[arg-type]


def test_the_nearest_are_the_best_of_all_parts(in_parts: Parts) -> None:
    whole = found(SimilaritySettings(candidates=9))
    in_parts()
    parts = found(SimilaritySettings(candidates=9))
    for count in (1, 2, 4):
        assert same(nearest_only(whole, count), nearest_only(parts, count))
        assert len(nearest_only(parts, count)) < len(parts)


def test_ties_are_kept_across_parts() -> None:
    pairs = Candidates(
        torch.arange(4), torch.zeros(4, dtype=torch.int64), torch.tensor([0.5, 0.9, 0.5, 0.1]), 4, 1,
        torch.zeros(4), torch.zeros(1),
    )  # fmt: skip
    beliefs = Counterparts(pairs, torch.zeros(4), pairs.cosine, torch.zeros(4), torch.zeros(1))
    for begins in ([0], [0, 2], [0, 1, 2, 3]):
        kept = most_probable(split(beliefs, begins), 2, both_ways=False)
        assert kept.candidates.source.tolist() == [0, 1, 2, 3], "each is the best of its source"
        alone = Counterparts(pairs.swap(), pairs.cosine, torch.zeros(4), torch.zeros(1), torch.zeros(4))
        assert most_probable(alone, 2, both_ways=False).candidates.target.tolist() == [0, 1, 2]


def test_probabilities_do_not_depend_on_parts(in_parts: Parts) -> None:
    chosen = SimilaritySettings(candidates=9)
    whole = found(chosen).here()
    whole = whole[(whole.source != 7) & ((whole.source < 10) | (whole.source > 14))]  # a part without pairs
    expected = counterparts(whole, SCALE, BALANCED)
    in_parts()
    for begins in ([0], [0, 5, 10, 15, 20]):
        kept = counterparts_of(split(expected, begins).pairs, SCALE, BALANCED)
        assert len(kept.parts) == len(begins)
        for column in ("forward", "backward", "source_none", "target_none"):
            one, other = getattr(here(kept), column), getattr(expected, column)
            assert torch.allclose(one, other, rtol=1e-12, atol=0), column
            assert len(begins) > 1 or torch.equal(one, other), "one part is added up as one table"
    assert here(kept).source_none[7] == 1, "who has no candidates has no counterpart"


@pytest.mark.parametrize("settings", [{"balance": 0}, {"scaling": "minmax"}])
def test_probabilities_that_are_not_balanced(settings: dict[str, object]) -> None:
    whole = found(SimilaritySettings(candidates=9)).here()
    chosen = ProbabilitySettings(**settings)  # type: ignore[arg-type]
    expected = counterparts(whole, SCALE, chosen)
    kept = counterparts_of(split(expected, [0, 11]).pairs, SCALE, chosen)
    assert same(expected, here(kept))


def test_beliefs_are_widened_part_by_part() -> None:
    whole = counterparts(found(SimilaritySettings(candidates=9)).here(), SCALE, BALANCED)
    best = most_probable(whole, 3)
    agreed = Counterparts(best.candidates, best.forward / 2, best.backward / 3, best.source_none, best.target_none)
    expected = widen(agreed, whole)
    kept = widen(agreed, split(whole, [0, 6, 7, 22]))
    assert [each.fetch()[0].shape for each in kept.parts] == [(rows,) for rows in kept.pairs.rows]
    for column in ("forward", "backward", "source_none", "target_none"):
        assert torch.allclose(getattr(kept, column), getattr(expected, column), rtol=1e-12, atol=0), column
    assert not torch.equal(kept.forward, whole.forward)


def test_what_is_known_rules_out_pairs_of_all_parts(in_parts: Parts) -> None:
    links = [Links.build(torch.tensor(one), torch.tensor(other)) for one, other in (([3, 12], [4, 30]), ([], []))]
    known, none = links[0], links[1]
    in_parts()
    nearest = found(SimilaritySettings(candidates=9))
    opened = Opening(known, none, none, none, none, none, ONE_TO_ONE).opened(nearest)
    touching = nearest.touches(known)
    assert 0 < len(opened) < len(nearest)
    assert same(opened, nearest[~touching])
    rivals = Opening(known, none, none, none, none, none, ONE_TO_ONE).rivals(nearest, 3)
    assert same(rivals, nearest_only(nearest[touching], 3))


@pytest.mark.parametrize("rows", [0, 1, 40])
def test_highest_scores_of_each_index(rows: int) -> None:
    draw = torch.Generator().manual_seed(rows)
    index, score = torch.randint(5, (rows,), generator=draw), torch.rand(rows, generator=draw)
    found = segment_highest(index, 6, score, 3)
    for each in range(6):
        best = sorted(score[index == each].tolist(), reverse=True)[:3]
        assert found[each].tolist() == best + [-torch.inf] * (3 - len(best))


def test_an_outcome_is_brought_here_with_the_beliefs_it_rests_on() -> None:
    whole = counterparts(found(SimilaritySettings(candidates=6)).here(), SCALE, BALANCED)

    def blank(kind: type[Any], **known: Any) -> Any:
        return kind(**dict.fromkeys(field.name for field in fields(kind)) | known)

    outcome = blank(
        Outcome,
        counterparts=split(whole, [0, 9]),
        last=blank(Round, embeddings=embeddings(), believed=split(whole, [0, 4])),
        grounds=blank(Grounds, proposed=split(whole, [0, 4])),
    )
    brought = outcome.here()
    for each in (brought.counterparts, brought.last.believed, brought.grounds.proposed):
        assert type(each) is Counterparts
        assert same(each, whole)
    assert torch.equal(brought.last.embeddings.source, embeddings().source)
    assert blank(Outcome, counterparts=whole).here().counterparts is whole, "of a baseline"
