"""Pages about made-up runs."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from made_up import Row, explanation, rows, write_run
from playwright.sync_api import Browser, Page

from emea.report.page import write_report


@pytest.fixture
def opened(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens a page offline; at the end it must have asked for nothing but itself, and complained about nothing."""
    contexts, asked, complaints = [], [], []

    def show(path: Path, *, width: int = 1200, scheme: str = "light") -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, offline=True, reduced_motion="reduce"
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(0)
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(path.as_uri())
        page.locator("html[data-ready]").wait_for()
        return page

    yield show
    for context in contexts:
        context.close()
    assert not complaints
    assert all(url.startswith("file://") for url in asked)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Writes the report of a made-up run with these links; the least sure of them are explained."""

    def make(links: list[Row], **options: object) -> Path:
        folder = write_run(tmp_path_factory.mktemp("made") / "run", links, doubt="it may be worse than it looks")
        by_name = {link[0]: link for link in links}
        page = folder.parent / "report.html"
        write_report(folder, page, explain=lambda source, _: explanation(by_name[source]), **options)
        return page

    return make


@pytest.fixture(scope="session")
def small(made: Callable[..., Path], known_pairs: Callable[[list[Row]], Path]) -> Path:
    """The report of 250 links, three of which known pairs tell about."""
    links = rows(250)
    return made(links, reference=known_pairs(links))


@pytest.fixture(scope="session")
def few(made: Callable[..., Path], known_pairs: Callable[[list[Row]], Path]) -> Path:
    """The same of six links, for slow inspections, compared with a run that had others."""
    links = rows(6)
    earlier = made(rows(8)[2:]).parent / "run"
    return made(links, reference=known_pairs(links), against=earlier)


@pytest.fixture(scope="session")
def known_pairs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[Row]], Path]:
    """Writes pairs by which the first and third link are right, and the second is wrong."""

    def write(links: list[Row]) -> Path:
        pairs = [(links[0][0], links[0][1]), (links[1][0], "http://target.example/other"), (links[2][0], links[2][1])]
        path = tmp_path_factory.mktemp("known") / "truth.tsv"
        path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
        return path

    return write
