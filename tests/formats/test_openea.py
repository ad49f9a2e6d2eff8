"""The OpenEA folder, with everything optional left out in turn."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from small_graphs import link_names, literal_names, triple_names

from emea.contracts import Choice
from emea.errors import InputError
from emea.formats.openea import OpenEA, _typed

STRING = "http://www.w3.org/2001/XMLSchema#string"
LANGUAGE_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
FolderOf = Callable[[Mapping[str, str]], Path]
TYPED_TEXTS = [
    '"x"^^<a:b>',
    '"x"@EN-us',
    '"a "quoted" text"@de',
    '"x"^^<a:b>"y"^^<a:c>',
    '""@en',
    '"x"',
    '"x"@e_n',
    '"x"@1',
    'x"@en',
    '"x"^^<a b>',
    '"x"^^<a\u3000b>',
    '"x"^^<a\x1fb>',
    '"x"^^<a\x85b>',
    '"x"^^<>',
    '"x"^^<é>',
    '"x"@en ',
    "",
    '"',
    '"x\u2028y"@en',
]
GRAPHS = {"rel_triples_1": "a r b\nb r c\n", "rel_triples_2": "x s y\ny s z\n"}
LINKS = {"ent_links": "a x\nb y\nc z\nlonely w\n"}
FOLD = {
    "721_5fold/2/train_links": "a x\n",
    "721_5fold/2/valid_links": "b y\n",
    "721_5fold/2/test_links": "c z\nlonely w\n",
}


def test_a_fold_is_seeds_validation_and_reference(folder_of: FolderOf) -> None:
    folder = folder_of(GRAPHS | LINKS | FOLD)
    assert OpenEA().detect(folder) == "OpenEA folder without attributes, links in ent_links, 1 folds"
    task, reference = OpenEA().read_task(folder, Choice(fold=2))
    assert triple_names(task.source) == {("a", "r", "b"), ("b", "r", "c")}
    assert task.source.entities.to_pylist() == ["a", "b", "c"]  # links are not part of the graphs
    assert task.target.entities.to_pylist() == ["x", "y", "z"]
    assert link_names(task.seeds, task) == {("a", "x")}
    assert link_names(task.validation, task) == {("b", "y")}
    assert reference is not None
    assert link_names(reference.open(), task) == {("c", "z")}
    assert reference.absent == [-1]  # counts as missed


def test_an_absent_fold_is_refused(folder_of: FolderOf) -> None:
    with pytest.raises(InputError, match="no fold 1: found 2, expected"):
        OpenEA().read_task(folder_of(GRAPHS | LINKS | FOLD), Choice(fold=1))


def test_a_ratio_splits_all_links_by_the_seed(folder_of: FolderOf) -> None:
    links = "".join(f"s{n} t{n}\n" for n in range(300))
    triples = {f"rel_triples_{i}": "".join(f"{s}{n} r {s}0\n" for n in range(300)) for i, s in ((1, "s"), (2, "t"))}
    folder = folder_of(triples | {"ent_links": links})
    tasks = [OpenEA().read_task(folder, Choice(ratio=0.2, split=split)) for split in (1, 1, 2)]
    names = [link_names(task.seeds, task) for task, _ in tasks]
    assert names[0] == names[1] != names[2]
    task, reference = tasks[0]
    assert reference is not None
    assert (len(task.seeds), len(task.validation), len(reference)) == (60, 100, 140)
    parts = [link_names(part, task) for part in (task.seeds, task.validation, reference.open())]
    assert set.union(*parts) == {(f"s{n}", f"t{n}") for n in range(300)}


def test_given_seeds_leave_the_other_links_as_reference(folder_of: FolderOf) -> None:
    folder = folder_of(GRAPHS | LINKS | {"seeds.tsv": "source target\na x\nc y\n"})
    task, reference = OpenEA().read_task(folder, Choice(seeds=folder / "seeds.tsv"))
    assert link_names(task.seeds, task) == {("a", "x"), ("c", "y")}
    assert len(task.validation) == 0
    assert reference is not None
    assert link_names(reference.open(), task) == {("b", "y"), ("c", "z")}
    assert reference.absent == [-1]


def test_without_links_there_is_no_reference(folder_of: FolderOf) -> None:
    folder = folder_of(GRAPHS | {"seeds": "a x\n"})
    task, reference = OpenEA().read_task(folder, Choice(seeds=folder / "seeds"))
    assert (len(task.seeds), reference) == (1, None)
    unlinked, nothing = OpenEA().read_task(folder, Choice())
    assert (len(unlinked.seeds), nothing) == (0, None)
    with pytest.raises(InputError, match=r"has no links to split by --ratio 0\.3"):
        OpenEA().read_task(folder, Choice(ratio=0.3))


def test_links_without_a_choice_are_refused(folder_of: FolderOf) -> None:
    with pytest.raises(InputError, match="give --ratio or --seeds"):
        OpenEA().read_task(folder_of(GRAPHS | LINKS), Choice())


def test_attribute_values_may_hold_tabs_and_types(folder_of: FolderOf) -> None:
    folder = folder_of(GRAPHS)
    lines = [
        'a\tp\t"1999"^^<http://www.w3.org/2001/XMLSchema#gYear>',
        'a\tp\t"say "hi""@en-GB',
        "a\tp\tone\ttwo",
        'only\tp\t"just quoted"',
    ]
    (folder / "attr_triples_1").write_text("\n".join(lines), encoding="utf-8")
    assert "with attributes" in str(OpenEA().detect(folder))
    task, _ = OpenEA().read_task(folder, Choice())
    assert literal_names(task.source) == {
        ("a", "p", "1999", "http://www.w3.org/2001/XMLSchema#gYear", ""),
        ("a", "p", 'say "hi"', LANGUAGE_STRING, "en-gb"),
        ("a", "p", "one\ttwo", STRING, ""),
        ("only", "p", '"just quoted"', STRING, ""),
    }
    assert task.source.entities.to_pylist() == ["a", "b", "c", "only"]


def test_other_folders_are_not_detected_and_short_lines_refused(folder_of: FolderOf) -> None:
    folder = folder_of({"rel_triples_1": "a r\n"})
    assert OpenEA().detect(folder) is None
    folder_of({"rel_triples_2": "x s y\n"})
    with pytest.raises(InputError, match="rel_triples_1, line 1: found 2 columns, expected 3"):
        OpenEA().read_task(folder, Choice())


@pytest.mark.parametrize("text", TYPED_TEXTS)
def test_values_are_typed_as_one_by_one(text: str) -> None:
    typed = re.fullmatch(r'"(.*)"(?:\^\^<([^<>\s]+)>|@([A-Za-z]+(?:-[A-Za-z0-9]+)*))', text)
    expected = (text, STRING, "")
    if typed is not None:
        expected = (typed[1], typed[2] or LANGUAGE_STRING, (typed[3] or "").lower())
    columns = _typed(pa.array(["plain", text], pa.large_string()))
    assert tuple(column.to_pylist()[1] for column in columns) == expected
