"""Make two tables of people, as two offices might hold them, and which rows are the same person; always the same files.

    python scripts/made_people.py FOLDER [--rows 50000] [--overlap 0.6] [--seed 0]

writes FOLDER/source.csv, target.csv and truth.tsv. Rows have ten columns beside their number. Each table has typing
errors, missing cells and people who moved, married or changed their job since; and the two write dates, phone numbers,
names and streets in different ways. Common names are as common as in a register, so that many share a name and a city.
"""

import argparse
import csv
import random
from dataclasses import dataclass, replace
from pathlib import Path

FIRST = """
James Mary Robert Patricia John Jennifer Michael Linda David Elizabeth William Barbara Richard Susan Joseph Jessica
Thomas Sarah Charles Karen Christopher Lisa Daniel Nancy Matthew Betty Anthony Margaret Mark Sandra Donald Ashley
Steven Kimberly Paul Emily Andrew Donna Joshua Michelle Kenneth Carol Kevin Amanda Brian Dorothy George Melissa
Edward Deborah Ronald Stephanie Timothy Rebecca Jason Sharon Jeffrey Laura Ryan Cynthia Jacob Kathleen Gary Amy
Nicholas Shirley Eric Angela Jonathan Helen Stephen Anna Larry Brenda Justin Pamela Scott Nicole Brandon Samantha
Benjamin Katherine Samuel Emma Gregory Ruth Frank Christine Alexander Catherine Raymond Debra Patrick Rachel Jack
Carolyn Dennis Janet Jerry Virginia Tyler Maria Aaron Heather Jose Diane Adam Julie
"""
SHORT = {
    "James": "Jim", "Robert": "Bob", "Patricia": "Pat", "Michael": "Mike", "Elizabeth": "Liz", "William": "Bill",
    "Richard": "Dick", "Susan": "Sue", "Joseph": "Joe", "Thomas": "Tom", "Christopher": "Chris", "Daniel": "Dan",
    "Matthew": "Matt", "Margaret": "Peggy", "Steven": "Steve", "Kimberly": "Kim", "Andrew": "Andy", "Edward": "Ed",
    "Rebecca": "Becky", "Jeffrey": "Jeff", "Nicholas": "Nick", "Benjamin": "Ben", "Katherine": "Kate", "Samuel": "Sam",
    "Gregory": "Greg", "Alexander": "Alex", "Deborah": "Debbie", "Timothy": "Tim", "Jennifer": "Jenny",
}  # fmt: skip
BEGIN = """
Ab Al Ash Bar Beck Ben Black Brad Brook Carl Chap Clay Cole Craw Dal Dun East El Fair Far Fitz Gar Glen Gold Grant
Hal Ham Har Hart Hol Hun Kent Kirk Lang Law Lock Mar Mil Nor Oak Park Pem Ral Rock San Shel Stan Stone Sut Thorn Wal
War Wat Wes White Wil Win Wood
"""
END = """
berg bert brook bury by cott croft dale den field ford gate ham hill hurst land ley low man mont more ridge shaw
side son stead stone ton wall ward way well wick wood worth
"""
KINDS = ("Street", "Avenue", "Road", "Lane", "Drive", "Court", "Place", "Way")
CUT = {"Street": "St", "Avenue": "Ave", "Road": "Rd", "Lane": "Ln", "Drive": "Dr", "Court": "Ct", "Place": "Pl"}
TRADES = ("Logistics", "Foods", "Partners", "Insurance", "Motors", "Software", "Health", "Textiles", "Energy", "Bank")
FORMS = ("Ltd", "Inc", "Group", "& Sons")
HOSTS = ("mail.example", "post.example", "inbox.example", "web.example")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
COLUMNS = ("first name", "last name", "born", "street", "city", "postcode", "phone", "e-mail", "employer", "occupation")
JOBS = """
accountant baker carpenter cashier chemist clerk cook dentist driver editor electrician engineer farmer gardener
lawyer librarian machinist nurse painter pharmacist pilot plumber programmer teacher surveyor tailor technician
"""


@dataclass(frozen=True)
class Person:
    """What is true of a person at one time."""

    first: str
    last: str
    born: tuple[int, int, int]
    street: tuple[int, str, str]  # number, name, kind
    city: int
    district: int
    phone: str  # ten digits
    email: str
    employer: str
    occupation: str


