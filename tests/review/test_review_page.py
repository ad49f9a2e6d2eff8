"""The review page in a browser, served as people are served: by keyboard alone, in every script, nothing lost."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Route, expect

from emea.evidence.prepared import Prepared
from emea.review.server import Serving, serve
from emea.runs.explaining import Explainer
from test_run import QUICK, command
from towns import SCRIPTS, write_towns

pytestmark = pytest.mark.slow  # in a browser

Open = Callable[..., Page]
VERDICTS = {"y": "yes", "n": "no", "0": "none", "u": "unsure"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Explainer]:
    """A run that links two graphs of towns, and what explains it."""
    folder = tmp_path_factory.mktemp("towns")
    command("align", *map(str, write_towns(folder)), "--out", "run", *QUICK, folder=folder)
    return folder / "run", Explainer.open(folder / "run")


@pytest.fixture
def served(finished: tuple[Path, Explainer], tmp_path: Path) -> Iterator[Serving]:
    """The page about a copy of the run, when all has been read."""
    run, explainer = finished
    shutil.copytree(run, tmp_path / "run")
    prepared = explainer.finder.prepared
    assert isinstance(prepared, Prepared)
    serving = serve(tmp_path / "run", port=0, prepared=prepared, explainer=explainer)
    serving.desk.reviewed.ready.wait()
    yield serving
    serving.stop()


@pytest.fixture
def opened(browser: Browser, served: Serving) -> Iterator[Open]:
    """Opens the page; at the end it must have asked nobody but its server, and complained about nothing."""
    contexts: list[BrowserContext] = []
    asked: list[str] = []
    complaints: list[str] = []

    def show(*, width: int = 1200, scheme: str = "light", complains: bool = False, again: Page | None = None) -> Page:
        look = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme, "reduced_motion": "reduce"}
        context = again.context if again else browser.new_context(**look)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(0)
        page.on("request", lambda request: asked.append(request.url))
        if not complains:  # a browser complains about every request that fails
            page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(served.address)
        page.locator("article.link").wait_for()
        return page

    yield show
    for context in contexts:
        context.close()
    home = served.address.partition("?")[0]
    assert asked
    assert all(url.startswith((home, "data:")) for url in asked)
    assert not complaints


def source(page: Page) -> str:
    """The name of the source that is shown."""
    return page.locator(".head .name bdi").first.text_content() or ""


def answer(page: Page, key: str) -> str:
    """Press a key, wait for another card, and return the source that was decided."""
    before = source(page)
    page.keyboard.press(key)
    expect(page.locator(".head .name bdi").first).not_to_have_text(before)
    return before


def arrived(page: Page) -> None:
    """Wait until nothing is on its way."""
    while page.evaluate("Object.keys(localStorage).filter((name) => name.startsWith('emea-review/')).length"):
        page.wait_for_timeout(20)


def verdicts(served: Serving) -> dict[str, str]:
    return {name: each.verdict for name, each in served.desk.decisions.standing().items()}


def correct(page: Page, served: Serving, *, searched: bool) -> str | None:
    """Choose another target than the one shown, if a free one is to be had: by search, or by its number."""
    shown = page.locator(".candidate[aria-pressed=true] bdi").text_content()
    listed = page.locator(".candidate:not(.search) bdi").all_text_contents()
    names = [its for _, its in SCRIPTS] if searched else listed
    names = [name for name in names if name != shown and not taken(served, served.desk.search(name, "target")[0])]
    if not names:
        return None
    if searched:
        page.keyboard.press("/")
        page.keyboard.type(names[0])
        expect(page.get_by_role("option").first).to_contain_text(names[0])
        page.keyboard.press("Enter")
    else:
        page.keyboard.press(str(listed.index(names[0]) + 1))
    expect(page.locator(".head .title bdi").nth(1)).to_have_text(names[0])
    return answer(page, "y")


def taken(served: Serving, target: dict[str, str]) -> bool:
    return bool(served.desk.decisions.confirmed(target["name"]))


@pytest.mark.slow
def test_sixty_decisions_by_keyboard_alone(opened: Open, served: Serving) -> None:
    page = opened()
    expected: dict[str, str] = {}
    corrected: list[str] = []
    while len(expected) < 60:
        number = len(expected)
        changed = correct(page, served, searched=bool(corrected)) if number >= 5 and len(corrected) < 2 else None
        if changed is not None:
            corrected.append(changed)
            expected[changed] = "yes"
            arrived(page)
            continue
        key = "0" if number % 13 == 12 else "n" if number % 7 == 6 else "u" if number % 17 == 16 else "y"
        proposed = served.desk.reviewed.proposed(source(page))
        if proposed is None or taken(served, {"name": proposed[0]}):  # then "right" would be wrong, or refused
            key = "0"
        expected[answer(page, key)] = VERDICTS[key]
        if number == 30:
            last = list(expected)[-1]
            page.keyboard.press("z")
            expect(page.locator(".message")).to_contain_text("Taken back")
            assert source(page) == last
            expected[answer(page, "u")] = "unsure"
    arrived(page)
    assert verdicts(served) == expected
    assert set(expected.values()) == set(VERDICTS.values())
    assert len(corrected) == 2
    for name in corrected:
        proposed, decided = served.desk.reviewed.proposed(name), served.desk.decisions.decided(name)
        assert decided is not None
        assert proposed is None or decided.target != proposed[0]
    assert len(served.desk.decisions.events()) == 62  # one was taken back, which is an event too
    expect(page.locator(".progress")).to_contain_text("60 of 117 decided")


def inspect(page: Page) -> None:
    found = Axe().run(page).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(opened: Open, scheme: str) -> None:
    page = opened(scheme=scheme)
    until(page, page.locator(".waterfall"))
    page.locator("details").evaluate_all("all => all.forEach(each => each.open = true)")
    inspect(page)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_dialogs(opened: Open, scheme: str) -> None:
    page = opened(scheme=scheme)
    for key in "?qbrf/":
        page.keyboard.press(key)
        if key == "b":
            page.keyboard.press("Enter")
            page.locator(".samples").wait_for()
        inspect(page)
        page.keyboard.press("Escape")


def until(page: Page, wanted: Locator) -> None:
    """Leave cards open until one has this."""
    for _ in range(30):
        if wanted.count():
            return
        answer(page, "u")
    pytest.fail(f"no card has {wanted}")


def test_a_card_of_the_sample_hides_its_score(opened: Open, served: Serving) -> None:
    page = opened()
    until(page, page.locator(".note", has_text="Score hidden"))
    assert served.desk.board.sampled(source(page)) is not None
    assert page.locator(".waterfall").count() == 0
    assert page.locator(".candidate small").all_text_contents() == [""] * page.locator(".candidate small").count()
    assert "score hidden" in (page.locator("#said").text_content() or "")


def find(page: Page, words: str) -> None:
    """Open the card of the source that has these words."""
    page.keyboard.press("f")
    page.keyboard.type(words)
    expect(page.get_by_role("option")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator("dialog")).to_have_count(0)
    expect(page.locator(".head .title bdi").first).to_contain_text(words)


def test_every_script_and_hostile_labels(opened: Open) -> None:
    page = opened()
    for mine, _ in SCRIPTS:
        find(page, mine)
        label = page.locator(".head .title bdi").first
        expect(label).to_have_text(mine, use_inner_text=True)
        if any("\u0590" <= letter <= "\u06ff" for letter in mine):
            assert label.evaluate("each => getComputedStyle(each).direction") == "rtl"
        page.keyboard.press("m")
        assert page.evaluate("window.hit") is None
        assert page.locator("#review :is(script, img, b)").count() == 0
        assert page.locator("#review bdi:not([dir=auto])").count() == 0
        answer(page, "u")
    addresses = page.locator("a").evaluate_all("all => all.map((each) => [each.getAttribute('href'), each.rel])")
    assert all(rel == "noreferrer noopener" for href, rel in addresses if href.startswith("http"))
    assert all(href.startswith(("http://", "https://", "/export/")) for href, _ in addresses)


def test_the_next_card_does_not_wait_for_the_server(opened: Open) -> None:
    page = opened()
    while (
        page.evaluate("performance.getEntriesByType('resource').filter((each) => /next$/.test(each.name)).length") < 3
    ):
        page.wait_for_timeout(20)  # for the first card and two ahead
    page.route("**/next", lambda route: None)  # nobody answers from now on
    page.route("**/decisions", lambda route: None)
    for _ in range(2):
        before = source(page)
        page.keyboard.press("y")
        expect(page.locator(".head .name bdi").first).not_to_have_text(before)
    assert "Next." in (page.locator("#said").text_content() or "")


def test_decisions_survive_a_closed_page(opened: Open, served: Serving) -> None:
    page = opened(complains=True)

    def lost(route: Route) -> None:
        if "decided" not in losses:
            route.fetch()  # the server stores it, but its answer is lost
            losses.append("decided")
        route.abort()

    losses: list[str] = []
    page.route("**/decisions", lost)
    names = [answer(page, "u"), answer(page, "u")]
    page.keyboard.press("c")
    page.keyboard.type("חדש")
    page.keyboard.press("Enter")
    names.append(answer(page, "0"))
    expect(page.get_by_role("alert")).to_contain_text("3 decisions are kept in this browser")
    page.close()
    assert list(verdicts(served)) == names[:1]
    page = opened(again=page)
    arrived(page)
    assert verdicts(served) == dict(zip(names, ["unsure", "unsure", "none"], strict=True))
    assert len(served.desk.decisions.events()) == 3
    decided = served.desk.decisions.decided(names[2])
    assert decided is not None
    assert decided.comment == "חדש"
    assert page.get_by_role("alert").count() == 0


def test_a_decision_that_is_refused_opens_its_card_again(opened: Open, served: Serving) -> None:
    page = opened(complains=True)
    body = '{"error": "found something else, expected <b>this</b>"}'
    page.route("**/decisions", lambda route: route.fulfill(status=409, content_type="application/json", body=body))
    before = source(page)
    page.keyboard.press("y")
    expect(page.get_by_role("alert")).to_contain_text("expected <b>this</b>")
    expect(page.locator(".head .name bdi").first).to_have_text(before)
    assert not verdicts(served)
    page.unroute("**/decisions")
    answer(page, "y")
    assert page.get_by_role("alert").count() == 0


def test_undo_goes_back_to_the_first(opened: Open, served: Serving) -> None:
    page = opened()
    names = [answer(page, "u") for _ in range(5)]
    arrived(page)
    page = opened(again=page)  # nothing of this is kept in the page
    for name in reversed(names):
        page.keyboard.press("z")
        expect(page.locator(".head .name bdi").first).to_have_text(name)
    page.keyboard.press("z")
    expect(page.locator(".message")).to_have_text("There is nothing of yours to take back.")
    assert not verdicts(served)


def test_many_are_accepted_and_taken_back_in_one_step(opened: Open, served: Serving) -> None:
    page = opened()
    answer(page, "u")
    page.keyboard.press("b")
    page.keyboard.press("Control+A")
    page.keyboard.type("0.99")
    page.keyboard.press("Enter")
    expect(page.locator(".expected")).to_contain_text("links, of which about")
    assert page.locator(".samples li").count() == 20
    page.get_by_role("button", name="Accept").last.press("Enter")
    expect(page.locator("dialog")).to_have_count(0)
    expect(page.locator(".message")).to_contain_text("Accepted")
    accepted = Counter(verdicts(served).values())["yes"]
    assert accepted > 90
    expect(page.locator(".progress")).to_contain_text(f"{accepted + 1} of 117 decided")
    page.keyboard.press("z")
    expect(page.locator(".message")).to_have_text(f"Taken back: {accepted} decisions.")
    assert list(verdicts(served).values()) == ["unsure"]


def test_another_queue(opened: Open, served: Serving) -> None:
    page = opened()
    page.keyboard.press("q")
    page.get_by_role("radio", name="Unlinked").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    expect(page.locator(".tools button").first).to_contain_text("Unlinked 5")
    page.locator("article.link").wait_for()
    page.keyboard.press("q")
    page.get_by_role("radio", name="A search").focus()
    page.keyboard.press("Space")
    assert page.get_by_role("button", name="Take these").is_disabled()
    page.get_by_label("Words in a name").fill("בית")
    page.keyboard.press("Enter")
    expect(page.locator("main h2")).to_contain_text("No undecided card is left")
    page.keyboard.press("q")
    page.get_by_label("Words in a name").fill("ירוש")
    page.keyboard.press("Enter")
    expect(page.locator(".head .title bdi").first).to_have_text("ירושלים")


def test_a_decided_card_is_opened_again(opened: Open, served: Serving) -> None:
    page = opened()
    name = answer(page, "u")
    arrived(page)
    following = source(page)
    page.locator(".recent button").first.press("Enter")
    expect(page.locator(".note").first).to_contain_text("Decided: unsure")
    assert source(page) == name
    page.keyboard.press("Escape")
    expect(page.locator(".head .name bdi").first).to_have_text(following)
    page.locator(".recent button").first.press("Enter")
    expect(page.locator(".head .name bdi").first).to_have_text(name)
    answer(page, "0")
    assert source(page) == following
    arrived(page)
    assert verdicts(served) == {name: "none"}


def test_keys_do_nothing_where_one_writes_or_holds_them(opened: Open, served: Serving) -> None:
    page = opened()
    before = source(page)
    page.keyboard.press("c")
    page.keyboard.type("yes, no")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+y")
    page.evaluate("document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'y', repeat: true, bubbles: true}))")
    page.keyboard.press("?")
    page.get_by_role("checkbox").press("Space")
    page.keyboard.press("Escape")
    page.keyboard.press("y")
    assert source(page) == before
    page.keyboard.press("?")
    page.get_by_role("checkbox").press("Space")
    page.keyboard.press("Escape")
    page.evaluate("document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'ו', code: 'KeyU', bubbles: true}))")
    expect(page.locator(".head .name bdi").first).not_to_have_text(before)
    arrived(page)
    assert verdicts(served) == {before: "unsure"}
    decided = served.desk.decisions.decided(before)
    assert decided is not None
    assert decided.comment == "yes, no"


def test_a_phone_needs_no_sideways_scrolling(opened: Open) -> None:
    page = opened(width=320)
    for key in ("u", "u", "?", "Escape", "q", "Escape", "b", "Escape", "/"):
        page.keyboard.press(key)
        assert page.evaluate("document.documentElement.scrollWidth") == 320
        assert page.locator("dialog").evaluate_all("all => all.every((each) => each.scrollWidth <= each.clientWidth)")
    assert page.locator("button").first.evaluate("each => getComputedStyle(each).transitionDuration") == "0s"


def test_the_next_run_and_its_progress(opened: Open) -> None:
    page = opened()
    answer(page, "u")
    state = {"state": "none", "lines": [], "out": None}

    def run(route: Route) -> None:
        if route.request.method == "POST":
            state.update(state="running", lines=["round 1 of 3"], out="run-2")
        route.fulfill(json=state)

    page.route("**/run", run)
    page.keyboard.press("r")
    page.get_by_role("button", name="Run with 1 decision").press("Enter")
    expect(page.locator("dialog pre")).to_have_text("round 1 of 3")
    expect(page.get_by_role("button", name="Running …")).to_be_disabled()
    state.update(state="done")
    expect(page.locator("dialog code")).to_have_text("emea review run-2")


def test_how_good_it_is(opened: Open) -> None:
    page = opened()
    expect(page.locator(".quality")).to_contain_text("Not known yet")
    stratum = {"linked": True, "low": 0.5, "high": 0.8, "size": 90, "asked": 20, "unsure": 0, "hits": 15}
    told = {
        "precision": 0.923,
        "low": 0.881,
        "high": 0.957,
        "recall": 0.81,
        "recall_low": 0.74,
        "recall_high": 0.87,
        "answered": 61,
        "look": 50,
        "next_look": 100,
        "unsure": 0,
        "more": 160,
        "strata": [{**stratum, "share_low": 0.53, "share_high": 0.89}],
        "stop": {"yes": False, "why": "Not yet: ± 2 points take about 160 more cards."},
    }
    page.route("**/estimate", lambda route: route.fulfill(json=told))
    until(page, page.locator(".note", has_text="Score hidden"))
    answer(page, "u")
    panel = page.locator(".quality")
    expect(panel).to_contain_text("Precision 92.3 % 88.1 % to 95.7 %")
    expect(panel).to_contain_text("Recall 81.0 % 74.0 % to 87.0 %")
    expect(panel).to_contain_text("61 answered; new figures at 100.")
    expect(panel.locator(".stop")).to_contain_text("160 more cards")
    page.keyboard.press("g")
    expect(page.locator("#quality")).to_be_focused()
    page.locator(".quality summary").press("Enter")
    expect(panel.locator("tbody tr")).to_contain_text("15 of 20")
    inspect(page)


def test_what_differs_is_marked(opened: Open) -> None:
    page = opened()
    find(page, SCRIPTS[6][0])
    table = page.get_by_role("table", name="Both entities side by side")
    label = table.locator("tr", has_text="window.hit").first
    assert label.locator("mark").all_text_contents() == ["town"]
    assert "% alike" in (label.locator(".sign").text_content() or "")
    assert table.locator("tr", has_text="Country").locator("line").count() == 1  # joined
    assert "taken for the same" in (table.text_content() or "")


def test_a_relation_that_leads_to_the_entity_is_called_an_inverse(opened: Open) -> None:
    page = opened()
    find(page, "Country 1")
    near = page.get_by_role("table", name="Both entities side by side").locator("tr.joined").first
    assert near.locator("small.attribute").all_text_contents() == ["inverse of in Country"] * 2


def test_what_was_not_compared_is_said(opened: Open, served: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    reviewed, line = served.desk.reviewed, "not compared: pages (nothing like it found in the target)"
    why = reviewed._why
    monkeypatch.setattr(reviewed, "_why", lambda *pair: {**(why(*pair) or {}), "not_compared": [line]})
    page = opened()
    while page.locator(".between small", has_text="score hidden").count():
        answer(page, "u")
    expect(page.locator(".reasons")).to_contain_text(line)
