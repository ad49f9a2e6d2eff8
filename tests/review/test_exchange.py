"""Decisions to and from files, and what two reviewers do not agree on."""

import csv
from pathlib import Path

import polars as pl
import pytest
from made import name, write_run

import emea
from emea.errors import InputError, InputWarning
from emea.formats import read_pair_names
from emea.review.cards import Reviewed
from emea.review.decision import Decision
from emea.review.decisions import Decisions
from emea.review.exchange import conflicts, export, left_out, merge, read
from emea.verdicts import DATABASE, NO, NONE, UNSURE, YES
from test_run import command

ANNA = [
    Decision(
        "http://a/1", "http://b/1", YES, 'so "says" it\tall', 0.5, {"confidence": 0.75}, "anna", "2026-01-02T03:04:05Z"
    ),
    Decision("http://a/2", "http://b/2", NO, "", None, {"confidence": 0.6}, "anna", "2026-01-02T03:04:06Z"),
    Decision("http://a/2", "http://b/9", YES, "", None, {}, "anna", "2026-01-02T03:04:07Z"),
    Decision("http://a/3", "", NONE, "", None, {}, "0000-0002-1825-0097", "2026-01-02T03:04:08Z"),
    Decision("http://a/4", "http://b/4", UNSURE, "", None, {}, "anna", "2026-01-02T03:04:09Z"),
]


@pytest.fixture
def held(tmp_path: Path) -> Decisions:
    made = Decisions.open(tmp_path / DATABASE)
    made.import_(ANNA)
    return made


def told(decisions: list[Decision]) -> set[tuple[str, str, str, str]]:
    return {(each.source, each.target, each.verdict, each.who) for each in decisions}


def test_a_table_holds_everything(held: Decisions, tmp_path: Path) -> None:
    assert export(held, tmp_path / "decisions.tsv") == 5
    found = read(tmp_path / "decisions.tsv")
    assert told(found) == told(ANNA)
    (first,) = (each for each in found if each.source == "http://a/1")
    assert (first.comment, first.sampled, first.shown["confidence"], first.at) == (
        'so "says" it all',
        0.5,
        0.75,
        "2026-01-02T03:04:05Z",
    )


def test_sssom_has_reviewers_dates_rejections_and_the_tools_own_confidence(held: Decisions, tmp_path: Path) -> None:
    path = tmp_path / "decisions.sssom.tsv"
    assert export(held, path) == 4  # not what is unsure
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    rows = {(row["subject_id"][-1], row["object_id"][-1]): row for row in csv.DictReader(lines, delimiter="\t")}
    assert rows["1", "1"]["reviewer_id"] == "reviewer:anna"
    assert rows["1", "1"]["reviewer_label"] == "anna"
    assert rows["1", "1"]["review_date"] == "2026-01-02"
    assert rows["1", "1"]["confidence"] == "0.75"
    assert rows["1", "1"]["mapping_justification"] == "semapv:CompositeMatching"
    assert rows["2", "2"]["predicate_modifier"] == "Not"
    assert rows["2", "9"]["mapping_justification"] == "semapv:ManualMappingCuration"
    assert rows["2", "9"]["confidence"] == ""
    assert rows["3", "d"]["object_id"] == "sssom:NoTermFound"
    assert rows["3", "d"]["reviewer_id"] == "orcid:0000-0002-1825-0097"
    assert told(read(path)) == {each for each in told(ANNA) if each[2] != UNSURE}


def test_others_read_our_sssom(held: Decisions, tmp_path: Path) -> None:
    import sssom_pydantic

    export(held, tmp_path / "decisions.sssom.tsv")
    mappings, *_ = sssom_pydantic.read(tmp_path / "decisions.sssom.tsv")
    assert len(mappings) == 4
    assert {each.review_date.isoformat() for each in mappings if each.review_date} == {"2026-01-02"}


def test_what_was_reviewed_is_known_whatever_the_tool_thought(held: Decisions, tmp_path: Path) -> None:
    export(held, tmp_path / "decisions.sssom.tsv")
    pairs = read_pair_names(tmp_path / "decisions.sssom.tsv").to_pylist()
    assert {(each["source"], each["target"]): (each["weight"], each["excluded"]) for each in pairs} == {
        ("http://a/1", "http://b/1"): (1, False),
        ("http://a/2", "http://b/2"): (1, True),
        ("http://a/2", "http://b/9"): (1, False),
        ("http://a/3", ""): (1, True),
    }
    export(held, tmp_path / "decisions.tsv")
    assert read_pair_names(tmp_path / "decisions.tsv").num_rows == 4


