"""What a notebook shows of a result."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import pyarrow as pa

from emea.report.charts import histogram
from emea.report.explained import shortened
from emea.report.markup import h, html, label, named
from emea.runs.wording import counted

SHOWN = 10  # links
DRAW = """
export default {
  render({ model, el }) {
    el.classList.add("emea-card");
    el.replaceChildren(card(model.get("explanation")));
  },
};
"""


def shown(title: str, links: pa.Table) -> str:
    """The surest links and a histogram of all, as HTML that needs no style."""
    rows = []
    for link in links.slice(0, SHOWN).to_pylist():
        ends = [named(link[side], link[f"{side}_label"] or link[side]) for side in ("source", "target")]
        rows.append(h("tr", *(h("td", end) for end in ends), h("td", f"{link['confidence']:.3f}")))
    head = h("thead", h("tr", *(h("th", text) for text in ("source", "target", "confidence"))))
    more = f"{min(SHOWN, links.num_rows)} of {counted(links.num_rows, 'link')}, the surest first"
    table = h("table", h("caption", more), head, h("tbody", *rows))
    return html(h("div", h("p", label(title)), table, histogram(links["confidence"].to_numpy())))


def card_widget(explanation: dict[str, Any]) -> Any | None:
    """The card of a link as the review page draws it, as a widget; None where anywidget is not installed."""
    try:
        import anywidget
        import traitlets
    except ModuleNotFoundError:
        return None
    module, style = card_module()
    parts = {"_esm": module, "_css": style, "explanation": traitlets.Dict().tag(sync=True)}
    return type("LinkCard", (anywidget.AnyWidget,), parts)(explanation=shortened(explanation))


def card_module() -> tuple[str, str]:
    """The script that draws a card, in the form of a widget, and its style, which leaves other cells alone."""
    script, style = ((files("emea.report") / "static" / f"card.{kind}").read_text("utf-8") for kind in ("js", "css"))
    return script + DRAW, ".emea-card {\n" + style.replace(":root", "&") + "}\n"
