"""Say how many links of a benchmark its structure can settle at best, by colour refinement.

    python scripts/ceiling.py FOLDER [--ratio .02] [--split 0]

Colour refinement (Weisfeiler and Leman): all entities start with one colour, but each seed pair has one of its own. In
each round the new colour of an entity is its old one together with how often each (relation, direction, colour) occurs
among its edges. Both graphs are coloured alike; relations count as the same if the last parts of their names are equal.
Colours are hashes of 64 bits. What is reported is about the links to be found, seeds left out:

- **ceiling**: when no class divides any more, entities of one colour in one graph cannot be told apart by anything that
  passes on what seeds and relations tell. Sources of one class then have the same scores, and so have targets of one
  class: each source of class C can at best be given a random one of the n targets of one class D. If k links lead from
  C to D, k/n hits are expected. The sum of max k/n over all classes of sources, divided by the links, is a ceiling of
  Hit@1 among all targets for structure alone, noise or none, since no entity of one graph is compared with one of the
  other. It is the figure to publish beside a score. Where the graphs differ it is out of reach; methods that use names
  are not bound by it. Among *test targets* only these count in n.
- **ceiling, all else known**: the same, but only twins share a class: entities with the same relations to the very same
  neighbours, which nothing tells apart even if all other links are known, unless one is a seed. It is looser.
- **alone**, **without twins**: links both of whose ends are alone in their class.
- **by rounds**: links whose two ends have the same colour, which nobody else has in either graph (settled); the same
  colour, but not alone (shared; a hit is expected of one in n); different colours. Refinement is exact: one edge that
  only one graph has changes the colours of all around it, a step further each round, so these shares are what an exact
  method reaches, not a ceiling. "Wrong" are pairs that are alone with their colour and no links.

If the folder has the files kinds_1 and kinds_2 (id, kind), the ceilings are also told by kind.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from _id_files import draw
from emea import read_benchmark
from emea.data import Graph, Links, Task
from emea.errors import InputError
from emea.report.tables import markdown_table

START, STEP, EDGE = range(3)  # what numbers are drawn for


@dataclass(frozen=True)
class Edges:
    """The edges of a graph as its entities see them: each twice, sorted by the entity that sees it."""

    first: np.ndarray  # [seers]: where the edges of each begin
    seer: np.ndarray  # [seers]: the entities that have edges
    other: np.ndarray  # [2 · triples]: the neighbours
    how: np.ndarray  # [2 · triples] uint64: drawn for relation and direction
    size: int  # entities

    @classmethod
    def of(cls, graph: Graph) -> Edges:
        """The edges of a graph."""
        head, relation, tail = graph.triples.numpy().T
        named = pc.replace_substring_regex(graph.relations, r"^.*[/#]", "").to_pylist()
        digests = (hashlib.blake2b(name.encode(), digest_size=8).digest() for name in named)
        known = np.frombuffer(b"".join(digests), dtype=np.uint64)
        ends, others = np.concatenate([head, tail]), np.concatenate([tail, head]).astype(np.int32)
        how = np.concatenate([draw(EDGE, known[relation], direction) for direction in (0, 1)])
        order = np.argsort(ends, kind="stable")
        seer, first = np.unique(ends[order], return_index=True)
        return cls(first, seer, others[order], how[order], len(graph.entities))

    def seen(self, colour: np.ndarray) -> np.ndarray:
        """What each entity sees, [entities] uint64: sums of hashes, which say how often each kind of edge occurs."""
        found = np.zeros(self.size, dtype=np.uint64)
        if len(self.seer):
            found[self.seer] = np.add.reduceat(draw(self.how, colour[self.other]), self.first)
        return found


@dataclass(frozen=True)
class Classes:
    """Entities of both graphs by colour, each graph on its own."""

    colours: tuple[np.ndarray, np.ndarray]  # [entities] uint64
    places: tuple[np.ndarray, np.ndarray]  # [entities]: the class of each
    sizes: tuple[np.ndarray, np.ndarray]  # [classes]

    @classmethod
    def of(cls, source: np.ndarray, target: np.ndarray) -> Classes:
        """The classes of the two graphs' colours."""
        _, first, few = np.unique(source, return_inverse=True, return_counts=True)
        _, second, many = np.unique(target, return_inverse=True, return_counts=True)
        return cls((source, target), (first, second), (few, many))

    @property
    def count(self) -> int:
        """How many there are in both graphs together."""
        return sum(map(len, self.sizes))

    def of_links(self, links: Links) -> tuple[np.ndarray, np.ndarray]:
        """The classes of the links' sources, and of their targets."""
        return self.places[0][links.source.numpy()], self.places[1][links.target.numpy()]

    def alone(self, links: Links) -> np.ndarray:
        """Whether both ends of each link are alone in their classes, [links] bool."""
        source, target = self.of_links(links)
        found: np.ndarray = (self.sizes[0][source] == 1) & (self.sizes[1][target] == 1)
        return found

    def ceiling(self, links: Links, *, tested: bool = False) -> np.ndarray:
        """The hits that can be expected of each link, [links]: 1/n if its source's class is best given targets of its
        target's class, and 0 otherwise; n counts the class, or only those of its members that are tested."""
        source, target = self.of_links(links)
        members = np.unique(links.target.numpy())
        size = np.bincount(self.places[1][members], minlength=len(self.sizes[1])) if tested else self.sizes[1]
        pairs, place, common = np.unique(source * len(size) + target, return_inverse=True, return_counts=True)
        classes, hits = pairs // len(size), common / size[pairs % len(size)]
        order = np.lexsort((hits, classes))
        best = np.zeros(len(pairs), dtype=bool)
        best[order[np.append(classes[order][1:] != classes[order][:-1], True)]] = True
        found: np.ndarray = np.where(best[place], 1 / size[target], 0)
        return found

    def same(self, links: Links) -> np.ndarray:
        """Whether the two ends of each link have the same colour."""
        found: np.ndarray = self.colours[0][links.source.numpy()] == self.colours[1][links.target.numpy()]
        return found

    def shares(self, links: Links, known: Links) -> dict[str, str]:
        """How many links have ends of the same colour, with and without others; known ones are not counted."""
        same = self.same(links)
        settled, chance = same & self.alone(links), 1 / self.sizes[1][self.of_links(links)[1]]
        sides = zip(self.colours, self.places, self.sizes, strict=True)
        single = [colour[size[place] == 1] for colour, place, size in sides]
        pairs = len(np.intersect1d(single[0], single[1], assume_unique=True))
        right = settled.sum() + (self.same(known) & self.alone(known)).sum()
        return {
            "settled": f"{settled.mean():.3f}",
            "wrong": f"{pairs - right:,}",
            "shared": f"{(same & ~settled).mean():.3f}",
            "expected hits": f"{(same * chance).mean():.3f}",
            "different": f"{(~same).mean():.3f}",
        }


