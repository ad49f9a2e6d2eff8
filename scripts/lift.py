"""Make a large pair of graphs from a real one: the K-lift of a benchmark folder.

    python scripts/lift.py FOLDER OUT --copies 52 [--seed 0] [--keep-hubs DEGREE] [--names]

FOLDER is any benchmark that emea reads, OUT becomes a folder of id files as DBP15K has them (`emea align --data OUT`).

Every entity gets K copies, and every link links copies of the same number. The edge (h, r, t) becomes the K edges
(hᵢ, r, tⱼ), j = i + s mod K, where s is drawn for the end points *as the links identify them*: corresponding edges of
both graphs get the same s. An edge that says the same in the other direction gets −s, so that it joins the same copies,
too; an edge from an entity to itself gets 0. Degrees, the skew of relations, noise, and the share of entities without
counterpart stay as they are, and every relation has K times its edges.

Entities that have at least DEGREE edges in one of the graphs can stay single (`--keep-hubs`): then they have K times
the edges, and an edge between two of them stays one edge.

What the pair can tell: adding 1 to the number of every copy changes neither graph, so without seeds nothing tells the K
copies of an entity apart; what does is how they lie to the seeds. The shift knows all links, also those to be found:
lifts are for measuring time, memory, and quality as K grows, and the package never makes one.

Neither ids, nor names, nor the order of lines tell which entities match: the ids of each graph are shuffled on their
own, names are made of ids, and each file has its lines in an order of its own. All of it is drawn by hashing from the
seed, line by line: the memory needed is that of the input, and the same seed gives the same bytes.

With `--names` the last part of each URI is a name of two made-up words (`emea align --data OUT --local-names`). Linked
copies have the same name: exactly the same (55 %), misspelt in one word on one side (30 %), or unlike (15 %). Words are
not equally frequent, and some names are those of several entities. Values of OpenEA folders are left out, and so are
their folds: all links are in ref_ent_ids.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from _id_files import SIDES, addresses, draw, share, shuffled, write_lines
from emea import read_benchmark
from emea.data import Links, Reference, Task
from emea.errors import InputError

IDS, ENTITIES, EDGES, PAIRS, SHIFT, UNLIKE, WORDS, MISSPELT = range(8)  # what numbers are drawn for
WORD_COUNT, SLIPS = 30_000, 8  # words, and ways to misspell each
SAME, LIKE = 0.55, 0.30  # of the linked copies; the others have names that are not alike
SYLLABLES = [first + vowel for first in (*"bdfghjklmnprstvz", "ch", "st", "tr") for vowel in (*"aeiou", "ai", "ou")]


@dataclass(frozen=True)
class Copies:
    """Numbers for the copies of things: those of thing 0, then those of thing 1, and so on."""

    start: np.ndarray  # [things + 1]: the first number of each

    @classmethod
    def of(cls, single: np.ndarray, copies: int) -> Copies:
        """One copy of what is single, and so many of everything else."""
        return cls(np.concatenate([[0], np.cumsum(np.where(single, 1, copies))]))

    def __len__(self) -> int:
        return int(self.start[-1])

    def number(self, thing: np.ndarray, copy: np.ndarray) -> np.ndarray:
        """The number of a copy; what is single has only one."""
        found: np.ndarray = self.start[thing] + copy % (self.start[thing + 1] - self.start[thing])
        return found

    def split(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which thing each number is a copy of, and which copy."""
        thing = np.searchsorted(self.start, numbers, "right") - 1
        return thing, numbers - self.start[thing]


