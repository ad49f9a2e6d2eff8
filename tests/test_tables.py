"""Tables of a run are the same as text and as Parquet."""

from pathlib import Path

import pyarrow as pa
import pytest

from emea.errors import InputError
from emea.runs.tables import column_names, read_whole, write_blocks

TYPES = {"name": pa.large_string(), "share": pa.float64(), "label": pa.large_string()}


@pytest.mark.parametrize("name", ["x.tsv", "x.parquet"])
@pytest.mark.parametrize("blocks", [0, 1, 40])
def test_what_is_written_is_read_and_no_text_is_null(name: str, blocks: int, tmp_path: Path) -> None:
    block = pa.table([["a", "b"], [0.5, None], [None, "B"]], schema=pa.schema(TYPES))
    write_blocks(tmp_path / name, block.schema, [block] * blocks)
    assert column_names(tmp_path / name) == [*TYPES]
    wanted = {each: TYPES[each] for each in ("label", "share")}
    assert read_whole(tmp_path / name, wanted).to_pydict() == {
        "label": ["", "B"] * blocks,
        "share": [0.5, None] * blocks,
    }


def test_a_broken_table_is_refused_with_one_line(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_text("no such thing\nat all")
    for read in (column_names, lambda path: read_whole(path, TYPES)):
        with pytest.raises(InputError, match=r"x\.parquet cannot be read as Parquet \([^\n]*\); run again$"):
            read(tmp_path / "x.parquet")
