"""Pairs with unknown names, other headers, and what people write into a column for decisions."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_graphs import graph_of, link_names

from emea.data import Links, Task
from emea.errors import InputError, InputWarning
from emea.formats import convert, read_graph, read_known, read_pair_names
from emea.formats._meant import meant

SOURCE = graph_of([f"http://source.org/{number}" for number in range(100)])
TARGET = graph_of([f"https://target.org/{number}/" for number in range(100)])


def known(tmp_path: Path, *rows: tuple[str, ...], name: str = "pairs.tsv") -> Task:
    separator = "," if name.endswith("csv") else "\t"
    (tmp_path / name).write_text("".join(separator.join(row) + "\n" for row in rows))
    return read_known(tmp_path / name, SOURCE, TARGET)


def pair(number: int) -> tuple[str, str]:
    return f"http://source.org/{number}", f"https://target.org/{number}/"


def test_a_few_unknown_names_are_skipped_with_a_warning(tmp_path: Path) -> None:
    rows = [pair(number) for number in range(40)]
    rows[3] = ("http://source.org/nobody", rows[3][1])
    rows[7] = (rows[7][0], "http://target.org/7")
    expected = (
        r"^skipping 2 of 40 pairs with an unknown name; .*pairs\.tsv, line 4: found 'http://source\.org/nobody', "
        r"expected an entity of the source graph"
    )
    with pytest.warns(InputWarning, match=expected):
        task = known(tmp_path, *rows)
    assert link_names(task.seeds, task) == {*rows} - {rows[3], rows[7]}


def test_many_unknown_names_are_refused(tmp_path: Path) -> None:
    rows = [pair(number) for number in range(40)]
    for number in (3, 7, 8):
        rows[number] = (rows[number][0], f"http://target.org/{number}")
    expected = r"line 4: found 'http://target\.org/3'.*did you mean 'https://target\.org/3/'\? \(3 of 40 pairs have"
    with pytest.raises(InputError, match=expected):
        known(tmp_path, *rows)
    with pytest.raises(InputError, match=r"if this is a header, call its columns source and target$"):
        known(tmp_path, ("Quelle", "Ziel"), pair(1))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("https://a.org/x", "http://a.org/x"),
        ("http://a.org/x/", "http://a.org/x"),
        ("<http://a.org/x>", "http://a.org/x"),
        ("http://a.org/two words", "http://a.org/two_words"),
        ("http://a.org/Z%C3%BCrich", "http://a.org/Zürich"),
        ("dbr:Berlin", "http://dbpedia.org/resource/Berlin"),
        ("Berlin", "http://dbpedia.org/resource/Berlin"),
        ("https://www.wikidata.org/wiki/Q64", "http://www.wikidata.org/entity/Q64"),
        ("http://a.org/Zürick", "http://a.org/Zürich"),
        ("nothing like it", None),
    ],
)
def test_what_was_meant(name: str, wanted: str | None) -> None:
    names = ["x", "two_words", "Zürich"]
    entities = [f"http://a.org/{each}" for each in names] + ["http://www.wikidata.org/entity/Q64"]
    entities += ["http://dbpedia.org/resource/Berlin", "http://dbpedia.org/resource/East_Berlin", "http://b.org/Z"]
    assert meant(name, graph_of(entities).entities) == wanted


@pytest.mark.parametrize(
    "header",
    [
        ("source", "target"), ("Left", "Right"), ("subject", "object"), ("subject_id", "object_id"), ("e1", "e2"),
        ("entity1", "entity2"), ("id1", "id2"), ("from", "to"), ("KG1", "KG2"),
    ],
)  # fmt: skip
def test_headers_of_others(tmp_path: Path, header: tuple[str, str]) -> None:
    for name in ("pairs.tsv", "pairs.csv"):
        task = known(tmp_path, ("note", *header[::-1]), ("x", *pair(1)[::-1]), name=name)
        assert link_names(task.seeds, task) == {pair(1)}
    columns = dict(zip(header, ([cell] for cell in pair(1)), strict=True))
    pq.write_table(pa.table(columns), tmp_path / "pairs.parquet")
    assert len(read_known(tmp_path / "pairs.parquet", SOURCE, TARGET).seeds) == 1


def test_triples_are_not_pairs_whatever_their_header(tmp_path: Path) -> None:
    (tmp_path / "graph.tsv").write_text("subject\tpredicate\tobject\na\tr\tb\n")
    assert "1 triples" in convert(tmp_path / "graph.tsv", tmp_path / "graph.nt.tsv")


def test_entities_may_have_columns_that_pairs_have_elsewhere(tmp_path: Path) -> None:
    rows = [f"f{number},Oslo,Rome,{number * 7}" for number in range(9)]
    (tmp_path / "flights.csv").write_text("\n".join(["id,from,to,price", *rows]) + "\n")
    assert read_graph(tmp_path / "flights.csv").literals.num_rows == 27
    (tmp_path / "flights.csv").write_text("from,to\nOslo,Rome\n")
    with pytest.raises(InputError, match=r"holds pairs; expected a graph"):
        read_graph(tmp_path / "flights.csv")


def test_decisions_saved_with_semicolons(tmp_path: Path) -> None:
    header, rows = "decision;source_label;confidence;source;target", [";".join(("yes", "a, b", "0,5", *pair(1)))]
    (tmp_path / "pairs.csv").write_text("\n".join([header, *rows, ";".join(("no", "c", "0,9", *pair(2)))]) + "\n")
    task = read_known(tmp_path / "pairs.csv", SOURCE, TARGET)
    assert link_names(task.seeds, task) == {pair(1)}
    assert link_names(task.exclusions, task) == {pair(2)}


def test_a_negated_mapping_is_an_exclusion_also_in_a_plain_table(tmp_path: Path) -> None:
    rows = [(pair(1)[0], "Not", pair(1)[1]), (pair(2)[0], "", pair(2)[1])]
    task = known(tmp_path, ("subject_id", "predicate_modifier", "object_id"), *rows)
    assert link_names(task.seeds, task) == {pair(2)}
    assert link_names(task.exclusions, task) == {pair(1)}


DECIDED = [
    ("Yes", *pair(1), "0.2"), ("no", *pair(2), "0.9"), ("", *pair(3), "0.9"), (" y ", *pair(4), "0,5"),
    ("WRONG", *pair(5), "1"), ("true", pair(6)[0], "", "1"), ("no", pair(7)[0], "", "1"), ("", "", "", ""),
]  # fmt: skip


@pytest.mark.parametrize("name", ["pairs.tsv", "pairs.csv", "pairs.parquet"])
def test_only_pairs_that_are_accepted_become_seeds(tmp_path: Path, name: str) -> None:
    header = ("decision", "source", "target", "confidence")
    if name.endswith("parquet"):
        rows = [(said or None, source, target) for said, source, target, _ in DECIDED]
        columns = dict(zip(header[:3], map(list, zip(*rows, strict=True)), strict=True))
        pq.write_table(pa.table(columns), tmp_path / name)
        task = read_known(tmp_path / name, SOURCE, TARGET)
    else:
        rows = [tuple(f'"{cell}"' if "," in cell else cell for cell in row) for row in (header, *DECIDED)]
        task = known(tmp_path, *rows, name=name)
    assert link_names(task.seeds, task) == {pair(1), pair(4)}
    assert task.seeds.weight.tolist() == [1, 1]  # what a person says is not weighed by the confidence of a run
    assert link_names(task.exclusions, task) == {pair(2), pair(5)}
    assert [SOURCE.entities[row].as_py() for row in task.unmatched.source.tolist()] == [pair(6)[0]]
    skipped = (read_pair_names(tmp_path / name).schema.metadata or {})[b"skipped"]
    assert skipped == b"1 with a counterpart that is not named, 2 with no decision"


def test_decisions_in_the_words_of_people(tmp_path: Path) -> None:
    words = {"Ok": True, "OKAY": True, "Correct": True, " Right ": True, "Incorrect": False, "WRONG": False}
    rows = [("source", "target", "decision"), *((*pair(n), word) for n, word in enumerate(words))]
    (tmp_path / "said.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    task = read_known(tmp_path / "said.tsv", SOURCE, TARGET)
    assert link_names(task.seeds, task) == {pair(n) for n, right in enumerate(words.values()) if right}
    assert link_names(task.exclusions, task) == {pair(n) for n, right in enumerate(words.values()) if not right}


def test_a_column_for_decisions_counts_in_sssom(tmp_path: Path) -> None:
    path = tmp_path / "links.sssom.tsv"
    rows = ["subject_id\tpredicate_id\tobject_id\tconfidence\tdecision"]
    rows += [f"{pair(n)[0]}\towl:sameAs\t{pair(n)[1]}\t0.5\t{said}" for n, said in enumerate(("yes", "no", ""))]
    path.write_text("\n".join(rows) + "\n")
    task = read_known(path, SOURCE, TARGET)
    assert link_names(task.seeds, task) == {pair(0)}
    assert link_names(task.exclusions, task) == {pair(1)}


def test_spreadsheets_quote_names_with_a_comma(tmp_path: Path) -> None:
    graph = graph_of(["http://ex.org/Paris,_Texas", "http://ex.org/b"])
    path = tmp_path / "pairs.tsv"
    path.write_text('decision\tsource\ttarget\n"yes"\t"http://ex.org/Paris,_Texas"\thttp://ex.org/b\n')
    task = read_known(path, graph, graph)
    assert link_names(task.seeds, Task(graph, graph, Links.empty())) == {
        ("http://ex.org/Paris,_Texas", "http://ex.org/b")
    }


@pytest.mark.parametrize(
    ("header", "row", "message"),
    [
        (
            ("source", "target", "decision"),
            (*pair(1), "x"),
            "line 2: found 'x' in the column decision, expected yes, ri",
        ),
        (("source", "target", "decision", "excluded"), (*pair(1), "yes", "true"), "line 2: found a pair that is exclu"),
        (
            ("source", "target", "decision"),
            (*pair(1), ""),
            "found no pairs, only 1 with no decision; expected yes or no",
        ),
    ],
)
def test_unclear_decisions_are_refused(
    tmp_path: Path, header: tuple[str, ...], row: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        known(tmp_path, header, row)
