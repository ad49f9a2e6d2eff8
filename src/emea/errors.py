"""Errors that a user can fix, and warnings. Any other exception that escapes is an internal error."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError


class EmeaError(Exception):
    """Something the user gave cannot be used; the message says what was found and what was expected."""

    exit_code = 2


class InputError(EmeaError):
    """A file, folder or pair that cannot be read as what it should be."""


class SettingsError(EmeaError):
    """An unknown setting or an impossible value."""


class PluginError(EmeaError):
    """An encoder or rule that breaks its contract."""


class NotEnoughMemoryError(EmeaError):
    """The run would not fit into memory; the message says what would."""

    exit_code = 3


class InputWarning(UserWarning):
    """A part of the input that was skipped."""


def explained(error: ValidationError, model: type[BaseModel], place: str) -> SettingsError:
    """The first problem of invalid settings in one sentence: the key, what was found, what was expected."""
    problem = error.errors()[0]
    path = [str(part) for part in problem["loc"]]
    name = ".".join([*filter(None, [place]), *path])
    if problem["type"] != "extra_forbidden":
        return SettingsError(
            f"setting {name}: found {problem['input']!r}; {problem['msg'][:1].lower()}{problem['msg'][1:]}"
        )
    for part in path[:-1]:
        model = model.model_fields[part].annotation  # type: ignore[assignment]
    known = list(model.model_fields)
    close = get_close_matches(path[-1], known, 1)
    hint = f"; did you mean {close[0]}?" if close else ""
    return SettingsError(f"unknown setting {name}; known here are {', '.join(known)}{hint}")


def shown(value: object) -> str:
    """A wrong value in a message: itself if it is short, else what it is.

    >>> shown(42), shown([1] * 100)
    ('42', 'a list')
    """
    text = repr(value) if value is None or isinstance(value, str | Path | int | float) else ""
    if text and len(text) <= 60:
        return text
    kind = type(value)
    library = "" if kind.__module__ == "builtins" else f"{kind.__module__.partition('.')[0]} "
    article = "an" if (library + kind.__name__)[0].lower() in "aeiou" else "a"
    return f"{article} {library}{kind.__name__}"
