"""Why sources have no link, from beliefs that are made up."""

import re
import warnings
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import pyarrow as pa
import pytest
import torch

from emea.cli._show import shown_decisions
from emea.cli._show_outcome import shown_absence
from emea.contracts import PLAIN
from emea.data import LITERAL_SCHEMA, Alignment, Candidates, Counterparts, Embeddings, Graph, Links, Task
from emea.evidence.prepared import Anchors, Prepared
from emea.formats._wide import rows_graph
from emea.method.matching import Calibration, match
from emea.method.rounds import Absence, Outcome, Round
from emea.report.reasons import grouped
from emea.runs.promise import doubt
from emea.runs.unlinked import UNLINKED_SCHEMA, _rounded, best_rows, unlinked, unlinked_targets
from emea.settings import Settings

Belief = tuple[int, int, float, float]  # source, target, p(target | source), p(source | target)


def graph(letter: str, size: int, *labelled: int) -> Graph:
    rows = [(each, 0, f"{letter.upper()} {each}", "", "") for each in labelled]
    columns = [list(column) for column in zip(*rows, strict=True)]
    literals = pa.table(columns, schema=LITERAL_SCHEMA) if rows else None
    names = [f"{letter}{number:02}" for number in range(size)]
    return Graph.build(names, [], torch.empty(0, 3, dtype=torch.int64), attributes=["name"], literals=literals)


def outcome(
    beliefs: list[Belief],
    task: Task,
    *,
    line: tuple[float, float] = (0, 1),
    embeddings: Embeddings | None = None,
    **matching: object,
) -> Outcome:
    """What a run would leave that ends with these beliefs and this calibration."""
    source, target, forward, backward = (torch.tensor(column) for column in zip(*beliefs, strict=True))
    sizes = len(task.source.entities), len(task.target.entities)
    candidates = Candidates(source, target, forward.clone(), *sizes, torch.zeros(sizes[0]), torch.zeros(sizes[1]))
    sides = (source, forward, sizes[0]), (target, backward, sizes[1])
    nones = ((1 - torch.zeros(size).index_add_(0, ids, own)).clamp(min=0) for ids, own, size in sides)
    found = Counterparts(candidates, forward.double(), backward.double(), *nones)
    calibration = Calibration.none()
    calibration.parameters = torch.tensor(line, dtype=torch.float64)
    settings = Settings(matching=matching, evidence={"kind": "all"})
    prepared = Prepared(task, Task(task.source, task.target, Links.empty()), Anchors.none())
    alignment = match(found, calibration, settings.matching)
    return Outcome(prepared, settings, alignment, found, cast(Round, SimpleNamespace(embeddings=embeddings)))


def reasons(found: Outcome) -> dict[str, str]:
    table = unlinked(found)
    for told in grouped(table["why"]):  # what a report counts names nobody, and no probability
        assert not re.search(r"\b[abAB] ?\d|\.\d\d|0\.", told.replace("is below .01", ""))
    return dict(zip(table["source"].to_pylist(), table["why"].to_pylist(), strict=True))


TWINS = "--cardinality many-to-one links both, if they are one"
BELIEFS = [
    (0, 0, 0.97, 0.98), (1, 0, 0.6, 0.01),  # the target of a1 is taken
    (2, 1, 0.1, 0.9), (2, 2, 0.2, 0.1),  # a2 is rather without counterpart
    (4, 3, 0.4, 0.4), (4, 4, 0.4, 0.4),  # two that are as probable
    (5, 5, 0.8, 0.1), (6, 5, 0.3, 0.7), (6, 6, 0.6, 0.8),  # a5 is not the first choice of its candidate
    (7, 7, 0.6, 0.2),
    (8, 8, 0.9, 0.4), (9, 8, 0.9, 0.4),  # a candidate that two fit as well
]  # fmt: skip


