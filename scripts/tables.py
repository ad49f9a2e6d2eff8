"""The presets `fast` and `best` on the benchmarks: which runs there are, and their tables in docs/results.md
and README.md. `scripts/results.py` measures the runs and writes the tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np

import emea
from _records import REPOSITORY, write_block, write_sections
from emea.data import Reference, Task
from emea.report.tables import Rows, markdown_table
from emea.reproduce import _paper
from emea.reproduce._cells import Measured, Plan
from emea.reproduce._systems import ours
from emea.runs.store import Cell, System

BEST, GOOD, FAST = ours("best"), ours("good"), ours("fast")
OURS = (BEST, GOOD, FAST)
THEN = ("em.scouts=3", "encoders.committee.settings.dual_amn.negatives=0")  # when what parts contribute was measured
WHOLE = {"best": replace(BEST, changes=THEN), "fast": FAST}
SPLITS = (33, 34, 35)  # which none of the presets' choices has seen
RATIOS = _paper.RATIOS
SETS = ("zh_en", "ja_en", "fr_en")
FOLDS = ("D_W_15K_V1", "D_Y_15K_V1")
NUMBERS = (3, 4, 5)  # of their folds
REPORTED = {  # the paper, with RREA supervised
    data: [figures[0] for figures in _paper.TABLE_1[data]["EMEA sup"]] for data in SETS
}
BOOT_EA = {"D_W_15K_V1": 0.572, "D_Y_15K_V1": 0.739}  # the best structure-only model in OpenEA's table
WITHOUT = {  # what an ablation leaves out, and how
    "best": {
        "loops that go ahead": ("em.scouts=0", "em.rounds=9"),
        "all but those loops": ("em.encoder=propagation",),
        "being forward only": ("compatibility.directions=both",),
    },
    "fast": {
        "weights of relations": ("encoders.propagation.shared=false",),
        "forgetting oneself": ("encoders.propagation.forget=false",),
        "less weight of the last step": ("encoders.propagation.far=1",),
        "rounds after the sixth": ("em.rounds=6",),
        "the discount of confidence": ("probability.discount=false",),
        "the stronger prior of the scale": ("probability.prior_pairs=5",),
        "rules": ("em.rules=",),
    },
}
ABLATION = {"best": 30, "fast": 29}  # splits
ABLATED = [(data, ratio) for data in ("zh_en", "ja_en") for ratio in (0.01, 0.05, 0.3)]
LINKS = {"precision": "precision", "recall": "recall", "F1": "f1", "calibration error": "calibration error"}
HEADLINE = (0.01, 0.05, 0.3)
REFINEMENTS = 8  # steps of colour refinement; more change nothing on these sets
NOT_MEASURED = "not measured"


def plan(data: Path, device: str) -> Plan:
    """Where the runs find their data, and where they are kept."""
    folders = [*(data / "dbp15k" / name for name in SETS), *(data / "openea" / name for name in FOLDS)]
    return Plan(tuple(folders), RATIOS, SPLITS, (), device, REPOSITORY / "docs" / "reproduce")


def cells(count: int = len(SPLITS)) -> Iterator[Cell]:
    """The runs of our presets on their first splits and folds, one after the other; the time is that of the first."""
    every = [(data, ratio) for data in SETS for ratio in RATIOS]
    for place in range(count):
        yield from (Cell(system, *one, SPLITS[place]) for system in reversed(OURS) for one in every)
    yield from (
        Cell(system, data, None, fold) for fold in NUMBERS[:count] for system in reversed(OURS) for data in FOLDS
    )


def parts_of(preset: str) -> dict[str, System]:
    """The preset itself as it was then, and without each of its parts."""
    whole = WHOLE[preset]
    left_out = WITHOUT[preset].items()
    return {"nothing": whole, **{part: whole.but(f"{whole.name} without {part}", *how) for part, how in left_out}}


def ablations() -> Iterator[Cell]:
    """The other runs."""
    for preset, split in ABLATION.items():
        yield from (Cell(system, *one, split) for system in parts_of(preset).values() for one in ABLATED)


def runs_of(measured: Measured, system: System, data: str, ratio: float | None) -> list[dict[str, Any]]:
    """The splits or folds that are measured."""
    wanted = (Cell(system, data, ratio, split) for split in (NUMBERS if ratio is None else SPLITS))
    return [measured.found[cell] for cell in wanted if measured.load(cell)]


def hits(runs: list[dict[str, Any]], pool: str, decoding: str) -> list[float]:
    """Hit@1 of each run."""
    return [run["ranking"][pool][decoding]["hit@1"] for run in runs]


def spread(values: list[float], *, digits: int = 3) -> str:
    """Mean and standard deviation, and the number of splits if some are missing."""
    if not values:
        return NOT_MEASURED
    deviation = f" ± {stdev(values):.{digits}f}" if len(values) > 1 else ""
    missing = f" ({len(values)} of {len(SPLITS)} splits)" if len(values) < len(SPLITS) else ""
    return f"{mean(values):.{digits}f}{deviation}{missing}"


def seconds(runs: list[dict[str, Any]]) -> str:
    """The time of the first split or fold, which had the machine for itself."""
    return f"{runs[0]['whole']:.1f} s" if runs and runs[0]["jobs"] == 1 else NOT_MEASURED


def main_table(measured: Measured, pool: str) -> Rows:
    """Our presets, beside published results if there are any for the pool."""
    published = pool == "test targets"
    rows: Rows = []
    for data in SETS:
        for place, ratio in enumerate(RATIOS):
            row = {"set": data, "seeds": f"{ratio:.0%}"}
            if published:
                anchor = _paper.BEST[data][place]
                row["EMEA, RREA sup *"] = f"{REPORTED[data][place]:.3f}"
                row["best published"] = f"{anchor.hit:.3f} ({anchor.system})"
            for system in OURS:
                row[f"`{system.preset}`"] = spread(hits(runs_of(measured, system, data, ratio), pool, "probability"))
            rows.append(row)
    return rows


def anchors() -> Rows:
    """Where the published figures come from."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for data in SETS:
        for ratio, one in zip(RATIOS, _paper.BEST[data], strict=True):
            key = (one.system, f"{one.source}, {one.year}", one.knows)
            found.setdefault(key, []).append(f"{data} {ratio:.0%} {one.hit:.3f}")
    return [
        {"system": system, "source": source, "figures": "; ".join(cells), "what its code knows": knows}
        for (system, source, knows), cells in found.items()
    ]


