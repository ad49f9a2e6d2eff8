"""Seeds that are hidden from an encoder stay hidden as long as it remembers and calibrate confidence; the rules have
their last say."""

from dataclasses import replace
from functools import cache
from typing import ClassVar

import pytest
import torch

import emea
from emea.contracts import Encoder, PluginSettings, Report, unreported
from emea.data import Candidates, Counterparts, Embeddings, Graph, Links, Task
from emea.encoders.committee import Committee
from emea.encoders.propagation import Propagation
from emea.evidence.prepared import Prepared, prepare
from emea.examples import read_example
from emea.method import em
from emea.method.compatibility import combine
from emea.method.competition import ONE_TO_ONE
from emea.method.folds import Folds
from emea.method.labelling import has_settled, pseudo_labels
from emea.method.rounds import Round, self_taught
from emea.settings import load

FOLDS = 5
SMALL = ["encoders.propagation.dimension=32", "encoders.propagation.paths=32", "similarity.candidates=10"]
TO_THE_END = ["em.settled=0", "em.growth=0"]  # labels may settle before


class Watched(Encoder[PluginSettings]):
    """Propagation that keeps what it was shown, and remembers it or not."""

    shown: ClassVar[list[Links]] = []
    since: ClassVar[int] = 0  # fits after which it remembers

    @classmethod
    def features(cls, settings: PluginSettings) -> int:
        return 8

    def __init__(self, task: Task, settings: PluginSettings, device: torch.device) -> None:
        self.inner = Propagation(task, Propagation.Settings(dimension=32, paths=32), device)

    def fit(self, pairs: Links, generator: torch.Generator, report: Report = unreported) -> Embeddings:
        self.shown.append(pairs)
        return self.inner.fit(pairs, generator, report)

    def state(self) -> dict[str, torch.Tensor]:
        return {"fits": torch.tensor(len(self.shown))} if len(self.shown) >= self.since else {}

    def restore(self, state: dict[str, torch.Tensor]) -> None:
        pass


@cache
def small() -> Task:
    """A random graph, a copy of most of it, and fifty seeds."""
    draw = torch.Generator().manual_seed(0)
    triples = torch.stack([torch.randint(high, (900,), generator=draw) for high in (200, 6, 200)], 1)
    graphs = [
        Graph.build([f"{side}{number:03}" for number in range(200)], list("pqrstu"), part)
        for side, part in (("a", triples), ("b", triples[:800]))
    ]
    return Task(*graphs, Links.build(torch.arange(50), torch.arange(50)), benchmark=True)


def hidden_seeds(monkeypatch: pytest.MonkeyPatch, rounds: int, since: int, *more: str) -> list[set[int]]:
    """Which seeds each round was not shown."""
    task = small()
    monkeypatch.setattr(Watched, "shown", [])
    monkeypatch.setattr(Watched, "since", since)
    encoder = f"em.encoder={Watched.__module__}:Watched"
    settings = load(assignments=[*SMALL, encoder, f"em.rounds={rounds}", f"probability.folds={FOLDS}", *more])
    for _ in emea.rounds(task, settings):
        pass
    seeds = set(task.seeds.source.tolist())
    return [seeds - set(pairs.source.tolist()) for pairs in Watched.shown]


def test_an_encoder_that_forgets_is_shown_another_fold_each_round(monkeypatch: pytest.MonkeyPatch) -> None:
    *hidden, last = hidden_seeds(monkeypatch, 3, 99, *TO_THE_END)
    assert len(hidden) == 3
    assert all(len(fold) == 10 for fold in hidden)
    assert not (hidden[0] & hidden[1] | hidden[1] & hidden[2] | hidden[0] & hidden[2])
    assert not last, "the last round is shown all"


def test_from_one_that_remembers_the_same_stay_hidden_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    *hidden, last = hidden_seeds(monkeypatch, 4, 2, *TO_THE_END)
    assert not hidden[0] & hidden[1], "it has forgotten the first round"
    assert hidden[1] == hidden[2] == hidden[3]
    assert not last