def test_each_reason_is_said_in_a_phrase() -> None:
    task = Task(graph("a", 14, 0, 1), graph("b", 9, 0), Links.build(torch.tensor([12]), torch.tensor([7])))
    task = replace(task, unmatched=Links.build(torch.tensor([13, -1]), torch.tensor([-1, 3])))
    found = outcome(BELIEFS, task)
    assert found.alignment.source.tolist() == [0, 6]
    assert reasons(found) == {
        "a01": "taken by A 0 with .97",
        "a10": "no candidate",
        "a11": "no candidate",
        "a02": "no counterpart found: .70 for none, .20 for the candidate",
        "a03": "no candidate",
        "a04": "another candidate is as probable",
        "a05": "the candidate fits a06 better",
        "a07": "confidence .34 below .50",
        "a08": f"the candidate fits another source as well; {TWINS}",
        "a09": f"the candidate fits another source as well; {TWINS}",
    }
    table = unlinked(found).to_pylist()
    assert [row["source"] for row in table if row["candidate"]] == ["a08", "a09", "a05", "a01", "a07", "a04", "a02"]
    assert table[3] == {
        "source": "a01", "source_label": "A 1", "candidate": "b00", "candidate_label": "B 0",
        "probability": pytest.approx(0.6), "why": "taken by A 0 with .97",
    }  # fmt: skip
    assert table[-3] == {**dict.fromkeys(table[0]), "source": "a03", "why": "no candidate"}


def test_where_none_is_likelier_what_is_known_of_the_candidate_is_said() -> None:
    beliefs = [
        (0, 0, 0.97, 0.98), (1, 0, 0.001, 0.01),
        (2, 1, 0.001, 0.001), (2, 2, 0.002, 0.001),
        (3, 3, 0.4, 0.2), (4, 3, 0.3, 0.6),
        (5, 5, 0.2, 0.3), (5, 6, 0.2, 0.3),
        (6, 5, 0.3, 0.4),
    ]  # fmt: skip
    wrong = Links.build(torch.tensor([6, 6, 6]), torch.tensor([0, 4, 6]))
    near = Embeddings(torch.tensor([[1.0, 0.0]]).expand(7, 2), torch.eye(2)[[1, 1, 1, 1, 0, 1, 1]])
    task = Task(graph("a", 7, 0), graph("b", 7, 4), Links.empty(), exclusions=wrong)
    found = outcome(beliefs, task, embeddings=near)
    assert found.alignment.source.tolist() == [0]
    no = "no counterpart found: "
    assert reasons(found) == {
        "a01": f"{no}the nearest candidate is taken by A 0 with .97",
        "a02": f"{no}every candidate is below .01",
        "a03": f"{no}.60 for none, .40 for the candidate; the candidate fits a04 better; {TWINS}",
        "a04": f"{no}.70 for none, .30 for the candidate",
        "a05": f"{no}.60 for none, .20 for the candidate; another candidate is as probable",
        "a06": "its link to B 4 is excluded",
    }


def test_shares_are_rounded_and_none_is_certain() -> None:
    """Where confidence is compared with a bound it is cut off: .499 is below .50."""
    beliefs = [(0, 0, 0.0288, 0.0288), (1, 1, 0.375, 0.375), (2, 2, 0.011, 0.011)]
    told = reasons(outcome(beliefs, Task(graph("a", 3), graph("b", 3), Links.empty())))
    no = "no counterpart found:"
    shares = {"a00": (".97", ".03"), "a01": (".62", ".38"), "a02": (".99", ".01")}
    expected = {name: f"{no} {none} for none, {own} for the candidate" for name, (none, own) in shares.items()}
    assert told == expected
    assert _rounded(np.array([0.997, 1.0, 0.004])).to_pylist() == [".99", ".99", ".00"]


@pytest.mark.parametrize(
    ("cardinality", "hint"), [("one-to-one", f"; {TWINS}"), ("one-to-many", f"; {TWINS}".replace("-one", "-many"))]
)
def test_who_lost_to_a_twin_is_told_the_option(cardinality: str, hint: str) -> None:
    beliefs = [(0, 0, 0.6, 0.6), (1, 0, 0.35, 0.35), (2, 1, 0.9, 0.9), (3, 1, 0.05, 0.05)]  # a3 is no twin of a2
    found = outcome(beliefs, Task(graph("a", 4), graph("b", 2), Links.empty()), cardinality=cardinality)
    no = "no counterpart found: the nearest candidate is taken by"
    expected = {"a01": f"{no} a00 with .60{hint}", "a03": f"{no} a02 with .90"}
    assert reasons(found) == expected
    structural = found.settings.model_copy(update={"evidence": Settings().evidence})  # where many look alike
    assert reasons(replace(found, settings=structural)) == expected | {"a01": f"{no} a00 with .60"}