def _start(edges: tuple[Edges, Edges], seeds: Links) -> list[np.ndarray]:
    """One colour for all entities, but one of its own for each seed pair."""
    colours = [np.broadcast_to(draw(START), each.size).copy() for each in edges]
    for colour, ends in zip(colours, (seeds.source, seeds.target), strict=True):
        colour[ends.numpy()] = draw(START, np.arange(len(seeds)))
    return colours


def twins(edges: tuple[Edges, Edges], seeds: Links) -> Classes:
    """Classes of entities of a graph that have the same relations to the very same neighbours."""
    source, target = (
        draw(STEP, colour, each.seen(draw(START, np.arange(each.size))))
        for each, colour in zip(edges, _start(edges, seeds), strict=True)
    )
    return Classes.of(source, target)


def refine(edges: tuple[Edges, Edges], task: Task, links: Links) -> tuple[Classes, list[dict[str, str]]]:
    """The classes when none divides any more, and what each round settles."""
    colours = _start(edges, task.seeds)
    classes, rows = Classes.of(colours[0], colours[1]), list[dict[str, str]]()
    for number in count(1):
        colours = [draw(STEP, colour, each.seen(colour)) for each, colour in zip(edges, colours, strict=True)]
        before, classes = classes.count, Classes.of(colours[0], colours[1])
        told = classes.shares(links, task.seeds + task.validation)
        rows.append({"round": str(number), "classes": f"{classes.count:,}"} | told)
        if classes.count == before:
            break
    return classes, rows


def kinds(folder: Path, source: Graph, links: Links) -> pa.Array:
    """The kind of each link's source, or "all" where the folder has no kinds."""
    if source.aliases is None or not (folder / "kinds_1").is_file():
        return pa.array(["all"]).take(pa.array(np.zeros(len(links), dtype=np.int64)))
    ids, named = zip(*(line.split("\t") for line in (folder / "kinds_1").read_text().splitlines()), strict=True)
    own = source.aliases.take(pa.array(links.source.numpy()))
    return pa.array(named).take(pc.index_in(own, pa.array(ids, own.type)))


def ceilings(folder: Path, ratio: float, split: int) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """The ceilings by kind, and what each round settles."""
    task, reference = read_benchmark(folder, ratio=ratio, split=split)
    if reference is None or not len(reference):
        raise InputError(f"{folder}: found no links beside seeds and validation, expected some")
    links, edges = reference.open(), (Edges.of(task.source), Edges.of(task.target))
    alike = twins(edges, task.seeds)
    classes, by_rounds = refine(edges, task, links)
    told = {
        "ceiling": classes.ceiling(links),
        "among test targets": classes.ceiling(links, tested=True),
        "alone": classes.alone(links),
        "ceiling, all else known": alike.ceiling(links),
        "without twins": alike.alone(links),
    }
    kind, rows = kinds(folder, task.source, links), []
    for each in dict.fromkeys(["all", *pc.unique(kind).sort().to_pylist()]):
        own = np.ones(len(links), dtype=bool) if each == "all" else pc.equal(kind, each).to_numpy(zero_copy_only=False)
        figures = {name: f"{values[own].mean():.3f}" for name, values in told.items()}
        rows.append({"kind": each, "links": f"{own.sum():,}"} | figures)
    return rows, by_rounds


def main() -> None:
    """Print the ceilings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="A benchmark folder.")
    parser.add_argument("--ratio", type=float, default=0.02, help="Share of the links that are seeds.")
    parser.add_argument("--split", type=int, default=0, help="Which of the splits.")
    chosen, started = parser.parse_args(), time.perf_counter()
    for rows in ceilings(chosen.folder, chosen.ratio, chosen.split):
        print(markdown_table(rows), "\n")
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
