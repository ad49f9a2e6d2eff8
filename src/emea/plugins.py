"""Finds an encoder, rule, baseline or format: a file of the package, one that an installed package announces, or
module:Class anywhere."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import sys
import traceback
from collections.abc import Callable
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, get_args

from pydantic import ValidationError

from emea import contracts
from emea.contracts import PluginSettings
from emea.errors import PluginError, SettingsError, explained

Plugin = TypeVar("Plugin")
PACKAGE = Path(__file__).parent
KINDS: dict[str, type] = {
    "encoders": contracts.Encoder,
    "rules": contracts.Rule,
    "baselines": contracts.Baseline,
    "formats": contracts.Format,
}


def plugin_settings(place: str, plugin: type[contracts.Plugin[Any]], values: dict[str, Any]) -> PluginSettings:
    """A plug-in's settings from the values given at a place such as encoders.rrea."""
    try:
        return plugin.Settings(**values)
    except ValidationError as error:
        raise explained(error, plugin.Settings, place) from error


def names(kind: str) -> list[str]:
    """The plug-ins of a kind: those that come with this package, by file name, and those that others announce.

    >>> names("rules")
    ['avoid_conflict', 'disagreement', 'paris']
    """
    return [*built_in(kind), *announced(kind)]


@cache
def built_in(kind: str) -> tuple[str, ...]:
    """The files of a kind in the package, sorted."""
    modules = pkgutil.iter_modules([str(PACKAGE / kind)])
    return tuple(sorted(module.name for module in modules if not module.name.startswith("_")))


@cache
def announced(kind: str) -> dict[str, EntryPoint]:
    """The entry points of installed packages in the group emea.KIND, such as emea.encoders, by name, sorted; a name
    that comes with this package means the one that does."""
    found = {each.name: each for each in entry_points(group=f"emea.{kind}")}
    return {name: found[name] for name in sorted(found.keys() - {*built_in(kind)})}


def unheard(kind: str) -> list[EntryPoint]:
    """The entry points whose name means something else: what comes with this package, or another entry point."""
    taken = {each.value for each in announced(kind).values()}
    found = entry_points(group=f"emea.{kind}")
    return [each for each in found if each.name in built_in(kind) or each.value not in taken]