def decoding_table(measured: Measured) -> Rows:
    """Each decoding of the same runs, and the links themselves."""
    rows: Rows = []
    for system in OURS:
        for data in SETS:
            for ratio in RATIOS:
                found = runs_of(measured, system, data, ratio)
                if not found:
                    continue
                row = {"preset": system.preset, "set": data, "seeds": f"{ratio:.0%}"}
                for decoding in ("csls", "transport", "probability"):
                    row[decoding] = spread(hits(found, "test targets", decoding))
                for title, key in LINKS.items():
                    row[title] = f"{mean(run['alignment']['known sources'][key] for run in found):.3f}"
                rows.append({**row, "time": seconds(found)})
    return rows


def told_apart(task: Task, reference: Reference) -> float:
    """The highest Hit@1 that structure allows. Entities that colour refinement leaves alike, with a colour of its own
    for each seed, are alike to every encoder here; of k such entities, at most one is found by guessing."""
    known, alike = reference.open(), []
    for graph, seeds, tested in (
        (task.source, task.seeds.source, known.source),
        (task.target, task.seeds.target, known.target),
    ):
        head, relation, tail = graph.triples.numpy().astype(np.uint64).T
        colour = np.zeros(len(graph.entities), np.uint64)
        colour[seeds.numpy()] = np.arange(1, len(seeds) + 1)
        for _ in range(REFINEMENTS):  # a sum of hashes stands for the multiset of neighbours
            refined = hashed(colour)
            np.add.at(refined, head.astype(int), hashed(colour[tail.astype(int)] + hashed(2 * relation)))
            np.add.at(refined, tail.astype(int), hashed(colour[head.astype(int)] + hashed(2 * relation + 1)))
            colour = refined
        _, group, count = np.unique(colour[tested.numpy()], return_inverse=True, return_counts=True)
        alike.append(count[group])
    return float((1 / np.maximum(*alike)).mean())


def hashed(numbers: np.ndarray) -> np.ndarray:
    """Each number scattered over 64 bits (SplitMix64)."""
    with np.errstate(over="ignore"):
        numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
        numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return numbers ^ (numbers >> np.uint64(31))


def fold_table(measured: Measured, folder: Path) -> Rows:
    """OpenEA's sets, where one pair in nine has a twin that structure cannot tell apart."""
    rows: Rows = []
    for data in FOLDS:
        most = []
        for fold in NUMBERS:
            task, reference = emea.read_benchmark(folder / "openea" / data, fold=fold)
            assert reference is not None
            most.append(told_apart(task, reference))
        for system in OURS:
            runs = runs_of(measured, system, data, None)
            tested = [run["ranking"]["test targets"]["probability"] for run in runs]
            rows.append(
                {
                    "set": data,
                    "BootEA": f"{BOOT_EA[data]:.3f}",
                    "preset": system.preset,
                    "Hit@1, ties as misses": spread([one["hit@1"] for one in tested]),
                    "Hit@1, ties shared": spread([one["hit@1 shared"] for one in tested]),
                    "upper bound": f"{mean(most):.3f}",
                    "all targets": spread(hits(runs, "all targets", "probability")),
                    "time": seconds(runs),
                }
            )
    return rows


