"""MuGNN equals its formulas in slow loops: both channels, its losses, and which relations it pairs."""

import math

import pytest
import torch
from small_tasks import CPU, SMALL, SMALL_PAIRS, Parameters, assert_gradient, doubled, softmax
from test_bootea import TRIPLES
from torch import Tensor
from torch.nn.functional import elu

from emea.data import Links
from emea.encoders.mugnn import MuGNN, MuGNNSettings, shared_relations, triplets

SOURCES = len(SMALL.source.entities)
ENTITIES = SOURCES + len(SMALL.target.entities)
TARGET_RELATIONS = 2 * len(SMALL.source.relations)  # from which on they are the target's
NEAR: list[dict[int, int | None]] = [{number: None} for number in range(ENTITIES)]
for h, r, t in sorted(TRIPLES, key=lambda triple: triple[1]):  # the last relation counts
    if h != t:
        NEAR[h][t] = NEAR[t][h] = r


def encoder_of(**settings: float) -> MuGNN:
    encoder = MuGNN(SMALL, MuGNNSettings(**{"dimension": 4, "dropout": 0.0, "negatives": 2, **settings}), CPU)
    start = encoder.initial(torch.Generator().manual_seed(0))
    draw = torch.Generator().manual_seed(1)
    start["weights"] = 1 + torch.rand(start["weights"].shape, generator=draw)
    encoder.parameters = doubled(start)
    encoder.prepare(SMALL_PAIRS)
    return encoder


def unit(vector: Tensor) -> Tensor:
    return vector / vector.square().sum().sqrt()


def slow_output(parameters: Parameters) -> list[Tensor]:
    used = sorted({r for _, r, _ in TRIPLES})
    units = {r: unit(parameters["relations"][r]) for r in used}
    other = {r: [units[o] for o in used if (o < TARGET_RELATIONS) != (r < TARGET_RELATIONS)] for r in used}
    shared = {r: torch.stack([(units[r] * o).sum() for o in other[r]]).max().clamp(max=1.0) for r in used}
    one = two = [*parameters["entities"]]
    for layer in (0, 1):
        (w, u), (a, b) = parameters["weights"][layer], parameters["attention"][layer]
        first, second = [], []
        for number, near in enumerate(NEAR):
            said = [((a * w * one[number]).sum() + (b * w * one[o]).sum()) for o in near]
            alpha = softmax([torch.where(value > 0, value, 0.2 * value) for value in said])
            gathered = sum((share * w * one[o] for share, o in zip(alpha, near, strict=True)), torch.zeros_like(w))
            first.append(gathered if layer else elu(gathered))
            beta = softmax([torch.ones((), dtype=w.dtype) if r is None else shared[r] for r in near.values()])
            second.append(
                elu(sum((share * u * two[o] for share, o in zip(beta, near, strict=True)), torch.zeros_like(w)))
            )
        one, two = first, second
    return [unit((left + right) / 2) for left, right in zip(one, two, strict=True)]


def test_output_equals_the_loops() -> None:
    encoder = encoder_of()
    torch.testing.assert_close(encoder.output(), torch.stack(slow_output(encoder.parameters)), atol=1e-6, rtol=1e-6)
    embeddings = encoder.embed()
    found = torch.cat([embeddings.source, embeddings.target])
    torch.testing.assert_close(found, encoder.output(), atol=1e-9, rtol=0)


