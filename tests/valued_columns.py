"""A graph of columns of values, a row for each entity."""

import numpy as np
import pyarrow as pa

from emea.data import LITERAL_SCHEMA, Graph


def graph(**columns: tuple[str, ...]) -> Graph:
    cells = [
        (row, column, value, "", "")
        for column, values in enumerate(columns.values())
        for row, value in enumerate(values)
    ]
    table = pa.table([*zip(*cells, strict=True)], schema=LITERAL_SCHEMA)
    names, nothing = [f"e{row}" for row in range(max(map(len, columns.values())))], np.zeros((0, 3), dtype=np.int64)
    return Graph.build(names, [], nothing, attributes=list(columns), literals=table)
