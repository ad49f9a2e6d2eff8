"""The verbs; the only place that prints, asks or exits.

Starting must be quick: verbs import what they compute with when they are called.
"""

from __future__ import annotations

import atexit
import errno
import gc
import io
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from emea import __version__
from emea.cli import _demo, _explaining, _linking, _listing, _measuring, _reporting, _reviewing
from emea.errors import EmeaError
from emea.plugins import culprit

SPENT = (
    "out of memory",
    "not enough memory",
    "can't allocate memory",
    "annot allocate memory",
    "failed to map segment",
)  # of torch, CUDA, the loader


class Verb(TyperCommand):
    """A command whose help shows no type behind options that take no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, --help among them."""
        return _without_types(super().get_params(ctx))


class Verbs(TyperGroup):
    """The command itself, likewise."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, --help among them."""
        return _without_types(super().get_params(ctx))


def _without_types(parameters: list[Any]) -> list[Any]:
    for each in parameters:
        if getattr(each, "is_flag", False):
            each.metavar = ""
    return parameters


app = typer.Typer(
    cls=Verbs,
    help="Link two knowledge graphs: find which entities are the same, with a confidence for each link.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
VERBS: dict[str, Callable[..., None]] = {
    "align": _linking.align,
    "demo": _demo.demo,
    "evaluate": _measuring.evaluate,
    "explain": _explaining.explain,
    "report": _reporting.report,
    "plot": _reporting.plot,
    "review": _reviewing.review,
    "decisions": _reviewing.decisions,
    "merge": _listing.merge,
    "convert": _listing.convert,
    "profile": _measuring.profile,
    "doctor": _listing.doctor,
    "bench": _measuring.bench,
    "reproduce": _measuring.reproduce,
    "settings": _listing.list_settings,
    "encoders": _listing.encoders,
    "rules": _listing.rules,
    "baselines": _listing.baselines,
    "formats": _listing.formats,
}
for name, verb in VERBS.items():
    app.command(name, cls=Verb)(verb)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"emea {__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Link two knowledge graphs: find which entities are the same, with a confidence for each link."""


def main() -> None:
    """The console script: 0 done, 1 internal error, 2 bad input or settings, 3 not enough memory, 130 interrupted."""
    # Waiting threads should sleep: those of torch spin by default, and starve each other on a busy machine.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # large pages for torch's arrays: a tenth of the time is saved
    # Nothing here makes many cycles, and each search for them goes through all that torch has loaded, the last one too.
    gc.set_threshold(200_000, 50, 50)
    atexit.register(gc.freeze)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="replace")  # "?" for what a terminal, or a pipe on Windows, has no letter for
    try:
        app()
        return
    except EmeaError as error:
        _fail(str(error), error.exit_code)
    except Exception as error:  # noqa: BLE001 - the last stop
        if not _is_out_of_memory(error):
            _fail_by(error)
    # Not before this, so that what the failed work held is free again.
    _fail("out of memory; emea align --dry-run says what a run needs, and --memory bounds it", 3)


def _is_out_of_memory(error: BaseException | None) -> bool:
    """Whether there was too little memory: torch and the system have names of their own for that, and libraries tell
    of what they cannot load in words of theirs, which follow from the loader's."""
    if isinstance(error, RuntimeError | ImportError | OSError) and any(words in str(error) for words in SPENT):
        return "static TLS" not in str(error)  # a loader may lack room of a kind that memory cannot give
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return True
    return isinstance(error, ImportError | OSError) and _is_out_of_memory(error.__cause__ or error.__context__)


def _fail_by(error: Exception) -> NoReturn:
    """A file that cannot be used, an internal error, or one of a plug-in: the user's own, or an installed package's."""
    if isinstance(error, OSError):
        _fail(f"{error.filename or 'a file'}: {error.strerror or error}", 2)
    traceback.print_exception(error)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if _is_of_the_user(Path(frame.filename)):
            _fail(f"{frame.filename}, line {frame.lineno}: {type(error).__name__}: {error}", 2)
    if (named := culprit(error)) is not None:
        _fail(f"{named}: {type(error).__name__}: {error}", 2)
    _fail("this is an internal error of emea; please report it with the lines above", 1)


def _is_of_the_user(file: Path) -> bool:
    """Whether a file is a plug-in in the current folder, and not part of emea or its dependencies."""
    ours = (Path(__file__).parents[1], Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve())
    if not file.is_file():  # compiled code names its sources, relative to nothing
        return False
    file = file.resolve()
    return file.is_relative_to(Path.cwd().resolve()) and not any(file.is_relative_to(folder) for folder in ours)


def _fail(sentence: str, code: int) -> NoReturn:
    try:
        from emea.cli._console import complain

        complain(sentence)
    except MemoryError:
        sys.stderr.write(f"error: {sentence}\n")
    sys.exit(code)
