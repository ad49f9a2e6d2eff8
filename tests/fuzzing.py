"""A fuzzer of bytes and of structure over every reader and the settings: success or an EmeaError, nothing else."""

import gzip
import random
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyarrow as pa
import torch

from emea import plugins, settings
from emea.contracts import PLAIN, Choice, Format, GraphReader, GraphWriter, PairReader, PairWriter, Reading
from emea.data import Graph
from emea.errors import EmeaError, InputError
from emea.formats import convert, read_graph, read_known, read_task
from fuzz_seeds import (
    ALIGNMENT,
    EXPORTED,
    FAULTY,
    FOREIGN_SSSOM,
    IDS,
    NODES_AND_LINKS,
    OPENEA,
    RDF,
    RDF_XML,
    SETTINGS,
    TABLES,
    WRAPPED,
    read_only,
    workbook_of,
)
from fuzz_structure import restructured

SECONDS = 5.0  # that one case may take
NAMES = [f"http://example.org/{name}" for name in ("Zürich", "b%20c", "天", "d")]
INTERESTING = [
    *(b"\x00", b"\xff", b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\r", b"\n", b"\r\n", b"\t", b" "),
    *(b'"', b"'", b'""', b",", b"&", b"&a;", b"&#0;", b"&#x110000;", b"%", b"%00", b"%zz", b"#", b"|", b"\\", b"\\u"),
    *(b"<", b">", b"<<(", b"<!ENTITY a 'b'>", b"<!DOCTYPE x [", b"]>", b"]]>", b"<!--", b"-->", b"<?xml ", b"/>"),
    *(b"[", b"]", b"{", b"}", b"(", b"_:", b"@en", b"^^", b"--", b":", b"!!python/name:x", b"*a", b"&a", b"<<: *a"),
    *(b"-1", b"1e309", b"nan", b"inf", b"9" * 40, b"\xd9\xa1", b"2024-99-99", b"0x", b"=", b".", b"\x1f\x8b"),
    *(b"encoding='utf-16'", b"encoding='windows-1252'", b"encoding='idna'", b"true", b"entity", b"literal", b"Not"),
]


@dataclass(frozen=True)
class Subject:
    """Something that reads files: valid files, and how to read them."""

    name: str
    files: Mapping[str, bytes]
    run: Callable[[Path], object]  # given the folder of the files


def subject_of(choice: random.Random) -> Subject:
    """The one that a case breaks, its first choice."""
    return choice.choice(subjects())


def run_case(seed: int, folder: Path) -> str:
    """Break one file of a subject and read it; return the subject's name. Only an EmeaError is caught."""
    choice = random.Random(seed)
    subject = subject_of(choice)
    broken = choice.choice(sorted(subject.files))
    for name, content in subject.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_mutated_file(name, content, choice) if name == broken else content)
    try:
        subject.run(folder)
    except EmeaError as error:
        if isinstance(error, InputError) and "\n" in str(error):
            raise AssertionError(f"seed {seed}: found {str(error)!r}, expected a one-line message") from error
    except BaseException as error:
        error.add_note(f"repeat with: python scripts/fuzz.py --cases 1 --seed {seed}")
        raise
    finally:
        for name in subject.files:
            (folder / name).unlink()
    return subject.name


def mutate(content: bytes, choice: random.Random) -> bytes:
    """The bytes with one to four changes."""
    for _ in range(choice.randint(1, 4)):
        start = choice.randint(0, len(content))
        end = min(len(content), start + choice.choice((1, 1, 4, 20, 200)))
        part = content[start:end]
        content = content[:start] + choice.choice(MUTATIONS)(part, content, choice) + content[end:]
    return content


