"""A number for the code that decides what a run on structure finds and how it is measured; settings have their own."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

FOLDERS = ("kernels", "candidates", "encoders", "rules", "method", "baselines", "analysis")
FILES = (
    "data.py",
    "contracts.py",
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