@pytest.mark.parametrize("since", [1, 99])
def test_a_loop_that_has_settled_closes_with_all_seeds(monkeypatch: pytest.MonkeyPatch, since: int) -> None:
    hidden = hidden_seeds(monkeypatch, 9, since, "em.settled=1.0")
    assert 2 <= len(hidden) < 10, "it ends early"
    assert [len(fold) for fold in hidden] == [10] * (len(hidden) - 1) + [0]


@pytest.mark.parametrize(
    ("before", "after", "growth", "ends"),
    [
        (1000, 1004, 0.005, True),
        (1000, 1006, 0.005, False),
        (1000, 1005, 0.005, False),
        (1, 2, 0.005, False),
        (1000, 900, 0.005, True),
        (1000, 1000, 0.0, False),
        (0, 0, 0.005, True),
        (0, 0, 0.0, False),
        (0, 3, 0.005, False),
    ],
)
def test_the_loop_ends_once_labels_hardly_grow(before: int, after: int, growth: float, ends: bool) -> None:
    task = read_example("world")[0]
    old, new = (Links.build(torch.arange(count), torch.arange(count) % 7) for count in (before, after))
    settings = load(assignments=[f"em.growth={growth}"]).em
    assert has_settled(old, new, task, settings, judged=False) is ends
    if after:
        assert not has_settled(Links.empty(), new, task, settings, judged=False), "at first all labels are new"


def test_rounds_end_where_nothing_is_found() -> None:
    loops = torch.tensor([[number, 0, number] for number in range(60)])
    graphs = [Graph.build([f"{side}{number}" for number in range(60)], ["same"], loops) for side in "ab"]
    seeds = Links.build(torch.arange(20), torch.arange(20))
    result = emea.align(Task(*graphs, seeds), load(assignments=SMALL))
    assert len(result.alignment) == 0
    assert result.last is not None
    assert result.last.number == 2, "two rounds without a label, and one that shows all seeds"


def test_no_link_of_a_seeds_entity_is_found_where_the_loop_ends_early() -> None:
    task = small()
    result = emea.align(task, load(assignments=[*SMALL, "em.settled=1.0"]))
    assert result.last is not None
    assert result.last.number < 6
    assert len(result.alignment) > 50
    assert not torch.isin(result.alignment.source, task.seeds.source).any()
    assert not torch.isin(result.alignment.target, task.seeds.target).any()


def test_hidden_seeds_are_never_pseudo_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = hidden_seeds(monkeypatch, 4, 1, *TO_THE_END)
    for fold, pairs in zip(hidden, Watched.shown, strict=True):
        assert not fold & set(pairs.source.tolist())


def test_each_known_mistake_is_tried_in_one_fold_and_none_where_nothing_is_hidden() -> None:
    seeds, mistakes = (Links.build(torch.arange(count), torch.arange(count)) for count in (40, 7))
    folds = Folds.cut(seeds, load().probability.model_copy(update={"folds": 3}), torch.Generator().manual_seed(0))
    tried = [folds.tried(mistakes, fold).source.tolist() for fold in range(3)]
    assert sorted(each for fold in tried for each in fold) == [*range(7)]
    assert {*map(len, tried)} == {2, 3}
    for each in (folds, Folds(seeds, ())):
        assert len(each.tried(mistakes, each.nothing)) == 0


@pytest.fixture(scope="module")
def first_round() -> tuple[Round, Prepared]:
    settings = load(assignments=[*SMALL, "em.rounds=0"])
    prepared = prepare(read_example("world")[0], settings.evidence)
    (only,) = em.rounds(prepared, settings)
    return only, prepared


@pytest.mark.parametrize(
    ("last", "folds", "tried", "counts"),
    [
        (0, 10, 0, False),
        (3, 10, 0, False),  # that round has learned from the seeds alone
        (3, 10, 1, True),
        (3, 10, 2, True),
        (4, 2, 0, False),
        (4, 2, 1, False),  # too long ago: each fold has been hidden since
        (4, 2, 2, True),
        (4, 2, 3, True),
    ],
)
def test_confidence_is_calibrated_on_the_seeds_hidden_in_recent_rounds_but_the_first(
    last: int, folds: int, tried: int, counts: bool, first_round: tuple[Round, Prepared]
) -> None:
    """Forty links found for hidden seeds were wrong, for all their confidence: which rounds' trials tell."""
    only, prepared = first_round
    settings = load(assignments=[f"probability.folds={folds}", "matching.minimum=0"])

    def confidence(trials: torch.Tensor) -> torch.Tensor:
        ended = replace(only, number=last, state=replace(only.state, trials=trials))
        return em.conclude(ended, prepared, settings).alignment.confidence

    wrong = torch.tensor([[tried, 0.9, 0.0]], dtype=torch.float64).expand(40, 3)
    before, after = confidence(wrong[:0]), confidence(wrong)
    assert len(before) > 300
    assert torch.equal(before, after) != counts
    if counts:
        assert bool((after < before - 0.1)[before > 0.5].all())


