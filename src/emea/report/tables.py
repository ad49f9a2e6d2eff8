"""Tables as Markdown and as CSV."""

from __future__ import annotations

import csv
import io

Rows = list[dict[str, str]]


def markdown_table(rows: Rows) -> str:
    """The rows under the names of their columns.

    >>> print(markdown_table([{"set": "zh_en", "Hit@1": "0.8"}]))
    | set | Hit@1 |
    |---|---|
    | zh_en | 0.8 |
    """
    if not rows:
        return ""
    columns = list(rows[0])
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join([*lines, *("| " + " | ".join(row[column] for column in columns) + " |" for row in rows)])


def csv_table(rows: Rows) -> str:
    """The same for other programs."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
