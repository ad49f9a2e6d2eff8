"""Run folders that are made up, small and large, with the graphs they were made from."""

import json
import random
from pathlib import Path

from run_files import ALIGNMENT, SETTINGS

RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
KINDS = ("City", "Country", "River", "Person")


def name(side: str, number: int) -> str:
    return f"http://{side}.example/resource/Entity_{number:06d}"


def write_graph(path: Path, side: str, count: int, draw: random.Random) -> int:
    """Entities with a type, a label and a year, and three relations to others; returns how many there are."""
    with path.open("w", encoding="utf-8") as file:
        file.write("head\trelation\ttail\tkind\n")
        for number in range(count):
            own = name(side, number)
            file.write(f"{own}\t{RDF_TYPE}\thttp://{side}.example/{KINDS[number % 4]}\tentity\n")
            file.write(f"{own}\thttp://{side}.example/label\tthe {side} called {number}\tliteral\n")
            file.write(f"{own}\thttp://{side}.example/year\t{1000 + number % 1000}\tliteral\n")
            for relation in ("near", "partOf", "knows"):
                file.write(f"{own}\thttp://{side}.example/{relation}\t{name(side, draw.randrange(count))}\tentity\n")
    return count + len(KINDS)


def write_run(folder: Path, links: int, unlinked: int = 10, *, candidates: int = 3, graphs: bool = True) -> Path:
    """A finished run without what explains it: links, sources without one, candidates."""
    folder.mkdir(parents=True)
    draw, count = random.Random(0), links + unlinked
    sides = {side: folder.parent / f"{side}.tsv" for side in ("source", "target")}
    sizes = {f"{side}s": write_graph(path, side, count, draw) if graphs else count for side, path in sides.items()}
    (folder / "settings.toml").write_text(SETTINGS.format(**sides, **sizes), encoding="utf-8")
    with (folder / "alignment.tsv").open("w", encoding="utf-8") as file:
        file.write(ALIGNMENT + "\n")
        for number in range(links):
            sure, kind = 0.5 + 0.5 * draw.random() ** 0.3, KINDS[number % 4]
            ends = f"{name('source', number)}\t{name('target', number)}\t{sure:.6g}\t0.8"
            file.write(f"{ends}\tthe source called {number}\tthe target called {number}\t{kind}\t{kind}\t1:1\n")
    with (folder / "unlinked.tsv").open("w", encoding="utf-8") as file:
        file.write("source\tsource_label\tcandidate\tcandidate_label\tprobability\twhy\n")
        for number in range(links, count):
            source = f"{name('source', number)}\tthe source called {number}"
            target = f"{name('target', number)}\tthe target called {number}"
            file.write(f"{source}\t{target}\t{draw.random() / 2:.6g}\tconfidence below .50\n")
    with (folder / "candidates.tsv").open("w", encoding="utf-8") as file:
        file.write("source\trank\ttarget\tsimilarity\tprobability\n")
        for number in range(count):
            for rank in range(candidates):
                target = name("target", (number + rank) % count)
                file.write(f"{name('source', number)}\t{rank + 1}\t{target}\t0.8\t{0.9 / (1 + rank):.6g}\n")
    (folder / "seeds.tsv").write_text("source\ttarget\tweight\n", encoding="utf-8")
    (folder / "summary.json").write_text(json.dumps({"links": links, "expected precision": 0.9}), encoding="utf-8")
    return folder
