"""Writes the part of docs/results.md on the paper's models, from what `emea reproduce` measured for docs/reproduce.

    python scripts/models.py [DATA]

DATA is the folder of benchmark graphs, by default .data.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from _records import REPOSITORY, write_sections
from emea.reproduce._cells import POOL, Cell, Measured, Plan, System
from emea.reproduce._systems import EMEA_SUP, MODELS, RREA_LONG, alone, guided

SPLIT, SET = 0, "zh_en"
GOALS: list[tuple[System, float, str]] = [  # what is run, with which share of the labels, and what we set ourselves
    (alone("RREA"), 0.05, ".41"),
    (alone("RREA"), 0.3, ".715"),
    (alone("RREA", "semi"), 0.3, ".79"),
    (alone("Dual-AMN"), 0.3, ".725"),
    (alone("Dual-AMN", "semi"), 0.3, ".80"),
    (alone("AliNet"), 0.3, ".53"),
    (alone("IPTransE"), 0.3, ".40"),
    (EMEA_SUP, 0.01, ".45"),
    (EMEA_SUP, 0.05, ".64"),
    (EMEA_SUP, 0.3, ".77"),
]
COMPARED = [(EMEA_SUP, RREA_LONG), *((guided(name), alone(name)) for name in MODELS if name != "RREA")]
COMPARED_AT = 0.05


def goals(measured: Measured) -> Iterator[str]:
    """A line for each goal."""
    yield "| run | seeds | Hit@1, test targets | goal | Hit@10 | MRR | Hit@1, all targets | time | command |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for system, ratio, goal in GOALS:
        head = f"| {system.name} | {ratio:.0%} |"
        for run in measured.runs(system, SET, ratio):
            tested, every = (run["ranking"][pool][system.decoding] for pool in (POOL, "all targets"))
            figures = [f"{tested['hit@1']:.3f}", goal, f"{tested['hit@10']:.3f}", f"{tested['mrr']:.3f}"]
            figures += [f"{every['hit@1']:.3f}", f"{run['seconds']:.1f} s", f"`{command(system, ratio)}`"]
            yield f"{head} {' | '.join(figures)} |"
        if not measured.runs(system, SET, ratio):
            yield f"{head} not measured | {goal} | | | | | `{command(system, ratio)}` |"


def command(system: System, ratio: float) -> str:
    """The command that runs a system."""
    changes = "".join(f" --set {change}" for change in system.changes)
    return f"emea align --data dbp15k/{SET} --ratio {ratio:g} --split {SPLIT} --preset {system.preset}{changes}"


def comparisons(measured: Measured) -> Iterator[str]:
    """A line for each pair of systems that are compared."""
    for one, other in COMPARED:
        hits, p_value = (ask(one, other, SET, COMPARED_AT) for ask in (measured.both, measured.p_value))
        if hits is None or p_value is None:
            yield f"- {one.name} against {other.name}: not measured"
            continue
        told = "p < 1e-9" if p_value < 1e-9 else f"p = {p_value:.2g}"
        points = f"{hits[0]:.3f} and {hits[1]:.3f}, {100 * (hits[0] - hits[1]):+.1f} points"
        yield f"- {one.name} against {other.name}: {points}, {told}"


def main() -> None:
    """Read the cells and write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path, default=REPOSITORY / ".data")
    data = parser.parse_args().data
    ratios = sorted({ratio for _, ratio, _ in GOALS})
    plan = Plan((data / "dbp15k" / SET,), tuple(ratios), (SPLIT,), (), "cpu", REPOSITORY / "docs" / "reproduce")
    measured = Measured(plan)
    cells = [Cell(system, SET, ratio, SPLIT) for system, ratio, _ in GOALS]
    cells += [Cell(system, SET, COMPARED_AT, SPLIT) for pair in COMPARED for system in pair]
    for cell in cells:
        measured.load(cell)
    write_sections(f"""## The paper's models on DBP15K {SET}, split {SPLIT}

Made by `python scripts/models.py` from the cells of [reproduce](reproduce/overview.md), by nothing else;
{measured.machines(cells)}.
Ranked by CSLS, the encoder alone, blind: training sees the seeds, the probabilities are fitted to the 100 validation
pairs, unlabelled are all other entities of both graphs. *goal* is what we set ourselves. Time is without reading files
and evaluation; a process's first run, and those that share its first fit, include the start of the device.

{chr(10).join(goals(measured))}

With EMEA and without, {COMPARED_AT:.0%} of the labels, Hit@1; paired two-tailed t-test on the reciprocal ranks:

{chr(10).join(comparisons(measured))}
""")


if __name__ == "__main__":
    main()