def origin(point: EntryPoint) -> str:
    """Which package announces it."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


def summary(kind: str, name: str) -> str:
    """The first line of a plug-in's file, read without importing what the plug-in needs; or which package has it.

    >>> summary("rules", "paris")
    'The PARIS rule: equal neighbours along similar relations support a pair (paper 4.2, eq. paris_prob).'
    """
    if name in announced(kind):
        return f"from {origin(announced(kind)[name])}"
    text = (PACKAGE / kind / f"{name}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]


def find(kind: str, name: str, contract: type[Plugin]) -> type[Plugin]:
    """The plug-in class: `name` is a file of the package, one that a package announces, or `some.module:Class`."""
    module_name, _, class_name = name.partition(":")
    if not class_name and "." not in name and name not in built_in(kind):
        if name in announced(kind):
            return _checked(_loaded(kind, announced(kind)[name]), kind, name, contract)
        spelled = name.lower().replace("-", "_")
        close = [each for each in names(kind) if each.startswith(spelled)] or get_close_matches(spelled, names(kind), 1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise SettingsError(f"unknown {kind[:-1]} '{name}'; known are {', '.join(names(kind))}, or module:Class{hint}")
    if module_name.startswith("."):
        raise SettingsError(f"{kind[:-1]} '{name}' cannot be imported: it begins with a dot, expected module:Class")
    if class_name:
        _look_in_current_folder()
    try:
        module = importlib.import_module(module_name if class_name or "." in name else f"emea.{kind}.{name}")
    except (ImportError, RecursionError) as error:  # the latter by hundreds of dots
        raise SettingsError(f"{kind[:-1]} '{name}' cannot be imported: {error}") from error
    if class_name and not hasattr(module, class_name):
        raise SettingsError(f"unknown {kind[:-1]} '{name}': {module_name} has no {class_name}")
    found = getattr(module, class_name) if class_name else _public_class(module, contract)
    return _checked(found, kind, name, contract)


def _loaded(kind: str, point: EntryPoint) -> object:
    """What an entry point names; unlike module:Class, nothing in the current folder."""
    try:
        return point.load()
    except Exception as error:  # a module of others may fail by anything
        why = str(error) if isinstance(error, ImportError | AttributeError) else f"{type(error).__name__}: {error}"
        raise SettingsError(f"{announced_as(kind, point)} cannot be imported: {why}") from error


def announced_as(kind: str, point: EntryPoint) -> str:
    """What messages call a plug-in of an installed package, such as rule 'same_degree' of emea-same-degree 0.1."""
    return f"{kind[:-1]} '{point.name}' of {origin(point)}"


def culprit(error: Exception) -> str | None:
    """The plug-in of an installed package in whose code an error was raised, the innermost if there are several; None
    if it was raised without one."""
    for frame, _ in reversed([*traceback.walk_tb(error.__traceback__)]):
        called = frame.f_code.co_varnames[: frame.f_code.co_argcount][:1]  # self or cls, in a method
        owner = frame.f_locals.get(called[0]) if called else None
        plugin = owner if inspect.isclass(owner) else type(owner)
        if issubclass(plugin, contracts.Plugin | contracts.Format) and not _is_ours(frame.f_globals.get("__name__")):
            return _called(plugin)
    return None


def _called(plugin: type) -> str:
    """What messages call a plug-in: by the name under which it is announced, if it is."""
    for kind in KINDS:
        for point in announced(kind).values():
            if getattr(sys.modules.get(point.module), point.attr, None) is plugin:
                return announced_as(kind, point)
    kind = next(kind for kind, contract in KINDS.items() if issubclass(plugin, contract))
    return f"{kind[:-1]} '{plugin.__module__}:{plugin.__qualname__}'"


def _is_ours(module: object) -> bool:
    """Whether a module, by its name, is part of this package."""
    return str(module).partition(".")[0] == "emea"


def _checked(found: object, kind: str, name: str, contract: type[Plugin]) -> type[Plugin]:
    if not (inspect.isclass(found) and issubclass(found, contract)):
        expected = kind[:-1].capitalize() if contract.__name__ == "Plugin" else contract.__name__
        raise SettingsError(f"'{name}' is not a valid {kind[:-1]}: expected a subclass of emea.contracts.{expected}")
    missing = {*getattr(found, "__abstractmethods__", ()), *_unset(found)}
    if missing:
        raise SettingsError(
            f"{kind[:-1]} '{name}' is incomplete; missing: {', '.join(sorted(missing))} (emea.contracts)"
        )
    if not _is_ours(found.__module__):
        _refuse_other_parameters(found, f"{kind[:-1]} '{name}'")
    if issubclass(found, contracts.Plugin):
        _refuse_forgotten_settings(found, f"{kind[:-1]} '{name}'")
    return found


def _refuse_other_parameters(plugin: type, named: str) -> None:
    """Name a plug-in with a method that cannot be called as its contract says."""
    for contract in (each for each in plugin.__mro__ if each.__module__ == contracts.__name__):
        for name, stated in vars(contract).items():
            found, of_class = inspect.getattr_static(plugin, name), isinstance(stated, classmethod)
            if not of_class and (not inspect.isfunction(stated) or (name.startswith("_") and name != "__init__")):
                continue
            function = found.__func__ if isinstance(found, classmethod | staticmethod) else found
            if not inspect.isfunction(function):
                continue
            parameters = [*inspect.signature(stated.__func__ if of_class else stated).parameters]
            expected = f"{'@classmethod ' if of_class else ''}{name}({', '.join(parameters)})"
            if not _takes(function, len(parameters) - isinstance(found, staticmethod)) or (
                of_class and inspect.isfunction(found)
            ):
                raise PluginError(f"{named}: found {name}{inspect.signature(function)}, expected {expected}")


def _takes(function: Callable[..., object], count: int) -> bool:
    """Whether a function can be called with so many values."""
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        return False
    return True


def _refuse_forgotten_settings(plugin: type[contracts.Plugin[Any]], named: str) -> None:
    """Name a plug-in that says which settings it takes, as in Encoder[MySettings], but does not have them: it would get
    those of the class that it is made from."""
    for each in plugin.__mro__:
        if "Settings" in vars(each):
            return
        for base in vars(each).get("__orig_bases__", ()):
            for taken in get_args(base):
                if inspect.isclass(taken) and not issubclass(plugin.Settings, taken):
                    stated = f"{each.__name__} has the settings {taken.__name__}"
                    raise PluginError(f"{named}: {stated} but lacks the line: Settings = {taken.__name__}")


def _unset(found: type) -> list[str]:
    """What a contract wants every class to say of itself, such as the suffixes of a format, and this one does not."""
    contracts = [each for each in found.__mro__ if each.__module__ == "emea.contracts"]
    stated = [entry for each in contracts for entry in inspect.get_annotations(each).items()]
    return [name for name, kind in stated if str(kind).startswith("ClassVar") and not hasattr(found, name)]


def _look_in_current_folder() -> None:
    """Let Python also find modules in the current folder, last: a file there never replaces an installed package."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)


def _public_class(module: ModuleType, contract: type) -> type | None:
    """The one class in a plug-in file that fulfils the contract."""
    return next((each for each in _classes(module) if issubclass(each, contract)), None)


@cache
def _classes(module: ModuleType) -> tuple[type, ...]:
    """The complete classes of a file's own."""
    found = (each for _, each in inspect.getmembers(module, inspect.isclass) if each.__module__ == module.__name__)
    return tuple(each for each in found if not inspect.isabstract(each))
