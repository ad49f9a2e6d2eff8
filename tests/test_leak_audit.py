"""The audit lends the loop what it must not know, from outside, and takes it back."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest
import torch

import emea
from emea.data import Links, Task
from emea.rules.paris import PARIS, PARISSettings
from small_world import read_small_world

SCRIPT = Path(__file__).parents[1] / "scripts" / "leak_audit.py"


@pytest.fixture
def audit(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(SCRIPT.parent)
    return importlib.import_module("leak_audit")


@pytest.fixture(scope="module")
def known() -> tuple[Task, Links]:
    task, reference = read_small_world(50)
    return task, reference.open()


def test_nothing_in_the_package_knows_the_audit() -> None:
    for path in (SCRIPT.parents[1] / "src").rglob("*.py"):
        assert "leak_audit" not in path.read_text(encoding="utf-8"), path


def test_the_relation_table_is_that_of_the_truth_and_only_inside(audit: ModuleType, known: tuple[Task, Links]) -> None:
    task, truth = known
    rule = PARIS(task, PARISSettings(), torch.device("cpu"))
    honest = rule.subrelations(task.seeds)
    with audit.gold_relations(task, truth) as same:
        leaky = rule.subrelations(task.seeds)
        assert same is task
    assert float(leaky.seen.sum()) > 10 * float(honest.seen.sum())
    assert torch.equal(leaky.found, rule.subrelations(task.seeds + truth).found)
    assert torch.equal(rule.subrelations(task.seeds).found, honest.found)


def test_labels_are_for_test_sources_and_only_inside(audit: ModuleType, known: tuple[Task, Links]) -> None:
    task, truth = known
    small = {"propagation": {"dimension": 32, "paths": 32}}
    settings = emea.Settings(em={"rounds": 1}, encoders=small)
    honest = [set(ended.state.labels.source.tolist()) for ended in emea.rounds(task, settings)]
    with audit.test_sources_only(task, truth) as same:
        leaky = [set(ended.state.labels.source.tolist()) for ended in emea.rounds(same, settings)]
    tested = set(truth.source.tolist())
    assert honest[0] - tested
    assert leaky[0] == honest[0] & tested
    again = next(iter(emea.rounds(task, settings)))
    assert set(again.state.labels.source.tolist()) == honest[0]


def test_calibration_pairs_are_tested_ones(audit: ModuleType, known: tuple[Task, Links]) -> None:
    task, truth = known
    with audit.calibrated_on_test_pairs(task, truth) as leaky:
        assert torch.equal(leaky.validation.source, truth.source[:100])
        assert torch.equal(leaky.validation.target, truth.target[:100])
    assert not len(task.validation)
