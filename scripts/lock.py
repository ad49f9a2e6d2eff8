"""Writes .github/requirements.txt: what the workflow installs, in the versions of constraints.txt, with hashes.

    python scripts/lock.py      (needs uv)

It holds for all systems and for Python 3.11 to 3.14. torch is not in it, nor are the CUDA libraries that its build on
PyPI asks for: the builds for CPUs have an index of their own, where each system has another file, and `make locked`
takes the version of constraints.txt from there.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
LOCK = REPOSITORY / ".github" / "requirements.txt"
TOOLS = ("editables", "hatchling", "pip-audit", "twine")  # besides the package and its extra dev
LEFT_OUT = re.compile(r"(torch|cuda-[\w-]+|nvidia-[\w-]+)==")
HEAD = """\
# Made by `make lock` from pyproject.toml and constraints.txt: the files that the workflow may install.
# torch is missing, whose CPU builds are not on PyPI: scripts/lock.py says more.
"""


def main() -> None:
    """Write it."""
    options = ("--universal", "--python-version", "3.11.5", "--generate-hashes", "--no-header", "--no-annotate")
    command = ("uv", "pip", "compile", "--quiet", *options, "--constraint", "constraints.txt", "--extra", "dev")
    done = subprocess.run(
        [sys.executable, "-m", *command, "--default-index", "https://pypi.org/simple", "pyproject.toml", "-"],
        cwd=REPOSITORY,
        input="\n".join(TOOLS),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        sys.exit(done.stderr)
    kept = [each for each in re.split(r"^(?=\S)", done.stdout, flags=re.MULTILINE) if not LEFT_OUT.match(each)]
    LOCK.write_text(HEAD + "".join(kept), encoding="utf-8", newline="\n")
    print(f"{len(kept) - 1} packages in {LOCK.relative_to(REPOSITORY)}")


if __name__ == "__main__":
    main()
