"""A pair from two releases of Debian: what becomes of their indexes."""

import gzip
import hashlib
import importlib
import lzma
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import emea
from emea.data import Links, Task
from emea.errors import InputError

SCRIPTS = Path(__file__).parents[1] / "scripts"
LATER = "\nPackage: new\nMaintainer: B <b@example.org>\nSection: net\nPriority: optional\nDepends: gone, shell:any\n"
PACKAGES = """Package: shell
Source: shell-source (1.0)
Maintainer: A. Person <A@example.org>
Section: admin
Priority: optional
Depends: libc6 (>= 2.36), mail-agent | awk:any
Tag: role::program, interface::shell,
 uitoolkit::none

Package: libc6
Maintainer: A. P. <a@example.org>
Section: libs
Priority: optional
Provides: only-here
Suggests: mail-agent
"""
CONTENTS = """bin/sh                        admin/shell
usr/share/a file/README       admin/shell,libs/libc6
usr/share/other/README        libs/libc6
usr/share/doc/shell/README    admin/shell
usr/share/other/rare          libs/libc6
"""


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(SCRIPTS)


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    """Indexes of two releases."""
    folder = tmp_path / "mirror"
    for release, packages, more in (("first", PACKAGES, ""), ("second", PACKAGES + LATER, "usr/bin/README  net/new\n")):
        main = folder / "dists" / release / "main"
        (main / "binary-amd64").mkdir(parents=True)
        files = {
            main / "binary-amd64" / "Packages.xz": lzma.compress(packages.encode()),
            main / "Contents-all.gz": gzip.compress((CONTENTS + more).encode()),
            main / "Contents-amd64.gz": gzip.compress(b"sbin/sh admin/shell\n"),
        }
        for path, content in files.items():
            path.write_bytes(content)
        sums = "".join(f" {hashlib.sha256(content).hexdigest()} 1 x\n" for content in files.values())
        (main.parent / "Release").write_text(f"Version: 1.2\nDate: today\nSHA256:\n{sums}")
    return folder


@pytest.fixture
def pair(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Writes the pair of the two releases."""
    monkeypatch.setattr(importlib.import_module("_debian"), "LEAST", 2)

    def write(name: str, *options: str) -> Path:
        out = mirror.parent / name
        common = [
            "--releases",
            "first",
            "second",
            "--mirror",
            mirror.as_uri(),
            "--indexes",
            str(mirror.parent / "kept"),
        ]
        monkeypatch.setattr(sys, "argv", ["debian_pair.py", str(out), *common, *options])
        importlib.import_module("debian_pair").main()
        return out

    return write


def read(folder: Path) -> tuple[Task, Links]:
    task, reference = emea.read_benchmark(folder, ratio=0)
    assert reference is not None
    return task, task.validation + reference.open()


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def spoken(task: Task) -> list[set[tuple[str, str, str]]]:
    """The triples of both graphs, by the last parts of names."""
    found = []
    for graph in (task.source, task.target):
        entity, relation = (
            [name.rpartition("/")[2] for name in names.to_pylist()] for names in (graph.entities, graph.relations)
        )
        found.append({(entity[h], relation[r], entity[t]) for h, r, t in graph.triples.tolist()})
    return found


def test_a_release_is_a_graph_of_packages_and_files(pair: Callable[..., Path]) -> None:
    task, links = read(pair("named", "--names"))
    source, target = spoken(task)
    assert {tail for head, relation, tail in source if (head, relation) == ("shell", "Depends")} == {
        *("libc6", "mail-agent")  # awk is not there, and nobody else mentions it
    }
    assert {("libc6", "Maintainer", "a@example.org"), ("shell", "Maintainer", "a@example.org")} <= source
    assert {("shell", "Source", "shell-source"), ("libc6", "Source", "libc6")} <= source
    assert ("shell", "Tag", "uitoolkit%3A%3Anone") in source
    assert {("shell", "Contains", "sh"), ("shell", "Contains", "README"), ("libc6", "Contains", "README")} <= source
    assert {("README", "Inside", "a%20file"), ("a%20file", "Inside", "share"), ("share", "Inside", "usr")} <= source
    assert {("sh", "Called", "sh"), ("README", "Called", "README")} <= source
    assert not {"only-here", "rare", "awk", "doc"} & {end for triple in source for end in triple}
    assert {("new", "Depends", "shell"), ("new", "Contains", "README")} == {
        triple for triple in target if triple[0] == "new" and triple[1] in {"Depends", "Contains"}
    }
    assert len(source - target) == 0
    names = [column.to_pylist() for column in task.names(links)]
    assert len(names[0]) == len(task.source.entities)
    assert all(first.rpartition("/")[2] == second.rpartition("/")[2] for first, second in zip(*names, strict=True))


def test_names_are_no_evidence_unless_asked_for(pair: Callable[..., Path]) -> None:
    out = pair("plain")
    named, other = contents(pair("named", "--names")), contents(pair("other", "--seed", "1"))
    again, plain = contents(pair("again")), contents(out)
    assert plain == again
    assert {name for name, text in plain.items() if named[name] != text} == {"ent_ids_1", "ent_ids_2"}
    assert {name for name, text in plain.items() if other[name] == text} == {"rel_ids_1", "rel_ids_2", "releases"}
    for text in (plain["ent_ids_1"], plain["ent_ids_2"]):
        for line in text.decode().splitlines():
            number, name = line.split("\t")
            assert name in {f"http://{side}.example/{number}" for side in ("source", "target")}
    assert plain["releases"] == b"first 1.2, today\nsecond 1.2, today\n"
    task, links = read(out)
    kinds = importlib.import_module("ceiling").kinds(out, task.source, links).to_pylist()
    assert dict(Counter(kinds)) == {
        "package": 3,
        "source": 2,
        "maintainer": 1,
        "section": 2,
        "priority": 1,
        "tag": 3,
        "directory": 7,
        "file": 4,
        "name": 2,
    }


@pytest.mark.slow
def test_the_numbering_is_the_same_in_every_process(tmp_path: Path) -> None:
    fields = "Depends: a\nRecommends: b\nSuggests: c\nBreaks: d\nEnhances: e\n"
    path = tmp_path / "Packages.xz"
    path.write_bytes(lzma.compress(f"Package: x\n{fields}\nPackage: y\n{fields}".encode()))
    code = f"import _debian, pathlib; print(_debian.described(pathlib.Path({str(path)!r}))[0]['package'].to_pylist())"
    said = []
    for seed in "12":
        command, chosen = [sys.executable, "-c", code], os.environ | {"PYTHONHASHSEED": seed}
        said.append(subprocess.run(command, cwd=SCRIPTS, env=chosen, capture_output=True, text=True, check=True).stdout)
    assert said[0] == said[1] == "['x', 'a', 'b', 'c', 'e', 'd', 'y']\n"


def test_an_index_that_is_not_the_listed_one_is_refused(pair: Callable[..., Path], mirror: Path) -> None:
    (mirror / "dists" / "second" / "main" / "Contents-all.gz").write_bytes(gzip.compress(b"cut off"))
    with pytest.raises(InputError, match=r"is not the file that .*Release lists"):
        pair("out")
