"""Explanations add up, agree with slow formulas and with computing anew, and are told to those who ask."""

import json
import math
import shutil
from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from safetensors.torch import load_file
from typer.testing import CliRunner

import emea
from emea.analysis.bars import CALIBRATION, LoopBars, _proposed
from emea.analysis.explanation import Candidate, Explanation
from emea.analysis.judged_bars import JudgedBars
from emea.analysis.shapley import coalitions, shapley
from emea.candidates.parts import here
from emea.cli import app
from emea.cli._explaining import plain
from emea.contracts import Ground
from emea.data import Candidates, Counterparts, Graph
from emea.errors import InputError
from emea.formats._labels import last_parts
from emea.method.grounds import Grounds, Steps
from emea.rules.disagreement import Disagreement, DisagreementSettings
from emea.rules.paris import PARIS, PARISSettings
from emea.runs.explaining import Explainer
from emea.runs.kept import Kept, keep
from emea.runs.mapped import Mapped, write_tensors
from emea.runs.pieces_of_judge import JudgedPieces
from emea.runs.pieces_of_loop import strongest
from emea.runs.recomputed import Recomputed, Triple
from emea.runs.tables import read_whole
from emea.settings import load
from small_world import read_small_world, write_small_world
from test_run import QUICK, SMALL, command, table

CPU = torch.device("cpu")


def logit(probability: float) -> float:
    return math.log(probability) - math.log1p(-probability)