def test_a_twin_has_a_share_of_what_the_other_sources_have_and_no_less_than_none() -> None:
    beliefs = [(0, 0, 0.8, 0.8), (1, 0, 0.18, 0.18), (2, 1, 0.9, 0.4), (3, 1, 0.1, 0.1)]
    found = reasons(outcome(beliefs, Task(graph("a", 4), graph("b", 2), Links.empty()), minimum=0.3))
    assert found["a01"] == f"no counterpart found: the nearest candidate is taken by a00 with .80; {TWINS}"
    assert found["a03"].startswith("no counterpart found: the nearest candidate is taken by a02 with .")
    assert TWINS not in found["a03"], "the target may as well have no counterpart, .5"


def test_none_that_is_as_likely_as_the_candidate_is_the_reason() -> None:
    wrong = Links.build(torch.tensor([1]), torch.tensor([0]))
    task = Task(graph("a", 2), graph("b", 2), Links.empty(), exclusions=wrong)
    near = Embeddings(torch.eye(2), torch.eye(2))
    assert reasons(outcome([(0, 0, 0.5, 0.5), (1, 1, 0.5, 0.5)], task, embeddings=near, minimum=0.6)) == {
        "a00": "no counterpart found: .50 for none, .50 for the candidate",
        "a01": "its link to b00 is excluded",
    }


def test_of_candidates_that_are_as_probable_the_most_similar_one_is_shown() -> None:
    source, target = torch.tensor([0, 0, 0, 2]), torch.tensor([0, 1, 2, 0])
    cosine, sure = torch.tensor([0.9, 0.2, 0.3, 0.1]), torch.tensor([0.1, 0.4, 0.4, 0.0])
    pairs = Candidates(source, target, cosine, 3, 3, torch.zeros(3), torch.zeros(3))
    beliefs = Counterparts(pairs, sure, sure, torch.zeros(3), torch.zeros(3))
    assert best_rows(beliefs).tolist() == [2, -1, 3]
    assert best_rows(beliefs, np.array([False, False, True, True])).tolist() == [1, -1, -1]


def test_only_what_competes_is_a_reason() -> None:
    beliefs = [
        (0, 0, 0.97, 0.7), (1, 0, 0.3, 0.2),  # none is likelier, and the candidate has a link
        (2, 1, 0.9, 0.9), (3, 1, 0.4, 0.05), (3, 2, 0.3, 0.1),  # it is not, and the candidate has one
        (4, 3, 0.4, 0.3), (4, 4, 0.3, 0.1), (5, 3, 0.2, 0.6),  # the candidate fits another better
        (6, 5, 0.45, 0.3), (6, 6, 0.45, 0.3),  # two that are as probable
        (7, 7, 0.4, 0.4), (7, 8, 0.3, 0.1), (8, 7, 0.2, 0.4),  # it fits another as well
    ]  # fmt: skip
    task = Task(graph("a", 9), graph("b", 9), Links.empty())
    unsure = {"a01": "no counterpart found: .70 for none, .30 for the candidate", "a03": "confidence .14 below .50"}
    rivals = {"a04": "the candidate fits a05 better", "a06": "another candidate is as probable"}
    rivals |= {"a07": "the candidate fits another source as well"}
    taken = {
        "a01": "no counterpart found: the nearest candidate is taken by a00 with .82",
        "a03": "taken by a02 with .90",
    }
    alone = {"a04": "confidence .34 below .50", "a06": "confidence .36 below .50", "a07": "confidence .40 below .50"}
    for cardinality, expected in (
        ("many-to-one", {**unsure, **alone, "a06": rivals["a06"]}),
        ("one-to-many", {**taken, **rivals, "a06": alone["a06"]}),
        ("many-to-many", {**unsure, **alone}),
    ):
        for method in ("mutual", "one_to_one", "transport"):  # where not both compete, all of them are the same
            found = reasons(outcome(beliefs, task, cardinality=cardinality, method=method))
            shown = {name: why.partition(";")[0] for name, why in found.items()}
            assert {name: shown[name] for name in expected} == expected, (cardinality, method)


