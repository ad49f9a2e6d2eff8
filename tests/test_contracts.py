"""What every plug-in must fulfil, run over every plug-in found."""

from dataclasses import replace

import pytest
import torch

from emea import plugins
from emea.contracts import AlignmentWriter, Encoder, Format, GraphReader, PairReader, Rule, TaskReader
from emea.data import Candidates, Claims, Counterparts, Embeddings, Graph, Links, Task
from emea.errors import SettingsError
from emea.settings import load

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def task() -> Task:
    """Two random graphs, the target a renamed copy of the source with a few more entities."""
    generator = torch.Generator().manual_seed(1)
    triples = torch.stack([torch.randint(30, (90,), generator=generator) for _ in range(3)], 1)
    triples[:, 1] %= 4
    renamed = torch.randperm(30, generator=generator)
    copy = torch.stack([renamed[triples[:, 0]], 3 - triples[:, 1], renamed[triples[:, 2]]], 1)
    extra = torch.tensor([[30, 0, 31], [31, 1, 32]])
    source = Graph.build([f"s{i:02}" for i in range(30)], list("abcd"), triples)
    target = Graph.build([f"t{i:02}" for i in range(33)], list("wxyz"), torch.cat([copy, extra]))
    own = claims(torch.arange(30), 30), claims(torch.cat([renamed, torch.arange(30, 33)]), 33)
    source, target = (replace(graph, claims=each) for graph, each in zip((source, target), own, strict=True))
    return Task(source, target, Links.build(torch.arange(8), renamed[:8]), Links.empty())


def claims(entity: torch.Tensor, entities: int) -> Claims:
    """Two values of each entity, by the place that it is named at; from 30 on nobody else has them."""
    value = torch.cat([torch.arange(len(entity)), 30 + torch.arange(len(entity))])
    value[torch.cat([torch.arange(len(entity)) >= 30] * 2)] = -1
    attribute = torch.arange(2).repeat_interleave(len(entity))
    return Claims(entity.repeat(2), attribute, value, torch.ones(len(value)).double(), entities, 2, 60)


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
    def build(self, name: str, task: Task) -> Encoder:
        plugin = plugins.find("encoders", name, Encoder)
        short = {"epochs": 40, "more_epochs": 10}  # of those that train
        settings = plugin.Settings(
            **{key: value for key, value in short.items() if key in plugin.Settings.model_fields}
        )
        return plugin(task, settings, CPU)

    def test_embeds_every_entity_of_both_graphs_in_one_space(self, name: str, task: Task) -> None:
        embeddings = self.build(name, task).fit(task.seeds, torch.Generator().manual_seed(0))
        assert len(embeddings.source) == len(task.source.entities)
        assert len(embeddings.target) == len(task.target.entities)
        assert embeddings.source.shape[1] == embeddings.target.shape[1]

    def test_rows_are_finite_and_of_length_one_or_zero(self, name: str, task: Task) -> None:
        embeddings = self.build(name, task).fit(task.seeds, torch.Generator().manual_seed(0))
        for side in (embeddings.source, embeddings.target):
            length = side.norm(dim=1)
            assert torch.isfinite(side).all()
            assert (((length - 1).abs() < 1e-4) | (length == 0)).all()

    def test_same_seed_same_bytes(self, name: str, task: Task) -> None:
        first, second = (self.build(name, task).fit(task.seeds, torch.Generator().manual_seed(3)) for _ in range(2))
        assert torch.equal(first.source, second.source)
        assert torch.equal(first.target, second.target)

    def test_seeds_end_nearer_than_other_pairs(self, name: str, task: Task) -> None:
        embeddings = self.build(name, task).fit(task.seeds, torch.Generator().manual_seed(0))
        cosine = embeddings.source @ embeddings.target.T
        assert cosine[task.seeds.source, task.seeds.target].mean() > cosine.mean() + 0.1


@pytest.mark.parametrize("name", plugins.names("rules"))
class TestRule:
    def build(self, name: str, task: Task) -> Rule:
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

    def test_one_look_of_a_twofold_rule_tells_what_two_would(self, name: str, task: Task) -> None:
        rule, believed, where = self.build(name, task), beliefs(task), space(task)
        if rule.twofold:
            ahead, back = rule.factors_both_ways(believed, where)
            torch.testing.assert_close(ahead, rule.factors(believed, where))
            turned = self.build(name, task.swap()).factors(believed.swap(), where.swap())
            torch.testing.assert_close(back, turned)
        else:
            with pytest.raises(NotImplementedError):
                rule.factors_both_ways(believed, where)

    def test_asking_changes_nothing(self, name: str, task: Task) -> None:
        rule, believed = self.build(name, task), beliefs(task)
        before = believed.forward.clone()
        assert torch.equal(rule.factors(believed, space(task)), rule.factors(believed, space(task)))
        assert torch.equal(before, believed.forward)


@pytest.mark.parametrize("name", plugins.names("formats"))
def test_format_says_what_it_is_and_does_something(name: str) -> None:
    plugin = plugins.find("formats", name, Format)
    assert plugin.description
    assert "\n" not in plugin.description
    assert issubclass(plugin, (GraphReader, PairReader, TaskReader, AlignmentWriter))
    assert isinstance(plugin(), Format)


@pytest.mark.parametrize("kind", ["encoders", "rules"])
def test_plugin_settings_have_defaults_and_descriptions(kind: str) -> None:
    contract = {"encoders": Encoder, "rules": Rule}[kind]
    for name in plugins.names(kind):
        fields = plugins.find(kind, name, contract).Settings.model_fields
        assert all(field.description and not field.is_required() for field in fields.values()), name


def test_a_plugin_outside_the_package_is_found_by_dotted_path() -> None:
    found = plugins.find("rules", "emea.rules.paris:PARIS", Rule)
    assert found is plugins.find("rules", "paris", Rule)


def test_an_unknown_plugin_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(SettingsError, match="did you mean propagation"):
        load(assignments=["em.encoder=propagtion"])
    with pytest.raises(SettingsError, match="is no rule"):
        plugins.find("rules", "emea.encoders.propagation:Propagation", Rule)
