"""Tab-separated fields are cut out of bytes as they are split line by line."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from emea.errors import InputError
from emea.formats import _files
from emea.formats._fields import field_columns
from emea.formats._files import fields

TEXTS = {
    "usual": b"a\tb\nc\td\n",
    "nothing": b"",
    "no newline at the end": b"a\tb\nc\td",
    "a byte order mark": b"\xef\xbb\xbfa\tb\n",
    "carriage returns": b"a\tb\r\nc\td\r\n\r\n",
    "carriage returns elsewhere": b"a\rb\tc\r\r\nc\td\x0b\x85e\n",
    "empty lines": b"\n\na\tb\n\nc\td\n\n",
    "further tabs": b"a\tb\tc\nc\td\n",
    "empty fields": b"\t\na\t\n\tb\n",
    "letters of several bytes": "ä\t中国\n\u2028\t\x00\n".encode(),
    "too few columns": b"a\tb\nc\n",
    "not UTF-8": b"a\tb\nc\t\xff\n",
    "blanks": b"a\tb\n \nc\td\n",
}


@pytest.mark.parametrize("block", [1, 6, 1 << 20])
@pytest.mark.parametrize("content", TEXTS.values(), ids=TEXTS)
def test_columns_are_the_fields_of_all_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, block: int
) -> None:
    path = tmp_path / "table"
    path.write_bytes(content)
    monkeypatch.setattr(_files, "BLOCK", block)
    assert _outcome(lambda: _rows_of(field_columns(path, 2))) == _outcome(lambda: [row for _, row in fields(path, 2)])


def _rows_of(columns: list[pa.ChunkedArray]) -> list[list[str]]:
    return [list(row) for row in zip(*(column.to_pylist() for column in columns), strict=True)]


def _outcome(read: Callable[[], list[list[str]]]) -> list[list[str]] | str:
    try:
        return read()
    except InputError as error:
        return str(error)
