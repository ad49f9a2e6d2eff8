"""Avoiding conflicts: what the rule says of a pair is the sum over every factor that holds its source, enumerated."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from emea.data import Candidates, Counterparts, Embeddings, Graph, Links, Task
from emea.kernels.segments import LOWEST
from emea.method.compatibility import Factors
from emea.rules.avoid_conflict import AvoidConflict, AvoidConflictSettings

CPU = torch.device("cpu")
TIED = 1e-9

Assignment = dict[int, int | None]


def factors_of(beliefs: Counterparts, embeddings: Embeddings, nearest: int, scope: str) -> list[list[float]]:
    empty = Graph.build([], [], np.zeros((0, 3), dtype=np.int64))
    settings = AvoidConflictSettings(nearest=nearest, scope=scope)
    found = AvoidConflict(Task(empty, empty, Links.empty()), settings, CPU).factors(beliefs, embeddings)
    assert found.shape == (len(beliefs.forward), 2)
    return found.tolist()


def counterparts_of(
    rows: Sequence[tuple[int, int, float, float]],
    sources: int,
    targets: int,
    none: Sequence[float] | None = None,
    density: tuple[Sequence[float], Sequence[float]] | None = None,
) -> Counterparts:
    """Beliefs of rows (source, target, cosine, p(target | source))."""
    source, target, cosine, forward = zip(*rows, strict=True) if rows else ((), (), (), ())
    density = density or ([0.0] * sources, [0.0] * targets)
    candidates = Candidates(
        torch.tensor(source, dtype=torch.int64),
        torch.tensor(target, dtype=torch.int64),
        torch.tensor(cosine, dtype=torch.float32),
        sources,
        targets,
        torch.tensor(density[0], dtype=torch.float32),
        torch.tensor(density[1], dtype=torch.float32),
    )
    share = torch.tensor(forward, dtype=torch.float64)
    nothing = torch.tensor(none or [0.0] * sources, dtype=torch.float64)
    return Counterparts(candidates, share, share.clone(), nothing, torch.zeros(targets, dtype=torch.float64))


def random_space(sources: int, targets: int, draw: np.random.Generator) -> Embeddings:
    sides = [draw.normal(size=(count, 3)) for count in (sources, targets)]
    scaled = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides]
    return Embeddings(*(torch.tensor(side, dtype=torch.float32) for side in scaled))


def random_beliefs(seed: int, sources: int, targets: int) -> tuple[Counterparts, Embeddings]:
    """Some sources without candidates, some with more "none" than anything, some labelled with rivals of mass 0."""
    draw = np.random.default_rng(seed)
    space = random_space(sources, targets, draw)
    cosine = (space.source @ space.target.T).numpy()
    grid = [(s, t) for s in range(sources) for t in range(targets) if s % 7 != 6 and draw.random() < 0.6]
    labelled = {s: next(t for e, t in grid if e == s) for s in range(0, sources, 5) if any(e == s for e, _ in grid)}
    raw = [draw.random() ** 2 for _ in grid]
    none = [0.0 if s in labelled else draw.choice([0.0, 0.0, 0.4]) for s in range(sources)]
    total = [none[s] + sum(mass for (e, _), mass in zip(grid, raw, strict=True) if e == s) for s in range(sources)]
    rows = [
        (s, t, float(cosine[s, t]), float(labelled[s] == t) if s in labelled else mass / total[s])
        for (s, t), mass in zip(grid, raw, strict=True)
    ]
    density = draw.random(sources).tolist(), draw.random(targets).tolist()
    beliefs = counterparts_of(rows, sources, targets, none, density)
    backward = torch.tensor(draw.random(len(rows)))
    total = torch.zeros(targets, dtype=torch.float64).index_add_(0, beliefs.candidates.target, backward)
    return replace(beliefs, backward=backward / total[beliefs.candidates.target]), space


# --- the slow reference ---


class Conflicts:
    """Every factor F_e, built; g₁ and g₂ of an assignment at each."""

    def __init__(self, beliefs: Counterparts, space: Embeddings, nearest: int) -> None:
        pairs = beliefs.candidates
        self.rows = list(zip(pairs.source.tolist(), pairs.target.tolist(), strict=True))
        vectors = space.source.double().numpy()
        self.members = [
            sorted((n for n in range(len(vectors)) if n != e), key=lambda n, e=e: -float(vectors[e] @ vectors[n]))[
                :nearest
            ]
            for e in range(len(vectors))
        ]
        near, far = pairs.source_density.tolist(), pairs.target_density.tolist()
        score = [2 * c - near[s] - far[t] for c, (s, t) in zip(pairs.cosine.tolist(), self.rows, strict=True)]
        self.nearest_target = {e: self.single_best(e, score) for e in range(len(vectors))}
        believed, none = beliefs.forward.tolist(), beliefs.source_none.tolist()
        mass = dict(zip(self.rows, believed, strict=True))
        self.y: Assignment = {}
        for e in range(len(vectors)):
            best = self.single_best(e, believed)
            self.y[e] = best if best is not None and mass[e, best] > none[e] else None

    def single_best(self, e: int, score: Sequence[float]) -> int | None:
        own = [(value, t) for value, (s, t) in zip(score, self.rows, strict=True) if s == e]
        top = [t for value, t in own if value >= max(v for v, _ in own) - TIED]
        return top[0] if len(top) == 1 else None

    def g(self, centre: int, y: Assignment) -> tuple[int, int]:
        if y[centre] is None:
            return 0, 0
        alone = all(y[n] != y[centre] for n in self.members[centre])
        return int(y[centre] == self.nearest_target[centre]), int(alone)

    def total(self, e: int, choice: int | None, scope: str) -> tuple[int, int]:
        """Σ over the factors that contain e of g, with y_e as chosen and all other entities as assigned."""
        y = self.y | {e: choice}
        centres = [c for c in range(len(self.members)) if c == e or (scope == "blanket" and e in self.members[c])]
        values = [self.g(centre, y) for centre in centres]
        return sum(follow for follow, _ in values), sum(unique for _, unique in values)

    def factors(self, scope: str) -> list[list[float]]:
        result = []
        for e, target in self.rows:
            chosen, none = self.total(e, target, scope), self.total(e, None, scope)
            result.append([float(a - b) for a, b in zip(chosen, none, strict=True)])
        return result


# --- tests ---


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("nearest", [1, 3, 5])
@pytest.mark.parametrize("scope", ["own", "blanket"])
def test_factors_are_those_of_the_enumeration_both_ways(seed: int, nearest: int, scope: str) -> None:
    beliefs, space = random_beliefs(seed, 14, 6)
    assert factors_of(beliefs, space, nearest, scope) == Conflicts(beliefs, space, nearest).factors(scope)
    other, swapped = Embeddings(space.target, space.source), beliefs.swap()
    keys = swapped.candidates.keys()
    assert not bool((keys[1:] > keys[:-1]).all())  # rows keep their order
    assert factors_of(swapped, other, nearest, scope) == Conflicts(swapped, other, nearest).factors(scope)


def test_the_enumeration_meets_all_that_can_happen() -> None:
    seen = set()
    for seed in range(8):
        conflicts = Conflicts(*random_beliefs(seed, 14, 6), 3)
        seen |= {tuple(row) for row in conflicts.factors("blanket")}
        assert None in conflicts.y.values()
    assert {follow for follow, _ in seen} == {0.0, 1.0}
    assert {unique for _, unique in seen} >= {1.0, 0.0, -1.0}


@pytest.mark.parametrize("seed", range(4))
def test_softmax_of_the_weighted_factors_is_the_conditional(seed: int) -> None:
    """Eq. cond_p: Π_{F ∋ e} l(y_F), l = exp(φ₁g₁ + φ₂g₂ + φ₀), over its sum over the candidates of e."""
    beliefs, space = random_beliefs(seed, 14, 6)
    conflicts, (first, second, constant) = Conflicts(beliefs, space, 5), (1.3, 2.1, -0.4)
    weights = torch.tensor([first, second], dtype=torch.float64)
    values = torch.tensor(factors_of(beliefs, space, 5, "blanket"), dtype=torch.float64)
    found = (
        Factors(beliefs.candidates.source, beliefs.candidates.sources, values, 0.0, LOWEST)
        .conditional(weights)
        .tolist()
    )
    for row, (e, target) in enumerate(conflicts.rows):
        product = {}
        for _, choice in (pair for pair in conflicts.rows if pair[0] == e):
            follow, unique = conflicts.total(e, choice, "blanket")
            factors = 1 + sum(e in members for members in conflicts.members)
            product[choice] = math.exp(first * follow + second * unique + factors * constant)
        assert found[row] == pytest.approx(product[target] / sum(product.values()), rel=1e-9)


def test_by_hand() -> None:
    """0, 1 and 2 are near each other; 0 and 1 claim target 0, 2 claims target 1."""
    rows = [(0, 0, 0.9, 0.8), (0, 1, 0.1, 0.2), (1, 0, 0.7, 0.6), (1, 1, 0.8, 0.4), (2, 0, 0.1, 0.3), (2, 1, 0.5, 0.7)]
    space = Embeddings(torch.tensor([[1.0, 0.0], [0.96, 0.28], [0.8, 0.6]]), torch.eye(2))
    found = factors_of(counterparts_of(rows, 3, 2), space, 2, "own")
    assert found == [[1, 0], [0, 0], [0, 0], [1, 0], [0, 0], [1, 1]]
    # 0 at target 0 takes it from 1 alone, and at target 1 from 2; 2 at target 0 takes it from nobody who had it alone
    found = factors_of(counterparts_of(rows, 3, 2), space, 2, "blanket")
    assert found == [[1, -1], [0, -1], [0, -1], [1, -1], [0, 0], [1, 1]]


def test_a_tied_source_claims_nothing_and_follows_nobody() -> None:
    rows = [(0, 0, 0.5, 0.5), (0, 1, 0.5, 0.5), (1, 0, 0.9, 1.0)]
    beliefs, space = counterparts_of(rows, 2, 2), Embeddings(torch.eye(2), torch.eye(2))
    assert factors_of(beliefs, space, 1, "own") == [[0, 0], [0, 1], [1, 1]]
    assert factors_of(beliefs, space, 1, "blanket") == [[0, -1], [0, 1], [1, 1]]


def test_a_source_that_is_rather_none_claims_nothing() -> None:
    rows = [(0, 0, 0.5, 0.3), (1, 0, 0.9, 0.9)]
    beliefs, space = counterparts_of(rows, 2, 1, none=[0.7, 0.1]), Embeddings(torch.eye(2), torch.eye(2)[:1])
    assert factors_of(beliefs, space, 1, "blanket") == [[1, -1], [1, 1]]


@pytest.mark.parametrize("scope", ["own", "blanket"])
@pytest.mark.parametrize(("sources", "targets"), [(1, 4), (3, 2), (4, 1)])
def test_fewer_entities_than_nearest(sources: int, targets: int, scope: str) -> None:
    for seed in range(6):
        beliefs, space = random_beliefs(seed, sources, targets)
        for seen, where in ((beliefs, space), (beliefs.swap(), Embeddings(space.target, space.source))):
            assert factors_of(seen, where, 5, scope) == Conflicts(seen, where, 5).factors(scope)


@pytest.mark.parametrize("scope", ["own", "blanket"])
def test_no_pairs_have_no_factors(scope: str) -> None:
    space = random_space(4, 3, np.random.default_rng(0))
    assert factors_of(counterparts_of([], 4, 3), space, 2, scope) == []
