"""What a notebook shows of a result."""

from __future__ import annotations

import pyarrow as pa

from emea.report.charts import histogram
from emea.report.markup import h, html, label, named

SHOWN = 10  # links


def shown(title: str, links: pa.Table) -> str:
    """The surest links and a histogram of all, as HTML that needs no style."""
    rows = []
    for link in links.slice(0, SHOWN).to_pylist():
        ends = [named(link[side], link[f"{side}_label"] or link[side]) for side in ("source", "target")]
        rows.append(h("tr", *(h("td", end) for end in ends), h("td", f"{link['confidence']:.3f}")))
    head = h("thead", h("tr", *(h("th", text) for text in ("source", "target", "confidence"))))
    more = f"{min(SHOWN, links.num_rows)} of {links.num_rows:,} links, the surest first"
    table = h("table", h("caption", more), head, h("tbody", *rows))
    return html(h("div", h("p", label(title)), table, histogram(links["confidence"].to_numpy())))
