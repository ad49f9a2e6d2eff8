"""What the paper leaves open, examined."""

from __future__ import annotations

from collections.abc import Iterable

from emea.report.tables import Rows, markdown_table
from emea.reproduce._cells import Measured, Plan
from emea.reproduce._items import Item
from emea.reproduce._pages import Page, shown_p
from emea.reproduce._systems import EMEA_SEMI, EMEA_SUP, RREA_LONG, as_written
from emea.runs.store import Cell

WRITTEN = as_written(EMEA_SUP)
VARIANTS = {
    "`letter`: the paper as written": WRITTEN,
    "… fitted to validation pairs instead of the seeds": WRITTEN.but(
        f"{WRITTEN.name}, validation", "probability.fit_to=validation"
    ),
    "… soft evidence instead of hard": WRITTEN.but(f"{WRITTEN.name}, soft", "rules.paris.evidence=forward"),
    "… the best label instead of a sample": WRITTEN.but(f"{WRITTEN.name}, best", "em.labels=best"),
    "… the own factor instead of the Markov blanket": WRITTEN.but(f"{WRITTEN.name}, own", "rules.paris.scope=own"),
    "… three sweeps instead of one": WRITTEN.but(f"{WRITTEN.name}, three sweeps", "compatibility.sweeps=3"),
    "`paper`, semi-supervised": EMEA_SEMI,
    "`paper` with MinMax scaling instead of eq. 1–2, all evidence counted": EMEA_SUP.but(
        "EMEA sup, MinMax", "probability.scaling=minmax", "rules.paris.minimum=0"
    ),
    "`paper` fitted to the seeds": EMEA_SUP.but("EMEA sup, fitted to seeds", "probability.fit_to=known"),
    "`paper` with one sweep": EMEA_SUP.but("EMEA sup, one sweep", "compatibility.sweeps=1"),
    "`paper` with one sweep, evidence from .05 on": EMEA_SUP.but(
        "EMEA sup, one sweep, more evidence", "compatibility.sweeps=1", "rules.paris.minimum=0.05"
    ),
    "`paper` with hard evidence": EMEA_SUP.but("EMEA sup, hard evidence", "rules.paris.evidence=best"),
    "`paper` with sampled labels": EMEA_SUP.but("EMEA sup, sampled", "em.labels=sampled"),
    "`paper` with the Markov blanket": EMEA_SUP.but("EMEA sup, blanket", "rules.paris.scope=blanket"),
    "RREA alone, for as many epochs": RREA_LONG,
}
CHANGED: Rows = [
    {"the paper (`letter`)": letter, "`paper`": paper, "why": why}
    for letter, paper, why in (
        (
            "probabilities are fitted to the labelled data L (eq. 3)",
            "to 100 validation pairs",
            "an encoder is too sure of what it learned; the paper has validation pairs (5.1), but states no use",
        ),
        (
            "one sweep over all entities (4.5, 3)",
            "three, from the second on starting from q_Θ · q*",
            "better with few labels; chosen after split 0 of zh_en had been scored",
        ),
        (
            "evidence is hard, the argmax of q_Θ (4.5, 2)",
            "soft, q_Θ itself, as in eq. paris_prob, if above .5",
            "better",
        ),
        ("labels are a sample of q* (Algorithm 1)", "its best", "better"),
        ("the whole Markov blanket (eq. cond_p)", "the entity's own factor", "better, and faster"),
        ("all iterations", "until less than 1 % of the labels change", "faster"),
    )
]
OPEN: Rows = [
    {"open": question, "both presets": answer}
    for question, answer in (
        ("which similarity s_Θ is (4.1)", "CSLS with 10 neighbours, as RREA's evaluation uses"),
        (
            "where Pr(r ⊆ r') comes from",
            "PARIS's eq. 12 on the beliefs of each round; the released code counts training and test links",
        ),
        ("how many iterations there are", "ten, as in Fig. 5"),
        ("how long Θ is trained in an iteration", "RREA 200 epochs more, from where it was"),
        (
            "which label an entity gets whose best candidates have the same q*",
            "the one that q_Θ prefers; none if that is tied, too",
        ),
        ("how Φ is maximised", "Newton's method; weights stay positive"),
        ("which entities are unlabelled", "all that are in no seed; the released code takes the test entities"),
    )
]
DEPARTURES: Rows = [
    {"model": model, "departs from its publication": departure}
    for model, departure in (
        (
            "all",
            "parameters are averaged over the last epochs of a fit; semi-supervised turns look for pairs among all "
            "unlabelled entities, not among the test entities",
        ),
        ("Dual-AMN", "dropout .4 instead of .3; few pairs are repeated until an epoch has 2,048"),
        ("AliNet", "negatives are drawn from the 50 nearest entities; which relation pairs are frequent was tried out"),
        ("IPTransE", "replacements are drawn from the 50 nearest entities; margin .5 instead of 1.5"),
        (
            "PARIS",
            "written from its paper, not its Java code; stops when 1 % of the best pairs is new, after at most 60",
        ),
        ("PRASE", "written from its paper, on our PARIS and our RREA; two turns of the encoder"),
    )
]


class Questions(Item):
    """What the preset `paper` changes, what the paper leaves open, and what each choice costs."""

    title = "The paper as written, what we changed, and what it leaves open"
    ratios = (0.01, 0.05, 0.3)

    def cells(self, plan: Plan) -> Iterable[Cell]:
        """The loop as changed, as written, and each step between them."""
        return plan.cells([EMEA_SUP, *VARIANTS.values()], self.ratios)

    def page(self, measured: Measured) -> Page:
        """Hit@1, and the difference in points."""
        rows: Rows = []
        for data in measured.plan.sets:
            for name, system in {"`paper`": EMEA_SUP, **VARIANTS}.items():
                row = {"set": data, "choice": name}
                for ratio in (ratio for ratio in measured.plan.ratios if ratio in self.ratios):
                    here, there = measured.mean(system, data, ratio), measured.mean(EMEA_SUP, data, ratio)
                    change = f" ({100 * (here - there):+.1f})" if here is not None and there is not None else ""
                    p = measured.p_value(system, EMEA_SUP, data, ratio) if system != EMEA_SUP else None
                    row[f"{ratio:.0%}"] = measured.shown(system, data, ratio) + change
                    row[f"p at {ratio:.0%}"] = shown_p(p)
                rows.append(row)
        about = (
            "Hit@1 by CSLS among the targets of the test pairs; in brackets the difference from `paper` in points; "
            "p: paired t-test on reciprocal ranks."
        )
        below = (
            f"What the preset `paper` changes:\n\n{markdown_table(CHANGED)}\n\n"
            f"What the paper leaves open:\n\n{markdown_table(OPEN)}\n\n"
            f"The models and baselines are not in every respect as published:\n\n{markdown_table(DEPARTURES)}"
        )
        return Page("questions", self.title, about, rows, below=below)
