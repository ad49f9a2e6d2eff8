"""Every variant of the id files."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from small_graphs import link_names, triple_names

from emea.contracts import Choice
from emea.data import Reference, Task
from emea.errors import InputError
from emea.formats.dbp15k import DBP15K

FolderOf = Callable[[Mapping[str, str]], Path]
# The ids of the two graphs overlap, with different meanings: 1 is b here and w there.
GRAPHS = {
    "ent_ids_1": "2 a\n1 b\n0 c\n",
    "ent_ids_2": "0 z\n3 y\n1 w\n2 x\n",
    "rel_ids_1": "0 r\n",
    "rel_ids_2": "0 s\n",
    "triples_1": "2 0 1\n1 0 0\n",
    "triples_2": "2 0 3\n",
}
ALL = {("a", "x"), ("b", "y"), ("c", "z")}


def read(folder: Path, choice: Choice) -> tuple[Task, list[set[tuple[str, str]]]]:
    task, reference = DBP15K().read_task(folder, choice)
    assert isinstance(reference, Reference)
    return task, [link_names(links, task) for links in (task.seeds, task.validation, reference.open())]


def test_graphs_have_names_and_aliases(folder_of: FolderOf) -> None:
    task, _ = DBP15K().read_task(folder_of(GRAPHS), Choice())
    assert triple_names(task.source) == {("a", "r", "b"), ("b", "r", "c")}
    assert triple_names(task.target) == {("x", "s", "y")}
    assert task.target.entities.to_pylist() == ["w", "x", "y", "z"]
    assert task.target.aliases is not None
    assert task.target.aliases.to_pylist() == ["1", "2", "3", "0"]


def test_seeds_validation_and_reference(folder_of: FolderOf) -> None:
    folder = folder_of(GRAPHS | {"sup_ent_ids": "2 2\n", "val_ent_ids": "1 3\n", "ref_ent_ids": "0 0\n"})
    expected = "id files: seeds in sup_ent_ids, validation in val_ent_ids, reference in ref_ent_ids"
    assert DBP15K().detect(folder) == expected
    assert read(folder, Choice())[1] == [{("a", "x")}, {("b", "y")}, {("c", "z")}]


def test_seeds_that_the_reference_repeats_are_not_tested(folder_of: FolderOf) -> None:
    folder = folder_of(GRAPHS | {"sup_ent_ids": "2 2\n", "ref_ent_ids": "2 2\n1 3\n1 3\n0 0\n"})
    assert DBP15K().detect(folder) == "id files: seeds in sup_ent_ids, reference in ref_ent_ids"
    assert read(folder, Choice())[1] == [{("a", "x")}, set(), {("b", "y"), ("c", "z")}]


@pytest.mark.parametrize(
    ("name", "detected"),
    [
        ("ref_ent_ids", "id files: all links in ref_ent_ids, none marked as seeds"),
        ("ill_ent_ids", "EAkit's id files: all links in ill_ent_ids, none marked as seeds"),
    ],
)
def test_all_links_in_one_file(folder_of: FolderOf, name: str, detected: str) -> None:
    folder = folder_of(GRAPHS | {name: "2 2\n1 3\n0 0\n"})
    assert DBP15K().detect(folder) == detected
    with pytest.raises(InputError, match="which of its 3 links are seeds: give --ratio or --seeds"):
        DBP15K().read_task(folder, Choice())
    _, (seeds, validation, reference) = read(folder, Choice(ratio=1 / 3))
    assert len(seeds) == 1
    assert seeds | validation | reference == ALL


def test_a_ratio_splits_the_links_of_all_files(folder_of: FolderOf) -> None:
    files = {"sup_ent_ids": "2 2\n", "val_ent_ids": "1 3\n", "ref_ent_ids": "0 0\n2 2\n"}
    assert read(folder_of(GRAPHS | files), Choice(ratio=1.0))[1] == [ALL, set(), set()]


def test_sharing_variant(folder_of: FolderOf) -> None:
    shared = {
        "ent_ids_1": "0 a\n1 b\n2 c\n",
        "ent_ids_2": "0 x\n4 y\n5 z\n",
        "triples_1": "0 0 1\n1 0 2\n",
        "triples_2": "0 0 4\n",
        "ref_ent_ids": "1 4\n2 5\n",
    }
    folder = folder_of(GRAPHS | shared)
    expected = "id files, BootEA's sharing variant: 1 seeds given by shared ids, reference in ref_ent_ids"
    assert DBP15K().detect(folder) == expected
    assert read(folder, Choice())[1] == [{("a", "x")}, set(), {("b", "y"), ("c", "z")}]
    assert read(folder, Choice(ratio=1.0))[1][0] == ALL


def test_two_graphs_that_count_from_0_share_no_entities(folder_of: FolderOf) -> None:
    counted = {
        "ent_ids_1": "0 a\n1 b\n2 c\n3 d\n",
        "ent_ids_2": "0 x\n1 y\n2 z\n4 w\n",  # with a gap
        "triples_1": "0 0 1\n1 0 2\n",
        "triples_2": "0 0 1\n",
        "ref_ent_ids": "3 4\n",
    }
    found = DBP15K().detect(folder_of(GRAPHS | counted))
    assert found == "id files: all links in ref_ent_ids, none marked as seeds"


def test_without_relation_names_and_links(folder_of: FolderOf) -> None:
    folder = folder_of({name: text for name, text in GRAPHS.items() if not name.startswith("rel_")})
    assert DBP15K().detect(folder) == "id files without links"
    task, reference = DBP15K().read_task(folder, Choice())
    assert task.source.relations.to_pylist() == ["0"]
    assert (len(task.seeds), reference) == (0, None)


def test_seeds_by_number_or_name_each_in_its_own_graph(folder_of: FolderOf) -> None:
    files = {"ref_ent_ids": "2 2\n1 3\n0 0\n", "seeds.tsv": "1 3\nc 0\n"}
    folder = folder_of(GRAPHS | files)
    assert read(folder, Choice(seeds=folder / "seeds.tsv"))[1] == [{("b", "y"), ("c", "z")}, set(), {("a", "x")}]


def test_a_name_with_two_ids_is_one_entity(folder_of: FolderOf) -> None:
    files = {"ent_ids_1": "2 a\n1 b\n0 c\n7 a\n", "triples_1": "7 0 1\n", "sup_ent_ids": "7 2\n"}
    task, links = read(folder_of(GRAPHS | files), Choice())
    assert task.source.entities.to_pylist() == ["a", "b", "c"]
    assert triple_names(task.source) == {("a", "r", "b")}
    assert links[0] == {("a", "x")}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"triples_1": "2 0 1\n3 0 1\n"}, r"triples_1, line 2: found the id 3, expected one listed in ent_ids_1"),
        ({"triples_1": "2 9 1\n"}, r"triples_1, line 1: found the id 9, expected one listed in rel_ids_1"),
        ({"sup_ent_ids": "3 2\n"}, r"sup_ent_ids, line 1: found the id 3, expected one listed in ent_ids_1"),
        ({"ref_ent_ids": "2 9\n"}, r"ref_ent_ids, line 1: found the id 9, expected one listed in ent_ids_2"),
        ({"ent_ids_1": "2 a\n2 b\n"}, r"ent_ids_1, line 2: found a second name for the id 2, expected only one"),
        ({"ent_ids_1": ""}, r"triples_1, line 1: found the id 2, expected one listed in ent_ids_1"),
        (
            {"triples_1": "\n2 0 1\n\n2 0 3\n3 9 1\n"},
            r"triples_1, line 4: found the id 3, expected one listed in ent_ids_1",
        ),
        ({"triples_2": "2 0\n"}, r"triples_2, line 1: found 2 columns, expected 3"),
    ],
)
def test_broken_files_are_refused(folder_of: FolderOf, files: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        DBP15K().read_task(folder_of(GRAPHS | files), Choice())


def test_folds_belong_to_another_layout(folder_of: FolderOf) -> None:
    with pytest.raises(InputError, match="no folds"):
        DBP15K().read_task(folder_of(GRAPHS), Choice(fold=1))