MUTATIONS: list[Callable[[bytes, bytes, random.Random], bytes]] = [
    lambda part, _, choice: bytes(byte ^ (1 << choice.randrange(8)) for byte in part),
    lambda part, _, choice: choice.randbytes(len(part)),
    lambda part, _, choice: b"",
    lambda part, _, choice: choice.choice(INTERESTING),
    lambda part, _, choice: part + choice.choice(INTERESTING),
    lambda part, _, choice: choice.choice(INTERESTING) + part,
    lambda part, _, choice: part * choice.choice((2, 3, 50)),
    lambda part, content, choice: part + content[: choice.randint(0, len(content))],
    lambda part, content, choice: content[choice.randint(0, len(content)) :],
]


def _mutated_file(name: str, content: bytes, choice: random.Random) -> bytes:
    """Its bytes or its structure mutated or, if compressed, often what is inside; sometimes truncated."""
    if choice.random() < 0.1:
        return content[: choice.randint(0, len(content))]
    if name.endswith(".gz") and choice.random() < 0.8:
        return gzip.compress(_mutated(name, gzip.decompress(content), choice), 1)
    return _mutated(name, content, choice)


def _mutated(name: str, content: bytes, choice: random.Random) -> bytes:
    return restructured(name, content, choice) if choice.random() < 0.6 else mutate(content, choice)


@cache
def subjects() -> list[Subject]:
    """All readers with valid files, made by their own writers or by hand."""
    return [*_graphs(), *_pairs(), *_folders(), *_settings()]


def _graphs() -> list[Subject]:
    files = _written(GraphReader, "suffixes", lambda plugin, path: plugin.write_graph(small_graph(), path))
    files["named.nq"] = b"<a:a> <a:p> <a:b> <a:g> .\n<a:a> <a:p> <a:c> .\n"
    files["nodes.json"], files["exported.json"] = NODES_AND_LINKS, EXPORTED
    files["plain.tsv"] = b"Bern\tin\tSwitzerland\nBern\tsize\t130000\nParis\tin\tFrance\nParis\tnear\tVersailles\n"
    files["rows.csv"] = b'id,name,in,since\n1,Bern,2,1848-09-12\n2,"Berne, canton",3,1353\n3,Schweiz,,\n'
    files["rows.tsv"] = b"id\tname\tin\n1\tBern\t2\n2\tBerne canton\t3\n3\tSchweiz\t\n"
    files["node.ttl"] = b"@prefix : <http://example.org/> .\n:a :p [ :q ( 1 2.0 true ) ] , '''x\ny'''@en-GB .\n"
    files["latin.rdf"] = RDF_XML.replace("UTF-8", "windows-1252").encode("cp1252")
    files["wide.owl"] = RDF_XML.replace("UTF-8", "UTF-16").encode("utf-16")
    files |= {name: text.encode() for name, text in (RDF | WRAPPED).items()}
    found = [Subject(f"graph {name}", {name: files[name]}, _graph_reader(name)) for name in sorted(files)]
    for name, text in (RDF | FAULTY).items():
        lenient = _graph_reader(name, Reading(lenient=True))
        found.append(Subject(f"lenient {name}", {name: text.encode()}, lenient))
    found += [Subject(f"convert {name}", {name: files[name]}, _converter(name, "csv")) for name in sorted(files)]
    quads = {"named.nq": files["named.nq"]}
    return [*found, Subject("named graph", quads, lambda folder: read_graph(folder / "named.nq", Reading(graph="a:g")))]


def _pairs() -> list[Subject]:
    files = _written(PairReader, "pair_suffixes", lambda plugin, path: plugin.write_pairs(small_pairs(), path))
    table = small_pairs()
    workbook = workbook_of([table.column_names, *zip(*table.to_pydict().values(), strict=True)])
    files |= {"excel.xlsx": workbook, "excel.xlsx.gz": gzip.compress(workbook, mtime=0)}
    files["foreign.sssom.tsv"] = FOREIGN_SSSOM.encode()
    files["gold.xml"] = ALIGNMENT.encode("latin-1")
    found = [Subject(f"pairs {name}", {name: files[name]}, _pair_reader(name)) for name in sorted(files)]
    changed = [Subject(f"convert pairs {name}", {name: files[name]}, _converter(name, "xml")) for name in sorted(files)]
    return found + changed


