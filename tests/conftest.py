"""What all tests share."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def benchmark_data() -> Path:
    """The folder of benchmark graphs: EMEA_DATA, or .data in the repository; its absence is a failure in CI."""
    given = os.environ.get("EMEA_DATA")
    folder = Path(given) if given else Path(__file__).parents[1] / ".data"
    if not folder.is_dir():
        message = f"no benchmark graphs in {folder}: unpack them there, or set EMEA_DATA"
        if given or os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return folder
