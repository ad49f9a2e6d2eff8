"""Measures the trained encoders, alone and in the paper's loop, and writes their part of docs/results.md.

    python scripts/models.py [DATA] [--device cuda] [--minutes 10] [--cells docs/models.json] [--page]

DATA is the folder of benchmark graphs, by default .data. Each cell is kept in the JSON file as soon as it is measured,
and measured once: a second call goes on with those that are missing. `--page` writes the page from the cells, and
measures nothing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import emea
from _records import forget, measure_missing, options, read_cells, write_sections
from emea.evaluation import paired_t_test, realistic_ranks
from emea.settings import load

SPLIT = 0


@dataclass(frozen=True)
class Cell:
    """One run of the paper's preset on zh_en: with all its rounds, or with none, which is the encoder alone."""

    encoder: str
    ratio: float
    rounds: int | None = None  # None: those of the preset
    assignments: tuple[str, ...] = ()
    compared_with: str | None = None  # name of the cell that this one is tested against, pair by pair
    goal: str = ""

    @property
    def name(self) -> str:
        """What was run, in words."""
        parts = [self.encoder, f"{self.ratio:.0%}", "with EMEA" if self.rounds is None else "alone"]
        return ", ".join([*parts, *(part.rpartition(".")[2] for part in self.assignments)])

    @property
    def command(self) -> str:
        """The command that does the same."""
        settings = [*self.assignments, *([f"em.rounds={self.rounds}"] if self.rounds is not None else [])]
        options = "".join(f" --set {setting}" for setting in settings)
        data = f"--data dbp15k/zh_en --ratio {self.ratio} --split {SPLIT}"
        return f"emea align {data} --preset paper --encoder {self.encoder}{options}"


def cells() -> list[Cell]:
    """What is measured, the most telling first."""
    alone = {name: Cell(name, 0.05, 0, goal=goal) for name, goal in (("rrea", ".41"), ("dual_amn", ""), ("alinet", ""))}
    longer = Cell("rrea", 0.05, 0, ("encoders.rrea.epochs=3200",))
    return [
        Cell("rrea", 0.3, 0, goal=".715"),
        alone["rrea"],
        longer,
        Cell("rrea", 0.05, compared_with=longer.name, goal=".64"),
        Cell("rrea", 0.01, goal=".45"),
        Cell("rrea", 0.3, goal=".77"),
        Cell("dual_amn", 0.3, 0, goal=".725"),
        Cell("alinet", 0.3, 0, goal=".53"),
        alone["dual_amn"],
        Cell("dual_amn", 0.05, compared_with=alone["dual_amn"].name),
        alone["alinet"],
        Cell("alinet", 0.05, compared_with=alone["alinet"].name),
        Cell("rrea", 0.3, 0, ("encoders.rrea.mode=semi",), goal=".79"),
        Cell("dual_amn", 0.3, 0, ("encoders.dual_amn.mode=semi",), goal=".80"),
        Cell("iptranse", 0.3, 0, goal=".40"),
        Cell("iptranse", 0.05, 0),
        Cell("iptranse", 0.05, compared_with=Cell("iptranse", 0.05, 0).name),
    ]


def measure(cell: Cell, data: Path, device: str, ranks: dict[str, torch.Tensor]) -> dict[str, Any]:
    """Run one cell; `ranks` keeps those of each for comparison."""
    task, reference = emea.read_benchmark(data / "dbp15k" / "zh_en", ratio=cell.ratio, split=SPLIT)
    given = {"em": {"encoder": cell.encoder} | ({} if cell.rounds is None else {"rounds": cell.rounds})}
    settings = load("paper", assignments=cell.assignments, device=device, seed=SPLIT, **given)
    started = time.perf_counter()
    result = emea.align(task, settings)
    seconds = time.perf_counter() - started
    measures = emea.evaluate(result, reference)["ranking"]
    ranks[cell.name] = realistic_ranks(result, reference, "test targets", "csls")
    found = {
        "command": cell.command,
        "seconds": seconds,
        "rounds": result.last.number,
        "ranking": {pool: decodings["csls"] for pool, decodings in measures.items()},
        "shown": f"{measures['test targets']['csls']['hit@1']:.4f}",
    }
    if cell.compared_with in ranks:
        difference, p_value = paired_t_test(ranks[cell.name], ranks[cell.compared_with])
        found["compared"] = {"with": cell.compared_with, "mrr difference": difference, "p": p_value}
    return found


def page(measured: dict[str, Any]) -> str:
    """The cells as Markdown."""
    about = "; ".join(sorted({found["machine"] for found in measured.values()}))
    lines = [
        "| run | Hit@1, test targets | goal | Hit@10 | MRR | Hit@1, all targets | rounds | time | commit |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    compared = []
    for cell in cells():
        if cell.name not in measured:
            lines.append(f"| {cell.name} | not measured | {cell.goal} | | | | | | |")
            continue
        found = measured[cell.name]
        tested, every = found["ranking"]["test targets"], found["ranking"]["all targets"]
        figures = [f"{tested['hit@1']:.3f}", cell.goal, f"{tested['hit@10']:.3f}", f"{tested['mrr']:.3f}"]
        figures += [f"{every['hit@1']:.3f}", str(found["rounds"]), f"{found['seconds']:.1f} s", found["commit"]]
        lines.append(f"| {cell.name} | " + " | ".join(figures) + " |")
        if "compared" in found:
            other = found["compared"]
            points = 100 * (tested["hit@1"] - measured[other["with"]]["ranking"]["test targets"]["hit@1"])
            p_value = "p < 1e-9" if other["p"] < 1e-9 else f"p = {other['p']:.2g}"
            compared.append(f"- {cell.name}, against {other['with']}: {points:+.1f} points of Hit@1, {p_value}")
    commands = [f"- {name}: `{found['command']}`" for name, found in measured.items()]
    return f"""## The paper's models on DBP15K zh_en, split {SPLIT}

Made by `python scripts/models.py --page` from `docs/models.json`, by nothing else; {about}.
Ranked by CSLS, the encoder alone, blind: training sees the seeds, the probabilities are fitted to the 100 validation
pairs, unlabelled are all other entities of both graphs. *goal* is what we set ourselves. Time is without reading files
and evaluation, the first run's with the start of the device.

{chr(10).join(lines)}

Paired two-tailed t-test on the reciprocal ranks of the test pairs:

{chr(10).join(compared)}

{chr(10).join(commands)}
"""


def main() -> None:
    """Measure what is missing, within the time, and write it down."""
    chosen = options(__doc__, "models.json")
    if chosen.page:
        write_sections(page(read_cells(chosen.cells)))
        return
    every, ranks = {cell.name: cell for cell in cells()}, {}
    missing = every.keys() - read_cells(chosen.cells).keys()
    again = {cell.compared_with for cell in every.values() if cell.name in missing}  # ranks are not kept
    if again - missing:
        forget(chosen.cells, again)
    measure_missing(every, lambda name: measure(every[name], chosen.data, chosen.device, ranks), chosen)


if __name__ == "__main__":
    main()
