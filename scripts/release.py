"""Builds the wheel and the sdist into dist/, checks them, and stops: uploading is left to a person.

    python scripts/release.py [--python PYTHON]...

Both are built twice and must be the same bytes. Each PYTHON (this one by default) installs the wheel into an empty
environment and links the example with it.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
LARGEST = 6_000_000  # bytes of a wheel
IN_SOURCES = (
    "src/emea/__init__.py",
    "tests/test_layers.py",
    "docs/index.md",
    "mkdocs.yml",
    "Makefile",
    "constraints.txt",
)
IN_BOTH = ("LICENSE", "NOTICE")
NOT_IN_WHEEL = ("tests/", "docs/", "scripts/", ".github/")


def main() -> None:
    """Build and check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", help="an interpreter that has to run the wheel; repeatable")
    chosen = parser.parse_args()
    dist = REPOSITORY / "dist"
    with tempfile.TemporaryDirectory() as place:
        first, second = (build(Path(place) / name) for name in "ab")
        if first != second:
            sys.exit(f"two builds differ: {first} {second}")
        dist.mkdir(exist_ok=True)
        files = [(Path(place) / "a" / name).replace(dist / name) for name in sorted(first)]
    for path in files:
        check(path)
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, files))
    wheel = next(path for path in files if path.suffix == ".whl")
    for python in chosen.python or [sys.executable]:
        try_out(wheel, python)
    for path in files:
        print(f"{path.relative_to(REPOSITORY)}  {path.stat().st_size / 1e6:.1f} MB  sha256 {first[path.name]}")


def build(folder: Path) -> dict[str, str]:
    """The SHA-256 of the wheel and of the sdist, built into a folder, by name."""
    committed = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    environment = {**os.environ, "SOURCE_DATE_EPOCH": committed.stdout.strip()}
    run(sys.executable, "-m", "hatchling", "build", "-d", str(folder), environment=environment)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def check(path: Path) -> None:
    """Stop if something is missing from an archive, or is in it that should not be."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            names = wheel.namelist()
        wrong = [name for name in names if name.startswith(NOT_IN_WHEEL)]
        missing = [] if "emea/py.typed" in names else ["emea/py.typed"]
        if path.stat().st_size > LARGEST:
            sys.exit(f"{path.name} has {path.stat().st_size:,} bytes, expected at most {LARGEST:,}")
    else:
        with tarfile.open(path) as sources:
            names = [name.partition("/")[2] for name in sources.getnames()]
        wrong = [name for name in names if "__pycache__" in name or name.startswith((".venv", ".data"))]
        missing = [name for name in IN_SOURCES if name not in names]
    missing += [name for name in IN_BOTH if not any(each.endswith(name) for each in names)]
    if wrong or missing:
        sys.exit(f"{path.name}: found {wrong[:3]}, which do not belong there; missing: {missing}")


def try_out(wheel: Path, python: str) -> None:
    """Install a wheel into an empty environment, and link the example."""
    with tempfile.TemporaryDirectory() as place:
        run(python, "-m", "venv", f"{place}/venv")
        folder = Path(place) / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
        constraints = str(REPOSITORY / "constraints.txt")
        run(str(folder / "python"), "-m", "pip", "install", "--quiet", "--constraint", constraints, str(wheel))
        run(str(folder / "emea"), "demo", "--quiet", "--device", "cpu", "--out", f"{place}/run")
        found = (Path(place) / "run" / "alignment.tsv").read_text(encoding="utf-8").count("\n") - 1
        version = subprocess.run([str(folder / "python"), "--version"], capture_output=True, text=True, check=True)
        print(f"{version.stdout.strip()}: installed, {found} links of the example")


def run(*command: str, environment: dict[str, str] | None = None) -> None:
    """Run a command; stop if it fails."""
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
