"""The ceiling by colour refinement, on graphs whose ceiling is plain to see."""

import importlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from emea.data import Graph, Links, Task

SCRIPTS = Path(__file__).parents[1] / "scripts"


@pytest.fixture
def ceiling(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(SCRIPTS)
    return importlib.import_module("ceiling")


def made(source: str, target: str, links: str, seeds: str = "") -> tuple[Task, Links]:
    """A task from triples like `ab cd`, both relations r; links and seeds name entities that have the same letter."""
    graphs = []
    for text in (source, target):
        names = sorted({*text} - {" "})
        triples = [(names.index(head), 0, names.index(tail)) for head, tail in map(tuple, text.split())]
        graphs.append((names, Graph.build(names, ["r"], torch.tensor(triples))))
    both = [
        Links.build(*(torch.tensor([names.index(name) for name in known], dtype=torch.int64) for names, _ in graphs))
        for known in (links, seeds)
    ]
    return Task(graphs[0][1], graphs[1][1], both[1]), both[0]


def settled(ceiling: ModuleType, task: Task, links: Links) -> tuple[float, float, list[dict[str, str]]]:
    """The two ceilings, and what each round settles."""
    edges = ceiling.Edges.of(task.source), ceiling.Edges.of(task.target)
    classes, rows = ceiling.refine(edges, task, links)
    return float(classes.ceiling(links).mean()), float(ceiling.twins(edges, task.seeds).ceiling(links).mean()), rows


def test_the_ceiling_is_what_nothing_tells_apart(ceiling: ModuleType) -> None:
    star = "ca cb cd"
    assert settled(ceiling, *made(star, star, "abc", "d"))[:2] == pytest.approx((2 / 3, 2 / 3))
    assert settled(ceiling, *made(star, star, "abcd"))[:2] == pytest.approx((2 / 4, 2 / 4))  # one of three leaves
    assert settled(ceiling, *made(star, "cb", "b"))[:2] == (1, 1)  # many like b, but only one target
    branches = "ca cb ax by"  # not twins: their ends are different entities, but may change places
    assert settled(ceiling, *made(branches, branches, "abxy", "c"))[:2] == pytest.approx((0.5, 1))
    assert settled(ceiling, *made(branches, branches, "abx", "cy"))[:2] == (1, 1)


def test_rounds_say_what_refinement_settles(ceiling: ModuleType) -> None:
    path = "ab bc cd de"
    *_, rows = settled(ceiling, *made(path, path, "abcde"))
    assert [row["settled"] for row in rows] == ["0.400", "1.000", "1.000"]
    assert rows[0]["shared"] == "0.600"
    *_, rows = settled(ceiling, *made(path, path + " cf", "abcde"))
    assert float(rows[0]["different"]) == 0.2  # c has one edge more
    assert rows[-1]["different"] == "1.000"


def test_classes_are_those_of_plain_refinement(ceiling: ModuleType) -> None:
    draw = np.random.default_rng(0)
    edges = np.unique(
        np.stack([draw.integers(60, size=70), draw.integers(2, size=70), draw.integers(60, size=70)], 1), axis=0
    )
    names = [f"{number:02}" for number in range(60)]
    graph = Graph.build(names, ["r", "s"], torch.from_numpy(edges))
    one = Links.build(torch.tensor([0]), torch.tensor([0]))
    found = ceiling.refine((ceiling.Edges.of(graph),) * 2, Task(graph, graph, one), one)[0].places[0]
    plain = [int(number == 0) for number in range(60)]
    for _ in range(60):
        seen: list[list[tuple[int, ...]]] = [[] for _ in plain]
        for head, relation, tail in graph.triples.tolist():
            seen[head].append((relation, 0, plain[tail]))
            seen[tail].append((relation, 1, plain[head]))
        said = [(own, tuple(sorted(around))) for own, around in zip(plain, seen, strict=True)]
        known = {each: number for number, each in enumerate(dict.fromkeys(said))}
        plain = [known[each] for each in said]
    assert 2 < len({*plain}) < 60
    assert len({*zip(plain, found.tolist(), strict=True)}) == len({*plain}) == len({*found.tolist()})
