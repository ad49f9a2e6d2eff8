"""What every plug-in must fulfil, run over every plug-in found."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
import torch
from torch import Tensor

from emea import plugins
from emea.contracts import (
    AlignmentWriter,
    Baseline,
    Encoder,
    Format,
    GraphReader,
    GraphServer,
    PairReader,
    Plugin,
    Progress,
    Rule,
    TaskReader,
    Turn,
    TwoSidedRule,
    unreported,
)
from emea.data import LITERAL_SCHEMA, Candidates, Counterparts, Embeddings, Graph, Links, Task
from emea.errors import SettingsError
from emea.evidence.prepared import Prepared, prepare
from emea.settings import EvidenceSettings, load

CPU = torch.device("cpu")
FITTED: dict[str, Embeddings] = {}
TURNED: dict[str, list[Turn]] = {}


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    """Two random graphs, the target a renamed copy of the source with a few more entities; all entities have values."""
    generator = torch.Generator().manual_seed(1)
    triples = torch.stack([torch.randint(30, (90,), generator=generator) for _ in range(3)], 1)
    triples[:, 1] %= 4
    renamed = torch.randperm(30, generator=generator)
    copy = torch.stack([renamed[triples[:, 0]], 3 - triples[:, 1], renamed[triples[:, 2]]], 1)
    extra = torch.tensor([[30, 0, 31], [31, 1, 32]])
    source = Graph.build(
        [f"s{i:02}" for i in range(30)],
        list("abcd"),
        triples,
        attributes=["code", "group"],
        literals=literals(list(range(30))),
    )
    target = Graph.build(
        [f"t{i:02}" for i in range(33)],
        list("wxyz"),
        torch.cat([copy, extra]),
        attributes=["class", "number"],
        literals=literals([*renamed.tolist(), 30, 31, 32], first=1),
    )
    given = Task(source, target, Links.build(torch.arange(8), renamed[:8]))
    return prepare(given, EvidenceSettings(kind="literals"))


def literals(entities: Sequence[int], first: int = 0) -> pa.Table:
    """Two values of each entity, by its place in the list: one of its own and one that six share. From place 30 on
    nobody else has the former. `first` is the attribute of the former."""
    rows = [(entity, first, f"code {place}", "", "") for place, entity in enumerate(entities)]
    rows += [(entity, 1 - first, f"group {place % 5}", "", "") for place, entity in enumerate(entities)]
    return pa.table([*zip(*rows, strict=True)], schema=LITERAL_SCHEMA)


@pytest.fixture(scope="module")
def task(prepared: Prepared) -> Task:
    """The graphs with their values, and seeds."""
    graphs = prepared.graphs
    for graph in (graphs.source, graphs.target):
        assert 0 < int((~graph.linkable).sum()) < len(graph.entities)
    return replace(graphs, seeds=prepared.given.seeds)


def beliefs(task: Task) -> Counterparts:
    """Random beliefs about all pairs."""
    sources, targets = len(task.source.entities), len(task.target.entities)
    key = torch.arange(sources * targets)
    generator = torch.Generator().manual_seed(2)
    logits = 5 * torch.rand(sources, targets, generator=generator, dtype=torch.float64)
    candidates = Candidates(
        key // targets,
        key % targets,
        torch.zeros(len(key)),
        sources,
        targets,
        torch.zeros(sources),
        torch.zeros(targets),
    )
    none = torch.zeros(sources, dtype=torch.float64), torch.zeros(targets, dtype=torch.float64)
    return Counterparts(candidates, logits.softmax(1).flatten(), logits.softmax(0).flatten(), *none)


def space(task: Task) -> Embeddings:
    """Random embeddings of all entities."""
    generator = torch.Generator().manual_seed(4)
    sides = [torch.randn(len(graph.entities), 8, generator=generator) for graph in (task.source, task.target)]
    return Embeddings(*(torch.nn.functional.normalize(side, dim=1) for side in sides))


@pytest.mark.parametrize("name", plugins.names("encoders"))
class TestEncoder:
    def build(self, name: str, task: Task) -> Encoder[Any]:
        plugin = plugins.find("encoders", name, Encoder)
        return plugin(task, plugin.Settings(**self.short(name)), CPU)

    def short(self, name: str) -> dict[str, Any]:
        """Settings of an encoder with which a fit takes no time."""
        known = plugins.find("encoders", name, Encoder).Settings.model_fields
        short = {"epochs": 30, "more_epochs": 10, "dimension": 32, "dimensions": (32, 32, 32), "least_pairs": 64}
        short |= {"hops": 2, "walks": 1, "negatives": 20, "learning_rate": 0.03} if name == "rsn" else {}
        if "members" in known:
            return {"settings": {member: self.short(member) for member in known["members"].default}}
        return {key: value for key, value in short.items() if key in known}

    def fitted(self, name: str, task: Task) -> Embeddings:
        if name not in FITTED:  # the tests of an encoder share a fit
            FITTED[name] = self.build(name, task).fit(task.seeds, torch.Generator().manual_seed(0), unreported)
        return FITTED[name]

    def test_embeds_every_entity_of_both_graphs_in_one_space(self, name: str, task: Task) -> None:
        embeddings = self.fitted(name, task)
        assert len(embeddings.source) == len(task.source.entities)
        assert len(embeddings.target) == len(task.target.entities)
        assert embeddings.source.shape[1] == embeddings.target.shape[1]

    def test_rows_are_finite_and_of_length_one_or_zero(self, name: str, task: Task) -> None:
        embeddings = self.fitted(name, task)
        for side in (embeddings.source, embeddings.target):
            length = side.norm(dim=1)
            assert torch.isfinite(side).all()
            assert (((length - 1).abs() < 1e-4) | (length == 0)).all()

    def test_same_seed_same_bytes_watched_or_not(self, name: str, task: Task) -> None:
        reports: list[Progress] = []
        first = self.fitted(name, task)
        second = self.build(name, task).fit(task.seeds, torch.Generator().manual_seed(0), reports.append)
        assert torch.equal(first.source, second.source)
        assert torch.equal(first.target, second.target)
        assert all(isinstance(each, Progress) and each.epoch <= each.epochs for each in reports)

    def test_seeds_end_nearer_than_other_pairs(self, name: str, task: Task) -> None:
        embeddings = self.fitted(name, task)
        cosine = embeddings.source @ embeddings.target.T
        assert cosine[task.seeds.source, task.seeds.target].mean() > cosine.mean() + 0.1


@pytest.mark.parametrize("name", plugins.names("rules"))
class TestRule:
    def build(self, name: str, task: Task) -> Rule[Any]:
        plugin = plugins.find("rules", name, Rule)
        return plugin(task, plugin.Settings(), CPU)

    def test_a_finite_number_per_pair_and_indicator(self, name: str, task: Task) -> None:
        believed, rule = beliefs(task), self.build(name, task)
        factors = rule.factors(believed, space(task))
        factors = factors[:, None] if factors.ndim == 1 else factors
        assert factors.shape == (len(believed.forward), len(rule.indicators))
        assert torch.isfinite(factors).all()

    def test_speaks_for_true_pairs_when_all_others_are_known(self, name: str, task: Task) -> None:
        believed, targets = beliefs(task), len(task.target.entities)
        certain = torch.zeros(len(task.source.entities), targets, dtype=torch.float64)
        certain[task.seeds.source, task.seeds.target] = 1.0
        known = Counterparts(
            believed.candidates, certain.flatten(), certain.flatten(), believed.source_none, believed.target_none
        )
        factors = self.build(name, task).factors(known, space(task)).reshape(*certain.shape, -1).sum(2)
        assert factors[task.seeds.source, task.seeds.target].mean() > factors.mean()

    def test_one_look_of_a_two_sided_rule_tells_what_two_would(self, name: str, task: Task) -> None:
        rule, believed, where = self.build(name, task), beliefs(task), space(task)
        if isinstance(rule, TwoSidedRule):
            ahead, back = rule.factors_both_ways(believed, where)
            torch.testing.assert_close(ahead, rule.factors(believed, where))
            turned = self.build(name, task.swap()).factors(believed.swap(), where.swap())
            torch.testing.assert_close(back, turned)
        else:
            assert not hasattr(rule, "factors_both_ways"), "the loop asks two-sided rules only"

    def test_asking_changes_nothing(self, name: str, task: Task) -> None:
        rule, believed = self.build(name, task), beliefs(task)
        before = believed.forward.clone()
        assert torch.equal(rule.factors(believed, space(task)), rule.factors(believed, space(task)))
        assert torch.equal(before, believed.forward)


def known_to_baselines(prepared: Prepared) -> Links:
    """Seeds and every second pair of values: nothing but `linkable` tells that the other values may not be linked."""
    return prepared.given.seeds + prepared.anchors.links[::2]


@pytest.mark.parametrize("name", plugins.names("baselines"))
class TestBaseline:
    def turns(self, name: str, prepared: Prepared, exclusions: Links | None = None) -> list[Turn]:
        plugin = plugins.find("baselines", name, Baseline)
        short = {"settings": {"epochs": 40, "more_epochs": 10}}  # of those that have an encoder
        settings = plugin.Settings(
            **{key: value for key, value in short.items() if key in plugin.Settings.model_fields}
        )
        known = known_to_baselines(prepared)
        graphs = replace(prepared.graphs, seeds=known, exclusions=exclusions or Links.empty())
        reports: list[Progress] = []
        turns = list(plugin(graphs, settings, CPU).turns(torch.Generator().manual_seed(5), reports.append))
        assert all(isinstance(each, Progress) for each in reports)
        return turns

    def turned(self, name: str, prepared: Prepared) -> list[Turn]:
        if name not in TURNED:  # the tests of a baseline share a run
            TURNED[name] = self.turns(name, prepared)
        return TURNED[name]

    def test_every_turn_tells_what_it_came_to(self, name: str, prepared: Prepared) -> None:
        turns = self.turned(name, prepared)
        assert turns
        assert all(isinstance(turn, Turn) for turn in turns)
        assert all(0 <= turn.changed <= 1 for turn in turns)
        assert len(turns[-1].labels) > 5

    def test_beliefs_are_finite_and_within_0_and_1(self, name: str, prepared: Prepared) -> None:
        sizes = len(prepared.graphs.source.entities), len(prepared.graphs.target.entities)
        for turn in self.turned(name, prepared):
            believed, pairs = turn.beliefs, turn.beliefs.candidates
            assert (pairs.sources, pairs.targets) == sizes
            assert len(believed.forward) == len(believed.backward) == len(pairs)
            assert (len(believed.source_none), len(believed.target_none)) == sizes
            masses = (believed.forward, believed.backward, believed.source_none, believed.target_none)
            for values in (*masses, turn.labels.weight):
                assert bool(torch.isfinite(values).all())
                assert bool(((values >= 0) & (values <= 1)).all())

    def test_labels_are_of_linkable_entities_and_never_of_seeds(self, name: str, prepared: Prepared) -> None:
        known, graphs = known_to_baselines(prepared), prepared.graphs
        for turn in self.turned(name, prepared):
            for pairs in (turn.labels, turn.beliefs.candidates):
                assert bool(graphs.source.linkable[pairs.source].all())
                assert bool(graphs.target.linkable[pairs.target].all())
                assert not bool(torch.isin(pairs.source, known.source).any())
                assert not bool(torch.isin(pairs.target, known.target).any())

    def test_same_seed_same_bytes(self, name: str, prepared: Prepared) -> None:
        first, second = self.turned(name, prepared), self.turns(name, prepared)
        assert len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            assert one.changed == other.changed
            for left, right in zip(columns(one), columns(other), strict=True):
                assert torch.equal(left, right)

    def test_exclusions_are_respected(self, name: str, prepared: Prepared) -> None:
        found = self.turned(name, prepared)[-1].labels
        wrong = found[::2]
        targets = len(prepared.graphs.target.entities)
        turns = self.turns(name, prepared, wrong)
        for turn in turns:
            for keys in (turn.labels.keys(targets), turn.beliefs.candidates.keys()):
                assert not bool(torch.isin(keys, wrong.keys(targets)).any())
        assert len(turns[-1].labels), "the others are still found"


def columns(turn: Turn) -> list[Tensor]:
    """All numbers of a turn."""
    believed, pairs = turn.beliefs, turn.beliefs.candidates
    masses = (believed.forward, believed.backward, believed.source_none, believed.target_none)
    return [*turn.labels.columns, pairs.source, pairs.target, pairs.cosine, *masses]


@pytest.mark.parametrize("name", plugins.names("formats"))
def test_format_says_what_it_is_and_does_something(name: str) -> None:
    plugin = plugins.find("formats", name, Format)
    assert plugin.description
    assert "\n" not in plugin.description
    assert issubclass(plugin, (GraphReader, GraphServer, PairReader, TaskReader, AlignmentWriter))
    assert isinstance(plugin(), Format)


@pytest.mark.parametrize("kind", ["encoders", "rules", "baselines"])
def test_plugin_settings_have_defaults_and_descriptions(kind: str) -> None:
    for name in plugins.names(kind):
        fields = plugins.find(kind, name, Plugin).Settings.model_fields
        assert all(field.description and not field.is_required() for field in fields.values()), name


def test_a_plugin_outside_the_package_is_found_by_dotted_path() -> None:
    found = plugins.find("rules", "emea.rules.paris:PARIS", Rule)
    assert found is plugins.find("rules", "paris", Rule)


def test_an_unknown_plugin_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(SettingsError, match="did you mean propagation"):
        load(assignments=["em.encoder=propagtion"])
    with pytest.raises(SettingsError, match="is not a valid rule"):
        plugins.find("rules", "emea.encoders.propagation:Propagation", Rule)