class Lift:
    """The lift of a pair of graphs: what each line of each file says."""

    def __init__(self, task: Task, links: Links, copies: int, seed: int, hubs: int | None) -> None:
        self.graphs, self.copies, self.seed = (task.source, task.target), copies, seed
        self.same = _identified(task, links)
        degrees = [np.bincount(graph.triples[:, ::2].flatten(), minlength=len(graph.entities)) for graph in self.graphs]
        most = np.zeros(1 + max(same.max(initial=0) for same in self.same), dtype=np.int64)
        for same, degree in zip(self.same, degrees, strict=True):
            np.maximum.at(most, same, degree)
        single = most >= hubs if hubs is not None else np.zeros(len(most), dtype=bool)
        self.single = [single[same] for same in self.same]
        self.entities = [Copies.of(each, copies) for each in self.single]

    @cached_property
    def words(self) -> pa.Array:
        """Made-up words, each followed by its misspellings."""
        lengths = 2 + draw(self.seed, WORDS, 0, np.arange(WORD_COUNT)) % np.uint64(3)
        drawn = draw(self.seed, WORDS, 1, np.arange(WORD_COUNT)[:, None], np.arange(4)) % np.uint64(len(SYLLABLES))
        slips = draw(self.seed, WORDS, 2, np.arange(WORD_COUNT)[:, None], np.arange(SLIPS)).tolist()
        found: list[str] = []
        for length, row, luck in zip(lengths.tolist(), drawn.tolist(), slips, strict=True):
            word = "".join(SYLLABLES[syllable] for syllable in row[:length])
            found += [word, *(_misspelt(word, number) for number in luck)]
        return pa.array(found)

    def ids(self, side: int, entity: np.ndarray, copy: np.ndarray) -> np.ndarray:
        """The ids of copies: shuffled, and those of the targets after those of the sources."""
        own = self.entities[side]
        return side * len(self.entities[0]) + shuffled(own.number(entity, copy), len(own), self.seed, IDS, side)

    def triples(self, side: int) -> tuple[Copies, np.ndarray]:
        """The copies of a graph's edges, and how far each edge shifts."""
        head, _, tail = self.graphs[side].triples.numpy().T
        ends = self.same[side][head], self.same[side][tail]
        drawn = (draw(self.seed, SHIFT, np.minimum(*ends), np.maximum(*ends)) % np.uint64(self.copies)).astype(np.int64)
        shift = np.sign(ends[1] - ends[0]) * drawn % self.copies
        return Copies.of(self.single[side][head] & self.single[side][tail], self.copies), shift

    def names(self, side: int, entity: np.ndarray, copy: np.ndarray) -> pa.Array:
        """A name of two made-up words for each copy: about the same for linked copies."""
        key = self.seed, WORDS, self.same[side][entity], copy
        luck = share(draw(*key, UNLIKE))
        other = np.where((luck >= SAME + LIKE) & (side == 1), 1, 0)
        chosen = [(WORD_COUNT * share(draw(*key, other, word)) ** 2).astype(np.int64) for word in (0, 1)]
        kinds = draw(*key, MISSPELT)
        slip = (luck >= SAME) & (luck < SAME + LIKE) & ((kinds & np.uint64(1)) == side)
        which, variant = (kinds >> np.uint64(1)) & np.uint64(1), (kinds >> np.uint64(2)) % np.uint64(SLIPS)
        rows = [each * (SLIPS + 1) for each in chosen]
        rows = [
            row + np.where(slip & (which == word), 1 + variant.astype(np.int64), 0) for word, row in enumerate(rows)
        ]
        return pc.binary_join_element_wise(*(self.words.take(pa.array(row)) for row in rows), "_")


def _identified(task: Task, links: Links) -> list[np.ndarray]:
    """A number for each entity of both graphs, the same for those that are linked."""
    sources, size = len(task.source.entities), len(task.source.entities) + len(task.target.entities)
    ends = links.source.numpy(), links.target.numpy() + sources
    joined = coo_array((np.ones(len(links), dtype=np.int8), ends), shape=(size, size))
    same = connected_components(joined, directed=False)[1].astype(np.int64)
    return [same[:sources], same[sources:]]


def _misspelt(word: str, luck: int) -> str:
    """The word with a letter changed, doubled or lost, or with two swapped."""
    place, kind, letter = luck % len(word), luck >> 8 & 3, chr(97 + (luck >> 16) % 26)
    middle = (letter, 2 * word[place], "", word[place + 1 : place + 2] + word[place])[kind]
    return word[:place] + middle + word[place + 1 + (kind == 3) :]