def test_confidence_is_calibrated_as_that_of_the_links() -> None:
    task = Task(graph("a", 4), graph("b", 4), Links.empty())
    beliefs = [(0, 0, 0.9, 0.9), (1, 1, 0.8, 0.8), (2, 2, 0.7, 0.7), (3, 3, 0.6, 0.6)]
    found = outcome(beliefs, task, line=(-1.0, 1.5))
    logit = torch.logit(torch.tensor([0.7, 0.6], dtype=torch.float64))
    known = torch.sigmoid(-1 + 1.5 * logit)
    assert known[0] > 0.5 > known[1]
    assert reasons(found) == {"a03": f"confidence .{int(100 * known[1])} below .50"}
    precise = outcome(beliefs, task, precision=0.85, minimum=0.305)
    assert reasons(precise) == {
        "a02": "confidence .70 too low for a precision of .85",
        "a03": "confidence .60 too low for a precision of .85",
    }
    assert reasons(outcome(beliefs, task, minimum=0.605)) == {"a03": "confidence .60 below .605"}


def test_other_ways_to_match_and_baselines_say_less() -> None:
    task = Task(graph("a", 10), graph("b", 9), Links.empty())
    assert reasons(outcome(BELIEFS, task, method="one_to_one"))["a04"] == "confidence .40 below .50"
    found = outcome(BELIEFS, task)
    settings = found.settings.model_copy(update={"method": "paris"})
    baseline = reasons(replace(found, last=None, settings=settings))
    assert baseline["a04"] == "probability .40 below .50"
    assert baseline["a05"] == "left out by paris"


def test_nothing_at_all() -> None:
    task = Task(graph("a", 2), graph("b", 2), Links.empty())
    found = outcome([(0, 0, 0.9, 0.9)], task)
    nothing = torch.empty(0, dtype=torch.int64)
    empty = replace(
        found,
        counterparts=found.counterparts[nothing],
        alignment=Alignment(nothing, nothing, nothing.double(), nothing.float()),
    )
    assert reasons(empty) == {"a00": "no candidate", "a01": "no candidate"}


def test_only_entities_that_were_chosen_are_listed() -> None:
    source = replace(graph("a", 4), selected=torch.tensor([True, False, True, False]))
    found = outcome([(0, 0, 0.1, 0.1)], Task(source, graph("b", 1), Links.empty()))
    assert set(reasons(found)) == {"a00", "a02"}


def test_blank_nodes_are_not_listed_unless_they_may_be_linked() -> None:
    source = Graph.build(["_:x", "a", "http://www.w3.org/x"], [], torch.empty(0, 3, dtype=torch.int64))
    found = outcome([(1, 0, 0.1, 0.1)], Task(source, graph("b", 1), Links.empty()))
    assert set(reasons(found)) == {"a"}
    anonymous = found.settings.evidence.model_copy(update={"anonymous": True})
    settings = found.settings.model_copy(update={"evidence": anonymous})
    assert set(reasons(replace(found, settings=settings))) == {"_:x", "a", "http://www.w3.org/x"}


