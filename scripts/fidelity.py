"""Measures whether explanations name what links rest on: keeps or deletes their triples, and asks for the link again.

    python scripts/fidelity.py RUN [RUN ...] [--links 1000]    # folders of finished runs with propagation as encoder
    python scripts/fidelity.py --page                          # write docs/results.md's section from docs/fidelity

As in ExEA (Tian et al., ICDE 2024): C are the triples of both entities of a link, E those that its explanation names,
at most SPARSE of C. The link is kept if the two are still each other's best candidates when only E of C is left, or
when E is deleted; the same with as many random triples of C. Propagation and rules are computed anew from what is left;
labels, the embeddings of other entities, and the beliefs about other pairs stay. No link that is measured is
a label: none may rest on itself. How many are found all the same is shown; the others are left out.
"""

from __future__ import annotations

import argparse
import json
import random
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from _records import REPOSITORY, commit, write_sections
from emea.analysis.bars import LoopBars
from emea.contracts import Ground
from emea.data import Links
from emea.encoders.propagation import Propagation, _Operators, _Sketch, normalise
from emea.kernels.joins import lookup
from emea.kernels.segments import segment_rank, segment_sum
from emea.method.grounds import Grounds
from emea.method.probability import Scale, counterparts
from emea.report.tables import markdown_table
from emea.runs.explaining import Explainer

SPARSE = 0.4  # of the triples around a link at most belong to its explanation
LIKELY = 0.8  # belief from which a pair is a label
Edge = tuple[int, int]  # relation, neighbour


@dataclass(frozen=True)
class Side:
    """What propagation computes of one graph, as far as it stays."""

    operators: _Operators
    edges: list[list[Edge]]
    views: list[Tensor]  # E₀, E₁, E₂
    spread: Tensor  # A E₀, before it is normalised
    relations: list[Tensor]  # R₀, R₁, R₂
    embedding: Tensor