def ablation_table(measured: Measured, preset: str) -> Rows:
    """What each part contributes: Hit@1, the difference in points, calibration error, and time, if all were timed."""
    rows, seconds_of = list[dict[str, str]](), dict[str, list[float]]()
    for part, system in parts_of(preset).items():
        row, alone = {"without": part}, seconds_of.setdefault(part, [])
        for data, ratio in ABLATED:
            both = [Cell(one, data, ratio, ABLATION[preset]) for one in (WHOLE[preset], system)]
            shown = NOT_MEASURED
            if all(measured.load(cell) for cell in both):
                runs = [measured.found[cell] for cell in both]
                full, left = hits(runs, "test targets", "probability")
                off = runs[1]["alignment"]["known sources"]["calibration error"]
                shown = (
                    f"{left:.3f}"
                    + (f" ({100 * (left - full):+.1f})" if system != WHOLE[preset] else "")
                    + f", {off:.3f}"
                )
                alone += [runs[1]["seconds"]] if runs[1]["jobs"] == 1 else []
            row[f"{data} {ratio:.0%}"] = shown
        rows.append(row)
    if all(seconds_of.values()):
        return [{**row, "rounds, mean": f"{mean(seconds_of[row['without']]):.2f} s"} for row in rows]
    return rows


def headline(measured: Measured) -> Rows:
    """What the README shows."""
    rows: Rows = []
    for data in SETS:
        row = {"Hit@1": f"DBP15K {data}"}
        for ratio in HEADLINE:
            row[f"{ratio:.0%}: best published"] = f"{_paper.BEST[data][RATIOS.index(ratio)].hit:.3f}"
            for system in (FAST, BEST):
                found = hits(runs_of(measured, system, data, ratio), "test targets", "probability")
                row[f"{ratio:.0%}: `{system.preset}`"] = f"{mean(found):.3f}" if found else NOT_MEASURED
        rows.append(row)
    return rows


def page(measured: Measured, data: Path) -> str:
    """The section of docs/results.md."""
    measured.all_of([*cells(), *ablations()])
    return f"""## The presets on every benchmark

Made by `make results`; {measured.machines(measured.found)}.
Structure only, and blind: a run sees its seeds, but no validation pairs and no test pairs, and each preset has the same
settings everywhere (how they were chosen: top of this page). Command: `emea align --data SET --ratio R --split S
--preset P --device cuda`. Hit@1 of the ranking by the loop's final beliefs, mean and standard deviation of splits
{", ".join(map(str, SPLITS))}, which none of a preset's choices has seen.

\\* EMEA's released code knows test pairs ([how much that inflates scores](leaks.md)).

Ranked among the targets of the test pairs, as in published tables:

{markdown_table(main_table(measured, "test targets"))}

Where the published figures come from; all are ranked among the test targets. {_paper.BEST_ABOUT}.

{markdown_table(anchors())}

Ranked among all targets except those of seeds and validation pairs, as in practice; published tables do not report
this:

{markdown_table(main_table(measured, "all targets"))}

The same runs by decoding (test targets), their links (known sources), and the time from graphs in memory to links on
disk, of the first split, which had the machine for itself; the first run of each preset (zh_en, 1 %) also starts the
device:

{markdown_table(decoding_table(measured))}

OpenEA's sets, mean of folds {", ".join(map(str, NUMBERS))} (20 % seeds), structure only. Some entities have an exact
structural twin, so a tie counts as a miss in one column and is shared in the other. The upper bound is the Hit@1 to
expect from structure and seeds alone if entities that colour refinement cannot tell apart are guessed. BootEA is the
best structure-only model in OpenEA's own table.

{markdown_table(fold_table(measured, data))}

What each part of a preset contributes: Hit@1 without it, the difference in points, and the calibration error (known
sources). Repeated runs differ by about half a point, so smaller differences mean nothing. Those of `best` were measured
when three loops went ahead, forward only, and Dual-AMN compared the pairs of a step with all entities.

`best`, split {ABLATION["best"]}:

{markdown_table(ablation_table(measured, "best"))}

`fast`, split {ABLATION["fast"]}:

{markdown_table(ablation_table(measured, "fast"))}
"""


def write(data: Path) -> None:
    """Write the tables into docs/results.md and README.md."""
    measured = Measured(plan(data, "cpu"))
    write_sections(page(measured, data))
    write_block(REPOSITORY / "README.md", "made by scripts/tables.py", markdown_table(headline(measured)))
