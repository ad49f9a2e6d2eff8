"""Relations are aligned by the links: equal ones, contained ones, and those that run the other way."""

from pathlib import Path

import numpy as np
import pytest
import torch

import emea
from emea.analysis.relations import relation_links, relation_mappings
from emea.data import Alignment, Graph, Links, Task
from emea.evidence.prepared import prepare
from emea.formats.sssom import SSSOM
from emea.method.rounds import Outcome

COUNT = 12


def outcome_of(confidence: float) -> Outcome:
    """likes = mag; knows ⊇ likes; the target's "owned by" is the inverse of the source's "owns"."""
    likes = [[number, 1, (number + 1) % COUNT] for number in range(COUNT)]
    others = [[number, 0, (number + 2) % COUNT] for number in range(COUNT)]
    knows = [[head, 0, tail] for head, _, tail in likes] + others
    owns = [[number, 2, (number + 5) % COUNT] for number in range(COUNT)]
    source = Graph.build(
        [f"s{number:02d}" for number in range(COUNT)], ["knows", "likes", "owns"], np.array(knows + likes + owns)
    )
    mag = [[head, 0, tail] for head, _, tail in likes]
    owned = [[tail, 1, head] for head, _, tail in owns]
    target = Graph.build([f"t{number:02d}" for number in range(COUNT)], ["mag", "owned by"], np.array(mag + owned))
    every = torch.arange(COUNT)
    found = Alignment(every[2:], every[2:], torch.full((COUNT - 2,), confidence), torch.ones(COUNT - 2))
    task = Task(source, target, Links.build(every[:2], every[:2]))
    settings = emea.Settings()
    return Outcome(prepare(task, settings.evidence), settings, found, None, None)  # type: ignore[arg-type]


def test_relations_are_contained_in_each_other_as_the_links_say() -> None:
    table = relation_links(outcome_of(1.0))
    rows = {(row["source"], row["target"]): row for row in table.to_pylist()}
    assert set(rows) == {("likes", "mag"), ("knows", "mag"), ("owns", "^owned by")}
    assert rows["likes", "mag"]["source_in_target"] == pytest.approx(1, abs=0.02)
    assert rows["likes", "mag"]["target_in_source"] == pytest.approx(1, abs=0.02)
    assert rows["knows", "mag"]["source_in_target"] == pytest.approx(0.5, abs=0.02)
    assert rows["knows", "mag"]["target_in_source"] == pytest.approx(1, abs=0.02)
    assert rows["owns", "^owned by"]["triples"] == pytest.approx(COUNT, rel=0.01)


def test_doubtful_links_speak_less() -> None:
    sure, doubtful = (relation_links(outcome_of(confidence)) for confidence in (1.0, 0.5))
    assert max(doubtful["triples"].to_pylist()) < 0.6 * max(sure["triples"].to_pylist())


def test_likely_ones_are_mappings() -> None:
    found = relation_mappings(relation_links(outcome_of(0.9))).to_pylist()
    said = {(row["source"], row["predicate"], row["target"]) for row in found}
    assert said == {("likes", "owl:equivalentProperty", "mag"), ("knows", "^rdfs:subPropertyOf", "mag")}
    assert all(0.5 <= row["weight"] <= 1 for row in found)


def test_mappings_are_written_as_sssom_and_none_as_an_empty_set(tmp_path: Path) -> None:
    mappings = relation_mappings(relation_links(outcome_of(0.9)))
    SSSOM().write_relations(mappings, tmp_path / "relations.sssom.tsv")
    lines = (tmp_path / "relations.sssom.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    assert any(line.startswith("#  rdfs: ") for line in lines)
    assert rows[0][:4] == ["subject_id", "predicate_id", "object_id", "mapping_justification"]
    assert {tuple(row[:3]) for row in rows[1:]} == {
        ("emea:source/likes", "owl:equivalentProperty", "emea:target/mag"),
        ("emea:target/mag", "rdfs:subPropertyOf", "emea:source/knows"),
    }
    SSSOM().write_relations(mappings[:0], tmp_path / "none.sssom.tsv")
    assert (tmp_path / "none.sssom.tsv").read_text().splitlines()[-1].startswith("subject_id")
    assert len(relation_mappings(relation_links(outcome_of(0.9))[:0])) == 0
