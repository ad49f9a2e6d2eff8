"""Table 3: the neural models by themselves."""

from __future__ import annotations

from collections.abc import Iterable

from emea.report.tables import Rows, markdown_table
from emea.reproduce import _paper
from emea.reproduce._cells import Measured, Plan
from emea.reproduce._items import Item
from emea.reproduce._pages import Page, shown_p
from emea.reproduce._rows import ABOUT, MEASURES, REPORTED
from emea.reproduce._systems import ENCODERS, QUOTED, alone, guided, ours
from emea.runs.store import Cell, System

TRAINED, LOOPED = 0.3, 0.05  # of the labels: for the models alone, and to see what the loop adds to those quoted
REPORTED_BY = (
    "*reported* is what the paper quotes from the models' own papers, whose code is not always blind. GCN-Align's "
    "figures there are with attributes (with structure alone .384, .382 and .365 are published), BootEA's with a third "
    "objective and MuGNN's with rules, which ours leave out."
)


class Table3(Item):
    """The neural models by themselves."""

    title = "Table 3: neural models with 30 % of the labels"
    ratios = (TRAINED, LOOPED)

    def cells(self, plan: Plan) -> Iterable[Cell]:
        """The models implemented here, and our presets, on one split, but those that the paper only quotes on all of
        the first set; then these in its loop, on one split of that set."""
        first, split = next(iter(plan.sets)), plan.splits[0]
        quoted = {alone(name, mode) for name in QUOTED for mode in ("sup", "semi")}
        every = plan.cells([*self._here().values(), *map(ours, plan.presets)], [TRAINED])
        yield from (cell for cell in every if cell.split == split or (cell.data == first and cell.system in quoted))
        loops = plan.cells([*map(alone, QUOTED), *map(guided, QUOTED)], [LOOPED])
        yield from (cell for cell in loops if (cell.data, cell.split) == (first, split))

    def page(self, measured: Measured) -> Page:
        """Our results beside those that the paper quotes."""
        rows: Rows = []
        one = measured.on_first_split()
        here = {**self._here(), **{f"emea {preset}": ours(preset) for preset in measured.plan.presets}}
        for name in {**_paper.TABLE_3, **here}:
            row = {"method": name}
            for data in measured.plan.sets:
                place = _paper.TABLE_3_SETS.index(data) if data in _paper.TABLE_3_SETS else None
                quoted = _paper.TABLE_3[name][place] if name in _paper.TABLE_3 and place is not None else ()
                for column, measure in enumerate(MEASURES[:2]):
                    row[f"{data} {measure}, reported"] = f"{quoted[column]:.3f}" if quoted else ""
                    row[f"{data} {measure}"] = one.shown(here[name], data, TRAINED, measure)
            rows.append(row)
        below = "\n\n".join(filter(None, (self._on_all_splits(measured), self._looped(one))))
        return Page("table3", self.title, ABOUT.replace(REPORTED, REPORTED_BY), rows, below=below)

    def _on_all_splits(self, measured: Measured) -> str:
        """The models that the paper only quotes, on all splits of the first set."""
        data, splits = next(iter(measured.plan.sets)), measured.plan.splits
        if len(splits) == 1:
            return ""
        rows: Rows = [
            {"model": name, **{measure: measured.shown(system, data, TRAINED, measure) for measure in MEASURES[:2]}}
            for name, system in self._here().items()
            if name.partition(" ")[0] in QUOTED
        ]
        about = f"{data}, {TRAINED:.0%} of the labels, splits {', '.join(map(str, splits))}"
        return f"Those that the paper quotes, on several splits; {about}:\n\n{markdown_table(rows)}"

    @staticmethod
    def _looped(measured: Measured) -> str:
        """What the paper's loop adds to the models that the paper only quotes."""
        data, rows = next(iter(measured.plan.sets)), []
        for model in QUOTED:
            both = {"alone": alone(model), "with EMEA": guided(model)}
            hits = {what: measured.shown(system, data, LOOPED) for what, system in both.items()}
            p = measured.p_value(both["with EMEA"], both["alone"], data, LOOPED)
            rows.append({"model": model, **hits, "p": shown_p(p)})
        about = f"Hit@1, {data}, {LOOPED:.0%} of the labels, split {measured.plan.splits[0]}"
        return f"Those that the paper quotes, alone and in its loop (`paper`); {about}:\n\n{markdown_table(rows)}"

    @staticmethod
    def _here() -> dict[str, System]:
        semi = ("RREA", "Dual-AMN", "MRAEA", "PSR", "BootEA")
        sup = [name for name in ENCODERS if name != "BootEA"]  # which is reported in one mode only
        systems = {f"{name} sup" if name in semi else name: alone(name) for name in sup}
        return {**systems, **{f"{name} semi": alone(name, "semi") for name in semi}}
