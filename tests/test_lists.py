"""Cells that hold several values are divided where the other graph has the parts."""

import pyarrow as pa
import pytest

from emea.data import LITERAL_SCHEMA, Graph, Links, Task
from emea.evidence.lists import divided

PARTS = [["cr", "crystal"], ["jl", "julia"], ["rb", "ruby"], ["py", "python", "py3"], ["vy"]]


def graph_of(*values: str) -> Graph:
    rows = [(place, 0, value, "", "") for place, value in enumerate(values)]
    table = pa.table([*zip(*rows, strict=True)], schema=LITERAL_SCHEMA)
    names = [f"e{place:03}" for place in range(len(values))]
    return Graph.build(names, [], [], attributes=["alias"], literals=table)


def values_of(graph: Graph) -> list[tuple[int, str]]:
    table = graph.literals
    return [*zip(table["entity"].to_pylist(), table["value"].to_pylist(), strict=True)]


@pytest.mark.parametrize("mark", ["; ", ";", " | ", "|"])
def test_lists_become_several_values(mark: str) -> None:
    whole, single = [mark.join(parts) for parts in PARTS], [parts[0] for parts in PARTS]
    found = divided(Task(graph_of(*whole), graph_of(*single), Links.empty()))
    expected = [(place, part) for place, parts in enumerate(PARTS) for part in sorted(parts)]
    assert sorted(values_of(found.source)) == expected
    assert values_of(found.target) == [*enumerate(single)]


def test_a_part_that_is_there_twice_counts_once_and_an_empty_one_never() -> None:
    whole = [f"{parts[0]};; {parts[0]};" for parts in PARTS]
    found = divided(Task(graph_of(*whole), graph_of(*(parts[0] for parts in PARTS)), Links.empty()))
    assert values_of(found.source) == [(place, parts[0]) for place, parts in enumerate(PARTS)]


@pytest.mark.parametrize("others", [["; ".join(parts) for parts in PARTS], ["Ada", "Perl", "Go", "C", "Rust"]])
def test_lists_that_agree_and_texts_stay_whole(others: list[str]) -> None:
    task = Task(graph_of(*("; ".join(parts) for parts in PARTS)), graph_of(*others), Links.empty())
    found = divided(task)
    assert found.source is task.source
    assert found.target is task.target
