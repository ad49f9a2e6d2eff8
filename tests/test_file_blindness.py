"""Test pairs permuted in the files of a benchmark folder change nothing that a run writes but its measures."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emea.data import Links, Task
from emea.evidence.prepared import prepare
from emea.formats import read_benchmark
from emea.method.rounds import Step
from emea.runs.align import Observers
from emea.runs.checkpoint import Checkpoint
from emea.runs.folder import CHECKPOINT
from emea.runs.inputs import Inputs
from emea.runs.run import run
from emea.settings import Settings, load

ENTITIES, SEEDS, CHECKED = 220, 60, 100
SHORT = ["em.rounds=2", "encoders.rrea.epochs=8", "encoders.rrea.more_epochs=4"]
COMMITTEE = [
    "em.rounds=2",
    "encoders.committee.settings.propagation.dimension=32",
    "encoders.committee.settings.dual_amn.epochs=2",
    "encoders.committee.settings.dual_amn.more_epochs=1",
    "encoders.committee.settings.rrea.epochs=6",
    "encoders.committee.settings.rrea.more_epochs=3",
]
METHODS = {
    "fast": ("fast", ["em.rounds=2", "encoders.propagation.dimension=64"]),
    "best": ("best", COMMITTEE),
    "paper": ("paper", SHORT),
    "letter": ("letter", SHORT),
    "paris": ("fast", ["method=paris"]),
    "prase": ("fast", ["method=prase", "baselines.prase.settings.epochs=6"]),
}
Pairs = list[tuple[int, int]]


def graphs() -> tuple[list[tuple[int, int, int]], list[tuple[int, int, int]], Pairs]:
    """Two graphs of which one is a noisy copy of the other under other numbers, and all links in random order."""
    draw = np.random.default_rng(7)
    number = draw.permutation(ENTITIES)
    source = {
        tuple(row) for row in np.stack([draw.integers(0, top, 900) for top in (ENTITIES, 5, ENTITIES)], 1).tolist()
    }
    target = {(int(number[h]), r, int(number[t])) for h, r, t in source if draw.random() < 0.9}
    links = [(int(entity), int(number[entity])) for entity in draw.permutation(ENTITIES)]
    return sorted(source), sorted(target), links


def write(path: Path, rows: list[tuple[str, ...]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")


def write_ids(
    folder: Path, parts: dict[str, Pairs], source: list[tuple[int, int, int]], target: list[tuple[int, int, int]]
) -> None:
    """Id files: the ids of the second graph follow those of the first."""
    for side, (triples, first, name) in enumerate(((source, 0, "a"), (target, ENTITIES, "b")), 1):
        write(folder / f"ent_ids_{side}", [(str(first + e), f"http://{name}.org/{e}") for e in range(ENTITIES)])
        write(folder / f"rel_ids_{side}", [(str(r), f"http://{name}.org/r{r}") for r in range(5)])
        write(folder / f"triples_{side}", [(str(first + h), str(r), str(first + t)) for h, r, t in triples])
    for file, pairs in parts.items():
        write(folder / file, [(str(s), str(ENTITIES + t)) for s, t in pairs])


def write_dbp15k(folder: Path, seeds: Pairs, checked: Pairs, tested: Pairs, extra: Pairs) -> None:
    source, target, _ = graphs()
    write_ids(folder, {"ref_ent_ids": sorted([*seeds, *checked, *tested])}, source, target)


def write_contea(folder: Path, seeds: Pairs, checked: Pairs, tested: Pairs, extra: Pairs) -> None:
    source, target, _ = graphs()
    write_ids(folder, {"sup_ent_ids": seeds, "val_ent_ids": checked, "ref_ent_ids": tested}, source, target)


def write_openea(folder: Path, seeds: Pairs, checked: Pairs, tested: Pairs, extra: Pairs) -> None:
    for side, (triples, name) in enumerate(zip(graphs()[:2], "ab", strict=True), 1):
        rows = [(f"http://{name}.org/{h}", f"http://{name}.org/r{r}", f"http://{name}.org/{t}") for h, r, t in triples]
        write(folder / f"rel_triples_{side}", rows)
    parts = {"train_links": seeds, "valid_links": checked, "test_links": [*tested, *extra]}
    for file, pairs in (*parts.items(), ("ent_links", [*seeds, *checked, *tested, *extra])):
        path = folder / file if file == "ent_links" else folder / "721_5fold" / "1" / file
        write(path, [(f"http://a.org/{s}", f"http://b.org/{t}") for s, t in pairs])


FORMATS: dict[str, tuple[Callable[[Path, Pairs, Pairs, Pairs, Pairs], None], dict[str, Any]]] = {
    "DBP15K ids": (write_dbp15k, {"ratio": SEEDS / ENTITIES, "split": 3}),
    "ContEA ids": (write_contea, {}),
    "OpenEA": (write_openea, {"fold": 1}),
}


def numbered(links: Links, task: Task) -> Pairs:
    names = task.names(links)
    found = [[int(name.rpartition("/")[2]) for name in side.to_pylist()] for side in names]
    return list(zip(*found, strict=True))


def written(folder: Path, choice: dict[str, Any], out: Path, settings: Settings) -> dict[str, object]:
    """All that a run leaves, and its last checkpoint."""
    task, reference = read_benchmark(folder, **choice)
    out.mkdir()
    saved: list[object] = []

    def keep(step: Step) -> None:
        if (out / CHECKPOINT).exists():
            found = Checkpoint.read(out, task)
            assert found is not None
            tensors = {name: value.tolist() for name, value in found.state.encoder.items()}
            labels = [column.tolist() for column in found.state.labels.columns]
            saved.append((tensors, labels, found.state.trials.tolist(), asdict(found.state.scale), found.rounds))

    run(
        prepare(task, settings.evidence), settings, out, inputs=Inputs(), reference=reference, observers=Observers(keep)
    )
    kept = {
        path.name: path.read_bytes() for path in out.iterdir() if path.name not in {"metrics.json", "timings.jsonl"}
    }
    return {**kept, "checkpoints": saved}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("method", METHODS)
def test_test_pairs_permuted_in_the_files_change_no_byte(tmp_path: Path, form: str, method: str) -> None:
    write_folder, choice = FORMATS[form]
    _, _, links = graphs()
    write_folder(tmp_path / "true", links[:SEEDS], links[SEEDS : SEEDS + CHECKED], links[SEEDS + CHECKED :], [])
    task, reference = read_benchmark(tmp_path / "true", **choice)
    assert reference is not None
    seeds, checked, tested = (numbered(part, task) for part in (task.seeds, task.validation, reference.open()))
    assert len(tested) >= 50
    targets = [target for _, target in tested]
    permuted = list(zip([source for source, _ in tested], targets[1:] + targets[:1], strict=True))
    unheard = [(ENTITIES + number, ENTITIES + number) for number in range(3)]
    write_folder(tmp_path / "permuted", seeds, checked, permuted, unheard)
    preset, changes = METHODS[method]
    settings = load(preset, assignments=changes)
    runs = [written(tmp_path / name, choice, tmp_path / f"{name}-run", settings) for name in ("true", "permuted")]
    assert {"alignment.tsv", "candidates.tsv", "rounds.jsonl", "seeds.tsv"} <= runs[0].keys()
    assert runs[0] == runs[1]
    assert bool(runs[0]["checkpoints"]) == (method not in {"paris", "prase"})  # baselines start over
    measured = [(tmp_path / f"{name}-run" / "metrics.json").read_bytes() for name in ("true", "permuted")]
    assert measured[0] != measured[1]
    if form == "OpenEA":
        found = read_benchmark(tmp_path / "permuted", **choice)[1]
        assert found is not None
        assert len(found.absent) == len(unheard)
