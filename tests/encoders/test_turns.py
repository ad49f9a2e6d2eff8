"""Semi-supervised turns: those that join are mutually nearest by CSLS, by a dense computation."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
import torch
from small_tasks import CPU, graph_of, pairs_of, random_triples
from tiny_encoders import PAIRS, build, every_encoder_in_turns, fit
from torch import Tensor
from torch.optim import Optimizer

from emea.contracts import Progress, Size
from emea.data import Embeddings, Links, Task
from emea.encoders._training import TrainedEncoder, TrainingSettings, rmsprop


class Still(TrainedEncoder[TrainingSettings]):
    """Has embeddings that do not move."""

    embeddings: Embeddings

    @classmethod
    def features(cls, settings: TrainingSettings) -> int:
        return 1

    @classmethod
    def epoch_work(cls, settings: TrainingSettings, size: Size) -> float:
        return 1.0

    def initial(self, generator: torch.Generator) -> dict[str, Tensor]:
        return {"nothing": torch.zeros(1)}

    def build_optimiser(self, parameters: list[Tensor]) -> Optimizer:
        return rmsprop(parameters, 0.1)

    def losses(self, pairs: Links, generator: torch.Generator) -> Iterator[Tensor]:
        yield self.parameters["nothing"].sum()

    def embed(self) -> Embeddings:
        return self.embeddings


def brute_force(embeddings: Embeddings, known: Links) -> set[tuple[int, int]]:
    """Mutually nearest entities, among those of no known pair, by csls = 2 cos − r_T − r_S over 10 nearest."""
    cosine = embeddings.source.double() @ embeddings.target.double().T
    columns = cosine.T
    source, target = ([sum(sorted(row, reverse=True)[:10]) / 10 for row in side.tolist()] for side in (cosine, columns))
    free_source = sorted(set(range(len(cosine))) - set(known.source.tolist()))
    free_target = sorted(set(range(len(columns))) - set(known.target.tolist()))
    csls = {(s, t): 2 * float(cosine[s, t]) - source[s] - target[t] for s in free_source for t in free_target}
    best = {(s, max(free_target, key=lambda t: csls[s, t])) for s in free_source}
    return best & {(max(free_source, key=lambda s: csls[s, t]), t) for t in free_target}


def turns(encoder: TrainedEncoder[Any], pairs: Links) -> list[tuple[Progress, Embeddings, Links]]:
    """Of a fit, each turn's end: the last report, the embeddings, the pairs found until then."""
    ends = []

    def keep(progress: Progress) -> None:
        if progress.epoch == progress.epochs:
            with torch.no_grad():
                ends.append((progress, encoder.embed(), encoder.found))

    fit(encoder, pairs, report=keep)
    return ends


def rows(links: Links) -> list[tuple[int, int]]:
    return list(zip(links.source.tolist(), links.target.tolist(), strict=True))


@every_encoder_in_turns
def test_mutually_nearest_entities_join_turn_by_turn(name: str) -> None:
    encoder = build(name, mode="semi", epochs=25)
    ends = turns(encoder, PAIRS)
    assert [(progress.turn, progress.epochs) for progress, _, _ in ends] == [(0, 25), (1, 4), (2, 4)]
    assert not len(ends[0][2])
    for (_, embeddings, before), (progress, _, found) in pairwise(ends):
        new = rows(found)[len(before) :]
        assert rows(found)[: len(before)] == rows(before)
        assert len(new) == len(set(new))
        assert set(new) == brute_force(embeddings, PAIRS + before)
        assert not {s for s, _ in new} & set((PAIRS + before).source.tolist())
        assert not {t for _, t in new} & set((PAIRS + before).target.tolist())
        assert progress.pairs == len(PAIRS) + len(found)
    assert len(ends[1][2]) >= 3
    assert not len(encoder.found)  # the next fit begins without them
    found = ends[1][2]
    if name == "iptranse":
        apart = (ends[0][1].source[found.source] - ends[0][1].target[found.target]).norm(dim=1)
        torch.testing.assert_close(found.weight, torch.sigmoid(10 * (0.7 - apart)), atol=1e-4, rtol=1e-4)
    else:
        assert (found.weight == 1).all()


@pytest.mark.parametrize("known", [0, 12, 40, 54])
@pytest.mark.parametrize("seed", range(6))
def test_those_found_are_the_nearest_of_all_that_are_free(known: int, seed: int) -> None:
    """Even where the ten nearest of an entity are all in known pairs."""
    draw = torch.Generator().manual_seed(seed)
    sides = [torch.randn(60, 3, generator=draw) for _ in range(2)]
    graphs = [graph_of(random_triples(5, range(60), 1, number), 60, 1) for number in (1, 2)]
    encoder = Still(Task(*graphs, Links.empty()), TrainingSettings(mode="semi", epochs=1, turn_epochs=1, turns=1), CPU)
    encoder.embeddings = Embeddings(*(side / side.norm(dim=1, keepdim=True) for side in sides))
    pairs = pairs_of([(number, number, 1.0) for number in range(known)]) if known else Links.empty()
    found = rows(turns(encoder, pairs)[1][2])
    assert sorted(found) == sorted(brute_force(encoder.embeddings, pairs))
