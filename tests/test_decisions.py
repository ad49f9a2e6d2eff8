"""Decisions about proposed links, entities without counterpart, and what may be promised."""

import json
from pathlib import Path

import pytest
import torch

from emea import InputError, Links
from emea.formats import convert, read, read_decisions, read_known, read_pair_names
from emea.runs.inputs import Inputs
from emea.runs.promise import checks_for
from test_run import QUICK, command, table


@pytest.fixture
def graphs(tmp_path: Path) -> tuple[Path, Path]:
    for side in ("a", "b"):
        rows = [f"{side}{i}\tname\tnumber {i} of {i * 7}\tliteral" for i in range(40)]
        rows += [f"{side}{i}\tyear\t{1900 + i}\tliteral" for i in range(40)]
        (tmp_path / f"{side}.tsv").write_text("\n".join(["head\trelation\ttail\tkind", *rows]) + "\n")
    return tmp_path / "a.tsv", tmp_path / "b.tsv"


SSSOM = """#curie_map: {a: 'urn:a:', b: 'urn:b:'}
subject_id\tpredicate_id\tobject_id\tpredicate_modifier
a:1\towl:sameAs\tb:1\t
a:2\tskos:exactMatch\tb:2\tNot
a:3\towl:sameAs\tsssom:NoTermFound\t
sssom:NoTermFound\towl:sameAs\tb:4\t
"""
TABLE = "source\ttarget\texcluded\nurn:a:1\turn:b:1\t\nurn:a:2\turn:b:2\ttrue\nurn:a:3\t\t\n\turn:b:4\t\n"


@pytest.mark.parametrize(("name", "text"), [("known.sssom.tsv", SSSOM), ("known.tsv", TABLE)])
def test_right_wrong_and_alone(tmp_path: Path, name: str, text: str) -> None:
    for side in "ab":
        (tmp_path / f"{side}.nt").write_text(
            "".join(f"<urn:{side}:{i}> <urn:r> <urn:{side}:{i + 1}> .\n" for i in range(9))
        )
    (tmp_path / name).write_text(text)
    task = read(tmp_path / "a.nt", tmp_path / "b.nt")
    known = read_known(tmp_path / name, task.source, task.target)
    pairs = [
        sorted(zip(each.source.tolist(), each.target.tolist(), strict=True)) for each in (known.seeds, known.exclusions)
    ]
    assert pairs == [[(1, 1)], [(2, 2)]]
    assert sorted(zip(known.unmatched.source.tolist(), known.unmatched.target.tolist(), strict=True)) == [
        (-1, 4),
        (3, -1),
    ]
    told = read_known(tmp_path / name, task.source, task.target)
    seeds = Links.build(torch.tensor([2, 3, 5]), torch.tensor([2, 3, 5]))
    decided = read_decisions(tmp_path / name, type(task)(task.source, task.target, seeds))
    assert sorted(decided.seeds.source.tolist()) == [1, 5]  # 2 is wrong, and 3 has no counterpart
    assert decided.checked.weight.tolist() == [1, 0]
    assert len(told.unmatched) == 2
    for other in ("again.tsv", "again.sssom.tsv", "again.parquet"):
        convert(tmp_path / name, tmp_path / other, kind="pairs")
        rows = read_pair_names(tmp_path / other)
        assert sorted(zip(*(rows[column].to_pylist() for column in ("source", "target", "excluded")), strict=True)) == [
            ("", "urn:b:4", True),
            ("urn:a:1", "urn:b:1", False),
            ("urn:a:2", "urn:b:2", True),
            ("urn:a:3", "", True),
        ]
    convert(tmp_path / name, tmp_path / "again.rdf", kind="pairs")  # which has no word for it
    assert read_pair_names(tmp_path / "again.rdf").num_rows == 2


def test_a_row_without_any_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("source\ttarget\na\tb\n\t\n")
    with pytest.raises(InputError, match="line 3"):
        read_pair_names(tmp_path / "pairs.tsv")


def test_decisions_of_a_run_are_learned_from(graphs: tuple[Path, Path], tmp_path: Path) -> None:
    command("align", "a.tsv", "b.tsv", "--quiet", *QUICK, folder=tmp_path)
    first = {row["source"]: row["target"] for row in table(tmp_path / "run" / "alignment.tsv").to_pylist()}
    assert len(first) > 30
    rows = ["a1\tb1\t", "a2\tb2\ttrue", "a3\t\t"]
    (tmp_path / "run" / "decisions.tsv").write_text("\n".join(["source\ttarget\texcluded", *rows]) + "\n")
    given = ["--config", "run/settings.toml", "--decisions", "run", "--out", "second"]
    command("align", *given, "--quiet", folder=tmp_path)
    second = {row["source"]: row["target"] for row in table(tmp_path / "second" / "alignment.tsv").to_pylist()}
    assert not {"a1", "a3"} & set(second)
    assert second.get("a2") != "b2"
    assert len(second) > 25
    assert table(tmp_path / "second" / "seeds.tsv")["source"].to_pylist() == ["a1"]
    done = command("align", *given[:2], "--decisions", "second", "--out", "third", folder=tmp_path, code=2)
    said = " ".join(done.stderr.split())
    assert "with no decision; expected yes or no in the column decision" in said
    assert "alignment.review.tsv: found no pairs, only" in said
    (tmp_path / "nothing").mkdir()
    done = command("align", *given[:2], "--decisions", "nothing", "--out", "third", folder=tmp_path, code=2)
    names = "decisions.sqlite or decisions.sssom.tsv or decisions.tsv or alignment.review.tsv"
    assert f"nothing holds no decisions; expected a file {names} in it" in " ".join(done.stderr.split())


