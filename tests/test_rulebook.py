"""What rules say reaches both sides, and Φ is learned from all entities: a brute-force maximum of eq. objective_phi."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch import Tensor

import emea
from emea.candidates.search import search
from emea.contracts import PluginSettings, Rule
from emea.data import Candidates, Counterparts, Embeddings, Graph, Links, Task
from emea.errors import PluginError
from emea.kernels.segments import LOWEST
from emea.method.compatibility import NONE, SMALLEST_WEIGHT, bars, learn_weights, refine
from emea.method.probability import Scale, clamp, counterparts, most_probable
from emea.method.rulebook import Rulebook, add_impossible, most_likely
from emea.rules.avoid_conflict import AvoidConflict, AvoidConflictSettings
from emea.rules.paris import PARIS, PARISSettings
from emea.settings import Settings, load
from small_world import read_small_world

CPU = torch.device("cpu")
RULES = "em.rules=paris,avoid_conflict"
RIDGE = 1.0  # as `learn_weights` has it

Pair = tuple[int, int]


class Case:
    """Two graphs, one a copy of the other but for a few triples, with embeddings that nearly agree."""

    def __init__(self, seed: int, settings: Settings, seeds: int = 6, entities: int = 20) -> None:
        draw = np.random.default_rng(seed)
        triples = np.stack([draw.integers(high, size=50) for high in (entities, 3, entities)], 1)
        other = np.concatenate([triples[5:], triples[:5, ::-1] % [entities, 3, entities]])
        names = [f"e{number:02}" for number in range(entities)], ["r0", "r1", "r2"]
        self.task = Task(Graph.build(*names, triples), Graph.build(*names, other), Links.empty())
        source = draw.normal(size=(entities, 6))
        sides = (source, source + draw.normal(size=source.shape) * 0.8)
        scaled = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides)
        self.space = Embeddings(*(torch.tensor(side, dtype=torch.float32) for side in scaled))
        own = torch.tensor(draw.permutation(entities)[:seeds])
        self.known, self.settings = Links.build(own, own), settings
        self.nearest = search(self.space, settings.similarity, torch.Generator().manual_seed(0))
        free = self.nearest[~self.nearest.touches(self.known)]
        believed = counterparts(free, Scale(6.0, LOWEST), settings.probability)
        both_ways = settings.compatibility.directions == "both"
        considered = most_probable(believed, settings.considered, both_ways=both_ways)
        cosine = (self.space.source[own] * self.space.target[own]).sum(1)
        self.beliefs = clamp(considered, self.known, cosine)
        book = Rulebook(self.task, settings, CPU)
        (self.forward, self.backward), self.learning = book.factors(self.beliefs, self.space, self.nearest, self.known)


def settings_of(*assignments: str) -> Settings:
    own = ["similarity.candidates=7", "similarity.neighbours=3", "compatibility.candidates=3"]
    return load(assignments=[RULES, *own, *assignments])


def pairs_of(candidates: Candidates) -> list[Pair]:
    return list(zip(candidates.source.tolist(), candidates.target.tolist(), strict=True))


# --- the slow reference ---


def slow_rivals(case: Case) -> list[Pair]:
    """Pairs with a labelled entity that are among the K most similar of one of their ends."""
    sources, targets = set(case.known.source.tolist()), set(case.known.target.tolist())
    score = dict(zip(pairs_of(case.nearest), case.nearest.similarity.tolist(), strict=True))
    touched = {pair: value for pair, value in score.items() if pair[0] in sources or pair[1] in targets}
    kept = []
    for pair, value in touched.items():
        better = [sum(other[end] == pair[end] and touched[other] > value for other in touched) for end in (0, 1)]
        if min(better) < case.settings.considered:
            kept.append(pair)
    return kept


def slow_judged(case: Case) -> Counterparts:
    """The beliefs with the rivals, of which nothing is believed, by source and target."""
    pairs, cosine = pairs_of(case.beliefs.candidates), (case.space.source @ case.space.target.T).tolist()
    mass = dict(zip(pairs, case.beliefs.forward.tolist(), strict=True))
    back = dict(zip(pairs, case.beliefs.backward.tolist(), strict=True))
    rows = sorted({*pairs, *slow_rivals(case)})
    candidates = replace(
        case.beliefs.candidates,
        source=torch.tensor([s for s, _ in rows]),
        target=torch.tensor([t for _, t in rows]),
        cosine=torch.tensor([cosine[s][t] for s, t in rows]),
    )
    forward, backward = (
        torch.tensor([side.get(row, 0.0) for row in rows], dtype=torch.float64) for side in (mass, back)
    )
    return replace(case.beliefs, candidates=candidates, forward=forward, backward=backward)


def slow_values(task: Task, judged: Counterparts, space: Embeddings) -> dict[Pair, np.ndarray]:
    rules = (PARIS(task, PARISSettings(), CPU), AvoidConflict(task, AvoidConflictSettings(), CPU))
    columns = [rule.factors(judged, space).double().reshape(len(judged.forward), -1) for rule in rules]
    return dict(zip(pairs_of(judged.candidates), torch.cat(columns, 1).numpy(), strict=True))


def slow_side(values: dict[Pair, np.ndarray], beliefs: Counterparts, known: Links) -> list[tuple[np.ndarray, int]]:
    """Of each entity that counts: G of its alternatives, and which of them is ŷ."""
    mass = dict(zip(pairs_of(beliefs.candidates), beliefs.forward.tolist(), strict=True))
    seed = dict(zip(known.source.tolist(), known.target.tolist(), strict=True))
    side = []
    for e in range(beliefs.candidates.sources):
        if e in seed:
            alternatives = [pair for pair in values if pair[0] == e]
            side.append((np.array([values[pair] for pair in alternatives]), alternatives.index((e, seed[e]))))
        elif alternatives := [pair for pair in mass if pair[0] == e]:
            own = [mass[pair] for pair in alternatives]
            side.append((np.array([values[pair] for pair in alternatives]), own.index(max(own))))
    return side


def slow_bars(values: dict[Pair, np.ndarray], none: float) -> np.ndarray:
    """How much each rule has to say for a pair to beat "none"."""
    support = [sum(min(max(row[rule], 0.0), none) for row in values.values()) for rule in range(3)]
    return np.array([none * each / max(support) for each in support])


def brute_force(sides: Sequence[list[tuple[np.ndarray, int]]], bars: Sequence[np.ndarray] | None) -> np.ndarray:
    """Φ that maximises Σ_e log p_Φ(ŷ_e | others) − ridge/2 |Φ|², none of it below the smallest weight."""

    def loss(weights: np.ndarray) -> float:
        total = RIDGE / 2 * float(weights @ weights)
        for place, side in enumerate(sides):
            for values, chosen in side:
                logits = [float((row - (bars[place] if bars else 0.0)) @ weights) for row in values]
                total += math.log(sum(math.exp(each) for each in logits) + bool(bars)) - logits[chosen]
        return total

    bounds, start = [(SMALLEST_WEIGHT, None)] * 3, np.ones(3)
    return minimize(loss, start, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-14, "gtol": 1e-8}).x


# --- learning ---


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("directions", ["both", "forward"])
@pytest.mark.parametrize("abstain", ["true", "false"])
def test_weights_maximise_the_pseudolikelihood_of_all_entities(seed: int, directions: str, abstain: str) -> None:
    settings = settings_of(f"compatibility.directions={directions}", f"compatibility.abstain={abstain}")
    case = Case(seed, settings)
    judged = slow_judged(case)
    assert len(judged.forward) > len(case.beliefs.forward)  # there are rivals
    values = [slow_values(case.task, judged, case.space)]
    sides = [slow_side(values[0], case.beliefs, case.known)]
    if directions == "both":
        turned = Embeddings(case.space.target, case.space.source)
        values.append(slow_values(case.task.swap(), judged.swap(), turned))
        sides.append(slow_side(values[1], case.beliefs.swap(), case.known.swap()))
    assert len(case.learning) == len(sides)
    for (_, sample), side in zip(case.learning, sides, strict=True):
        assert int((sample >= 0).sum()) == len(side)
    bars = [slow_bars(each, settings.compatibility.none) for each in values] if abstain == "true" else None
    found = learn_weights(case.learning)
    assert found.tolist() == pytest.approx(brute_force(sides, bars).tolist(), abs=2e-3)
    assert float(found.max()) > 0.5
    without = [[entity for entity in side if entity[0].shape != (1, 3)][:3] for side in sides]
    assert np.abs(brute_force(without, bars) - found.numpy()).max() > 0.01  # a few entities would say something else


@pytest.mark.parametrize("directions", ["both", "forward"])
def test_factors_of_the_pairs_believed_in_are_the_rules_own(directions: str) -> None:
    case = Case(1, settings_of(f"compatibility.directions={directions}"))
    pairs = pairs_of(case.beliefs.candidates)
    assert list(zip(case.forward.entity.tolist(), case.backward.entity.tolist(), strict=True)) == pairs
    judged = slow_judged(case)
    expected = slow_values(case.task, judged, case.space)
    for pair, row in zip(pairs, case.forward.values.numpy(), strict=True):
        assert row == pytest.approx(expected[pair], abs=1e-9)
    if directions == "both":
        space = Embeddings(case.space.target, case.space.source)
        expected = slow_values(case.task.swap(), judged.swap(), space)
        for pair, row in zip(pairs, case.backward.values.numpy(), strict=True):
            assert row == pytest.approx(expected[pair[::-1]], abs=1e-9)


@pytest.mark.parametrize("abstain", ["true", "false"])
def test_forward_alone_leaves_the_other_side_uniform(abstain: str) -> None:
    case = Case(2, settings_of("compatibility.directions=forward", f"compatibility.abstain={abstain}"))
    refined = refine(case.beliefs, case.forward, case.backward, learn_weights(case.learning))
    count = torch.bincount(case.beliefs.candidates.target, minlength=20).tolist()
    for target, share in zip(case.beliefs.candidates.target.tolist(), refined.backward.tolist(), strict=True):
        assert share == pytest.approx(1 / count[target], rel=1e-12)
    assert refined.target_none.tolist() == [0.0] * 20


def test_where_none_is_no_answer_it_has_no_mass() -> None:
    case = Case(3, settings_of("compatibility.abstain=false"))
    refined = refine(case.beliefs, case.forward, case.backward, learn_weights(case.learning))
    for side in (refined, refined.swap()):
        assert side.source_none.tolist() == [0.0] * 20
        inside = torch.zeros(20, dtype=torch.float64).index_add_(0, side.candidates.source, side.forward)
        having = torch.bincount(side.candidates.source, minlength=20) > 0
        assert inside[having].tolist() == pytest.approx([1.0] * int(having.sum()), rel=1e-12)
    usual = Case(3, settings_of())
    refined = refine(usual.beliefs, usual.forward, usual.backward, learn_weights(usual.learning))
    assert float(refined.source_none.min()) > 0


@pytest.mark.parametrize("seed", range(3))
def test_a_rule_alone_has_the_whole_bar_whatever_it_says(seed: int) -> None:
    case = Case(seed, settings_of("em.rules=paris"))
    for side in (case.forward, case.backward, *(factors for factors, _ in case.learning)):
        assert isinstance(side.none, Tensor)
        assert side.none.tolist() == [0.1]  # exactly


class Silent(Rule[PluginSettings]):
    said = 0.0

    def __init__(self, task: Task, settings: PluginSettings, device: torch.device) -> None: ...

    def factors(self, beliefs: Counterparts, embeddings: Embeddings) -> Tensor:
        return torch.where(torch.arange(len(beliefs.forward)) % 10 == 0, self.said, 0.0)


class Whispering(Silent):
    said = 1e-3


class Opposing(Silent):
    said = -2.0


@pytest.mark.parametrize(("rule", "near"), [(Silent, 1e-12), (Whispering, 0.02)])
def test_a_rule_that_says_nothing_changes_nothing(rule: type[Silent], near: float) -> None:
    """Its weight would otherwise be a bias: "none" was likely wherever few samples have a counterpart."""
    name = f"{rule.__module__}:{rule.__name__}"
    alone = Case(0, settings_of("em.rules=paris"))
    case = Case(0, settings_of(f"em.rules=paris,{name}"))
    refined = []
    for each in (alone, case):
        unsure = [(factors, torch.where(sample % 4 == 0, sample, NONE)) for factors, sample in each.learning]
        refined.append(refine(each.beliefs, each.forward, each.backward, learn_weights(unsure)))
    for field in ("forward", "backward", "source_none", "target_none"):
        found, expected = (getattr(each, field) for each in refined[::-1])
        assert torch.allclose(found, expected, atol=near, rtol=0)


def test_a_rule_that_supports_no_pair_raises_no_bar() -> None:
    case = Case(0, settings_of(f"em.rules=paris,{Opposing.__module__}:Opposing"))
    assert torch.as_tensor(case.forward.none).tolist() == [0.1, 0.0]
    nobody = bars(torch.zeros(5, 2, dtype=torch.float64), 0.1)
    assert nobody.tolist() == [0.05, 0.05]


def test_a_silent_rule_leaves_the_links_of_a_run_as_they_are() -> None:
    task, _ = read_small_world(seeds=40)
    small = ["em.rounds=2", "encoders.propagation.dimension=64", "encoders.propagation.paths=64"]
    found = [
        emea.align(task, load(assignments=[*small, f"em.rules={rules}"]))
        for rules in ("paris", f"paris,{Silent.__module__}:Silent")
    ]
    first, second = (each.alignment for each in found)
    assert len(first) > 20
    assert (first.source.tolist(), first.target.tolist()) == (second.source.tolist(), second.target.tolist())
    assert second.confidence.tolist() == pytest.approx(first.confidence.tolist(), abs=1e-9)


def test_without_seeds_there_are_no_rivals() -> None:
    case = Case(0, settings_of(), seeds=0)
    for factors, sample in case.learning:
        assert len(factors.entity) == len(case.beliefs.forward)
        assert sample.tolist().count(-1) == 0


# --- what it is made of ---


def test_samples_are_the_most_likely_none_or_undecided() -> None:
    forward, none = torch.tensor([0.6, 0.4, 0.5, 0.5, 0.3]).double(), torch.tensor([0.0, 0.0, 0.7, 0.0]).double()
    # the best, a tie, "none", and no candidates
    assert most_likely(torch.tensor([0, 0, 1, 1, 2]), forward, none).tolist() == [0, -2, -1, -1]


@pytest.mark.parametrize("rivals", [0, 40])
def test_impossible_pairs_join_the_table_and_change_no_belief(rivals: int) -> None:
    case = Case(4, settings_of())
    added = case.nearest[torch.randperm(len(case.nearest), generator=torch.Generator().manual_seed(1))[:rivals]]
    wide, before = add_impossible(case.beliefs, added)
    keys = wide.candidates.keys()
    assert bool((keys[1:] > keys[:-1]).all())
    assert set(pairs_of(wide.candidates)) == {*pairs_of(case.beliefs.candidates), *pairs_of(added)}
    kept = wide[before]
    for name in ("forward", "backward", "source_none", "target_none"):
        assert torch.equal(getattr(kept, name), getattr(case.beliefs, name))
    for name in ("source", "target", "cosine"):
        assert torch.equal(getattr(kept.candidates, name), getattr(case.beliefs.candidates, name))
    assert wide.forward[~before].tolist() == wide.backward[~before].tolist() == [0.0] * int((~before).sum())
    cosine = (case.space.source @ case.space.target.T)[wide.candidates.source, wide.candidates.target]
    assert wide.candidates.cosine.tolist() == pytest.approx(cosine.tolist(), abs=1e-6)


@pytest.mark.parametrize(
    ("rules", "names"),
    [
        ("paris,avoid_conflict", ["paris", "avoid_conflict.follow", "avoid_conflict.unique"]),
        ("avoid_conflict", ["avoid_conflict.follow", "avoid_conflict.unique"]),
        ("paris,disagreement", ["paris"]),  # a rule whose factors need no weight has none
        ("", []),
    ],
)
def test_names_of_weights(rules: str, names: list[str]) -> None:
    settings = load(assignments=[f"em.rules={rules}"])
    book = Rulebook(Case(0, settings_of()).task, settings, CPU)
    assert book.weight_names == names
    values = torch.arange(len(names)).double() + 0.5
    assert book.named(values) == {name: place + 0.5 for place, name in enumerate(names)}


class Short(Rule[PluginSettings]):
    def __init__(self, task: Task, settings: PluginSettings, device: torch.device) -> None: ...

    def factors(self, beliefs: Counterparts, embeddings: Embeddings) -> Tensor:
        return torch.zeros(len(beliefs.forward) - 1)


class Wide(Short):
    def factors(self, beliefs: Counterparts, embeddings: Embeddings) -> Tensor:
        return torch.zeros(len(beliefs.forward), 2)


class Several(Short):
    indicators: ClassVar[tuple[str, ...]] = ("one", "other")


class Lost(Short):
    def factors(self, beliefs: Counterparts, embeddings: Embeddings) -> Tensor:
        return torch.full_like(beliefs.forward, torch.nan)


class Forgetful(Short):
    def factors(self, beliefs: Counterparts, embeddings: Embeddings) -> Tensor:
        return None  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("rule", "what"),
    [
        (Short, r"a tensor of shape \[\d+\], expected a number for each of \d+ pairs$"),
        (Wide, r"a tensor of shape \[\d+, 2\], expected a number for each of \d+ pairs$"),
        (Several, r"a tensor of shape \[\d+\], expected a number for each of \d+ pairs and 2 indicators$"),
        (Lost, r"\d+ numbers that are not finite, expected a number for each of \d+ pairs$"),
        (Forgetful, r"NoneType, expected a tensor with a number for each of \d+ pairs$"),
    ],
)
def test_a_rule_that_breaks_its_contract_is_named(rule: type[Short], what: str) -> None:
    name = f"{rule.__module__}:{rule.__name__}"
    with pytest.raises(PluginError, match=f"rule '{name}' returned {what}"):
        Case(0, load(assignments=[f"em.rules=paris,{name}"]))
