"""Finds an encoder, a rule or a format by the name of its file, or by dotted path outside the package."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from difflib import get_close_matches
from types import ModuleType
from typing import TypeVar

from emea.errors import SettingsError

Plugin = TypeVar("Plugin")


def names(kind: str) -> list[str]:
    """The plug-ins of a kind that the package brings, by file name.

    >>> names("rules")
    ['avoid_conflict', 'disagreement', 'paris']
    """
    package = importlib.import_module(f"emea.{kind}")
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_"))


def find(kind: str, name: str, contract: type[Plugin]) -> type[Plugin]:
    """The plug-in class: `name` is a file of the package, or `some.module:Class` anywhere."""
    module_name, _, class_name = name.partition(":")
    if not class_name and "." not in name and name not in names(kind):
        close = get_close_matches(name, names(kind), 1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise SettingsError(f"unknown {kind[:-1]} '{name}'; known are {', '.join(names(kind))}, or module:Class{hint}")
    try:
        module = importlib.import_module(module_name if class_name or "." in name else f"emea.{kind}.{name}")
    except ImportError as error:
        raise SettingsError(f"{kind[:-1]} '{name}' cannot be imported: {error}") from error
    if class_name and not hasattr(module, class_name):
        raise SettingsError(f"unknown {kind[:-1]} '{name}': {module_name} has no {class_name}")
    found = getattr(module, class_name) if class_name else _public_class(module, contract)
    if not (inspect.isclass(found) and issubclass(found, contract)):
        raise SettingsError(
            f"'{name}' is no {kind[:-1]}: expected a class that fulfils emea.contracts.{contract.__name__}"
        )
    if inspect.isabstract(found):
        missing = ", ".join(sorted(getattr(found, "__abstractmethods__", ())))
        raise SettingsError(
            f"'{name}' is no whole {kind[:-1]}: it lacks {missing} of emea.contracts.{contract.__name__}"
        )
    return found


def _public_class(module: ModuleType, contract: type) -> type | None:
    """The one class a plug-in file defines that fulfils the contract."""
    for _, member in inspect.getmembers(module, inspect.isclass):
        if member.__module__ == module.__name__ and issubclass(member, contract) and not inspect.isabstract(member):
            return member
    return None