def test_triple_loss_and_gradient_equal_the_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, seen = encoder_of(triples=6), []
    real = encoder._drawn
    monkeypatch.setattr(encoder, "_drawn", lambda *given: seen.append((given[1], real(*given))) or seen[-1][1])
    relations = torch.nn.functional.normalize(encoder.parameters["relations"], dim=1)
    loss = encoder.triple_loss(encoder.output(), relations, torch.Generator().manual_seed(1))
    drawn = torch.randint(len(TRIPLES), (6,), generator=torch.Generator().manual_seed(1))
    triples = encoder.triples[drawn].tolist()
    (_, heads), (_, tails) = seen
    for (_, r, _), other_heads, other_tails in zip(triples, heads.tolist(), tails.tolist(), strict=True):
        assert {*other_heads} <= {h for h, relation, _ in TRIPLES if relation == r}
        assert {*other_tails} <= {t for _, relation, t in TRIPLES if relation == r}

    def slow(parameters: Parameters) -> Tensor:
        vectors = slow_output(parameters)

        def truth(h: int, r: int, t: int) -> Tensor:
            return 1 - (vectors[h] + unit(parameters["relations"][r]) - vectors[t]).abs().sum() / (3 * math.sqrt(4))

        terms = []
        for (h, r, t), other_heads, other_tails in zip(triples, heads.tolist(), tails.tolist(), strict=True):
            false = [(o, r, t) for o in other_heads] + [(h, r, o) for o in other_tails]
            terms += [torch.relu(0.12 - truth(h, r, t) + truth(*triple)) for triple in false]
        return sum(terms, torch.zeros((), dtype=torch.float64)) / len(terms)

    torch.testing.assert_close(loss, slow(encoder.parameters), atol=1e-6, rtol=1e-6)
    assert_gradient(loss, slow, encoder.parameters)


def test_triplets_equal_the_formula() -> None:
    vectors = torch.randn(9, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    ends, others = (
        (torch.tensor([0, 1]), torch.tensor([4, 5])),
        (torch.tensor([[6, 7], [8, 4]]), torch.tensor([[2], [3]])),
    )
    weight, expected = torch.tensor([1.0, 0.5], dtype=torch.float64), 0.0
    for side in (0, 1):
        for row in (0, 1):
            near = float((vectors[ends[0][row]] - vectors[ends[1][row]]).norm())
            own = [
                max(0.0, 1 + near - float((vectors[ends[side][row]] - vectors[o]).norm())) for o in others[side][row]
            ]
            expected += float(weight[row]) * sum(own) / len(own) / 4
    assert float(triplets(vectors, ends, others, 1.0, weight)) == pytest.approx(expected, rel=1e-6)


def test_the_nearest_entities_of_other_pairs_are_negatives() -> None:
    encoder = encoder_of(refresh=3, negatives=2)
    encoder.look_around(SMALL_PAIRS)
    assert not encoder.buffers, "at first they are drawn at random"
    left, right = encoder.graph.pairs(SMALL_PAIRS)
    random = encoder._others("left", left, torch.Generator().manual_seed(0))
    assert random.shape == (len(left), 2)
    encoder.epoch = 3
    encoder.look_around(SMALL_PAIRS)
    vectors = encoder.output().detach()
    for name, ends in (("left", left), ("right", right)):
        found = encoder._others(name, ends, torch.Generator())
        for end, others in zip(ends.tolist(), found.tolist(), strict=True):
            ranked = sorted({e for e in ends.tolist() if e != end}, key=lambda e: -float(vectors[e] @ vectors[end]))
            assert others[0] == ranked[0]


def test_relations_are_paired_by_the_triples_they_share() -> None:
    """Relation 0 and 10 share four of five triples, 1 and 10 three; 2 and 11 share only two."""
    pairs = [(number, 20 + number) for number in range(6)]
    source = [
        (0, 0, 1),
        (1, 0, 2),
        (2, 0, 3),
        (3, 0, 4),
        (0, 1, 1),
        (1, 1, 2),
        (2, 1, 3),
        (0, 2, 5),
        (1, 2, 5),
        (9, 0, 9),
    ]
    target = [(20, 10, 21), (21, 10, 22), (22, 10, 23), (23, 10, 24), (24, 10, 25), (20, 11, 25), (21, 11, 25)]
    left, right = (torch.tensor(column) for column in zip(*pairs, strict=True))
    assert shared_relations(torch.tensor(source + target), left, right).tolist() == [[0, 10]]
    assert shared_relations(torch.tensor(source + target), left[:0], right[:0]).tolist() == []


def test_a_whole_step_uses_all_three_losses() -> None:
    encoder = encoder_of()
    encoder.relation_pairs = torch.tensor([[0, TARGET_RELATIONS]])
    (loss,) = encoder.losses(Links(*SMALL_PAIRS.columns), torch.Generator().manual_seed(1))
    for value in encoder.parameters.values():
        value.grad = None
    loss.backward()
    assert all(value.grad is not None and bool(value.grad.any()) for value in encoder.parameters.values())
