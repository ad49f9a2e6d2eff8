"""Made-up registers of people in which one person may have several records, with errors, as in FEBRL."""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

import numpy as np
import pyarrow as pa
import torch

from emea.data import LITERAL_SCHEMA, Graph, Links, Task

FIELDS = ("name", "address", "born", "phone", "town")
FIRST = [
    begin + end for begin, end in product(("An", "Bri", "Cor", "Do", "El", "Ger", "Hu", "Il"), ("na", "bert", "lia"))
]
LAST = [
    begin + end
    for begin, end in product(
        ("Ad", "Bau", "Deck", "Eck", "Fal", "Grub", "Hol", "Kol", "Lind", "Mar", "Ros", "Stein", "Wal"),
        ("ler", "mann", "hoff", "berg", "inger", "ke", "ner", "feld"),
    )
]
STREETS = [
    f"{tree} {way}" for tree, way in product(("Elm", "Oak", "Ash", "Lime", "Birch", "Cedar"), ("Street", "Road"))
]
TOWNS = [begin + end for begin, end in product(("Ash", "Brad", "Cam", "Dor", "Hat"), ("ford", "ley", "ton", "wick"))]
MISSING = {"name": 0.02, "address": 0.08, "born": 0.12, "phone": 0.2, "town": 0.1}  # share of the records
MISSPELT = 0.2  # share of the values

Person = dict[str, str]
Record = tuple[int, Person]  # whose it is


@dataclass(frozen=True)
class Crowd:
    """Two registers, and who is who."""

    task: Task
    owners: tuple[list[int], list[int]]  # the person of each entity

    @property
    def truth(self) -> set[tuple[int, int]]:
        """All pairs of records of one person."""
        places: dict[int, list[int]] = {}
        for place, person in enumerate(self.owners[1]):
            places.setdefault(person, []).append(place)
        return {(row, place) for row, person in enumerate(self.owners[0]) for place in places.get(person, [])}

    def swap(self) -> "Crowd":
        """The same seen from the target."""
        return Crowd(self.task.swap(), (self.owners[1], self.owners[0]))


def people(count: int, draw: random.Random) -> list[Person]:
    """Invent people; one in twenty lives with the one before, and has the same family name, address and phone."""
    found: list[Person] = []
    for _ in range(count):
        person = {
            "name": f"{draw.choice(FIRST)} {draw.choice(LAST)}",
            "address": f"{draw.randrange(1, 200)} {draw.choice(STREETS)}",
            "born": f"19{draw.randrange(20, 100)}-{draw.randrange(1, 13):02}-{draw.randrange(1, 29):02}",
            "phone": f"{draw.randrange(200, 999)} {draw.randrange(100_000, 999_999)}",
            "town": draw.choice(TOWNS),
        }
        if found and draw.random() < 1 / 20:
            kept = {name: found[-1][name] for name in ("address", "phone", "town")}
            person = {**person, **kept, "name": f"{draw.choice(FIRST)} {found[-1]['name'].split()[1]}"}
        found.append(person)
    return found


def misspelt(text: str, draw: random.Random) -> str:
    """The text with two neighbouring characters swapped, or with one that is lost, doubled or replaced."""
    place = draw.randrange(len(text) - 1)
    before, here, after = text[:place], text[place], text[place + 1 :]
    other = draw.choice("0123456789" if here.isdigit() else "abcdefghijklmnopqrstuvwxyz")
    return before + draw.choice([after[0] + here + after[1:], after, here + here + after, other + after])


def noted(person: Person, draw: random.Random) -> Person:
    """A record of a person: some values are missing, misspelt, or in the wrong field."""
    record = {name: value for name, value in person.items() if draw.random() >= MISSING[name]} or dict(person)
    record = {name: misspelt(value, draw) if draw.random() < MISSPELT else value for name, value in record.items()}
    if "name" in record and draw.random() < 0.1:
        record["name"] = ", ".join(reversed(record["name"].split(" ", 1)))
    if {"address", "town"} <= record.keys() and draw.random() < 0.05:
        record["address"], record["town"] = record["town"], record["address"]
    return record


def several(persons: Iterable[int], known: list[Person], most: int, draw: random.Random) -> list[Record]:
    """Up to `most` records of each person, few more often than many."""
    return [
        (number, noted(known[number], draw))
        for number in persons
        for _ in range(min(draw.randint(1, most), draw.randint(1, most)))
    ]


def register(records: list[Record], side: str) -> tuple[Graph, list[int]]:
    """The records as a graph, and whose they are, in the order of its entities."""
    rows = [
        (place, FIELDS.index(name), value, "", "")
        for place, (_, record) in enumerate(records)
        for name, value in record.items()
    ]
    table = pa.table([*zip(*rows, strict=True)], schema=LITERAL_SCHEMA)
    names = [f"http://{side}.example/{place:05}" for place in range(len(records))]
    return Graph.build(names, [], np.zeros((0, 3)), attributes=FIELDS, literals=table), [owner for owner, _ in records]


def crowd(size: int, *, most: tuple[int, int] = (9, 1), seed: int = 0) -> Crowd:
    """A register of `size` people as the target, and records of most of them and of a quarter as many others as the
    source; `most` is how many records a person has at most, in the source and in the target."""
    draw = random.Random(seed)
    known = people(size + size // 4, draw)
    here = [number for number in range(len(known)) if number >= size or draw.random() < 0.7]
    first, own = register(_shuffled(several(here, known, most[0], draw), draw), "a")
    listed = [(n, known[n]) for n in range(size)] if most[1] == 1 else several(range(size), known, most[1], draw)
    second, others = register(_shuffled(listed, draw), "b")
    return Crowd(Task(first, second, Links.empty()), (own, others))


def _shuffled(records: list[Record], draw: random.Random) -> list[Record]:
    return draw.sample(records, len(records))


def scored(found: set[tuple[int, int]], truth: set[tuple[int, int]]) -> tuple[float, float, float]:
    """Precision, recall and F1."""
    right = len(found & truth)
    return right / max(1, len(found)), right / max(1, len(truth)), 2 * right / max(1, len(found) + len(truth))


def pairs_of(source: torch.Tensor, target: torch.Tensor) -> list[tuple[int, int]]:
    """Two columns as pairs."""
    return [*zip(source.tolist(), target.tolist(), strict=True)]
