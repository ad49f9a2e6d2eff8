"""Reading by suffix or layout, and pairs that cannot be links."""

import gzip
from pathlib import Path

import pyarrow as pa
import pytest
import torch
from small_graphs import graph_of, link_names

from emea import plugins
from emea.contracts import Choice, Format, PairReader
from emea.data import Links, Task
from emea.errors import InputError, PluginError, SettingsError
from emea.formats import read_graph, read_known, read_pairs, read_task

WORLD = Path(__file__).parents[2] / "src" / "emea" / "examples" / "world"
SOURCE = graph_of([f"http://source.org/{name}" for name in ("Bern", "Paris", "Rome")], aliases=["1", "2", "3"])
TARGET = graph_of([f"http://target.org/{name}" for name in ("Berne", "Parigi", "Roma")])


def pairs_of(tmp_path: Path, *rows: str) -> Links:
    path = tmp_path / "pairs.tsv"
    path.write_text(
        "\n".join(rows).replace(" ", "\t").replace("s:", "http://source.org/").replace("t:", "http://target.org/")
    )
    return read_pairs(path, SOURCE, TARGET)


def test_the_example_is_read() -> None:
    source, target = read_graph(WORLD / "cldr.ttl.gz"), read_graph(WORLD / "geonames.ttl.gz")
    links = read_pairs(WORLD / "links.tsv", source, target)
    assert len(links) == len((WORLD / "links.tsv").read_text().splitlines()) - 1
    assert len(torch.unique(links.source)) == len(torch.unique(links.target)) == len(links)


def test_suffixes_are_known_by_every_reader(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"found the suffix '\.xyz', expected one for a graph: .*\.csv, .*\.nt.*\.ttl"):
        read_graph(tmp_path / "graph.xyz.gz")
    with pytest.raises(InputError, match=r"expected one for pairs: \.csv, .*no suffix"):
        read_pairs(tmp_path / "pairs.xyz", SOURCE, TARGET)
    with pytest.raises(InputError, match=r"graph\.nt does not exist"):
        read_graph(tmp_path / "graph.nt")
    with pytest.raises(InputError, match="is a folder"):
        read_pairs(tmp_path, SOURCE, TARGET)


@pytest.mark.parametrize("name", ["graph.nt", "graph.ttl", "graph.tsv", "graph.csv.gz"])
def test_an_empty_graph_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(b"") if name.endswith(".gz") else b"")
    with pytest.raises(InputError, match=f"{name} is empty"):
        read_graph(tmp_path / name)


def test_every_format_has_a_description() -> None:
    for name in plugins.names("formats"):
        description = plugins.find("formats", name, Format).description
        assert description
        assert "\n" not in description


def test_pairs_are_names_or_ids_sorted_and_merged(tmp_path: Path) -> None:
    links = pairs_of(tmp_path, "s:Rome t:Roma 0.5", "1 t:Berne 1", "s:Rome t:Roma 0.75")
    task = Task(SOURCE, TARGET, links, Links.empty())
    assert link_names(links, task) == {
        ("http://source.org/Bern", "http://target.org/Berne"),
        ("http://source.org/Rome", "http://target.org/Roma"),
    }
    assert links.weight.tolist() == [1.0, 0.75]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            ["s:Rome t:Roma", "s:Pariis t:Parigi"],
            r"pairs\.tsv, line 2: found 'http://source\.org/Pariis'.*did you mean 'http://source\.org/Paris'",
        ),
        (["s:Rome Oslo"], r"line 1: found 'Oslo', expected an entity of the target graph$"),
        (["source target", "t:Roma s:Rome"], r"line 2: found 'http://target\.org/Roma'.*are the columns swapped"),
        (
            ["s:Rome t:Roma", "s:Bern t:Berne", "3 t:Parigi"],
            r"line 3: found '3' paired with '.*Parigi', and earlier with '.*Roma' \(.*line 1\)",
        ),
        (["s:Rome t:Roma", "s:Bern t:Roma"], r"line 2: found '.*Roma' paired with '.*Bern', and earlier with '.*Rome'"),
    ],
)
def test_pairs_that_cannot_be_links_are_refused(tmp_path: Path, rows: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        pairs_of(tmp_path, *rows)


def test_an_empty_file_of_pairs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"pairs\.tsv is empty; expected the columns source, target$"):
        pairs_of(tmp_path)
    assert len(pairs_of(tmp_path, "source target")) == 0  # an alignment without links
    with pytest.raises(InputError, match=r"pairs\.tsv holds no pair, expected at least one$"):
        read_known(tmp_path / "pairs.tsv", SOURCE, TARGET)


def test_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"found no known layout, expected one of: .*OpenEA"):
        read_task(tmp_path, Choice(ratio=0.3))
    with pytest.raises(InputError, match="does not exist; expected a folder"):
        read_task(tmp_path / "none", Choice(ratio=0.3))
    with pytest.raises(SettingsError, match="more than one of"):
        read_task(tmp_path, Choice(ratio=0.3, fold=1))
    with pytest.raises(SettingsError, match="found the ratio 30"):
        read_task(tmp_path, Choice(ratio=30))
    for name, text in {"rel_triples_1": "a\tr\tb\n", "rel_triples_2": "x\ts\ty\n", "ent_links": "a\tx\n"}.items():
        (tmp_path / name).write_text(text)
    task, reference, detected = read_task(tmp_path, Choice(ratio=1.0))
    assert (len(task.seeds), len(reference or [])) == (1, 0)
    assert detected.startswith("OpenEA folder")


class Pairs(PairReader):
    """Pairs of someone else."""

    description, pair_suffixes = "pairs", (".same",)
    table: object = None

    def read_pairs(self, path: Path) -> pa.Table:
        """Whatever is set."""
        return Pairs.table


def test_pairs_of_another_format_weigh_one_unless_they_say_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = (graph.entities.to_pylist()[:2] for graph in (SOURCE, TARGET))
    monkeypatch.setattr("emea.formats._lookup._named", lambda: iter([("same", Pairs())]))
    (tmp_path / "known.same").write_text("")
    monkeypatch.setattr(Pairs, "table", pa.table({"source": source, "target": target}))
    assert read_pairs(tmp_path / "known.same", SOURCE, TARGET).weight.tolist() == [1.0, 1.0]
    for table, said in ((pa.table({"source": source}), "without target"), ([], "returned list, expected a table")):
        monkeypatch.setattr(Pairs, "table", table)
        with pytest.raises(PluginError, match=said):
            read_pairs(tmp_path / "known.same", SOURCE, TARGET)
