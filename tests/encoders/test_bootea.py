"""BootEA equals its formulas in slow loops: copied triples, corrupted ones, both losses, and how labels change."""

import math

import pytest
import torch
from small_tasks import CPU, SMALL, SMALL_PAIRS, Parameters, assert_gradient, doubled
from torch import Tensor

from emea.data import Embeddings, Links
from emea.encoders.bootea import BootEA, BootEASettings

SOURCES, RELATIONS = len(SMALL.source.entities), len(SMALL.source.relations)
ENTITIES = SOURCES + len(SMALL.target.entities)
TRIPLES = [
    *map(tuple, SMALL.source.triples.tolist()),
    *((h + SOURCES, r + 2 * RELATIONS, t + SOURCES) for h, r, t in SMALL.target.triples.tolist()),
]


def encoder_of(**settings: float | str) -> BootEA:
    encoder = BootEA(SMALL, BootEASettings(**{"dimension": 4, "truncated": 0.5, **settings}), CPU)
    encoder.parameters = doubled(encoder.initial(torch.Generator().manual_seed(0)))
    encoder.prepare(SMALL_PAIRS)
    encoder.look_around(SMALL_PAIRS)
    return encoder


def swapped(triples: list[tuple[int, ...]], pairs: list[tuple[int, int, float]]) -> list[tuple[tuple[int, ...], float]]:
    """Each triple with one entity of a pair in the place of the other, one end at a time."""
    found = []
    for one, other, weight in [*pairs, *((target, source, weight) for source, target, weight in pairs)]:
        for h, r, t in triples:
            found += [((other, r, t), weight)] * (h == one) + [((h, r, other), weight)] * (t == one)
    return found


def slow_energy(parameters: Parameters, triple: list[int]) -> Tensor:
    h, r, t = (
        parameters[name][row] / parameters[name][row].square().sum().sqrt()
        for name, row in zip(("entities", "relations", "entities"), triple, strict=True)
    )
    return (h + r - t).square().sum()


PAIRS = [
    (source, target + SOURCES, weight)
    for source, target, weight in zip(*(column.tolist() for column in SMALL_PAIRS.columns), strict=True)
]


def test_entities_of_a_pair_stand_in_for_each_other() -> None:
    encoder = encoder_of()
    expected = [(triple, 1.0) for triple in TRIPLES] + swapped(TRIPLES, PAIRS)
    rows = zip(map(tuple, encoder.positives.tolist()), encoder.weight.tolist(), strict=True)
    assert sorted(rows) == sorted(expected)


def test_replacements_are_near_and_true_triples_do_not_count() -> None:
    encoder = encoder_of(negatives=40)
    false, counts = encoder.corrupted(encoder.positives, torch.Generator().manual_seed(1))
    true, near = {tuple(row) for row in encoder.positives.tolist()}, encoder.buffers["near"].tolist()
    for triple, copies, counted in zip(encoder.positives.tolist(), false.tolist(), counts.tolist(), strict=True):
        ends = {tuple(a != b for a, b in zip(triple, copy, strict=True)) for copy in copies}
        assert ends in ({(True, False, False)}, {(False, False, True)}), "all at the same end"
        place = 0 if (True, False, False) in ends else 2
        assert {copy[place] for copy in copies} <= set(near[triple[place]])
        assert counted == [tuple(copy) not in true for copy in copies]
    assert not counts.all()
    for entity, others in enumerate(near):
        assert entity not in others
        assert all((other < SOURCES) == (entity < SOURCES) for other in others)