class World:
    """The names that people, places and firms have, and people drawn from them."""

    def __init__(self, draw: random.Random, people: int) -> None:
        self.draw, self.first, self.jobs = draw, FIRST.split(), JOBS.split()
        names = [begin + end for begin in BEGIN.split() for end in END.split()]
        draw.shuffle(names)
        self.last = names[: max(50, min(len(names), people // 25))]
        self.streets, self.cities = names[:900], [f"{name}{end}" for name in names[:400] for end in ("", " Park")]
        firms = max(20, people // 40)
        self.firms = [f"{draw.choice(names)} {draw.choice(TRADES)} {draw.choice(FORMS)}" for _ in range(firms)]

    def common(self, names: list[str]) -> str:
        """One of the names; the first are the most common."""
        return names[int(len(names) * self.draw.random() ** 2)]

    def person(self) -> Person:
        """Somebody."""
        draw, first, last = self.draw, self.common(self.first), self.common(self.last)
        born = (draw.randint(1930, 2004), draw.randint(1, 12), draw.randint(1, 28))
        found = Person(first, last, born, (0, "", ""), 0, 0, "", "", "", draw.choice(self.jobs))
        return self.employed(self.moved(self.reached(found)))

    def reached(self, person: Person) -> Person:
        """With a new phone number and e-mail address."""
        ways = (f"{person.first}.{person.last}", f"{person.first[0]}{person.last}", f"{person.last}.{person.first}")
        name = f"{self.draw.choice(ways)}{self.draw.randint(1, 999)}".lower()
        digits = f"{self.draw.randint(200, 989)}{self.draw.randint(2_000_000, 9_899_999)}"
        return replace(person, phone=digits, email=f"{name}@{self.draw.choice(HOSTS)}")

    def moved(self, person: Person) -> Person:
        """With a new address."""
        street = (self.draw.randint(1, 400), self.common(self.streets), self.draw.choice(KINDS))
        city = int(len(self.cities) * self.draw.random() ** 2)
        return replace(person, street=street, city=city, district=self.draw.randint(0, 19))

    def employed(self, person: Person) -> Person:
        """With a new employer."""
        return replace(person, employer=self.common(self.firms))

    def later(self, person: Person) -> Person:
        """The same person some years later."""
        draw = self.draw
        if draw.random() < 0.12:
            person = self.moved(person)
        if draw.random() < 0.04:
            person = replace(person, last=self.common(self.last))
        if draw.random() < 0.15:
            person = self.reached(person)
        return self.employed(person) if draw.random() < 0.15 else person

    def typed(self, text: str, errors: float = 0.05) -> str:
        """As somebody types it: sometimes with a letter left out, doubled, swapped or wrong."""
        if len(text) < 3 or self.draw.random() >= errors:
            return text
        place, kind = self.draw.randrange(len(text) - 1), self.draw.randrange(4)
        middle = (
            "",
            text[place] * 2,
            text[place + 1] + text[place],
            self.draw.choice("abcdefghijklmnopqrstuvwxyz0123456789"),
        )
        return text[:place] + middle[kind] + text[place + 1 + (kind == 2) :]

    def row(self, person: Person, *, second: bool) -> list[str]:
        """A person as one of the two offices writes it down."""
        draw, (year, month, day), (house, name, kind) = self.draw, person.born, person.street
        area, rest, last = person.phone[:3], person.phone[3:6], person.phone[6:]
        cells = [
            SHORT.get(person.first, person.first) if draw.random() < 0.15 else person.first,
            person.last.upper() if second else person.last,
            f"{day} {MONTHS[month - 1]} {year}" if second and draw.random() < 0.3 else f"{year}-{month:02}-{day:02}",
            f"{house} {name} {CUT.get(kind, kind)}" if second else f"{house} {name} {kind}",
            self.cities[person.city],
            f"{10_000 + 97 * person.city + person.district}",
            f"({area}) {rest}-{last}" if second else f"+1 {area} {rest} {last}",
            person.email,
            person.employer.replace("& Sons", "and Sons") if second else person.employer,
            person.occupation,
        ]
        if draw.random() < 0.03:  # only the initial
            cells[0] = f"{person.first[0]}."
        absent = (0.01, 0.005, 0.08, 0.06, 0.04, 0.08, 0.25, 0.3, 0.25, 0.2)
        return ["" if draw.random() < share else self.typed(cell) for cell, share in zip(cells, absent, strict=True)]


def make(folder: Path, rows: int, overlap: float, seed: int) -> None:
    """Write both tables and the truth."""
    draw = random.Random(seed)
    both = round(rows * overlap)
    world = World(draw, 2 * rows - both)
    people = [world.person() for _ in range(2 * rows - both)]
    first = people[:rows]
    second = [*(world.later(person) for person in people[:both]), *people[rows:]]
    order = [draw.sample(range(rows), rows) for _ in range(2)]
    folder.mkdir(parents=True, exist_ok=True)
    for name, side, places in (("source", first, order[0]), ("target", second, order[1])):
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["id", *COLUMNS])
            for number, place in enumerate(places):
                writer.writerow([f"{name[0]}{number:06}", *world.row(side[place], second=name == "target")])
    where = [{place: number for number, place in enumerate(places)} for places in order]
    pairs = sorted((f"s{where[0][person]:06}", f"t{where[1][person]:06}") for person in range(both))
    text = "".join(f"{one}\t{other}\n" for one, other in pairs)
    (folder / "truth.tsv").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=50_000, help="rows of each table")
    parser.add_argument("--overlap", type=float, default=0.6, help="share of the rows that the other table has, too")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    make(given.folder, given.rows, given.overlap, given.seed)
