"""A number for the code that decides what a run on structure finds and how it is measured; settings have their own."""

from __future__ import annotations

import ast
import hashlib
import sys
from functools import cache
from pathlib import Path
from typing import Any

from emea import plugins
from emea.contracts import Encoder, Plugin, Rule
from emea.settings import EMEA, Settings

FOLDERS = ("kernels", "candidates", "encoders", "rules", "method", "baselines", "analysis")
FILES = (
    "data.py",
    "contracts.py",
    "reading.py",
    "evidence/prepared.py",
    "evidence/unnamed.py",
    "formats/_choice.py",
    "formats/_columns.py",
    "formats/_fields.py",
    "formats/_files.py",
    "formats/dbp15k.py",
    "formats/openea.py",
    "reproduce/_hits.py",
    "runs/align.py",
)
VALUES_ONLY = {"judge.py", "mixture.py", "sample.py", "support.py"}  # of method: no part of a run on structure alone


@cache
def code_fingerprint() -> str:
    """The same for code that does the same as far as its syntax tells: comments, docstrings and layout do not count."""
    root = Path(__file__).parents[1]
    paths = [root / name for name in FILES]
    paths += [path for folder in FOLDERS for path in (root / folder).rglob("*.py") if path.name not in VALUES_ONLY]
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(f"{path.relative_to(root).as_posix()}\n{_syntax(path.read_text(encoding='utf-8'))}\n".encode())
    return digest.hexdigest()[:12]


def own_sources(settings: Settings) -> dict[str, Path]:
    """The files of encoder and rules that are not part of this package, by module, and of the classes they extend."""
    if settings.method != EMEA:
        return {}
    encoders = [settings.em.encoder]
    if settings.em.encoder == "committee":
        encoders += settings.encoder_settings().model_dump()["members"]
    found: list[type[Plugin[Any]]] = [plugins.find("encoders", name, Encoder) for name in encoders]
    found += [plugins.find("rules", name, Rule) for name in settings.rule_names]
    extended = {each for plugin in found for each in plugin.__mro__ if issubclass(each, Plugin)}
    modules = sorted({each.__module__ for each in extended})
    files = {name: getattr(sys.modules[name], "__file__", None) for name in modules}  # a session of Python has none
    paths = {name: Path(file).resolve() for name, file in files.items() if file is not None}
    return {name: path for name, path in paths.items() if not path.is_relative_to(plugins.PACKAGE.resolve())}


def file_fingerprints(sources: dict[str, Path]) -> dict[str, str]:
    """A number for each file, the same only for the same content; none for what is no file, such as a part of an
    archive."""
    files = {name: path for name, path in sources.items() if path.is_file()}
    return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}


def _syntax(text: str) -> str:
    """The syntax tree of a module, without docstrings.

    >>> _syntax("def f(x):\\n    'says'\\n    return x  # that") == _syntax("def f(x): return x")
    True
    >>> _syntax("x = 1") == _syntax("x = 2")
    False
    """
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr) and _is_text(body[0].value):
            node.body = body[1:]  # type: ignore[attr-defined]
    return _dump(tree)


def _dump(node: object) -> str:
    """A node with all that is not empty in it; `ast.dump` differs between versions of Python."""
    if isinstance(node, ast.AST):
        filled = ((name, value) for name, value in ast.iter_fields(node) if value is not None and value != [])
        return f"{type(node).__name__}({','.join(f'{name}={_dump(value)}' for name, value in filled)})"
    return f"[{','.join(map(_dump, node))}]" if isinstance(node, list) else repr(node)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