CURATED = (
    "#curie_map: {{a: 'http://a/', b: 'http://b/', orcid: 'https://orcid.org/'}}\n"
    "subject_id\tpredicate_id\tpredicate_modifier\tobject_id\tmapping_justification\tauthor_id\tmapping_date\n"
    "a:1\tskos:exactMatch\t{0}\tb:1\tsemapv:ManualMappingCuration\torcid:0000-0002-1825-0097\t2024-05-06\n"
)


def test_the_files_of_sssom_curator_are_read(tmp_path: Path) -> None:
    for kind, modifier in (("positive", ""), ("negative", "Not"), ("unsure", "")):
        text = CURATED.format(modifier).replace("a:1", f"a:{kind}")
        (tmp_path / f"{kind}.sssom.tsv").write_text(text, encoding="utf-8")
    found = {each.source: each for each in read(tmp_path)}
    assert {source: each.verdict for source, each in found.items()} == {
        "http://a/positive": YES,
        "http://a/negative": NO,
        "http://a/unsure": UNSURE,
    }
    assert (found["http://a/positive"].who, found["http://a/positive"].at) == (
        "orcid:0000-0002-1825-0097",
        "2024-05-06",
    )


def test_what_a_tool_predicted_is_no_decision(tmp_path: Path) -> None:
    text = CURATED.format("").replace("ManualMappingCuration", "LexicalMatching")
    (tmp_path / "predictions.sssom.tsv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="found no decision"):
        read(tmp_path / "predictions.sssom.tsv")
    rows = text.splitlines()[-1].replace("LexicalMatching", "ManualMappingCuration").replace("a:1", "a:2")
    (tmp_path / "mixed.sssom.tsv").write_text(text + rows + "\n", encoding="utf-8")
    assert [each.source for each in read(tmp_path / "mixed.sssom.tsv")] == ["http://a/2"]


def test_a_spreadsheet_is_read(tmp_path: Path) -> None:
    text = (
        "decision\tsource_label\tsource\ttarget\nyes\tA\ta\tx\n\tB\tb\ty\nno\tC\tc\tz\nnone\tD\td\tw\nunsure\tE\te\tv\n"
    )
    (tmp_path / "alignment.review.tsv").write_text(text, encoding="utf-8")
    assert {(each.source, each.target, each.verdict) for each in read(tmp_path / "alignment.review.tsv")} == {
        ("a", "x", YES),
        ("c", "z", NO),
        ("d", "", NONE),
        ("e", "v", UNSURE),
    }
    for odd, expected in (("source\ttarget\n", "no column decision"), (text + "maybe\tF\tf\tu\n", "line 7")):
        (tmp_path / "odd.tsv").write_text(odd, encoding="utf-8")
        with pytest.raises(InputError, match=expected):
            read(tmp_path / "odd.tsv")
    for place in ("nowhere.tsv", "decisions.pdf"):
        with pytest.raises(InputError, match="expected"):
            read(tmp_path / place)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_decisions_may_be_separated_as_tables_are(tmp_path: Path, separator: str) -> None:
    rows = ("decision", "kg1", "kg2", "confidence"), ("yes", "a", '"x, the first"', "0.5"), ("no", "b", "y")
    for encoding in ("utf-8", "utf-16"):
        text = "\n".join(separator.join(row) for row in rows)
        (tmp_path / "sheet.csv").write_text(text, encoding=encoding)
        found = read(tmp_path / "sheet.csv")
        assert told(found) == {("a", "x, the first", YES, "sheet.csv"), ("b", "y", NO, "sheet.csv")}
        assert found[0].shown == {"confidence": 0.5}


def test_decisions_may_be_saved_by_a_spreadsheet(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (
        ["my decisions"],
        ["source", "target", "decision", "who"],
        ["a", "x", "yes", "anna"],
        ["b", None, "none"],
    ):
        book.active.append(row)
    book.save(tmp_path / "sheet.xlsx")
    assert told(read(tmp_path / "sheet.xlsx")) == {("a", "x", YES, "anna"), ("b", "", NONE, "sheet.xlsx")}
    book.active["C3"] = "perhaps"
    book.save(tmp_path / "sheet.xlsx")
    with pytest.raises(InputError, match="row 3: found the decision 'perhaps'"):
        read(tmp_path / "sheet.xlsx")
    (tmp_path / "sheet.tsv").write_text('source\ttarget\tdecision\n"a,b"\tx\tyes\n', encoding="utf-8")
    assert told(read(tmp_path / "sheet.tsv")) == {("a,b", "x", YES, "sheet.tsv")}


def of(who: str, *said: tuple[str, str, str], at: str = "2026-01-01") -> list[Decision]:
    return [Decision(*each, who=who, at=at) for each in said]


def test_every_conflict_is_listed() -> None:
    anna = of(
        "anna", ("1", "x", YES), ("2", "x2", YES), ("3", "x3", YES), ("4", "x4", NO), ("5", "x5", YES), ("6", "", NONE)
    )
    ben = of(
        "ben", ("1", "x", NO), ("2", "y2", YES), ("3", "", NONE), ("4", "y4", NO), ("5", "x5", UNSURE), ("6", "x6", NO)
    )
    found = conflicts([*anna, *ben], exclusive=True)
    assert [(each.first.source, each.first.verdict, each.second.verdict) for each in found] == [
        ("1", YES, NO),
        ("2", YES, YES),
        ("3", YES, NONE),
    ]
    assert str(found[0]) == "1 (anna: yes x; ben: no x)"
    taken = [*of("anna", ("7", "x7", YES)), *of("anna", ("8", "x7", YES))]
    (one,) = conflicts(taken, exclusive=True)
    assert str(one) == "x7 was confirmed for two sources (anna: 7; anna: 8)"
    assert not conflicts(taken, exclusive=False)


def test_what_is_in_conflict_is_left_to_decide(tmp_path: Path) -> None:
    held = Decisions.open(tmp_path / DATABASE)
    held.add([Decision("1", "x", YES)], "k", "anna")
    theirs = of("ben", ("1", "x", NO), ("2", "y", YES), ("3", "z", YES)) + of("eve", ("2", "w", YES))
    added, found = merge(held, theirs, exclusive=True)
    assert (added, len(found)) == (1, 2)
    assert {source: each.verdict for source, each in held.standing().items()} == {"1": YES, "3": YES}
    assert merge(held, of("ben", ("3", "z", YES)), exclusive=True) == (0, [])  # known already
    later = of("ben", ("3", "", NONE), at="2026-02-01")
    assert merge(held, later, exclusive=True) == (1, [])  # he has changed his mind
    assert held.standing()["3"].verdict == NONE


def test_a_table_that_was_corrected_is_taken_in_again(tmp_path: Path) -> None:
    held = Decisions.open(tmp_path / DATABASE)
    for row, expected in (("yes\n", (1, [])), ("no\n", (1, [])), ("no\n", (0, []))):
        (tmp_path / "sheet.tsv").write_text("source\ttarget\tdecision\na\tb\t" + row, encoding="utf-8")
        assert merge(held, read(tmp_path / "sheet.tsv"), exclusive=True) == expected
    assert told(held.holding()) == {("a", "b", NO, "sheet.tsv")}


def test_a_table_that_was_corrected_back_is_taken_in_again(tmp_path: Path) -> None:
    decisions, table = Decisions.open(tmp_path / DATABASE), tmp_path / "decided.tsv"
    for verdict in (YES, NO, YES):
        table.write_text(f"source\ttarget\tdecision\na\tx\t{verdict}\n", encoding="utf-8")
        assert merge(decisions, read(table), exclusive=True) == (1, [])
        assert merge(decisions, read(table), exclusive=True) == (0, [])
        assert [each.verdict for each in decisions.holding()] == [verdict]


def test_a_table_without_dates_does_not_replace_what_was_decided_on_the_page(tmp_path: Path) -> None:
    decisions = Decisions.open(tmp_path / DATABASE)
    decisions.add([Decision("a", "z", YES)], "key", "anna")
    assert merge(decisions, [Decision("a", "x", YES, who="anna")], exclusive=True) == (0, [])
    assert [each.target for each in decisions.holding()] == ["z"]


def test_a_person_may_be_called_like_a_file(tmp_path: Path) -> None:
    decisions = Decisions.open(tmp_path / DATABASE)
    decisions.add([Decision("a", "z", YES)], "key", "anna.tsv")
    (tmp_path / "sheet.tsv").write_text("source\ttarget\tdecision\twho\na\tx\tyes\tanna.tsv\n", encoding="utf-8")
    assert merge(decisions, read(tmp_path / "sheet.tsv"), exclusive=True) == (0, [])
    assert [each.target for each in decisions.holding()] == ["z"]


def test_two_reviewers_are_merged_by_the_command(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", 5, graphs=False)
    one, two = (
        Decision(name("source", 1), name("target", 1), verdict, who=who)
        for who, verdict in (("anna", YES), ("ben", NO))
    )
    for who, made in (("anna", one), ("ben", two)):
        other = Decisions.open(tmp_path / f"{who}.sqlite")
        other.add([made, Decision(name("source", 2), name("target", 2), YES)], "k", who)
        export(other, tmp_path / f"{who}.sssom.tsv")
        other.close()
    done = command("decisions", "run", "--import", "anna.sssom.tsv", "--import", "ben.sqlite", folder=tmp_path)
    assert "2 decisions taken in" in done.stdout
    assert "1 conflict, left to decide" in done.stdout
    assert f"{name('source', 1)} (anna: yes {name('target', 1)}; ben: no {name('target', 1)})" in done.stdout
    done = command("decisions", "run", folder=tmp_path)
    assert "1 of 15 sources decided: 1 yes, 0 no, 0 none, 0 unsure" in done.stdout
    done = command("decisions", "run", "--export", "out.sssom.tsv", folder=tmp_path)
    assert "1 decision written to out.sssom.tsv" in done.stdout
    assert read_pair_names(tmp_path / "out.sssom.tsv")["source"].to_pylist()[0] == name("source", 2)
    done = command("decisions", "run", "--export", "a.tsv", "--import", "anna.sssom.tsv", folder=tmp_path, code=2)
    assert "expected one of them" in " ".join(done.stderr.split())
    assert folder.exists()


def test_to_look_at_a_run_that_nobody_reviewed_leaves_nothing_in_it(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", 5, graphs=False)
    before = sorted(path.name for path in folder.iterdir())
    assert "0 of 15 sources decided" in command("decisions", "run", folder=tmp_path).stdout
    done = command("decisions", "run", "--export", "out.tsv", folder=tmp_path)
    assert "0 decisions written to out.tsv" in done.stdout
    assert len((tmp_path / "out.tsv").read_text(encoding="utf-8").splitlines()) == 1  # the names of the columns
    assert sorted(path.name for path in folder.iterdir()) == before


def test_decisions_that_were_written_into_the_table_of_a_run_count(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", 5, graphs=False)
    rows = [f"{word}\t{name('source', i)}\t{name('target', i)}\n" for i, word in enumerate(("yes", "no", "", ""), 1)]
    (folder / "alignment.review.tsv").write_text("decision\tsource\ttarget\n" + "".join(rows), encoding="utf-8")
    before = sorted(path.name for path in folder.iterdir())
    done = command("decisions", "run", folder=tmp_path)
    assert "2 of 15 sources decided: 1 yes, 1 no, 0 none, 0 unsure" in done.stdout
    assert "alignment.review.tsv: 2" in done.stdout  # who decided
    assert "--import" not in done.stdout
    done = command("decisions", "run", "--export", "out.tsv", folder=tmp_path)
    assert "2 decisions written to out.tsv" in done.stdout
    assert sorted(path.name for path in folder.iterdir()) == before
    page = Decisions.open(folder / DATABASE)
    page.add([Decision(name("source", 4), name("target", 4), YES)], "k", "anna")
    page.close()
    done = command("decisions", "run", folder=tmp_path)  # those of the page come first, as they do for --decisions
    taking = "emea decisions run --import run/alignment.review.tsv"
    assert "1 of 15 sources decided: 1 yes" in done.stdout
    assert (
        f"run/alignment.review.tsv holds decisions on 2 sources that are not among these; take them in: {taking}"
        in done.stdout
    )
    assert "2 decisions taken in" in command(*taking.split()[1:], folder=tmp_path).stdout
    done = command("decisions", "run", folder=tmp_path)
    assert "3 of 15 sources decided: 2 yes, 1 no" in done.stdout
    assert "--import" not in done.stdout


def test_what_cannot_be_taken_in_is_not_offered(tmp_path: Path) -> None:
    page, file = Decisions.open(tmp_path / DATABASE), tmp_path / "decisions.tsv"
    page.add([Decision("1", "x", YES), Decision("2", "y", NO)], "k", "anna")
    rows = ("1\tx\tyes\tanna\t2100-01-01\n", "2\ty\tyes\tben\t2100-01-01\n", "2\ty\tyes\teve\t2100-01-01\n")
    for count, expected in enumerate(([], ["1 conflict,"], ["2 conflicts,"]), 1):
        file.write_text("source\ttarget\tdecision\twho\tat\n" + "".join(rows[:count]), encoding="utf-8")
        for _ in range(2):  # before it is taken in, and after
            told = left_out(page, tmp_path, exclusive=True)
            assert [each for each in told if "--import" in each] == []
            assert [part for each, part in zip(told, expected, strict=True) if part in each] == expected
            assert merge(page, read(file), exclusive=True)[0] == 0


def test_the_next_run_says_which_decisions_count(tmp_path: Path) -> None:
    things = [pl.DataFrame({"id": [f"{side}1", f"{side}2"], "name": ["ash", "elm"]}) for side in "ab"]
    task = emea.read(*things)
    page = Decisions.open(tmp_path / DATABASE)
    page.add([Decision("a1", "b1", YES)], "k", "anna")
    page.close()
    sheet, header = tmp_path / "alignment.review.tsv", "source\ttarget\tdecision\n"
    for rows in ("a1\tb1\t\na2\tb2\t\n", "a1\tb1\tyes\n"):  # nothing decided, or nothing else
        sheet.write_text(header + rows, encoding="utf-8")
        assert len(emea.read_decisions(tmp_path, task).seeds) == 1  # without a warning
    sheet.write_text(header + "a1\tb1\tno\na2\tb2\tyes\n", encoding="utf-8")
    with pytest.warns(
        InputWarning, match=r"sqlite counts; .*alignment.review.tsv says otherwise about 2, such as 'a1'"
    ):
        assert len(emea.read_decisions(tmp_path, task).seeds) == 1
    emea.read_decisions(tmp_path / DATABASE, task)  # a file was chosen: without a warning


def test_a_table_that_cannot_be_read_does_not_hide_what_was_decided_on_the_page(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", 5, graphs=False)
    text = f"decision\tsource\ttarget\nperhaps\t{name('source', 1)}\t{name('target', 1)}\n"
    (folder / "alignment.review.tsv").write_text(text, encoding="utf-8")
    assert "line 2: found the decision 'perhaps'" in command("decisions", "run", folder=tmp_path, code=2).stderr
    page = Decisions.open(folder / DATABASE)
    page.add([Decision(name("source", 4), name("target", 4), YES)], "k", "anna")
    page.close()
    done = command("decisions", "run", folder=tmp_path)
    assert "1 of 15 sources decided" in done.stdout
    assert "line 2: found the decision 'perhaps'" in done.stdout


def test_another_runs_table_is_taken_in_like_its_database(tmp_path: Path) -> None:
    (tmp_path / "alignment.review.tsv").write_text("source\ttarget\tdecision\na\tb\tyes\n", encoding="utf-8")
    assert told(read(tmp_path)) == {("a", "b", YES, "alignment.review.tsv")}


def test_decisions_on_concepts_are_stated_as_links_of_them_are(tmp_path: Path) -> None:
    names = ["ash", "birch", "cedar", "elder", "fir", "hazel", "larch", "maple", "oak", "pine", "rowan", "willow"]
    for side in "ab":
        skos = "http://www.w3.org/2004/02/skos/core#"
        rows = [f'<http://{side}/{each}> a <{skos}Concept> ; <{skos}prefLabel> "{each}" .\n' for each in names]
        (tmp_path / f"{side}.ttl").write_text("".join(rows), encoding="utf-8")
    command("align", "a.ttl", "b.ttl", "--out", "run", "--quiet", folder=tmp_path)
    reviewed = Reviewed.open(tmp_path / "run")
    reviewed.load()
    assert reviewed.entities is not None
    held, graphs = Decisions.open(tmp_path / DATABASE), (reviewed.entities[0].graph, reviewed.entities[1].graph)
    held.add([Decision("http://a/ash", "http://b/ash", YES), Decision("http://a/fir", "", NONE)], "k", "anna")
    export(held, tmp_path / "page.sssom.tsv", graphs)  # what the page does
    assert (tmp_path / "page.sssom.tsv").read_text(encoding="utf-8").count("skos:exactMatch") == 1
    given = "source\ttarget\tdecision\nhttp://a/ash\thttp://b/ash\tyes\nhttp://a/fir\thttp://b/oak\tno\n"
    (tmp_path / "run" / "decisions.tsv").write_text(given, encoding="utf-8")
    for expected in ("skos:exactMatch", "owl:sameAs"):
        done = command("decisions", "run", "--export", "out.sssom.tsv", folder=tmp_path)
        lines = (tmp_path / "out.sssom.tsv").read_text(encoding="utf-8").splitlines()
        rows = csv.DictReader([line for line in lines if not line.startswith("#")], delimiter="\t")
        assert [row["predicate_id"] for row in rows] == [expected] * 2
        assert told(read(tmp_path / "out.sssom.tsv")) == told(read(tmp_path / "run" / "decisions.tsv"))
        (tmp_path / "a.ttl").unlink(missing_ok=True)
    assert "all pairs are written as owl:sameAs" in done.stdout
    assert "a.ttl is no longer there" in done.stdout
