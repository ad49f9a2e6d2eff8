"""Where the command prints: results to standard output, everything else to standard error."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from rich.console import Console

from emea.errors import InputWarning

out, log = Console(), Console(stderr=True)


def say(text: str) -> None:
    """A line for whoever is watching."""
    log.print(text, markup=False, highlight=False, soft_wrap=True)


def warn(text: str) -> None:
    """A warning."""
    log.print(f"warning: {text}", style="yellow", markup=False, highlight=False, soft_wrap=True)


def complain(text: str) -> None:
    """An error."""
    log.print(f"error: {text}", style="red", markup=False, highlight=False, soft_wrap=True)


def silent(text: str) -> None:
    """Say nothing."""


@contextmanager
def noting(tell: Callable[[str], None]) -> Iterator[None]:
    """Tell about input that is skipped, once, in place of Python's way to show warnings."""
    told: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("always", InputWarning)
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if not issubclass(category, InputWarning):
                usual(message, category, *where, **more)
            elif (text := str(message)) not in told:
                told.add(text)
                tell(text)

        warnings.showwarning = cast(Any, show)
        yield
