"""Measures what a person's decisions do for the next run, and writes their sections of docs/results.md.

    python scripts/review_gain.py [DATA] [--sets world zh_en] [--device cuda] [--minutes 10]    # measure
    python scripts/review_gain.py --page                                                        # write the sections
    python scripts/review_gain.py [DATA] --sets zh_en world --tune                              # print, keep nothing

The reviewer is simulated: asked about a source, it answers with the target that the reference has, with "none" where
the reference is known to list all counterparts, and else with "unsure". Nothing but these answers and the evaluation
sees the reference. Each run is kept in docs/review as soon as it is measured; repeating the command continues with the
missing ones. The queue was tuned with the splits and seeds that --tune takes, never on contea.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pyarrow as pa
import torch

import emea
import no_seeds
from _records import REPOSITORY, Records, measure_missing, measuring, read_records, write_sections
from emea.analysis.calibration import calibration_error, reliability
from emea.data import Alignment, Graph, Links, Task
from emea.formats._writing import alignment_table
from emea.report.tables import Rows, markdown_table
from emea.result import Result
from emea.review import queues
from emea.review.dealer import Dealer
from emea.review.estimates import Sample
from emea.review.queues import Cards, Reach
from emea.runs.store import Cell, System
from emea.runs.unlinked import unlinked
from emea.settings import Settings, load

STORE = REPOSITORY / "docs" / "review"
SPLITS, TUNING = (0, 1, 2), (10, 11, 12, 13, 14)
SEEDS = {"zh_en": 0.01, "world": 0.0, "contea": None}  # share of the links; None: those of the set
FEW, MANY, CHECKED = 200, 400, 100  # decisions
GAIN, CALIBRATION = System("gain"), System("calibration")
WITHOUT = ("world", "anatomy", "languages", "iaut_uat")  # sets without seeds
ARMS = (f"{FEW} informative", f"{FEW} random", f"{MANY} random")


@dataclass(frozen=True, eq=False)
class Subject:
    """Two graphs to link, and what the reference says about them."""

    task: Task
    settings: Settings
    truth: dict[int, set[int]]  # source → its targets
    complete: set[int]  # sources of which the reference says whether they have a counterpart
    unjudged: set[tuple[int, int]]  # pairs that are neither right nor wrong

    def answer(self, source: int, proposed: int) -> tuple[str, int]:
        """Verdict and target of the simulated reviewer."""
        if source in self.truth:
            known = self.truth[source]
            return "yes", proposed if proposed in known else min(known)
        silent = source not in self.complete or (source, proposed) in self.unjudged
        return "unsure" if silent else "none", -1


def cells(system: System, sets: list[str], splits: tuple[int, ...] = SPLITS) -> list[Cell]:
    """The runs of some sets."""
    known = SEEDS if system == GAIN else dict.fromkeys(WITHOUT, 0.0)
    return [Cell(system, name, ratio, split) for name, ratio in known.items() if name in sets for split in splits]


def subject(cell: Cell, data: Path, device: str) -> Subject:
    """The set of a run."""
    changes = (*cell.system.changes, *(["evidence.kind=all"] if cell.ratio == 0 else []))
    settings = load("fast", assignments=changes, device=device, seed=cell.split)
    if cell.data == "world":
        task, reference = emea.read_example("world", seeds=0)
        truth = reference.open()
        kinds = no_seeds.kinds(task)
        numbers = _numbers(task.source)
        judged = {kinds.get(task.source.entities[source].as_py(), "?") for source in truth.source.tolist()}
        complete = {numbers[name] for name, kind in kinds.items() if kind in judged}
        return Subject(task, settings, _by_source(_rows(truth)), complete, set())
    if cell.data in WITHOUT:
        case = next(no_seeds.real(data, cell.data))
        task = emea.read(case.source, case.target)
        ours, theirs = _numbers(task.source), _numbers(task.target)
        truth, unjudged = (
            {(ours[one], theirs[other]) for one, other in pairs if one in ours and other in theirs}
            for pairs in (case.truth, case.unjudged)
        )
        return Subject(task, settings, _by_source(truth), {ours[name] for name in case.classes}, unjudged)
    folder = data / "contea" / "fr_en" if cell.data == "contea" else data / "dbp15k" / cell.data
    task, reference = emea.read_benchmark(folder, ratio=cell.ratio, split=cell.split if cell.ratio else 0)
    truth = reference.open() + task.validation  # which nothing uses
    return Subject(replace(task, validation=Links.empty()), settings, _by_source(_rows(truth)), set(), set())


def _rows(links: Links | Alignment) -> list[tuple[int, int]]:
    return list(zip(links.source.tolist(), links.target.tolist(), strict=True))


def _by_source(pairs: Iterable[tuple[int, int]]) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for source, target in pairs:
        found.setdefault(source, set()).add(target)
    return found


def _numbers(graph: Graph) -> dict[str, int]:
    return {name: number for number, name in enumerate(graph.entities.to_pylist())}


def cards_of(result: Result) -> Cards:
    """What there is to decide after a run."""
    links, graphs = alignment_table(result.alignment, result.task), (result.task.source, result.task.target)
    return Cards.of(links, unlinked(result.outcome), graphs, judged=result.outcome.absence is not None)


def reach_of(cards: Cards, task: Task) -> Reach:
    """Which of them bear on which."""
    return Reach.of(cards, task.source.triples.numpy())


def decided(of: Subject, cards: Cards, chosen: np.ndarray) -> tuple[Task, Counter[str]]:
    """The task with the reviewer's answers, and how many of each there are."""
    task, rows, said, taken = of.task, [], Counter[str](), set[int]()
    for source, target, linked in zip(cards.source[chosen], cards.target[chosen], cards.linked[chosen], strict=True):
        verdict, true = of.answer(int(source), int(target))
        if true in taken:  # by another source: a run wants one for each target
            verdict, true = "unsure", -1
        taken |= {true} - {-1}
        said[f"{verdict}, another" if verdict == "yes" and linked and true != target else verdict] += 1
        name = task.source.entities[int(source)].as_py()
        rows.append((name, task.target.entities[true].as_py() if true >= 0 else "", verdict))
    columns = zip(("source", "target", "decision"), map(list, zip(*rows, strict=True)), strict=True)
    return emea.read_decisions(pa.table(dict(columns)), task), said