class World:
    """A run and what is needed to ask for its links again."""

    def __init__(self, folder: Path, count: int) -> None:
        self.explainer = Explainer.open(folder)
        finder, self.settings = self.explainer.finder, self.explainer.settings
        assert finder.prepared is not None
        graphs = finder.prepared.graphs
        self.grounds, self.pieces = self.explainer.kept.grounds, self.explainer.loop
        kept = sorted(self.explainer.kept.confidence)
        self.links = random.Random(0).sample(kept, min(count, len(kept)))
        rounds = [json.loads(line) for line in (folder / "rounds.jsonl").read_text().splitlines()]
        self.sharpness, self.weight = rounds[-1]["sharpness"], rounds[-1]["weights"]["paris"]
        asked = self.grounds.asked
        own = Links.build(*(torch.tensor(column) for column in zip(*self.links, strict=True)))
        rows = ((asked.confidence >= LIKELY) & ~asked.candidates.among(own)).nonzero()[:, 0]
        labels = Links.build(asked.candidates.source[rows], asked.candidates.target[rows], asked.confidence[rows])
        encoder = Propagation(graphs, self.settings.encoder_settings(), torch.device("cpu"))  # type: ignore[arg-type]
        self.chosen, generator = encoder.settings, torch.Generator().manual_seed(0)
        vectors = (
            normalise(torch.randn(len(labels), self.chosen.dimension, generator=generator)) * labels.weight[:, None]
        )
        self.sketches = [_Sketch(self.chosen, generator), _Sketch(self.chosen, generator)]
        loops = self.pieces._edges
        self.sides = [
            self._side(operators, ends, vectors, edges)
            for operators, ends, edges in zip(
                (encoder.source, encoder.target), (labels.source, labels.target), loops, strict=True
            )
        ]

        self.bars = LoopBars(self._believed(Scale(self.sharpness, rounds[-1]["none"])))

    def _believed(self, scale: Scale) -> Grounds:
        """What the run would have believed about its candidates with these labels."""
        proposed, considered = self.grounds.proposed, self.grounds.considered
        pairs, one, other = proposed.candidates, self.sides[0].embedding, self.sides[1].embedding
        cosine = torch.cat(
            [
                (one[pairs.source[rows]] * other[pairs.target[rows]]).sum(1)
                for rows in torch.arange(len(pairs)).split(50_000)
            ]
        )
        near = self.settings.similarity.neighbours
        densities = []
        for index, size in ((pairs.source, pairs.sources), (pairs.target, pairs.targets)):
            top = segment_rank(index, size, cosine) < near
            total, number = segment_sum(cosine * top, index, size), torch.bincount(index[top], minlength=size)
            densities.append(total / number.clamp(min=1))
        pairs = replace(pairs, cosine=cosine, source_density=densities[0], target_density=densities[1])
        believed = counterparts(pairs, scale, self.settings.probability)
        row = lookup(pairs.keys(), considered.candidates.keys())
        known = row >= 0
        forward, backward = (
            torch.where(known, new[row.clamp(min=0)], old)
            for new, old in ((believed.forward, considered.forward), (believed.backward, considered.backward))
        )
        return replace(
            self.grounds, proposed=believed, considered=replace(considered, forward=forward, backward=backward)
        )

    def _side(self, operators: _Operators, labelled: Tensor, vectors: Tensor, edges: object) -> Side:
        views = [vectors.new_zeros(operators.entities, vectors.shape[1]).index_add_(0, labelled, vectors)]
        relations = [vectors.new_zeros(operators.relations, vectors.shape[1])]
        spread = operators.adjacency @ views[0]
        for _ in range(self.chosen.depth):
            heads = normalise(operators.head_of @ views[-1])
            views.append(normalise(operators.adjacency @ views[-1] + operators.relation_of @ relations[-1]))
            relations.append(heads)
        embedding = operators.embed(labelled, vectors, self.sketches, self.chosen)
        leaving = [list(zip(*edges.leaving(entity), strict=True)) for entity in range(operators.entities)]  # type: ignore[attr-defined]
        return Side(operators, leaving, views, spread, relations, embedding)

    def embed(self, place: int, entity: int, kept: list[Edge]) -> Tensor:
        """The embedding of an entity with some of its edges, without its own label."""
        side = self.sides[place]
        if not kept:
            return torch.zeros_like(side.embedding[0])
        relation, tail = (torch.tensor(column) for column in zip(*kept, strict=True))
        near = torch.unique(tail)
        own = side.views[0][entity]
        first = normalise(side.views[0][near].sum(0, keepdim=True))[0]
        around = normalise(side.spread[near] - own)
        second = around.sum(0) + first + side.relations[1][relation].sum(0)
        plain = normalise(torch.cat([first, normalise(second[None])[0]])[None])[0]
        position = torch.searchsorted(near, tail)
        of_relations = self.sketches[0]([view[relation] for view in side.relations])
        of_entities = self.sketches[1]([side.views[0][tail], around[position], side.views[2][tail]])
        third = normalise((of_relations * of_entities).sum(0, keepdim=True))[0]
        return normalise(torch.cat([plain, self.chosen.path_weight * third])[None])[0]

    def best(self, place: int, pair: tuple[int, int], kept: tuple[list[Edge], list[Edge]]) -> bool:
        """Whether the other entity of the pair is still the best candidate of the one on this side."""
        side, entity, other = self.bars.sides[place], pair[place], pair[1 - place]
        rows = side.near.rows(entity)
        others = side.near.other[rows]
        own = self.embed(place, entity, kept[place])
        far = self.sides[1 - place].embedding[torch.from_numpy(others)].clone()
        before = far @ self.sides[place].embedding[entity]
        far[int(np.flatnonzero(others == other)[0])] = self.embed(1 - place, other, kept[1 - place])
        moved = 2 * self.sharpness * (far @ own - before).double().numpy()
        chance = np.log(side.near.belief[rows].clip(1e-300)) + moved
        logit = np.array([self._paris(place, entity, int(each), other, kept) for each in others])
        against = side.none if side.none > -1e29 else -np.inf
        score = chance + side.say * logit - np.log1p(np.exp(against - logit))
        return bool(others[int(score.argmax())] == other)

    def _paris(self, place: int, entity: int, each: int, other: int, kept: tuple[list[Edge], list[Edge]]) -> float:
        """The rule's logit of a candidate of this side's entity; the pair's other entity has its kept edges, too."""
        source, target = (entity, each) if place == 0 else (each, entity)
        grounded = self.pieces._grounded("paris", source, target)
        assert grounded is not None
        left = [set(kept[place]), set(kept[1 - place]) if each == other else None]
        limits = left if place == 0 else left[::-1]
        gone = {number for number, piece in enumerate(grounded.pieces) if not _stays(piece, limits)}
        return float(self.weight * grounded.factor(gone))


