"""Elements of HTML and SVG: what they hold is always text, so that no label can become markup."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, tostring

Content = Element | str | None
WEB = ("http://", "https://")


def h(tag: str, *content: Content, **attributes: str | float | None) -> Element:
    """An element; `class_` and `aria_label` stand for class and aria-label, and what is None is left out.

    >>> html(h("p", "a < b", h("br"), "c", class_="note"))
    '<p class="note">a &lt; b<br>c</p>'
    """
    given = {name.strip("_").replace("_", "-"): value for name, value in attributes.items()}
    made = Element(tag, {name: _written(value) for name, value in given.items() if value is not None})
    for each in content:
        if isinstance(each, Element):
            made.append(each)
        elif each is not None:
            _append_text(made, each)
    return made


def html(element: Element) -> str:
    """An element as HTML."""
    return tostring(element, encoding="unicode", method="html")


def label(text: str, **attributes: str) -> Element:
    """A name in whatever script, which does not disturb the direction of what stands around it."""
    return h("bdi", text, dir="auto", **attributes)


def named(name: str, shown: str | None = None) -> Element:
    """The name of an entity or relation; one on the web can be followed.

    >>> html(named("javascript:alert(1)"))
    '<bdi dir="auto">javascript:alert(1)</bdi>'
    """
    inside = label(shown or name)
    return h("a", inside, href=name, rel="noreferrer noopener") if name.lower().startswith(WEB) else inside


def table(head: tuple[str, ...], rows: Sequence[tuple[Content, ...]], caption: str, *, numbers: int = 0) -> Element:
    """A table whose last `numbers` columns are numbers; the first cell of a row names the row."""
    first = len(head) - numbers
    kinds = ["number" if column >= first else None for column in range(len(head))]
    heads = [
        h("th", text, scope="col", class_=kind) if text else h("td") for text, kind in zip(head, kinds, strict=True)
    ]  # a header without text has nothing to say to those who cannot see it
    top = h("tr", *heads)
    body = []
    for row in rows:
        cells = [h("td", cell, class_=kind) for cell, kind in zip(row[1:], kinds[1:], strict=True)]
        body.append(h("tr", h("th", row[0], scope="row"), *cells))
    made = h("table", h("caption", caption, class_="unseen"), h("thead", top), h("tbody", *body))
    # What is wider than a phone scrolls by itself, and by keyboard.
    return h("div", made, class_="scrolls", tabindex=0, role="region", aria_label=caption)


def _append_text(made: Element, text: str) -> None:
    if len(made):
        made[-1].tail = (made[-1].tail or "") + text
    else:
        made.text = (made.text or "") + text


def _written(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"
