"""Measures links found without seeds, and writes their part of docs/results.md.

    python scripts/no_seeds.py [DATA]    # DATA: the folder of benchmark graphs, by default .data

Each set is linked by `emea align SOURCE TARGET` with default settings. *strict* counts every link from an entity whose
class occurs in the reference; entities of other classes are left out, as nobody said which of them are the same.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow.compute as pc

from _records import commit, write_sections
from emea import Graph, read_example
from emea.data import Links, Task
from emea.formats import read_graph, read_pairs
from emea.formats.rdf import RDF

EMEA = str(Path(sys.executable).with_name("emea"))
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
OAEI = {
    "person1": ("person11.rdf", "person12.rdf", "dataset11_dataset12_goldstandard_person.xml"),
    "restaurants": ("restaurant1.rdf", "restaurant2.rdf", "restaurant1_restaurant2_goldstandard.rdf"),
}


@dataclass(frozen=True)
class Case:
    """Two graphs in files, their true links, and the class of each source."""

    name: str
    source: Path
    target: Path
    truth: set[tuple[str, str]]
    classes: dict[str, str]


def oaei(data: Path) -> Iterator[Case]:
    """The sets of OAEI's instance matching track."""
    for name, files in OAEI.items():
        paths = [data / "oaei" / name / file for file in files]
        graphs = [read_graph(path) for path in paths[:2]]
        links = read_pairs(paths[2], graphs[0], graphs[1])
        yield Case(f"oaei/{name}", paths[0], paths[1], names(links, *graphs), types(graphs[0]))


def types(graph: Graph) -> dict[str, str]:
    """The rdf:type of each entity that has one."""
    place = graph.relations.to_pylist().index(TYPE)
    entities = graph.entities.to_pylist()
    return {entities[h]: entities[t] for h, r, t in graph.triples.tolist() if r == place}


def world(folder: Path) -> Case:
    """The example: CLDR with German labels, GeoNames with English ones."""
    task, reference = read_example("world", seeds=1)
    links = reference.open() + task.seeds
    paths = []
    for graph, language, name in ((task.source, "de", "cldr.nt"), (task.target, "en", "geonames.nt")):
        kept = pc.is_in(graph.literals["language"], value_set=pc.cast([language, ""], graph.literals["language"].type))
        paths.append(folder / name)
        RDF().write_graph(replace(graph, literals=graph.literals.filter(kept)), paths[-1])
    return Case("world, German and English", *paths, names(links, task.source, task.target), kinds(task))


def kinds(task: Task) -> dict[str, str]:
    """What each source is, as CLDR says it."""
    table, entities = task.source.literals, task.source.entities.to_pylist()
    kind = [name.endswith("kind") for name in task.source.attributes.to_pylist()].index(True)
    rows = zip(*(table[name].to_pylist() for name in ("entity", "attribute", "value")), strict=True)
    return {entities[entity]: value for entity, attribute, value in rows if attribute == kind}


def names(links: Links, source: Graph, target: Graph) -> set[tuple[str, str]]:
    """The links by name."""
    columns = source.entities.take(links.source.numpy()), target.entities.take(links.target.numpy())
    return set(zip(*(column.to_pylist() for column in columns), strict=True))


def measure(case: Case, folder: Path) -> list[str]:
    """Rows of the table: all classes of the reference together, and each alone where there are several."""
    started = time.perf_counter()
    out = folder / case.name.replace("/", "-")
    subprocess.run([EMEA, "align", str(case.source), str(case.target), "--out", str(out), "--quiet"], check=True)
    seconds = time.perf_counter() - started
    lines = (out / "alignment.tsv").read_text(encoding="utf-8").splitlines()[1:]
    found = {tuple(line.split("\t")[:2]) for line in lines}
    groups = {}
    for source, _ in case.truth:
        groups.setdefault(case.classes.get(source, "?"), set()).add(source)
    rows = [(case.name, set(groups), f"{seconds:.0f} s")]
    if case.name.startswith("world"):
        rows.append(("· territories and currencies", {"territory", "currency"}, ""))
        rows += [(f"· {name}", {name}, "") for name in sorted(groups)]
    return [row(label, case, found, wanted, taken) for label, wanted, taken in rows]


def row(label: str, case: Case, found: set[tuple[str, str]], wanted: set[str], seconds: str) -> str:
    """Precision, recall and F1 of the links from entities of some classes: known sources, then strict."""
    known = {source for source, _ in case.truth}
    truth = {pair for pair in case.truth if case.classes.get(pair[0], "?") in wanted}
    strict = {pair for pair in found if case.classes.get(pair[0], "?") in wanted}
    cells = []
    for links in ({pair for pair in strict if pair[0] in known}, strict):
        right = len(links & truth)
        precision, recall = right / max(1, len(links)), right / len(truth)
        cells.append(f"{precision:.3f} / {recall:.3f} / {2 * right / (len(links) + len(truth)):.3f}")
    return f"| {label} | {len(truth):,} | {' | '.join(cells)} | {seconds} |"


def main() -> None:
    """Measure all sets and write the section."""
    data = Path(sys.argv[1] if sys.argv[1:] else ".data")
    with tempfile.TemporaryDirectory() as folder:
        cases = [*oaei(data), world(Path(folder))]
        rows = [line for case in cases for line in measure(case, Path(folder))]
    write_sections(f"""## Without seeds

Made by `python scripts/no_seeds.py`, by nothing else, at commit {commit()}; `emea align SOURCE TARGET`,
default settings, no known pair: names and values start the loop. Precision / recall / F1 in both readings; *strict*
counts every link from an entity whose class the reference has. *world* is CLDR with German labels and GeoNames with
English ones; its languages and zones have little but structure, and not all entities of CLDR are in GeoNames.

| set | true links | known sources | strict | time |
|---|---|---|---|---|
{chr(10).join(rows)}
""")


if __name__ == "__main__":
    main()