def _folders() -> list[Subject]:
    return [
        Subject("OpenEA", _encoded(OPENEA), lambda folder: read_task(folder, Choice(fold=1))),
        Subject("tables", _encoded(TABLES), lambda folder: read_graph(folder / "tables")),
        Subject("id files", _encoded(IDS), lambda folder: read_task(folder, Choice())),
        Subject("id files, ratio", _encoded(IDS), lambda folder: read_task(folder, Choice(ratio=0.5))),
    ]


def _settings() -> list[Subject]:
    files, assignments = {"settings.toml": SETTINGS.encode()}, {"assignment": b"em.rules=['paris']"}
    return [
        Subject("settings", files, lambda folder: settings.load(config=folder / "settings.toml")),
        Subject("assignment", assignments, lambda folder: settings.load(assignments=[_text(folder / "assignment")])),
    ]


def _written(contract: type[Format], attribute: str, write: Callable[[Format, Path], None]) -> dict[str, bytes]:
    """A file for each suffix, plain and compressed, written by the formats that fulfil a contract, or by hand."""
    files = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in plugins.names("formats"):
            plugin = plugins.find("formats", name, Format)()
            if not isinstance(plugin, contract):
                continue
            for suffix in getattr(plugin, attribute):
                if not isinstance(plugin, (GraphWriter, PairWriter)):
                    content = read_only(suffix)
                    files |= {f"{name}{suffix}": content, f"{name}{suffix}.gz": gzip.compress(content, mtime=0)}
                    continue
                for ending in (suffix, f"{suffix}.gz"):
                    path = Path(folder) / f"{name}{ending}"
                    write(plugin, path)
                    files[path.name] = path.read_bytes()
    return files


def small_graph() -> Graph:
    """A graph with both kinds of triples."""
    values = pa.array(["x", "é \"'<&>", "3"], pa.large_string())
    datatypes = [f"http://www.w3.org/{end}" for end in ("2001/XMLSchema#string", "1999/02/22-rdf-syntax-ns#langString")]
    literals = pa.table(
        {
            "entity": pa.array([0, 1, 2]),
            "attribute": pa.array([0, 0, 0]),
            "value": values,
            "datatype": pa.array([*datatypes, "http://www.w3.org/2001/XMLSchema#int"], pa.large_string()),
            "language": pa.array(["", "fr", ""], pa.large_string()),
        }
    )
    triples = torch.tensor([[0, 0, 1], [1, 0, 2], [3, 0, 0]])
    return Graph.build(NAMES, ["http://example.org/p"], triples, attributes=["urn:q"], literals=literals)


def small_pairs() -> pa.Table:
    """Pairs of the graph's entities, one excluded."""
    names = pa.array(NAMES[:3], pa.large_string())
    weights = pa.array([1.0, 0.25, 0.5], pa.float32())
    return pa.table({"source": names, "target": names, "weight": weights, "excluded": [False, True, False]})


def _graph_reader(name: str, reading: Reading = PLAIN) -> Callable[[Path], object]:
    return lambda folder: read_graph(folder / name, reading)


def _pair_reader(name: str) -> Callable[[Path], object]:
    graph = small_graph()
    return lambda folder: read_known(folder / name, graph, graph)


def _converter(name: str, ending: str) -> Callable[[Path], object]:
    """Converts a file, and checks that a failure leaves no file behind."""

    def run(folder: Path) -> None:
        target = folder / "converted" / f"out.{ending}"
        target.parent.mkdir(exist_ok=True)
        try:
            convert(folder / name, target)
        except EmeaError:
            assert list(target.parent.iterdir()) == []
            raise
        finally:
            target.unlink(missing_ok=True)

    return run


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _encoded(files: Mapping[str, str]) -> dict[str, bytes]:
    return {name: text.replace(" ", "\t").encode() for name, text in files.items()}
