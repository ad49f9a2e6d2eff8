"""The benchmark graphs have the sizes their publishers state."""

from pathlib import Path

import pytest

from emea.contracts import Choice
from emea.formats import read_task

ALL = Choice(ratio=1.0)
COUNTS = {  # entities, relations, triples of source and target, and links
    "dbp15k/zh_en": ((19_388, 1_701, 70_414), (19_572, 1_323, 95_142), 15_000),
    "dbp15k/ja_en": ((19_814, 1_299, 77_214), (19_780, 1_153, 93_484), 15_000),
    "dbp15k/fr_en": ((19_661, 903, 105_998), (19_993, 1_208, 115_722), 15_000),
    "openea/D_W_15K_V1": ((15_000, 248, 38_265), (15_000, 169, 42_746), 15_000),
    "openea/D_Y_15K_V1": ((15_000, 165, 30_291), (15_000, 28, 26_638), 15_000),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts(benchmark_data: Path, name: str) -> None:
    task, _, _ = read_task(benchmark_data / name, ALL)
    sizes = [(len(graph.entities), len(graph.relations), len(graph.triples)) for graph in (task.source, task.target)]
    assert (*sizes, len(task.seeds)) == COUNTS[name]


@pytest.mark.slow
def test_counts_of_the_large_set(benchmark_data: Path) -> None:
    task, reference, detected = read_task(benchmark_data / "contea" / "fr_en", Choice())
    sizes = [(len(graph.entities), len(graph.relations), len(graph.triples)) for graph in (task.source, task.target)]
    assert sizes == [(94_451, 903, 318_115), (142_234, 1_208, 465_126)]
    assert (len(task.seeds), len(task.validation), len(reference or [])) == (3_727, 1_863, 37_592)
    assert detected == "id files: seeds in sup_ent_ids, validation in val_ent_ids, reference in ref_ent_ids"


@pytest.mark.parametrize("fold", range(1, 6))
def test_folds(benchmark_data: Path, fold: int) -> None:
    task, reference, _ = read_task(benchmark_data / "openea" / "D_W_15K_V1", Choice(fold=fold))
    assert (len(task.seeds), len(task.validation), len(reference or [])) == (3_000, 1_500, 10_500)