def test_a_precision_is_promised_or_not(graphs: tuple[Path, Path], tmp_path: Path) -> None:
    done = command("align", "a.tsv", "b.tsv", *QUICK, "--target-precision", "0.95", folder=tmp_path)
    links = (tmp_path / "run" / "alignment.tsv").read_text().splitlines()
    least = min(float(line.split("\t")[links[0].split("\t").index("confidence")]) for line in links[1:])
    assert f"for a precision of 0.95, confidence has to be at least {least:.3f}" in " ".join(done.stdout.split())
    told = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert told["doubt"] is None
    assert told["expected precision"] >= 0.95
    assert told["absence"]["sources"] == 40
    (tmp_path / "seeds.tsv").write_text("".join(f"a{i}\tb{i}\n" for i in range(30)))
    for side in ("a", "b"):
        lines = (tmp_path / f"{side}.tsv").read_text()
        (tmp_path / f"{side}.tsv").write_text(
            lines + "".join(f"{side}{i}\tnext\t{side}{i + 1}\tentity\n" for i in range(39))
        )
    given = ["--evidence", "structure", "--seeds", "seeds.tsv", "--min-confidence", "0", "--target-precision", "0.01"]
    done = command("align", "a.tsv", "b.tsv", *QUICK, *given, "--out", "structure", folder=tmp_path)
    assert "a precision of 0.01 cannot be promised" in " ".join(done.stderr.split())
    assert "1 random links, checked and right, would show it" in " ".join(done.stderr.split())
    assert (checks_for(0.95), checks_for(0.99)) == (59, 299)


def test_known_pairs_may_repeat_entities_as_far_as_the_cardinality_allows(tmp_path: Path) -> None:
    for side in "ab":
        (tmp_path / f"{side}.nt").write_text("".join(f"<{side}:{n}> <p:in> <{side}:town> .\n" for n in range(4)))
    (tmp_path / "seeds.tsv").write_text("a:0\tb:0\na:1\tb:0\n")
    (tmp_path / "decisions.tsv").write_text("a:2\tb:0\na:3\tb:0\n")
    files = [tmp_path / name for name in ("a.nt", "b.nt", "seeds.tsv")]
    for refused in ("one-to-one", "one-to-many"):
        with pytest.raises(InputError, match="b:0"):
            read(*files, cardinality=refused)
    task = read(*files, cardinality="many-to-one")
    assert len(task.seeds) == 2
    assert len(read_decisions(tmp_path / "decisions.tsv", task, "many-to-one").seeds) == 4
    (tmp_path / "decisions.tsv").write_text("a:0\tb:1\n")
    corrected = read_decisions(tmp_path / "decisions.tsv", task, "many-to-one").seeds
    assert sorted(zip(corrected.source.tolist(), corrected.target.tolist(), strict=True)) == [(0, 1), (1, 0)]


def test_decisions_of_several_rounds_add_up_and_the_last_counts(tmp_path: Path) -> None:
    for side in "ab":
        (tmp_path / f"{side}.nt").write_text("".join(f"<{side}:{n}> <p:in> <{side}:town> .\n" for n in range(6)))
    task = read(tmp_path / "a.nt", tmp_path / "b.nt")
    rows = {"first": ["0\t0\tyes", "1\t1\tyes", "2\t2\tno", "3\t\tnone", "4\t4\tno"], "then": ["1\t1\tno", "3\t3\tyes"]}
    for name, pairs in rows.items():
        lines = ["a:{}\tb:{}\t{}".format(*row.split("\t")).replace("b:\t", "\t") for row in [*pairs, "4\t4\tno"]]
        (tmp_path / f"{name}.tsv").write_text("\n".join(["source\ttarget\tdecision", *dict.fromkeys(lines)]) + "\n")
        task = read_decisions(tmp_path / f"{name}.tsv", task)
    assert sorted(task.seeds.source.tolist()) == [0, 3]
    assert sorted(task.exclusions.source.tolist()) == [1, 2, 4]
    assert not len(task.unmatched)
    checked = zip(task.checked.source.tolist(), task.checked.weight.tolist(), strict=True)
    assert sorted(checked) == [(0, 1), (1, 0), (2, 0), (3, 1), (4, 0)]


@pytest.mark.slow
def test_a_second_round_keeps_the_decisions_of_the_first(graphs: tuple[Path, Path], tmp_path: Path) -> None:
    command("align", "a.tsv", "b.tsv", "--quiet", *QUICK, folder=tmp_path)
    for row, (folder, next_folder) in enumerate((("run", "second"), ("second", "third"))):
        decided = f"source\ttarget\tdecision\na{row}\tb{row}\tyes\n"
        (tmp_path / folder / "decisions.tsv").write_text(decided)
        given = ["--config", f"{folder}/settings.toml", "--decisions", folder, "--out", next_folder]
        command("align", *given, "--quiet", folder=tmp_path)
    assert table(tmp_path / "third" / "seeds.tsv")["source"].to_pylist() == ["a0", "a1"]
    command("align", "--config", "third/settings.toml", "--out", "fourth", "--quiet", folder=tmp_path)
    assert (tmp_path / "fourth" / "alignment.tsv").read_bytes() == (tmp_path / "third" / "alignment.tsv").read_bytes()
    with_both = ["--decisions", "run", "--decisions", "second", "--out", "fifth"]
    command("align", "--config", "run/settings.toml", *with_both, "--quiet", folder=tmp_path)
    assert (tmp_path / "fifth" / "alignment.tsv").read_bytes() == (tmp_path / "third" / "alignment.tsv").read_bytes()
    repeated = Inputs(decisions="a.tsv").over({"decisions": [tmp_path / "b.tsv", Path("a.tsv")]})
    assert [path.name for path in repeated.decisions] == ["b.tsv", "a.tsv"]
