"""Two made-up graphs of towns: names in many scripts, some of them hostile, some towns in one graph only."""

import random
from pathlib import Path

SYLLABLES = ["ka", "mor", "lin", "west", "ber", "tun", "sal", "vi", "en", "dor", "hag", "ros", "mil", "fur"]
SCRIPTS = [  # names in the source and in the target
    ("بغداد", "بغداد"),
    ("القاهرة الكبرى", "القاهرة"),
    ("ירושלים", "ירושלים"),
    ("תל אביב-יפו", "תל אביב"),
    ("北京市", "北京"),
    ("上海", "上海市"),
    ("<script>window.hit = 1</script>", "<script>window.hit = 1</script> town"),
    ("<img src=x onerror='window.hit = 1'>", "<img src=x onerror='window.hit = 1'>"),
    ("\u202eevil\u202c & <b>bold</b>", "evil & <b>bold</b>"),
]
COUNTRIES, ALONE = 6, 8  # towns without a counterpart


def write_towns(folder: Path, count: int = 110) -> tuple[Path, Path]:
    """Both graphs as N-Triples."""
    draw = random.Random(0)
    names = [("".join(draw.choices(SYLLABLES, k=3)).capitalize(),) * 2 for _ in range(count - len(SCRIPTS))]
    names = [(mine, f"{its} am See" if number % 9 == 0 else its) for number, (mine, its) in enumerate(names)]
    towns = [*SCRIPTS, *names]
    facts = [(draw.randrange(COUNTRIES), draw.randrange(1_000, 999_999), draw.randrange(count)) for _ in towns]
    files = []
    for side, kind in enumerate(("source", "target")):
        lines = []
        for number, (town, (country, people, other)) in enumerate(zip(towns, facts, strict=True)):
            if side and number >= count - ALONE:
                break
            label = town[side]
            subject = f"<http://{kind}.example/{'Town' if side else 'Place'}/{number * (side + 1)}>"
            lines += [
                f"{subject} <http://www.w3.org/2000/01/rdf-schema#label> {_quoted(label)} .",
                f"{subject} <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://{kind}.example/Town> .",
                f"{subject} <http://{kind}.example/{'population' if side else 'inhabitants'}> "
                f"{_quoted(str(people + side * (number % 7 == 0)))} .",
                f"{subject} <http://{kind}.example/inCountry> <http://{kind}.example/country/{country}> .",
                f"{subject} <http://{kind}.example/twinTown> "
                f"<http://{kind}.example/{'Town' if side else 'Place'}/{other * (side + 1)}> .",
            ]
        lines += [
            f"<http://{kind}.example/country/{each}> <http://www.w3.org/2000/01/rdf-schema#label> "
            f"{_quoted(f'Country {each}')} ."
            for each in range(COUNTRIES)
        ]
        files.append(folder / f"{kind}.nt")
        files[-1].write_text("\n".join(lines) + "\n", encoding="utf-8")
    return files[0], files[1]


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