def links_of(of: Subject, result: Result, besides: set[int]) -> tuple[list[tuple[float, bool, bool]], int]:
    """Of each link that the reference can judge: confidence, whether it is right, and whether its source has a true
    link; and how many true links there are. Some sources are left out."""
    found, table = [], result.alignment
    for (source, target), sure in zip(_rows(table), table.confidence.tolist(), strict=True):
        judged = source in of.truth or source in of.complete
        if judged and source not in besides and (source, target) not in of.unjudged:
            found.append((sure, target in of.truth.get(source, ()), source in of.truth))
    return found, sum(len(targets) for source, targets in of.truth.items() if source not in besides)


def f1(of: Subject, result: Result, besides: set[int]) -> float:
    """Of the links of sources that have a true link."""
    found, true = links_of(of, result, besides)
    known = [right for _, right, has_one in found if has_one]
    return 2 * sum(known) / max(1, len(known) + true)


def measure_gain(cell: Cell, data: Path, device: str) -> dict[str, Any]:
    """F1 of the next run on sources that nobody was asked about, after each way of choosing whom to ask about."""
    begun, of = time.perf_counter(), subject(cell, data, device)
    before = emea.align(of.task, of.settings)
    cards = cards_of(before)
    chosen = queues.informative(cards, reach_of(cards, of.task), np.zeros(len(cards), dtype=bool))
    others = queues.random(cards, cell.split)
    asked = dict(zip(ARMS, (chosen[:FEW], others[:FEW], others[:MANY]), strict=True))
    besides = {*cards.source[np.concatenate([*asked.values()])].tolist()}
    record: dict[str, Any] = {"cards": len(cards), "tested": len(of.truth.keys() - besides), "answers": {}}
    record["f1"] = {"before": f1(of, before, besides)}
    for name, each in asked.items():
        task, said = decided(of, cards, each)
        record["f1"][name] = f1(of, emea.align(task, of.settings), besides)
        record["answers"][name] = dict(said)
    shown = ", ".join(f"{name} {value:.4f}" for name, value in record["f1"].items())
    return {**record, "seconds": time.perf_counter() - begun, "shown": f"{shown} {record['answers']}"}


