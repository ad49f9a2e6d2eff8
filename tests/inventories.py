"""Made-up inventories of instruments, sites and records, each kept by two offices in their own way: names, codes,
units, positions, days, counts, lists, sentences, kinds and references, with gaps, slips and twins."""

from __future__ import annotations

import csv
import random
from datetime import date, timedelta
from pathlib import Path

from two_tables import LAST, SYLLABLES, TOWNS

Cells = dict[str, str]
COLOURS = ["red", "blue", "green", "dark grey", "white", "black", "yellow"]
FARBEN = ["rot", "blau", "grün", "dunkelgrau", "weiß", "schwarz", "gelb"]
KINDS = ["pump", "valve", "sensor", "motor", "filter"]
ARTEN = ["Pumpe", "Ventil", "Sensor", "Motor", "Filter"]
USES = ["water", "oil", "air", "steam", "acid", "milk", "sand", "gas"]
CLAUSES = [
    "made for {} under high pressure",
    "replaces an older model for {}",
    "to be serviced every spring by the maker",
    "the housing is cast iron, sealed against {}",
    "do not use with {}",
]
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def slip(draw: random.Random, text: str) -> str:
    """The text with two letters swapped, now and then."""
    place = draw.randrange(max(1, len(text) - 1))
    return text[:place] + text[place : place + 2][::-1] + text[place + 2 :] if draw.random() < 0.15 else text


def word(draw: random.Random) -> str:
    """A made-up word."""
    return "".join(draw.choices(SYLLABLES, k=3)).capitalize()


def instruments(draw: random.Random, number: int) -> tuple[Cells, Cells]:
    """Units of weight and length, part numbers, prices, kinds in two languages, sentences, makers and lists."""
    kind, series, size = draw.randrange(len(KINDS)), word(draw), draw.choice([10, 20, 40, 80])
    code, grams = f"{draw.choice('ABCK')}{draw.randrange(1000, 9999)}-{size}", draw.randrange(150, 9000)
    maker, uses, colour = draw.choice(LAST[:9]), draw.sample(USES, 3), draw.randrange(len(COLOURS))
    said = "; ".join(draw.sample(CLAUSES, 3)).format(*uses, *uses)
    first = {
        "name": f"{series} {KINDS[kind]} {size}",
        "part no": code if draw.random() < 0.7 else "",
        "weight": f"{grams} g",
        "length (mm)": str(size * 10 + number % 7),
        "price": f"{grams / 37:.2f}",
        "kind": KINDS[kind],
        "maker": f"{maker} Ltd.",
        "for": "; ".join(uses),
        "colour": COLOURS[colour],
        "description": said,
    }
    second = {
        "bezeichnung": slip(draw, f"{ARTEN[kind]} {series} {size}" + draw.choice(["", " N", ""])),
        "artikel": code.replace("-", " ").lower() if draw.random() < 0.7 else "",
        "gewicht": f"{grams / 1000:.3f} kg" if draw.random() < 0.8 else f"{grams * 0.03527396195:.1f} oz",
        "länge": f"{(size * 10 + number % 7) / 25.4:.2f} in",
        "preis": f"{grams / 37 * draw.choice([1, 1, 1, 1.02]):.2f}".replace(".", ","),
        "art": ARTEN[kind],
        "hersteller": maker.upper(),
        "zweck": ", ".join(sorted(uses)),
        "farbe": FARBEN[colour],
        "text": said.split("; ")[0] + ". " + said.split("; ")[1],
    }
    return first, second


def sites(draw: random.Random, number: int) -> tuple[Cells, Cells]:
    """Positions in two notations, heights in metres and feet, days and years, inhabitants, towns and what is near."""
    north, east, height = draw.uniform(46, 55), draw.uniform(6, 15), draw.randrange(3, 2900)
    begun = date(1890, 1, 1) + timedelta(draw.randrange(45_000))
    name, town, people = word(draw), draw.choice(TOWNS), draw.randrange(90, 900_000)
    parts = [f"{int(x)}°{int(x % 1 * 60):02d}′{int(x * 60 % 1 * 60):02d}″" for x in (north, east)]
    near = word(draw) if number % 3 else TOWNS[number % len(TOWNS)]
    first = {
        "site": f"Station {name}",
        "lat": f"{north:.5f}",
        "lon": f"{east:.5f}",
        "elevation_m": str(height),
        "opened": begun.isoformat(),
        "staff": str(people % 400),
        "visitors": f"{people:,}",
        "town": town,
        "near": near,
    }
    second = {
        "label": slip(draw, name if draw.random() < 0.7 else f"{name} am {near}"),
        "position": f"{parts[0]}N {parts[1]}E",
        "height": f"{height / 0.3048:.0f} ft",
        "since": f"{begun.day} {MONTHS[begun.month - 1]} {begun.year}" if draw.random() < 0.8 else str(begun.year),
        "employees": str(people % 400 + draw.choice([0, 0, 0, 1])),
        "guests": str(people // 1000 * 1000),
        "place": town if draw.random() < 0.8 else f"{town} (city)",
        "surroundings": near,
    }
    return first, second


def records(draw: random.Random, number: int) -> tuple[Cells, Cells]:
    """Titles of which some are equal, authors in another order, volumes, serial numbers and references to rows."""
    title = " ".join([*draw.sample(USES, 2), "and", *draw.sample(COLOURS, 2), draw.choice(["I", "II", "", "", "v3.0"])])
    authors, year = draw.sample(LAST, 3), draw.randrange(1960, 2024)
    serial, volume, other = (
        f"{draw.randrange(10**8, 10**9)}",
        draw.randrange(1, 40),
        max(0, number - draw.randrange(1, 9)),
    )
    first = {
        "title": title.strip().title(),
        "authors": "; ".join(f"{name}, {name[0]}." for name in authors),
        "year": str(year),
        "volume": str(volume),
        "isbn": serial if draw.random() < 0.4 else "",
        "cites": f"a{other}",
    }
    second = {
        "titel": slip(draw, title.strip()),
        "autoren": " and ".join(f"{name[0]}. {name}" for name in authors[: draw.choice([1, 3, 3])]),
        "jahr": str(year + draw.choice([0, 0, 0, 1])),
        "band": f"Vol. {volume}",
        "nummer": f"{serial[:3]}-{serial[3:]}" if draw.random() < 0.5 else "",
        "zitiert": f"b{other}",
    }
    return first, second


def write_inventories(folder: Path, name: str, gaps: float = 0.08, things: int = 110) -> tuple[Path, Path]:
    """Both tables as CSV; each has five in six of the things and lacks a share of the cells. Two of twenty are twins
    in all but a cell."""
    draw, make = random.Random(name), {"instruments": instruments, "sites": sites, "records": records}[name]
    rows: tuple[list[Cells], list[Cells]] = ([], [])
    before: tuple[Cells, Cells] = ({}, {})
    for number in range(things):
        made = make(draw, number)
        if number % 20 == 3:
            made = tuple(
                {**old, column: new[column]} for old, new in zip(before, made, strict=True) for column in [[*new][2]]
            )
        before = made
        for letter, own, cells in zip("ab", rows, made, strict=True):
            if draw.random() < 5 / 6:
                empty = {column: "" for column in cells if draw.random() < gaps}
                own.append({"id": f"{letter}{number}", **cells, **empty})
    draw.shuffle(rows[1])
    paths = folder / f"{name}-a.csv", folder / f"{name}-b.csv"
    for path, own in zip(paths, rows, strict=True):
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, [*own[0]])
            writer.writeheader()
            writer.writerows(own)
    return paths