@pytest.fixture(scope="module")
def structural() -> emea.Result:
    task, _ = read_small_world(150)
    return emea.align(task, load(assignments=["evidence.kind=structure", *SMALL]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run by names and values, without seeds."""
    place = tmp_path_factory.mktemp("explained")
    command("align", *write_small_world(place), "--out", "run", *QUICK, folder=place)
    return place / "run"


@pytest.fixture(scope="module")
def explainer(folder: Path) -> Explainer:
    return Explainer.open(folder)


# --- sums ---


def test_shapley_values_are_averages_over_all_orders() -> None:
    draw, players = np.random.default_rng(1), 4
    worth = draw.normal(size=2**players)
    expected = np.zeros(players)
    orders = list(permutations(range(players)))
    for order in orders:
        joined = 0
        for player in order:
            expected[player] += worth[joined + 2**player] - worth[joined]
            joined += 2**player
    assert shapley(worth) == pytest.approx(expected / len(orders), abs=1e-12)
    assert coalitions(players)[-1].all()


def test_the_bars_of_every_link_add_up_to_its_log_odds(structural: emea.Result) -> None:
    found, grounds = structural.alignment, structural.outcome.grounds
    assert grounds is not None
    bars = LoopBars(grounds)
    assert len(found) > 100
    for source, target, confidence in zip(*map(list, _columns(found)), strict=True):
        told = bars.of(source, target)
        assert told.base + sum(told.groups.values()) == pytest.approx(logit(confidence), abs=1e-6)
        assert list(told.groups) == ["encoder", "paris", "none", "rivals", "calibration"]


def test_a_rule_that_says_nothing_counts_for_nothing(structural: emea.Result) -> None:
    found, grounds = structural.alignment, structural.outcome.grounds
    assert grounds is not None
    silent = tuple(torch.zeros_like(side) for side in grounds.rules["paris"])
    both = LoopBars(grounds), LoopBars(replace(grounds, rules={**grounds.rules, "zero": silent}))  # type: ignore[dict-item]
    for pair in list(zip(*map(list, _columns(found)[:2]), strict=True))[::5]:
        usual, more = (bars.of(*pair) for bars in both)
        assert more.groups.pop("zero") == pytest.approx(0.0, abs=1e-12)
        assert more.groups == pytest.approx(usual.groups, abs=1e-9)
        assert more.log_odds == usual.log_odds


def test_relations_lead_where_an_explanation_says(structural: emea.Result) -> None:
    task, links, seen = structural.outcome.prepared.given, structural.alignment, set()
    triples = []
    for graph in (task.source, task.target):
        names, relations = graph.entities.to_pylist(), last_parts(graph.relations).to_pylist()
        triples.append({(names[head], relations[each], names[tail]) for head, each, tail in graph.triples.tolist()})
    explainer = Explainer.of(structural.outcome)
    for source, target in zip(links.source.tolist()[::5], links.target.tolist()[::5], strict=True):
        told = explainer.explain(task.source.entities[source].as_py(), task.target.entities[target].as_py())
        for part in (part for group in told.groups for part in group.parts):
            assert part.source_neighbour is not None and part.target_neighbour is not None  # noqa: PT018
            for known, entity, relation, near, back in (
                (triples[0], told.source, part.source_relation, part.source_neighbour.name, part.inverse),
                (triples[1], told.target, part.target_relation, part.target_neighbour.name, part.target_inverse),
            ):
                assert ((near, relation, entity) if back else (entity, relation, near)) in known
            seen.add((part.inverse, part.target_inverse))
    assert seen >= {(False, False), (True, True)}


def test_what_lies_in_a_file_is_read_again_after_it_was_given_back(tmp_path: Path) -> None:
    kinds = (torch.float64, torch.float32, torch.int64, torch.int32, torch.uint8, torch.bool)
    given = {str(kind): torch.arange(5000).remainder(7).to(kind).reshape(-1, 2) for kind in kinds}
    given["nothing"] = torch.zeros(0, 3)
    given["turned"] = torch.arange(6).reshape(2, 3).T
    with (tmp_path / "file").open("wb") as file:
        write_tensors(file, given, {"about": "it"})
    assert all(torch.equal(each, given[name]) for name, each in load_file(tmp_path / "file").items())
    found = Mapped(tmp_path / "file")
    for _ in range(2):
        assert found.tensors.keys() == given.keys()
        assert all(torch.equal(found.tensors[name], each) for name, each in given.items())
        found.release()
    assert found.about == {"about": "it"}


def test_a_pair_that_was_considered_was_proposed_unless_it_is_a_seed() -> None:
    draw = torch.Generator().manual_seed(0)
    wide, near = (torch.unique(torch.randint(900, (count,), generator=draw)) for count in (400, 300))
    pairs = [
        Candidates(keys // 30, keys % 30, torch.zeros(len(keys)), 30, 30, torch.zeros(30), torch.zeros(30))
        for keys in (wide, near)
    ]
    assert _proposed(*pairs).tolist() == torch.isin(near, wide).tolist()
    assert 0 < _proposed(*pairs).sum() < len(near)


@pytest.mark.parametrize("cardinality", ["many-to-one", "one-to-many", "many-to-many"])
def test_bars_add_up_where_entities_have_several_counterparts(cardinality: str) -> None:
    task, _ = read_small_world(150)
    changes = ["evidence.kind=structure", f"matching.cardinality={cardinality}", *SMALL]
    result = emea.align(task, load(assignments=changes))
    assert result.outcome.grounds is not None
    bars = LoopBars(result.outcome.grounds)
    rows = list(zip(*map(list, _columns(result.alignment)), strict=True))
    assert rows
    for source, target, confidence in rows[::10]:
        assert bars.of(source, target).log_odds == pytest.approx(logit(confidence), abs=1e-6)


@pytest.mark.slow
def test_the_bars_of_every_judged_link_add_up_also_from_the_folder(folder: Path) -> None:
    kept = Kept.read(folder)
    assert kept.grounds.judged is not None
    bars = JudgedBars(kept.grounds, kept.grounds.judged)
    assert len(kept.confidence) > 300
    for (source, target), confidence in kept.confidence.items():
        row = bars.row(source, target)
        told = bars.of(row)
        assert told.base + sum(told.groups.values()) == pytest.approx(logit(confidence), abs=1e-6)
        assert bars.values(row) == pytest.approx(float(kept.grounds.judged.said["values"][row]), abs=1e-9)


def test_a_pair_to_which_its_rivals_leave_nothing_has_bars(folder: Path) -> None:
    kept = Kept.read(folder)
    assert kept.grounds.judged is not None
    nothing = replace(kept.grounds.judged, share=np.zeros_like(kept.grounds.judged.share))
    told = JudgedBars(kept.grounds, nothing).of(0)
    assert all(map(math.isfinite, told.groups.values()))
    assert told.log_odds < -20


def test_what_is_kept_is_small_and_comes_back(structural: emea.Result, tmp_path: Path, folder: Path) -> None:
    keep(structural.outcome, tmp_path)
    kept, grounds = Kept.read(tmp_path), structural.outcome.grounds
    assert grounds is not None
    pair = next(iter(kept.confidence))
    assert LoopBars(kept.grounds).of(*pair) == LoopBars(grounds).of(*pair)
    assert kept.belongs_to(structural.task)
    sizes = [(folder / name).stat().st_size for name in ("grounds.safetensors", "candidates.tsv")]
    assert sizes[0] <= 2 * sizes[1]


# --- pieces of rules ---


def _columns(found: emea.data.Alignment) -> tuple[list[int], list[int], list[float]]:
    return found.source.tolist(), found.target.tolist(), found.confidence.double().tolist()


def _asked(grounds: Grounds) -> Iterator[tuple[int, int, int]]:
    """Some of the pairs that the rules were asked about: row, source, target."""
    pairs = grounds.asked.candidates
    for row in range(0, len(pairs), max(1, len(pairs) // 200)):
        yield row, int(pairs.source[row]), int(pairs.target[row])


def test_pieces_of_paris_add_up_to_its_factor(structural: emea.Result) -> None:
    grounds, graphs = structural.outcome.grounds, structural.outcome.prepared.graphs
    assert grounds is not None
    rule = PARIS(graphs, PARISSettings(), CPU)
    factors, taken_apart = rule.factors(grounds.asked, structural.last.embeddings), rule.grounds(grounds.asked)  # type: ignore[union-attr]
    assert taken_apart is not None
    some = 0
    for row, source, target in _asked(grounds):
        found = taken_apart(source, target)
        assert sum(piece.said for piece in found.pieces) == pytest.approx(float(factors[row]), abs=1e-9)
        assert found.factor(()) == pytest.approx(float(factors[row]), abs=1e-9)
        assert found.factor(range(len(found.pieces))) == pytest.approx(0.0, abs=1e-12)
        some += len(found.pieces) > 1
    assert some > 10


def test_a_piece_has_the_same_share_however_pieces_are_grouped(structural: emea.Result) -> None:
    """Aumann and Shapley: along the way on which all pieces grow together, by numbers."""
    grounds = structural.outcome.grounds
    assert grounds is not None
    taken_apart = PARIS(structural.outcome.prepared.graphs, PARISSettings(), CPU).grounds(grounds.asked)
    assert taken_apart is not None
    found = max(
        (taken_apart(source, target) for _, source, target in _asked(grounds)), key=lambda each: len(each.pieces)
    )
    terms = [math.log1p(-found.factor(set(range(len(found.pieces))) - {number})) for number in range(len(found.pieces))]
    total, steps = sum(terms), 20_000
    for piece, term in zip(found.pieces, terms, strict=True):
        along = sum(-term * math.exp((step + 0.5) / steps * total) for step in range(steps)) / steps
        assert piece.said == pytest.approx(along, abs=1e-6)


def test_pieces_of_disagreement_add_up_to_its_factor(folder: Path, explainer: Explainer) -> None:
    grounds, prepared = explainer.kept.grounds, explainer.finder.prepared
    assert prepared is not None
    rule = Disagreement(prepared.graphs, DisagreementSettings(), CPU)
    taken_apart = rule.grounds(grounds.asked)
    factors = rule.factors(grounds.asked, None)  # type: ignore[arg-type] - beliefs are enough
    assert taken_apart is not None
    assert float(factors.min()) < 0
    for row, source, target in _asked(grounds):
        found = taken_apart(source, target)
        assert sum(piece.said for piece in found.pieces) == pytest.approx(float(factors[row]), abs=1e-9)


def without_triples(graph: Graph, removed: set[tuple[int, int, int]]) -> Graph:
    kept = [row for row, triple in enumerate(graph.triples.tolist()) if tuple(triple) not in removed]
    return replace(graph, triples=graph.triples[torch.tensor(kept)])


def test_what_if_agrees_with_the_rule_on_the_graph_without_these_triples(structural: emea.Result) -> None:
    grounds, prepared = structural.outcome.grounds, structural.outcome.prepared
    assert grounds is not None
    explained = Explainer.of(structural.outcome).loop
    checked = 0
    for source, target, _ in list(zip(*map(list, _columns(structural.alignment)), strict=True))[::25]:
        ordered = strongest(explained.grounded(source, target))
        if not ordered:
            continue
        near = ordered[0][1][0].source
        gone = {tuple(each) for each in prepared.graphs.source.triples.tolist() if {each[0], each[2]} == {source, near}}
        taken = [place for place, (_, pieces) in enumerate(ordered) if pieces[0].source == near]
        fewer = replace(prepared.graphs, source=without_triples(prepared.graphs.source, gone))
        rule = PARIS(fewer, PARISSettings(), CPU)
        row = int(((grounds.asked.candidates.source == source) & (grounds.asked.candidates.target == target)).nonzero())
        factor = float(rule.factors(grounds.asked, None)[row])  # type: ignore[arg-type] - beliefs are enough
        weight = structural.last.weights["paris"]  # type: ignore[union-attr]
        anew = explained.sums.log_odds(source, target, {"paris": (weight * factor, weight * factor)})
        told = explained.evidence(source, target).without(taken)
        assert 1 / (1 + math.exp(-told)) == pytest.approx(1 / (1 + math.exp(-anew)), abs=0.01)
        checked += 1
    assert checked > 5


# --- what is told ---


def check(found: Explanation) -> None:
    """Everything in an explanation adds up."""
    assert found.base is not None
    assert found.base + sum(group.log_odds for group in found.groups) == pytest.approx(
        logit(found.confidence), abs=1e-6
    )
    for group in found.groups:
        if group.parts:
            assert sum(part.log_odds for part in group.parts) == pytest.approx(group.log_odds, abs=1e-6)


def test_a_link_is_explained_by_values_and_neighbours(explainer: Explainer) -> None:
    found = explainer.explain("Schweiz")
    assert (found.source_label, found.target_label, found.status) == ("Switzerland", "Switzerland", "link")
    check(found)
    groups = {group.name: group for group in found.groups}
    assert list(groups) == ["values", "neighbours", "structure", "types", "none", "rivals", "calibration"]
    told = {
        (part.source_attribute, part.source_value, part.target_attribute, part.target_value)
        for part in groups["values"].parts
    }
    assert ("label", "Switzerland", "label", "Switzerland") in told
    assert ("inhabitants", "8860570", "population", "8516543") in told
    assert {part.source_neighbour.label for part in groups["neighbours"].parts if part.source_neighbour} & {
        "Swiss Franc"
    }
    least = found.smallest_set
    assert least is not None
    assert least.confidence < least.threshold
    assert found.runner_up is not None
    assert found.runner_up.confidence < found.confidence


@pytest.mark.parametrize(
    ("together", "text", "part"),
    [
        (-12.0, "", "but different entities often agree as much"),
        (0.5, ", which count for less together: different entities often agree as much", None),
        (18.0, "", "different entities rarely agree as much"),
    ],
)
def test_why_equal_values_may_count_little_is_said(
    explainer: Explainer, together: float, text: str, part: str | None
) -> None:
    found = explainer.explain("Schweiz")
    source, target = (explainer.finder.number(side, name) for side, name in enumerate((found.source, found.target)))
    judged = explainer.kept.grounds.judged
    assert judged is not None
    assert source is not None
    assert target is not None
    said = judged.by_field[JudgedBars(explainer.kept.grounds, judged).row(source, target)]
    assert 1 < said.sum() < 18
    share = 1 / (1 + math.exp(-together))
    steps = Steps(np.array([0.0, 1.0]), np.array([share, share]), 0.0)
    changed = replace(judged, steps=steps)
    pieces = JudgedPieces(explainer.kept.grounds, changed, None, explainer.settings, explainer.finder)
    told, _, parts = pieces.told("values", together, source, target)
    assert said[-1] != 0, "how rare the equal values are, which is no comparison"
    spoken = int((said[:-1] != 0).sum())
    assert told == f"{spoken} comparison{'s' * (spoken > 1)}{text}"
    assert sum(each.log_odds for each in parts) == pytest.approx(together)
    assert {each.text for each in parts if "different" in each.text} == ({part} if part else set())


def test_what_limits_a_pair_without_common_values_is_what_the_loop_believed(explainer: Explainer) -> None:
    pieces = explainer.judged
    assert pieces is not None
    judged = pieces.judged
    limited = np.flatnonzero(judged.most < judged.ceiling)
    compared = (judged.by_field[limited] != 0).any(1)
    assert not compared.all()
    for row, values in list(zip(limited.tolist(), compared.tolist(), strict=True))[:200]:
        text, _, _ = pieces.told(CALIBRATION, 0.0, *judged.pairs[row].tolist())
        assert text.startswith("chance makes links as good" if values else "values say so little"), row


@pytest.mark.slow
def test_neighbours_are_named_where_links_are_judged_from_the_target(tmp_path: Path) -> None:
    graphs = write_small_world(tmp_path)
    command("align", *graphs, "--out", "run", "--cardinality", "one-to-many", *QUICK, folder=tmp_path)
    explainer = Explainer.open(tmp_path / "run")
    assert explainer.kept.grounds.judged is not None
    assert explainer.kept.grounds.judged.mirrored
    found = explainer.explain("Schweiz")
    check(found)
    near = {group.name: group for group in found.groups}["neighbours"]
    assert {"Swiss Franc", "French"} <= {part.source_neighbour.label for part in near.parts if part.source_neighbour}


def test_both_sides_may_be_asked_about(explainer: Explainer) -> None:
    name = explainer.explain("Schweiz").target
    assert name is not None
    assert explainer.explain(name).target == name


def test_candidates_are_ranked_by_what_their_bars_add_up_to(explainer: Explainer, structural: emea.Result) -> None:
    for each in (explainer, Explainer.of(structural.outcome)):
        ranked = [(source, each._ranked(source)) for source, _ in list(each.kept.confidence)[:30:3]]
        assert any(len(found) > 1 for _, found in ranked)
        for source, found in ranked:
            assert found == sorted(found, reverse=True)
            for log_odds, target in found[:5]:
                pieces = each._pieces(source, target)
                assert pieces is not None
                assert log_odds == pytest.approx(pieces.bars(source, target).log_odds, abs=1e-9)


def test_an_improbable_pair_is_explained_too(explainer: Explainer) -> None:
    found = explainer.explain("Deutschland", "Switzerland")
    assert found.status in {"candidate", "not a candidate"}
    assert found.confidence < 0.01
    if found.groups:
        check(found)


@pytest.mark.slow
def test_every_language_can_be_chosen(folder: Path) -> None:
    assert Explainer.open(folder, ["de"]).explain("Switzerland").source_label == "Schweiz"
    assert emea.load(folder).explain("Switzerland", language=" DE,en").source_label == "Schweiz"
    said = CliRunner().invoke(app, ["explain", str(folder), "Switzerland", "--language", "DE"])
    assert said.stdout.startswith("Schweiz ↔ ")


def test_unknown_and_ambiguous_names_are_refused(explainer: Explainer, monkeypatch: pytest.MonkeyPatch) -> None:
    for asked, told in (
        (("Atlantis",), "neither graph has 'Atlantis'"),
        (("Atlantis", "Switzerland"), "the source graph has no 'Atlantis'"),
        (("Schweiz", "Atlantis"), "the target graph has no 'Atlantis'"),
    ):
        with pytest.raises(InputError, match=told):
            explainer.explain(*asked)
    with monkeypatch.context() as changed:
        changed.setattr(explainer.finder, "_called_so", lambda _, side: [1, 2] * side)
        with pytest.raises(InputError, match="2 targets are called 'Atlantis'"):
            explainer.explain("Atlantis")
    names = explainer.kept.names[0].to_pylist()
    with pytest.raises(InputError, match=f"did you mean '{names[7]}'"):
        explainer.explain(f"{names[7]}x")
    with pytest.raises(InputError, match="neither graph has 'switzer'; did you mean 'Switzerland'\\?"):
        explainer.explain("switzer")
    with pytest.raises(InputError, match="neither graph has 'Swizerland'; did you mean 'Switzerland'"):
        explainer.explain("Swizerland")
    with pytest.raises(InputError, match="the target graph has no 'UNITED'; did you mean 'United") as refused:
        explainer.explain("Schweiz", "UNITED")
    assert 2 < str(refused.value).count("'") / 2 <= 6
    swapped = r"the target graph has no 'Schweiz'; it is in the source graph: are the two swapped\?"
    with pytest.raises(InputError, match=swapped):
        explainer.explain("Switzerland", "Schweiz")


def test_what_only_shares_its_namespace_is_not_meant(explainer: Explainer, monkeypatch: pytest.MonkeyPatch) -> None:
    names = pa.array([f"http://x.org/food/c_{number}" for number in range(9)], pa.large_string())
    monkeypatch.setattr(explainer.finder, "names", (names, names))
    monkeypatch.setattr(explainer.finder, "prepared", None)
    with pytest.raises(InputError, match=r"neither graph has 'Foo'$"):
        explainer.finder.pair("Foo", None)
    with pytest.raises(InputError, match=r"neither graph has 'c-7'; did you mean 'http://x\.org/food/c_7'"):
        explainer.finder.pair("c-7", None)
    with pytest.raises(InputError, match=r"did you mean 'http://x\.org/food/c_0'"):
        explainer.finder.pair("food/c_", None)
    with pytest.raises(InputError, match=r"did you mean 'http://x\.org/food/c_0'"):
        explainer.finder.pair("C_", None)


@pytest.mark.parametrize(
    ("ours", "theirs", "found"),
    [
        ([5], [], (5, None)),
        ([5], [7], (5, None)),
        ([5], [7, 8], (5, None)),
        ([], [7], (None, 7)),
        ([5, 6], [7], (None, 7)),
        ([5, 6], [], "2 sources are called"),
        ([5, 6], [7, 8], "2 sources are called"),
    ],
)
def test_a_name_stands_for_the_only_entity_of_that_name_first_of_the_sources(
    explainer: Explainer,
    monkeypatch: pytest.MonkeyPatch,
    ours: list[int],
    theirs: list[int],
    found: str | tuple[int | None, int | None],
) -> None:
    monkeypatch.setattr(explainer.finder, "_called_so", lambda _, side: (ours, theirs)[side])
    if isinstance(found, str):
        with pytest.raises(InputError, match=found):
            explainer.finder.pair("Atlantis", None)
    else:
        assert explainer.finder.pair("Atlantis", None) == found


def test_seeds_wrong_pairs_and_entities_without_counterpart(structural: emea.Result) -> None:
    explained, task = Explainer.of(structural.outcome), structural.task
    source, target = (side[0].as_py() for side in task.names(task.seeds))
    found = explained.explain(source)
    assert (found.target, found.status, found.confidence) == (target, "seed", 1.0)
    wrong = explained.explain(source, task.target.entities[0].as_py())
    assert wrong.status == "not a candidate"
    assert wrong.notes


class Elsewhere(torch.Tensor):
    """A column on a made-up device: all that can be done with it is to bring it here."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is not torch.Tensor.cpu:
            raise RuntimeError("found tensors on two devices")
        return super().__torch_function__(func, types, args, kwargs).as_subclass(torch.Tensor)


def test_a_run_on_another_device_is_explained_here(structural: emea.Result) -> None:
    def away(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.detach().as_subclass(Elsewhere)
        if isinstance(value, Candidates | Counterparts):
            return replace(value, **{each.name: away(getattr(value, each.name)) for each in fields(value)})
        return value

    grounds = structural.outcome.grounds
    assert grounds is not None
    moved = replace(
        grounds,
        **{name: away(here(getattr(grounds, name))) for name in ("proposed", "considered", "asked")},
        rules={name: (away(one), away(other)) for name, (one, other) in grounds.rules.items()},
    )
    source, target = (side[0].as_py() for side in structural.task.names(structural.alignment))
    told = Explainer.of(replace(structural.outcome, grounds=moved)).explain(source, target, fewest=True)
    assert told == Explainer.of(structural.outcome).explain(source, target, fewest=True)


def test_without_a_link_the_closest_candidate_is_told(structural: emea.Result) -> None:
    explained, linked = (
        Explainer.of(structural.outcome),
        {source for source, _ in Kept.of(structural.outcome).confidence},
    )
    near = structural.outcome.grounds.considered.candidates.source.tolist()  # type: ignore[union-attr]
    alone = next(each for each in near if each not in linked and each not in structural.task.seeds.source.tolist())
    found = explained.explain(structural.task.source.entities[alone].as_py())
    assert found.status == "candidate"
    assert found.target is not None
    check(found)


@pytest.mark.slow
def test_the_candidate_that_is_told_is_the_one_that_is_listed(
    folder: Path, explainer: Explainer, structural: emea.Result
) -> None:
    for name, column in (("unlinked", "source"), ("unlinked.targets", "target")):
        names = {column: pa.large_string(), "candidate": pa.large_string()}
        rows = read_whole(folder / f"{name}.tsv", names).to_pylist()
        assert rows
        for row in rows[::7]:
            found = explainer.explain(row[column])
            assert {found.source, found.target} >= {row[column]} | ({row["candidate"]} - {""})
    told = Explainer.of(structural.outcome)
    for row in structural.unlinked().to_pylist()[:20]:
        assert told.explain(row["source"]).target == row["candidate"]


def test_an_entity_without_candidate_is_told_to_have_none(
    structural: emea.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    explained, task = Explainer.of(structural.outcome), structural.task
    monkeypatch.setattr(explained, "_ranked", lambda *_, **__: [])
    monkeypatch.setattr(explained, "closest", lambda *_: None)
    for graph, taken in zip((task.source, task.target), explained._counterparts, strict=True):
        alone = next(name for number, name in enumerate(graph.entities.to_pylist()) if number not in taken)
        found = explained.explain(alone)
        assert (found.source, found.target, found.status) == (alone, None, "not a candidate")
        assert found.notes[-1].endswith("has no candidate")


def test_values_that_differ_are_told_by_their_attributes(explainer: Explainer) -> None:
    assert explainer.loop.prepared is not None
    names = [side.attributes.to_pylist() for side in explainer.loop.prepared.values]
    for numbers in ((0, 0), (1, 0), (0, 1)):
        ground = Ground(-1.0, source_attribute=numbers[0], target_attribute=numbers[1], relations=0.8)
        part = explainer.loop._part([ground])
        ends = [str(own[number]).rpartition("/")[2] for own, number in zip(names, numbers, strict=True)]
        assert [part.source_attribute, part.target_attribute] == ends
        assert part.text.endswith(" differ; such values usually agree (0.80)")


def test_a_result_explains_itself(structural: emea.Result) -> None:
    link = structural.links().slice(0, 1).to_pylist()[0]
    found = structural.explain(link["source"])
    assert found.target == link["target"]
    check(found)
    assert found.to_dict()["groups"][0]["name"] == "encoder"
    assert found._repr_html_().startswith("<svg")


def test_a_baseline_cannot_be_explained() -> None:
    task, _ = read_small_world(50)
    result = emea.align(task, load(assignments=["method=paris", "evidence.kind=structure"]))
    with pytest.raises(InputError, match="not those of a baseline"):
        result.explain("x")


# --- the command ---


def test_the_command_prints_bars_and_json(folder: Path) -> None:
    shown = command("explain", str(folder), "Schweiz", folder=folder).stdout
    assert "Switzerland ↔ Switzerland" in shown
    assert "together" in shown
    drawn = ("--plot", "why.svg")
    found = json.loads(command("explain", str(folder), "Schweiz", "--json", *drawn, folder=folder).stdout)
    assert "Switzerland" in (folder / "why.svg").read_text()
    assert {"source", "target", "confidence", "base", "groups", "runner_up", "smallest_set"} <= found.keys()
    total = found["base"] + sum(group["log_odds"] for group in found["groups"])
    assert total == pytest.approx(logit(found["confidence"]), abs=1e-6)
    assert all({"name", "log_odds", "parts"} <= group.keys() for group in found["groups"])


@pytest.fixture(scope="module")
def of_tables(tmp_path_factory: pytest.TempPathFactory) -> Explainer:
    """Two tables of people, each sorted by a column of its own; only one has streets, the other lacks some dates."""
    place = tmp_path_factory.mktemp("tables")
    rows = {"a": ["id,name,born,Blocked,street_name"], "b": ["id,name,born,buyer"]}
    for i in range(60):
        name, born = f"{'ABCDEFGHIJ'[i % 10]}nna {'KLMNOP'[i // 10]}ern", f"19{30 + i}-01-{1 + i % 28:02}"
        rows["a"].append(f"a{i},{name},{born},{'YN'[i * i % 11 % 2]},{'' if i % 3 else f'{7 * i} Long Road'}")
        rows["b"].append(f"b{i},{name},{born if i % 7 else ''},{'mt'[i * i % 11 % 2]}")
    for side, lines in rows.items():
        (place / f"{side}.csv").write_text("\n".join(lines) + "\n")
    command("align", "a.csv", "b.csv", "--out", "run", *QUICK, folder=place)
    return Explainer.open(place / "run")


EMPTY = "not compared: born (empty in the target)"
ALONE = "not compared: street name (nothing like it found in the target)"


@pytest.mark.parametrize(("number", "lines"), [(12, [ALONE]), (13, []), (14, [EMPTY]), (21, [EMPTY, ALONE])])
def test_what_was_not_compared_is_said(of_tables: Explainer, number: int, lines: list[str]) -> None:
    found = of_tables.explain(f"a{number}")
    assert found.target == f"b{number}"
    assert found.not_compared == (*lines,)
    assert found.to_dict()["not_compared"] == list(found.not_compared)


def test_only_evidence_that_there_is_is_told_and_kinds_by_their_columns(of_tables: Explainer) -> None:
    found = of_tables.explain("a12")
    check(found)
    groups = {group.name: group for group in found.groups}
    assert "neighbours" not in groups, "of which tables have none"
    assert groups["types"].text == "Blocked: N, buyer: t"
    compared = [part for part in groups["values"].parts if part.source_value is not None]
    assert groups["values"].text.startswith(f"{len(compared)} comparisons")


def test_changed_inputs_are_said_and_sums_stay(tmp_path: Path) -> None:
    for name, people in (("a.csv", range(40)), ("b.csv", range(20, 60))):
        rows = [
            f"{name[0]}{i},{'ABCDEFGHIJ'[i % 10]}nna {'KLMNOP'[i // 10]}ern,19{30 + i}-01-{1 + i % 28:02}"
            for i in people
        ]
        (tmp_path / name).write_text("\n".join(["id,name,born", *rows]) + "\n")
    command("align", "a.csv", "b.csv", "--out", "run", *QUICK, folder=tmp_path)
    link = (tmp_path / "run" / "alignment.tsv").read_text().splitlines()[1].split("\t")[0]
    told = json.loads(command("explain", "run", link, "--json", folder=tmp_path).stdout)
    assert any(part["source_attribute"] == "born" for part in told["groups"][0]["parts"])
    with (tmp_path / "a.csv").open("a") as file:
        file.write("a99,Zoe Zorn,1999-09-09\n")
    found = json.loads(command("explain", "run", link, "--json", folder=tmp_path).stdout)
    assert found["notes"] == ["the inputs have changed since the run: neighbours and values are not shown"]
    total = found["base"] + sum(group["log_odds"] for group in found["groups"])
    assert total == pytest.approx(logit(found["confidence"]), abs=1e-6)
    (tmp_path / "a.csv").unlink()
    assert "cannot be read again" in command("explain", "run", link, folder=tmp_path).stdout


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    assert "is not a run folder" in command("explain", str(tmp_path), "x", folder=tmp_path, code=2).stderr


def test_an_interrupted_run_is_said_to_be_resumed_first(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "settings.toml", tmp_path)
    said = command("explain", str(tmp_path), "x", folder=tmp_path, code=2).stderr
    assert f"emea align --resume --out {tmp_path}" in " ".join(said.split())


def test_reasons_stand_beside_the_links(tmp_path: Path) -> None:
    people = [f"{i},Anna {'KLMN'[i // 10]}ern{i % 10},19{30 + i}-01-01" for i in range(40)]
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("\n".join(["id,name,born", *people]) + "\n")
    command("align", "a.csv", "b.csv", "--out", "run", "--reasons", *QUICK, folder=tmp_path)
    header, first, *_ = (tmp_path / "run" / "alignment.tsv").read_text().splitlines()
    assert header.split("\t")[-1] == "reason"
    assert "born: “1930-01-01” in both" in first.split("\t")[-1]
    assert "\tcomment\t" in (tmp_path / "run" / "alignment.sssom.tsv").read_text()


def test_the_fewest_triples_carry_the_link_and_none_of_them_can_go(structural: emea.Result) -> None:
    explainer = Explainer.of(structural.outcome)
    links = sorted(explainer.kept.confidence)[::8]
    run, sizes = Recomputed(explainer.loop, links), []

    def but(all_of: list[Triple], these: list[Triple]) -> list[Triple]:
        return [each for each in all_of if each not in these]

    for pair in links:
        link = run.link(*pair)
        fewest = link.fewest()
        if fewest is None:
            assert not link.found(link.around)
            continue
        sizes.append(len(fewest) / len(link.around))
        assert set(fewest) <= set(link.around)
        assert link.found(fewest)
        assert not link.found(but(link.around, fewest))
        for each in fewest:
            fewer = but(fewest, [each])
            assert not link.found(fewer) or link.found(but(link.around, fewer))
    assert len(sizes) > 20
    assert sum(sizes) / len(sizes) < 0.6


def test_evidence_for_a_link_needs_its_triples_on_both_sides(structural: emea.Result) -> None:
    explainer, told = Explainer.of(structural.outcome), 0
    links = sorted(explainer.kept.confidence)[::80]
    run = Recomputed(explainer.loop, links)
    for link in (run.link(*pair) for pair in links):
        halves = [{each for each in link.around if each[0] == place} for place in (0, 1)]
        for side in link._sides:
            for number, _, left in side.rules:
                rest = [left(half) for half in halves]
                if number == side.other:
                    assert rest == [left(set())] * 2
                    told += left(set()) < 1
                else:
                    assert rest[side.place] == 1, "a rival keeps its triples"
    assert told > 2


def test_the_fewest_triples_are_told_if_asked_for(structural: emea.Result, explainer: Explainer) -> None:
    opened = Explainer.of(structural.outcome)
    sources = [opened.kept.names[0][source].as_py() for source, _ in list(opened.kept.confidence)[:5]]
    told = [opened.explain(source, fewest=True) for source in sources]
    assert all(each.fewest_triples is not None or "would not be found" in each.notes[-1] for each in told)
    assert any(each.fewest_triples and "→" in each.fewest_triples.triples[0] for each in told)
    assert opened.explain(sources[0]).fewest_triples is None
    name = explainer.kept.names[0][next(iter(explainer.kept.confidence))[0]].as_py()
    assert "structure only" in explainer.explain(name, fewest=True).notes[-1]


def test_the_command_says_why_the_best_candidate_is_not_linked(folder: Path) -> None:
    row = next(each for each in table(folder / "unlinked.tsv").to_pylist() if each["candidate"])
    done = command("explain", str(folder), row["source"], row["candidate"], folder=folder.parent)
    assert f"note: not linked: {row['why']}" in " ".join(done.stdout.split())


def test_a_rival_of_the_same_label_is_called_by_its_name() -> None:
    rival = Candidate("urn:2", "Salt", 0.1, -2.2, 0.0, ())
    found = Explanation("urn:0", "urn:1", "Salt", "Salt", "link", 0.9, 2.2, base=2.2, runner_up=rival)
    assert "why not urn:2 (0.100)" in plain(found)
    assert "why not Sea (0.100)" in plain(replace(found, runner_up=replace(rival, target_label="Sea")))
