"""Measures the links found without seeds, and writes their section of docs/results.md.

    python scripts/no_seeds.py [DATA]

Each set is linked by `emea align SOURCE TARGET` with default settings. *strict* counts every link from an entity whose
class occurs in the reference; entities of other classes are left out, because the reference says nothing about them.
Settings were not tuned set by set: one setting for all.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import torch
from scipy.stats import rankdata

from _records import commit, with_data, write_sections
from emea import Graph, read_example
from emea.analysis.calibration import calibration_error, reliability
from emea.data import Links, Task
from emea.formats import read_graph, read_pairs
from emea.formats.rdf import RDF
from emea.method.matching import surest
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
LARGE = 1000  # links from which a set is judged on its own
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
REAL = {  # which sources the truth is about: a pattern of type and name
    "anatomy": r"mouse\.owl#MA_",
    "languages": r"Language ",
    "iaut_uat": r"thesaurus",
    "fodors_zagats": r"",
    "dblp_acm": r"",
}
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
    unjudged: set[tuple[str, str]] = field(default_factory=set)  # pairs that are neither right nor wrong


@dataclass(frozen=True)
class Judged:
    """The links of a case that count, in the strict reading."""

    confidence: np.ndarray
    right: np.ndarray
    true: int  # links in the reference
    kept: np.ndarray  # bool: kept at a target precision of 0.95


def oaei(data: Path) -> Iterator[Case]:
    """The sets of OAEI's instance matching track."""
    for name, files in OAEI.items():
        paths = [data / "oaei" / name / file for file in files]
        graphs = [read_graph(path) for path in paths[:2]]
        links = read_pairs(paths[2], graphs[0], graphs[1])
        yield Case(f"oaei/{name}", paths[0], paths[1], names(links, *graphs), types(graphs[0]))


def real(data: Path, *chosen: str) -> Iterator[Case]:
    """Pairs of which many entities have no counterpart, all or some of them."""
    for name in chosen or REAL:
        judged = REAL[name]
        place = data / "real" / name
        source, target = (next(place.glob(f"{side}.*")) for side in ("source", "target"))
        graph = read_graph(source)
        kinds = types(graph) if TYPE in graph.relations.to_pylist() else {}
        entities = [each for each in graph.entities.to_pylist() if re.search(judged, kinds.get(each, "") + " " + each)]
        known = [tuple(line.split("\t")) for line in (place / "truth.tsv").read_text(encoding="utf-8").splitlines()]
        unjudged = {(row[0], row[-1]) for row in _rows(place / "truth_other.tsv")}
        doubtful = {row[0] for row in _rows(place / "ambiguous.tsv")}
        classes = {each: "judged" for each in entities if each not in doubtful}
        yield Case(f"real/{name}", source, target, {(row[0], row[1]) for row in known}, classes, unjudged=unjudged)


