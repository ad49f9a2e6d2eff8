"""Names of linked things are values where the other graph is a table."""

import numpy as np
import pyarrow as pa

from emea.data import LITERAL_SCHEMA, Graph, Links, Task
from emea.evidence.linked import TYPE, with_names

AUTHOR, NAME = "http://example.org/author", "http://example.org/name"


def catalogue() -> Graph:
    """A book, which leads to its author and to a class."""
    cells = [(0, 0, "Hunger", "", ""), (1, 0, "Knut Hamsun", "", ""), (2, 0, "Book", "", "")]
    literals = pa.table([*zip(*cells, strict=True)], schema=LITERAL_SCHEMA)
    return Graph.build(
        ["book", "person", "class"], [AUTHOR, TYPE], [(0, 0, 1), (0, 1, 2)], attributes=[NAME], literals=literals
    )


def table() -> Graph:
    cells = [(0, 0, "Hamsun, Knut", "", "")]
    nothing = np.zeros((0, 3), dtype=np.int64)
    literals = pa.table([*zip(*cells, strict=True)], schema=LITERAL_SCHEMA)
    return Graph.build(["row"], [], nothing, attributes=["author"], literals=literals)


def said(graph: Graph) -> set[tuple[str, str, str]]:
    columns = (graph.literals[name].to_pylist() for name in ("entity", "attribute", "value"))
    entities, attributes = graph.entities.to_pylist(), graph.attributes.to_pylist()
    return {(entities[entity], attributes[attribute], value) for entity, attribute, value in zip(*columns, strict=True)}


def test_a_book_has_the_name_of_its_author_but_not_of_its_class() -> None:
    found = with_names(Task(catalogue(), table(), Links.empty()))
    assert said(found.source) == said(catalogue()) | {("book", AUTHOR, "Knut Hamsun")}
    assert said(found.target) == said(table())


def test_where_both_have_links_or_neither_has_these_tell_more() -> None:
    for task in (Task(catalogue(), catalogue(), Links.empty()), Task(table(), table(), Links.empty())):
        assert with_names(task) is task
