"""Mistakes that people make with their own files: one sentence with the fix, code 2, and nothing written."""

import io
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import pytest

from emea.cli import main

HOTELS = "id,name,town,phone\n" + "".join(f"h{n},Hotel {n},Town {n % 7},{n * 37}\n" for n in range(30))
TURTLE = "@prefix : <http://x/> .\n" + "".join(
    f':a{n} a :Hotel ; :name "Hotel {n}" ; :in :t{n % 7} .\n' for n in range(30)
)
QUADS = "".join(f"<http://x/a> <http://x/p> <http://x/b> <http://x/{graph}> .\n" for graph in "fg")
FILES = {
    "a.csv": HOTELS,
    "b.csv": HOTELS.replace("h", "z"),
    "a.ttl": TURTLE,
    "quads.nq": QUADS,
    "pairs.csv": "source,target\nh1,z1\nh2,z2\n",
    "mixed.csv": HOTELS.replace("Hotel 2", "H\u00f4tel 2").encode() + b"h99,H\xf4tel,Town,1\n",
    "ragged.csv": HOTELS + "h99,Hotel\n",
    "twice.csv": HOTELS.replace("town", "name", 1),
    "header.csv": "id,name,town,phone\n",
    "one.csv": "id\na\nb\n",
    "open.csv": HOTELS + 'h99,"Hotel,Town,1\n',
    "nothing.csv": "",
    "broken.ttl": TURTLE + ":a1 :name .\n",
    "broken.nt": "<http://x/a> <http://x/p> <http://x/b>\n",
    "relative.rdf": "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'><rdf:Descr",
    "text.parquet": "no parquet",
    "seeds.tsv": "nobody\tnothing\nnone\tnowhere\n",
    "seeds_one.tsv": "h1\nh2\n",
    "twofold.tsv": "h1\tz1\nh1\tz2\n",
    "weights.tsv": "h1\tz1\tmuch\n",
    "names.txt": "nobody\n",
    "settings.toml": "em.rounds = 'many'\n",
    "broken.toml": "em.rounds =\n",
    "graph.xyz": "something",
}
MISTAKES = {  # words of the command → what the sentence says
    "align a.csv": "expected two graph files, or --data FOLDER",
    "align a.csv a.csv": "was given as source and as target, expected two graphs",
    "align a.csv missing.csv": "missing.csv does not exist; expected a file",
    "align a.csv graph.xyz": "found the suffix '.xyz', expected one for a graph",
    "align a.csv empty": "is a folder without tables; expected files that end in",
    "align a.csv ftp://x.org/g": "found the scheme 'ftp', expected a file or one of",
    "align a.csv pairs.csv": "holds pairs; expected a graph (--seeds takes pairs)",
    "align a.csv mixed.csv": "found byte 0xf4, expected text in UTF-8; save it so",
    "align a.csv ragged.csv": "line 32: found 2 columns, expected 4 as in the header",
    "align a.csv twice.csv": "found the column 'name' twice, expected a header of distinct names",
    "align a.csv header.csv": "has a header and no rows; expected at least one triple, or a row below a header",
    "align a.csv one.csv": "found 1 column, expected several separated by commas",
    "align a.csv open.csv": "expected standard CSV quoting",
    "align a.csv nothing.csv": "is empty; expected at least one",
    "align a.csv broken.ttl": "line 32",
    "align a.csv broken.nt": "line 2: Quads must be followed by a dot; expected N-Triples",
    "align a.csv relative.rdf": "expected complete, well-formed XML",
    "align a.csv text.parquet": "expected Parquet",
    "align a.csv quads.nq": "no triples outside named graphs; found some in <http://x/f>, <http://x/g>",
    "align a.csv quads.nq --target-graph http://x/h": "no triples in the graph <http://x/h>; found some in <http://x/f>",
    "align a.csv b.csv --graph http://x/g": "found --graph, but neither graph leaves such a choice",
    "align a.csv b.csv --source-graph http://x/g": "found --graph for",
    "align a.ttl b.csv --source-id-column id": "found --id-column for",
    "align a.csv b.csv --id-column nummer": "expected one named nummer (--id-column)",
    "align a.ttl b.csv --source-type Hotl": "no entity of the type 'Hotl'; found the types Hotel; did you mean Hotel?",
    "align a.csv b.csv --source-type Hotel": "has no entity of the type 'Hotel'; its entities have no types",
    "align a.ttl b.csv --type Hotel": "b.csv has no entity of the type 'Hotel'; its entities have no types; --so",
    "align a.ttl b.csv --source-namespace http://y/": "no entity is left by --namespace",
    "align a.csv b.csv --source-entities names.txt": "found 'nobody', expected names of entities of the graph",
    "align a.csv b.csv --source-entities gone.txt": "gone.txt does not exist",
    "align a.csv b.csv --table triples": "found the kind 'phone', expected entity or literal",
    "align a.csv b.csv --seeds seeds.tsv": "nobody",
    "align a.csv b.csv --seeds seeds_one.tsv": "found 1 columns, expected 2",
    "align a.csv b.csv --seeds twofold.tsv": "h1",
    "align a.csv b.csv --seeds weights.tsv": "found the weight 'much'",
    "align a.csv b.csv --seeds nothing.csv": "nothing.csv is empty",
    "align a.csv b.csv --decisions empty": "holds no decisions",
    "align a.csv b.csv --config settings.toml": "setting em.rounds: found 'many'",
    "align a.csv b.csv --config broken.toml": "is not valid TOML",
    "align a.csv b.csv --set em.rounds=-1": "setting em.rounds: found -1",
    "align a.csv b.csv --preset quick": "unknown preset 'quick'; known are fast",
    "align a.csv b.csv --ratio 0.1": "--ratio and --fold require --data",
    "align --data empty": "found no known layout, expected one of",
    "align a.csv b.csv --device tpu": "device 'tpu' cannot be used here",
    "convert a.csv a.csv": "is the file to read, expected another one to write",
    "convert a.csv a.nt": "expected an IRI (No scheme found in an absolute IRI); a table (.csv, .parquet) takes any",
    "convert a.csv gone/a.nt": "the folder gone does not exist",
    "profile a.csv": "expected two graph files, or --data FOLDER",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = tmp_path_factory.mktemp("mistakes")
    (place / "empty").mkdir()
    for name, text in FILES.items():
        (place / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    yield place
    assert sorted(each.name for each in place.iterdir()) == sorted([*FILES, "empty"])  # nothing was written


@pytest.mark.parametrize(("words", "said"), MISTAKES.items(), ids=list(MISTAKES))
def test_a_mistake_is_one_sentence(folder: Path, words: str, said: str) -> None:
    out, err = io.StringIO(), io.StringIO()
    with (
        chdir(folder),
        redirect_stdout(out),
        redirect_stderr(err),
        patch.object(sys, "argv", ["emea", *words.split()]),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    sentences = [line for line in err.getvalue().splitlines() if line.startswith("error: ")]
    assert ended.value.code == 2, err.getvalue()
    assert len(sentences) == 1
    assert said in " ".join(err.getvalue().split()), err.getvalue()
    assert "Traceback" not in err.getvalue()
