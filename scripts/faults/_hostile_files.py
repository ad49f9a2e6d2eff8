"""How the files of hostile data are made; sizes are those that the campaign asks for, less where said so."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

LONG = 1 << 30  # bytes of a line
RELATIONS = 10_000_000
PIECE = 1 << 24
LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
LAUGHING = f'<?xml version="1.0"?>\n<!DOCTYPE x [<!ENTITY l0 "laugh">{LAUGHS}]>\n'
RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://example.org/"'
ABOUT = f'<rdf:RDF {RDF}><rdf:Description rdf:about="urn:a"><e:p>%s</e:p></rdf:Description></rdf:RDF>'
Maker = Callable[[Path], object]


def _long(start: bytes, end: bytes = b"", filler: bytes = b"x") -> Maker:
    """A file with one long line."""

    def make(path: Path) -> None:
        with path.open("wb") as file:
            file.write(start)
            for _ in range(LONG // PIECE):
                file.write(filler * PIECE)
            file.write(end)

    return make


def _bomb(piece: bytes) -> Maker:
    """A packed file whose content is a thousand times as long."""

    def make(path: Path) -> None:
        with gzip.open(path, "wb", 6) as file:
            for _ in range(LONG // len(piece)):
                file.write(piece)

    return make


def _workbook(path: Path) -> None:
    """A workbook with a sheet of a gigabyte of blanks."""
    from openpyxl import Workbook

    book = Workbook()
    book.active.append(["id", "name"])
    book.active.append(["1", "x"])
    book.save(path.with_suffix(".small"))
    with zipfile.ZipFile(path.with_suffix(".small")) as small, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name in small.namelist():
            content = small.read(name)
            with made.open(name, "w", force_zip64=True) as member:
                if "sheet1" in name:
                    head, mark, rest = content.partition(b"<sheetData>")
                    member.write(head + mark)
                    for _ in range(LONG // PIECE):
                        member.write(b" " * PIECE)
                    content = rest
                member.write(content)


def _parquet(path: Path) -> None:
    """A hundred million rows that are all the same, in some kilobytes."""
    column = pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int8()), 1_000_000), pa.array(["x"]))
    block = pa.table({"head": column, "relation": column, "tail": column})
    with pq.ParquetWriter(path, block.schema) as file:
        for _ in range(100):
            file.write_table(block)


def _relations(path: Path) -> None:
    with path.open("w", encoding="ascii") as file:
        for start in range(0, RELATIONS, 100_000):
            file.write("".join(f"a{n % 1000}\tr{n}\tb{n % 999}\n" for n in range(start, start + 100_000)))


def _text(text: str) -> Maker:
    return lambda path: path.write_text(text, encoding="utf-8")


READ: dict[str, Maker] = {
    "laughs.rdf": _text(LAUGHING + ABOUT % "&l9;"),
    "laughs.owl": _text(
        LAUGHING + '<Ontology xmlns="http://www.w3.org/2002/07/owl#"><Annotation>&l9;</Annotation></Ontology>'
    ),
    "outside.rdf": _text(f'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>{ABOUT % "&e;"}'),
    "quadratic.rdf": _text(f'<!DOCTYPE x [<!ENTITY e "{"x" * 1_000_000}">]>{ABOUT % ("&e;" * 10_000)}'),
    "bomb.xlsx": _workbook,
    "bomb.parquet": _parquet,
    "line.nt": _long(b'<a:a> <a:p> "', b'" .\n'),
    "line.ttl": _long(b'<a:a> <a:p> "', b'" .\n'),
    "line.tsv": _long(b"a\tp\tb\na\tp\t", b"\n"),
    "line.csv": _long(b'id,name\n1,"', b'"\n'),
    "line.jsonl": _long(b'{"id": "1", "name": "', b'"}\n'),
    "line.obo": _long(b"format-version: 1.2\n\n[Term]\nid: X:1\nname: ", b"\n"),
    "nested.jsonl": _text('{"id": 1, "a": ' + '{"a": ' * 100_000 + "1" + "}" * 100_000 + "}\n"),
    "nested.ttl": _text("<a:a> <a:p> " + "[ <a:p> " * 100_000 + "1" + " ]" * 100_000 + " .\n"),
    "nested.rdf": _text(ABOUT % ("<e:a>" * 100_000)),
    "lists.ttl": _text("<a:a> <a:p> " + "(" * 100_000 + ")" * 100_000 + " .\n"),
    "numbers.csv": _text("id,size\n1,NaN\n2,inf\n3,-inf\n4,1e400\n5,-0\n6," + "9" * 5000 + "\n"),
    "bomb.nt.gz": _bomb(b"<a:a> <a:p> <a:b> .\n" * 50_000),
    "bomb.ttl.gz": _bomb(b" " * 1_000_000),
    "bomb.csv.gz": _bomb(b"a,p,b\n" * 100_000),
    "line.rdf": _long(ABOUT.encode().partition(b"%s")[0], ABOUT.encode().partition(b"%s")[2]),
    "relations.tsv": _relations,
}
PAIRS: dict[str, Maker] = {
    "weights.tsv": _text("source\ttarget\tweight\na\tx\tnan\nb\ty\tinf\n"),
    "laughs.xml": _text(f"{LAUGHING}<rdf:RDF {RDF}><Alignment><map><Cell>&l9;</Cell></map></Alignment></rdf:RDF>"),
    "bomb.tsv.gz": _bomb(b"a\tx\n" * 250_000),
    "line.tsv": _long(b"a\t", b"\n"),
    "all.tsv": _text("".join(f"{a}\t{b}\n" for a in "abc" for b in "xyz")),
}


def _both(folder: Path, rows: Callable[[str], list[str]]) -> None:
    for side in ("source", "target"):
        (folder / f"{side}.nt").write_text("".join(rows(side)), encoding="utf-8")


def _link(side: str, head: object, tail: object, relation: object = "r") -> str:
    return f"<urn:{side}:{head}> <urn:{side}:{relation}> <urn:{side}:{tail}> .\n"


def _named(side: str, number: object, name: str) -> str:
    return f'<urn:{side}:{number}> <http://www.w3.org/2000/01/rdf-schema#label> "{name}" .\n'


def _seeds(folder: Path, names: range) -> None:
    rows = [f"urn:source:{number}\turn:target:{number}\n" for number in names]
    (folder / "seeds.tsv").write_text("".join(rows), encoding="utf-8")


def _loops(folder: Path) -> None:
    _both(folder, lambda side: [_link(side, n, n) for n in range(4_000)])
    _seeds(folder, range(100))


def _hub(folder: Path) -> None:
    _both(folder, lambda side: [_link(side, "hub", n) for n in range(4_000)])
    _seeds(folder, range(100))


def _equal(folder: Path) -> None:
    _both(folder, lambda side: [_named(side, n, "the same name") for n in range(4_000)])


def _many(folder: Path) -> None:
    _both(folder, lambda side: [_link(side, n % 2_000, n % 1_999, f"r{n}") for n in range(50_000)])
    _seeds(folder, range(100))


def _letters(folder: Path) -> None:
    odd = [
        "\\u202Egnol",
        "\\u0007\\u001B[2J",
        "a\\tb\\nc",
        "\\u200B",
        "\\uFFFF",
        "e" + "\\u0301" * 200,
        "=1+1",
        "<script>",
    ]
    _both(folder, lambda side: [_named(side, n, f"{odd[n % len(odd)]} {n}") for n in range(2_000)])


def _numbers(folder: Path) -> None:
    kinds = ["NaN", "INF", "-INF", "1e400", "-0", "1e-400", "9" * 400]
    double = "^^<http://www.w3.org/2001/XMLSchema#double>"
    _both(
        folder,
        lambda side: (
            [f'<urn:{side}:{n}> <urn:size> "{kinds[n % len(kinds)]}"{double} .\n' for n in range(2_000)]
            + [_named(side, n, f"name {n}") for n in range(2_000)]
        ),
    )


def _long_names(folder: Path) -> None:
    _both(folder, lambda side: [_named(side, n, f"{n} " + "word " * 200_000) for n in range(20)])


GRAPHS: dict[str, Callable[[Path], None]] = {
    "self-loops": _loops,
    "one hub with all edges": _hub,
    "all names equal": _equal,
    "a relation for each triple": _many,
    "control characters and right-to-left overrides": _letters,
    "NaN and infinities": _numbers,
    "names of a megabyte": _long_names,
}
