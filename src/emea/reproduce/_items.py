"""What a table or figure must be; each is one file with one class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar

from emea.reproduce._cells import Measured, Plan
from emea.reproduce._pages import Page
from emea.runs.store import Cell


class Item(ABC):
    """A table or figure: the runs it needs, and what is made of them."""

    title: ClassVar[str]
    ratios: ClassVar[tuple[float, ...] | None] = (
        None  # the amounts of labels it is about; none: whichever are asked for
    )

    @abstractmethod
    def cells(self, plan: Plan) -> Iterable[Cell]:
        """The runs, the most telling first."""

    @abstractmethod
    def page(self, measured: Measured) -> Page:
        """What they come to, as far as they are measured."""