def test_only_labels_found_by_rounds_that_knew_the_seeds_make_the_last_less_sure(
    first_round: tuple[Round, Prepared],
) -> None:
    only, prepared = first_round
    labels = Links.build(torch.arange(3 * len(prepared.known)), torch.arange(3 * len(prepared.known)))
    later = replace(only, number=2, state=replace(only.state, labels=labels))
    assert self_taught(later, prepared, load()) == 0.75
    assert self_taught(replace(later, number=0), prepared, load()) == 0.0
    for setting in ("probability.discount=false", "probability.fit_to=known", "probability.fit_to=validation"):
        assert self_taught(later, prepared, load(assignments=[setting])) == 0.0


def test_a_committee_remembers_once_somebody_does() -> None:
    task = read_example("world")[0]
    own = {"rrea": {"epochs": 1, "more_epochs": 1, "dimension": 4}}
    settings = Committee.Settings(members=("propagation", "rrea"), settings=own)
    committee, generator = Committee(task, settings, torch.device("cpu")), torch.Generator().manual_seed(0)
    remembered = [committee.remembers]
    committee.fit(task.seeds, generator)
    remembered.append(committee.remembers)
    assert remembered == [False, True]


def beliefs(forward: list[float], none: float) -> Counterparts:
    """One source with a candidate for each probability."""
    size = len(forward)
    pairs = Candidates(
        torch.zeros(size, dtype=torch.int64),
        torch.arange(size),
        torch.ones(size),
        1,
        size,
        torch.zeros(1),
        torch.zeros(size),
    )
    values = torch.tensor(forward, dtype=torch.float64)
    return Counterparts(
        pairs, values, torch.ones(size).double(), torch.tensor([none]).double(), torch.zeros(size).double()
    )


@pytest.mark.parametrize("say", [0.0, 0.2, 1.0])
def test_what_both_support_by_hand(say: float) -> None:
    proposal, support, none = [0.6, 0.3], [0.2, 0.7], 0.1
    both = [p * s**say for p, s in zip(proposal, support, strict=True)]
    expected = [b / sum(both) * s / (s + none) for b, s in zip(both, support, strict=True)]
    found = combine(beliefs(proposal, 0.1), beliefs(support, none), say)
    assert found.forward.tolist() == pytest.approx(expected)
    assert float(found.source_none) == pytest.approx(1 - sum(expected))


def test_without_a_say_the_encoder_decides_between_compatible_pairs() -> None:
    proposal, support = beliefs([0.6, 0.3], 0.1), beliefs([0.2, 0.7], 1e-6)
    assert combine(proposal, support, 0.0).forward.argmax() == 0
    assert combine(proposal, support).forward.argmax() == 1


@pytest.mark.parametrize(("minimum", "labelled"), [(0.4, [0, 1]), (0.5, [1])])
def test_the_best_of_every_source_is_a_label_if_it_is_confident_enough(minimum: float, labelled: list[int]) -> None:
    source, target = torch.arange(2), torch.zeros(2, dtype=torch.int64)  # both have the same best target
    pairs = Candidates(source, target, torch.ones(2), 3, 1, torch.zeros(3), torch.zeros(1))
    own, none = torch.tensor([0.4, 0.5], dtype=torch.float64), torch.zeros(3, dtype=torch.float64)
    joint = Counterparts(pairs, own, own, none, none[:1])
    settings = load(assignments=["em.labels=one-sided", f"em.minimum={minimum}"]).em
    found = pseudo_labels(joint, joint, joint, settings, competition=ONE_TO_ONE, draw=torch.Generator())
    assert (found.source.tolist(), found.target.tolist()) == (labelled, [0] * len(labelled))