def _rows(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def types(graph: Graph) -> dict[str, str]:
    """The rdf:type of each entity that has one."""
    place = graph.relations.to_pylist().index(TYPE)
    entities = graph.entities.to_pylist()
    return {entities[h]: entities[t] for h, r, t in graph.triples.tolist() if r == place}


def world(folder: Path) -> Iterator[Case]:
    """The example with German labels in CLDR and English ones in GeoNames, and with those of every language."""
    task, reference = read_example("world", seeds=1)
    truth = names(reference.open() + task.seeds, task.source, task.target)
    for label, languages in (("German and English", ("de", "en")), ("every language", None)):
        paths = [folder / label / name for name in ("cldr.nt", "geonames.nt")]
        paths[0].parent.mkdir()
        for side, (graph, path) in enumerate(zip((task.source, task.target), paths, strict=True)):
            table = graph.literals
            if languages is not None:
                wanted = pc.cast([languages[side], ""], table["language"].type)
                table = table.filter(pc.is_in(table["language"], value_set=wanted))
            RDF().write_graph(replace(graph, literals=table), path)
        yield Case(f"world, {label}", *paths, truth, kinds(task))


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


def measure(case: Case, folder: Path) -> tuple[Rows, Judged]:
    """A row for all classes of the reference together and, for the example, one for each class; and all their links."""
    started = time.perf_counter()
    out = folder / case.name.replace("/", "-")
    files = [str(case.source), str(case.target)]
    subprocess.run([EMEA, "align", *files, *case.options, "--out", str(out), "--quiet"], check=True)
    seconds = time.perf_counter() - started
    lines = [line.split("\t") for line in (out / "alignment.tsv").read_text(encoding="utf-8").splitlines()[1:]]
    found = {(source, target): float(confidence) for source, target, confidence, *_ in lines}
    groups = {}
    for source, _ in case.truth:
        groups.setdefault(case.classes.get(source, "?"), set()).add(source)
    rows = [(case.name, set(groups), f"{seconds:.0f} s")]
    if case.name.startswith("world"):
        rows.append(("· territories and currencies", {"territory", "currency"}, ""))
        rows += [(f"· {name}", {name}, "") for name in sorted(groups)]
    return [row(label, case, found, wanted, taken) for label, wanted, taken in rows], judged(case, found, set(groups))


def judged(case: Case, found: dict[tuple[str, str], float], wanted: set[str]) -> Judged:
    """The links from entities of some classes, strictly."""
    sure = surest(torch.tensor([*found.values()], dtype=torch.float64), 0.95).tolist()
    counted = [
        (confidence, pair in case.truth, kept)
        for (pair, confidence), kept in zip(found.items(), sure, strict=True)
        if case.classes.get(pair[0], "?") in wanted and pair not in case.unjudged
    ]
    confidence, right, kept = (
        (np.array(column) for column in zip(*counted, strict=True)) if counted else [np.zeros(0)] * 3
    )
    true = sum(case.classes.get(source, "?") in wanted for source, _ in case.truth)
    return Judged(confidence, right.astype(bool), true, kept.astype(bool))


def row(label: str, case: Case, found: dict[tuple[str, str], float], wanted: set[str], seconds: str) -> dict[str, str]:
    """Precision, recall and F1 of the links from entities of some classes, and whether their confidence is right."""
    strict = judged(case, found, wanted)
    known = {source for source, _ in case.truth}
    cells = {"set": label, "true links": f"{strict.true:,}", "strict": figures(strict.right, strict.true)}
    error, wrong = error_of(strict), int((~strict.right).sum())
    low, high = expected_wrong(strict.confidence)
    cells |= {"calibration error": f"{error:.3f}", "wrong": f"{wrong:,}", "expected": f"{low:,}–{high:,}"}
    kept = strict.right[strict.kept]
    share = kept.sum() / max(1, strict.right.sum())
    cells["at .95"] = f"{kept.mean():.3f} ({share:.0%} kept)" if len(kept) else "none kept"
    some = [pair in case.truth for pair in found if pair[0] in known and case.classes.get(pair[0], "?") in wanted]
    return {**cells, "known sources": figures(np.array(some, dtype=bool), strict.true), "time": seconds}


def figures(right: np.ndarray, true: int) -> str:
    """Precision, recall and F1."""
    count = int(right.sum())
    return f"{count / max(1, len(right)):.3f} / {count / true:.3f} / {2 * count / (len(right) + true):.3f}"


def error_of(links: Judged) -> float:
    """Calibration error."""
    return calibration_error(reliability(torch.from_numpy(links.confidence), torch.from_numpy(links.right)))


def expected_wrong(confidence: np.ndarray) -> tuple[int, int]:
    """The number of wrong links that 95 of 100 runs with this confidence would have."""
    if not len(confidence):
        return 0, 0
    chance = np.ones(1)  # of each number of wrong links
    for sure in confidence:
        chance = np.convolve(chance, [sure, 1 - sure])
    low, high = np.searchsorted(np.cumsum(chance), [0.025, 0.975])
    return int(low), int(high)


def pooled(found: list[Judged]) -> str:
    """Whether confidence tells right links from wrong ones, over all sets."""
    every, small = together(found), together([links for links in found if len(links.confidence) < LARGE])
    confidence, right, wrong = every.confidence, every.right, int((~every.right).sum())
    above = rankdata(confidence)[right].sum() - right.sum() * (right.sum() + 1) / 2  # wrong links below right ones
    brier, constant = np.mean((confidence - right) ** 2), right.mean() * (1 - right.mean())
    return (
        f"All sets together: {len(right):,} links, {wrong:,} of them wrong. Area under the ROC curve of confidence: "
        f"{above / max(1, right.sum() * wrong):.3f}. Brier score: {brier:.4f}; of a constant: "
        f"{constant:.4f}. Calibration error of the sets with fewer than {LARGE:,} links, pooled: {error_of(small):.3f}."
    )


def together(found: list[Judged]) -> Judged:
    """All links as one set."""
    columns = (np.concatenate([getattr(links, name) for links in found]) for name in ("confidence", "right", "kept"))
    confidence, right, kept = columns
    return Judged(confidence, right, sum(links.true for links in found), kept)


def main() -> None:
    """Measure all sets and write the section."""
    data = with_data(__doc__).parse_args().data
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        synthetic = registers(folder)
        cases = [*real(data), *oaei(data), *world(folder), synthetic]
        rows, links = zip(*(measure(case, folder) for case in cases), strict=True)
        without = replace(synthetic, name="· not judged", options=("--set", "matching.judge=false"))
        others = measure(without, folder)[0]
    write_sections(f"""## Without seeds

Generated by `python scripts/no_seeds.py`; measured at commit {commit()}. `emea align SOURCE TARGET` with default
settings and no known pairs. Precision / recall / F1; *strict* counts every link from an entity whose class occurs in
the reference, *known sources* only those whose source has a true link. *expected*: how many links 95 of 100 runs with
this confidence would get wrong. *at .95*: precision with `--target-precision 0.95`, and the share of right links kept.
*world* is CLDR and GeoNames, with German labels in the one and English ones in the other (its languages and zones then
have little more than structure), or with all their labels. *two registers* is synthetic: people and firms, a third of
them missing from the other register.

{markdown_table([*(each for part in rows for each in part), *others])}

{pooled(list(links))}
""")


if __name__ == "__main__":
    main()
