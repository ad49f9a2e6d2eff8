"""Measures the links found without seeds, and writes their section of docs/results.md.

    python scripts/no_seeds.py [DATA]

Each set is linked by `emea align SOURCE TARGET` with default settings. *strict* counts every link from an entity whose
class occurs in the reference; entities of other classes are left out, because the reference says nothing about them.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path

import pyarrow.compute as pc

from _records import commit, with_data, write_sections
from emea import Graph, read_example
from emea.data import Links, Task
from emea.formats import read_graph, read_pairs
from emea.formats.rdf import RDF
from emea.report.tables import Rows, markdown_table

EMEA = str(Path(sys.executable).with_name("emea"))
FIRST_NAMES = [
    begin + end for begin in ("An", "Bri", "Cor", "Do", "El", "Ger", "Hu") for end in ("na", "bert", "lia", "go")
]
LAST_NAMES = [
    begin + end
    for begin in ("Ad", "Bau", "Eck", "Fal", "Kol", "Ros", "Stein")
    for end in ("ler", "mann", "hoff", "berg")
]
TRADES = ("Steel", "Foods", "Freight", "Software", "Bank", "Energy", "Pharma", "Print", "Glass", "Paper")
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
    options: tuple[str, ...] = ()


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
    """The example, with German labels in CLDR and English ones in GeoNames."""
    task, reference = read_example("world", seeds=1)
    links = reference.open() + task.seeds
    paths = []
    for graph, language, name in ((task.source, "de", "cldr.nt"), (task.target, "en", "geonames.nt")):
        kept = pc.is_in(graph.literals["language"], value_set=pc.cast([language, ""], graph.literals["language"].type))
        paths.append(folder / name)
        RDF().write_graph(replace(graph, literals=graph.literals.filter(kept)), paths[-1])
    return Case("world, German and English", *paths, names(links, task.source, task.target), kinds(task))


def registers(folder: Path) -> Case:
    """Two synthetic registers of people and firms; a third of each is missing from the other. Names are written in two
    orders, one in four with a typing error, and some dates of birth are missing."""
    draw = random.Random(0)
    people = [
        (draw.choice(FIRST_NAMES), draw.choice(LAST_NAMES), draw.randrange(20_000), draw.randrange(120))
        for _ in range(600)
    ]
    firms = [(f"{draw.choice(LAST_NAMES)} {draw.choice(TRADES)}", draw.randrange(1850, 2010)) for _ in range(120)]
    kept: list[set[str]] = []
    for side in "ab":
        rows, here = ["head\trelation\ttail\tkind"], {number for number in range(120) if draw.random() < 2 / 3}
        for number, (name, founded) in enumerate(firms):
            if number in here:
                rows.append(f"{side}:firm{number}\ttitle\t{slipped(name, draw)}\tliteral")
                rows += [f"{side}:firm{number}\tfounded\t{founded}\tliteral"] if draw.random() < 0.8 else []
        for number, (first, last, day, firm) in enumerate(people):
            if draw.random() < 2 / 3:
                name = f"{first} {last}" if draw.random() < 0.5 else f"{last}, {first}"
                rows.append(f"{side}:person{number}\tname\t{slipped(name, draw)}\tliteral")
                born = date(1940, 1, 1) + timedelta(day)
                rows += [f"{side}:person{number}\tborn\t{born}\tliteral"] if draw.random() < 0.8 else []
                rows += [f"{side}:person{number}\tworks for\t{side}:firm{firm}\tentity"] if firm in here else []
        (folder / f"{side}.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
        kept.append({row.split("\t")[0][2:] for row in rows[1:]})
    truth = {(f"a:{name}", f"b:{name}") for name in kept[0] & kept[1]}
    classes = {f"a:{name}": name.rstrip("0123456789") for name in kept[0]}
    return Case("two registers", folder / "a.tsv", folder / "b.tsv", truth, classes)


def slipped(name: str, draw: random.Random) -> str:
    """The name, one time in four with two neighbouring letters swapped."""
    place = draw.randrange(1, len(name) - 1)
    return name if draw.random() < 0.75 else name[:place] + name[place + 1] + name[place] + name[place + 2 :]


def kinds(task: Task) -> dict[str, str]:
    """The kind of each source, according to CLDR."""
    table, entities = task.source.literals, task.source.entities.to_pylist()
    kind = [name.endswith("kind") for name in task.source.attributes.to_pylist()].index(True)
    rows = zip(*(table[name].to_pylist() for name in ("entity", "attribute", "value")), strict=True)
    return {entities[entity]: value for entity, attribute, value in rows if attribute == kind}


def names(links: Links, source: Graph, target: Graph) -> set[tuple[str, str]]:
    """The links by name."""
    columns = source.entities.take(links.source.numpy()), target.entities.take(links.target.numpy())
    return set(zip(*(column.to_pylist() for column in columns), strict=True))


def measure(case: Case, folder: Path) -> Rows:
    """A row for all classes of the reference together and, for the example, one for each class."""
    started = time.perf_counter()
    out = folder / case.name.replace("/", "-")
    files = [str(case.source), str(case.target)]
    subprocess.run([EMEA, "align", *files, *case.options, "--out", str(out), "--quiet"], check=True)
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


def row(label: str, case: Case, found: set[tuple[str, str]], wanted: set[str], seconds: str) -> dict[str, str]:
    """Precision, recall and F1 of the links from entities of some classes, in both readings."""
    known = {source for source, _ in case.truth}
    truth = {pair for pair in case.truth if case.classes.get(pair[0], "?") in wanted}
    strict = {pair for pair in found if case.classes.get(pair[0], "?") in wanted}
    cells = {"set": label, "true links": f"{len(truth):,}"}
    for reading, links in (("known sources", {pair for pair in strict if pair[0] in known}), ("strict", strict)):
        right = len(links & truth)
        precision, recall = right / max(1, len(links)), right / len(truth)
        cells[reading] = f"{precision:.3f} / {recall:.3f} / {2 * right / (len(links) + len(truth)):.3f}"
    return {**cells, "time": seconds}


def main() -> None:
    """Measure all sets and write the section."""
    data = with_data(__doc__).parse_args().data
    with tempfile.TemporaryDirectory() as folder:
        synthetic = registers(Path(folder))
        without = replace(synthetic, name="· without the rule `disagreement`", options=("--set", "em.rules=paris"))
        cases = [*oaei(data), world(Path(folder)), synthetic, without]
        rows = [row for case in cases for row in measure(case, Path(folder))]
    write_sections(f"""## Without seeds

Generated by `python scripts/no_seeds.py`; measured at commit {commit()}. `emea align SOURCE TARGET` with default
settings and no known pairs: names and values start the loop. Precision / recall / F1 in both readings; *strict* counts
every link from an entity whose class occurs in the reference. *world* is CLDR with German labels and GeoNames with
English ones; its languages and zones have little more than structure, and not all entities of CLDR are in GeoNames.
*two registers* is synthetic: people and firms, a third of them missing from the other register.

{markdown_table(rows)}
""")


if __name__ == "__main__":
    main()