def _known(folder: Path) -> tuple[Task, dict[str, Links]]:
    """The pair in a folder, and its links by the file that will list them."""
    try:
        task, reference = read_benchmark(folder)
    except InputError:  # it does not say which links are seeds, or has another fault, which is found again
        task, reference = read_benchmark(folder, ratio=0)
        return task, {"ref_ent_ids": task.validation + _opened(reference)}
    parts = {"sup_ent_ids": task.seeds, "val_ent_ids": task.validation, "ref_ent_ids": _opened(reference)}
    return task, {name: links for name, links in parts.items() if len(links)}


def _opened(reference: Reference | None) -> Links:
    return Links.empty() if reference is None else reference.open()


def _write_graph(lift: Lift, side: int, folder: Path, named: bool) -> dict[str, int]:
    graph, number, own = lift.graphs[side], side + 1, lift.entities[side]
    relations = side * len(lift.graphs[0].relations)  # as entities do, those of the target come after the others
    edges, shift = lift.triples(side)
    columns = graph.triples.numpy().T

    def entity_lines(numbers: np.ndarray) -> list[pa.Array]:
        copies = own.split(numbers)
        ids = lift.ids(side, *copies)
        return [ids, addresses(SIDES[side], ids, lift.names(side, *copies) if named else None)]

    def edge_lines(numbers: np.ndarray) -> list[np.ndarray]:
        edge, copy = edges.split(numbers)
        head, relation, tail = (column[edge] for column in columns)
        tails = np.where(lift.single[side][head], copy, copy + shift[edge])  # no shift is needed from one head to all
        return [lift.ids(side, head, copy), relation + relations, lift.ids(side, tail, tails)]

    listed = "".join(f"{relations + place}\t{name}\n" for place, name in enumerate(graph.relations.to_pylist()))
    (folder / f"rel_ids_{number}").write_text(listed, encoding="utf-8")
    entities = write_lines(folder / f"ent_ids_{number}", len(own), (lift.seed, ENTITIES, side), entity_lines)
    triples = write_lines(folder / f"triples_{number}", len(edges), (lift.seed, EDGES, side), edge_lines)
    return {f"ent_ids_{number}": entities, f"triples_{number}": triples}


def _write_links(lift: Lift, links: Links, path: Path) -> int:
    source, target = links.source.numpy(), links.target.numpy()
    pairs = Copies.of(lift.single[0][source], lift.copies)

    def pair_lines(numbers: np.ndarray) -> list[np.ndarray]:
        pair, copy = pairs.split(numbers)
        return [lift.ids(0, source[pair], copy), lift.ids(1, target[pair], copy)]

    return write_lines(path, len(pairs), (lift.seed, PAIRS), pair_lines)


def lift(
    folder: Path, out: Path, copies: int, seed: int = 0, *, hubs: int | None = None, named: bool = False
) -> dict[str, int]:
    """Write the lift of a benchmark folder, and count the lines of each file."""
    task, parts = _known(folder)
    out.mkdir(parents=True, exist_ok=True)
    whole = sum(parts.values(), Links.empty())
    made = Lift(task, whole, copies, seed, hubs)
    written = {key: count for side in (0, 1) for key, count in _write_graph(made, side, out, named).items()}
    return written | {name: _write_links(made, links, out / name) for name, links in parts.items()}


def main() -> None:
    """Write a lift."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="A benchmark folder.")
    parser.add_argument("out", type=Path, help="The folder to write.")
    parser.add_argument("--copies", type=int, required=True, help="Copies of each entity.")
    parser.add_argument("--seed", type=int, default=0, help="What everything is drawn from.")
    parser.add_argument("--keep-hubs", type=int, metavar="DEGREE", help="Entities of this degree stay single.")
    parser.add_argument("--names", action="store_true", help="Make up names.")
    chosen = parser.parse_args()
    if chosen.copies < 1:
        parser.error(f"found {chosen.copies} copies, expected at least 1")
    started = time.perf_counter()
    options = {"hubs": chosen.keep_hubs, "named": chosen.names}
    for name, count in lift(chosen.folder, chosen.out, chosen.copies, chosen.seed, **options).items():
        print(f"{count:>12,} {name}")
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