def test_loss_and_gradient_equal_the_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, seen = encoder_of(true_limit=0.5), []
    encoder.weight = torch.linspace(0.5, 1.5, len(encoder.positives), dtype=torch.float64)
    order = torch.randperm(len(encoder.positives), generator=torch.Generator().manual_seed(1))  # drawn first
    real = encoder.corrupted
    monkeypatch.setattr(encoder, "corrupted", lambda *given: seen.append((given[0], *real(*given))) or seen[-1][1:])
    (loss,) = encoder.losses(SMALL_PAIRS, torch.Generator().manual_seed(1))
    ((triples, false, counts),) = seen
    assert torch.equal(triples, encoder.positives[order])

    def slow(parameters: Parameters) -> Tensor:
        total = torch.zeros((), dtype=torch.float64)
        rows = zip(triples.tolist(), false.tolist(), counts.tolist(), encoder.weight[order].tolist(), strict=True)
        for triple, copies, counted, weight in rows:
            own = torch.relu(slow_energy(parameters, triple) - 0.5)
            for copy, counts_it in zip(copies, counted, strict=True):
                own = own + 0.2 * counts_it * torch.relu(2.0 - slow_energy(parameters, copy))
            total = total + weight * own
        return total

    torch.testing.assert_close(loss, slow(encoder.parameters), atol=1e-6, rtol=1e-6)
    assert_gradient(loss, slow, encoder.parameters)


@torch.no_grad()
def test_triples_through_labels_join_twice_between_renewals() -> None:
    encoder = encoder_of(relabel=10)
    encoder.buffers |= {"label_source": torch.tensor([5]), "label_target": torch.tensor([4])}
    counts = []
    for encoder.epoch in range(10):
        *_, last = encoder.losses(SMALL_PAIRS, torch.Generator().manual_seed(1))
        counts.append(len(list(encoder.losses(SMALL_PAIRS, torch.Generator().manual_seed(1)))))
        if encoder.epoch == 4:
            copies = swapped([tuple(row) for row in encoder.positives.tolist()], [(5, 4 + SOURCES, 1.0)])
            energies = [float(slow_energy(encoder.parameters, [*triple])) for triple, _ in copies]
            assert float(last.detach()) == pytest.approx(sum(math.log(1 + math.exp(f)) for f in energies), rel=1e-6)
    assert counts == [1, 1, 1, 1, 2, 1, 1, 1, 1, 2]


def test_labels_change_only_to_what_is_nearer_and_no_target_has_two(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = encoder_of(mode="semi", likeness=0.7)
    source = torch.eye(SOURCES + 12, dtype=torch.float32)[:SOURCES]
    pairs = Links.build(torch.tensor([0]), torch.tensor([0]))

    def relabelled(wanted: dict[tuple[int, int], float]) -> dict[int, int]:
        target = torch.zeros(ENTITIES - SOURCES, SOURCES + 12)
        for (one, other), likeness in wanted.items():
            target[other, one] = likeness
        rest = (1 - target.square().sum(1)).clamp(min=0).sqrt()
        target[torch.arange(len(target)), SOURCES + torch.arange(len(target))] = rest  # unlike all sources
        monkeypatch.setattr(encoder, "embed", lambda: Embeddings(source, target))
        encoder._relabel(pairs)
        labels = (encoder.buffers[f"label_{side}"].tolist() for side in ("source", "target"))
        return dict(zip(*labels, strict=True))

    assert relabelled({(0, 0): 0.9, (1, 1): 0.8, (2, 2): 0.75, (3, 3): 0.6}) == {1: 1, 2: 2}, "seeds are no labels"
    assert relabelled({(1, 1): 0.3, (2, 2): 0.72, (2, 4): 0.71}) == {1: 1, 2: 2}, "labels stay, whatever they are like"
    assert relabelled({(1, 1): 0.3, (1, 3): 0.8, (2, 2): 0.7}) == {1: 3, 2: 2}, "what is nearer now replaces them"
    assert relabelled({(1, 3): 0.2, (2, 2): 0.4, (4, 3): 0.9}) == {2: 2, 4: 3}, "of two the nearer has the target"


def test_only_semi_supervised_fits_label() -> None:
    for mode, labels in (("sup", False), ("semi", True)):
        settings = BootEASettings(dimension=8, epochs=12, relabel=4, likeness=-1.0, mode=mode)
        encoder = BootEA(SMALL, settings, CPU)
        encoder.fit(Links(*SMALL_PAIRS.columns), torch.Generator().manual_seed(0))
        assert ("label_source" in encoder.buffers) is labels
