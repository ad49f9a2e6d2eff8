"""The site can be built, its links lead somewhere, and pages that follow from the code follow from this code."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).parents[1]
DOCS = REPOSITORY / "docs"


@pytest.mark.slow
def test_every_link_of_the_site_leads_somewhere(tmp_path: Path) -> None:
    """mkdocs checks pages, anchors and the menu."""
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 20
    loaded = {
        address
        for page in pages
        for address in re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="(https?://[^"]+)"', page.read_text("utf-8"))
    }
    assert not loaded  # nothing is fetched from elsewhere


@pytest.mark.parametrize("page", ["commands", "settings"])
def test_pages_made_from_the_code_are_of_this_code(page: str, script: Callable[[str], ModuleType]) -> None:
    """If this fails: python scripts/reference.py."""
    assert (DOCS / "reference" / f"{page}.md").read_text(encoding="utf-8") == getattr(script("reference"), page)()


def test_messages_are_as_the_page_quotes_them() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in (REPOSITORY / "src").rglob("*.py"))
    source = re.sub(r'"\s*\n\s*f?"', "", source)  # strings that go on in the next line
    rows = (DOCS / "reference" / "messages.md").read_text(encoding="utf-8").partition("|---|")[2].splitlines()[1:]
    quoted = [text for row in rows for text in re.findall(r"\*([^*]+)\*", row.split("|")[1])]
    assert len(quoted) > 12
    for text in quoted:
        assert text.strip() in source, text


def test_exit_codes_are_as_the_readme_says() -> None:
    page = (DOCS / "reference" / "files.md").read_text(encoding="utf-8")
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    told = re.search(r"Exit codes: (.*)\.", readme)
    assert told is not None
    assert re.findall(r"\b\d+\b", told[1]) == re.findall(r"^\| (\d+) \|", page, re.MULTILINE)