def _stays(piece: Ground, limits: list[set[Edge] | None]) -> bool:
    ends = (piece.source_relation, piece.source), (piece.target_relation, piece.target)
    return all(limit is None or end in limit for end, limit in zip(ends, limits, strict=True))


def named(world: World, pair: tuple[int, int]) -> tuple[list[tuple[int, Edge]], list[tuple[int, Edge]]]:
    """The triples of both entities (side and edge), and those that an explanation names: what rules found, by share;
    then, for the encoder, edges to neighbours that are alike on both sides."""
    around = [(place, edge) for place in (0, 1) for edge in world.sides[place].edges[pair[place]]]
    grounded = world.pieces._grounded("paris", *pair)
    assert grounded is not None
    ranked: list[tuple[int, Edge]] = []
    for piece in sorted(grounded.pieces, key=lambda each: -each.said):
        ranked += [(0, (piece.source_relation, piece.source)), (1, (piece.target_relation, piece.target))]
    one, other = (world.sides[place].edges[pair[place]] for place in (0, 1))
    if one and other:
        first, second = (
            world.sides[place].embedding[torch.tensor([tail for _, tail in edges])]
            for place, edges in ((0, one), (1, other))
        )
        alike = first @ second.T
        order = torch.argsort(alike.flatten(), descending=True, stable=True)[: 4 * (len(one) + len(other))]
        for place in order.tolist():
            ranked += [(0, one[place // len(other)]), (1, other[place % len(other)])]
    distinct = list(dict.fromkeys(each for each in ranked if each in set(around)))
    return around, distinct[: max(1, int(SPARSE * len(around)))]


def measure(folder: Path, count: int) -> dict[str, float | int | str]:
    """Of one run."""
    world, draw = World(folder, count), random.Random(1)
    found = {"alone": 0, "kept": 0, "lost": 0, "lost at random": 0, "kept at random": 0}
    sizes, rule, checked = [], 0, 0
    for pair in world.links:
        around, chosen = named(world, pair)
        if len(around) < 2:
            continue
        checked += 1
        sizes.append(1 - len(chosen) / len(around))
        chance = draw.sample(around, len(chosen))

        def still(kept: list[tuple[int, Edge]], pair: tuple[int, int] = pair) -> bool:
            edges = [edge for place, edge in kept if place == 0], [edge for place, edge in kept if place == 1]
            return world.best(0, pair, edges) and world.best(1, pair, edges)

        if not still(around):
            continue
        found["alone"] += 1
        found["kept"] += still(chosen)
        found["kept at random"] += still(chance)
        found["lost"] += not still([each for each in around if each not in set(chosen)])
        found["lost at random"] += not still([each for each in around if each not in set(chance)])
        grounded = world.pieces._grounded("paris", *pair)
        rule += bool(grounded and grounded.pieces)
    whole = max(1, found["alone"])
    return {
        "run": folder.name,
        "links": checked,
        "found though not labelled": round(found["alone"] / checked, 3),
        "named by rules": round(rule / whole, 3),
        "sparsity": round(float(np.mean(sizes)), 3),
        "kept by the explanation alone": round(found["kept"] / whole, 3),
        "kept by as many random triples": round(found["kept at random"] / whole, 3),
        "lost without the explanation": round(found["lost"] / whole, 3),
        "lost without as many random triples": round(found["lost at random"] / whole, 3),
    }


def main() -> None:
    """Measure runs, or write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", type=Path)
    parser.add_argument("--links", type=int, default=1000)
    parser.add_argument("--page", action="store_true")
    chosen, store = parser.parse_args(), REPOSITORY / "docs" / "fidelity"
    store.mkdir(exist_ok=True)
    for folder in chosen.runs:
        found = {**measure(folder, chosen.links), "commit": commit()}
        print(json.dumps(found, indent=2), flush=True)
        (store / f"{folder.name}.json").write_text(json.dumps(found, indent=2) + "\n")
    if chosen.page:
        found = [json.loads(path.read_text()) for path in sorted(store.glob("*.json"))]
        rows = [{key: str(value) for key, value in each.items()} for each in found]
        about = (
            "Generated by `python scripts/fidelity.py RUN …`, which says what is measured; `fast`, 5 % seeds, split 10."
        )
        write_sections(f"## What explanations name\n\n{about}\n\n{markdown_table(rows)}\n")


if __name__ == "__main__":
    main()
