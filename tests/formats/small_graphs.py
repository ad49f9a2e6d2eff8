"""Small graphs and tasks, and what is in them by name."""

from collections.abc import Sequence

import torch

from emea.data import Alignment, Graph, Links, Task


def graph_of(names: Sequence[str], aliases: Sequence[str] | None = None) -> Graph:
    return Graph.build(names, [], torch.empty(0, 3, dtype=torch.int64), aliases=aliases)


def aligned(sources: Sequence[str], targets: Sequence[str]) -> tuple[Alignment, Task]:
    """A task of the given names, and an alignment of each source with the target of the same row."""
    source, target = graph_of(sources), graph_of(targets)
    rows = [
        [graph.entities.to_pylist().index(name) for name in names]
        for graph, names in ((source, sources), (target, targets))
    ]
    confidence = torch.linspace(0.1, 1.0, len(sources))
    alignment = Alignment(torch.tensor(rows[0]).long(), torch.tensor(rows[1]).long(), confidence, confidence - 0.5)
    return alignment, Task(source, target, Links.empty(), Links.empty())


def link_names(links: Links, task: Task) -> set[tuple[str, str]]:
    sources = task.source.entities.take(links.source.numpy()).to_pylist()
    targets = task.target.entities.take(links.target.numpy()).to_pylist()
    return set(zip(sources, targets, strict=True))


def triple_names(graph: Graph) -> set[tuple[str, str, str]]:
    heads, relations, tails = graph.triples.T.numpy()
    columns = (graph.entities.take(heads), graph.relations.take(relations), graph.entities.take(tails))
    return set(zip(*(column.to_pylist() for column in columns), strict=True))


def literal_names(graph: Graph) -> set[tuple[str, str, str, str, str]]:
    table = graph.literals
    columns = [
        graph.entities.take(table["entity"].combine_chunks()),
        graph.attributes.take(table["attribute"].combine_chunks()),
        table["value"],
        table["datatype"],
        table["language"],
    ]
    return set(zip(*(column.to_pylist() for column in columns), strict=True))
