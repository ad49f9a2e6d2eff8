"""Errors that a user can fix, and warnings. Any other exception that escapes is an internal error."""

from __future__ import annotations

import re
from collections.abc import Container
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError


OPTION = re.compile(
    r"--([a-z-]+)(?: (FILE|rows|triples|[a-z]+-to-[a-z]+|[a-z_.]+=\S+|[0-9.]*[0-9]))?"
)  # with its value
READING = {"graph", "table", "id_column", "context", "query", "type", "exclude_type", "namespace", "entities"}
SETTINGS = {  # the setting that an option sets
    "cardinality": "matching.cardinality",
    "encoder": "em.encoder",
    "engine_gpus": "engine.gpus",
    "local_names": "evidence.local_names",
    "min_confidence": "matching.minimum",
    "shared_iris": "evidence.shared_iris",
    "target_precision": "matching.precision",
}
PYTHON = {  # how a program says what an option says, unless the function has a parameter of that name
    "data": "emea.read_benchmark",
    "decisions": "emea.read_decisions",
    "fold": "emea.read_benchmark(…, fold=…)",
    "lenient": "emea.Reading(lenient=True)",
    "ratio": "emea.read_benchmark(…, ratio=…)",
    "seeds": "emea.read(…, seeds=…)",
    "set": "the setting",
    "source_type": "emea.Reading(type=…) for the source",
    "target_type": "for the target",
    **{name: f"the setting {setting}" for name, setting in SETTINGS.items()},
    **{name: f"emea.Reading({name}=…)" for name in READING},
}


class EmeaError(Exception):
    """Something the user gave cannot be used; the message says what was found and what was expected."""

    exit_code = 2


class InputError(EmeaError):
    """A file, folder or pair that cannot be read as what it should be."""


class SettingsError(EmeaError):
    """An unknown setting or an impossible value."""


class PluginError(EmeaError):
    """An encoder or rule that breaks its contract."""


class EngineError(EmeaError):
    """A cluster that cannot be reached, or was lost."""


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
        said = f"{problem['msg'][:1].lower()}{problem['msg'][1:]}"
        if problem["type"] in {"tuple_type", "list_type"}:
            said = """expected a list, such as '["one", "another"]'"""
        return SettingsError(f"setting {name}: found {problem['input']!r}; {said}")
    for part in path[:-1]:
        model = model.model_fields[part].annotation  # type: ignore[assignment]
    known = list(model.model_fields)
    close = [SETTINGS[path[-1]]] if path[-1] in SETTINGS else get_close_matches(path[-1], known, 1)
    hint = f"; did you mean {close[0]}?" if close else ""
    return SettingsError(f"unknown setting {name}; known here are {', '.join(known)}{hint}")


def in_python(text: str, own: Container[str] = ()) -> str:
    """A message for those who call a function with these parameters: its options as a program says them.

    >>> in_python("expected pairs (--seeds); --cardinality many-to-one links all, --lenient skips it", {"lenient"})
    'expected pairs (emea.read(…, seeds=…)); the setting matching.cardinality many-to-one links all, lenient=… skips it'
    >>> in_python("expected one named nr (--id-column)", {"id"}), in_python("give --table rows")
    ('expected one named nr (id=…)', "give emea.Reading(table='rows')")
    """

    def said(option: re.Match[str]) -> str:
        name, value = option[1].replace("-", "_"), "" if option[2] == "FILE" else option[2] or ""
        if name == "id_column" and "id" in own:
            name = "id"
        if name in own:
            return f"{name}={value or '…'}"
        if name in READING and value:
            return f"emea.Reading({name}='{value}')"
        return f"{PYTHON[name]} {value}".rstrip() if name in PYTHON else option[0]

    return OPTION.sub(said, text)


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
