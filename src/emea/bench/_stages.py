"""The stages of a round to measure, and the graphs to measure them on."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import torch

from emea import plugins
from emea.bench._measuring import Stage
from emea.candidates.search import search, used_axes
from emea.contracts import Encoder
from emea.data import Candidates, Counterparts, Embeddings, Graph, Links, Task
from emea.encoders.dual_amn import DualAMNSettings
from emea.method.compatibility import combine, learn_weights, refine
from emea.method.probability import Scale, clamp, counterparts, fit_scale, most_probable
from emea.method.rulebook import Rulebook
from emea.settings import Settings

ENTITIES, TRIPLES, RELATIONS, SEEDS = 20_000, 80_000, 300, 1_000  # of each synthetic graph
EPOCHS = {  # per measurement; on a GPU the first few differ from the others
    "cpu": {"rrea": 3, "dual_amn": 1},
    "cuda": {"rrea": 300, "dual_amn": 40},
}


def stages(task: Task, device: torch.device) -> Iterator[Stage]:
    """The stages of a round, each on the output of the one before, and the training of encoders."""
    settings, draw = Settings(device=device.type), torch.Generator().manual_seed(0)
    graphs, seeds = Task(task.source, task.target, Links.empty()), task.seeds.to(device)
    hidden, known = seeds[: len(seeds) // 10], seeds[len(seeds) // 10 :]
    sources, targets = len(task.source.entities), len(task.target.entities)
    triples = len(task.source.triples) + len(task.target.triples)

    encoder = _encoder("propagation", graphs, device)
    features = encoder.features(encoder.Settings())
    every = 4.0 * features * (sources + targets)  # bytes of all embeddings
    edges = 2.0 * triples * 4 * features  # bytes of the features at the ends of all edges
    yield Stage("propagation: fit", lambda: encoder.fit(known, draw), edges + every, "byte")

    embeddings: Embeddings = encoder.fit(known, draw)
    axes = min(features, used_axes(settings.similarity, sources * targets)) if device.type == "cpu" else features
    yield Stage(
        "search, both ways",
        lambda: search(embeddings, settings.similarity, draw),
        4.0 * sources * targets * axes,
        "flop",
    )

    nearest: Candidates = search(embeddings, settings.similarity, draw)
    candidates, scale = nearest[~nearest.touches(known)], Scale.typical(settings.probability)
    yield Stage(
        "fit of the scale",
        lambda: fit_scale(candidates, hidden, scale, settings.probability),
        len(candidates),
        "pair",
    )
    balanced = 2.0 * 2 * 16 * len(candidates) * settings.probability.balance  # value and column of each pair, twice
    yield Stage(
        "probabilities (Sinkhorn)", lambda: counterparts(candidates, scale, settings.probability), balanced / 2, "byte"
    )

    believed: Counterparts = counterparts(candidates, scale, settings.probability)
    yield from _rules(graphs, settings, believed, (embeddings, nearest, known))
    for name, epochs in EPOCHS.get(device.type, EPOCHS["cpu"]).items():
        yield _training(name, graphs, seeds, epochs, device)


def _rules(
    graphs: Task, settings: Settings, believed: Counterparts, found: tuple[Embeddings, Candidates, Links]
) -> Iterator[Stage]:
    """The stages of the rules, on what the encoder's stages found."""
    embeddings, nearest, known = found
    size = len(believed.forward)
    yield Stage("choice of candidates for the rules", lambda: _considered(believed, known, settings), size, "pair")

    considered = _considered(believed, known, settings)
    for scope, meaning in (("own", "own factor"), ("blanket", "Markov blanket")):
        chosen = settings.model_copy(update={"rules": {"paris": {"scope": scope}}})
        rules = Rulebook(graphs, chosen, believed.forward.device)
        judged = partial(rules.factors, considered, embeddings, nearest, known)
        yield Stage(f"rules both ways, {meaning}", judged, len(considered.forward), "pair")
    (forward, backward), learning = rules.factors(considered, embeddings, nearest, known)

    def judge() -> Counterparts:
        return combine(considered, refine(considered, forward, backward, learn_weights(learning)))

    yield Stage("weights and beliefs", judge, len(considered.forward), "pair")


def _training(name: str, graphs: Task, seeds: Links, epochs: int, device: torch.device) -> Stage:
    """Epochs of a trained encoder. The least work is, for Dual-AMN, three matrix products for each side of a batch's
    pairs; for others, to read and write the output in the forward and the backward pass."""
    encoder = _encoder(name, graphs, device, epochs=epochs, more_epochs=epochs)
    entities = len(graphs.source.entities) + len(graphs.target.entities)
    size = entities * encoder.features(encoder.Settings())

    def run() -> Embeddings:
        return encoder.fit(seeds, torch.Generator().manual_seed(0))

    settings = encoder.Settings()
    if isinstance(settings, DualAMNSettings):
        pairs = max(settings.least_pairs, len(seeds))
        steps = -(-pairs // settings.batch)
        return Stage(f"{name}: a batch", run, 3 * 2 * 2 * min(pairs, settings.batch) * size, "flop", epochs * steps)
    return Stage(f"{name}: an epoch", run, 4.0 * 4 * size, "byte", epochs)


def _encoder(name: str, graphs: Task, device: torch.device, **settings: int) -> Encoder[Any]:
    plugin = plugins.find("encoders", name, Encoder)
    return plugin(graphs, plugin.Settings(**settings), device)


def _considered(believed: Counterparts, known: Links, settings: Settings) -> Counterparts:
    return clamp(most_probable(believed, settings.considered), known)


def synthetic() -> Task:
    """Two noisy halves of one random graph with hubs: the same on every machine."""
    draw = np.random.default_rng(0)
    popular = draw.zipf(1.6, 4 * TRIPLES) % ENTITIES
    tails = np.where(draw.random(4 * TRIPLES) < 0.5, popular, draw.integers(ENTITIES, size=4 * TRIPLES))
    relations = draw.zipf(1.4, 4 * TRIPLES) % RELATIONS
    triples = np.stack([draw.integers(ENTITIES, size=4 * TRIPLES), relations, tails], 1)[: 2 * TRIPLES]
    graphs = []
    for side in range(2):
        kept = triples[draw.random(len(triples)) < 0.5]
        names = [f"{side}:{number:06d}" for number in range(ENTITIES)]
        graphs.append(Graph.build(names, [f"{side}:r{number:03d}" for number in range(RELATIONS)], kept))
    chosen = torch.from_numpy(draw.permutation(ENTITIES)[:SEEDS])
    return Task(graphs[0], graphs[1], Links.build(chosen, chosen))
