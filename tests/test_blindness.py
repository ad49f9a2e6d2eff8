"""Nothing that a run writes depends on the reference, on names, or on the order of rows (benchmarks: blindness)."""

from pathlib import Path

import numpy as np
import pytest
import torch

from emea import align, evaluate
from emea.data import Graph, Links, Reference, Task
from emea.evidence.prepared import prepare
from emea.examples import read_example
from emea.runs.inputs import Inputs
from emea.runs.run import run
from emea.settings import Settings, load

BLIND_FILES = (
    "alignment.tsv", "candidates.tsv", "relations.tsv", "rounds.jsonl", "alignment.sssom.tsv", "alignment.nt",
    "alignment.review.tsv", "unlinked.tsv", "unlinked.targets.tsv", "seeds.tsv",
)  # fmt: skip
QUICK = ["em.rounds=2", "encoders.propagation.dimension=64", "encoders.propagation.paths=128"]


@pytest.fixture(scope="module")
def world() -> tuple[Task, Reference]:
    return read_example("world", seeds=50)


def written(task: Task, reference: Reference, folder: Path, settings: Settings) -> dict[str, bytes]:
    folder.mkdir()
    run(prepare(task, settings.evidence), settings, folder, inputs=Inputs(), reference=reference)
    assert (folder / "metrics.json").exists()
    return {name: (folder / name).read_bytes() for name in BLIND_FILES}


@pytest.mark.slow
def test_a_permuted_or_random_reference_changes_no_byte(world: tuple[Task, Reference], tmp_path: Path) -> None:
    task, reference = world
    settings = load(assignments=[*QUICK, "em.rounds=1"])
    links = reference.open()
    generator = torch.Generator().manual_seed(5)
    permuted = Links.build(links.source, links.target[torch.randperm(len(links), generator=generator)])
    free_source = np.setdiff1d(np.arange(len(task.source.entities)), task.seeds.source.numpy())
    free_target = np.setdiff1d(np.arange(len(task.target.entities)), task.seeds.target.numpy())
    draw = np.random.default_rng(5)
    random = Links.build(
        torch.from_numpy(draw.permutation(free_source)[:500]), torch.from_numpy(draw.permutation(free_target)[:500])
    )
    first = written(task, reference, tmp_path / "true", settings)
    assert first == written(task, Reference(permuted), tmp_path / "permuted", settings)
    assert first == written(task, Reference(random), tmp_path / "random", settings)
    metrics = {(tmp_path / name / "metrics.json").read_bytes() for name in ("true", "permuted", "random")}
    assert len(metrics) == 3


def renamed(graph: Graph, draw: np.random.Generator) -> tuple[Graph, np.ndarray]:
    """The same structure under random names, which shuffles all ids; and the new id of each old one."""
    entities = [f"{value:016x}" for value in draw.permutation(10 * len(graph.entities))[: len(graph.entities)]]
    relations = [f"{value:016x}" for value in draw.permutation(10 * len(graph.relations))[: len(graph.relations)]]
    rows = graph.triples.numpy()[draw.permutation(len(graph.triples))]
    new = Graph.build(entities, relations, rows)
    return new, np.argsort(np.argsort(np.array(entities)))


def hit(task: Task, reference: Links, seed: int) -> float:
    result = align(task, load(assignments=QUICK, seed=seed))
    return evaluate(result, Reference(reference)).ranking["all targets"]["probability"].hit_at_1


@pytest.mark.slow
def test_random_names_and_ids_move_hits_no_more_than_the_run_seed(world: tuple[Task, Reference]) -> None:
    task, reference = world
    links = reference.open()
    plain = [hit(task, links, seed) for seed in range(3)]
    blind = []
    for seed in range(3):
        draw = np.random.default_rng(seed)
        (source, new_source), (target, new_target) = renamed(task.source, draw), renamed(task.target, draw)

        def moved(pairs: Links, sources: np.ndarray = new_source, targets: np.ndarray = new_target) -> Links:
            return Links.build(
                torch.from_numpy(sources[pairs.source.numpy()]), torch.from_numpy(targets[pairs.target.numpy()])
            )

        blind.append(hit(Task(source, target, moved(task.seeds), Links.empty()), moved(links), seed))
    spread = max(max(plain) - min(plain), 0.01)
    assert abs(np.mean(blind) - np.mean(plain)) <= spread, (plain, blind)


def test_the_order_of_lines_changes_nothing(world: tuple[Task, Reference]) -> None:
    task, _ = world
    rows = task.source.triples[torch.randperm(len(task.source.triples), generator=torch.Generator().manual_seed(1))]
    shuffled = Graph.build(task.source.entities, task.source.relations, rows)
    assert torch.equal(shuffled.triples, task.source.triples)


def test_twins_are_never_told_apart() -> None:
    """Two targets with the same structure tie: neither their ids nor their names decide, so neither is linked."""
    source = Graph.build(["a", "b", "c"], ["r", "q"], torch.tensor([[0, 0, 1], [1, 1, 2]]))
    target = Graph.build(["A", "B", "C", "twin"], ["r", "q"], torch.tensor([[0, 0, 1], [1, 1, 2], [1, 1, 3]]))
    task = Task(source, target, Links.build(torch.tensor([0, 1]), torch.tensor([0, 1])), Links.empty())
    result = align(task, load(assignments=["em.rounds=1", "matching.minimum=0"]))
    assert not torch.isin(torch.tensor([2, 3]), result.alignment.target).any()
    measured = evaluate(result, Reference(Links.build(torch.tensor([2]), torch.tensor([2]))))
    values = measured.ranking["all targets"]["probability"]
    assert values.hit_at_1 == 0.0
    assert values.hit_at_1_shared == pytest.approx(0.5)
