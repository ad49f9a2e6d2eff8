"""What `emea bench --plan` prints."""

from __future__ import annotations

from typing import Any

from rich.table import Column, Table

from emea.cli._console import out


def show_plan(found: dict[str, Any]) -> None:
    """Rounds on clusters of several sizes, computed from a run."""
    out.print(
        f"Computed from a run of {found['entities']:,} entities on {found['cores']} cores of a cluster, which took "
        f"{found['seconds']:,.0f} s; nothing below was measured. Machines have {found['rows'][0]['cores']} cores and "
        "fetch 1.25 GB a second.",
        highlight=False,
    )
    names = (
        "entities",
        "machines",
        "seconds a round",
        "of these the driver",
        "GB into each machine",
        "GB of the driver",
    )
    table = Table(*(Column(name, justify="right") for name in names), box=None)
    for row in found["rows"]:
        table.add_row(
            f"{row['entities']:,}",
            f"{row['nodes']}",
            f"{row['seconds']:,.0f}",
            f"{row['driver seconds']:,.0f}",
            f"{row['bytes into a machine'] / 1e9:,.1f}",
            f"{row['driver bytes'] / 1e9:,.1f}",
        )
    out.print(table)
