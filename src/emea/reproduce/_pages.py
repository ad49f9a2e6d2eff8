"""Pages made from the cells: a table of values, figures, and the paper's findings beside ours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from emea.formats._files import writing
from emea.report.figures import SCHEMA, can_draw, save_plot
from emea.report.tables import Rows, csv_table, markdown_table
from emea.reproduce._cells import Measured
from emea.runs.store import System

NOT_MEASURED = "not measured"
CHOSEN = (
    "No run sees its test pairs. `letter` is the paper's algorithm as written; `paper` changes it where that is better "
    "([what, and what the paper leaves open](questions.md)). These changes were chosen by the results on splits 10 and "
    "11 of zh_en, the number of sweeps after split 0 had been scored as well; any two splits share most of their test "
    "pairs, so that ja_en and fr_en are the cleaner evidence. On a GPU, where sums have no fixed order, a run differs "
    "from its like by up to half a point."
)
STATED = "What the paper states, and whether it holds here; by Hit@1, mean of the splits, unless it says otherwise:"
RANKED = "; PARIS and PRASE ranked"  # of a reading
READINGS = {"": True, RANKED: False}  # whether PARIS and PRASE are judged by the links they emit, as in the paper
Verdict = Literal["agrees", "disagrees", "partly", "not measured"]


@dataclass(frozen=True)
class Finding:
    """What the paper states, and whether our figures agree."""

    claim: str
    verdict: Verdict
    figures: str = ""

    @classmethod
    def counted(cls, claim: str, right: Iterable[bool], figures: str = "") -> Finding:
        """A claim that should hold in all comparisons: it may hold in all, in some, or in none."""
        held = list(right)
        if not held:
            return cls(claim, "not measured")
        verdict: Verdict = "partly"
        if all(held) or not any(held):
            verdict = "agrees" if all(held) else "disagrees"
        return cls(claim, verdict, f"in {sum(held)} of {len(held)} comparisons" + (f"; {figures}" if figures else ""))

    @classmethod
    def somewhere(cls, claim: str, right: Iterable[bool]) -> Finding:
        """A claim that should hold in at least one comparison."""
        held = list(right)
        if not held:
            return cls(claim, "not measured")
        return cls(claim, "agrees" if any(held) else "disagrees", f"in {sum(held)} of {len(held)} comparisons")


@dataclass(frozen=True)
class Page:
    """One table or figure of the paper, reproduced."""

    name: str
    title: str
    about: str  # how it was made
    rows: Rows
    findings: dict[str, list[Finding]] = field(default_factory=dict)  # by reading, each about the same claims
    figures: dict[str, dict[str, Any]] = field(default_factory=dict)  # name → Vega-Lite
    below: str = ""

    def markdown(self, made: str) -> str:
        """The page as Markdown; `made` says how it was made."""
        suffix = ".svg" if can_draw() else ".json"
        parts = [f"# {self.title}", f"{made} {self.about}", *(f"![{name}]({name}{suffix})" for name in self.figures)]
        parts += [markdown_table(self.rows) or "Nothing of it is measured.", self.below]
        if self.findings:
            parts += [STATED, markdown_table(self._stated())]
        return "\n\n".join(part for part in parts if part) + "\n"

    def _stated(self) -> Rows:
        """A row for each claim; where PARIS and PRASE are ranked, only what differs."""
        rows: Rows = []
        for told in zip(*self.findings.values(), strict=True):
            row = {"the paper": told[0].claim}
            for reading, one in zip(self.findings, told, strict=True):
                shown = f"**{one.verdict}**, {one.figures}" if one.figures else one.verdict
                same = reading.endswith(RANKED) and row[reading.removesuffix(RANKED)] == shown
                row[reading] = "" if same else shown
            rows.append(row)
        idle = [reading for reading in self.findings if not any(row[reading] for row in rows)]
        return [{key: value for key, value in row.items() if key not in idle} for row in rows]

    def write(self, folder: Path, made: str) -> list[Path]:
        """Write the page as Markdown, its values as CSV, and its figures as SVG and PNG, or as Vega-Lite if they cannot
        be drawn."""
        folder.mkdir(parents=True, exist_ok=True)
        paths = []
        for suffix, text in ((".md", self.markdown(made)), (".csv", csv_table(self.rows))):
            paths.append(folder / f"{self.name}{suffix}")
            with writing(paths[-1]) as file:
                file.write(text.encode())
        for name, spec in self.figures.items():
            for suffix in (".svg", ".png") if can_draw() else (".json",):
                paths.append(folder / f"{name}{suffix}")
                save_plot(spec, paths[-1])
        return paths


def write_overview(folder: Path, titles: dict[str, str]) -> None:
    """Write one page with all tables and figures made in the folder, by name and title, and their verdicts on the
    paper's findings."""
    parts = ["# The paper's tables and figures, made anew", f"Made by `emea reproduce`; each page says how. {CHOSEN}"]
    for name, title in titles.items():
        if (folder / f"{name}.md").exists():
            found = sorted(path.name for path in folder.glob(f"{name}*.svg"))
            parts += [f"## [{title}]({name}.md)", *(f"![{path}]({path})" for path in found)]
            parts += (folder / f"{name}.md").read_text(encoding="utf-8").partition(STATED)[1:]
    with writing(folder / "overview.md") as file:
        file.write(("\n\n".join(part.strip() for part in parts if part) + "\n").encode())


def shown_p(p: float | None) -> str:
    """A p-value for a table; empty if there is none."""
    return "" if p is None else "< 1e-9" if p < 1e-9 else f"{p:.2g}"


def ahead(
    measured: Measured,
    first: System,
    second: System,
    cells: Iterable[tuple[str, float]],
    *,
    by: float = 0.0,
    links: bool = True,
) -> list[bool]:
    """For each cell where both are measured: whether the first has the higher Hit@1, by more than `by`. With `links`,
    the Hit@1 of a system that emits links is the share of the true ones among them."""
    answers = []
    for data, ratio in cells:
        hits = measured.both(first, second, data, ratio, links=links)
        if hits is not None:
            answers.append(hits[0] > hits[1] + by)
    return answers


def lines_plot(rows: list[dict[str, Any]], x: str, y: str, color: str, facet: str | None = None) -> dict[str, Any]:
    """Lines with points, one colour each, in one panel for each value of the facet; all in the order of the rows."""
    axis = {"values": sorted({row[x] for row in rows}), **({"format": "%"} if x == "seeds" else {})}
    spec: dict[str, Any] = {
        "width": 260,
        "height": 200,
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": {"field": x, "type": "quantitative", "scale": {"zero": False}, "axis": axis},
            "y": {"field": y, "type": "quantitative", "scale": {"zero": False}},
            "color": {"field": color, "type": "nominal", "title": None, "sort": _in_order(rows, color)},
        },
    }
    return with_facet(spec, rows, facet)


def with_facet(spec: dict[str, Any], rows: list[dict[str, Any]], facet: str | None) -> dict[str, Any]:
    """The plot of the rows, in one panel or in one for each value of the facet."""
    head = {"$schema": SCHEMA, "background": "white", "data": {"values": rows}}
    if facet is None:
        return {**head, **spec}
    side = {"field": facet, "type": "nominal", "title": None, "sort": _in_order(rows, facet)}
    return {**head, "facet": side, "columns": 3, "spec": spec, "resolve": {"scale": {"x": "independent"}}}


def _in_order(rows: list[dict[str, Any]], key: str) -> list[Any]:
    return list(dict.fromkeys(row[key] for row in rows))
