"""Rows of the tables: reported values beside measured ones."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from emea.report.tables import Rows
from emea.reproduce import _paper
from emea.reproduce._cells import Measured, Plan
from emea.reproduce._pages import CHOSEN, NOT_MEASURED, shown_p
from emea.reproduce._paper import best_published, told
from emea.reproduce._systems import LETTER, PARIS, ours
from emea.runs.store import System

MEASURES = ("hit@1", "mrr", "mr")
Published = dict[str, dict[str, tuple[_paper.Figures, ...]]]
REPORTED = "*reported* is the paper's figure, from code that knows test pairs."
ABOUT = (
    "Structure only, blind, ranked among the targets of the test pairs; the paper's systems by CSLS of their "
    "embeddings, our presets by their final probabilities; a tie is no hit. The probabilities of `paper` (*EMEA sup*, "
    "*EMEA semi*) are fitted to 100 validation pairs, which no other system sees; those of `letter` (*to the letter*) "
    "to the seeds. PARIS and PRASE do not rank: the paper counts the links they emit as Hit@1 (*links*); *hit@1* ranks "
    "by their probabilities. "
    f"{REPORTED} *best published*: the best structure-only Hit@1 known to us, whose sources are in "
    "[results](../results.md). *gain*: by how many points the Hit@1 of a system is higher than RREA's, with the 95 % "
    "interval that the splits allow; splits share most of their pairs, so that it is too narrow. p: paired "
    "two-tailed t-test on reciprocal ranks within a split, the largest over the splits; entities are not independent, "
    "so that a p-value overstates how sure one can be. "
    f"{CHOSEN}"
)


def beside_reported(
    measured: Measured,
    systems: Iterable[System],
    published: Published,
    measures: Iterable[str],
    model: System,
) -> Rows:
    """A row for each set, ratio and system, ours below the paper's; each is compared with the model alone."""
    rows: Rows = []
    plan, kinds = measured.plan, list(systems)
    for data in plan.sets:
        for ratio in plan.ratios:
            best = best_published(data, ratio)
            for system in (*kinds, *(map(ours, plan.presets) if PARIS in kinds else ())):
                reported = told(published, data, system.name.removesuffix(LETTER), ratio)
                row = {"set": data, "seeds": f"{ratio:.0%}", "method": system.name}
                for place, measure in enumerate(measures):
                    digits = 1 if measure == "mr" else 3
                    row[f"{measure}, reported"] = f"{reported[place]:.{digits}f}" if place < len(reported) else ""
                    row[measure] = measured.shown(system, data, ratio, measure)
                if PARIS in kinds:
                    row["links"] = measured.shown(system, data, ratio, "links") if system.emits else ""
                row["best published hit@1"] = "" if best is None else f"{best.hit:.3f}"
                compared = system in kinds and system != model
                gain = measured.gain(system, model, data, ratio) if compared else None
                row[f"gain over {model.name}"] = "" if gain is None else f"{100 * gain[0]:+.1f} ± {100 * gain[1]:.1f}"
                row[f"p against {model.name}"] = (
                    shown_p(measured.p_value(system, model, data, ratio)) if compared else ""
                )
                rows.append(row)
    return rows


def unmeasured(data: str, systems: Iterable[System], ratios: Iterable[float], like: dict[str, str]) -> Rows:
    """Rows of a set that is not available, with the reported values."""
    rows: Rows = []
    for ratio in ratios:
        for system in systems:
            reported = told(_paper.TABLE_1, data, system.name.removesuffix(LETTER), ratio)
            row = dict.fromkeys(like, "") | {"set": data, "seeds": f"{ratio:.0%}", "method": system.name}
            for measure, value in zip(MEASURES, reported, strict=False):
                row[f"{measure}, reported"] = f"{value:.{1 if measure == 'mr' else 3}f}"
            rows.append(row | dict.fromkeys(MEASURES, NOT_MEASURED))
    return rows


def missing_sets(plan: Plan) -> str:
    absent = [name for name in _paper.TABLE_1 if name not in plan.sets]
    commands = ", ".join(f"`emea reproduce table1 --data {name}`" for name in absent)
    return f"Not measured: {', '.join(absent)}; where the folder is there, by {commands}." if absent else ""


def seconds(values: list[float]) -> str:
    return f"{median(values):.2f}" if values else NOT_MEASURED
