"""What a table or figure must provide; each is one file with one class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar

from emea.reproduce._cells import Measured, Plan
from emea.reproduce._pages import Page
from emea.runs.store import Cell


class Item(ABC):
    """A table or figure: the runs it needs, and the page made from them."""

    title: ClassVar[str]
    ratios: ClassVar[tuple[float, ...] | None] = None  # seed ratios it is about; None: all that are requested

    @abstractmethod
    def cells(self, plan: Plan) -> Iterable[Cell]:
        """The runs, the most informative first."""

    @abstractmethod
    def page(self, measured: Measured) -> Page:
        """The page, from the runs measured so far."""
