"""What the paper leaves open, examined."""

from __future__ import annotations

from collections.abc import Iterable

from emea.report.tables import Rows, markdown_table
from emea.reproduce._cells import Measured, Plan
from emea.reproduce._items import Item
from emea.reproduce._pages import Page, shown_p
from emea.reproduce._systems import EMEA_SEMI, EMEA_SUP, RREA_LONG
from emea.runs.store import Cell

VARIANTS = {
    "semi-supervised": EMEA_SEMI,
    "MinMax scaling instead of eq. 1–2, all evidence counted": EMEA_SUP.but(
        "EMEA sup, MinMax", "probability.scaling=minmax", "rules.paris.minimum=0"
    ),
    "one sweep of coordinate ascent": EMEA_SUP.but("EMEA sup, one sweep", "compatibility.sweeps=1"),
    "one sweep, evidence from .05 on": EMEA_SUP.but(
        "EMEA sup, one sweep, more evidence", "compatibility.sweeps=1", "rules.paris.minimum=0.05"
    ),
    "to the letter: one sweep, hard evidence, labels sampled, the Markov blanket": EMEA_SUP.but(
        "EMEA sup, to the letter",
        "compatibility.sweeps=1",
        "rules.paris.evidence=best",
        "em.labels=sampled",
        "rules.paris.scope=blanket",
    ),
    "hard evidence instead of soft": EMEA_SUP.but("EMEA sup, hard evidence", "rules.paris.evidence=best"),
    "labels sampled instead of the best": EMEA_SUP.but("EMEA sup, sampled", "em.labels=sampled"),
    "the Markov blanket instead of the own factor": EMEA_SUP.but("EMEA sup, blanket", "rules.paris.scope=blanket"),
    "RREA alone, for as many epochs": RREA_LONG,
}
DONE: Rows = [
    {"the paper": paper, "the preset": preset, "why": why}
    for paper, preset, why in (
        (
            "coordinate ascent until q* converges (4.4), in practice one sweep (4.5)",
            "three sweeps, from the second on starting from q_Θ · q*",
            "better with few labels",
        ),
        ("all evidence counts (eq. paris_prob)", "above .5", "better with more than one sweep"),
        ("evidence hard (4.5) or soft (eq. paris_prob)", "soft", "better"),
        ("labels are a sample of q* (Algorithm 1)", "its best", "better"),
        ("the whole Markov blanket (eq. cond_p)", "the entity's own factor", "better"),
        (
            "Pr(r ⊆ r') from training and test links (released code)",
            "from the beliefs, each round",
            "test pairs are sealed",
        ),
    )
]


class Questions(Item):
    """Choices that the paper mentions but does not measure."""

    title = "What the paper leaves open"
    ratios = (0.01, 0.05, 0.3)

    def cells(self, plan: Plan) -> Iterable[Cell]:
        """The paper's loop, and each alternative."""
        return plan.cells([EMEA_SUP, *VARIANTS.values()], self.ratios)

    def page(self, measured: Measured) -> Page:
        """Hit@1, and the difference in points."""
        rows: Rows = []
        for data in measured.plan.sets:
            for name, system in {"as in the preset `paper`": EMEA_SUP, **VARIANTS}.items():
                row = {"set": data, "choice": name}
                for ratio in (ratio for ratio in measured.plan.ratios if ratio in self.ratios):
                    here, there = measured.mean(system, data, ratio), measured.mean(EMEA_SUP, data, ratio)
                    change = f" ({100 * (here - there):+.1f})" if here is not None and there is not None else ""
                    p = measured.p_value(system, EMEA_SUP, data, ratio) if system != EMEA_SUP else None
                    row[f"{ratio:.0%}"] = measured.shown(system, data, ratio) + change
                    row[f"p at {ratio:.0%}"] = shown_p(p)
                rows.append(row)
        about = (
            "Hit@1 by CSLS among the targets of the test pairs; in brackets the difference in points; p: paired t-test."
        )
        return Page(
            "questions", self.title, about, rows, below=f"What the preset `paper` does:\n\n{markdown_table(DONE)}"
        )
