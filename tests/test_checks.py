"""What is refused or warned of before a run, and what it will take."""

import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import tomli_w
import torch

from emea.candidates.search import rows_at_a_time
from emea.cli._sizes import size_of
from emea.data import Graph, Links, Task
from emea.errors import InputError, NotEnoughMemoryError, SettingsError
from emea.evidence.prepared import prepare
from emea.examples import read_example
from emea.kernels.devices import SMALL, free_memory, threads_that_pay
from emea.runs.checks import check, reachable
from emea.runs.estimate import JUDGE_SECONDS, JUDGED_ROUNDS, Estimate, estimate, fitted
from emea.settings import load
from test_values import people


def graph(size: int, triples: list[list[int]]) -> Graph:
    return Graph.build([f"e{i}" for i in range(size)], ["r"], torch.tensor(triples, dtype=torch.int64).reshape(-1, 3))


CHAIN = graph(4, [[0, 0, 1], [1, 0, 2], [2, 0, 3]])


def seeded(source: Graph, target: Graph, *pairs: tuple[int, int]) -> Task:
    links = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)
    return Task(source, target, Links.build(links[:, 0], links[:, 1]))


def test_a_sound_task_passes_without_a_word() -> None:
    assert check(seeded(CHAIN, CHAIN, (0, 0))) == []


@pytest.mark.parametrize(
    ("preset", "assignments", "idle"),
    [
        ("fast", ["encoders.rrea.epochs=3"], ["'rrea' have no effect: 'propagation' is in use"]),
        ("fast", ["method=prase", "encoders.rrea.epochs=3"], ["'rrea' have no effect: 'prase' is in use"]),
        ("best", ["encoders.rrea.epochs=3"], ["'rrea' have no effect: 'committee' and 'propagation' are in use"]),
        ("best", ["em.encoder=propagation"], []),  # the preset's own
        ("paper", ["encoders.rrea.epochs=3", "probability.fit_to=seeds"], []),
        ("fast", ["rules.disagreement.minimum=.1"], ["the rule 'disagreement' have no effect: 'paris' is in use"]),
        ("fast", ["rules.paris.minimum=.4", "em.rules="], ["the rule 'paris' have no effect: no rule is in use"]),
        (
            "fast",
            ["rules.paris.minimum=.4", "em.rules=disagreement,avoid_conflict"],
            ["'disagreement' and 'avoid_conflict' are in use"],
        ),
        ("fast", ["method=prase", "rules.paris.minimum=.4"], ["the rule 'paris' have no effect: 'prase' is in use"]),
        ("fast", ["baselines.prase.turns=3"], ["the baseline 'prase' have no effect: 'emea' is in use"]),
        ("paper", ["em.rules=avoid_conflict", "probability.fit_to=seeds"], []),  # the preset's own
        ("fast", ["rules.paris.minimum=.4"], []),
    ],
)
def test_settings_of_a_plug_in_that_is_not_at_work_are_told(
    preset: str, assignments: list[str], idle: list[str]
) -> None:
    warnings = check(seeded(CHAIN, CHAIN, (0, 0)), load(preset, assignments=assignments))
    assert len(warnings) == len(idle)
    assert all(part in told for part, told in zip(idle, warnings, strict=True))


