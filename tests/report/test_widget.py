"""In a notebook, an explanation is the card that the review page draws."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from made_up import explanation, rows
from playwright.sync_api import Browser

from emea.report.notebook import card_module, card_widget
from emea.result import ShownExplanation

FOUND = ShownExplanation("a", "x", "A", "X", "link", 0.75)


class AnyWidget:
    """Stands for that of anywidget."""

    def __init__(self, **given: Any) -> None:
        self.given = given

    def _repr_mimebundle_(self, **kinds: Any) -> dict[str, Any]:
        return {"widget": self.given}


def test_an_explanation_is_a_widget_where_there_are_widgets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    assert card_widget(FOUND.to_dict()) is None
    assert FOUND._repr_mimebundle_() is None
    for name, found in (("anywidget", AnyWidget), ("traitlets", SimpleNamespace)):
        module = ModuleType(name)
        module.AnyWidget, module.Dict = found, lambda: SimpleNamespace(tag=lambda sync: sync)  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, name, module)
    made = card_widget(FOUND.to_dict())
    assert made is not None
    assert (made._esm, made._css) == card_module()
    assert FOUND._repr_mimebundle_()["widget"]["explanation"]["confidence"] == 0.75


def test_the_widget_draws_the_card_and_leaves_the_notebook_alone(browser: Browser) -> None:
    script, style = card_module()
    page = browser.new_page()
    page.set_content("<style></style><a id=other href='/'>other</a><div id=cell></div>")
    before = page.evaluate("getComputedStyle(document.getElementById('other')).color")
    page.evaluate("style => { document.querySelector('style').textContent = style; }", style)
    page.evaluate(
        """async ([script, explanation]) => {
            const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
            const { default: widget } = await import(address);
            widget.render({ model: { get: () => explanation }, el: document.getElementById("cell") });
        }""",
        [script, explanation(rows(1)[0])],
    )
    assert page.locator("#cell article.card ol.waterfall > li").count() == 7
    assert page.evaluate("getComputedStyle(document.getElementById('other')).color") == before
    assert page.evaluate("getComputedStyle(document.querySelector('.card')).backgroundColor") != "rgba(0, 0, 0, 0)"
    page.close()
