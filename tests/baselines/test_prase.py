"""PRASE: what PARIS and an encoder tell each other, in numbers, and what comes of it."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import tomli_w
import torch
from torch import Tensor

import emea
from emea.baselines._settling import Settling
from emea.baselines.prase import PRASE, PRASESettings, nearest_to_each_other
from emea.contracts import Encoder, PluginSettings, Report, Turn, unreported
from emea.data import Embeddings, Graph, Links, Task
from emea.errors import SettingsError
from emea.evidence.prepared import Claims, ValuedGraph
from emea.method.rounds import Fitting, Step
from emea.runs.align import TurnStep
from emea.settings import load

CPU = torch.device("cpu")
FAST = [  # there are too few edges to tell what relations share
    "baselines.prase.encoder=propagation",
    "baselines.prase.settings={dimension=64, paths=128, shared=false}",
]
TINY = {"epochs": 5, "more_epochs": 2, "dimension": 8}

Pair = tuple[int, int]


def links(*pairs: tuple[int, int, float]) -> Links:
    source, target, weight = zip(*pairs, strict=True)
    return Links.build(torch.tensor(source), torch.tensor(target), torch.tensor(weight))


def belief(pairs: Links) -> dict[Pair, float]:
    keys = zip(pairs.source.tolist(), pairs.target.tolist(), strict=True)
    return dict(zip(keys, pairs.weight.tolist(), strict=True))


def beliefs(turn: Turn) -> dict[Pair, float]:
    pairs = turn.beliefs.candidates
    return belief(Links(pairs.source, pairs.target, turn.beliefs.forward))


def two_samples(seed: int, kept: float = 0.6, seeds: int = 5) -> tuple[Task, set[Pair]]:
    """Two samples of one random graph, the second under other names, and the true pairs that are no seeds."""
    draw, entities, relations = random.Random(seed), 60, 4
    triples = sorted(
        {(draw.randrange(entities), draw.randrange(relations), draw.randrange(entities)) for _ in range(240)}
    )
    other = draw.sample(range(entities), entities)
    one, two = ([row for row in triples if draw.random() < kept] for _ in range(2))
    names = [f"r{number}" for number in range(relations)]
    source = Graph.build([f"s{number:02}" for number in range(entities)], names, np.array(one))
    moved = [(other[head], relation, other[tail]) for head, relation, tail in two]
    target = Graph.build([f"t{number:02}" for number in range(entities)], names, np.array(moved))
    known = Links.build(torch.arange(seeds), torch.tensor(other[:seeds]))
    return Task(source, target, known), {(number, other[number]) for number in range(seeds, entities)}


def turn_of(step: Step) -> Turn:
    assert isinstance(step, TurnStep)
    return step.turn


def align(task: Task, *assignments: str) -> tuple[emea.Result, list[Turn]]:
    seen: list[Step] = []
    result = emea.align(task, load(assignments=assignments), seen.append)
    return result, [turn_of(step) for step in seen]


def linked(result: emea.Result) -> set[Pair]:
    return set(zip(result.alignment.source.tolist(), result.alignment.target.tolist(), strict=True))


# --- what PARIS makes of the encoder's opinion ---


def copies(seed: int, entities: int = 60, edges: int = 240, seeds: int = 2) -> tuple[Task, set[Pair]]:
    """A graph of one relation and its copy with other ids, and the pairs that are not given."""
    draw = np.random.default_rng(seed)
    triples = np.stack(
        [draw.integers(entities, size=edges), np.zeros(edges, int), draw.integers(entities, size=edges)], 1
    )
    other = draw.permutation(entities)
    names = [f"e{number:03}" for number in range(entities)]
    graphs = [
        Graph.build(names, ["r"], side)
        for side in (triples, np.stack([other[triples[:, 0]], triples[:, 1], other[triples[:, 2]]], 1))
    ]
    pairs = [(number, int(other[number])) for number in range(entities)]
    return Task(graphs[0], graphs[1], links(*((*pair, 1.0) for pair in pairs[:seeds]))), {*pairs[seeds:]}


def path(length: int) -> Graph:
    """0 → 1 → 2 → …"""
    names = [f"e{number}" for number in range(length)]
    return Graph.build(names, ["r"], torch.tensor([[number, 0, number + 1] for number in range(length - 1)]))


# r(1, 0) against s(1, 0) and s(2, 0), where 0 is known: Pr(1 ≡ 1') = Pr(1 ≡ 2') = 1 − (1 − 0.1·1)·(1 − 0.1·½)
FORK = Task(
    Graph.build(["a", "b"], ["r"], torch.tensor([[1, 0, 0]])),
    Graph.build(["x", "y", "z"], ["s"], torch.tensor([[1, 0, 0], [2, 0, 0]])),
    links((0, 0, 1.0)),
)
ALONE = 1 - 0.9 * 0.95
OPINION = Embeddings(
    torch.tensor([[1.0, 0.0], [0.6, 0.8]]), torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
)  # cosines of 1 with 1' and 2': 0.6 and 0.8


def test_opinion_is_a_fifth_of_a_probability() -> None:
    alone = next(Settling(FORK, 0.1, CPU).turns(1, 0.01))
    assert beliefs(alone) == pytest.approx({(1, 1): ALONE, (1, 2): ALONE}, abs=1e-9)
    assert belief(alone.labels) == pytest.approx({(1, 1): ALONE / 2, (1, 2): ALONE / 2}, abs=1e-9)
    heard = next(Settling(FORK, 0.1, CPU).turns(1, 0.01, OPINION))
    expected = {(1, 1): 0.8 * ALONE + 0.2 * 0.6, (1, 2): 0.8 * ALONE + 0.2 * 0.8}
    assert beliefs(heard) == pytest.approx(expected, abs=1e-7)
    assert belief(heard.labels) == pytest.approx({(1, 2): expected[1, 2]}, abs=1e-7)
    assert heard.beliefs.target_none.tolist() == pytest.approx([1, 1 - expected[1, 1], 1 - expected[1, 2]], abs=1e-7)


def test_opinion_does_not_depend_on_the_size_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    task, _ = two_samples(0)
    draw = torch.Generator().manual_seed(1)
    space = Embeddings(*(torch.nn.functional.normalize(torch.randn(60, 5, generator=draw), dim=1) for _ in range(2)))
    first = [beliefs(turn) for turn in Settling(task, 0.1, CPU).turns(3, 0.0, space)]
    monkeypatch.setattr("emea.kernels.messages.EMBEDDING_BLOCK", 7)
    second = [beliefs(turn) for turn in Settling(task, 0.1, CPU).turns(3, 0.0, space)]
    assert len(first[-1]) > 7
    for one, other in zip(first, second, strict=True):
        assert one == pytest.approx(other, abs=1e-7)


def test_of_what_it_hears_it_believes_nothing_about_known_entities() -> None:
    source, target = path(5), path(6)
    task = Task(source, target, links((0, 0, 1.0), (4, 1, 1.0)), exclusions=links((2, 2, 1.0)))
    settling = Settling(task, 0.1, CPU)
    proposed = links((0, 0, 0.9), (0, 5, 0.9), (1, 1, 0.9), (4, 4, 0.9), (2, 2, 0.9), (3, 3, 0.75), (2, 4, 0.5))
    settling.hear(proposed)
    assert belief(settling.found) == {(3, 3): 0.75, (2, 4): 0.5}
    assert settling.found.weight.dtype == torch.float64
    settling.hear(links((1, 2, 0.25)))
    assert belief(settling.found) == {(1, 2): 0.25}


def test_values_are_never_heard_of() -> None:
    graph = path(4)
    columns = (graph.entities, graph.relations, graph.triples, graph.attributes, graph.literals)
    wide = ValuedGraph(*columns, values=1, claims=Claims.none(4))
    settling = Settling(Task(wide, wide, links((0, 0, 1.0))), 0.1, CPU)
    settling.hear(links((1, 1, 1.0), (3, 3, 1.0), (2, 3, 1.0)))
    assert belief(settling.found) == {(1, 1): 1.0}


def test_what_it_hears_is_evidence() -> None:
    task = Task(path(6), path(6), links((0, 0, 1.0)))
    quiet, told = Settling(task, 0.1, CPU), Settling(task, 0.1, CPU)
    told.hear(links((1, 1, 0.9), (3, 3, 0.9)))
    assert set(beliefs(next(quiet.turns(1, 0.01)))) == {(1, 1)}
    assert {(1, 1), (2, 2), (4, 4)} <= set(beliefs(next(told.turns(1, 0.01))))


# --- what the encoder says ---


def circle(*degrees: float) -> Tensor:
    angles = torch.deg2rad(torch.tensor(degrees))
    return torch.stack([torch.cos(angles), torch.sin(angles)], 1)


def cosine(degrees: float) -> float:
    return float(np.cos(np.deg2rad(degrees)))


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ((0, 90), (10, 120), {(0, 0): cosine(10), (1, 1): cosine(30)}),
        ((0, 90), (50, 60), {(1, 1): cosine(30)}),  # 0 is not the nearest of its nearest
        ((0, 5, 90), (4, 100), {(1, 0): cosine(1), (2, 1): cosine(10)}),
        ((0, 90), (30, 30, 80), {(1, 2): cosine(10)}),  # 0 is as near to both
        ((0, 90, 90), (20, 70, 70), {(0, 0): cosine(20)}),
        ((0,), (180,), {(0, 0): 0.0}),  # a cosine below 0 is no probability
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_the_nearest_to_each_other(
    source: Sequence[float], target: Sequence[float], expected: dict[Pair, float], seed: int
) -> None:
    space = Embeddings(circle(*source), circle(*target))
    found = belief(nearest_to_each_other(space, torch.Generator().manual_seed(seed)))
    assert found == pytest.approx(expected, abs=1e-6)


class Recorder(Encoder[PluginSettings]):
    """Remembers what it was fitted to, and places each entity by its number: equal numbers are equal."""

    def __init__(self, task: Task, settings: PluginSettings, device: torch.device) -> None:
        self.fitted: list[Links] = []
        self.sizes = len(task.source.entities), len(task.target.entities)

    @classmethod
    def features(cls, settings: PluginSettings) -> int:
        return 64

    def fit(self, pairs: Links, generator: torch.Generator, report: Report = unreported) -> Embeddings:
        self.fitted.append(pairs)
        return Embeddings(*(torch.eye(size, 64) for size in self.sizes))


@pytest.mark.parametrize("theta", [0.1, 0.6])
def test_the_encoder_learns_from_likely_pairs_and_its_nearest_come_back(
    theta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, _ = two_samples(0)
    system = PRASE(task, PRASESettings(encoder="propagation", turns=2, theta=theta, rounds=3), CPU)
    system.encoder = recorder = Recorder(task, PluginSettings(), CPU)
    heard: list[Links] = []
    monkeypatch.setattr(system.settling, "hear", heard.append)
    turns = list(system.turns(torch.Generator().manual_seed(0)))
    assert len(turns) == 9
    seeds = set(belief(task.seeds))
    for number, pairs in enumerate(recorder.fitted):
        labels = belief(turns[3 * number + 2].labels)
        likely = {pair for pair, weight in labels.items() if weight >= theta}
        assert len(pairs) == len(seeds) + len(likely) > len(seeds)
        assert set(belief(pairs)) == seeds | likely
        assert set(pairs.weight.tolist()) == {1.0}
    assert len(heard) == 2
    for pairs in heard:
        assert belief(pairs) == {(number, number): 1.0 for number in range(60)}


# --- all of it ---


@pytest.mark.parametrize("seed", [7, 9])
def test_it_finds_what_paris_alone_does_not(seed: int) -> None:
    task, truth = two_samples(seed, kept=0.55)
    alone, joint = (linked(align(task, f"method={name}", *FAST)[0]) for name in ("paris", "prase"))
    assert len(joint & truth) >= len(alone & truth) + 10
    assert len(joint & truth) >= 0.8 * len(joint)


@pytest.mark.parametrize("seed", [1, 3, 4])
def test_it_harms_nothing_where_paris_does_well(seed: int) -> None:
    task, truth = two_samples(seed, kept=0.9)
    alone, joint = (linked(align(task, f"method={name}", *FAST)[0]) for name in ("paris", "prase"))
    assert len(alone & truth) > 45
    assert len(joint & truth) >= len(alone & truth)


def test_without_turns_it_is_paris() -> None:
    task, _ = two_samples(1)
    alone, turns = align(task, "method=paris")
    same, others = align(task, "method=prase", "baselines.prase.turns=0", *FAST)
    assert len(turns) == len(others) > 3
    for one, other in zip(turns, others, strict=True):
        assert belief(one.labels) == belief(other.labels)
        assert torch.equal(one.beliefs.forward, other.beliefs.forward)
        assert one.changed == other.changed
    for name in ("source", "target", "confidence", "similarity"):
        assert torch.equal(getattr(alone.alignment, name), getattr(same.alignment, name))
    assert len(alone.alignment) > 30


def test_settings_of_paris_are_its_own() -> None:
    task, _ = two_samples(1)
    _, turns = align(task, "method=prase", "baselines.prase.rounds=2", "baselines.prase.turns=1", *FAST)
    assert len(turns) == 4
    _, all_turns = align(task, "method=prase", "baselines.prase.turns=1", *FAST)
    starts = [number for number, turn in enumerate(all_turns) if turn.changed == 1.0]
    assert len(starts) == 2  # PARIS, and PARIS after the encoder
    assert all_turns[starts[1] - 1].changed <= 0.01
    assert all_turns[-1].changed <= 0.01


def test_the_same_links_twice() -> None:
    task, _ = two_samples(0)
    (first, _), (second, _) = (align(task, "method=prase", *FAST) for _ in range(2))
    for name in ("source", "target", "confidence"):
        assert torch.equal(getattr(first.alignment, name), getattr(second.alignment, name))


def test_what_is_known_or_excluded_is_not_found() -> None:
    task, truth = two_samples(1)
    found = linked(align(task, "method=prase", *FAST)[0])
    wrong = sorted(found & truth)[::4]
    assert len(wrong) > 5
    excluded = Task(task.source, task.target, task.seeds, exclusions=links(*((s, t, 1.0) for s, t in wrong)))
    result, turns = align(excluded, "method=prase", *FAST)
    for turn in turns:
        assert not set(wrong) & {*beliefs(turn), *belief(turn.labels)}
        assert not {s for s, _ in beliefs(turn)} & set(task.seeds.source.tolist())
        assert not {t for _, t in beliefs(turn)} & set(task.seeds.target.tolist())
    assert len(linked(result) & truth) > 15


def test_a_trained_encoder_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emea.encoders._training.REPORT", 0.0)
    task, _ = two_samples(1)
    own = [f"baselines.prase.settings.{name}={value}" for name, value in TINY.items()]
    seen: list[Step] = []
    told: list[tuple[int, Fitting]] = []
    result = emea.align(
        task,
        load(assignments=["method=prase", "baselines.prase.rounds=2", *own]),
        seen.append,
        watch=lambda fitting: told.append((len(seen), fitting)),
    )
    progress = [fitting.progress for _, fitting in told]
    assert [(now.epoch, now.epochs) for now in progress] == [(n, 5) for n in range(1, 6)] + [(1, 2), (2, 2)]
    assert [fitting.round for _, fitting in told] == [2] * 5 + [4] * 2
    assert all(fitting.round == turns for turns, fitting in told)
    assert all(fitting.state is None for _, fitting in told)
    assert {now.pairs for now in progress[:5]} == {5 + int((turn_of(seen[1]).labels.weight >= 0.1).sum())}
    assert len(seen) == 6
    assert len(result.alignment) > 5


# --- settings ---


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("encoder=rea", "unknown encoder 'rea'; .*did you mean rrea"),
        ("settings.epoch=3", r"unknown setting baselines\.prase\.settings\.epoch; .*did you mean epochs"),
        ("settings.epochs=0", r"setting baselines\.prase\.settings\.epochs: found 0"),
        ("turn=1", r"unknown setting baselines\.prase\.turn; .*did you mean turns"),
        ("turns=-1", r"setting baselines\.prase\.turns: found -1"),
        ("theta=1", r"setting baselines\.prase\.theta: found 1"),
    ],
)
@pytest.mark.parametrize("method", ["emea", "prase"])
def test_bad_settings_are_named(assignment: str, message: str, method: str) -> None:
    with pytest.raises(SettingsError, match=message):
        load(assignments=[f"method={method}", f"baselines.prase.{assignment}"])


def test_settings_of_one_encoder_are_not_those_of_another() -> None:
    chosen: dict[str, Any] = {"encoder": "propagation", "settings": {"paths": 8}}
    assert load(method="prase", baselines={"prase": chosen}).resolved()["baselines"]["prase"]["settings"]["paths"] == 8
    with pytest.raises(SettingsError, match=r"baselines\.prase\.settings\.paths"):
        load(method="prase", baselines={"prase": {**chosen, "encoder": "rrea"}})


def test_settings_are_read_back_from_a_file(tmp_path: Any) -> None:
    chosen = load(assignments=["method=prase", "baselines.prase.turns=1", "seed=3", *FAST])
    config = tmp_path / "settings.toml"
    config.write_text(tomli_w.dumps(chosen.resolved()))
    again = load(config=config)
    assert again.resolved() == chosen.resolved()
    first, second = (settings.plugin_settings("baselines", "prase") for settings in (again, chosen))
    assert isinstance(first, PRASESettings)
    assert isinstance(second, PRASESettings)
    assert first.own() == second.own()
    assert again.method == "prase"


@pytest.mark.parametrize("seed", [2, 5, 6])
def test_the_encoder_frees_a_paris_that_never_left_its_seeds(seed: int) -> None:
    task, truth = copies(seed)
    alone = linked(align(task, "method=paris")[0])
    found = linked(align(task, "method=prase", *FAST)[0])
    assert not alone
    assert len(found & truth) > 50
