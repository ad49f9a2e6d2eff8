"""Readers need little more memory than the graphs they make."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from emea.contracts import Choice, GraphWriter
from emea.data import Graph, Task
from emea.formats import read_task
from emea.formats.parquet import Parquet
from emea.formats.rdf import RDF

pytestmark = pytest.mark.slow

# Run in a separate process: prints how much peak memory grew while reading, after reading something small.
MEASURE = """
import sys
from pathlib import Path
from emea.contracts import Choice
from emea.formats import read_graph, read_task

def size(kind):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(kind))

small, large = map(Path, sys.argv[1:])
read = (lambda path: read_task(path, Choice())) if large.is_dir() else read_graph
read(small)
before = size("VmRSS")
read(large)
print(size("VmHWM") - before)
"""
FIXED = 32 << 20  # bytes for the part of a file that is held at a time, whatever its size
SMALL = {
    "ent_ids_1": "0 a\n1 b\n",
    "ent_ids_2": "0 x\n1 y\n",
    "triples_1": "0 0 1\n",
    "triples_2": "0 0 1\n",
    "sup_ent_ids": "0 0\n",
    "ref_ent_ids": "1 1\n",
}


def growth(small: Path, large: Path) -> int:
    command = [sys.executable, "-c", MEASURE, str(small), str(large)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def bytes_of(graph: Graph) -> int:
    columns = [graph.entities, graph.relations, graph.attributes, graph.triples, graph.literals]
    return sum(column.nbytes for column in columns)


@pytest.fixture(scope="module")
def large_task(benchmark_data: Path) -> Task:
    return read_task(benchmark_data / "contea" / "fr_en", Choice())[0]


def test_a_large_folder_needs_at_most_three_times_its_graphs(
    benchmark_data: Path, large_task: Task, tmp_path: Path
) -> None:
    for name, text in SMALL.items():
        (tmp_path / name).write_text(text.replace(" ", "\t"))
    aliases = (large_task.source.aliases, large_task.target.aliases)
    finished = bytes_of(large_task.source) + bytes_of(large_task.target) + sum(part.nbytes for part in aliases)
    assert growth(tmp_path, benchmark_data / "contea" / "fr_en") <= 3 * finished


@pytest.mark.parametrize("writer", [RDF(), Parquet()], ids=["graph.nt", "graph.parquet"])
def test_a_large_file_needs_at_most_three_times_its_graph(
    large_task: Task, tmp_path: Path, writer: GraphWriter
) -> None:
    small, large = (tmp_path / f"{name}{writer.suffixes[0]}" for name in ("small", "large"))
    writer.write_graph(Graph.build(["urn:a"], ["urn:p"], torch.zeros(1, 3, dtype=torch.int64)), small)
    writer.write_graph(large_task.target, large)
    assert growth(small, large) <= FIXED + 3 * bytes_of(large_task.target)
