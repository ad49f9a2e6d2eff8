"""Folders of small files for the tests of formats."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest


@pytest.fixture
def folder_of(tmp_path: Path) -> Callable[[Mapping[str, str]], Path]:
    """Makes a folder of files; spaces in their texts become tabs."""

    def make(files: Mapping[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace(" ", "\t"), encoding="utf-8")
        return tmp_path

    return make
