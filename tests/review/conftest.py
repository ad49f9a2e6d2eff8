"""What the tests of the review page share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from emea.review.decisions import Decisions


@pytest.fixture(autouse=True)
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close the decisions that a test opens: Python complains about what is left open, from 3.13 on."""
    opened, once = list[Decisions](), Decisions.open

    def open_(path: Path) -> Decisions:
        opened.append(once(path))
        return opened[-1]

    monkeypatch.setattr(Decisions, "open", open_)
    yield
    for each in opened:
        each.close()