def test_tables_that_are_types_of_rows_are_not_listed() -> None:
    column = pa.table({"id": ["1", "2"], "name": ["x", "y"]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        source = rows_graph({"a": column, "b": column}, "folder", PLAIN)
    assert {"a", "b"} < set(source.entities.to_pylist())
    assert set(reasons(outcome([(1, 0, 0.1, 0.1)], Task(source, graph("b", 1), Links.empty())))) == {
        f"{table}/{row}" for table in "ab" for row in (1, 2)
    }


def links(source: list[int], target: list[int]) -> Links:
    return Links.build(torch.tensor(source, dtype=torch.int64), torch.tensor(target, dtype=torch.int64))


def test_what_was_not_found_is_not_said_to_be_absent() -> None:
    task, absence = Task(graph("a", 4), graph("b", 4), Links.empty()), Absence(0.8, 0.012, by_chance=0.1, sources=4)
    left = "3 of 4 sources stay unlinked, some of which may have a counterpart"
    chance = "; of sources that have none, 1.2% are expected to be linked by mistake"
    for cardinality, told in (("one-to-one", left + chance), ("many-to-one", left + chance), ("many-to-many", left)):
        found = outcome([(0, 0, 0.9, 0.9), (1, 1, 0.1, 0.1)], task, cardinality=cardinality)
        assert shown_absence(found, absence) == told
        assert len(reasons(found)) == 3, "as many as are listed"
    nothing = outcome([(1, 1, 0.1, 0.1)], task)
    assert shown_absence(nothing, absence) == "4 of 4 sources stay unlinked, some of which may have a counterpart"
    known = replace(task, seeds=links([0], [0]), unmatched=links([2, -1], [-1, 3]))
    told = "2 of 4 sources stay unlinked besides 1 known to have no counterpart"
    assert shown_absence(outcome([(1, 1, 0.1, 0.1)], known), absence) == told


@pytest.mark.parametrize("decisions", [0, 20])
def test_many_to_many_is_doubted_unless_there_are_decisions(decisions: int) -> None:
    checked = links(list(range(decisions)), list(range(decisions)))
    task = replace(Task(graph("a", 30), graph("b", 30), Links.empty()), checked=checked)
    for cardinality in ("one-to-one", "many-to-many"):
        found = replace(
            outcome([(0, 0, 0.9, 0.9)], task, cardinality=cardinality),
            absence=Absence(0.5, 0.0, by_chance=0.0, sources=30),
        )
        doubted = doubt(found)
        assert (doubted is not None) == (cardinality == "many-to-many" and not decisions)
        assert doubted is None or "confidence has little to stand on" in doubted


@pytest.mark.parametrize(
    ("right", "wrong", "alone", "told"),
    [
        (0, 0, 0, None),
        (
            3,
            1,
            1,
            "1 pair given as wrong and 1 entity without counterpart; confidence is corrected from 20 decisions on, ",
        ),
        (
            10,
            6,
            4,
            "6 pairs given as wrong and 4 entities without counterpart; confidence is corrected by 20 decisions",
        ),
    ],
)
def test_what_decisions_say_is_counted(right: int, wrong: int, alone: int, told: str | None) -> None:
    numbers = list(range(30))
    task = Task(
        graph("a", 30),
        graph("b", 30),
        links(numbers[:right], numbers[:right]),
        exclusions=links(numbers[:wrong], numbers[:wrong]),
        unmatched=links(numbers[:alone], [-1] * alone),
        checked=links(numbers[: right + wrong], numbers[: right + wrong]),
    )
    said = shown_decisions(task, judged=True)
    assert said == told if told is None else said is not None and said.startswith(f"besides the seeds, {told}")
    assert (said or "").endswith("found 5 decisions") == (right == 3)
    assert "confidence" not in (shown_decisions(task, judged=False) or "")


def test_who_is_known_to_have_no_counterpart_is_not_listed() -> None:
    task = replace(Task(graph("a", 3, 1), graph("b", 2), Links.empty()), unmatched=links([0, -1], [-1, 0]))
    found = outcome([(1, 1, 0.1, 0.1)], task)
    assert set(reasons(found)) == {"a01", "a02"}
    named = {"target": "b01", "target_label": None, "candidate": "a01", "candidate_label": "A 1"}
    assert unlinked_targets(found).to_pylist() == [named | {"probability": pytest.approx(0.1)}]
    assert unlinked(found).schema == UNLINKED_SCHEMA


def test_what_is_certain_is_not_too_low_for_a_precision() -> None:
    task = Task(graph("a", 2), graph("b", 2), Links.empty())
    found = outcome([(0, 0, 1.0, 1.0), (1, 1, 0.9, 0.9)], task, precision=0.99)
    nothing = torch.empty(0, dtype=torch.int64)
    lost = Alignment(nothing, nothing, nothing.double(), nothing.float())
    settings = found.settings.model_copy(update={"method": "paris"})
    assert reasons(replace(found, alignment=lost, last=None, settings=settings)) == {
        "a00": "left out by paris",
        "a01": "probability .90 too low for a precision of .99",
    }