def dealt(cards: Cards, task: Task, split: int) -> np.ndarray:
    """The first cards that the page deals from the informative queue, every fifth one from the probability sample."""
    rows = np.concatenate([np.flatnonzero(cards.linked), np.flatnonzero(~cards.linked)])
    sure = cards.probability
    sample = Sample.draw(sure[cards.linked], sure[~cards.linked], min(MANY, len(cards) // 4), split)
    chances = zip(rows[sample.cards].tolist(), sample.probability.tolist(), strict=True)
    dealer, found = Dealer(cards.kind, list(chances)), []
    order = queues.informative(cards, reach_of(cards, task), dealer.decided)
    while len(found) < CHECKED and (card := dealer.next("reviewer", "informative", order)) is not None:
        dealer.decide([card.card])
        found.append(card.card)
    return np.array(found)


def measure_calibration(cell: Cell, data: Path, device: str) -> dict[str, Any]:
    """Calibration error on the sources that were not decided, before and after a hundred decisions."""
    begun, of = time.perf_counter(), subject(cell, data, device)
    before = emea.align(of.task, of.settings)
    cards = cards_of(before)
    asked = dealt(cards, of.task, cell.split)
    task, said = decided(of, cards, asked)
    besides = {*cards.source[asked].tolist()}
    record: dict[str, Any] = {"answers": dict(said)}
    for name, result in (("before", before), ("after", emea.align(task, of.settings))):
        found, true = links_of(of, result, besides)
        sure, right = (torch.tensor([each[place] for each in found]) for place in (0, 1))
        record[name] = {
            "links": len(found),
            "wrong": int((~right).sum()),
            "expected": float((1 - sure.double()).sum()),
            "error": calibration_error(reliability(sure, right)),
            "f1": 2 * int(right.sum()) / (len(found) + true),
        }
    shown = "; ".join(f"{name} {record[name]}" for name in ("before", "after"))
    return {**record, "seconds": time.perf_counter() - begun, "shown": f"{shown} {dict(said)}"}


def spread(values: list[float]) -> str:
    """Mean, least and greatest."""
    return f"{mean(values):.3f}" + (f" ({min(values):.3f}–{max(values):.3f})" if len(values) > 1 else "")


def gain_rows(measured: Records) -> Rows:
    """A row for each set."""
    rows: Rows = []
    for name, ratio in SEEDS.items():
        runs = [measured[cell] for cell in cells(GAIN, [name]) if cell in measured]
        if runs:
            seeds = {None: "its own", 0.0: "none"}.get(ratio, f"{ratio or 0:.0%}")
            figures = {arm: spread([run["f1"][arm] for run in runs]) for arm in ("before", *ARMS)}
            unsure = mean(run["answers"][ARMS[0]].get("unsure", 0) for run in runs)
            row = {"set": name, "seeds": seeds, **figures}
            rows.append({**row, "unsure": f"{unsure / FEW:.0%}", "runs": str(len(runs))})
    return rows


def calibration_rows(measured: Records) -> Rows:
    """A row for each set."""
    rows: Rows = []
    for name in WITHOUT:
        runs = [measured[cell] for cell in cells(CALIBRATION, [name]) if cell in measured]
        if runs:
            row = {"set": name, "links": f"{mean(run['after']['links'] for run in runs):,.0f}"}
            for when in ("before", "after"):
                row[f"error {when}"] = spread([run[when]["error"] for run in runs])
                wrong, expected = (mean(run[when][key] for run in runs) for key in ("wrong", "expected"))
                row[f"wrong (expected) {when}"] = f"{wrong:.0f} ({expected:.0f})"
            rows.append({**row, "runs": str(len(runs))})
    return rows


def sections(folder: Path) -> str:
    """The sections of docs/results.md, from the runs in a store."""
    gain, calibration = (read_records(cells(system, [*SEEDS, *WITHOUT]), folder) for system in (GAIN, CALIBRATION))
    made_by = {f"code {run['code']}, {run['machine']}" for run in (*gain.values(), *calibration.values())}
    return f"""## What a review is worth

Generated by `python scripts/review_gain.py --page` from the runs in `docs/review`; {"; ".join(sorted(made_by))}. The
reviewer is simulated: it answers with the target that the reference has, with "none" where the reference is known to
list all counterparts (sets without seeds), and else with "unsure". F1 (known sources) of the next run, counted on the
sources that none of the columns asked about; mean, least and greatest of runs with other splits or seeds. *unsure*:
answers of the first {FEW} informative cards that teach nothing. How many decisions, and from which queue:

{markdown_table(gain_rows(gain))}

Confidence after {CHECKED} decisions of runs that began without seeds: cards as the page deals them, from the
informative queue, every fifth one from the probability sample. Calibration error of the links of undecided sources, in
the run before and in the next one. Chance alone makes about .01: a run that is right about itself would have that, too.

{markdown_table(calibration_rows(calibration))}
"""


def main() -> None:
    """Measure what is missing, or write the sections."""
    parser = measuring(__doc__)
    parser.add_argument("--sets", nargs="+", choices=sorted({*SEEDS, *WITHOUT}), default=sorted({*SEEDS, *WITHOUT}))
    parser.add_argument("--only", choices=("gain", "calibration"), help="Measure one of the two tables.")
    parser.add_argument(
        "--tune",
        action="store_true",
        help="Print the gain with other splits and seeds.",
    )
    chosen = parser.parse_args()
    if chosen.page:
        write_sections(sections(STORE))
        return
    if chosen.tune:
        for cell in cells(GAIN, [name for name in ("zh_en", "world") if name in chosen.sets], TUNING):
            print(cell.name, measure_gain(cell, chosen.data, chosen.device)["shown"], flush=True)
        return
    measures = {GAIN: measure_gain, CALIBRATION: measure_calibration}
    for system, measure in measures.items():
        if chosen.only in {None, system.name}:
            wanted = cells(system, chosen.sets)
            measure_missing(wanted, lambda cell, how=measure: how(cell, chosen.data, chosen.device), STORE, chosen)


if __name__ == "__main__":
    main()
