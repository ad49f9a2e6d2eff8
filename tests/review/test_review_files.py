"""The files of the review page: what is vendored is what was published, and nothing makes markup from data."""

import hashlib
import re
from pathlib import Path

import pytest

import emea.review

STATIC = Path(emea.review.__file__).parent / "static"
SHARED = STATIC.parents[1] / "report" / "static"
VENDORED = {  # as npm has them
    "htm-3.1.1/LICENSE": "740725f7252e750af735d0028cc534970772f513331e9f68150fede8fb3ce00f",
    "htm-3.1.1/htm.module.js": "ab33dd3f38059b9be4d5f5350128eefb2356639c4e0bbe9d9e8b3ba75847e9e4",
    "preact-11.2.0/LICENSE": "1fe6958409c8c257a70c587a18b6f7f412b179b456630790d30b2ec9a8e4b7d4",
    "preact-11.2.0/preact.mjs": "bdcbd9abdf2c77c5c45326eab42191e949222d479d0d5f69467387a77040cb55",
}
OWN = sorted(STATIC.glob("*.js"))


def test_what_is_vendored_is_what_was_published() -> None:
    vendor = STATIC / "vendor"
    found = {
        path.relative_to(vendor).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in vendor.rglob("*")
        if path.is_file()
    }
    assert found == VENDORED


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_scripts_are_short_and_make_no_markup(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 300
    assert not re.search(r"inner|outerHTML|insertAdjacentHTML|dangerously|document\.write|\beval\b|new Function", text)
    assert not re.search(r"""["'`]https?://""", text), "an address outside"
    for name in re.findall(r'from "([^"]+)"', text):
        assert (STATIC / name).exists() or name in {"./card.js"}, name


def test_the_page_has_nothing_inline() -> None:
    text = (STATIC / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"<script([^>]*)>(.*?)</script>", text, re.DOTALL) == [
        (' type="module" src="/static/review.js"', "")
    ]
    assert not re.search(r"<style|\sstyle=|\son\w+=|https?:", text)


def test_styles_load_nothing() -> None:
    for path in (STATIC / "review.css", SHARED / "card.css"):
        assert not re.search(r"url\(|@import", path.read_text(encoding="utf-8"))