@pytest.mark.parametrize(("depth", "told"), [(2, 0), (3, 1)])
def test_settings_of_a_run_say_nothing_of_an_encoder_where_they_are_the_usual_ones(
    depth: int, told: int, tmp_path: Path
) -> None:
    before = load(assignments=[f"encoders.propagation.depth={depth}"])
    (tmp_path / "settings.toml").write_text(tomli_w.dumps(before.resolved()))
    other = load(config=tmp_path / "settings.toml", em={"encoder": "rrea"})
    warnings = check(seeded(CHAIN, CHAIN, (0, 0)), other)
    assert len([each for each in warnings if "'propagation' have no effect" in each]) == told


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (seeded(graph(3, []), CHAIN, (0, 0)), "the source graph has no relation between entities"),
        (seeded(CHAIN, graph(3, []), (0, 0)), "the target graph has no relation between entities"),
        (seeded(CHAIN, CHAIN), "there are no known pairs"),
        (seeded(graph(5, [[0, 0, 1]]), CHAIN, (4, 0)), "no seed's source occurs in any triple"),
    ],
)
def test_what_cannot_work_is_refused(task: Task, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check(task)


def test_seeds_without_triples_are_of_use_where_values_count() -> None:
    task = read_example("world")[0]
    names_only = [replace(each, triples=each.triples[:0]) for each in (task.source, task.target)]
    known = replace(task, source=names_only[0], target=names_only[1])
    with pytest.raises(InputError, match="the source graph has 12,351 literals and no relation"):
        check(known)
    assert check(known, load(assignments=["evidence.kind=all"])) == []


def test_a_graph_without_values_beside_one_with_is_doubtful() -> None:
    task = read_example("world")[0]
    bare = replace(task, target=replace(task.target, literals=task.target.literals[:0]))
    (warning,) = check(bare, load(assignments=["evidence.kind=all"]))
    assert warning.startswith("the target graph has no values")
    assert check(bare) == check(task) == []


def test_the_estimate_counts_values() -> None:
    task, _ = people(60, random.Random(0))
    alone, settings = load(), load(assignments=["evidence.kind=all"])
    graphs = prepare(task, settings.evidence)
    structure, everything = estimate(prepare(task, alone.evidence), alone), estimate(graphs, settings)
    assert structure.width == len(task.target.entities)
    assert everything.width == len(graphs.graphs.target.entities) > structure.width
    assert everything.pairs > 1.5 * structure.pairs
    assert everything.memory > structure.memory


def test_values_are_not_searched_for_and_the_judge_takes_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emea.runs.estimate.matrix_rate", lambda *_: 1e7)
    task, _ = people(60, random.Random(0))
    once, values = ["em.rounds=1", "em.growth=0"], "evidence.kind=all"
    needed = {}
    for name, assignments in {
        "structure": once,
        "loop": [*once, values, "matching.judge=false"],
        "all": [values],
    }.items():
        chosen = load(assignments=assignments)
        needed[name] = estimate(prepare(task, chosen.evidence), chosen).seconds
    assert needed["loop"] == pytest.approx(needed["structure"])
    always, each = JUDGE_SECONDS
    judging = always + each * (len(task.source.entities) + len(task.target.entities))
    assert needed["all"] == pytest.approx((1 + JUDGED_ROUNDS) * needed["loop"] / 2 + judging)


def test_what_is_doubtful_is_named_with_its_consequence() -> None:
    lonely = graph(9, [[0, 0, 1], [0, 0, 1], [2, 0, 3], [4, 0, 5], [6, 0, 7]])
    warnings = check(seeded(lonely, CHAIN, (0, 0), (8, 1)))
    assert [warning.split(";")[0] for warning in warnings] == [
        "the source graph has 1 duplicate triples",
        "1 of 2 seeds have a source in no triple",
        "67% of the source graph's entities have no path to a seed",
    ]


def test_a_preset_without_its_validation_pairs_is_told_so() -> None:
    task = read_example("world")[0]
    said = " ".join(check(task, load("paper")))
    assert "no validation pairs to fit probabilities to; a sharpness of 35 is assumed" in said
    assert "validation" not in " ".join(check(task, load("paper", assignments=["probability.sharpness=20"])))
    assert "validation" not in " ".join(check(task, load("fast")))


def test_reachable_counts_both_directions_of_a_triple() -> None:
    assert reachable(CHAIN, torch.tensor([3])) == 1.0
    assert reachable(graph(4, [[0, 0, 1], [2, 0, 3]]), torch.tensor([0])) == 0.5


def test_the_estimate_grows_with_what_it_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emea.runs.estimate.matrix_rate", lambda *_: 1e10)  # whatever else the machine is doing
    settings = load()
    task = prepare(read_example("world")[0], settings.evidence)
    small = estimate(task, load(assignments=["encoders.propagation.paths=64", "similarity.candidates=10"]))
    large = estimate(task, settings)
    assert small.features == 2 * 256 + 64
    rows = rows_at_a_time(settings.similarity, large.width, torch.device("cpu"))
    assert large.blocks == 4 * rows * large.width, "single precision"
    assert small.memory < large.memory
    assert small.pairs < large.pairs
    assert 0 < large.seconds < 120


def test_too_little_memory_ends_with_code_3_and_what_would_fit() -> None:
    needed = Estimate(pairs=10, features=10, width=3132, memory=8e9, least=7e9, blocks=1e9, free=2e9, seconds=1)
    with pytest.raises(
        NotEnoughMemoryError, match=r"needs about 7.0 GB and 2.0 GB are free; --set similarity"
    ) as caught:
        fitted(load(), needed)
    assert caught.value.exit_code == 3
    with pytest.raises(NotEnoughMemoryError, match=r"needs about 0.64 GB and 0.60 GB are free; --set similarity"):
        fitted(load(), replace(needed, least=6.41e8, free=5.96e8))
    for candidates, fewer in ((100, 14), (40, 10)):  # half of what would fit, ten at least
        with pytest.raises(NotEnoughMemoryError, match=rf"--set similarity\.candidates={fewer} with a smaller"):
            fitted(load(assignments=[f"similarity.candidates={candidates}"]), needed)


def test_blocks_are_as_small_as_free_memory_asks_for() -> None:
    settings = load()
    rows = rows_at_a_time(settings.similarity, 3132, torch.device("cpu"))
    blocks = 4 * rows * 3132
    needed = Estimate(pairs=10, features=10, width=3132, memory=1e9, least=9e8, blocks=blocks, free=1e9, seconds=1)
    assert fitted(settings, needed) is settings
    assert fitted(settings, replace(needed, free=1e9 - blocks / 2)).similarity.block == rows // 2
    without = fitted(settings, replace(needed, free=9e8)).similarity
    assert (without.block, without.bounded) == (None, 0)


def test_a_bounded_search_has_no_blocks_to_make_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emea.runs.estimate.matrix_rate", lambda *_: 1e10)
    settings = load(assignments=["similarity.bounded=0"])
    needed = estimate(prepare(read_example("world")[0], settings.evidence), settings, limit=1e8)
    assert (needed.blocks, needed.free, needed.memory) == (0, 1e8, needed.least)
    assert needed.memory < estimate(prepare(read_example("world")[0], load().evidence), load()).memory
    with pytest.raises(NotEnoughMemoryError, match=r"and 0.1 GB are free"):
        fitted(settings, needed)


@pytest.mark.parametrize(
    ("text", "size"),
    [("8GB", 8e9), ("500 mb", 5e8), ("1.5g", 1.5e9), ("2GiB", 2 * 2**30), ("123000000", 123e6), ("64000k", 64e6)],
)
def test_sizes_have_units(text: str, size: float) -> None:
    assert size_of(text) == size


@pytest.mark.parametrize("text", ["", "eight", "8 apples", "0GB", "-3GB", "GB", "8GBB", "8"])
def test_other_sizes_are_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="expected a number and a unit, such as 8GB"):
        size_of(text)


def test_free_memory_is_told() -> None:
    assert free_memory(torch.device("cpu")) > 1e8


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit addresses")
def test_a_limit_of_addresses_leaves_less_memory() -> None:
    line = "import resource, psutil, torch; from emea.kernels.devices import free_memory; "
    line += "held = psutil.Process().memory_info(); resource.setrlimit(resource.RLIMIT_AS, (held.vms + 2**27,) * 2); "
    line += "print(held.rss, free_memory(torch.device('cpu')))"
    said = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True).stdout
    held, free = map(float, said.split())
    assert free == pytest.approx(held + 2**27, abs=2**25)


def test_little_work_takes_one_thread_and_leaves_the_others_as_they_were() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with threads_that_pay(SMALL):
            assert torch.get_num_threads() == 1
        with threads_that_pay(SMALL + 1):
            assert torch.get_num_threads() == 2
        with pytest.raises(ValueError, match="stopped"), threads_that_pay(1):
            raise ValueError("stopped")
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
