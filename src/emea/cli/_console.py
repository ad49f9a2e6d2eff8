"""Where the command prints: results to standard output, everything else to standard error."""

from __future__ import annotations

from rich.console import Console

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
