"""What supports candidate pairs: neighbours believed equal, joined along edges of both graphs, a block at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from emea.data import Links
from emea.kernels.devices import compiled
from emea.kernels.joins import Edges, expand
from emea.kernels.limits import MANY_ROWS
from emea.kernels.segments import segment_sum, starts
from emea.rules._subrelations import Subrelations, log_unlikely

_Met = tuple[Tensor, Tensor, Tensor, Tensor]  # row of the pair, edge e → n, number of (n, n'), edge e' → n'

ITSELF = -1  # stands for the pair itself as evidence, if a triple joins an entity to itself


@dataclass(frozen=True, eq=False)
class Sides:
    """What does not change from call to call."""

    source: Edges
    target: Edges
    source_functionality: Tensor
    target_functionality: Tensor
    two_sided: bool  # evidence


@dataclass(frozen=True, eq=False)
class Evidence:
    """Pairs of neighbours that count as equal, sorted by source, and the edges that lead to one."""

    equal: Links
    order: Tensor  # [evidence] permutation that sorts the links by source
    first: Tensor  # [sources] position in the order of each source's first link
    count: Tensor  # [sources] links of each
    edges: Tensor  # rows of the edges that lead to another entity with a link, sorted by head
    start: Tensor  # [sources] position of each head's first such edge
    degree: Tensor  # [sources] such edges of each

    @classmethod
    def build(cls, source: Edges, equal: Links) -> Evidence:
        """Sort the links and find the edges."""
        count = torch.bincount(equal.source, minlength=source.entities)
        edges = ((count[source.tail] > 0) & (source.tail != source.head)).nonzero()[:, 0]
        degree = torch.bincount(source.head[edges], minlength=source.entities)
        order = torch.argsort(equal.source, stable=True)
        return cls(equal, order, starts(count), count, edges, starts(degree), degree)


@dataclass(frozen=True, eq=False)
class Support:
    """One row for each r(e, n), r'(e', n') with (e, e') a candidate pair and (n, n') evidence."""

    pair: Tensor  # row of (e, e')
    equal: Tensor  # number of (n, n') in the evidence, or ITSELF
    toward: Tensor  # log of its term in the factor at (e, e')
    back: Tensor  # log of its term in the factor at (n, n'), if (e, e') were certain

    @classmethod
    def joined(cls, parts: Sequence[Support]) -> Support:
        """All rows of several parts."""
        columns = zip(*((each.pair, each.equal, each.toward, each.back) for each in parts), strict=True)
        return cls(*(torch.cat(column) for column in columns))

    def without_itself(self) -> Support:
        """The rows whose neighbour is another entity."""
        rows = self.equal != ITSELF
        return Support(self.pair[rows], self.equal[rows], self.toward[rows], self.back[rows])


def support_of(
    offset: int, source: Tensor, target: Tensor, sides: Sides, believed: tuple[Evidence, Subrelations]
) -> Support:
    """The support of a block of pairs, which starts at row `offset`."""
    evidence, subrelations = believed
    both = _met(source, target, sides, evidence), _met_itself(source, target, sides)
    pair, edge, equal, target_edge = (torch.cat(column) for column in zip(*both, strict=True))
    relation, target_relation = sides.source.relation[edge], sides.target.relation[target_edge]
    contained, contains = subrelations.of(relation, target_relation)

    def log_term(relation: Tensor, target_relation: Tensor, probability: Tensor | float) -> Tensor:
        return log_unlikely(contains * sides.source_functionality[relation] * probability) + log_unlikely(
            contained * sides.target_functionality[target_relation] * probability
        )

    certainty = torch.cat([evidence.equal.weight, target.new_ones(1)])[equal]  # ITSELF is the last
    toward = log_term(relation, target_relation, certainty)
    back = log_term(sides.source.inverse(relation), sides.target.inverse(target_relation), 1.0)
    return Support(pair + offset, equal, toward, back)


def _met(source: Tensor, target: Tensor, sides: Sides, evidence: Evidence) -> _Met:
    """Where neighbours believed equal meet."""
    kernels = compiled(source) if int(evidence.degree[source].sum()) > MANY_ROWS else None
    if kernels is not None:
        begins = evidence.start, evidence.degree, evidence.edges, sides.source.tail
        believed = evidence.first, evidence.count, evidence.order, evidence.equal.target
        ends = sides.target.start, sides.target.degree, sides.target.tail
        found: _Met = kernels.met((source, target), begins, believed, ends, alone=sides.two_sided)
        return found
    pair, edge = expand(evidence.start[source], evidence.degree[source])  # pairs × edges of e
    edge = evidence.edges[edge]
    neighbour = sides.source.tail[edge]
    row, position = expand(evidence.first[neighbour], evidence.count[neighbour])  # × counterparts of n
    pair, edge, equal = pair[row], edge[row], evidence.order[position]
    counterpart = evidence.equal.target[equal]
    joined, *edges = sides.target.between(target[pair], counterpart)
    if sides.two_sided:  # if e equals e', no other entity does
        alone = counterpart[joined] != target[pair[joined]]
        joined, edges = joined[alone], [column[alone] for column in edges]
    row, target_edge = expand(*edges)  # × edges e' → n'
    row = joined[row]
    return pair[row], edge[row], equal[row], target_edge


def _met_itself(source: Tensor, target: Tensor, sides: Sides) -> _Met:
    """Where e and e' have edges to themselves: y_n is e' there."""
    pair, *edges = sides.source.between(source, source)
    row, edge = expand(*edges)
    pair = pair[row]
    row, *edges = sides.target.between(target[pair], target[pair])
    again, target_edge = expand(*edges)
    row = row[again]
    return pair[row], edge[row], torch.full_like(row, ITSELF), target_edge


def factors_of_pairs(
    offset: int, source: Tensor, target: Tensor, sides: Sides, believed: tuple[Evidence, Subrelations]
) -> Tensor:
    """log Π of each pair of a block, [pairs]."""
    support = support_of(offset, source, target, sides, believed)
    return segment_sum(support.toward, support.pair - offset, len(source))
