"""A lift keeps what makes a pair what it is, and tells nothing about the links."""

import importlib
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

import emea
from emea.data import Graph, Links, Task
from tiny_benchmark import write_benchmark

SCRIPTS = Path(__file__).parents[1] / "scripts"
COPIES = 5
Pair = tuple[Task, Links]


@pytest.fixture
def lifting(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(SCRIPTS)
    module = importlib.import_module("lift")
    monkeypatch.setattr(module, "WORD_COUNT", 3_000)  # is quicker
    return module


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A benchmark of 200 pairs, five of which are not linked; the other side says two edges the other way round."""
    folder = write_benchmark(tmp_path / "tiny")
    links = (folder / "ent_links").read_text().splitlines(keepends=True)
    (folder / "ent_links").write_text("".join(links[:-5]))
    counterpart = dict(line.split() for line in links)
    edges = (folder / "rel_triples_1").read_text().split("\n")[:2]
    said = "".join(f"{counterpart[t]}\tinverse\t{counterpart[h]}\n" for h, _, t in (edge.split("\t") for edge in edges))
    with (folder / "rel_triples_2").open("a") as file:
        file.write(said + "b000\tbr0\tb000\n")
    return folder


def read(folder: Path) -> Pair:
    task, reference = emea.read_benchmark(folder, ratio=0)
    assert reference is not None
    return task, task.validation + reference.open()


def degrees(graph: Graph) -> Counter[int]:
    return Counter(np.bincount(graph.triples[:, ::2].flatten(), minlength=len(graph.entities)).tolist())


def relation_counts(graph: Graph) -> dict[str, int]:
    return dict(zip(graph.relations.to_pylist(), np.bincount(graph.triples[:, 1]).tolist(), strict=True))


def shared(pair: Pair) -> tuple[int, int]:
    """How many ordered pairs of sources have an edge that the target has too, and that it has the other way round."""
    task, links = pair
    counterpart = dict(zip(links.source.tolist(), links.target.tolist(), strict=True))
    edges = {(h, t) for h, _, t in task.target.triples.tolist()}
    ends = {(h, t) for h, _, t in task.source.triples.tolist() if h in counterpart and t in counterpart}
    there = {(counterpart[h], counterpart[t]) for h, t in ends}
    return len(there & edges), len({(t, h) for h, t in there} & edges)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_a_lift_keeps_degrees_relations_and_shared_edges(lifting: ModuleType, tiny: Path, tmp_path: Path) -> None:
    counts = lifting.lift(tiny, tmp_path / "out", COPIES)
    before, after = read(tiny), read(tmp_path / "out")
    assert len(after[1]) == counts["ref_ent_ids"] == COPIES * len(before[1])
    sides = [(before[0].source, after[0].source), (before[0].target, after[0].target)]
    for number, (small, large) in enumerate(sides, 1):
        assert len(large.entities) == counts[f"ent_ids_{number}"] == COPIES * len(small.entities)
        assert degrees(large) == Counter({degree: COPIES * count for degree, count in degrees(small).items()})
        assert relation_counts(large) == {name: COPIES * count for name, count in relation_counts(small).items()}
    assert shared(after) == tuple(COPIES * count for count in shared(before))
    assert min(shared(before)) >= 2


def test_copies_are_not_left_apart_and_edges_to_oneself_stay(lifting: ModuleType, tiny: Path, tmp_path: Path) -> None:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    lifting.lift(tiny, tmp_path / "out", COPIES)
    graph = read(tmp_path / "out")[0].target
    head, _, tail = graph.triples.numpy().T
    size = len(graph.entities)
    joined = coo_array((np.ones(len(head)), (head, tail)), shape=(size, size))
    assert connected_components(joined, directed=False)[0] == 1
    assert (head == tail).sum() == COPIES


def test_the_same_seed_gives_the_same_bytes(lifting: ModuleType, tiny: Path, tmp_path: Path) -> None:
    made = []
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        lifting.lift(tiny, tmp_path / name, COPIES, seed, named=True)
        made.append(contents(tmp_path / name))
    assert made[0] == made[1]
    assert [*made[0]] == [
        *("ent_ids_1", "ent_ids_2", "ref_ent_ids", "rel_ids_1", "rel_ids_2", "triples_1", "triples_2")
    ]
    same = {name for name, text in made[0].items() if text == made[2][name]}
    assert same == {"rel_ids_1", "rel_ids_2"}  # which nothing is drawn for


def test_neither_ids_nor_lines_tell_the_links(lifting: ModuleType, tiny: Path, tmp_path: Path) -> None:
    lifting.lift(tiny, tmp_path / "out", 50)
    files = contents(tmp_path / "out")
    pairs = np.array([line.split() for line in files["ref_ent_ids"].splitlines()], dtype=int)
    lines = []
    for name, column in zip(("ent_ids_1", "ent_ids_2"), pairs.T, strict=True):
        ids = np.array([line.split()[0] for line in files[name].splitlines()], dtype=int)
        place = np.empty(ids.max() + 1)
        place[ids] = np.arange(len(ids))
        lines.append(place[column])
    columns = np.stack([*pairs.T, *lines, np.arange(len(pairs))])
    between = np.abs(np.corrcoef(columns)[np.triu_indices(5, 1)])
    assert between.max() < 5 / np.sqrt(len(pairs))


def test_hubs_can_stay_single(lifting: ModuleType, tiny: Path, tmp_path: Path) -> None:
    lifting.lift(tiny, tmp_path / "out", COPIES, hubs=12)
    (before, known), (after, links) = read(tiny), read(tmp_path / "out")
    degree = [np.bincount(graph.triples[:, ::2].flatten()) for graph in (before.source, before.target)]
    hub = np.maximum(degree[0][known.source], degree[1][known.target]) >= 12
    assert 0 < hub.sum() < len(known) / 4
    assert len(links) == hub.sum() + COPIES * (~hub).sum()
    every, both = np.array(shared((before, known))), np.array(shared((before, known[torch.from_numpy(hub)])))
    assert both[0] > 0
    assert shared((after, links)) == tuple(COPIES * (every - both) + both)
    single = np.unique(known.source[hub])
    between = np.isin(before.source.triples[:, ::2], single).all(1).sum()
    assert len(after.source.triples) == COPIES * (len(before.source.triples) - between) + between
    largest = np.bincount(after.source.triples[:, ::2].flatten()).max()
    assert largest > (COPIES - 1) * degree[0].max()


def test_linked_copies_have_about_the_same_name(lifting: ModuleType, tiny: Path, tmp_path: Path) -> None:
    from rapidfuzz.distance import Levenshtein

    lifting.lift(tiny, tmp_path / "out", 20, named=True)
    task, links = read(tmp_path / "out")
    names = [[name.rpartition("/")[2] for name in column.to_pylist()] for column in task.names(links)]
    apart = np.array([Levenshtein.distance(*pair) for pair in zip(*names, strict=True)])
    assert abs((apart == 0).mean() - lifting.SAME) < 0.05
    assert abs(((apart > 0) & (apart <= 2)).mean() - lifting.LIKE) < 0.05
    assert np.unique(task.source.entities.to_pylist()).size == len(task.source.entities)
    chance = np.array([Levenshtein.distance(*pair) for pair in zip(names[0], names[1][1:], strict=False)])
    assert (chance <= 2).mean() < 0.01


def test_seeds_and_validation_stay_what_they_are(
    lifting: ModuleType, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lifting.lift(tiny, tmp_path / "first", 1)
    pairs = (tmp_path / "first" / "ref_ent_ids").read_text().splitlines(keepends=True)
    for name, part in (("sup_ent_ids", pairs[:20]), ("val_ent_ids", pairs[20:30]), ("ref_ent_ids", pairs[30:])):
        (tmp_path / "first" / name).write_text("".join(part))
    monkeypatch.setattr(sys, "argv", ["lift.py", str(tmp_path / "first"), str(tmp_path / "out"), "--copies", "3"])
    lifting.main()
    task, reference = emea.read_benchmark(tmp_path / "out")
    assert reference is not None
    assert (len(task.seeds), len(task.validation), len(reference)) == (60, 30, 3 * (len(pairs) - 30))
    assert "60 sup_ent_ids" in capsys.readouterr().out
