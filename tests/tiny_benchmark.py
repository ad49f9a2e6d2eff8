"""A benchmark folder that takes no time."""

import random
from pathlib import Path

Triple = tuple[int, int, int]


def write_benchmark(folder: Path) -> Path:
    """An OpenEA folder of 200 entities, all linked; each side keeps nine triples of ten, under ids of its own."""
    folder.mkdir(parents=True)
    draw, triples = random.Random(0), set[Triple]()
    while len(triples) < 700:
        head, tail = draw.randrange(200), int(200 * draw.random() ** 2)
        triples |= {(head, draw.randrange(6), tail)} if head != tail else set()
    order, relations = draw.sample(range(200), 200), draw.sample(range(6), 6)
    sides = (range(200), range(6), "a"), (order, relations, "b")
    for number, (ids, named, side) in enumerate(sides, 1):
        kept = [(ids[h], named[r], ids[t]) for h, r, t in sorted(triples) if draw.random() < 0.9]
        rows = [f"{side}{h:03}\t{side}r{r}\t{side}{t:03}\n" for h, r, t in kept]
        (folder / f"rel_triples_{number}").write_text("".join(rows))
        (folder / f"attr_triples_{number}").write_text("")
    (folder / "ent_links").write_text("".join(f"a{e:03}\tb{order[e]:03}\n" for e in range(200)))
    return folder
