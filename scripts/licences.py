"""Lists the licences of all that the package ships, and of all that it installs.

python scripts/licences.py
"""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, metadata, requires
from pathlib import Path

from emea.report.tables import Rows, markdown_table

REPOSITORY = Path(__file__).parents[1]
KEPT = ("LICENSE", "LICENCE", "NOTICE")
LONGEST = 60  # characters of a licence that is given as text


def shipped() -> Rows:
    """Files of others in the package, by the folder that holds their licence."""
    rows: Rows = [{"what": "emea", "licence": first_line(REPOSITORY / "LICENSE"), "text": "LICENSE"}]
    for path in sorted((REPOSITORY / "src").rglob("*")):
        if path.is_file() and path.name.upper().startswith(KEPT):
            folder = path.parent.relative_to(REPOSITORY / "src" / "emea")
            rows.append({"what": str(folder), "licence": first_line(path), "text": f"{folder}/{path.name}"})
    return rows


def first_line(path: Path) -> str:
    """What a licence begins with."""
    return next(line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip())


def installed() -> Rows:
    """Dependencies of the package without extras, and theirs, as they are installed here."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found: dict[str, str] = {}
    waiting = list(project["dependencies"])
    while waiting:
        requirement = waiting.pop()
        name = re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement)[0]).lower()  # type: ignore[index]
        if name in found or "extra ==" in requirement:
            continue
        try:
            found[name] = licence(name)
            waiting += requires(name) or []
        except PackageNotFoundError:  # for other systems
            continue
    return [{"package": name, "licence": found[name]} for name in sorted(found)]


def licence(name: str) -> str:
    """The licence of an installed package, as it declares it."""
    about = metadata(name)
    text = about.get("License-Expression") or about.get("License") or ""
    named = [each.rpartition(" :: ")[2] for each in about.get_all("Classifier") or [] if each.startswith("License ::")]
    short = text.strip().splitlines()[0] if text.strip() else ""
    return short if short and len(short) <= LONGEST else ", ".join(named) or short[:LONGEST] or "not declared"


if __name__ == "__main__":
    print(f"Shipped:\n\n{markdown_table(shipped())}\n\nInstalled:\n\n{markdown_table(installed())}")
